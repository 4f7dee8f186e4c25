//! The state machine of BBR version 3. Numbers in parentheses are the equations of [`crate::whole::bbr3`].

use cwndlab_control::{
    Ack, Cause, Change, Congestion, CongestionControl, Event, Extra, Path, Sent, Ssthresh, State, Window,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::shared::bbr::{send_quantum, whole_over, FlowRandom, Mode, ProbeRtt, RecoveryState};
use crate::shared::departures::Departures;
use crate::whole::bbr3::bounds::AckSample;
use crate::whole::bbr3::cycle::{Cycle, Phase};
use crate::whole::bbr3::options::{Options, Text};
use crate::whole::bbr3::path_model::PathModel;
use crate::whole::bbr3::undo::UndoState;

/// 4 ln 2.
pub const STARTUP_GAIN: f64 = 2.772_588_722_239_781;
const MARGIN: f64 = 0.99;
const AGGREGATION: Duration = Duration::from_millis(100);
pub(super) const MIN_WINDOW: f64 = 4.0;

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    pub(super) options: Options,
    pub(super) path: PathModel,
    pub(super) w: f64,
    /// bit/s.
    pub(super) pacing: f64,
    pub(super) mode: Mode,
    pub(super) pacing_gain: f64,
    pub(super) cycle: Cycle,
    pub(super) probe: ProbeRtt,
    pub(super) departures: Departures,
    pub(super) random: FlowRandom,
    pub(super) recovery: RecoveryState,
    pub(super) seen_rtt: bool,
    pub(super) idle_restart: bool,
    pub(super) ssthresh: f64,
    /// The round in which Drain began.
    pub(super) drain_start_round: u64,
    pub(super) undo_state: UndoState,
    /// The ACK that is reported next undid a recovery, and the flow returned to this state.
    pub(super) undone: Option<UndoState>,
    /// Bytes delivered, and segments in flight after the last ACK (the draft's `C.delivered` and `C.inflight`).
    pub(super) delivered: u64,
    pub(super) in_flight: f64,
}

impl Bbr3 {
    /// The state at the start of a flow.
    #[must_use]
    pub fn new(path: &Path, options: &Options) -> Self {
        let path_model = PathModel::new(path);
        let initial = path_model.initial;
        let mut flow = Self {
            options: *options,
            path: path_model,
            w: initial.max(1.0),
            pacing: 0.0,
            mode: Mode::Startup,
            pacing_gain: STARTUP_GAIN,
            cycle: Cycle::default(),
            probe: ProbeRtt::default(),
            departures: Departures::default(),
            random: FlowRandom::new(path.seed),
            recovery: RecoveryState::default(),
            seen_rtt: false,
            idle_restart: false,
            ssthresh: f64::INFINITY,
            drain_start_round: 0,
            undo_state: UndoState::None,
            undone: None,
            delivered: 0,
            in_flight: 0.0,
        };
        flow.pace_by_rtt(Duration::from_millis(1));
        flow
    }

    pub(super) fn is_draft(&self) -> bool {
        self.options.text == Text::Draft
    }

    /// The initial rate; the draft has no margin there.
    fn pace_by_rtt(&mut self, rtt: Duration) {
        let gain = if self.is_draft() { STARTUP_GAIN } else { MARGIN * STARTUP_GAIN };
        self.pacing = gain * self.w * self.path.mss * 8e9 / rtt.as_nanos() as f64;
    }

    /// (3).
    pub(super) fn pace(&mut self, gain: f64) {
        let rate = MARGIN * gain * self.path.rate() * self.path.mss * 8.0;
        if self.path.full.reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.mode == Mode::ProbeBw && self.cycle.phase == Phase::Up
    }

    /// A window with room for the quanta of sender and receiver.
    pub(super) fn quantised(&self, w: f64) -> f64 {
        let floor = (3.0 * send_quantum(self.pacing, self.path.mss)).max(MIN_WINDOW);
        w.max(floor) + if self.is_up() { 2.0 } else { 0.0 }
    }

    /// The target inflight, segments: the BDP, or the window where it is smaller.
    pub(super) fn target(&self) -> f64 {
        let bdp = self.path.bdp(self.path.rate(), 1.0);
        if self.is_draft() { bdp } else { self.quantised(bdp) }.min(self.w)
    }

    /// The inflight that transitions compare, of `in_flight` after the ACK: the draft's `C.inflight`, or the public
    /// branch's at the next departure, from the inflight before the ACK for the phases of ProbeBW.
    pub(super) fn in_network(&self, now: Time, in_flight: f64) -> f64 {
        if self.is_draft() {
            return self.in_flight;
        }
        let ahead = if self.pacing_gain > 1.0 { send_quantum(self.pacing, self.path.mss) } else { 0.0 };
        self.departures.in_flight(now, in_flight, self.path.rate(), ahead)
    }

    pub(super) fn probe_window(&self) -> f64 {
        self.path.bdp(self.path.rate(), 0.5).max(MIN_WINDOW)
    }

    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => 2.0,
            Mode::ProbeBw if self.cycle.phase == Phase::Up => self.options.cwnd_gain + 0.25,
            Mode::ProbeBw => self.options.cwnd_gain,
            Mode::ProbeRtt => 0.5,
        }
    }

    /// The draft's `max_inflight`, segments.
    pub(super) fn max_inflight(&self) -> f64 {
        let extra = if self.is_draft() {
            self.path.extra_acked.get()
        } else {
            self.path.aggregation.extra().min(whole_over(self.path.rate(), AGGREGATION))
        };
        self.quantised(self.path.bdp(self.path.rate(), self.cwnd_gain()) + extra)
    }

    /// (11).
    fn set_window(&mut self, ack: &Ack) {
        let acked = ack.acked.0 as f64 / self.path.mss;
        let target = self.max_inflight();
        let mut w = self.w;
        let begins = if self.is_draft() {
            ack.delivered.0 as f64 <= self.path.initial * self.path.mss
        } else {
            w < 2.0 * self.path.initial
        };
        if self.path.full.reached {
            w = (w + acked).min(target);
        } else if w < target || begins {
            w += acked;
        }
        w = w.max(MIN_WINDOW);
        if self.mode == Mode::ProbeRtt {
            w = w.min(self.probe_window());
        }
        let bounds = &self.path.bounds;
        let long = match (self.mode, self.cycle.phase) {
            (Mode::ProbeBw, Phase::Cruise) | (Mode::ProbeRtt, _) => {
                bounds.with_headroom(self.options.headroom, MIN_WINDOW)
            }
            (Mode::ProbeBw, _) => bounds.inflight_long,
            _ => f64::INFINITY,
        };
        self.w = w.min(long.min(bounds.inflight_short).max(MIN_WINDOW));
    }
}

impl CongestionControl for Bbr3 {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        let delivered = ack.delivered.0;
        (self.delivered, self.in_flight) = (delivered, ack.in_flight.0 as f64 / self.path.mss);
        let losses = self.take_losses(ack);
        let prior = ack.delivery_rate.map_or(0, |sample| sample.prior_delivered.0);
        let history = &mut self.path.loss_history;
        let mut ack_sample = AckSample::of(ack, losses, history, self.path.mss, self.probe.covers(prior));
        self.path.rounds.started = false;
        if ack_sample.valid {
            self.path.rounds.step(prior, delivered);
        }
        if self.options.ecn {
            let (started, min_rtt) = (self.path.rounds.started, self.path.min_rtt.get());
            ack_sample.marked = self.path.ecn.on_ack(ack, started, min_rtt, self.options.ecn_max_rtt);
        }
        self.path.bounds.observe(&ack_sample, prior, delivered);
        if ack_sample.valid {
            self.path.bw.update(ack_sample.bw, ack_sample.app_limited);
            let cut = self.path.ecn.cut();
            self.path.bounds.adapt(self.is_probing(), self.path.bw.get(), self.w, self.options.beta, cut); // (8), (13)
            if self.path.bounds.round_started {
                self.path.ecn.end_round();
            }
            let window = if self.path.full.reached { self.options.aggregation_rounds } else { 1 };
            self.path.on_aggregation(ack, window, self.w);
        }
        let exit = self.check_startup(ack, &ack_sample);
        self.update_cycle(ack, &ack_sample);
        let event = self.update_min_rtt(ack).or(exit);
        self.pacing_gain = self.gain();
        if !self.seen_rtt && ack.srtt.as_nanos() > 0 {
            self.seen_rtt = true;
            self.pace_by_rtt(ack.srtt);
        }
        self.pace(self.pacing_gain);
        self.set_window(ack);
        self.path.bounds.advance(&ack_sample);
        self.path.ecn.end_ack(ack_sample.lost.max(losses), ack_sample.marked);
        self.recovery.was_active = self.recovery.active;
        event
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.save_state();
        self.recovery.active |= event.cause != Cause::Ecn;
        if event.restart {
            self.recovery.was_active = true;
            if !self.is_draft() {
                self.path.full.restart(0.0);
                if !self.is_probing() && self.path.bounds.inflight_short.is_infinite() {
                    self.path.bounds.inflight_short = self.w.max(self.recovery.prior);
                }
            }
            self.w = 1.0;
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.w * self.path.mss) as u64)
    }

    fn on_sent(&mut self, sent: &Sent) {
        // Nothing was in flight and the sender was application-limited: an idle period ends.
        if sent.app_limited && !sent.retransmission && sent.in_flight == sent.size {
            self.idle_restart = true;
            self.path.aggregation.restart(sent.now);
            match self.mode {
                Mode::ProbeBw => self.pace(1.0),
                Mode::ProbeRtt if self.probe.is_over(sent.now) => self.end_probe_rtt(sent.now),
                _ => {}
            }
        }
        self.departures.sent(sent, self.pacing);
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Established => {
                self.w = self.w.min(window.cwnd.0 as f64 / self.path.mss);
                self.path.aggregation.restart(window.now);
                self.path.min_rtt.begin(window.now, window.rtt);
                if let Some(rtt) = window.rtt {
                    self.seen_rtt = true;
                    self.pace_by_rtt(rtt.max(Duration::from_micros(1)));
                }
            }
            Change::Undo => self.undo_losses(),
            Change::Recovered => {
                self.recovery.active = false;
                self.w = self.w.max(self.recovery.prior);
            }
            Change::Idle => {} // (11) and pacing need no restart
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate((self.pacing as u64).max(1)))
    }

    #[inline]
    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra {
            self.named_values(put);
        }
        State { ssthresh: Ssthresh::of(self.ssthresh, self.path.mss), phase: self.mode.phase() }
    }
}
