//! Equal parts of a plan are kept once.

use std::sync::Arc;

/// So many of the latest different values are compared with a new one, so that the work grows with the plan alone.
const COMPARED: usize = 16;

/// Makes equal values one.
pub(super) struct Shared<T> {
    /// The latest ones, the last used first.
    latest: Vec<Arc<T>>,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self { latest: Vec::new() }
    }
}

impl<T: PartialEq> Shared<T> {
    /// This value, or an equal one from before.
    pub(super) fn one(&mut self, value: T) -> Arc<T> {
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

    /// By hand: of 0 to 16 the first is forgotten when the last one comes, and 1 is then the oldest.
    #[test]
    fn equal_values_are_one_unless_too_many_others_came_between() {
        let mut shared = Shared::default();
        let first: Vec<Arc<u32>> = (0..17).map(|value| shared.one(value)).collect();
        assert!(Arc::ptr_eq(&shared.one(1), &first[1]));
        assert!(!Arc::ptr_eq(&shared.one(0), &first[0]));
        assert!(!Arc::ptr_eq(&shared.one(2), &first[2]), "0 took its place");
        assert!(Arc::ptr_eq(&shared.one(1), &first[1]), "it was used in between");
    }
}
