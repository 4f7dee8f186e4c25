//! Parts shared by the versions of BBR: rounds, the send quantum, ACK aggregation, random draws.

use cwndlab_control::{Ack, Phase};
use cwndlab_units::{random, Duration, Time};

use super::margin::{below, whole_up};

/// The send quantum in segments (Linux: `bbr_tso_segs_goal`): one segment below 1.2 Mbit/s, otherwise the data of about
/// a millisecond, at least two segments. `rate` in bit/s, `mss` in bytes.
#[inline]
#[must_use]
pub fn send_quantum(rate: f64, mss: f64) -> f64 {
    let floor = if rate < 1.2e6 { 1.0 } else { 2.0 };
    let bytes = (rate / 8.0 / 1024.0).min(65_216.0); // a super-segment of 64 kB less its headers
    ((bytes / mss) as u32 as f64).clamp(floor, 127.0)
}

/// Number of segments at `rate` segments/s in `span`.
#[inline]
#[must_use]
pub fn over(rate: f64, span: Duration) -> f64 {
    rate * span.as_nanos() as f64 * 1e-9
}

/// Number of whole segments at `rate` segments/s in `span`. A product that is whole in real numbers falls below in Linux,
/// whose rates are truncated; here its last bit would decide.
#[inline]
#[must_use]
pub fn whole_over(rate: f64, span: Duration) -> f64 {
    (whole_up(over(rate, span)) - 1.0).max(0.0)
}

/// The modes of BBR's state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubles the rate until the path is full.
    Startup,
    /// Drains the queue of Startup.
    Drain,
    /// Cycles around the measured bandwidth.
    ProbeBw,
    /// Lowers the window to measure the minimum round-trip time.
    ProbeRtt,
}

impl Mode {
    /// The corresponding phase of the contract.
    #[must_use]
    pub fn phase(self) -> Phase {
        match self {
            Self::Startup => Phase::Startup,
            Self::Drain => Phase::Drain,
            Self::ProbeBw => Phase::ProbeBw,
            Self::ProbeRtt => Phase::ProbeRtt,
        }
    }
}

/// Packet-timed rounds: a round ends when data sent after its start is delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// Number of rounds that have begun.
    pub count: u64,
    /// A round began with the last ACK.
    pub started: bool,
    next: u64,
}

impl Rounds {
    /// Adds a rate sample whose segment was sent when `prior` bytes were delivered; now `delivered` bytes are.
    #[inline]
    pub fn step(&mut self, prior: u64, delivered: u64) {
        self.started = prior >= self.next;
        if self.started {
            self.next = delivered;
            self.count += 1;
        }
    }

    /// Restarts the current round.
    pub fn restart(&mut self, delivered: u64) {
        self.next = delivered;
    }
}

/// ACK aggregation: the excess of acknowledged segments over the estimated bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aggregation {
    /// Maxima of the current and of the last window.
    maxima: [f64; 2],
    index: usize,
    rounds: u32,
    epoch_at: Time,
    epoch_acked: f64,
}

/// Linux: an epoch ends at this number of segments.
const EPOCH_LIMIT: f64 = 1_048_575.0;

impl Aggregation {
    /// The maximum excess, segments, of the last `window` to 2 `window` rounds (Linux, `bbr_update_ack_aggregation`).
    #[inline]
    #[must_use]
    pub fn extra(&self) -> f64 {
        self.maxima[0].max(self.maxima[1])
    }

    /// Starts a new epoch.
    pub fn restart(&mut self, now: Time) {
        self.epoch_at = now;
        self.epoch_acked = 0.0;
    }

    /// Adds an ACK with a rate sample; `round`: a round began; `window` in rounds, `bw` in segments/s, `w` the window
    /// in segments. Returns the excess at this ACK, segments.
    #[inline]
    pub fn update(&mut self, ack: &Ack, round: bool, window: u32, bw: f64, w: f64) -> f64 {
        if round {
            self.rounds += 1;
            if self.rounds >= window {
                self.rounds = 0;
                self.index ^= 1;
                self.maxima[self.index] = 0.0;
            }
        }
        let acked = ack.acked.0 as f64 / ack.mss.0 as f64;
        let mut expected = whole_over(bw, ack.now.saturating_since(self.epoch_at));
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_LIMIT {
            self.restart(ack.now);
            expected = 0.0;
        }
        self.epoch_acked += acked;
        let extra = (self.epoch_acked - expected).min(w);
        self.maxima[self.index] = self.maxima[self.index].max(extra);
        extra
    }
}

/// The random stream of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowRandom(u64);

impl FlowRandom {
    /// A stream from [`cwndlab_control::Path::seed`].
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A uniform draw from [0, n).
    pub fn below(&mut self, n: u64) -> u64 {
        random::below(random::splitmix(&mut self.0), n)
    }
}

/// Detection of a full pipe: three rounds without growth of the bandwidth by a quarter (Linux: `full_bw`).
#[derive(Clone, Copy, Debug, Default)]
pub struct FullPipe {
    bw: f64,
    /// Rounds without growth (Linux: `full_bw_cnt`).
    pub rounds: u32,
    /// The pipe is full.
    pub reached: bool,
}

impl FullPipe {
    /// Adds the bandwidth at the start of a round that is not application-limited.
    pub fn step(&mut self, bw: f64) {
        if !below(bw, self.bw * 1.25) {
            self.bw = bw;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= 3;
    }

    /// Restarts the count; a full pipe remains full.
    pub fn restart(&mut self) {
        self.bw = 0.0;
        self.rounds = 0;
    }
}

/// The window in recovery: packet conservation in the first round, and the window before the recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoveryState {
    /// The flow is in recovery.
    pub active: bool,
    /// The flow was in recovery at the last ACK.
    pub was_active: bool,
    /// Packet conservation: one segment is sent for each that is delivered.
    pub conserving: bool,
    /// The window before the recovery or ProbeRTT (Linux: `prior_cwnd`).
    pub prior: f64,
}

impl RecoveryState {
    /// Saves the window before a recovery or ProbeRTT reduces it; `reduced`: it is reduced already.
    pub fn save(&mut self, w: f64, reduced: bool) {
        self.prior = if reduced || self.was_active { self.prior.max(w) } else { w };
    }

    /// The window after an ACK, and whether this is the first of a recovery. `lost`, `acked`, `in_flight` in segments.
    #[inline]
    pub fn step(&mut self, w: f64, lost: f64, acked: f64, in_flight: f64) -> (f64, bool) {
        let entered = self.active && !self.was_active;
        let exited = self.was_active && !self.active;
        self.was_active = self.active;
        let mut w = (w - lost).max(1.0);
        if entered {
            self.conserving = true;
            w = in_flight + acked;
        } else if exited {
            self.conserving = false;
            w = w.max(self.prior);
        }
        (w, entered)
    }
}

/// The duration of ProbeRTT: 200 ms and a round with a small window.
#[derive(Clone, Copy, Debug)]
pub struct ProbeRtt {
    until: Option<Time>,
    round: bool,
    /// Segments sent between these amounts delivered, bytes, were sent with the small window.
    sent: (u64, u64),
    /// The time ends this much early.
    early: Duration,
}

/// Time with the small window.
const PROBE_RTT: Duration = Duration::from_millis(200);

impl Default for ProbeRtt {
    fn default() -> Self {
        Self { until: None, round: false, sent: (u64::MAX, 0), early: Duration::ZERO }
    }
}

impl ProbeRtt {
    /// A ProbeRTT whose time ends `early`, by the granularity of a timer.
    #[must_use]
    pub fn ending_early(early: Duration) -> Self {
        Self { early, ..Self::default() }
    }

    /// Starts ProbeRTT with `delivered` bytes delivered.
    pub fn enter(&mut self, delivered: u64) {
        self.until = None;
        self.sent.0 = delivered;
    }

    /// Whether a segment sent when `prior` bytes were delivered was limited by the small window, not by the path.
    #[inline]
    #[must_use]
    pub fn covers(&self, prior: u64) -> bool {
        self.sent.0 <= prior && prior <= self.sent.1
    }

    /// Adds an ACK; `small` is the window in segments. Returns whether time and round have ended.
    pub fn step(&mut self, ack: &Ack, small: f64, rounds: &mut Rounds) -> bool {
        self.sent.1 = ack.delivered.0 + ack.in_flight.0;
        if self.until.is_some() {
            self.round |= rounds.started;
            return self.round && self.is_over(ack.now);
        }
        if ack.in_flight.0 as f64 <= small * ack.mss.0 as f64 {
            self.until = Some(ack.now + PROBE_RTT);
            self.round = false;
            rounds.restart(ack.delivered.0);
        }
        false
    }

    /// The time has ended.
    #[must_use]
    pub fn is_over(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now + self.early > until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux, by hand: 10 Mbit/s are 1220 bytes in 1/1024 s, so two segments; 200 Mbit/s 24,414 bytes, 16 of 1448.
    #[test]
    fn the_send_quantum_is_a_millisecond_of_the_rate() {
        assert_eq!([1e6, 1e7, 2e8, 1e10].map(|rate| send_quantum(rate, 1448.0)), [1.0, 2.0, 16.0, 45.0]);
    }

    #[test]
    fn the_pipe_is_full_after_three_rounds_without_growth_by_a_quarter() {
        let mut pipe = FullPipe::default();
        for (bw, reached) in [(10.0, false), (12.5, false), (15.0, false), (15.0, false), (15.6, true)] {
            pipe.step(bw);
            assert_eq!(pipe.reached, reached);
        }
    }

    #[test]
    fn random_draws_cover_their_range() {
        let mut random = FlowRandom::new(1);
        let drawn: std::collections::BTreeSet<u64> = (0..200).map(|_| random.below(7)).collect();
        assert_eq!(drawn, (0..7).collect());
    }
}
