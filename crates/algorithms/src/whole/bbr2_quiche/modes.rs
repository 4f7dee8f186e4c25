//! The modes of quiche's BBR version 2 and their transitions. Numbers in parentheses are the equations of
//! [`crate::whole::bbr2_quiche`]; functions in parentheses are those of quiche 0.30.0, src/recovery/gcongestion/bbr2.

use cwndlab_units::{Duration, Time};

use crate::shared::bbr::Mode;
use crate::whole::bbr2_quiche::machine::{Bbr2, STARTUP_CWND_GAIN};
use crate::whole::bbr2_quiche::model::AckEvent;
use crate::whole::bbr2_quiche::options::DownLimit;
use crate::whole::bbr3::cycle::Phase;

/// (3): pacing gains.
const DRAIN_GAIN: f64 = 1.0 / 2.885;
const DOWN_GAIN: f64 = 0.9;
const UP_GAIN: f64 = 1.25;
/// Events with losses in a round that end Startup, and a probe.
const STARTUP_LOSSES: u32 = 8;
const PROBE_LOSSES: u32 = 2;
/// The queue that ends Up, as a multiple of the BDP, after this many rounds.
const QUEUE_GAIN: f64 = 1.25;
const QUEUE_ROUNDS: u32 = 2;
/// (9): the time with a small window, and this window as a multiple of the BDP.
const PROBE_RTT: Duration = Duration::from_millis(200);
const PROBE_RTT_GAIN: f64 = 0.5;
/// Mode changes of one ACK (`MAX_MODE_CHANGES_PER_CONGESTION_EVENT`).
const MAX_CHANGES: u32 = 4;

impl Bbr2 {
    /// Runs the state machine until the mode does not change.
    pub(super) fn run(&mut self, event: &AckEvent) {
        for _ in 0..MAX_CHANGES {
            let before = self.mode;
            match self.mode {
                Mode::Startup => self.in_startup(event),
                Mode::Drain => self.in_drain(event),
                Mode::ProbeBw => self.in_probe_bw(event),
                Mode::ProbeRtt => self.in_probe_rtt(event),
            }
            if self.mode == before {
                return;
            }
        }
    }

    pub(super) fn is_probing(&self) -> bool {
        let probes = matches!(self.cycle.phase, Some(Phase::Refill | Phase::Up));
        self.mode == Mode::Startup || self.mode == Mode::ProbeBw && probes
    }

    /// (4) (`Startup::on_congestion_event`).
    fn in_startup(&mut self, event: &AckEvent) {
        if !self.model.full.reached && event.ends_round && !self.model.has_growth(event) {
            let excessive = !event.is_app_limited() && !self.model.full.reached;
            if excessive && self.model.is_too_high(event, STARTUP_LOSSES, self.options.loss_threshold) {
                self.model.bounds.inflight_long = self.model.max_bdp().max(self.model.round.delivered);
                self.model.full.reached = true;
                self.is_lossy = true;
            }
        }
        if self.model.full.reached {
            self.model.bounds.bw_short = f64::INFINITY;
            self.mode = Mode::Drain;
        }
    }

    /// `Drain::on_congestion_event`.
    fn in_drain(&mut self, event: &AckEvent) {
        (self.pacing_gain, self.cwnd_gain) = (DRAIN_GAIN, STARTUP_CWND_GAIN);
        if event.in_flight <= self.model.max_bdp() {
            self.enter_probe_bw(event.now);
        }
    }

    /// `ProbeBW::enter`: the first cycle begins, or the phase of before ProbeRTT continues.
    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.cycle.started = now;
        match self.cycle.phase {
            None => self.start_down(false, false, now),
            Some(Phase::Cruise) => self.start_cruise(now),
            Some(Phase::Refill) => self.start_refill(self.cycle.up_rounds(), now),
            Some(Phase::Up | Phase::Down) => {}
        }
    }

    /// (5) (`ProbeBW::on_congestion_event`).
    fn in_probe_bw(&mut self, event: &AckEvent) {
        if event.ends_round {
            self.cycle.on_round(event.now);
        }
        let was = self.cycle.phase;
        match was {
            Some(Phase::Up) => self.in_up(event),
            Some(Phase::Down) => self.in_down(event),
            Some(Phase::Cruise) => {
                self.adapt_upper_bounds(event);
                self.refill_when_due(event.now);
            }
            Some(Phase::Refill) => {
                self.adapt_upper_bounds(event);
                if self.cycle.rounds_in_phase > 0 && event.ends_round {
                    self.cycle.up(event.w, event.now);
                    self.model.restart_round(self.delivered);
                }
            }
            None => {}
        }
        if was == Some(Phase::Down) && self.cycle.phase != was && self.model.expires(event) {
            (self.mode, self.probe_until) = (Mode::ProbeRtt, None);
            (self.pacing_gain, self.cwnd_gain) = (1.0, 1.0);
            return;
        }
        (self.pacing_gain, self.cwnd_gain) = match self.cycle.phase {
            Some(Phase::Up) => (UP_GAIN, self.options.up_cwnd_gain),
            Some(Phase::Down) => (DOWN_GAIN, self.options.cwnd_gain),
            _ => (1.0, self.options.cwnd_gain),
        };
    }

    fn start_down(&mut self, too_high: bool, risky: bool, now: Time) {
        self.cycle.down(too_high, risky, now);
        self.model.restart_round(self.delivered);
    }

    fn start_cruise(&mut self, now: Time) {
        self.leave_down();
        let bounds = &mut self.model.bounds;
        if bounds.inflight_short.is_finite() {
            bounds.inflight_short = bounds.inflight_short.min(bounds.inflight_long);
        }
        self.cycle.enter(Phase::Cruise, now);
        self.cycle.samples = false;
    }

    fn start_refill(&mut self, up_rounds: u32, now: Time) {
        self.leave_down();
        self.cycle.refill(up_rounds, now);
        self.model.bounds.reset_short_term();
        self.model.restart_round(self.delivered);
    }

    /// `exit_probe_down`.
    fn leave_down(&mut self) {
        if self.cycle.phase == Some(Phase::Down) && !self.cycle.has_advanced {
            self.model.max_bw.advance();
            self.cycle.has_advanced = true;
        }
    }

    fn refill_when_due(&mut self, now: Time) -> bool {
        let due = self.cycle.is_due(now, self.target());
        if due {
            self.start_refill(0, now);
        }
        due
    }

    /// `update_probe_down`.
    fn in_down(&mut self, event: &AckEvent) {
        if self.cycle.rounds_in_phase == 1 && event.ends_round {
            self.cycle.samples = false;
            if !event.is_app_limited() {
                self.model.max_bw.advance();
                self.cycle.has_advanced = true;
            }
            if self.cycle.risky && !self.cycle.too_high {
                return self.start_refill(0, event.now);
            }
        }
        self.adapt_upper_bounds(event);
        if self.refill_when_due(event.now) {
            return;
        }
        let is_long = self.options.down == DownLimit::MinRtt && self.cycle.has_lasted(self.model.min_rtt.0, event.now);
        let has_room = event.in_flight <= self.model.with_headroom(self.options.headroom);
        if is_long || has_room && event.in_flight < self.model.max_bdp() {
            self.start_cruise(event.now);
        }
    }

    /// `update_probe_up`.
    fn in_up(&mut self, event: &AckEvent) {
        if self.adapt_upper_bounds(event) {
            return self.start_down(true, false, event.now);
        }
        self.probe_upward(event);
        let risky = self.cycle.too_high && event.prior_in_flight >= self.model.bounds.inflight_long;
        let looks = !risky && self.cycle.rounds_in_phase > 0 && event.ends_round;
        if risky || looks && self.model.has_queue(QUEUE_GAIN, QUEUE_ROUNDS) {
            self.start_down(false, risky, event.now);
        }
    }

    /// `probe_inflight_high_upward`.
    fn probe_upward(&mut self, event: &AckEvent) {
        if event.prior_in_flight >= event.w && event.w >= self.model.bounds.inflight_long {
            self.model.bounds.inflight_long += self.cycle.raise(event.acked, event.ends_round, event.w);
        }
    }

    /// (7) (`maybe_adapt_upper_bounds`). Returns whether a probe lost too much.
    fn adapt_upper_bounds(&mut self, event: &AckEvent) -> bool {
        let Some(packet) = event.packet else { return false };
        if self.cycle.samples {
            let too_high = self.model.is_too_high(event, PROBE_LOSSES, self.options.loss_threshold);
            if too_high {
                self.cycle.samples = false;
                let target = (self.options.beta * self.target()).floor();
                self.model.bounds.inflight_long = packet.delivered.max(target).max(self.model.round.delivered);
            }
            return too_high;
        }
        let bounds = &mut self.model.bounds;
        if bounds.inflight_long.is_finite() {
            bounds.inflight_long = bounds.inflight_long.max(packet.delivered);
        }
        false
    }

    /// (9) (`ProbeRTT::on_congestion_event`).
    fn in_probe_rtt(&mut self, event: &AckEvent) {
        match self.probe_until {
            None if event.in_flight <= self.probe_window() => self.probe_until = Some(event.now + PROBE_RTT),
            Some(until) if event.now > until => self.enter_probe_bw(event.now),
            _ => {}
        }
    }

    pub(super) fn probe_window(&self) -> f64 {
        self.model.bdp(self.model.max_bw.get(), PROBE_RTT_GAIN)
    }
}
