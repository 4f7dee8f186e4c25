//! Accurate ECN on the wire: negotiation, the ACE field, and the AccECN option (RFC 9768).
//!
//! The receiver counts packets with a CE mark, and the payload bytes of each codepoint. An ACK carries the packet counter
//! modulo 8 (ACE), and in the option the byte counters modulo 2²⁴. The sender reconstructs the number of new marks,
//! also if ACKs were lost or thinned out (Linux, `__tcp_accecn_process`).

use cwndlab_units::Bytes;

use crate::accecn_option::{place, AccEcnOption, ByteCounters, Changes, Order};
use crate::stack::{Ecn, PeerEcn};

/// Mask of the ACE field.
const ACE: u32 = 7;
/// Initial packet counter: a zeroed field is detected (section 3.2.2.4).
const INITIAL_PACKETS: u32 = 5;
/// Initial byte counters: a zeroed option is detected (section 3.2.3.2.4).
const INITIAL_BYTES: ByteCounters = ByteCounters { ect0: 1, ce: 0, ect1: 1 };
/// Bits of a byte counter in the option.
const COUNTER_BITS: u32 = 24;
/// Mean packets per ACK above which ACKs are assumed to be thinned out, so that a large one is no sign of lost ACKs (Linux,
/// `ACK_COMP_THRESH`).
const THINNED: u32 = 4;
/// Fractional bits and weight of that mean (Linux, `PKTS_ACKED_PREC`, `PKTS_ACKED_WEIGHT`).
const MEAN_SHIFT: u32 = 6;
/// CE marks after which an ACK is sent, with unacknowledged data (section 3.2.2.5.1).
const MARKS_PER_ACK: u32 = 2;
/// CE marks of ACKs after which they are acknowledged, without unacknowledged data (section 3.2.2.5.1).
const MARKS_PER_ACK_OF_ACKS: u32 = 3;

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codepoint {
    /// Not ECN-capable.
    NotEct,
    /// ECT(1): L4S.
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// The flags AE, CWR and ECE of a SYN that requests Accurate ECN.
pub const SYN_FLAGS: u8 = 0b111;

/// The flags of the SYN-ACK in reply to a SYN with `flags` that arrived with this codepoint (section 3.1.2, table 2; a
/// SYN with any flags but 000 and 011 counts as 111).
#[must_use]
pub fn syn_ack_flags(flags: u8, arrived: Codepoint, server: PeerEcn) -> u8 {
    match (flags & SYN_FLAGS, server) {
        (0b000, _) | (_, PeerEcn::Off) => 0b000,
        (0b011, _) | (0b111, PeerEcn::Classic) => 0b001,
        (_, PeerEcn::Classic) => 0b000, // RFC 3168, section 6.1.1: both CWR and ECE, and it does not know AE
        _ => handshake_encoding(arrived),
    }
}

/// The encoding of an arriving codepoint on the SYN-ACK, and on the ACK of the SYN-ACK (tables 2 and 3).
#[must_use]
pub fn handshake_encoding(arrived: Codepoint) -> u8 {
    match arrived {
        Codepoint::NotEct => 0b010,
        Codepoint::Ect1 => 0b011,
        Codepoint::Ect0 => 0b100,
        Codepoint::Ce => 0b110,
    }
}

/// The mode of a client that requested Accurate ECN, by the flags of the SYN-ACK (table 2). `None` of the codepoint: the
/// reply does not tell it.
#[must_use]
pub fn client_mode(flags: u8) -> (Ecn, Option<Codepoint>) {
    match flags & SYN_FLAGS {
        0b010 => (Ecn::AccEcn, Some(Codepoint::NotEct)),
        0b011 => (Ecn::AccEcn, Some(Codepoint::Ect1)),
        0b100 => (Ecn::AccEcn, Some(Codepoint::Ect0)),
        0b110 => (Ecn::AccEcn, Some(Codepoint::Ce)),
        0b101 => (Ecn::AccEcn, None),
        0b001 => (Ecn::Classic, None),
        _ => (Ecn::Off, None), // 000: no ECN; 111: broken, or the SYN's flags reflected
    }
}

/// The mode that a client with `own` negotiates with a peer that supports `peer`.
#[must_use]
pub fn negotiate(own: Ecn, peer: PeerEcn) -> Ecn {
    match (own, peer) {
        (Ecn::Off, _) | (_, PeerEcn::Accurate) | (Ecn::Classic, PeerEcn::Classic) => own,
        _ => client_mode(syn_ack_flags(SYN_FLAGS, Codepoint::NotEct, peer)).0,
    }
}

/// Whether the path changed the ECN field in a way that RFC 3168 forbids (section 3.2.2.3): Not-ECT or CE changed, or ECT
/// became Not-ECT. The sender then sends packets that are not ECN-capable, and still responds to marks.
#[must_use]
pub fn is_invalid(sent: Codepoint, arrived: Codepoint) -> bool {
    match sent {
        Codepoint::NotEct | Codepoint::Ce => arrived != sent,
        Codepoint::Ect0 | Codepoint::Ect1 => arrived == Codepoint::NotEct,
    }
}

/// The feedback of one ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcnFeedback {
    /// The ACE field.
    pub ace: u8,
    /// The option; `None` if the ACK has none.
    pub option: Option<AccEcnOption>,
    /// The timestamp of the ACK is newer than those of all before it, so that it is not superseded though it delivers
    /// nothing (appendix A.1, `newlyAckedT`). An endpoint that does not compare timestamps of ACKs leaves it unset.
    pub newer: bool,
}

/// When a receiver sends the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionUse {
    /// Never.
    Never,
    /// Where a counter changed, in the more efficient order (section 3.2.3.3).
    WhenChanged,
    /// On each packet where it fits, in order 1 (Linux).
    Always,
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct MarkCounters {
    packets: u32,
    bytes: ByteCounters,
    /// Marks since the last ACK.
    unreported: u32,
    /// The last packet had a mark.
    was_marked: bool,
    /// Counters of bytes that changed since the last option.
    changed: Changes,
    /// Counters of bytes that ever changed.
    used: Changes,
    /// The first option is still to be sent, which tests the path (section 3.2.3.2).
    first: bool,
    /// A SYN-ACK had a mark.
    syn_ack_marked: bool,
}

impl Default for MarkCounters {
    fn default() -> Self {
        let none = Changes::default();
        Self {
            packets: INITIAL_PACKETS,
            bytes: INITIAL_BYTES,
            unreported: 0,
            was_marked: false,
            changed: none,
            used: none,
            first: true,
            syn_ack_marked: false,
        }
    }
}

impl MarkCounters {
    /// Handles a SYN-ACK at the client. A mark counts once, however many SYN-ACKs have one (section 3.2.2.2).
    pub fn on_syn_ack(&mut self, arrived: Codepoint) {
        if arrived == Codepoint::Ce && !self.syn_ack_marked {
            self.packets = self.packets.wrapping_add(1);
            self.syn_ack_marked = true;
        }
    }

    /// Packets that arrived with CE, and payload by codepoint, modulo 2²⁴.
    #[must_use]
    pub fn received(&self) -> MarkTotals {
        MarkTotals::since_start(self.packets, self.bytes)
    }

    /// Whether ACKs with marks are to be acknowledged: three are unreported, and no data is unacknowledged (section
    /// 3.2.2.5.1). The ACK of ACKs has no SACK blocks, which tells it from a duplicate ACK.
    #[must_use]
    pub fn acknowledges_acks(&self) -> bool {
        self.unreported >= MARKS_PER_ACK_OF_ACKS
    }

    /// Counts a packet with `len` bytes of payload. Returns whether an ACK is due: marking began, or two marks are
    /// unreported (section 3.2.2.5.1).
    pub fn on_packet(&mut self, arrived: Codepoint, len: u32) -> bool {
        let marked = arrived == Codepoint::Ce;
        let began = marked && !self.was_marked;
        self.was_marked = marked;
        self.packets = self.packets.wrapping_add(u32::from(marked));
        self.unreported += u32::from(marked);
        let (counter, changed, used) = match arrived {
            Codepoint::NotEct => return false,
            Codepoint::Ect0 => (&mut self.bytes.ect0, &mut self.changed.ect0, &mut self.used.ect0),
            Codepoint::Ect1 => (&mut self.bytes.ect1, &mut self.changed.ect1, &mut self.used.ect1),
            Codepoint::Ce => (&mut self.bytes.ce, &mut self.changed.ce, &mut self.used.ce),
        };
        *counter = counter.wrapping_add(len) & ((1 << COUNTER_BITS) - 1);
        (*changed, *used) = (*changed || len > 0, *used || len > 0);
        began || self.unreported >= MARKS_PER_ACK
    }

    /// The feedback of the next ACK, which has `blocks` SACK blocks, and the number of blocks beside it. The option is left
    /// out if it does not fit (section 3.2.3.3).
    pub fn feedback(&mut self, blocks: u8, timestamps: bool, option: OptionUse) -> (AccEcnFeedback, u8) {
        self.unreported = 0;
        let ace = (self.packets & ACE) as u8;
        let changed = self.first || self.changed != Changes::default();
        let is_due = option == OptionUse::Always || option == OptionUse::WhenChanged && changed;
        let ect0_first = option == OptionUse::WhenChanged && self.used.ect0 && !self.used.ect1;
        let order = if ect0_first { Order::Ect0First } else { Order::Ect1First };
        let place = is_due.then(|| place(self.changed.required(order), blocks, timestamps)).flatten();
        let Some(place) = place else { return (AccEcnFeedback { ace, option: None, newer: false }, blocks) };
        (self.first, self.changed) = (false, Changes::default());
        let option = AccEcnOption { order, fields: place.fields, size: place.size, counters: self.bytes };
        (AccEcnFeedback { ace, option: Some(option), newer: false }, place.blocks)
    }
}

/// Marked packets, and payload by codepoint, since the start of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkTotals {
    /// Packets with CE.
    pub packets: u32,
    /// Payload by codepoint, modulo 2²⁴.
    pub bytes: ByteCounters,
}

impl MarkTotals {
    /// The totals behind counters, which do not begin at zero.
    fn since_start(packets: u32, bytes: ByteCounters) -> Self {
        let since = |value: u32, initial| value.wrapping_sub(initial) & ((1 << COUNTER_BITS) - 1);
        let ByteCounters { ect0, ce, ect1 } = bytes;
        let bytes = ByteCounters {
            ect0: since(ect0, INITIAL_BYTES.ect0),
            ce: since(ce, INITIAL_BYTES.ce),
            ect1: since(ect1, INITIAL_BYTES.ect1),
        };
        Self { packets: packets.wrapping_sub(INITIAL_PACKETS), bytes }
    }
}

/// What an ACK delivered, for the interpretation of its ACE field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    /// Packets newly delivered.
    pub(crate) packets: u32,
    /// Their payload.
    pub(crate) bytes: Bytes,
}

/// What the sender concludes from the options so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Options {
    /// None arrived.
    None,
    /// They are used.
    Used,
    /// The first one was cleared by the path; they are ignored (section 3.2.3.2.4).
    Ignored,
}

/// The marks that an ACK newly reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Marked packets.
    pub(crate) packets: u32,
    /// The option reports marked bytes, but the ACE field no marked packet: the path changes the feedback (section
    /// 3.2.3.2.5).
    pub(crate) is_contradiction: bool,
}

/// The sender's copy of the receiver's counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AceDecoder {
    packets: u32,
    bytes: ByteCounters,
    options: Options,
    /// Packets delivered, and marks reported by the ACE field, since the last counter of marked bytes.
    since_option: Delivered,
    marked_since_option: u32,
    /// Mean packets per ACK in 1/64; 0 before the first.
    mean: u32,
    mss: u32,
}

impl AceDecoder {
    /// The state before the first ACK of a connection with this segment size.
    pub(crate) fn new(mss: u32) -> Self {
        Self {
            packets: INITIAL_PACKETS,
            bytes: INITIAL_BYTES,
            options: Options::None,
            since_option: Delivered { packets: 0, bytes: Bytes::ZERO },
            marked_since_option: 0,
            mean: 0,
            mss,
        }
    }

    /// Counts the mark of the SYN-ACK, which the ACK of it reported (section 3.2.2.1, table 4).
    pub(crate) fn count_syn_ack_mark(&mut self) {
        self.packets = self.packets.wrapping_add(1);
    }

    /// Handles the option of a packet of the handshake, which tests the path (section 3.2.3.2.4).
    pub(crate) fn on_handshake_option(&mut self, option: AccEcnOption) {
        self.marked_bytes(Some(option));
    }

    /// The marks that ACKs reported so far.
    pub(crate) fn reported(&self) -> MarkTotals {
        MarkTotals::since_start(self.packets, self.bytes)
    }

    /// The marks that an ACK newly reports. An ACK that delivers nothing may be superseded, unless it is newer than all
    /// others; otherwise its counters wait for the next one (appendix A.1; Linux: no forward progress).
    pub(crate) fn on_ack(&mut self, feedback: AccEcnFeedback, delivered: Delivered) -> Marks {
        if delivered.packets == 0 && !feedback.newer {
            return Marks::default();
        }
        let ce_bytes = self.marked_bytes(feedback.option);
        let sample = delivered.packets << MEAN_SHIFT;
        self.mean = match self.mean {
            mean if sample == 0 => mean,
            0 => sample,
            mean => ((((mean << MEAN_SHIFT) - mean) + sample) >> MEAN_SHIFT).min(0xffff),
        };
        let delta = u32::from(feedback.ace).wrapping_sub(self.packets) & ACE;
        self.since_option.packets += delivered.packets;
        self.since_option.bytes += delivered.bytes;
        self.marked_since_option += delta;
        let is_contradiction = ce_bytes.is_some_and(|bytes| self.is_contradiction(bytes));
        if ce_bytes.is_some() {
            self.since_option = Delivered { packets: 0, bytes: Bytes::ZERO };
            self.marked_since_option = 0;
        }
        let marked = self.marked(delta, ce_bytes, delivered);
        self.packets = self.packets.wrapping_add(marked);
        Marks { packets: marked, is_contradiction }
    }

    /// The marked bytes that an option newly reports; `None` if it does not have their counter. Only a counter that did not
    /// change is left out, but the option that had it may be lost.
    fn marked_bytes(&mut self, option: Option<AccEcnOption>) -> Option<u32> {
        let option = option?;
        if self.options == Options::None {
            self.options = if option.is_zeroed() { Options::Ignored } else { Options::Used };
        }
        if self.options == Options::Ignored {
            return None;
        }
        self.bytes.ect0 = option.ect0().unwrap_or(self.bytes.ect0);
        self.bytes.ect1 = option.ect1().unwrap_or(self.bytes.ect1);
        let ce = option.ce()?;
        let bytes = ce.wrapping_sub(self.bytes.ce) & ((1 << COUNTER_BITS) - 1);
        self.bytes.ce = ce;
        Some(bytes)
    }

    /// Whether `ce_bytes` newly marked bytes contradict the ACE field: it did not change since the last counter of bytes,
    /// and cannot have wrapped, because fewer than eight packets were delivered since then.
    fn is_contradiction(&self, ce_bytes: u32) -> bool {
        let Delivered { packets, bytes } = self.since_option;
        ce_bytes > 0 && self.marked_since_option == 0 && packets <= ACE && u64::from(ce_bytes) <= bytes.0
    }

    /// The number of marks behind a difference of `delta` of the ACE field. If it can have wrapped, the option decides; without
    /// the option the largest possible number, unless ACKs of many packets are usual (section 3.2.2.5.2; appendix A.2).
    fn marked(&self, delta: u32, ce_bytes: Option<u32>, Delivered { packets, bytes }: Delivered) -> u32 {
        if packets <= ACE {
            return delta;
        }
        let safe = packets - (packets.wrapping_sub(delta) & ACE);
        match ce_bytes {
            None if self.mean > THINNED << MEAN_SHIFT => delta,
            Some(0) => delta,
            Some(marked) if packets >= 2 * (ACE + 1) => {
                let marked = u64::from(marked);
                if bytes.0 <= marked {
                    return safe;
                }
                let estimate = (marked * u64::from(packets)).div_ceil(bytes.0) as u32;
                safe.min(delta + (estimate & !ACE))
            }
            Some(marked) if marked > delta * self.mss => safe,
            Some(marked) if marked < (safe * self.mss) >> 1 => delta,
            _ => safe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn ace(ace: u8) -> AccEcnFeedback {
        AccEcnFeedback { ace, option: None, newer: false }
    }

    /// An option of order 1 with this counter of CE and number of counters.
    fn option(ce: u32, fields: u8) -> AccEcnOption {
        let counters = ByteCounters { ect0: 1, ce, ect1: 1 };
        AccEcnOption { order: Order::Ect1First, fields, size: 12, counters }
    }

    fn with_option(ace: u8, ce: u32, fields: u8) -> AccEcnFeedback {
        AccEcnFeedback { ace, option: Some(option(ce, fields)), newer: false }
    }

    fn delivered(packets: u32) -> Delivered {
        Delivered { packets, bytes: Bytes(u64::from(packets * MSS)) }
    }

    /// Marks by a decoder whose copy of the counter is `packets`.
    fn decode(packets: u32, feedback: AccEcnFeedback, of: u32) -> u32 {
        AceDecoder { packets, ..AceDecoder::new(MSS) }.on_ack(feedback, delivered(of)).packets
    }

    /// RFC 9768, table 2: the SYN-ACK tells the codepoint of the SYN, and both ends derive the mode.
    #[test]
    fn the_syn_ack_encodes_the_codepoint_of_the_syn() {
        let codepoints = [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce];
        for (codepoint, flags) in codepoints.into_iter().zip([0b010, 0b011, 0b100, 0b110]) {
            assert_eq!(syn_ack_flags(0b111, codepoint, PeerEcn::Accurate), flags);
            assert_eq!(client_mode(flags), (Ecn::AccEcn, Some(codepoint)));
        }
        assert_eq!(client_mode(0b101), (Ecn::AccEcn, None));
    }

    /// RFC 9768, table 2: a server without Accurate ECN replies 001 or 000; 111 is a broken reply.
    #[test]
    fn the_client_falls_back_to_classic_ecn_and_to_none() {
        assert_eq!(syn_ack_flags(0b111, Codepoint::NotEct, PeerEcn::Classic), 0b001);
        assert_eq!(syn_ack_flags(0b111, Codepoint::NotEct, PeerEcn::Off), 0b000);
        assert_eq!([0b001, 0b000, 0b111].map(|flags| client_mode(flags).0), [Ecn::Classic, Ecn::Off, Ecn::Off]);
        assert_eq!(negotiate(Ecn::AccEcn, PeerEcn::Accurate), Ecn::AccEcn);
        assert_eq!(negotiate(Ecn::AccEcn, PeerEcn::Classic), Ecn::Classic);
        assert_eq!(negotiate(Ecn::Classic, PeerEcn::Classic), Ecn::Classic);
        assert_eq!(negotiate(Ecn::Dctcp, PeerEcn::Off), Ecn::Off);
    }

    /// RFC 9768, section 3.1.5 and table 2: a server with Accurate ECN replies to a classic SYN (011) with 001, to one without
    /// ECN with 000, and reads any other combination as a request for Accurate ECN.
    #[test]
    fn the_server_accepts_older_and_unknown_requests() {
        let reply = |flags| syn_ack_flags(flags, Codepoint::NotEct, PeerEcn::Accurate);
        assert_eq!([0b011, 0b000].map(reply), [0b001, 0b000]);
        assert_eq!([0b001, 0b010, 0b100, 0b101, 0b110, 0b111].map(reply), [0b010; 6]);
        // RFC 3168, section 6.1.1: a server of classic ECN needs both of its flags, and does not know AE.
        let classic = |flags| syn_ack_flags(flags, Codepoint::NotEct, PeerEcn::Classic);
        assert_eq!([0b011, 0b111].map(classic), [0b001; 2]);
        assert_eq!([0b001, 0b010, 0b100, 0b101, 0b110].map(classic), [0b000; 5]);
    }

    /// RFC 9768, section 3.2.2.3, the three invalid transitions.
    #[test]
    fn invalid_transitions_of_the_ecn_field_are_detected() {
        use Codepoint::{Ce, Ect0, Ect1, NotEct};
        let invalid =
            [(NotEct, Ect0), (NotEct, Ect1), (NotEct, Ce), (Ect0, NotEct), (Ect1, NotEct), (Ce, NotEct), (Ce, Ect1)];
        let valid = [(NotEct, NotEct), (Ect0, Ce), (Ect1, Ce), (Ect1, Ect0), (Ect0, Ect1), (Ce, Ce)];
        assert!(invalid.iter().all(|&(sent, arrived)| is_invalid(sent, arrived)));
        assert!(!valid.iter().any(|&(sent, arrived)| is_invalid(sent, arrived)));
    }

    /// RFC 9768, section 3.2.2: the first ACK without marks carries ACE = 5, and the counters of ECT begin at 1.
    #[test]
    fn counters_begin_with_values_that_show_zeroing() {
        let (first, _) = MarkCounters::default().feedback(0, true, OptionUse::WhenChanged);
        let option = first.option.expect("the first ACK tests the path");
        assert_eq!((first.ace, option.ect0(), option.ce(), option.ect1()), (0b101, Some(1), Some(0), Some(1)));
    }

    /// RFC 9768, section 3.2.2.5.1: an ACK when marking begins, and one for every second mark.
    #[test]
    fn marks_trigger_acks() {
        let mut counters = MarkCounters::default();
        assert!(!counters.on_packet(Codepoint::Ect1, MSS));
        assert!(counters.on_packet(Codepoint::Ce, MSS));
        counters.feedback(0, true, OptionUse::Never);
        assert_eq!([(); 3].map(|()| counters.on_packet(Codepoint::Ce, MSS)), [false, true, true]);
        counters.feedback(0, true, OptionUse::Never);
        assert!(!counters.on_packet(Codepoint::Ect0, MSS));
        assert!(counters.on_packet(Codepoint::Ce, MSS));
    }

    /// RFC 9768, section 3.2.2.5.1: marks of ACKs are acknowledged too, so that n is 3, at least 3 and at most 7.
    #[test]
    fn the_third_mark_of_an_ack_is_acknowledged() {
        let mut counters = MarkCounters::default();
        let due = [(); 3].map(|()| {
            counters.on_packet(Codepoint::Ce, 0);
            counters.acknowledges_acks()
        });
        assert_eq!(due, [false, false, true]);
        counters.feedback(0, true, OptionUse::Never);
        assert!(!counters.acknowledges_acks());
    }

    /// RFC 9768, section 3.2.2.2: of several marked SYN-ACKs one counts, and 3.2.2.1: other codepoints leave r.cep at 5.
    #[test]
    fn a_mark_of_the_syn_ack_counts_once() {
        use Codepoint::{Ce, Ect0, Ect1, NotEct};
        let ace = |syn_acks: &[Codepoint]| {
            let mut counters = MarkCounters::default();
            for &arrived in syn_acks {
                counters.on_syn_ack(arrived);
            }
            (counters.feedback(0, true, OptionUse::Never).0.ace, counters.received().bytes)
        };
        assert_eq!(ace(&[NotEct, Ect0, Ect1]), (5, ByteCounters::default()));
        assert_eq!(ace(&[Ce, Ect0, Ce]), (6, ByteCounters::default()));
    }

    /// Linux, `tcp_ecn_option` of 2: the option is on each packet, in order 1, also without a change.
    #[test]
    fn the_option_of_linux_is_on_each_packet() {
        let mut counters = MarkCounters::default();
        counters.on_packet(Codepoint::Ect0, MSS);
        let options = [(); 2].map(|()| counters.feedback(0, true, OptionUse::Always).0.option);
        assert!(options.iter().flatten().all(|option| option.order == Order::Ect1First && option.fields == 3));
        assert_eq!(options.map(|option| option.and_then(|option| option.ect0())), [Some(MSS + 1); 2]);
    }

    /// RFC 9768, section 3.2.3: bytes by codepoint, payload only, modulo 2²⁴; a pure control packet counts in ACE.
    #[test]
    fn the_option_counts_payload_by_codepoint() {
        let mut counters =
            MarkCounters { bytes: ByteCounters { ect0: 0xff_ffff, ce: 0, ect1: 1 }, ..MarkCounters::default() };
        for (codepoint, len) in
            [(Codepoint::Ect0, 2), (Codepoint::Ect1, 10), (Codepoint::Ce, 0), (Codepoint::NotEct, 50)]
        {
            counters.on_packet(codepoint, len);
        }
        let (feedback, _) = counters.feedback(0, true, OptionUse::WhenChanged);
        let option = feedback.option.expect("counters changed");
        assert_eq!((option.ect0(), option.ce(), option.ect1()), (Some(1), Some(0), Some(11)));
        assert_eq!(feedback.ace, 6);
    }

    /// RFC 9768, section 3.2.3.3: no option without a change; and if the counters that changed do not fit, none at all, until
    /// they do. 40 bytes of options, by hand: 12 of timestamps, 4 + 8 n of SACK.
    #[test]
    fn the_option_is_left_out_without_a_change_or_room() {
        let fields = |counters: &mut MarkCounters, blocks| {
            let (feedback, blocks) = counters.feedback(blocks, true, OptionUse::WhenChanged);
            (feedback.option.map(|option| option.fields), blocks)
        };
        let mut counters = MarkCounters::default();
        assert_eq!(fields(&mut counters, 1), (Some(3), 1), "the first one tests the path");
        assert_eq!(fields(&mut counters, 0), (None, 0));
        counters.on_packet(Codepoint::Ect0, MSS);
        counters.on_packet(Codepoint::Ect1, MSS);
        assert_eq!(fields(&mut counters, 2), (None, 2), "all three are required, and two blocks precede");
        assert_eq!(fields(&mut counters, 1), (Some(3), 1));
        counters.on_packet(Codepoint::Ce, MSS);
        assert_eq!(fields(&mut counters, 3), (Some(2), 2), "ECT(1) and CE displace a block");
        assert_eq!(counters.feedback(0, true, OptionUse::Never).0.option, None);
    }

    /// RFC 9768, section 3.2.3: the order is the more efficient one, so that a flow with ECT(0) begins with its counter.
    #[test]
    fn the_counter_in_use_is_first() {
        for (codepoint, expected) in [(Codepoint::Ect0, Order::Ect0First), (Codepoint::Ect1, Order::Ect1First)] {
            let mut counters = MarkCounters::default();
            counters.on_packet(codepoint, MSS);
            let (feedback, _) = counters.feedback(2, true, OptionUse::WhenChanged);
            let option = feedback.option.expect("a counter changed");
            assert_eq!((option.order, option.fields, option.size), (expected, 2, 8));
        }
    }

    /// RFC 9768, appendix A.2, and Linux, `__tcp_accecn_process`, by hand.
    #[test]
    fn the_ace_field_is_decoded_on_the_safe_side() {
        assert_eq!(decode(5, ace(6), 2), 1);
        assert_eq!(decode(7, ace(1), 2), 2);
        assert_eq!(decode(5, ace(5), 3), 0);
        // The mean is below 4 packets per ACK.
        let safe = |delta: u8, packets| {
            let mut decoder = AceDecoder { packets: 0, mean: 2 << MEAN_SHIFT, ..AceDecoder::new(MSS) };
            decoder.on_ack(ace(delta), delivered(packets)).packets
        };
        assert_eq!(safe(3, 12), 11);
        assert_eq!(safe(2, 10), 10);
        assert_eq!(safe(0, 8), 8);
    }

    /// Linux: if ACKs of more than four packets are usual, a large one is no sign of lost ACKs.
    #[test]
    fn thinned_acks_are_not_read_as_lost_ones() {
        assert_eq!(decode(0, ace(3), 12), 3); // the first ACK sets the mean to 12
    }

    /// RFC 9768, appendix A.1: the byte counter resolves the ambiguity. By hand: of 12 packets 3 or 11 were marked.
    #[test]
    fn the_option_resolves_the_ambiguity() {
        let with = |ce, packets| {
            let mut decoder = AceDecoder { packets: 0, mean: 2 << MEAN_SHIFT, ..AceDecoder::new(MSS) };
            decoder.on_ack(with_option(3, ce, 3), delivered(packets)).packets
        };
        assert_eq!(with(3 * MSS, 12), 3);
        assert_eq!(with(11 * MSS, 12), 11);
        assert_eq!(with(11 * MSS, 20), 11);
        assert_eq!(with(19 * MSS, 20), 19);
        assert_eq!(decode(0, with_option(0, 0, 3), 8), 0);
    }

    /// RFC 9768, section 3.2.3: an option without the counter of CE does not tell that none was marked, since the one that
    /// had it may be lost. By hand: of eight packets 0 or 8 were marked.
    #[test]
    fn a_counter_left_out_resolves_nothing() {
        let eight = |fields| {
            let mut decoder = AceDecoder { packets: 0, mean: 2 << MEAN_SHIFT, ..AceDecoder::new(MSS) };
            decoder.on_ack(with_option(0, 0, fields), delivered(8)).packets
        };
        assert_eq!([3, 2, 1, 0].map(eight), [0, 0, 8, 8]);
    }

    /// RFC 9768, section 3.2.3.2.4: counters that begin at 1 are 0, so that the path cleared the option; it is ignored for
    /// the rest of the connection. By hand: of eight packets 0 or 8 were marked.
    #[test]
    fn a_cleared_option_is_ignored() {
        let mut decoder = AceDecoder { packets: 0, mean: 2 << MEAN_SHIFT, ..AceDecoder::new(MSS) };
        let cleared = AccEcnOption { counters: ByteCounters::default(), ..option(0, 3) };
        assert_eq!(decoder.on_ack(AccEcnFeedback { option: Some(cleared), ..ace(0) }, delivered(2)).packets, 0);
        assert_eq!(decoder.on_ack(with_option(0, 0, 3), delivered(8)).packets, 8);
        // Other initial values are a channel for the future: they are not tested.
        let mut decoder = AceDecoder { packets: 0, mean: 2 << MEAN_SHIFT, ..AceDecoder::new(MSS) };
        let other = AccEcnOption { counters: ByteCounters { ect0: 7, ce: 0, ect1: 9 }, ..option(0, 3) };
        assert_eq!(decoder.on_ack(AccEcnFeedback { option: Some(other), ..ace(0) }, delivered(8)).packets, 0);
    }

    /// RFC 9768, section 3.2.3.2.5: marked bytes without a marked packet are a contradiction if the ACE field cannot have
    /// wrapped. A mark that an earlier ACK reported without the option, or eight packets, explain them.
    #[test]
    fn marked_bytes_without_marked_packets_are_a_contradiction() {
        let contradiction = |acks: &[(AccEcnFeedback, u32)]| {
            let mut decoder = AceDecoder { packets: 0, ..AceDecoder::new(MSS) };
            acks.iter().any(|&(feedback, packets)| decoder.on_ack(feedback, delivered(packets)).is_contradiction)
        };
        assert!(contradiction(&[(with_option(0, MSS, 3), 2)]));
        assert!(!contradiction(&[(with_option(1, MSS, 3), 2)]));
        assert!(!contradiction(&[(ace(1), 2), (with_option(1, MSS, 3), 2)]));
        assert!(!contradiction(&[(with_option(0, 8 * MSS, 3), 8)]));
        assert!(!contradiction(&[(ace(0), 4), (with_option(0, 8 * MSS, 3), 4)]));
    }

    /// Fact of the counter: with every packet marked and an ACK per two packets, two lost ACKs in a row leave six marks.
    #[test]
    fn two_lost_acks_lose_no_mark() {
        let mut counters = MarkCounters::default();
        let mut decoder = AceDecoder::new(MSS);
        let mut marked = 0;
        for number in 0..30 {
            (0..2).for_each(|_| {
                counters.on_packet(Codepoint::Ce, MSS);
            });
            let (feedback, _) = counters.feedback(0, true, OptionUse::Never);
            if number % 3 == 2 {
                marked += decoder.on_ack(feedback, delivered(6)).packets;
            }
        }
        assert_eq!(marked, 60);
    }

    /// RFC 9768, appendix A.1: an ACK that delivers nothing is read if its timestamp is newer, since the packet with the
    /// mark may have no data.
    #[test]
    fn an_ack_without_progress_is_decoded_if_it_is_newer() {
        let mut decoder = AceDecoder::new(MSS);
        let marked = [false, true].map(|newer| {
            let marks = decoder.on_ack(AccEcnFeedback { newer, ..ace(6) }, delivered(0));
            (marks.packets, decoder.reported().packets)
        });
        assert_eq!(marked, [(0, 0), (1, 1)]);
    }

    /// RFC 9768, section 3.2.3.1: the sender's copies of the counters, less their initial values.
    #[test]
    fn the_sender_knows_the_bytes_by_codepoint() {
        let mut decoder = AceDecoder::new(MSS);
        let counters = ByteCounters { ect0: 1001, ce: 2000, ect1: 3001 };
        let option = Some(AccEcnOption { counters, ..option(0, 3) });
        decoder.on_ack(AccEcnFeedback { option, ..ace(7) }, delivered(6));
        let bytes = ByteCounters { ect0: 1000, ce: 2000, ect1: 3000 };
        assert_eq!(decoder.reported(), MarkTotals { packets: 2, bytes });
    }

    /// An older ACK, which delivers nothing, has no effect, though its counter is behind.
    #[test]
    fn an_ack_without_progress_is_not_decoded() {
        let mut decoder = AceDecoder::new(MSS);
        let marked = [(ace(0), 4), (ace(7), 0), (ace(1), 2)];
        assert_eq!(marked.map(|(ace, packets)| decoder.on_ack(ace, delivered(packets)).packets), [3, 0, 1]);
    }
}
