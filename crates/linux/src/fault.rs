//! Faults of system calls.

use cwndlab_units::{Fault, FaultKind};

/// Builds a fault from `errno`. Must be called directly after the failed system call.
pub fn os_fault(place: impl Into<String>, hint: impl Into<String>) -> Fault {
    errno_fault(std::io::Error::last_os_error().raw_os_error().unwrap_or_default(), place, hint)
}

/// Builds a fault from this `errno`.
pub fn errno_fault(errno: i32, place: impl Into<String>, hint: impl Into<String>) -> Fault {
    let what = std::io::Error::from_raw_os_error(errno).to_string();
    Fault::new(place, what, hint).of_kind(FaultKind::System(errno))
}
