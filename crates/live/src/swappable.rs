//! A congestion controller of `quinn` that can be replaced before a transfer begins, with counters of its calls. It
//! must be replaceable because the handshake precedes the request that selects the algorithm.

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cwndlab_control::{Catalogue, Spec};
use cwndlab_units::{Bytes, Duration, Rate, SenderCounters, SenderState};
use quinn::congestion::{BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};
use quinn::PathStats;

use crate::transfer::lock;
use cwndlab_fetch::clock::now;

/// A factory of controllers.
pub(crate) type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// The controller of the handshake, and of transfers without a selected algorithm.
pub(crate) const DEFAULT: &str = "quinn:newreno";

/// Algorithms outside of the catalogue, whose methods may unwind.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// Their entries.
    pub specs: Vec<&'static Spec>,
    /// The reason why an algorithm unwound in this thread, if it left one.
    pub describe: Option<fn() -> Option<String>>,
}

/// The reason why the algorithm of a connection was replaced; `None`: it was not, or the reason has been taken.
pub(crate) type FailureReason = Arc<Mutex<Option<String>>>;

/// The algorithms over QUIC: those of the library that QUIC supports, the controllers of `quinn`, and classes.
pub(crate) struct Offer {
    catalogue: Catalogue,
    classes: Classes,
    names: Vec<String>,
}

impl Offer {
    pub(crate) fn new(classes: Classes) -> Self {
        let mut catalogue = cwndlab_algorithms::catalogue();
        catalogue.specs.extend(&classes.specs);
        let of_library = catalogue.specs.iter().map(|spec| spec.name);
        let supported = of_library.filter(|name| cwndlab_quic::Factory::parse(&catalogue, name).is_ok());
        let mut names: Vec<String> = supported.map(str::to_owned).collect();
        names.extend(["quinn:bbr", "quinn:cubic", "quinn:newreno"].map(str::to_owned));
        names.sort_unstable();
        Self { catalogue, classes, names }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The full name of an algorithm and the factory of its controllers, which report a failure in `failure`.
    pub(crate) fn factory(&self, name: &str, failure: &FailureReason) -> Option<(String, Factory)> {
        let builtin: Option<Factory> = match name {
            "quinn:newreno" => Some(Arc::new(NewRenoConfig::default())),
            "quinn:cubic" => Some(Arc::new(CubicConfig::default())),
            "quinn:bbr" => Some(Arc::new(BbrConfig::default())),
            _ => None,
        };
        if let Some(factory) = builtin {
            return Some((name.to_owned(), factory));
        }
        let algorithm = self.catalogue.parse(name).ok()?;
        let mut factory = cwndlab_quic::Factory::new(&algorithm).ok()?;
        if self.classes.specs.iter().any(|spec| std::ptr::eq(*spec, algorithm.growth.spec)) {
            let describe = self.classes.describe;
            let failure = Arc::clone(failure);
            factory = factory.with_substitute(Arc::new(move || {
                let reason = describe.and_then(|describe| describe());
                *lock(&failure) = Some(reason.unwrap_or_else(|| "the algorithm panicked".to_owned()));
            }));
        }
        Some((factory.name().to_owned(), Arc::new(factory)))
    }
}

/// The current controller and the counters.
pub(crate) struct SwappableState {
    controller: Box<dyn Controller>,
    mtu: u16,
    pub(crate) sent_bytes: u64,
    pub(crate) acked_bytes: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) in_flight_bytes: u64,
}

impl SwappableState {
    /// Replaces the controller by a new one with the initial window.
    pub(crate) fn replace(&mut self, factory: Factory) {
        self.controller = factory.build(now(), self.mtu);
    }

    /// The state of the sender, on a path with these statistics. quinn reports neither a congestion state nor expirations of
    /// its probe timer (RFC 9002, section 6.2).
    pub(crate) fn sender(&self, path: &PathStats) -> SenderState {
        let metrics = self.controller.metrics();
        let duration = |one: std::time::Duration| Some(Duration::from_nanos(one.as_nanos() as u64));
        SenderState {
            waiting: self.in_flight_bytes > 0,
            cwnd: Bytes(path.cwnd),
            ssthresh: metrics.ssthresh.filter(|&bytes| bytes < u64::MAX / 2).map(Bytes),
            in_flight: Bytes(self.in_flight_bytes),
            srtt: duration(path.rtt),
            min_rtt: duration(path.min_rtt),
            pacing_rate: metrics.pacing_rate.map(Rate),
            counters: SenderCounters {
                sent_packets: path.sent_packets,
                sent_bytes: self.sent_bytes,
                acked_bytes: self.acked_bytes,
                retransmitted_packets: path.lost_packets,
                retransmitted_bytes: path.lost_bytes,
                ..SenderCounters::default()
            },
            ..SenderState::default()
        }
    }
}

/// Builds the controller of one connection and stores a reference to its state.
#[derive(Default)]
pub(crate) struct SwappableFactory(Mutex<Option<Arc<Mutex<SwappableState>>>>);

impl SwappableFactory {
    pub(crate) fn state(&self) -> Option<Arc<Mutex<SwappableState>>> {
        lock(&self.0).clone()
    }
}

impl ControllerFactory for SwappableFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let controller = Arc::new(NewRenoConfig::default()).build(now, current_mtu);
        let state = SwappableState {
            controller,
            mtu: current_mtu,
            sent_bytes: 0,
            acked_bytes: 0,
            lost_bytes: 0,
            in_flight_bytes: 0,
        };
        let state = Arc::new(Mutex::new(state));
        *lock(&self.0) = Some(Arc::clone(&state));
        Box::new(SwappableController(state))
    }
}

struct SwappableController(Arc<Mutex<SwappableState>>);

impl Controller for SwappableController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        let mut state = lock(&self.0);
        state.sent_bytes += bytes;
        state.in_flight_bytes += bytes;
        state.controller.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &quinn_proto::RttEstimator) {
        let mut state = lock(&self.0);
        state.acked_bytes += bytes;
        state.in_flight_bytes = state.in_flight_bytes.saturating_sub(bytes);
        state.controller.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        let mut state = lock(&self.0);
        state.in_flight_bytes = in_flight;
        state.controller.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        let mut state = lock(&self.0);
        state.lost_bytes += lost_bytes;
        state.in_flight_bytes = state.in_flight_bytes.saturating_sub(lost_bytes);
        state.controller.on_congestion_event(now, sent, persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let mut state = lock(&self.0);
        state.mtu = new_mtu;
        state.controller.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        lock(&self.0).controller.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        lock(&self.0).controller.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        // A path under validation has a separate controller.
        let state = lock(&self.0);
        state.controller.clone_box()
    }

    fn initial_window(&self) -> u64 {
        lock(&self.0).controller.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
