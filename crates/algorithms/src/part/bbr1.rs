//! The machine of BBR version 1, which [`crate::growth::bbr1`] describes; the numbers are its equations.

use cwndlab_control::{Ack, Cause, Change, Congestion, CongestionControl, Note, Path, Sent, Window};
use cwndlab_units::{Bytes, Rate};

use super::bbr::{over, send_quantum, Aggregation, Chance, Departures, FullPipe, ProbeRtt, Repair, Rounds};
use super::policer::{Policer, Seen};
use super::windowed::WindowedMax;

const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const MARGIN: f64 = 0.99;
const BW_ROUNDS: u64 = 10;
const AGGREGATION_ROUNDS: u32 = 5;
/// What aggregation adds at most: 100 ms of the bandwidth.
const AGGREGATION_NS: u64 = 100_000_000;
const MIN_WINDOW: f64 = 4.0;
const PHASES: usize = 8;

/// What a preset may choose.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Window of ProbeBW in bandwidth-delay products.
    pub cwnd_gain: f64,
    /// Pacing gain of the phase that probes; the next one paces at 2 minus this.
    pub probe_gain: f64,
    /// Age at which min_rtt is measured again, ns.
    pub min_rtt_window: u64,
    /// Add what ACKs bring at once.
    pub aggregation: bool,
    /// Look for a policer.
    pub policer: bool,
    /// Packet conservation in a recovery's first round; else losses are ignored.
    pub conserve: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR version 1.
#[derive(Debug)]
pub struct Bbr1 {
    options: Options,
    mss: f64,
    initial: f64,
    w: f64,
    /// bit/s.
    pacing: f64,
    mode: Mode,
    pacing_gain: f64,
    cwnd_gain: f64,
    bw: WindowedMax,
    min_rtt: u64,
    min_rtt_at: u64,
    rounds: Rounds,
    full: FullPipe,
    phase: usize,
    phase_at: u64,
    departures: Departures,
    aggregation: Aggregation,
    policer: Policer,
    chance: Chance,
    lost: f64,
    delivered: u64,
    repair: Repair,
    seen_rtt: bool,
    idle_restart: bool,
    probe: ProbeRtt,
    ssthresh: f64,
}

impl Bbr1 {
    /// At the start of a flow.
    #[must_use]
    pub fn new(path: &Path, options: &Options) -> Self {
        let mss = path.mss.0 as f64;
        let initial = path.initial_cwnd.0 as f64 / mss;
        let mut flow = Self {
            options: *options,
            mss,
            initial,
            w: initial.max(1.0),
            pacing: 0.0,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            bw: WindowedMax::new(0.0),
            min_rtt: u64::MAX,
            min_rtt_at: 0,
            rounds: Rounds::default(),
            full: FullPipe::default(),
            phase: 0,
            phase_at: 0,
            departures: Departures::default(),
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            chance: Chance::new(path.seed),
            lost: 0.0,
            delivered: 0,
            repair: Repair::default(),
            seen_rtt: false,
            idle_restart: false,
            probe: ProbeRtt::default(),
            ssthresh: f64::INFINITY,
        };
        flow.pace_by_rtt(1_000_000); // Linux: 1 ms until the round-trip time is known
        flow
    }

    fn rate(&self) -> f64 {
        self.policer.rate.unwrap_or_else(|| self.bw.get())
    }

    fn pace_by_rtt(&mut self, rtt: u64) {
        self.pacing = MARGIN * HIGH_GAIN * self.w * self.mss * 8e9 / rtt as f64;
    }

    /// (3), raised only while the pipe is not known to be full.
    fn pace(&mut self, gain: f64) {
        let rate = MARGIN * gain * self.rate() * self.mss * 8.0;
        if self.full.reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// The bandwidth-delay product times `gain`.
    #[inline]
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        if self.min_rtt == u64::MAX {
            return self.initial;
        }
        (over(bw, self.min_rtt) * gain).ceil()
    }

    /// (4): room for what sender and receiver handle at once.
    #[inline]
    fn quantised(&self, w: f64) -> f64 {
        let even = ((w + 3.0 * send_quantum(self.pacing, self.mss) + 1.0) / 2.0).floor() * 2.0;
        even + if self.mode == Mode::ProbeBw && self.phase == 0 { 2.0 } else { 0.0 }
    }

    fn seen(&self, now: u64, losses: bool, app_limited: bool) -> Seen {
        let delivered = self.delivered as f64 / self.mss;
        Seen { now, delivered, lost: self.lost, losses, app_limited, round: self.rounds.started }
    }

    /// (1), rounds and the policer.
    fn update_bw(&mut self, ack: &Ack) {
        self.rounds.started = false;
        let Some(sample) = ack.delivery_rate else { return };
        self.rounds.step(sample.prior_delivered.0, ack.delivered.0);
        self.repair.conserving &= !self.rounds.started;
        let app_limited = sample.app_limited || self.probe.covers(sample.prior_delivered.0);
        if self.options.policer {
            let seen = self.seen(ack.now.0, ack.lost.0 > 0, app_limited);
            if self.policer.update(&seen, self.mode == Mode::ProbeBw, self.mss) {
                self.probe_bw(ack.now.0);
            }
        }
        let bw = sample.delivered.0 as f64 / self.mss / sample.interval.as_secs();
        if !app_limited || bw >= self.bw.get() {
            self.bw.update(BW_ROUNDS, self.rounds.count, bw);
        }
        if self.options.aggregation {
            let bw = self.rate();
            self.aggregation.update(ack, self.rounds.started, AGGREGATION_ROUNDS, bw, self.w);
        }
        if self.rounds.started && !self.full.reached && !app_limited {
            self.full.step(self.bw.get()); // (6)
        }
    }

    /// (8).
    fn probe_bw(&mut self, now: u64) {
        self.mode = Mode::ProbeBw;
        self.phase = PHASES - 1 - self.chance.below(PHASES as u64 - 1) as usize;
        self.advance(now);
    }

    fn advance(&mut self, now: u64) {
        self.phase = (self.phase + 1) % PHASES;
        self.phase_at = now;
    }

    fn in_network(&self, now: u64, in_flight: f64) -> f64 {
        let ahead = if self.pacing_gain > 1.0 { send_quantum(self.pacing, self.mss) } else { 0.0 };
        self.departures.in_flight(now, in_flight, self.rate(), ahead)
    }

    /// Whether the phase of the cycle is over.
    fn phase_done(&self, ack: &Ack) -> bool {
        let full = ack.now.0.saturating_sub(self.phase_at) > self.min_rtt;
        if self.pacing_gain == 1.0 {
            return full;
        }
        let in_flight = self.in_network(ack.now.0, ack.prior_in_flight.0 as f64 / self.mss);
        let bw = self.bw.get();
        if self.pacing_gain > 1.0 {
            // Long enough to fill what the gain asks for, unless losses tell that it does not fit.
            return full && (ack.lost.0 > 0 || in_flight >= self.quantised(self.bdp(bw, self.pacing_gain)));
        }
        full || in_flight <= self.quantised(self.bdp(bw, 1.0))
    }

    fn update_mode(&mut self, ack: &Ack) {
        let now = ack.now.0;
        if self.mode == Mode::ProbeBw && self.phase_done(ack) {
            self.advance(now);
        }
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            self.ssthresh = self.quantised(self.bdp(self.bw.get(), 1.0));
            ack.note.set(Some(Note {
                what: "slow-start-exit",
                reason: "full-pipe",
                cwnd_segments: self.w,
                pipe_segments: self.bdp(self.bw.get(), 1.0),
            }));
        }
        if self.mode == Mode::Drain {
            let in_flight = self.in_network(now, ack.in_flight.0 as f64 / self.mss);
            if in_flight <= self.quantised(self.bdp(self.bw.get(), 1.0)) {
                self.probe_bw(now); // (7)
            }
        }
        self.update_min_rtt(ack);
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate.is_some() => (1.0, self.options.cwnd_gain),
            Mode::ProbeBw => {
                let gain = match self.phase {
                    0 => self.options.probe_gain,
                    1 => 2.0 - self.options.probe_gain,
                    _ => 1.0,
                };
                (gain, self.options.cwnd_gain)
            }
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// (2) and (9).
    fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.now.0;
        let expired = now > self.min_rtt_at + self.options.min_rtt_window;
        if let Some(rtt) = ack.rtt {
            if rtt.0 < self.min_rtt || expired {
                (self.min_rtt, self.min_rtt_at) = (rtt.0, now);
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.repair.save(self.w, false);
            self.mode = Mode::ProbeRtt;
            self.probe.enter(ack.delivered.0);
            let what = Note { what: "probe-rtt", reason: "age", cwnd_segments: self.w, pipe_segments: f64::NAN };
            ack.note.set(Some(what));
        }
        if self.mode == Mode::ProbeRtt && self.probe.step(ack, MIN_WINDOW, &mut self.rounds) {
            self.end_probe_rtt(now);
        }
        if ack.delivery_rate.is_some() {
            self.idle_restart = false;
        }
    }

    fn end_probe_rtt(&mut self, now: u64) {
        self.min_rtt_at = now;
        self.w = self.w.max(self.repair.prior);
        self.mode = Mode::Startup;
        if self.full.reached {
            self.probe_bw(now);
        }
    }

    /// (5) and (10).
    fn set_window(&mut self, ack: &Ack) {
        let acked = ack.acked.0 as f64 / self.mss;
        let in_flight = ack.in_flight.0 as f64 / self.mss;
        let mut w = self.w;
        if self.options.conserve {
            let (kept, entered) = self.repair.step(w, ack.lost.0 as f64 / self.mss, acked, in_flight);
            w = kept;
            if entered {
                self.rounds.restart(ack.delivered.0);
            }
        }
        if self.repair.conserving {
            w = w.max(in_flight + acked);
        } else {
            let bw = self.rate();
            let mut target = self.bdp(bw, self.cwnd_gain);
            if self.options.aggregation && self.full.reached {
                target += self.aggregation.extra().min(over(bw, AGGREGATION_NS).floor());
            }
            target = self.quantised(target);
            if self.full.reached {
                w = (w + acked).min(target);
            } else if w < target || (self.delivered as f64) < self.initial * self.mss {
                w += acked;
            }
            w = w.max(MIN_WINDOW);
        }
        self.w = if self.mode == Mode::ProbeRtt { w.min(MIN_WINDOW) } else { w };
    }
}

impl CongestionControl for Bbr1 {
    fn on_ack(&mut self, ack: &Ack) {
        self.delivered = ack.delivered.0;
        self.lost += ack.lost.0 as f64 / self.mss;
        self.update_bw(ack);
        self.update_mode(ack);
        if !self.seen_rtt && ack.srtt.0 > 0 {
            self.seen_rtt = true;
            self.pace_by_rtt(ack.srtt.0);
        }
        self.pace(self.pacing_gain);
        self.set_window(ack);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.repair.save(self.w, self.mode == Mode::ProbeRtt);
        self.repair.now |= event.cause != Cause::Ecn;
        if event.restart {
            self.w = 1.0;
            self.repair.before = true;
            self.full.forget();
            self.rounds.started = true;
            if self.options.policer {
                let seen = self.seen(event.now.0, true, false);
                self.policer.update(&seen, false, self.mss);
            }
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.w * self.mss) as u64)
    }

    fn on_sent(&mut self, sent: &Sent) {
        // Nothing was in flight and the sender had been short of data: it comes back from idleness.
        if sent.app_limited && !sent.retransmission && sent.in_flight == sent.size {
            self.idle_restart = true;
            self.aggregation.restart(sent.now.0);
            match self.mode {
                Mode::ProbeBw => self.pace(1.0),
                Mode::ProbeRtt if self.probe.is_over(sent.now.0) => self.end_probe_rtt(sent.now.0),
                _ => {}
            }
        }
        self.departures.sent(sent, self.pacing);
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Established => {
                self.min_rtt_at = window.now.0;
                self.aggregation.restart(window.now.0);
                self.phase_at = window.now.0;
                if let Some(rtt) = window.rtt {
                    self.seen_rtt = true;
                    self.min_rtt = rtt.0;
                    self.pace_by_rtt(rtt.0.max(1000));
                }
            }
            Change::Undo => {
                self.full.forget();
                let seen = self.seen(window.now.0, false, false);
                self.policer.reset(&seen);
                self.repair.now = false;
            }
            Change::Recovered => self.repair.now = false,
            Change::Idle => {} // (5) and pacing see to it
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate((self.pacing as u64).max(1)))
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        if self.ssthresh.is_finite() {
            put("ssthresh_segments", self.ssthresh);
        }
        put("bw_segments_per_s", self.rate());
        put("min_rtt_s", self.min_rtt as f64 * 1e-9);
        put("pacing_gain", self.pacing_gain);
        put("cwnd_gain", self.cwnd_gain);
    }
}
