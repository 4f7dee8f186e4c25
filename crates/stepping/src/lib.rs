//! Simulations that are stepped: stopped at a time, or at each decision of a flow whose algorithm is `external`.
//!
//! A run is a coroutine with a stack of its own (decision 14). An `external` control suspends it in the middle of an
//! ACK, so that a decision takes effect exactly where that of any other algorithm does, and the engine is the one of
//! `cwndlab run`.
//!
//! | module | purpose |
//! |---|---|
//! | `simulation` | the run as an object |
//! | `port` | passes decisions and questions between the run and its owner |

mod port;
mod simulation;

pub use cwndlab_learned::{external, Action, Cause, Report};
pub use cwndlab_simulator::FlowState;
pub use simulation::{Decision, Simulation, State};
