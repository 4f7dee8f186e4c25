//! The adapter: translates `quinn`'s calls to events of the contract.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cwndlab_control::{Ack, Cause, Change, Congestion, CongestionControl, Sent, Window};
use cwndlab_units::{Bytes, Duration, Time};
use quinn_proto::congestion::{Controller, ControllerMetrics};
use quinn_proto::RttEstimator;

use crate::delivery_tracker::{AckReport, DeliveryTracker};

/// Minimum window, packets (RFC 9002, 7.2: kMinimumWindow).
const MIN_PACKETS: u64 = 2;

/// The window and its inputs after an event, for an [observer](crate::Factory::with_observer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Time since the controller was created.
    pub now: Time,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Bytes in flight, as counted by the stack.
    pub in_flight: Bytes,
    /// The last RTT sample; zero before the first.
    pub rtt: Duration,
    /// The event was a congestion event.
    pub congestion: bool,
}

/// A function that receives every observation.
pub type Observer = Arc<dyn Fn(&Observation) + Send + Sync>;

/// The algorithm of a connection, and the measurements that it needs.
pub(crate) struct State {
    control: Box<dyn CongestionControl>,
    model_based: bool,
    /// The initial datagram size, which is the algorithm's segment size. A later change of the datagram size does not
    /// change the window (RFC 8899, section 3).
    mss: u64,
    mtu: u64,
    deliveries: DeliveryTracker,
    /// The latest time of an event. `quinn` stamps a datagram when its endpoint begins to read a batch, so that an ACK
    /// may be stamped earlier than the packet that it acknowledges was sent.
    latest: Time,
    /// The last ACK frame. It is reported to the algorithm after the losses and marks that it caused.
    pending_report: Option<AckReport>,
    /// Newly lost and newly marked bytes that have not been reported yet.
    lost: u64,
    marked: u64,
    in_recovery: bool,
    /// Persistent congestion was reported, and no data have been acknowledged since.
    in_persistent_congestion: bool,
    observer: Option<Observer>,
}

impl State {
    pub(crate) fn new(
        control: Box<dyn CongestionControl>,
        model_based: bool,
        mss: u64,
        observer: Option<Observer>,
    ) -> Self {
        Self {
            control,
            model_based,
            mss,
            mtu: mss,
            deliveries: DeliveryTracker::new(),
            latest: Time::ZERO,
            pending_report: None,
            lost: 0,
            marked: 0,
            in_recovery: false,
            in_persistent_congestion: false,
            observer,
        }
    }

    /// The algorithm's window, or the minimum window of RFC 9002 if that is larger.
    fn cwnd(&self) -> u64 {
        self.control.cwnd().0.max(MIN_PACKETS * self.mtu)
    }

    fn observe(&self, now: Time, congestion: bool) {
        if let Some(observer) = &self.observer {
            observer(&Observation {
                now,
                cwnd: Bytes(self.cwnd()),
                in_flight: Bytes(self.deliveries.in_flight),
                rtt: self.deliveries.rtt.last(),
                congestion,
            });
        }
    }

    /// The time of an event: never before that of an earlier one, nor before the sending time of a packet.
    fn advance(&mut self, now: Time) -> Time {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Bytes are sent, in packets of at most the datagram size. `sent` identifies them when they are acknowledged.
    fn on_sent(&mut self, sent: Time, bytes: u64) {
        self.flush_report();
        let now = self.advance(sent);
        let mut rest = bytes;
        while rest > 0 {
            let size = rest.min(self.mtu);
            rest -= size;
            self.deliveries.on_sent(sent, size);
            self.control.on_sent(&Sent {
                now,
                size: Bytes(size),
                in_flight: Bytes(self.deliveries.in_flight),
                // QUIC sends lost data in new packets.
                retransmission: false,
                app_limited: self.deliveries.app_limited(),
            });
        }
    }

    fn on_ack(&mut self, sent: Time, bytes: u64, app_limited: bool) {
        self.flush_report();
        self.advance(sent);
        self.deliveries.on_ack(sent, bytes, app_limited);
    }

    fn on_end_acks(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        self.flush_report();
        let now = self.advance(now);
        self.pending_report = self.deliveries.on_end(now, in_flight, app_limited);
    }

    fn on_congestion_event(&mut self, now: Time, sent: Time, persistent: bool, lost: u64) {
        let now = self.advance(now);
        if self.pending_report.is_some_and(|report| report.now != now) {
            self.flush_report(); // a timer, long after the last ACK frame
        }
        let flight = self.deliveries.in_flight;
        if lost > 0 {
            self.deliveries.on_lost(sent, lost);
            self.lost += lost;
        } else {
            self.marked += self.mss.min(self.pending_report.map_or(self.mss, |report| report.bytes));
        }
        // RFC 9002, 7.3.2: one reduction per window of data. 7.6: persistent congestion always reduces the window.
        let known = self.deliveries.recovery_start.is_some_and(|start| sent <= start);
        if known && !persistent {
            return;
        }
        let cause = match (persistent, lost) {
            (true, _) => Cause::Timeout,
            (false, 0) => Cause::Ecn,
            (false, _) => Cause::Loss,
        };
        let event = Congestion {
            now,
            mss: Bytes(self.mss),
            cause,
            restart: persistent,
            repeated: persistent && self.in_persistent_congestion,
            in_flight: Bytes(flight),
            lost: Bytes(self.lost),
            srtt: self.deliveries.srtt(),
            min_rtt: self.deliveries.rtt.min_rtt(),
            round: self.deliveries.round(),
        };
        self.control.on_congestion(&event);
        self.in_persistent_congestion = persistent;
        self.in_recovery = !persistent;
        // RFC 9002, appendix B.8: persistent congestion ends the recovery period.
        self.deliveries.recovery_start = (!persistent).then_some(now);
        self.observe(now, true);
    }

    /// Reports the last ACK frame to the algorithm.
    fn flush_report(&mut self) {
        let Some(report) = self.pending_report.take() else { return };
        if report.first {
            self.control.on_window(&Window {
                rtt: Some(report.rtt),
                ..Window::new(report.now, Change::Established, self.control.cwnd())
            });
            self.observe(report.now, false);
            return;
        }
        let recovery_ended = self.deliveries.recovery_start.is_none_or(|start| report.sent_at() > start);
        // ACKs of packets sent before the congestion event do not increase the window, even if the same frame also
        // acknowledges later packets.
        let sent_after_event = if recovery_ended { report.sent_after_event.min(report.bytes) } else { 0 };
        let sent_before_event = report.bytes - sent_after_event;
        if sent_before_event > 0 {
            let has_newer = sent_after_event > 0;
            self.notify_ack(&report, sent_before_event, self.in_recovery && (has_newer || !recovery_ended), !has_newer);
        }
        if sent_after_event > 0 {
            if std::mem::take(&mut self.in_recovery) && self.model_based {
                self.control.on_window(&Window::new(report.now, Change::Recovered, self.control.cwnd()));
            }
            self.notify_ack(&report, sent_after_event, false, true);
        }
        self.in_persistent_congestion = false;
        self.observe(report.now, false);
    }

    /// Makes one report. The last report of an ACK frame carries the samples.
    fn notify_ack(&mut self, report: &AckReport, bytes: u64, recovering: bool, last: bool) {
        let deliveries = &self.deliveries;
        let rest = if last { 0 } else { report.sent_after_event };
        // The stack does not record the events of an algorithm.
        let _ = self.control.on_ack(&Ack {
            now: report.now,
            mss: Bytes(self.mss),
            acked: Bytes(bytes),
            acks: u32::from(last),
            interval: Duration::ZERO,
            prior_in_flight: Bytes(report.prior_in_flight),
            in_flight: Bytes(deliveries.in_flight + rest),
            lost: Bytes(std::mem::take(&mut self.lost)),
            rtt: (last && report.rtt > Duration::ZERO).then_some(report.rtt),
            srtt: deliveries.srtt(),
            min_rtt: deliveries.rtt.min_rtt(),
            delivery_rate: report.rate.filter(|_| last),
            delivered: deliveries.delivered() - Bytes(rest),
            ce: Bytes(std::mem::take(&mut self.marked)),
            app_limited: deliveries.app_limited(),
            // RFC 9002, 7.8: a sender that only its pacer delays fully utilises its window.
            cwnd_limited: !report.app_limited,
            recovering,
            round: deliveries.round(),
            feedback: None,
        });
    }
}

/// A [`quinn`](https://docs.rs/quinn) controller that runs an algorithm of the library.
///
/// A copy shares the algorithm's state with its original. `quinn` copies a controller when the peer's address changes
/// on apparently the same path, and uses only one of the two at a time.
#[derive(Clone)]
pub struct Adapter {
    created: Instant,
    initial: u64,
    state: Arc<Mutex<State>>,
}

impl Adapter {
    pub(crate) fn new(created: Instant, initial: u64, state: State) -> Self {
        Self { created, initial, state: Arc::new(Mutex::new(state)) }
    }

    /// Locks the state, also after a panic of the algorithm.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Controller::on_ack`] without the stack's RTT estimator, which only `quinn` can construct. Used by replays and
    /// tests.
    pub fn on_packet_acked(&mut self, sent: Instant, bytes: u64, app_limited: bool) {
        let sent = self.since(sent);
        self.state().on_ack(sent, bytes, app_limited);
    }

    /// The time from the creation of the controller to `instant`.
    fn since(&self, instant: Instant) -> Time {
        Time::from_nanos(instant.saturating_duration_since(self.created).as_nanos() as u64)
    }
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adapter").field("control", &self.state().control).finish_non_exhaustive()
    }
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let now = self.since(now);
        self.state().on_sent(now, bytes);
    }

    fn on_ack(&mut self, _now: Instant, sent: Instant, bytes: u64, app_limited: bool, _rtt: &RttEstimator) {
        self.on_packet_acked(sent, bytes, app_limited);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let now = self.since(now);
        self.state().on_end_acks(now, in_flight, app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        let now = self.since(now);
        let sent = self.since(sent);
        self.state().on_congestion_event(now, sent, persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.state().mtu = u64::from(new_mtu);
    }

    /// One byte more than the window. `quinn` 0.11 blocks a packet that would *fill* the window; RFC 9002 (section 7)
    /// blocks only a packet that would exceed it.
    fn window(&self) -> u64 {
        let mut state = self.state();
        state.flush_report();
        state.cwnd() + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut state = self.state();
        state.flush_report();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = state.cwnd();
        metrics.pacing_rate = state.control.pacing_rate().map(|rate| rate.0);
        metrics.ssthresh = state.control.state(None).ssthresh.bytes().map(|threshold| threshold.0);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
