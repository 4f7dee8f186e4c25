//! The summary of one ACK: newly delivered data, RTT and rate samples, and flags for loss recovery.

use cwndlab_units::{Bytes, Duration, Time};

use crate::rate_sample::RateSample;
use crate::segment::{Run, Segment, EVER_RETRANS};
use crate::wire::AckPacket;

/// RTT samples of the segments that one ACK delivers; zero if there is none. Retransmitted segments give no sample
/// (Karn's algorithm).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RttSamples {
    /// RTTs of the oldest and of the newest segment acknowledged cumulatively.
    pub(crate) oldest: Duration,
    pub(crate) newest: Duration,
    /// RTTs of the oldest and of the newest segment newly SACKed.
    pub(crate) sacked_oldest: Duration,
    pub(crate) sacked_newest: Duration,
    /// The sample reported to the algorithm.
    pub(crate) reported: Duration,
}

/// The state derived from one ACK (Linux: the flags of tcp_ack, `struct tcp_sacktag_state` and `struct rate_sample`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckSummary {
    /// Newly delivered data and its rate sample.
    pub(crate) rate: RateSample,
    /// RTT samples.
    pub(crate) rtt: RttSamples,
    /// Next segment that the receiver expects.
    pub(crate) ack: u64,
    /// SND.UNA before this ACK.
    pub(crate) prior_una: u64,
    /// Timestamp echo; zero if there is none.
    pub(crate) echo: Time,
    /// One past the highest segment known to have arrived before this ACK.
    pub(crate) prior_fack: u64,
    /// Lowest segment that was sent once, not SACKed before, and is acknowledged cumulatively by this ACK; `u64::MAX`
    /// if there is none.
    pub(crate) lowest: u64,
    /// Lowest SACKed segment that a D-SACK reports, which shows reordering; `u64::MAX` if there is none.
    pub(crate) lowest_dsacked: u64,
    /// No segment was in flight before this ACK.
    pub(crate) was_idle: bool,
    /// It advances SND.UNA.
    pub(crate) advanced: bool,
    /// It carries SACK blocks.
    pub(crate) has_blocks: bool,
    /// It SACKs segments for the first time.
    pub(crate) sacked: bool,
    /// It carries a D-SACK that a retransmission may have caused.
    pub(crate) dsack: bool,
    /// The D-SACK reports the tail loss probe.
    pub(crate) tlp_dsack: bool,
    /// It echoes congestion (ECN).
    pub(crate) ece: bool,
    /// It changes the receive window.
    pub(crate) window_update: bool,
    /// It closes the receive window.
    pub(crate) zero_window: bool,
    /// It delivers a segment below `high_seq` that was never retransmitted (Linux, `FLAG_ORIG_SACK_ACKED`).
    pub(crate) original: bool,
    /// It acknowledges a retransmitted segment cumulatively (Linux, `FLAG_RETRANS_DATA_ACKED`).
    pub(crate) retransmitted: bool,
    /// The retransmission timer, or the probe timer, restarts (Linux, `FLAG_SET_XMIT_TIMER`).
    pub(crate) restart_timer: bool,
    /// A segment acknowledged cumulatively set RACK's RTT.
    pub(crate) rack_in_order: bool,
}

impl AckSummary {
    /// The summary of an ACK that arrives when SND.UNA is `prior_una`. The caller adds the deliveries.
    #[inline]
    pub(crate) fn new(ack: &AckPacket, prior_una: u64) -> Self {
        let advanced = ack.ack > prior_una;
        Self {
            ack: ack.ack,
            prior_una,
            echo: ack.echo,
            advanced,
            has_blocks: ack.blocks.len > 0,
            restart_timer: advanced,
            zero_window: ack.window == Bytes::ZERO,
            lowest: u64::MAX,
            lowest_dsacked: u64::MAX,
            ..Self::default()
        }
    }

    /// Whether the ACK is a duplicate, which only shows that a segment arrived (Linux, tcp_ack, `num_dupack`).
    pub(crate) fn is_duplicate_ack(&self) -> bool {
        !(self.advanced || self.window_update || self.zero_window || self.dsack)
    }

    /// Adds segments that were sent once and are acknowledged cumulatively.
    #[inline]
    pub(crate) fn note_acked(&mut self, now: Time, run: &Run, high_seq: u64) {
        let (oldest, newest) = rtts(now, run);
        if self.rtt.oldest == Duration::ZERO {
            self.rtt.oldest = oldest;
        }
        self.rtt.newest = newest;
        self.original |= run.first < high_seq;
        self.lowest = self.lowest.min(run.first);
    }

    /// Adds a newly SACKed segment.
    pub(crate) fn note_sacked(&mut self, now: Time, seq: u64, segment: &Segment, high_seq: u64) {
        self.sacked = true;
        if segment.flags & EVER_RETRANS == 0 {
            let rtt = sample(now, segment.sent_at);
            if self.rtt.sacked_oldest == Duration::ZERO {
                self.rtt.sacked_oldest = rtt;
            }
            self.rtt.sacked_newest = rtt;
            self.original |= seq < high_seq;
        }
    }
}

/// The RTTs of the first and of the last segment of a run that was sent once.
#[inline]
pub(crate) fn rtts(now: Time, run: &Run) -> (Duration, Duration) {
    (sample(now, run.first_sent_at), sample(now, run.last.sent_at))
}

/// An RTT sample of at least 1 ns, since zero means that there is none.
#[inline]
fn sample(now: Time, sent_at: Time) -> Duration {
    Duration::from_nanos((now - sent_at).as_nanos().max(1))
}
