//! The names of the profiles, and the enumerated values of stack fields with their meanings.

use cwndlab_config::{Faults, FieldType, Kind, Reader, Word};

use crate::plan::{AckCounting, Ecn, IdleRestart, Pacing, PeerEcn, Prr, Rampdown, RtoArithmetic, RtoRestart};

/// The names and meanings of the profiles.
pub const NAMES: &[Word] = &[
    ("linux", "Linux 6.x with its default sysctls"),
    ("rfc", "defaults of the RFCs"),
    ("ns2", "ns-2.35 as configured for the references"),
    ("windows-10-20h1", "Windows 10 20H1, template Internet"),
];

/// Types of fields: the words of an enumeration of the transport, with their meanings.
macro_rules! choices {
    ($($words:ident: $kind:ident { $($word:literal => $value:ident, $meaning:literal;)+ })+) => {
        $(
            pub(super) enum $words {}

            impl $words {
                pub(super) const VALUES: &[(&str, $kind)] = &[$(($word, $kind::$value)),+];
            }

            impl FieldType for $words {
                type Value = $kind;

                const KIND: Kind = Kind::Words(&[$(($word, $meaning)),+]);

                fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<$kind> {
                    table.word_of(name, Self::VALUES, faults)
                }
            }
        )+
    };
}

choices! {
    AckCountingWords: AckCounting {
        "bytes" => Bytes, "number of acknowledged bytes (RFC 3465)";
        "acks" => Acks, "at most one segment";
        "acks-in-slow-start" => AcksInSlowStart, "at most one segment in slow start, acknowledged bytes afterwards";
    }
    EcnWords: Ecn {
        "off" => Off, "packets are not ECN-capable";
        "classic" => Classic, "ECN echo until the sender confirms with CWR (RFC 3168)";
        "accurate" => Accurate, "the receiver reports the number of marks exactly, without the limits of the wire";
        "dctcp" => Dctcp, "an immediate ACK when marking begins or ends (RFC 8257)";
        "accecn" => AccEcn, "Accurate ECN as on the wire: ACE field and option (RFC 9768)";
    }
    PeerEcnWords: PeerEcn {
        "accurate" => Accurate, "every form";
        "classic" => Classic, "RFC 3168 only";
        "off" => Off, "none";
    }
    PacingWords: Pacing {
        "algorithm" => Algorithm, "only if the algorithm sets a rate";
        "always" => Always, "at the algorithm's rate, or else by the rule of Linux";
        "off" => Off, "never";
    }
    IdleRestartWords: IdleRestart {
        "off" => Off, "no reduction";
        "initial-window" => InitialWindow, "reduction to the initial window (RFC 5681, section 4.1)";
        "decay" => Decay, "halved per RTO of idle time (RFC 2861, Linux)";
        "rfc7661" => Rfc7661, "halved after more than five minutes of idle time, the end of the non-validated phase (RFC 7661, section 4.4.3), without its response to congestion";
    }
    RtoArithmeticWords: RtoArithmetic {
        "exact" => Exact, "RFC 6298, to the nanosecond";
        "ticks" => Ticks, "integer ticks in fixed point, as BSD and ns-2's native agents";
        "ticks-linux" => TicksLinux, "as `ticks`, with decreases of the RTT weighted by 1/8, as ns-2's TCP/Linux";
    }
    RtoRestartWords: RtoRestart {
        "new-data" => NewData, "on ACKs of new data (RFC 6298, 5.3)";
        "retransmission" => Retransmission, "as `new-data`, and on a retransmission of the oldest segment in flight (Linux)";
        "every-ack" => EveryAck, "on every ACK, including duplicates (ns-2's TCP/Linux)";
    }
    PrrWords: Prr {
        "rfc6937" => Rfc6937, "RFC 6937 with the slow-start reduction bound";
        "rfc9937" => Rfc9937, "RFC 9937";
    }
    RampdownWords: Rampdown {
        "none" => None, "immediate reduction to ssthresh";
        "in-flight" => InFlight, "immediate reduction, to at most one segment above the packets in flight (Linux 2.6)";
        "rate-halving" => RateHalving, "one segment less per two ACKs, down to ssthresh (Linux 2.6)";
        "rate-halving-to-half" => RateHalvingToHalf, "rate halving down to half of ssthresh (Linux 2.6)";
        "proportional" => Proportional, "proportional rate reduction, in the version of `prr`";
    }
}
