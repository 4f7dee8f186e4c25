//! quiche's BBR version 2 as a congestion control. Numbers in parentheses are the equations of
//! [`crate::whole::bbr2_quiche`]; functions in parentheses are those of quiche 0.30.0, src/recovery/gcongestion/bbr2.rs.

use cwndlab_control::{
    Ack, Change, Congestion, CongestionControl, Event, EventKind, Extra, Path, Reason, Sent, Ssthresh, State, Window,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::shared::bbr::Mode;
use crate::shared::deliveries::ReportedLosses;
use crate::whole::bbr2_quiche::cycle::Cycle;
use crate::whole::bbr2_quiche::model::{AckEvent, Model, INITIAL_RTT};
use crate::whole::bbr2_quiche::options::Options;
use crate::whole::bbr3::cycle::Phase;

/// The pacing gain before the first sample of the RTT (`initial_pacing_rate`).
const INITIAL_GAIN: f64 = 2.885;
/// (4): the pacing gain of Startup; the window in Startup and Drain, as a multiple of the BDP.
const STARTUP_GAIN: f64 = 2.773;
pub(super) const STARTUP_CWND_GAIN: f64 = 2.0;
/// The largest window, segments (`MAX_WINDOW_PACKETS`).
const MAX_WINDOW: f64 = 20_000.0;

/// BBR version 2 of quiche. Amounts in bytes, rates in bytes/s.
#[derive(Clone, Debug)]
pub struct Bbr2 {
    pub(super) options: Options,
    mss: f64,
    /// The initial window, which is the smallest one as well.
    initial: f64,
    pub(super) w: f64,
    pub(super) pacing: f64,
    pub(super) mode: Mode,
    pub(super) pacing_gain: f64,
    pub(super) cwnd_gain: f64,
    pub(super) model: Model,
    pub(super) cycle: Cycle,
    /// Losses ended Startup.
    pub(super) is_lossy: bool,
    /// The end of ProbeRTT.
    pub(super) probe_until: Option<Time>,
    pub(super) delivered: u64,
    in_flight: f64,
    /// Nothing is in flight since then.
    quiet_since: Option<Time>,
    losses: ReportedLosses,
}

impl Bbr2 {
    /// The state at the start of a flow.
    #[must_use]
    pub fn new(path: &Path, options: Options) -> Self {
        let initial = path.initial_cwnd.0 as f64;
        Self {
            options,
            mss: path.mss.0 as f64,
            initial,
            w: initial,
            pacing: INITIAL_GAIN * initial / INITIAL_RTT.as_secs(),
            mode: Mode::Startup,
            pacing_gain: STARTUP_GAIN,
            cwnd_gain: STARTUP_CWND_GAIN,
            model: Model::default(),
            cycle: Cycle::default(),
            is_lossy: false,
            probe_until: None,
            delivered: 0,
            in_flight: 0.0,
            quiet_since: None,
            losses: ReportedLosses::default(),
        }
    }

    /// `target_bytes_inflight`.
    pub(super) fn target(&self) -> f64 {
        self.model.bdp(self.model.bw(), 1.0).min(self.w)
    }

    /// (3) (`update_pacing_rate`).
    fn pace(&mut self, acked: f64) {
        let bw = self.model.bw();
        if bw <= 0.0 {
            return;
        }
        if self.delivered as f64 <= acked {
            self.pacing = self.w / self.model.min_rtt.0.as_secs(); // after the first ACK
        } else if self.model.full.reached {
            self.pacing = self.pacing_gain * bw;
        } else {
            self.pacing = self.pacing.max(self.pacing_gain * bw);
        }
    }

    /// `get_target_congestion_window`, and ACK aggregation where the pipe is full.
    pub(super) fn target_window(&self) -> f64 {
        let extra = if self.model.full.reached { self.model.heights.get() } else { 0.0 };
        self.model.bdp(self.model.bw(), self.cwnd_gain).max(self.initial) + extra
    }

    /// (10) (`update_congestion_window`, `get_cwnd_limits`).
    fn set_window(&mut self, acked: f64) {
        let target = self.target_window();
        if self.model.full.reached {
            self.w = target.min(self.w + acked);
        } else if self.w < target || self.w < 2.0 * self.initial {
            self.w += acked;
        }
        let headroom = self.model.with_headroom(self.options.headroom);
        let high = match (self.mode, self.cycle.phase) {
            (Mode::Startup | Mode::Drain, _) => f64::INFINITY,
            (Mode::ProbeRtt, _) => headroom.min(self.probe_window()),
            (Mode::ProbeBw, Some(Phase::Cruise)) => headroom,
            (Mode::ProbeBw, _) => self.model.bounds.inflight_long,
        };
        let limit = high.min(self.model.bounds.inflight_short);
        self.w = self.w.min(limit).max(self.initial).min(MAX_WINDOW * self.mss);
    }

    /// The change of mode as an event.
    fn event(&self, before: Mode, event: &AckEvent) -> Option<Event> {
        let segments = |bytes: f64| bytes / self.mss;
        if before == Mode::Startup && self.mode != before {
            let reason = if self.is_lossy { Reason::Loss } else { Reason::FullPipe };
            let exit = Event::new(EventKind::SlowStartExit, reason, segments(event.w));
            return Some(exit.against(segments(self.model.max_bdp())));
        }
        let probes = before != Mode::ProbeRtt && self.mode == Mode::ProbeRtt;
        probes.then(|| Event::new(EventKind::ProbeRtt, Reason::Age, segments(event.w)))
    }

    /// Data is sent while nothing was in flight (`on_exit_quiescence`).
    fn end_quiet(&mut self, now: Time) {
        let Some(since) = self.quiet_since.take() else { return };
        match self.mode {
            Mode::ProbeBw => self.model.min_rtt.1 += now.saturating_since(since),
            Mode::ProbeRtt if self.probe_until.is_none_or(|until| now > until) => self.enter_probe_bw(now),
            _ => {}
        }
    }

    fn named_values(&self, put: Extra<'_>) {
        let (model, segments) = (&self.model, |bytes: f64| bytes / self.mss);
        let state = match (self.mode, self.cycle.phase) {
            (Mode::Startup, _) => 0.0,
            (Mode::Drain, _) => 1.0,
            (Mode::ProbeBw, phase) => 2.0 + f64::from(phase.unwrap_or(Phase::Down) as u8),
            (Mode::ProbeRtt, _) => 6.0,
        };
        put("state", state);
        put("round_count", model.rounds.count as f64);
        put("pacing_gain", self.pacing_gain);
        put("cwnd_gain", self.cwnd_gain);
        put("bw_segments_per_s", segments(model.bw()));
        put("max_bw_segments_per_s", segments(model.max_bw.get()));
        put("min_rtt_s", model.min_rtt.0.as_secs());
        put("max_ack_height_segments", segments(model.heights.get()));
        put("target_cwnd_segments", segments(self.target_window()));
        put("inflight_segments", segments(self.in_flight));
        put("inflight_hi_segments", segments(model.bounds.inflight_long));
        put("inflight_lo_segments", segments(model.bounds.inflight_short));
        put("bw_lo_segments_per_s", segments(model.bounds.bw_short));
        put("loss_events_in_round", f64::from(model.round.loss_events));
        put("rounds_with_queue", f64::from(model.full.queue_rounds));
    }
}

impl CongestionControl for Bbr2 {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        let lost = self.losses.take(ack);
        (self.delivered, self.in_flight) = (ack.delivered.0, ack.in_flight.0 as f64);
        let (before, probing) = (self.mode, self.is_probing());
        let event = self.model.on_ack(ack, lost, self.w, probing, self.options.beta);
        self.run(&event);
        self.pace(event.acked);
        self.set_window(event.acked);
        self.model.end_ack(&event);
        if self.in_flight <= 0.0 {
            self.quiet_since = Some(ack.now);
        }
        self.event(before, &event)
    }

    /// Neither a loss nor a timeout changes the window at once.
    fn on_congestion(&mut self, event: &Congestion) {
        self.losses.note(event);
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.w as u64)
    }

    fn on_sent(&mut self, sent: &Sent) {
        if sent.in_flight == sent.size {
            self.end_quiet(sent.now);
        }
        self.model.on_sent(sent);
    }

    fn on_window(&mut self, window: &Window) {
        if let (Change::Established, Some(rtt)) = (window.change, window.rtt) {
            self.model.on_rtt(rtt.max(Duration::from_nanos(1)), window.now);
            self.pacing = self.w / self.model.min_rtt.0.as_secs();
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
