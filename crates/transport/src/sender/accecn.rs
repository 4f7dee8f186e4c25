//! The sender's part of the handshake of Accurate ECN (RFC 9768, sections 3.1 and 3.2.2), and what it knows of marks.

use super::Sender;
use crate::accecn::{client_mode, is_invalid, Codepoint, MarkTotals};
use crate::accecn_handshake::{syn_flags, HandshakeAck};
use crate::accecn_option::AccEcnOption;
use crate::stack::Ecn;
use crate::wire::Output;

impl Sender {
    /// Handles the flags of Accurate ECN of the SYN-ACK, the first of which decides the feedback mode (RFC 9768, section
    /// 3.1.5). It also tells the ECN field with which the latest SYN arrived, and `sent` is the one of the first SYN
    /// (section 3.2.2.3); a SYN without a request has none.
    pub fn on_syn_ack_flags(&mut self, flags: u8, sent: Codepoint, out: &mut impl Output) {
        if self.established || self.closed || self.tcb.stack.ecn != Ecn::AccEcn {
            return;
        }
        let may_be_fallback = syn_flags(self.syn_retransmissions) == 0;
        let changed = |arrived| is_invalid(sent, arrived) && !(may_be_fallback && arrived == Codepoint::NotEct);
        let cause = match client_mode(flags) {
            (Ecn::AccEcn, arrived) if arrived.is_some_and(changed) => {
                self.tcb.ecn.disable();
                "the path changes the ECN field"
            }
            (Ecn::AccEcn, _) => return,
            _ => {
                self.tcb.ecn.turn_off();
                "the SYN-ACK does not agree to Accurate ECN"
            }
        };
        out.event("fallback", cause, self.tcb.cwnd, self.tcb.cwnd, f64::NAN);
    }

    /// Handles the ACK of the SYN-ACK at a server, a packet without data and SACK blocks, before
    /// [`accept`](Self::accept). `sent` is the ECN field of the SYN-ACK (RFC 9768, section 3.2.2.1, table 4).
    pub fn on_handshake_ack(&mut self, ack: HandshakeAck, sent: Codepoint, out: &mut impl Output) {
        if self.established || self.tcb.stack.ecn != Ecn::AccEcn {
            return;
        }
        let cause = match ack {
            HandshakeAck::Cleared => {
                self.tcb.ecn.turn_off();
                "the ACE field is cleared"
            }
            HandshakeAck::Unused => return,
            HandshakeAck::Arrived(arrived) => {
                if arrived == Codepoint::Ce {
                    self.tcb.ecn.count_syn_ack_mark(self.tcb.controller.mss());
                }
                if !is_invalid(sent, arrived) {
                    return;
                }
                self.tcb.ecn.disable();
                "the path changes the ECN field"
            }
        };
        out.event("fallback", cause, self.tcb.cwnd, self.tcb.cwnd, f64::NAN);
    }

    /// Handles the AccECN option of the SYN-ACK, or of the ACK of it, which tests the path (RFC 9768, section 3.2.3.2.4).
    /// An option on a SYN is ignored (section 3.2.3.2.1).
    pub fn on_handshake_option(&mut self, option: AccEcnOption) {
        self.tcb.ecn.on_handshake_option(option, self.tcb.controller.mss());
    }

    /// Sends packets that are not ECN-capable from now on, and still responds to marks (RFC 9768, section 3.1.5: a server
    /// that received a SYN or sent a SYN-ACK without Accurate ECN).
    pub fn stop_ect(&mut self) {
        self.tcb.ecn.disable();
    }

    /// Whether new segments are ECN-capable.
    #[must_use]
    pub fn sends_ect(&self) -> bool {
        self.tcb.ecn.sends_ect(&self.tcb.stack, false)
    }

    /// The marks that ACKs reported so far, with Accurate ECN as on the wire.
    #[must_use]
    pub fn reported_marks(&self) -> MarkTotals {
        self.tcb.ecn.reported()
    }
}
