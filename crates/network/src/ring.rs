//! A FIFO of plain values in a ring buffer with a power-of-two capacity.

/// A FIFO that grows and never shrinks.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), head: 0, len: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Number of values.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest value.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            None
        } else {
            Some(&self.slots[self.head])
        }
    }

    /// The newest value.
    #[must_use]
    pub fn back(&self) -> Option<&T> {
        let last = self.len.checked_sub(1)?;
        Some(&self.slots[(self.head + last) & (self.slots.len() - 1)])
    }

    /// Adds at the end.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let at = (self.head + self.len) & (self.slots.len() - 1);
        self.slots[at] = value;
        self.len += 1;
    }

    /// Removes and returns the oldest value.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head];
        self.head = (self.head + 1) & (self.slots.len() - 1);
        self.len -= 1;
        Some(value)
    }

    /// All values, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (wrapped, from_head) = self.slots.split_at(self.head);
        let before_wrap = self.len.min(from_head.len());
        from_head[..before_wrap].iter().chain(&wrapped[..self.len - before_wrap])
    }

    /// Memory in use, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<T>()
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = Vec::with_capacity((self.slots.len() * 2).max(8));
        slots.extend(self.iter().copied());
        slots.resize((self.slots.len() * 2).max(8), T::default());
        self.slots = slots;
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn values_leave_in_the_order_of_arrival(steps in prop::collection::vec(prop::option::of(0u32..100), 0..300)) {
            let mut ring = Ring::default();
            let mut model = VecDeque::new();
            for step in steps {
                if let Some(value) = step { ring.push(value); model.push_back(value); } else { prop_assert_eq!(ring.pop(), model.pop_front()) }
                prop_assert_eq!((ring.front(), ring.back()), (model.front(), model.back()));
                prop_assert!(ring.iter().eq(model.iter()));
            }
        }
    }
}
