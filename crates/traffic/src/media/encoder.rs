//! A statistical model of a live video encoder (RFC 8593, section 5).
//!
//! ```text
//! B = B₀ (1 + L),  B₀ = rate / (8 FPS)          t = t₀ (1 + L),  t₀ = 1 / FPS                 (1)
//! ```
//!
//! with L of the Laplace distribution of scale 0.15. A new target rate takes effect τ = 200 ms after the last one at the
//! earliest. It begins with a burst, as does the first frame: eight frames with the mean size, of which the first one is 3.24
//! times as large (13.5 kB at 1 Mbit/s). The RFC speaks of abrupt changes; here these are changes by half and more.

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{maths, Bytes, Duration, Time};

use crate::flow_context::FlowContext;

/// Scale of the deviations of sizes and intervals.
const SCALE: f64 = 0.15;
/// Time between two changes of the rate.
const REACTION: Duration = Duration::from_millis(200);
/// Frames of a burst.
const BURST: u32 = 8;
/// Size of its first frame over the mean.
const FIRST: f64 = 3.24;
/// Size of each of its further frames over the mean.
const FURTHER: f64 = (BURST as f64 - FIRST) / (BURST as f64 - 1.0);
/// The ratio of rates, or its reciprocal, from which on a change is abrupt.
const ABRUPT: f64 = 1.5;
/// The smallest frame (RFC 8593, 6.2.1).
const SMALLEST: f64 = 10.0;

/// A live encoder.
#[derive(Debug)]
pub(crate) struct Encoder {
    frame_rate: f64,
    /// Rate of the frames, bit/s, and the time of its last change; `None` before the first frame.
    rate: f64,
    changed: Option<Time>,
    /// Frames left of the burst.
    burst: u32,
    sizes: Stream,
    times: Stream,
}

impl Encoder {
    /// An encoder, whose first frame has the first target rate.
    pub(crate) fn new(frame_rate: f64, flow: &FlowContext) -> Self {
        let (sizes, times) = (flow.stream(Purpose::Size), flow.stream(Purpose::Time));
        Self { frame_rate, rate: 0.0, changed: None, burst: BURST, sizes, times }
    }

    /// Encodes a frame at `now` with a target rate, bit/s; returns its size and the time to the next one.
    pub(crate) fn encode(&mut self, target: f64, now: Time) -> (Bytes, Duration) {
        let differs = (target - self.rate).abs() > f64::EPSILON * target;
        if differs && self.changed.is_none_or(|changed| now >= changed + REACTION) {
            let ratio = target / self.rate;
            if !(1.0 / ABRUPT..ABRUPT).contains(&ratio) {
                self.burst = BURST;
            }
            (self.rate, self.changed) = (target, Some(now));
        }
        let mean = self.rate / 8.0 / self.frame_rate;
        let factor = match self.burst {
            0 => 1.0 + laplace(&mut self.sizes),
            BURST => FIRST,
            _ => FURTHER,
        };
        self.burst = self.burst.saturating_sub(1);
        let interval = 1e9 / self.frame_rate * (1.0 + laplace(&mut self.times)).max(0.1);
        (Bytes((mean * factor).max(SMALLEST) as u64), Duration::from_nanos(interval.max(1.0) as u64))
    }
}

/// A deviate of the Laplace distribution with mean 0 and this scale.
fn laplace(stream: &mut Stream) -> f64 {
    let uniform = stream.unit() - 0.5;
    let size = -SCALE * maths::ln(1.0 - 2.0 * uniform.abs());
    if uniform < 0.0 {
        -size
    } else {
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NEVER;

    fn encoder() -> Encoder {
        Encoder::new(30.0, &FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(28) })
    }

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// RFC 8593, figure 2: at 1 Mbit/s and 30 frames per second a frame has 4.17 kB and a burst begins with 13.5 kB; its eight
    /// frames have the mean size.
    #[test]
    fn a_burst_has_the_mean_size() {
        let mut encoder = encoder();
        let sizes: Vec<u64> = (0..8).map(|_| encoder.encode(1e6, at(0)).0 .0).collect();
        assert_eq!(sizes[0], 13_500);
        let mean = sizes.iter().sum::<u64>() as f64 / 8.0;
        assert!((mean - 4166.7).abs() < 1.0, "{mean}");
    }

    /// The standard deviation of the Laplace distribution is √2 times its scale: 0.212. Of 100,000 frames the standard error
    /// of the mean is 0.0007.
    #[test]
    fn sizes_and_intervals_fluctuate() {
        let mut encoder = encoder();
        let frames: Vec<_> = (0..100_008).map(|_| encoder.encode(1e6, at(0))).collect();
        for (values, mean) in [
            (frames[8..].iter().map(|one| one.0 .0 as f64).collect::<Vec<_>>(), 4166.7),
            (frames.iter().map(|one| one.1.as_nanos() as f64).collect(), 1e9 / 30.0),
        ] {
            let found = values.iter().sum::<f64>() / values.len() as f64;
            let square =
                values.iter().map(|one| (one / found - 1.0) * (one / found - 1.0)).sum::<f64>() / values.len() as f64;
            assert!((found / mean - 1.0).abs() < 0.005 && (square.sqrt() - 0.212).abs() < 0.005, "{found}, {square}");
        }
    }

    /// RFC 8593, section 5.1: a change of the target within 200 ms of the last one waits, whenever the flow starts.
    #[test]
    fn the_rate_changes_each_200_ms_at_most() {
        for start in [0, 300] {
            let mut encoder = encoder();
            encoder.encode(1.2e6, at(start));
            assert_eq!(encoder.rate, 1.2e6);
            encoder.encode(1.1e6, at(start + 199));
            assert_eq!(encoder.rate, 1.2e6);
            encoder.encode(1.1e6, at(start + 200));
            assert_eq!(encoder.rate, 1.1e6);
            // Half the rate begins with a burst of 3.24 times the mean of 2292 bytes.
            assert_eq!(encoder.encode(0.55e6, at(start + 400)).0, Bytes(7425));
        }
    }
}
