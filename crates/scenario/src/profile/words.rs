//! The words of the profiles and of their fields, with what each means.

use cwndlab_config::Word;

use crate::plan::{AckCounting, Ecn, IdleRestart, Pacing, Prr, Rampdown, RtoArithmetic, RtoRestart};

/// The profiles' names, and what they stand for.
pub const NAMES: &[Word] = &[
    ("linux", "Linux 6.x with its default sysctls"),
    ("rfc", "the RFCs' own defaults"),
    ("ns2", "ns-2.35 as its references were run"),
    ("windows-10-20h1", "Windows 10 20H1, template Internet"),
];

/// A field's words, with what each means, and their values.
macro_rules! words {
    ($($list:ident, $values:ident: $kind:ident { $($word:literal => $value:ident, $meaning:literal;)+ })+) => {
        $(
            pub(crate) const $list: &[Word] = &[$(($word, $meaning)),+];
            pub(super) const $values: &[(&str, $kind)] = &[$(($word, $kind::$value)),+];
        )+
    };
}

words! {
    ACK_COUNTING_WORDS, ACK_COUNTING: AckCounting {
        "bytes" => Bytes, "the bytes that the ACK acknowledges (RFC 3465)";
        "acks" => Acks, "one segment at most";
        "acks-in-slow-start" => AcksInSlowStart, "one segment at most in slow start, bytes after it";
    }
    ECN_WORDS, ECN: Ecn {
        "off" => Off, "packets are not ECN-capable";
        "classic" => Classic, "an echo until the sender answers with CWR (RFC 3168)";
        "accurate" => Accurate, "the receiver counts marks (accurate ECN)";
        "dctcp" => Dctcp, "the receiver acknowledges at once whenever marking begins or ends (RFC 8257)";
    }
    PACING_WORDS, PACING: Pacing {
        "algorithm" => Algorithm, "only where the algorithm gives a rate";
        "always" => Always, "by the algorithm's rate, else by Linux' rule";
        "off" => Off, "never";
    }
    IDLE_RESTART_WORDS, IDLE_RESTART: IdleRestart {
        "off" => Off, "the window stays";
        "initial-window" => InitialWindow, "back to the initial window (RFC 5681, section 4.1)";
        "decay" => Decay, "halved per RTO of idleness (RFC 2861, Linux)";
        "rfc7661" => Rfc7661, "the non-validated phase of RFC 7661";
    }
    RTO_ARITHMETIC_WORDS, RTO_ARITHMETIC: RtoArithmetic {
        "exact" => Exact, "RFC 6298, to the nanosecond";
        "ticks" => Ticks, "whole ticks in fixed point, as BSD and ns-2's own agents";
        "ticks-linux" => TicksLinux, "the same with falls of the RTT counted an eighth, as ns-2's TCP/Linux";
    }
    RTO_RESTART_WORDS, RTO_RESTART: RtoRestart {
        "new-data" => NewData, "new data was acknowledged (RFC 6298, 5.3)";
        "retransmission" => Retransmission, "and when the oldest segment in flight is sent again (Linux)";
        "every-ack" => EveryAck, "with every ACK, duplicates too (ns-2's TCP/Linux)";
    }
    PRR_WORDS, PRR: Prr {
        "rfc6937" => Rfc6937, "RFC 6937 with the slow-start reduction bound";
        "rfc9937" => Rfc9937, "RFC 9937";
    }
    RAMPDOWN_WORDS, RAMPDOWN: Rampdown {
        "none" => None, "to the new ssthresh at once";
        "in-flight" => InFlight, "at once, but at most one segment beyond what is in flight (Linux 2.6)";
        "rate-halving" => RateHalving, "one segment less per two ACKs down to ssthresh (Linux 2.6)";
        "rate-halving-to-half" => RateHalvingToHalf, "rate halving down to half of ssthresh (Linux 2.6)";
        "proportional" => Proportional, "proportional rate reduction, as `prr` says";
    }
}
