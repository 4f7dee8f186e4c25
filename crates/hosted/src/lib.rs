//! The protocol between an engine and the protocol stack of somebody else, which runs in virtual time in a process of
//! its own. `docs/host.md` describes it for authors of stacks.
//!
//! - [`frame`]: frames, their items, and what a stack answers;
//! - [`process`]: the process of a stack at one end of a flow;
//! - [`report`]: what a stack reports about itself.

pub mod frame;
pub mod process;
pub mod report;
