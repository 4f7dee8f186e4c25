//! Many FIFOs of plain values out of one store of chunks.
//!
//! A ring as large as its fullest moment is walked through from end to end, however little is in it: with hundreds of
//! them every packet is written where the cache has nothing. Here what a FIFO has emptied the next one fills, so that
//! the memory in use is that of the values waiting.

use prefetch_index::prefetch_index;

/// Values per chunk.
const CHUNK: u32 = 16;
const NONE: u32 = u32::MAX;

/// A FIFO: from the slot `head` to the one before `tail`, by way of the chunks between them.
#[derive(Clone, Copy, Debug, Default)]
struct Fifo {
    head: u32,
    /// At a chunk's beginning: the next value needs a chunk.
    tail: u32,
    len: u32,
}

/// FIFOs by number. They grow as needed, and hold a chunk only while something is in it.
#[derive(Clone, Debug)]
pub struct ChunkedFifos<T> {
    all: Vec<Fifo>,
    slots: Vec<T>,
    /// The chunk behind each chunk, of its fifo or of the free ones.
    next: Vec<u32>,
    /// The chunk that became free last: the one that is most likely still in the cache.
    free: u32,
}

impl<T: Copy + Default> ChunkedFifos<T> {
    /// So many empty FIFOs.
    #[must_use]
    pub fn new(fifos: usize) -> Self {
        Self { all: vec![Fifo::default(); fifos], slots: Vec::new(), next: Vec::new(), free: NONE }
    }

    /// Adds at the end; answers whether the FIFO was empty.
    #[inline]
    pub fn push(&mut self, fifo: usize, value: T) -> bool {
        let fifo = &mut self.all[fifo];
        let empty = fifo.len == 0;
        if fifo.tail.is_multiple_of(CHUNK) {
            if self.free == NONE {
                self.slots.resize(self.slots.len() + CHUNK as usize, T::default());
                self.free = self.next.len() as u32;
                self.next.push(NONE);
            }
            let chunk = self.free;
            self.free = self.next[chunk as usize];
            if empty {
                fifo.head = chunk * CHUNK;
            } else {
                self.next[(fifo.tail / CHUNK) as usize - 1] = chunk;
            }
            fifo.tail = chunk * CHUNK;
        }
        self.slots[fifo.tail as usize] = value;
        fifo.tail += 1;
        fifo.len += 1;
        empty
    }

    /// Takes the oldest value.
    #[inline]
    pub fn pop(&mut self, fifo: usize) -> Option<T> {
        let fifo = &mut self.all[fifo];
        if fifo.len == 0 {
            return None;
        }
        let value = self.slots[fifo.head as usize];
        fifo.head += 1;
        fifo.len -= 1;
        if fifo.len == 0 || fifo.head.is_multiple_of(CHUNK) {
            let chunk = (fifo.head - 1) / CHUNK;
            let next = std::mem::replace(&mut self.next[chunk as usize], self.free);
            self.free = chunk;
            if fifo.len == 0 {
                fifo.tail = 0;
                return Some(value);
            }
            fifo.head = next * CHUNK;
        }
        // What comes when this fifo's turn comes again was written long ago: it is asked for now.
        let ahead = match fifo.head % CHUNK {
            last if last == CHUNK - 2 => self.next[(fifo.head / CHUNK) as usize] as usize * CHUNK as usize,
            _ => fifo.head as usize + 2,
        };
        prefetch_index(&self.slots, ahead);
        Some(value)
    }

    /// The oldest value.
    #[inline]
    #[must_use]
    pub fn front(&self, fifo: usize) -> Option<&T> {
        let fifo = &self.all[fifo];
        (fifo.len > 0).then(|| &self.slots[fifo.head as usize])
    }

    /// Memory held, bytes.
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
        /// Whatever goes on beside it, each fifo is a FIFO.
        #[test]
        fn they_are_fifos(steps in prop::collection::vec((0usize..3, prop::option::weighted(0.6, 0u32..100)), 0..600)) {
            let (mut fifos, mut models) = (ChunkedFifos::new(3), [const { VecDeque::new() }; 3]);
            for (fifo, step) in steps {
                let model = &mut models[fifo];
                if let Some(value) = step {
                    prop_assert_eq!(fifos.push(fifo, value), model.is_empty());
                    model.push_back(value);
                } else {
                    prop_assert_eq!(fifos.pop(fifo), model.pop_front());
                }
                prop_assert_eq!(fifos.front(fifo), model.front());
            }
            for (fifo, model) in models.iter_mut().enumerate() {
                while let Some(value) = model.pop_front() {
                    prop_assert_eq!(fifos.pop(fifo), Some(value));
                }
                prop_assert_eq!(fifos.pop(fifo), None);
            }
        }

        /// What one fifo has left another one uses.
        #[test]
        fn chunks_are_used_again(rounds in 1usize..50, values in 1u32..200) {
            let mut fifos = ChunkedFifos::new(2);
            for round in 0..rounds {
                for value in 0..values {
                    fifos.push(round % 2, value);
                }
                for _ in 0..values {
                    fifos.pop(round % 2);
                }
            }
            prop_assert_eq!(fifos.slots.len() as u32, values.div_ceil(CHUNK) * CHUNK);
        }
    }
}
