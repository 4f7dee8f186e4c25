//! The fields of `struct tcp_info` that the transport knows.

use std::collections::BTreeMap;

use cwndlab_transport::sender::Sender;
use cwndlab_units::Duration;

use super::handshake::Negotiated;

/// `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;

/// The names of all fields.
pub(crate) const FIELDS: [&str; 19] = [
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
];

/// The values of all fields.
pub(super) fn values(sender: &Sender, negotiated: &Negotiated) -> BTreeMap<&'static str, i64> {
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
    FIELDS.into_iter().zip(values).collect()
}
