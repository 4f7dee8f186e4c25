//! The state of a sender at one instant, with the same columns for TCP and QUIC.

use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};

use cwndlab_linux::tcp_info::{BusyTimes, TcpInfo, CLOSED};
use serde_json::{json, Value};

/// The state of a sender. Counters are of the connection; unknown values are absent or zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Time since the transfer began, ns.
    pub time_ns: u64,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold; `None` while it is infinite.
    pub ssthresh_bytes: Option<u64>,
    /// The sender's estimate of the bytes in flight.
    pub in_flight_bytes: u64,
    /// Smoothed RTT.
    pub srtt_ns: u64,
    /// Minimum RTT.
    pub min_rtt_ns: Option<u64>,
    /// Pacing rate.
    pub pacing_rate_bps: Option<u64>,
    /// Last delivery-rate sample.
    pub delivery_rate_bps: Option<u64>,
    /// Bytes acknowledged, the overhead of encryption included.
    pub acked_bytes: u64,
    /// Bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Bytes retransmitted.
    pub retransmitted_bytes: u64,
    /// Packets with data sent, retransmissions included.
    pub sent_packets: u64,
    /// Packets retransmitted; over QUIC packets declared lost.
    pub retransmitted_packets: u64,
    /// Expired retransmission timers; `None` over QUIC, where they are not reported.
    pub timeouts: Option<u64>,
    /// 0 open, 1 disorder, 2 cwr, 3 recovery, 4 loss.
    pub state: Option<u8>,
    /// Unsent bytes in the send buffer.
    pub unsent_bytes: u64,
    /// Times for which the sender was busy or limited; only over TCP.
    pub busy: Option<BusyTimes>,
    /// All data are acknowledged.
    pub idle: bool,
    /// The connection is closed.
    pub closed: bool,
}

/// Names of the columns of [`Snapshot::row`], each with its unit.
pub const COLUMNS: [&str; 19] = [
    "time_ns",
    "cwnd_bytes",
    "ssthresh_bytes",
    "in_flight_bytes",
    "srtt_ns",
    "min_rtt_ns",
    "pacing_rate_bps",
    "delivery_rate_bps",
    "acked_bytes",
    "sent_bytes",
    "retransmitted_bytes",
    "sent_packets",
    "retransmitted_packets",
    "timeouts",
    "state",
    "unsent_bytes",
    "busy_ns",
    "rwnd_limited_ns",
    "sndbuf_limited_ns",
];

impl Snapshot {
    /// The state of a socket, from Linux' `TCP_INFO`.
    #[must_use]
    pub fn of_tcp(socket: RawFd, time_ns: u64) -> Option<Self> {
        TcpInfo::read(socket).map(|info| Self {
            time_ns,
            cwnd_bytes: info.cwnd * info.mss.0,
            ssthresh_bytes: info.ssthresh.map(|segments| segments * info.mss.0),
            in_flight_bytes: info.in_flight * info.mss.0,
            srtt_ns: info.srtt.as_nanos(),
            min_rtt_ns: info.min_rtt.map(cwndlab_units::Duration::as_nanos),
            pacing_rate_bps: info.pacing.map(|rate| rate.0),
            delivery_rate_bps: info.delivery_rate.map(|rate| rate.0),
            acked_bytes: info.counters.acked.0,
            sent_bytes: info.counters.sent.0,
            retransmitted_bytes: info.counters.retransmitted.0,
            sent_packets: info.counters.data_segments,
            retransmitted_packets: info.counters.retransmitted_segments,
            timeouts: Some(info.counters.timeouts),
            state: Some(info.ca_state),
            unsent_bytes: info.notsent.0,
            busy: Some(info.busy),
            idle: info.unacked == 0 && info.notsent.0 == 0,
            closed: info.state == CLOSED,
        })
    }

    /// The snapshot with counters relative to `base`, so that the counters of each transfer begin at zero.
    #[must_use]
    pub(crate) fn since(&self, base: &Self) -> Self {
        let busy = self.busy.zip(base.busy).map(|(now, then)| BusyTimes {
            total: now.total.saturating_sub(then.total),
            rwnd_limited: now.rwnd_limited.saturating_sub(then.rwnd_limited),
            sndbuf_limited: now.sndbuf_limited.saturating_sub(then.sndbuf_limited),
        });
        Self {
            acked_bytes: self.acked_bytes.saturating_sub(base.acked_bytes),
            sent_bytes: self.sent_bytes.saturating_sub(base.sent_bytes),
            retransmitted_bytes: self.retransmitted_bytes.saturating_sub(base.retransmitted_bytes),
            sent_packets: self.sent_packets.saturating_sub(base.sent_packets),
            retransmitted_packets: self.retransmitted_packets.saturating_sub(base.retransmitted_packets),
            timeouts: self.timeouts.map(|count| count.saturating_sub(base.timeouts.unwrap_or(0))),
            busy,
            ..self.clone()
        }
    }

    /// The values in the order of [`COLUMNS`].
    #[must_use]
    pub fn row(&self) -> Value {
        json!([
            self.time_ns,
            self.cwnd_bytes,
            self.ssthresh_bytes,
            self.in_flight_bytes,
            self.srtt_ns,
            self.min_rtt_ns,
            self.pacing_rate_bps,
            self.delivery_rate_bps,
            self.acked_bytes,
            self.sent_bytes,
            self.retransmitted_bytes,
            self.sent_packets,
            self.retransmitted_packets,
            self.timeouts,
            self.state,
            self.unsent_bytes,
            self.busy.map(|busy| busy.total.as_nanos()),
            self.busy.map(|busy| busy.rwnd_limited.as_nanos()),
            self.busy.map(|busy| busy.sndbuf_limited.as_nanos()),
        ])
    }

    /// The columns as an object.
    #[must_use]
    pub fn object(&self) -> Value {
        let values = self.row();
        let pairs = COLUMNS.iter().zip(values.as_array().into_iter().flatten());
        Value::Object(pairs.map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }
}

/// Samples of a transfer, at most `max`: when full, every other sample is dropped and the interval doubles.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    max: usize,
    interval_ns: u64,
    next_ns: u64,
    rows: Vec<Snapshot>,
}

impl Samples {
    pub(crate) fn new(max: usize, interval_ns: u64) -> Self {
        Self { max: max.max(2), interval_ns: interval_ns.max(1), next_ns: 0, rows: Vec::new() }
    }

    /// Adds a sample if the next one is due.
    pub(crate) fn offer(&mut self, snapshot: Snapshot) {
        if snapshot.time_ns < self.next_ns {
            return;
        }
        if self.rows.len() == self.max {
            let mut index = 0;
            self.rows.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.interval_ns = self.interval_ns.saturating_mul(2);
        }
        self.next_ns = (snapshot.time_ns / self.interval_ns + 1).saturating_mul(self.interval_ns);
        self.rows.push(snapshot);
    }

    /// Adds the last sample, whether or not it is due.
    pub(crate) fn close(&mut self, last: &Snapshot) {
        if self.rows.last().is_some_and(|snapshot| snapshot.time_ns < last.time_ns) {
            self.rows.push(last.clone());
        }
    }

    /// Frees unused capacity.
    pub(crate) fn shrink(&mut self) {
        self.rows.shrink_to_fit();
    }

    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(Snapshot::row).collect();
        json!({"interval_ns": self.interval_ns, "columns": COLUMNS, "rows": rows})
    }
}

/// The state of a socket of the standard library.
#[must_use]
pub fn of_stream(stream: &TcpStream) -> Option<Snapshot> {
    Snapshot::of_tcp(stream.as_raw_fd(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_column_has_a_name() {
        assert_eq!(Snapshot::default().row().as_array().unwrap().len(), COLUMNS.len());
        assert_eq!(Snapshot { timeouts: Some(7), ..Snapshot::default() }.object()["timeouts"], 7);
        assert!(Snapshot::default().object()["timeouts"].is_null());
    }

    #[test]
    fn a_full_table_drops_every_other_sample_and_doubles_the_interval() {
        let mut samples = Samples::new(4, 10);
        for time_ns in (0..=70).step_by(10) {
            samples.offer(Snapshot { time_ns, ..Snapshot::default() });
        }
        let times: Vec<u64> = samples.rows.iter().map(|snapshot| snapshot.time_ns).collect();
        // The table 0, 10, 20, 30 is full at 40; then it becomes 0, 20, 40, 60.
        assert_eq!(times, [0, 20, 40, 60]);
        assert_eq!(samples.interval_ns, 20);
    }

    proptest! {
        #[test]
        fn samples_are_bounded_ordered_and_span_the_transfer(gaps in proptest::collection::vec(0u64..1000, 1..2000)) {
            let mut samples = Samples::new(16, 10);
            let mut now = 0;
            for gap in gaps {
                samples.offer(Snapshot { time_ns: now, ..Snapshot::default() });
                now += gap;
            }
            prop_assert!(samples.rows.len() <= 16);
            prop_assert_eq!(samples.rows[0].time_ns, 0);
            prop_assert!(samples.rows.windows(2).all(|pair| pair[0].time_ns < pair[1].time_ns));
        }
    }
}
