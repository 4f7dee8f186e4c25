//! Undo of spurious reductions: Eifel (RFC 3522), D-SACK (RFC 3708), F-RTO (RFC 5682); Linux, `undo_marker`.

use cwndlab_units::Time;

/// Retransmissions since the start of a reduction, and the number of them reported as spurious.
#[derive(Debug)]
pub(crate) struct Undo {
    /// SND.UNA at the start of the reduction; `None` if no reduction can be undone (Linux, `tp->undo_marker`).
    pub(crate) marker: Option<u64>,
    /// Retransmissions since then without a D-SACK; -1 before the first one (Linux, `tp->undo_retrans`).
    retrans: i32,
    /// Time of the first of them; zero if there was none (Linux, `tp->retrans_stamp`).
    retrans_stamp: Time,
    /// The window before the reduction may be restored: no ECN echo arrived (Linux, `tp->prior_ssthresh`).
    pub(crate) restorable: bool,
    /// F-RTO is checking whether the last timeout was spurious (Linux, `tp->frto`).
    pub(crate) frto: bool,
    /// Segments that D-SACKs reported on this connection (Linux, `tp->dsack_dups`).
    dsack_dups: u64,
}

impl Undo {
    /// The state before the first reduction.
    pub(crate) fn new() -> Self {
        Self { marker: None, retrans: -1, retrans_stamp: Time::ZERO, restorable: false, frto: false, dsack_dups: 0 }
    }

    /// Starts the undo state of a reduction (Linux, tcp_init_undo). `outstanding` retransmissions, including a tail
    /// loss probe, belong to an earlier recovery, so that each needs a D-SACK of its own.
    pub(crate) fn init(&mut self, marker: Option<u64>, outstanding: u32) {
        self.marker = marker;
        self.retrans = if outstanding > 0 { outstanding.cast_signed() } else { -1 };
    }

    /// Clears the time of the first retransmission when none is outstanding (Linux, tcp_retrans_stamp_cleanup).
    pub(crate) fn clear_retrans_stamp(&mut self) {
        self.retrans_stamp = Time::ZERO;
    }

    /// Records a retransmission.
    pub(crate) fn on_retransmit(&mut self, now: Time) {
        if self.retrans_stamp == Time::ZERO {
            self.retrans_stamp = now;
        }
        self.retrans = self.retrans.max(0) + 1;
    }

    /// Records a D-SACK of `count` segments on a connection with `sent` retransmissions. Returns whether a
    /// retransmission may have caused it: if there are more reports than retransmissions, the network duplicated
    /// segments (Linux, tcp_dsack_seen).
    pub(crate) fn on_dsack(&mut self, count: u32, sent: u64, linux: bool) -> bool {
        self.dsack_dups += u64::from(count);
        count > 0 && !(linux && self.dsack_dups > sent)
    }

    /// Counts spurious retransmissions since the marker.
    pub(crate) fn count_spurious(&mut self, count: u32) {
        if self.retrans > 0 {
            self.retrans = (self.retrans - count.cast_signed()).max(0);
        }
    }

    /// Whether every retransmission was reported as spurious.
    pub(crate) fn all_spurious(&self) -> bool {
        self.retrans == 0
    }

    /// Whether there was a retransmission since the time was cleared.
    pub(crate) fn has_retrans_stamp(&self) -> bool {
        self.retrans_stamp > Time::ZERO
    }

    /// Eifel: whether the echoed timestamp shows that the segment was sent before the first retransmission.
    pub(crate) fn echo_precedes_retransmission(&self, echo: Time) -> bool {
        echo > Time::ZERO && echo < self.retrans_stamp
    }

    /// Whether there was no retransmission, or the original arrived late (Linux, tcp_packet_delayed).
    pub(crate) fn packet_delayed(&self, echo: Time, timestamps: bool) -> bool {
        !self.has_retrans_stamp() || timestamps && self.echo_precedes_retransmission(echo)
    }

    /// Whether the reduction was spurious: every retransmission was spurious, or the original arrived late (Linux,
    /// tcp_may_undo).
    pub(crate) fn may_undo(&self, echo: Time, timestamps: bool) -> bool {
        self.marker.is_some() && (self.all_spurious() || self.packet_delayed(echo, timestamps))
    }

    /// The cause of the undo in the table `events`.
    pub(crate) fn cause(&self) -> &'static str {
        if self.all_spurious() {
            "dsack"
        } else {
            "eifel"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3522: an echo older than the first retransmission belongs to the original. Without timestamps there is no
    /// evidence.
    #[test]
    fn an_echo_older_than_the_retransmission_shows_a_spurious_reduction() {
        let mut undo = Undo::new();
        undo.init(Some(0), 0);
        undo.on_retransmit(Time::from_nanos(100));
        assert!(undo.may_undo(Time::from_nanos(99), true));
        assert!(!undo.may_undo(Time::from_nanos(100), true));
        assert!(!undo.may_undo(Time::from_nanos(99), false));
        assert_eq!(undo.cause(), "eifel");
    }

    /// RFC 3708, by hand: two retransmissions, and a D-SACK for each of them.
    #[test]
    fn a_reduction_is_spurious_if_every_retransmission_was() {
        let mut undo = Undo::new();
        undo.init(Some(0), 0);
        undo.on_retransmit(Time::from_nanos(100));
        undo.on_retransmit(Time::from_nanos(101));
        undo.count_spurious(1);
        assert!(!undo.may_undo(Time::ZERO, false));
        undo.count_spurious(1);
        assert!(undo.may_undo(Time::ZERO, false));
        assert_eq!(undo.cause(), "dsack");
    }

    /// tcp_init_undo: an outstanding retransmission of an earlier recovery needs a D-SACK of its own.
    #[test]
    fn an_outstanding_earlier_retransmission_needs_a_dsack_too() {
        let mut undo = Undo::new();
        undo.init(Some(0), 1);
        undo.on_retransmit(Time::from_nanos(100));
        undo.count_spurious(1);
        assert!(!undo.all_spurious());
    }

    /// tcp_dsack_seen: one retransmission cannot cause two reports.
    #[test]
    fn more_dsacks_than_retransmissions_are_ignored_by_linux() {
        for (linux, second) in [(true, false), (false, true)] {
            let mut undo = Undo::new();
            assert!(undo.on_dsack(1, 1, linux));
            assert_eq!(undo.on_dsack(1, 1, linux), second);
        }
    }
}
