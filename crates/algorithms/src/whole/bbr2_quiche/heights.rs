//! quiche's measure of ACK aggregation (`MaxAckHeightTracker`): what was acknowledged above the estimated bandwidth, the
//! maximum of ten rounds. Functions in parentheses are those of quiche 0.30.0, src/recovery/gcongestion/bbr.

use cwndlab_units::{Duration, Time};

/// The length of the filter, rounds.
const WINDOW: u64 = 10;

/// An excess of acknowledged bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Height {
    extra: f64,
    /// Bytes acknowledged in `span`.
    acked: f64,
    span: Duration,
}

/// The excesses, and the interval that is being measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckHeights {
    /// The best, second best and third best, and the rounds in which they were.
    best: Option<[(Height, u64); 3]>,
    start: Option<Time>,
    acked: f64,
    /// What is sent after this many bytes are delivered belongs to the next interval.
    delivered: u64,
}

/// What an ACK says about aggregation. Amounts in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Time of the ACK.
    pub now: Time,
    /// Newly acknowledged.
    pub bytes: f64,
    /// Delivered in total when the newest packet was sent.
    pub prior: u64,
    /// Delivered in total.
    pub delivered: u64,
    /// Number of rounds.
    pub round: u64,
}

impl AckHeights {
    /// The maximum, bytes.
    #[must_use]
    pub fn get(&self) -> f64 {
        self.best.map_or(0.0, |best| best[0].0.extra)
    }

    /// Adds an ACK; `bw`: the estimated bandwidth, bytes/s; `is_new_maximum`: this ACK raised it.
    pub fn update(&mut self, ack: &Acked, bw: f64, is_new_maximum: bool) {
        if is_new_maximum {
            self.reduce(bw);
        }
        let expected = |start: Time| (bw * ack.now.saturating_since(start).as_secs()).floor();
        match self.start.filter(|_| ack.prior < self.delivered) {
            Some(start) if self.acked > expected(start) => {
                self.acked += ack.bytes;
                let span = ack.now.saturating_since(start);
                let height = Height { extra: self.acked - expected(start), acked: self.acked, span };
                self.insert(height, ack.round);
            }
            _ => {
                (self.acked, self.start, self.delivered) = (ack.bytes, Some(ack.now), ack.delivered);
            }
        }
    }

    /// A larger bandwidth reduces the excesses, which then count as those of round 0.
    fn reduce(&mut self, bw: f64) {
        for (height, _) in self.best.take().into_iter().flatten() {
            let expected = (bw * height.span.as_secs()).floor();
            if expected < height.acked {
                self.insert(Height { extra: height.acked - expected, ..height }, 0);
            }
        }
    }

    /// `WindowedFilter::update`.
    fn insert(&mut self, height: Height, round: u64) {
        let new = (height, round);
        let age = |one: (Height, u64)| round.saturating_sub(one.1);
        let Some([first, second, third]) =
            self.best.filter(|best| height.extra <= best[0].0.extra && age(best[2]) <= WINDOW)
        else {
            self.best = Some([new; 3]);
            return;
        };
        let mut best = [first, second, third];
        if height.extra > second.0.extra {
            (best[1], best[2]) = (new, new);
        } else if height.extra > third.0.extra {
            best[2] = new;
        }
        if age(best[0]) > WINDOW {
            best = [best[1], best[2], new];
            if age(best[0]) > WINDOW {
                best = [best[1], best[2], best[2]];
            }
        } else if best[1].0 == best[0].0 && age(best[1]) > WINDOW / 4 {
            (best[1], best[2]) = (new, new);
        } else if best[2].0 == best[1].0 && age(best[2]) > WINDOW / 2 {
            best[2] = new;
        }
        self.best = Some(best);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// An ACK of packets of 1000 bytes.
    fn ack(ms: u64, packets: u64, prior: u64, delivered: u64, round: u64) -> Acked {
        Acked { now: at(ms), bytes: 1000.0 * packets as f64, prior: prior * 1000, delivered: delivered * 1000, round }
    }

    /// By hand, at 1000 bytes per 10 ms: three packets at 100 ms begin an interval, and two more at 110 ms are 5000 bytes
    /// where 1000 are expected. A packet that was sent after the begin of the interval begins another one.
    #[test]
    fn the_excess_is_what_exceeds_the_bandwidth_since_the_begin_of_an_interval() {
        let mut heights = AckHeights::default();
        heights.update(&ack(100, 3, 0, 3, 1), 100_000.0, false);
        assert_eq!(heights.get(), 0.0);
        heights.update(&ack(110, 2, 1, 5, 1), 100_000.0, false);
        assert_eq!(heights.get(), 4000.0);
        heights.update(&ack(111, 9, 3, 14, 2), 100_000.0, false);
        assert_eq!(heights.get(), 4000.0);
    }

    /// `reduce_extra_acked_on_bandwidth_increase`: by hand, with three times the bandwidth 3000 of the 5000 bytes are
    /// expected. The excess then counts as one of round 0, so that any excess of a round after the tenth replaces it.
    #[test]
    fn a_larger_bandwidth_reduces_the_excess() {
        let mut heights = AckHeights::default();
        heights.update(&ack(100, 3, 0, 3, 20), 100_000.0, false);
        heights.update(&ack(110, 2, 1, 5, 20), 100_000.0, false);
        heights.update(&ack(200, 1, 5, 6, 21), 300_000.0, true);
        assert_eq!(heights.get(), 2000.0);
        heights.update(&ack(201, 1, 5, 7, 21), 300_000.0, false);
        assert_eq!(heights.get(), 1700.0);
    }

    /// The filter of Chromium: by hand, 5 of round 1 and 3 of round 4; in round 12 the best is too old, and 3 is the best.
    #[test]
    fn the_second_best_follows_the_best_after_ten_rounds() {
        let mut heights = AckHeights::default();
        for (extra, round, best) in [(5.0, 1, 5.0), (3.0, 4, 5.0), (1.0, 11, 5.0), (1.0, 12, 3.0)] {
            heights.insert(Height { extra, ..Height::default() }, round);
            assert_eq!(heights.get(), best, "round {round}");
        }
    }
}
