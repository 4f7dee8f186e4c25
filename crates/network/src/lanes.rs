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
struct Lane {
    head: u32,
    /// At a chunk's beginning: the next value needs a chunk.
    tail: u32,
    len: u32,
}

/// FIFOs by number. They grow as needed, and hold a chunk only while something is in it.
#[derive(Clone, Debug)]
pub struct Lanes<T> {
    all: Vec<Lane>,
    slots: Vec<T>,
    /// The chunk behind each chunk, of its lane or of the free ones.
    next: Vec<u32>,
    /// The chunk that became free last: the one that is most likely still in the cache.
    free: u32,
}

impl<T: Copy + Default> Lanes<T> {
    /// So many empty FIFOs.
    #[must_use]
    pub fn new(lanes: usize) -> Self {
        Self { all: vec![Lane::default(); lanes], slots: Vec::new(), next: Vec::new(), free: NONE }
    }

    /// Adds at the end; answers whether the FIFO was empty.
    #[inline]
    pub fn push(&mut self, lane: usize, value: T) -> bool {
        let lane = &mut self.all[lane];
        let empty = lane.len == 0;
        if lane.tail.is_multiple_of(CHUNK) {
            if self.free == NONE {
                self.slots.resize(self.slots.len() + CHUNK as usize, T::default());
                self.free = self.next.len() as u32;
                self.next.push(NONE);
            }
            let chunk = self.free;
            self.free = self.next[chunk as usize];
            if empty {
                lane.head = chunk * CHUNK;
            } else {
                self.next[(lane.tail / CHUNK) as usize - 1] = chunk;
            }
            lane.tail = chunk * CHUNK;
        }
        self.slots[lane.tail as usize] = value;
        lane.tail += 1;
        lane.len += 1;
        empty
    }

    /// Takes the oldest value.
    #[inline]
    pub fn pop(&mut self, lane: usize) -> Option<T> {
        let lane = &mut self.all[lane];
        if lane.len == 0 {
            return None;
        }
        let value = self.slots[lane.head as usize];
        lane.head += 1;
        lane.len -= 1;
        if lane.len == 0 || lane.head.is_multiple_of(CHUNK) {
            let chunk = (lane.head - 1) / CHUNK;
            let next = std::mem::replace(&mut self.next[chunk as usize], self.free);
            self.free = chunk;
            if lane.len == 0 {
                lane.tail = 0;
                return Some(value);
            }
            lane.head = next * CHUNK;
        }
        // What comes when this lane's turn comes again was written long ago: it is asked for now.
        let ahead = match lane.head % CHUNK {
            last if last == CHUNK - 2 => self.next[(lane.head / CHUNK) as usize] as usize * CHUNK as usize,
            _ => lane.head as usize + 2,
        };
        prefetch_index(&self.slots, ahead);
        Some(value)
    }

    /// The oldest value.
    #[inline]
    #[must_use]
    pub fn front(&self, lane: usize) -> Option<&T> {
        let lane = &self.all[lane];
        (lane.len > 0).then(|| &self.slots[lane.head as usize])
    }

    /// Memory held, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<T>() + self.next.capacity() * 4 + self.all.len() * size_of::<Lane>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Whatever goes on beside it, each lane is a FIFO.
        #[test]
        fn they_are_fifos(steps in prop::collection::vec((0usize..3, prop::option::weighted(0.6, 0u32..100)), 0..600)) {
            let (mut lanes, mut models) = (Lanes::new(3), [const { VecDeque::new() }; 3]);
            for (lane, step) in steps {
                let model = &mut models[lane];
                if let Some(value) = step {
                    prop_assert_eq!(lanes.push(lane, value), model.is_empty());
                    model.push_back(value);
                } else {
                    prop_assert_eq!(lanes.pop(lane), model.pop_front());
                }
                prop_assert_eq!(lanes.front(lane), model.front());
            }
            for (lane, model) in models.iter_mut().enumerate() {
                while let Some(value) = model.pop_front() {
                    prop_assert_eq!(lanes.pop(lane), Some(value));
                }
                prop_assert_eq!(lanes.pop(lane), None);
            }
        }

        /// What one lane has left another one uses.
        #[test]
        fn chunks_are_used_again(rounds in 1usize..50, values in 1u32..200) {
            let mut lanes = Lanes::new(2);
            for round in 0..rounds {
                for value in 0..values {
                    lanes.push(round % 2, value);
                }
                for _ in 0..values {
                    lanes.pop(round % 2);
                }
            }
            prop_assert_eq!(lanes.slots.len() as u32, values.div_ceil(CHUNK) * CHUNK);
        }
    }
}
