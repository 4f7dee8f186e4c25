//! The maximum over a sliding window, estimated from three samples.
//!
//! Source: K. Nichols' estimator as in Linux (`lib/win_minmax.c`): best, second best and third best, each more recent
//! than the one before. A value may expire early, but never late; the memory does not depend on the number of samples.

use std::ops::{Add, Div, Sub};

/// A value and its time.
#[derive(Clone, Copy, Debug)]
struct Sample<T, V> {
    at: T,
    value: V,
}

/// The maximum of the last `window`. For a minimum add negated values, or [`Reverse`](std::cmp::Reverse) of them.
///
/// `T` is the unit of the window: a [`Time`](crate::Time), or a number of rounds.
#[derive(Clone, Debug)]
pub struct WindowedMax<T, V = f64> {
    best: [Sample<T, V>; 3],
}

impl<T, V, W> WindowedMax<T, V>
where
    T: Copy + Default + PartialEq + Sub<Output = W>,
    V: Copy + PartialOrd,
    W: Copy + PartialOrd + Div<u64, Output = W>,
{
    /// Without samples: the maximum is `value`.
    #[must_use]
    pub fn new(value: V) -> Self {
        Self { best: [Sample { at: T::default(), value }; 3] }
    }

    /// The maximum.
    #[inline]
    #[must_use]
    pub fn get(&self) -> V {
        self.best[0].value
    }

    /// The third best value: an update with a lower one changes nothing until [`due`](Self::due).
    #[must_use]
    pub fn third(&self) -> V {
        self.best[2].value
    }

    /// The time after which an update with any value changes the samples.
    #[must_use]
    pub fn due(&self, window: W) -> T
    where
        T: Add<W, Output = T>,
    {
        let [first, second, third] = self.best;
        if second.at == first.at {
            first.at + window / 4
        } else if third.at == second.at {
            first.at + window / 2
        } else {
            first.at + window
        }
    }

    /// Discards all samples but `value`.
    pub fn reset(&mut self, at: T, value: V) {
        self.best = [Sample { at, value }; 3];
    }

    /// Adds a value at `at`, which never decreases. Returns the maximum of the last `window`.
    #[inline]
    pub fn update(&mut self, window: W, at: T, value: V) -> V {
        let [first, second, third] = self.best;
        if value >= first.value || at - third.at > window {
            self.reset(at, value);
            return value;
        }
        let new = Sample { at, value };
        if value >= second.value {
            self.best = [first, new, new];
        } else if value >= third.value {
            self.best[2] = new;
        }
        self.expire(window, new);
        self.best[0].value
    }

    /// Expires samples: those outside the window, or where a quarter or half of the window passed without a successor.
    #[inline]
    fn expire(&mut self, window: W, new: Sample<T, V>) {
        let age = new.at - self.best[0].at;
        if age > window {
            while new.at - self.best[0].at > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].at == self.best[0].at && age > window / 4 {
            self.best = [self.best[0], new, new];
        } else if self.best[2].at == self.best[1].at && age > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 9 at 0 expires after more than ten units, and later values replace it.
    #[test]
    fn the_maximum_expires_after_the_window() {
        let mut max = WindowedMax::new(0.0);
        let found: Vec<f64> = [(0_u64, 9.0), (4, 5.0), (8, 7.0), (10, 3.0), (11, 2.0), (19, 1.0)]
            .into_iter()
            .map(|(at, value)| max.update(10, at, value))
            .collect();
        assert_eq!(found, [9.0, 9.0, 9.0, 9.0, 7.0, 3.0]);
    }

    /// The maximum of negated values is the negated minimum.
    #[test]
    fn negated_values_give_a_minimum() {
        let mut min = WindowedMax::new(f64::NEG_INFINITY);
        assert_eq!(min.update(10, 0_u64, -50.0), -50.0);
        assert_eq!(min.update(10, 1, -40.0), -40.0);
        assert_eq!(min.update(10, 2, -60.0), -40.0);
    }
}
