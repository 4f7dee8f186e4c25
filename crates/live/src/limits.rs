//! The limits of a server. Each has a default and is an option of `cwndlab serve`.

use std::time::Duration;

use cwndlab_linux::fault::{fault, Fault};

/// Limits of a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections that presented a valid token.
    pub connections: usize,
    /// Of them, connections of one address.
    pub connections_per_address: usize,
    /// Connections that have not sent a byte; a new one evicts the oldest.
    pub waiting: usize,
    /// Connections between their first byte and a valid token; a new one evicts the oldest.
    pub unproven: usize,
    /// Rates of connection attempts.
    pub attempts: AttemptLimits,
    /// Simultaneous transfers of one token.
    pub transfers_per_token: usize,
    /// Bytes of one transfer.
    pub transfer_bytes: u64,
    /// Total rate of the transfers of one token, bit/s.
    pub rate_bps: Option<u64>,
    /// Duration of one transfer.
    pub duration: Duration,
    /// Time from the connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// Time for the head of a request, and between two requests.
    pub header: Duration,
    /// Size of the head of a request.
    pub header_bytes: usize,
    /// Period over which a transfer must reach `progress_bps`.
    pub patience: Duration,
    /// Smallest rate of a transfer, bit/s.
    pub progress_bps: u64,
    /// Interval of the samples of a transfer.
    pub sample_interval: Duration,
    /// Largest number of samples of a transfer; then every other one is dropped and the interval doubled.
    pub samples: usize,
    /// Number of transfers whose account is kept; a new one evicts the oldest that has ended.
    pub transfers_kept: usize,
    /// How long an account is kept after the end of its transfer.
    pub account: Duration,
    /// The envelope of the circuit breaker.
    pub envelope: Envelope,
}

/// Rates of connection attempts, per second.
#[derive(Clone, Copy, Debug)]
pub struct AttemptLimits {
    /// Of one address; the burst is four times as many.
    pub per_address_per_s: u32,
    /// Of one /24 (IPv4) or /48 (IPv6); the burst is four times as many.
    pub per_prefix_per_s: u32,
    /// TLS handshakes of all addresses without a recent valid token; the burst is as many.
    pub handshakes_per_s: u32,
}

impl Default for AttemptLimits {
    fn default() -> Self {
        Self { per_address_per_s: 64, per_prefix_per_s: 256, handshakes_per_s: 400 }
    }
}

/// The conditions of a path under which the circuit breaker ends a transfer (RFC 8084).
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// Shortest measurement, besides ten round trips (RFC 8084, section 4: well over an RTT).
    pub interval: Duration,
    /// Number of consecutive measurements outside the envelope that end a transfer.
    pub intervals: u32,
    /// Share of retransmitted packets.
    pub loss: f64,
    /// Expired retransmission timers within one measurement.
    pub timeouts: u64,
    /// Ratio of the smoothed to the smallest RTT, and
    pub inflation: f64,
    /// smoothed RTT above which the ratio counts.
    pub rtt: Duration,
}

impl Default for Envelope {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(3),
            intervals: 3,
            loss: 0.2,
            timeouts: 4,
            inflation: 20.0,
            rtt: Duration::from_secs(1),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            connections_per_address: 256,
            waiting: 1024,
            unproven: 256,
            attempts: AttemptLimits::default(),
            transfers_per_token: 32,
            transfer_bytes: 10_000_000_000,
            rate_bps: None,
            duration: Duration::from_secs(900),
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(10),
            header_bytes: 16 << 10,
            patience: Duration::from_secs(30),
            progress_bps: 8_000,
            sample_interval: Duration::from_millis(100),
            samples: 1000,
            transfers_kept: 600,
            account: Duration::from_secs(900),
            envelope: Envelope::default(),
        }
    }
}

impl Limits {
    /// File descriptors of a fully loaded server: sockets, and some for the process itself.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        self.connections + self.waiting + self.unproven + 64
    }
}

/// A limit with its name, which ends in its unit.
pub struct Limit {
    /// Its name.
    pub name: &'static str,
    /// Its smallest value.
    pub least: f64,
    /// Its description.
    pub doc: &'static str,
    /// Its value.
    pub get: fn(&Limits) -> Option<f64>,
    set: fn(&mut Limits, f64),
}

/// All limits.
#[rustfmt::skip]
pub const LIMITS: [Limit; 26] = [
    Limit { name: "connections", least: 1.0, doc: "connections with a valid token at once", get: |l| Some(l.connections as f64), set: |l, v| l.connections = v as usize },
    Limit { name: "connections_per_address", least: 1.0, doc: "of them from one IPv4 address or IPv6 /64", get: |l| Some(l.connections_per_address as f64), set: |l, v| l.connections_per_address = v as usize },
    Limit { name: "waiting", least: 1.0, doc: "connections that have not sent a byte; the oldest is evicted for a new one", get: |l| Some(l.waiting as f64), set: |l, v| l.waiting = v as usize },
    Limit { name: "unproven", least: 1.0, doc: "connections between their first byte and a valid token; the oldest is evicted for a new one", get: |l| Some(l.unproven as f64), set: |l, v| l.unproven = v as usize },
    Limit { name: "attempts_per_address_per_s", least: 1.0, doc: "connection attempts of an IPv4 address or an IPv6 /64; four seconds' worth at once", get: |l| Some(l.attempts.per_address_per_s as f64), set: |l, v| l.attempts.per_address_per_s = v as u32 },
    Limit { name: "attempts_per_prefix_per_s", least: 1.0, doc: "connection attempts of an IPv4 /24 or an IPv6 /48; four seconds' worth at once", get: |l| Some(l.attempts.per_prefix_per_s as f64), set: |l, v| l.attempts.per_prefix_per_s = v as u32 },
    Limit { name: "handshakes_per_s", least: 1.0, doc: "TLS handshakes of addresses that showed no valid token within a day, all together", get: |l| Some(l.attempts.handshakes_per_s as f64), set: |l, v| l.attempts.handshakes_per_s = v as u32 },
    Limit { name: "transfers_per_token", least: 1.0, doc: "transfers of one token at once", get: |l| Some(l.transfers_per_token as f64), set: |l, v| l.transfers_per_token = v as usize },
    Limit { name: "transfer_bytes", least: 1.0, doc: "bytes of one transfer", get: |l| Some(l.transfer_bytes as f64), set: |l, v| l.transfer_bytes = v as u64 },
    Limit { name: "rate_bps", least: 1000.0, doc: "rate of one token over all its transfers; no limit by default", get: |l| l.rate_bps.map(|bps| bps as f64), set: |l, v| l.rate_bps = Some(v as u64) },
    Limit { name: "duration_s", least: 0.001, doc: "duration of one transfer", get: |l| Some(l.duration.as_secs_f64()), set: |l, v| l.duration = Duration::from_secs_f64(v) },
    Limit { name: "handshake_s", least: 0.001, doc: "from the connection to the end of the TLS handshake", get: |l| Some(l.handshake.as_secs_f64()), set: |l, v| l.handshake = Duration::from_secs_f64(v) },
    Limit { name: "header_s", least: 0.001, doc: "for the head of a request, and between two requests", get: |l| Some(l.header.as_secs_f64()), set: |l, v| l.header = Duration::from_secs_f64(v) },
    Limit { name: "header_bytes", least: 8192.0, doc: "head of a request", get: |l| Some(l.header_bytes as f64), set: |l, v| l.header_bytes = v as usize },
    Limit { name: "patience_s", least: 0.001, doc: "a transfer must reach progress_bps over each such time", get: |l| Some(l.patience.as_secs_f64()), set: |l, v| l.patience = Duration::from_secs_f64(v) },
    Limit { name: "progress_bps", least: 0.0, doc: "the slowest reader", get: |l| Some(l.progress_bps as f64), set: |l, v| l.progress_bps = v as u64 },
    Limit { name: "sample_interval_s", least: 0.001, doc: "between two samples of a transfer", get: |l| Some(l.sample_interval.as_secs_f64()), set: |l, v| l.sample_interval = Duration::from_secs_f64(v) },
    Limit { name: "samples", least: 2.0, doc: "samples of a transfer; when full every other one goes and the interval doubles", get: |l| Some(l.samples as f64), set: |l, v| l.samples = v as usize },
    Limit { name: "transfers_kept", least: 1.0, doc: "transfers whose account is kept; the oldest that ended is dropped for a new one", get: |l| Some(l.transfers_kept as f64), set: |l, v| l.transfers_kept = v as usize },
    Limit { name: "account_s", least: 0.001, doc: "how long an account is kept after its transfer", get: |l| Some(l.account.as_secs_f64()), set: |l, v| l.account = Duration::from_secs_f64(v) },
    Limit { name: "breaker_interval_s", least: 0.001, doc: "one measurement of the circuit breaker; at least ten round trips", get: |l| Some(l.envelope.interval.as_secs_f64()), set: |l, v| l.envelope.interval = Duration::from_secs_f64(v) },
    Limit { name: "breaker_intervals", least: 1.0, doc: "measurements in a row outside the envelope that end a transfer", get: |l| Some(l.envelope.intervals as f64), set: |l, v| l.envelope.intervals = v as u32 },
    Limit { name: "breaker_loss", least: 0.0, doc: "share of retransmitted packets", get: |l| Some(l.envelope.loss), set: |l, v| l.envelope.loss = v },
    Limit { name: "breaker_timeouts", least: 1.0, doc: "retransmission timeouts within a measurement", get: |l| Some(l.envelope.timeouts as f64), set: |l, v| l.envelope.timeouts = v as u64 },
    Limit { name: "breaker_inflation", least: 1.0, doc: "smoothed over smallest RTT, and", get: |l| Some(l.envelope.inflation), set: |l, v| l.envelope.inflation = v },
    Limit { name: "breaker_rtt_s", least: 0.0, doc: "smoothed RTT above this", get: |l| Some(l.envelope.rtt.as_secs_f64()), set: |l, v| l.envelope.rtt = Duration::from_secs_f64(v) },
];

/// Largest value of a limit in its unit.
const LARGEST: f64 = 1e12;

impl Limits {
    /// Sets limits by their names; returns all faults.
    pub fn set<'a>(&mut self, values: impl IntoIterator<Item = (&'a str, f64)>) -> Result<(), Vec<Fault>> {
        let mut faults = Vec::new();
        for (name, value) in values {
            match LIMITS.iter().find(|limit| limit.name == name) {
                None => {
                    let known: Vec<&str> = LIMITS.iter().map(|limit| limit.name).collect();
                    faults.push(fault(name, "there is no such limit", format!("there are {}", known.join(", "))));
                }
                Some(limit) if !(limit.least..=LARGEST).contains(&value) => {
                    faults.push(fault(name, format!("{value} is no such limit"), format!("from {} on", limit.least)));
                }
                Some(limit) => (limit.set)(self, value),
            }
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_set_by_name_and_all_faults_are_returned() {
        let mut limits = Limits::default();
        limits.set([("connections", 7.0), ("duration_s", 1.5), ("rate_bps", 1e6), ("breaker_loss", 0.5)]).unwrap();
        assert_eq!(
            (limits.connections, limits.duration, limits.rate_bps),
            (7, Duration::from_millis(1500), Some(1_000_000))
        );
        assert_eq!(limits.envelope.loss, 0.5);
        let faults = limits.set([("connections", 0.0), ("speed", 1.0), ("header_s", f64::NAN)]).unwrap_err();
        let texts: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.place, fault.what)).collect();
        assert_eq!(
            texts,
            ["connections: 0 is no such limit", "speed: there is no such limit", "header_s: NaN is no such limit"]
        );
    }

    #[test]
    fn each_limit_has_a_unique_name_and_reads_back_what_was_set() {
        let mut names: Vec<&str> = LIMITS.iter().map(|limit| limit.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LIMITS.len());
        for limit in &LIMITS {
            let mut limits = Limits::default();
            let value = (limit.get)(&limits).unwrap_or(1e6);
            assert!(value >= limit.least, "{}", limit.name);
            limits.set([(limit.name, 3.0 * value)]).unwrap();
            // Times are kept in whole nanoseconds.
            let read = (limit.get)(&limits).unwrap();
            assert!((read / (3.0 * value) - 1.0).abs() < 1e-9, "{}: {read}", limit.name);
        }
    }
}
