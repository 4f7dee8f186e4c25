//! A snapshot of a sender's variables, under the names of Linux' `struct tcp_info` without the prefix.

use cwndlab_units::{Bytes, Duration};

use super::Sender;
use crate::state::State;

/// The variables of a sender, in segments where no other unit is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The congestion state.
    pub ca_state: State,
    /// The congestion window.
    pub snd_cwnd: u32,
    /// The slow-start threshold; `None` if it is unlimited.
    pub snd_ssthresh: Option<u32>,
    /// Segments between SND.UNA and SND.NXT.
    pub unacked: u32,
    /// SACKed segments; without SACK, those that duplicate ACKs report as delivered.
    pub sacked: u32,
    /// Segments marked lost.
    pub lost: u32,
    /// Outstanding retransmissions.
    pub retrans: u32,
    /// Retransmissions so far.
    pub total_retrans: u64,
    /// Degree of reordering.
    pub reordering: u32,
    /// Observations of reordering, at most 255.
    pub reord_seen: u8,
    /// The retransmission timeout, back-off included.
    pub rto: Duration,
    /// Smoothed RTT; zero before the first sample.
    pub rtt: Duration,
    /// RTT variance.
    pub rttvar: Duration,
    /// Minimum RTT of the last five minutes; zero before the first sample.
    pub min_rtt: Duration,
    /// Doublings of the timeout since the last RTT sample.
    pub backoff: u32,
    /// Data that the application wrote and the sender has not sent.
    pub notsent: Bytes,
    /// Data delivered.
    pub delivered: Bytes,
}

impl Sender {
    /// A snapshot of the variables.
    #[must_use]
    pub fn info(&self) -> Info {
        let tcb = &self.tcb;
        let board = &tcb.scoreboard;
        Info {
            ca_state: tcb.state,
            snd_cwnd: tcb.cwnd,
            snd_ssthresh: tcb.controller.ssthresh(),
            unacked: board.flight_size(),
            sacked: if tcb.features.sack { board.sacked } else { tcb.dupacks.delivered() },
            lost: board.lost,
            retrans: board.retrans,
            total_retrans: tcb.counters.retransmitted_packets,
            reordering: tcb.rack.reordering(),
            reord_seen: tcb.rack.reord_seen(),
            rto: tcb.rtt.rto(),
            rtt: tcb.rtt.srtt(),
            rttvar: tcb.rtt.rttvar(),
            min_rtt: tcb.rtt.min_rtt(),
            backoff: tcb.rtt.backoff(),
            notsent: tcb.send_buffer.unsent(),
            delivered: tcb.rate.delivered(),
        }
    }
}
