//! The transmission control block (RFC 9293, section 3.3.1): the state shared by ACK processing, recovery and
//! transmission.

mod delivery;
mod reduction;
mod timing;
mod without_sack;

use std::sync::Arc;

use cwndlab_control::CongestionControl;
use cwndlab_units::{Bytes, CaState, SenderCounters};

use crate::ack_summary::AckSummary;
use crate::controller::Controller;
use crate::duplicate_acks::DuplicateAcks;
use crate::ecn::EcnEcho;
use crate::prr::Prr;
use crate::rack::Rack;
use crate::rate_sample::RateSampler;
use crate::rexmit::Rexmit;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::send_buffer::SendBuffer;
use crate::stack::{Rules, Stack};
use crate::timers::Timers;
use crate::undo::Undo;
use crate::wire::MAX_WINDOW;

/// Features that the loss recovery requires of the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    /// It evaluates SACK blocks.
    pub(crate) sack: bool,
    /// It detects losses by time (RACK) and uses tail loss probes.
    pub(crate) time_based: bool,
    /// Linux' rules apply where they differ from the RFCs (listed in docs/validity.md).
    pub(crate) linux: bool,
}

impl Features {
    /// The number of segments in flight is known: by SACK blocks, or under Linux' rules by duplicate ACKs.
    #[inline]
    pub(crate) fn knows_pipe(self) -> bool {
        self.sack || self.linux
    }
}

/// The transmission control block. Fields are in the order of use: with hundreds of connections the block is not in the
/// cache when an ACK arrives, and the cost is the number of cache lines used. Fields that are mainly used with losses
/// come last, preceded by those whose last part is.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Tcb {
    /// Shared by all connections with the same parameters, so that it stays in the cache.
    pub(crate) stack: Arc<Stack>,
    pub(crate) features: Features,
    pub(crate) state: CaState,
    pub(crate) rexmit: Rexmit,
    /// One segment marked lost is retransmitted regardless of the window (RFC 5681, section 3.2, step 2).
    pub(crate) force_retransmit: bool,
    pub(crate) ecn: EcnEcho,
    /// The congestion window, segments.
    pub(crate) cwnd: u32,
    /// The target window of a reduction, segments.
    pub(crate) ssthresh: u32,
    pub(crate) send_buffer: SendBuffer,
    pub(crate) rate: RateSampler,
    pub(crate) rtt: RttEstimator,
    pub(crate) rack: Rack,
    pub(crate) timers: Timers,
    pub(crate) counters: SenderCounters,
    pub(crate) controller: Controller,
    pub(crate) scoreboard: Scoreboard,
    /// SND.NXT when the current state began (Linux, `tp->high_seq`).
    pub(crate) high_seq: u64,
    pub(crate) dupacks: DuplicateAcks,
    pub(crate) prr: Prr,
    pub(crate) undo: Undo,
}

impl Tcb {
    /// The block before the handshake.
    pub(crate) fn new(algorithm: Box<dyn CongestionControl>, features: Features, stack: &Arc<Stack>) -> Self {
        let mss = stack.mss.0 as u32;
        let cwnd = (algorithm.cwnd().0 / u64::from(mss)).clamp(1, MAX_WINDOW) as u32;
        let first = stack.first_segment;
        let linux = stack.rules == Rules::Linux;
        Self {
            stack: Arc::clone(stack),
            features,
            state: CaState::Open,
            rexmit: Rexmit::Lost,
            force_retransmit: false,
            ecn: EcnEcho::default(),
            cwnd,
            ssthresh: cwnd,
            send_buffer: SendBuffer::new(mss, linux),
            rate: if linux { RateSampler::counting_packets(mss) } else { RateSampler::default() },
            rtt: RttEstimator::new(stack),
            rack: Rack::new(stack.dup_thresh, features.linux),
            timers: Timers::new(stack.tail_loss_probe && features.time_based && features.sack, stack.tick()),
            counters: SenderCounters::default(),
            controller: Controller::new(algorithm, mss),
            scoreboard: if features.time_based {
                Scoreboard::time_based(first, features.linux)
            } else {
                Scoreboard::new(first)
            },
            high_seq: 0,
            dupacks: DuplicateAcks::default(),
            prr: Prr::default(),
            undo: Undo::new(),
        }
    }

    /// Whether the algorithm sets the window during this recovery. It cannot if the pipe is unknown.
    #[inline]
    pub(crate) fn algorithm_owns_cwnd(&self) -> bool {
        self.features.knows_pipe() && (self.controller.is_model_based() || self.controller.owns_recovery())
    }

    /// Whether `cwnd` is below the slow-start threshold divided by `part`.
    #[inline]
    pub(crate) fn is_below_ssthresh(&self, part: u64) -> bool {
        self.controller.is_below_ssthresh(self.cwnd, part)
    }

    /// Sets `cwnd` to the algorithm's window, except during a reduction by the transport.
    #[inline]
    pub(crate) fn sync_cwnd(&mut self) {
        if !self.state.is_reducing() || self.algorithm_owns_cwnd() {
            self.adopt_cwnd();
        }
    }

    /// Sets `cwnd` to the algorithm's window.
    #[inline]
    pub(crate) fn adopt_cwnd(&mut self) {
        self.cwnd = self.controller.window_near(self.cwnd);
    }

    /// Whether the window may grow after this ACK, outside of reductions: if it advances SND.UNA, or delivers data on a
    /// path with a high degree of reordering (Linux, tcp_may_raise_cwnd).
    #[inline]
    pub(crate) fn may_raise_cwnd(&self, summary: &AckSummary) -> bool {
        if summary.advanced {
            return true;
        }
        if self.features.linux {
            return summary.sacked && self.rack.reorders_beyond(self.stack.dup_thresh);
        }
        self.state == CaState::Loss && self.scoreboard.lost == 0
    }

    /// Whether the fast path is possible: there are no retransmissions, losses, SACKs, tail loss probe or ECN marks to
    /// process. The recovery adds its own conditions.
    pub(crate) fn allows_fast_path(&self) -> bool {
        self.state == CaState::Open
            && self.rexmit == Rexmit::Lost
            && !self.force_retransmit
            && self.timers.tlp_end_seq.is_none()
            && self.scoreboard.is_untouched()
            && !self.controller.has_unreported_losses()
            && !self.ecn.has_marks()
    }

    /// Payload of a full segment.
    #[inline]
    pub(crate) fn mss(&self) -> u32 {
        self.controller.mss()
    }

    /// Data between SND.UNA and SND.NXT (RFC 5681, FlightSize).
    #[inline]
    pub(crate) fn flight_size(&self) -> Bytes {
        self.controller.bytes(self.scoreboard.flight_size())
    }

    /// Data in flight (RFC 6675, pipe).
    #[inline]
    pub(crate) fn in_flight(&self) -> Bytes {
        self.controller.bytes(self.scoreboard.in_flight())
    }
}
