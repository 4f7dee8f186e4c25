//! Segments that arrived out of order: the runs between the holes, and the SACK blocks that report them (RFC 2018).

use std::collections::VecDeque;

use cwndlab_units::Bytes;

use crate::wire::{Blocks, MAX_BLOCKS};

/// The out-of-order queue.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Reassembly {
    /// Runs of segments `[from, to)`, ascending and disjoint.
    runs: VecDeque<(u64, u64)>,
    mss: u32,
    /// Valid entries of `recent`.
    recents: u8,
    /// A segment of each recently changed run, newest first.
    recent: [u64; MAX_BLOCKS],
    /// Payload of the segments that are not full (last ones of a transfer).
    partial: Vec<(u64, u32)>,
}

impl Reassembly {
    /// Empty, with full segments of `mss` bytes.
    pub(crate) fn new(mss: u32) -> Self {
        Self { runs: VecDeque::new(), mss, recents: 0, recent: [0; MAX_BLOCKS], partial: Vec::new() }
    }

    /// Nothing is out of order.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Memory held beyond the struct itself, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.runs.capacity() * size_of::<(u64, u64)>() + self.partial.capacity() * size_of::<(u64, u32)>()
    }

    /// The hole before `expected` is filled: removes the run that begins there. Returns its end and its payload.
    pub(crate) fn take_first(&mut self, expected: u64) -> Option<(u64, Bytes)> {
        let (from, to) = self.runs.front().copied().filter(|&(from, _)| from == expected)?;
        self.runs.pop_front();
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

    /// The segment `seq` of `len` bytes arrives out of order. Returns whether it is new.
    pub(crate) fn insert(&mut self, seq: u64, len: u32) -> bool {
        let at = self.runs.partition_point(|&(_, to)| to < seq);
        let new = match self.runs.get(at).copied() {
            None => {
                self.runs.push_back((seq, seq + 1));
                true
            }
            Some((from, to)) if from <= seq && seq < to => false,
            Some((from, to)) if to == seq => {
                let joins = self.runs.get(at + 1).filter(|next| next.0 == seq + 1).map(|next| next.1);
                self.runs[at] = (from, joins.unwrap_or(seq + 1));
                if joins.is_some() {
                    self.runs.remove(at + 1);
                }
                true
            }
            Some((from, to)) if from == seq + 1 => {
                self.runs[at] = (seq, to);
                true
            }
            Some(_) => {
                self.runs.insert(at, (seq, seq + 1));
                true
            }
        };
        self.note_recent(seq);
        if new && len != self.mss {
            self.partial.push((seq, len));
        }
        new
    }

    /// The run of `seq` is the most recent one.
    fn note_recent(&mut self, seq: u64) {
        let run = self.run_of(seq);
        let mut kept = [0; MAX_BLOCKS];
        kept[0] = seq;
        let mut n = 1;
        for &other in &self.recent[..self.recents as usize] {
            let other_run = self.run_of(other);
            if n < MAX_BLOCKS && other_run.is_some() && other_run != run {
                kept[n] = other;
                n += 1;
            }
        }
        self.recent = kept;
        self.recents = n as u8;
    }

    fn run_of(&self, seq: u64) -> Option<(u64, u64)> {
        let at = self.runs.partition_point(|&(_, to)| to <= seq);
        self.runs.get(at).copied().filter(|&(from, _)| from <= seq)
    }

    /// Appends the runs to the SACK blocks of an ACK, most recent first, up to `most` blocks.
    pub(crate) fn fill(&self, blocks: &mut Blocks, most: u8) {
        for &seq in &self.recent[..self.recents as usize] {
            if blocks.len >= most {
                return;
            }
            if let Some(run) = self.run_of(seq) {
                blocks.list[blocks.len as usize] = run;
                blocks.len += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(queue: &Reassembly) -> Vec<(u64, u64)> {
        let mut blocks = Blocks::default();
        queue.fill(&mut blocks, 3);
        blocks.as_slice().to_vec()
    }

    /// RFC 2018, section 4: the first block is of the most recent arrival, the others repeat the blocks before it.
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

    /// By hand: of the run 1 to 3 the last segment has 400 bytes.
    #[test]
    fn a_filled_hole_releases_the_run_behind_it() {
        let mut queue = Reassembly::new(1000);
        queue.insert(1, 1000);
        queue.insert(2, 400);
        queue.insert(9, 1000);
        assert_eq!(queue.take_first(0), None);
        assert_eq!(queue.take_first(1), Some((3, Bytes(1400))));
        assert!(!queue.is_empty());
    }
}
