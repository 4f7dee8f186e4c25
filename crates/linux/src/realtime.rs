//! Real-time scheduling of the calling thread: sched(7), pthread_setschedparam(3), `PR_SET_TIMERSLACK` of prctl(2).

/// A real-time policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_FIFO`: runs until it blocks.
    Fifo,
    /// `SCHED_RR`: alternates with threads of the same priority.
    RoundRobin,
}

/// Gives the calling thread the default policy, with the largest share that the kernel permits (nice −20).
pub fn set_default() {
    let parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter outlives the call; both calls change this thread alone (setpriority(2): on Linux a nice
    // value belongs to a thread).
    unsafe {
        libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_OTHER, &raw const parameter);
        libc::setpriority(libc::PRIO_PROCESS, 0, -20);
    }
}

/// Gives the calling thread a real-time policy and priority (1 to 99). Returns whether the kernel permitted it.
///
/// Without real-time priority the kernel extends sleeps by the timer slack, 50 µs by default. The function also sets
/// the slack to its minimum of 1 ns.
#[must_use]
pub fn set_realtime(policy: Policy, priority: i32) -> bool {
    let policy = match policy {
        Policy::Fifo => libc::SCHED_FIFO,
        Policy::RoundRobin => libc::SCHED_RR,
    };
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter outlives the call; both calls change this thread alone.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::pthread_setschedparam(libc::pthread_self(), policy, &raw const parameter) == 0
    }
}
