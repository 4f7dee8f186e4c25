//! What the BBR family shares: rounds, the send quantum, the pacing timer's look ahead, ACK aggregation, chance.

use cwndlab_control::{Ack, Phase, Sent};
use cwndlab_units::{random, Duration, Time};

/// A segment's payload and a rate, both of one flow: Linux' `bbr_tso_segs_goal`. One segment below 1.2 Mbit/s, else two or
/// what leaves in a millisecond. `rate` in bit/s.
#[inline]
#[must_use]
pub fn send_quantum(rate: f64, mss: f64) -> f64 {
    let least = if rate < 1.2e6 { 1.0 } else { 2.0 };
    let bytes = (rate / 8.0 / 1024.0).min(65_216.0); // a super-segment of 64 kB less its headers
    ((bytes / mss) as u32 as f64).clamp(least, 127.0)
}

/// Segments per second and a duration: how many segments.
#[inline]
#[must_use]
pub fn over(rate: f64, span: Duration) -> f64 {
    rate * span.0 as f64 * 1e-9
}

/// The states of BBR's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubles the rate until the path is full.
    Startup,
    /// Drains the queue that Startup left.
    Drain,
    /// Cycles around the bandwidth that was measured.
    ProbeBw,
    /// Lowers the window to measure the smallest round-trip time.
    ProbeRtt,
}

impl Mode {
    /// The same as the contract's phase.
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

/// Packet-timed rounds: one ends when data is delivered that was sent after it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// How many have begun.
    pub count: u64,
    /// The last ACK began one.
    pub started: bool,
    next: u64,
}

impl Rounds {
    /// A rate sample whose segment was sent when `prior` bytes were delivered; now `delivered` are.
    #[inline]
    pub fn step(&mut self, prior: u64, delivered: u64) {
        self.started = prior >= self.next;
        if self.started {
            self.next = delivered;
            self.count += 1;
        }
    }

    /// The round that runs begins anew.
    pub fn restart(&mut self, delivered: u64) {
        self.next = delivered;
    }
}

/// When the pacing timer lets the next segment go (Linux: the earliest departure time).
#[derive(Clone, Copy, Debug, Default)]
pub struct Departures {
    next: Time,
}

impl Departures {
    /// A segment leaves at `rate` bit/s.
    #[inline]
    pub fn sent(&mut self, sent: &Sent, rate: f64) {
        let gap = sent.size.0 as f64 * 8e9 / rate;
        self.next = self.next.max(sent.now) + Duration(gap as u64);
    }

    /// What will be in flight when the next segment may leave, at a delivery of `bw` segments/s (Linux:
    /// `bbr_packets_in_net_at_edt`). `ahead`: the burst that then leaves, where the rate is meant to rise.
    #[inline]
    #[must_use]
    pub fn in_flight(&self, now: Time, in_flight: f64, bw: f64, ahead: f64) -> f64 {
        (in_flight + ahead - over(bw, self.next.saturating_since(now)).floor()).max(0.0)
    }
}

/// How much more than the estimated bandwidth ACKs bring at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aggregation {
    most: [f64; 2],
    index: usize,
    rounds: u32,
    epoch_at: Time,
    epoch_acked: f64,
}

/// Linux: an epoch is cut off at this many segments.
const EPOCH_LIMIT: f64 = 1_048_575.0;

impl Aggregation {
    /// The excess, segments: the largest of the last `window` to twice that many rounds.
    #[inline]
    #[must_use]
    pub fn extra(&self) -> f64 {
        self.most[0].max(self.most[1])
    }

    /// A new epoch begins.
    pub fn restart(&mut self, now: Time) {
        self.epoch_at = now;
        self.epoch_acked = 0.0;
    }

    /// An ACK with a rate sample of `acked` segments; `bw` in segments/s, `w` the window.
    #[inline]
    pub fn update(&mut self, ack: &Ack, round: bool, window: u32, bw: f64, w: f64) {
        if round {
            self.rounds += 1;
            if self.rounds > window {
                self.rounds = 0;
                self.index ^= 1;
                self.most[self.index] = 0.0;
            }
        }
        let acked = ack.acked.0 as f64 / ack.mss.0 as f64;
        let mut expected = over(bw, ack.now.saturating_since(self.epoch_at)).floor();
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_LIMIT {
            self.restart(ack.now);
            expected = 0.0;
        }
        self.epoch_acked += acked;
        let extra = (self.epoch_acked - expected).min(w);
        self.most[self.index] = self.most[self.index].max(extra);
    }
}

/// A flow's own chance.
#[derive(Clone, Copy, Debug)]
pub struct Chance(u64);

impl Chance {
    /// From [`cwndlab_control::Path::seed`].
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in [0, n).
    pub fn below(&mut self, n: u64) -> u64 {
        random::below(random::splitmix(&mut self.0), n)
    }
}

/// A growth that stalls tells that the pipe is full: three rounds without a quarter more (Linux' `full_bw`).
#[derive(Clone, Copy, Debug, Default)]
pub struct FullPipe {
    bw: f64,
    rounds: u32,
    /// It is full.
    pub reached: bool,
}

impl FullPipe {
    /// The bandwidth at the start of a round that was not short of data.
    pub fn step(&mut self, bw: f64) {
        if bw >= self.bw * 1.25 {
            self.bw = bw;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= 3;
    }

    /// Counts anew; what was found stays found.
    pub fn forget(&mut self) {
        self.bw = 0.0;
        self.rounds = 0;
    }
}

/// The window around a loss: packet conservation in the first round of a recovery, and what stood before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repair {
    /// A loss is being repaired.
    pub now: bool,
    /// It was at the last ACK.
    pub before: bool,
    /// Packets are conserved: one leaves for each that arrives.
    pub conserving: bool,
    /// The last window known to be good.
    pub prior: f64,
}

impl Repair {
    /// Remembers the window before a loss or ProbeRTT takes it away; `cut`: something has already.
    pub fn save(&mut self, w: f64, cut: bool) {
        self.prior = if cut || self.before { self.prior.max(w) } else { w };
    }

    /// The window after an ACK, and whether this is the first of a recovery. `lost`, `acked`, `in_flight` in segments.
    #[inline]
    pub fn step(&mut self, w: f64, lost: f64, acked: f64, in_flight: f64) -> (f64, bool) {
        let entered = self.now && !self.before;
        let left = self.before && !self.now;
        self.before = self.now;
        let mut w = (w - lost).max(1.0);
        if entered {
            self.conserving = true;
            w = in_flight + acked;
        } else if left {
            self.conserving = false;
            w = w.max(self.prior);
        }
        (w, entered)
    }
}

/// When the round-trip time is measured on an empty queue, and how long.
#[derive(Clone, Copy, Debug)]
pub struct ProbeRtt {
    until: Option<Time>,
    round: bool,
    /// What was sent between these deliveries was sent with the small window.
    sent: (u64, u64),
}

/// At most this little is in flight for this long.
const PROBE_RTT: Duration = Duration::from_millis(200);

impl Default for ProbeRtt {
    fn default() -> Self {
        Self { until: None, round: false, sent: (u64::MAX, 0) }
    }
}

impl ProbeRtt {
    /// It begins.
    pub fn enter(&mut self, delivered: u64) {
        self.until = None;
        self.sent.0 = delivered;
    }

    /// The sample of a segment that was sent when `prior` bytes were delivered shows the small window, not the path.
    #[inline]
    #[must_use]
    pub fn covers(&self, prior: u64) -> bool {
        self.sent.0 <= prior && prior <= self.sent.1
    }

    /// One ACK while it lasts; `small` is the window meant, in segments. Answers whether time and round are over.
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

    /// The time is over.
    #[must_use]
    pub fn is_over(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now > until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux by hand: 10 Mbit/s give 1220 bytes in 1/1024 s, so two segments; 200 Mbit/s 24,414 bytes, 16 of 1448.
    #[test]
    fn the_send_quantum_is_a_millisecond_of_the_rate() {
        assert_eq!([1e6, 1e7, 2e8, 1e10].map(|rate| send_quantum(rate, 1448.0)), [1.0, 2.0, 16.0, 45.0]);
    }

    #[test]
    fn a_pipe_is_full_after_three_rounds_without_a_quarter_more() {
        let mut pipe = FullPipe::default();
        for (bw, reached) in [(10.0, false), (12.5, false), (15.0, false), (15.0, false), (15.6, true)] {
            pipe.step(bw);
            assert_eq!(pipe.reached, reached);
        }
    }

    #[test]
    fn chance_covers_its_range() {
        let mut chance = Chance::new(1);
        let drawn: std::collections::BTreeSet<u64> = (0..200).map(|_| chance.below(7)).collect();
        assert_eq!(drawn, (0..7).collect());
    }
}
