//! BBR version 1's model of the path. Numbers in parentheses are the equations of [`crate::whole::bbr1`].

use cwndlab_control::{Ack, Path};
use cwndlab_units::{Duration, Time};

use crate::shared::bbr::{over, whole_over, Aggregation, FullPipe, ProbeRtt, Rounds};
use crate::shared::margin::{below, whole_up};
use crate::whole::bbr1::policer::{Policer, PolicerSample};
use cwndlab_units::windowed::WindowedMax;

const BW_ROUNDS: u64 = 10;
const AGGREGATION_ROUNDS: u32 = 5;
/// Maximum addition to the window for ACK aggregation: 100 ms at the bandwidth.
const AGGREGATION: Duration = Duration::from_millis(100);

/// The parameters of the entry.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Window in ProbeBW, as a multiple of the BDP.
    pub cwnd_gain: f64,
    /// Pacing gain of the probing phase; that of the next phase is 2 minus this value.
    pub probe_gain: f64,
    /// Age of min_rtt at which ProbeRTT starts.
    pub min_rtt_window: Duration,
    /// The window includes the excess of aggregated ACKs.
    pub aggregation: bool,
    /// Policers are detected.
    pub policer: bool,
    /// Packet conservation in the first round of a recovery; otherwise losses are ignored.
    pub conserve: bool,
}

/// The model of the path.
#[derive(Clone, Debug)]
pub struct PathModel {
    pub(crate) options: Options,
    pub(crate) mss: f64,
    pub(crate) initial: f64,
    pub(crate) bw: WindowedMax<u64>,
    pub(crate) min_rtt: Duration,
    pub(crate) min_rtt_at: Time,
    pub(crate) rounds: Rounds,
    pub(crate) full: FullPipe,
    pub(crate) aggregation: Aggregation,
    pub(crate) policer: Policer,
    pub(crate) probe: ProbeRtt,
    lost: f64,
    delivered: u64,
}

impl PathModel {
    /// A model without samples.
    #[must_use]
    pub fn new(path: &Path, options: &Options) -> Self {
        let mss = path.mss.0 as f64;
        Self {
            options: *options,
            mss,
            initial: path.initial_cwnd.0 as f64 / mss,
            bw: WindowedMax::new(0.0),
            min_rtt: Duration::MAX,
            min_rtt_at: Time::ZERO,
            rounds: Rounds::default(),
            full: FullPipe::default(),
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            probe: ProbeRtt::default(),
            lost: 0.0,
            delivered: 0,
        }
    }

    /// The bandwidth of the model, segments/s: the rate of a policer while one is detected.
    #[inline]
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.policer.rate.unwrap_or_else(|| self.bw.get())
    }

    /// `bw` × min_rtt × `gain` in whole segments; the initial window before the first RTT sample.
    #[inline]
    #[must_use]
    pub fn bdp(&self, bw: f64, gain: f64) -> f64 {
        if self.min_rtt == Duration::MAX {
            return self.initial;
        }
        whole_up(over(bw, self.min_rtt) * gain)
    }

    /// Less than the initial window has been delivered.
    #[must_use]
    pub fn is_young(&self) -> bool {
        (self.delivered as f64) < self.initial * self.mss
    }

    /// The excess of aggregated ACKs over the bandwidth, segments.
    #[inline]
    #[must_use]
    pub fn extra(&self) -> f64 {
        if self.options.aggregation && self.full.reached {
            self.aggregation.extra().min(whole_over(self.rate(), AGGREGATION))
        } else {
            0.0
        }
    }

    fn seen(&self, now: Time, losses: bool, app_limited: bool) -> PolicerSample {
        let delivered = self.delivered as f64 / self.mss;
        PolicerSample { now, delivered, lost: self.lost, losses, app_limited, round: self.rounds.started }
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self, now: Time) {
        self.full.restart();
        self.rounds.started = true;
        if self.options.policer {
            let seen = self.seen(now, true, false);
            self.policer.update(&seen, false, self.mss);
        }
    }

    /// The last reduction was spurious.
    pub fn on_undo(&mut self, now: Time) {
        self.full.restart();
        let seen = self.seen(now, false, false);
        self.policer.reset(&seen);
    }

    /// Updates (1), rounds, policer and aggregation, with the window `w`; `cycling`: in ProbeBW. Returns whether the
    /// gain cycle restarts.
    pub fn update(&mut self, ack: &Ack, w: f64, cycling: bool) -> bool {
        self.delivered = ack.delivered.0;
        self.lost += ack.lost.0 as f64 / self.mss;
        self.rounds.started = false;
        let Some(sample) = ack.delivery_rate else { return false };
        self.rounds.step(sample.prior_delivered.0, ack.delivered.0);
        let app_limited = sample.app_limited || self.probe.covers(sample.prior_delivered.0);
        let mut restart = false;
        if self.options.policer {
            let seen = self.seen(ack.now, ack.lost.0 > 0, app_limited);
            restart = self.policer.update(&seen, cycling, self.mss);
        }
        let bw = sample.delivered.0 as f64 / self.mss / sample.interval.as_secs();
        // With a rounding margin: a paced flow that is application-limited repeats its rate.
        if !app_limited || !below(bw, self.bw.get()) {
            self.bw.update(BW_ROUNDS, self.rounds.count, bw);
        }
        if self.options.aggregation {
            let bw = self.rate();
            self.aggregation.update(ack, self.rounds.started, AGGREGATION_ROUNDS, bw, w);
        }
        if self.rounds.started && !self.full.reached && !app_limited {
            self.full.step(self.bw.get()); // (6)
        }
        restart
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::path;
    use proptest::prelude::*;

    proptest! {
        /// Linux, bbr_bdp: a rate of n segments per RTT has a BDP of n segments, not of n + 1 by rounding.
        #[test]
        fn the_bdp_of_whole_segments_is_that(n in 1u32..100_000, rtt in 1_000u64..1_000_000_000) {
            let options = Options {
                cwnd_gain: 2.0,
                probe_gain: 1.25,
                min_rtt_window: Duration::from_secs(10),
                aggregation: true,
                policer: true,
                conserve: true,
            };
            let mut model = PathModel::new(&path(10), &options);
            model.min_rtt = Duration::from_nanos(rtt);
            let bw = f64::from(n) / Duration::from_nanos(rtt).as_secs();
            prop_assert_eq!(model.bdp(bw, 1.0), f64::from(n));
        }
    }
}
