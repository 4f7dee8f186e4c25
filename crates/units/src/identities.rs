//! Identities: the indices of flows, connections, links, servers and sources of events, each a type of its own, and
//! vectors that only one of them indexes.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

macro_rules! identity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The largest number; stands for "none".
            pub const NONE: Self = Self(u32::MAX);

            /// Its position in a list without an [`IndexVec`].
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<u32> for $name {
            #[inline]
            fn from(number: u32) -> Self {
                Self(number)
            }
        }

        impl From<$name> for u32 {
            #[inline]
            fn from(one: $name) -> u32 {
                one.0
            }
        }

        impl From<$name> for u64 {
            #[inline]
            fn from(one: $name) -> u64 {
                u64::from(one.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, out)
            }
        }
    };
}

identity! {
    /// A flow of the scenario.
    FlowId
}
identity! {
    /// A connection of a run: the first connection of each flow, in the order of the flows, then the others. A connection
    /// that follows another one in its place has the same identity and the next number.
    ConnectionId
}
identity! {
    /// A link of the network, in one direction.
    LinkId
}

identity! {
    /// A server of the network: a link with a queue discipline, or an 802.11 medium.
    ServerId
}
identity! {
    /// A source of events: a link, a timer of a connection, or a server. Links have the first numbers.
    EventSource
}

/// The arrivals over a link.
impl From<LinkId> for EventSource {
    #[inline]
    fn from(link: LinkId) -> Self {
        Self(link.0)
    }
}

/// The first connection of a flow.
impl From<FlowId> for ConnectionId {
    #[inline]
    fn from(flow: FlowId) -> Self {
        Self(flow.0)
    }
}

/// A vector with an element for each identity `I`.
///
/// ```
/// use cwndlab_units::{IndexVec, LinkId};
///
/// let names: IndexVec<LinkId, &str> = ["there", "back"].into_iter().collect();
/// let second = names.ids().nth(1).expect("there are two");
/// assert_eq!(names[second], "back");
/// ```
///
/// The identity of a flow does not index links:
///
/// ```compile_fail,E0308
/// use cwndlab_units::{FlowId, IndexVec, LinkId};
///
/// let names: IndexVec<LinkId, &str> = ["there", "back"].into_iter().collect();
/// names[FlowId::from(1)];
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexVec<I, T> {
    items: Vec<T>,
    identity: PhantomData<I>,
}

impl<I: From<u32>, T> IndexVec<I, T> {
    /// The identities of all elements.
    #[must_use]
    pub fn ids(&self) -> impl ExactSizeIterator<Item = I> {
        (0..self.items.len()).map(|index| I::from(index as u32))
    }

    /// The elements with their identities.
    pub fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        self.ids().zip(&self.items)
    }

    /// Adds an element; returns its identity.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from(self.items.len() as u32 - 1)
    }
}

impl<I, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, identity: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<'a, I, T> IntoIterator for &'a IndexVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut IndexVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

impl<I, T> Deref for IndexVec<I, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<I, T> DerefMut for IndexVec<I, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<I: Into<u32>, T> Index<I> for IndexVec<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, one: I) -> &T {
        &self.items[one.into() as usize]
    }
}

impl<I: Into<u32>, T> IndexMut<I> for IndexVec<I, T> {
    #[inline]
    fn index_mut(&mut self, one: I) -> &mut T {
        &mut self.items[one.into() as usize]
    }
}
