//! The counters and the backlog of a link at one time.

use cwndlab_records::rows::LinkSampleRow;
use cwndlab_scenario::plan::LinkPlan;
use cwndlab_units::{Duration, LinkId, Time};

/// Counters of a link so far, and its backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSnapshot {
    /// Packets offered.
    pub arrived: u64,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Packets lost by the wire.
    pub lost: u64,
    /// Packets marked CE.
    pub marked: u64,
    /// Packets whose last bit has left the line.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets in the queue.
    pub queue_packets: u64,
    /// Their bytes.
    pub queue_bytes: u64,
    /// Integral over time of the packets in the queue, ns.
    pub packet_ns: u128,
    /// Integral over time of their bytes, ns.
    pub byte_ns: u128,
    /// Bytes that the line could have carried; `None` where its rate does not vary.
    pub carriable_bytes: Option<u64>,
    /// Time for which the oldest packet of the queue has waited; `None` on a line of constant rate.
    pub age: Option<Duration>,
}

/// Converts an integral to the nearest float. Most integrals fit into 64 bits, for which the processor has an
/// instruction.
fn rounded(integral: u128) -> f64 {
    u64::try_from(integral).map_or_else(|_| rounded_long(integral), |short| short as f64)
}

/// Converts an integral of more than 64 bits. A separate function, because otherwise the compiler computes both
/// conversions.
#[cold]
#[inline(never)]
fn rounded_long(integral: u128) -> f64 {
    integral as f64
}

impl LinkSnapshot {
    /// The row of the table `link_samples` at `now`.
    #[must_use]
    pub fn row(&self, now: Time, link: LinkId) -> LinkSampleRow {
        LinkSampleRow {
            time_ns: now.as_nanos(),
            link: link.into(),
            queue_packets: self.queue_packets,
            queue_bytes: self.queue_bytes,
            arrived_packets: self.arrived,
            dropped_packets: self.dropped,
            lost_packets: self.lost,
            marked_packets: self.marked,
            sent_bytes: self.sent_bytes,
            queue_packet_ns: rounded(self.packet_ns),
            queue_byte_ns: rounded(self.byte_ns),
            carriable_bytes: self.carriable_bytes,
            queue_age_ns: self.age.map(Duration::as_nanos),
        }
    }

    /// Bytes sent as a share of the bytes that the line could carry in `span` ns.
    #[must_use]
    pub fn utilisation(&self, plan: &LinkPlan, span: f64) -> f64 {
        let Some(rate) = plan.rate else { return 0.0 };
        if !plan.varies() {
            return self.sent_bytes as f64 * 8e9 / (rate.0 as f64 * span);
        }
        // The utilisation of a line that never had a rate is zero.
        let carriable = self.carriable_bytes.filter(|&bytes| bytes > 0);
        carriable.map_or(0.0, |bytes| self.sent_bytes as f64 / bytes as f64)
    }
}
