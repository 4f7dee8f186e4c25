//! The state of a sender at one instant, with the same columns for TCP and QUIC.

#[cfg(unix)]
use std::os::fd::{AsRawFd, RawFd};

#[cfg(unix)]
use cwndlab_linux::tcp_info::{TcpInfo, CLOSED};
use cwndlab_units::{BusyTimes, Duration, SenderState};
use serde_json::{json, Value};

/// The state of a sender since the start of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Time since the transfer began, ns.
    pub time_ns: u64,
    /// The state of the sender. Acknowledged bytes include the overhead of encryption.
    pub sender: SenderState,
    /// Times for which the sender was busy or limited; only over TCP.
    pub busy: Option<BusyTimes>,
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
    #[cfg(unix)]
    #[must_use]
    pub fn of_tcp(socket: RawFd, time_ns: u64) -> Option<Self> {
        let TcpInfo { state, sender, busy, .. } = TcpInfo::read(socket)?;
        Some(Self { time_ns, sender, busy: Some(busy), closed: state == CLOSED })
    }

    /// The snapshot with counters relative to `base`, so that the counters of each transfer begin at zero.
    #[must_use]
    pub fn since(&self, base: &Self) -> Self {
        let busy = self.busy.zip(base.busy).map(|(now, then)| BusyTimes {
            total: now.total.saturating_sub(then.total),
            rwnd_limited: now.rwnd_limited.saturating_sub(then.rwnd_limited),
            sndbuf_limited: now.sndbuf_limited.saturating_sub(then.sndbuf_limited),
        });
        let counters = self.sender.counters.combined(&base.sender.counters, u64::saturating_sub);
        Self { sender: SenderState { counters, ..self.sender }, busy, ..self.clone() }
    }

    /// The values in the order of [`COLUMNS`].
    #[must_use]
    pub fn row(&self) -> Value {
        let SenderState { counters, .. } = self.sender;
        json!([
            self.time_ns,
            self.sender.cwnd.0,
            self.sender.ssthresh.map(|bytes| bytes.0),
            self.sender.in_flight.0,
            self.sender.srtt.unwrap_or_default().as_nanos(),
            self.sender.min_rtt.map(Duration::as_nanos),
            self.sender.pacing_rate.map(|rate| rate.0),
            self.sender.delivery_rate.map(|rate| rate.0),
            counters.acked_bytes,
            counters.sent_bytes,
            counters.retransmitted_bytes,
            counters.sent_packets,
            counters.retransmitted_packets,
            self.sender.ca_state.map(|_| counters.timeouts), // QUIC has neither
            self.sender.ca_state.map(|state| state as u8),
            self.sender.unsent.0,
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
pub struct Samples {
    max: usize,
    interval_ns: u64,
    next_ns: u64,
    rows: Vec<Snapshot>,
}

impl Samples {
    /// No samples yet.
    #[must_use]
    pub fn new(max: usize, interval_ns: u64) -> Self {
        Self { max: max.max(2), interval_ns: interval_ns.max(1), next_ns: 0, rows: Vec::new() }
    }

    /// Adds a sample if the next one is due.
    pub fn offer(&mut self, snapshot: Snapshot) {
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
    pub fn close(&mut self, last: &Snapshot) {
        if self.rows.last().is_some_and(|snapshot| snapshot.time_ns < last.time_ns) {
            self.rows.push(last.clone());
        }
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.rows.shrink_to_fit();
    }

    /// Interval, names of the columns, and rows.
    #[must_use]
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(Snapshot::row).collect();
        json!({"interval_ns": self.interval_ns, "columns": COLUMNS, "rows": rows})
    }
}

/// The state of a socket, where the system reports it.
#[cfg(unix)]
#[must_use]
pub fn of_stream(stream: &impl AsRawFd) -> Option<Snapshot> {
    Snapshot::of_tcp(stream.as_raw_fd(), 0)
}

/// The state of a socket, where the system reports it: since Windows 10 1703.
#[cfg(windows)]
#[must_use]
pub fn of_stream(stream: &impl std::os::windows::io::AsRawSocket) -> Option<Snapshot> {
    let info = cwndlab_windows::tcp_info::TcpInfo::read(stream.as_raw_socket())?;
    Some(Snapshot { sender: info.sender, closed: info.closed, ..Snapshot::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::CaState;
    use proptest::prelude::*;

    #[test]
    fn every_column_has_a_name() {
        assert_eq!(Snapshot::default().row().as_array().unwrap().len(), COLUMNS.len());
        let sender = SenderState { ca_state: Some(CaState::Open), ..SenderState::default() };
        let over_tcp = Snapshot { sender, ..Snapshot::default() };
        assert_eq!(over_tcp.object()["timeouts"], 0);
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
