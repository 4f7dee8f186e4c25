//! The fields of `struct tcp_info` that the transport knows.

use std::collections::BTreeMap;

use cwndlab_transport::accecn::MarkTotals;
use cwndlab_units::Duration;

use super::connection::Connection;

/// `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;

/// The names of all fields.
pub(crate) const FIELDS: [&str; 27] = [
    "tcpi_ca_state",
    "tcpi_snd_cwnd",
    "tcpi_snd_ssthresh",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_total_retrans",
    "tcpi_reordering",
    "tcpi_reord_seen",
    "tcpi_rto",
    "tcpi_rtt",
    "tcpi_rttvar",
    "tcpi_min_rtt",
    "tcpi_backoff",
    "tcpi_notsent_bytes",
    "tcpi_delivered",
    "tcpi_snd_mss",
    "tcpi_advmss",
    "tcpi_delivered_ce",
    "tcpi_delivered_ce_bytes",
    "tcpi_delivered_e0_bytes",
    "tcpi_delivered_e1_bytes",
    "tcpi_received_ce",
    "tcpi_received_ce_bytes",
    "tcpi_received_e0_bytes",
    "tcpi_received_e1_bytes",
];

/// The values of all fields.
pub(super) fn values(connection: &Connection) -> BTreeMap<&'static str, i64> {
    let (sender, negotiated) = (&connection.sender, connection.negotiated());
    let state = sender.state();
    let micros = |time: Duration| (time.as_nanos() / 1000).cast_signed();
    let mss = negotiated.mss;
    let values = [
        state.ca_state.map_or(0, |state| state as i64),
        (state.cwnd.0 / mss).cast_signed(),
        sender.ssthresh().map_or(INFINITE_SSTHRESH, i64::from),
        i64::from(state.outstanding.unacked),
        i64::from(state.outstanding.sacked),
        i64::from(state.outstanding.lost),
        i64::from(state.outstanding.retrans),
        state.counters.retransmitted_packets.cast_signed(),
        i64::from(state.reordering),
        i64::from(state.reord_seen),
        micros(state.rto),
        micros(state.srtt.unwrap_or_default()),
        micros(state.rttvar),
        micros(state.min_rtt.unwrap_or_default()),
        i64::from(state.backoff),
        state.unsent.0.cast_signed(),
        state.delivered.0.div_ceil(mss).cast_signed() + 1, // with the SYN
        mss.cast_signed(),
        negotiated.announced_mss.cast_signed(),
    ];
    let marks = [connection.delivered_marks(), connection.received_marks()].into_iter().flat_map(counts);
    FIELDS.into_iter().zip(values.into_iter().chain(marks)).collect()
}

/// Packets with CE, and payload with CE, ECT(0) and ECT(1).
fn counts(marks: MarkTotals) -> [i64; 4] {
    [marks.packets, marks.bytes.ce, marks.bytes.ect0, marks.bytes.ect1].map(i64::from)
}
