//! A circuit breaker in the sense of RFC 8084: it watches what a transfer does to its path, over measurements much longer
//! than a round trip, and ends the transfer when several in a row lie outside an envelope. It is slow on purpose: what
//! congestion control mends by itself is none of its business.

use crate::limits::Envelope;
use crate::look::Look;

/// State of one transfer's breaker.
#[derive(Clone, Debug)]
pub(crate) struct Breaker {
    envelope: Envelope,
    begin: Look,
    outside: u32,
}

/// Packets below which a ratio says nothing.
const FEW: u64 = 20;

/// A measurement lasts at least so many round trips.
const ROUNDS: u64 = 10;

impl Breaker {
    pub(crate) fn new(envelope: Envelope, begin: Look) -> Self {
        Self { envelope, begin, outside: 0 }
    }

    /// Looks; answers why the transfer must end, if it must.
    pub(crate) fn look(&mut self, now: &Look) -> Option<String> {
        let interval = (self.envelope.interval.as_nanos() as u64).max(ROUNDS * now.srtt_ns);
        if now.time_ns.saturating_sub(self.begin.time_ns) < interval {
            return None;
        }
        let before = std::mem::replace(&mut self.begin, now.clone());
        match self.outside(&before, now) {
            None => self.outside = 0,
            Some(why) => {
                self.outside += 1;
                if self.outside >= self.envelope.intervals {
                    let times = self.outside;
                    return Some(format!("{why}, in {times} measurements of {:.1} s in a row", interval as f64 * 1e-9));
                }
            }
        }
        None
    }

    fn outside(&self, before: &Look, now: &Look) -> Option<String> {
        let sent = now.sent_packets.saturating_sub(before.sent_packets);
        let again = now.retransmitted_packets.saturating_sub(before.retransmitted_packets);
        let timeouts = now.timeouts.saturating_sub(before.timeouts);
        let envelope = &self.envelope;
        if sent >= FEW && again as f64 > envelope.loss * sent as f64 {
            let share = 100.0 * again as f64 / sent as f64;
            return Some(format!(
                "{share:.0} % of the packets were retransmitted, {:.0} % are allowed",
                100.0 * envelope.loss
            ));
        }
        if timeouts >= envelope.timeouts {
            return Some(format!("{timeouts} retransmission timeouts, {} are too many", envelope.timeouts));
        }
        let least = now.min_rtt_ns.unwrap_or(u64::MAX);
        let rtt = now.srtt_ns;
        if rtt > envelope.rtt.as_nanos() as u64 && rtt as f64 > envelope.inflation * least as f64 {
            return Some(format!(
                "the round trip took {:.1} s, {:.0} times the shortest, {:.0} times are allowed",
                rtt as f64 * 1e-9,
                rtt as f64 / least as f64,
                envelope.inflation
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn look(second: u64, sent: u64, again: u64) -> Look {
        Look {
            time_ns: second * SECOND,
            sent_packets: sent,
            retransmitted_packets: again,
            srtt_ns: 50_000_000,
            min_rtt_ns: Some(20_000_000),
            ..Look::default()
        }
    }

    fn ends(looks: impl IntoIterator<Item = Look>) -> Option<(u64, String)> {
        let mut breaker = Breaker::new(Envelope::default(), Look::default());
        looks.into_iter().find_map(|look| breaker.look(&look).map(|why| (look.time_ns / SECOND, why)))
    }

    #[test]
    fn a_third_of_the_packets_sent_again_ends_it_after_three_measurements_of_three_seconds() {
        let (second, why) = ends((1..60).map(|at| look(at, at * 300, at * 100))).unwrap();
        assert_eq!(second, 9);
        assert_eq!(
            why,
            "33 % of the packets were retransmitted, 20 % are allowed, in 3 measurements of 3.0 s in a row"
        );
    }

    #[test]
    fn what_tcp_mends_by_itself_does_not() {
        assert_eq!(ends((1..600).map(|at| look(at, at * 300, at * 30))), None);
        // Six bad seconds, then three good ones, and so on.
        let waves = (1..600).map(|at: u64| look(at, at * 300, at.div_ceil(9) * 600));
        assert_eq!(ends(waves), None);
        // A ratio of hardly anything.
        assert_eq!(ends((1..600).map(|at| look(at, at, at))), None);
    }

    #[test]
    fn timeouts_and_a_round_trip_twenty_times_the_shortest_end_it() {
        let (_, why) = ends((1..60).map(|at| Look { timeouts: 2 * at, ..look(at, at, 0) })).unwrap();
        assert!(why.starts_with("6 retransmission timeouts, 4 are too many"), "{why}");
        let slow = |at| Look { srtt_ns: 2 * SECOND, ..look(at, at * 10, 0) };
        let (second, why) = ends((1..90).map(slow)).unwrap();
        // Ten round trips of two seconds a measurement.
        assert_eq!(second, 60);
        assert!(why.starts_with("the round trip took 2.0 s, 100 times the shortest, 20 times are allowed"), "{why}");
        let long = |at| Look { srtt_ns: 2 * SECOND, min_rtt_ns: Some(SECOND), ..look(at, at * 10, 0) };
        assert_eq!(ends((1..600).map(long)), None);
    }
}
