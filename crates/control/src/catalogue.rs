//! All entries, and the text form by which a flow names its algorithm.

use crate::contract::{CongestionControl, Path};
use crate::spec::{Arguments, RecoveryKind, Spec};

/// Why a text names no algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong, in lower case, without full stop.
    pub what: String,
    /// What would do; may be empty.
    pub hint: String,
}

/// The entries and the names by which papers call them.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// All entries.
    pub specs: Vec<&'static Spec>,
    /// Alias and what it stands for in the text form.
    pub aliases: &'static [(&'static str, &'static str)],
}

/// A part of an algorithm with its arguments.
#[derive(Clone, Debug)]
pub struct Part {
    /// The entry.
    pub spec: &'static Spec,
    /// Values of its parameters.
    pub arguments: Arguments,
}

/// A point on the three axes, checked: `GROWTH[+SLOW_START][/RECOVERY]`.
#[derive(Clone, Debug)]
pub struct Algorithm {
    /// Growth, or a whole algorithm.
    pub growth: Part,
    /// Slow start; `None` for a whole algorithm.
    pub slow_start: Option<Part>,
    /// Recovery; `None` leaves it to the stack profile.
    pub recovery: Option<Part>,
}

impl Catalogue {
    /// Reads `cubic+ccm-ss(mu=1.5)/sack`, resolves aliases and companions, checks parameters.
    pub fn parse(&self, _text: &str) -> Result<Algorithm, Fault> {
        unimplemented!()
    }
}

impl Algorithm {
    /// Makes the congestion control for one flow.
    #[must_use]
    pub fn build(&self, _path: &Path) -> Box<dyn CongestionControl> {
        unimplemented!()
    }

    /// The recovery that the text names.
    #[must_use]
    pub fn recovery_kind(&self) -> Option<RecoveryKind> {
        unimplemented!()
    }
}

/// The canonical text: parts in full, parameters that differ from their default in the entry's order.
impl std::fmt::Display for Algorithm {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        unimplemented!()
    }
}
