//! The AccECN option: its byte counters in one of two orders, shortened where the space for options is short (RFC 9768,
//! section 3.2.3).

/// Bytes of TCP options at most.
const OPTION_SPACE: u32 = 40;
/// Bytes of the timestamps option, padded.
const TIMESTAMPS: u32 = 12;
/// Bytes of a SACK option without blocks, padded, and of a block.
const SACK: [u32; 2] = [4, 8];
/// Bytes of padding of the SACK option that the end of another option can take.
const SACK_PADDING: u32 = 2;
/// SACK blocks that the option never displaces (section 3.2.3.3).
const KEPT_BLOCKS: u8 = 2;
/// Byte counters of an option at most.
const FIELDS: u8 = 3;
/// Bytes of a counter.
const FIELD: usize = 3;
/// Bytes of kind and length.
const HEAD: usize = 2;
/// Bytes of the longest option, without padding.
const LONGEST: usize = HEAD + FIELD * FIELDS as usize;
/// Bytes of the option on a SYN-ACK, which has no SACK blocks: all counters, padded.
pub const SYN_ACK_OPTION_SIZE: u32 = 12;

/// The byte counters of a receiver, modulo 2²⁴ in an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteCounters {
    /// Payload with ECT(0).
    pub ect0: u32,
    /// Payload with CE.
    pub ce: u32,
    /// Payload with ECT(1).
    pub ect1: u32,
}

/// The order of the counters; a shortened option leaves out the last ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Order 0, kind 172: ECT(0), CE, ECT(1).
    Ect0First,
    /// Order 1, kind 174: ECT(1), CE, ECT(0).
    Ect1First,
}

impl Order {
    /// The kind of the option (section 3.2.3).
    #[must_use]
    pub fn kind(self) -> u8 {
        match self {
            Self::Ect0First => 172,
            Self::Ect1First => 174,
        }
    }
}

/// An option of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcnOption {
    /// The order of the counters.
    pub order: Order,
    /// Number of counters present, 0 to 3: the option has 2, 5, 8 or 11 bytes (table 5).
    pub fields: u8,
    /// Bytes of the packet that it takes, with padding.
    pub size: u8,
    /// The counters, those that are not present included.
    pub(crate) counters: ByteCounters,
}

impl AccEcnOption {
    /// Reads an option of this kind from `body`, its bytes after kind and length. `None`: the kind is another one. It may
    /// have any length: the whole counters that fit are read, and the rest is ignored (section 3.2.3).
    #[must_use]
    pub fn read(kind: u8, body: &[u8]) -> Option<Self> {
        let order = [Order::Ect0First, Order::Ect1First].into_iter().find(|order| order.kind() == kind)?;
        let mut values = [0; FIELDS as usize];
        let mut fields = 0;
        for (value, bytes) in values.iter_mut().zip(body.chunks_exact(FIELD)) {
            *value = bytes.iter().fold(0, |value, &byte| value << 8 | u32::from(byte));
            fields += 1;
        }
        let [first, ce, last] = values;
        let (ect0, ect1) = if order == Order::Ect0First { (first, last) } else { (last, first) };
        let size = (HEAD + body.len()).next_multiple_of(4) as u8;
        Some(Self { order, fields, size, counters: ByteCounters { ect0, ce, ect1 } })
    }

    /// The option as on the wire, without padding.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let ByteCounters { ect0, ce, ect1 } = self.counters;
        let counters = if self.order == Order::Ect0First { [ect0, ce, ect1] } else { [ect1, ce, ect0] };
        let mut bytes = Vec::with_capacity(LONGEST);
        bytes.extend([self.order.kind(), (HEAD + FIELD * usize::from(self.fields)) as u8]);
        for value in &counters[..usize::from(self.fields)] {
            bytes.extend(&value.to_be_bytes()[size_of::<u32>() - FIELD..]);
        }
        bytes
    }

    /// The counter of payload with CE, if present.
    #[must_use]
    pub fn ce(&self) -> Option<u32> {
        (self.fields >= 2).then_some(self.counters.ce)
    }

    /// The counter of payload with ECT(0), if present.
    #[must_use]
    pub fn ect0(&self) -> Option<u32> {
        let place = if self.order == Order::Ect0First { 1 } else { 3 };
        (self.fields >= place).then_some(self.counters.ect0)
    }

    /// The counter of payload with ECT(1), if present.
    #[must_use]
    pub fn ect1(&self) -> Option<u32> {
        let place = if self.order == Order::Ect1First { 1 } else { 3 };
        (self.fields >= place).then_some(self.counters.ect1)
    }

    /// Whether a counter that begins at 1 is zero: the path cleared the option (section 3.2.3.2.4).
    pub(crate) fn is_zeroed(&self) -> bool {
        self.ect0() == Some(0) || self.ect1() == Some(0)
    }
}

/// Counters that changed, by codepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) ect0: bool,
    pub(crate) ce: bool,
    pub(crate) ect1: bool,
}

impl Changes {
    /// The number of counters that an option in this order must have: all up to the last one that changed.
    pub(crate) fn required(self, order: Order) -> u8 {
        let (first, last) = if order == Order::Ect0First { (self.ect0, self.ect1) } else { (self.ect1, self.ect0) };
        match (first, self.ce, last) {
            (_, _, true) => 3,
            (_, true, false) => 2,
            (true, false, false) => 1,
            (false, false, false) => 0,
        }
    }
}

/// The place of an option in an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its counters.
    pub(crate) fields: u8,
    /// Its bytes, with padding.
    pub(crate) size: u8,
    /// SACK blocks beside it.
    pub(crate) blocks: u8,
}

/// The place of an option with at least `required` counters beside this number of SACK blocks. It has as many counters as
/// fit; if the required ones do not fit, it displaces SACK blocks, down to two (section 3.2.3.3; Linux,
/// `tcp_options_fit_accecn`). `None`: it does not fit.
pub(crate) fn place(required: u8, blocks: u8, timestamps: bool) -> Option<Place> {
    let space = OPTION_SPACE - if timestamps { TIMESTAMPS } else { 0 };
    let least = if required > 0 { blocks.min(KEPT_BLOCKS) } else { blocks };
    (least..=blocks).rev().find_map(|kept| {
        let sack = if kept > 0 { SACK[0] + SACK[1] * u32::from(kept) } else { 0 };
        fit(required, kept, space.saturating_sub(sack))
    })
}

/// The longest option with at least `required` counters in `room` bytes beside `blocks` SACK blocks.
fn fit(required: u8, blocks: u8, room: u32) -> Option<Place> {
    (required..=FIELDS).rev().find_map(|fields| {
        let bytes = 2 + 3 * u32::from(fields);
        let shares_padding = blocks > 0 && bytes % 4 <= SACK_PADDING;
        let size = if shares_padding { bytes - bytes % 4 } else { bytes.next_multiple_of(4) };
        (size <= room).then_some(Place { fields, size: size as u8, blocks })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTERS: ByteCounters = ByteCounters { ect0: 10, ce: 20, ect1: 30 };

    /// RFC 9768, table 5: which counters an option of each length and order has.
    #[test]
    fn a_shortened_option_leaves_out_the_last_counters() {
        let read = |order, fields| {
            let option = AccEcnOption { order, fields, size: 0, counters: COUNTERS };
            (option.ect0(), option.ce(), option.ect1())
        };
        assert_eq!(read(Order::Ect0First, 3), (Some(10), Some(20), Some(30)));
        assert_eq!(read(Order::Ect0First, 2), (Some(10), Some(20), None));
        assert_eq!(read(Order::Ect0First, 1), (Some(10), None, None));
        assert_eq!(read(Order::Ect1First, 2), (None, Some(20), Some(30)));
        assert_eq!(read(Order::Ect1First, 1), (None, None, Some(30)));
        assert_eq!(read(Order::Ect1First, 0), (None, None, None));
    }

    /// RFC 9768, figure 4 and table 5: kind 172 or 174, a length by the counters present, and 24 bits of each, the high
    /// byte first.
    #[test]
    fn kind_and_length_tell_which_counters_follow() {
        let bytes = |order, fields| AccEcnOption { order, fields, size: 0, counters: COUNTERS }.to_bytes();
        assert_eq!(bytes(Order::Ect0First, 3), [172, 11, 0, 0, 10, 0, 0, 20, 0, 0, 30]);
        assert_eq!(bytes(Order::Ect1First, 2), [174, 8, 0, 0, 30, 0, 0, 20]);
        assert_eq!(bytes(Order::Ect1First, 0), [174, 2]);
        let counters = ByteCounters { ect0: 0x12_3456, ce: 0, ect1: 0 };
        let option = AccEcnOption { order: Order::Ect0First, fields: 1, size: 8, counters };
        assert_eq!(option.to_bytes(), [172, 5, 0x12, 0x34, 0x56]);
        assert_eq!(AccEcnOption::read(172, &[0x12, 0x34, 0x56]), Some(option));
    }

    /// RFC 9768, section 3.2.3: of an option of another length the whole counters are used, and the rest is padding.
    #[test]
    fn of_other_lengths_whole_counters_are_read() {
        let read = |kind, body: &[u8]| {
            AccEcnOption::read(kind, body).map(|option| (option.ect0(), option.ce(), option.ect1()))
        };
        assert_eq!(read(172, &[0, 0, 9, 0, 1, 2, 0xff, 0xff]), Some((Some(9), Some(0x102), None)));
        assert_eq!(read(174, &[0, 0, 9, 0]), Some((None, None, Some(9))));
        assert_eq!(read(174, &[0xff, 0xff]), Some((None, None, None)));
        let long = [0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 5];
        assert_eq!(read(174, &long), Some((Some(3), Some(2), Some(1))));
        assert_eq!(read(173, &long), None);
    }

    /// RFC 9768, section 3.2.3.3: no counter that changed is left out. With order 1 the places are those of Linux
    /// (`tcp_ecnfield_to_accecn_optfield`): ECT(1) 1, CE 2, ECT(0) 3.
    #[test]
    fn counters_that_changed_are_required() {
        let [none, ect0, ce, ect1] = [
            Changes::default(),
            Changes { ect0: true, ..Changes::default() },
            Changes { ce: true, ..Changes::default() },
            Changes { ect1: true, ..Changes::default() },
        ];
        assert_eq!([none, ect1, ce, ect0].map(|one| one.required(Order::Ect1First)), [0, 1, 2, 3]);
        assert_eq!([none, ect0, ce, ect1].map(|one| one.required(Order::Ect0First)), [0, 1, 2, 3]);
    }

    /// By hand, from 40 bytes of options: 28 beside timestamps, less 4 + 8 n for n SACK blocks. Two counters (8 bytes) fit
    /// beside two blocks and timestamps, three (12 bytes) do not.
    #[test]
    fn an_option_is_shortened_before_it_is_left_out() {
        assert_eq!(place(0, 0, true), Some(Place { fields: 3, size: 12, blocks: 0 }));
        assert_eq!(place(1, 1, true), Some(Place { fields: 3, size: 12, blocks: 1 }));
        assert_eq!(place(1, 2, true), Some(Place { fields: 2, size: 8, blocks: 2 }));
        assert_eq!(place(3, 2, true), None, "RFC 9768, section 3.2.3.3: two SACK blocks take precedence");
        assert_eq!(place(0, 3, true), Some(Place { fields: 0, size: 0, blocks: 3 }), "its 2 bytes replace padding");
        assert_eq!(place(1, 3, false), Some(Place { fields: 3, size: 12, blocks: 3 }));
    }

    /// The table of "tcp: accecn: try to fit AccECN option with SACK" (Chang, 2025, v18): blocks displaced by the number of
    /// blocks, of required counters, and of the bytes left.
    #[test]
    fn sack_blocks_are_displaced_as_in_linux() {
        let displaced = |blocks: u8, required: u8, room: u32| {
            let least = if required > 0 { blocks.min(KEPT_BLOCKS) } else { blocks };
            let found = (least..=blocks).rev().find_map(|kept| {
                fit(required, kept, room + 8 * u32::from(blocks - kept)).map(|place| blocks - place.blocks)
            });
            found.unwrap_or(0)
        };
        for blocks in 0..=2 {
            assert_eq!([0, 1, 2, 3].map(|required| displaced(blocks, required, 0)), [0; 4]);
        }
        for (required, room, expected) in [(0, 0, 0), (1, 0, 1), (1, 4, 0), (2, 4, 1), (2, 8, 0), (3, 8, 1), (3, 12, 0)]
        {
            assert_eq!(displaced(3, required, room), expected, "3 blocks, {required}, {room}");
            assert_eq!(displaced(4, required, room), expected, "4 blocks, {required}, {room}");
        }
        assert_eq!(displaced(4, 3, 0), 2);
    }
}
