//! COBALT, the AQM of CAKE's queues: CoDel for flows that respond to its signals, BLUE for those that do not.
//!
//! Source: `net/sched/sch_cake.c` of Linux 6.x (`cobalt_should_drop`, `cobalt_queue_full`, `cobalt_queue_empty`,
//! `cake_set_rate`); Høiland-Jørgensen, Täht, Morton, "Piece of CAKE", IEEE LANMAN 2018.
//!
//! ```text
//! sojourn > target and > 4 full packets at the tin's rate, for an interval -> mark, else drop; count + 1  (1)
//! next signal at t + interval / sqrt(count)                                                              (2)
//! below the target or empty: count - 1 by the same schedule, without a signal                            (3)
//! overflow: p + 1/256; empty: p - 1/4096; at most one change in `target`                                 (4)
//! each departure is dropped with probability p, ECN-capable or not                                       (5)
//! ```
//!
//! Units: ns. Differences from the source: the square root is exact instead of a Newton step, and (2) holds for the first
//! signal of a new queue, for which the source's inverse square root is still 0, so that its first signal comes without an
//! interval.

use cwndlab_units::{Bytes, Duration, Rate, Time};

use super::codel::control_law;
use super::QueuedPacket;
use crate::random::Stream;

/// A full packet on Ethernet, bytes.
pub(super) const MTU: u64 = 1514;
/// (4).
const INCREMENT: f64 = 1.0 / 256.0;
const DECREMENT: f64 = 1.0 / 4096.0;

/// The parameters of the queues of one tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) target: Duration,
    pub(super) interval: Duration,
    /// Serialisation time of a full packet at the tin's rate.
    packet: Duration,
}

impl Parameters {
    /// The parameters for an RTT of `rtt`, of which the target is a twentieth. A slow tin has a target of 1.5 packets.
    pub(super) fn new(rtt: Duration, rate: Option<Rate>) -> Self {
        let usual = Duration::from_nanos((rtt.as_nanos() / 20).max(1000));
        let packet = rate.map_or(Duration::ZERO, |rate| rate.time_for(Bytes(MTU)));
        let target = usual.max(Duration::from_nanos(packet.as_nanos() * 3 / 2));
        Self { target, interval: (rtt + (target - usual)).max(target * 2), packet }
    }
}

/// The control state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    dropping: bool,
    count: u32,
    /// Time of the next signal; with a count of 0 the end of the last activity.
    next: Time,
    probability: f64,
    /// Time of the last change of the probability.
    updated: Time,
}

impl Cobalt {
    /// (2).
    fn schedule(&mut self, parameters: &Parameters, from: Time) {
        self.next = control_law(parameters.interval, from, self.count.max(1));
    }

    /// (4): a packet of this queue was dropped by an overflow.
    pub(super) fn on_overflow(&mut self, parameters: &Parameters, now: Time) {
        if now.saturating_since(self.updated) > parameters.target {
            self.probability = (self.probability + INCREMENT).min(1.0);
            self.updated = now;
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// (3), (4): the queue was served, but empty.
    pub(super) fn on_empty(&mut self, parameters: &Parameters, now: Time) {
        if self.probability > 0.0 && now.saturating_since(self.updated) > parameters.target {
            self.probability = (self.probability - DECREMENT).max(0.0);
            self.updated = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.next {
            self.count -= 1;
            self.schedule(parameters, self.next);
        }
    }

    /// Whether the state of an empty queue has decayed.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.next
    }

    /// Whether to drop a packet that leaves the queue at `now`; marks it instead if it is ECN-capable.
    pub(super) fn drops<P>(
        &mut self,
        parameters: &Parameters,
        now: Time,
        one: &mut QueuedPacket<P>,
        stream: &mut Stream,
    ) -> bool {
        let sojourn = now - one.since;
        let due = self.count > 0 && now >= self.next;
        let mut is_late = now > self.next;
        let was_dropping = self.dropping;
        self.dropping = sojourn > parameters.target && sojourn > parameters.packet * 4;
        if self.dropping {
            if !was_dropping {
                self.schedule(parameters, now);
            }
            self.count = self.count.max(1);
        }
        let mut drops = false;
        if due && self.dropping {
            // (1)
            drops = !one.mark();
            self.count = self.count.saturating_add(1);
            self.schedule(parameters, self.next);
            is_late = now > self.next;
        } else if due {
            // (3)
            while self.count > 0 && now >= self.next {
                self.count -= 1;
                self.schedule(parameters, self.next);
                is_late = now > self.next;
            }
        }
        // (5)
        drops |= self.probability > 0.0 && stream.unit() < self.probability;
        if self.count == 0 {
            self.next = now + parameters.interval;
        } else if is_late && !drops {
            self.next = now;
        }
        drops
    }
}

#[cfg(test)]
mod tests {
    use super::super::Codepoint;
    use super::*;
    use crate::random::Purpose;

    const fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn usual() -> Parameters {
        Parameters::new(Duration::from_millis(100), None)
    }

    fn stream() -> Stream {
        Stream::new(1, Purpose::Queue, 1)
    }

    /// Whether a packet that leaves at `now` after `sojourn` ms is dropped.
    fn leave(state: &mut Cobalt, now: Time, sojourn: u64, ecn: Codepoint) -> (bool, bool) {
        let since = Time::from_nanos(now.as_nanos().saturating_sub(sojourn * 1_000_000));
        let mut one = QueuedPacket { since, size: 1500, ecn, ..QueuedPacket::<()>::default() };
        let drops = state.drops(&usual(), now, &mut one, &mut stream());
        (drops, one.marked)
    }

    /// tc-cake(8): target and interval of 5 and 100 ms at 100 Mbit/s. The source (`cake_set_rate`) by hand for 1 Mbit/s:
    /// 1514 bytes take 12.112 ms, 1.5 of them are the target, by whose excess the interval is longer. Of 64 kbit/s twice
    /// the target is longer: 1.5 · 189.25 ms.
    #[test]
    fn slow_tins_have_a_target_of_one_and_a_half_packets() {
        let of = |rtt, kbit: u64| {
            let one = Parameters::new(Duration::from_millis(rtt), Some(Rate(kbit * 1000)));
            (one.target.as_nanos(), one.interval.as_nanos())
        };
        assert_eq!(of(100, 100_000), (5_000_000, 100_000_000));
        assert_eq!(of(100, 1_000), (18_168_000, 113_168_000));
        assert_eq!(of(100, 64), (283_875_000, 567_750_000));
        // `rtt datacentre` and `satellite` of tc-cake(8): 100 µs and 1 s.
        assert_eq!(of(1000, 100_000), (50_000_000, 1_000_000_000));
        assert_eq!(usual().packet, Duration::ZERO);
    }

    /// `known-answers.csv` of CoDel: signals at 100 ms / √count, in a queue that is always above the target.
    #[test]
    fn signals_follow_the_control_law_of_codel() {
        let mut state = Cobalt::default();
        let mut signals = Vec::new();
        for step in 0..40_000u64 {
            // 10 µs per packet.
            let now = Time::from_nanos(1_000_000_000 + step * 10_000);
            if leave(&mut state, now, if step == 0 { 1 } else { 20 }, Codepoint::NotCapable).0 {
                signals.push((now - ms(1000)).as_millis());
            }
        }
        // The first packet below the target is followed by one above it after 0.01 ms.
        let expected = [100.01, 100.01 + 70.71, 100.01 + 70.71 + 57.74, 100.01 + 70.71 + 57.74 + 50.0];
        for (at, expected) in signals.iter().zip(expected) {
            assert!((at - expected).abs() < 0.05, "{signals:?}");
        }
        // The queue falls below the target: the count decays by the same schedule, without signals.
        let count = state.count;
        assert!(count > 4);
        assert_eq!(leave(&mut state, ms(1400), 1, Codepoint::NotCapable), (false, false));
        assert_eq!(leave(&mut state, ms(1500), 1, Codepoint::NotCapable), (false, false));
        assert!(state.count < count - 2, "{}", state.count);
        assert_eq!(leave(&mut state, ms(3000), 1, Codepoint::NotCapable), (false, false));
        assert_eq!(state.count, 0);
    }

    #[test]
    fn an_ecn_capable_packet_is_marked_and_the_count_saturates() {
        let mut state = Cobalt { count: u32::MAX, dropping: true, next: ms(10), ..Cobalt::default() };
        assert_eq!(leave(&mut state, ms(20), 15, Codepoint::Classic), (false, true));
        assert_eq!(state.count, u32::MAX);
    }

    /// By hand from the source: the probability rises by 1/256 with an overflow and falls by 1/4096 when the queue is empty, at
    /// most once in a target of 5 ms; 256 rises are certainty, which drops ECN-capable packets as well.
    #[test]
    fn blue_rises_with_overflows_and_falls_with_empty_queues() {
        let mut state = Cobalt::default();
        for (at, expected) in [(10, 1), (12, 1), (15, 1), (16, 2)] {
            state.on_overflow(&usual(), ms(at));
            assert_eq!(state.probability * 256.0, f64::from(expected), "{at} ms");
        }
        assert!(!state.is_at_rest(ms(16)));
        for (at, expected) in [(20, 32), (22, 31), (24, 31), (30, 30)] {
            state.on_empty(&usual(), ms(at));
            assert_eq!(state.probability * 4096.0, f64::from(expected), "{at} ms");
        }
        for n in 0..256 {
            state.on_overflow(&usual(), ms(100 + 6 * n));
        }
        assert_eq!(state.probability, 1.0);
        assert!(leave(&mut state, ms(2000), 1, Codepoint::Classic).0);
        let mut now = ms(3000);
        for _ in 0..4096 {
            now += Duration::from_millis(6);
            state.on_empty(&usual(), now);
        }
        assert_eq!(state.probability, 0.0);
        assert!(state.is_at_rest(now));
    }
}
