//! Packets that our side sends.

use std::fmt;

use cwndlab_transport::accecn::Codepoint;
use cwndlab_transport::accecn_option::{AccEcnOption, Order};
use cwndlab_units::Time;

use super::handshake::Negotiated;
use crate::script::{EcnCounter, IpEcn, Packet, TcpOption, ECN_FLAGS};

/// A packet that our side sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) at: Time,
    pub(super) syn: bool,
    pub(super) fin: bool,
    /// The flags AE, CWR and ECE.
    pub(super) ace: u8,
    /// The first byte.
    pub(super) seq: u64,
    pub(super) len: u64,
    /// The acknowledgement; `None` in a SYN.
    pub(super) ack: Option<u64>,
    /// The ECN field of its IP header.
    pub(super) ecn: Codepoint,
    /// The option of Accurate ECN.
    pub(super) accecn: Option<AccEcnOption>,
    /// In SYN and SYN-ACK: what this side offers or accepts.
    pub(super) offer: Option<Negotiated>,
    /// The echoed timestamp, if timestamps are in use.
    pub(super) echo: Option<u64>,
}

impl Sent {
    /// An empty acknowledgement.
    pub(super) fn pure_ack(at: Time, seq: u64, ack: u64, echo: Option<u64>) -> Self {
        Self {
            at,
            syn: false,
            fin: false,
            ace: 0,
            seq,
            len: 0,
            ack: Some(ack),
            ecn: Codepoint::NotEct,
            accecn: None,
            offer: None,
            echo,
        }
    }

    /// Whether it only acknowledges.
    pub(super) fn is_pure_ack(&self) -> bool {
        self.len == 0 && !self.syn && !self.fin && self.ack.is_some()
    }

    /// The flags, without PSH, which the simulation does not have.
    fn flags(&self) -> String {
        let [ae, cwr, ece] = [2, 1, 0].map(|place| self.ace >> place & 1 == 1);
        let flags = [self.syn, self.fin, ae, cwr, ece, self.ack.is_some()];
        let [a, w, e] = ECN_FLAGS;
        flags.iter().zip(['S', 'F', a, w, e, '.']).filter(|(set, _)| **set).map(|(_, flag)| flag).collect()
    }

    /// Whether a packet of the script has the same flags, PSH apart.
    pub(super) fn has_flags_of(&self, packet: &Packet) -> bool {
        let sorted = |flags: String| {
            let mut list: Vec<char> = flags.chars().filter(|&flag| flag != 'P').collect();
            list.sort_unstable();
            list
        };
        sorted(self.flags()) == sorted(packet.flags.clone())
    }

    /// Whether the ECN field of its IP header matches.
    pub(super) fn has_ecn(&self, ecn: Option<IpEcn>) -> bool {
        match ecn {
            None => true,
            Some(IpEcn::Ect01) => matches!(self.ecn, Codepoint::Ect0 | Codepoint::Ect1),
            Some(other) => self.ecn == codepoint(Some(other)),
        }
    }

    /// Whether it has the option of Accurate ECN that a packet of the script has: the same bytes.
    pub(super) fn has_accecn_of(&self, packet: &Packet) -> bool {
        let expected = packet.options().find_map(read_accecn);
        self.accecn.map(|option| option.to_bytes()) == expected.map(|option| option.to_bytes())
    }

    /// The option of Accurate ECN as in a script.
    pub(super) fn accecn_text(&self) -> String {
        let Some(option) = &self.accecn else { return "without ECN".to_owned() };
        let mut counters = [("e0b", option.ect0()), ("ceb", option.ce()), ("e1b", option.ect1())];
        if option.order == Order::Ect1First {
            counters.reverse();
        }
        let list = counters.iter().filter_map(|(name, value)| value.map(|value| format!(" {name} {value}")));
        format!("with ECN{}", list.collect::<String>())
    }

    /// Appends the packet sent right after this one, as segmentation offload does.
    pub(super) fn append(&mut self, next: &Self) {
        self.len += next.len;
        self.fin |= next.fin;
        self.ace |= next.ace;
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ecn = match self.ecn {
            Codepoint::NotEct => "",
            Codepoint::Ect0 => "[ect0] ",
            Codepoint::Ect1 => "[ect1] ",
            Codepoint::Ce => "[ce] ",
        };
        let end = self.seq + self.len;
        write!(f, "{ecn}{} {}:{end}({})", self.flags(), self.seq, self.len)?;
        self.ack.map_or(Ok(()), |ack| write!(f, " ack {ack}"))
    }
}

/// The ECN field of a packet of the script, which has none unless it says so.
pub(super) fn codepoint(ecn: Option<IpEcn>) -> Codepoint {
    match ecn {
        None | Some(IpEcn::Off) => Codepoint::NotEct,
        Some(IpEcn::Ect0 | IpEcn::Ect01) => Codepoint::Ect0,
        Some(IpEcn::Ect1) => Codepoint::Ect1,
        Some(IpEcn::Ce) => Codepoint::Ce,
    }
}

/// The option of Accurate ECN of a script as it is read from a packet.
pub(super) fn read_accecn(option: &TcpOption) -> Option<AccEcnOption> {
    let TcpOption::AccurateEcn(counters) = option else { return None };
    let order = if counters.first()?.0 == EcnCounter::Ect0 { Order::Ect0First } else { Order::Ect1First };
    let bytes: Vec<u8> = counters.iter().flat_map(|(_, value)| value.to_be_bytes()[1..].to_vec()).collect();
    AccEcnOption::read(order.kind(), &bytes)
}

/// A packet of the script as text.
pub(super) fn describe(packet: &Packet) -> String {
    let ecn = match packet.ecn {
        Some(IpEcn::Ect0) => "[ect0] ",
        Some(IpEcn::Ect1) => "[ect1] ",
        Some(IpEcn::Ect01) => "[ect01] ",
        Some(IpEcn::Off) => "[noecn] ",
        Some(IpEcn::Ce) => "[ce] ",
        None => "",
    };
    let ack = packet.ack.map(|ack| format!(" ack {ack}")).unwrap_or_default();
    format!("{ecn}{} {}:{}({}){ack}", packet.flags, packet.seq, packet.seq + packet.len, packet.len)
}
