//! Feedback of routers that waits for the next ACK report to the algorithm.

use cwndlab_control::Feedback;
use cwndlab_units::Bytes;

/// Feedback not yet reported.
#[derive(Debug, Default)]
pub(crate) struct RouterFeedback {
    unreported: Option<Feedback>,
    /// Bytes whose packets said "accelerate" (ABC), as the receiver counted them up to the last ACK.
    accelerated: Bytes,
}

impl RouterFeedback {
    /// An ACK carries feedback, whose `accelerated` counts since the connection's start; the report's counts since the last
    /// report.
    #[cold]
    pub(crate) fn on_ack(&mut self, last: Feedback) {
        let waiting = self.unreported.map_or(Bytes::ZERO, |one| one.accelerated);
        let new = last.accelerated.saturating_sub(self.accelerated);
        self.accelerated = self.accelerated.max(last.accelerated);
        self.unreported = Some(Feedback { accelerated: waiting + new, ..last });
    }

    /// Some waits for a report.
    pub(crate) fn waits(&self) -> bool {
        self.unreported.is_some()
    }

    /// The feedback for a report.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Feedback> {
        self.unreported.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::Rate;

    /// By hand: counts of 1000, 3000 and, on an ACK that was overtaken, 2000 bytes are 3000 in the first report.
    #[test]
    fn a_report_counts_accelerated_bytes_since_the_last_one() {
        let mut feedback = RouterFeedback::default();
        for total in [1000, 3000, 2000] {
            feedback.on_ack(Feedback { rate: Rate(1), accelerated: Bytes(total) });
        }
        assert_eq!(feedback.take().map(|one| one.accelerated), Some(Bytes(3000)));
        feedback.on_ack(Feedback { rate: Rate(1), accelerated: Bytes(3500) });
        assert_eq!(feedback.take().map(|one| one.accelerated), Some(Bytes(500)));
        assert_eq!(feedback.take(), None);
    }
}
