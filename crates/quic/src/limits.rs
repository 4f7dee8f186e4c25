//! What QUIC as `quinn` 0.11 has it does not give to an algorithm, computed from its entry.

use cwndlab_control::{Algorithm, Build, Need, Path};
use cwndlab_units::Bytes;

/// It paces, and `quinn` does not ask at which rate.
const PACING: &str = "quinn paces by itself, at 1.25 windows per smoothed RTT with bursts of ten packets or more, and does \
                      not ask the controller for a rate: of what this algorithm would have the sender do only the window \
                      has an effect, so a pacing gain other than 1.25 is lost";
/// It measures the spacing of single packets.
const SPACING: &str = "quinn sends bursts of ten packets or more, so the spacing of single packets, from which this \
                       algorithm measures, is not kept";
/// It counts marks.
const ECN: &str = "quinn tells that an ACK reported CE marks, not how many: one packet is counted as marked for each such \
                   ACK, which is exact where the receiver acknowledges marked packets at once, as RFC 9000 (13.2.1) advises";
/// Its text names a recovery.
const RECOVERY: &str = "QUIC repairs losses by RFC 9002, whatever recovery the name asks for";

/// What the algorithm does not get, a sentence each; empty where it gets all it asks for.
#[must_use]
pub fn limits(algorithm: &Algorithm) -> Vec<&'static str> {
    let mut found = Vec::new();
    if paces(algorithm) {
        found.push(PACING);
    }
    if algorithm.needs(Need::Spacing) {
        found.push(SPACING);
    }
    if algorithm.needs(Need::Ecn) {
        found.push(ECN);
    }
    if algorithm.recovery.is_some() {
        found.push(RECOVERY);
    }
    found
}

/// It would choose the rate of the sender: its entry says so, one of its parts asks for it, or it keeps a model of the
/// path, from which it paces.
fn paces(algorithm: &Algorithm) -> bool {
    algorithm.needs(Need::Pacing)
        || algorithm.needs(Need::Spacing)
        || algorithm.growth.spec.model_based
        || std::iter::once(&algorithm.growth).chain(&algorithm.slow_start).any(|part| match part.spec.build {
            Build::CongestionAvoidance(make) => make(&any_path(), &part.arguments).capabilities().pacing,
            Build::SlowStart(make) => make(&any_path(), &part.arguments).capabilities().pacing,
            _ => false,
        })
}

/// What a part asks for does not depend on the path.
fn any_path() -> Path {
    let mss = Bytes(1200);
    Path { mss, initial_cwnd: mss * 10, initial_ssthresh: None, paced: true, seed: 0, oracle_buffer: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_algorithms::catalogue;

    fn of(text: &str) -> Vec<&'static str> {
        limits(&catalogue().parse(text).expect("it is in the catalogue"))
    }

    /// BBR's papers pace by gains of 0.75 to 2.89; Reno asks for nothing; DCTCP counts marks (RFC 8257).
    #[test]
    fn limits_follow_from_the_entry() {
        assert_eq!(of("bbr3"), [PACING]);
        assert_eq!(of("copa"), [PACING, SPACING]);
        assert_eq!(of("reno+paced-start"), [PACING]);
        assert_eq!(of("reno"), [""; 0]);
        assert_eq!(of("dctcp"), [ECN]);
        assert_eq!(of("newreno"), [RECOVERY]);
    }
}
