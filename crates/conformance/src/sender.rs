//! The parts of the modelled sender: send state, loss recovery, RTT, delivery rate, rounds, application and reports.

use cwndlab_control::{Ack, DeliveryRate};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::path_model::{PathModel, MS, S};

/// Minimum RTO of Linux.
const MIN_RTO: Duration = Duration(200 * MS);
/// Maximum RTO of Linux.
const MAX_RTO: Duration = Duration(120 * S);

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
        self.next_send = now + Duration(gap);
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
        let (srtt, min_rtt) = (self.srtt, self.min_rtt);
        self.srtt = if srtt == Duration::ZERO { rtt } else { srtt - srtt / 8 + rtt / 8 };
        self.min_rtt = if min_rtt == Duration::ZERO { rtt } else { min_rtt.min(rtt) };
    }

    /// The RTO after `timeouts` consecutive timeouts (RFC 6298, section 5.5).
    pub(crate) fn timeout(&self, timeouts: u32) -> Duration {
        let base = if self.srtt == Duration::ZERO { Duration(S) } else { self.idle_after() };
        Duration(base.0.saturating_mul(1 << timeouts.min(10))).min(MAX_RTO.max(base))
    }

    /// The pause after which a flow is idle.
    pub(crate) fn idle_after(&self) -> Duration {
        MIN_RTO.max(self.srtt * 2)
    }
}

/// The delivery state at the sending of a segment, as in `tcp_rate_skb_sent` of Linux.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) sent: Time,
    pub(crate) app_limited: bool,
    pub(crate) delivered: u64,
    delivered_at: Time,
    first_sent: Time,
}

/// Delivery-rate estimation as in `tcp_rate.c` of Linux.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryEstimator {
    pub(crate) delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Number of delivered bytes up to which the flow is application-limited; zero: not application-limited.
    app_limited_until: u64,
}

impl DeliveryEstimator {
    pub(crate) fn new(now: Time) -> Self {
        Self { delivered: 0, delivered_at: now, first_sent: now, app_limited_until: 0 }
    }

    /// Starts a flight after no data were in flight.
    pub(crate) fn begin_flight(&mut self, now: Time) {
        (self.first_sent, self.delivered_at) = (now, now);
    }

    /// Marks the flow as application-limited until the data in flight are delivered (Linux,
    /// `tcp_rate_check_app_limited`).
    pub(crate) fn limit_by_application(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// The delivery state for a segment sent at `now`.
    pub(crate) fn depart(&self, now: Time) -> Departure {
        Departure {
            sent: now,
            app_limited: self.is_app_limited(),
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        }
    }

    /// Processes the acknowledgement of `size` bytes sent in the state `departure`.
    pub(crate) fn deliver(&mut self, size: u64, departure: &Departure, now: Time) {
        self.delivered += size;
        self.delivered_at = now;
        self.first_sent = departure.sent;
        if self.is_app_limited() && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
    }

    /// The rate sample of an ACK; `None` for an interval below the minimum RTT (Linux, `tcp_rate_gen`).
    pub(crate) fn sample(&self, departure: &Departure, min_rtt: Duration, now: Time) -> Option<DeliveryRate> {
        let delivered = Bytes(self.delivered - departure.delivered);
        let interval = (departure.sent - departure.first_sent).max(now - departure.delivered_at);
        (interval >= min_rtt && interval > Duration::ZERO).then_some(DeliveryRate {
            delivered,
            interval,
            prior_delivered: Bytes(departure.delivered),
            app_limited: departure.app_limited,
        })
    }
}

/// Packet-timed round trips.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) count: u64,
    /// The round ends with the acknowledgement of data sent after this number of bytes was delivered.
    end: u64,
}

impl Rounds {
    /// Processes the acknowledgement of data sent after `at_departure` delivered bytes; now `delivered` bytes are
    /// delivered.
    pub(crate) fn advance(&mut self, at_departure: u64, delivered: u64) {
        if at_departure >= self.end {
            (self.count, self.end) = (self.count + 1, delivered);
        }
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
