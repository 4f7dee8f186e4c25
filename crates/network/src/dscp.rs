//! Differentiated services: codepoints, and the classes of traffic that queues make of them.

use cwndlab_config::words;

words! {
    /// A codepoint of the field DS (RFC 2474): what the sender of a packet asks of queues.
    pub enum Dscp {
        /// class selector 0, the default (RFC 2474)
        Cs0 = "CS0",
        /// lower effort: background traffic (RFC 8622)
        Le = "LE",
        /// class selector 1, background traffic before RFC 8622 (RFC 2474, 4594)
        Cs1 = "CS1",
        /// high-throughput data, low drop precedence (RFC 2597, 4594)
        Af11 = "AF11",
        /// high-throughput data, medium drop precedence (RFC 2597, 4594)
        Af12 = "AF12",
        /// high-throughput data, high drop precedence (RFC 2597, 4594)
        Af13 = "AF13",
        /// operations and management (RFC 2474, 4594)
        Cs2 = "CS2",
        /// low-latency data, low drop precedence (RFC 2597, 4594)
        Af21 = "AF21",
        /// low-latency data, medium drop precedence (RFC 2597, 4594)
        Af22 = "AF22",
        /// low-latency data, high drop precedence (RFC 2597, 4594)
        Af23 = "AF23",
        /// broadcast video (RFC 2474, 4594)
        Cs3 = "CS3",
        /// multimedia streaming, low drop precedence (RFC 2597, 4594)
        Af31 = "AF31",
        /// multimedia streaming, medium drop precedence (RFC 2597, 4594)
        Af32 = "AF32",
        /// multimedia streaming, high drop precedence (RFC 2597, 4594)
        Af33 = "AF33",
        /// real-time interactive (RFC 2474, 4594)
        Cs4 = "CS4",
        /// multimedia conferencing, low drop precedence (RFC 2597, 4594)
        Af41 = "AF41",
        /// multimedia conferencing, medium drop precedence (RFC 2597, 4594)
        Af42 = "AF42",
        /// multimedia conferencing, high drop precedence (RFC 2597, 4594)
        Af43 = "AF43",
        /// signalling (RFC 2474, 4594)
        Cs5 = "CS5",
        /// admitted voice (RFC 5865)
        Va = "VA",
        /// expedited forwarding: telephony (RFC 3246, 4594)
        Ef = "EF",
        /// network control (RFC 2474, 4594)
        Cs6 = "CS6",
        /// reserved for network control (RFC 2474, 4594)
        Cs7 = "CS7",
    }
}

#[allow(clippy::derivable_impls, reason = "`words!` does not pass on `#[default]` of a variant")]
impl Default for Dscp {
    fn default() -> Self {
        Self::Cs0
    }
}

impl Dscp {
    /// The six bits of the field.
    ///
    /// ```
    /// use cwndlab_network::dscp::Dscp;
    ///
    /// assert_eq!([Dscp::Cs0, Dscp::Af21, Dscp::Ef].map(Dscp::bits), [0, 18, 46]);
    /// ```
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Self::Le => 1,
            Self::Va => 44,
            Self::Ef => 46,
            Self::Cs0 => 0,
            Self::Cs1 => 8,
            Self::Cs2 => 16,
            Self::Cs3 => 24,
            Self::Cs4 => 32,
            Self::Cs5 => 40,
            Self::Cs6 => 48,
            Self::Cs7 => 56,
            // Assured forwarding: 8 times the class, plus twice the drop precedence (RFC 2597, section 6).
            Self::Af11 => 10,
            Self::Af12 => 12,
            Self::Af13 => 14,
            Self::Af21 => 18,
            Self::Af22 => 20,
            Self::Af23 => 22,
            Self::Af31 => 26,
            Self::Af32 => 28,
            Self::Af33 => 30,
            Self::Af41 => 34,
            Self::Af42 => 36,
            Self::Af43 => 38,
        }
    }

    /// Its class.
    #[must_use]
    pub fn class(self) -> Class {
        match self {
            Self::Le | Self::Cs1 => Class::Bulk,
            Self::Cs0 | Self::Af11 | Self::Af12 | Self::Af13 => Class::BestEffort,
            Self::Cs4 | Self::Cs5 | Self::Va | Self::Ef | Self::Cs6 | Self::Cs7 => Class::Voice,
            _ => Class::Video,
        }
    }
}

/// The classes of CAKE's mode `diffserv4` (Linux 6.x, net/sched/sch_cake.c), the least urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// LE, CS1.
    Bulk,
    /// CS0, AF1x, and what is of no other class.
    BestEffort,
    /// AF2x, AF3x, AF4x, CS2, CS3.
    Video,
    /// CS4 to CS7, VA, EF.
    Voice,
}

impl Class {
    /// Number of classes.
    pub const COUNT: usize = 4;

    /// Its place, from 0 for the least urgent one.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }
}
