//! What the log of a TCP sender without windows, such as a capture, shows of a transfer: handshake, progress, RTT,
//! retransmissions.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};
use serde_json::{json, Value};

use crate::event::{Event, Log, Remark, What, ORIGIN};

/// Rows at most.
const MAX_ROWS: u64 = 2000;
/// Names of the values of a row, with their units.
const COLUMNS: [&str; 9] = [
    "time_ns",
    "acked_bytes",
    "sent_bytes",
    "sent_packets",
    "retransmitted_bytes",
    "retransmitted_packets",
    "in_flight_bytes",
    "srtt_ns",
    "min_rtt_ns",
];

/// A segment that is not yet acknowledged.
struct Outstanding {
    end: u64,
    sent: Time,
    retransmitted: bool,
}

/// The state of the sender after an event.
#[derive(Default)]
struct Progress {
    first: Option<u64>,
    /// End of the data that was sent, and of that which is acknowledged.
    sent_end: u64,
    acked_end: u64,
    sent_bytes: u64,
    sent_packets: u64,
    retransmitted_bytes: u64,
    retransmitted_packets: u64,
    srtt_ns: Option<f64>,
    min_rtt_ns: Option<u64>,
    outstanding: VecDeque<Outstanding>,
}

impl Progress {
    fn send(&mut self, time: Time, seq: u64, bytes: u64) {
        let first = *self.first.get_or_insert(seq);
        let end = seq + bytes;
        self.acked_end = self.acked_end.max(first);
        self.sent_bytes += bytes;
        self.sent_packets += 1;
        if end > self.sent_end {
            self.outstanding.push_back(Outstanding { end, sent: time, retransmitted: false });
            self.sent_end = end;
        } else {
            self.retransmitted_bytes += bytes;
            self.retransmitted_packets += 1;
            for one in self.outstanding.iter_mut().filter(|one| one.end > seq && one.end <= end) {
                one.retransmitted = true;
            }
        }
    }

    /// A cumulative ACK. Without timestamps the RTT is that of the newest segment that it acknowledges, unless one of
    /// them was retransmitted (Karn's algorithm, RFC 6298, section 3).
    fn acknowledge(&mut self, time: Time, ack: u64, echo_rtt: Option<Duration>) {
        if ack <= self.acked_end {
            return;
        }
        self.acked_end = ack;
        let (mut newest, mut ambiguous) = (None, false);
        while let Some(one) = self.outstanding.front().filter(|one| one.end <= ack) {
            newest = Some(one.sent);
            ambiguous |= one.retransmitted;
            self.outstanding.pop_front();
        }
        let timed = newest.filter(|_| !ambiguous).map(|sent| time.saturating_since(sent));
        if let Some(rtt_ns) = echo_rtt.or(timed).map(Duration::as_nanos) {
            // RFC 6298, section 2.
            self.srtt_ns = Some(self.srtt_ns.map_or(rtt_ns as f64, |srtt| srtt + (rtt_ns as f64 - srtt) / 8.0));
            self.min_rtt_ns = Some(self.min_rtt_ns.map_or(rtt_ns, |least| least.min(rtt_ns)));
        }
    }

    /// The values in the order of [`COLUMNS`]. Data in flight is sent and not cumulatively acknowledged (FlightSize of
    /// RFC 5681).
    fn row(&self, since_start: Duration) -> Value {
        json!([
            since_start.as_nanos(),
            self.acked_end - self.first.unwrap_or(self.acked_end),
            self.sent_bytes,
            self.sent_packets,
            self.retransmitted_bytes,
            self.retransmitted_packets,
            self.sent_end.saturating_sub(self.acked_end),
            self.srtt_ns.map(|srtt| srtt as u64),
            self.min_rtt_ns,
        ])
    }
}

/// The samples of a transfer and its handshake, as JSON. Times count from the first packet, which was captured at
/// `origin_ms`.
#[must_use]
pub fn transfer(log: &Log) -> Value {
    let since = |time: Time| time.saturating_since(ORIGIN);
    let remark = |wanted| {
        let found = log.events.iter().find(|one| matches!(one.what, What::Remark { remark, .. } if remark == wanted));
        found.map(|one| since(one.time).as_nanos())
    };
    let last = log.events.last().map_or(Duration::ZERO, |one| since(one.time));
    let interval = Duration::from_nanos((last.as_nanos() / MAX_ROWS).max(1));
    let (mut progress, mut rows) = (Progress::default(), Vec::new());
    let (mut next, mut end) = (Duration::ZERO, Duration::ZERO);
    for Event { time, what } in &log.events {
        let at = since(*time);
        match what {
            What::Segment { seq, bytes, .. } => progress.send(*time, *seq, *bytes),
            What::TcpAck { ack, echo_rtt, .. } => {
                let before = progress.acked_end;
                progress.acknowledge(*time, *ack, *echo_rtt);
                if progress.acked_end > before {
                    end = at;
                }
                if at >= next {
                    next = at + interval;
                    rows.push(progress.row(at));
                }
            }
            _ => {}
        }
    }
    rows.push(progress.row(last));
    json!({
        "origin_ms": log.origin_ms,
        "connection": log.connection,
        "opened_ns": remark(Remark::Opened),
        "established_ns": remark(Remark::Established),
        "end_ns": end.as_nanos(),
        "interval_ns": interval.as_nanos(),
        "columns": COLUMNS,
        "rows": rows,
        "notes": log.notes,
    })
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Duration;

    use super::*;
    use crate::event::Protocol;

    fn log(events: Vec<(u64, What)>) -> Log {
        let event = |(ms, what)| Event { time: ORIGIN + Duration::from_millis(ms), what };
        Log {
            events: events.into_iter().map(event).collect(),
            protocol: Protocol::Tcp,
            windowless: true,
            begins_late: false,
            origin_ms: 5.0,
            connection: String::new(),
            notes: Vec::new(),
        }
    }

    fn segment(seq: u64) -> What {
        What::Segment { seq, bytes: 1000, stamp: None, cwr: false }
    }

    fn ack(ack: u64) -> What {
        What::TcpAck {
            ack,
            sack: Box::default(),
            ece: false,
            ace: None,
            echo: None,
            echo_rtt: None,
            rwnd: None,
            duplicates: false,
        }
    }

    /// By hand: the first segment takes 40 ms, the second is sent twice and gives no sample, the third takes 80 ms:
    /// 40 + (80 - 40) / 8 = 45 ms.
    #[test]
    fn retransmissions_are_counted_and_give_no_rtt_sample() {
        let handshake = |remark| What::Remark { remark, cwnd: (0, 0) };
        let found = transfer(&log(vec![
            (0, handshake(Remark::Opened)),
            (30, handshake(Remark::Established)),
            (30, segment(1)),
            (30, segment(1001)),
            (70, ack(1001)),
            (330, segment(1001)),
            (370, ack(2001)),
            (370, segment(2001)),
            (450, ack(3001)),
        ]));
        assert_eq!((&found["opened_ns"], &found["established_ns"]), (&json!(0), &json!(30_000_000)));
        let rows = found["rows"].as_array().unwrap();
        assert_eq!(rows[0], json!([70_000_000, 1000, 2000, 2, 0, 0, 1000, 40_000_000, 40_000_000]));
        assert_eq!(rows[1], json!([370_000_000, 2000, 3000, 3, 1000, 1, 0, 40_000_000, 40_000_000]));
        assert_eq!(rows[2], json!([450_000_000, 3000, 4000, 4, 1000, 1, 0, 45_000_000, 40_000_000]));
        assert_eq!(found["end_ns"], json!(450_000_000));
    }

    #[test]
    fn a_log_without_data_has_one_row_of_zeros() {
        let found = transfer(&log(vec![(0, ack(1))]));
        assert_eq!(found["rows"].as_array().unwrap().last().unwrap()[2], json!(0));
    }
}
