//! The error type: the place of a failure, its description, and a hint.

use std::fmt;

/// A failed system operation, or an invalid argument to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The system call, file, option or field concerned; empty where there is none.
    pub place: String,
    /// The description of the failure.
    pub what: String,
    /// A suggested remedy; may be empty.
    pub hint: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.what)?;
        if self.hint.is_empty() {
            Ok(())
        } else {
            write!(f, "\n  hint: {}", self.hint)
        }
    }
}

/// Builds a fault from place, description and hint.
pub fn fault(place: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault { place: place.into(), what: what.into(), hint: hint.into() }
}

/// Builds a fault from `errno`. Must be called directly after the failed system call.
pub fn os_fault(place: impl Into<String>, hint: impl Into<String>) -> Fault {
    fault(place, std::io::Error::last_os_error().to_string(), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form of house-style 2.6: place, colon, description; the hint on a separate line.
    #[test]
    fn display_shows_place_text_and_hint() {
        assert_eq!(fault("lo: up", "denied", "run as root").to_string(), "lo: up: denied\n  hint: run as root");
        assert_eq!(fault("", "denied", "").to_string(), "denied");
    }
}
