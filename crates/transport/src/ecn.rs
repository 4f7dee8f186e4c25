//! The sender's ECN state: congestion echoes of the receiver, and the CWR bit that acknowledges them (RFC 3168; RFC
//! 8257).

use crate::accecn::{AceDecoder, Delivered, MarkTotals};
use crate::accecn_option::AccEcnOption;
use crate::stack::{Ecn, Stack};
use crate::wire::AckPacket;

/// CE marks reported by the receiver, and the pending CWR bit.
#[derive(Debug, Default)]
pub(crate) struct EcnEcho {
    /// The counters of Accurate ECN as on the wire, from the first ACK.
    ace: Option<Box<AceDecoder>>,
    /// An ACE field after the handshake arrived, which was tested for zero.
    tested: bool,
    /// The peer or the path does not return ECN feedback, or changes the ECN field: packets are not ECN-capable.
    disabled: bool,
    /// The feedback is not usable: marks are ignored.
    ignored: bool,
    /// CE-marked segments that ACKs reported so far, modulo 2³² (accurate ECN).
    ce_count: u32,
    /// The next new segment carries CWR (Linux, `TCP_ECN_QUEUE_CWR`).
    cwr: bool,
}

impl EcnEcho {
    /// Whether any ACK reported marked segments (accurate ECN).
    pub(crate) fn has_marks(&self) -> bool {
        self.ce_count > 0
    }

    /// Whether a segment may be ECN-capable. Retransmissions are where all packets of L4S are (RFC 3168, section 6.1.5; RFC
    /// 9331, section 4.1), and where ACKs are (Linux, `tcp_ecn_send`: with Accurate ECN all packets but SYNs).
    #[inline]
    pub(crate) fn sends_ect(&self, stack: &Stack, retransmission: bool) -> bool {
        let covers_all = || stack.ect1 || stack.ecn == Ecn::AccEcn && stack.ecn_acks;
        stack.ecn != Ecn::Off && (!retransmission || covers_all()) && !self.disabled
    }

    /// Sends packets that are not ECN-capable from now on, since the path changes the ECN field.
    pub(crate) fn disable(&mut self) {
        self.disabled = true;
    }

    /// Sends packets that are not ECN-capable and ignores marks from now on: the handshake ended without ECN.
    pub(crate) fn turn_off(&mut self) {
        (self.disabled, self.ignored) = (true, true);
    }

    /// Handles the option of a packet of the handshake.
    pub(crate) fn on_handshake_option(&mut self, option: AccEcnOption, mss: u32) {
        self.decoder(mss).on_handshake_option(option);
    }

    /// Counts the mark of the SYN-ACK.
    pub(crate) fn count_syn_ack_mark(&mut self, mss: u32) {
        self.decoder(mss).count_syn_ack_mark();
    }

    /// The marks that ACKs reported so far, with Accurate ECN.
    pub(crate) fn reported(&self) -> MarkTotals {
        self.ace.as_ref().map(|decoder| decoder.reported()).unwrap_or_default()
    }

    fn decoder(&mut self, mss: u32) -> &mut AceDecoder {
        self.ace.get_or_insert_with(|| Box::new(AceDecoder::new(mss)))
    }

    /// Whether the first ACK showed that the feedback is not usable.
    pub(crate) fn is_ignored(&self) -> bool {
        self.ignored
    }

    /// Handles an ACK. Returns the number of segments newly reported as marked, and whether the ACK echoes congestion.
    #[inline]
    pub(crate) fn on_ack(&mut self, ecn: Ecn, ack: &AckPacket, delivered: Delivered, mss: u32) -> (u32, bool) {
        if ecn == Ecn::Off {
            return (0, false);
        }
        if ecn == Ecn::AccEcn {
            let marked = self.on_accecn(ack, delivered, mss);
            return (marked, marked > 0);
        }
        // An ACK that others overtook counts fewer marks than one that arrived (RFC 9768, appendix A.1).
        let counted = ack.ce_count.wrapping_sub(self.ce_count);
        let marked = if counted.cast_signed() > 0 { counted } else { 0 };
        self.ce_count = self.ce_count.wrapping_add(marked);
        let echo = match ecn {
            Ecn::Classic => ack.ece,
            _ => marked > 0,
        };
        (marked, echo)
    }

    /// Handles the ACE field and the option of an ACK. A field of zero in the first ACK has been cleared (RFC 9768, section
    /// 3.2.2.4).
    fn on_accecn(&mut self, ack: &AckPacket, delivered: Delivered, mss: u32) -> u32 {
        let Some(feedback) = ack.accecn else { return 0 };
        if !self.tested && feedback.ace == 0 {
            self.turn_off();
        }
        self.tested = true;
        if self.ignored {
            return 0;
        }
        let marks = self.decoder(mss).on_ack(feedback, delivered);
        self.disabled |= marks.is_contradiction;
        marks.packets
    }

    /// Sends CWR with the next new segment after a window reduction, with ECN. The bit is a part of the ACE field in
    /// Accurate ECN.
    pub(crate) fn queue_cwr(&mut self, ecn: Ecn) {
        self.cwr = !matches!(ecn, Ecn::Off | Ecn::AccEcn);
    }

    /// Whether the segment being sent carries CWR. Retransmissions never do (RFC 3168, section 6.1.5).
    #[inline]
    pub(crate) fn take_cwr(&mut self, retransmission: bool) -> bool {
        let cwr = self.cwr && !retransmission;
        self.cwr &= retransmission;
        cwr
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accecn::AccEcnFeedback;
    use crate::wire::SackBlocks;
    use cwndlab_units::{Bytes, Time};

    fn ack(ece: bool, ce_count: u32) -> AckPacket {
        AckPacket {
            ack: 1,
            part: 0,
            window: Bytes(1),
            echo: Time::ZERO,
            ece,
            ce_count,
            accecn: None,
            blocks: SackBlocks::default(),
            feedback: None,
        }
    }

    /// RFC 3168 echoes marks with the ECE bit, accurate ECN with a counter that wraps.
    #[test]
    fn accurate_ecn_counts_marks_and_classic_ecn_echoes_them() {
        let mut echo = EcnEcho { ce_count: u32::MAX, ..EcnEcho::default() };
        let none = Delivered { packets: 1, bytes: Bytes(1000) };
        assert_eq!(echo.on_ack(Ecn::Accurate, &ack(false, 1), none, 1000), (2, true));
        assert_eq!(echo.on_ack(Ecn::Accurate, &ack(true, 1), none, 1000), (0, false));
        assert_eq!(echo.on_ack(Ecn::Classic, &ack(true, 1), none, 1000), (0, true));
    }

    /// RFC 9768, appendix A.1: an ACK that others overtook reports nothing. By hand: counts of 3, 5, 4 and 6 are 3, 2, 0 and 1
    /// marked segments, also where the counter wraps; one that overtook says nothing of DCTCP's state, and ECE counts.
    #[test]
    fn an_overtaken_ack_reports_no_marks() {
        let none = Delivered { packets: 1, bytes: Bytes(1000) };
        for start in [0, u32::MAX - 3] {
            for ecn in [Ecn::Accurate, Ecn::Dctcp, Ecn::Classic] {
                let mut echo = EcnEcho { ce_count: start, ..EcnEcho::default() };
                let reports =
                    [3, 5, 4, 6].map(|count| echo.on_ack(ecn, &ack(true, start.wrapping_add(count)), none, 1000));
                let echoes = if ecn == Ecn::Classic { [true; 4] } else { [true, true, false, true] };
                assert_eq!(reports.map(|(marked, _)| marked), [3, 2, 0, 1], "{ecn:?}");
                assert_eq!(reports.map(|(_, echo)| echo), echoes, "{ecn:?}");
            }
        }
    }

    /// RFC 9768, section 3.2.2.4: ACE = 0 in the first feedback disables ECN, and marks are ignored; a later 0 is a count.
    #[test]
    fn a_zeroed_ace_field_disables_ecn() {
        let one = Delivered { packets: 3, bytes: Bytes(3000) };
        let reports = |fields: [u8; 2]| {
            let mut echo = EcnEcho::default();
            let marked = fields.map(|ace| {
                let accecn = Some(AccEcnFeedback { ace, option: None, newer: false });
                echo.on_ack(Ecn::AccEcn, &AckPacket { accecn, ..ack(false, 0) }, one, 1000).0
            });
            (marked, echo.disabled)
        };
        assert_eq!(reports([0, 2]), ([0, 0], true));
        assert_eq!(reports([5, 0]), ([0, 3], false));
        // Only zero is tested, since other initial values are a channel for the future.
        assert!((1..8).all(|first| !reports([first, first]).1));
    }

    /// RFC 9768, section 3.2.3.2.5: marked bytes that the ACE field denies end the use of ECN, and marks that it reports
    /// later still count.
    #[test]
    fn contradictory_feedback_ends_ecn() {
        let mut receiver = crate::accecn::MarkCounters::default();
        receiver.on_packet(crate::accecn::Codepoint::Ce, 1000);
        let (feedback, _) = receiver.feedback(0, true, crate::accecn::OptionUse::Always);
        let mut echo = EcnEcho::default();
        let mut marks = |ace| {
            let accecn = Some(AccEcnFeedback { ace, ..feedback });
            let one = Delivered { packets: 1, bytes: Bytes(1000) };
            let marked = echo.on_ack(Ecn::AccEcn, &AckPacket { accecn, ..ack(false, 0) }, one, 1000).0;
            (marked, echo.disabled)
        };
        assert_eq!([marks(5), marks(6)], [(0, true), (1, true)]);
    }

    /// RFC 3168, section 6.1.5: a retransmission is not ECN-capable. RFC 9331, section 4.1, and Linux with Accurate ECN
    /// (`tcp_ecn_send`): it is.
    #[test]
    fn retransmissions_are_ecn_capable_where_acks_are() {
        let echo = EcnEcho::default();
        let sends = |ecn, ect1, ecn_acks| {
            let stack = Stack { ecn, ecn_acks, ect1, ..crate::linux_stack::linux() };
            [false, true].map(|retransmission| echo.sends_ect(&stack, retransmission))
        };
        assert_eq!(sends(Ecn::Classic, false, true), [true, false]);
        assert_eq!(sends(Ecn::AccEcn, false, true), [true, true]);
        assert_eq!(sends(Ecn::AccEcn, false, false), [true, false]);
        assert_eq!(sends(Ecn::AccEcn, true, false), [true, true]);
        assert_eq!(sends(Ecn::Off, false, true), [false, false]);
    }

    /// RFC 9768, section 3.2.2.2: the mark of the SYN-ACK counts once at the server, which the next ACE field includes.
    #[test]
    fn the_mark_of_the_syn_ack_is_counted_once() {
        let mut echo = EcnEcho::default();
        echo.count_syn_ack_mark(1000);
        let one = Delivered { packets: 1, bytes: Bytes(1000) };
        let mut marks = |ace| {
            let accecn = Some(AccEcnFeedback { ace, option: None, newer: false });
            echo.on_ack(Ecn::AccEcn, &AckPacket { accecn, ..ack(false, 0) }, one, 1000).0
        };
        assert_eq!([marks(6), marks(7)], [0, 1]);
        assert_eq!(echo.reported().packets, 2);
    }

    /// RFC 3168, section 6.1.2: the first new segment after the reduction carries CWR, and none after it.
    #[test]
    fn one_new_segment_carries_cwr() {
        let mut echo = EcnEcho::default();
        echo.queue_cwr(Ecn::Classic);
        assert_eq!([true, false, false].map(|retransmission| echo.take_cwr(retransmission)), [false, true, false]);
        // RFC 9768, section 3.1.5: Accurate ECN has no such bit.
        echo.queue_cwr(Ecn::AccEcn);
        assert!(!echo.take_cwr(false));
    }
}
