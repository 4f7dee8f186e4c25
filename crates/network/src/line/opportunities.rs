//! A line that follows a trace of delivery opportunities, as Mahimahi does (Netravali et al., USENIX ATC 2015).
//!
//! An opportunity carries so many bytes of any number of packets. A packet that is sent only in part is finished in a later
//! one; what an opportunity has left when nothing more waits is lost, and so is one at which nothing waits. A packet comes
//! too late for an opportunity that falls on the very moment of its arrival at an idle line.

use std::sync::Arc;

use cwndlab_units::{Duration, Time};

const MS: u64 = 1_000_000;

/// A looping trace at work.
#[derive(Clone, Debug)]
pub struct Opportunities {
    /// Moments in ms, non-decreasing; the last one is the period.
    stamps: Arc<[u32]>,
    bytes: u32,
    /// The run begins at this moment of the trace, ns.
    offset: u64,
    period: u64,
    /// Opportunities of the first period that lie before the offset.
    skipped: u64,
    /// The next opportunity: which period, which stamp.
    next: (u64, usize),
    /// The last one used, and its bytes that are left.
    at: Time,
    left: u32,
}

impl Opportunities {
    /// The trace from `offset` on, `bytes` for each stamp.
    #[must_use]
    pub fn new(stamps: Arc<[u32]>, bytes: u32, offset: Duration) -> Self {
        let period = stamps.last().map_or(0, |&last| u64::from(last) * MS);
        assert!(period > 0 && bytes > 0, "a trace has a last stamp above 0, an opportunity has bytes");
        let offset = offset.0 % period;
        let skipped = stamps.partition_point(|&stamp| u64::from(stamp) * MS < offset);
        Self { stamps, bytes, offset, period, skipped: skipped as u64, next: (0, skipped), at: Time::ZERO, left: 0 }
    }

    /// The first opportunity after `now`.
    fn after(&self, now: Time) -> (u64, usize) {
        let since = now.0 + self.offset;
        let (periods, rest) = (since / self.period, since % self.period);
        let index = self.stamps.partition_point(|&stamp| u64::from(stamp) * MS <= rest);
        // The last stamp closes its period, hence it lies behind every rest.
        (periods, index)
    }

    /// As [`Line::serve`](super::Line::serve).
    pub fn serve(&mut self, start: Time, size: u32) -> Time {
        if start > self.at {
            self.left = 0;
            self.next = self.next.max(self.after(start));
        }
        let mut need = size;
        while need > 0 {
            if self.left == 0 {
                let (period, index) = self.next;
                self.at = Time(period * self.period + u64::from(self.stamps[index]) * MS - self.offset);
                self.left = self.bytes;
                self.next = if index + 1 < self.stamps.len() { (period, index + 1) } else { (period + 1, 0) };
            }
            let part = need.min(self.left);
            need -= part;
            self.left -= part;
        }
        self.at.max(start)
    }

    /// As [`Line::offered`](super::Line::offered): what falls on `now` counts.
    #[must_use]
    pub fn offered(&self, now: Time) -> u64 {
        let (periods, index) = self.after(now);
        (periods * self.stamps.len() as u64 + index as u64 - self.skipped) * u64::from(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trace(stamps: &[u32]) -> Opportunities {
        Opportunities::new(stamps.into(), 1500, Duration::ZERO)
    }

    /// By hand, with one opportunity at 1, two at 3 and one at 5 ms: the line loops after 5 ms.
    #[test]
    fn one_full_packet_leaves_at_each_opportunity() {
        let mut line = trace(&[1, 3, 3, 5]);
        let mut free = Time::ZERO;
        let left: Vec<u64> = (0..9)
            .map(|_| {
                free = line.serve(free, 1500);
                free.0 / MS
            })
            .collect();
        assert_eq!(left, [1, 3, 3, 5, 6, 8, 8, 10, 11]);
        assert_eq!(line.offered(Time(8 * MS)), 7 * 1500);
        assert_eq!(line.offered(Time(8 * MS - 1)), 5 * 1500);
    }

    /// By hand: an opportunity takes 600 + 600 bytes and the first 300 of the third packet, which the next one finishes.
    #[test]
    fn small_packets_share_an_opportunity_and_a_packet_may_take_two() {
        let mut line = trace(&[1, 2, 3]);
        assert_eq!(line.serve(Time(0), 600), Time(MS));
        assert_eq!(line.serve(Time(MS), 600), Time(MS));
        assert_eq!(line.serve(Time(MS), 600), Time(2 * MS));
        assert_eq!(line.serve(Time(2 * MS), 1200), Time(2 * MS));
        assert_eq!(line.serve(Time(2 * MS), 3000), Time(4 * MS));
    }

    /// By hand: what is left when nothing waits is lost, and so are opportunities at an empty queue.
    #[test]
    fn what_nobody_uses_is_lost() {
        let mut line = trace(&[1, 2, 3, 9]);
        assert_eq!(line.serve(Time(0), 100), Time(MS));
        assert_eq!(line.serve(Time(MS + 1), 1500), Time(2 * MS));
        assert_eq!(line.serve(Time(3 * MS), 40), Time(9 * MS), "it arrives with the opportunity, too late for it");
        assert_eq!(line.serve(Time(100 * MS), 40), Time(101 * MS), "100 ms are eleven rounds and the first stamp");
    }

    /// By hand: from 2 ms on the trace 1, 3, 5 has opportunities 1, 3, 4, 6, 8 ms later.
    #[test]
    fn a_run_may_begin_within_the_trace() {
        let mut line = Opportunities::new([1, 3, 5].as_slice().into(), 1504, Duration::from_millis(2));
        let mut free = Time::ZERO;
        let left: Vec<u64> = (0..5)
            .map(|_| {
                free = line.serve(free, 1504);
                free.0 / MS
            })
            .collect();
        assert_eq!(left, [1, 3, 4, 6, 8]);
        assert_eq!(line.offered(Time(6 * MS)), 4 * 1504);
    }

    /// The rules one after another, in steps of one opportunity and a list of who waits.
    fn naive(stamps: &[u32], packets: &[(u64, u32)]) -> Vec<u64> {
        let period = u64::from(stamps[stamps.len() - 1]);
        let (mut left, mut departed) = (vec![0; packets.len()], 0);
        for (n, packet) in packets.iter().enumerate() {
            left[n] = packet.1;
        }
        let mut out = vec![0; packets.len()];
        for round in 0.. {
            for &stamp in stamps {
                let now = (round * period + u64::from(stamp)) * MS;
                let mut bytes = 1500;
                while departed < packets.len() && bytes > 0 && packets[departed].0 < now {
                    let part = bytes.min(left[departed]);
                    bytes -= part;
                    left[departed] -= part;
                    if left[departed] == 0 {
                        out[departed] = now;
                        departed += 1;
                    }
                }
                if departed == packets.len() {
                    return out;
                }
            }
        }
        unreachable!("a trace has opportunities")
    }

    proptest! {
        /// It does what the rules say, whatever the trace and whoever comes when.
        #[test]
        fn it_is_the_naive_line(
            gaps in prop::collection::vec(0u32..4, 1..60),
            arrivals in prop::collection::vec((1u64..4_000_000, 40u32..3000), 1..100),
        ) {
            let mut at = 0;
            let mut stamps: Vec<u32> = gaps.iter().map(|gap| { at += gap; at }).collect();
            stamps.push(at + 1);
            let mut now = 0;
            // Never on a full ms, where the order of arrival and opportunity would have to be agreed on.
            let packets: Vec<_> = arrivals.iter().map(|&(gap, size)| {
                now += gap;
                now += u64::from(now % MS == 0);
                (now, size)
            }).collect();
            let mut line = trace(&stamps);
            let mut free = Time::ZERO;
            let left: Vec<u64> = packets.iter().map(|&(at, size)| { free = line.serve(free.max(Time(at)), size); free.0 }).collect();
            prop_assert_eq!(left, naive(&stamps, &packets));
        }
    }
}
