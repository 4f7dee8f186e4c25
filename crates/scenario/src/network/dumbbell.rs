//! The dumbbell: one bottleneck between two routers, and access links.

use cwndlab_config::Faults;
use cwndlab_network::aqm::Size;
use cwndlab_units::Duration;

use super::builder::Network;
use super::placed::{expand, rest, Placed};
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
    for (index, flow, number, name) in expand(schema) {
        let Some(rest) = rest(flow, forward.delay.0 + reverse.delay.0, faults) else { continue };
        let (s, d) = (format!("s{index}"), format!("d{index}"));
        let (near, far, out, home) = if flow.reverse { ("r2", "r1", back, there) } else { ("r1", "r2", there, back) };
        let quarter = |n: u64| Duration(rest / 4 + u64::from(n < rest % 4));
        let up = network.access(&s, near, access, quarter(0));
        let down = network.access(far, &d, access, quarter(1));
        let back_up = network.access(&d, far, access, quarter(2));
        let back_down = network.access(near, &s, access, quarter(3));
        placed.push(Placed {
            flow,
            number,
            name,
            forward: vec![up, out, down],
            reverse: vec![back_up, home, back_down],
        });
    }
    placed
}
