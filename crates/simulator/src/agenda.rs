//! The event queue: a four-ary heap of (time, source).
//!
//! A source is a link with packets on it, or a timer: its next moment is all that the heap holds. So the heap is as
//! large as the network, whatever the windows, and a link that goes on after its head packet replaces the top in place.

/// Time in ns and source in one key: one comparison, and equal times are served in the order of the sources.
type Key = u128;

const ARITY: usize = 4;

/// What happens next.
#[derive(Debug, Default)]
pub struct Agenda {
    heap: Vec<Key>,
}

#[inline]
fn key(time: u64, source: u32) -> Key {
    (Key::from(time) << 32) | Key::from(source)
}

impl Agenda {
    /// The next moment and its source.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(u64, u32)> {
        self.heap.first().map(|&top| ((top >> 32) as u64, top as u32))
    }

    /// `source` has something at `time`.
    #[inline]
    pub fn push(&mut self, time: u64, source: u32) {
        let new = key(time, source);
        let mut at = self.heap.len();
        self.heap.push(new);
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent] <= new {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = new;
    }

    /// The top's source goes on at `time`.
    #[inline]
    pub fn replace_top(&mut self, time: u64, source: u32) {
        self.sift_down(key(time, source));
    }

    /// The top is done.
    #[inline]
    pub fn pop(&mut self) {
        if let Some(last) = self.heap.pop() {
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
    }

    #[inline]
    fn sift_down(&mut self, new: Key) {
        let heap = self.heap.as_mut_slice();
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            if first >= heap.len() {
                break;
            }
            let end = (first + ARITY).min(heap.len());
            let mut least = first;
            let mut value = heap[first];
            for child in first + 1..end {
                let other = heap[child];
                if other < value {
                    value = other;
                    least = child;
                }
            }
            if new <= value {
                break;
            }
            heap[at] = value;
            at = least;
        }
        heap[at] = new;
    }

    /// Entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
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
            let mut agenda = Agenda::default();
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
