//! Packets that our side sends.

use std::fmt;

use cwndlab_units::Time;

use super::handshake::Negotiated;
use crate::script::{IpEcn, Packet};

/// A packet that our side sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) at: Time,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) ece: bool,
    pub(super) cwr: bool,
    /// The first byte.
    pub(super) seq: u64,
    pub(super) len: u64,
    /// The acknowledgement; `None` in a SYN.
    pub(super) ack: Option<u64>,
    pub(super) ecn_capable: bool,
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
            ece: false,
            cwr: false,
            seq,
            len: 0,
            ack: Some(ack),
            ecn_capable: false,
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
        let flags = [(self.syn, 'S'), (self.fin, 'F'), (self.ece, 'E'), (self.cwr, 'W'), (self.ack.is_some(), '.')];
        flags.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect()
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
            Some(IpEcn::Ect0 | IpEcn::Ect01) => self.ecn_capable,
            Some(IpEcn::Off) => !self.ecn_capable,
            Some(IpEcn::Ect1 | IpEcn::Ce) => false,
        }
    }

    /// Appends the packet sent right after this one, as segmentation offload does.
    pub(super) fn append(&mut self, next: &Self) {
        self.len += next.len;
        self.fin |= next.fin;
        self.cwr |= next.cwr;
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ecn = if self.ecn_capable { "[ect0] " } else { "" };
        let end = self.seq + self.len;
        write!(f, "{ecn}{} {}:{end}({})", self.flags(), self.seq, self.len)?;
        self.ack.map_or(Ok(()), |ack| write!(f, " ack {ack}"))
    }
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
