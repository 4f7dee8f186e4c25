//! A policy as the decider of a flow.

use std::sync::Arc;

use super::document::Policy;
use super::features::Measured;
use crate::external::{Action, Decider, Report};

/// A policy with the last intervals of a flow.
#[derive(Clone, Debug)]
pub struct PolicyDecider {
    policy: Arc<Policy>,
    last: Measured,
    /// The features of the last intervals, the oldest first.
    observation: Vec<f64>,
}

impl PolicyDecider {
    /// A policy before the first interval of a flow.
    #[must_use]
    pub fn new(policy: Arc<Policy>) -> Self {
        let bounds = policy.observation.kind.bounds();
        let neutral = bounds.iter().map(|&(_, _, neutral)| neutral).collect::<Vec<_>>();
        let observation = neutral.repeat(policy.observation.history);
        Self { policy, last: Measured::nothing(), observation }
    }
}

impl Decider for PolicyDecider {
    fn decide(&mut self, report: &Report) -> Action {
        self.last = self.last.followed_by(report);
        let features = self.policy.observation.kind.of(&self.last);
        self.observation.drain(..features.len());
        self.observation.extend(features);
        self.policy.action.decide(self.policy.output(&self.observation), &self.last)
    }
}
