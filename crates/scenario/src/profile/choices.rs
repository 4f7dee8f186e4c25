//! The names of the profiles, and the enumerated values of stack fields with their meanings.

use cwndlab_config::Word;

use crate::plan::{AckCounting, Ecn, IdleRestart, Pacing, Prr, Rampdown, RtoArithmetic, RtoRestart};

/// The names and meanings of the profiles.
pub const NAMES: &[Word] = &[
    ("linux", "Linux 6.x with its default sysctls"),
    ("rfc", "defaults of the RFCs"),
    ("ns2", "ns-2.35 as configured for the references"),
    ("windows-10-20h1", "Windows 10 20H1, template Internet"),
];

/// The texts of an enumerated field with their meanings, and the corresponding values.
macro_rules! choices {
    ($($list:ident, $values:ident: $kind:ident { $($word:literal => $value:ident, $meaning:literal;)+ })+) => {
        $(
            pub(crate) const $list: &[Word] = &[$(($word, $meaning)),+];
            pub(super) const $values: &[(&str, $kind)] = &[$(($word, $kind::$value)),+];
        )+
    };
}

choices! {
    ACK_COUNTING_WORDS, ACK_COUNTING: AckCounting {
        "bytes" => Bytes, "number of acknowledged bytes (RFC 3465)";
        "acks" => Acks, "at most one segment";
        "acks-in-slow-start" => AcksInSlowStart, "at most one segment in slow start, acknowledged bytes afterwards";
    }
    ECN_WORDS, ECN: Ecn {
        "off" => Off, "packets are not ECN-capable";
        "classic" => Classic, "ECN echo until the sender confirms with CWR (RFC 3168)";
        "accurate" => Accurate, "the receiver reports the number of marks (Accurate ECN)";
        "dctcp" => Dctcp, "an immediate ACK when marking begins or ends (RFC 8257)";
    }
    PACING_WORDS, PACING: Pacing {
        "algorithm" => Algorithm, "only if the algorithm sets a rate";
        "always" => Always, "at the algorithm's rate, or else by the rule of Linux";
        "off" => Off, "never";
    }
    IDLE_RESTART_WORDS, IDLE_RESTART: IdleRestart {
        "off" => Off, "no reduction";
        "initial-window" => InitialWindow, "reduction to the initial window (RFC 5681, section 4.1)";
        "decay" => Decay, "halved per RTO of idle time (RFC 2861, Linux)";
        "rfc7661" => Rfc7661, "the non-validated phase of RFC 7661";
    }
    RTO_ARITHMETIC_WORDS, RTO_ARITHMETIC: RtoArithmetic {
        "exact" => Exact, "RFC 6298, to the nanosecond";
        "ticks" => Ticks, "integer ticks in fixed point, as BSD and ns-2's native agents";
        "ticks-linux" => TicksLinux, "as `ticks`, with decreases of the RTT weighted by 1/8, as ns-2's TCP/Linux";
    }
    RTO_RESTART_WORDS, RTO_RESTART: RtoRestart {
        "new-data" => NewData, "on ACKs of new data (RFC 6298, 5.3)";
        "retransmission" => Retransmission, "as `new-data`, and on a retransmission of the oldest segment in flight (Linux)";
        "every-ack" => EveryAck, "on every ACK, including duplicates (ns-2's TCP/Linux)";
    }
    PRR_WORDS, PRR: Prr {
        "rfc6937" => Rfc6937, "RFC 6937 with the slow-start reduction bound";
        "rfc9937" => Rfc9937, "RFC 9937";
    }
    RAMPDOWN_WORDS, RAMPDOWN: Rampdown {
        "none" => None, "immediate reduction to ssthresh";
        "in-flight" => InFlight, "immediate reduction, to at most one segment above the packets in flight (Linux 2.6)";
        "rate-halving" => RateHalving, "one segment less per two ACKs, down to ssthresh (Linux 2.6)";
        "rate-halving-to-half" => RateHalvingToHalf, "rate halving down to half of ssthresh (Linux 2.6)";
        "proportional" => Proportional, "proportional rate reduction, in the version of `prr`";
    }
}
