//! Pacing: the time of the next burst, and the default pacing rate for algorithms without one (Linux, `tcp_output.c`).

use cwndlab_units::{Bytes, Duration, Rate, Time};

/// The default rate before the first RTT sample: unlimited.
const UNLIMITED: Rate = Rate(u64::MAX >> 4);
/// Pacing gain below half of `ssthresh`, at least one round trip before the end of slow start (`tcp_pacing_ss_ratio`).
const SLOW_START_GAIN: f64 = 2.0;
/// Pacing gain above (`tcp_pacing_ca_ratio`).
const CONGESTION_AVOIDANCE_GAIN: f64 = 1.2;

/// Maximum time between two bursts. The rate may rise during a gap, which does not become shorter then (Linux, sch_fq:
/// the delay of a packet is clamped to one second, since the rate can change later).
const MAX_GAP: Duration = Duration::from_secs(1);

/// The pacing state.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// The pacing rate; zero if the sender does not pace.
    rate: Rate,
    /// Earliest time of the next burst (Linux, `tp->tcp_wstamp_ns`).
    next: Time,
    /// Expiry of the pacing timer; `Time::MAX` if it is off.
    pub(crate) timer: Time,
}

impl Pacer {
    /// A pacer that is off.
    pub(crate) fn new() -> Self {
        Self { rate: Rate::ZERO, next: Time::ZERO, timer: Time::MAX }
    }

    /// Whether the sender paces.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.rate > Rate::ZERO
    }

    /// The pacing rate; zero if the sender does not pace.
    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Sets the pacing rate; zero turns pacing off.
    #[inline]
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// Earliest time of the next burst.
    #[inline]
    pub(crate) fn next_send_time(&self) -> Time {
        self.next
    }

    /// Whether pacing delays the next burst.
    #[inline]
    pub(crate) fn is_blocked(&self, now: Time) -> bool {
        self.is_on() && self.next > now
    }

    /// Schedules the next burst after `size` bytes of payload; like Linux' internal pacing, without headers. A late
    /// burst regains at most half of the gap (Linux, tcp_update_skb_after_send). The gap is at most [`MAX_GAP`].
    pub(crate) fn on_burst(&mut self, now: Time, size: Bytes) {
        let gap =
            (u128::from(size.0) * 8_000_000_000 / u128::from(self.rate.0)).min(u128::from(MAX_GAP.as_nanos())) as u64;
        let credit = now.saturating_since(self.next).as_nanos().min(gap / 2);
        self.next = self.next.max(now) + Duration::from_nanos(gap - credit);
    }

    /// Starts the pacing timer if a burst `waits` for it, else stops it.
    #[inline]
    pub(crate) fn set_timer(&mut self, waits: bool) {
        self.timer = if waits { self.next } else { Time::MAX };
    }

    /// The default rate: `window` segments per SRTT, with a gain. `slow_start`: below half of `ssthresh` (Linux,
    /// tcp_update_pacing_rate).
    pub(crate) fn rate_of(window: u32, mss: u32, srtt: Duration, slow_start: impl FnOnce() -> bool) -> Rate {
        if srtt == Duration::ZERO {
            return UNLIMITED;
        }
        let gain = if slow_start() { SLOW_START_GAIN } else { CONGESTION_AVOIDANCE_GAIN };
        Rate((f64::from(window) * f64::from(mss) * 8e9 * gain / srtt.as_nanos() as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// By hand: 1000 bytes at 8 Mbit/s are 1 ms.
    #[test]
    fn bursts_are_spaced_by_their_size_over_the_rate() {
        let mut pacer = Pacer::new();
        pacer.set_rate(Rate::from_mbps(8));
        pacer.on_burst(at(10), Bytes(1000));
        pacer.on_burst(pacer.next_send_time(), Bytes(2000));
        // The first burst is late by 10 ms and regains half of its gap.
        assert_eq!(pacer.next_send_time(), at(10) + Duration::from_micros(500) + Duration::from_millis(2));
        assert!(pacer.is_blocked(at(12)) && !pacer.is_blocked(at(13)));
    }

    /// sch_fq clamps the delay of a packet to one second: 1448 bytes at 131 bit/s would be 88 s.
    #[test]
    fn the_gap_between_bursts_is_at_most_a_second() {
        let mut pacer = Pacer::new();
        for rate in [1, 131, 11_583] {
            pacer.set_rate(Rate(rate));
            pacer.next = at(10);
            pacer.on_burst(at(10), Bytes(1448));
            assert_eq!(pacer.next_send_time(), at(1010), "{rate} bit/s");
        }
        pacer.set_rate(Rate(11_584));
        pacer.next = at(10);
        pacer.on_burst(at(10), Bytes(724));
        assert_eq!(pacer.next_send_time(), at(510));
    }

    /// tcp_update_pacing_rate, by hand: 100 segments of 1000 bytes per 100 ms are 8 Mbit/s, times 2 or 1.2.
    #[test]
    fn linux_paces_at_the_window_per_round_trip_with_a_gain() {
        let rate = |slow_start| Pacer::rate_of(100, 1000, Duration::from_millis(100), || slow_start);
        assert_eq!([rate(true), rate(false)], [Rate::from_mbps(16), Rate(9_600_000)]);
    }
}
