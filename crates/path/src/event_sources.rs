//! The numbers of event sources: first the links, then the timers of each connection, then the servers.

use cwndlab_units::{ConnectionId, EventSource, LinkId, ServerId};

use crate::timers::TIMERS;

/// The event sources of a network.
#[derive(Clone, Copy, Debug)]
pub struct EventSources {
    links: u32,
    first_server: u32,
}

/// The owner of an entry on the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A timer of a connection.
    Timer(ConnectionId, usize),
    /// A server.
    Server(ServerId),
}

impl EventSources {
    /// The sources of a network of `links` links and `connections` connections.
    #[must_use]
    pub(crate) fn new(links: usize, connections: usize) -> Self {
        Self { links: links as u32, first_server: (links + connections * TIMERS) as u32 }
    }

    /// The source of a connection's timer.
    #[inline]
    #[must_use]
    pub fn timer(self, connection: ConnectionId, which: usize) -> EventSource {
        EventSource::from(self.links + u32::from(connection) * TIMERS as u32 + which as u32)
    }

    /// The source of a server.
    #[inline]
    #[must_use]
    pub(crate) fn server(self, server: ServerId) -> EventSource {
        EventSource::from(self.first_server + u32::from(server))
    }

    /// The link of a source; `None` for a timer or a server.
    #[inline]
    #[must_use]
    pub(crate) fn link(self, source: EventSource) -> Option<LinkId> {
        (u32::from(source) < self.links).then(|| u32::from(source).into())
    }

    /// The owner of an entry on the agenda, where links have none.
    #[inline]
    #[must_use]
    pub fn owner(self, source: EventSource) -> Owner {
        let number = u32::from(source);
        if number < self.first_server {
            let timer = number - self.links;
            Owner::Timer((timer / TIMERS as u32).into(), timer as usize % TIMERS)
        } else {
            Owner::Server((number - self.first_server).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timers::{APPLICATION, SENDER};

    /// By hand: 3 links have the sources 0 to 2, the four timers of 2 connections 3 to 10, and servers those from 11 on.
    #[test]
    fn every_source_has_its_owner() {
        let sources = EventSources::new(3, 2);
        assert_eq!(sources.link(LinkId::from(2).into()), Some(2.into()));
        for (source, number, owner) in [
            (sources.timer(0.into(), SENDER), 3, Owner::Timer(0.into(), SENDER)),
            (sources.timer(1.into(), APPLICATION), 10, Owner::Timer(1.into(), APPLICATION)),
            (sources.server(0.into()), 11, Owner::Server(0.into())),
            (sources.server(4.into()), 15, Owner::Server(4.into())),
        ] {
            assert_eq!((source, sources.owner(source), sources.link(source)), (number.into(), owner, None));
        }
    }
}
