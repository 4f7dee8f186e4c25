//! The retransmission timeout in whole clock ticks, as BSD and ns-2 compute it.
//!
//! Source: V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988, appendix A, doi:10.1145/52324.52356, for the
//! arithmetic; the defaults (`tcpTick_` 10 ms, `T_SRTT_BITS` 3, `T_RTTVAR_BITS` 2, `rttvar_exp_` 2) are ns-2.35's
//! `ns-default.tcl`. `Agent/TCP/Linux` ticks every millisecond and weights a falling RTT by 1/8, as Linux' own estimator
//! does.
//!
//! ```text
//! m = the sample in ticks, at least 1                    (1)
//! d = m - floor(S/8);  S += d                            (2)  S is 8 SRTT
//! V += |d| - floor(V/4)                                  (3)  V is 4 RTTVAR
//! TCP/Linux, d < 0:  V += e, e = |d| - floor(V/4), divided by 8 where it is positive   (3')
//! RTO = floor((8 V + S)/8) ticks, at least 2             (4)
//! ```
//!
//! Since (3) rounds down, V stops at 3 when the RTT is constant: the RTO stays three ticks above SRTT, where exact
//! arithmetic converges to SRTT itself.

use cwndlab_units::{Duration, Time};

use crate::stack::RtoArithmetic;

/// The RTO estimator in fixed point.
#[derive(Clone, Debug)]
pub(crate) struct CoarseRto {
    tick: u64,
    /// A decrease of the RTT adds only one eighth to the variance (TCP/Linux).
    linux: bool,
    /// Samples are rounded to ticks (timestamps); otherwise a sample counts the clock ticks between transmission and
    /// ACK.
    rounded: bool,
    /// S; 0 before the first sample and after repeated timeouts.
    srtt8: i64,
    /// V.
    rttvar4: i64,
    /// (4) of the last sample; zero before the first one.
    rto: Duration,
}

/// After more back-offs than this SRTT is discarded (ns-2: a factor above 8).
const TRUSTED_BACKOFFS: u32 = 3;

impl CoarseRto {
    /// The estimator with clock period `tick`; `None` if the arithmetic is exact.
    pub(crate) fn new(arithmetic: RtoArithmetic, tick: Duration, timestamps: bool) -> Option<Self> {
        let linux = match arithmetic {
            RtoArithmetic::Exact => return None,
            RtoArithmetic::Ticks => false,
            RtoArithmetic::TicksLinux => true,
        };
        let tick = tick.as_nanos().max(1);
        Some(Self { tick, linux, rounded: timestamps, srtt8: 0, rttvar4: 0, rto: Duration::ZERO })
    }

    /// Adds the sample `rtt` of a segment acknowledged at `now`.
    pub(crate) fn sample(&mut self, now: Time, rtt: Duration) {
        let ticks = if self.rounded {
            (rtt.as_nanos() + self.tick / 2) / self.tick
        } else {
            now.as_nanos() / self.tick - now.as_nanos().saturating_sub(rtt.as_nanos()) / self.tick
        };
        let measured = i64::try_from(ticks.max(1)).unwrap_or(i64::MAX / 64); // (1)
        if self.srtt8 == 0 {
            self.srtt8 = 8 * measured;
            self.rttvar4 = 2 * measured;
        } else {
            let change = measured - self.srtt8 / 8;
            self.srtt8 = (self.srtt8 + change).max(1); // (2)
            let mut increase = change.abs() - self.rttvar4 / 4; // (3)
            if self.linux && change < 0 && increase > 0 {
                increase /= 8; // (3')
            }
            self.rttvar4 = (self.rttvar4 + increase).max(i64::from(!self.linux));
        }
        self.rto = Duration::from_nanos((self.rttvar4 + self.srtt8 / 8).max(2).unsigned_abs() * self.tick);
        // (4)
    }

    /// The timeout before minimum, back-off and maximum are applied; `None` before the first sample.
    pub(crate) fn rto(&self) -> Option<Duration> {
        (self.rto > Duration::ZERO).then_some(self.rto)
    }

    /// Handles an expiry of the timer, after which the timeout is doubled `backoffs` times. After several back-offs the
    /// next sample restarts the estimate.
    pub(crate) fn back_off(&mut self, backoffs: u32) {
        if backoffs > TRUSTED_BACKOFFS {
            self.rttvar4 += self.srtt8 / 8;
            self.srtt8 = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The RTO after each of these samples, ms.
    fn after(arithmetic: RtoArithmetic, tick_ms: u64, samples_ms: &[u64]) -> Vec<u64> {
        let mut coarse = CoarseRto::new(arithmetic, Duration::from_millis(tick_ms), true).expect("ticks");
        let now = Time::ZERO + Duration::from_millis(1000);
        samples_ms
            .iter()
            .map(|&ms| {
                coarse.sample(now, Duration::from_millis(ms));
                coarse.rto.as_nanos() / 1_000_000
            })
            .collect()
    }

    /// By hand, ticks of 10 ms and a constant RTT of 100 ms: S = 80, V = 20, 15, 12, 9, 7, 6, 5, 4, 3, and 3 from then on.
    #[test]
    fn a_constant_rtt_leaves_the_rto_three_ticks_above_it() {
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
    fn tcp_linux_weights_a_falling_rtt_by_one_eighth() {
        for arithmetic in [RtoArithmetic::Ticks, RtoArithmetic::TicksLinux] {
            assert_eq!(after(arithmetic, 1, &[100, 180])[1], 340);
        }
        assert_eq!(after(RtoArithmetic::Ticks, 1, &[100, 20])[1], 320);
        assert_eq!(after(RtoArithmetic::TicksLinux, 1, &[100, 20])[1], 293);
    }

    /// Without timestamps a sample counts clock ticks: from 8 to 113 ms the 10 ms clock ticks 11 times, from 1 to 106
    /// ms 10 times.
    #[test]
    fn without_timestamps_elapsed_clock_ticks_are_counted() {
        let rto_after = |sent: u64, acked: u64| {
            let mut coarse = CoarseRto::new(RtoArithmetic::Ticks, Duration::from_millis(10), false).expect("ticks");
            coarse.sample(Time::ZERO + Duration::from_millis(acked), Duration::from_millis(acked - sent));
            coarse.rto
        };
        assert_eq!(rto_after(8, 113), Duration::from_millis(330));
        assert_eq!(rto_after(1, 106), Duration::from_millis(300));
    }

    /// After four timeouts (a factor of 16, above 8) the next sample is a first one: 100 ms give 300 ms again.
    #[test]
    fn many_timeouts_discard_srtt() {
        let mut coarse = CoarseRto::new(RtoArithmetic::Ticks, Duration::from_millis(10), true).expect("ticks");
        let now = Time::ZERO + Duration::from_millis(1000);
        let rtt = Duration::from_millis(100);
        for _ in 0..12 {
            coarse.sample(now, rtt);
        }
        assert_eq!(coarse.rto, Duration::from_millis(130));
        (1..=4).for_each(|backoffs| coarse.back_off(backoffs));
        assert_eq!(coarse.rto, Duration::from_millis(130), "the timeout itself changes with a sample only");
        coarse.sample(now, rtt);
        assert_eq!(coarse.rto, Duration::from_millis(300));
    }
}
