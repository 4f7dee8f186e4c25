//! The limits that hold for a connection as a whole, so that several short transfers are treated like one long transfer:
//! the circuit breaker and the minimum rate of the client.
//!
//! Both measure the time for which the client has data to acknowledge. Idle times between two transfers, and times for
//! which the server's own rate limit holds data back, count for neither.

use crate::breaker::Breaker;
use crate::limits::Limits;
use crate::transfer::End;
use cwndlab_fetch::snapshot::Snapshot;

/// Round trips after which data that are still unacknowledged count as waiting for the client.
const ROUNDS: u64 = 2;

/// Maximum of these round trips, ns: a client can delay its acknowledgements.
const MAX_ALLOWANCE_NS: u64 = 2_000_000_000;

/// What a connection does besides its transport's state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    /// A transfer is running.
    pub(crate) has_transfer: bool,
    /// The transport accepts no more data of a response.
    pub(crate) is_blocked: bool,
}

/// The checks of one connection.
#[derive(Debug)]
pub(crate) struct Monitor {
    breaker: Breaker,
    client_rate: ClientRate,
    /// Time for which the connection had data in flight, ns: the clock of the breaker.
    busy_ns: u64,
    last: Observation,
}

#[derive(Clone, Copy, Debug, Default)]
struct Observation {
    time_ns: u64,
    is_busy: bool,
    sent_bytes: u64,
}

impl Monitor {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            breaker: Breaker::new(limits.envelope, Snapshot::default()),
            client_rate: ClientRate::new(limits),
            busy_ns: 0,
            last: Observation::default(),
        }
    }

    /// Checks the state of the sender, whose counters are of the connection; returns the reason if the connection must
    /// end. `time_ns` increases from call to call.
    pub(crate) fn observe(&mut self, time_ns: u64, snapshot: &Snapshot, activity: Activity) -> Option<(End, String)> {
        let is_busy = snapshot.sender.waiting || activity.is_blocked;
        let now = Observation { time_ns, is_busy, sent_bytes: snapshot.sender.counters.sent_bytes };
        let before = std::mem::replace(&mut self.last, now);
        // Short transfers may begin and end between two observations.
        if is_busy || before.is_busy || now.sent_bytes > before.sent_bytes {
            self.busy_ns += time_ns.saturating_sub(before.time_ns);
        }
        let measured = Snapshot { time_ns: self.busy_ns, ..snapshot.clone() };
        if let Some(why) = self.breaker.check(&measured) {
            return Some((End::Breaker, why));
        }
        self.client_rate.check(now, snapshot, activity.has_transfer).map(|why| (End::Slow, why))
    }
}

/// The minimum rate of a client, over the time for which the server waited for its acknowledgements.
#[derive(Debug)]
struct ClientRate {
    patience_ns: u64,
    min_bps: u64,
    /// Start of the period for which data have been unacknowledged at every observation.
    busy_since_ns: Option<u64>,
    last_ns: u64,
    waited_ns: u64,
    /// Acknowledged bytes at the start of the measurement.
    acked_bytes: u64,
}

impl ClientRate {
    fn new(limits: &Limits) -> Self {
        Self {
            patience_ns: limits.patience.as_nanos() as u64,
            min_bps: limits.progress_bps,
            busy_since_ns: None,
            last_ns: 0,
            waited_ns: 0,
            acked_bytes: 0,
        }
    }

    fn check(&mut self, now: Observation, snapshot: &Snapshot, has_transfer: bool) -> Option<String> {
        let last_ns = std::mem::replace(&mut self.last_ns, now.time_ns);
        if !now.is_busy {
            self.busy_since_ns = None;
            return None;
        }
        let min_rtt_ns = snapshot.sender.min_rtt.unwrap_or_default().as_nanos();
        let allowance = min_rtt_ns.saturating_mul(ROUNDS).min(MAX_ALLOWANCE_NS);
        let begin = last_ns.max(self.busy_since_ns.get_or_insert(now.time_ns).saturating_add(allowance));
        self.waited_ns += now.time_ns.saturating_sub(begin);
        if self.waited_ns < self.patience_ns {
            return None;
        }
        let seconds = std::mem::take(&mut self.waited_ns) as f64 * 1e-9;
        let acked_bytes = snapshot.sender.counters.acked_bytes;
        let acked = acked_bytes.saturating_sub(std::mem::replace(&mut self.acked_bytes, acked_bytes));
        let rate = 8.0 * acked as f64 / seconds;
        let min = self.min_bps;
        // Without a minimum rate, the client must still read the other responses.
        let is_slow = rate < min as f64 || (acked == 0 && !has_transfer);
        is_slow.then(|| format!("{rate:.0} bit/s over {seconds:.0} s; the minimum is {min} bit/s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::{self as units, SenderCounters, SenderState};
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    fn limits() -> Limits {
        Limits { patience: Duration::from_secs(30), progress_bps: 8_000, ..Limits::default() }
    }

    /// A sender with data to acknowledge if it is `waiting`.
    fn snapshot(waiting: bool, acked_bytes: u64, rtt_ms: u64) -> Snapshot {
        let rtt = Some(units::Duration::from_millis(rtt_ms));
        let counters = SenderCounters { acked_bytes, ..SenderCounters::default() };
        let sender = SenderState { waiting, srtt: rtt, min_rtt: rtt, counters, ..SenderState::default() };
        Snapshot { sender, ..Snapshot::default() }
    }

    /// Observes a connection every 100 ms for `seconds`; returns the second of its end, and the reason.
    fn end_of(seconds: u64, state: impl Fn(u64) -> Snapshot) -> Option<(u64, End, String)> {
        let mut monitor = Monitor::new(&limits());
        let activity = Activity { has_transfer: true, is_blocked: false };
        (1..=10 * seconds).find_map(|tick| {
            let time = tick * 100 * MS;
            monitor.observe(time, &state(time / MS), activity).map(|(end, why)| (time / (1000 * MS), end, why))
        })
    }

    /// By hand: each transfer of 1,000 bytes is acknowledged 20 s after it was sent, which is 400 bit/s. The server waits
    /// all but two round trips (40 ms) of each; 30 s of waiting are complete during the second transfer.
    #[test]
    fn a_client_that_reads_many_short_transfers_slowly_is_slow() {
        let state = |ms: u64| snapshot(ms % 21_000 < 20_000, (ms + 1_000) / 21_000 * 1_000, 20);
        let (second, end, why) = end_of(120, state).unwrap();
        assert_eq!((second, end), (31, End::Slow));
        assert!(why.contains("bit/s over 30 s; the minimum is 8000 bit/s"), "{why}");
    }

    /// A geostationary path of 600 ms: each transfer of one byte, 300 with its header, is acknowledged after one round
    /// trip, which is 4,000 bit/s.
    #[test]
    fn short_transfers_on_a_long_path_are_not_slow() {
        let state = |ms: u64| snapshot(ms % 700 < 600, ms / 700 * 300, 600);
        assert_eq!(end_of(600, state), None);
    }

    /// The server's limit of 1,000 bit/s sends 125 bytes each second, which the client acknowledges after 200 ms.
    #[test]
    fn a_client_that_acknowledges_all_that_the_rate_limit_sends_is_not_slow() {
        let state = |ms: u64| snapshot(ms % 1_000 < 200, ms / 1_000 * 125, 150);
        assert_eq!(end_of(600, state), None);
    }

    #[test]
    fn a_blocked_stream_counts_as_waiting_without_data_in_flight() {
        let mut monitor = Monitor::new(&limits());
        let activity = Activity { has_transfer: true, is_blocked: true };
        let idle = Snapshot::default();
        let end = (1..400).find_map(|tick| monitor.observe(tick * 100 * MS, &idle, activity).map(|_| tick / 10));
        assert_eq!(end, Some(30));
    }

    /// A transfer of 300 packets takes 1 s, then the connection is idle for 9 s. A third of the packets is retransmitted.
    /// Three measurements of 3 s in which packets were sent are complete in the ninth transfer, 82 s after the start
    /// at the latest: an observation between two transfers adds 100 ms to each.
    #[test]
    fn the_breaker_ends_a_series_of_short_transfers() {
        let state = |ms: u64| {
            let sent = ms / 10_000 * 300 + (ms % 10_000).min(1_000) * 3 / 10;
            let mut snapshot = snapshot(ms % 10_000 < 1_000, sent * 1448, 20);
            let counters = &mut snapshot.sender.counters;
            (counters.sent_bytes, counters.sent_packets) = (sent * 1448, sent);
            counters.retransmitted_packets = sent / 3;
            snapshot
        };
        let (second, end, why) = end_of(200, state).unwrap();
        assert_eq!(end, End::Breaker);
        assert!((70..=82).contains(&second), "{second}");
        assert!(why.contains("in 3 consecutive measurements of 3.0 s"), "{why}");
    }
}
