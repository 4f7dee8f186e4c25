//! Congestion control by policies: the report of a monitor interval, and the algorithm `external`, whose window and
//! pacing rate are decided outside of it.
//!
//! | module | purpose |
//! |---|---|
//! | `monitor` | what happened since the last decision |
//! | `external` | the algorithm `external`, and the interface to its decider |
//! | `policy` | policies from files: features, network, action |

pub mod external;
pub mod monitor;
pub mod policy;

pub use external::{Action, Cause, Decider, External, Report};
pub use monitor::Interval;
