//! The clock of the kernel's timestamps: `CLOCK_MONOTONIC` of clock_gettime(2).

use cwndlab_units::Time;

/// The current time of the clock that `ktime_get_ns()` and `bpf_ktime_get_ns()` read in the kernel.
#[must_use]
pub fn monotonic() -> Time {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec, which outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Time::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
