//! Retransmission timeouts of CoAP: its congestion control.
//!
//! - RFC 7252, section 4.8: no estimate of the round-trip time;
//! - CoCoA (draft-ietf-core-cocoa-03, expired 2018), section 4;
//! - FASOR (draft-ietf-core-fasor-02, expired 2023), section 4, without its option Rexmit-Cnt (4.4).

use cwndlab_config::words;
use cwndlab_network::random::Stream;
use cwndlab_units::{Duration, Time};

words! {
    /// The congestion control of CoAP.
    pub enum CongestionControl {
        /// a random timeout of 2 to 3 s, doubled for each retransmission (RFC 7252, 4.2 and 4.8)
        Rfc7252 = "rfc7252",
        /// timeouts from the round-trip times of messages with and without retransmissions (draft-ietf-core-cocoa-03)
        Cocoa = "cocoa",
        /// timeouts from unambiguous round-trip times, and a slow timeout that probes for congestion (draft-ietf-core-fasor-02)
        Fasor = "fasor",
    }
}

/// CoCoA: the initial timeout of a destination (section 4.1), and of FASOR (section 4.1).
const INITIAL: Duration = Duration::from_secs(2);
/// CoCoA: the largest timeout (section 4.2.1).
const LARGEST: Duration = Duration::from_secs(32);
/// CoCoA: bounds of the timeouts that are backed off by 3, 2 and 1.5 (section 4.2.1), and that age (section 4.3).
const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(3);

/// An estimator of RFC 6298, section 2.
#[derive(Clone, Copy, Debug, Default)]
struct Estimator {
    srtt: Duration,
    rttvar: Duration,
}

impl Estimator {
    /// Takes a round-trip time; the first one sets the variation to `1 / first_divisor` of it.
    fn update(&mut self, rtt: Duration, first_divisor: u64) {
        if self.srtt == Duration::ZERO {
            (self.srtt, self.rttvar) = (rtt, rtt / first_divisor);
        } else {
            let difference = Duration::from_nanos(self.srtt.as_nanos().abs_diff(rtt.as_nanos()));
            self.rttvar = self.rttvar * 3 / 4 + difference / 4;
            self.srtt = self.srtt * 7 / 8 + rtt / 8;
        }
    }

    fn timeout(&self, k: u64) -> Duration {
        self.srtt + self.rttvar * k
    }
}

/// FASOR: the state of a destination (section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probing {
    Fast,
    FastSlowFast,
    SlowFast,
}

/// The timeouts towards one destination.
#[derive(Debug)]
pub struct Timeouts {
    control: CongestionControl,
    /// `ACK_TIMEOUT` of RFC 7252.
    ack_timeout: Duration,
    /// `ACK_RANDOM_FACTOR` of RFC 7252.
    random_factor: f64,
    strong: Estimator,
    weak: Estimator,
    /// CoCoA: the timeout of the destination, and the time of its last change.
    overall: Duration,
    changed: Time,
    /// FASOR: the slow timeout.
    slow: Option<Duration>,
    probing: Probing,
}

/// The timeouts of one message.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The first timeout.
    first: Duration,
    /// FASOR: the state when the message was first sent, and the slow timeout.
    probing: Probing,
    slow: Duration,
    /// The timeout in force.
    pub current: Duration,
}

fn scaled(time: Duration, factor: f64) -> Duration {
    Duration::from_nanos((time.as_nanos() as f64 * factor) as u64)
}

impl Timeouts {
    /// The timeouts before the first message.
    #[must_use]
    pub fn new(control: CongestionControl, ack_timeout: Duration, random_factor: f64) -> Self {
        Self {
            control,
            ack_timeout,
            random_factor,
            strong: Estimator::default(),
            weak: Estimator::default(),
            overall: INITIAL,
            changed: Time::ZERO,
            slow: None,
            probing: Probing::Fast,
        }
    }

    /// The timeouts of a message that is first sent at `now`, beside `others` that are not answered yet.
    pub fn start(&mut self, now: Time, others: u64, stream: &mut Stream) -> Schedule {
        let first = match self.control {
            CongestionControl::Rfc7252 => scaled(self.ack_timeout, 1.0 + (self.random_factor - 1.0) * stream.unit()),
            CongestionControl::Cocoa => {
                self.age(now);
                // Before the first round-trip time, each parallel message adds the initial timeout (section 4.1).
                let unknown = self.strong.srtt == Duration::ZERO && self.weak.srtt == Duration::ZERO;
                let base = if unknown { self.overall * (others + 1) } else { self.overall };
                scaled(base, 1.0 + 0.5 * stream.unit()).min(LARGEST) // dithering of RFC 7252 (section 4.2)
            }
            CongestionControl::Fasor => self.dithered(self.fast(), stream),
        };
        // Only FASOR leaves the state `Fast`, and only when it has a slow timeout.
        let slow = self.slow.unwrap_or(first);
        let current = if self.probing == Probing::SlowFast { slow } else { first };
        Schedule { first, probing: self.probing, slow, current }
    }

    /// FASOR: the timeout from unambiguous round-trip times (section 4.1).
    fn fast(&self) -> Duration {
        if self.strong.srtt == Duration::ZERO {
            INITIAL
        } else {
            self.strong.timeout(4)
        }
    }

    /// FASOR: uniform between RTO + SRTT/4 and RTO + SRTT; the SRTT of the initial timeout is a third of it (section 4.1).
    fn dithered(&self, timeout: Duration, stream: &mut Stream) -> Duration {
        let srtt = if self.strong.srtt == Duration::ZERO { INITIAL / 3 } else { self.strong.srtt };
        timeout + scaled(srtt, 0.25 + 0.75 * stream.unit())
    }

    /// The timeout after the `number`th retransmission, from 1.
    pub fn back_off(&self, schedule: &mut Schedule, number: u32) {
        let Schedule { first, probing, slow, current } = *schedule;
        schedule.current = match self.control {
            CongestionControl::Rfc7252 => current * 2,
            CongestionControl::Cocoa => {
                // Appendix B.3: the factor depends on the timeout in force.
                let factor = if current < SHORT {
                    3.0
                } else if current <= LONG {
                    2.0
                } else {
                    1.5
                };
                scaled(current, factor).min(LARGEST)
            }
            CongestionControl::Fasor => match (probing, number) {
                (Probing::Fast, _) => first * (1 << number.min(30)),
                (Probing::FastSlowFast, 1) => slow.max(first * 2),
                (Probing::FastSlowFast | Probing::SlowFast, n) => first * (1 << (n - 1).min(30)),
            },
        };
    }

    /// Takes the answer at `now` to a message that was first sent at `first_sent` and retransmitted `retransmissions`
    /// times.
    pub fn on_answer(&mut self, now: Time, first_sent: Time, retransmissions: u32) {
        let rtt = now - first_sent;
        match self.control {
            CongestionControl::Rfc7252 => {}
            CongestionControl::Cocoa => self.update_overall(now, rtt, retransmissions),
            CongestionControl::Fasor if retransmissions == 0 => {
                self.strong.update(rtt, 8); // R/(2K), so that the first timeout is 1.5 R
                self.probing = Probing::Fast;
            }
            CongestionControl::Fasor => {
                self.slow = Some(rtt * 3 / 2);
                self.probing = match self.probing {
                    Probing::Fast => Probing::FastSlowFast,
                    Probing::FastSlowFast | Probing::SlowFast => Probing::SlowFast,
                };
            }
        }
    }

    /// CoCoA: the strong estimator takes answers to messages without retransmission, the weak one those to messages with
    /// one or two (section 4.2).
    fn update_overall(&mut self, now: Time, rtt: Duration, retransmissions: u32) {
        let (weight, estimate) = match retransmissions {
            0 => {
                self.strong.update(rtt, 2);
                (0.5, self.strong.timeout(4))
            }
            1 | 2 => {
                self.weak.update(rtt, 2);
                (0.25, self.weak.timeout(1))
            }
            _ => return,
        };
        self.overall = scaled(self.overall, 1.0 - weight) + scaled(estimate, weight);
        self.changed = now;
    }

    /// CoCoA: an estimate that was not used for long moves towards the initial timeout (section 4.3).
    fn age(&mut self, now: Time) {
        let idle = now - self.changed;
        if self.overall < SHORT && idle > self.overall * 16 {
            self.overall = self.overall * 2;
        } else if self.overall > LONG && idle > self.overall * 4 {
            self.overall = SHORT + self.overall / 2;
        } else {
            return;
        }
        self.changed = now;
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_network::random::Purpose;

    use super::*;

    const MS: u64 = 1_000_000;

    fn stream() -> Stream {
        Stream::new(1, Purpose::Other, 0)
    }

    fn timeouts(control: CongestionControl) -> Timeouts {
        Timeouts::new(control, INITIAL, 1.5)
    }

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * MS)
    }

    fn ms(time: Duration) -> u64 {
        time.as_nanos() / MS
    }

    /// RFC 7252, section 4.2: the first timeout is between 2 and 3 s, each next one twice the last.
    #[test]
    fn rfc_7252_doubles_a_timeout_of_2_to_3_s() {
        let mut all = timeouts(CongestionControl::Rfc7252);
        let mut random = stream();
        for _ in 0..1000 {
            let mut one = all.start(Time::ZERO, 0, &mut random);
            let first = one.current;
            assert!((2_000..=3_000).contains(&ms(first)));
            for number in 1..=4 {
                all.back_off(&mut one, number);
                assert_eq!(one.current, first * (1 << number));
            }
        }
    }

    /// By hand from section 4.2: after a first strong round-trip time of 100 ms (RFC 6298: SRTT 100, RTTVAR 50, RTO 300)
    /// the timeout is (2000 + 300)/2 = 1150 ms. A weak one of 1000 ms (1000 + 500) makes it 0.75 · 1150 + 0.25 · 1500 =
    /// 1237.5 ms. An answer to a message with three retransmissions changes nothing.
    #[test]
    fn cocoa_combines_its_two_estimators() {
        let mut all = timeouts(CongestionControl::Cocoa);
        all.on_answer(at(100), at(0), 0);
        assert_eq!(all.overall.as_nanos(), 1150 * MS);
        all.on_answer(at(2_000), at(1_000), 1);
        assert_eq!(all.overall.as_nanos(), 1_237_500_000);
        all.on_answer(at(9_000), at(3_000), 3);
        assert_eq!(all.overall.as_nanos(), 1_237_500_000);
    }

    /// Appendix C.1: weak round-trip times that estimate 3 s make 1.5 s 1.875 s, then 2.156 s.
    #[test]
    fn weak_round_trip_times_raise_the_timeout_of_cocoa() {
        let mut all = timeouts(CongestionControl::Cocoa);
        all.overall = Duration::from_millis(1_500);
        all.weak = Estimator { srtt: Duration::from_secs(2), rttvar: Duration::from_secs(1) };
        let mut next = || {
            all.weak.rttvar = Duration::from_nanos(4_000_000_000 / 3); // 1 s after a round-trip time of 2 s
            all.on_answer(at(2_000), at(0), 1);
            all.overall.as_nanos() / 100_000
        };
        assert_eq!([next(), next()], [18_749, 21_562]);
    }

    /// Section 4.2.1: factors 3 below 1 s, 2 up to 3 s, 1.5 above; at most 32 s. Appendix C.3: 0.3, 0.9, 2.7 s. Section
    /// 4.1: a third parallel message starts with 6 s.
    #[test]
    fn cocoa_backs_off_by_the_timeout_in_force() {
        let all = timeouts(CongestionControl::Cocoa);
        let next = |first: u64, number| {
            let time = Duration::from_millis(first);
            let mut one = Schedule { first: time, probing: Probing::Fast, slow: time, current: time };
            (1..=number).for_each(|number| all.back_off(&mut one, number));
            ms(one.current)
        };
        assert_eq!([next(500, 1), next(1_000, 1), next(3_000, 1), next(4_000, 1)], [1_500, 2_000, 6_000, 6_000]);
        assert_eq!([next(300, 1), next(300, 2), next(10_000, 4)], [900, 2_700, 32_000]);
        let third = timeouts(CongestionControl::Cocoa).start(Time::ZERO, 2, &mut stream());
        assert!((6_000..=9_000).contains(&ms(third.current)));
    }

    /// Section 4.3: 500 ms, idle for more than 16 times that, becomes 1 s; 4 s, idle for more than 16 s, becomes 3 s.
    #[test]
    fn cocoa_ages() {
        // The third is that of appendix C.2.
        for (overall, idle, aged) in [(500, 8_001, 1_000), (500, 7_999, 500), (4_000, 16_001, 3_000)] {
            let mut all = timeouts(CongestionControl::Cocoa);
            all.overall = Duration::from_millis(overall);
            all.age(at(idle));
            assert_eq!(ms(all.overall), aged);
        }
    }

    /// By hand from sections 4.1 to 4.3: after an unambiguous 200 ms the fast timeout is 300 ms, dithered to F between 350
    /// and 500 ms. An ambiguous answer after 4 s sets the slow one to S = 6 s: timeouts are F, max(S, 2F), 2F, 4F; after
    /// a further one S, F, 2F, 4F. An unambiguous answer returns to F, 2F, 4F.
    #[test]
    fn fasor_probes_with_its_slow_timeout() {
        let mut all = timeouts(CongestionControl::Fasor);
        let mut random = stream();
        let mut series = |all: &mut Timeouts| {
            let mut one = all.start(at(0), 0, &mut random);
            let fast = one.first;
            assert!((350..=500).contains(&ms(fast)));
            let mut times = vec![one.current];
            for number in 1..=3 {
                all.back_off(&mut one, number);
                times.push(one.current);
            }
            (fast, times)
        };
        let slow = Duration::from_secs(6);
        all.on_answer(at(200), at(0), 0);
        let (fast, times) = series(&mut all);
        assert_eq!(times, [fast, fast * 2, fast * 4, fast * 8]);
        all.on_answer(at(4_000), at(0), 1);
        let (fast, times) = series(&mut all);
        assert_eq!(times, [fast, slow, fast * 2, fast * 4]);
        for _ in 0..2 {
            all.on_answer(at(4_000), at(0), 1);
            let (fast, times) = series(&mut all);
            assert_eq!(times, [slow, fast, fast * 2, fast * 4]);
        }
        all.on_answer(at(200), at(0), 0);
        assert_eq!(all.probing, Probing::Fast);
    }
}
