//! A circuit breaker (RFC 8084): it measures the transfers of a connection over periods much longer than a round trip, and ends the
//! transfer when several consecutive measurements are outside an envelope. It is slow by design, so that congestion
//! control reacts first.

use cwndlab_units::{Duration, SenderCounters};

use crate::limits::Envelope;
use cwndlab_fetch::snapshot::Snapshot;

/// The circuit breaker of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Breaker {
    envelope: Envelope,
    /// The state at the start of the measurement.
    start: Snapshot,
    /// Consecutive measurements outside the envelope.
    outside: u32,
}

/// Minimum number of packets for a meaningful ratio.
const MIN_PACKETS: u64 = 20;

/// Minimum length of a measurement, round trips.
const MIN_ROUNDS: u64 = 10;

impl Breaker {
    pub(crate) fn new(envelope: Envelope, start: Snapshot) -> Self {
        Self { envelope, start, outside: 0 }
    }

    /// Checks a snapshot, whose time counts while data are in flight; returns the reason if the transfer must end.
    pub(crate) fn check(&mut self, now: &Snapshot) -> Option<String> {
        let interval =
            (self.envelope.interval.as_nanos() as u64).max(MIN_ROUNDS * now.sender.srtt.unwrap_or_default().as_nanos());
        if now.time_ns.saturating_sub(self.start.time_ns) < interval {
            return None;
        }
        let before = std::mem::replace(&mut self.start, now.clone());
        match self.outside(&before, now) {
            None => self.outside = 0,
            Some(why) => {
                self.outside += 1;
                if self.outside >= self.envelope.intervals {
                    let count = self.outside;
                    let seconds = interval as f64 * 1e-9;
                    return Some(format!("{why}, in {count} consecutive measurements of {seconds:.1} s"));
                }
            }
        }
        None
    }

    fn outside(&self, before: &Snapshot, now: &Snapshot) -> Option<String> {
        let counters = now.sender.counters.combined(&before.sender.counters, u64::saturating_sub);
        let SenderCounters { sent_packets: sent, retransmitted_packets: retransmitted, timeouts, .. } = counters;
        let envelope = &self.envelope;
        if sent >= MIN_PACKETS && retransmitted as f64 > envelope.loss * sent as f64 {
            let share = 100.0 * retransmitted as f64 / sent as f64;
            return Some(format!(
                "{share:.0} % of the packets were retransmitted; the limit is {:.0} %",
                100.0 * envelope.loss
            ));
        }
        if timeouts >= envelope.timeouts {
            return Some(format!("{timeouts} retransmission timeouts; the limit is {}", envelope.timeouts - 1));
        }
        let min_rtt = now.sender.min_rtt.unwrap_or(Duration::MAX).as_nanos();
        let rtt = now.sender.srtt.unwrap_or_default().as_nanos();
        if rtt > envelope.rtt.as_nanos() as u64 && rtt as f64 > envelope.inflation * min_rtt as f64 {
            return Some(format!(
                "the RTT is {:.1} s, {:.0} times the minimum; the limit is {:.0} times",
                rtt as f64 * 1e-9,
                rtt as f64 / min_rtt as f64,
                envelope.inflation
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::SenderState;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn snapshot(second: u64, sent: u64, retransmitted: u64) -> Snapshot {
        let mut snapshot = with_rtt(second, 50, 20);
        let counters = &mut snapshot.sender.counters;
        (counters.sent_packets, counters.retransmitted_packets) = (sent, retransmitted);
        snapshot
    }

    fn with_rtt(second: u64, srtt_ms: u64, min_rtt_ms: u64) -> Snapshot {
        let [srtt, min_rtt] = [srtt_ms, min_rtt_ms].map(|ms| Some(Duration::from_millis(ms)));
        let sender = SenderState { srtt, min_rtt, ..SenderState::default() };
        Snapshot { time_ns: second * SECOND, sender, ..Snapshot::default() }
    }

    fn end_of(snapshots: impl IntoIterator<Item = Snapshot>) -> Option<(u64, String)> {
        let mut breaker = Breaker::new(Envelope::default(), Snapshot::default());
        snapshots.into_iter().find_map(|snapshot| breaker.check(&snapshot).map(|why| (snapshot.time_ns / SECOND, why)))
    }

    #[test]
    fn three_measurements_with_a_third_retransmitted_end_a_transfer() {
        let (second, why) = end_of((1..60).map(|at| snapshot(at, at * 300, at * 100))).unwrap();
        assert_eq!(second, 9);
        assert_eq!(
            why,
            "33 % of the packets were retransmitted; the limit is 20 %, in 3 consecutive measurements of 3.0 s"
        );
    }

    #[test]
    fn losses_that_congestion_control_handles_do_not_end_a_transfer() {
        assert_eq!(end_of((1..600).map(|at| snapshot(at, at * 300, at * 30))), None);
        // Six seconds outside the envelope and three within it, alternately.
        let waves = (1..600).map(|at: u64| snapshot(at, at * 300, at.div_ceil(9) * 600));
        assert_eq!(end_of(waves), None);
        // Too few packets for a ratio.
        assert_eq!(end_of((1..600).map(|at| snapshot(at, at, at))), None);
    }

    #[test]
    fn timeouts_and_an_rtt_of_twenty_times_the_minimum_end_a_transfer() {
        let expiring = |at| {
            let mut snapshot = snapshot(at, at, 0);
            snapshot.sender.counters.timeouts = 2 * at;
            snapshot
        };
        let (_, why) = end_of((1..60).map(expiring)).unwrap();
        assert!(why.starts_with("6 retransmission timeouts; the limit is 3"), "{why}");
        let slow = |at| with_rtt(at, 2000, 20);
        let (second, why) = end_of((1..90).map(slow)).unwrap();
        // A measurement takes ten round trips of two seconds.
        assert_eq!(second, 60);
        assert!(why.starts_with("the RTT is 2.0 s, 100 times the minimum; the limit is 20 times"), "{why}");
        let long = |at| with_rtt(at, 2000, 1000);
        assert_eq!(end_of((1..600).map(long)), None);
    }
}
