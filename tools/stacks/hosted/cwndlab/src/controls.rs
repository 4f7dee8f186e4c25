//! The congestion controls of this library.

use std::sync::Arc;

use cwndlab_stack::Start;

use crate::api::Factory;

/// Name and version of the stack.
pub const NAME: &str = "cwndlab over quinn-proto 0.11.19";
/// The first part of the names of logs.
pub const LOG: &str = "cwndlab";
/// An algorithm receives an ACK with its losses, when the stack next requests the window.
pub const WAITS_FOR_LOSSES: bool = true;
/// `control-seed=NUMBER` seeds the random numbers of the algorithm; without it they follow from the seed of the run.
pub const OPTIONS: &[&str] = &["control-seed"];

/// The congestion control of a connection with its name.
pub fn of(start: &Start) -> Result<(Factory, String), String> {
    let text = if start.controller.is_empty() { "cubic" } else { &start.controller };
    let factory = cwndlab_quic::controller_factory(text).map_err(|fault| format!("{fault:#}"))?;
    let given = start.pairs()?.into_iter().find(|(key, _)| *key == "control-seed");
    let seed = given.map_or(Ok(start.seed), |(key, value)| {
        value.parse().map_err(|_| format!("{key}: '{value}' is not a number"))
    })?;
    let name = factory.name().to_owned();
    Ok((Arc::new((*factory).clone().with_seed(seed)), name))
}
