//! Waiting of the path's thread: it sleeps, and polls shortly before a packet is due.
//!
//! A sleep ends late: the timer interrupt, the wake-up of an idle processor and, in a virtual machine, the return of the
//! virtual processor take tens of microseconds. The thread therefore ends a sleep earlier by the lateness of earlier
//! sleeps, and polls for the rest. It sleeps for at least a twentieth of its time as long as it keeps up: the kernel
//! migrates other tasks to another processor, except its own threads that belong to this one. More sleep would take
//! longer than the packets at high rates: a sleep costs about as much as the forwarding of two packets.
//!
//! A thread with real-time priority that does not keep up must not run for a whole second: the kernel stops the
//! real-time threads of a processor that have used 950 ms of it for the rest of the second (`sched_rt_runtime_us` of
//! sched(7)), even where nothing else runs. Such a stall of 50 ms would empty or fill the queues of the path. The thread
//! therefore has the default policy for a part of its time where it needs more than the rest.

use std::os::fd::RawFd;

use cwndlab_linux::poll::wait_readable;
use cwndlab_linux::realtime::{set_default, set_realtime, Policy};
use cwndlab_units::{Duration, Time};

/// Maximum time for which the thread polls before an event, and maximum lateness of a sleep that counts.
const MAX_POLL: Duration = Duration::from_micros(100);
/// The thread may poll for this many times the time for which it sleeps.
const POLL_PER_SLEEP: u64 = 20;
/// Sleep that the thread may owe before it stops polling.
const MAX_OWED: Duration = Duration::from_micros(100);

/// Real-time priority of the path's thread, above that of all threads that wait for it.
const PRIORITY: i32 = 50;
/// Period over which the thread limits its time with real-time priority.
const PERIOD: Duration = Duration::from_millis(100);
/// Time with real-time priority in a period: 85 % of a processor, and 10 % for other real-time threads.
const MAX_REAL_TIME: Duration = Duration::from_millis(85);

/// The real-time priority of the path's thread.
#[derive(Clone, Copy, Debug, Default)]
struct RealTime {
    /// The kernel permits it.
    permitted: bool,
    /// The thread has it.
    active: bool,
    /// Time awake with real-time priority in this period.
    used: Duration,
    /// End of this period.
    end: Time,
}

impl RealTime {
    /// Accounts for a time `awake` until `now`; returns the change of the policy: whether real-time.
    fn change(&mut self, now: Time, awake: Duration) -> Option<bool> {
        if self.active {
            self.used += awake;
        }
        if now >= self.end {
            (self.used, self.end) = (Duration::ZERO, now + PERIOD);
        }
        let active = self.permitted && self.used < MAX_REAL_TIME;
        (std::mem::replace(&mut self.active, active) != active).then_some(active)
    }
}

/// The state of a waiting thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    /// Mean lateness of sleeps.
    mean: Duration,
    /// Mean deviation from it.
    deviation: Duration,
    /// Sleep that the thread owes to other tasks.
    owed: Duration,
    /// End of the last wait.
    woke: Time,
    real_time: RealTime,
}

impl Waiting {
    /// The state of the calling thread, which gets real-time priority if the kernel permits it.
    pub(crate) fn begin() -> Self {
        let permitted = set_realtime(Policy::Fifo, PRIORITY);
        Self { real_time: RealTime { permitted, active: permitted, ..RealTime::default() }, ..Self::default() }
    }

    /// Whether the kernel permits real-time priority.
    pub(crate) fn is_real_time(&self) -> bool {
        self.real_time.permitted
    }

    /// Waits until a descriptor is readable or `next`, for at most `limit`. It may return earlier: the caller checks
    /// the time and waits again.
    pub(crate) fn wait(&mut self, next: Time, limit: Duration, descriptors: [RawFd; 2], clock: impl Fn() -> Time) {
        let now = clock();
        let awake = now.saturating_since(self.woke);
        self.owed += awake / POLL_PER_SLEEP;
        self.woke = now;
        match self.real_time.change(now, awake) {
            Some(true) => drop(set_realtime(Policy::Fifo, PRIORITY)),
            Some(false) => set_default(),
            None => {}
        }
        let Some(sleep) = self.sleep(next.saturating_since(now)) else { return };
        let is_readable = wait_readable(descriptors, sleep.min(limit));
        self.woke = clock();
        self.on_slept(sleep.min(limit), self.woke.saturating_since(now), is_readable);
    }

    /// The time to sleep where an event is due in `rest`; `None`: poll.
    fn sleep(&self, rest: Duration) -> Option<Duration> {
        // As the retransmission timeout of RFC 6298, rule 2.3, estimates a round trip that is rarely exceeded.
        let late = (self.mean + self.deviation * 2).min(MAX_POLL);
        let early = if self.owed < MAX_OWED { late } else { Duration::ZERO };
        rest.as_nanos().checked_sub(early.as_nanos()).filter(|&sleep| sleep > 0).map(Duration::from_nanos)
    }

    /// Accounts for a sleep that was to last for `wanted` and lasted for `slept`.
    fn on_slept(&mut self, wanted: Duration, slept: Duration, is_readable: bool) {
        self.owed = Duration::from_nanos(self.owed.as_nanos().saturating_sub(slept.as_nanos()));
        if !is_readable {
            // Rule 2.3 with alpha 1/8 and beta 1/4.
            let late = Duration::from_nanos(slept.as_nanos().saturating_sub(wanted.as_nanos())).min(MAX_POLL);
            self.deviation =
                (self.deviation * 3 + Duration::from_nanos(self.mean.as_nanos().abs_diff(late.as_nanos()))) / 4;
            self.mean = (self.mean * 7 + late) / 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    /// By the definition: sleeps that all last 40 µs longer converge to a mean of 40 µs and a deviation of 0, each but
    /// for a few nanoseconds of rounding, so that the thread sleeps 60 of 100 µs, and polls if 30 µs are left.
    #[test]
    fn the_thread_polls_for_as_long_as_sleeps_are_late() {
        let mut waiting = Waiting::default();
        assert_eq!(waiting.sleep(Duration::from_nanos(100 * US)), Some(Duration::from_nanos(100 * US)));
        for _ in 0..200 {
            waiting.on_slept(Duration::from_nanos(100 * US), Duration::from_nanos(140 * US), false);
        }
        let sleep = waiting.sleep(Duration::from_nanos(100 * US)).expect("it sleeps");
        assert!((59 * US..61 * US).contains(&sleep.as_nanos()), "{sleep:?}");
        assert_eq!(waiting.sleep(Duration::from_nanos(30 * US)), None);
    }

    /// A stall of the machine must not turn the thread into one that polls for the whole run.
    #[test]
    fn a_stall_counts_as_the_longest_poll() {
        let mut waiting = Waiting::default();
        for _ in 0..200 {
            waiting.on_slept(Duration::from_nanos(10 * US), Duration::from_nanos(50_000 * US), false);
        }
        let sleep = waiting.sleep(Duration::from_nanos(1_000 * US)).expect("it sleeps");
        assert_eq!(sleep, Duration::from_nanos(1_000 * US) - MAX_POLL);
        waiting.on_slept(Duration::from_nanos(500 * US), Duration::from_nanos(5 * US), true);
        assert_eq!(waiting.sleep(Duration::from_nanos(1_000 * US)), Some(sleep), "a packet ended the sleep");
    }

    /// By the definition: of 100 ms without a sleep, 85 ms have real-time priority. A thread that is awake for half of
    /// its time keeps it.
    #[test]
    fn a_thread_that_never_sleeps_has_real_time_priority_for_a_part_of_its_time() {
        let real_time = |awake: Duration| {
            let mut state = RealTime { permitted: true, active: true, used: Duration::ZERO, end: Time::from_nanos(0) };
            let mut active = 0;
            for ms in 1..=1_000 {
                state.change(Time::from_nanos(ms * 1_000 * US), awake);
                active += u32::from(state.active);
            }
            active
        };
        assert!((840..=870).contains(&real_time(Duration::from_millis(1))), "{}", real_time(Duration::from_millis(1)));
        assert_eq!(real_time(Duration::from_micros(500)), 1_000);
    }

    /// By the definition: after 2 ms without a sleep the thread owes 100 µs, and sleeps until the event; 10 µs of sleep
    /// later it polls again.
    #[test]
    fn a_thread_that_owes_sleep_does_not_poll() {
        let descriptors = [std::io::pipe().expect("a pipe"), std::io::pipe().expect("a pipe")];
        let descriptors = descriptors.each_ref().map(|pipe| std::os::fd::AsRawFd::as_raw_fd(&pipe.0));
        let mut waiting = Waiting { mean: Duration::from_nanos(50 * US), ..Waiting::default() };
        waiting
            .wait(Time::from_nanos(2_010 * US), Duration::from_nanos(1), descriptors, || Time::from_nanos(2_000 * US));
        assert_eq!(waiting.owed, MAX_OWED);
        assert_eq!(waiting.sleep(Duration::from_nanos(60 * US)), Some(Duration::from_nanos(60 * US)));
        waiting.on_slept(Duration::from_nanos(5 * US), Duration::from_nanos(10 * US), false);
        assert!(waiting.sleep(Duration::from_nanos(40 * US)).is_none());
    }
}
