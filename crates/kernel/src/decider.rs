//! Translates the kernel's reports to calls of the contract, and the algorithm's window to decisions.

use cwndlab_control::{Ack, Cause, Change, Congestion, CongestionControl, DeliveryRate, Driver, Path, Sent, Window};
use cwndlab_units::{Bytes, CaState, Duration};

use crate::report::{Decision, Kind, Report};

/// The algorithm of one connection in the kernel, driven by the kernel's reports.
///
/// The first report must be [`Kind::Open`]. As in the simulator's transport, the algorithm is notified of a congestion
/// event before the ACK that caused it. It may increase the window only if `cwnd_limited` is set and no loss is being
/// repaired. A model-based algorithm is also notified of the end of each recovery.
#[derive(Debug)]
pub struct Decider {
    driver: Driver,
    mss: u64,
    state: CaState,
    /// The window after the current reduction, segments.
    reduced_cwnd: u32,
    round: u64,
    round_end: u32,
    /// The kernel's `delivered` at the last report, segments; wraps.
    kernel_delivered: u32,
    /// Segments delivered since the connection began.
    delivered: u64,
    is_open: bool,
}

/// Whether `a` is after `b` in a sequence space that wraps.
fn after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

impl Decider {
    /// A decider for a connection over `path`, with the algorithm of `driver`.
    #[must_use]
    pub fn new(driver: Driver, path: &Path) -> Self {
        let mss = path.mss.0.max(1);
        let reduced_cwnd = (driver.control.cwnd().0 / mss).max(1) as u32;
        Self {
            driver,
            mss,
            state: CaState::Open,
            reduced_cwnd,
            round: 0,
            round_end: 0,
            kernel_delivered: 0,
            delivered: 0,
            is_open: false,
        }
    }

    /// Passes a report to the algorithm and returns the decision on it.
    pub fn on_report(&mut self, report: &Report) -> Decision {
        if !self.is_open {
            self.on_open(report);
        }
        self.update_counters(report);
        // The ACKs that a report sums up arrived before the event that caused the report.
        if report.acked.segments > 0 {
            self.on_acks(report);
        }
        match report.kind {
            Kind::Open | Kind::Close | Kind::Acks => {}
            Kind::State { congestion, ece } => self.on_state_change(report, congestion, ece),
            Kind::Undo => self.notify_window(report, Change::Undo, Duration::ZERO),
            Kind::Idle(idle) => self.on_idle(report, idle),
        }
        self.decision()
    }

    /// The algorithm.
    #[must_use]
    pub fn control(&self) -> &dyn CongestionControl {
        &*self.driver.control
    }

    /// Round trips since the start.
    #[must_use]
    pub fn round(&self) -> u64 {
        self.round
    }

    fn bytes(&self, segments: u32) -> Bytes {
        Bytes(u64::from(segments) * self.mss)
    }

    fn cwnd_segments(&self) -> u32 {
        (self.driver.control.cwnd().0 / self.mss).clamp(1, u64::from(u32::MAX >> 1)) as u32
    }

    fn on_open(&mut self, report: &Report) {
        self.is_open = true;
        self.state = report.state;
        self.round_end = report.una;
        self.kernel_delivered = report.delivered;
        let rtt = Some(report.rtt.smoothed).filter(|srtt| srtt.as_nanos() > 0);
        // One segment after a handshake with losses, where the algorithm began before it (a replay).
        let cwnd = self.driver.control.cwnd().min(self.bytes(report.cwnd));
        let established = Window::new(report.now, Change::Established, cwnd);
        self.driver.on_window(&Window { rtt, ..established });
        self.reduced_cwnd = self.cwnd_segments();
    }

    fn update_counters(&mut self, report: &Report) {
        self.delivered += u64::from(report.delivered.wrapping_sub(self.kernel_delivered));
        self.kernel_delivered = report.delivered;
        if report.advanced && after(report.una, self.round_end) {
            self.round += 1;
            self.round_end = report.nxt;
        }
        if report.sent > 0 {
            self.driver.control.on_sent(&Sent {
                now: report.now,
                size: self.bytes(report.sent),
                in_flight: self.bytes(report.in_flight.max(report.sent)),
                retransmission: false,
                // The first segment after an idle period has a report of its own: `Kind::Idle`.
                app_limited: report.app_limited && report.in_flight > report.sent,
            });
        }
    }

    fn on_state_change(&mut self, report: &Report, congestion: bool, ece: bool) {
        let before = std::mem::replace(&mut self.state, report.state);
        let cause = match report.state {
            CaState::Loss => Cause::Timeout,
            CaState::Cwr if ece => Cause::Ecn,
            _ => Cause::Loss,
        };
        // The kernel requests no new ssthresh when its timer expires again, or while it repairs a loss of the same
        // window: the window restarts and the threshold remains (tcp_enter_loss).
        let repeated = report.state == CaState::Loss && !congestion;
        // Nor for a loss within the reduction for a mark (tcp_enter_recovery).
        let within =
            before == CaState::Cwr && report.state == CaState::Recovery && self.driver.hears_losses_in_reductions;
        if congestion || within || (repeated && before >= CaState::Cwr) {
            let event = Congestion {
                now: report.now,
                mss: Bytes(self.mss),
                cause,
                restart: report.state == CaState::Loss,
                repeated,
                in_flight: self.bytes(report.flight),
                lost: self.bytes(report.lost_out),
                srtt: report.rtt.smoothed,
                min_rtt: report.rtt.min,
                round: self.round,
            };
            self.driver.on_congestion(&event);
            self.reduced_cwnd = self.cwnd_segments();
        }
        if self.driver.model_based && before >= CaState::Cwr && report.state < CaState::Cwr {
            self.notify_window(report, Change::Recovered, Duration::ZERO);
        }
    }

    fn on_idle(&mut self, report: &Report, idle: Duration) {
        if self.driver.model_based {
            // The report announces the first segment after the idle period.
            let size = Bytes(self.mss);
            let sent = Sent { now: report.now, size, in_flight: size, retransmission: false, app_limited: true };
            self.driver.control.on_sent(&sent);
        } else {
            self.notify_window(report, Change::Idle, idle);
        }
    }

    fn notify_window(&mut self, report: &Report, change: Change, idle: Duration) {
        let cwnd = self.bytes(report.cwnd);
        // Linux, tcp_cwnd_restart: `tcp_current_ssthresh` of the window before the idle period, in whole segments.
        let before = self.cwnd_segments();
        let raises = change == Change::Idle && !matches!(report.state, CaState::Cwr | CaState::Recovery);
        let ssthresh = raises.then(|| self.bytes((before >> 1) + (before >> 2)));
        self.driver.on_window(&Window { ssthresh, idle, ..Window::new(report.now, change, cwnd) });
    }

    fn on_acks(&mut self, report: &Report) {
        let delivered = self.bytes_of(self.delivered);
        let delivery_rate = report.rate.filter(|rate| rate.interval.as_nanos() > 0).map(|rate| {
            let since = report.delivered.wrapping_sub(rate.prior_delivered);
            DeliveryRate {
                delivered: self.bytes(rate.delivered),
                interval: rate.interval,
                prior_delivered: Bytes(delivered.0.saturating_sub(u64::from(since) * self.mss)),
                app_limited: rate.app_limited,
            }
        });
        let in_loss = self.state == CaState::Loss;
        // The kernel's datapath does not record the events of an algorithm.
        let _ = self.driver.control.on_ack(&Ack {
            now: report.now,
            mss: Bytes(self.mss),
            acked: self.bytes(report.acked.segments),
            acks: report.acked.acks.max(1),
            interval: report.acked.interval,
            prior_in_flight: self.bytes(report.acked.prior_in_flight),
            in_flight: self.bytes(report.in_flight),
            lost: self.bytes(report.acked.lost),
            rtt: report.rtt.latest,
            srtt: report.rtt.smoothed,
            min_rtt: report.rtt.min,
            delivery_rate,
            delivered,
            ce: self.bytes(report.acked.ce),
            app_limited: report.app_limited,
            cwnd_limited: report.cwnd_limited,
            recovering: self.state.is_reducing() || (!report.advanced && (!in_loss || report.lost_out > 0)),
            round: self.round,
            feedback: None,
        });
    }

    fn bytes_of(&self, segments: u64) -> Bytes {
        Bytes(segments * self.mss)
    }

    /// The decision for the current state.
    #[must_use]
    pub fn decision(&self) -> Decision {
        let is_reducing = self.state.is_reducing() && !self.driver.model_based;
        let threshold = self.driver.control.state(None).ssthresh.bytes().map(|bytes| bytes.0.div_ceil(self.mss));
        let ssthresh = if is_reducing {
            Some(self.reduced_cwnd)
        } else {
            threshold.map(|segments| segments.clamp(1, u64::from(u32::MAX >> 1)) as u32)
        };
        let cwnd = if is_reducing { self.reduced_cwnd } else { self.cwnd_segments() };
        Decision { cwnd, ssthresh, pacing: self.driver.control.pacing_rate() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Acked, RateSample, Rtt};
    use cwndlab_control::Event;
    use cwndlab_units::{Rate, Time};
    use std::sync::mpsc::{channel, Receiver, Sender};

    fn reno() -> Decider {
        let algorithm = cwndlab_algorithms::catalogue().parse("reno").expect("an entry");
        let open = Report { cwnd: 10, mss: 1000, ..report(Kind::Open) };
        let mut decider = Decider::new(Driver::of(&algorithm, &open.path(1)), &open.path(1));
        assert_eq!(decider.on_report(&open), Decision { cwnd: 10, ssthresh: None, pacing: None });
        decider
    }

    fn report(kind: Kind) -> Report {
        Report {
            now: Time::from_nanos(1_000_000_000),
            kind,
            rtt: Rtt { latest: None, smoothed: Duration::from_millis(100), min: Duration::from_millis(100) },
            cwnd_limited: true,
            mss: 1000,
            ..Report::default()
        }
    }

    fn acked(segments: u32) -> Acked {
        Acked { segments, acks: segments.div_ceil(2), ..Acked::default() }
    }

    fn acks(segments: u32, state: CaState) -> Report {
        Report { acked: acked(segments), advanced: true, state, ..report(Kind::Acks) }
    }

    fn state(state: CaState, congestion: bool, flight: u32) -> Report {
        Report { state, flight, ..report(Kind::State { congestion, ece: false }) }
    }

    /// RFC 5681 by hand: slow start 10 → 20. Half of 20 in flight is 10, which applies until the end of recovery. 10
    /// more acknowledged segments in congestion avoidance add one segment.
    #[test]
    fn reno_grows_halves_once_and_grows_again() {
        let mut decider = reno();
        assert_eq!(decider.on_report(&acks(10, CaState::Open)).cwnd, 20);
        let halved = Decision { cwnd: 10, ssthresh: Some(10), pacing: None };
        assert_eq!(decider.on_report(&state(CaState::Recovery, true, 20)), halved);
        assert_eq!(decider.on_report(&acks(7, CaState::Recovery)), halved);
        assert_eq!(decider.on_report(&state(CaState::Open, false, 10)), halved);
        assert_eq!(decider.on_report(&acks(10, CaState::Open)).cwnd, 11);
    }

    /// RFC 9331, 4.3: Prague halves at each echo of classic ECN. With Accurate ECN (RFC 9768) the first mark halves, and a
    /// reduction leaves 1 − α/2, where α is at most 1/16 of F = 1/20. By hand, w = 20 with a mark and two reductions: 5
    /// segments, or at least 10 · (1 − 1/640)² = 9.97.
    #[test]
    fn prague_counts_marks_only_with_accurate_ecn() {
        let window = |accurate_ecn| {
            let algorithm = cwndlab_algorithms::catalogue().parse("prague").expect("an entry");
            let open = Report { cwnd: 20, accurate_ecn, ..report(Kind::Open) };
            let mut decider = Decider::new(Driver::of(&algorithm, &open.path(1)), &open.path(1));
            decider.on_report(&open);
            let echo = |now: u64| Report {
                now: Time::from_nanos(now * 1_000_000_000),
                state: CaState::Cwr,
                ..report(Kind::State { congestion: true, ece: true })
            };
            let marked = Acked { ce: 1, ..acked(20) };
            decider.on_report(&Report {
                acked: marked,
                cwnd_limited: false,
                una: 1,
                nxt: 20_000,
                ..report(Kind::Acks)
            });
            decider.on_report(&echo(2));
            decider.on_report(&echo(3));
            let mut segments = 0.0;
            decider.control().state(Some(&mut |name, value| {
                if name == "w_segments" {
                    segments = value;
                }
            }));
            segments
        };
        let (accurate, classic) = (window(true), window(false));
        assert!(classic == 5.0 && (9.97..=10.0).contains(&accurate), "{accurate}, {classic}");
    }

    /// Linux, dctcp_state: half of the window at a loss, also within the reduction for a mark. By hand, α = 1: 40, 20, 10.
    #[test]
    fn dctcp_hears_of_a_loss_within_a_reduction() {
        let algorithm = cwndlab_algorithms::catalogue().parse("dctcp(rounding=linux)").expect("an entry");
        let open = Report { cwnd: 40, ..report(Kind::Open) };
        let mut decider = Decider::new(Driver::of(&algorithm, &open.path(1)), &open.path(1));
        decider.on_report(&open);
        let marked = Kind::State { congestion: true, ece: true };
        assert_eq!(decider.on_report(&Report { state: CaState::Cwr, ..report(marked) }).cwnd, 20);
        assert_eq!(decider.on_report(&state(CaState::Recovery, false, 20)).cwnd, 10);
        assert_eq!(decider.on_report(&state(CaState::Open, false, 10)).cwnd, 10);
    }

    /// From CWR to Recovery within a window the kernel requests no second ssthresh (tcp_enter_recovery).
    #[test]
    fn a_window_is_reduced_once() {
        let mut decider = reno();
        assert_eq!(decider.on_report(&state(CaState::Cwr, true, 10)).cwnd, 5);
        assert_eq!(decider.on_report(&state(CaState::Recovery, false, 10)).cwnd, 5);
    }

    /// RFC 5681, equation 4: a repeated timeout does not change ssthresh, and the window restarts at one segment.
    #[test]
    fn a_repeated_timeout_keeps_the_threshold() {
        let mut decider = reno();
        let first = decider.on_report(&state(CaState::Loss, true, 10));
        assert_eq!(first, Decision { cwnd: 1, ssthresh: Some(5), pacing: None });
        assert_eq!(decider.on_report(&acks(2, CaState::Loss)).cwnd, 3);
        assert_eq!(decider.on_report(&state(CaState::Loss, false, 2)), first);
    }

    /// After a decrease of the path MTU the kernel enters Loss without a congestion event (tcp_simple_retransmit).
    #[test]
    fn a_smaller_path_mtu_is_no_congestion_event() {
        let mut decider = reno();
        assert_eq!(decider.on_report(&state(CaState::Loss, false, 10)).cwnd, 10);
    }

    #[test]
    fn the_acks_of_a_report_precede_its_congestion_event() {
        let mut decider = reno();
        let both = Report { acked: acked(10), advanced: true, ..state(CaState::Recovery, true, 20) };
        assert_eq!(decider.on_report(&both).cwnd, 10);
        decider.on_report(&Report { cwnd: 20, ..report(Kind::Undo) });
        decider.on_report(&state(CaState::Open, false, 20));
        assert_eq!(decider.decision().cwnd, 20, "slow start had brought it to 20");
    }

    /// RFC 2861: the kernel restarts at 10 segments after an idle period.
    #[test]
    fn an_idle_period_resets_the_window() {
        let mut decider = reno();
        decider.on_report(&acks(30, CaState::Open));
        let idle = Report { cwnd: 10, ..report(Kind::Idle(Duration::from_millis(700))) };
        assert_eq!(decider.on_report(&idle).cwnd, 10);
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut decider = reno();
        assert_eq!(decider.on_report(&Report { cwnd_limited: false, ..acks(10, CaState::Open) }).cwnd, 10);
        assert_eq!(decider.on_report(&Report { advanced: false, ..acks(3, CaState::Disorder) }).cwnd, 10);
    }

    /// Sends a line for each call that it receives.
    #[derive(Clone, Debug)]
    struct CallRecorder(Sender<String>);

    impl CongestionControl for CallRecorder {
        fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
            let rate = ack.delivery_rate.map(|rate| (rate.rate().0, rate.prior_delivered.0));
            let round = ack.round;
            let delivered = ack.delivered.0;
            self.0.send(format!("ack round {round} delivered {delivered} rate {rate:?} {}", ack.recovering)).unwrap();
            None
        }

        fn on_congestion(&mut self, event: &Congestion) {
            self.0.send(format!("{:?}", event.cause)).unwrap();
        }

        fn cwnd(&self) -> Bytes {
            Bytes(7_999)
        }

        fn on_window(&mut self, window: &Window) {
            self.0.send(format!("{:?}", window.change)).unwrap();
        }

        fn on_sent(&mut self, sent: &Sent) {
            self.0.send(format!("sent {} {}", sent.size.0, sent.app_limited)).unwrap();
        }

        fn pacing_rate(&self) -> Option<Rate> {
            Some(Rate(8_000_000))
        }
    }

    fn recorded_decider(model_based: bool) -> (Decider, Receiver<String>) {
        let (sender, calls) = channel();
        let open = Report { cwnd: 10, una: u32::MAX - 999, delivered: 1, ..report(Kind::Open) };
        let mut decider = Decider::new(Driver::new(Box::new(CallRecorder(sender)), model_based), &open.path(1));
        let decision = decider.on_report(&open);
        assert_eq!(decision, Decision { cwnd: 7, ssthresh: None, pacing: Some(Rate(8_000_000)) });
        (decider, calls)
    }

    /// By hand: 10 segments of 1000 bytes over 10 ms are 8 Mbit/s; 4 of the 14 delivered segments preceded them.
    /// Sequence and delivery counts wrap; the delivery of the SYN does not count.
    #[test]
    fn rates_and_rounds_are_computed_from_counts_that_wrap() {
        let (mut decider, calls) = recorded_decider(false);
        let sample = |prior| RateSample {
            delivered: 10,
            interval: Duration::from_millis(10),
            prior_delivered: prior,
            app_limited: false,
        };
        decider.on_report(&Report {
            una: 9_000,
            nxt: 20_000,
            delivered: 15,
            rate: Some(sample(5)),
            ..acks(14, CaState::Open)
        });
        decider.on_report(&Report { una: 19_000, nxt: 30_000, delivered: 25, ..acks(10, CaState::Open) });
        decider.on_report(&Report { una: 20_001, nxt: 40_000, delivered: 26, ..acks(1, CaState::Recovery) });
        let recorded: Vec<_> = calls.try_iter().collect();
        assert_eq!(
            recorded,
            [
                "Established",
                "ack round 1 delivered 14000 rate Some((8000000, 4000)) false",
                "ack round 1 delivered 24000 rate None false",
                "ack round 2 delivered 25000 rate None false",
            ]
        );
    }

    /// A model-based algorithm sets the window during recovery and is notified of its end. After an idle period it is
    /// notified of an application-limited segment.
    #[test]
    fn a_model_based_algorithm_controls_its_window() {
        let (mut decider, calls) = recorded_decider(true);
        let decision = decider.on_report(&state(CaState::Recovery, true, 10));
        assert_eq!((decision.cwnd, decision.ssthresh), (7, None));
        decider.on_report(&state(CaState::Open, false, 10));
        decider.on_report(&report(Kind::Idle(Duration::from_millis(300))));
        let ecn = Report { state: CaState::Cwr, ..report(Kind::State { congestion: true, ece: true }) };
        decider.on_report(&Report { sent: 3, in_flight: 5, ..ecn });
        let recorded: Vec<_> = calls.try_iter().collect();
        assert_eq!(recorded, ["Established", "Loss", "Recovered", "sent 1000 true", "sent 3000 false", "Ecn"]);
    }
}
