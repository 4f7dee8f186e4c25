//! The state of a sender.

use cwndlab_units::{Duration, Outstanding, Rate, SenderState};

use super::Sender;

impl Sender {
    /// The state of the sender. Its threshold is that of the algorithm; [`ssthresh`](Self::ssthresh) is what the transport
    /// applies.
    #[allow(clippy::inline_always)] // a caller computes the quantities that it reads
    #[inline(always)]
    #[must_use]
    pub fn state(&self) -> SenderState {
        // The call comes first, so that no other value has to be kept meanwhile.
        let ssthresh = self.tcb.controller.algorithm().state(None).ssthresh.bytes();
        SenderState { ssthresh, ..self.state_without_threshold() }
    }

    /// The state of the sender without that of the algorithm: its threshold is `None`.
    #[allow(clippy::inline_always)] // a caller computes the quantities that it reads
    #[inline(always)]
    #[must_use]
    pub fn state_without_threshold(&self) -> SenderState {
        let tcb = &self.tcb;
        let board = &tcb.scoreboard;
        let rtt = &tcb.rtt;
        let sample = |duration: Duration| Some(duration).filter(|&one| one > Duration::ZERO);
        SenderState {
            waiting: self.established && !self.closed && !self.is_drained(),
            ca_state: Some(tcb.state),
            cwnd: tcb.controller.bytes(tcb.cwnd),
            ssthresh: None,
            in_flight: tcb.in_flight(),
            outstanding: Outstanding {
                unacked: board.flight_size(),
                sacked: if tcb.features.knows_pipe() { board.sacked } else { tcb.dupacks.delivered() },
                lost: board.lost,
                retrans: board.retrans,
            },
            reordering: tcb.rack.reordering(),
            reord_seen: u32::from(tcb.rack.reord_seen()),
            rtt: sample(rtt.last()),
            srtt: sample(rtt.srtt()),
            rttvar: rtt.rttvar(),
            min_rtt: sample(rtt.min_rtt()),
            rto: rtt.rto(),
            backoff: rtt.backoff(),
            pacing_rate: self.pacing_rate(),
            delivery_rate: Some(tcb.rate.rate()).filter(|&rate| rate > Rate::ZERO),
            unsent: tcb.send_buffer.unsent(),
            delivered: tcb.rate.delivered(),
            counters: tcb.counters,
        }
    }

    /// The slow-start threshold of the algorithm, or the one that the transport derives from congestion events, segments;
    /// `None` if it is unlimited.
    #[must_use]
    pub fn ssthresh(&self) -> Option<u32> {
        self.tcb.controller.ssthresh()
    }
}
