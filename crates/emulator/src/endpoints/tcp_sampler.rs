//! Samples and congestion events of a flow from the `TCP_INFO` of its connections.

use std::sync::atomic::Ordering;

use cwndlab_linux::tcp_info::{TcpInfo, CA_CWR, CA_RECOVERY};
use cwndlab_records::rows::{EventRow, FindingRow, SampleRow};
use cwndlab_records::stall::{SenderProgress, Stall, StallWatch, INITIAL_RTO, MIN_RTO};
use cwndlab_units::{Duration, FlowId, Time};

use super::connection::{FlowInfo, FlowState};
use crate::counters::DropCounters;

/// The event at the end of a recovery or another reduction.
const RECOVERED: &str = "recovered";

/// The state of a flow's sampler between two reads.
#[derive(Clone, Debug, Default)]
pub struct TcpSampler {
    /// Entries into fast recovery.
    pub recoveries: u64,
    /// Reductions after an ECN echo (`TCP_CA_CWR`).
    pub ecn_reductions: u64,
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

/// The progress of a connection. The kernel does not report the timeout without its back-off: twice the smoothed RTT and
/// the minimum exceed it on paths whose delay varies little.
fn progress(number: u64, info: &TcpInfo, lost_packets: u64) -> SenderProgress {
    SenderProgress {
        connection: number,
        waiting: info.unacked > 0 || info.notsent.0 > 0,
        acked_bytes: info.counters.acked.0,
        sent_packets: info.counters.data_segments,
        timeouts: info.counters.timeouts,
        idle_acks: info.counters.segments_in,
        lost_packets,
        rto: (info.srtt.as_nanos() > 0).then(|| info.srtt * 2 + MIN_RTO),
    }
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
                let kinds = changes(before, info);
                self.recoveries += u64::from(kinds.contains(&"recovery"));
                self.ecn_reductions += u64::from(kinds.contains(&"ecn"));
                events.extend(kinds.into_iter().map(|kind| event(now, flow, kind, before, info)));
            }
        }
        self.has_info = true;
        (self.info, self.open) = (total, open);
    }

    /// Passes the last states of the open connections to their watches, on a path with this base RTT, in a run of this
    /// duration. `lost_packets`: data packets of the flow that the path lost.
    pub fn watch(&mut self, now: Time, lost_packets: u64, base_rtt: Duration, duration: Duration) {
        self.watches.retain(|(number, _)| self.open.iter().any(|(one, _)| one == number));
        for (number, info) in &self.open {
            let at = self.watches.iter().position(|(one, _)| one == number).unwrap_or_else(|| {
                let watch = StallWatch::new(now, INITIAL_RTO, Duration::ZERO, duration).on_path(base_rtt);
                self.watches.push((*number, watch));
                self.watches.len() - 1
            });
            let watch = &mut self.watches[at].1;
            watch.observe(now, progress(*number, info, lost_packets));
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
        let info = &self.info;
        let counters = self.info.counters;
        let losses = drops.get(flow);
        let in_flight = self.open.iter().map(|(_, one)| one.in_flight * one.mss.0).sum();
        let one = (!many).then_some(info);
        self.has_info.then(|| SampleRow {
            time_ns: time.as_nanos(),
            flow: flow.into(),
            cwnd_bytes: one.map(|info| info.cwnd * info.mss.0),
            ssthresh_bytes: one.and_then(|info| Some(info.ssthresh? * info.mss.0)),
            in_flight_bytes: Some(in_flight),
            srtt_ns: one.map(|info| info.srtt.as_nanos()).filter(|&srtt| srtt > 0),
            pacing_rate_bps: one.and_then(|info| info.pacing).map(|rate| rate.0),
            delivery_rate_bps: one.and_then(|info| info.delivery_rate).map(|rate| rate.0),
            delivered_bytes: state.delivered.load(Ordering::Relaxed),
            sent_bytes: counters.sent.0,
            retransmitted_bytes: counters.retransmitted.0,
            retransmitted_packets: counters.retransmitted_segments,
            congestion_events: self.recoveries + self.ecn_reductions + counters.timeouts,
            timeouts: counters.timeouts,
            queue_drops: losses.queue,
            wire_losses: losses.wire,
            rtt_sum_ns: Some(self.rtt_sum),
            rtt_count: self.rtt_count,
            state: one.map_or(0, |info| info.ca_state),
            ..SampleRow::default()
        })
    }
}

/// The smoothed RTT of a connection that received segments since the last read. A flow that pauses measures no RTT, which
/// would otherwise weigh as much as the RTTs of its active periods.
fn measured_rtt(before: Option<&TcpInfo>, info: &TcpInfo) -> Option<Duration> {
    let received = before.is_none_or(|before| info.counters.segments_in > before.counters.segments_in);
    (received && info.srtt.as_nanos() > 0).then_some(info.srtt)
}

/// The kinds of congestion events between two reads of a connection. A reduction is over in the states Open and Disorder,
/// which precede CWR, Recovery and Loss. One that began and ended between the reads is counted only after a timeout.
fn changes(before: &TcpInfo, info: &TcpInfo) -> Vec<&'static str> {
    let entered = |state: u8| info.ca_state == state && before.ca_state != state;
    let timed_out = info.counters.timeouts > before.counters.timeouts;
    let recovered = info.ca_state < CA_CWR && (before.ca_state >= CA_CWR || timed_out);
    let kinds =
        [(entered(CA_RECOVERY), "recovery"), (entered(CA_CWR), "ecn"), (timed_out, "timeout"), (recovered, RECOVERED)];
    kinds.into_iter().filter(|(happened, _)| *happened).map(|(_, kind)| kind).collect()
}

/// The row of an event between two reads of a connection. A reduction leads to the threshold, its end to the window.
fn event(now: Time, flow: FlowId, kind: &'static str, before: &TcpInfo, info: &TcpInfo) -> EventRow {
    let after = info.ssthresh.filter(|_| kind != RECOVERED).unwrap_or(info.cwnd);
    EventRow {
        time_ns: now.as_nanos(),
        flow: flow.into(),
        kind,
        cause: "kernel",
        cwnd_before_bytes: before.cwnd * before.mss.0,
        cwnd_after_bytes: after * info.mss.0,
        pipe_segments: None,
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_linux::tcp_info::TcpCounters;
    use cwndlab_units::Bytes;

    use super::*;

    /// `enum tcp_ca_state` of linux/tcp.h: Open 0, Disorder 1, CWR 2, Recovery 3, Loss 4. The event between each two reads
    /// in a row is that of docs/records.md, the window that of the later read.
    #[test]
    fn a_reduction_ends_when_the_state_returns_to_open_or_disorder() {
        let read = |(ca_state, timeouts, cwnd): (u8, u64, u64)| {
            let counters = TcpCounters { timeouts, ..TcpCounters::default() };
            TcpInfo { ca_state, cwnd, ssthresh: Some(5), mss: Bytes(1000), counters, ..TcpInfo::default() }
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
            let [before, info] = states.map(read);
            let found = changes(&before, &info);
            assert_eq!(found, kinds, "{states:?}");
            for kind in found {
                let row = event(Time::from_nanos(1), 0.into(), kind, &before, &info);
                let after = if kind == "recovered" { 7_000 } else { 5_000 };
                assert_eq!((row.cwnd_before_bytes, row.cwnd_after_bytes), (states[0].2 * 1000, after), "{states:?}");
            }
        }
    }

    /// By hand: reads at segments 1, 5, 5, 5 and 6, the first before an RTT sample, have two RTTs.
    #[test]
    fn a_pause_measures_no_rtt() {
        let read = |segments_in: u64, ms: u64| {
            let counters = TcpCounters { segments_in, ..TcpCounters::default() };
            TcpInfo { srtt: Duration::from_millis(ms), counters, ..TcpInfo::default() }
        };
        let reads = [read(1, 0), read(5, 40), read(5, 40), read(5, 40), read(6, 50)];
        let before = [None].into_iter().chain(reads.iter().map(Some));
        let measured: Vec<_> = before.zip(&reads).filter_map(|(before, info)| measured_rtt(before, info)).collect();
        assert_eq!(measured, [Duration::from_millis(40), Duration::from_millis(50)]);
    }
}
