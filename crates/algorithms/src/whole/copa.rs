//! Copa: delay-based control towards a target rate, with a mode for competition.
//!
//! Source: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018.
//!
//! ```text
//! dq  = RTTstanding − RTTmin                      (1)   minima over srtt/2 and over 10 s
//! λ_t = 1 / (δ dq), λ = w / RTTstanding           (2)
//! each ack: w += v n / (δ w) if λ ≤ λ_t, else w −= v n / (δ w)      (3)
//! once per window: v doubles from the fourth window in one direction on, v = 1 at a change of direction  (4)
//! slow start: w += n until λ > λ_t                (5)
//! competitive mode, where dq > max(0.1 (RTTmax − RTTmin), grain) for 5 RTTs (RTTmax over 4 RTTs):
//!   1/δ += 1 per RTT without loss, 1/δ /= 2 per RTT with a loss; δ ≤ its default   (6)
//! pacing = 2 w / RTTstanding                      (7)
//! ```
//!
//! Units: w and n in segments, times in ns, λ in segments/s.
//! Differs from the source: the grain, the time of two segments at the maximum delivery rate of 10 s; the 5 RTTs of (6)
//! count from the first increase after slow start; v is at most δ w, with which w doubles per round trip; w increases
//! only while it limits the flow; a timeout sets w = 1 and restarts (5).

pub mod delays;

use cwndlab_control::{
    options, Ack, Build, Change, Confidence, Congestion, CongestionControl, Event, EventKind, Extra, Kind, Need, Path,
    Phase, Reason, Spec, Ssthresh, State, Window,
};
use cwndlab_units::{Bytes, Rate};

use crate::congestion_avoidance::reno::segments;
use crate::shared::margin::above;
use crate::whole::copa::delays::Delays;

options! {
    struct Options {
        /// δ, weight of delay against throughput: in equilibrium about 1/delta segments of each flow are queued
        delta: f64 = 0.5 in 0.004..=10.0,
        /// dq from the standing RTT (the paper), or from the last sample (one large deployment)
        delay: Delay { Standing = "standing", Last = "last" } = Standing,
        /// switch: competitive mode where the queue does not empty (the paper); default: never (one large deployment)
        mode: Mode { Switch = "switch", Default = "default" } = Switch,
        /// queue that counts as empty, since a delayed ACK covers two segments; with 0, the paper, a flow's own bursts
        /// on a slow link cause the competitive mode
        grain: f64["segments"] = 2.0 in 0.0..=100.0,
        /// v becomes 1 with the first ACK against its direction (ack: one large deployment), or at the end of the
        /// window (window: the paper), which overshoots in proportion to v
        turn: Turn { Ack = "ack", Window = "window" } = Ack,
        /// response of the default mode to a loss: none (ignore: the paper), or half of the window
        loss: Loss { Ignore = "ignore", Halve = "halve" } = Ignore,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "copa",
    title: "Copa",
    kind: Kind::Whole,
    source: "Arun, Balakrishnan, NSDI 2018",
    year: 2018,
    confidence: Confidence::High,
    summary: "Controls the rate towards the target 1/(δ dq), where dq is the queueing delay. In equilibrium each flow has about 1/δ segments in the queue. Where other flows fill the queue a competitive mode decreases δ.",
    parameters: Options::PARAMETERS,
    choices: &[
        "dq = 0 gives an infinite target rate",
        "the minimum window is two segments, one after a timeout",
        "RTTmin is that of data; the small packets of the handshake do not count",
        "windows are compared once per round of the transport",
    ],
    pitfalls: &[
        "a minimum RTT that was measured with a standing queue includes that queue",
        "ACK compression or jitter above the queueing delay leads to a rate that is too low",
    ],
    companion: "",
    needs: &[Need::Pacing, Need::Spacing, Need::EveryAck],
    incompatible: &[],
    model_based: true,
    build: Build::Whole(|path, arguments| Box::new(Copa::new(path, arguments.into()))),
};

/// Number of windows in one direction before v doubles.
const DIRECTION_WINDOWS: u32 = 3;
/// The queue counts as nearly empty below this fraction of RTTmax − RTTmin.
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips without a nearly empty queue before the competitive mode, and the window of RTTmax in round trips.
const FULL_ROUNDS: u64 = 5;
const MAX_ROUNDS: u64 = 4;

/// The state that a congestion event changes.
#[derive(Clone, Copy, Debug)]
struct WindowState {
    w: f64,
    velocity: f64,
    /// 1/δ of the current mode.
    inverse: f64,
    slow_start: bool,
}

/// Congestion control of Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    options: Options,
    mss: f64,
    window: WindowState,
    /// 1/δ of the default mode.
    default: f64,
    delays: Delays,
    round: u64,
    up: bool,
    /// Consecutive windows in the same direction.
    same: u32,
    /// The window one round before, segments.
    last_w: f64,
    /// Time of the last nearly empty queue, ns.
    emptied: u64,
    competing: bool,
    /// The window has increased since slow start, whose own queue has therefore drained.
    settled: bool,
    lost: bool,
}

impl Copa {
    fn new(path: &Path, options: Options) -> Self {
        let mss = path.mss.0 as f64;
        let default = 1.0 / options.delta;
        let w = (path.initial_cwnd.0 as f64 / mss).max(1.0);
        let window = WindowState { w, velocity: 1.0, inverse: default, slow_start: true };
        Self {
            mss,
            window,
            default,
            options,
            delays: Delays::default(),
            round: 0,
            up: true,
            same: 0,
            last_w: w,
            emptied: 0,
            competing: false,
            settled: false,
            lost: false,
        }
    }

    /// (6): selects the mode and updates δ. Returns the event of a change of mode.
    fn switch_mode(&mut self, ack: &Ack, queueing: f64, window_over: bool) -> Option<Event> {
        let mut event = None;
        self.lost |= ack.lost.0 > 0;
        // A delay within the segments that one ACK covers does not indicate a queue.
        let empty = self.delays.time_of(self.options.grain * self.mss).max(NEARLY_EMPTY * self.delays.range());
        if !above(queueing, empty) || !self.settled {
            self.emptied = ack.now.as_nanos(); // with a rounding margin: standing queues are whole packets
        }
        let full = ack.now.as_nanos().saturating_sub(self.emptied) > FULL_ROUNDS * ack.srtt.as_nanos();
        if full != self.competing {
            self.competing = full;
            self.window.inverse = self.default;
            let reason = if full { Reason::Compete } else { Reason::Default };
            event = Some(Event::new(EventKind::ModeSwitch, reason, self.window.w));
        } else if full && window_over {
            let next = if self.lost { self.window.inverse / 2.0 } else { self.window.inverse + 1.0 };
            self.window.inverse = next.max(self.default);
        }
        if window_over {
            self.lost = false;
        }
        event
    }

    /// (4).
    fn update_velocity(&mut self) {
        let w = self.window.w;
        let up = above(w, self.last_w); // with a margin: a window that rose and fell by equal steps has not risen
        self.same = if up == self.up { self.same + 1 } else { 0 };
        self.up = up;
        if self.same == 0 {
            self.window.velocity = 1.0;
        } else if self.same >= DIRECTION_WINDOWS {
            // With v = δ w the window already doubles in a round trip.
            self.window.velocity = (2.0 * self.window.velocity).min((w / self.window.inverse).max(1.0));
        }
        self.last_w = w;
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        self.delays.update(ack, MAX_ROUNDS, self.options.delay == Delay::Last);
        if self.delays.min() == f64::INFINITY {
            return None;
        }
        let queueing = (self.delays.rtt - self.delays.min()).max(0.0); // (1)
        let window_over = ack.round > self.round;
        self.round = ack.round;
        let mut event =
            if self.options.mode == Mode::Switch { self.switch_mode(ack, queueing, window_over) } else { None };
        let n = segments(ack);
        let WindowState { w, inverse, slow_start, .. } = self.window;
        let below = queueing <= 0.0 || w / self.delays.rtt <= inverse / queueing; // (2); w moves on with every ACK
        if slow_start {
            if below {
                self.window.w += if ack.cwnd_limited { n } else { 0.0 }; // (5)
                self.last_w = self.window.w;
                return event;
            }
            self.window.slow_start = false;
            event = Some(Event::new(EventKind::SlowStartExit, Reason::Delay, w));
        }
        self.settled |= below;
        if window_over {
            self.update_velocity();
        }
        if self.options.turn == Turn::Ack && below != self.up && self.window.velocity > 1.0 {
            (self.window.velocity, self.same, self.up) = (1.0, 0, below);
            self.last_w = w;
        }
        // (3)
        let step = (self.window.velocity * n * inverse / w).min(n);
        if !below {
            self.window.w = (w - step).max(2.0);
        } else if ack.cwnd_limited {
            self.window.w = w + step;
        }
        event
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.restart {
            self.window = WindowState { w: 1.0, velocity: 1.0, slow_start: true, ..self.window };
            self.settled = false;
            self.same = 0;
        } else if self.options.loss == Loss::Halve && !self.competing {
            self.window.w = (self.window.w / 2.0).max(2.0);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.window.w * self.mss) as u64)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Established => {
                self.window.w = self.window.w.min(window.cwnd.0 as f64 / self.mss);
                self.emptied = window.now.as_nanos();
                // For pacing only: the small packets of the handshake give no sample.
                self.delays.rtt = window.rtt.map_or(0.0, |rtt| rtt.as_nanos() as f64);
            }
            Change::Undo | Change::Idle | Change::Recovered => {}
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (self.delays.rtt > 0.0).then(|| Rate((2.0 * self.window.w * self.mss * 8e9 / self.delays.rtt) as u64))
    }

    /// Copa has no ssthresh: it is unlimited in slow start and equals the window afterwards.
    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra {
            put("delta", 1.0 / self.window.inverse);
            put("velocity", self.window.velocity);
            put("standing_rtt_s", self.delays.rtt * 1e-9);
            put("min_rtt_s", self.delays.min() * 1e-9);
        }
        if self.window.slow_start {
            State { ssthresh: Ssthresh::Unlimited, phase: Phase::SlowStart }
        } else {
            State { ssthresh: Ssthresh::At(self.cwnd()), phase: Phase::CongestionAvoidance }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, path, timeout, undo};
    use cwndlab_units::{Duration, Time};

    /// A flow after slow start with the window `w` and an RTTmin of 100 ms.
    fn copa(w: f64) -> Copa {
        let mut flow = Copa::new(&path(10), Options::default());
        let now = Time::from_nanos(0);
        let rtt = Some(Duration::from_millis(100));
        flow.on_window(&Window { change: Change::Established, now, rtt, ..undo() });
        let mut first = ack_at(Time::ZERO, 1);
        first.cwnd_limited = false;
        flow.on_ack(&first);
        flow.window = WindowState { w, slow_start: false, ..flow.window };
        flow.settled = true;
        flow
    }

    fn after(flow: &mut Copa, at_ms: u64, rtt_ms: u64) -> f64 {
        let mut ack = ack_at(Time::from_nanos(at_ms * 1_000_000), 1);
        ack.rtt = Some(Duration::from_millis(rtt_ms));
        ack.round = flow.round;
        flow.on_ack(&ack);
        flow.window.w
    }

    /// Reference values: dq = 10 ms and δ = 0.5 give λ_t = 200 segments/s, so 22 segments at 110 ms: below, w increases
    /// by 1/(δ w); above, it decreases by that.
    #[test]
    fn the_direction_changes_at_22_segments() {
        assert_eq!(after(&mut copa(21.9), 1000, 110), 21.9 + 2.0 / 21.9);
        assert_eq!(after(&mut copa(22.1), 1000, 110), 22.1 - 2.0 / 22.1);
    }

    /// The paper, section 2.1: v doubles after three windows in the same direction, and is 1 after a change.
    #[test]
    fn velocity_doubles_after_three_windows_in_one_direction() {
        let mut flow = copa(100.0);
        let mut velocities = Vec::new();
        for up in [true, true, true, true, true, false, false] {
            flow.window.w += if up { 1.0 } else { -3.0 };
            flow.update_velocity();
            velocities.push(flow.window.velocity);
        }
        assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 8.0, 1.0, 1.0]);
    }

    /// By hand: RTTs between 150 and 200 ms with a minimum of 100 ms for more than five RTTs: 1/δ increases by 1 per
    /// window from 2, a loss halves it, an empty queue ends the competitive mode.
    #[test]
    fn a_queue_that_never_empties_starts_the_competitive_mode() {
        let mut flow = copa(50.0);
        for n in 0..20 {
            flow.round -= u64::from(flow.round > 0);
            let mut ack = ack_at(Time::from_nanos(200_000_000 + n * 50_000_000), 1);
            ack.rtt = Some(Duration::from_millis(if n % 4 < 2 { 150 } else { 200 }));
            ack.round = n / 2;
            flow.on_ack(&ack);
        }
        assert!(flow.competing && flow.window.inverse > 3.0, "{:?}", flow.window);
        let high = flow.window.inverse;
        let mut ack = ack_at(Time::from_nanos(1_250_000_000), 1);
        ack.rtt = Some(Duration::from_millis(190));
        ack.lost = Bytes(1000);
        ack.round = 100;
        flow.on_ack(&ack);
        assert_eq!(flow.window.inverse, (high / 2.0).max(2.0));
        after(&mut flow, 1400, 101);
        assert!(!flow.competing);
        assert_eq!(flow.window.inverse, 2.0);
    }

    #[test]
    fn a_timeout_reduces_the_window_to_one_segment() {
        let mut flow = copa(40.0);
        flow.on_congestion(&timeout(40));
        assert_eq!(flow.cwnd(), Bytes(1000));
        flow.on_congestion(&Congestion { repeated: true, ..timeout(1) });
    }
}
