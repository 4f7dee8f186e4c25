//! Bookkeeping for the undo of spurious reductions: Eifel (RFC 3522), D-SACK (RFC 3708), F-RTO (RFC 5682); Linux, `undo_marker`.

use cwndlab_units::Time;

/// Since a reduction began, what was retransmitted and what was reported needless.
#[derive(Debug)]
pub(crate) struct Undo {
    /// SND.UNA when the reduction began; `None`: no reduction can be undone (Linux, `tp->undo_marker`).
    pub(crate) marker: Option<u64>,
    /// Retransmissions since then without a D-SACK; -1 before the first one (Linux, `tp->undo_retrans`).
    retrans: i32,
    /// When the first of them was sent; zero: none was (Linux, `tp->retrans_stamp`).
    retrans_stamp: Time,
    /// The window before the reduction may be restored: no ECN echo arrived (Linux, `tp->prior_ssthresh`).
    pub(crate) restorable: bool,
    /// F-RTO examines whether the last timeout was spurious (Linux, `tp->frto`).
    pub(crate) frto: bool,
    /// Segments that D-SACKs reported on this connection (Linux, `tp->dsack_dups`).
    dsack_dups: u64,
}

impl Undo {
    /// No reduction yet.
    pub(crate) fn new() -> Self {
        Self { marker: None, retrans: -1, retrans_stamp: Time::ZERO, restorable: false, frto: false, dsack_dups: 0 }
    }

    /// From here on a reduction may turn out to be spurious (Linux, tcp_init_undo). `outstanding` retransmissions, a tail loss
    /// probe included, are of an earlier recovery: their D-SACKs prove nothing.
    pub(crate) fn init(&mut self, marker: Option<u64>, outstanding: u32) {
        self.marker = marker;
        self.retrans = if outstanding > 0 { outstanding.cast_signed() } else { -1 };
    }

    /// No retransmitted segment is outstanding any more (Linux, tcp_retrans_stamp_cleanup).
    pub(crate) fn clear_stamp(&mut self) {
        self.retrans_stamp = Time::ZERO;
    }

    /// A segment is retransmitted.
    pub(crate) fn on_retransmit(&mut self, now: Time) {
        if self.retrans_stamp == Time::ZERO {
            self.retrans_stamp = now;
        }
        self.retrans = self.retrans.max(0) + 1;
    }

    /// A D-SACK reports `count` segments on a connection that retransmitted `sent` so far. Returns whether it may be of these
    /// retransmissions: more reports than retransmissions are the network's doing (Linux, tcp_dsack_seen).
    pub(crate) fn on_dsack(&mut self, count: u32, sent: u64, linux: bool) -> bool {
        self.dsack_dups += u64::from(count);
        count > 0 && !(linux && self.dsack_dups > sent)
    }

    /// `count` retransmissions since the marker were needless.
    pub(crate) fn note_needless(&mut self, count: u32) {
        if self.retrans > 0 {
            self.retrans = (self.retrans - count.cast_signed()).max(0);
        }
    }

    /// Every retransmission was reported needless.
    pub(crate) fn all_needless(&self) -> bool {
        self.retrans == 0
    }

    /// Something was retransmitted since the stamp was cleared.
    pub(crate) fn has_stamp(&self) -> bool {
        self.retrans_stamp > Time::ZERO
    }

    /// Eifel: the segment that arrived was sent before the first retransmission, as its timestamp `echo` shows.
    pub(crate) fn echo_precedes_retransmission(&self, echo: Time) -> bool {
        echo > Time::ZERO && echo < self.retrans_stamp
    }

    /// Linux, tcp_packet_delayed: nothing was retransmitted, or the original arrived late.
    pub(crate) fn packet_delayed(&self, echo: Time, timestamps: bool) -> bool {
        !self.has_stamp() || timestamps && self.echo_precedes_retransmission(echo)
    }

    /// Linux, tcp_may_undo: every retransmission was reported needless, or the original arrived late.
    pub(crate) fn may_undo(&self, echo: Time, timestamps: bool) -> bool {
        self.marker.is_some() && (self.all_needless() || self.packet_delayed(echo, timestamps))
    }

    /// The cause that `events` names for such an undo.
    pub(crate) fn cause(&self) -> &'static str {
        if self.all_needless() {
            "dsack"
        } else {
            "eifel"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3522: an echo from before the first retransmission is of the original. Without timestamps nothing is known.
    #[test]
    fn an_echo_from_before_the_retransmission_shows_a_spurious_reduction() {
        let mut undo = Undo::new();
        undo.init(Some(0), 0);
        undo.on_retransmit(Time(100));
        assert!(undo.may_undo(Time(99), true));
        assert!(!undo.may_undo(Time(100), true));
        assert!(!undo.may_undo(Time(99), false));
        assert_eq!(undo.cause(), "eifel");
    }

    /// RFC 3708, by hand: two retransmissions, and a D-SACK for each of them.
    #[test]
    fn a_reduction_is_spurious_when_every_retransmission_was_needless() {
        let mut undo = Undo::new();
        undo.init(Some(0), 0);
        undo.on_retransmit(Time(100));
        undo.on_retransmit(Time(101));
        undo.note_needless(1);
        assert!(!undo.may_undo(Time::ZERO, false));
        undo.note_needless(1);
        assert!(undo.may_undo(Time::ZERO, false));
        assert_eq!(undo.cause(), "dsack");
    }

    /// tcp_init_undo: a retransmission still outstanding from before needs a D-SACK of its own.
    #[test]
    fn an_earlier_retransmission_counts_among_those_to_be_reported() {
        let mut undo = Undo::new();
        undo.init(Some(0), 1);
        undo.on_retransmit(Time(100));
        undo.note_needless(1);
        assert!(!undo.all_needless());
    }

    /// tcp_dsack_seen: two reports for one retransmission cannot both be of it.
    #[test]
    fn more_dsacks_than_retransmissions_are_ignored_by_linux() {
        for (linux, second) in [(true, false), (false, true)] {
            let mut undo = Undo::new();
            assert!(undo.on_dsack(1, 1, linux));
            assert_eq!(undo.on_dsack(1, 1, linux), second);
        }
    }
}
