//! A policy as an entry of a catalogue.

use std::sync::Arc;

use cwndlab_control::{Arguments, Build, Confidence, CongestionControl, Kind, Make, Need, Path, Spec};

use super::decider::PolicyDecider;
use super::document::Policy;
use crate::external::External;

#[derive(Debug)]
struct PolicyEntry(Arc<Policy>);

impl Make for PolicyEntry {
    fn make(&self, path: &Path, _: &Arguments) -> Box<dyn CongestionControl> {
        let decider = PolicyDecider::new(Arc::clone(&self.0));
        Box::new(External::deciding(path, self.0.every, true, Some(Box::new(decider))))
    }

    fn may_share_state(&self) -> bool {
        false
    }
}

/// The entry of a policy. It is never freed, as all entries.
#[must_use]
pub fn entry(name: &str, policy: Policy) -> &'static Spec {
    Box::leak(Box::new(Spec {
        name: name.to_owned().leak(),
        title: "Policy",
        kind: Kind::Whole,
        source: "",
        year: 0,
        confidence: Confidence::High,
        summary: "A trained policy.",
        parameters: &[],
        choices: &[],
        pitfalls: &[],
        companion: "",
        needs: &[Need::Pacing],
        incompatible: &[],
        model_based: true,
        build: Build::Dynamic(Box::leak(Box::new(PolicyEntry(Arc::new(policy))))),
    }))
}
