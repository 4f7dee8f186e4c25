//! The stochastic process of synthetic traces.
//!
//! The model is based on Winstein, Sivaraman and Balakrishnan ("Stochastic Forecasts Achieve High Throughput and Low
//! Delay over Cellular Networks", NSDI 2013, §3.1): opportunities are a Poisson process whose rate varies randomly,
//! with outages. Here the logarithm of the rate is an Ornstein–Uhlenbeck process in steps of 20 ms, so that the rate is
//! positive and has a mean. Outages start as a Poisson process and have exponential durations. The rate of a satellite
//! is drawn anew at each handover, every 15 s, with a short outage before the handover (Mohan et al., "A Multifaceted
//! Look at Starlink Performance", WWW 2024, on the 15 s).

use cwndlab_units::{maths, random};

const STEP_MS: u32 = 20;
const HANDOVER_MS: u32 = 15_000;

/// The parameters of the process.
pub(super) struct Process {
    /// Random stream of the trace, distinct for each synthetic trace.
    pub(super) stream: u64,
    /// Mean rate outside outages, Mbit/s.
    pub(super) mbps: f64,
    /// Standard deviation of the logarithm of the rate.
    pub(super) sigma: f64,
    /// Correlation time of the rate, s.
    pub(super) correlation_s: f64,
    /// Mean time between outages, s.
    pub(super) between_s: f64,
    /// Mean length of an outage, s.
    pub(super) outage_s: f64,
    /// Standard deviation of the logarithm of the rate drawn at a handover; 0: no handovers.
    pub(super) handover: f64,
}

struct Random(u64);

impl Random {
    /// Uniform in (0, 1].
    fn unit(&mut self) -> f64 {
        ((random::splitmix(&mut self.0) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Approximately standard normal: the sum of twelve uniform draws has mean 6 and variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -maths::ln(self.unit()) * mean
    }
}

/// Generates a trace of `seconds` seconds, in ms. Its last opportunity is at its end, which is the period.
pub(super) fn generate(process: &Process, seed: u64, seconds: u32) -> Vec<u32> {
    let mut random = Random(seed ^ (process.stream << 56));
    let correlation = maths::exp(-f64::from(STEP_MS) * 1e-3 / process.correlation_s);
    let innovation = process.sigma * maths::sqrt(1.0 - correlation * correlation);
    let mean = process.mbps * 1e6 / 12_000.0 / 1000.0; // opportunities of 1500 bytes per ms
    let mut deviation = process.sigma * random.normal();
    let mut level = 0.0;
    let mut outage_start = random.exponential(process.between_s);
    let mut outage_end = outage_start + random.exponential(process.outage_s);
    let end = seconds.max(1) * 1000;
    let mut stamps = Vec::new();
    let mut none = 1.0;
    for ms in 0..end {
        if ms % HANDOVER_MS == 0 && process.handover > 0.0 {
            level = process.handover * random.normal() - process.handover * process.handover / 2.0;
            outage_start = f64::from(ms + HANDOVER_MS) * 1e-3 - 0.02 - 0.08 * random.unit();
            outage_end = f64::from(ms + HANDOVER_MS) * 1e-3;
        }
        let now = f64::from(ms) * 1e-3;
        if ms % STEP_MS == 0 {
            deviation = correlation * deviation + innovation * random.normal();
            none = maths::exp(-mean * maths::exp(deviation - process.sigma * process.sigma / 2.0 + level));
        }
        if process.handover == 0.0 && now >= outage_end {
            outage_start = now + random.exponential(process.between_s);
            outage_end = outage_start + random.exponential(process.outage_s);
        }
        if now < outage_start || now >= outage_end {
            let count = random::poisson(none, || random.unit());
            stamps.extend((0..count).map(|_| ms));
        }
    }
    stamps.push(end);
    stamps
}
