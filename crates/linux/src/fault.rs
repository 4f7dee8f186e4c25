//! The error type: where something failed, what failed, and what would help.

use std::fmt;

/// A failed operation of the system, or a wrong argument to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The system call, file, option or field concerned; empty where there is none.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What would help; may be empty.
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

/// Builds a fault from its three texts.
pub fn fault(place: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault { place: place.into(), what: what.into(), hint: hint.into() }
}

/// Builds a fault from `errno`, directly after the system call that set it.
pub fn system(place: impl Into<String>, hint: impl Into<String>) -> Fault {
    fault(place, std::io::Error::last_os_error().to_string(), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form of house-style 2.6: place, colon, what; the hint on a line of its own.
    #[test]
    fn display_shows_place_text_and_hint() {
        assert_eq!(fault("lo: up", "denied", "run as root").to_string(), "lo: up: denied\n  hint: run as root");
        assert_eq!(fault("", "denied", "").to_string(), "denied");
    }
}
