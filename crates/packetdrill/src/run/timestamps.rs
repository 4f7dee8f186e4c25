//! Timestamps of a script and the times that they stand for (packetdrill maps them in the same way).

use std::collections::BTreeMap;

use cwndlab_units::{Duration, Time};

/// The tick of Linux' timestamps.
const TICK: Duration = Duration::from_millis(1);

/// The timestamp values that the script expects of our packets, with the times of these packets.
#[derive(Debug, Default)]
pub(super) struct Timestamps {
    sent: BTreeMap<u64, Time>,
    first: Option<(u64, Time)>,
}

impl Timestamps {
    /// Records that a packet sent at `at` has the value `value` in the script. With a `tick`, returns the value that it
    /// should have instead, if they differ by more than `tolerance`.
    pub(super) fn record(&mut self, value: u64, at: Time, tick: Option<Duration>, tolerance: Duration) -> Option<u64> {
        self.sent.insert(value, at);
        let (first, first_at) = *self.first.get_or_insert((value, at));
        let tick = tick.filter(|tick| tick.as_nanos() > 0)?;
        let expected = first + (at - first_at).as_nanos() / tick.as_nanos();
        (expected.abs_diff(value).saturating_mul(tick.as_nanos()) > tolerance.as_nanos()).then_some(expected)
    }

    /// The time of the packet whose timestamp is echoed. A value that no packet had is counted in ticks from the first
    /// one.
    pub(super) fn time_of(&self, echo: u64) -> Option<Time> {
        let (first, first_at) = self.first?;
        let counted = || Some(first_at + TICK * echo.checked_sub(first)?);
        self.sent.get(&echo).copied().or_else(counted)
    }
}
