//! The injection of a congestion control into a flow.

use std::fmt;
use std::sync::Arc;

use crate::contract::{CongestionControl, Path};

type Construct = dyn Fn(&Path) -> Box<dyn CongestionControl> + Send + Sync;

/// Constructs the congestion control of each connection of a flow, in place of an entry of the catalogue.
#[derive(Clone)]
pub struct Constructor(Arc<Construct>);

impl Constructor {
    /// Constructs by this function.
    #[must_use]
    pub fn new(construct: impl Fn(&Path) -> Box<dyn CongestionControl> + Send + Sync + 'static) -> Self {
        Self(Arc::new(construct))
    }

    /// The congestion control of a new connection over `path`.
    #[must_use]
    pub fn construct(&self, path: &Path) -> Box<dyn CongestionControl> {
        (self.0)(path)
    }
}

impl fmt::Debug for Constructor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Constructor")
    }
}

/// Copies of a constructor are equal.
impl PartialEq for Constructor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
