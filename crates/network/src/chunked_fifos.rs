//! Many FIFOs of plain values in chunks of one common store.
//!
//! A ring buffer has the size of its maximum and is traversed completely even if it is almost empty; with hundreds of
//! them, every write is a cache miss. Here FIFOs reuse each other's free chunks, so that the memory in use corresponds to
//! the number of values stored.

use prefetch_index::prefetch_index;

/// Values per chunk.
const CHUNK: u32 = 16;
const NONE: u32 = u32::MAX;

/// A FIFO from the slot `first` to the slot `last`, across linked chunks.
#[derive(Clone, Copy, Debug)]
struct Fifo {
    first: u32,
    /// [`NONE`] while it is empty.
    last: u32,
}

const EMPTY: Fifo = Fifo { first: 0, last: NONE };

/// Whether the next value of a FIFO with this last slot requires a new chunk.
#[inline]
fn is_full(last: u32) -> bool {
    last.wrapping_add(1).is_multiple_of(CHUNK)
}

const _: () = assert!(NONE.wrapping_add(1).is_multiple_of(CHUNK), "an empty FIFO needs a chunk");

/// FIFOs by index. A FIFO owns a chunk only while the chunk has values.
#[derive(Clone, Debug)]
pub struct ChunkedFifos<T> {
    all: Vec<Fifo>,
    slots: Vec<T>,
    /// Successor of each chunk in its FIFO or in the free list.
    next: Vec<u32>,
    /// Head of the free list: the most recently freed chunk, which is most likely in the cache.
    free: u32,
}

impl<T: Copy + Default> ChunkedFifos<T> {
    /// Creates `fifos` empty FIFOs.
    #[must_use]
    pub fn new(fifos: usize) -> Self {
        Self { all: vec![EMPTY; fifos], slots: Vec::new(), next: Vec::new(), free: NONE }
    }

    /// Whether the FIFO is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self, fifo: usize) -> bool {
        self.all[fifo].last == NONE
    }

    /// Appends a value if the last chunk has room, which implies that the FIFO was not empty. Returns its slot, which the
    /// caller writes.
    #[inline]
    pub fn extend(&mut self, fifo: usize) -> Option<u32> {
        let last = &mut self.all[fifo].last;
        if is_full(*last) {
            return None;
        }
        *last += 1;
        Some(*last)
    }

    /// The value of a slot.
    #[inline]
    pub fn slot(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }

    /// Appends a value, which the caller writes.
    #[inline]
    pub fn push(&mut self, fifo: usize) -> &mut T {
        let last = self.all[fifo].last;
        let slot = if is_full(last) { self.add_chunk(fifo) } else { last + 1 };
        self.all[fifo].last = slot;
        &mut self.slots[slot as usize]
    }

    /// Appends a chunk to a FIFO; returns its first slot.
    #[cold]
    fn add_chunk(&mut self, fifo: usize) -> u32 {
        if self.free == NONE {
            self.slots.resize(self.slots.len() + CHUNK as usize, T::default());
            self.free = self.next.len() as u32;
            self.next.push(NONE);
        }
        let chunk = self.free;
        self.free = self.next[chunk as usize];
        let fifo = &mut self.all[fifo];
        if fifo.last == NONE {
            fifo.first = chunk * CHUNK;
        } else {
            self.next[(fifo.last / CHUNK) as usize] = chunk;
        }
        chunk * CHUNK
    }

    /// The oldest value.
    #[inline]
    #[must_use]
    pub fn front(&self, fifo: usize) -> Option<&T> {
        let Fifo { first, last } = self.all[fifo];
        (last != NONE).then(|| &self.slots[first as usize])
    }

    /// Calls `visit` with every value of a FIFO, oldest first.
    pub fn for_each(&self, fifo: usize, mut visit: impl FnMut(&T)) {
        let Fifo { first, last } = self.all[fifo];
        if last == NONE {
            return;
        }
        let mut slot = first;
        loop {
            visit(&self.slots[slot as usize]);
            if slot == last {
                return;
            }
            slot = if is_full(slot) { self.next[(slot / CHUNK) as usize] * CHUNK } else { slot + 1 };
        }
    }

    /// Removes the oldest value of a FIFO that is not empty; returns its successor.
    #[inline]
    pub fn advance(&mut self, fifo: usize) -> Option<&T> {
        let Fifo { first, last } = self.all[fifo];
        if first == last || is_full(first) {
            return self.free_chunk(fifo);
        }
        let next = first + 1;
        self.all[fifo].first = next;
        // The next access to this FIFO reads a value that was written long ago: prefetch it.
        prefetch_index(&self.slots, next as usize + 2);
        self.slots.get(next as usize)
    }

    /// Removes the last value of a chunk, and frees the chunk.
    #[cold]
    fn free_chunk(&mut self, fifo: usize) -> Option<&T> {
        let fifo = &mut self.all[fifo];
        let chunk = fifo.first / CHUNK;
        let next = std::mem::replace(&mut self.next[chunk as usize], self.free);
        self.free = chunk;
        if fifo.first == fifo.last {
            *fifo = EMPTY;
            return None;
        }
        let first = next * CHUNK;
        fifo.first = first;
        // `advance` does not ask for the first values of the chunk after this one.
        let after = (self.next[next as usize] as usize).wrapping_mul(CHUNK as usize);
        prefetch_index(&self.slots, first as usize + 2);
        prefetch_index(&self.slots, after);
        prefetch_index(&self.slots, after.wrapping_add(2));
        self.slots.get(first as usize)
    }

    /// Memory in use, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<T>() + self.next.capacity() * 4 + self.all.len() * size_of::<Fifo>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Compared with one `VecDeque` per FIFO.
        #[test]
        fn each_fifo_keeps_its_order(steps in prop::collection::vec((0usize..3, prop::option::weighted(0.6, 0u32..100)), 0..600)) {
            let mut fifos = ChunkedFifos::new(3);
            let mut models = [const { VecDeque::new() }; 3];
            for (fifo, step) in steps {
                let model = &mut models[fifo];
                if let Some(value) = step {
                    prop_assert_eq!(fifos.is_empty(fifo), model.is_empty());
                    if let Some(slot) = fifos.extend(fifo) {
                        prop_assert!(!model.is_empty());
                        *fifos.slot(slot) = value;
                    } else {
                        *fifos.push(fifo) = value;
                    }
                    model.push_back(value);
                } else {
                    prop_assert_eq!(fifos.front(fifo), model.front());
                    if model.pop_front().is_some() {
                        prop_assert_eq!(fifos.advance(fifo), model.front());
                    }
                }
            }
            for (fifo, model) in models.iter_mut().enumerate() {
                while let Some(value) = model.pop_front() {
                    prop_assert_eq!(fifos.front(fifo), Some(&value));
                    prop_assert_eq!(fifos.advance(fifo), model.front());
                }
                prop_assert_eq!(fifos.front(fifo), None);
            }
        }

        #[test]
        fn fifos_reuse_freed_chunks(rounds in 1usize..50, values in 1u32..200) {
            let mut fifos = ChunkedFifos::new(2);
            for round in 0..rounds {
                for value in 0..values {
                    *fifos.push(round % 2) = value;
                }
                for _ in 0..values {
                    fifos.advance(round % 2);
                }
            }
            prop_assert_eq!(fifos.slots.len() as u32, values.div_ceil(CHUNK) * CHUNK);
        }
    }
}
