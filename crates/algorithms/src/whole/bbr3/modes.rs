//! BBR version 3's modes and their transitions. Numbers in parentheses are the equations of [`crate::whole::bbr3`].

use cwndlab_control::{Ack, Event, EventKind, Reason};
use cwndlab_units::Time;

use crate::shared::bbr::Mode;
use crate::shared::margin::{above, below};
use crate::whole::bbr3::bounds::AckSample;
use crate::whole::bbr3::cycle::Phase;
use crate::whole::bbr3::machine::{Bbr3, MIN_WINDOW, STARTUP_GAIN};
use crate::whole::bbr3::options::Forget;
use crate::whole::bbr3::undo::UndoState;

/// Number of discontiguous losses in a round that ends Startup.
const FULL_LOSS_EVENTS: u32 = 6;

impl Bbr3 {
    pub(super) fn is_probing(&self) -> bool {
        let up = matches!(self.cycle.phase, Phase::Refill | Phase::Up);
        self.mode == Mode::Startup || (self.mode == Mode::ProbeBw && up)
    }

    /// `app_limited`: the last sample is application-limited.
    pub(super) fn start_down(&mut self, now: Time, app_limited: bool) {
        self.path.bounds.reset_signals();
        self.path.ecn.reset_signals();
        if self.options.forget == Forget::Down && !app_limited {
            self.path.bw.advance();
        }
        self.cycle.down(now, &mut self.random);
        self.path.rounds.restart(self.delivered);
    }

    /// Starts a probe whose first increase of inflight_long is 2^`exponent` segments per round trip.
    pub(super) fn start_refill(&mut self, exponent: u32) {
        self.mode = Mode::ProbeBw;
        self.path.bounds.reset_short_term();
        self.cycle.refill(exponent);
        self.path.rounds.restart(self.delivered);
    }

    /// (4): the end of Startup, by losses or by a plateau of the bandwidth, and that of Drain.
    pub(super) fn check_startup(&mut self, ack: &Ack, ack_sample: &AckSample) -> Option<Event> {
        let mut event = None;
        let bounds = &self.path.bounds;
        let lossy = bounds.round_started && self.recovery.active && bounds.loss_events >= FULL_LOSS_EVENTS;
        let marked = self.path.ecn.ends_startup();
        if !self.path.full.reached && (marked || lossy && ack_sample.too_high(self.options.loss_threshold)) {
            self.path.full.reached = true;
            self.undo_state = if marked { UndoState::None } else { UndoState::Startup };
            let bdp = self.path.bdp(self.path.bw.get(), 1.0);
            let bdp = if self.is_draft() { bdp } else { self.quantised(bdp) };
            self.path.bounds.inflight_long = bdp.max(self.path.bounds.inflight_latest);
        }
        // The draft looks for growth at the start of a round, the public branch at each ACK.
        let looks = self.path.rounds.started || !self.is_draft();
        if ack_sample.valid && !ack_sample.app_limited && looks {
            self.path.full.step(ack_sample.bw, self.path.rounds.started);
        }
        if self.mode == Mode::Startup && self.path.full.reached {
            self.mode = Mode::Drain;
            self.drain_start_round = self.path.rounds.count;
            self.ssthresh = self.quantised(self.path.bdp(self.path.bw.get(), 1.0));
            if !self.is_draft() {
                self.path.bounds.reset_signals();
                self.path.ecn.reset_signals();
            }
            let reason = match (marked, lossy) {
                (true, _) => Reason::Named("ecn"),
                (false, true) => Reason::Loss,
                (false, false) => Reason::FullPipe,
            };
            let exit = Event::new(EventKind::SlowStartExit, reason, self.w);
            event = Some(exit.against(self.path.bdp(self.path.bw.get(), 1.0)));
        }
        self.check_drain(ack, ack_sample);
        event
    }

    fn check_drain(&mut self, ack: &Ack, ack_sample: &AckSample) {
        if self.mode != Mode::Drain {
            return;
        }
        let in_flight = self.in_network(ack.now, self.in_flight);
        let long = self.options.drain_rounds.is_some_and(|max| self.path.rounds.count > self.drain_start_round + max);
        let bw = if self.is_draft() { self.path.rate() } else { self.path.bw.get() };
        if long || in_flight <= self.quantised(self.path.bdp(bw, 1.0)) {
            self.mode = Mode::ProbeBw;
            self.start_down(ack.now, ack_sample.app_limited);
        }
    }

    /// (7): the losses or marks of a probe exceed the threshold.
    fn on_too_high(&mut self, ack: &Ack, ack_sample: &AckSample) {
        self.cycle.too_high = true;
        self.cycle.samples = false;
        if !ack_sample.app_limited {
            let flight = if ack_sample.losses > 0.0 {
                ack_sample.flight_at_loss(self.options.loss_threshold)
            } else {
                ack_sample.tx_in_flight
            };
            self.path.bounds.inflight_long = flight.max(self.options.beta * self.target());
        }
        if self.is_up() {
            self.undo_state = UndoState::Up;
            self.start_down(ack.now, ack_sample.app_limited);
        }
    }

    /// Updates inflight_long from the samples of probes. Returns whether the phase changed.
    fn adapt_long(&mut self, ack: &Ack, ack_sample: &AckSample) -> bool {
        if self.path.rounds.started && self.cycle.on_round() && self.mode == Mode::ProbeBw {
            if !ack_sample.app_limited && self.options.forget == Forget::Feedback {
                self.path.bw.advance();
            }
            if self.cycle.risky && !self.cycle.too_high {
                self.start_refill(0);
                return true;
            }
        }
        if ack_sample.valid && ack_sample.too_high(self.options.loss_threshold) {
            // The draft looks at the loss rate where losses are detected, the public branch at each ACK.
            let now = ack_sample.losses > 0.0 || ack_sample.too_many_marks() || !self.is_draft();
            if self.cycle.samples && now {
                self.on_too_high(ack, ack_sample);
            }
        } else if self.path.bounds.inflight_long.is_finite() {
            self.path.bounds.inflight_long = self.path.bounds.inflight_long.max(ack_sample.tx_in_flight);
            // No margin: a window that the bound limits is a copy of it.
            if self.is_up() && ack.cwnd_limited && self.w >= self.path.bounds.inflight_long {
                let acked = ack.acked.0 as f64 / self.path.mss;
                self.path.bounds.inflight_long += self.cycle.raise(acked, self.path.rounds.started, self.w);
            }
        }
        false
    }

    /// (5) and (6).
    pub(super) fn update_cycle(&mut self, ack: &Ack, ack_sample: &AckSample) {
        if !self.path.full.reached || self.adapt_long(ack, ack_sample) || self.mode != Mode::ProbeBw {
            return;
        }
        let now = ack.now;
        let in_flight = self.in_network(now, ack.prior_in_flight.0 as f64 / self.path.mss);
        if let (Phase::Down | Phase::Cruise, false) = (self.cycle.phase, self.recovery.active) {
            if let Some(exponent) = self.path.ecn.reprobes(self.path.bounds.inflight_long) {
                return self.start_refill(exponent); // (14)
            }
        }
        match self.cycle.phase {
            Phase::Down | Phase::Cruise if self.cycle.is_due(now, self.target()) => self.start_refill(0),
            Phase::Down => {
                let room = self.path.bounds.with_headroom(self.options.headroom, MIN_WINDOW);
                if !above(in_flight, room.min(self.quantised(self.path.bdp(self.path.bw.get(), 1.0)))) {
                    if !self.is_draft() && self.path.bounds.inflight_short.is_finite() {
                        self.path.bounds.inflight_short =
                            self.path.bounds.inflight_short.min(self.path.bounds.inflight_long);
                    }
                    self.cycle.phase = Phase::Cruise;
                }
            }
            Phase::Cruise => {}
            Phase::Refill => {
                if self.path.rounds.started {
                    self.path.full.restart(ack_sample.bw);
                    self.path.rounds.restart(ack.delivered.0);
                    self.cycle.up(now, self.w);
                }
            }
            Phase::Up => {
                let risky = self.cycle.too_high && !below(in_flight, self.path.bounds.inflight_long);
                if !risky && ack.cwnd_limited && self.w >= self.path.bounds.inflight_long {
                    self.path.full.restart(ack_sample.bw);
                } else if risky || self.path.full.at_plateau {
                    self.cycle.risky |= risky;
                    self.cycle.too_high = false;
                    self.start_down(ack.now, ack_sample.app_limited);
                }
            }
        }
    }

    /// (2) and (10).
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) -> Option<Event> {
        let mut event = None;
        let expired = self.path.min_rtt.update(ack, self.options.probe_rtt_interval, self.options.min_rtt_window);
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            // Draft and Linux save the window in ProbeRTT, so that a larger one saved before remains.
            self.recovery.save(self.w, true);
            self.probe.enter(ack.delivered.0);
            self.cycle.stop();
            self.path.rounds.restart(ack.delivered.0);
            event = Some(Event::new(EventKind::ProbeRtt, Reason::Age, self.w));
        }
        if self.mode == Mode::ProbeRtt {
            let small = self.probe_window();
            if self.probe.step(ack, small, &mut self.path.rounds) {
                self.end_probe_rtt(ack.now);
            }
        }
        self.idle_restart &= ack.delivery_rate.is_none();
        event
    }

    pub(super) fn end_probe_rtt(&mut self, now: Time) {
        self.path.min_rtt.probed(now);
        self.w = self.w.max(self.recovery.prior);
        self.path.bounds.reset_short_term();
        self.mode = Mode::Startup;
        if self.path.full.reached {
            self.mode = Mode::ProbeBw;
            self.start_down(now, true);
            self.cycle.phase = Phase::Cruise;
        }
    }

    pub(super) fn gain(&self) -> f64 {
        match (self.mode, self.cycle.phase) {
            (Mode::Startup, _) => STARTUP_GAIN,
            (Mode::Drain, _) => self.options.drain_gain,
            (Mode::ProbeBw, Phase::Down) => self.options.down_gain,
            (Mode::ProbeBw, Phase::Up) => 1.25,
            _ => 1.0,
        }
    }
}
