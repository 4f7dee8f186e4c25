//! The channel of a bearer: mean SNR by a schedule, and Rayleigh fading.

use std::collections::VecDeque;

use cwndlab_units::{maths, Duration, Time};

use super::radio::ratio;
use crate::random::Stream;

/// Rayleigh fading: the complex gain h is a stationary Gauss-Markov process with E|h|² = 1 and the autocorrelation
/// exp(−τ / coherence), so that the power gain |h|² is exponentially distributed.
#[derive(Clone, Debug)]
struct Fading {
    coherence: Duration,
    real: f64,
    imaginary: f64,
    at: Time,
    /// The last span, its correlation, and the standard deviation of the innovation of each component.
    step: (Duration, f64, f64),
    stream: Stream,
}

impl Fading {
    fn new(coherence: Duration, mut stream: Stream) -> Self {
        let component = maths::sqrt(0.5);
        let (real, imaginary) = (component * stream.normal(), component * stream.normal());
        Self { coherence, real, imaginary, at: Time::ZERO, step: (Duration::ZERO, 1.0, 0.0), stream }
    }

    /// The power gain at `now`, which does not precede that of the last call.
    fn gain(&mut self, now: Time) -> f64 {
        let span = now.saturating_since(self.at);
        if span > Duration::ZERO {
            if span != self.step.0 {
                let correlation = maths::exp(-(span.as_nanos() as f64) / self.coherence.as_nanos() as f64);
                self.step = (span, correlation, maths::sqrt(0.5 * (1.0 - correlation * correlation)));
            }
            let (_, correlation, innovation) = self.step;
            self.real = correlation * self.real + innovation * self.stream.normal();
            self.imaginary = correlation * self.imaginary + innovation * self.stream.normal();
            self.at = now;
        }
        self.real * self.real + self.imaginary * self.imaginary
    }
}

/// The channel of a bearer.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    /// Mean SNR from each time on, a ratio; the first time is 0.
    means: Vec<(Duration, f64)>,
    repeat: Option<Duration>,
    fading: Option<Fading>,
    /// SNR of the last TTIs, the newest last; only with fading.
    history: VecDeque<f64>,
    /// TTI of the newest one.
    newest: Time,
    tti: Duration,
    /// TTIs from the measurement of the SNR to the CQI.
    delay: u64,
}

impl Channel {
    /// A channel with these means in dB.
    pub(super) fn new(
        means_db: &[(Duration, f64)],
        repeat: Option<Duration>,
        fading: Option<Duration>,
        (tti, delay): (Duration, Duration),
        stream: Stream,
    ) -> Self {
        Self {
            means: means_db.iter().map(|&(at, db)| (at, ratio(db))).collect(),
            repeat,
            fading: fading.map(|coherence| Fading::new(coherence, stream)),
            history: VecDeque::new(),
            newest: Time::ZERO,
            tti,
            delay: delay.as_nanos().div_ceil(tti.as_nanos()),
        }
    }

    fn mean(&self, now: Time) -> f64 {
        if self.means.len() == 1 {
            return self.means[0].1;
        }
        let mut since = now - Time::ZERO;
        if let Some(period) = self.repeat {
            since = Duration::from_nanos(since.as_nanos() % period.as_nanos());
        }
        self.means[self.means.partition_point(|&(at, _)| at <= since) - 1].1
    }

    /// The SNR of the TTI that starts at `now`, and the older one from which its CQI is selected.
    pub(super) fn snr(&mut self, now: Time) -> (f64, f64) {
        let back = self.tti * self.delay;
        let oldest = Time::from_nanos(now.as_nanos().saturating_sub(back.as_nanos()));
        if self.fading.is_none() {
            return (self.mean(now), self.mean(oldest));
        }
        let mut at = if self.history.is_empty() { oldest } else { (self.newest + self.tti).max(oldest) };
        while at <= now {
            let mean = self.mean(at);
            let gain = self.fading.as_mut().map_or(1.0, |fading| fading.gain(at));
            self.history.push_back(mean * gain);
            self.newest = at;
            at += self.tti;
        }
        while self.history.len() as u64 > self.delay + 1 {
            self.history.pop_front();
        }
        let newest = self.history.back().copied().unwrap_or_default();
        (newest, self.history.front().copied().unwrap_or(newest))
    }
}
