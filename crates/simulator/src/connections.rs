//! The connections of a run. A connection that has not started uses no memory beyond its slot, because with 100,000
//! flows most are idle.

use std::ops::{Index, IndexMut};

use cwndlab_units::{ConnectionId, IndexVec, Time};
use prefetch_index::prefetch_index;

use crate::connection::Connection;

/// The slot of a connection.
#[derive(Debug)]
enum Slot {
    /// The connection starts at this time.
    Pending(Time),
    /// The connection has started.
    Started(Box<Connection>),
}

/// One connection for each flow of the plan, then the secondary ones. Indexing requires a connection that has started.
#[derive(Debug)]
pub(crate) struct Connections(IndexVec<ConnectionId, Slot>);

impl Connections {
    /// Connections of flows that start at these times.
    pub(crate) fn pending(starts: impl Iterator<Item = Time>) -> Self {
        Self(starts.map(Slot::Pending).collect())
    }

    /// All connections.
    pub(crate) fn ids(&self) -> impl ExactSizeIterator<Item = ConnectionId> {
        self.0.ids()
    }

    /// Start time of a connection; `None` if it has started.
    pub(crate) fn start(&self, id: ConnectionId) -> Option<Time> {
        match &self.0[id] {
            Slot::Pending(start) => Some(*start),
            Slot::Started(_) => None,
        }
    }

    /// A connection; `None` if it has not started.
    pub(crate) fn started(&self, id: ConnectionId) -> Option<&Connection> {
        match &self.0[id] {
            Slot::Pending(_) => None,
            Slot::Started(connection) => Some(connection),
        }
    }

    /// A connection that can be changed; `None` if it has not started.
    #[inline]
    pub(crate) fn started_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        match &mut self.0[id] {
            Slot::Pending(_) => None,
            Slot::Started(connection) => Some(connection),
        }
    }

    /// Asks for the place of a connection's state.
    #[inline]
    pub(crate) fn prefetch(&self, id: ConnectionId) {
        prefetch_index(&*self.0, id.index());
    }

    /// Asks for the state of a connection that a packet reads which arrives there.
    #[inline]
    pub(crate) fn prefetch_state(&self, id: ConnectionId, receiver: bool) {
        if let Some(connection) = self.started(id) {
            connection.prefetch(receiver);
        }
    }

    /// Asks for what it reads beyond that.
    #[inline]
    pub(crate) fn prefetch_rest(&self, id: ConnectionId, receiver: bool) {
        if let Some(connection) = self.started(id) {
            connection.prefetch_rest(receiver);
        }
    }

    /// Starts a connection.
    pub(crate) fn begin(&mut self, id: ConnectionId, connection: Connection) {
        self.0[id] = Slot::Started(Box::new(connection));
    }

    /// Adds a connection that starts now.
    pub(crate) fn push(&mut self, connection: Connection) {
        self.0.push(Slot::Started(Box::new(connection)));
    }

    /// Exchanges a connection with that of the same number in another part of the run.
    pub(crate) fn swap(&mut self, id: ConnectionId, other: &mut Self) {
        std::mem::swap(&mut self.0[id], &mut other.0[id]);
    }

    /// Two started connections, the first with the lower index.
    pub(crate) fn pair(&mut self, first: ConnectionId, second: ConnectionId) -> (&mut Connection, &mut Connection) {
        let (before, rest) = self.0.split_at_mut(second.index());
        match (&mut before[first.index()], &mut rest[0]) {
            (Slot::Started(one), Slot::Started(other)) => (one, other),
            _ => panic!("{NOT_STARTED}"),
        }
    }

    /// Memory in use, bytes.
    pub(crate) fn memory(&self) -> usize {
        let of = |slot: &Slot| match slot {
            Slot::Pending(_) => 0,
            Slot::Started(connection) => connection.memory(),
        };
        self.0.len() * size_of::<Slot>() + self.0.iter().map(of).sum::<usize>()
    }
}

const NOT_STARTED: &str = "the connection has not started";

impl Index<ConnectionId> for Connections {
    type Output = Connection;

    #[inline]
    fn index(&self, id: ConnectionId) -> &Connection {
        match &self.0[id] {
            Slot::Started(connection) => connection,
            Slot::Pending(_) => panic!("{NOT_STARTED}"),
        }
    }
}

impl IndexMut<ConnectionId> for Connections {
    #[inline]
    fn index_mut(&mut self, id: ConnectionId) -> &mut Connection {
        match &mut self.0[id] {
            Slot::Started(connection) => connection,
            Slot::Pending(_) => panic!("{NOT_STARTED}"),
        }
    }
}
