//! Duplicate ACKs without SACK, and limited transmit (RFC 5681, section 3.2; RFC 3042).

/// Limited transmit: so many segments beyond the window, one for each of the first two duplicate ACKs (RFC 3042).
const LIMITED_TRANSMIT: u32 = 2;

/// Duplicate ACKs since `una` advanced last.
#[derive(Debug, Default)]
pub(crate) struct DuplicateAcks {
    /// Their number.
    pub(crate) count: u32,
    /// Segments above `una` that they reported delivered (Linux, `sacked_out` without SACK).
    delivered: u32,
}

impl DuplicateAcks {
    /// A duplicate ACK arrives while `flight` segments are in flight, of which the first is missing.
    pub(crate) fn on_duplicate(&mut self, flight: u32) {
        self.count += 1;
        self.delivered = (self.delivered + 1).min(flight - 1);
    }

    /// A cumulative ACK of `acked` segments arrives. Returns how many of them duplicates had reported: these are not newly
    /// delivered (Linux, tcp_add_reno_sack).
    pub(crate) fn take_reported(&mut self, acked: u32) -> u32 {
        let reported = self.delivered.min(acked - 1);
        self.delivered -= reported;
        reported
    }

    /// All segments that duplicates reported are acknowledged.
    pub(crate) fn clear_reported(&mut self) {
        self.delivered = 0;
    }

    /// None arrived, and none is outstanding.
    pub(crate) fn is_clear(&self) -> bool {
        self.count == 0 && self.delivered == 0
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

    /// RFC 3042, section 2: on the first and on the second duplicate ACK one segment each, on the third none.
    #[test]
    fn limited_transmit_allows_two_segments() {
        let mut dupacks = DuplicateAcks::default();
        let allowed = [0; 4].map(|_: u32| {
            dupacks.on_duplicate(10);
            dupacks.limited_transmit()
        });
        assert_eq!(allowed, [1, 2, 2, 2]);
    }

    /// By hand: of ten segments the first is lost, and three duplicates report three of the others. The ACK of five segments
    /// delivers 5 - 3 = 2 more, and the rest delivers all.
    #[test]
    fn what_duplicates_reported_is_not_delivered_twice() {
        let mut dupacks = DuplicateAcks::default();
        (0..3).for_each(|_| dupacks.on_duplicate(10));
        assert_eq!([dupacks.take_reported(5), dupacks.take_reported(5)], [3, 0]);
    }
}
