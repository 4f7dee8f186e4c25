//! Quantities as people write them: `100 Mbps`, `50 ms`, `1.5 MB`.

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong, in lower case, without full stop.
    pub what: String,
    /// What would do.
    pub hint: String,
}

use crate::{Bytes, Duration, Rate};

/// Parses `50 ms`.
pub fn parse_duration(_text: &str) -> Result<Duration, ParseError> {
    unimplemented!()
}

/// Parses `100 Mbps`.
pub fn parse_rate(_text: &str) -> Result<Rate, ParseError> {
    unimplemented!()
}

/// Parses `1500 B`.
pub fn parse_bytes(_text: &str) -> Result<Bytes, ParseError> {
    unimplemented!()
}
