//! The handshake of Accurate ECN where SYNs or SYN-ACKs are lost, so that several with different flags are sent (RFC 9768,
//! sections 3.1.4 and 3.1.5).

use crate::accecn::{handshake_encoding, syn_ack_flags, Codepoint, SYN_FLAGS};
use crate::stack::{Ecn, PeerEcn};

/// The flags of a SYN for classic ECN (RFC 3168, section 6.1.1).
const CLASSIC_SYN: u8 = 0b011;
/// Retransmitted SYNs that still request Accurate ECN (section 3.1.4.1).
const REQUESTS_RETRANSMITTED: u32 = 1;
/// Retransmitted SYN-ACKs that still agree to ECN (section 3.2.3.2.2).
const ANSWERS_RETRANSMITTED: u32 = 1;

/// The flags AE, CWR and ECE of a client's SYN after this number of retransmissions: the first one requests Accurate ECN
/// again, later ones do not, in case a middlebox drops such SYNs.
#[must_use]
pub fn syn_flags(retransmissions: u32) -> u8 {
    if retransmissions <= REQUESTS_RETRANSMITTED {
        SYN_FLAGS
    } else {
        0
    }
}

/// What the ACE field of the ACK of a SYN-ACK tells the server (section 3.2.2.1, table 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeAck {
    /// The SYN-ACK arrived with this codepoint.
    Arrived(Codepoint),
    /// 000: the client has no ECN, or the path clears the field. The server sends no ECT and ignores marks, but still feeds
    /// back.
    Cleared,
    /// A value without a meaning.
    Unused,
}

impl HandshakeAck {
    /// Reads the ACE field of a packet without data and SACK blocks.
    #[must_use]
    pub fn read(ace: u8) -> Self {
        let ace = ace & SYN_FLAGS;
        let codepoints = [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce];
        let arrived = codepoints.into_iter().find(|&one| handshake_encoding(one) == ace);
        match (ace, arrived) {
            (0b000, _) => Self::Cleared,
            (_, Some(codepoint)) => Self::Arrived(codepoint),
            (_, None) => Self::Unused,
        }
    }
}

/// The answer of a server to a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A SYN-ACK.
    SynAck {
        /// Its flags AE, CWR and ECE.
        flags: u8,
        /// It has the AccECN option.
        option: bool,
    },
    /// A RST: the client requested both classic and Accurate ECN.
    Reset,
}

/// A server's handshake of one connection.
#[derive(Clone, Copy, Debug)]
pub struct ServerHandshake {
    supports: PeerEcn,
    /// The feedback mode, which the first SYN decides.
    mode: Option<Ecn>,
    /// SYNs without a request that arrived in the mode of Accurate ECN.
    without_request: u32,
    /// SYN-ACKs that were not acknowledged in time.
    timeouts: u32,
    /// The codepoint of the latest SYN.
    latest: Codepoint,
}

impl ServerHandshake {
    /// The handshake of a server that supports these forms of ECN.
    #[must_use]
    pub fn new(supports: PeerEcn) -> Self {
        Self { supports, mode: None, without_request: 0, timeouts: 0, latest: Codepoint::NotEct }
    }

    /// The feedback mode; `None` before the first SYN. It never changes (section 3.1.5).
    #[must_use]
    pub fn mode(&self) -> Option<Ecn> {
        self.mode
    }

    /// Whether the server may send ECN-capable packets: in the mode of Accurate ECN, unless a SYN or SYN-ACK without it
    /// was received or sent (section 3.1.5).
    #[must_use]
    pub fn may_send_ect(&self) -> bool {
        self.mode == Some(Ecn::AccEcn) && self.without_request == 0 && self.timeouts <= ANSWERS_RETRANSMITTED
    }

    /// The flags of a SYN-ACK that is sent again because none was acknowledged in time, without the option: the first one
    /// agrees again, later ones do not, in case a middlebox drops such SYN-ACKs (section 3.2.3.2.2).
    pub fn on_timeout(&mut self) -> u8 {
        self.timeouts += 1;
        match self.mode {
            Some(Ecn::AccEcn) if self.timeouts <= ANSWERS_RETRANSMITTED => handshake_encoding(self.latest),
            Some(Ecn::Classic) if self.timeouts <= ANSWERS_RETRANSMITTED => 0b001,
            _ => 0b000,
        }
    }

    /// The answer to a SYN with these flags, which arrived with this codepoint. A first SYN without a request in the mode of
    /// Accurate ECN is still answered with it, later ones without (section 3.1.5). Only the first SYN-ACK has the option,
    /// in case a middlebox drops it (section 3.2.3.2.2).
    pub fn on_syn(&mut self, flags: u8, arrived: Codepoint) -> Answer {
        let flags = flags & SYN_FLAGS;
        self.latest = arrived;
        let plain = |flags| Answer::SynAck { flags, option: false };
        match (self.mode, flags) {
            (None, _) => {
                let answer = syn_ack_flags(flags, arrived, self.supports);
                self.mode = Some(match answer {
                    0b000 => Ecn::Off,
                    0b001 => Ecn::Classic,
                    _ => Ecn::AccEcn,
                });
                Answer::SynAck { flags: answer, option: self.mode == Some(Ecn::AccEcn) }
            }
            (Some(Ecn::AccEcn), CLASSIC_SYN) => Answer::Reset,
            (Some(Ecn::AccEcn), 0) => {
                self.without_request += 1;
                let first = self.without_request == 1;
                plain(if first { syn_ack_flags(SYN_FLAGS, arrived, self.supports) } else { 0 })
            }
            (Some(Ecn::AccEcn), _) => plain(syn_ack_flags(flags, arrived, self.supports)),
            (Some(Ecn::Classic), CLASSIC_SYN) => plain(0b001),
            (Some(Ecn::Classic), 0) => plain(0),
            (Some(Ecn::Classic), _) if self.supports == PeerEcn::Accurate => Answer::Reset,
            (Some(Ecn::Classic), _) => plain(0b001),
            _ => plain(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accecn::client_mode;

    fn server() -> ServerHandshake {
        ServerHandshake::new(PeerEcn::Accurate)
    }

    fn flags(answer: Answer) -> u8 {
        match answer {
            Answer::SynAck { flags, .. } => flags,
            Answer::Reset => panic!("a RST"),
        }
    }

    /// RFC 9768, section 3.1.4.1: the first retransmission requests Accurate ECN again, later ones do not. Section 3.1.3: no
    /// other flags are sent.
    #[test]
    fn the_second_retransmitted_syn_does_without_accurate_ecn() {
        assert_eq!([0, 1, 2, 3].map(syn_flags), [0b111, 0b111, 0, 0]);
    }

    /// RFC 9768, section 3.2.3.2.2: a second SYN with a request is answered without the option, and tells the field of the
    /// latest SYN (section 3.1.5).
    #[test]
    fn a_second_syn_ack_has_no_option_and_the_codepoint_of_the_latest_syn() {
        let mut server = server();
        assert_eq!(server.on_syn(0b111, Codepoint::Ect1), Answer::SynAck { flags: 0b011, option: true });
        assert_eq!(server.on_syn(0b111, Codepoint::Ce), Answer::SynAck { flags: 0b110, option: false });
        assert!(server.may_send_ect());
    }

    /// RFC 9768, section 3.1.5: a SYN without a request does not change the mode. It is answered with Accurate ECN once,
    /// then without; and the server no longer sends ECN-capable packets.
    #[test]
    fn a_fallback_syn_does_not_change_the_mode_of_the_server() {
        let mut server = server();
        server.on_syn(0b111, Codepoint::NotEct);
        let answers = [(); 2].map(|()| flags(server.on_syn(0, Codepoint::NotEct)));
        assert_eq!(answers, [0b010, 0]);
        assert_eq!(server.mode(), Some(Ecn::AccEcn));
        assert!(!server.may_send_ect());
    }

    /// RFC 9768, section 3.2.3.2.2: a SYN-ACK that times out is sent without the option, then without ECN; the mode remains,
    /// and after the second one the server sends no ECT (section 3.1.5). The first one tells the field of the latest SYN.
    #[test]
    fn a_syn_ack_that_times_out_falls_back_in_two_steps() {
        let mut server = server();
        server.on_syn(0b111, Codepoint::NotEct);
        server.on_syn(0b111, Codepoint::Ect0);
        assert_eq!((server.on_timeout(), server.may_send_ect()), (0b100, true));
        assert_eq!((server.on_timeout(), server.may_send_ect()), (0b000, false));
        assert_eq!((server.on_timeout(), server.mode()), (0b000, Some(Ecn::AccEcn)));
        let mut classic = ServerHandshake::new(PeerEcn::Classic);
        classic.on_syn(0b011, Codepoint::NotEct);
        assert_eq!([(); 2].map(|()| classic.on_timeout()), [0b001, 0b000]);
    }

    /// RFC 9768, table 4.
    #[test]
    fn the_ack_of_the_syn_ack_tells_the_codepoint_of_the_syn_ack() {
        use Codepoint::{Ce, Ect0, Ect1, NotEct};
        use HandshakeAck::{Arrived, Cleared, Unused};
        let meanings = [Cleared, Unused, Arrived(NotEct), Arrived(Ect1), Arrived(Ect0), Unused, Arrived(Ce), Unused];
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(HandshakeAck::read), meanings);
    }

    /// RFC 9768, section 3.1.5: a server whose first SYN had no request stays without ECN, and answers later requests so.
    #[test]
    fn a_server_without_ecn_does_not_offer_it_later() {
        let mut server = server();
        assert_eq!([0, 0b111, 0b011].map(|one| flags(server.on_syn(one, Codepoint::Ect1))), [0; 3]);
        assert_eq!(server.mode(), Some(Ecn::Off));
        assert!(!server.may_send_ect());
    }

    /// RFC 9768, section 3.1.5: classic and Accurate ECN requested in the same handshake: RST. No SYN-ACK agrees to both.
    #[test]
    fn requests_of_both_kinds_reset_the_connection() {
        for requests in [[0b111, 0b011], [0b011, 0b111]] {
            let mut server = server();
            server.on_syn(requests[0], Codepoint::NotEct);
            assert_eq!(server.on_syn(requests[1], Codepoint::NotEct), Answer::Reset);
        }
    }

    /// RFC 9768, section 3.1.3: the flags 101 are never sent, nor is a SYN reflected (111). Section 3.1.5: SYN-ACKs of one
    /// handshake agree to classic or to Accurate ECN, not to both. Section 3.1.1: to Accurate ECN only on request.
    #[test]
    fn no_sequence_of_syns_has_contradictory_answers() {
        let requests = (0..512u32).map(|number| [0, 3, 6].map(|shift| (number >> shift & 7) as u8));
        for requests in requests {
            let mut server = server();
            let answers: Vec<u8> = requests
                .iter()
                .filter_map(|&request| match server.on_syn(request, Codepoint::Ect1) {
                    Answer::SynAck { flags, .. } => Some(flags),
                    Answer::Reset => None,
                })
                .collect();
            assert!(answers.iter().all(|flags| [0b000, 0b001, 0b011].contains(flags)), "{requests:?}: {answers:?}");
            assert!(!(answers.contains(&0b001) && answers.contains(&0b011)), "{requests:?}: {answers:?}");
            let is_requested = requests.iter().any(|request| ![0, 0b011].contains(request));
            assert!(is_requested || !answers.contains(&0b011), "{requests:?}: {answers:?}");
        }
    }

    /// RFC 9768, table 2: both ends enter the same mode, whatever the server supports.
    #[test]
    fn both_ends_enter_the_same_mode() {
        for (supports, mode) in
            [(PeerEcn::Accurate, Ecn::AccEcn), (PeerEcn::Classic, Ecn::Classic), (PeerEcn::Off, Ecn::Off)]
        {
            let mut server = ServerHandshake::new(supports);
            let answer = flags(server.on_syn(0b111, Codepoint::NotEct));
            assert_eq!((server.mode(), client_mode(answer).0), (Some(mode), mode));
        }
    }
}
