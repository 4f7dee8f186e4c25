//! The limits of a server. Each has a default value and is an option of `cwndlab serve`.

use cwndlab_units::Fault;
use std::time::Duration;

/// Limits of a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections that presented a valid token.
    pub connections: usize,
    /// Open connections of one address that presented a valid token.
    pub connections_per_address: usize,
    /// Connections that have not sent a byte; a new one evicts the oldest.
    pub waiting: usize,
    /// Connections between their first byte and a valid token; a new one evicts the oldest.
    pub unproven: usize,
    /// Rates of connection attempts.
    pub attempts: AttemptLimits,
    /// Simultaneous transfers of one token.
    pub transfers_per_token: usize,
    /// Maximum size of a transfer, bytes.
    pub transfer_bytes: u64,
    /// Total rate of the transfers of one token, bit/s; `None` is unlimited.
    pub rate_bps: Option<u64>,
    /// Maximum duration of a transfer.
    pub duration: Duration,
    /// Maximum time from the connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// Maximum time for the head of a request, and between two requests.
    pub header: Duration,
    /// Maximum size of the head of a request, bytes.
    pub header_bytes: usize,
    /// Time of waiting for the acknowledgements of a client, over which it must reach `progress_bps`.
    pub patience: Duration,
    /// Minimum rate at which a client acknowledges data, bit/s.
    pub progress_bps: u64,
    /// Sampling interval of a transfer.
    pub sample_interval: Duration,
    /// Maximum number of samples of a transfer. When it is reached, every other sample is dropped and the interval
    /// doubles.
    pub samples: usize,
    /// Maximum number of accounts of transfers; a new one evicts the oldest account of an ended transfer.
    pub transfers_kept: usize,
    /// Lifetime of an account after the end of its transfer.
    pub account: Duration,
    /// The envelope of the circuit breaker.
    pub envelope: Envelope,
}

/// Rates of connection attempts, per second.
#[derive(Clone, Copy, Debug)]
pub struct AttemptLimits {
    /// Rate of one address; the burst is four seconds of it.
    pub per_address_per_s: u32,
    /// Rate of one /24 (IPv4) or /48 (IPv6); the burst is four seconds of it.
    pub per_prefix_per_s: u32,
    /// Rate of TLS handshakes of all addresses without a recent valid token; the burst is one second of it.
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
    /// Minimum length of a measurement, which also takes at least ten round trips (RFC 8084, section 4: well over an
    /// RTT).
    pub interval: Duration,
    /// Number of consecutive measurements outside the envelope that end a transfer.
    pub intervals: u32,
    /// Maximum share of retransmitted packets.
    pub loss: f64,
    /// Number of expired retransmission timers in one measurement that is outside the envelope.
    pub timeouts: u64,
    /// Maximum ratio of the smoothed to the minimum RTT.
    pub inflation: f64,
    /// Smoothed RTT above which the ratio counts.
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
    /// File descriptors of a fully loaded server: its sockets and a reserve for the process.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        self.connections + self.waiting + self.unproven + 64
    }
}

/// The declaration of a limit.
pub struct Limit {
    /// Name, which ends in the unit.
    pub name: &'static str,
    /// Minimum value.
    pub min: f64,
    /// Description.
    pub doc: &'static str,
    /// Returns the value; `None` is unlimited.
    pub get: fn(&Limits) -> Option<f64>,
    set: fn(&mut Limits, f64),
}

/// All limits.
#[rustfmt::skip]
pub const LIMITS: [Limit; 26] = [
    Limit { name: "connections", min: 1.0, doc: "open connections with a valid token", get: |l| Some(l.connections as f64), set: |l, v| l.connections = v as usize },
    Limit { name: "connections_per_address", min: 1.0, doc: "open connections with a valid token from one IPv4 address or IPv6 /64", get: |l| Some(l.connections_per_address as f64), set: |l, v| l.connections_per_address = v as usize },
    Limit { name: "waiting", min: 1.0, doc: "connections that have not sent a byte; a new one evicts the oldest", get: |l| Some(l.waiting as f64), set: |l, v| l.waiting = v as usize },
    Limit { name: "unproven", min: 1.0, doc: "connections between their first byte and a valid token; a new one evicts the oldest", get: |l| Some(l.unproven as f64), set: |l, v| l.unproven = v as usize },
    Limit { name: "attempts_per_address_per_s", min: 1.0, doc: "connection attempts of an IPv4 address or an IPv6 /64; bursts of four seconds", get: |l| Some(l.attempts.per_address_per_s as f64), set: |l, v| l.attempts.per_address_per_s = v as u32 },
    Limit { name: "attempts_per_prefix_per_s", min: 1.0, doc: "connection attempts of an IPv4 /24 or an IPv6 /48; bursts of four seconds", get: |l| Some(l.attempts.per_prefix_per_s as f64), set: |l, v| l.attempts.per_prefix_per_s = v as u32 },
    Limit { name: "handshakes_per_s", min: 1.0, doc: "TLS handshakes of all addresses without a valid token in the last day", get: |l| Some(l.attempts.handshakes_per_s as f64), set: |l, v| l.attempts.handshakes_per_s = v as u32 },
    Limit { name: "transfers_per_token", min: 1.0, doc: "simultaneous transfers of one token", get: |l| Some(l.transfers_per_token as f64), set: |l, v| l.transfers_per_token = v as usize },
    Limit { name: "transfer_bytes", min: 1.0, doc: "size of a transfer", get: |l| Some(l.transfer_bytes as f64), set: |l, v| l.transfer_bytes = v as u64 },
    Limit { name: "rate_bps", min: 1000.0, doc: "total rate of the transfers of one token; unlimited by default", get: |l| l.rate_bps.map(|bps| bps as f64), set: |l, v| l.rate_bps = Some(v as u64) },
    Limit { name: "duration_s", min: 0.001, doc: "duration of a transfer", get: |l| Some(l.duration.as_secs_f64()), set: |l, v| l.duration = Duration::from_secs_f64(v) },
    Limit { name: "handshake_s", min: 0.001, doc: "time from the connection to the end of the TLS handshake", get: |l| Some(l.handshake.as_secs_f64()), set: |l, v| l.handshake = Duration::from_secs_f64(v) },
    Limit { name: "header_s", min: 0.001, doc: "time for the head of a request, and between two requests", get: |l| Some(l.header.as_secs_f64()), set: |l, v| l.header = Duration::from_secs_f64(v) },
    Limit { name: "header_bytes", min: 8192.0, doc: "size of the head of a request", get: |l| Some(l.header_bytes as f64), set: |l, v| l.header_bytes = v as usize },
    Limit { name: "patience_s", min: 0.001, doc: "time of waiting for a client, over which it must reach progress_bps", get: |l| Some(l.patience.as_secs_f64()), set: |l, v| l.patience = Duration::from_secs_f64(v) },
    Limit { name: "progress_bps", min: 0.0, doc: "minimum rate at which a client acknowledges data", get: |l| Some(l.progress_bps as f64), set: |l, v| l.progress_bps = v as u64 },
    Limit { name: "sample_interval_s", min: 0.001, doc: "sampling interval of a transfer", get: |l| Some(l.sample_interval.as_secs_f64()), set: |l, v| l.sample_interval = Duration::from_secs_f64(v) },
    Limit { name: "samples", min: 2.0, doc: "samples of a transfer; when full, every other one is dropped and the interval doubles", get: |l| Some(l.samples as f64), set: |l, v| l.samples = v as usize },
    Limit { name: "transfers_kept", min: 1.0, doc: "accounts of transfers; a new one evicts the oldest account of an ended transfer", get: |l| Some(l.transfers_kept as f64), set: |l, v| l.transfers_kept = v as usize },
    Limit { name: "account_s", min: 0.001, doc: "lifetime of an account after the end of its transfer", get: |l| Some(l.account.as_secs_f64()), set: |l, v| l.account = Duration::from_secs_f64(v) },
    Limit { name: "breaker_interval_s", min: 0.001, doc: "length of a measurement of the circuit breaker; at least ten round trips", get: |l| Some(l.envelope.interval.as_secs_f64()), set: |l, v| l.envelope.interval = Duration::from_secs_f64(v) },
    Limit { name: "breaker_intervals", min: 1.0, doc: "consecutive measurements outside the envelope that end a transfer", get: |l| Some(l.envelope.intervals as f64), set: |l, v| l.envelope.intervals = v as u32 },
    Limit { name: "breaker_loss", min: 0.0, doc: "maximum share of retransmitted packets", get: |l| Some(l.envelope.loss), set: |l, v| l.envelope.loss = v },
    Limit { name: "breaker_timeouts", min: 1.0, doc: "retransmission timeouts in a measurement that is outside the envelope", get: |l| Some(l.envelope.timeouts as f64), set: |l, v| l.envelope.timeouts = v as u64 },
    Limit { name: "breaker_inflation", min: 1.0, doc: "maximum ratio of smoothed to minimum RTT", get: |l| Some(l.envelope.inflation), set: |l, v| l.envelope.inflation = v },
    Limit { name: "breaker_rtt_s", min: 0.0, doc: "smoothed RTT above which breaker_inflation applies", get: |l| Some(l.envelope.rtt.as_secs_f64()), set: |l, v| l.envelope.rtt = Duration::from_secs_f64(v) },
];

/// Maximum value of a limit in its unit.
const MAX_VALUE: f64 = 1e12;

impl Limits {
    /// Sets limits by their names.
    ///
    /// # Errors
    ///
    /// All unknown names and all values out of range.
    pub fn set<'a>(&mut self, values: impl IntoIterator<Item = (&'a str, f64)>) -> Result<(), Vec<Fault>> {
        let mut faults = Vec::new();
        for (name, value) in values {
            match LIMITS.iter().find(|limit| limit.name == name) {
                None => {
                    let known: Vec<&str> = LIMITS.iter().map(|limit| limit.name).collect();
                    faults.push(Fault::new(name, "is not a limit", format!("the limits are {}", known.join(", "))));
                }
                Some(limit) if !(limit.min..=MAX_VALUE).contains(&value) => {
                    let hint = format!("the minimum is {}", limit.min);
                    faults.push(Fault::new(name, format!("{value} is out of range"), hint));
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
        assert_eq!(texts, ["connections: 0 is out of range", "speed: is not a limit", "header_s: NaN is out of range"]);
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
            assert!(value >= limit.min, "{}", limit.name);
            limits.set([(limit.name, 3.0 * value)]).unwrap();
            // Times are stored in whole nanoseconds.
            let read = (limit.get)(&limits).unwrap();
            assert!((read / (3.0 * value) - 1.0).abs() < 1e-9, "{}: {read}", limit.name);
        }
    }
}
