//! Traces of delivery opportunities in the format of Mahimahi, and synthetic traces.
//!
//! A trace has one integer number of ms per line, non-decreasing. The last one, above 0, is the period of the trace.
//!
//! A synthetic trace is one file with its `SPEC`, and one line in the list below.

mod stochastic_rate;

use std::sync::{Arc, OnceLock};

use cwndlab_units::Rate;
use sha2::{Digest, Sha256};

/// Duration of a synthetic trace in a scenario, s.
pub const DURATION_S: u32 = 120;
/// Seed of a synthetic trace in a scenario.
pub const SEED: u64 = 1;

/// A synthetic trace.
pub struct SyntheticTrace {
    /// Name.
    pub name: &'static str,
    /// Description, one sentence.
    pub doc: &'static str,
    generate: fn(u64, u32) -> Vec<u32>,
    /// Cache of [`default_trace`](Self::default_trace).
    cached: OnceLock<Arc<[u32]>>,
}

impl SyntheticTrace {
    const fn new(name: &'static str, doc: &'static str, generate: fn(u64, u32) -> Vec<u32>) -> Self {
        Self { name, doc, generate, cached: OnceLock::new() }
    }

    /// The synthetic trace of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        SYNTHETIC.iter().copied().find(|kind| kind.name == name)
    }

    /// Generates a trace of `seconds` seconds, in ms. Its last opportunity is at its end, which is the period.
    #[must_use]
    pub fn generate(&self, seed: u64, seconds: u32) -> Vec<u32> {
        (self.generate)(seed, seconds)
    }

    /// The trace that a scenario refers to by name: [`DURATION_S`] seconds, seed [`SEED`].
    #[must_use]
    pub fn default_trace(&self) -> Arc<[u32]> {
        Arc::clone(self.cached.get_or_init(|| self.generate(SEED, DURATION_S).into()))
    }
}

macro_rules! kinds {
    ($($module:ident,)*) => {
        $(mod $module;)*

        /// All synthetic traces, in the order of the documentation.
        pub static SYNTHETIC: &[&SyntheticTrace] = &[$(&$module::SPEC),*];
    };
}

kinds! {
    lte_driving,
    lte_stationary,
    third_generation,
    satellite,
}

/// Parses a trace; messages start with `name:line: `.
///
/// # Errors
/// An empty or malformed line, decreasing times, or a period of 0.
pub fn parse(text: &str, name: &str) -> Result<Arc<[u32]>, String> {
    let mut stamps: Vec<u32> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", n + 1);
        let stamp = milliseconds(line, &place)?;
        if let Some(&last) = stamps.last().filter(|&&last| stamp < last) {
            return Err(format!("{place}: {stamp} ms is less than the previous {last} ms"));
        }
        stamps.push(stamp);
    }
    match stamps.last() {
        None => Err(format!("{name}:1: the trace is empty")),
        Some(0) => {
            Err(format!("{name}:{}: every time is 0 ms, but the last one is the period of the trace", stamps.len()))
        }
        Some(_) => Ok(stamps.into()),
    }
}

/// A line with a number of milliseconds.
fn milliseconds(line: &str, place: &str) -> Result<u32, String> {
    let word = line.trim();
    if word.is_empty() {
        return Err(format!("{place}: the line is empty"));
    }
    // The message does not quote the line: the file may be confidential and not a trace.
    word.parse().map_err(|_| format!("{place}: expected an integer number of milliseconds from 0 to {}", u32::MAX))
}

/// Parses recorded delays, ms; messages start with `name:line: `.
///
/// # Errors
/// An empty or malformed line, or no line.
pub fn parse_delays(text: &str, name: &str) -> Result<Vec<u32>, String> {
    let delays: Result<Vec<u32>, String> =
        text.lines().enumerate().map(|(n, line)| milliseconds(line, &format!("{name}:{}", n + 1))).collect();
    match delays {
        Ok(delays) if delays.is_empty() => Err(format!("{name}:1: the trace is empty")),
        other => other,
    }
}

/// The mean rate of a trace with `bytes` bytes per opportunity.
#[must_use]
pub fn mean_rate(stamps: &[u32], bytes: u64) -> Rate {
    let period = stamps.last().map_or(1, |&last| u128::from(last));
    let rate = stamps.len() as u128 * u128::from(bytes) * 8000 / period;
    Rate(rate.clamp(1, i64::MAX as u128) as u64)
}

/// SHA-256 of the times, one per line, in hex; the hash of a scenario covers a trace by it.
#[must_use]
pub fn sha256(stamps: &[u32]) -> String {
    let mut digest = Sha256::new();
    for stamp in stamps {
        digest.update(format!("{stamp}\n"));
    }
    digest.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_one_time_per_line() {
        assert_eq!(*parse("0\n2\n2\n7\n", "t").unwrap(), [0, 2, 2, 7]);
        assert_eq!(*parse("1\r\n3", "t").unwrap(), [1, 3]);
    }

    #[test]
    fn messages_do_not_quote_the_contents_of_a_file() {
        let fault = parse("root:$6$secret:19000:0:99999:7:::\n", "/etc/shadow").unwrap_err();
        assert_eq!(fault, "/etc/shadow:1: expected an integer number of milliseconds from 0 to 4294967295");
    }

    #[test]
    fn malformed_traces_are_rejected_with_file_and_line() {
        let fault = |text| parse(text, "a.down").unwrap_err();
        assert_eq!(fault(""), "a.down:1: the trace is empty");
        assert_eq!(fault("1\n\n2\n"), "a.down:2: the line is empty");
        assert_eq!(fault("1\n2.5\n"), "a.down:2: expected an integer number of milliseconds from 0 to 4294967295");
        assert_eq!(fault("1\n5\n4\n"), "a.down:3: 4 ms is less than the previous 5 ms");
        assert_eq!(fault("0\n0\n"), "a.down:2: every time is 0 ms, but the last one is the period of the trace");
    }

    fn mbps(stamps: &[u32]) -> f64 {
        stamps.len() as f64 * 12_000.0 / (f64::from(*stamps.last().unwrap()) * 1e3)
    }

    #[test]
    fn a_synthetic_trace_is_reproducible_and_valid() {
        for kind in SYNTHETIC {
            let name = kind.name;
            let stamps = kind.generate(7, 20);
            assert_eq!(stamps, kind.generate(7, 20), "{name}");
            assert_ne!(stamps, kind.generate(8, 20), "{name}");
            assert!(stamps.windows(2).all(|pair| pair[0] <= pair[1]) && *stamps.last().unwrap() == 20_000, "{name}");
        }
    }

    /// The mean rate of a long trace is the configured mean rate times the share of time without outages.
    #[test]
    fn mean_rates_match_the_configuration() {
        let available = |between: f64, outage: f64| between / (between + outage);
        for (name, expected) in [
            ("lte-driving", 6.0 * available(30.0, 0.6)),
            ("lte-stationary", 20.0),
            ("3g", 2.0 * available(40.0, 1.5)),
            ("satellite", 50.0 * (1.0 - 0.06 / 15.0)),
        ] {
            let mean = mbps(&SyntheticTrace::named(name).unwrap().generate(3, 3000));
            assert!((mean / expected - 1.0).abs() < 0.1, "{name}: {mean} of {expected} Mbit/s");
        }
    }
}
