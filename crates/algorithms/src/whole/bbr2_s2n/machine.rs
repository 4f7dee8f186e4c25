//! The state machine of s2n-quic's BBR version 2. Numbers in parentheses are the equations of
//! [`crate::whole::bbr2_s2n`]; functions in parentheses are those of s2n-quic-core 0.91.0, src/recovery/bbr.

use cwndlab_control::{
    Ack, Change, Congestion, CongestionControl, Event, EventKind, Extra, Path, Reason, Sent, Ssthresh, State, Window,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::shared::bbr::{FlowRandom, Mode, ProbeRtt};
use crate::shared::deliveries::ReportedLosses;
use crate::whole::bbr2_s2n::cycle::Cycle;
use crate::whole::bbr2_s2n::model::Model;
use crate::whole::bbr2_s2n::options::Options;
use crate::whole::bbr2_s2n::outstanding::{Outstanding, Packet};
use crate::whole::bbr3::cycle::Phase;

/// (3), (4): pacing gains, and the margin of the pacing rate.
pub const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.5;
const DOWN_GAIN: f64 = 0.9;
const MARGIN: f64 = 0.99;
/// The window in Startup and Drain, and in ProbeRTT, as a multiple of the BDP.
const STARTUP_CWND_GAIN: f64 = 2.0;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// Segments: the smallest window, and the largest burst.
const MIN_WINDOW: f64 = 4.0;
const MAX_BURST: f64 = 10.0;
/// The rate, bytes/s, from which on a burst is of two segments or more.
const BURST_RATE: f64 = 150_000.0;
/// Losses, each of them of several packets, in a round that end Startup, and a probe.
const STARTUP_LOSSES: u32 = 8;
const PROBE_LOSSES: u32 = 2;
/// A timer ends this much early (`Timestamp::has_elapsed`).
const GRANULARITY: Duration = Duration::from_millis(1);

/// BBR version 2 of s2n-quic. Amounts in bytes, rates in bytes/s.
#[derive(Clone, Debug)]
pub struct Bbr2 {
    options: Options,
    mss: f64,
    initial: f64,
    pub(super) w: f64,
    pub(super) prior_w: f64,
    pub(super) pacing: f64,
    pub(super) quantum: f64,
    pub(super) mode: Mode,
    pub(super) model: Model,
    pub(super) cycle: Cycle,
    probe: ProbeRtt,
    random: FlowRandom,
    delivered: u64,
    in_flight: f64,
    /// The flow begins to send again after an idle period.
    idle_restart: bool,
    /// The window was full in this round.
    is_filled: bool,
    /// Neither model nor window change until a sample says more (`try_fast_path`).
    is_settled: bool,
    losses: ReportedLosses,
    outstanding: Outstanding,
}

impl Bbr2 {
    /// The state at the start of a flow.
    #[must_use]
    pub fn new(path: &Path, options: Options) -> Self {
        let mss = path.mss.0 as f64;
        let w = (path.initial_cwnd.0 as f64).max(MIN_WINDOW * mss);
        Self {
            options,
            mss,
            initial: w,
            w,
            prior_w: 0.0,
            pacing: MARGIN * STARTUP_GAIN * w * 1000.0, // the window in a millisecond
            quantum: MAX_BURST * mss,
            mode: Mode::Startup,
            model: Model::default(),
            cycle: Cycle::with_draws(options.draws as u64),
            probe: ProbeRtt::ending_early(GRANULARITY),
            random: FlowRandom::new(path.seed),
            delivered: 0,
            in_flight: 0.0,
            idle_restart: false,
            is_filled: false,
            is_settled: false,
            losses: ReportedLosses::default(),
            outstanding: Outstanding::default(),
        }
    }

    fn is_phase(&self, phase: Phase) -> bool {
        self.mode == Mode::ProbeBw && self.cycle.phase == phase
    }

    fn is_probing(&self) -> bool {
        self.mode == Mode::Startup || self.is_phase(Phase::Refill) || self.is_phase(Phase::Up)
    }

    pub(super) fn gain(&self) -> f64 {
        match (self.mode, self.cycle.phase) {
            (Mode::Startup, _) => STARTUP_GAIN,
            (Mode::Drain, _) => DRAIN_GAIN,
            (Mode::ProbeBw, Phase::Down) => DOWN_GAIN,
            (Mode::ProbeBw, Phase::Up) => self.options.up_gain,
            _ => 1.0,
        }
    }

    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => STARTUP_CWND_GAIN,
            Mode::ProbeBw => self.options.cwnd_gain,
            Mode::ProbeRtt => PROBE_RTT_CWND_GAIN,
        }
    }

    fn floor(&self) -> f64 {
        MIN_WINDOW * self.mss
    }

    /// `bdp_multiple`; the initial window before the first sample of the RTT.
    pub(super) fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.model.min_rtt.get().map_or(self.initial, |rtt| gain * bw * rtt.as_secs())
    }

    /// `quantization_budget`.
    fn budget(&self, inflight: f64) -> f64 {
        let up = if self.is_phase(Phase::Up) { 2.0 * self.mss } else { 0.0 };
        inflight.max(3.0 * self.quantum).max(self.floor()) + up
    }

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.budget(self.bdp(bw, gain))
    }

    pub(super) fn target(&self) -> f64 {
        self.bdp(self.model.bw, 1.0).min(self.w)
    }

    fn probe_window(&self) -> f64 {
        self.bdp(self.model.bw, PROBE_RTT_CWND_GAIN).max(self.floor())
    }

    fn with_headroom(&self) -> f64 {
        ((1.0 - self.options.headroom) * self.model.bounds.inflight_long).max(self.floor())
    }

    /// (7): whether `lost` of `in_flight` bytes are too many, after as many losses in the round (`is_loss_too_high`).
    fn is_too_high(&self, lost: f64, in_flight: f64, losses: u32) -> bool {
        self.model.bounds.loss_events >= losses && lost > (self.options.loss_threshold * in_flight).floor()
    }

    /// Losses of an ACK, which are processed before it, packet by packet (`on_packet_lost`).
    fn lose(&mut self, ack: &Ack, lost: f64) {
        if lost <= 0.0 {
            return;
        }
        self.delivered = ack.delivered.0.saturating_sub(ack.acked.0);
        self.model.bounds.on_loss(self.delivered);
        let app_limited = ack.delivery_rate.is_some_and(|rate| rate.app_limited);
        let mut left = lost;
        while left > 0.0 {
            let Some(packet) = self.outstanding.lose() else { break };
            left -= packet.size;
            self.model.lost += packet.size;
            self.lose_packet(ack.now, app_limited, &packet);
        }
        self.model.lost += left; // of packets that are not known
    }

    /// `handle_lost_packet`, `inflight_hi_from_lost_packet`.
    fn lose_packet(&mut self, now: Time, app_limited: bool, packet: &Packet) {
        let since = self.model.lost - packet.lost;
        if !self.cycle.samples || !self.is_too_high(since, packet.in_flight, PROBE_LOSSES) {
            return;
        }
        let threshold = self.options.loss_threshold;
        let (in_flight, lost) = ((packet.in_flight - packet.size).max(0.0), since - packet.size);
        let prefix = (threshold * in_flight - lost).max(0.0) / (1.0 - threshold);
        self.on_too_high(now, app_limited, in_flight + prefix);
    }

    /// (7) (`on_inflight_too_high`).
    fn on_too_high(&mut self, now: Time, app_limited: bool, in_flight: f64) {
        self.cycle.samples = false;
        if !app_limited {
            self.model.bounds.inflight_long = in_flight.max(self.options.beta * self.target());
        }
        if self.is_phase(Phase::Up) {
            self.start_down(now);
        }
    }

    fn start_down(&mut self, now: Time) {
        self.model.bounds.reset_signals();
        self.model.bounds.loss_events = 0;
        self.cycle.down(now, &mut self.random);
        self.model.rounds.restart(self.delivered);
        self.is_settled = false;
    }

    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.cycle.enter();
        self.start_down(now);
    }

    /// (4) (`check_startup_done`).
    fn check_startup(&mut self) -> Option<Event> {
        let (sample, bounds) = (self.model.sample, &self.model.bounds);
        let lossy = bounds.round_started && self.is_too_high(sample.lost, sample.tx_in_flight, STARTUP_LOSSES);
        let max_bw = self.model.max_bw();
        let full = &mut self.model.full;
        let was_full = full.reached;
        if !was_full && self.model.rounds.started && !sample.app_limited {
            full.step(max_bw);
        }
        let reason = if full.reached { Reason::FullPipe } else { Reason::Loss };
        full.reached |= was_full || lossy;
        if self.mode != Mode::Startup || !full.reached {
            return None;
        }
        (self.mode, self.is_settled) = (Mode::Drain, false);
        let segments = |bytes: f64| bytes / self.mss;
        let exit = Event::new(EventKind::SlowStartExit, reason, segments(self.w));
        Some(exit.against(segments(self.bdp(max_bw, 1.0))))
    }

    /// (5) (`adapt_upper_bounds`).
    fn adapt_upper_bounds(&mut self, ack: &Ack) {
        let sample = self.model.sample;
        let is_probe_bw = self.mode == Mode::ProbeBw;
        if self.model.rounds.started && self.cycle.on_round(is_probe_bw) && !sample.app_limited {
            self.model.end_cycle();
        }
        if self.is_too_high(sample.lost, sample.tx_in_flight, PROBE_LOSSES) {
            if self.cycle.samples {
                self.on_too_high(ack.now, sample.app_limited, sample.tx_in_flight);
            }
        } else if self.model.bounds.inflight_long.is_finite() {
            let bounds = &mut self.model.bounds;
            bounds.inflight_long = bounds.inflight_long.max(sample.tx_in_flight);
            if self.is_phase(Phase::Up) && self.is_filled && self.w >= self.model.bounds.inflight_long {
                let round = self.model.rounds.started;
                self.model.bounds.inflight_long += self.cycle.raise(ack.acked.0 as f64, round, self.w, self.mss);
            }
        }
    }

    /// (5), (6) (`update_probe_bw_cycle_phase`).
    fn update_cycle(&mut self, now: Time) {
        if self.model.rounds.started {
            self.cycle.rounds += 1;
        }
        let phase = self.cycle.phase;
        match phase {
            Phase::Down | Phase::Cruise if self.cycle.is_due(now, self.target(), self.mss) => {
                self.model.bounds.reset_short_term();
                self.cycle.refill();
                self.model.rounds.restart(self.delivered);
            }
            Phase::Down if self.is_time_to_cruise(now) => self.cycle.phase = Phase::Cruise,
            Phase::Refill if self.model.rounds.started => {
                self.cycle.up(now, self.w, self.mss);
                self.model.rounds.restart(self.delivered);
            }
            Phase::Up if self.has_lasted_a_round_trip(now) && self.in_flight > self.queue_limit() => {
                self.start_down(now);
            }
            _ => {}
        }
        self.is_settled &= phase == self.cycle.phase;
    }

    fn has_lasted_a_round_trip(&self, now: Time) -> bool {
        self.model.min_rtt.get().is_some_and(|rtt| self.cycle.has_lasted(rtt, now))
    }

    /// The bytes in flight that end Up.
    fn queue_limit(&self) -> f64 {
        self.inflight(self.model.max_bw(), self.gain())
    }

    fn is_time_to_cruise(&self, now: Time) -> bool {
        let limit = self.with_headroom().min(self.inflight(self.model.max_bw(), 1.0));
        self.has_lasted_a_round_trip(now) || self.in_flight <= limit
    }

    /// (9) (`update_min_rtt`, `check_probe_rtt`).
    fn update_min_rtt(&mut self, ack: &Ack) -> Option<Event> {
        self.model.min_rtt.update(ack.rtt, ack.now);
        let mut event = None;
        if self.mode != Mode::ProbeRtt && self.model.min_rtt.expired && !self.idle_restart {
            (self.mode, self.is_settled) = (Mode::ProbeRtt, false);
            self.prior_w = self.prior_w.max(self.w);
            self.probe.enter(self.delivered);
            self.model.rounds.restart(self.delivered);
            event = Some(Event::new(EventKind::ProbeRtt, Reason::Age, self.w / self.mss));
        }
        let small = self.probe_window() / self.mss;
        if self.mode == Mode::ProbeRtt && self.probe.step(ack, small, &mut self.model.rounds) {
            self.end_probe_rtt(ack.now);
        }
        self.idle_restart &= self.model.sample.delivered <= 0.0;
        event
    }

    /// `exit_probe_rtt`.
    fn end_probe_rtt(&mut self, now: Time) {
        self.model.min_rtt.probed(now);
        self.w = self.w.max(self.prior_w);
        self.model.bounds.reset_short_term();
        (self.mode, self.is_settled) = (Mode::Startup, false);
        if self.model.full.reached {
            self.enter_probe_bw(now);
            self.cycle.phase = Phase::Cruise;
        }
    }

    /// (3) (`set_pacing_rate`).
    fn pace(&mut self, gain: f64) {
        let rate = MARGIN * gain * self.model.bw;
        if self.model.full.reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// `set_send_quantum`.
    fn set_quantum(&mut self) {
        let least = if self.pacing < BURST_RATE { self.mss } else { 2.0 * self.mss };
        self.quantum = (self.pacing * 1e-3).max(least).min(MAX_BURST * self.mss);
    }

    pub(super) fn max_inflight(&self) -> f64 {
        self.budget(self.bdp(self.model.bw, self.cwnd_gain()) + self.model.extra.get())
    }

    /// (10) (`set_cwnd`, `bound_cwnd_for_model`).
    fn set_window(&mut self, acked: f64) {
        let max_inflight = self.max_inflight();
        let mut w = self.w;
        self.is_settled = false;
        if self.model.full.reached {
            w += acked;
            self.is_settled = w >= max_inflight;
            w = w.min(max_inflight);
        } else if w < max_inflight || (self.delivered as f64) < 2.0 * self.initial {
            w += acked;
        } else {
            self.is_settled = true;
        }
        if self.mode == Mode::ProbeRtt {
            w = w.min(self.probe_window());
        }
        let bounds = &self.model.bounds;
        let high = match (self.mode, self.cycle.phase) {
            (Mode::ProbeBw, Phase::Cruise) | (Mode::ProbeRtt, _) => self.with_headroom(),
            (Mode::ProbeBw, _) => bounds.inflight_long,
            _ => f64::INFINITY,
        };
        self.w = w.max(self.floor()).min(high.min(bounds.inflight_short).max(self.floor()));
    }

    /// The model receives nothing where the application limits the flow and nothing says that it could have more
    /// (`model_update_required`).
    fn needs_update(&self) -> bool {
        let sample = &self.model.sample;
        let says_more = sample.rate() >= self.model.max_bw() || self.model.bounds.loss_in_round;
        !self.is_settled || !sample.app_limited || says_more
    }
}

impl CongestionControl for Bbr2 {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        let acked = ack.acked.0 as f64;
        let lost = self.losses.take(ack);
        self.lose(ack, lost);
        let was_filled = ack.in_flight.0 as f64 + acked + self.mss > self.w;
        (self.delivered, self.in_flight) = (ack.delivered.0, ack.in_flight.0 as f64);
        let limited = ack.delivery_rate.is_some_and(|rate| self.probe.covers(rate.prior_delivered.0));
        let newest = self.outstanding.acknowledge(ack);
        self.model.on_ack(ack, self.options.sample, limited, newest);
        if self.model.rounds.started {
            self.is_filled = was_filled;
        }
        let updates = self.needs_update();
        let mut event = None;
        if updates {
            self.model.update_signals(ack, self.is_probing(), self.w, self.options.beta);
            let (bw, round) = (self.model.bw, self.model.rounds.count);
            self.model.extra.update(ack.now, acked, bw, self.w, round);
            event = self.check_startup();
        }
        if self.mode == Mode::Drain && self.in_flight <= self.inflight(self.model.bw, 1.0) {
            self.enter_probe_bw(ack.now);
        }
        if self.model.full.reached {
            self.adapt_upper_bounds(ack);
            if self.mode == Mode::ProbeBw {
                self.update_cycle(ack.now);
            }
        }
        self.outstanding.limit(ack);
        let least = self.model.min_rtt.get();
        self.begin_pacing(least, ack.rtt.unwrap_or(ack.srtt));
        event = self.update_min_rtt(ack).or(event);
        if updates || !self.is_settled || least != self.model.min_rtt.get() {
            self.model.end_ack();
            self.pace(self.gain());
            self.set_quantum();
            self.set_window(acked);
        }
        event
    }

    /// Neither a loss nor persistent congestion changes the window at once.
    fn on_congestion(&mut self, event: &Congestion) {
        self.losses.note(event);
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.w as u64)
    }

    fn on_sent(&mut self, sent: &Sent) {
        if sent.in_flight == sent.size {
            // `handle_restart_from_idle`
            if sent.app_limited {
                self.idle_restart = true;
                self.model.extra.restart(sent.now);
                if self.mode == Mode::ProbeBw {
                    self.pace(1.0);
                }
            }
            self.model.restart(sent);
        }
        self.outstanding.send(sent, self.model.lost);
        self.is_filled |= sent.in_flight.0 as f64 + self.mss > self.w;
    }

    fn on_window(&mut self, window: &Window) {
        if let (Change::Established, Some(rtt)) = (window.change, window.rtt) {
            self.begin_pacing(None, rtt);
            self.model.min_rtt.update(Some(rtt), window.now);
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate(((self.pacing * 8.0) as u64).max(1)))
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra {
            self.named_values(put);
        }
        let ssthresh = if self.mode == Mode::Startup { Ssthresh::Unlimited } else { Ssthresh::At(self.cwnd()) };
        State { ssthresh, phase: self.mode.phase() }
    }
}

impl Bbr2 {
    /// The first RTT sets the pacing rate (`initialize_pacing_rate`).
    fn begin_pacing(&mut self, least: Option<Duration>, rtt: Duration) {
        if least.is_none() && rtt > Duration::ZERO {
            self.pacing = MARGIN * self.gain() * self.w / rtt.as_secs();
        }
    }

    fn named_values(&self, put: Extra<'_>) {
        let (model, segments) = (&self.model, |bytes: f64| bytes / self.mss);
        let state = match (self.mode, self.cycle.phase) {
            (Mode::Startup, _) => 0.0,
            (Mode::Drain, _) => 1.0,
            (Mode::ProbeBw, phase) => 2.0 + f64::from(phase as u8),
            (Mode::ProbeRtt, _) => 6.0,
        };
        put("state", state);
        put("round_count", model.rounds.count as f64);
        put("pacing_gain", self.gain());
        put("cwnd_gain", self.cwnd_gain());
        put("bw_segments_per_s", segments(model.bw));
        put("max_bw_segments_per_s", segments(model.max_bw()));
        put("rate_segments_per_s", segments(model.sample.rate()));
        put("min_rtt_s", model.min_rtt.get().map_or(f64::INFINITY, Duration::as_secs));
        put("extra_acked_segments", segments(model.extra.get()));
        put("max_inflight_segments", segments(self.max_inflight()));
        put("send_quantum_segments", segments(self.quantum));
        put("inflight_segments", segments(self.in_flight));
        put("inflight_hi_segments", segments(model.bounds.inflight_long));
        put("inflight_lo_segments", segments(model.bounds.inflight_short));
        put("bw_lo_segments_per_s", segments(model.bounds.bw_short));
        put("rounds_since_probe", self.cycle.rounds as f64);
        put("cycle_stamp_s", self.cycle.started.as_nanos() as f64 * 1e-9);
        put("bw_probe_wait_s", self.cycle.wait.as_secs());
        put("prior_cwnd_segments", segments(self.prior_w));
    }
}
