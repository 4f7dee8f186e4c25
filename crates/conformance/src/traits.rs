//! What an entry declares of its algorithm, as far as the battery uses it.

use cwndlab_control::{Algorithm, Need, Spec};

/// What an entry declares of its algorithm, as far as the battery uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// [`Spec::model_based`]: it is excepted from the rules for windows that losses drive.
    pub model_based: bool,
    /// [`Spec::needs`]: the paths pace, and their routers answer, where it needs them to.
    pub needs: Vec<Need>,
}

impl From<&Spec> for Traits {
    fn from(spec: &Spec) -> Self {
        Self { model_based: spec.model_based, needs: spec.needs.to_vec() }
    }
}

/// A growth with its slow start: what either of them declares.
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
