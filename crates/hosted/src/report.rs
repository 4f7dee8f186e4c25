//! What a stack reports about itself.

use cwndlab_units::{Duration, Rate};

macro_rules! values {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// A value that a stack may report whenever it changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Value {
            $($(#[$doc])* $name = $code,)*
        }

        impl Value {
            /// The value with this code.
            #[must_use]
            pub fn of(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

values! {
    /// Congestion window, bytes.
    Cwnd = 1,
    /// Slow-start threshold, bytes.
    Ssthresh = 2,
    /// In flight, bytes.
    InFlight = 3,
    /// Smoothed RTT, ns.
    SmoothedRtt = 4,
    /// A sample of the RTT, ns. Each report is a sample.
    Rtt = 5,
    /// Pacing rate, bit/s.
    PacingRate = 6,
    /// Packets declared lost, in total.
    LostPackets = 7,
    /// Congestion events, in total.
    CongestionEvents = 8,
    /// Payload declared lost, bytes, in total.
    LostBytes = 9,
    /// Expired probe or retransmission timers, in total.
    Timeouts = 10,
    /// Smallest RTT, ns, where it is not the smallest reported sample.
    MinRtt = 11,
    /// Loss probes, in total.
    LossProbes = 12,
}

/// What the stack at one end has reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackReport {
    /// Name and version of the stack.
    pub stack: String,
    /// Its congestion control.
    pub controller: String,
    /// Bytes that its application has received in order.
    pub delivered: u64,
    /// Congestion window, bytes.
    pub cwnd: Option<u64>,
    /// Slow-start threshold, bytes.
    pub ssthresh: Option<u64>,
    /// In flight, bytes.
    pub in_flight: Option<u64>,
    /// Smoothed RTT.
    pub srtt: Option<Duration>,
    /// The latest RTT sample.
    pub rtt: Option<Duration>,
    /// The smallest RTT sample.
    pub min_rtt: Option<Duration>,
    /// Sum of the RTT samples, ns.
    pub rtt_sum: u128,
    /// Number of RTT samples.
    pub rtt_count: u64,
    /// Pacing rate.
    pub pacing_rate: Option<Rate>,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Payload declared lost, bytes.
    pub lost_bytes: u64,
    /// Congestion events.
    pub congestion_events: u64,
    /// Expired probe or retransmission timers.
    pub timeouts: u64,
    /// Loss probes.
    pub loss_probes: u64,
}

impl StackReport {
    /// Sets a value.
    pub fn set(&mut self, value: Value, number: u64) {
        match value {
            Value::Cwnd => self.cwnd = Some(number),
            Value::Ssthresh => self.ssthresh = Some(number),
            Value::InFlight => self.in_flight = Some(number),
            Value::SmoothedRtt => self.srtt = Some(Duration::from_nanos(number)),
            Value::Rtt => {
                let sample = Duration::from_nanos(number);
                self.rtt = Some(sample);
                self.min_rtt = Some(self.min_rtt.map_or(sample, |least| least.min(sample)));
                self.rtt_sum += u128::from(number);
                self.rtt_count += 1;
            }
            Value::PacingRate => self.pacing_rate = Some(Rate(number)),
            Value::LostPackets => self.lost_packets = number,
            Value::LostBytes => self.lost_bytes = number,
            Value::CongestionEvents => self.congestion_events = number,
            Value::Timeouts => self.timeouts = number,
            Value::LossProbes => self.loss_probes = number,
            Value::MinRtt => self.min_rtt = Some(Duration::from_nanos(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: samples of 30, 10 and 20 ns.
    #[test]
    fn each_report_of_the_rtt_is_a_sample() {
        let mut report = StackReport::default();
        for sample in [30, 10, 20] {
            report.set(Value::Rtt, sample);
        }
        let nanos = |rtt: Option<Duration>| rtt.map(Duration::as_nanos);
        assert_eq!((nanos(report.rtt), nanos(report.min_rtt)), (Some(20), Some(10)));
        assert_eq!((report.rtt_sum, report.rtt_count), (60, 3));
    }
}
