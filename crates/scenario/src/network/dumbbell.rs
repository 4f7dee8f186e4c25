//! The dumbbell: one bottleneck between two routers, and access links.

use cwndlab_config::Faults;
use cwndlab_network::aqm::Size;

use super::builder::Network;
use super::placed::{singles, Placed};
use crate::schema::{Access, Link, Schema};

pub(super) fn dumbbell<'a>(
    schema: &'a Schema,
    forward: &Link,
    reverse: &Link,
    access: &Access,
    network: &mut Network,
    faults: &mut Faults,
) -> Vec<Placed<'a>> {
    let access = &Access { agents: access.agents.clone().or_else(|| Some(forward.agents.clone())), ..access.clone() };
    let there = network.add("bottleneck".to_owned(), "r1", "r2", forward, Size::Bdp(1.0, None), true);
    let back = network.add("bottleneck-reverse".to_owned(), "r2", "r1", reverse, Size::Bdp(1.0, None), true);
    let mut placed = Vec::new();
    for one in singles(schema) {
        let Some(rest) = one.rest(forward.delay.0 + reverse.delay.0, faults) else { continue };
        let (routers, out, home) =
            if one.flow.reverse { (("r2", "r1"), back, there) } else { (("r1", "r2"), there, back) };
        let (forward, reverse) = network.hosts(one.index, routers, access, rest).routes(&[out], &[home]);
        placed.push(one.on(forward, reverse));
    }
    placed
}
