//! Careful Resume: a paced jump to half of what an earlier connection used, and a retreat if it causes congestion.
//!
//! Source: N. Kuhn, E. Stephan, G. Fairhurst, R. Secchi, C. Huitema, "Convergence of Congestion Control from Retained
//! State", RFC 9959, 2026 (draft-ietf-tsvwg-careful-resume-24).
//!
//! ```text
//! Reconnaissance: the initial window is acknowledged, more data waits, saved_rtt / 2 < RTT_min ≤ 10 saved_rtt  (1)
//! Unvalidated: PipeSize = FlightSize, w = jump = min(max_jump, saved_cwnd / 2), paced at jump / RTT            (2)
//!   until FlightSize = w, the first ACK of data sent after (2), or an RTT has passed                           (3)
//!   FlightSize ≤ PipeSize or < IW: w = max(PipeSize, IW), end; else w = FlightSize                             (4)
//! Validating: w grows as without Careful Resume, until the data sent in (2) is acknowledged                    (5)
//! each ack from (2) on: PipeSize += n                                                                          (6)
//! congestion from (2) on: Safe Retreat, w = PipeSize / 2 while that data is outstanding                        (7)
//!   then ssthresh = β PipeSize                                                                                 (8)
//! ```
//!
//! Units: segments, nanoseconds. Growth without Careful Resume is that of `base`.
//! Differs from the source: a fall of the RTT in (2) does not end it; Safe Retreat lasts until the recovery ends.

use cwndlab_control::{
    options, Ack, Build, Capabilities, Change, Confidence, Congestion, Event, EventKind, Extra, Kind, Need, Path,
    Reason, SlowStart, Spec, Step, Window,
};
use cwndlab_units::{Duration, Rate, Time};

use super::hystart_pp::HyStartPp;
use crate::congestion_avoidance::reno::segments;
use crate::shared::pace;

options! {
    struct Options {
        /// saved_cwnd; 0: what the last connection of the flow, or of its `saved_parameters`, delivered in its minimum
        /// RTT, by its last delivery rate
        saved_cwnd: f64["segments"] = 0.0 in 0.0..=1e7,
        /// saved_rtt, for a saved_cwnd above 0
        saved_rtt: f64["s"] = 0.1 in 1e-6..=10.0,
        /// maximum of the jump
        max_jump: f64["segments"] = 1e7 in 2.0..=1e7,
        /// time for which the parameters of the last connection are valid
        lifetime: f64["s"] = 3600.0 in 0.0..=1e7,
        /// β of (8): 0.5 in the RFC, 0.7 for CUBIC
        beta: f64 = 0.5 in 0.5..=1.0,
        /// slow start without Careful Resume
        base: Base { HyStartPp = "hystart-pp", Standard = "standard" } = HyStartPp,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "careful-resume",
    title: "Careful Resume",
    kind: Kind::SlowStart,
    source: "RFC 9959",
    year: 2026,
    confidence: Confidence::High,
    summary: "After the initial window is acknowledged the window jumps to half of what an earlier connection used, with pacing. If a loss shows that the path has no room for it, the window falls to half of what was delivered.",
    parameters: Options::PARAMETERS,
    choices: &[
        "the window of Safe Retreat is at least 2 segments, the minimum of QUIC; the example of the RFC has the initial window",
        "a connection saves delivery rate times minimum RTT, whatever its size; the RFC permits to save none below four initial windows",
        "a jump that is not above the present window ends it",
        "Unvalidated ends with the ACK after the event, because the events are those of sending",
    ],
    pitfalls: &[
        "without parameters of an earlier connection it is its base",
        "a connection that ends in a recovery saves the low rate of its retransmissions, and the next one does not jump",
        "the receive window must admit the jump, which Linux' auto-tuning does not",
        "Safe Retreat needs SACK: with a recovery without SACK, and in the kernel, the transport reduces to PipeSize / 2",
    ],
    companion: "",
    needs: &[Need::Pacing],
    incompatible: &[],
    model_based: false,
    build: Build::SlowStart(|path, arguments| Box::new(CarefulResume::new(path, arguments.into()))),
};

/// Least window of Safe Retreat (RFC 9002, section 4.8).
const MIN_WINDOW: f64 = 2.0;

/// (1): whether a minimum RTT is consistent with the saved one, ns.
#[must_use]
pub fn is_consistent(saved_rtt: u64, rtt_min: u64) -> bool {
    2 * rtt_min > saved_rtt && rtt_min <= saved_rtt.saturating_mul(10)
}

/// (2).
#[must_use]
pub fn jump(saved_cwnd: f64, max_jump: f64) -> f64 {
    (saved_cwnd / 2.0).min(max_jump)
}

/// The phase. Positions are delivered bytes at which all data sent up to a moment is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Reconnaissance,
    /// The last byte sent before the jump, and its time.
    Unvalidated(u64, Time),
    /// The last unvalidated byte.
    Validating(u64),
    SafeRetreat(u64),
    Normal,
}

/// Slow start of Careful Resume.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    base: Option<HyStartPp>,
    lifetime: Duration,
    /// Time of saving; `None`: given by a parameter.
    saved_at: Option<Time>,
    saved_rtt: u64,
    jump: f64,
    beta: f64,
    mss: f64,
    /// Initial window, segments.
    initial: f64,
    phase: Phase,
    /// PipeSize, segments.
    pipe: f64,
    /// Delivered bytes, and bytes lost since the last congestion event.
    delivered: u64,
    lost: u64,
    pace: Option<Rate>,
}

impl CarefulResume {
    fn new(path: &Path, options: Options) -> Self {
        let mss = path.mss.0 as f64;
        let given = options.saved_cwnd > 0.0;
        let saved = path.saved.filter(|_| !given);
        let cwnd = saved.map_or(options.saved_cwnd, |saved| saved.cwnd.0 as f64 / mss);
        Self {
            base: (options.base == Base::HyStartPp).then(|| HyStartPp::standard(path)),
            lifetime: Duration::from_secs_f64(options.lifetime),
            saved_at: saved.map(|saved| saved.at),
            saved_rtt: saved.map_or((options.saved_rtt * 1e9) as u64, |saved| saved.rtt.as_nanos()),
            jump: jump(cwnd, options.max_jump),
            beta: options.beta,
            mss,
            initial: path.initial_cwnd.0 as f64 / mss,
            phase: if cwnd > 0.0 { Phase::Reconnaissance } else { Phase::Normal },
            pipe: 0.0,
            delivered: 0,
            lost: 0,
            pace: None,
        }
    }

    /// Growth without Careful Resume.
    #[inline]
    fn grow(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        match &mut self.base {
            Some(base) => base.on_ack(ack, w, ssthresh),
            None => Step::grow(segments(ack)),
        }
    }

    fn enter(&mut self, phase: Phase, reason: Reason, w: f64) -> Event {
        (self.phase, self.pace) = (phase, None);
        Event::new(EventKind::CarefulResume, reason, w).against(self.pipe)
    }

    /// (1), (2).
    fn reconnoitre(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        let confirmed = ack.delivered.0 as f64 >= self.initial * self.mss;
        if !confirmed || !ack.cwnd_limited || ack.app_limited || ack.recovering {
            return self.grow(ack, w, ssthresh);
        }
        let jump = self.jump.min(ssthresh);
        if !is_consistent(self.saved_rtt, ack.min_rtt.as_nanos()) || jump <= w {
            let event = self.enter(Phase::Normal, Reason::Rejected, w);
            return Step { event: Some(event), ..self.grow(ack, w, ssthresh) };
        }
        self.pipe = ack.in_flight.0 as f64 / self.mss;
        let event =
            self.enter(Phase::Unvalidated(ack.delivered.0 + ack.in_flight.0, ack.now), Reason::Unvalidated, jump);
        self.pace = pace::over(jump, self.mss, ack.rtt.unwrap_or(ack.srtt).as_nanos());
        Step::with_event(jump - w, Some(event))
    }

    /// (3), (4), (6).
    fn leave_unvalidated(&mut self, ack: &Ack, w: f64, before: u64, since: Time) -> Step {
        // Complete before this ACK, which then belongs to Validating.
        let complete = ack.prior_in_flight.0 as f64 > (w - 1.0) * self.mss;
        let (flight, later) = if complete { (ack.prior_in_flight, segments(ack)) } else { (ack.in_flight, 0.0) };
        self.pipe += segments(ack) - later;
        if !complete && ack.delivered.0 <= before && ack.now - since <= ack.srtt {
            return Step::grow(0.0);
        }
        let segments = flight.0 as f64 / self.mss;
        if segments < self.initial || segments <= self.pipe {
            let target = self.pipe.max(self.initial).min(w);
            let event = self.enter(Phase::Normal, Reason::RateLimited, target);
            return Step::with_event(target - w, Some(event));
        }
        let target = segments.min(w);
        let last = ack.delivered.0 + ack.in_flight.0;
        let event = self.enter(Phase::Validating(last), Reason::Validating, target);
        self.pipe += later;
        Step::with_event(target - w + later, Some(event))
    }

    /// (5), (6).
    fn validate(&mut self, ack: &Ack, w: f64, last: u64) -> Option<Event> {
        self.pipe += segments(ack);
        (ack.delivered.0 >= last).then(|| self.enter(Phase::Normal, Reason::Validated, w))
    }
}

impl SlowStart for CarefulResume {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> Step {
        self.delivered = ack.delivered.0;
        match self.phase {
            Phase::Normal | Phase::SafeRetreat(_) => self.grow(ack, w, ssthresh),
            Phase::Reconnaissance => self.reconnoitre(ack, w, ssthresh),
            Phase::Unvalidated(before, since) => self.leave_unvalidated(ack, w, before, since),
            Phase::Validating(last) => {
                let event = self.validate(ack, w, last);
                let step = self.grow(ack, w, ssthresh);
                Step { event: event.or(step.event), ..step }
            }
        }
    }

    fn established(&mut self, window: &Window, w: f64, ssthresh: f64) -> (f64, f64) {
        if self.saved_at.is_some_and(|at| window.now.saturating_since(at) > self.lifetime) {
            self.phase = Phase::Normal;
        }
        (w, ssthresh)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64, ssthresh: f64) -> f64 {
        if let Some(base) = &mut self.base {
            let _ = base.on_congestion(event, w, ssthresh);
        }
        let last = match self.phase {
            Phase::Unvalidated(..) => Some(self.delivered + event.in_flight.0),
            Phase::Validating(last) => Some(last),
            _ => None,
        };
        self.pace = None;
        let Some(last) = last.filter(|_| !event.restart) else {
            self.phase = Phase::Normal;
            return ssthresh;
        };
        (self.phase, self.lost) = (Phase::SafeRetreat(last), 0);
        (self.pipe / 2.0).max(MIN_WINDOW) // (7)
    }

    fn outside(&mut self, ack: &Ack, w: f64, ssthresh: f64) -> f64 {
        self.delivered = ack.delivered.0;
        if let Phase::Validating(last) = self.phase {
            let _ = self.validate(ack, w, last);
        }
        ssthresh
    }

    fn owns_recovery(&self) -> bool {
        matches!(self.phase, Phase::SafeRetreat(_))
    }

    fn recover(&mut self, ack: &Ack, w: f64) -> (f64, f64) {
        if let Phase::SafeRetreat(last) = self.phase {
            self.lost += ack.lost.0;
            // A lost segment is outstanding no more.
            if self.delivered + self.lost < last {
                self.pipe += segments(ack); // (6)
            }
            self.delivered = ack.delivered.0;
        }
        (w, w.max(self.beta * self.pipe)) // (8)
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle && self.phase != Phase::Reconnaissance {
            (self.phase, self.pace) = (Phase::Normal, None);
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pacing: true, outside: true }
    }

    fn extra(&self, put: Extra<'_>) {
        put("pipe_size_segments", self.pipe);
        let number = match self.phase {
            Phase::Normal => 0.0,
            Phase::Reconnaissance => 1.0,
            Phase::Unvalidated(..) => 2.0,
            Phase::Validating(_) => 3.0,
            Phase::SafeRetreat(_) => 4.0,
        };
        put("careful_resume_phase", number);
        if let Some(base) = &self.base {
            base.extra(put);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss, path, timeout, MSS};
    use cwndlab_control::{Phase as Reported, Saved};
    use cwndlab_units::Bytes;

    const MS: u64 = 1_000_000;

    /// RFC 9959, section 4.2.1, for a saved RTT of 100 ms: 50 ms is rejected, 51 ms accepted; 1000 ms is accepted, 1001
    /// ms rejected.
    #[test]
    fn the_rtt_confirms_the_path() {
        let accepted = [50, 51, 1000, 1001].map(|ms| is_consistent(100 * MS, ms * MS));
        assert_eq!(accepted, [false, true, true, false]);
    }

    /// RFC 9959, section 3.3 and appendix B.1: half of 100 and of 300 packets.
    #[test]
    fn the_jump_is_half_of_the_saved_window() {
        assert_eq!([(100.0, 1e7), (300.0, 1e7), (300.0, 64.0)].map(|(w, most)| jump(w, most)), [50.0, 150.0, 64.0]);
    }

    /// The flow of appendix B: 29 packets in flight when the path is confirmed, a saved window of 300, an RTT of 100 ms.
    struct Flow {
        start: CarefulResume,
        w: f64,
        /// Packets, and the time, ms.
        delivered: u64,
        sent: u64,
        now: u64,
        events: Vec<Reason>,
    }

    impl Flow {
        fn confirmed(beta: f64) -> Self {
            let options = Options { saved_cwnd: 300.0, base: Base::Standard, beta, ..Options::default() };
            let start = CarefulResume::new(&path(10), options);
            let mut flow = Self { start, w: 20.0, delivered: 9, sent: 39, now: 100, events: Vec::new() };
            flow.ack(1);
            flow
        }

        fn next(&mut self, segments: u64) -> Ack {
            self.now += 1;
            let mut ack = ack_at(Time::from_nanos(self.now * MS), segments);
            ack.prior_in_flight = MSS * (self.sent - self.delivered);
            self.delivered += segments;
            ack.in_flight = MSS * (self.sent - self.delivered);
            ack.delivered = MSS * self.delivered;
            ack
        }

        fn ack(&mut self, segments: u64) {
            let ack = self.next(segments);
            let step = self.start.on_ack(&ack, self.w, 1e9);
            self.w += step.grow;
            self.events.extend(step.event.map(|event| event.reason));
        }

        fn send(&mut self, segments: u64) {
            self.sent += segments;
        }

        /// The acknowledgement of 28 of the 29 packets, while `segments` are paced.
        fn jump(&mut self, segments: u64) {
            for n in 0..28 {
                self.send(segments * (n + 1) / 28 - segments * n / 28);
                self.ack(1);
            }
        }
    }

    /// Appendix B.1: the window is 150 and PipeSize 29; the first unvalidated ACK begins Validating at the data in flight,
    /// and that of the last unvalidated packet ends Careful Resume. By hand: with 121 packets sent and 30 acknowledged
    /// 120 are in flight; each of their ACKs adds one.
    #[test]
    fn the_window_jumps_and_is_validated() {
        let mut flow = Flow::confirmed(0.5);
        assert_eq!((flow.w, flow.start.pipe), (150.0, 29.0));
        assert_eq!(flow.start.pacing_rate(), Some(Rate(150 * 1000 * 8 * 10)));
        flow.jump(121);
        assert_eq!((flow.w, flow.start.pipe), (150.0, 57.0));
        flow.ack(1);
        assert_eq!((flow.w, flow.start.phase), (150.0, Phase::Unvalidated(39_000, Time::from_nanos(101 * MS))));
        flow.ack(1);
        assert_eq!((flow.w, flow.start.pipe, flow.start.pacing_rate()), (120.0, 59.0, None));
        for n in 0..120 {
            assert_eq!(flow.w, 120.0 + f64::from(n));
            flow.ack(1);
        }
        assert_eq!(flow.events, [Reason::Unvalidated, Reason::Validating, Reason::Validated]);
        assert_eq!((flow.w, flow.start.pipe, flow.start.phase), (240.0, 179.0, Phase::Normal));
    }

    /// Section 3.3: a window that is full is validated at once, with the ACK that follows.
    #[test]
    fn a_full_window_begins_validating() {
        let mut flow = Flow::confirmed(0.5);
        flow.send(121);
        flow.ack(1);
        assert_eq!((flow.w, flow.start.phase), (151.0, Phase::Validating(160_000)));
    }

    /// Section 3.3: an application that sends less than PipeSize is back at PipeSize. By hand: 29 packets before, 20 after
    /// the jump; with the first ACK of these 30 are acknowledged and 19 in flight.
    #[test]
    fn an_unused_jump_ends_at_pipe_size() {
        let mut flow = Flow::confirmed(0.5);
        flow.jump(20);
        flow.ack(2);
        assert_eq!((flow.w, flow.start.phase), (29.0 + 30.0, Phase::Normal));
        assert_eq!(flow.events, [Reason::Unvalidated, Reason::RateLimited]);
    }

    /// An RTT passes in Unvalidated without an ACK of an unvalidated packet.
    #[test]
    fn unvalidated_lasts_no_longer_than_an_rtt() {
        let mut flow = Flow::confirmed(0.5);
        flow.send(100);
        flow.ack(1);
        flow.now += 99;
        flow.ack(1);
        assert_eq!((flow.w, flow.events.len()), (127.0, 2));
    }

    /// Appendix B.4: 34 unvalidated packets are acknowledged and the 35th is lost: PipeSize 63, the window is 31. Section
    /// 3.5, by hand: 20 more are acknowledged, and ssthresh is half of 83, or 0.7 of it.
    #[test]
    fn a_loss_of_the_jump_retreats() {
        for (beta, ssthresh) in [(0.5, 41.5), (0.7, 83.0 * 0.7)] {
            let mut flow = Flow::confirmed(beta);
            flow.jump(121);
            flow.ack(1);
            for _ in 0..5 {
                flow.ack(1);
            }
            assert_eq!(flow.start.pipe, 63.0);
            let w = flow.start.on_congestion(&loss(flow.sent - flow.delivered), flow.w, 100.0);
            assert_eq!((w, flow.start.owns_recovery()), (31.5, true));
            let mut after = (w, w);
            for _ in 0..20 {
                let ack = flow.next(1);
                after = flow.start.recover(&ack, after.0);
            }
            assert_eq!(after, (31.5, ssthresh));
        }
    }

    /// Section 3.5: PipeSize counts until the last unvalidated packet is acknowledged or lost, not with the
    /// retransmissions after it.
    #[test]
    fn pipe_size_ends_with_the_jump() {
        let mut flow = Flow::confirmed(0.5);
        flow.jump(121);
        flow.ack(2);
        let pipe = flow.start.pipe;
        let _ = flow.start.on_congestion(&loss(120), flow.w, 100.0);
        let mut first = flow.next(60);
        first.lost = MSS * 60;
        let _ = flow.start.recover(&first, 29.0);
        let retransmitted = flow.next(60);
        assert_eq!(flow.start.recover(&retransmitted, 29.0).1, 0.5 * (pipe + 60.0));
    }

    /// Sections 3.2 and 3.6: congestion in Reconnaissance, or a timeout, ends it with the reduction of congestion avoidance.
    #[test]
    fn congestion_before_the_jump_or_a_timeout_ends_it() {
        let options = Options { saved_cwnd: 300.0, ..Options::default() };
        let mut early = CarefulResume::new(&path(10), options);
        assert_eq!((early.on_congestion(&loss(10), 10.0, 7.0), early.phase), (7.0, Phase::Normal));
        let mut flow = Flow::confirmed(0.5);
        assert_eq!((flow.start.on_congestion(&timeout(100), 150.0, 75.0), flow.start.phase), (75.0, Phase::Normal));
        assert!(!flow.start.owns_recovery());
    }

    /// The parameters of the last connection: 40 segments and an RTT of 100 ms, 3600 s old and a nanosecond more.
    #[test]
    fn saved_parameters_expire() {
        let saved = Saved { at: Time::ZERO, cwnd: MSS * 40, rtt: Duration::from_millis(100) };
        let path = Path { saved: Some(saved), ..path(10) };
        for (ns, phase) in [(0, Phase::Reconnaissance), (1, Phase::Normal)] {
            let mut start = CarefulResume::new(&path, Options::default());
            assert_eq!((start.jump, start.saved_rtt), (20.0, 100 * MS));
            let now = Time::from_nanos(3_600_000_000_000 + ns);
            let _ = start.established(&Window::new(now, Change::Established, Bytes(0)), 10.0, 1e9);
            assert_eq!(start.phase, phase);
        }
        let none = CarefulResume::new(&cwndlab_control::testing::path(10), Options::default());
        assert_eq!(none.phase, Phase::Normal);
    }

    /// Composed with Reno: Safe Retreat keeps the window, and slow start continues to the threshold.
    #[test]
    fn slow_start_continues_after_safe_retreat() {
        let text = "reno+careful-resume(saved_cwnd=300, base=standard, beta=0.7)";
        let mut flow = crate::catalogue().parse(text).unwrap().build(&path(20));
        let mut ack = ack_at(Time::from_nanos(100 * MS), 20);
        ack.in_flight = MSS * 20;
        let _ = flow.on_ack(&ack);
        assert_eq!(flow.cwnd(), MSS * 150);
        flow.on_congestion(&loss(100));
        let mut ack = Ack { recovering: true, ..ack_at(Time::from_nanos(150 * MS), 40) };
        (ack.delivered, ack.lost) = (MSS * 60, MSS * 60);
        let _ = flow.on_ack(&ack);
        assert_eq!((flow.cwnd(), flow.state(None).phase), (MSS * 10, Reported::OwnRecovery));
        let mut ack = ack_at(Time::from_nanos(300 * MS), 4);
        ack.delivered = MSS * 64;
        let _ = flow.on_ack(&ack);
        assert_eq!((flow.cwnd(), flow.state(None).phase), (MSS * 14, Reported::SlowStart));
        assert_eq!(flow.state(None).ssthresh.bytes(), Some(MSS * 42)); // 0.7 · 60
    }
}
