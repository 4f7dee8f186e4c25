//! What a sender's transport says of itself at one instant, in the same words for TCP and QUIC.

use std::net::TcpStream;
use std::os::fd::RawFd;

use cwndlab_linux::tcp_info::{TcpInfo, CLOSED};
use serde_json::{json, Value};

/// One look. Counters are those of the connection; what is not known is absent or zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Since the transfer began, ns.
    pub time_ns: u64,
    /// Window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold, where there is one.
    pub ssthresh_bytes: Option<u64>,
    /// In flight as the sender estimates it.
    pub in_flight_bytes: u64,
    /// Smoothed RTT.
    pub srtt_ns: u64,
    /// Smallest RTT.
    pub min_rtt_ns: Option<u64>,
    /// Pacing rate.
    pub pacing_rate_bps: Option<u64>,
    /// Last delivery-rate sample.
    pub delivery_rate_bps: Option<u64>,
    /// Acknowledged, what encrypts it included.
    pub acked_bytes: u64,
    /// Sent, retransmissions included.
    pub sent_bytes: u64,
    /// Sent again.
    pub retransmitted_bytes: u64,
    /// Packets with data sent, retransmissions included.
    pub sent_packets: u64,
    /// Packets sent again; over QUIC packets declared lost.
    pub retransmitted_packets: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// 0 open, 1 disorder, 2 cwr, 3 recovery, 4 loss.
    pub state: Option<u8>,
    /// Waiting in the send buffer.
    pub unsent_bytes: u64,
    /// There was something to send, ns.
    pub busy_ns: Option<u64>,
    /// The receiver's window held it back, ns.
    pub rwnd_limited_ns: Option<u64>,
    /// The send buffer held it back, ns.
    pub sndbuf_limited_ns: Option<u64>,
    /// Nothing is on its way any more.
    pub idle: bool,
    /// The connection is no more.
    pub closed: bool,
}

/// Names of the values of [`Look::row`], each with its unit.
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

impl Look {
    /// Linux' `TCP_INFO` of a socket.
    #[must_use]
    pub fn of_tcp(socket: RawFd, time_ns: u64) -> Option<Self> {
        TcpInfo::of(socket).map(|info| Self {
            time_ns,
            cwnd_bytes: info.cwnd * info.mss.0,
            ssthresh_bytes: info.ssthresh.map(|segments| segments * info.mss.0),
            in_flight_bytes: info.in_flight * info.mss.0,
            srtt_ns: info.srtt.0,
            min_rtt_ns: info.min_rtt.map(|rtt| rtt.0),
            pacing_rate_bps: info.pacing.map(|rate| rate.0),
            delivery_rate_bps: info.delivery_rate.map(|rate| rate.0),
            acked_bytes: info.counters.acked.0,
            sent_bytes: info.counters.sent.0,
            retransmitted_bytes: info.counters.retransmitted.0,
            sent_packets: info.counters.data_segments,
            retransmitted_packets: info.counters.retransmitted_segments,
            timeouts: info.counters.timeouts,
            state: Some(info.ca_state),
            unsent_bytes: info.notsent.0,
            busy_ns: Some(info.busy.total.0),
            rwnd_limited_ns: Some(info.busy.rwnd_limited.0),
            sndbuf_limited_ns: Some(info.busy.sndbuf_limited.0),
            idle: info.unacked == 0 && info.notsent.0 == 0,
            closed: info.state == CLOSED,
        })
    }

    /// With counters since `base`, so that a connection's second transfer begins at zero too.
    #[must_use]
    pub(crate) fn since(&self, base: &Self) -> Self {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            acked_bytes: self.acked_bytes.saturating_sub(base.acked_bytes),
            sent_bytes: self.sent_bytes.saturating_sub(base.sent_bytes),
            retransmitted_bytes: self.retransmitted_bytes.saturating_sub(base.retransmitted_bytes),
            sent_packets: self.sent_packets.saturating_sub(base.sent_packets),
            retransmitted_packets: self.retransmitted_packets.saturating_sub(base.retransmitted_packets),
            timeouts: self.timeouts.saturating_sub(base.timeouts),
            busy_ns: less(self.busy_ns, base.busy_ns),
            rwnd_limited_ns: less(self.rwnd_limited_ns, base.rwnd_limited_ns),
            sndbuf_limited_ns: less(self.sndbuf_limited_ns, base.sndbuf_limited_ns),
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
            self.busy_ns,
            self.rwnd_limited_ns,
            self.sndbuf_limited_ns,
        ])
    }

    /// The same as an object.
    #[must_use]
    pub fn object(&self) -> Value {
        let values = self.row();
        let pairs = COLUMNS.iter().zip(values.as_array().into_iter().flatten());
        Value::Object(pairs.map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }
}

/// Samples of one transfer, never more than `most`: when full, every other one goes and the interval doubles.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    most: usize,
    interval_ns: u64,
    next_ns: u64,
    rows: Vec<Look>,
}

impl Samples {
    pub(crate) fn new(most: usize, interval_ns: u64) -> Self {
        Self { most: most.max(2), interval_ns: interval_ns.max(1), next_ns: 0, rows: Vec::new() }
    }

    /// Keeps it where its time has come.
    pub(crate) fn offer(&mut self, look: Look) {
        if look.time_ns < self.next_ns {
            return;
        }
        if self.rows.len() == self.most {
            let mut index = 0;
            self.rows.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.interval_ns = self.interval_ns.saturating_mul(2);
        }
        self.next_ns = (look.time_ns / self.interval_ns + 1).saturating_mul(self.interval_ns);
        self.rows.push(look);
    }

    /// The last look is kept in any case.
    pub(crate) fn close(&mut self, last: &Look) {
        if self.rows.last().is_some_and(|look| look.time_ns < last.time_ns) {
            self.rows.push(last.clone());
        }
    }

    /// Gives back the room for samples that will not come.
    pub(crate) fn shrink(&mut self) {
        self.rows.shrink_to_fit();
    }

    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(Look::row).collect();
        json!({"interval_ns": self.interval_ns, "columns": COLUMNS, "rows": rows})
    }
}

/// A look at a socket of the standard library, for clients and tests.
#[must_use]
pub fn look(stream: &TcpStream) -> Option<Look> {
    use std::os::fd::AsRawFd;
    Look::of_tcp(stream.as_raw_fd(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_has_a_name() {
        assert_eq!(Look::default().row().as_array().unwrap().len(), COLUMNS.len());
        assert_eq!(Look { timeouts: 7, ..Look::default() }.object()["timeouts"], 7);
    }

    #[test]
    fn when_full_every_other_sample_goes_and_the_interval_doubles() {
        let mut samples = Samples::new(4, 10);
        for time_ns in (0..=70).step_by(10) {
            samples.offer(Look { time_ns, ..Look::default() });
        }
        let times: Vec<u64> = samples.rows.iter().map(|look| look.time_ns).collect();
        // 0 10 20 30 is full at 40: 0 20 40 60.
        assert_eq!(times, [0, 20, 40, 60]);
        assert_eq!(samples.interval_ns, 20);
    }

    proptest! {
        #[test]
        fn samples_stay_few_ordered_and_span_the_transfer(gaps in proptest::collection::vec(0u64..1000, 1..2000)) {
            let mut samples = Samples::new(16, 10);
            let mut now = 0;
            for gap in gaps {
                samples.offer(Look { time_ns: now, ..Look::default() });
                now += gap;
            }
            prop_assert!(samples.rows.len() <= 16);
            prop_assert_eq!(samples.rows[0].time_ns, 0);
            prop_assert!(samples.rows.windows(2).all(|pair| pair[0].time_ns < pair[1].time_ns));
        }
    }
}
