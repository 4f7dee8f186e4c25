//! Delayed ACKs: the time of an acknowledgement and the timestamp that it echoes (RFC 5681, section 4.2; Linux,
//! `icsk_ack`).

use cwndlab_units::{Duration, Time};

use crate::stack::Stack;

/// Idle time before a return to quick ACKs. Linux uses the RTO, of which 200 ms is the minimum.
const IDLE: Duration = Duration::from_millis(200);

/// The state of delayed acknowledgement.
#[derive(Debug)]
pub(crate) struct DelayedAck {
    /// Segments not acknowledged yet.
    pending: u32,
    /// Segments that will still be acknowledged one by one (quick ACKs).
    quick: u32,
    last_arrival: Time,
    /// Timestamp to echo.
    echo: Time,
}

impl DelayedAck {
    /// The initial state, without segments to acknowledge.
    pub(crate) fn new(stack: &Stack) -> Self {
        Self { pending: 0, quick: stack.quick_acks, last_arrival: Time::ZERO, echo: Time::ZERO }
    }

    /// Handles an arrival. After an idle period the next `quick_acks` segments are acknowledged one by one.
    #[inline]
    pub(crate) fn on_arrival(&mut self, now: Time, quick_acks: u32) {
        if now - self.last_arrival > IDLE && self.last_arrival > Time::ZERO && self.quick == 0 {
            self.quick = quick_acks;
        }
        self.last_arrival = now;
    }

    /// Handles an in-order segment with this timestamp. Returns whether it is acknowledged immediately: as the
    /// `every`-th, or as a quick ACK.
    #[inline]
    pub(crate) fn on_in_order(&mut self, timestamp: Time, every: u32) -> bool {
        // RFC 7323, section 4.3: the ACK echoes the timestamp of the first segment that it acknowledges.
        if self.pending == 0 {
            self.echo = timestamp;
        }
        self.pending += 1;
        if self.quick > 0 {
            self.quick -= 1;
            return true;
        }
        self.pending >= every
    }

    /// Handles a segment with this timestamp that fills a hole.
    pub(crate) fn on_hole_filled(&mut self, timestamp: Time) {
        self.echo = timestamp;
    }

    /// Handles the transmission of an ACK.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        self.pending = 0;
    }

    /// Whether some segment is not acknowledged yet.
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

    /// RFC 5681, section 4.2: at least every second segment is acknowledged. RFC 7323, section 4.3: the ACK echoes the
    /// timestamp of the first of the two.
    #[test]
    fn every_second_segment_is_acknowledged_with_the_first_ones_timestamp() {
        let mut ack = delayed(0, Time::ZERO);
        assert_eq!([Time(10), Time(20)].map(|timestamp| ack.on_in_order(timestamp, 2)), [false, true]);
        assert_eq!(ack.echo(), Time(10));
    }

    /// Linux, tcp_event_data_recv: after 200 ms without arrivals segments are acknowledged one by one again.
    #[test]
    fn quick_acks_resume_after_an_idle_period() {
        let arrival = Time(1);
        let mut ack = delayed(0, arrival);
        ack.on_arrival(arrival + IDLE, 16);
        assert!(!ack.on_in_order(Time(1), 2));
        ack.on_arrival(arrival + IDLE * 2 + Duration(1), 16);
        ack.on_ack_sent();
        assert!(ack.on_in_order(Time(1), 2));
    }
}
