//! The congestion controls of noq.

use std::sync::Arc;

use cwndlab_stack::Start;
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};

use crate::api::Factory;

/// Name and version of the stack.
pub const NAME: &str = "noq-proto 1.4.0";
/// Options that the congestion controls have.
pub const OPTIONS: &[&str] = &[];

/// The congestion control of a connection with its name. The first one is the default.
pub fn of(start: &Start) -> Result<(Factory, String), String> {
    let known: [(&str, Factory); 3] = [
        ("cubic", Arc::new(CubicConfig::default())),
        ("newreno", Arc::new(NewRenoConfig::default())),
        ("bbr3", Arc::new(Bbr3Config::default())),
    ];
    let name = start.choose(&known.each_ref().map(|one| one.0))?;
    let factory = known.into_iter().find_map(|one| (one.0 == name).then_some(one.1));
    Ok((factory.expect("it is one of them"), name.to_owned()))
}
