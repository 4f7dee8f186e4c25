//! A path in small: what its line, its application and its receiver are like, and what happens on it.

use cwndlab_units::{Duration, Time};

/// Milliseconds in nanoseconds.
pub(crate) const MS: u64 = 1_000_000;
/// Seconds in nanoseconds.
pub(crate) const S: u64 = 1_000_000_000;

/// The path, and what happens on it.
#[derive(Clone, Debug)]
pub(crate) struct PathModel {
    /// Of the line, bit/s.
    pub(crate) rate: u64,
    /// Round trip without a queue, ns.
    pub(crate) rtt: u64,
    /// Of the queue, bytes.
    pub(crate) buffer: u64,
    /// Segments that one ACK acknowledges.
    pub(crate) unit: u64,
    /// ACKs into which such an acknowledgement is divided.
    pub(crate) split: u64,
    /// Bytes in the queue from which on packets are marked.
    pub(crate) mark_above: Option<u64>,
    /// One packet in so many is lost on the line.
    pub(crate) loss_one_in: Option<u64>,
    /// Everything sent between these times is lost.
    pub(crate) outages: Vec<(u64, u64)>,
    /// From a time on the round trip without a queue is another.
    pub(crate) shifts: Vec<(u64, u64)>,
    /// ACKs give RTT samples; without them Karn's rule has the word.
    pub(crate) samples: bool,
    /// The handshake gave one.
    pub(crate) handshake: bool,
    /// The application writes so many bytes every so many ns; `None`: always enough.
    pub(crate) bursts: Option<(u64, u64)>,
    /// An idle flow restarts with the initial window.
    pub(crate) idle_restart: bool,
    /// A loss restarts slow start.
    pub(crate) tahoe: bool,
    /// ACKs are reported together, at most one report per so many ns.
    pub(crate) report_every: u64,
    /// What routers write, as a share of the line's rate in percent.
    pub(crate) feedback: Option<u64>,
    /// Once in so many ACKs something uncalled-for happens.
    pub(crate) anomaly: Option<u64>,
    /// It ends after so many ACKs…
    pub(crate) acks: u64,
    /// … or at this time.
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

    /// A loss with more than this in flight means that a standing queue ran over.
    pub(crate) fn overflow_above(&self) -> u64 {
        // With loss, blackouts and anomalies a loss says nothing; nor does it where the queue is too short to stand.
        let clean = self.loss_one_in.is_none() && self.outages.is_empty() && self.anomaly.is_none();
        let queues = clean && !self.tahoe && self.shifts.is_empty() && 2 * self.buffer >= self.bdp();
        if queues {
            self.bdp() + self.buffer / 4 * 3
        } else {
            u64::MAX
        }
    }

    /// Whether everything sent now is lost.
    pub(crate) fn is_out(&self, now: Time) -> bool {
        self.outages.iter().any(|(from, to)| (*from..*to).contains(&now.0))
    }

    /// The round trip without a queue of what is sent now.
    pub(crate) fn rtt_at(&self, now: Time) -> Duration {
        Duration(self.shifts.iter().rev().find(|(from, _)| *from <= now.0).map_or(self.rtt, |(_, rtt)| *rtt))
    }
}
