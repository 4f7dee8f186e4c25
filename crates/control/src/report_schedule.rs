//! The schedule of the reports of ACKs to an algorithm that does not run in the transport.

use std::fmt;

use cwndlab_units::{Duration, Fault, Time};

use crate::catalogue::Algorithm;
use crate::spec::Need;

/// When a datapath reports ACKs. A report combines the ACKs since the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportSchedule {
    /// At each ACK.
    Ack,
    /// Once per round trip; in slow start at each ACK, to avoid bursts of a complete window.
    Rtt,
    /// At the first ACK after this interval.
    Every(Duration),
}

impl ReportSchedule {
    /// The schedule that the algorithm needs.
    #[must_use]
    pub fn for_algorithm(algorithm: &Algorithm) -> Self {
        if algorithm.needs(Need::EveryAck) {
            Self::Ack
        } else {
            Self::Rtt
        }
    }

    /// Parses `ack`, `rtt` or a time such as `2ms`.
    ///
    /// # Errors
    ///
    /// Another text, and the time zero.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        match text.trim() {
            "ack" => Ok(Self::Ack),
            "rtt" => Ok(Self::Rtt),
            time => match cwndlab_units::parse_duration(time) {
                Ok(span) if span.as_nanos() > 0 => Ok(Self::Every(span)),
                _ => Err(Fault::new(
                    "",
                    format!("'{time}' is not a report schedule"),
                    "write 'ack', 'rtt' or a time such as '2ms'",
                )),
            },
        }
    }

    /// Whether an ACK at `now` is reported. `last` is the time of the last report; `new_round`: the ACK begins a round
    /// trip; `slow_start`: the window is below the slow-start threshold.
    #[must_use]
    pub fn is_due(self, now: Time, last: Time, new_round: bool, slow_start: bool) -> bool {
        match self {
            Self::Ack => true,
            Self::Rtt => new_round || slow_start,
            Self::Every(span) => now.saturating_since(last) >= span,
        }
    }
}

impl fmt::Display for ReportSchedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ack => out.write_str("ack"),
            Self::Rtt => out.write_str("rtt"),
            Self::Every(span) => write!(out, "{span}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_a_word_or_a_time() {
        assert_eq!(ReportSchedule::parse("ack"), Ok(ReportSchedule::Ack));
        assert_eq!(ReportSchedule::parse(" rtt "), Ok(ReportSchedule::Rtt));
        assert_eq!(ReportSchedule::parse("2ms"), Ok(ReportSchedule::Every(Duration::from_millis(2))));
        for wrong in ["often", "0 s", "-1 ms", ""] {
            let fault = ReportSchedule::parse(wrong).expect_err(wrong);
            assert_eq!(fault.what, format!("'{wrong}' is not a report schedule"));
        }
    }

    /// The rule of `is_due` in the eBPF program (`crates/kernel/bpf/datapath.bpf.c`).
    #[test]
    fn per_round_trip_reports_each_ack_of_slow_start() {
        let due = |schedule: ReportSchedule, round, slow_start| {
            schedule.is_due(Time::from_nanos(5_000_000), Time::from_nanos(2_000_000), round, slow_start)
        };
        assert!(due(ReportSchedule::Ack, false, false));
        assert!(due(ReportSchedule::Rtt, true, false) && due(ReportSchedule::Rtt, false, true));
        assert!(!due(ReportSchedule::Rtt, false, false));
        assert!(due(ReportSchedule::Every(Duration::from_millis(3)), false, false));
        assert!(!due(ReportSchedule::Every(Duration::from_nanos(3_000_001)), true, true));
    }
}
