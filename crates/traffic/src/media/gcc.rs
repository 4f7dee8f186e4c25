//! GCC, Google's congestion control of WebRTC: the smaller of a rate by the trend of the delay and one by losses, with
//! probes (libwebrtc, `modules/congestion_controller/goog_cc` at bb9331c, June 2025; draft-ietf-rmcat-gcc-02 is older).
//!
//! - [`trend`]: groups of packets, the trend of their delay, and the detection of overuse;
//! - [`rate`]: throughput, and the rate by the delay;
//! - [`loss`]: the rate by losses, version 2;
//! - [`probe`]: probes at the start and while the application limits the rate.
//!
//! Left out: back-off by a propagation RTT of more than 3 s, bursts of the pacer, the probe after a large drop from which the
//! path recovers, padding other than that of probes, and the trials that are off by default. The first estimate is `min_rate`.

mod loss;
mod probe;
mod rate;
mod trend;

use cwndlab_units::{Bytes, Duration, Time};

use crate::media::feedback::Format;
use crate::media::rate_control::{Decision, Feedback, Parameters, RateControl, SentPacket};
use loss::LossControl;
use probe::Prober;
use rate::{DelayControl, Throughput};
use trend::{Trend, Usage};

/// Rate of the pacer over the target.
const PACING_FACTOR: f64 = 2.5;
/// RTT before the first measurement.
const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// The sender.
#[derive(Debug)]
pub(crate) struct Control {
    range: (f64, f64),
    trend: Trend,
    throughput: Throughput,
    delay: DelayControl,
    loss: LossControl,
    prober: Prober,
    rtt: Duration,
    target: f64,
}

impl Control {
    /// A sender at the smallest rate at the time `now`.
    pub(crate) fn new(parameters: &Parameters, now: Time) -> Self {
        let range = parameters.range;
        Self {
            range,
            trend: Trend::default(),
            throughput: Throughput::default(),
            delay: DelayControl::new(range),
            loss: LossControl::new(range),
            prober: Prober::new(range, now),
            rtt: DEFAULT_RTT,
            target: range.0,
        }
    }
}

impl RateControl for Control {
    fn format(&self) -> Format {
        Format::TransportWide
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.prober.on_sent(packet, self.target);
    }

    fn on_feedback(&mut self, feedback: &Feedback, now: Time) {
        self.rtt = feedback.rtt.unwrap_or(self.rtt);
        // The rate by the delay is that of arrivals: a report without any leaves it.
        let mut arrived: Vec<_> =
            feedback.packets.iter().filter_map(|one| Some((one.arrival?, one.sent, one.size))).collect();
        arrived.sort_by_key(|one| one.0);
        let has_arrivals = !arrived.is_empty();
        if has_arrivals {
            self.trend.on_report(now);
        }
        for (arrival, sent, size) in arrived {
            self.throughput.on_packet(sent, arrival, size);
            self.trend.on_packet(sent, arrival);
        }
        let acked = self.throughput.rate();
        let usage = self.trend.usage();
        let probed = self.prober.on_feedback(&feedback.packets, self.delay.target, acked);
        if has_arrivals {
            self.delay.update(usage, acked, probed, self.rtt, now);
        }
        let limited = self.prober.is_application_limited();
        self.loss.on_feedback(&feedback.packets, acked, limited, self.delay.target);
        self.target = self.loss.target(self.delay.target).clamp(self.range.0, self.range.1);
        let may_probe = usage == Usage::Normal && self.target >= self.delay.target;
        self.prober.schedule(now, self.target, may_probe);
    }

    fn decision(&self, _buffered: Bytes) -> Decision {
        Decision {
            target: self.target,
            pacing: PACING_FACTOR * self.target,
            window: None,
            probe: self.prober.current(),
        }
    }
}
