//! The out-of-order queue of a receiver, and the SACK blocks that report it (RFC 2018).

use std::collections::VecDeque;

use cwndlab_units::Bytes;

use crate::wire::{SackBlocks, MAX_BLOCKS};

/// Runs of segments that arrived out of order.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Reassembly {
    /// Runs of segments `[from, to)`, ascending and disjoint.
    runs: VecDeque<(u64, u64)>,
    mss: u32,
    /// Valid entries of `recent`.
    recents: u8,
    /// The most recently changed runs, newest first.
    recent: [(u64, u64); MAX_BLOCKS],
    /// Payload of partial segments, the last ones of a transfer.
    partial: Vec<(u64, u32)>,
    /// ACKs that wait to be sent as one (Linux, `tp->compressed_ack`).
    pub(crate) compressed: u32,
    /// ACKs sent at once since RCV.NXT became `sent_at` (Linux, `tp->dup_ack_counter`, `compressed_ack_rcv_nxt`).
    pub(crate) sent: u32,
    pub(crate) sent_at: u64,
    /// The duplicate that the waiting ACK reports.
    pub(crate) duplicate: Option<(u64, u64)>,
}

impl Reassembly {
    /// An empty queue for segments of at most `mss` bytes.
    pub(crate) fn new(mss: u32) -> Self {
        Self {
            runs: VecDeque::new(),
            mss,
            recents: 0,
            recent: [(0, 0); MAX_BLOCKS],
            partial: Vec::new(),
            compressed: 0,
            sent: 0,
            sent_at: 0,
            duplicate: None,
        }
    }

    /// Handles the transmission of an ACK. Returns the duplicate that it reports, if it had waited.
    pub(crate) fn on_ack_sent(&mut self) -> Option<(u64, u64)> {
        self.compressed = 0;
        self.duplicate.take()
    }

    /// How many of the recent runs changed after the one that the segment `seq` extends or repeats; all of them if there is
    /// none.
    pub(crate) fn recency(&self, seq: u64) -> usize {
        let recent = &self.recent[..usize::from(self.recents)];
        recent.iter().position(|&(from, to)| from <= seq + 1 && seq <= to).unwrap_or(recent.len())
    }

    /// Whether the queue is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Memory in use beyond the struct itself, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.runs.capacity() * size_of::<(u64, u64)>() + self.partial.capacity() * size_of::<(u64, u32)>()
    }

    /// Removes the run that begins at `expected`, after the hole below it was filled. Returns its end and its payload.
    pub(crate) fn take_first(&mut self, expected: u64) -> Option<(u64, Bytes)> {
        let (from, to) = self.runs.front().copied().filter(|&(from, _)| from == expected)?;
        self.runs.pop_front();
        self.remove_recent(|run| run == (from, to));
        let mss = u64::from(self.mss);
        let mut bytes = (to - from) * mss;
        self.partial.retain(|&(seq, len)| {
            let inside = seq >= from && seq < to;
            if inside {
                bytes = bytes - mss + u64::from(len);
            }
            !inside
        });
        Some((to, Bytes(bytes)))
    }

    /// Adds the segment `seq` of `len` bytes. Returns whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, seq: u64, len: u32) -> bool {
        // Usually the segment follows the previous arrival, at the end of the highest run.
        match self.runs.back_mut() {
            Some(last) if last.1 == seq && *last == self.recent[0] && len == self.mss => {
                last.1 += 1;
                self.recent[0] = *last;
                true
            }
            _ => self.insert_anywhere(seq, len),
        }
    }

    /// Adds a segment at any position.
    fn insert_anywhere(&mut self, seq: u64, len: u32) -> bool {
        let at = self.runs.partition_point(|&(_, to)| to < seq);
        let (run, new) = match self.runs.get(at).copied() {
            Some((from, to)) if from <= seq && seq < to => ((from, to), false),
            Some((from, to)) if to == seq => {
                let joins = self.runs.get(at + 1).filter(|next| next.0 == seq + 1).map(|next| next.1);
                if joins.is_some() {
                    self.runs.remove(at + 1);
                }
                ((from, joins.unwrap_or(seq + 1)), true)
            }
            Some((from, to)) if from == seq + 1 => ((seq, to), true),
            _ => {
                self.runs.insert(at, (seq, seq + 1));
                ((seq, seq + 1), true)
            }
        };
        self.runs[at] = run;
        self.note_recent(run);
        if new && len != self.mss {
            self.partial.push((seq, len));
        }
        new
    }

    /// Makes `run` the most recent one and removes those that it contains.
    fn note_recent(&mut self, run: (u64, u64)) {
        self.remove_recent(|other| run.0 <= other.0 && other.1 <= run.1);
        let kept = usize::from(self.recents).min(MAX_BLOCKS - 1);
        self.recent.copy_within(..kept, 1);
        self.recent[0] = run;
        self.recents = kept as u8 + 1;
    }

    /// Removes the recent runs that satisfy `predicate`.
    fn remove_recent(&mut self, predicate: impl Fn((u64, u64)) -> bool) {
        let mut kept = 0;
        for at in 0..usize::from(self.recents) {
            if !predicate(self.recent[at]) {
                self.recent[kept] = self.recent[at];
                kept += 1;
            }
        }
        self.recents = kept as u8;
    }

    /// Appends the runs to the SACK blocks of an ACK, most recent first, up to `max` blocks.
    pub(crate) fn fill(&self, blocks: &mut SackBlocks, max: u8) {
        for &run in &self.recent[..usize::from(self.recents)] {
            if blocks.len >= max {
                return;
            }
            blocks.list[usize::from(blocks.len)] = run;
            blocks.len += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(queue: &Reassembly) -> Vec<(u64, u64)> {
        let mut blocks = SackBlocks::default();
        queue.fill(&mut blocks, 3);
        blocks.as_slice().to_vec()
    }

    /// RFC 2018, section 4: the first block reports the most recent arrival, the others repeat earlier blocks.
    #[test]
    fn sack_blocks_report_the_most_recent_run_first() {
        let mut queue = Reassembly::new(1000);
        for seq in [2, 4, 6, 8] {
            assert!(queue.insert(seq, 1000));
        }
        assert_eq!(blocks(&queue), [(8, 9), (6, 7), (4, 5)]);
        assert!(queue.insert(3, 1000), "joins two runs");
        assert_eq!(blocks(&queue), [(2, 5), (8, 9), (6, 7)]);
        assert!(!queue.insert(3, 1000));
    }

    /// By hand: the run [1, 3) has a last segment of 400 bytes.
    #[test]
    fn a_filled_hole_releases_the_run_above_it() {
        let mut queue = Reassembly::new(1000);
        queue.insert(1, 1000);
        queue.insert(2, 400);
        queue.insert(9, 1000);
        assert_eq!(queue.take_first(0), None);
        assert_eq!(queue.take_first(1), Some((3, Bytes(1400))));
        assert!(!queue.is_empty());
    }

    /// A reference model: the segments that arrived out of order, and one segment of each recently changed run, newest
    /// first.
    #[derive(Default)]
    struct Model {
        arrived: std::collections::BTreeSet<u64>,
        recent: Vec<u64>,
    }

    impl Model {
        fn run_of(&self, seq: u64) -> Option<(u64, u64)> {
            let has = |seq: &u64| self.arrived.contains(seq);
            let from = (0..=seq).rev().take_while(has).last()?;
            Some((from, (seq..u64::MAX).find(|seq| !has(seq))?))
        }

        fn insert(&mut self, seq: u64) -> bool {
            let new = self.arrived.insert(seq);
            let mut recent = std::mem::take(&mut self.recent);
            recent.retain(|&other| self.run_of(other).is_some() && self.run_of(other) != self.run_of(seq));
            recent.insert(0, seq);
            recent.truncate(MAX_BLOCKS);
            self.recent = recent;
            new
        }
    }

    proptest! {
        /// Compares the queue with a reference model: a set of segments whose runs are recomputed for every block.
        #[test]
        fn runs_and_blocks_agree_with_a_reference_model(steps in prop::collection::vec((0u8..8, 1u64..24), 1..120)) {
            let mut queue = Reassembly::new(1000);
            let mut model = Model::default();
            let mut expected = 0;
            for (kind, ahead) in steps {
                if kind == 0 {
                    let run = model.run_of(expected + 1);
                    prop_assert_eq!(queue.take_first(expected + 1).map(|(end, _)| end), run.map(|(_, end)| end));
                    expected = run.map_or(expected + 1, |(_, end)| end);
                    model.arrived = model.arrived.split_off(&expected);
                } else {
                    prop_assert_eq!(queue.insert(expected + ahead, 1000), model.insert(expected + ahead));
                }
                let runs: Vec<_> = model.recent.iter().filter_map(|&seq| model.run_of(seq)).take(3).collect();
                prop_assert_eq!(blocks(&queue), runs);
            }
        }
    }
}
