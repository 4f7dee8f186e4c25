//! The trend of the delay between groups of packets (`inter_arrival_delta.cc`, `trendline_estimator.cc`). Times in ms.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

/// Packets sent within this time are a group.
const GROUP: f64 = 5.0;
/// The largest duration of a burst that joins a group by its arrival.
const BURST: f64 = 100.0;
/// Groups of the regression.
const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
/// Largest number of groups in the modified trend.
const MOST_GROUPS: f64 = 60.0;
const THRESHOLD: f64 = 12.5;
const THRESHOLD_RANGE: (f64, f64) = (6.0, 600.0);
/// Gains of the threshold, above and below it.
const K_UP: f64 = 0.0087;
const K_DOWN: f64 = 0.039;
/// Beyond the threshold by this much, it is not adapted.
const OUTLIER: f64 = 15.0;
/// The longest step of the adaptation.
const LONGEST_STEP: f64 = 100.0;
/// Time of overuse before it counts.
const OVERUSE: f64 = 10.0;

/// After this time without an arrival the estimation begins anew (`delay_based_bwe.cc`, `kStreamTimeOut`).
const STREAM_TIMEOUT: Duration = Duration::from_secs(2);

/// What the delay says of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Usage {
    #[default]
    Normal,
    Over,
    Under,
}

/// A group of packets: the first and the last time of sending, the first and the last arrival.
#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: f64,
    sent: f64,
    first_arrival: f64,
    arrival: f64,
}

/// The estimator and the detector.
#[derive(Debug)]
pub(super) struct Trend {
    /// Time of the last report with an arrival.
    reported: Option<Time>,
    current: Option<Group>,
    previous: Option<Group>,
    groups: f64,
    accumulated: f64,
    smoothed: f64,
    first_arrival: f64,
    /// Arrival and smoothed delay of the last groups.
    points: VecDeque<(f64, f64)>,
    slope: f64,
    detector: Detector,
}

impl Default for Trend {
    fn default() -> Self {
        Self {
            reported: None,
            current: None,
            previous: None,
            groups: 0.0,
            accumulated: 0.0,
            smoothed: 0.0,
            first_arrival: 0.0,
            points: VecDeque::new(),
            slope: 0.0,
            detector: Detector::default(),
        }
    }
}

/// The detection of overuse.
#[derive(Debug)]
struct Detector {
    threshold: f64,
    adapted: Option<f64>,
    /// Time above the threshold; `None` while below.
    over: Option<f64>,
    count: u32,
    slope: f64,
    usage: Usage,
}

impl Default for Detector {
    fn default() -> Self {
        Self { threshold: THRESHOLD, adapted: None, over: None, count: 0, slope: 0.0, usage: Usage::Normal }
    }
}

impl Detector {
    /// Handles the trend of `groups` groups, `gap` after the one before, at `now`.
    fn update(&mut self, slope: f64, groups: f64, gap: f64, now: f64) {
        if groups < 2.0 {
            return;
        }
        let trend = groups.min(MOST_GROUPS) * slope * GAIN;
        if trend > self.threshold {
            let over = self.over.map_or(gap / 2.0, |over| over + gap);
            self.over = Some(over);
            self.count += 1;
            if over > OVERUSE && self.count > 1 && slope >= self.slope {
                (self.over, self.count, self.usage) = (Some(0.0), 0, Usage::Over);
            }
        } else {
            (self.over, self.count) = (None, 0);
            self.usage = if trend < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.slope = slope;
        self.adapt(trend, now);
    }

    fn adapt(&mut self, trend: f64, now: f64) {
        let step = (now - self.adapted.unwrap_or(now)).min(LONGEST_STEP);
        self.adapted = Some(now);
        let size = trend.abs();
        if size > self.threshold + OUTLIER {
            return;
        }
        let gain = if size > self.threshold { K_UP } else { K_DOWN };
        self.threshold += gain * (size - self.threshold) * step;
        self.threshold = self.threshold.clamp(THRESHOLD_RANGE.0, THRESHOLD_RANGE.1);
    }
}

fn ms(at: Time) -> f64 {
    at.as_nanos() as f64 / 1e6
}

impl Trend {
    /// What the delay says of the path.
    pub(super) fn usage(&self) -> Usage {
        self.detector.usage
    }

    /// Handles a report at `now`, in front of the packets that it brings.
    pub(super) fn on_report(&mut self, now: Time) {
        if self.reported.is_some_and(|at| now - at > STREAM_TIMEOUT) {
            *self = Self::default();
        }
        self.reported = Some(now);
    }

    /// Handles a packet that arrived.
    pub(super) fn on_packet(&mut self, sent: Time, arrival: Time) {
        let (sent, arrival) = (ms(sent), ms(arrival));
        let Some(group) = &mut self.current else {
            self.current = Some(Group { first_sent: sent, sent, first_arrival: arrival, arrival });
            return;
        };
        if sent < group.first_sent {
            return; // overtaken by a later group
        }
        let gap = arrival - group.arrival;
        let joins = sent - group.first_sent <= GROUP
            || (gap - (sent - group.sent) < 0.0 && gap <= GROUP && arrival - group.first_arrival < BURST);
        if joins {
            group.sent = group.sent.max(sent);
            group.arrival = group.arrival.max(arrival);
            return;
        }
        let closed = *group;
        *group = Group { first_sent: sent, sent, first_arrival: arrival, arrival };
        if let Some(previous) = self.previous.replace(closed) {
            self.on_group(closed.sent - previous.sent, closed.arrival - previous.arrival, closed.arrival);
        }
    }

    /// Handles the differences of a group to the one before.
    fn on_group(&mut self, sent: f64, arrived: f64, arrival: f64) {
        if arrived < 0.0 {
            return; // reordered
        }
        self.groups += 1.0;
        if self.groups == 1.0 {
            self.first_arrival = arrival;
        }
        self.accumulated += arrived - sent;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        self.points.push_back((arrival - self.first_arrival, self.smoothed));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        if self.points.len() == WINDOW {
            self.slope = slope(&self.points).unwrap_or(self.slope);
        }
        self.detector.update(self.slope, self.groups, sent, arrival);
    }
}

/// The slope of the least-squares line; `None` of points at one time.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|one| one.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|one| one.1).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|one| (one.0 - mean_x) * (one.1 - mean_y)).sum();
    let variance: f64 = points.iter().map(|one| (one.0 - mean_x) * (one.0 - mean_x)).sum();
    (variance > 0.0).then(|| covariance / variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 12.5 + 0.0087 · (20 − 12.5) · 10 = 13.15; 12.5 + 0.039 · (5 − 12.5) · 10 = 9.575; beyond 27.5 it stays.
    #[test]
    fn the_threshold_follows_the_trend() {
        for (trend, expected) in [(20.0, 13.1525), (5.0, 9.575), (28.0, 12.5)] {
            let mut detector = Detector { adapted: Some(0.0), ..Detector::default() };
            detector.adapt(trend, 10.0);
            assert!((detector.threshold - expected).abs() < 1e-9, "{trend}");
        }
    }

    /// By hand: a trend of 12.5 needs a slope of 12.5 / 60 / 4 = 0.0521 with 60 groups and more, 0.15625 with 20.
    #[test]
    fn overuse_by_the_number_of_groups() {
        for (groups, limit) in [(60.0, 0.0521), (1000.0, 0.0521), (20.0, 0.156_25)] {
            for (factor, expected) in [(0.99, Usage::Normal), (1.01, Usage::Over)] {
                let mut detector = Detector::default();
                for n in 0..3 {
                    detector.threshold = THRESHOLD;
                    detector.update(limit * factor, groups, 10.0, f64::from(n) * 10.0);
                }
                assert_eq!(detector.usage, expected, "{groups} {factor}");
            }
        }
    }

    /// A queue that grows by 1 ms per group of 10 ms is overuse; one that is stable is not, one that drains is underuse.
    #[test]
    fn the_usage_follows_the_queue() {
        for (growth, expected) in [(1_000_000, Usage::Over), (0, Usage::Normal), (-2_000_000, Usage::Under)] {
            let mut trend = Trend::default();
            for n in 0..40_i64 {
                let (sent, arrival) = (n * 10_000_000, n * (10_000_000 + growth) + 200_000_000);
                trend.on_packet(Time::from_nanos(sent as u64), Time::from_nanos(arrival as u64));
            }
            assert_eq!(trend.usage(), expected, "{growth}");
        }
    }

    /// `DelayBasedBwe::IncomingPacketFeedback`: after more than 2 s without an arrival a new estimator begins.
    #[test]
    fn a_pause_begins_anew() {
        for (pause_ms, expected) in [(2000, Usage::Over), (2001, Usage::Normal)] {
            let mut trend = Trend::default();
            trend.on_report(Time::from_nanos(1_000_000_000));
            for n in 0..40_u64 {
                trend.on_packet(Time::from_nanos(n * 10_000_000), Time::from_nanos(n * 11_000_000 + 200_000_000));
            }
            trend.on_report(Time::from_nanos((1000 + pause_ms) * 1_000_000));
            assert_eq!(trend.usage(), expected, "{pause_ms}");
        }
    }

    /// libwebrtc's `trendline_estimator_unittest.cc`: with arrivals 1/(1 − s) times as far apart as sendings, the slope is 0
    /// until there are 20 groups, and s from then on; with smoothing it comes to that.
    #[test]
    fn the_slope_is_that_of_the_delay() {
        for expected in [0.5, -1.0, 0.0] {
            let gap = 10.0 / (1.0 - expected);
            let line: VecDeque<_> = (0..20).map(|n| (f64::from(n) * gap, f64::from(n) * (gap - 10.0))).collect();
            assert!((slope(&line).expect("points are apart") - expected).abs() < 1e-12, "{expected}");
            let mut trend = Trend::default();
            for n in 1..=200 {
                trend.on_group(10.0, gap, f64::from(n) * gap);
                assert!(n >= 20 || trend.slope == 0.0);
            }
            assert!((trend.slope - expected).abs() < 1e-3, "{} {expected}", trend.slope);
        }
    }

    /// The sum of delays after packets sent at these ms that arrive at these.
    fn accumulated(packets: &[(f64, f64)]) -> (f64, f64) {
        let mut trend = Trend::default();
        for (sent, arrival) in packets {
            let at = |ms: f64| Time::from_nanos((ms * 1e6).round() as u64);
            trend.on_packet(at(*sent), at(*arrival));
        }
        (trend.groups, trend.accumulated)
    }

    /// `InterArrivalTest` of libwebrtc and aiortc (`test_rate.py`), whose groups begin at 0, 5.02 and 10.04 ms: the difference
    /// of groups is that of their last packets; what is sent before the current group does not count; and packets that
    /// arrive within 5 ms of each other although they were sent 30 ms apart are a burst.
    #[test]
    fn packets_form_groups() {
        let second =
            |first: f64, step: f64| (1..=10).map(move |n| (5.02 + 0.02 * f64::from(n), first + step * f64::from(n)));
        let ends = |packets: Vec<(f64, f64)>| [vec![(0.0, 17.0)], packets, vec![(10.04, 500.0)]].concat();
        let plain = ends([vec![(5.02, 28.0)], second(23.0, 6.0).collect()].concat());
        let late = ends([vec![(5.02, 28.0)], second(28.0, 6.0).collect(), vec![(0.0, 281.0)]].concat());
        let burst = (1..=10).map(|n| (5.02 + 30.0 * f64::from(n), 100.0 + 5.0 * f64::from(n))).collect::<Vec<_>>();
        let bursts = [vec![(0.0, 17.0)], burst, vec![(335.02, 156.0)]].concat();
        for (packets, sent, arrived) in [(plain, 5.22, 66.0), (late, 5.22, 71.0), (bursts, 305.02, 133.0)] {
            let (groups, delay) = accumulated(&packets);
            assert!(groups == 1.0 && (delay - (arrived - sent)).abs() < 1e-6, "{groups} {delay} {arrived} {sent}");
        }
    }
}
