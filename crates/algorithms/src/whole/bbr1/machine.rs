//! The state machine of BBR version 1. Numbers in parentheses are the equations of [`crate::whole::bbr1`].

use cwndlab_control::{
    Ack, Cause, Change, Congestion, CongestionControl, Event, EventKind, Extra, Path, Reason, Sent, Ssthresh, State,
    Window,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::shared::bbr::{send_quantum, FlowRandom, Mode, RecoveryState};
use crate::shared::departures::Departures;
use crate::whole::bbr1::path_model::{Options, PathModel};

const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const MARGIN: f64 = 0.99;
const MIN_WINDOW: f64 = 4.0;
const PHASES: usize = 8;

/// BBR version 1.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    pub(super) path: PathModel,
    pub(super) mss: f64,
    w: f64,
    /// bit/s.
    pub(super) pacing: f64,
    pub(super) mode: Mode,
    pub(super) pacing_gain: f64,
    pub(super) cwnd_gain: f64,
    phase: usize,
    phase_at: Time,
    departures: Departures,
    random: FlowRandom,
    repair: RecoveryState,
    seen_rtt: bool,
    pub(super) idle_restart: bool,
    ssthresh: f64,
    /// Segments in flight after the last ACK.
    pub(super) in_flight: f64,
}

impl Bbr1 {
    /// The state at the start of a flow.
    #[must_use]
    pub fn new(path: &Path, options: &Options) -> Self {
        let path_model = PathModel::new(path, options);
        let mss = path_model.mss;
        let initial = path_model.initial;
        let mut flow = Self {
            path: path_model,
            mss,
            w: initial.max(1.0),
            pacing: 0.0,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            phase: 0,
            phase_at: Time::ZERO,
            departures: Departures::default(),
            random: FlowRandom::new(path.seed),
            repair: RecoveryState::default(),
            seen_rtt: false,
            idle_restart: false,
            ssthresh: f64::INFINITY,
            in_flight: 0.0,
        };
        flow.pace_by_rtt(Duration::from_millis(1)); // Linux: an RTT of 1 ms before the first sample
        flow
    }

    fn pace_by_rtt(&mut self, rtt: Duration) {
        self.pacing = MARGIN * HIGH_GAIN * self.w * self.mss * 8e9 / rtt.as_nanos() as f64;
    }

    /// (3); before the pipe is full the pacing rate only rises.
    fn pace(&mut self, gain: f64) {
        let rate = MARGIN * gain * self.path.rate() * self.mss * 8.0;
        if self.path.full.reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// (4): a window with room for the quanta of sender and receiver.
    #[inline]
    fn quantised(&self, w: f64) -> f64 {
        let even = ((w + 3.0 * send_quantum(self.pacing, self.mss) + 1.0) / 2.0).floor() * 2.0;
        even + if self.mode == Mode::ProbeBw && self.phase == 0 { 2.0 } else { 0.0 }
    }

    /// (8): enters ProbeBW in a random phase.
    fn probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.phase = PHASES - 1 - self.random.below(PHASES as u64 - 1) as usize;
        self.advance(now);
    }

    fn advance(&mut self, now: Time) {
        self.phase = (self.phase + 1) % PHASES;
        self.phase_at = now;
    }

    fn in_network(&self, now: Time, in_flight: f64) -> f64 {
        let ahead = if self.pacing_gain > 1.0 { send_quantum(self.pacing, self.mss) } else { 0.0 };
        self.departures.in_flight(now, in_flight, self.path.rate(), ahead)
    }

    /// Whether the phase of the gain cycle has ended. Without margins: both sides are whole segments.
    fn phase_done(&self, ack: &Ack) -> bool {
        let full = ack.now.saturating_since(self.phase_at) > self.path.min_rtt;
        if self.pacing_gain == 1.0 {
            return full;
        }
        let in_flight = self.in_network(ack.now, ack.prior_in_flight.0 as f64 / self.mss);
        let bw = self.path.bw.get();
        if self.pacing_gain > 1.0 {
            // The phase lasts until the inflight of its gain is reached, or a loss occurs.
            return full && (ack.lost.0 > 0 || in_flight >= self.quantised(self.path.bdp(bw, self.pacing_gain)));
        }
        full || in_flight <= self.quantised(self.path.bdp(bw, 1.0))
    }

    fn update_mode(&mut self, ack: &Ack) -> Option<Event> {
        let mut event = None;
        let now = ack.now;
        if self.mode == Mode::ProbeBw && self.phase_done(ack) {
            self.advance(now);
        }
        if self.mode == Mode::Startup && self.path.full.reached {
            self.mode = Mode::Drain;
            self.ssthresh = self.quantised(self.path.bdp(self.path.bw.get(), 1.0));
            let exit = Event::new(EventKind::SlowStartExit, Reason::FullPipe, self.w);
            event = Some(exit.against(self.path.bdp(self.path.bw.get(), 1.0)));
        }
        if self.mode == Mode::Drain {
            let in_flight = self.in_network(now, ack.in_flight.0 as f64 / self.mss);
            if in_flight <= self.quantised(self.path.bdp(self.path.bw.get(), 1.0)) {
                self.probe_bw(now); // (7)
            }
        }
        let event = self.update_min_rtt(ack).or(event);
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.path.policer.rate.is_some() => (1.0, self.path.options.cwnd_gain),
            Mode::ProbeBw => {
                let gain = match self.phase {
                    0 => self.path.options.probe_gain,
                    1 => 2.0 - self.path.options.probe_gain,
                    _ => 1.0,
                };
                (gain, self.path.options.cwnd_gain)
            }
            Mode::ProbeRtt => (1.0, 1.0),
        };
        event
    }

    /// (2) and (9).
    fn update_min_rtt(&mut self, ack: &Ack) -> Option<Event> {
        let mut event = None;
        let now = ack.now;
        let expired = now > self.path.min_rtt_at + self.path.options.min_rtt_window;
        if let Some(rtt) = ack.rtt {
            if rtt < self.path.min_rtt || expired {
                (self.path.min_rtt, self.path.min_rtt_at) = (rtt, now);
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            // The larger one of this window and the last that was saved (Linux, `bbr_save_cwnd`: in this mode already).
            self.repair.save(self.w, true);
            self.mode = Mode::ProbeRtt;
            self.path.probe.enter(ack.delivered.0);
            event = Some(Event::new(EventKind::ProbeRtt, Reason::Age, self.w));
        }
        if self.mode == Mode::ProbeRtt && self.path.probe.step(ack, MIN_WINDOW, &mut self.path.rounds) {
            self.end_probe_rtt(now);
        }
        if ack.delivery_rate.is_some() {
            self.idle_restart = false;
        }
        event
    }

    fn end_probe_rtt(&mut self, now: Time) {
        self.path.min_rtt_at = now;
        self.w = self.w.max(self.repair.prior);
        self.mode = Mode::Startup;
        if self.path.full.reached {
            self.probe_bw(now);
        }
    }

    /// (5) and (10).
    fn set_window(&mut self, ack: &Ack) {
        let acked = ack.acked.0 as f64 / self.mss;
        let in_flight = ack.in_flight.0 as f64 / self.mss;
        let mut w = self.w;
        if self.path.options.conserve {
            let (kept, entered) = self.repair.step(w, ack.lost.0 as f64 / self.mss, acked, in_flight);
            w = kept;
            if entered {
                self.path.rounds.restart(ack.delivered.0);
            }
        }
        if self.repair.conserving {
            w = w.max(in_flight + acked).max(1.0);
        } else {
            let target = self.quantised(self.path.bdp(self.path.rate(), self.cwnd_gain) + self.path.extra());
            if self.path.full.reached {
                w = (w + acked).min(target);
            } else if w < target || self.path.is_young() {
                w += acked;
            }
            w = w.max(MIN_WINDOW);
        }
        self.w = if self.mode == Mode::ProbeRtt { w.min(MIN_WINDOW) } else { w };
    }
}

impl CongestionControl for Bbr1 {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.in_flight = ack.in_flight.0 as f64 / self.mss;
        if self.path.update(ack, self.w, self.mode == Mode::ProbeBw) {
            self.probe_bw(ack.now);
        }
        self.repair.conserving &= !self.path.rounds.started;
        let event = self.update_mode(ack);
        if !self.seen_rtt && ack.srtt.as_nanos() > 0 {
            self.seen_rtt = true;
            self.pace_by_rtt(ack.srtt);
        }
        self.pace(self.pacing_gain);
        self.set_window(ack);
        event
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.repair.save(self.w, self.mode == Mode::ProbeRtt);
        self.repair.active |= event.cause != Cause::Ecn;
        if event.restart {
            self.w = 1.0;
            self.repair.was_active = true;
            self.path.on_timeout(event.now);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.w * self.mss) as u64)
    }

    fn on_sent(&mut self, sent: &Sent) {
        // Nothing was in flight and the sender was application-limited: an idle period ends.
        if sent.app_limited && !sent.retransmission && sent.in_flight == sent.size {
            self.idle_restart = true;
            self.path.aggregation.restart(sent.now);
            match self.mode {
                Mode::ProbeBw => self.pace(1.0),
                Mode::ProbeRtt if self.path.probe.is_over(sent.now) => self.end_probe_rtt(sent.now),
                _ => {}
            }
        }
        self.departures.sent(sent, self.pacing);
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Established => {
                self.w = self.w.min(window.cwnd.0 as f64 / self.mss);
                self.path.min_rtt_at = window.now;
                self.path.aggregation.restart(window.now);
                self.phase_at = window.now;
                if let Some(rtt) = window.rtt {
                    self.seen_rtt = true;
                    self.path.min_rtt = rtt;
                    self.pace_by_rtt(rtt.max(Duration::from_micros(1)));
                }
            }
            Change::Undo => {
                self.path.on_undo(window.now);
                self.repair.active = false;
            }
            Change::Recovered => self.repair.active = false,
            Change::Idle => {} // (5) and pacing need no restart
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
        State { ssthresh: Ssthresh::of(self.ssthresh, self.mss), phase: self.mode.phase() }
    }
}
