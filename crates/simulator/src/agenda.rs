//! The event queue: a four-ary heap of (time, source).
//!
//! A source is a link with packets on it, or a timer: its next moment is all that the heap holds. So the heap is as
//! large as the network, whatever the windows, and a link that goes on after its head packet replaces the top in place.

use crate::ties::Ties;

/// Time in ns above, the source's rank below, in one integer: one comparison. [`Ties`] rank sources of the same moment.
type Key = u64;

const ARITY: usize = 4;
/// Fills the last family of children, so that four can always be compared.
const NOTHING: Key = Key::MAX;

/// What happens next.
#[derive(Debug)]
pub struct Agenda {
    /// Entries from index 3, so that the children of `i` are the aligned four from `4 (i − 2)`; padded with `NOTHING`.
    heap: Vec<Key>,
    len: usize,
    /// Of the source.
    bits: u32,
    mask: Key,
    /// The last moment that fits beside the sources.
    latest: u64,
    ties: Ties,
}

/// Where the top stands.
const TOP: usize = 3;

#[inline]
fn children(at: usize) -> usize {
    (at - 2) * ARITY
}

#[inline]
fn parent(at: usize) -> usize {
    at / ARITY + 2
}

impl Agenda {
    /// An agenda for this many sources.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let bits = usize::BITS - sources.leading_zeros();
        Self {
            heap: vec![NOTHING; 2 * ARITY],
            len: 0,
            bits,
            mask: (1 << bits) - 1,
            latest: (1 << (u64::BITS - bits)) - 2,
            ties: Ties::default(),
        }
    }

    /// An agenda for a network, in which no link and no flow is preferred where several are due at once. Sources are links,
    /// timers, servers.
    #[must_use]
    pub fn of_network(links: usize, flows: usize, servers: usize) -> Self {
        let ties = Ties::new(links, flows);
        Self { ties, ..Self::new(ties.ranks(servers)) }
    }

    /// The first moment that does not fit beside the sources: 2⁶⁴ ns divided among them (39 hours for 100,000).
    #[must_use]
    pub fn horizon(&self) -> u64 {
        self.latest + 1
    }

    #[inline]
    fn key(&self, time: u64, source: u32) -> Key {
        let time = time.min(self.latest);
        (time << self.bits) | u64::from(self.ties.rank(time, source))
    }

    /// The next moment and its source.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(u64, u32)> {
        let top = self.heap[TOP];
        (top != NOTHING).then(|| {
            let time = top >> self.bits;
            (time, self.ties.source(time, (top & self.mask) as u32))
        })
    }

    /// `source` has something at `time`.
    #[inline]
    pub fn push(&mut self, time: u64, source: u32) {
        let new = self.key(time, source);
        let mut at = TOP + self.len;
        self.len += 1;
        if at >= self.heap.len() {
            self.heap.resize(self.heap.len() + 16 * ARITY, NOTHING);
        }
        while at > TOP {
            let above = parent(at);
            let value = self.heap[above];
            if value <= new {
                break;
            }
            self.heap[at] = value;
            at = above;
        }
        self.heap[at] = new;
    }

    /// The top's source goes on at `time`.
    #[inline]
    pub fn replace_top(&mut self, time: u64, source: u32) {
        self.sift_down(self.key(time, source));
    }

    /// The top is done.
    #[inline]
    pub fn pop(&mut self) {
        if self.len == 0 {
            return;
        }
        self.len -= 1;
        let at = TOP + self.len;
        let last = std::mem::replace(&mut self.heap[at], NOTHING);
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    #[inline]
    fn sift_down(&mut self, new: Key) {
        let heap = self.heap.as_mut_slice();
        let mut at = TOP;
        loop {
            let first = children(at);
            let Some(&[a, b, c, d]) = heap.get(first..).and_then(|rest| rest.first_chunk::<ARITY>()) else { break };
            let (left, left_at) = if a <= b { (a, first) } else { (b, first + 1) };
            let (right, right_at) = if c <= d { (c, first + 2) } else { (d, first + 3) };
            let (value, child) = if left <= right { (left, left_at) } else { (right, right_at) };
            if new <= value {
                break;
            }
            heap[at] = value;
            at = child;
        }
        heap[at] = new;
    }

    /// Entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever goes in comes out in the order of (time, source).
        #[test]
        fn it_sorts(times in prop::collection::vec((0u64..50, 0u32..9), 0..200), moves in prop::collection::vec(0u64..20, 0..100)) {
            let mut agenda = Agenda::new(9);
            let mut model: Vec<(u64, u32)> = Vec::new();
            for &(time, source) in &times {
                agenda.push(time, source);
                model.push((time, source));
            }
            for later in moves {
                model.sort_unstable();
                prop_assert_eq!(agenda.peek(), model.first().copied());
                if let Some(top) = model.first_mut() {
                    top.0 += later;
                    agenda.replace_top(top.0, top.1);
                }
            }
            model.sort_unstable();
            for one in model {
                prop_assert_eq!(agenda.peek(), Some(one));
                agenda.pop();
            }
            prop_assert!(agenda.is_empty());
        }
    }
}
