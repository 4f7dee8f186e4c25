//! Retransmission timing in whole clock ticks, as ns-2 keeps it after the BSD code of Jacobson's appendix.
//!
//! Source: V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988, appendix A, doi:10.1145/52324.52356, for the
//! arithmetic; the defaults (`tcpTick_` 10 ms, `T_SRTT_BITS` 3, `T_RTTVAR_BITS` 2, `rttvar_exp_` 2) are ns-2.35's
//! `ns-default.tcl`. `Agent/TCP/Linux` ticks every millisecond and counts falls of the RTT an eighth, as Linux' own
//! estimator does.
//!
//! ```text
//! m = the sample in ticks, at least 1                    (1)
//! d = m - floor(S/8);  S += d                            (2)  S is 8 SRTT
//! V += |d| - floor(V/4)                                  (3)  V is 4 RTTVAR
//! TCP/Linux, d < 0:  V += e, e = |d| - floor(V/4), an eighth of it where it is positive   (3')
//! RTO = floor((8 V + S)/8) ticks, at least 2             (4)
//! ```
//!
//! Since (3) rounds down, V stops at 3 when the RTT is constant: the RTO stays three ticks above SRTT, where exact
//! arithmetic comes down to SRTT itself.

use crate::stack::RtoArithmetic;

/// SRTT and RTTVAR in fixed point.
#[derive(Clone, Debug)]
pub(crate) struct Ticks {
    tick: u64,
    /// An eighth of what falls add to the variance (TCP/Linux).
    linux: bool,
    /// Samples are rounded (timestamps), or the ticks that pass while they last are counted.
    rounded: bool,
    /// S; 0 before the first sample and after many expiries.
    srtt8: i64,
    /// V.
    rttvar4: i64,
    /// (4) of the last sample, ns.
    rto: u64,
}

/// More doublings than this end the trust in SRTT (ns-2: a factor above 8).
const TRUSTED_DOUBLINGS: u32 = 3;

impl Ticks {
    /// `None` where the arithmetic is exact; `tick_ns` is the clock's period.
    pub(crate) fn new(arithmetic: RtoArithmetic, tick_ns: u64, timestamps: bool) -> Option<Self> {
        let linux = match arithmetic {
            RtoArithmetic::Exact => return None,
            RtoArithmetic::Ticks => false,
            RtoArithmetic::TicksLinux => true,
        };
        Some(Self { tick: tick_ns.max(1), linux, rounded: timestamps, srtt8: 0, rttvar4: 0, rto: 0 })
    }

    /// A sample of `rtt` ns that ended at `now`.
    pub(crate) fn sample(&mut self, now: u64, rtt: u64) {
        let ticks = if self.rounded {
            (rtt + self.tick / 2) / self.tick
        } else {
            now / self.tick - now.saturating_sub(rtt) / self.tick
        };
        let measured = i64::try_from(ticks.max(1)).unwrap_or(i64::MAX / 64); // (1)
        if self.srtt8 == 0 {
            self.srtt8 = 8 * measured;
            self.rttvar4 = 2 * measured;
        } else {
            let change = measured - self.srtt8 / 8;
            self.srtt8 = (self.srtt8 + change).max(1); // (2)
            let mut more = change.abs() - self.rttvar4 / 4; // (3)
            if self.linux && change < 0 && more > 0 {
                more /= 8; // (3')
            }
            self.rttvar4 = (self.rttvar4 + more).max(i64::from(!self.linux));
        }
        self.rto = (self.rttvar4 + self.srtt8 / 8).max(2).unsigned_abs() * self.tick;
        // (4)
    }

    /// The timeout before floor, back-off and ceiling, ns; `None` before the first sample.
    pub(crate) fn rto(&self) -> Option<u64> {
        (self.rto > 0).then_some(self.rto)
    }

    /// The timer expired; the timeout is now doubled `doublings` times. After many, the next sample begins anew.
    pub(crate) fn back_off(&mut self, doublings: u32) {
        if doublings > TRUSTED_DOUBLINGS {
            self.rttvar4 += self.srtt8 / 8;
            self.srtt8 = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The timeouts after these samples, ms.
    fn after(arithmetic: RtoArithmetic, tick_ms: u64, samples_ms: &[u64]) -> Vec<u64> {
        let mut ticks = Ticks::new(arithmetic, tick_ms * MS, true).expect("ticks");
        samples_ms
            .iter()
            .map(|ms| {
                ticks.sample(1000 * MS, ms * MS);
                ticks.rto / MS
            })
            .collect()
    }

    /// By hand, ticks of 10 ms and a constant RTT of 100 ms: S = 80, V = 20, 15, 12, 9, 7, 6, 5, 4, 3, and 3 for good.
    #[test]
    fn a_constant_rtt_leaves_three_ticks_above_it() {
        let timeouts = after(RtoArithmetic::Ticks, 10, &[100; 12]);
        assert_eq!(timeouts, [300, 250, 220, 190, 170, 160, 150, 140, 130, 130, 130, 130]);
    }

    /// By hand, ticks of 10 ms: 104 ms are 10 ticks and 105 ms are 11; 4 ms are one, and the RTO two at least.
    #[test]
    fn samples_are_rounded_to_ticks() {
        let first = [104, 105, 4].map(|ms| after(RtoArithmetic::Ticks, 10, &[ms])[0]);
        assert_eq!(first, [300, 330, 30]);
        assert_eq!(after(RtoArithmetic::TicksLinux, 10, &[4, 4, 4]), [30, 30, 30]);
    }

    /// By hand, ticks of 1 ms, after 100 ms (S = 800, V = 200). A rise to 180 ms: d = 80, S = 880, V = 200 + 80 - 50 =
    /// 230, 340 ms for both. A fall to 20 ms: d = -80, S = 720; V = 230 and 320 ms, or with an eighth of the 30 of (3')
    /// V = 203 and 293 ms.
    #[test]
    fn tcp_linux_counts_a_fall_an_eighth() {
        for arithmetic in [RtoArithmetic::Ticks, RtoArithmetic::TicksLinux] {
            assert_eq!(after(arithmetic, 1, &[100, 180])[1], 340);
        }
        assert_eq!(after(RtoArithmetic::Ticks, 1, &[100, 20])[1], 320);
        assert_eq!(after(RtoArithmetic::TicksLinux, 1, &[100, 20])[1], 293);
    }

    /// Without timestamps ticks are counted: 5 ms from 8 to 13 ms cross the tick at 10, from 1 to 6 ms none (at least 1).
    #[test]
    fn without_timestamps_the_passing_ticks_are_counted() {
        let mut crossing = Ticks::new(RtoArithmetic::Ticks, 10 * MS, false).expect("ticks");
        crossing.sample(113 * MS, 105 * MS); // from 8 to 113 ms: 11 ticks
        assert_eq!(crossing.rto, 330 * MS);
        let mut within = Ticks::new(RtoArithmetic::Ticks, 10 * MS, false).expect("ticks");
        within.sample(106 * MS, 105 * MS); // from 1 to 106 ms: 10 ticks
        assert_eq!(within.rto, 300 * MS);
    }

    /// After four expiries (a factor of 16, above 8) the next sample is a first one: 100 ms give 300 ms again.
    #[test]
    fn many_expiries_forget_the_mean() {
        let mut ticks = Ticks::new(RtoArithmetic::Ticks, 10 * MS, true).expect("ticks");
        for _ in 0..12 {
            ticks.sample(1000 * MS, 100 * MS);
        }
        assert_eq!(ticks.rto, 130 * MS);
        (1..=4).for_each(|doublings| ticks.back_off(doublings));
        assert_eq!(ticks.rto, 130 * MS, "the timeout itself changes with a sample only");
        ticks.sample(2000 * MS, 100 * MS);
        assert_eq!(ticks.rto, 300 * MS);
    }
}
