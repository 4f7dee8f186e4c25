//! Probabilities of delay and of loss in the next round trip, estimated from counts of transitions between rounds.
//!
//! Source: S. Jamali, M. Talebi, R. Fotohi, "Congestion Control in High-speed Networks Using the Probabilistic
//! Estimation Approach", 2021, which gives (1) and the sum of the two parts of (2), but no estimator; (3) is ours.
//!
//! ```text
//! P(D) = P(D_old) P(D|D_old) + (1 − P(D_old)) P(D|¬D_old)                   (1)   Eq. 2
//! P(L) = [the same form in L] + [the same form in L given D], at most 1     (2)   Eq. 3; eq3 = mean: half of it
//! P(D|x) = (n_x1 + 1) / (n_x0 + n_x1 + 2)
//! P(L|x) = (n_x1 + 100 p) / (n_x0 + n_x1 + 100), p = 1/10                   (3)
//! ```
//!
//! Units: none; n_xy is the number of rounds in state y after rounds in state x, with exponential decay per round.

use crate::shared::margin::above;
use crate::whole::phcc::options::{Eq3, Old, Options};

/// Weight of the prior of a loss, rounds.
const PRIOR_ROUNDS: f64 = 100.0;

/// The law of total probability: (1).
fn total(old: f64, given: f64, given_not: f64) -> f64 {
    old * given + (1.0 - old) * given_not
}

/// Counts of transitions between rounds: `0[x][y]` from x to y.
#[derive(Clone, Copy, Debug, Default)]
struct Counts([[f64; 2]; 2]);

impl Counts {
    fn add(&mut self, memory: f64, from: bool, to: bool) {
        for count in self.0.iter_mut().flatten() {
            *count *= memory;
        }
        self.0[usize::from(from)][usize::from(to)] += 1.0;
    }

    /// (3): the probability of 1 after `from`; `ones` of `all` pseudo-counts.
    fn likelihood(&self, from: bool, ones: f64, all: f64) -> f64 {
        let [no, yes] = self.0[usize::from(from)];
        (yes + ones) / (no + yes + all)
    }

    /// The probability of 1 after a round that was 1 with probability `old`.
    fn next(&self, old: f64, ones: f64, all: f64) -> f64 {
        total(old, self.likelihood(true, ones, all), self.likelihood(false, ones, all))
    }
}

/// The estimators and their counts.
#[derive(Clone, Copy, Debug)]
pub struct Likelihood {
    sum: bool,
    /// P(D_old) and P(L_old) are the probabilities of the last round, not what it was.
    previous: bool,
    threshold: f64,
    memory: f64,
    loss_prior: f64,
    /// Whether the last round was delayed, and whether it had a loss.
    last: (bool, bool),
    delays: Counts,
    losses: Counts,
    losses_by_delay: Counts,
    /// P(D) of the next round.
    pub delay: f64,
    /// P(L) of the next round.
    pub loss: f64,
}

impl Likelihood {
    /// Estimators without evidence.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self {
            sum: options.eq3 == Eq3::Clamp,
            previous: options.old == Old::Previous,
            threshold: options.threshold,
            memory: options.memory,
            loss_prior: options.loss_prior,
            last: (false, false),
            delays: Counts::default(),
            losses: Counts::default(),
            losses_by_delay: Counts::default(),
            delay: 0.0,
            loss: 0.0,
        }
    }

    /// (2).
    fn combine(&self, in_loss: f64, in_delay: f64) -> f64 {
        if self.sum {
            (in_loss + in_delay).min(1.0)
        } else {
            0.5 * (in_loss + in_delay)
        }
    }

    /// Adds a round: `d` is its queueing delay as a fraction of the maximum, `lost` whether it had a loss.
    pub fn round(&mut self, d: f64, lost: bool) {
        let delayed = above(d, self.threshold);
        let (was_delayed, had_lost) = self.last;
        self.delays.add(self.memory, was_delayed, delayed);
        self.losses.add(self.memory, had_lost, lost);
        self.losses_by_delay.add(self.memory, was_delayed, lost);
        self.last = (delayed, lost);
        let in_round = (d, f64::from(u8::from(lost)));
        let (delay, loss) = if self.previous { (self.delay, self.loss) } else { in_round };
        self.delay = self.delays.next(delay, 1.0, 2.0); // (1)
        let ones = self.loss_prior * PRIOR_ROUNDS;
        let in_loss = self.losses.next(loss, ones, PRIOR_ROUNDS);
        self.loss = self.combine(in_loss, self.losses_by_delay.next(delay, ones, PRIOR_ROUNDS));
        // (2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &str) -> Likelihood {
        let algorithm = crate::catalogue().parse(&format!("phcc({options})")).unwrap();
        Likelihood::new(&(&algorithm.growth.arguments).into())
    }

    /// `known-answers.csv`: P(D_est) of 0.3, 0.7, 0.2; P(L_est) as the mean of two parts, and as their sum.
    #[test]
    fn the_probabilities_match_the_known_answers() {
        assert!((total(0.3, 0.7, 0.2) - 0.35).abs() < 1e-15);
        let in_loss = total(0.1, 0.6, 0.05);
        let in_delay = total(0.3, 0.4, 0.1);
        assert!((of("eq3=mean").combine(in_loss, in_delay) - 0.1475).abs() < 1e-15);
        assert!((of("").combine(in_loss, in_delay) - 0.295).abs() < 1e-15);
        // Eq. 3 as printed gives 2 for certain events.
        assert_eq!((of("eq3=mean").combine(1.0, 1.0), of("").combine(1.0, 1.0)), (1.0, 1.0));
    }

    /// (3) by hand: ½ and 1/100 without evidence; then a delayed round after one without delay, and another one.
    #[test]
    fn likelihoods_are_counted_transitions() {
        let mut counts = Counts::default();
        assert_eq!(counts.likelihood(true, 1.0, 2.0), 0.5);
        assert_eq!(counts.likelihood(true, 1.0, 100.0), 0.01);
        counts.add(0.95, false, true);
        counts.add(0.95, true, true);
        assert_eq!(counts.likelihood(false, 1.0, 2.0), 1.95 / 2.95);
        assert_eq!(counts.likelihood(true, 1.0, 2.0), 2.0 / 3.0);
    }

    /// By hand: a delayed round after one without delay. With P(D_old) of the round, d = 1, the second P(D) is P(D|D) = ½;
    /// with the estimate of the first round, 1/3, it is 1/3 · ½ + 2/3 · P(D|¬D). The counts of transitions from ¬D are
    /// 0.95 to ¬D and 1 to D, so that P(D|¬D) = 2 / 3.95.
    #[test]
    fn the_old_probabilities_are_those_of_the_round_or_the_estimates_before_it() {
        let estimates = ["old=round", "old=previous"].map(|options| {
            let mut estimate = of(options);
            estimate.round(0.0, false);
            estimate.round(1.0, false);
            estimate.delay
        });
        assert_eq!(estimates[0], 0.5);
        // The first estimate is P(D_old) P(D|D) + … with P(D_old) = 0 in both readings: 1/3.
        assert!((estimates[1] - (0.5 / 3.0 + 2.0 / 3.0 * 2.0 / 3.95)).abs() < 1e-12, "{}", estimates[1]);
    }

    /// By hand: a first round without queue or loss gives P(D) = 1/3, and P(L) = 1/101 with a prior of 1/100.
    #[test]
    fn a_round_without_delay_and_loss_lowers_both_probabilities() {
        let mut estimate = of("eq3=mean, loss_prior=0.01");
        estimate.round(0.0, false);
        assert!((estimate.delay - 1.0 / 3.0).abs() < 1e-15 && (estimate.loss - 1.0 / 101.0).abs() < 1e-15);
    }
}
