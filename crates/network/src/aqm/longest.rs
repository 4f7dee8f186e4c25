//! The longest of many queues, by a tournament: thousands of connections may each have had a queue.

/// The number of bytes in each queue, and the largest of them.
#[derive(Debug)]
pub(super) struct Lengths {
    /// A complete binary tree from index 1 on: a parent has the larger value of its children; the last `leaves` values
    /// are those of the queues.
    tree: Vec<u64>,
    leaves: usize,
}

impl Lengths {
    /// No queues.
    pub(super) fn new() -> Self {
        Self { tree: vec![0; 2], leaves: 1 }
    }

    /// Sets the length of queue `at`.
    #[inline]
    pub(super) fn set(&mut self, at: usize, bytes: u64) {
        if at >= self.leaves {
            self.grow(at);
        }
        let mut node = self.leaves + at;
        self.tree[node] = bytes;
        while node > 1 {
            node /= 2;
            let larger = self.tree[2 * node].max(self.tree[2 * node + 1]);
            if self.tree[node] == larger {
                break;
            }
            self.tree[node] = larger;
        }
    }

    /// The longest queue; of equal ones the last.
    pub(super) fn longest(&self) -> usize {
        let mut node = 1;
        while node < self.leaves {
            node = 2 * node + usize::from(self.tree[2 * node + 1] == self.tree[node]);
        }
        node - self.leaves
    }

    #[cold]
    fn grow(&mut self, at: usize) {
        let leaves = (at + 1).next_power_of_two();
        let mut tree = vec![0; leaves];
        tree.extend(&self.tree[self.leaves..]);
        tree.resize(2 * leaves, 0);
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node].max(tree[2 * node + 1]);
        }
        (self.tree, self.leaves) = (tree, leaves);
    }

    /// Memory, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.tree.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The longest is that of a search of all lengths.
        #[test]
        fn the_longest_is_that_of_a_search(changes in prop::collection::vec((0usize..40, 0u64..5), 1..200)) {
            let mut lengths = Lengths::new();
            let mut all = Vec::new();
            for (at, bytes) in changes {
                all.resize(all.len().max(at + 1), 0);
                all[at] = bytes;
                lengths.set(at, bytes);
                let most = all.iter().max();
                if most > Some(&0) {
                    prop_assert_eq!(Some(lengths.longest()), all.iter().rposition(|one| Some(one) == most));
                }
            }
        }
    }
}
