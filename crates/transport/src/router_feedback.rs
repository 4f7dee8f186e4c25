//! Router feedback that is pending for the next ACK report to the algorithm.

use cwndlab_control::Feedback;
use cwndlab_units::Bytes;

/// Router feedback not yet reported.
#[derive(Debug, Default)]
pub(crate) struct RouterFeedback {
    unreported: Option<Feedback>,
    /// Bytes of packets marked "accelerate" (ABC), counted by the receiver up to the last ACK.
    accelerated: Bytes,
}

impl RouterFeedback {
    /// Adds the feedback of an ACK. Its `accelerated` counts from the start of the connection; that of a report counts
    /// from the previous report.
    #[cold]
    pub(crate) fn on_ack(&mut self, last: Feedback) {
        let pending = self.unreported.map_or(Bytes::ZERO, |one| one.accelerated);
        let new = last.accelerated.saturating_sub(self.accelerated);
        self.accelerated = self.accelerated.max(last.accelerated);
        self.unreported = Some(Feedback { accelerated: pending + new, ..last });
    }

    /// Whether feedback is pending.
    pub(crate) fn is_pending(&self) -> bool {
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

    /// By hand: counts of 1000, 3000 and, on a reordered ACK, 2000 bytes give 3000 in the first report.
    #[test]
    fn a_report_counts_accelerated_bytes_since_the_previous_report() {
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
