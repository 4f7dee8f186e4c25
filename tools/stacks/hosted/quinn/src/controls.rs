//! The congestion controls of quinn.

use std::sync::Arc;

use cwndlab_stack::Start;
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};

use crate::api::Factory;

/// Name and version of the stack.
pub const NAME: &str = "quinn-proto 0.11.19";

/// The first part of the names of logs.
pub const LOG: &str = "quinn";
/// A controller has processed an ACK when its call ends, and does not wait for the losses that the ACK shows.
pub const WAITS_FOR_LOSSES: bool = false;
/// Options that the congestion controls have.
pub const OPTIONS: &[&str] = &[];

/// The congestion control of a connection with its name. The first one is the default.
pub fn of(start: &Start) -> Result<(Factory, String), String> {
    let known: [(&str, Factory); 3] = [
        ("cubic", Arc::new(CubicConfig::default())),
        ("newreno", Arc::new(NewRenoConfig::default())),
        ("bbr", Arc::new(BbrConfig::default())),
    ];
    let name = start.choose(&known.each_ref().map(|one| one.0))?;
    let factory = known.into_iter().find_map(|one| (one.0 == name).then_some(one.1));
    Ok((factory.expect("it is one of them"), name.to_owned()))
}
