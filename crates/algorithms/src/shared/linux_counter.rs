//! Linux' counter of acknowledged segments, of which a number makes a segment of window.
//!
//! Source: Linux `tcp_cong.c`, `tcp_cong_avoid_ai`; `snd_cwnd_cnt` is reset where a reduction begins
//! (`tcp_init_cwnd_reduction`). Before Linux 5.7, BIC, Scalable TCP, Veno and YeAH-TCP counted ACKs here.
//!
//! Units: segments.

use cwndlab_units::maths::floor;

/// The acknowledged segments not yet turned into window.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinuxCounter {
    credit: f64,
}

impl LinuxCounter {
    /// The segments of window that `n` acknowledged segments add where `cnt` of them make one.
    #[inline]
    pub fn add(&mut self, n: f64, cnt: f64) -> f64 {
        let mut steps = 0.0;
        // `cnt` may have fallen since the last ACK.
        if self.credit >= cnt {
            self.credit = 0.0;
            steps += 1.0;
        }
        self.credit += n;
        if self.credit >= cnt {
            let whole = floor(self.credit / cnt);
            self.credit -= whole * cnt;
            steps += whole;
        }
        steps
    }

    /// Whether `cnt` or more of them are there, which are then forgotten; else `n` are added. Veno's rule while the path is
    /// congested.
    pub fn takes(&mut self, n: f64, cnt: f64) -> bool {
        let due = self.credit >= cnt;
        self.credit = if due { 0.0 } else { self.credit + n };
        due
    }

    /// Adds `n`; whether more than `cnt` are there, which are then forgotten. The rule of YeAH's fast mode before Linux 5.7.
    pub fn exceeds(&mut self, n: f64, cnt: f64) -> bool {
        self.credit += n;
        let due = self.credit > cnt;
        if due {
            self.credit = 0.0;
        }
        due
    }

    /// Forgets them, at a reduction of the window.
    pub fn reset(&mut self) {
        self.credit = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of ten segments per segment of window, ACKs of three add one at the fourth and keep two; where ten fall
    /// to two, the two that are kept add one, and the next three add another and keep one.
    #[test]
    fn a_rest_is_kept_and_spent_where_the_number_falls() {
        let mut counter = LinuxCounter::default();
        assert_eq!([3.0; 4].map(|n| counter.add(n, 10.0)), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!((counter.add(3.0, 2.0), counter.credit), (2.0, 1.0));
        counter.reset();
        assert_eq!(counter.credit, 0.0);
    }

    /// By hand: of three segments, ACKs of one find three at the fourth, and exceed them at the fourth.
    #[test]
    fn the_rules_of_veno_and_yeah_take_one_ack_more() {
        let mut counter = LinuxCounter::default();
        assert_eq!([1.0; 5].map(|n| counter.takes(n, 3.0)), [false, false, false, true, false]);
        counter.reset();
        assert_eq!([1.0; 5].map(|n| counter.exceeds(n, 3.0)), [false, false, false, true, false]);
    }
}
