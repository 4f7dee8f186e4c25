//! Traces of delivery opportunities in Mahimahi's format, and synthetic ones by name.
//!
//! One whole number of ms per line, non-decreasing; the last one, above 0, is the period after which the trace begins anew.
//!
//! A kind of synthetic trace is one file with its `SPEC`, and one line in the list below.

mod wandering_rate;

use std::sync::{Arc, OnceLock};

use cwndlab_units::Rate;
use sha2::{Digest, Sha256};

/// Length of a trace that is taken by name, s.
pub const DURATION_S: u32 = 120;
/// Seed of a trace that is taken by name.
pub const SEED: u64 = 1;

/// A kind of synthetic trace.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    make: fn(u64, u32) -> Vec<u32>,
    /// The trace that is taken by name, once it was made.
    by_name: OnceLock<Arc<[u32]>>,
}

impl Kind {
    const fn new(name: &'static str, doc: &'static str, make: fn(u64, u32) -> Vec<u32>) -> Self {
        Self { name, doc, make, by_name: OnceLock::new() }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().copied().find(|kind| kind.name == name)
    }

    /// A trace of so many seconds; it ends with an opportunity at its last moment, which is its period.
    #[must_use]
    pub fn make(&self, seed: u64, seconds: u32) -> Vec<u32> {
        (self.make)(seed, seconds)
    }

    /// The trace that a scenario takes by name: of [`DURATION_S`] seconds, with the seed [`SEED`].
    #[must_use]
    pub fn by_name(&self) -> Arc<[u32]> {
        Arc::clone(self.by_name.get_or_init(|| self.make(SEED, DURATION_S).into()))
    }
}

macro_rules! kinds {
    ($($module:ident,)*) => {
        $(mod $module;)*

        /// Every kind, in the order of documentation.
        pub static KINDS: &[&Kind] = &[$(&$module::SPEC),*];
    };
}

kinds! {
    lte_driving,
    lte_stationary,
    third_generation,
    satellite,
}

/// Reads a trace; `name` stands in messages as `name:line: …`.
pub fn parse(text: &str, name: &str) -> Result<Arc<[u32]>, String> {
    let mut stamps: Vec<u32> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", n + 1);
        let word = line.trim();
        if word.is_empty() {
            return Err(format!("{place}: the line is empty"));
        }
        // What stands there is not shown: the file may be another one than its name says, and nobody's to read.
        let stamp: u32 = word
            .parse()
            .map_err(|_| format!("{place}: a whole number of milliseconds from 0 to {} is wanted", u32::MAX))?;
        if let Some(&last) = stamps.last().filter(|&&last| stamp < last) {
            return Err(format!("{place}: {stamp} ms come after {last} ms"));
        }
        stamps.push(stamp);
    }
    match stamps.last() {
        None => Err(format!("{name}:1: the trace is empty")),
        Some(0) => {
            Err(format!("{name}:{}: every moment is 0 ms, and the last one is the time to repeat after", stamps.len()))
        }
        Some(_) => Ok(stamps.into()),
    }
}

/// The mean rate of a trace whose opportunities carry so many bytes each.
#[must_use]
pub fn mean_rate(stamps: &[u32], bytes: u64) -> Rate {
    let period = stamps.last().map_or(1, |&last| u128::from(last));
    let rate = stamps.len() as u128 * u128::from(bytes) * 8000 / period;
    Rate(rate.clamp(1, u128::from(u64::MAX)) as u64)
}

/// SHA-256 of the moments, one per line, in hex: what a scenario's hash covers of a trace.
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
    fn a_trace_is_a_moment_per_line() {
        assert_eq!(*parse("0\n2\n2\n7\n", "t").unwrap(), [0, 2, 2, 7]);
        assert_eq!(*parse("1\r\n3", "t").unwrap(), [1, 3]);
    }

    #[test]
    fn the_contents_of_a_file_that_is_no_trace_are_not_shown() {
        let fault = parse("root:$6$secret:19000:0:99999:7:::\n", "/etc/shadow").unwrap_err();
        assert_eq!(fault, "/etc/shadow:1: a whole number of milliseconds from 0 to 4294967295 is wanted");
    }

    #[test]
    fn what_is_no_trace_is_refused_with_file_and_line() {
        let fault = |text| parse(text, "a.down").unwrap_err();
        assert_eq!(fault(""), "a.down:1: the trace is empty");
        assert_eq!(fault("1\n\n2\n"), "a.down:2: the line is empty");
        assert_eq!(fault("1\n2.5\n"), "a.down:2: a whole number of milliseconds from 0 to 4294967295 is wanted");
        assert_eq!(fault("1\n5\n4\n"), "a.down:3: 4 ms come after 5 ms");
        assert_eq!(fault("0\n0\n"), "a.down:2: every moment is 0 ms, and the last one is the time to repeat after");
    }

    fn mbps(stamps: &[u32]) -> f64 {
        stamps.len() as f64 * 12_000.0 / (f64::from(*stamps.last().unwrap()) * 1e3)
    }

    #[test]
    fn a_trace_repeats_for_its_seed_and_is_one() {
        for kind in KINDS {
            let (name, stamps) = (kind.name, kind.make(7, 20));
            assert_eq!(stamps, kind.make(7, 20), "{name}");
            assert_ne!(stamps, kind.make(8, 20), "{name}");
            assert!(stamps.windows(2).all(|pair| pair[0] <= pair[1]) && *stamps.last().unwrap() == 20_000, "{name}");
        }
    }

    /// The stated mean rates, less the stated share of outages; a long trace comes near them.
    #[test]
    fn mean_rates_are_those_stated() {
        let awake = |between: f64, outage: f64| between / (between + outage);
        for (name, expected) in [
            ("lte-driving", 6.0 * awake(30.0, 0.6)),
            ("lte-stationary", 20.0),
            ("3g", 2.0 * awake(40.0, 1.5)),
            ("satellite", 50.0 * (1.0 - 0.06 / 15.0)),
        ] {
            let found = mbps(&Kind::named(name).unwrap().make(3, 3000));
            assert!((found / expected - 1.0).abs() < 0.1, "{name}: {found} of {expected} Mbit/s");
        }
    }
}
