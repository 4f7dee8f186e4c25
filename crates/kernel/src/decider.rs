//! Reports of the kernel become the calls of the contract; the algorithm's window becomes the answer.

use cwndlab_control::{
    Ack, Algorithm, BeforeReduction, Cause, Change, Congestion, CongestionControl, DeliveryRate, Path, Sent, Window,
};
use cwndlab_units::{Bytes, Duration};

use crate::report::{Decision, Kind, Report, State};

/// An algorithm that decides for one connection of the kernel.
///
/// The first report is the one of [`Kind::Open`]. As in the simulator's transport the algorithm hears of a congestion event
/// before the ACK that brought it, may grow only where `cwnd_limited` and not while a loss is repaired, and a model-based
/// one hears of the end of each recovery.
#[derive(Debug)]
pub struct Decider {
    control: Box<dyn CongestionControl>,
    before: BeforeReduction,
    model_based: bool,
    mss: u64,
    state: State,
    /// Where the reduction at hand leads, segments.
    target: u32,
    round: u64,
    round_end: u32,
    /// The kernel's count of deliveries when the connection began or was reported last, and ours, segments.
    delivered_before: u32,
    delivered: u64,
    begun: bool,
}

/// `a` comes after `b` in a sequence space that wraps.
fn after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

impl Decider {
    /// One for a connection over `path`, with what the entry asks of its transport.
    #[must_use]
    pub fn new(algorithm: &Algorithm, path: &Path) -> Self {
        Self::of(algorithm.build(path), algorithm.growth.spec.model_based, path)
    }

    /// The same with a control made elsewhere.
    #[must_use]
    pub fn of(control: Box<dyn CongestionControl>, model_based: bool, path: &Path) -> Self {
        let mss = path.mss.0.max(1);
        let target = (control.cwnd().0 / mss).max(1) as u32;
        Self {
            control,
            before: BeforeReduction::default(),
            model_based,
            mss,
            state: State::Open,
            target,
            round: 0,
            round_end: 0,
            delivered_before: 0,
            delivered: 0,
            begun: false,
        }
    }

    /// Hears a report, and answers it.
    pub fn report(&mut self, report: &Report) -> Decision {
        if !self.begun {
            self.begin(report);
        }
        self.count(report);
        // What a report sums up happened before what it tells.
        if report.acked.segments > 0 {
            self.acknowledge(report);
        }
        match report.kind {
            Kind::Open | Kind::Close | Kind::Acks => {}
            Kind::State { congestion, ece } => self.change(report, congestion, ece),
            Kind::Undo => {
                self.before.restore(&mut self.control);
                self.impose(report, Change::Undo, Duration::ZERO);
            }
            Kind::Idle(idle) => self.wake(report, idle),
        }
        self.decision()
    }

    /// The algorithm, for its `state`.
    #[must_use]
    pub fn control(&self) -> &dyn CongestionControl {
        &*self.control
    }

    /// Round trips since the start.
    #[must_use]
    pub fn round(&self) -> u64 {
        self.round
    }

    fn bytes(&self, segments: u32) -> Bytes {
        Bytes(u64::from(segments) * self.mss)
    }

    fn window(&self) -> u32 {
        (self.control.cwnd().0 / self.mss).clamp(1, u64::from(u32::MAX >> 1)) as u32
    }

    fn begin(&mut self, report: &Report) {
        self.begun = true;
        self.state = report.state;
        self.round_end = report.una;
        self.delivered_before = report.delivered;
        self.control.on_window(&Window {
            now: report.now,
            change: Change::Established,
            cwnd: self.control.cwnd(),
            idle: Duration::ZERO,
            rtt: Some(report.rtt.smoothed).filter(|srtt| srtt.0 > 0),
            feedback: None,
        });
        self.target = self.window();
    }

    fn count(&mut self, report: &Report) {
        self.delivered += u64::from(report.delivered.wrapping_sub(self.delivered_before));
        self.delivered_before = report.delivered;
        if report.advanced && after(report.una, self.round_end) {
            self.round += 1;
            self.round_end = report.nxt;
        }
        if report.sent > 0 {
            self.control.on_sent(&Sent {
                now: report.now,
                size: self.bytes(report.sent),
                in_flight: self.bytes(report.in_flight.max(report.sent)),
                retransmission: false,
                // Of a first segment after a pause `Kind::Idle` tells.
                app_limited: report.app_limited && report.in_flight > report.sent,
            });
        }
    }

    fn change(&mut self, report: &Report, congestion: bool, ece: bool) {
        let before = std::mem::replace(&mut self.state, report.state);
        let cause = match report.state {
            State::Loss => Cause::Timeout,
            State::Cwr if ece => Cause::Ecn,
            _ => Cause::Loss,
        };
        // The kernel asks for no new ssthresh when its timer expires again, or while it repairs a loss of the same window:
        // the window begins anew and the threshold stays (tcp_enter_loss).
        let repeated = report.state == State::Loss && !congestion;
        if congestion || (repeated && before >= State::Cwr) {
            let event = Congestion {
                now: report.now,
                mss: Bytes(self.mss),
                cause,
                restart: report.state == State::Loss,
                repeated,
                in_flight: self.bytes(report.flight),
                lost: self.bytes(report.lost_out),
                srtt: report.rtt.smoothed,
                min_rtt: report.rtt.min,
                round: self.round,
            };
            self.before.save(&*self.control, &event);
            self.control.on_congestion(&event);
            self.target = self.window();
        }
        if self.model_based && before >= State::Cwr && report.state < State::Cwr {
            self.impose(report, Change::Recovered, Duration::ZERO);
        }
    }

    fn wake(&mut self, report: &Report, idle: Duration) {
        if self.model_based {
            // What left is the first segment after the pause.
            let size = Bytes(self.mss);
            let sent = Sent { now: report.now, size, in_flight: size, retransmission: false, app_limited: true };
            self.control.on_sent(&sent);
        } else {
            self.impose(report, Change::Idle, idle);
        }
    }

    fn impose(&mut self, report: &Report, change: Change, idle: Duration) {
        let cwnd = self.bytes(report.cwnd);
        self.control.on_window(&Window { now: report.now, change, cwnd, idle, rtt: None, feedback: None });
    }

    fn acknowledge(&mut self, report: &Report) {
        let delivered = self.bytes_of(self.delivered);
        let delivery_rate = report.rate.filter(|rate| rate.interval.0 > 0).map(|rate| {
            let since = report.delivered.wrapping_sub(rate.prior_delivered);
            DeliveryRate {
                delivered: self.bytes(rate.delivered),
                interval: rate.interval,
                prior_delivered: Bytes(delivered.0.saturating_sub(u64::from(since) * self.mss)),
                app_limited: rate.app_limited,
            }
        });
        let loses = self.state == State::Loss;
        // The kernel keeps no records for the events of an algorithm.
        let _ = self.control.on_ack(&Ack {
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
            recovering: matches!(self.state, State::Cwr | State::Recovery)
                || (!report.advanced && (!loses || report.lost_out > 0)),
            round: self.round,
            feedback: None,
        });
    }

    fn bytes_of(&self, segments: u64) -> Bytes {
        Bytes(segments * self.mss)
    }

    /// The answer as things stand.
    #[must_use]
    pub fn decision(&self) -> Decision {
        let falls = matches!(self.state, State::Cwr | State::Recovery) && !self.model_based;
        let threshold = self.control.state(None).ssthresh.bytes().map(|bytes| bytes.0.div_ceil(self.mss));
        let ssthresh = if falls {
            Some(self.target)
        } else {
            threshold.map(|segments| segments.clamp(1, u64::from(u32::MAX >> 1)) as u32)
        };
        let cwnd = if falls { self.target } else { self.window() };
        Decision { cwnd, ssthresh, pacing: self.control.pacing_rate() }
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
        let mut decider = Decider::new(&algorithm, &open.path(1));
        assert_eq!(decider.report(&open), Decision { cwnd: 10, ssthresh: None, pacing: None });
        decider
    }

    fn report(kind: Kind) -> Report {
        Report {
            now: Time(1_000_000_000),
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

    fn acks(segments: u32, state: State) -> Report {
        Report { acked: acked(segments), advanced: true, state, ..report(Kind::Acks) }
    }

    fn state(state: State, congestion: bool, flight: u32) -> Report {
        Report { state, flight, ..report(Kind::State { congestion, ece: false }) }
    }

    /// RFC 5681 by hand: slow start 10 → 20; half of 20 in flight is 10, held until the repair ends; 10 more acknowledged in
    /// avoidance is one segment.
    #[test]
    fn reno_grows_halves_once_and_grows_again() {
        let mut decider = reno();
        assert_eq!(decider.report(&acks(10, State::Open)).cwnd, 20);
        let halved = Decision { cwnd: 10, ssthresh: Some(10), pacing: None };
        assert_eq!(decider.report(&state(State::Recovery, true, 20)), halved);
        assert_eq!(decider.report(&acks(7, State::Recovery)), halved);
        assert_eq!(decider.report(&state(State::Open, false, 10)), halved);
        assert_eq!(decider.report(&acks(10, State::Open)).cwnd, 11);
    }

    /// From CWR to Recovery within a window the kernel asks for no second ssthresh (tcp_enter_recovery).
    #[test]
    fn a_window_is_reduced_once() {
        let mut decider = reno();
        assert_eq!(decider.report(&state(State::Cwr, true, 10)).cwnd, 5);
        assert_eq!(decider.report(&state(State::Recovery, false, 10)).cwnd, 5);
    }

    /// RFC 5681, equation 4: a timer that expires again leaves ssthresh, and the window begins at one segment.
    #[test]
    fn a_second_timeout_leaves_the_threshold() {
        let mut decider = reno();
        let first = decider.report(&state(State::Loss, true, 10));
        assert_eq!(first, Decision { cwnd: 1, ssthresh: Some(5), pacing: None });
        assert_eq!(decider.report(&acks(2, State::Loss)).cwnd, 3);
        assert_eq!(decider.report(&state(State::Loss, false, 2)), first);
    }

    /// A path that shrank puts the kernel into Loss without a congestion (tcp_simple_retransmit).
    #[test]
    fn a_smaller_path_is_no_congestion() {
        let mut decider = reno();
        assert_eq!(decider.report(&state(State::Loss, false, 10)).cwnd, 10);
    }

    #[test]
    fn what_a_report_sums_up_happened_before_its_congestion() {
        let mut decider = reno();
        let both = Report { acked: acked(10), advanced: true, ..state(State::Recovery, true, 20) };
        assert_eq!(decider.report(&both).cwnd, 10);
        decider.report(&Report { cwnd: 20, ..report(Kind::Undo) });
        decider.report(&state(State::Open, false, 20));
        assert_eq!(decider.decision().cwnd, 20, "slow start had brought it to 20");
    }

    /// RFC 2861: the kernel restarted at 10, so growth goes on from there.
    #[test]
    fn idleness_sets_the_window_back() {
        let mut decider = reno();
        decider.report(&acks(30, State::Open));
        let idle = Report { cwnd: 10, ..report(Kind::Idle(Duration::from_millis(700))) };
        assert_eq!(decider.report(&idle).cwnd, 10);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut decider = reno();
        assert_eq!(decider.report(&Report { cwnd_limited: false, ..acks(10, State::Open) }).cwnd, 10);
        assert_eq!(decider.report(&Report { advanced: false, ..acks(3, State::Disorder) }).cwnd, 10);
    }

    #[derive(Clone, Debug)]
    struct Told(Sender<String>);

    impl CongestionControl for Told {
        fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
            let rate = ack.delivery_rate.map(|rate| (rate.rate().0, rate.prior_delivered.0));
            let (round, delivered) = (ack.round, ack.delivered.0);
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

    fn told(model_based: bool) -> (Decider, Receiver<String>) {
        let (say, hear) = channel();
        let open = Report { cwnd: 10, una: u32::MAX - 999, delivered: 1, ..report(Kind::Open) };
        let mut decider = Decider::of(Box::new(Told(say)), model_based, &open.path(1));
        let answer = decider.report(&open);
        assert_eq!(answer, Decision { cwnd: 7, ssthresh: None, pacing: Some(Rate(8_000_000)) });
        (decider, hear)
    }

    /// By hand: 10 segments of 1000 bytes over 10 ms are 8 Mbit/s; 4 of the 14 delivered came before. Sequence and delivery
    /// counts wrap; the SYN's delivery does not count.
    #[test]
    fn rates_and_rounds_are_reckoned_from_counts_that_wrap() {
        let (mut decider, hear) = told(false);
        let sample = |prior| RateSample {
            delivered: 10,
            interval: Duration::from_millis(10),
            prior_delivered: prior,
            app_limited: false,
        };
        decider.report(&Report {
            una: 9_000,
            nxt: 20_000,
            delivered: 15,
            rate: Some(sample(5)),
            ..acks(14, State::Open)
        });
        decider.report(&Report { una: 19_000, nxt: 30_000, delivered: 25, ..acks(10, State::Open) });
        decider.report(&Report { una: 20_001, nxt: 40_000, delivered: 26, ..acks(1, State::Recovery) });
        let said: Vec<_> = hear.try_iter().collect();
        assert_eq!(
            said,
            [
                "Established",
                "ack round 1 delivered 14000 rate Some((8000000, 4000)) false",
                "ack round 1 delivered 24000 rate None false",
                "ack round 2 delivered 25000 rate None false",
            ]
        );
    }

    /// Its window is its own in a recovery, of whose end it hears; idleness is a departure after a pause.
    #[test]
    fn a_model_based_algorithm_owns_its_window() {
        let (mut decider, hear) = told(true);
        let answer = decider.report(&state(State::Recovery, true, 10));
        assert_eq!((answer.cwnd, answer.ssthresh), (7, None));
        decider.report(&state(State::Open, false, 10));
        decider.report(&report(Kind::Idle(Duration::from_millis(300))));
        let ecn = Report { state: State::Cwr, ..report(Kind::State { congestion: true, ece: true }) };
        decider.report(&Report { sent: 3, in_flight: 5, ..ecn });
        let said: Vec<_> = hear.try_iter().collect();
        assert_eq!(said, ["Established", "Loss", "Recovered", "sent 1000 true", "sent 3000 false", "Ecn"]);
    }
}
