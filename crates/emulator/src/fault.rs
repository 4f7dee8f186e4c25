//! What stands in the way of an emulation: where, what, what would do.

use std::fmt;

/// Why an emulation did not begin, or did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The thing that failed, as `flow[1].algorithm` or `/dev/net/tun`.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What would do; may be empty.
    pub hint: String,
}

impl Fault {
    /// A fault.
    pub fn new(place: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into(), hint: hint.into() }
    }

    /// The last system call failed.
    pub fn system(place: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(place, std::io::Error::last_os_error().to_string(), hint)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)?;
        if self.hint.is_empty() {
            Ok(())
        } else {
            write!(f, "\n  hint: {}", self.hint)
        }
    }
}

impl std::error::Error for Fault {}
