//! Slow start and congestion avoidance combined into one congestion control.

use cwndlab_units::{maths, Bytes, Rate};

use crate::contract::{Ack, Cause, Change, Congestion, CongestionControl, Path, Window};
use crate::event::{Event, EventKind};
use crate::parts::{Capabilities, CongestionAvoidance, SlowStart};
use crate::state::{Extra, Phase, Ssthresh, State};

/// The largest window, bytes: 512 GiB, far beyond any path.
const MAX_BYTES: f64 = (1u64 << 39) as f64;

/// The minimum of `ssthresh`, segments (RFC 5681, equation 4).
const MIN_SSTHRESH: f64 = 2.0;

/// Slow start and congestion avoidance as one [`CongestionControl`]. The window is in segments, as in the papers.
#[derive(Clone, Debug)]
pub struct Composed {
    /// `None`: congestion avoidance has its own slow start.
    slow_start: Option<Box<dyn SlowStart>>,
    growth: Box<dyn CongestionAvoidance>,
    /// Capabilities of the slow start; whether congestion avoidance paces.
    capabilities: Capabilities,
    growth_paces: bool,
    mss: f64,
    /// The maximum window, segments.
    most: f64,
    w: f64,
    ssthresh: f64,
    /// Conservative slow start (RFC 9406); loss recovery of the transport.
    conservative: bool,
    recovering: bool,
    /// The slow start sets the window of this recovery.
    owned: bool,
}

impl Composed {
    /// Combines the two parts at the start of a flow.
    #[must_use]
    pub fn new(path: &Path, slow_start: Option<Box<dyn SlowStart>>, growth: Box<dyn CongestionAvoidance>) -> Self {
        let mss = path.mss.0 as f64;
        let w = path.initial_cwnd.0 as f64 / mss;
        let ssthresh = path.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.0 as f64 / mss);
        let capabilities = slow_start.as_ref().map_or_else(Capabilities::default, |part| part.capabilities());
        let growth_paces = growth.capabilities().pacing;
        Self {
            slow_start,
            growth,
            capabilities,
            growth_paces,
            mss,
            most: MAX_BYTES / mss,
            w,
            ssthresh,
            conservative: false,
            recovering: false,
            owned: false,
        }
    }

    #[inline]
    fn start(&mut self, ack: &Ack, may_grow: bool) -> Option<Event> {
        let step = match &mut self.slow_start {
            Some(part) => part.on_ack(ack, self.w, self.ssthresh),
            None => self.growth.start(ack, self.w, self.ssthresh),
        };
        let mut event = step.event;
        if let Some(exit) = step.exit {
            self.ssthresh = exit.ssthresh.max(MIN_SSTHRESH);
            event = Some(exit.event);
        }
        if let Some(event) = &event {
            self.conservative = event.kind == EventKind::CssEnter;
        }
        if step.grow < 0.0 && !ack.recovering {
            self.w = (self.w + step.grow).max(1.0);
        }
        if !may_grow || step.grow <= 0.0 {
            return event;
        }
        let room = (self.ssthresh - self.w).max(0.0);
        if step.grow <= room {
            self.w += step.grow;
            return event;
        }
        // Linux, tcp_slow_start: segments beyond the threshold count for congestion avoidance. Where slow start ends at
        // the present window, as with HyStart, that is the whole ACK (tcp_cong_avoid runs after pkts_acked).
        self.w = self.w.max(self.ssthresh);
        let left = Bytes(maths::whole(maths::float(ack.acked.0) * (1.0 - room / step.grow)));
        if left.0 > 0 {
            let rest = Ack { acked: left, ..ack.clone() };
            self.avoid(&rest);
        }
        event
    }

    /// A recovery whose window the slow start sets.
    fn recover(&mut self, ack: &Ack) {
        if let Some(part) = &mut self.slow_start {
            let (w, ssthresh) = part.recover(ack, self.w);
            self.w = w.clamp(1.0, self.most);
            self.ssthresh = ssthresh.max(MIN_SSTHRESH);
        }
    }

    /// Congestion avoidance. A window below `ssthresh` lowers `ssthresh`: only a congestion event, an idle period or
    /// the slow start itself restarts slow start.
    #[inline]
    fn avoid(&mut self, ack: &Ack) {
        self.w = self.growth.on_ack(ack, self.w);
        if self.w > self.most {
            self.w = self.most; // not `min`, which would hide a NaN
        }
        if self.w < self.ssthresh {
            self.ssthresh = self.w;
        }
    }
}

impl CongestionControl for Composed {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.growth.observe(ack, self.w);
        self.recovering = ack.recovering;
        self.owned &= ack.recovering;
        if self.owned {
            self.recover(ack);
            return None;
        }
        let may_grow = ack.cwnd_limited && !ack.recovering;
        if self.w < self.ssthresh {
            return self.start(ack, may_grow);
        }
        if may_grow {
            self.avoid(ack);
        }
        if self.capabilities.outside {
            if let Some(part) = &mut self.slow_start {
                self.ssthresh = part.outside(ack, self.w, self.ssthresh);
            }
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let mut ssthresh = self.ssthresh;
        if !event.repeated {
            ssthresh = self.growth.on_congestion(event, self.w);
        }
        if let Some(part) = &mut self.slow_start {
            ssthresh = part.on_congestion(event, self.w, ssthresh);
        }
        if !event.repeated {
            self.ssthresh = ssthresh.max(MIN_SSTHRESH);
        }
        // A window below the least threshold is a reduction after an ECN echo (RFC 9438, section 4.6).
        let least = if event.cause == Cause::Ecn { 1.0 } else { MIN_SSTHRESH };
        self.w = if event.restart { 1.0 } else { ssthresh.max(least).min(self.ssthresh) };
        self.conservative = false;
        self.recovering = !event.restart;
        self.owned = self.recovering && self.slow_start.as_ref().is_some_and(|part| part.owns_recovery());
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        // A rounding margin: k segments may be stored as a sum of fractions.
        Bytes(maths::whole((self.w + 1e-9) * self.mss))
    }

    fn on_window(&mut self, window: &Window) {
        (self.recovering, self.owned) = (false, false);
        match window.change {
            Change::Undo => {}
            Change::Idle | Change::Recovered => {
                self.w = window.cwnd.0 as f64 / self.mss;
                self.ssthresh = self.ssthresh.max(window.ssthresh.map_or(0.0, |bytes| bytes.0 as f64 / self.mss));
            }
            Change::Established => {
                if window.cwnd < self.cwnd() {
                    self.w = window.cwnd.0 as f64 / self.mss;
                }
                if let Some(part) = &mut self.slow_start {
                    (self.w, self.ssthresh) = part.established(window, self.w, self.ssthresh);
                }
            }
        }
        self.growth.on_window(window);
        if let Some(part) = &mut self.slow_start {
            part.on_window(window);
        }
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        if self.capabilities.pacing && self.w < self.ssthresh {
            return self.slow_start.as_ref().and_then(|part| part.pacing_rate());
        }
        if self.growth_paces {
            return self.growth.pacing_rate();
        }
        None
    }

    #[inline]
    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra {
            put("w_segments", self.w);
            if let Some(part) = &self.slow_start {
                part.extra(put);
            }
            self.growth.extra(put);
        }
        let phase = if self.owned {
            Phase::OwnRecovery
        } else if self.recovering {
            Phase::Recovery
        } else if self.w >= self.ssthresh {
            Phase::CongestionAvoidance
        } else if self.conservative {
            Phase::ConservativeSlowStart
        } else {
            Phase::SlowStart
        };
        State { ssthresh: Ssthresh::of(self.ssthresh, self.mss), phase }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Reason;
    use crate::parts::{Exit, Step};
    use crate::testing::{ack, loss, path, timeout};

    #[derive(Clone, Debug)]
    struct Falling;

    impl SlowStart for Falling {
        fn on_ack(&mut self, _: &Ack, _: f64, _: f64) -> Step {
            Step::grow(-6.0)
        }
    }

    #[derive(Clone, Debug)]
    struct Still;

    impl CongestionAvoidance for Still {
        fn on_ack(&mut self, _: &Ack, w: f64) -> f64 {
            w
        }

        fn on_congestion(&mut self, _: &Congestion, w: f64) -> f64 {
            w
        }
    }

    /// Ends slow start at the present window with the third ACK.
    #[derive(Clone, Debug)]
    struct Third(u32);

    impl SlowStart for Third {
        fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
            self.0 += 1;
            let event = Event::new(EventKind::SlowStartExit, Reason::Delay, w);
            let exit = (self.0 == 3).then_some(Exit { ssthresh: w, event });
            Step::with_exit(ack.acked.0 as f64 / ack.mss.0 as f64, exit)
        }
    }

    /// Halves the window at the congestion event, and lowers it by the acknowledged segments of the recovery.
    #[derive(Clone, Debug)]
    struct Owner;

    impl SlowStart for Owner {
        fn on_ack(&mut self, ack: &Ack, _: f64, _: f64) -> Step {
            Step::grow(ack.acked.0 as f64 / ack.mss.0 as f64)
        }

        fn on_congestion(&mut self, _: &Congestion, w: f64, _: f64) -> f64 {
            w / 2.0
        }

        fn owns_recovery(&self) -> bool {
            true
        }

        fn recover(&mut self, ack: &Ack, w: f64) -> (f64, f64) {
            let w = w - ack.acked.0 as f64 / ack.mss.0 as f64;
            (w, w)
        }
    }

    /// By hand: 20 segments, 10 at the loss, 8 and 6 with two ACKs of two segments; then congestion avoidance, and after
    /// a timeout, whose recovery the slow start does not own, slow start from one segment.
    #[test]
    fn a_slow_start_sets_the_window_of_a_recovery_that_it_owns() {
        let mut flow = Composed::new(&path(20), Some(Box::new(Owner)), Box::new(Still));
        flow.on_congestion(&loss(20));
        assert_eq!((flow.cwnd(), flow.state(None).phase), (Bytes(10_000), Phase::OwnRecovery));
        let repairing = Ack { recovering: true, ..ack(2) };
        let windows = [0; 2].map(|_| {
            flow.on_ack(&repairing);
            flow.cwnd().0
        });
        assert_eq!(windows, [8000, 6000]);
        flow.on_ack(&ack(2));
        assert_eq!((flow.cwnd(), flow.state(None).phase), (Bytes(6000), Phase::CongestionAvoidance));
        flow.on_congestion(&timeout(6));
        assert_eq!((flow.cwnd(), flow.state(None).phase), (Bytes(1000), Phase::SlowStart));
    }

    /// Adds a thousandth of the acknowledged segments.
    #[derive(Clone, Debug)]
    struct Thousandth;

    impl CongestionAvoidance for Thousandth {
        fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
            w + ack.acked.0 as f64 / ack.mss.0 as f64 / 1000.0
        }

        fn on_congestion(&mut self, _: &Congestion, w: f64) -> f64 {
            w
        }
    }

    /// Linux, tcp_ack: hystart sets ssthresh = cwnd in pkts_acked, and cubictcp_cong_avoid, which runs after it, passes
    /// the whole ACK to bictcp_update. By hand from 10: 12, 14, then congestion avoidance with 2 and 2 segments.
    #[test]
    fn the_ack_that_ends_slow_start_counts_in_congestion_avoidance() {
        let mut flow = Composed::new(&path(10), Some(Box::new(Third(0))), Box::new(Thousandth));
        assert_eq!(flow.state(None).ssthresh, Ssthresh::Unlimited);
        let windows = [2, 2, 2, 2].map(|n| {
            flow.on_ack(&ack(n));
            flow.cwnd().0
        });
        assert_eq!(windows, [12_000, 14_000, 14_002, 14_004]);
        assert_eq!(flow.state(None).ssthresh, Ssthresh::At(Bytes(14_000)));
    }

    /// RFC 9438, section 4.6: the window is at least two segments after a loss and one after an ECN echo; ssthresh is at
    /// least two.
    #[test]
    fn the_least_window_is_one_segment_after_an_ecn_echo() {
        #[derive(Clone, Debug)]
        struct Tenth;
        impl CongestionAvoidance for Tenth {
            fn on_ack(&mut self, _: &Ack, w: f64) -> f64 {
                w
            }
            fn on_congestion(&mut self, _: &Congestion, w: f64) -> f64 {
                w / 10.0
            }
        }
        for (cause, window) in [(Cause::Loss, 2_000), (Cause::Ecn, 1_000)] {
            let mut flow = Composed::new(&path(10), None, Box::new(Tenth));
            flow.on_congestion(&Congestion { cause, ..crate::testing::loss(10) });
            assert_eq!((flow.cwnd().0, flow.state(None).ssthresh), (window, Ssthresh::At(Bytes(2_000))));
        }
    }

    /// Linux, tcp_cwnd_restart, by hand: a window of 10 segments halves at a loss and has grown to 8; after an idle
    /// period the threshold is the larger of 5 and 3/4 · 8.
    #[test]
    fn an_idle_period_raises_the_threshold() {
        let mut flow = Composed::new(&path(10), None, Box::new(Still));
        flow.on_window(&Window { change: Change::Idle, ssthresh: Some(Bytes(7_000)), ..crate::testing::undo() });
        assert_eq!(flow.state(None).ssthresh, Ssthresh::Unlimited);
        flow.ssthresh = 5.0;
        for (least, ssthresh) in [(None, 5_000), (Some(6_000), 6_000), (Some(4_000), 6_000)] {
            let idle = Window { change: Change::Idle, cwnd: Bytes(2_000), ..crate::testing::undo() };
            flow.on_window(&Window { ssthresh: least.map(Bytes), ..idle });
            assert_eq!((flow.cwnd().0, flow.state(None).ssthresh), (2_000, Ssthresh::At(Bytes(ssthresh))));
        }
    }

    /// By hand: 10 during recovery, in which the transport sets the window, then 4, then the minimum of one segment.
    #[test]
    fn a_slow_start_may_reduce_the_window() {
        let mut flow = Composed::new(&path(10), Some(Box::new(Falling)), Box::new(Still));
        let mut repairing = ack(1);
        repairing.recovering = true;
        let windows = [repairing, ack(1), ack(1)].map(|ack| {
            flow.on_ack(&ack);
            flow.cwnd().0
        });
        assert_eq!(windows, [10_000, 4_000, 1_000]);
    }
}
