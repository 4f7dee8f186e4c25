//! The features of a monitor interval, those of `cwndlab.gym.Observation`.

use serde::Deserialize;

use crate::external::Report;

/// The kind of the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Throughput, queueing delay, loss, window, latency gradient.
    Plain,
    /// N. Jay et al., "A deep reinforcement learning perspective on internet congestion control", ICML 2019.
    Aurora,
    /// S. Abbasloo et al., "Classic meets modern", SIGCOMM 2020.
    Orca,
}

/// Bounds and the value before the first interval: low, high, neutral.
type Bounds = (f64, f64, f64);

/// SRTT by minimum RTT up to which Orca counts no delay.
const ORCA_MARGIN: f64 = 1.25;
/// Weight of Orca's loss rate.
pub(super) const ORCA_LOSS: f64 = 5.0;
/// Aurora takes 1 for a send ratio from here on (PCC-RL, `sender_obs.py`).
const AURORA_SEND_RATIO: f64 = 1000.0;

impl Kind {
    /// The bounds of each feature.
    #[must_use]
    pub fn bounds(self) -> &'static [Bounds] {
        match self {
            Self::Plain => &[(0.0, 1.0, 0.0), (0.0, 10.0, 0.0), (0.0, 1.0, 0.0), (0.0, 10.0, 0.0), (-1.0, 1.0, 0.0)],
            Self::Aurora => &[(-1.0, 10.0, 0.0), (1.0, 10_000.0, 1.0), (0.0, 1000.0, 1.0)],
            Self::Orca => &[
                (0.0, 1.0, 0.0),
                (0.0, 10.0, 0.0),
                (0.0, 100.0, 0.0),
                (0.0, 100.0, 0.0),
                (0.0, 100.0, 0.0),
                (0.0, 1.0, 0.0),
                (0.0, 1.0, 0.0),
            ],
        }
    }

    /// The features of an interval, within their bounds; the neutral value where one is not a number.
    #[must_use]
    pub fn of(self, interval: &Measured) -> Vec<f64> {
        let limited = |(value, &(low, high, neutral)): (f64, &Bounds)| {
            if value.is_nan() {
                neutral
            } else {
                value.clamp(low, high)
            }
        };
        self.values(interval).into_iter().zip(self.bounds()).map(limited).collect()
    }

    fn values(self, one: &Measured) -> Vec<f64> {
        match self {
            Self::Plain => vec![
                ratio(one.throughput, one.largest_throughput, 0.0),
                ratio(one.rtt_mean, one.min_rtt, 1.0) - 1.0,
                one.loss_ratio,
                ratio(one.cwnd, one.largest_throughput * one.min_rtt, 0.0),
                one.rtt_slope,
            ],
            Self::Aurora => {
                let send_ratio = ratio(one.sent, one.acked, 1.0);
                vec![
                    one.rtt_slope,
                    ratio(one.rtt_mean, one.least_rtt_mean, 1.0),
                    if send_ratio < AURORA_SEND_RATIO { send_ratio } else { 1.0 },
                ]
            }
            Self::Orca => {
                // Linux has a pacing rate whether or not a socket is paced.
                let pacing = if one.pacing_rate.is_finite() { one.pacing_rate } else { ratio(one.cwnd, one.srtt, 0.0) };
                vec![
                    ratio(one.throughput, one.largest_throughput, 0.0),
                    ratio(pacing, one.largest_throughput, 0.0),
                    ratio(ORCA_LOSS * one.loss_rate(), one.largest_throughput, 0.0),
                    ratio(one.acked, one.cwnd, 0.0),
                    one.duration,
                    ratio(one.min_rtt, one.srtt, 1.0),
                    one.delay_metric(),
                ]
            }
        }
    }
}

/// The quotient; `otherwise` where the divisor is not positive and finite.
pub(super) fn ratio(above: f64, below: f64, otherwise: f64) -> f64 {
    if below > 0.0 && below < f64::INFINITY {
        above / below
    } else {
        otherwise
    }
}

/// The fields of [`Measured`] by name, in the order of its rows.
pub const FIELDS: [&str; 14] = [
    "duration",
    "sent",
    "acked",
    "lost",
    "rtt_mean",
    "rtt_slope",
    "srtt",
    "min_rtt",
    "cwnd",
    "pacing_rate",
    "throughput",
    "loss_ratio",
    "largest_throughput",
    "least_rtt_mean",
];

/// An interval and the extremes of the connection. Amounts in segments, times in seconds, rates in segments per second;
/// NaN without a sample.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Its length.
    pub duration: f64,
    /// Sent, retransmissions included.
    pub sent: f64,
    /// Acknowledged.
    pub acked: f64,
    /// Marked lost.
    pub lost: f64,
    /// Mean RTT.
    pub rtt_mean: f64,
    /// Slope of the RTT over time.
    pub rtt_slope: f64,
    /// Smoothed RTT.
    pub srtt: f64,
    /// Minimum RTT of the flow.
    pub min_rtt: f64,
    /// The window.
    pub cwnd: f64,
    /// The pacing rate that was decided.
    pub pacing_rate: f64,
    /// Acknowledged per second.
    pub throughput: f64,
    /// Lost of those acknowledged or lost.
    pub loss_ratio: f64,
    /// The largest throughput of an interval.
    pub largest_throughput: f64,
    /// The least mean RTT of an interval; infinite before the first sample.
    pub least_rtt_mean: f64,
}

impl Measured {
    /// Before the first interval.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            duration: 0.0,
            sent: 0.0,
            acked: 0.0,
            lost: 0.0,
            rtt_mean: f64::NAN,
            rtt_slope: f64::NAN,
            srtt: f64::NAN,
            min_rtt: f64::NAN,
            cwnd: 0.0,
            pacing_rate: f64::NAN,
            throughput: 0.0,
            loss_ratio: 0.0,
            largest_throughput: 0.0,
            least_rtt_mean: f64::INFINITY,
        }
    }

    /// The interval of a report, after this one.
    #[must_use]
    pub fn followed_by(&self, report: &Report) -> Self {
        let interval = &report.interval;
        let segments = |bytes| report.segments(bytes);
        let raw = Self {
            duration: report.duration_s(),
            sent: segments(interval.sent),
            acked: segments(interval.acked),
            lost: segments(interval.lost),
            rtt_mean: interval.rtt_mean(),
            rtt_slope: interval.rtt_slope(),
            srtt: report.srtt_s(),
            min_rtt: report.min_rtt_s(),
            cwnd: segments(report.cwnd),
            pacing_rate: report.pacing_per_s(),
            ..*self
        };
        raw.derived()
    }

    /// This interval with what follows from its measurements: throughput and loss ratio, and the extremes of the
    /// connection, of which it has those before it.
    #[must_use]
    pub fn derived(self) -> Self {
        let throughput = ratio(self.acked, self.duration, 0.0);
        Self {
            throughput,
            loss_ratio: ratio(self.lost, self.acked + self.lost, 0.0),
            largest_throughput: self.largest_throughput.max(throughput),
            least_rtt_mean: self.least_rtt_mean.min(self.rtt_mean), // the other one where one is NaN
            ..self
        }
    }

    /// Lost segments per second.
    #[must_use]
    pub fn loss_rate(&self) -> f64 {
        ratio(self.lost, self.duration, 0.0)
    }

    /// Orca's measure of delay: 1 up to an SRTT of 1.25 times the minimum RTT, from there on their quotient.
    #[must_use]
    pub fn delay_metric(&self) -> f64 {
        (ORCA_MARGIN * ratio(self.min_rtt, self.srtt, 1.0)).min(1.0)
    }

    /// The row of an array, in the order of [`FIELDS`].
    #[must_use]
    pub fn to_row(&self) -> [f64; FIELDS.len()] {
        [
            self.duration,
            self.sent,
            self.acked,
            self.lost,
            self.rtt_mean,
            self.rtt_slope,
            self.srtt,
            self.min_rtt,
            self.cwnd,
            self.pacing_rate,
            self.throughput,
            self.loss_ratio,
            self.largest_throughput,
            self.least_rtt_mean,
        ]
    }

    /// The interval of a row.
    #[must_use]
    pub fn from_row(row: [f64; FIELDS.len()]) -> Self {
        let [duration, sent, acked, lost, rtt_mean, rtt_slope, srtt, min_rtt, cwnd, pacing_rate, throughput, loss_ratio, largest_throughput, least_rtt_mean] =
            row;
        Self {
            duration,
            sent,
            acked,
            lost,
            rtt_mean,
            rtt_slope,
            srtt,
            min_rtt,
            cwnd,
            pacing_rate,
            throughput,
            loss_ratio,
            largest_throughput,
            least_rtt_mean,
        }
    }
}
