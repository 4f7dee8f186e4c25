//! The parameters of the path model: line, application, receiver and disturbances.

use cwndlab_units::{Duration, Time};

/// Milliseconds in nanoseconds.
pub(crate) const MS: u64 = 1_000_000;
/// Seconds in nanoseconds.
pub(crate) const S: u64 = 1_000_000_000;

/// The parameters of a modelled path.
#[derive(Clone, Debug)]
pub(crate) struct PathModel {
    /// Rate of the line, bit/s.
    pub(crate) rate: u64,
    /// Base RTT, ns.
    pub(crate) rtt: u64,
    /// Capacity of the queue, bytes.
    pub(crate) buffer: u64,
    /// Segments per ACK.
    pub(crate) unit: u64,
    /// Number of ACKs into which each acknowledgement is divided.
    pub(crate) split: u64,
    /// Queue length above which packets are marked, bytes.
    pub(crate) mark_above: Option<u64>,
    /// Random loss of one packet in this number.
    pub(crate) loss_one_in: Option<u64>,
    /// Intervals in which all sent packets are lost, ns.
    pub(crate) outages: Vec<(u64, u64)>,
    /// Changes of the base RTT: time and new RTT, ns.
    pub(crate) shifts: Vec<(u64, u64)>,
    /// ACKs give RTT samples; otherwise Karn's algorithm discards all of them.
    pub(crate) samples: bool,
    /// The handshake gave an RTT sample.
    pub(crate) handshake: bool,
    /// Size in bytes and interval in ns of the application's writes; `None`: unlimited data.
    pub(crate) bursts: Option<(u64, u64)>,
    /// An idle flow restarts with the initial window.
    pub(crate) idle_restart: bool,
    /// A loss restarts slow start.
    pub(crate) tahoe: bool,
    /// Minimum time between reports of ACKs, ns; zero: a report per ACK.
    pub(crate) report_every: u64,
    /// Rate in router feedback, percent of the line's rate.
    pub(crate) feedback: Option<u64>,
    /// Mean number of ACKs between anomalies, which are unrelated to the state of the path.
    pub(crate) anomaly: Option<u64>,
    /// Maximum number of ACKs of the case.
    pub(crate) acks: u64,
    /// Maximum duration of the case, ns.
    pub(crate) until: u64,
}

impl Default for PathModel {
    /// 20 Mbit/s, 50 ms, a queue of one bandwidth-delay product: 85 segments of 1460 bytes.
    fn default() -> Self {
        Self {
            rate: 20_000_000,
            rtt: 50 * MS,
            buffer: 125_000,
            unit: 1,
            split: 1,
            mark_above: None,
            loss_one_in: None,
            outages: Vec::new(),
            shifts: Vec::new(),
            samples: true,
            handshake: true,
            bursts: None,
            idle_restart: true,
            tahoe: false,
            report_every: 0,
            feedback: None,
            anomaly: None,
            acks: 10_000,
            until: 100_000 * S,
        }
    }
}

impl PathModel {
    /// The bandwidth-delay product, bytes.
    pub(crate) fn bdp(&self) -> u64 {
        (u128::from(self.rate) * u128::from(self.rtt) / 8_000_000_000) as u64
    }

    /// Bytes in flight above which a loss indicates the overflow of a standing queue.
    pub(crate) fn overflow_above(&self) -> u64 {
        // With random loss, outages or anomalies, or a short queue, a loss does not indicate an overflow.
        let clean = self.loss_one_in.is_none() && self.outages.is_empty() && self.anomaly.is_none();
        let queues = clean && !self.tahoe && self.shifts.is_empty() && 2 * self.buffer >= self.bdp();
        if queues {
            self.bdp() + self.buffer / 4 * 3
        } else {
            u64::MAX
        }
    }

    /// Whether packets sent at `now` are lost by an outage.
    pub(crate) fn in_outage(&self, now: Time) -> bool {
        self.outages.iter().any(|(from, to)| (*from..*to).contains(&now.as_nanos()))
    }

    /// Base RTT of a packet sent at `now`.
    pub(crate) fn rtt_at(&self, now: Time) -> Duration {
        Duration::from_nanos(
            self.shifts.iter().rev().find(|(from, _)| *from <= now.as_nanos()).map_or(self.rtt, |(_, rtt)| *rtt),
        )
    }
}
