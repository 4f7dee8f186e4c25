//! Bytes and segments: a script counts bytes from 1, the transport counts whole segments from 0.

/// The first byte of every segment sent, and the byte after the last one.
#[derive(Debug)]
pub(super) struct Segments {
    /// `starts[n]` is the first byte of segment `n`; the last entry is SND.NXT.
    starts: Vec<u64>,
    mss: u64,
}

/// An acknowledgement within a segment, which the transport cannot represent (`docs/decisions/0001`).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartOfSegment;

impl Segments {
    pub(super) fn new(mss: u64) -> Self {
        Self { starts: vec![1], mss }
    }

    /// SND.NXT.
    pub(super) fn next_byte(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Number of segments sent.
    fn count(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// Records segment `number` with `len` bytes, unless it is a retransmission.
    pub(super) fn record(&mut self, number: u64, len: u64) {
        if number == self.count() {
            self.starts.push(self.next_byte() + len);
        }
    }

    /// The first byte of segment `number`, which is sent or the next one.
    pub(super) fn start(&self, number: u64) -> u64 {
        self.starts[number as usize]
    }

    /// The segment that an acknowledgement of all bytes below `byte` expects next. An acknowledgement of data not yet
    /// sent gives a number beyond the next one.
    pub(super) fn acknowledged(&self, byte: u64) -> Result<u64, PartOfSegment> {
        if byte > self.next_byte() {
            return Ok(self.beyond(byte));
        }
        self.starts.binary_search(&byte).map(|number| number as u64).map_err(|_| PartOfSegment)
    }

    /// The whole segments within the block `[from, to)`, as Linux rounds it (tcp_match_skb_to_sack); `None` if there
    /// are none.
    pub(super) fn within(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let first = if from > self.next_byte() {
            self.beyond(from)
        } else {
            self.starts.partition_point(|&start| start < from) as u64
        };
        let end = if to > self.next_byte() {
            self.beyond(to)
        } else {
            self.starts.partition_point(|&start| start <= to) as u64 - 1
        };
        (first < end).then_some((first, end))
    }

    /// The segments that the block `[from, to)` overlaps, for a D-SACK (tcp_dsack_seen rounds up).
    pub(super) fn overlapping(&self, from: u64, to: u64) -> (u64, u64) {
        let first = (self.starts.partition_point(|&start| start <= from) as u64).saturating_sub(1);
        let end = self.starts.partition_point(|&start| start < to) as u64;
        (first, end.min(self.count()))
    }

    fn beyond(&self, byte: u64) -> u64 {
        self.count() + (byte - self.next_byte()).div_ceil(self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: segments of 1000, 1000 and 500 bytes begin at 1, 1001 and 2001; SND.NXT is 2501.
    fn segments() -> Segments {
        let mut segments = Segments::new(1000);
        [1000, 1000, 500].iter().zip(0..).for_each(|(&len, number)| segments.record(number, len));
        segments.record(1, 1000); // a retransmission
        segments
    }

    #[test]
    fn an_acknowledgement_counts_whole_segments() {
        let segments = segments();
        assert_eq!(segments.next_byte(), 2501);
        assert_eq!([1, 1001, 2001, 2501].map(|byte| segments.acknowledged(byte)), [0, 1, 2, 3].map(Ok));
        assert_eq!(segments.acknowledged(1500), Err(PartOfSegment));
        assert_eq!(segments.acknowledged(3502), Ok(5));
    }

    /// tcp_match_skb_to_sack: a SACK of the last byte of a segment marks nothing.
    #[test]
    fn sack_blocks_are_rounded_to_whole_segments() {
        let segments = segments();
        assert_eq!(segments.within(1001, 2501), Some((1, 3)));
        assert_eq!(segments.within(2500, 2501), None);
        assert_eq!(segments.within(900, 2100), Some((1, 2)));
        assert_eq!(segments.overlapping(1500, 1600), (1, 2));
        assert_eq!(segments.overlapping(1, 2001), (0, 2));
    }
}
