//! What the events of s2n-quic show of a sender.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cwndlab_stack::{Answer, Value};
use s2n_quic::provider::event::events::{ConnectionInfo, PacingRateUpdated, PacketLost, RecoveryMetrics};
use s2n_quic::provider::event::{ConnectionMeta, Subscriber};

/// The values after the last event.
#[derive(Debug, Default)]
pub struct Values {
    cwnd: u64,
    in_flight: u64,
    smoothed: Duration,
    least: Duration,
    samples: Vec<Duration>,
    latest: Duration,
    pacing_bytes_per_s: u64,
    lost: (u64, u64),
}

impl Values {
    /// Reports what there is.
    pub fn report(&mut self, answer: &mut Answer) {
        for sample in self.samples.drain(..) {
            answer.value(Value::Rtt, sample.as_nanos() as u64);
        }
        if self.cwnd > 0 {
            answer.value(Value::Cwnd, self.cwnd);
            answer.value(Value::InFlight, self.in_flight);
            answer.value(Value::SmoothedRtt, self.smoothed.as_nanos() as u64);
            answer.value(Value::MinRtt, self.least.as_nanos() as u64);
        }
        if self.pacing_bytes_per_s > 0 {
            answer.value(Value::PacingRate, self.pacing_bytes_per_s.saturating_mul(8));
        }
        answer.value(Value::LostPackets, self.lost.0);
        answer.value(Value::LostBytes, self.lost.1);
    }
}

/// A subscriber that writes to the values.
pub struct Watch(pub Arc<Mutex<Values>>);

impl Watch {
    fn with(&self, act: impl FnOnce(&mut Values)) {
        act(&mut crate::lock(&self.0));
    }
}

impl Subscriber for Watch {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) {}

    fn on_packet_lost(&mut self, (): &mut (), _: &ConnectionMeta, event: &PacketLost) {
        if !event.is_mtu_probe {
            self.with(|values| {
                values.lost.0 += 1;
                values.lost.1 += u64::from(event.bytes_lost);
            });
        }
    }

    fn on_pacing_rate_updated(&mut self, (): &mut (), _: &ConnectionMeta, event: &PacingRateUpdated) {
        self.with(|values| values.pacing_bytes_per_s = event.bytes_per_second);
    }

    /// The event repeats the latest sample until the next one.
    fn on_recovery_metrics(&mut self, (): &mut (), _: &ConnectionMeta, event: &RecoveryMetrics) {
        self.with(|values| {
            values.cwnd = event.congestion_window.into();
            values.in_flight = event.bytes_in_flight.into();
            values.smoothed = event.smoothed_rtt;
            values.least = event.min_rtt;
            if event.latest_rtt != values.latest {
                values.latest = event.latest_rtt;
                values.samples.push(event.latest_rtt);
            }
        });
    }
}
