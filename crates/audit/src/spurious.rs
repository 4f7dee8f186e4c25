//! Reordering and spurious retransmissions, as a TCP sender observes them: the degree of reordering, and the evidence by
//! which it undoes a reduction (RFC 3522 and RFC 4015, Eifel; RFC 3708, D-SACK; Linux, tcp_input.c).

/// RFC 5681, section 3.2; RFC 8985, section 6.2, DupThresh.
pub(crate) const DUP_THRESHOLD: u64 = 3;
/// Linux, tcp_max_reordering.
const MAX_REORDERING: u64 = 300;

/// The degree of reordering of a path, segments (Linux, `tp->reordering`).
#[derive(Debug)]
pub(crate) struct Reordering {
    degree: u64,
    seen: bool,
}

impl Reordering {
    pub(crate) fn new() -> Self {
        Self { degree: DUP_THRESHOLD, seen: false }
    }

    /// The byte `lowest` was sent once and arrived after the byte before `highest` (Linux, tcp_check_sack_reordering).
    pub(crate) fn observe(&mut self, lowest: u64, highest: u64, mss: u64) {
        if lowest < highest {
            self.seen = true;
            self.degree = self.degree.max((highest - lowest).div_ceil(mss.max(1)).min(MAX_REORDERING));
        }
    }

    /// Without SACK, more duplicate ACKs came than segments can cause that arrived (Linux, tcp_check_reno_reordering).
    pub(crate) fn set_degree(&mut self, segments: u64) {
        self.seen = true;
        self.degree = segments.min(MAX_REORDERING);
    }

    /// At a timeout `delivered` segments had caused duplicate ACKs or were SACKed: the degree was too high (Linux,
    /// tcp_enter_loss).
    pub(crate) fn on_timeout(&mut self, delivered: u64) {
        if delivered >= DUP_THRESHOLD {
            self.degree = self.degree.min(DUP_THRESHOLD);
        }
    }

    /// The degree, segments.
    pub(crate) fn degree(&self) -> u64 {
        self.degree
    }

    /// Reordering was observed.
    pub(crate) fn is_seen(&self) -> bool {
        self.seen
    }

    /// SACKed data alone may increase the window (Linux, tcp_may_raise_cwnd).
    pub(crate) fn exceeds_threshold(&self) -> bool {
        self.degree > DUP_THRESHOLD
    }
}

/// The retransmissions since the last reduction (Linux, `undo_marker`, `undo_retrans`, `retrans_stamp`).
#[derive(Debug, Default)]
pub(crate) struct Retransmissions {
    /// A reduction can be undone.
    marked: bool,
    /// Segments sent again, and those that a D-SACK reported.
    sent: u64,
    spurious: u64,
    /// Timestamp of the first of them.
    stamp: Option<u32>,
}

impl Retransmissions {
    /// A reduction begins while `outstanding` segments in flight were sent again: they are part of its evidence (Linux,
    /// tcp_init_undo, tcp_retrans_stamp_cleanup).
    pub(crate) fn begin(&mut self, outstanding: u64) {
        let stamp = self.stamp.filter(|_| outstanding > 0);
        *self = Self { marked: true, sent: outstanding, spurious: 0, stamp };
    }

    /// The reduction was undone.
    pub(crate) fn undone(&mut self) {
        self.marked = false;
    }

    /// A segment is sent again, with the value of its timestamp option.
    pub(crate) fn sent(&mut self, stamp: Option<u32>) {
        self.sent += 1;
        self.stamp = self.stamp.or(stamp);
    }

    /// D-SACK reports `segments` as received twice.
    pub(crate) fn duplicated(&mut self, segments: u64) {
        self.spurious += segments;
    }

    /// Every retransmission was unnecessary.
    pub(crate) fn all_spurious(&self) -> bool {
        self.marked && self.sent > 0 && self.spurious >= self.sent
    }

    /// The timestamp that an ACK echoes shows that it acknowledges the original.
    pub(crate) fn original_arrived(&self, echo: Option<u32>) -> bool {
        let earlier = echo.zip(self.stamp).is_some_and(|(echo, stamp)| echo.wrapping_sub(stamp).cast_signed() < 0);
        self.marked && earlier
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: segments of 1000 B; that at 2000 arrives after those up to 7000 were SACKed, five segments late.
    #[test]
    fn the_degree_of_reordering_is_the_largest_displacement() {
        let mut one = Reordering::new();
        one.observe(2000, 2000, 1000);
        assert!(!one.is_seen());
        one.observe(2000, 4000, 1000);
        assert!(one.is_seen() && !one.exceeds_threshold());
        one.observe(2000, 7000, 1000);
        assert!(one.exceeds_threshold());
    }

    /// RFC 3522, section 3.2, and RFC 3708, section 3: an echo older than the retransmission, or a D-SACK for each.
    #[test]
    fn old_echoes_and_duplicates_of_all_retransmissions_show_a_spurious_reduction() {
        let mut one = Retransmissions::default();
        one.sent(Some(5));
        assert!(!one.original_arrived(Some(4)), "nothing was reduced");
        one.begin(0);
        one.sent(Some(u32::MAX));
        one.sent(Some(1));
        assert!(one.original_arrived(Some(u32::MAX - 1)));
        assert!(!one.original_arrived(Some(u32::MAX)) && !one.original_arrived(Some(2)) && !one.original_arrived(None));
        one.duplicated(1);
        assert!(!one.all_spurious());
        one.duplicated(1);
        assert!(one.all_spurious());
        one.undone();
        assert!(!one.all_spurious());
    }

    /// Linux, tcp_retrans_stamp_cleanup: where a reduction follows another at once, the time of the first retransmission
    /// that is outstanding stays, and D-SACK must report that segment, too.
    #[test]
    fn a_reduction_keeps_the_evidence_of_outstanding_retransmissions() {
        for (outstanding, original) in [(1, false), (0, true)] {
            let mut one = Retransmissions::default();
            one.begin(0);
            one.sent(Some(10));
            one.begin(outstanding);
            one.sent(Some(20));
            assert_eq!(one.original_arrived(Some(15)), original);
            one.duplicated(1);
            assert_eq!(one.all_spurious(), original);
        }
    }
}
