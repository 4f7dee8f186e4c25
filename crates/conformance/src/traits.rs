//! The declared properties of an algorithm that the battery uses.

use cwndlab_control::{Algorithm, Need, Spec};

/// The declared properties of an algorithm that the battery uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// [`Spec::model_based`]: exempt from the rules for loss-based windows.
    pub model_based: bool,
    /// [`Spec::needs`]: pacing and router feedback are available if required.
    pub needs: Vec<Need>,
}

impl From<&Spec> for Traits {
    fn from(spec: &Spec) -> Self {
        Self { model_based: spec.model_based, needs: spec.needs.to_vec() }
    }
}

/// Congestion avoidance and slow start: the union of their properties.
impl From<&Algorithm> for Traits {
    fn from(algorithm: &Algorithm) -> Self {
        let mut traits = Self::from(algorithm.growth.spec);
        if let Some(part) = &algorithm.slow_start {
            traits.model_based |= part.spec.model_based;
            traits.needs.extend_from_slice(part.spec.needs);
        }
        traits
    }
}
