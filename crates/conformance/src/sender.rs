//! The sender of a path in small, part by part: what is in flight, loss recovery, RTT, delivery rate, rounds, application
//! and reports.

use cwndlab_control::{Ack, DeliveryRate};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::path_model::{PathModel, MS, S};

/// Least timeout, that of Linux.
const MIN_RTO: Duration = Duration(200 * MS);
/// Largest timeout, that of Linux.
const MAX_RTO: Duration = Duration(120 * S);

/// What has left, and what keeps the rest back.
#[derive(Clone, Debug)]
pub(crate) struct SendState {
    /// The number of the next byte: SND.NXT (RFC 9293, section 3.3.1).
    pub(crate) next_seq: u64,
    /// FlightSize (RFC 5681, section 2).
    pub(crate) in_flight: u64,
    pub(crate) last_sent: Time,
    /// Pacing lets nothing leave before.
    pub(crate) next_send: Time,
    /// The window keeps the next segment back.
    pub(crate) window_limited: bool,
}

impl SendState {
    pub(crate) fn new(now: Time) -> Self {
        Self { next_seq: 0, in_flight: 0, last_sent: now, next_send: Time::ZERO, window_limited: false }
    }

    /// `size` bytes leave; gives the number of the first.
    pub(crate) fn send(&mut self, size: u64, now: Time) -> u64 {
        let seq = self.next_seq;
        self.next_seq += size;
        self.in_flight += size;
        self.last_sent = now;
        seq
    }

    /// Nothing leaves until `size` bytes have left at this rate.
    pub(crate) fn pace(&mut self, size: u64, rate: Rate, now: Time) {
        let gap = (u128::from(size) * 8_000_000_000 / u128::from(rate.0.max(1))).min(1 << 50) as u64;
        self.next_send = now + Duration(gap);
    }
}

/// Loss recovery (RFC 6675) and the backoff of its timer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    /// `RecoveryPoint`: what is sent from here on was sent after the last reduction.
    point: u64,
    /// A loss is being repaired.
    pub(crate) active: bool,
    /// Timeouts since the last ACK.
    pub(crate) timeouts: u32,
}

impl Recovery {
    /// The window was reduced; `restart`: slow start begins again, and nothing is repaired.
    pub(crate) fn begin(&mut self, next_seq: u64, restart: bool) {
        self.point = next_seq;
        self.active = !restart;
    }

    /// Whether this was sent after the last reduction.
    pub(crate) fn is_past(&self, seq: u64) -> bool {
        seq >= self.point
    }

    /// A unit arrived.
    pub(crate) fn acknowledge(&mut self, seq: u64) {
        if self.is_past(seq) {
            self.active = false;
        }
    }
}

/// Smoothed and least RTT (RFC 6298; RFC 9002, section 5); zero before the first sample.
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

    /// The timeout after so many in a row (RFC 6298, section 5.5).
    pub(crate) fn timeout(&self, timeouts: u32) -> Duration {
        let base = if self.srtt == Duration::ZERO { Duration(S) } else { self.idle_after() };
        Duration(base.0.saturating_mul(1 << timeouts.min(10))).min(MAX_RTO.max(base))
    }

    /// The pause after which a flow is idle.
    pub(crate) fn idle_after(&self) -> Duration {
        MIN_RTO.max(self.srtt * 2)
    }
}

/// What is noted when a segment leaves, as Linux does in `tcp_rate_skb_sent`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) sent: Time,
    pub(crate) app_limited: bool,
    pub(crate) delivered: u64,
    delivered_at: Time,
    first_sent: Time,
}

/// Delivery-rate estimation, as Linux does it in `tcp_rate.c`.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryEstimator {
    pub(crate) delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// The flow is app-limited until so many bytes are delivered; zero: it is not.
    app_limited_until: u64,
}

impl DeliveryEstimator {
    pub(crate) fn new(now: Time) -> Self {
        Self { delivered: 0, delivered_at: now, first_sent: now, app_limited_until: 0 }
    }

    /// A flight begins: nothing was out.
    pub(crate) fn begin_flight(&mut self, now: Time) {
        (self.first_sent, self.delivered_at) = (now, now);
    }

    /// Linux, `tcp_rate_check_app_limited`: until what is in flight now is delivered.
    pub(crate) fn limit_by_application(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// Something leaves.
    pub(crate) fn depart(&self, now: Time) -> Departure {
        Departure {
            sent: now,
            app_limited: self.is_app_limited(),
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        }
    }

    /// `size` bytes of what left so are acknowledged.
    pub(crate) fn deliver(&mut self, size: u64, departure: &Departure, now: Time) {
        self.delivered += size;
        self.delivered_at = now;
        self.first_sent = departure.sent;
        if self.is_app_limited() && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
    }

    /// The sample that an ACK gives now. Linux, `tcp_rate_gen`: an interval below the least RTT is no sample.
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

/// Round trips, counted by what is delivered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) count: u64,
    /// The round ends with what leaves after so many bytes were delivered.
    end: u64,
}

impl Rounds {
    /// What left after `at_departure` delivered bytes is acknowledged; now `delivered` are.
    pub(crate) fn advance(&mut self, at_departure: u64, delivered: u64) {
        if at_departure >= self.end {
            (self.count, self.end) = (self.count + 1, delivered);
        }
    }
}

/// The application.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    /// Bytes that it wrote and that have not left; the largest number: always enough.
    pub(crate) unsent: u64,
    /// When it writes again.
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

    /// It writes `size` bytes, and again after a while.
    pub(crate) fn write(&mut self, size: u64, next: Time) {
        self.next_write = next;
        self.unsent += size;
    }

    /// `size` bytes leave.
    pub(crate) fn send(&mut self, size: u64) {
        if self.unsent != u64::MAX {
            self.unsent -= size;
        }
    }
}

/// ACKs, and the report in which some of them are joined.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    /// ACKs so far.
    pub(crate) acks: u64,
    pending: Option<Ack>,
    last: Time,
}

impl Reports {
    /// An ACK waits with those before it; gives how long ago the last report was.
    pub(crate) fn join(&mut self, ack: Ack) -> Duration {
        let now = ack.now;
        self.pending = Some(match self.pending.take() {
            Some(first) => first.joined(&ack),
            None => ack,
        });
        now - self.last
    }

    /// What waits to be reported.
    pub(crate) fn take(&mut self, now: Time) -> Option<Ack> {
        let ack = self.pending.take()?;
        self.last = now;
        Some(ack)
    }
}
