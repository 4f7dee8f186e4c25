//! The inputs and controls that `quinn` 0.11 does not provide to an algorithm, computed from its catalogue entry.

use cwndlab_control::{Algorithm, Build, Need, Path};
use cwndlab_units::Bytes;

/// For algorithms that set a pacing rate.
const PACING: &str = "quinn paces at 1.25 windows per smoothed RTT with bursts of ten packets or more, and does not use the \
                      controller's pacing rate: only the window of this algorithm has an effect, and a pacing gain other \
                      than 1.25 has none";
/// For algorithms that measure the spacing of single packets.
const SPACING: &str =
    "quinn sends bursts of ten packets or more, which do not preserve the spacing of single packets that \
                       this algorithm measures";
/// For algorithms that count CE marks.
const ECN: &str = "quinn reports that an ACK contained CE marks, but not their number: each such ACK counts as one marked \
                   packet, which is exact if the receiver acknowledges marked packets immediately, as RFC 9000 (13.2.1) \
                   recommends";
/// For algorithms of L4S.
const L4S: &str =
    "quinn sends ECT(0), and stops ECN if a receiver counts ECT(1): queues for L4S treat its packets as classic \
                   ones, and this algorithm reduces at a mark as at a loss (RFC 3168, 5; RFC 9331, 4.1)";
/// For texts that name a recovery.
const RECOVERY: &str = "QUIC recovers losses by RFC 9002, and ignores the recovery in the algorithm's name";

/// The limitations of the algorithm over QUIC, a sentence each; empty if QUIC provides everything that it needs.
#[must_use]
pub fn limits(algorithm: &Algorithm) -> Vec<&'static str> {
    let mut limits = Vec::new();
    if paces(algorithm) {
        limits.push(PACING);
    }
    if algorithm.needs(Need::Spacing) {
        limits.push(SPACING);
    }
    if algorithm.needs(Need::L4s) {
        limits.push(L4S);
    } else if algorithm.needs(Need::Ecn) {
        limits.push(ECN);
    }
    if algorithm.recovery.is_some() {
        limits.push(RECOVERY);
    }
    limits
}

/// Whether the algorithm sets a pacing rate: its entry or one of its parts requests pacing, or it is model-based.
fn paces(algorithm: &Algorithm) -> bool {
    algorithm.needs(Need::Pacing)
        || algorithm.needs(Need::Spacing)
        || algorithm.is_model_based()
        || std::iter::once(&algorithm.growth).chain(&algorithm.slow_start).any(|part| match part.spec.build {
            Build::CongestionAvoidance(make) => make(&any_path(), &part.arguments).capabilities().pacing,
            Build::SlowStart(make) => make(&any_path(), &part.arguments).capabilities().pacing,
            _ => false,
        })
}

/// An arbitrary path: the capabilities of a part do not depend on it.
fn any_path() -> Path {
    let mss = Bytes(1200);
    Path {
        mss,
        initial_cwnd: mss * 10,
        initial_ssthresh: None,
        paced: true,
        seed: 0,
        classic_ecn: false,
        oracle_buffer: None,
        saved: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_algorithms::catalogue;

    fn limits_of(text: &str) -> Vec<&'static str> {
        limits(&catalogue().parse(text).expect("it is in the catalogue"))
    }

    /// BBR paces with gains of 0.75 to 2.89; Reno has no such need; DCTCP counts marks (RFC 8257), and
    /// Prague needs ECT(1) (RFC 9331).
    #[test]
    fn limits_follow_from_the_entry() {
        assert_eq!(limits_of("bbr3"), [PACING]);
        assert_eq!(limits_of("copa"), [PACING, SPACING]);
        assert_eq!(limits_of("reno+paced-start"), [PACING]);
        assert_eq!(limits_of("reno"), [""; 0]);
        assert_eq!(limits_of("dctcp"), [ECN]);
        assert_eq!(limits_of("prague"), [PACING, SPACING, L4S]);
        assert_eq!(limits_of("newreno"), [RECOVERY]);
    }
}
