//! BBR version 3's model of the path: bandwidth, round-trip time, bounds, and the plateau of the bandwidth. Numbers in
//! parentheses are the equations of [`crate::whole::bbr3`].

use cwndlab_control::{Ack, Path};
use cwndlab_units::{Duration, Time};

use crate::shared::bbr::{over, Aggregation, Rounds};
use crate::shared::margin::{below, whole_up};
use crate::whole::bbr3::bounds::{Bounds, History};
use crate::whole::bbr3::ecn::Ecn;
use cwndlab_units::windowed::WindowedMax;

/// (1): the maximum rate of this cycle of ProbeBW and of the one before, segments/s.
#[derive(Clone, Copy, Debug, Default)]
pub struct MaxBw {
    cycles: [f64; 2],
}

impl MaxBw {
    /// The maximum.
    #[inline]
    #[must_use]
    pub fn get(&self) -> f64 {
        self.cycles[0].max(self.cycles[1])
    }

    /// Adds a sample; an application-limited sample counts only above the maximum.
    #[inline]
    pub fn update(&mut self, bw: f64, app_limited: bool) {
        // With a rounding margin: a paced flow that is application-limited repeats its rate.
        if !app_limited || !below(bw, self.get()) {
            self.cycles[1] = self.cycles[1].max(bw);
        }
    }

    /// Starts a new cycle; a cycle without samples does not count.
    pub fn advance(&mut self) {
        if self.cycles[1] > 0.0 {
            self.cycles = [self.cycles[1], 0.0];
        }
    }
}

/// (2): the minimum RTT of a window, by default the last 10 s, and of the shorter window that determines the time of
/// ProbeRTT.
#[derive(Clone, Copy, Debug)]
pub struct MinRtt {
    value: Duration,
    at: Time,
    recent: Duration,
    recent_at: Time,
}

impl Default for MinRtt {
    fn default() -> Self {
        Self { value: Duration::MAX, at: Time::ZERO, recent: Duration::MAX, recent_at: Time::ZERO }
    }
}

impl MinRtt {
    /// The minimum.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<Duration> {
        (self.value < Duration::MAX).then_some(self.value)
    }

    /// The minimum of the shorter window and its time (`probe_rtt_min_delay`, `probe_rtt_min_stamp`).
    #[must_use]
    pub fn recent(&self) -> (Option<Duration>, Time) {
        ((self.recent < Duration::MAX).then_some(self.recent), self.recent_at)
    }

    /// Starts both windows at the end of the handshake.
    pub fn begin(&mut self, now: Time, rtt: Option<Duration>) {
        let value = rtt.unwrap_or(Duration::MAX);
        *self = Self { value, at: now, recent: value, recent_at: now };
    }

    /// Adds an ACK. Returns whether the recent minimum is older than `interval`; the other one is of the last `window`.
    #[inline]
    pub fn update(&mut self, ack: &Ack, interval: Duration, window: Duration) -> bool {
        let now = ack.now;
        let expired = now > self.recent_at + interval;
        if let Some(rtt) = ack.rtt {
            if rtt < self.recent || expired {
                (self.recent, self.recent_at) = (rtt, now);
            }
        }
        if self.recent <= self.value || now > self.at + window {
            (self.value, self.at) = (self.recent, self.recent_at);
        }
        expired
    }

    /// ProbeRTT has ended.
    pub fn probed(&mut self, now: Time) {
        self.recent_at = now;
    }
}

/// (4): the plateau of the bandwidth, three rounds without growth by a quarter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plateau {
    /// The bandwidth at the last growth, segments/s (`full_bw`).
    pub bw: f64,
    /// Rounds without growth since then (`full_bw_count`).
    pub rounds: u32,
    /// The bandwidth is at a plateau (the draft's `full_bw_now`).
    pub at_plateau: bool,
    /// The bandwidth has been at a plateau: the pipe was full (`full_bw_reached`).
    pub reached: bool,
}

impl Plateau {
    /// Restarts the count at `bw`.
    pub fn restart(&mut self, bw: f64) {
        (self.bw, self.rounds, self.at_plateau) = (bw, 0, false);
    }

    /// Adds a sample that is not application-limited; `round`: a round began.
    #[inline]
    pub fn step(&mut self, bw: f64, round: bool) {
        if self.at_plateau {
            return;
        }
        if !below(bw, 1.25 * self.bw) {
            self.restart(bw);
        } else if round {
            self.rounds += 1;
            self.at_plateau = self.rounds >= 3;
            self.reached |= self.at_plateau;
        }
    }
}

/// The draft's network path model, in segments and segments/s.
#[derive(Clone, Debug)]
pub struct PathModel {
    pub(super) mss: f64,
    /// The initial window.
    pub(super) initial: f64,
    pub(super) bw: MaxBw,
    pub(super) min_rtt: MinRtt,
    pub(super) rounds: Rounds,
    pub(super) full: Plateau,
    pub(super) aggregation: Aggregation,
    /// The draft's maximum excess of aggregated ACKs, segments.
    pub(super) extra_acked: WindowedMax<u64>,
    pub(super) bounds: Bounds,
    pub(super) ecn: Ecn,
    pub(super) loss_history: History,
}

impl PathModel {
    /// A model without samples.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let mss = path.mss.0 as f64;
        Self {
            mss,
            initial: path.initial_cwnd.0 as f64 / mss,
            bw: MaxBw::default(),
            min_rtt: MinRtt::default(),
            rounds: Rounds::default(),
            full: Plateau::default(),
            aggregation: Aggregation::default(),
            extra_acked: WindowedMax::new(0.0),
            bounds: Bounds::default(),
            ecn: Ecn::new(path),
            loss_history: History::default(),
        }
    }

    /// (1): the bandwidth of the model, segments/s.
    #[inline]
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.bw.get().min(self.bounds.bw_short)
    }

    /// Adds an ACK with a rate sample to the maximum excess of aggregated ACKs of `window` rounds; `w` in segments.
    #[inline]
    pub fn on_aggregation(&mut self, ack: &Ack, window: u64, w: f64) {
        let extra = self.aggregation.update(ack, self.rounds.started, window as u32, self.rate(), w);
        self.extra_acked.update(window, self.rounds.count, extra);
    }

    /// `bw` × minimum RTT × `gain` in whole segments; the initial window before the first RTT sample.
    #[inline]
    #[must_use]
    pub fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.get().map_or(self.initial, |rtt| whole_up(over(bw, rtt) * gain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;

    #[test]
    fn the_maximum_is_of_two_cycles() {
        let mut bw = MaxBw::default();
        bw.update(10.0, false);
        bw.update(12.0, true);
        bw.update(5.0, true);
        bw.advance();
        assert_eq!(bw.get(), 12.0);
        bw.update(8.0, false);
        bw.advance();
        bw.advance();
        assert_eq!(bw.get(), 8.0);
    }

    /// By hand: 100 ms at 1 s, 120 ms after that. The recent minimum expires after 5 s; the other after 10 s, or with a
    /// window of 5 s at the same time (issue 109 of the draft's repository).
    #[test]
    fn probe_rtt_is_due_after_five_seconds_and_the_minimum_expires_after_its_window() {
        for (window, expected) in [
            (10, [(false, 100), (true, 100), (false, 100), (false, 120)]),
            (5, [(false, 100), (true, 120), (false, 120), (false, 120)]),
        ] {
            let mut min = MinRtt::default();
            min.begin(Time::from_nanos(1_000_000_000), Some(Duration::from_millis(100)));
            let mut sample = |at_s: u64| {
                let mut ack = ack_at(Time::from_nanos(at_s * 1_000_000_000), 1);
                ack.rtt = Some(Duration::from_millis(120));
                let expired = min.update(&ack, Duration::from_secs(5), Duration::from_secs(window));
                (expired, min.get().unwrap().as_nanos() / 1_000_000)
            };
            assert_eq!([5, 7, 9, 12].map(&mut sample), expected);
        }
    }
}
