//! A packet in transit, a plain value of 32 bytes.

use cwndlab_network::impairments::EcnChange;
use cwndlab_traffic::datagrams::Datagram;
use cwndlab_transport::accecn::Codepoint;
use cwndlab_transport::wire::{expand, AckPacket, Data, PlainAck, TIMESTAMP_TICK};
use cwndlab_units::{Bytes, ConnectionId, Time};

/// A data segment.
pub const DATA: u8 = 0;
/// An acknowledgement.
pub const ACK: u8 = 1;
/// A SYN.
pub const SYN: u8 = 2;
/// A SYN-ACK.
pub const SYN_ACK: u8 = 3;
/// Mask of the kind in `flags`.
pub(crate) const KIND: u8 = 3;
/// A retransmission.
pub(crate) const RETRANSMISSION: u8 = 4;
/// AE: of a packet other than data, the highest bit of Accurate ECN (RFC 9768).
const AE: u8 = RETRANSMISSION;
/// ECN-capable, with the codepoint of the flow.
pub const ECT: u8 = 8;
/// Congestion experienced, together with [`ECT`]. Alone: the path changed the codepoint to the other ECT.
pub(crate) const CE: u8 = 16;
/// Mask of the ECN field.
pub(crate) const ECN: u8 = ECT | CE;
/// ECN echo of an ACK (ECE).
pub(crate) const ECE: u8 = 32;
/// PSH of a data segment, which has no ECN echo.
pub(crate) const PUSH: u8 = ECE;
/// Congestion window reduced (CWR).
pub(crate) const CWR: u8 = 64;
/// The packet has options ([`Packet::options`]).
pub(crate) const OPTIONS: u8 = 128;

/// Bits of a connection's index in a [`Tag`].
const INDEX_BITS: u32 = 24;
/// Maximum number of connections of a run.
pub const MAX_CONNECTIONS: usize = 1 << INDEX_BITS;

/// A connection, and in the highest byte its number modulo 256, which tells its packets from those of its predecessors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Tag(pub(crate) u32);

impl Tag {
    /// The tag of the connection with this number.
    #[must_use]
    pub fn new(connection: ConnectionId, number: u32) -> Self {
        Self(u32::from(connection) | number << INDEX_BITS)
    }

    /// The connection.
    #[inline]
    #[must_use]
    pub fn connection(self) -> ConnectionId {
        ConnectionId::from(self.0 & ((1 << INDEX_BITS) - 1))
    }

    /// The number of the connection, modulo 256.
    #[inline]
    #[must_use]
    pub fn number(self) -> u32 {
        self.0 >> INDEX_BITS
    }
}

/// A packet.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))] // two to a cache line, none across two
pub struct Packet {
    /// Arrival time at the end of its current link.
    pub at: Time,
    /// Timestamp value of a data segment, timestamp echo of an ACK.
    pub timestamp: Time,
    /// Segment number of a data segment, cumulative acknowledgement of an ACK, timestamp echo of a SYN-ACK in ms, modulo 2³².
    pub seq: u32,
    /// Its connection.
    pub(crate) tag: Tag,
    /// The payload of a data segment, the window of an ACK, or the index of what the packet itself has no room for. While
    /// packets are recorded, the index of an entry of the tap.
    pub(crate) aux: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Position on its route: the number of links entered; 255 after the last one.
    pub(crate) hop: u8,
    /// Kind and flags.
    pub(crate) flags: u8,
}

/// The bits AE, CWR and ECE of these flags of Accurate ECN in the flags of a packet.
#[must_use]
pub fn accecn_flags(flags: u8) -> u8 {
    ((flags & 1) * ECE) | (((flags >> 1) & 1) * CWR) | (((flags >> 2) & 1) * AE)
}

impl Packet {
    /// A packet without contents, with these flags, sent at `now`.
    #[inline]
    #[must_use]
    pub fn new(flags: u8, tag: Tag, now: Time, size: u16) -> Self {
        Self { at: Time::ZERO, timestamp: now, seq: 0, tag, aux: 0, size, hop: 0, flags }
    }

    /// A SYN-ACK with these flags of Accurate ECN, sent at `now`, that echoes the timestamp of the SYN.
    #[must_use]
    pub fn syn_ack(flags: u8, tag: Tag, now: Time, echo: Time, size: u16) -> Self {
        Self { seq: (echo.as_nanos() / TIMESTAMP_TICK) as u32, ..Self::new(SYN_ACK | flags, tag, now, size) }
    }

    /// The timestamp that a SYN-ACK echoes, in whole ticks; `now`: a time after it.
    #[must_use]
    pub fn echo_of_syn(&self, now: Time) -> Time {
        Time::from_nanos(expand(self.seq, now.as_nanos() / TIMESTAMP_TICK) * TIMESTAMP_TICK)
    }

    /// The packet of a datagram that is sent at `now`.
    #[must_use]
    pub fn datagram(tag: Tag, now: Time, one: &Datagram) -> Self {
        let flags = if one.is_ecn_capable { DATA | ECT } else { DATA };
        Self { seq: one.seq, aux: one.len, ..Self::new(flags, tag, now, one.size) }
    }

    /// The packet of a data segment.
    #[allow(clippy::inline_always)] // called for each segment of a burst: common values stay in registers
    #[inline(always)]
    #[must_use]
    pub fn data(tag: Tag, segment: &Data, size: u16) -> Self {
        let mut flags = DATA;
        if segment.retransmission {
            flags |= RETRANSMISSION;
        }
        if segment.ect {
            flags |= ECT;
        }
        if segment.cwr {
            flags |= CWR;
        }
        if segment.push {
            flags |= PUSH;
        }
        Self { seq: segment.seq as u32, aux: segment.len, ..Self::new(flags, tag, segment.timestamp, size) }
    }

    /// The packet of an ACK without its options; the window is shifted right by `window_shift` bits.
    #[inline]
    #[must_use]
    pub fn ack(tag: Tag, ack: &AckPacket, window_shift: u8, size: u16) -> Self {
        let AckPacket { ack: next, window, echo, ece, .. } = *ack;
        let packet = Self::plain_ack(tag, PlainAck { ack: next, window, echo, ece }, window_shift, size);
        let accecn = ack.accecn.map_or(0, |feedback| accecn_flags(feedback.ace));
        Self { flags: packet.flags | accecn, ..packet }
    }

    /// The packet of an ACK without options; the window is shifted right by `window_shift` bits.
    #[allow(clippy::inline_always)] // as a call it would store the ACK and load it again
    #[inline(always)]
    #[must_use]
    pub fn plain_ack(tag: Tag, ack: PlainAck, window_shift: u8, size: u16) -> Self {
        let flags = if ack.ece { ACK | ECE } else { ACK };
        let aux = (ack.window.0 >> window_shift) as u32;
        Self { seq: ack.ack as u32, aux, ..Self::new(flags, tag, ack.echo, size) }
    }

    /// The packet with the options of this index (module `packet_options`), which replaces the window or the payload.
    #[inline]
    #[must_use]
    pub fn with_options(self, index: u32) -> Self {
        Self { aux: index, flags: self.flags | OPTIONS, ..self }
    }

    /// The packet, ECN-capable with the codepoint of the flow.
    #[inline]
    #[must_use]
    pub fn with_ect(self) -> Self {
        Self { flags: self.flags | ECT, ..self }
    }

    /// The packet with contents that the caller has stored under this number.
    #[must_use]
    pub fn with_stored(self, number: u32) -> Self {
        Self { aux: number, ..self }
    }

    /// The data segment of a packet without options; `near` is the segment expected.
    #[inline]
    #[must_use]
    pub fn to_data(&self, near: u64) -> Data {
        Data {
            seq: expand(self.seq, near),
            len: self.aux,
            retransmission: self.flags & RETRANSMISSION != 0,
            ect: self.is_ecn_capable(),
            ect_changed: self.has_other_ect(),
            cwr: self.flags & CWR != 0,
            push: self.flags & PUSH != 0,
            timestamp: self.timestamp,
            feedback: None,
        }
    }

    /// The ACK of a packet without options; `near` is the segment number acknowledged last.
    #[inline]
    #[must_use]
    pub fn to_plain_ack(&self, near: u64, window_shift: u8) -> PlainAck {
        PlainAck {
            ack: expand(self.seq, near),
            window: self.window(window_shift),
            echo: self.timestamp,
            ece: self.flags & ECE != 0,
        }
    }

    /// The window of an ACK without options.
    #[inline]
    #[must_use]
    pub fn window(&self, window_shift: u8) -> Bytes {
        Bytes(u64::from(self.aux) << window_shift)
    }

    /// The payload of a data packet without options, bytes.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> u32 {
        self.aux
    }

    /// The index of the options of the packet.
    #[inline]
    #[must_use]
    pub fn options(&self) -> Option<u32> {
        (self.flags & OPTIONS != 0).then_some(self.aux)
    }

    /// The index of the options of a data segment.
    #[inline]
    #[must_use]
    pub fn segment_options(&self) -> Option<u32> {
        (self.flags & (OPTIONS | KIND) == OPTIONS | DATA).then_some(self.aux)
    }

    /// The number under which the caller has stored the contents.
    #[must_use]
    pub fn stored(&self) -> u32 {
        self.aux
    }

    /// The kind of the packet.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.flags & KIND
    }

    /// Its connection, and the number of the connection.
    #[inline]
    #[must_use]
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Its connection.
    #[inline]
    #[must_use]
    pub fn connection(&self) -> ConnectionId {
        self.tag.connection()
    }

    /// Whether it is ECN-capable.
    #[inline]
    #[must_use]
    pub fn is_ecn_capable(&self) -> bool {
        self.flags & ECN != 0
    }

    /// The flags AE, CWR and ECE of a packet other than data.
    #[must_use]
    pub fn accecn_flags(&self) -> u8 {
        u8::from(self.flags & ECE != 0) | u8::from(self.flags & CWR != 0) << 1 | u8::from(self.flags & AE != 0) << 2
    }

    /// The codepoint of its ECN field, in a flow that sends ECT(1) if `ect1`.
    #[must_use]
    pub fn codepoint(&self, ect1: bool) -> Codepoint {
        match self.flags & ECN {
            0 => Codepoint::NotEct,
            ECN => Codepoint::Ce,
            field if (field == ECT) == ect1 => Codepoint::Ect1,
            _ => Codepoint::Ect0,
        }
    }

    /// Changes the ECN field, in a flow that sends ECT(1) if `ect1`.
    pub(crate) fn change_ecn(&mut self, change: EcnChange, ect1: bool) {
        let field = match (change, self.flags & ECN) {
            (_, 0) | (EcnChange::Bleach, _) | (EcnChange::ClearCe, ECN) => 0,
            (EcnChange::Ect0, ECT | CE) => {
                if ect1 {
                    CE
                } else {
                    ECT
                }
            }
            (EcnChange::Unmark, ECN) => ECT,
            (EcnChange::Mark, _) => ECN,
            (_, field) => field,
        };
        self.flags = self.flags & !ECN | field;
    }

    /// Whether a link changed ECT(1) to ECT(0).
    #[inline]
    #[must_use]
    pub fn has_other_ect(&self) -> bool {
        self.flags & ECN == CE
    }

    /// Whether a queue has marked it: congestion experienced.
    #[inline]
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.flags & ECN == ECN
    }

    /// Whether it travels from the sender to the receiver.
    #[inline]
    #[must_use]
    pub fn is_forward(&self) -> bool {
        matches!(self.kind(), DATA | SYN)
    }
}

const _: () = assert!(size_of::<Packet>() == 32);

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 300 is 44 modulo 256.
    #[test]
    fn a_tag_has_the_connection_and_its_number_modulo_256() {
        let tag = Tag::new(ConnectionId::from(MAX_CONNECTIONS as u32 - 1), 300);
        assert_eq!((tag.connection().index(), tag.number()), (MAX_CONNECTIONS - 1, 44));
    }

    /// RFC 9768, figure 2: AE, CWR and ECE are the bits of ACE, the highest first.
    #[test]
    fn the_flags_of_accurate_ecn_are_those_of_ack_and_syn_ack() {
        for flags in 0..8 {
            assert_eq!(Packet::new(ACK | accecn_flags(flags), Tag::default(), Time::ZERO, 52).accecn_flags(), flags);
        }
    }

    /// RFC 3168, section 5: the four codepoints of a flow with ECT(1), and those of one with ECT(0).
    #[test]
    fn the_codepoint_depends_on_the_flow_and_on_changes_by_the_path() {
        let of = |flags| Packet::new(DATA | flags, Tag::default(), Time::ZERO, 1500);
        assert_eq!(
            [0, ECT, CE, ECN].map(|flags| of(flags).codepoint(true)),
            [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce]
        );
        assert_eq!([ECT, CE].map(|flags| of(flags).codepoint(false)), [Codepoint::Ect0, Codepoint::Ect1]);
        assert_eq!([0, ECT, CE, ECN].map(|flags| of(flags).is_marked()), [false, false, false, true]);
    }

    /// By hand: the fields after each change, from Not-ECT, ECT(1), ECT(0) and CE.
    #[test]
    fn a_wire_changes_the_ecn_field() {
        use Codepoint::{Ce, Ect0, Ect1, NotEct};
        let after = |change| {
            [0, ECT, CE, ECN].map(|flags| {
                let mut packet = Packet::new(DATA | flags, Tag::default(), Time::ZERO, 1500);
                packet.change_ecn(change, true);
                packet.codepoint(true)
            })
        };
        assert_eq!(after(EcnChange::Bleach), [NotEct; 4]);
        assert_eq!(after(EcnChange::ClearCe), [NotEct, Ect1, Ect0, NotEct]);
        assert_eq!(after(EcnChange::Ect0), [NotEct, Ect0, Ect0, Ce]);
        assert_eq!(after(EcnChange::Unmark), [NotEct, Ect1, Ect0, Ect1]);
        assert_eq!(after(EcnChange::Mark), [NotEct, Ce, Ce, Ce]);
    }

    /// RFC 9293, section 3.4: a number of 32 bits stands for the one nearest to the number expected.
    #[test]
    fn a_packet_returns_its_segment_unless_a_router_header_replaces_the_payload() {
        let segment = Data {
            seq: (1 << 32) + 5,
            len: 1448,
            retransmission: true,
            ect: false,
            ect_changed: false,
            cwr: true,
            push: true,
            timestamp: Time::from_nanos(9),
            feedback: None,
        };
        let packet = Packet::data(Tag::default(), &segment, 1500);
        assert_eq!((packet.to_data((1 << 32) - 7), packet.options()), (segment, None));
        assert_eq!(packet.with_options(3).options(), Some(3));
    }
}
