//! The process that all synthetic traces follow.
//!
//! It is that of Winstein, Sivaraman and Balakrishnan ("Stochastic Forecasts Achieve High Throughput and Low Delay over
//! Cellular Networks", NSDI 2013, §3.1): opportunities come as a Poisson process whose rate wanders, with outages that stick.
//! Here the logarithm of the rate wanders (an Ornstein–Uhlenbeck process, every 20 ms), so that the rate stays above 0 and has
//! a mean; outages begin as a Poisson process and last an exponential time. A satellite's rate is drawn anew at each
//! handover, every 15 s, with a short outage before it (Mohan et al., "A Multifaceted Look at Starlink Performance",
//! WWW 2024, on the 15 s).

use cwndlab_units::{maths, random};

const STEP_MS: u32 = 20;
const HANDOVER_MS: u32 = 15_000;

/// The process.
pub(super) struct Process {
    /// Distinguishes its random draws from those of other kinds with the same seed.
    pub(super) stream: u64,
    /// Mean rate outside outages, Mbit/s.
    pub(super) mbps: f64,
    /// Standard deviation of the logarithm of the rate.
    pub(super) sigma: f64,
    /// Time in which it forgets, s.
    pub(super) memory_s: f64,
    /// Mean time between outages, s.
    pub(super) between_s: f64,
    /// Mean length of an outage, s.
    pub(super) outage_s: f64,
    /// Standard deviation of the logarithm of what a handover brings; 0 knows no handover.
    pub(super) handover: f64,
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
pub(super) fn make(process: &Process, seed: u64, seconds: u32) -> Vec<u32> {
    let mut chance = Chance(seed ^ (process.stream << 56));
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
