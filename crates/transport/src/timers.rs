//! The sender's timer: retransmission, tail loss probe, reordering or persist. At most one runs (RFC 8985, section 8; Linux,
//! `icsk_pending`): arming one replaces the other.

use cwndlab_units::{Duration, Time};

use crate::ticks;

/// Maximum doublings of the persist timer (Linux, tcp_probe0_when: maximum RTO over minimum RTO).
const MAX_PERSIST_BACKOFF: u32 = 10;
/// Linux adds this to RACK's and to the tail loss probe's timers (`TCP_TIMEOUT_MIN_US`).
pub(crate) const TIMEOUT_MIN: Duration = Duration::from_millis(2);
/// Delay until an overdue retransmission timer expires (Linux, tcp_rearm_rto).
const OVERDUE: Duration = Duration::from_micros(1);

/// Allowance of the probe timeout for a delayed ACK, if one segment is in flight (RFC 8985, section 7.2: the worst-case
/// delayed-ACK timer).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Probe timeout without an RTT sample.
const PROBE_WITHOUT_RTT: Duration = Duration::from_secs(1);

/// The probe timeout (PTO) by the RFC's rules, or by Linux' with `linux` as the minimum RTO (RFC 8985, section 7.2;
/// Linux, tcp_schedule_loss_probe).
#[inline]
pub(crate) fn probe_timeout(srtt: Duration, flight_size: u32, linux: Option<Duration>) -> Duration {
    if srtt == Duration::ZERO {
        return PROBE_WITHOUT_RTT;
    }
    srtt * 2
        + match (flight_size == 1, linux) {
            (true, Some(min_rto)) => min_rto,
            (true, None) => MAX_ACK_DELAY,
            (false, Some(_)) => TIMEOUT_MIN,
            (false, None) => Duration::ZERO,
        }
}

/// The kinds of timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// None.
    Off,
    /// Retransmission timer; before the connection is established, that of the SYN.
    Rto,
    /// Tail loss probe timer.
    LossProbe,
    /// RACK's reordering timer.
    Reordering,
    /// Persist timer, while the receive window is closed.
    Persist,
}

/// The running timer, and the state of the retransmission timer while another one runs. The fields that every ACK uses
/// come first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Timers {
    /// The running timer.
    pub(crate) running: Timer,
    /// Tail loss probes are enabled.
    pub(crate) probes: bool,
    /// The probe was a retransmission, not new data (Linux, `tp->tlp_retrans`).
    pub(crate) tlp_retrans: bool,
    persist_backoff: u32,
    /// Its expiry; `Time::MAX` if no timer runs.
    pub(crate) due: Time,
    /// When it was started; `Time::MAX` once its expiry is at a tick.
    armed: Time,
    /// Expiry of the retransmission timer by RFC 6298, while another timer runs.
    pub(crate) rto_at: Time,
    /// SND.NXT at the transmission of an unacknowledged tail loss probe (`TLP.end_seq`).
    pub(crate) tlp_end_seq: Option<u64>,
    /// SND.UNA at the last expiry of the retransmission timer.
    pub(crate) timed_out_una: Option<u64>,
    /// Ticks at whose multiples timers expire; zero: they expire exactly.
    tick: Duration,
}

impl Timers {
    /// No timer runs. `probes`: tail loss probes are enabled.
    pub(crate) fn new(probes: bool, tick: Duration) -> Self {
        Self {
            running: Timer::Off,
            probes,
            tlp_retrans: false,
            persist_backoff: 0,
            due: Time::MAX,
            armed: Time::MAX,
            rto_at: Time::MAX,
            tlp_end_seq: None,
            timed_out_una: None,
            tick,
        }
    }

    /// Starts `timer` in place of the running one.
    #[inline]
    pub(crate) fn arm(&mut self, now: Time, timer: Timer, due: Time) {
        self.running = timer;
        self.due = due;
        self.armed = now;
    }

    /// Whether a timer that is due waits for a tick, which becomes its expiry.
    pub(crate) fn waits_for_tick(&mut self, now: Time) -> bool {
        ticks::waits_for_tick(now, &mut self.armed, &mut self.due, self.tick)
    }

    /// Stops the running timer.
    pub(crate) fn disarm(&mut self) {
        self.arm(Time::MAX, Timer::Off, Time::MAX);
    }

    /// Starts the retransmission timer to expire at `due`.
    #[inline]
    pub(crate) fn arm_rto(&mut self, now: Time, due: Time) {
        self.rto_at = due;
        self.arm(now, Timer::Rto, due);
    }

    /// Resumes the retransmission timer, to expire at `due` but not in the past.
    pub(crate) fn resume_rto(&mut self, now: Time, due: Time) {
        self.arm_rto(now, due.max(now + OVERDUE));
    }

    /// Whether the probe or the reordering timer runs in place of the retransmission timer.
    #[inline]
    pub(crate) fn replaces_rto(&self) -> bool {
        matches!(self.running, Timer::LossProbe | Timer::Reordering)
    }

    /// Whether a tail loss probe that retransmitted a segment is unacknowledged.
    pub(crate) fn tlp_copy_outstanding(&self) -> bool {
        self.tlp_end_seq.is_some() && self.tlp_retrans
    }

    /// Starts the persist timer if no timer runs; called if the receive window is closed and no segment is in flight
    /// (Linux, tcp_check_probe_timer).
    pub(crate) fn start_persist(&mut self, now: Time, rto: Duration) {
        if self.running == Timer::Off {
            self.persist_backoff = 0;
            self.arm(now, Timer::Persist, now + rto);
        }
    }

    /// Restarts the persist timer after an ACK whose window is still closed (Linux, tcp_ack_probe).
    pub(crate) fn restart_persist(&mut self, now: Time, rto: Duration, max_rto: Duration) {
        let wait =
            Duration::from_nanos(rto.as_nanos().saturating_mul(1 << self.persist_backoff.min(MAX_PERSIST_BACKOFF)));
        self.arm(now, Timer::Persist, now + wait.min(max_rto));
    }

    /// Backs off the persist timer after a window probe.
    pub(crate) fn back_off_persist(&mut self, now: Time, rto: Duration, max_rto: Duration) {
        self.persist_backoff += 1;
        self.restart_persist(now, rto, max_rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn at(count: u64) -> Time {
        Time::ZERO + ms(count)
    }

    /// RFC 8985, section 8: one timer at a time; the expiry of the retransmission timer is kept.
    #[test]
    fn arming_a_timer_replaces_the_running_one() {
        let mut timers = Timers::new(false, Duration::ZERO);
        timers.arm_rto(Time::ZERO, at(300));
        timers.arm(Time::ZERO, Timer::LossProbe, at(202));
        assert_eq!((timers.running, timers.due, timers.rto_at), (Timer::LossProbe, at(202), at(300)));
        assert!(timers.replaces_rto());
    }

    /// tcp_rearm_rto: an RTO that passed while another timer ran expires in a microsecond.
    #[test]
    fn an_overdue_retransmission_timer_expires_in_a_microsecond() {
        let mut timers = Timers::new(false, Duration::ZERO);
        timers.resume_rto(at(400), at(300));
        assert_eq!(timers.due, at(400) + Duration::from_micros(1));
        timers.resume_rto(at(400), at(500));
        assert_eq!(timers.due, at(500));
    }

    /// RFC 9293, section 3.8.6.1: the first probe after an RTO, then exponential back-off; by hand, RTO 300 ms, ceiling 2 s.
    #[test]
    fn the_persist_timer_doubles_up_to_the_maximum_rto() {
        let mut timers = Timers::new(false, Duration::ZERO);
        timers.start_persist(at(0), ms(300));
        assert_eq!(timers.due, at(300));
        let waits = [0; 4].map(|_: u32| {
            timers.back_off_persist(at(0), ms(300), ms(2000));
            timers.due
        });
        assert_eq!(waits, [600, 1200, 2000, 2000].map(at));
    }
}
