//! Policies: small neural networks that decide window or rate from the last monitor intervals.
//!
//! A policy is a JSON document, which `cwndlab.gym.Policy` writes:
//!
//! ```text
//! features of the last intervals → (x − mean) / std → layers → one output, limited to [−1, 1] → window or rate
//! ```
//!
//! | module | purpose |
//! |---|---|
//! | `document` | the JSON document, and its faults |
//! | `features` | the features of an interval |
//! | `network` | the layers |
//! | `action` | from an output to a window and a rate |
//! | `decider` | the policy as the decider of a flow |
//! | `entry` | the policy as an entry of a catalogue |
//! | `reward` | the rewards of an interval, for training |

pub mod action;
pub mod decider;
pub mod document;
pub mod entry;
pub mod features;
pub mod network;
pub mod reward;

pub use decider::PolicyDecider;
pub use document::Policy;
pub use entry::entry;
pub use reward::Reward;
