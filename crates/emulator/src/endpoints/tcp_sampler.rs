//! Samples and congestion events of a flow from the `TCP_INFO` of its connections.

use std::sync::atomic::Ordering;

use cwndlab_linux::tcp_info::{TcpInfo, CA_CWR, CA_RECOVERY};
use cwndlab_records::rows::{EventRow, SampleRow};
use cwndlab_units::Time;

use super::connection::FlowState;
use crate::counters::DropCounters;

/// The state of a flow's sampler between two reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpSampler {
    /// Entries into fast recovery.
    pub recoveries: u64,
    /// Reductions after an ECN echo (`TCP_CA_CWR`).
    pub ecn_reductions: u64,
    /// Sum of the smoothed RTTs that were read, ns.
    pub rtt_sum: u64,
    /// Number of these RTTs.
    pub rtt_count: u64,
    /// The last state that was read.
    pub info: TcpInfo,
    has_info: bool,
}

impl TcpSampler {
    /// Reads the state of the flow, and appends the congestion events since the last read.
    pub fn update(&mut self, now: Time, flow: u32, state: &FlowState, events: &mut Vec<EventRow>) {
        let Some(info) = state.info() else { return };
        if info.srtt.0 > 0 {
            self.rtt_sum += info.srtt.0;
            self.rtt_count += 1;
        }
        if self.has_info {
            let entered = |state: u8| info.ca_state == state && self.info.ca_state != state;
            let (recovered, reduced) = (entered(CA_RECOVERY), entered(CA_CWR));
            let timed_out = info.counters.timeouts > self.info.counters.timeouts;
            self.recoveries += u64::from(recovered);
            self.ecn_reductions += u64::from(reduced);
            let kinds = [(recovered, "recovery"), (reduced, "ecn"), (timed_out, "timeout")];
            for (_, kind) in kinds.into_iter().filter(|(happened, _)| *happened) {
                events.push(EventRow {
                    time_ns: now.0,
                    flow,
                    kind,
                    cause: "kernel",
                    cwnd_before_bytes: self.info.cwnd * self.info.mss.0,
                    cwnd_after_bytes: info.ssthresh.unwrap_or(info.cwnd) * info.mss.0,
                    pipe_segments: None,
                });
            }
        }
        self.has_info = true;
        self.info = info;
    }

    /// A sample of the flow; `None` before the first connection.
    #[must_use]
    pub fn sample(&self, time: Time, flow: u32, state: &FlowState, drops: &DropCounters) -> Option<SampleRow> {
        let (info, counters, losses) = (&self.info, self.info.counters, drops.get(flow as usize));
        self.has_info.then(|| SampleRow {
            time_ns: time.0,
            flow,
            cwnd_bytes: Some(info.cwnd * info.mss.0),
            ssthresh_bytes: info.ssthresh.map(|segments| segments * info.mss.0),
            in_flight_bytes: Some(info.in_flight * info.mss.0),
            srtt_ns: Some(info.srtt.0).filter(|&srtt| srtt > 0),
            pacing_rate_bps: info.pacing.map(|rate| rate.0),
            delivery_rate_bps: info.delivery_rate.map(|rate| rate.0),
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
            state: info.ca_state,
            ..SampleRow::default()
        })
    }
}
