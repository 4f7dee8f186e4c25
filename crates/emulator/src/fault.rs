//! What stands in the way of an emulation, in the words of a scenario's faults.

pub use cwndlab_scenario::Fault;

/// A fault: where, what, what would do.
pub fn fault(place: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault { path: place.into(), what: what.into(), hint: hint.into() }
}

/// The last system call failed.
pub fn system(place: impl Into<String>, hint: impl Into<String>) -> Fault {
    fault(place, std::io::Error::last_os_error().to_string(), hint)
}
