//! Prints quantities; the text parses back to the same value.

use std::fmt;

use crate::{Bytes, Duration, Rate, Time};

/// Prints in the largest unit in which the number is at least one, without rounding.
fn show(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let (name, scale) = units.iter().find(|(_, scale)| value >= *scale).unwrap_or(&units[units.len() - 1]);
    let whole = value / scale;
    let rest = value % scale;
    if rest == 0 {
        return write!(f, "{whole} {name}");
    }
    let width = scale.ilog10() as usize;
    let digits = format!("{rest:0width$}");
    write!(f, "{whole}.{} {name}", digits.trim_end_matches('0'))
}

const TIMES: [(&str, u64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            f.write_str("0 s")
        } else {
            show(f, self.0, &TIMES)
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.0, &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)])
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.0, &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)])
    }
}

#[cfg(test)]
mod tests {
    use crate::{parse_bytes, parse_duration, parse_rate, Bytes, Duration, Rate};
    use proptest::prelude::*;

    #[test]
    fn quantities_are_printed_in_the_largest_unit() {
        assert_eq!(Rate::from_mbps(100).to_string(), "100 Mbit/s");
        assert_eq!(Rate(1_500_000).to_string(), "1.5 Mbit/s");
        assert_eq!(Duration::from_micros(12_500).to_string(), "12.5 ms");
        assert_eq!(Bytes(1500).to_string(), "1.5 kB");
    }

    proptest! {
        #[test]
        fn a_printed_quantity_parses_back_to_its_value(value in 0..=u64::MAX / 2) {
            prop_assert_eq!(parse_duration(&Duration(value).to_string()), Ok(Duration(value)));
            prop_assert_eq!(parse_rate(&Rate(value).to_string()), Ok(Rate(value)));
            prop_assert_eq!(parse_bytes(&Bytes(value).to_string()), Ok(Bytes(value)));
        }
    }
}
