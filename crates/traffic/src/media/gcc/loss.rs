//! The rate by losses, version 2 (`loss_based_bwe_v2.cc`): the bandwidth with which the losses of the last observations are
//! most likely. Rates in kbit/s, sizes in kB.

use std::collections::VecDeque;

use cwndlab_units::{maths, Duration, Time};

use crate::media::rate_control::PacketFeedback;

/// Shortest observation, s; observations of the window, and those that it needs.
const OBSERVATION: f64 = 0.25;
const WINDOW: usize = 15;
const REQUIRED: usize = 3;
/// The observation with the most losses is not an outlier if its rate is this multiple of the median.
const MEDIAN_FACTOR: f64 = 2.0;
/// Weight of an observation over that of the next one.
const AGEING: f64 = 0.9;
/// Candidates, over the estimate.
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
/// Inherent loss: the first value, the smallest one, and its bound by the bandwidth.
const INHERENT: f64 = 0.01;
const LEAST_INHERENT: f64 = 0.001;
const INHERENT_BOUND: (f64, f64) = (0.05, 100.0);
const NEWTON_STEP: f64 = 0.75;
/// Preference of a higher bandwidth: its factors, and the loss from which it turns.
const BIAS: (f64, f64) = (0.0002, 0.02);
const BIAS_LOSS: (f64, f64) = (0.2, 0.002);
/// Growth in a state limited by losses, per window of 300 ms, s.
const RAMP_UP: f64 = 1.3;
const RAMP_UP_WINDOW: f64 = 0.3;
/// The smallest limit of a window of growth (`kCongestionControllerMinBitrate`).
const LEAST_LIMIT: f64 = 5.0;
/// Limits over the throughput, and that close to the held rate.
const THROUGHPUT_LIMIT: f64 = 1.5;
const HELD_LIMIT: (f64, f64) = (1.2, 1.3);
/// The instant limit: a rate over the loss beyond an offset.
const INSTANT: (f64, f64) = (100.0, 0.05);
/// The smallest increase after a reduction.
const LEAST_STEP: f64 = 0.001;
/// Time for which the state lasts after the last increase, s.
const INCREASING: f64 = 2.0;
/// Time for which a rate is held, s: the first, its growth, the longest.
const HOLD: (f64, f64, f64) = (0.3, 2.0, 60.0);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    DelayBased,
    Increasing,
    Decreasing,
}

/// Packets of a time: sizes that were lost and that arrived, and the rate of sending.
#[derive(Clone, Copy, Debug, Default)]
struct Observation {
    lost: f64,
    received: f64,
    rate: f64,
}

/// A bandwidth, and the share of losses that it does not explain.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    bandwidth: f64,
    inherent: f64,
}

/// The packets since the last observation, of which a report has news.
#[derive(Debug, Default)]
struct Partial {
    /// Size of all; of a packet that was missing and then arrived, twice.
    size: f64,
    /// Time of sending and size of those that are missing.
    lost: Vec<(Time, f64)>,
}

impl Partial {
    fn add(&mut self, packet: &PacketFeedback) {
        let one = (packet.sent, packet.size.0 as f64 / 1e3);
        self.size += one.1;
        if packet.arrival.is_none() {
            self.lost.push(one);
        } else if let Some(at) = self.lost.iter().position(|lost| *lost == one) {
            self.lost.swap_remove(at);
        }
    }
}

/// The estimator.
#[derive(Debug)]
pub(super) struct LossControl {
    range: (f64, f64),
    /// The last known throughput.
    acked: Option<f64>,
    /// The newest first, and the number of all.
    observations: VecDeque<Observation>,
    count: usize,
    partial: Partial,
    last_sent: Option<Time>,
    estimate: Option<Candidate>,
    state: State,
    /// The last result.
    result: f64,
    /// Start of the window of growth, and the largest estimate in it.
    window: Option<(Time, f64)>,
    hold: Hold,
    /// The time and the rate of the last increase.
    increase: Option<(Time, f64)>,
}

/// The rate that is held after a reduction.
#[derive(Clone, Copy, Debug)]
struct Hold {
    until: Option<Time>,
    rate: f64,
    duration: f64,
}

impl Hold {
    const NONE: Self = Self { until: None, rate: f64::INFINITY, duration: HOLD.0 };
}

fn seconds_between(from: Time, to: Time) -> f64 {
    to.saturating_since(from).as_nanos() as f64 / 1e9
}

/// The limit by the average loss of the window.
fn instant_limit(loss: f64) -> f64 {
    if loss > INSTANT.1 {
        INSTANT.0 / (loss - INSTANT.1)
    } else {
        f64::INFINITY
    }
}

impl Candidate {
    /// The probability of a loss at this rate.
    fn loss(&self, rate: f64) -> f64 {
        let excess = if rate > self.bandwidth { (rate - self.bandwidth) / rate } else { 0.0 };
        (self.inherent + (1.0 - self.inherent) * excess).clamp(1e-6, 1.0 - 1e-6)
    }

    fn bound_inherent(&mut self) {
        let most = (INHERENT_BOUND.0 + INHERENT_BOUND.1 / self.bandwidth).min(1.0);
        self.inherent = self.inherent.clamp(LEAST_INHERENT, most);
    }
}

/// A preference, which turns with the average loss.
fn adjusted(factor: f64, loss: f64) -> f64 {
    let distance = BIAS_LOSS.0 - loss;
    factor * distance / (BIAS_LOSS.1 + distance.abs())
}

impl LossControl {
    pub(super) fn new(range: (f64, f64)) -> Self {
        Self {
            range: (range.0 / 1e3, range.1 / 1e3),
            acked: None,
            observations: VecDeque::new(),
            count: 0,
            partial: Partial::default(),
            last_sent: None,
            estimate: None,
            state: State::DelayBased,
            result: f64::INFINITY,
            window: None,
            hold: Hold::NONE,
            increase: None,
        }
    }

    /// The target, bit/s, with that by the delay.
    pub(super) fn target(&self, by_delay: f64) -> f64 {
        if self.observations.len() < REQUIRED {
            return by_delay;
        }
        by_delay.min(self.result * 1e3)
    }

    /// Handles a report, with the throughput and whether the application limits it.
    pub(super) fn on_feedback(&mut self, packets: &[PacketFeedback], acked: Option<f64>, limited: bool, by_delay: f64) {
        self.acked = acked.map(|rate| rate / 1e3).or(self.acked);
        for one in packets {
            self.partial.add(one);
        }
        let sent = packets.iter().map(|one| one.sent);
        let (Some(first), Some(last)) = (sent.clone().min(), sent.max()) else { return };
        let seconds = seconds_between(*self.last_sent.get_or_insert(first), last);
        if seconds < OBSERVATION {
            return;
        }
        let Partial { size, lost } = std::mem::take(&mut self.partial);
        let lost = lost.iter().map(|one| one.1).sum::<f64>();
        self.last_sent = Some(last);
        self.observations.push_front(Observation { lost, received: size - lost, rate: 8.0 * size / seconds });
        self.observations.truncate(WINDOW);
        self.count += 1;
        self.estimate(limited, by_delay / 1e3, last);
    }

    fn weights(&self) -> impl Iterator<Item = (f64, &Observation)> {
        self.observations.iter().scan(1.0, |weight, one| {
            let current = *weight;
            *weight *= AGEING;
            Some((current, one))
        })
    }

    /// The weighted share of bytes lost, without the observations with the most and the fewest losses, unless the former is of a
    /// sudden rate. Of equal ones the first counts in the order in which `CalculateAverageReportedByteLossRatio` stores them.
    fn average_loss(&self) -> f64 {
        let mut stored: Vec<_> = self.weights().enumerate().collect();
        stored.sort_by_key(|&(age, _)| (self.count - 1 - age) % WINDOW);
        let (mut all, mut least, mut most) = ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0));
        let (mut least_share, mut most_share, mut rate_of_most) = (1.0, 0.0, 0.0);
        for (_, (weight, one)) in stored {
            let sizes = (weight * one.lost, weight * (one.lost + one.received));
            let share = one.lost / (one.lost + one.received).max(1e-9);
            all = (all.0 + sizes.0, all.1 + sizes.1);
            if self.observations.len() <= REQUIRED {
                continue;
            }
            if share > most_share {
                (most_share, most, rate_of_most) = (share, sizes, one.rate);
            }
            if share < least_share {
                (least_share, least) = (share, sizes);
            }
        }
        let kept = (all.0 - least.0 - most.0, all.1 - least.1 - most.1);
        if MEDIAN_FACTOR * self.median_rate() <= rate_of_most || kept.1 <= 1e-9 {
            return all.0 / all.1.max(1e-9);
        }
        (kept.0 / kept.1).max(0.0) // of rounding
    }

    fn median_rate(&self) -> f64 {
        let mut rates: Vec<f64> = self.observations.iter().map(|one| one.rate).filter(|&rate| rate > 0.0).collect();
        rates.sort_by(f64::total_cmp);
        let half = rates.len() / 2;
        match rates.len() {
            0 => 0.0,
            even if even % 2 == 0 => f64::midpoint(rates[half - 1], rates[half]),
            _ => rates[half],
        }
    }

    /// One step of Newton's method for the inherent loss.
    fn refine(&self, candidate: &mut Candidate) {
        candidate.bound_inherent();
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, one) in self.weights() {
            let probability = candidate.loss(one.rate);
            first += weight * (one.lost / probability - one.received / (1.0 - probability));
            second -= weight
                * (one.lost / (probability * probability) + one.received / ((1.0 - probability) * (1.0 - probability)));
        }
        if second != 0.0 {
            candidate.inherent -= NEWTON_STEP * first / second;
        }
        candidate.bound_inherent();
    }

    fn objective(&self, candidate: &Candidate, loss: f64) -> f64 {
        let kbps = candidate.bandwidth;
        let bias = adjusted(BIAS.0, loss) * kbps + adjusted(BIAS.1, loss) * maths::ln(1.0 + kbps);
        let likelihood = |(weight, one): (f64, &Observation)| {
            let probability = candidate.loss(one.rate);
            weight
                * (one.lost * maths::ln(probability)
                    + one.received * maths::ln(1.0 - probability)
                    + bias * (one.lost + one.received))
        };
        self.weights().map(likelihood).sum()
    }

    /// The largest candidate: in a state limited by losses that of the window of growth, which applies until the next window
    /// begins.
    fn candidate_limit(&self) -> f64 {
        self.window.filter(|_| self.state != State::DelayBased).map_or(self.range.1, |(_, limit)| limit)
    }

    /// The best candidate. While the application limits the throughput it is none: the padding of libwebrtc, for whose time it
    /// would be, is left out.
    fn best(&self, current: Candidate, limited: bool, by_delay: f64, loss: f64) -> Candidate {
        let mut bandwidths: Vec<f64> = CANDIDATES.iter().map(|factor| factor * current.bandwidth).collect();
        bandwidths.extend(self.acked.filter(|_| !limited));
        bandwidths.extend((by_delay > current.bandwidth).then_some(by_delay));
        let most = current.bandwidth.max(self.candidate_limit());
        let mut best = (f64::NEG_INFINITY, current);
        for bandwidth in bandwidths {
            let mut candidate = Candidate { bandwidth: bandwidth.min(most), ..current };
            self.refine(&mut candidate);
            let value = self.objective(&candidate, loss);
            if value > best.0 {
                best = (value, candidate);
            }
        }
        best.1
    }

    fn estimate(&mut self, limited: bool, by_delay: f64, now: Time) {
        let current = self.estimate.unwrap_or(Candidate { bandwidth: by_delay, inherent: INHERENT });
        let loss = self.average_loss();
        let mut best = self.best(current, limited, by_delay, loss);
        if loss > best.inherent {
            best.bandwidth = best.bandwidth.min(current.bandwidth); // (1)
        }
        if self.state != State::DelayBased {
            best.bandwidth = self.limit_growth(best.bandwidth, current.bandwidth, now);
        }
        let lower = self.range.0.max(self.acked.unwrap_or(0.0));
        let bounded = lower.max(best.bandwidth.min(instant_limit(loss)).min(by_delay)); // (4)
        best = if bounded < best.bandwidth {
            Candidate { bandwidth: bounded, inherent: 0.0 } // (5)
        } else {
            Candidate { bandwidth: best.bandwidth.max(lower), ..best }
        };
        self.estimate = Some(best);
        let holds = self.state == State::Decreasing && self.hold.until.is_some_and(|until| now < until);
        if holds && bounded < by_delay {
            self.hold.rate = self.hold.rate.max(lower);
            self.result = self.hold.rate.min(bounded); // (6)
            return;
        }
        self.change_state(bounded, by_delay, now);
        self.result = bounded;
        let is_over = self.window.is_none_or(|(since, _)| seconds_between(since, now) > RAMP_UP_WINDOW);
        if self.state != State::DelayBased && is_over {
            self.window = Some((now, LEAST_LIMIT.max(RAMP_UP * best.bandwidth)));
        }
    }

    /// The estimate as far as losses and the throughput permit growth.
    fn limit_growth(&self, bandwidth: f64, current: f64, now: Time) -> f64 {
        let window = self.window.filter(|&(since, _)| seconds_between(since, now) < RAMP_UP_WINDOW);
        let limited = window.map_or(bandwidth, |(_, limit)| bandwidth.min(limit)); // (2)
        let Some(acked) = self.acked.filter(|_| limited > current) else { return limited };
        let near = acked < HELD_LIMIT.1 * self.hold.rate && self.hold.rate.is_finite();
        let factor = if near { HELD_LIMIT.0 } else { THROUGHPUT_LIMIT };
        let limited = limited.min(factor * acked); // (3)
        if limited <= current && self.state == State::Decreasing {
            return current + LEAST_STEP;
        }
        limited.max(current)
    }

    fn change_state(&mut self, bounded: f64, by_delay: f64, now: Time) {
        let before = self.state;
        if bounded >= by_delay {
            (self.state, self.hold, self.increase) = (State::DelayBased, Hold::NONE, None);
            return;
        }
        let is_raised = self.increase.is_none_or(|(_, rate)| bounded > rate);
        let lasts = self.increase.is_some_and(|(since, _)| seconds_between(since, now) <= INCREASING);
        let increases = match before {
            State::DelayBased => false,
            State::Decreasing => bounded > self.result,
            State::Increasing => bounded >= self.result && (is_raised || lasts),
        };
        if increases {
            self.state = State::Increasing;
            if is_raised {
                self.increase = Some((now, bounded));
            }
            return;
        }
        (self.state, self.increase) = (State::Decreasing, None);
        if before != State::Decreasing {
            let until = Some(now + Duration::from_nanos((self.hold.duration * 1e9) as u64));
            let duration = (HOLD.1 * self.hold.duration).min(HOLD.2);
            self.hold = Hold { until, rate: bounded, duration };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::Bytes;

    /// By hand: with half of all lost 100 / 0.45 = 222 kbit/s, with a tenth 2 Mbit/s, and no limit up to 5 %.
    #[test]
    fn the_instant_limit() {
        assert!((instant_limit(0.5) - 222.2).abs() < 0.1);
        assert!((instant_limit(0.1) - 2000.0).abs() < 1e-9);
        assert!(instant_limit(0.05).is_infinite());
    }

    /// By hand: without losses the preference has 0.99 of its factor, with a fifth none, with more it turns.
    #[test]
    fn the_preference_turns_with_the_loss() {
        assert!((adjusted(1.0, 0.0) - 0.2 / 0.202).abs() < 1e-12);
        assert_eq!(adjusted(1.0, 0.2), 0.0);
        assert!(adjusted(1.0, 0.3) < 0.0);
    }

    /// By hand: at twice the bandwidth half is lost, and 1 % of the other half.
    #[test]
    fn the_model_of_losses() {
        let candidate = Candidate { bandwidth: 500.0, inherent: 0.01 };
        assert!((candidate.loss(1000.0) - 0.505).abs() < 1e-12);
        assert!((candidate.loss(400.0) - 0.01).abs() < 1e-12);
    }

    /// The rate of a sender of 1 Mbit/s of which a share is lost.
    fn after_losses(every: u64) -> f64 {
        let mut control = LossControl::new((100e3, 10e6));
        for n in 0..2000_u64 {
            let sent = Time::from_nanos(n * 8_000_000);
            let arrival = (every == 0 || n % every > 0).then_some(sent);
            let one =
                PacketFeedback { size: Bytes(1000), sent, arrival, is_marked: false, probe: None, was_missing: false };
            control.on_feedback(&[one], None, false, 2e6);
        }
        control.target(2e6)
    }

    /// Without losses the rate is that of the delay; a loss of one half is congestion.
    #[test]
    fn losses_limit_the_rate() {
        assert!((after_losses(0) - 2e6).abs() < 1e-6);
        assert!(after_losses(2) < 300e3, "{}", after_losses(2));
    }

    /// The control at 600 kbit/s, and a pair of packets of 15,000 bytes each 250 ms as `loss_based_bwe_v2_test.cc` has them.
    struct Path {
        control: LossControl,
        at: u64,
        limited: bool,
    }

    impl Path {
        fn new() -> Self {
            let mut control = LossControl::new((10e3, 1e9));
            control.estimate = Some(Candidate { bandwidth: 600.0, inherent: INHERENT });
            Self { control, at: 0, limited: false }
        }

        /// Sends a pair of which the first `received` packets arrive; returns the target, bit/s.
        fn pair(&mut self, received: usize, acked: Option<f64>, by_delay: f64) -> f64 {
            let packet = |n: usize| {
                let sent = Time::from_nanos((self.at + 250 * n as u64) * 1_000_000);
                let arrival = (n < received).then_some(sent);
                PacketFeedback { size: Bytes(15_000), sent, arrival, is_marked: false, probe: None, was_missing: false }
            };
            self.control.on_feedback(&[packet(0), packet(1)], acked, self.limited, by_delay);
            self.at += 500;
            self.control.target(by_delay)
        }
    }

    /// `BackOffToAckedRateIfNotInAlr`, `NotBackOffToAckedRateInAlr`, `EstimateNotLowerThanAckedRate` and
    /// `IncreaseToDelayBasedEstimateIfNoLossOrDelayIncrease` there, whose estimator needs one observation: if all is lost, the
    /// throughput; while the application limits it, more than that and less than 600 kbit/s (100 / 0.95 by hand); and the
    /// rate by the delay if nothing is lost. With the defaults the rate is that of the delay until the third observation.
    #[test]
    fn rates_of_libwebrtc() {
        for (received, acked, limited, expected) in [
            (0, Some(100e3), false, 100.0),
            (0, Some(100e3), true, 100.0 / 0.95),
            (0, Some(1000e3), false, 1000.0),
            (0, Some(1000e3), true, 1000.0),
            (2, None, false, 5000.0),
        ] {
            let mut path = Path { limited, ..Path::new() };
            let target = path.pair(received, acked, 5000e3);
            assert!((path.control.result - expected).abs() < 1e-6, "{received} {acked:?} {}", path.control.result);
            assert!((target - 5000e3).abs() < 1e-6 && path.pair(received, acked, 5000e3) == target);
            assert_eq!(path.pair(received, acked, 5000e3) < 5000e3, received == 0);
        }
    }

    /// `GetCandidates`: no candidate is above 1.3 times the estimate at the start of the last window of growth, however long ago
    /// that was. By hand: 1.3 · 500 = 650 kbit/s, where the throughput would permit 1.2 · 640 = 768.
    #[test]
    fn growth_is_bounded_behind_its_window() {
        let mut path = Path::new();
        path.control.estimate = Some(Candidate { bandwidth: 500.0, inherent: INHERENT });
        path.control.state = State::Increasing;
        path.control.window = Some((Time::ZERO, 650.0));
        path.control.hold.rate = 500.0;
        path.at = 1000;
        path.pair(2, Some(640e3), 2000e3);
        assert!((path.control.result - 650.0).abs() < 1e-6, "{}", path.control.result);
    }

    /// `PushBackObservation`: a packet that arrives after a report that it was missing is not lost, within an observation.
    #[test]
    fn what_arrives_late_is_not_lost() {
        let mut control = LossControl::new((10e3, 1e9));
        let packet = |ms: u64, arrives: bool| {
            let sent = Time::from_nanos(ms * 1_000_000);
            let arrival = arrives.then_some(sent);
            PacketFeedback { size: Bytes(1000), sent, arrival, is_marked: false, probe: None, was_missing: false }
        };
        control.on_feedback(&[packet(0, false), packet(1, false)], None, false, 1e6);
        control.on_feedback(&[packet(0, true), packet(250, true)], None, false, 1e6);
        let one = control.observations[0];
        assert!((one.lost - 1.0).abs() < 1e-9 && (one.received - 3.0).abs() < 1e-9, "{one:?}");
    }

    /// `CalculateAverageReportedByteLossRatio`. By hand, of four observations of equal weight with 0, 0, 10 and 50 % losses the
    /// first and the last do not count: 10 of 200. If the last one's rate is twice the median, all count: 60 of 400.
    #[test]
    fn outliers_of_losses_do_not_count() {
        for (rate, expected) in [(199.0, 0.05), (200.0, 0.15)] {
            let mut control = LossControl::new((10e3, 1e9));
            for (age, lost) in [50.0, 10.0, 0.0, 0.0].into_iter().enumerate() {
                let size = maths::pow(AGEING, age as f64);
                let rate = if age == 0 { rate } else { 100.0 };
                let one = Observation { lost: lost / size, received: (100.0 - lost) / size, rate };
                control.observations.push_back(one);
            }
            control.count = 4;
            assert!((control.average_loss() - expected).abs() < 1e-9, "{}", control.average_loss());
        }
    }

    /// `IncreaseByHoldFactorAfterLossBasedBweBacksOff`, whose window has two observations: after losses of all packets at a
    /// throughput of 100 kbit/s, the first increase is by a factor of 1.2.
    #[test]
    fn the_first_increase_after_losses_is_by_a_fifth() {
        let mut path = Path::new();
        let mut pair = |received| {
            path.control.observations.truncate(1);
            path.control.observations.resize(2, Observation::default());
            path.control.count = 2;
            path.pair(received, Some(100e3), 5000e3)
        };
        let at_loss = (0..3).map(|_| pair(0)).last().unwrap_or(0.0);
        let later = (0..100).map(|_| pair(2)).find(|&rate| rate > at_loss);
        assert!(later.is_some_and(|rate| (rate / at_loss - 1.2).abs() < 1e-9), "{later:?} {at_loss}");
    }

    /// `HoldRateNotLowerThanAckedRate`: while a rate is held, the throughput is the lower bound. `DecreaseAfterPadding`: without
    /// a further increase the state lasts for two seconds.
    #[test]
    fn states_after_losses() {
        let mut path = Path::new();
        path.pair(1, None, 5000e3);
        path.pair(1, None, 5000e3);
        let first = path.pair(1, None, 5000e3);
        assert!(path.control.state == State::Decreasing && first < 1000e3, "{first}");
        path.control.hold.until = Some(Time::from_nanos(60_000_000_000));
        assert!((path.pair(1, Some(1000e3), 5000e3) - 1000e3).abs() < 1e-6);
        path.control.hold.until = None;
        let mut states = (0..40).map(|_| {
            path.pair(2, Some(26e3), 5000e3);
            path.control.state
        });
        assert!(states.any(|state| state == State::Increasing));
        assert_eq!(states.take_while(|&state| state == State::Increasing).count(), 4);
    }
}
