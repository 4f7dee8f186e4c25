//! The channel of a bearer: mean SNR by a schedule, and Rayleigh fading.

use std::collections::VecDeque;
use std::f64::consts::PI;

use cwndlab_units::{maths, Duration, Time};

use super::radio::ratio;
use crate::random::Stream;

/// Number of waves of a fading channel.
const WAVES: usize = 32;

/// Rayleigh fading by Clarke's model: the gain is the sum of equal waves with random angles of arrival and phases (Y. Zheng,
/// C. Xiao, "Simulation models with correct statistical properties for Rayleigh fading channels", IEEE Trans. Commun.
/// 51(6), 2003). Its power has mean 1 and is nearly exponential; the autocorrelation of the gain is J₀(2π f τ). The
/// Doppler frequency f follows from the coherence time, 9 / (16π f) (T. Rappaport, "Wireless communications", 5.4.3).
#[derive(Clone, Debug)]
struct Fading {
    /// Phases at 0 s, and angular frequencies per nanosecond.
    waves: [(f64, f64); WAVES],
    /// Components of the waves at the time `at`.
    now: [(f64, f64); WAVES],
    /// Rotation in a TTI.
    step: [(f64, f64); WAVES],
    at: Option<Time>,
    tti: Duration,
}

fn unit_vector(phase: f64) -> (f64, f64) {
    (maths::cos(phase), maths::sin(phase))
}

impl Fading {
    fn new(coherence: Duration, tti: Duration, mut stream: Stream) -> Self {
        let doppler = 9.0 / (16.0 * PI * coherence.as_nanos() as f64);
        let waves = std::array::from_fn(|_| {
            let (angle, phase) = (2.0 * PI * stream.unit(), 2.0 * PI * stream.unit());
            (phase, 2.0 * PI * doppler * maths::cos(angle))
        });
        let step = waves.map(|(_, frequency)| unit_vector(frequency * tti.as_nanos() as f64));
        Self { waves, now: waves.map(|(phase, _)| unit_vector(phase)), step, at: None, tti }
    }

    /// The power gain at `now`.
    fn gain(&mut self, now: Time) -> f64 {
        if self.at.is_some_and(|at| at + self.tti == now) {
            for ((re, im), (cos, sin)) in self.now.iter_mut().zip(&self.step) {
                (*re, *im) = (*re * cos - *im * sin, *re * sin + *im * cos);
            }
        } else {
            let since = now.as_nanos() as f64;
            self.now = self.waves.map(|(phase, frequency)| unit_vector(phase + frequency * since));
        }
        self.at = Some(now);
        let (re, im) = self.now.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (re * re + im * im) / WAVES as f64
    }
}

/// The channel of a bearer.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    /// Mean SNR from each time on, a ratio; the first time is 0.
    means: Vec<(Duration, f64)>,
    repeat: Option<Duration>,
    fading: Option<Box<Fading>>,
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
            fading: fading.map(|coherence| Box::new(Fading::new(coherence, tti, stream))),
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
