//! The sender's ECN state: congestion echoes of the receiver, and the CWR bit that answers them (RFC 3168; RFC 8257).

use crate::stack::Ecn;
use crate::wire::AckPacket;

/// What is known of CE marks.
#[derive(Debug, Default)]
pub(crate) struct EcnEcho {
    /// CE-marked segments that ACKs reported so far, modulo 2³² (accurate ECN).
    ce_count: u32,
    /// The next new segment carries CWR (Linux, `TCP_ECN_QUEUE_CWR`).
    cwr: bool,
}

impl EcnEcho {
    /// Some ACK reported marked segments (accurate ECN).
    pub(crate) fn has_marks(&self) -> bool {
        self.ce_count > 0
    }

    /// An ACK arrives. Returns how many segments it newly reports as marked, and whether it echoes congestion.
    #[inline]
    pub(crate) fn on_ack(&mut self, ecn: Ecn, ack: &AckPacket) -> (u32, bool) {
        if ecn == Ecn::Off {
            return (0, false);
        }
        let marked = ack.ce_count.wrapping_sub(self.ce_count);
        self.ce_count = ack.ce_count;
        let echo = match ecn {
            Ecn::Accurate | Ecn::Dctcp => marked > 0,
            _ => ack.ece,
        };
        (marked, echo)
    }

    /// The window was reduced: the receiver is notified where ECN is in use.
    pub(crate) fn queue_cwr(&mut self, ecn: Ecn) {
        self.cwr = ecn != Ecn::Off;
    }

    /// A segment is sent: whether it carries CWR, which retransmissions never do (RFC 3168, section 6.1.5).
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
    use crate::wire::Blocks;
    use cwndlab_units::{Bytes, Time};

    fn ack(ece: bool, ce_count: u32) -> AckPacket {
        AckPacket {
            ack: 1,
            window: Bytes(1),
            echo: Time::ZERO,
            ece,
            ce_count,
            blocks: Blocks::default(),
            feedback: None,
        }
    }

    /// RFC 3168 echoes by the ECE bit, accurate ECN by a counter, which wraps.
    #[test]
    fn accurate_ecn_counts_marks_and_classic_ecn_echoes_them() {
        let mut echo = EcnEcho { ce_count: u32::MAX, cwr: false };
        assert_eq!(echo.on_ack(Ecn::Accurate, &ack(false, 1)), (2, true));
        assert_eq!(echo.on_ack(Ecn::Accurate, &ack(true, 1)), (0, false));
        assert_eq!(echo.on_ack(Ecn::Classic, &ack(true, 1)), (0, true));
    }

    /// RFC 3168, section 6.1.2: the first new segment after the reduction carries CWR, and none after it.
    #[test]
    fn one_new_segment_carries_cwr() {
        let mut echo = EcnEcho::default();
        echo.queue_cwr(Ecn::Classic);
        assert_eq!([true, false, false].map(|retransmission| echo.take_cwr(retransmission)), [false, true, false]);
    }
}
