//! Sharing of equal parts of a plan.

use std::sync::Arc;

/// Number of recent distinct values that are compared with a new one; the bound makes the work linear in the plan.
const COMPARED: usize = 16;

/// Returns the same allocation for equal values.
pub(super) struct Interner<T> {
    /// Recent values, most recently used first.
    latest: Vec<Arc<T>>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { latest: Vec::new() }
    }
}

impl<T: PartialEq> Interner<T> {
    /// Returns the shared value that equals `value`.
    pub(super) fn intern(&mut self, value: T) -> Arc<T> {
        if let Some(at) = self.latest.iter().position(|known| **known == value) {
            self.latest[..=at].rotate_right(1);
        } else {
            self.latest.truncate(COMPARED - 1);
            self.latest.insert(0, Arc::new(value));
        }
        self.latest[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 16 evicts 0, and 1 is then the least recently used value.
    #[test]
    fn equal_values_are_shared_unless_evicted_in_between() {
        let mut interner = Interner::default();
        let first: Vec<Arc<u32>> = (0..17).map(|value| interner.intern(value)).collect();
        assert!(Arc::ptr_eq(&interner.intern(1), &first[1]));
        assert!(!Arc::ptr_eq(&interner.intern(0), &first[0]));
        assert!(!Arc::ptr_eq(&interner.intern(2), &first[2]), "0 evicted it");
        assert!(Arc::ptr_eq(&interner.intern(1), &first[1]), "it was used recently");
    }
}
