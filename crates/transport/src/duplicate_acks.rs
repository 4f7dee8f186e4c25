//! Duplicate ACKs without SACK, and limited transmit (RFC 5681, section 3.2; RFC 3042).

/// Maximum segments of limited transmit beyond the window: one for each of the first two duplicate ACKs (RFC 3042).
const LIMITED_TRANSMIT: u32 = 2;

/// Duplicate ACKs since the last advance of SND.UNA.
#[derive(Debug, Default)]
pub struct DuplicateAcks {
    /// Their number.
    pub(crate) count: u32,
    /// Segments above SND.UNA that they reported as delivered (Linux, `sacked_out` without SACK).
    delivered: u32,
    /// SND.NXT at the last fast retransmit or timeout (RFC 6582, section 3.2).
    pub(crate) recover: u64,
}

impl DuplicateAcks {
    /// Handles a duplicate ACK while `flight` segments are in flight, the first of which is missing.
    pub fn on_duplicate(&mut self, flight: u32) {
        self.count += 1;
        self.delivered = (self.delivered + 1).min(flight - 1);
    }

    /// Handles a cumulative ACK of `acked` segments. Returns the number of them that duplicate ACKs had already
    /// reported as delivered (Linux, tcp_add_reno_sack).
    #[must_use]
    pub fn take_reported(&mut self, acked: u32) -> u32 {
        let reported = self.delivered.min(acked - 1);
        self.delivered -= reported;
        reported
    }

    /// Handles the acknowledgement of all segments that duplicate ACKs reported.
    pub fn clear_reported(&mut self) {
        self.delivered = 0;
    }

    /// Whether there are neither duplicate ACKs nor segments that they reported.
    pub(crate) fn is_clear(&self) -> bool {
        self.count == 0 && self.delivered == 0
    }

    /// Segments above SND.UNA that they reported as delivered.
    #[must_use]
    pub fn delivered(&self) -> u32 {
        self.delivered
    }

    /// Segments that limited transmit allows beyond the window.
    #[inline]
    pub(crate) fn limited_transmit(&self) -> u32 {
        self.count.min(LIMITED_TRANSMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::DuplicateAcks;

    /// RFC 3042, section 2: the first and the second duplicate ACK allow one segment each, the third none.
    #[test]
    fn limited_transmit_allows_two_segments() {
        let mut dupacks = DuplicateAcks::default();
        let allowed = [0; 4].map(|_: u32| {
            dupacks.on_duplicate(10);
            dupacks.limited_transmit()
        });
        assert_eq!(allowed, [1, 2, 2, 2]);
    }

    /// By hand: of ten segments the first is lost, and three duplicates report three of the others. The ACK of five
    /// segments delivers 5 - 3 = 2 more, and the next one delivers all of its segments.
    #[test]
    fn segments_reported_by_duplicate_acks_are_not_delivered_twice() {
        let mut dupacks = DuplicateAcks::default();
        (0..3).for_each(|_| dupacks.on_duplicate(10));
        assert_eq!([dupacks.take_reported(5), dupacks.take_reported(5)], [3, 0]);
    }
}
