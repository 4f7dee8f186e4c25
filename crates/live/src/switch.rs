//! A congestion controller of `quinn` that can be exchanged before a transfer begins, since the handshake comes before the
//! request that names the algorithm; and what it was told, counted.

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use quinn::congestion::{BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};

use crate::account::lock;
use crate::clock::now;

/// What makes controllers.
pub(crate) type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// Under it the handshake runs, and a transfer that names nothing.
pub(crate) const NEUTRAL: &str = "quinn:newreno";

/// Names that there are over QUIC: those of the library that QUIC has all it needs for, and quinn's own.
pub(crate) fn offered() -> Vec<String> {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let found = || {
        let entries = cwndlab_algorithms::catalogue();
        let own = entries.specs.iter().map(|spec| spec.name).filter(|name| cwndlab_quic::controller(name).is_ok());
        let mut names: Vec<String> = own.map(str::to_owned).collect();
        names.extend(["quinn:bbr", "quinn:cubic", "quinn:newreno"].map(str::to_owned));
        names.sort_unstable();
        names
    };
    NAMES.get_or_init(found).clone()
}

/// What makes the controllers of this name, and the name in full.
pub(crate) fn factory(name: &str) -> Option<(String, Factory)> {
    let quinns: Option<Factory> = match name {
        "quinn:newreno" => Some(Arc::new(NewRenoConfig::default())),
        "quinn:cubic" => Some(Arc::new(CubicConfig::default())),
        "quinn:bbr" => Some(Arc::new(BbrConfig::default())),
        _ => None,
    };
    if let Some(factory) = quinns {
        return Some((name.to_owned(), factory));
    }
    let ours = cwndlab_quic::controller(name).ok()?;
    Some((ours.name().to_owned(), ours))
}

/// The controller in force and the counts.
pub(crate) struct Inner {
    controller: Box<dyn Controller>,
    mtu: u16,
    pub(crate) sent_bytes: u64,
    pub(crate) acked_bytes: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) in_flight_bytes: u64,
}

impl Inner {
    /// Another controller from now on, with a fresh window.
    pub(crate) fn exchange(&mut self, factory: Factory) {
        self.controller = factory.build(now(), self.mtu);
    }

    pub(crate) fn metrics(&self) -> ControllerMetrics {
        self.controller.metrics()
    }
}

/// Makes one connection's controller and keeps hold of it.
#[derive(Default)]
pub(crate) struct Hold(Mutex<Option<Arc<Mutex<Inner>>>>);

impl Hold {
    pub(crate) fn inner(&self) -> Option<Arc<Mutex<Inner>>> {
        lock(&self.0).clone()
    }
}

impl ControllerFactory for Hold {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let controller = Arc::new(NewRenoConfig::default()).build(now, current_mtu);
        let inner =
            Inner { controller, mtu: current_mtu, sent_bytes: 0, acked_bytes: 0, lost_bytes: 0, in_flight_bytes: 0 };
        let inner = Arc::new(Mutex::new(inner));
        *lock(&self.0) = Some(Arc::clone(&inner));
        Box::new(Switch(inner))
    }
}

struct Switch(Arc<Mutex<Inner>>);

impl Controller for Switch {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        let mut inner = lock(&self.0);
        inner.sent_bytes += bytes;
        inner.in_flight_bytes += bytes;
        inner.controller.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &quinn_proto::RttEstimator) {
        let mut inner = lock(&self.0);
        inner.acked_bytes += bytes;
        inner.in_flight_bytes = inner.in_flight_bytes.saturating_sub(bytes);
        inner.controller.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        let mut inner = lock(&self.0);
        inner.in_flight_bytes = in_flight;
        inner.controller.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        let mut inner = lock(&self.0);
        inner.lost_bytes += lost_bytes;
        inner.in_flight_bytes = inner.in_flight_bytes.saturating_sub(lost_bytes);
        inner.controller.on_congestion_event(now, sent, persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let mut inner = lock(&self.0);
        inner.mtu = new_mtu;
        inner.controller.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        lock(&self.0).controller.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        lock(&self.0).controller.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        // A path that is only being tried has a controller of its own.
        let inner = lock(&self.0);
        inner.controller.clone_box()
    }

    fn initial_window(&self) -> u64 {
        lock(&self.0).controller.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
