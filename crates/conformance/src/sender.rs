//! The parts of the modelled sender: send state, loss recovery, RTT, application and reports.

use cwndlab_control::Ack;
use cwndlab_units::{rto, Duration, Rate, Time};

use crate::path_model::PathModel;

/// The sent data, and the limits on sending.
#[derive(Clone, Debug)]
pub(crate) struct SendState {
    /// Sequence number of the next byte: SND.NXT (RFC 9293, section 3.3.1).
    pub(crate) next_seq: u64,
    /// FlightSize (RFC 5681, section 2).
    pub(crate) in_flight: u64,
    pub(crate) last_sent: Time,
    /// Earliest time of the next segment by pacing.
    pub(crate) next_send: Time,
    /// The window prevents the next segment.
    pub(crate) window_limited: bool,
}

impl SendState {
    pub(crate) fn new(now: Time) -> Self {
        Self { next_seq: 0, in_flight: 0, last_sent: now, next_send: Time::ZERO, window_limited: false }
    }

    /// Records the sending of `size` bytes; returns the sequence number of the first.
    pub(crate) fn send(&mut self, size: u64, now: Time) -> u64 {
        let seq = self.next_seq;
        self.next_seq += size;
        self.in_flight += size;
        self.last_sent = now;
        seq
    }

    /// Delays the next segment by the time of `size` bytes at this rate.
    pub(crate) fn pace(&mut self, size: u64, rate: Rate, now: Time) {
        let gap = (u128::from(size) * 8_000_000_000 / u128::from(rate.0.max(1))).min(1 << 50) as u64;
        self.next_send = now + Duration::from_nanos(gap);
    }
}

/// Loss recovery (RFC 6675) and the backoff of the RTO timer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    /// `RecoveryPoint`: data from this sequence number on were sent after the last reduction.
    point: u64,
    /// A recovery is in progress.
    pub(crate) active: bool,
    /// Number of timeouts since the last ACK.
    pub(crate) timeouts: u32,
}

impl Recovery {
    /// Starts a recovery after a reduction; with `restart` slow start begins again without a recovery.
    pub(crate) fn begin(&mut self, next_seq: u64, restart: bool) {
        self.point = next_seq;
        self.active = !restart;
    }

    /// Whether `seq` was sent after the last reduction.
    pub(crate) fn is_past(&self, seq: u64) -> bool {
        seq >= self.point
    }

    /// Processes the acknowledgement of the unit at `seq`.
    pub(crate) fn acknowledge(&mut self, seq: u64) {
        if self.is_past(seq) {
            self.active = false;
        }
    }
}

/// Smoothed and minimum RTT (RFC 6298; RFC 9002, section 5); zero before the first sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct RttEstimator {
    pub(crate) srtt: Duration,
    pub(crate) min_rtt: Duration,
}

impl RttEstimator {
    pub(crate) fn sample(&mut self, rtt: Duration) {
        let srtt = self.srtt;
        let min_rtt = self.min_rtt;
        self.srtt = if srtt == Duration::ZERO { rtt } else { srtt - srtt / 8 + rtt / 8 };
        self.min_rtt = if min_rtt == Duration::ZERO { rtt } else { min_rtt.min(rtt) };
    }

    /// The RTO after `timeouts` consecutive timeouts (RFC 6298, section 5.5).
    pub(crate) fn timeout(&self, timeouts: u32) -> Duration {
        let base = if self.srtt == Duration::ZERO { rto::INITIAL } else { self.idle_after() };
        Duration::from_nanos(base.as_nanos().saturating_mul(1 << timeouts.min(10))).min(rto::LINUX_MAX.max(base))
    }

    /// The pause after which a flow is idle.
    pub(crate) fn idle_after(&self) -> Duration {
        rto::LINUX_MIN.max(self.srtt * 2)
    }
}

/// The state of the application.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    /// Bytes written and not yet sent; the largest integer stands for unlimited data.
    pub(crate) unsent: u64,
    /// Time of the next write.
    pub(crate) next_write: Time,
}

impl Application {
    pub(crate) fn new(model: &PathModel, now: Time) -> Self {
        if model.bursts.is_some() {
            Self { unsent: 0, next_write: now }
        } else {
            Self { unsent: u64::MAX, next_write: Time::MAX }
        }
    }

    /// Writes `size` bytes and sets the time of the next write.
    pub(crate) fn write(&mut self, size: u64, next: Time) {
        self.next_write = next;
        self.unsent += size;
    }

    /// Removes `size` sent bytes.
    pub(crate) fn send(&mut self, size: u64) {
        if self.unsent != u64::MAX {
            self.unsent -= size;
        }
    }
}

/// The ACKs, which may be combined in reports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    /// Number of ACKs so far.
    pub(crate) acks: u64,
    pending: Option<Ack>,
    last: Time,
}

impl Reports {
    /// Combines an ACK with the pending ones; returns the time since the last report.
    pub(crate) fn join(&mut self, ack: Ack) -> Duration {
        let now = ack.now;
        self.pending = Some(match self.pending.take() {
            Some(first) => first.joined(&ack),
            None => ack,
        });
        now - self.last
    }

    /// Removes and returns the pending report.
    pub(crate) fn take(&mut self, now: Time) -> Option<Ack> {
        let ack = self.pending.take()?;
        self.last = now;
        Some(ack)
    }
}
