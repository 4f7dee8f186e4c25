//! Congestion window validation: whether the window limits the sender, and the restart window after an idle period (RFC
//! 7661; RFC 5681, section 4.1; Linux, tcp_cwnd_validate, tcp_cwnd_restart).

use cwndlab_units::Duration;

use crate::stack::IdleRestart;

/// RFC 7661, section 4.4: the non-validated phase lasts five minutes at most.
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// Halvings after which any window is zero.
const MAX_HALVINGS: u64 = 31;

/// Window usage during the last round trip.
#[derive(Debug, Default)]
pub struct CwndValidation {
    /// SND.NXT at the maximum usage (Linux, `tp->cwnd_usage_seq`).
    usage_seq: u64,
    /// Segments in flight at that time (Linux, `tp->max_packets_out`).
    max_packets_out: u32,
    /// The window was the limit at that time (Linux, `tp->is_cwnd_limited`).
    limited: bool,
    /// The sender defers segments for a larger burst, which counts as limited by the window.
    pub deferred: bool,
}

impl CwndValidation {
    /// Updates the usage after a transmission that left SND.UNA at `una` and SND.NXT at `next`; `limited`: the window
    /// was the limit (Linux, tcp_cwnd_validate).
    #[inline]
    pub fn update(&mut self, limited: bool, una: u64, next: u64) {
        let limited = limited || self.deferred;
        let packets_out = (next - una) as u32;
        if una >= self.usage_seq || limited || (!self.limited && packets_out > self.max_packets_out) {
            self.limited = limited;
            self.max_packets_out = packets_out;
            self.usage_seq = next;
        }
    }

    /// Whether the window limits the sender. In slow start, use of half the window counts as use of all of it (Linux,
    /// tcp_is_cwnd_limited).
    #[inline]
    pub fn is_cwnd_limited(&self, cwnd: u32, in_slow_start: impl FnOnce() -> bool) -> bool {
        self.limited || (cwnd < self.max_packets_out.saturating_mul(2) && in_slow_start())
    }
}

/// The window after an idle period of `idle`; `None` if it does not change. The restart window is at most `initial`.
#[must_use]
pub fn restart_window(policy: IdleRestart, idle: Duration, rto: Duration, cwnd: u32, initial: u32) -> Option<u32> {
    if idle <= rto {
        return None;
    }
    let restart = initial.min(cwnd);
    match policy {
        IdleRestart::InitialWindow => Some(restart), // RFC 5681, section 4.1
        IdleRestart::Decay => {
            let halvings = (idle.as_nanos() / rto.as_nanos()).min(MAX_HALVINGS) as u32; // RFC 2861; Linux, tcp_cwnd_restart
            Some((cwnd >> halvings).max(restart))
        }
        IdleRestart::Rfc7661 if idle > NON_VALIDATED_PERIOD => Some((cwnd / 2).max(restart)),
        IdleRestart::Off | IdleRestart::Rfc7661 => None,
    }
}

/// The minimum of the slow-start threshold after an idle period that changes a window of `cwnd` segments: three
/// quarters of it, so that slow start returns close to it (RFC 2861, section 3.1; RFC 7661, section 4.4.3; Linux,
/// tcp_current_ssthresh). `None` under RFC 5681, section 4.1, which keeps the threshold.
#[must_use]
pub fn restart_ssthresh(policy: IdleRestart, cwnd: u32) -> Option<u32> {
    match policy {
        IdleRestart::Decay | IdleRestart::Rfc7661 => Some((cwnd >> 1) + (cwnd >> 2)),
        IdleRestart::Off | IdleRestart::InitialWindow => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(policy: IdleRestart, idle_ms: u64) -> Option<u32> {
        restart_window(policy, Duration::from_millis(idle_ms), Duration::from_millis(200), 80, 10)
    }

    /// By hand, RTO 200 ms, window 80, initial window 10. RFC 5681: 10 after more than an RTO. RFC 2861: halved per RTO, not
    /// below 10. RFC 7661: halved after more than five minutes.
    #[test]
    fn the_window_after_idle_time_follows_each_rfc() {
        assert_eq!([200, 201].map(|idle| window(IdleRestart::InitialWindow, idle)), [None, Some(10)]);
        assert_eq!([401, 601, 5000].map(|idle| window(IdleRestart::Decay, idle)), [Some(20), Some(10), Some(10)]);
        assert_eq!([300_000, 300_001].map(|idle| window(IdleRestart::Rfc7661, idle)), [None, Some(40)]);
        assert_eq!(window(IdleRestart::Off, 1_000_000), None);
    }

    /// RFC 2861, section 3.1, by hand: 80 · 3/4; RFC 5681 keeps the threshold.
    #[test]
    fn the_threshold_after_idle_time_is_three_quarters_of_the_window() {
        let policies = [IdleRestart::Decay, IdleRestart::Rfc7661, IdleRestart::InitialWindow, IdleRestart::Off];
        assert_eq!(policies.map(|policy| restart_ssthresh(policy, 80)), [Some(60), Some(60), None, None]);
        assert_eq!(restart_ssthresh(IdleRestart::Decay, 11), Some(7)); // tcp_current_ssthresh: 5 + 2
    }

    /// tcp_is_cwnd_limited: six of ten segments count as full use of the window in slow start only.
    #[test]
    fn in_slow_start_using_half_of_the_window_counts_as_limited() {
        let mut validation = CwndValidation::default();
        validation.update(false, 0, 6);
        assert!(validation.is_cwnd_limited(10, || true));
        assert!(!validation.is_cwnd_limited(10, || false));
        assert!(!validation.is_cwnd_limited(12, || true));
    }

    /// tcp_cwnd_validate: the maximum usage counts until all data in flight at that time is acknowledged.
    #[test]
    fn a_limited_sender_stays_limited_until_its_data_is_acknowledged() {
        let mut validation = CwndValidation::default();
        validation.update(true, 0, 10);
        validation.update(false, 9, 12);
        assert!(validation.is_cwnd_limited(10, || false));
        validation.update(false, 10, 12);
        assert!(!validation.is_cwnd_limited(10, || false));
    }
}
