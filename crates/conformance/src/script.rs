//! Events by hand: what no path brings about, told in the order that a case wants.

use cwndlab_control::{Ack, Cause, Change, Congestion, DeliveryRate, Window};
use cwndlab_units::{Bytes, Duration, Time};

use crate::harness::{Going, Harness};
use crate::path_model::{MS, S};

/// Tells a flow what it is told to tell; clock, bytes delivered and rounds only go forward.
pub(crate) struct Script<'a, 'b, 'c> {
    pub(crate) harness: &'a mut Harness<'b, 'c>,
    pub(crate) now: u64,
    pub(crate) rtt: u64,
    pub(crate) delivered: u64,
    pub(crate) round: u64,
    round_bytes: u64,
}

impl<'a, 'b, 'c> Script<'a, 'b, 'c> {
    /// A flow of 50 ms whose handshake was done at one second.
    pub(crate) fn begin(harness: &'a mut Harness<'b, 'c>) -> Result<Self, crate::harness::Ended> {
        let mut script = Self { harness, now: S, rtt: 50 * MS, delivered: 0, round: 0, round_bytes: 0 };
        script.window(Change::Established, 0, 0)?;
        Ok(script)
    }

    /// The ACK of `bytes` by a flow that uses its window.
    pub(crate) fn make(&mut self, bytes: u64) -> Ack {
        self.delivered += bytes;
        self.round_bytes += bytes;
        let window = self.harness.window().0.min(1 << 41);
        if self.round_bytes >= window {
            (self.round, self.round_bytes) = (self.round + 1, 0);
        }
        let rtt = Duration(self.rtt);
        Ack {
            now: Time(self.now),
            mss: self.harness.mss(),
            acked: Bytes(bytes),
            acks: 1,
            interval: Duration::ZERO,
            prior_in_flight: Bytes(window.max(bytes)),
            in_flight: Bytes(window.saturating_sub(bytes)),
            lost: Bytes::ZERO,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            delivery_rate: Some(DeliveryRate {
                delivered: Bytes(window.min(self.delivered)),
                interval: rtt,
                prior_delivered: Bytes(self.delivered.saturating_sub(window)),
                app_limited: false,
            }),
            delivered: Bytes(self.delivered),
            ce: Bytes::ZERO,
            app_limited: false,
            cwnd_limited: true,
            recovering: false,
            round: self.round,
            feedback: None,
        }
    }

    /// `count` ACKs of a segment each, spread over a round trip per window.
    pub(crate) fn acks(&mut self, count: u64) -> Going {
        let mss = self.harness.mss().0;
        for _ in 0..count {
            let windows = (self.harness.window().0 / mss).clamp(1, 1 << 20);
            self.now += self.rtt / windows;
            let ack = self.make(mss);
            self.harness.ack(&ack)?;
        }
        Ok(())
    }

    /// A congestion event of a window in flight.
    pub(crate) fn congestion(&mut self, cause: Cause, restart: bool, repeated: bool) -> Going {
        let flight = self.harness.window().0.clamp(self.harness.mss().0, 1 << 41);
        self.congestion_at(cause, restart, repeated, flight)
    }

    /// The same with `flight` bytes.
    pub(crate) fn congestion_at(&mut self, cause: Cause, restart: bool, repeated: bool, flight: u64) -> Going {
        let lost = match cause {
            Cause::Loss => self.harness.mss().0,
            Cause::Ecn => 0,
            Cause::Timeout => flight,
        };
        self.harness.congestion(&Congestion {
            now: Time(self.now),
            mss: self.harness.mss(),
            cause,
            restart,
            repeated,
            in_flight: Bytes(flight),
            lost: Bytes(lost),
            srtt: Duration(self.rtt),
            min_rtt: Duration(self.rtt),
            round: self.round,
        })
    }

    /// The transport changed the window to `cwnd`.
    pub(crate) fn window(&mut self, change: Change, cwnd: u64, idle: u64) -> Going {
        let established = change == Change::Established;
        self.harness.on_window(&Window {
            now: Time(self.now),
            change,
            cwnd: if established { self.harness.window() } else { Bytes(cwnd) },
            idle: Duration(idle),
            rtt: established.then_some(Duration(self.rtt)),
            feedback: None,
        })
    }

    /// The last reduction was spurious.
    pub(crate) fn undo(&mut self) -> Going {
        let window = self.harness.window().0;
        self.window(Change::Undo, window, 0)
    }
}
