//! Columns of rows that the stacks of a hosted flow report.

use cwndlab_records::declaration::fitting;
use cwndlab_records::rows::{FlowRow, SampleRow};
use cwndlab_traffic::exchange::StackReport;
use cwndlab_units::Duration;

/// Sets what the stacks of sender and receiver have reported in the totals of their flow. Packets declared lost count as
/// retransmitted, since QUIC sends their content again in others.
pub fn set_totals(row: &mut FlowRow, [sender, receiver]: [&StackReport; 2]) {
    row.algorithm.clone_from(&sender.controller);
    row.profile.clone_from(&sender.stack);
    row.delivered_bytes = receiver.delivered;
    row.retransmitted_packets = sender.lost_packets;
    row.retransmitted_bytes = sender.lost_bytes;
    row.timeouts = sender.timeouts;
    row.loss_probes = sender.loss_probes;
    row.recoveries = sender.congestion_events;
    row.min_rtt_ns = sender.min_rtt.map(Duration::as_nanos);
    row.mean_rtt_ns = sender.rtt_sum.checked_div(u128::from(sender.rtt_count)).map(|mean| mean as u64);
}

/// Sets what the stacks of sender and receiver have reported in a sample of their flow.
pub fn set_sample(row: &mut SampleRow, [sender, receiver]: [&StackReport; 2]) {
    row.cwnd_bytes = sender.cwnd;
    row.ssthresh_bytes = sender.ssthresh;
    row.in_flight_bytes = sender.in_flight;
    row.srtt_ns = sender.srtt.map(Duration::as_nanos);
    row.rtt_ns = sender.rtt.map(Duration::as_nanos);
    row.pacing_rate_bps = sender.pacing_rate.map(|rate| rate.0);
    row.delivered_bytes = receiver.delivered;
    row.retransmitted_packets = sender.lost_packets;
    row.retransmitted_bytes = sender.lost_bytes;
    row.congestion_events = sender.congestion_events;
    row.timeouts = sender.timeouts;
    row.rtt_sum_ns = fitting(sender.rtt_sum);
    row.rtt_count = sender.rtt_count;
}
