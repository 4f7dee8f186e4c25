//! Scripted event sequences that no path could cause.

use cwndlab_control::{Ack, Cause, Change, Congestion, DeliveryRate, Window};
use cwndlab_units::{Bytes, Duration, Time};

use crate::harness::{CaseEnded, CaseResult, Harness};
use crate::path_model::{MS, S};

/// Reports scripted events to a flow, with consistent time, delivered bytes and rounds.
pub(crate) struct Script<'a, 'b, 'c> {
    pub(crate) harness: &'a mut Harness<'b, 'c>,
    pub(crate) now: u64,
    pub(crate) rtt: u64,
    pub(crate) delivered: u64,
    pub(crate) round: u64,
    round_bytes: u64,
}

impl<'a, 'b, 'c> Script<'a, 'b, 'c> {
    /// A flow with an RTT of 50 ms, after a handshake at 1 s.
    pub(crate) fn begin(harness: &'a mut Harness<'b, 'c>) -> Result<Self, CaseEnded> {
        let mut script = Self { harness, now: S, rtt: 50 * MS, delivered: 0, round: 0, round_bytes: 0 };
        script.window(Change::Established, 0, 0)?;
        Ok(script)
    }

    /// The next ACK, of `bytes` bytes and with a full window.
    pub(crate) fn next_ack(&mut self, bytes: u64) -> Ack {
        self.delivered += bytes;
        self.round_bytes += bytes;
        let window = self.harness.window().0.min(1 << 41);
        if self.round_bytes >= window {
            (self.round, self.round_bytes) = (self.round + 1, 0);
        }
        let rtt = Duration::from_nanos(self.rtt);
        Ack {
            now: Time::from_nanos(self.now),
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

    /// Reports `count` ACKs of one segment each, one window per RTT.
    pub(crate) fn acks(&mut self, count: u64) -> CaseResult {
        let mss = self.harness.mss().0;
        for _ in 0..count {
            let windows = (self.harness.window().0 / mss).clamp(1, 1 << 20);
            self.now += self.rtt / windows;
            let ack = self.next_ack(mss);
            self.harness.report(ack)?;
        }
        Ok(())
    }

    /// Reports a congestion event with a window in flight.
    pub(crate) fn congestion(&mut self, cause: Cause, restart: bool, repeated: bool) -> CaseResult {
        let flight = self.harness.window().0.clamp(self.harness.mss().0, 1 << 41);
        self.congestion_at(cause, restart, repeated, flight)
    }

    /// Reports a congestion event with `flight` bytes in flight.
    pub(crate) fn congestion_at(&mut self, cause: Cause, restart: bool, repeated: bool, flight: u64) -> CaseResult {
        let lost = match cause {
            Cause::Loss => self.harness.mss().0,
            Cause::Ecn => 0,
            Cause::Timeout => flight,
        };
        self.harness.report(Congestion {
            now: Time::from_nanos(self.now),
            mss: self.harness.mss(),
            cause,
            restart,
            repeated,
            in_flight: Bytes(flight),
            lost: Bytes(lost),
            srtt: Duration::from_nanos(self.rtt),
            min_rtt: Duration::from_nanos(self.rtt),
            round: self.round,
        })
    }

    /// Reports a change of the window to `cwnd` by the transport.
    pub(crate) fn window(&mut self, change: Change, cwnd: u64, idle: u64) -> CaseResult {
        let established = change == Change::Established;
        self.harness.report(Window {
            idle: Duration::from_nanos(idle),
            rtt: established.then_some(Duration::from_nanos(self.rtt)),
            ..Window::new(
                Time::from_nanos(self.now),
                change,
                if established { self.harness.window() } else { Bytes(cwnd) },
            )
        })
    }

    /// Reports that the last reduction was spurious.
    pub(crate) fn undo(&mut self) -> CaseResult {
        let window = self.harness.window().0;
        self.window(Change::Undo, window, 0)
    }
}
