//! The earliest departure time of the next segment under pacing, which the versions of BBR share.

use cwndlab_control::Sent;
use cwndlab_units::{Duration, Time};

use super::bbr::whole_over;

/// The earliest departure time of the next segment under pacing (Linux: EDT), as the pacer computes it
/// (`tcp_update_skb_after_send`): a late burst regains at most half of its gap, and the first ten segments are not paced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departures {
    next: Time,
    /// Segments sent.
    segments: u64,
    /// The time of the last burst, the earliest time at which it could depart, and its size in bytes.
    burst: (Time, Time, u64),
}

/// Segments at the start of a connection that Linux does not pace.
const UNPACED: u64 = 10;

impl Departures {
    /// A segment is sent at a pacing rate of `rate` bit/s. Segments that are sent at the same time are one burst.
    #[inline]
    pub fn sent(&mut self, sent: &Sent, rate: f64) {
        self.segments += 1;
        if self.segments <= UNPACED {
            return;
        }
        let (at, due, size) = &mut self.burst;
        if *at != sent.now {
            (*at, *due, *size) = (sent.now, self.next, 0);
        }
        *size += sent.size.0;
        let gap = (*size as f64 * 8e9 / rate) as u64;
        let credit = sent.now.saturating_since(*due).as_nanos().min(gap / 2);
        self.next = sent.now.max(*due) + Duration::from_nanos(gap - credit);
    }

    /// Segments in flight at the departure of the next segment, with deliveries at `bw` segments/s (Linux:
    /// `bbr_packets_in_net_at_edt`). `ahead`: the burst that is sent then, with a gain above 1.
    #[inline]
    #[must_use]
    pub fn in_flight(&self, now: Time, in_flight: f64, bw: f64, ahead: f64) -> f64 {
        (in_flight + ahead - whole_over(bw, self.next.saturating_since(now))).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::Bytes;

    /// tcp_update_skb_after_send, by hand: two segments of 1000 bytes at 8 Mbit/s are 2 ms; a burst that is late by 10 ms
    /// regains 1 ms of them, one that is late by 0.5 ms regains all of that, and one in time nothing.
    #[test]
    fn a_late_burst_regains_at_most_half_of_its_gap() {
        let mut departures = Departures::default();
        let mut burst = |us: u64| {
            for _ in 0..2 {
                let now = Time::ZERO + Duration::from_micros(us);
                let sent =
                    Sent { now, size: Bytes(1000), in_flight: Bytes(2000), retransmission: false, app_limited: false };
                departures.sent(&sent, 8e6);
            }
            departures.next
        };
        let next: Vec<Time> = [0, 0, 0, 0, 0, 10_000, 11_500, 13_000].map(&mut burst).to_vec();
        let expected = [0, 0, 0, 0, 0, 11_000, 13_000, 15_000].map(|us| Time::ZERO + Duration::from_micros(us));
        assert_eq!(next, expected);
    }
}
