//! Samples and congestion events of a flow from the `TCP_INFO` of its connections.

use std::sync::atomic::Ordering;

use cwndlab_linux::tcp_info::TcpInfo;
use cwndlab_records::rows::{EventRow, FindingRow, SampleRow};
use cwndlab_records::stall::{SenderProgress, Stall, StallWatch};
use cwndlab_units::{rto, CaState, Duration, FlowId, SenderState, Time};

use super::connection::{FlowInfo, FlowState};
use crate::counters::DropCounters;

/// The event at the end of a recovery or another reduction.
const RECOVERED: &str = "recovered";

/// The state of a flow's sampler between two reads.
#[derive(Clone, Debug, Default)]
pub struct TcpSampler {
    /// Entries into fast recovery.
    recoveries: u64,
    /// Reductions after an ECN echo (`TCP_CA_CWR`).
    ecn_reductions: u64,
    /// Sum of the smoothed RTTs that were read, ns.
    pub rtt_sum: u64,
    /// Number of these RTTs.
    pub rtt_count: u64,
    /// The last state that was read: that of the newest connection, with counters over all.
    pub info: TcpInfo,
    /// The last states of the open connections, by number.
    open: Vec<(u64, TcpInfo)>,
    has_info: bool,
    /// The watches of the open connections, by number.
    watches: Vec<(u64, StallWatch)>,
    /// The longest stall of a connection.
    worst: Option<Stall>,
}

impl TcpSampler {
    /// Reads the state of the flow, and appends the congestion events since the last read.
    pub fn update(&mut self, now: Time, flow: FlowId, state: &FlowState, events: &mut Vec<EventRow>) {
        let Some(FlowInfo { total, open }) = state.info() else { return };
        for (number, info) in &open {
            let before = self.open.iter().find(|(one, _)| one == number).map(|(_, before)| *before);
            if let Some(rtt) = measured_rtt(before.as_ref(), info) {
                self.rtt_sum += rtt.as_nanos();
                self.rtt_count += 1;
            }
            if let Some(before) = &before {
                let kinds = changes(&before.sender, &info.sender);
                self.recoveries += u64::from(kinds.contains(&"recovery"));
                self.ecn_reductions += u64::from(kinds.contains(&"ecn"));
                events.extend(kinds.into_iter().map(|kind| event(now, flow, kind, &before.sender, &info.sender)));
            }
        }
        self.has_info = true;
        (self.info, self.open) = (total, open);
        let counters = &mut self.info.sender.counters;
        (counters.recoveries, counters.ecn_reductions) = (self.recoveries, self.ecn_reductions);
    }

    /// Passes the last states of the open connections to their watches, on a path with this base RTT, in a run of this
    /// duration. `lost_packets`: data packets of the flow that the path lost.
    pub fn watch(&mut self, now: Time, lost_packets: u64, base_rtt: Duration, duration: Duration) {
        self.watches.retain(|(number, _)| self.open.iter().any(|(one, _)| one == number));
        for (number, info) in &self.open {
            let at = self.watches.iter().position(|(one, _)| one == number).unwrap_or_else(|| {
                let watch = StallWatch::new(now, rto::INITIAL, Duration::ZERO, duration).on_path(base_rtt);
                self.watches.push((*number, watch));
                self.watches.len() - 1
            });
            let watch = &mut self.watches[at].1;
            let progress = SenderProgress::of(&info.sender, info.segments_in);
            watch.observe(now, SenderProgress { connection: *number, lost_packets, ..progress });
            self.worst = Stall::worse(self.worst, watch.worst());
        }
    }

    /// The finding on the flow, if a connection stopped.
    #[must_use]
    pub fn finding(&self, flow: FlowId, name: &str) -> Option<FindingRow> {
        self.worst.map(|stall| stall.finding(flow, name))
    }

    /// A sample of the flow; `None` before the first connection. Values of one connection, such as the window, are absent
    /// where the flow has `many` at a time.
    #[must_use]
    pub fn sample(
        &self,
        time: Time,
        flow: FlowId,
        many: bool,
        state: &FlowState,
        drops: &DropCounters,
    ) -> Option<SampleRow> {
        if !self.has_info {
            return None;
        }
        let losses = drops.get(flow);
        let mut row = SampleRow { time_ns: time.as_nanos(), flow: flow.into(), ..SampleRow::default() };
        if !many {
            row.set_sender(&self.info.sender);
        }
        row.set_counters(&self.info.sender.counters);
        Some(SampleRow {
            in_flight_bytes: Some(self.open.iter().map(|(_, one)| one.sender.in_flight.0).sum()),
            delivered_bytes: state.delivered.load(Ordering::Relaxed),
            queue_drops: losses.queue,
            wire_losses: losses.wire,
            rtt_sum_ns: Some(self.rtt_sum),
            rtt_count: self.rtt_count,
            ..row
        })
    }
}

/// The smoothed RTT of a connection that received segments since the last read. A flow that pauses measures no RTT, which
/// would otherwise weigh as much as the RTTs of its active periods.
fn measured_rtt(before: Option<&TcpInfo>, info: &TcpInfo) -> Option<Duration> {
    let received = before.is_none_or(|before| info.segments_in > before.segments_in);
    info.sender.srtt.filter(|_| received)
}

/// The kinds of congestion events between two reads of a connection. A reduction is over in the states Open and Disorder,
/// which precede CWR, Recovery and Loss. One that began and ended between the reads is counted only after a timeout.
fn changes(before: &SenderState, after: &SenderState) -> Vec<&'static str> {
    let [old, new] = [before, after].map(|sender| sender.ca_state.unwrap_or_default());
    let entered = |state: CaState| new == state && old != state;
    let timed_out = after.counters.timeouts > before.counters.timeouts;
    let recovered = new < CaState::Cwr && (old >= CaState::Cwr || timed_out);
    let kinds = [
        (entered(CaState::Recovery), "recovery"),
        (entered(CaState::Cwr), "ecn"),
        (timed_out, "timeout"),
        (recovered, RECOVERED),
    ];
    kinds.into_iter().filter(|(happened, _)| *happened).map(|(_, kind)| kind).collect()
}

/// The row of an event between two reads of a connection. A reduction leads to the threshold, its end to the window.
fn event(now: Time, flow: FlowId, kind: &'static str, before: &SenderState, after: &SenderState) -> EventRow {
    EventRow {
        time_ns: now.as_nanos(),
        flow: flow.into(),
        kind,
        cause: "kernel",
        cwnd_before_bytes: before.cwnd.0,
        cwnd_after_bytes: after.ssthresh.filter(|_| kind != RECOVERED).unwrap_or(after.cwnd).0,
        pipe_segments: None,
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::{Bytes, SenderCounters};

    use super::*;

    /// `enum tcp_ca_state` of linux/tcp.h: Open 0, Disorder 1, CWR 2, Recovery 3, Loss 4. The event between each two reads
    /// in a row is that of docs/records.md, the window that of the later read.
    #[test]
    fn a_reduction_ends_when_the_state_returns_to_open_or_disorder() {
        let read = |(ca_state, timeouts, cwnd): (u8, u64, u64)| {
            let ca_state = Some(CaState::from_number(ca_state));
            let counters = SenderCounters { timeouts, ..SenderCounters::default() };
            let ssthresh = Some(Bytes(5000));
            SenderState { ca_state, cwnd: Bytes(1000 * cwnd), ssthresh, counters, ..SenderState::default() }
        };
        for (states, kinds) in [
            ([(0, 0, 10), (3, 0, 8)], &["recovery"][..]),
            ([(3, 0, 8), (3, 0, 6)], &[]),
            ([(3, 0, 6), (0, 0, 7)], &["recovered"]),
            ([(2, 0, 6), (1, 0, 7)], &["recovered"]),
            ([(2, 0, 6), (3, 0, 7)], &["recovery"]),
            ([(3, 0, 6), (4, 1, 1)], &["timeout"]),
            ([(4, 1, 4), (1, 1, 7)], &["recovered"]),
            ([(0, 1, 9), (0, 2, 7)], &["timeout", "recovered"]),
            ([(1, 0, 9), (0, 0, 9)], &[]),
        ] {
            let [before, after] = states.map(read);
            let found = changes(&before, &after);
            assert_eq!(found, kinds, "{states:?}");
            for kind in found {
                let row = event(Time::from_nanos(1), 0.into(), kind, &before, &after);
                let cwnd = if kind == "recovered" { 7_000 } else { 5_000 };
                assert_eq!((row.cwnd_before_bytes, row.cwnd_after_bytes), (states[0].2 * 1000, cwnd), "{states:?}");
            }
        }
    }

    /// By hand: reads at segments 1, 5, 5, 5 and 6, the first before an RTT sample, have two RTTs.
    #[test]
    fn a_pause_measures_no_rtt() {
        let read = |segments_in: u64, ms: u64| {
            let srtt = Some(Duration::from_millis(ms)).filter(|_| ms > 0);
            TcpInfo { sender: SenderState { srtt, ..SenderState::default() }, segments_in, ..TcpInfo::default() }
        };
        let reads = [read(1, 0), read(5, 40), read(5, 40), read(5, 40), read(6, 50)];
        let before = [None].into_iter().chain(reads.iter().map(Some));
        let measured: Vec<_> = before.zip(&reads).filter_map(|(before, info)| measured_rtt(before, info)).collect();
        assert_eq!(measured, [Duration::from_millis(40), Duration::from_millis(50)]);
    }
}
