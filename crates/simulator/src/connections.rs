//! The connections of a run. One that has not begun takes no memory beyond its place: with 100,000 flows most are idle.

use std::ops::{Index, IndexMut};

use cwndlab_units::Time;

use crate::connection::Connection;

/// A connection's place.
#[derive(Debug)]
enum Place {
    /// It begins at this time.
    Waiting(Time),
    /// It has begun.
    Begun(Box<Connection>),
}

/// One connection for each flow of the plan, then the secondary ones. An index stands for a connection that has begun.
#[derive(Debug)]
pub(crate) struct Connections(Vec<Place>);

impl Connections {
    /// Those of flows that begin at these times.
    pub(crate) fn waiting(starts: impl Iterator<Item = Time>) -> Self {
        Self(starts.map(Place::Waiting).collect())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// When the connection begins; `None` if it has.
    pub(crate) fn start(&self, index: usize) -> Option<Time> {
        match &self.0[index] {
            Place::Waiting(start) => Some(*start),
            Place::Begun(_) => None,
        }
    }

    /// The connection begins.
    pub(crate) fn begin(&mut self, index: usize, connection: Connection) {
        self.0[index] = Place::Begun(Box::new(connection));
    }

    /// Adds one that begins now.
    pub(crate) fn push(&mut self, connection: Connection) {
        self.0.push(Place::Begun(Box::new(connection)));
    }

    /// Two that have begun, the first one before the second.
    pub(crate) fn pair(&mut self, first: usize, second: usize) -> (&mut Connection, &mut Connection) {
        let (before, rest) = self.0.split_at_mut(second);
        match (&mut before[first], &mut rest[0]) {
            (Place::Begun(one), Place::Begun(other)) => (one, other),
            _ => panic!("{NOT_BEGUN}"),
        }
    }

    /// Memory held, bytes.
    pub(crate) fn memory(&self) -> usize {
        let of = |place: &Place| match place {
            Place::Waiting(_) => 0,
            Place::Begun(connection) => connection.memory(),
        };
        self.0.len() * size_of::<Place>() + self.0.iter().map(of).sum::<usize>()
    }
}

const NOT_BEGUN: &str = "a connection acts after it has begun";

impl Index<usize> for Connections {
    type Output = Connection;

    #[inline]
    fn index(&self, index: usize) -> &Connection {
        match &self.0[index] {
            Place::Begun(connection) => connection,
            Place::Waiting(_) => panic!("{NOT_BEGUN}"),
        }
    }
}

impl IndexMut<usize> for Connections {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Connection {
        match &mut self.0[index] {
            Place::Begun(connection) => connection,
            Place::Waiting(_) => panic!("{NOT_BEGUN}"),
        }
    }
}
