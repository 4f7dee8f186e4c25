//! A line that follows a trace of delivery opportunities, as Mahimahi does (Netravali et al., USENIX ATC 2015).
//!
//! An opportunity carries a fixed number of bytes, of one or several packets. The rest of a partly sent packet uses the
//! next opportunity. Bytes of an opportunity that no waiting packet uses are lost. A packet that arrives at an idle
//! line at the time of an opportunity misses it.

use std::sync::Arc;

use cwndlab_units::{Duration, Time};

const MS: u64 = 1_000_000;

/// The state of a line that repeats a trace.
#[derive(Clone, Debug)]
pub struct Opportunities {
    /// Times of the opportunities in ms, non-decreasing; the last one is the period.
    stamps: Arc<[u32]>,
    /// Bytes per opportunity.
    bytes: u32,
    /// Time of the trace at which the run begins, ns.
    offset: u64,
    /// Duration of the trace, ns.
    period: u64,
    /// Number of opportunities of the first period before the offset.
    skipped: u64,
    /// The next opportunity: number of its period and index of its stamp.
    next: (u64, usize),
    /// Time of the last used opportunity.
    at: Time,
    /// Unused bytes of that opportunity.
    left: u32,
}

impl Opportunities {
    /// A line that follows the trace from `offset` on, with `bytes` for each stamp.
    ///
    /// # Panics
    /// If the last stamp or `bytes` is 0.
    #[must_use]
    pub fn new(stamps: Arc<[u32]>, bytes: u32, offset: Duration) -> Self {
        let period = stamps.last().map_or(0, |&last| u64::from(last) * MS);
        assert!(period > 0 && bytes > 0, "the last stamp of a trace and the bytes of an opportunity are above 0");
        let offset = offset.as_nanos() % period;
        let skipped = stamps.partition_point(|&stamp| u64::from(stamp) * MS < offset) as u64;
        // Every packet misses an opportunity at the start of the run.
        let next = (0, stamps.partition_point(|&stamp| u64::from(stamp) * MS <= offset));
        Self { stamps, bytes, offset, period, skipped, next, at: Time::ZERO, left: 0 }
    }

    /// The first opportunity after `now`: period and stamp.
    fn after(&self, now: Time) -> (u64, usize) {
        let since = now.as_nanos() + self.offset;
        let periods = since / self.period;
        let rest = since % self.period;
        let index = self.stamps.partition_point(|&stamp| u64::from(stamp) * MS <= rest);
        // The last stamp equals the period and exceeds every remainder, so that `index` is valid.
        (periods, index)
    }

    /// What is left of the opportunities until `now` is lost.
    pub fn miss(&mut self, now: Time) {
        self.left = 0;
        self.next = self.next.max(self.after(now));
    }

    /// As [`Line::serve`](super::Line::serve).
    pub fn serve(&mut self, start: Time, size: u32) -> Time {
        if start > self.at {
            self.miss(start);
        }
        let mut need = size;
        while need > 0 {
            if self.left == 0 {
                let (period, index) = self.next;
                self.at = Time::from_nanos(period * self.period + u64::from(self.stamps[index]) * MS - self.offset);
                self.left = self.bytes;
                self.next = if index + 1 < self.stamps.len() { (period, index + 1) } else { (period + 1, 0) };
            }
            let part = need.min(self.left);
            need -= part;
            self.left -= part;
        }
        self.at.max(start)
    }

    /// The mean rate over the last `window`, bit/s; before its end, over the first.
    #[must_use]
    pub fn rate_until(&self, now: Time, window: Duration) -> f64 {
        let end = now.max(Time::ZERO + window);
        let start = Time::ZERO + (end - (Time::ZERO + window));
        (self.offered(end) - self.offered(start)) as f64 * 8e9 / window.as_nanos() as f64
    }

    /// As [`Line::offered`](super::Line::offered); an opportunity at `now` is included.
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

    /// By hand, with one opportunity at 1 ms, two at 3 ms and one at 5 ms: the trace repeats after 5 ms.
    #[test]
    fn one_full_packet_leaves_at_each_opportunity() {
        let mut line = trace(&[1, 3, 3, 5]);
        let mut free = Time::ZERO;
        let left: Vec<u64> = (0..9)
            .map(|_| {
                free = line.serve(free, 1500);
                free.as_nanos() / MS
            })
            .collect();
        assert_eq!(left, [1, 3, 3, 5, 6, 8, 8, 10, 11]);
        assert_eq!(line.offered(Time::from_nanos(8 * MS)), 7 * 1500);
        assert_eq!(line.offered(Time::from_nanos(8 * MS - 1)), 5 * 1500);
        // The first 2 ms have one opportunity of 12,000 bits, those until 3 ms and until 6 ms have two.
        let rates = [0, 3, 6].map(|ms| line.rate_until(Time::from_nanos(ms * MS), Duration::from_millis(2)));
        assert_eq!(rates, [6e6, 12e6, 12e6]);
    }

    /// By hand: an opportunity carries 600 + 600 bytes and the first 300 of the third packet, the next one the rest of
    /// it.
    #[test]
    fn small_packets_share_an_opportunity_and_a_packet_may_take_two() {
        let mut line = trace(&[1, 2, 3]);
        assert_eq!(line.serve(Time::from_nanos(0), 600), Time::from_nanos(MS));
        assert_eq!(line.serve(Time::from_nanos(MS), 600), Time::from_nanos(MS));
        assert_eq!(line.serve(Time::from_nanos(MS), 600), Time::from_nanos(2 * MS));
        assert_eq!(line.serve(Time::from_nanos(2 * MS), 1200), Time::from_nanos(2 * MS));
        assert_eq!(line.serve(Time::from_nanos(2 * MS), 3000), Time::from_nanos(4 * MS));
    }

    /// By hand: the unused bytes of an opportunity are lost, and so are opportunities at an empty queue.
    #[test]
    fn unused_opportunities_are_lost() {
        let mut line = trace(&[1, 2, 3, 9]);
        assert_eq!(line.serve(Time::from_nanos(0), 100), Time::from_nanos(MS));
        assert_eq!(line.serve(Time::from_nanos(MS + 1), 1500), Time::from_nanos(2 * MS));
        assert_eq!(
            line.serve(Time::from_nanos(3 * MS), 40),
            Time::from_nanos(9 * MS),
            "an arrival at the time of an opportunity misses it"
        );
        assert_eq!(
            line.serve(Time::from_nanos(100 * MS), 40),
            Time::from_nanos(101 * MS),
            "100 ms are eleven periods and the first stamp"
        );
    }

    /// By hand: with an offset of 2 ms the trace 1, 3, 5 has opportunities at 1, 3, 4, 6 and 8 ms.
    #[test]
    fn a_run_may_begin_within_the_trace() {
        let mut line = Opportunities::new([1, 3, 5].as_slice().into(), 1504, Duration::from_millis(2));
        let mut free = Time::ZERO;
        let left: Vec<u64> = (0..5)
            .map(|_| {
                free = line.serve(free, 1504);
                free.as_nanos() / MS
            })
            .collect();
        assert_eq!(left, [1, 3, 4, 6, 8]);
        assert_eq!(line.offered(Time::from_nanos(6 * MS)), 4 * 1504);
    }

    /// By hand: a packet at the start of the run misses an opportunity at that time, as at any other. The period of 2 ms ends
    /// with one opportunity, and the next begins with another.
    #[test]
    fn a_packet_misses_an_opportunity_at_the_start_of_the_run() {
        let mut line = trace(&[0, 2]);
        let left = [(); 3].map(|()| line.serve(Time::ZERO, 1500));
        assert_eq!(left, [2, 2, 4].map(|ms| Time::from_nanos(ms * MS)));
        assert_eq!(line.offered(Time::ZERO), 1500);
        let mut line = Opportunities::new([1, 3, 5].as_slice().into(), 1504, Duration::from_millis(1));
        assert_eq!(line.serve(Time::ZERO, 1504), Time::from_nanos(2 * MS));
    }

    /// A direct implementation of the rules, one opportunity after another with a list of the waiting packets.
    fn naive(stamps: &[u32], packets: &[(u64, u32)]) -> Vec<u64> {
        let period = u64::from(stamps[stamps.len() - 1]);
        let mut left = vec![0; packets.len()];
        let mut departed = 0;
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
        /// The line equals the direct implementation for any trace and arrivals.
        #[test]
        fn the_line_equals_the_naive_implementation(
            gaps in prop::collection::vec(0u32..4, 1..60),
            arrivals in prop::collection::vec((1u64..4_000_000, 40u32..3000), 1..100),
        ) {
            let mut at = 0;
            let mut stamps: Vec<u32> = gaps.iter().map(|gap| { at += gap; at }).collect();
            stamps.push(at + 1);
            let mut now = 0;
            // Many arrivals coincide with an opportunity.
            let packets: Vec<_> = arrivals.iter().map(|&(gap, size)| {
                now += if gap % 2 == 0 { gap } else { gap.next_multiple_of(MS) };
                now = if gap % 4 == 1 { now.next_multiple_of(MS) } else { now };
                (now, size)
            }).collect();
            let mut line = trace(&stamps);
            let mut free = Time::ZERO;
            let left: Vec<u64> = packets.iter().map(|&(at, size)| {
                let at = Time::from_nanos(at);
                if free <= at {
                    line.miss(at);
                }
                free = line.serve(free.max(at), size);
                free.as_nanos()
            }).collect();
            prop_assert_eq!(left, naive(&stamps, &packets));
        }
    }
}
