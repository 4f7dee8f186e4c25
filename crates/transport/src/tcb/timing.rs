//! Selection of the running timer: the retransmission timer, or the tail loss probe timer in its place (RFC 6298; RFC
//! 8985, section 7).

use cwndlab_units::{CaState, Time};

use super::Tcb;
use crate::timers::{probe_timeout, Timer};

impl Tcb {
    /// Restarts the retransmission timer.
    #[inline]
    pub(crate) fn arm_rto(&mut self, now: Time) {
        self.timers.arm_rto(now, now + self.rtt.rto());
    }

    /// Expiry of the retransmission timer while another timer runs: by RFC 6298 one RTO after the last ACK of new data;
    /// in Linux (tcp_rto_delta_us) one RTO after the last transmission of the first segment in flight.
    fn rto_due(&self) -> Time {
        if self.features.linux {
            self.scoreboard.get(self.scoreboard.una).sent_at + self.rtt.rto()
        } else {
            self.timers.rto_at
        }
    }

    /// Resumes the retransmission timer in place of another one (Linux, tcp_rearm_rto).
    #[cold]
    pub(crate) fn rearm_rto(&mut self, now: Time) {
        if self.scoreboard.flight_size() == 0 {
            self.timers.disarm();
        } else if self.timers.replaces_rto() {
            self.timers.resume_rto(now, self.rto_due());
        } else {
            self.arm_rto(now);
        }
    }

    /// Restarts the retransmission timer, or the probe timer instead, after an ACK of new data while segments are in
    /// flight (RFC 6298, 5.3).
    #[inline]
    pub(crate) fn restart_rto(&mut self, now: Time) {
        let rto_at = now + self.rtt.rto();
        if self.schedule_loss_probe(now, rto_at) {
            self.timers.rto_at = rto_at;
        } else if self.features.linux && self.timers.replaces_rto() {
            self.rearm_rto(now);
        } else {
            self.timers.arm_rto(now, rto_at);
        }
    }

    /// Starts the retransmission timer after a transmission, unless a timer runs; with new data, restarts the probe
    /// timer.
    #[inline]
    pub(crate) fn start_timers(&mut self, now: Time, sent_new: bool) {
        if matches!(self.timers.running, Timer::Off | Timer::Persist) {
            self.arm_rto(now);
        }
        let waits = self.timers.running == Timer::Reordering && !self.features.linux;
        if sent_new && self.timers.probes && !waits {
            let due = self.rto_due();
            if !self.schedule_loss_probe(now, due) && self.timers.running == Timer::LossProbe {
                self.rearm_rto(now);
            }
        }
    }

    /// [`restart_rto`](Self::restart_rto) and [`start_timers`](Self::start_timers) in one step, in Open, after an ACK
    /// of new data and the transmission of new data.
    #[inline]
    pub(crate) fn restart_timers_after_new_data(&mut self, now: Time) {
        if !self.timers.probes {
            self.restart_rto(now);
            return;
        }
        self.timers.rto_at = now + self.rtt.rto();
        let due = self.rto_due();
        self.schedule_loss_probe(now, due);
    }

    /// Starts the probe timer if this state allows a probe. It expires no later than the retransmission timer would
    /// (RFC 8985, section 7.2; Linux, tcp_schedule_loss_probe). Returns whether it started.
    #[inline]
    fn schedule_loss_probe(&mut self, now: Time, rto_at: Time) -> bool {
        if !self.timers.probes || !matches!(self.state, CaState::Open | CaState::Cwr) {
            return false;
        }
        let linux = self.features.linux.then_some(self.stack.min_rto);
        let at = now + probe_timeout(self.rtt.srtt(), self.scoreboard.flight_size(), linux);
        self.timers.arm(now, Timer::LossProbe, if rto_at > now { at.min(rto_at) } else { at });
        true
    }
}
