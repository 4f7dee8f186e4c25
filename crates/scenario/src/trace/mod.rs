//! Traces of delivery opportunities in Mahimahi's format, and synthetic ones by name.
//!
//! One whole number of ms per line, non-decreasing; the last one, above 0, is the period after which the trace begins anew.

mod synthetic;

use std::sync::Arc;

use cwndlab_units::Rate;
use sha2::{Digest, Sha256};

pub use synthetic::{make, Kind, DURATION_S, SEED};

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
}
