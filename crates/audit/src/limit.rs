//! Whether the window limited the sender, inferred from the bytes in flight.

use cwndlab_transport::cwnd_validation::CwndValidation;

use crate::item::{Limit, View};

/// The part of a used window that may be free.
const FREE_PART: u64 = 4;

/// The use of the window since the last ACK.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    validation: CwndValidation,
    /// Maximum of the bytes in flight since the last ACK.
    most_in_flight: u64,
    /// Maxima of the bytes in flight in this round trip and the last one.
    round_maximum: (u64, u64),
    /// The log says that the application limits the sender.
    pub(crate) logged_limited: bool,
}

impl Usage {
    /// Data was sent.
    pub(crate) fn on_sent(&mut self, in_flight: u64) {
        self.most_in_flight = self.most_in_flight.max(in_flight);
        self.round_maximum.0 = self.round_maximum.0.max(in_flight);
    }

    /// Maximum of the bytes in flight since the last ACK.
    pub(crate) fn most_in_flight(&self) -> u64 {
        self.most_in_flight
    }

    /// An ACK of new data arrives; `ends`: it ends a round trip.
    pub(crate) fn end_round(&mut self, ends: bool) {
        if ends {
            self.round_maximum = (self.most_in_flight, self.round_maximum.0);
        }
    }

    /// What limits a sender whose window is not known: the application, if it leaves more than half of the bytes free that
    /// were in flight within two round trips, and the window of the reference is not full. It is full after a reduction to
    /// less than half.
    pub(crate) fn by_flight(&self, mss: u64, view: &View) -> (Limit, bool) {
        let half_free = self.most_in_flight * 2 < self.round_maximum.0.max(self.round_maximum.1);
        let free = half_free && self.most_in_flight + mss <= view.cwnd;
        (if free { Limit::Application } else { Limit::Window }, !free)
    }

    /// An ACK arrives: all transmissions since the last one are known. `una` and `next` count segments. Returns what
    /// limited the sender, and the estimate of Linux (tcp_is_cwnd_limited).
    pub(crate) fn on_ack(&mut self, una: u64, next: u64, mss: u64, view: &View) -> (Limit, bool) {
        let cwnd = view.permitted_cwnd;
        let window_full = self.most_in_flight + mss > cwnd;
        // Pacing and deferred bursts leave a part of a used window free (Linux, tcp_tso_should_defer; RFC 9002, 7.8).
        let used = self.most_in_flight + mss + cwnd / FREE_PART > cwnd;
        self.validation.update(used, una, next);
        let segments = (cwnd / mss.max(1)).min(u64::from(u32::MAX)) as u32;
        let estimate = self.validation.is_cwnd_limited(segments, || view.slow_start) && !self.logged_limited;
        let limit = if window_full {
            Limit::Window
        } else if !estimate && self.most_in_flight * 2 < cwnd {
            Limit::Application
        } else {
            Limit::Unclear
        };
        (limit, estimate)
    }

    /// The ACK is processed; `in_flight` remain.
    pub(crate) fn end_ack(&mut self, in_flight: u64) {
        self.most_in_flight = in_flight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// By hand: 40 segments were in flight in the last round, and 3 are now. A reference with a window of 3 segments, as
    /// after a reduction to less than half, is limited by it; one with 40 is not.
    #[test]
    fn a_small_window_that_is_full_limits_the_sender() {
        let mut usage = Usage::default();
        usage.on_sent(40 * MSS);
        usage.end_round(true);
        usage.end_ack(3 * MSS);
        let view = |segments| View {
            cwnd: segments * MSS,
            permitted_cwnd: segments * MSS,
            slow_start: false,
            observes_sent: false,
            model_based: false,
            paced: false,
        };
        assert_eq!(usage.by_flight(MSS, &view(3)), (Limit::Window, true));
        assert_eq!(usage.by_flight(MSS, &view(40)), (Limit::Application, false));
    }
}
