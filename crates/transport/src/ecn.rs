//! The sender's ECN state: congestion echoes of the receiver, and the CWR bit that acknowledges them (RFC 3168; RFC
//! 8257).

use crate::stack::Ecn;
use crate::wire::AckPacket;

/// CE marks reported by the receiver, and the pending CWR bit.
#[derive(Debug, Default)]
pub(crate) struct EcnEcho {
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

    /// Handles an ACK. Returns the number of segments newly reported as marked, and whether the ACK echoes congestion.
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

    /// Sends CWR with the next new segment after a window reduction, if ECN is in use.
    pub(crate) fn queue_cwr(&mut self, ecn: Ecn) {
        self.cwr = ecn != Ecn::Off;
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
    use crate::wire::SackBlocks;
    use cwndlab_units::{Bytes, Time};

    fn ack(ece: bool, ce_count: u32) -> AckPacket {
        AckPacket {
            ack: 1,
            window: Bytes(1),
            echo: Time::ZERO,
            ece,
            ce_count,
            blocks: SackBlocks::default(),
            feedback: None,
        }
    }

    /// RFC 3168 echoes marks with the ECE bit, accurate ECN with a counter that wraps.
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
