//! The clocks of the system, which show the time of the call. A function that the program itself defines comes before
//! that of libc, so that `Instant::now` is the time of the run in stacks that do not take it as an argument.

use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What the clocks show at the start of the run, ns: long after their zero, since stacks subtract from times.
const ORIGIN: u64 = 1_000_000_000_000_000_000;

static NOW: AtomicU64 = AtomicU64::new(ORIGIN);

/// Sets the time, from the start of the run.
pub(crate) fn set(now: Duration) {
    NOW.store(ORIGIN + now.as_nanos() as u64, Ordering::Relaxed);
}

/// The time of the call, as the system's clocks show it.
#[allow(clippy::disallowed_methods)] // Here it is the time of the run.
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// The time of a clock since the start of the run; a time before it is that.
#[must_use]
pub fn since_start(at: Instant) -> Duration {
    let passed = Duration::from_nanos(NOW.load(Ordering::Relaxed) - ORIGIN);
    let now = now();
    if at >= now {
        passed + (at - now)
    } else {
        passed.saturating_sub(now - at)
    }
}

/// `struct timespec` where `time_t` is a `long`, as on Linux with 64 bits.
#[repr(C)]
pub struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

/// As clock_gettime(2), for all clocks.
///
/// # Safety
///
/// `time` is valid.
#[no_mangle]
pub unsafe extern "C" fn clock_gettime(_clock: c_int, time: *mut Timespec) -> c_int {
    let now = NOW.load(Ordering::Relaxed);
    let (seconds, nanoseconds) = ((now / 1_000_000_000) as c_long, (now % 1_000_000_000) as c_long);
    // SAFETY: by the contract of the function.
    unsafe { *time = Timespec { seconds, nanoseconds } };
    0
}
