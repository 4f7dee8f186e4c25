//! The interface between the sender and its congestion control: all calls of [`CongestionControl`] methods are in this
//! file.

use cwndlab_control::{
    Ack, Algorithm, Build, Change, Congestion, CongestionControl, Driver, Event, Feedback, Need, Phase, Sent, Ssthresh,
    Window,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::wire::MAX_WINDOW;

/// The congestion control algorithm and the state that the transport derives from its decisions. The fields that every
/// ACK uses come last.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Controller {
    /// The slow-start threshold before the last reduction.
    prior_derived_ssthresh: u32,
    /// Slow-start threshold for an algorithm without one of its own, segments.
    derived_ssthresh: u32,
    /// Segments marked lost so far, and the number already reported to the algorithm.
    lost: u64,
    lost_reported: u64,
    driver: Driver,
    mss: u32,
    /// Paced segments are sent one by one, regardless of the stack's burst size.
    pub(crate) spaced: bool,
    /// The algorithm implements `on_sent`.
    pub(crate) observes_sent: bool,
    /// The last congestion event began a recovery in which the algorithm sets the window.
    began_own_recovery: bool,
}

impl Controller {
    /// The controller of an algorithm without requirements on the transport.
    pub(crate) fn new(algorithm: Box<dyn CongestionControl>, mss: u32) -> Self {
        Self {
            prior_derived_ssthresh: u32::MAX,
            derived_ssthresh: u32::MAX,
            lost: 0,
            lost_reported: 0,
            driver: Driver::new(algorithm, false),
            mss,
            spaced: false,
            observes_sent: true,
            began_own_recovery: false,
        }
    }

    /// Applies the requirements of the algorithm on the transport.
    pub(crate) fn set_requirements(&mut self, algorithm: &Algorithm) {
        let spec = algorithm.growth.spec;
        self.driver.model_based = algorithm.is_model_based();
        self.spaced = spec.needs.contains(&Need::Spacing);
        self.driver.needs_agent = algorithm.router_assistance().is_some();
        self.driver.hears_losses_in_reductions = algorithm.needs(Need::LossInReduction);
        self.observes_sent = !matches!(spec.build, Build::CongestionAvoidance(_));
    }

    /// The algorithm, for records and tests.
    pub(crate) fn algorithm(&self) -> &dyn CongestionControl {
        &*self.driver.control
    }

    /// The algorithm sets the window during recovery and after idle periods too.
    #[inline]
    pub(crate) fn is_model_based(&self) -> bool {
        self.driver.model_based
    }

    /// The algorithm is notified of a loss that begins a recovery within the reduction for a mark.
    pub(crate) fn hears_losses_in_reductions(&self) -> bool {
        self.driver.model_based || self.driver.hears_losses_in_reductions
    }

    /// The algorithm sets the window during the recovery that the last congestion event began.
    #[inline]
    pub(crate) fn owns_recovery(&self) -> bool {
        // The state costs tens of instructions, and nearly no algorithm has such a recovery.
        self.began_own_recovery && self.is_in_own_recovery()
    }

    fn is_in_own_recovery(&self) -> bool {
        self.driver.control.state(None).phase == Phase::OwnRecovery
    }

    /// Payload of a full segment.
    #[inline]
    pub(crate) fn mss(&self) -> u32 {
        self.mss
    }

    /// The payload of `segments` full segments.
    #[inline]
    pub(crate) fn bytes(&self, segments: u32) -> Bytes {
        Bytes(u64::from(segments) * u64::from(self.mss))
    }

    /// The algorithm's window, segments.
    #[inline]
    pub(crate) fn window(&self) -> u32 {
        (self.driver.control.cwnd().0 / u64::from(self.mss)).clamp(1, MAX_WINDOW) as u32
    }

    /// The algorithm's window, segments. Avoids the division if the window is still `before` segments.
    #[inline]
    pub(crate) fn window_near(&self, before: u32) -> u32 {
        let before = before.max(1);
        let mss = u64::from(self.mss);
        let beyond = self.driver.control.cwnd().0.wrapping_sub(u64::from(before) * mss);
        if beyond < mss {
            before
        } else {
            self.window()
        }
    }

    /// The algorithm's pacing rate.
    #[inline]
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        self.driver.control.pacing_rate()
    }

    /// Whether `cwnd` is below the slow-start threshold divided by `part`. With `part` 1 this is Linux'
    /// `tcp_in_slow_start`.
    #[inline]
    pub(crate) fn is_below_ssthresh(&self, cwnd: u32, part: u64) -> bool {
        let above = u64::from(cwnd) + 1;
        match self.driver.control.state(None).ssthresh {
            Ssthresh::Unlimited => true,
            // In whole segments, without a division: cwnd < ⌊⌊ssthresh / mss⌋ / part⌋.
            Ssthresh::At(threshold) => above * part * u64::from(self.mss) <= threshold.0,
            Ssthresh::Unknown => above * part <= u64::from(self.derived_ssthresh),
        }
    }

    /// The slow-start threshold of the algorithm, or the derived one, segments; infinite if there is no limit.
    pub(crate) fn exact_ssthresh(&self, of_algorithm: Ssthresh) -> f64 {
        match of_algorithm {
            Ssthresh::Unlimited => f64::INFINITY,
            Ssthresh::At(threshold) => threshold.0 as f64 / f64::from(self.mss),
            Ssthresh::Unknown if self.derived_ssthresh == u32::MAX => f64::INFINITY,
            Ssthresh::Unknown => f64::from(self.derived_ssthresh),
        }
    }

    /// The slow-start threshold, segments; `None` if it is unlimited.
    pub(crate) fn ssthresh(&self) -> Option<u32> {
        match self.driver.control.state(None).ssthresh {
            Ssthresh::Unlimited => None,
            Ssthresh::At(threshold) => Some((threshold.0 / u64::from(self.mss)).min(MAX_WINDOW) as u32),
            Ssthresh::Unknown => Some(self.derived_ssthresh).filter(|&ssthresh| ssthresh < u32::MAX),
        }
    }

    /// The routers of the path have not had an occasion to give feedback when the handshake is complete.
    pub(crate) fn expect_feedback(&mut self) {
        self.driver.needs_agent = false;
    }

    /// Reports the completion of the handshake, after which the window is one segment if the handshake was `lossy`.
    pub(crate) fn on_established(&mut self, now: Time, rtt: Option<Duration>, feedback: Option<Feedback>, lossy: bool) {
        let cwnd = if lossy { self.bytes(1) } else { self.driver.control.cwnd() };
        self.driver.on_window(&Window { rtt, feedback, ..Window::new(now, Change::Established, cwnd) });
    }

    /// Data marked lost since the last report.
    #[inline]
    pub(crate) fn take_lost(&mut self) -> Bytes {
        let lost = Bytes((self.lost - self.lost_reported) * u64::from(self.mss));
        self.lost_reported = self.lost;
        lost
    }

    /// Whether some data marked lost has not been reported.
    pub(crate) fn has_unreported_losses(&self) -> bool {
        self.lost > self.lost_reported
    }

    /// Reports an ACK; returns the algorithm's event, if it has one.
    #[inline]
    pub(crate) fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.driver.control.on_ack(ack)
    }

    /// Reports congestion while `flight` segments are in flight; returns the new `ssthresh`, segments. If `undoable`,
    /// saves the state for an undo of a spurious reduction.
    pub(crate) fn on_congestion(&mut self, event: &Congestion, flight: u32, undoable: bool) -> u32 {
        if undoable {
            self.driver.on_congestion(event);
        } else {
            self.driver.control.on_congestion(event);
        }
        self.began_own_recovery = self.is_in_own_recovery();
        let window = self.window();
        if !event.repeated {
            self.prior_derived_ssthresh = self.derived_ssthresh;
            self.derived_ssthresh = if event.restart { (flight / 2).max(2) } else { window };
        }
        window
    }

    /// Notifies the algorithm of a window set by the transport.
    pub(crate) fn notify_window(&mut self, now: Time, change: Change, cwnd: u32) {
        let cwnd = self.bytes(cwnd);
        self.driver.on_window(&Window::new(now, change, cwnd));
    }

    /// Notifies the algorithm of the restart window after an idle period, with a slow-start threshold of at least
    /// `ssthresh`.
    pub(crate) fn on_idle(&mut self, now: Time, cwnd: u32, ssthresh: Option<u32>, idle: Duration) {
        if self.derived_ssthresh < u32::MAX {
            self.derived_ssthresh = self.derived_ssthresh.max(ssthresh.unwrap_or(0));
        }
        let restart = Window::new(now, Change::Idle, self.bytes(cwnd));
        let ssthresh = ssthresh.map(|segments| self.bytes(segments));
        self.driver.on_window(&Window { ssthresh, idle, ..restart });
    }

    /// Restores the algorithm's state from before a spurious reduction. Returns the window, at least `cwnd`.
    pub(crate) fn undo(&mut self, now: Time, cwnd: u32) -> u32 {
        self.notify_window(now, Change::Undo, cwnd);
        self.window().max(cwnd)
    }

    /// Restores the derived slow-start threshold from before the last reduction.
    pub(crate) fn restore_derived_ssthresh(&mut self) {
        self.derived_ssthresh = self.prior_derived_ssthresh;
    }

    /// Counts segments marked lost.
    #[inline]
    pub(crate) fn count_lost(&mut self, segments: u32) {
        self.lost += u64::from(segments);
    }

    /// Segments marked lost so far.
    #[inline]
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Reports a transmitted segment.
    #[inline]
    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        self.driver.control.on_sent(sent);
    }
}

/// An algorithm with a constant window in bytes, for tests.
#[cfg(test)]
#[derive(Clone, Debug)]
pub(crate) struct Fixed(pub(crate) u64);

#[cfg(test)]
impl CongestionControl for Fixed {
    fn on_ack(&mut self, _: &Ack) -> Option<Event> {
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn cwnd(&self) -> Bytes {
        Bytes(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window in segments is the exact quotient at every boundary, and at least one.
    #[test]
    fn the_window_in_segments_is_the_exact_quotient() {
        for mss in [1, 536, 1000, 1448, 9000] {
            for bytes in [0, mss - 1, mss, 10 * mss - 1, 10 * mss, 12_345_678 * mss - 1, 12_345_678 * mss] {
                let controller = Controller::new(Box::new(Fixed(bytes)), mss as u32);
                assert_eq!(u64::from(controller.window()), (bytes / mss).max(1), "{bytes} by {mss}");
            }
        }
    }

    /// The window in segments does not depend on the previous window.
    #[test]
    fn the_window_does_not_depend_on_the_previous_window() {
        for bytes in [0, 1, 999, 1000, 1999, 2000, 9999, 10_000, 10_001, 10_999, 11_000, u64::MAX] {
            let controller = Controller::new(Box::new(Fixed(bytes)), 1000);
            for before in [0, 1, 2, 9, 10, 11, MAX_WINDOW as u32 - 1, MAX_WINDOW as u32] {
                assert_eq!(controller.window_near(before), controller.window(), "{bytes} after {before}");
            }
        }
    }

    /// RFC 5681, section 3.1, by hand: for an algorithm without a threshold, slow start ends at the window after a
    /// loss, and at half of the data in flight after a timeout.
    #[test]
    fn a_threshold_is_derived_for_an_algorithm_without_one() {
        let mut controller = Controller::new(Box::new(Fixed(8000)), 1000);
        assert!(controller.is_below_ssthresh(1_000_000, 1));
        controller.on_congestion(&cwndlab_control::testing::loss(16), 16, false);
        assert_eq!([7, 8].map(|cwnd| controller.is_below_ssthresh(cwnd, 1)), [true, false]);
        controller.on_congestion(&cwndlab_control::testing::timeout(10), 10, false);
        assert_eq!([4, 5].map(|cwnd| controller.is_below_ssthresh(cwnd, 1)), [true, false]);
        controller.restore_derived_ssthresh();
        assert_eq!([7, 8].map(|cwnd| controller.is_below_ssthresh(cwnd, 1)), [true, false]);
    }

    /// tcp_cwnd_restart: after an idle period the threshold is at least three quarters of the window before; no
    /// threshold stays none.
    #[test]
    fn an_idle_period_raises_the_derived_threshold() {
        let mut controller = Controller::new(Box::new(Fixed(8000)), 1000);
        controller.on_idle(Time::from_nanos(1), 4, Some(12), Duration::from_nanos(1));
        assert_eq!(controller.ssthresh(), None);
        controller.on_congestion(&cwndlab_control::testing::loss(16), 16, false);
        for (least, ssthresh) in [(None, 8), (Some(12), 12), (Some(6), 12)] {
            controller.on_idle(Time::from_nanos(1), 4, least, Duration::from_nanos(1));
            assert_eq!(controller.ssthresh(), Some(ssthresh));
        }
    }
}
