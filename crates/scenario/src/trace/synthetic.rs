//! Synthetic traces.
//!
//! The process is that of Winstein, Sivaraman and Balakrishnan ("Stochastic Forecasts Achieve High Throughput and Low Delay
//! over Cellular Networks", NSDI 2013, §3.1): opportunities come as a Poisson process whose rate wanders, with outages that
//! stick. Here the logarithm of the rate wanders (an Ornstein–Uhlenbeck process, every 20 ms), so that the rate stays above 0
//! and has a mean; outages begin as a Poisson process and last an exponential time. A satellite's rate is drawn anew at each
//! handover, every 15 s, with a short outage before it (Mohan et al., "A Multifaceted Look at Starlink Performance",
//! WWW 2024, on the 15 s). The figures in [`Kind`]'s table are round ones of our own, fitted to no recording.

use cwndlab_units::{maths, random};

/// A kind of synthetic trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// LTE in a car: a rate that swings widely, with outages.
    LteDriving,
    /// LTE at rest.
    LteStationary,
    /// 3G: slower, with long outages.
    ThirdGeneration,
    /// A low-orbit satellite, with handovers.
    Satellite,
}

/// Length of a trace that is taken by name, s.
pub const DURATION_S: u32 = 120;
/// Seed of a trace that is taken by name.
pub const SEED: u64 = 1;

const STEP_MS: u32 = 20;
const HANDOVER_MS: u32 = 15_000;

struct Process {
    /// Mean rate outside outages, Mbit/s.
    mbps: f64,
    /// Standard deviation of the logarithm of the rate.
    sigma: f64,
    /// Time in which it forgets, s.
    memory_s: f64,
    /// Mean time between outages, s.
    between_s: f64,
    /// Mean length of an outage, s.
    outage_s: f64,
    /// Standard deviation of the logarithm of what a handover brings; 0 knows no handover.
    handover: f64,
}

impl Kind {
    /// Each with its name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("lte-driving", Self::LteDriving),
        ("lte-stationary", Self::LteStationary),
        ("3g", Self::ThirdGeneration),
        ("satellite", Self::Satellite),
    ];

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(one, _)| *one == name).map(|(_, kind)| kind)
    }

    fn process(self) -> Process {
        let [mbps, sigma, memory_s, between_s, outage_s, handover] = match self {
            Self::LteDriving => [6.0, 0.8, 2.0, 30.0, 0.6, 0.0],
            Self::LteStationary => [20.0, 0.25, 5.0, 1e9, 0.0, 0.0],
            Self::ThirdGeneration => [2.0, 0.5, 3.0, 40.0, 1.5, 0.0],
            Self::Satellite => [50.0, 0.1, 1.0, 1e9, 0.0, 0.3],
        };
        Process { mbps, sigma, memory_s, between_s, outage_s, handover }
    }
}

struct Chance(u64);

impl Chance {
    /// Uniform in (0, 1].
    fn unit(&mut self) -> f64 {
        ((random::splitmix(&mut self.0) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Nearly normal: the sum of twelve uniform draws has mean 6 and variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -maths::ln(self.unit()) * mean
    }

    /// Knuth's method (The Art of Computer Programming 2, §3.4.1); `none` is e^−mean.
    fn poisson(&mut self, none: f64) -> u32 {
        let (mut count, mut product) = (0, self.unit());
        while product > none {
            count += 1;
            product *= self.unit();
        }
        count
    }
}

/// A trace of so many seconds; it ends with an opportunity at its last moment, which is its period.
#[must_use]
pub fn make(kind: Kind, seed: u64, seconds: u32) -> Vec<u32> {
    let process = kind.process();
    let mut chance = Chance(seed ^ ((kind as u64) << 56));
    let keep = maths::exp(-f64::from(STEP_MS) * 1e-3 / process.memory_s);
    let fresh = process.sigma * maths::sqrt(1.0 - keep * keep);
    let mean = process.mbps * 1e6 / 12_000.0 / 1000.0; // opportunities of 1500 bytes per ms
    let (mut wander, mut level) = (process.sigma * chance.normal(), 0.0);
    let mut dark_from = chance.exponential(process.between_s);
    let mut dark_until = dark_from + chance.exponential(process.outage_s);
    let end = seconds.max(1) * 1000;
    let (mut stamps, mut none) = (Vec::new(), 1.0);
    for ms in 0..end {
        if ms % HANDOVER_MS == 0 && process.handover > 0.0 {
            level = process.handover * chance.normal() - process.handover * process.handover / 2.0;
            dark_from = f64::from(ms + HANDOVER_MS) * 1e-3 - 0.02 - 0.08 * chance.unit();
            dark_until = f64::from(ms + HANDOVER_MS) * 1e-3;
        }
        let now = f64::from(ms) * 1e-3;
        if ms % STEP_MS == 0 {
            wander = keep * wander + fresh * chance.normal();
            none = maths::exp(-mean * maths::exp(wander - process.sigma * process.sigma / 2.0 + level));
        }
        if process.handover == 0.0 && now >= dark_until {
            dark_from = now + chance.exponential(process.between_s);
            dark_until = dark_from + chance.exponential(process.outage_s);
        }
        if now < dark_from || now >= dark_until {
            let count = chance.poisson(none);
            stamps.extend((0..count).map(|_| ms));
        }
    }
    stamps.push(end);
    stamps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbps(stamps: &[u32]) -> f64 {
        stamps.len() as f64 * 12_000.0 / (f64::from(*stamps.last().unwrap()) * 1e3)
    }

    #[test]
    fn a_trace_repeats_for_its_seed_and_is_one() {
        for (name, kind) in Kind::ALL {
            let stamps = make(kind, 7, 20);
            assert_eq!(stamps, make(kind, 7, 20), "{name}");
            assert_ne!(stamps, make(kind, 8, 20), "{name}");
            assert!(stamps.windows(2).all(|pair| pair[0] <= pair[1]) && *stamps.last().unwrap() == 20_000, "{name}");
        }
    }

    /// The stated mean rates, less the stated share of outages; a long trace comes near them.
    #[test]
    fn mean_rates_are_those_stated() {
        let awake = |between: f64, outage: f64| between / (between + outage);
        for (kind, expected) in [
            (Kind::LteDriving, 6.0 * awake(30.0, 0.6)),
            (Kind::LteStationary, 20.0),
            (Kind::ThirdGeneration, 2.0 * awake(40.0, 1.5)),
            (Kind::Satellite, 50.0 * (1.0 - 0.06 / 15.0)),
        ] {
            let found = mbps(&make(kind, 3, 3000));
            assert!((found / expected - 1.0).abs() < 0.1, "{kind:?}: {found} of {expected} Mbit/s");
        }
    }
}
