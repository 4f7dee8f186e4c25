//! Access links: from hosts to routers, and the wires of a wireless LAN.

use cwndlab_network::aqm::Size;
use cwndlab_units::Duration;

use super::builder::Network;
use crate::schema::{Access, Link};

/// The access links of one flow.
pub(super) struct AccessLinks {
    /// From the source to its router, and from the other router to the destination.
    forward: (u32, u32),
    /// The way back.
    reverse: (u32, u32),
}

impl AccessLinks {
    /// The routes that lead over these links and, between the routers, over `there` and `back`.
    pub(super) fn routes(&self, there: &[u32], back: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let route = |(first, last): (u32, u32), middle: &[u32]| [&[first], middle, &[last]].concat();
        (route(self.forward, there), route(self.reverse, back))
    }
}

impl Network {
    /// An access link of this delay; its index.
    pub(super) fn access(&mut self, from: &str, to: &str, access: &Access, delay: Duration) -> u32 {
        let mut link = Link::plain("access", access.rate, delay, access.queue);
        link.agents = access.agents.clone().unwrap_or_default();
        self.add(format!("{from}-{to}"), from, to, &link, Size::Unlimited, false)
    }

    /// The four access links of the flow of this index, to the routers `near` its source and `far` from it. They take
    /// `rest` ns together.
    pub(super) fn hosts(&mut self, index: usize, (near, far): (&str, &str), access: &Access, rest: u64) -> AccessLinks {
        let (source, destination) = (format!("s{index}"), format!("d{index}"));
        let quarter = |n: u64| Duration(rest / 4 + u64::from(n < rest % 4));
        let up = self.access(&source, near, access, quarter(0));
        let down = self.access(far, &destination, access, quarter(1));
        let back_up = self.access(&destination, far, access, quarter(2));
        let back_down = self.access(near, &source, access, quarter(3));
        AccessLinks { forward: (up, down), reverse: (back_up, back_down) }
    }
}
