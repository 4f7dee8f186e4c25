//! Events for tests: a path of 1000-byte segments and 100 ms.

use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::contract::{Ack, Cause, Change, Congestion, Feedback, Path, Window};

/// Payload of a segment in these tests.
pub const MSS: Bytes = Bytes(1000);

/// A path with an initial window of `segments`.
#[must_use]
pub fn path(segments: u64) -> Path {
    Path {
        mss: MSS,
        initial_cwnd: MSS * segments,
        initial_ssthresh: None,
        paced: false,
        seed: 1,
        classic_ecn: false,
        oracle_buffer: None,
        saved: None,
    }
}

/// An ACK of `segments`, window-limited, RTT and minimum 100 ms, at 1 s.
#[must_use]
pub fn ack(segments: u64) -> Ack {
    ack_at(Time::from_nanos(1_000_000_000), segments)
}

/// An ACK of `segments` as of [`ack`], at `now`.
#[must_use]
pub fn ack_at(now: Time, segments: u64) -> Ack {
    let rtt = Duration::from_millis(100);
    Ack {
        now,
        mss: MSS,
        acked: MSS * segments,
        acks: 1,
        interval: Duration::ZERO,
        prior_in_flight: MSS * 100,
        in_flight: MSS * 100,
        lost: Bytes::ZERO,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        delivery_rate: None,
        delivered: MSS * segments,
        ce: Bytes::ZERO,
        app_limited: false,
        cwnd_limited: true,
        recovering: false,
        round: 1,
        feedback: None,
    }
}

/// A loss with `flight` segments in flight.
#[must_use]
pub fn loss(flight: u64) -> Congestion {
    let rtt = Duration::from_millis(100);
    Congestion {
        now: Time::from_nanos(1_000_000_000),
        mss: MSS,
        cause: Cause::Loss,
        restart: false,
        repeated: false,
        in_flight: MSS * flight,
        lost: MSS,
        srtt: rtt,
        min_rtt: rtt,
        round: 1,
    }
}

/// A timeout with `flight` segments in flight.
#[must_use]
pub fn timeout(flight: u64) -> Congestion {
    Congestion { cause: Cause::Timeout, restart: true, ..loss(flight) }
}

/// The end of a handshake with a round-trip time of `rtt` and router feedback of `rate`.
#[must_use]
pub fn established(rtt: Duration, rate: Option<Rate>) -> Window {
    Window {
        change: Change::Established,
        rtt: Some(rtt),
        feedback: rate.map(|rate| Feedback { rate, accelerated: Bytes::ZERO }),
        cwnd: MSS * 1000, // not less than that of the algorithm: nothing of the handshake was lost
        ..undo()
    }
}

/// The undo of the last reduction.
#[must_use]
pub fn undo() -> Window {
    Window::new(Time::from_nanos(2_000_000_000), Change::Undo, MSS)
}
