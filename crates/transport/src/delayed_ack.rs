//! Delayed ACKs: when an in-order segment is acknowledged, and which timestamp the ACK echoes (RFC 5681, section 4.2; Linux,
//! `icsk_ack`).

use cwndlab_units::{Duration, Time};

use crate::stack::Stack;

/// Linux returns to quick ACKs after an idle time of an RTO; 200 ms is its smallest.
const IDLE: Duration = Duration::from_millis(200);

/// The state of delayed acknowledgement.
#[derive(Debug)]
pub(crate) struct DelayedAck {
    /// Segments not acknowledged yet.
    pending: u32,
    /// Segments that are still acknowledged one by one.
    quick: u32,
    last_arrival: Time,
    /// Timestamp to echo.
    echo: Time,
}

impl DelayedAck {
    /// Nothing to acknowledge.
    pub(crate) fn new(stack: &Stack) -> Self {
        Self { pending: 0, quick: stack.quick_acks, last_arrival: Time::ZERO, echo: Time::ZERO }
    }

    /// A segment arrives. `quick_acks`: so many are acknowledged one by one after idleness.
    #[inline]
    pub(crate) fn on_arrival(&mut self, now: Time, quick_acks: u32) {
        if now - self.last_arrival > IDLE && self.last_arrival > Time::ZERO && self.quick == 0 {
            self.quick = quick_acks;
        }
        self.last_arrival = now;
    }

    /// A segment with this timestamp arrives in order. Returns whether it is acknowledged at once, as `every`-th or otherwise.
    #[inline]
    pub(crate) fn on_in_order(&mut self, stamp: Time, every: u32) -> bool {
        // RFC 7323, section 4.3: the echo is of the first segment that the ACK acknowledges.
        if self.pending == 0 {
            self.echo = stamp;
        }
        self.pending += 1;
        if self.quick > 0 {
            self.quick -= 1;
            return true;
        }
        self.pending >= every
    }

    /// A segment with this timestamp fills a hole.
    pub(crate) fn on_hole_filled(&mut self, stamp: Time) {
        self.echo = stamp;
    }

    /// An ACK is sent.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        self.pending = 0;
    }

    /// Some segment is not acknowledged yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending > 0
    }

    /// The timestamp to echo.
    #[inline]
    pub(crate) fn echo(&self) -> Time {
        self.echo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delayed(quick: u32, last_arrival: Time) -> DelayedAck {
        DelayedAck { pending: 0, quick, last_arrival, echo: Time::ZERO }
    }

    /// RFC 5681, section 4.2: at least every second segment. RFC 7323, section 4.3: the echo is of the first of the two.
    #[test]
    fn every_second_segment_is_acknowledged_with_the_first_ones_timestamp() {
        let mut ack = delayed(0, Time::ZERO);
        assert_eq!([Time(10), Time(20)].map(|stamp| ack.on_in_order(stamp, 2)), [false, true]);
        assert_eq!(ack.echo(), Time(10));
    }

    /// Linux, tcp_event_data_recv: after 200 ms without arrivals segments are acknowledged one by one again.
    #[test]
    fn idleness_returns_to_quick_acks() {
        let arrival = Time(1);
        let mut ack = delayed(0, arrival);
        ack.on_arrival(arrival + IDLE, 16);
        assert!(!ack.on_in_order(Time(1), 2));
        ack.on_arrival(arrival + IDLE * 2 + Duration(1), 16);
        ack.on_ack_sent();
        assert!(ack.on_in_order(Time(1), 2));
    }
}
