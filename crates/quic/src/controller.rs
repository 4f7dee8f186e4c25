//! The adapter: `quinn`'s calls in, the contract's events out.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cwndlab_control::{Ack, Cause, Change, Congestion, CongestionControl, Sent, Window};
use cwndlab_units::{Bytes, Duration, Time};
use quinn_proto::congestion::{Controller, ControllerMetrics};
use quinn_proto::RttEstimator;

use crate::delivery_tracker::{AckReport, DeliveryTracker};

/// Packets that the window always leaves room for (RFC 9002, 7.2: kMinimumWindow).
const MIN_PACKETS: u64 = 2;

/// What was answered after an event, for those who [observe](crate::Factory::observed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Since the controller was built.
    pub now: Time,
    /// Congestion window.
    pub cwnd: Bytes,
    /// In flight, as the stack counts it.
    pub in_flight: Bytes,
    /// The newest RTT sample; zero before the first.
    pub rtt: Duration,
    /// The event was congestion.
    pub congestion: bool,
}

/// Is told of every answer.
pub type Observer = Arc<dyn Fn(&Answer) + Send + Sync>;

/// A flow's algorithm, and the measurements that it needs.
pub(crate) struct State {
    control: Box<dyn CongestionControl>,
    model_based: bool,
    /// The datagram size at the start: the segment in which the algorithm counts. Later ones change the bytes that leave at once,
    /// not the window (RFC 8899, section 3).
    mss: u64,
    mtu: u64,
    deliveries: DeliveryTracker,
    /// The last ACK frame: told when it is known whether it brought losses or marks.
    waiting: Option<AckReport>,
    /// Newly lost and newly marked, not yet told.
    lost: u64,
    marked: u64,
    recovering: bool,
    /// Persistent congestion was told, and nothing acknowledged since.
    collapsed: bool,
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
            waiting: None,
            lost: 0,
            marked: 0,
            recovering: false,
            collapsed: false,
            observer,
        }
    }

    /// What may be in flight: the algorithm's window, and never less than RFC 9002 leaves to any.
    fn cwnd(&self) -> u64 {
        self.control.cwnd().0.max(MIN_PACKETS * self.mtu)
    }

    fn observe(&self, now: Time, congestion: bool) {
        if let Some(observer) = &self.observer {
            observer(&Answer {
                now,
                cwnd: Bytes(self.cwnd()),
                in_flight: Bytes(self.deliveries.in_flight),
                rtt: self.deliveries.rtt.last(),
                congestion,
            });
        }
    }

    /// Bytes leave, in packets of at most a segment.
    fn on_sent(&mut self, now: Time, bytes: u64) {
        self.tell();
        let mut rest = bytes;
        while rest > 0 {
            let size = rest.min(self.mtu);
            rest -= size;
            self.deliveries.on_sent(now, size);
            self.control.on_sent(&Sent {
                now,
                size: Bytes(size),
                in_flight: Bytes(self.deliveries.in_flight),
                // What was lost travels on in new packets.
                retransmission: false,
                app_limited: self.deliveries.app_limited(),
            });
        }
    }

    fn on_ack(&mut self, sent: Time, bytes: u64, app_limited: bool) {
        self.tell();
        self.deliveries.on_ack(sent, bytes, app_limited);
    }

    fn on_end_acks(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        self.tell();
        self.waiting = self.deliveries.on_end(now, in_flight, app_limited);
    }

    fn on_congestion_event(&mut self, now: Time, sent: Time, persistent: bool, lost: u64) {
        if self.waiting.is_some_and(|report| report.now != now) {
            self.tell(); // a timer, long after the last ACK frame
        }
        let flight = self.deliveries.in_flight;
        if lost > 0 {
            self.deliveries.on_lost(sent, lost);
            self.lost += lost;
        } else {
            self.marked += self.mss.min(self.waiting.map_or(self.mss, |report| report.bytes));
        }
        // RFC 9002, 7.3.2: once per window of data. 7.6: persistent congestion counts whatever was told before.
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
            repeated: persistent && self.collapsed,
            in_flight: Bytes(flight),
            lost: Bytes(self.lost),
            srtt: self.deliveries.srtt(),
            min_rtt: self.deliveries.rtt.min_rtt(),
            round: self.deliveries.round,
        };
        self.control.on_congestion(&event);
        self.collapsed = persistent;
        self.recovering = !persistent;
        // RFC 9002, appendix B.8: after persistent congestion no recovery period stands.
        self.deliveries.recovery_start = (!persistent).then_some(now);
        self.observe(now, true);
    }

    /// Tells of the last ACK frame.
    fn tell(&mut self) {
        let Some(report) = self.waiting.take() else { return };
        if report.first {
            self.control.on_window(&Window {
                now: report.now,
                change: Change::Established,
                cwnd: self.control.cwnd(),
                idle: Duration::ZERO,
                rtt: Some(report.rtt),
                feedback: None,
            });
            self.observe(report.now, false);
            return;
        }
        let over = self.deliveries.recovery_start.is_none_or(|start| report.sent_at() > start);
        // Packets from before the congestion event earn nothing, also where one frame acknowledges both kinds.
        let fresh = if over { report.fresh.min(report.bytes) } else { 0 };
        let stale = report.bytes - fresh;
        if stale > 0 {
            let more = fresh > 0;
            self.acknowledge(&report, stale, self.recovering && (more || !over), !more);
        }
        if fresh > 0 {
            if std::mem::take(&mut self.recovering) && self.model_based {
                self.control.on_window(&Window {
                    now: report.now,
                    change: Change::Recovered,
                    cwnd: self.control.cwnd(),
                    idle: Duration::ZERO,
                    rtt: None,
                    feedback: None,
                });
            }
            self.acknowledge(&report, fresh, false, true);
        }
        self.collapsed = false;
        self.observe(report.now, false);
    }

    /// One report; what was measured goes with the last of an ACK frame.
    fn acknowledge(&mut self, report: &AckReport, bytes: u64, recovering: bool, last: bool) {
        let deliveries = &self.deliveries;
        let rest = if last { 0 } else { report.fresh };
        // A stack has no records for the events of an algorithm.
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
            delivered: Bytes(deliveries.delivered - rest),
            ce: Bytes(std::mem::take(&mut self.marked)),
            app_limited: deliveries.app_limited(),
            // RFC 9002, 7.8: a sender that its pacer holds back uses its window, too.
            cwnd_limited: !report.app_limited,
            recovering,
            round: deliveries.round,
            feedback: None,
        });
    }
}

/// A [`quinn`](https://docs.rs/quinn) controller around an algorithm of the library.
///
/// A copy shares the algorithm's state with its original: `quinn` copies a controller for a peer whose address changed on what
/// seems to be the same path, and of the two one is in use at a time.
#[derive(Clone)]
pub struct Adapter {
    built: Instant,
    initial: u64,
    state: Arc<Mutex<State>>,
}

impl Adapter {
    pub(crate) fn new(built: Instant, initial: u64, state: State) -> Self {
        Self { built, initial, state: Arc::new(Mutex::new(state)) }
    }

    /// A panic in an algorithm leaves its state as it was then.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Controller::on_ack`] without the stack's own RTT estimate, which nobody else can make: for those who replay.
    pub fn on_packet_acked(&mut self, sent: Instant, bytes: u64, app_limited: bool) {
        let sent = self.since(sent);
        self.state().on_ack(sent, bytes, app_limited);
    }

    /// The time since the controller was built.
    fn since(&self, then: Instant) -> Time {
        Time(then.saturating_duration_since(self.built).as_nanos() as u64)
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
        let (now, sent) = (self.since(now), self.since(sent));
        self.state().on_congestion_event(now, sent, persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.state().mtu = u64::from(new_mtu);
    }

    /// One byte more than the window: `quinn` 0.11 blocks a packet with which the window would be *full*, RFC 9002 (section 7)
    /// one with which it would be exceeded.
    fn window(&self) -> u64 {
        let mut state = self.state();
        state.tell();
        state.cwnd() + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut state = self.state();
        state.tell();
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
