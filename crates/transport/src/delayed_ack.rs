//! Delayed ACKs: when an arrival is acknowledged, and the timestamp that the ACK echoes (RFC 5681, section 4.2; RFC 7323,
//! sections 4.3 and 5.3; Linux, `icsk_ack`).

use cwndlab_units::{rto, Bytes, Duration, Time};

use crate::rtt::Estimate;
use crate::stack::{Rules, Stack};
use crate::wire::TIMESTAMP_TICK;

/// Longest delay of an ACK in Linux (`TCP_DELACK_MAX`).
const DELACK_MAX: Duration = Duration::from_millis(200);
/// Longest delay of a compressed ACK in Linux (`tcp_comp_sack_delay_ns`).
const COMPRESSION_DELAY: Duration = Duration::from_millis(1);
/// Time by which Linux' timer of compressed ACKs may be late (`tcp_comp_sack_slack_ns`), and on an idle machine is.
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);

/// A segment that arrives in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Its timestamp.
    pub(crate) timestamp: Time,
    /// Its payload.
    pub(crate) len: Bytes,
    /// It has PSH.
    pub(crate) push: bool,
}

/// Whether an endpoint answers, so that its ACKs wait for data in the other direction (Linux, ping-pong mode).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// It does not.
    No,
    /// It does.
    Yes,
    /// It does, and a segment waits that is acknowledged otherwise when it is read (`ICSK_ACK_PUSHED`).
    Waiting,
}

/// The state of delayed acknowledgement.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct DelayedAck {
    /// Payload that arrived in order and is not acknowledged yet.
    pending: Bytes,
    /// The most payload that may stay unacknowledged, a segment less than `ack_every`.
    most_pending: Bytes,
    /// Time of the last arrival in order.
    last_arrival: Time,
    /// TS.Recent of RFC 7323: the timestamp to echo.
    echo: Time,
    /// The delay of an ACK, adapted to the gaps between arrivals (Linux, `icsk_ack.ato`); zero before the first arrival.
    timeout: Duration,
    /// When the timer of a delayed ACK was started; `Time::MAX` once its expiry is at a tick, or another timer runs.
    pub(crate) armed: Time,
    /// RTT of the handshake; before the first arrival the delay of the SYN-ACK. A receiver sends no data and has no other
    /// sample.
    rtt: Duration,
    /// RTO of the same endpoint's sender in a dialogue, in whole ticks; zero if none has sent.
    sender_rto: Duration,
    /// Arrivals that are still acknowledged one by one (quick ACKs; Linux has 8 bits).
    quick: u16,
    /// A segment below this size is acknowledged at once; 0 if none is.
    full: u16,
    /// A segment with PSH is acknowledged at once.
    pushes: bool,
    /// The next ACK leaves at once, also where the endpoint answers (Linux, `ICSK_ACK_NOW`).
    at_once: bool,
    answers: Answers,
}

impl DelayedAck {
    /// The initial state, without segments to acknowledge.
    pub(crate) fn new(stack: &Stack) -> Self {
        // Linux, tcp_measure_rcv_mss and tcp_cleanup_rbuf: a read that empties the buffer of a small segment, or since 6.6
        // of one with PSH, sends the ACK.
        let reads_at_once = stack.rules == Rules::Linux && stack.read_rate.is_none();
        Self {
            pending: Bytes::ZERO,
            most_pending: stack.mss * u64::from(stack.ack_every.saturating_sub(1)),
            last_arrival: Time::ZERO,
            echo: Time::ZERO,
            timeout: Duration::ZERO,
            armed: Time::MAX,
            rtt: Duration::ZERO,
            sender_rto: Duration::ZERO,
            quick: 0,
            full: if reads_at_once { stack.mss.0 as u16 } else { 0 },
            pushes: reads_at_once && stack.ack_every == 2, // another one than Linux' is another receiver
            at_once: false,
            answers: Answers::No,
        }
    }

    /// Sets the delay of the SYN-ACK, to which the first arrival adds its own.
    pub(crate) fn on_established(&mut self, delay: Duration) {
        if self.timeout == Duration::ZERO {
            self.rtt = delay;
        }
    }

    /// The RTT of the handshake: the delays of the SYN-ACK and of the first segment that arrived in order.
    pub(crate) fn handshake_rtt(&self) -> Duration {
        self.rtt
    }

    /// Handles a segment in order. `window`: the receive window; `timer`: when an ACK is due already. Returns when the segment
    /// is to be acknowledged at the latest; `None`: immediately.
    #[inline]
    pub(crate) fn on_in_order(
        &mut self,
        now: Time,
        arrival: Arrival,
        window: Bytes,
        timer: Time,
        stack: &Stack,
    ) -> Option<Time> {
        let Arrival { timestamp, len, push } = arrival;
        self.note_timestamp(timestamp);
        self.pending += len;
        self.adapt(now, timestamp, window, stack);
        if self.is_due() || (push && self.pushes || len.0 < u64::from(self.full)) && !self.awaits_answer() {
            return None;
        }
        if stack.rules == Rules::Rfc {
            return Some(timer.min(now + stack.ack_delay));
        }
        let delay = self.delay(stack);
        if timer == Time::MAX {
            return Some(now + delay);
        }
        // Linux, tcp_send_delayed_ack: an ACK that is due soon is sent now.
        if timer <= now + delay / 4 {
            return None;
        }
        Some(timer.min(now + delay))
    }

    /// Whether the ACK of a segment that is read at once waits for an answer: not if that of another one waits already
    /// (Linux, tcp_measure_rcv_mss and tcp_cleanup_rbuf: `ICSK_ACK_PUSHED2`).
    fn awaits_answer(&mut self) -> bool {
        let waits = self.answers == Answers::Yes;
        if waits {
            self.answers = Answers::Waiting;
        }
        waits
    }

    /// Handles a segment that the endpoint sends in the other direction, where it has these estimates: within the delay of
    /// an ACK after an arrival, it is an answer (Linux, tcp_event_data_sent; `tcp_pingpong_thresh` is 1).
    pub(crate) fn on_data_sent(&mut self, now: Time, rtt: Estimate, stack: &Stack) {
        if rtt.srtt > Duration::ZERO {
            // The estimator is the connection's, not that of a direction; usecs_to_jiffies rounds up.
            let tick = stack.tick().max(Duration::from_nanos(1));
            self.rtt = rtt.srtt;
            self.sender_rto = tick * rtt.rto.as_nanos().div_ceil(tick.as_nanos());
        }
        if stack.rules == Rules::Linux && self.answers == Answers::No && now - self.last_arrival < self.timeout {
            self.answers = Answers::Yes;
            self.quick = 0; // not used in this mode
        }
    }

    /// Handles a segment with this timestamp and payload that fills a hole.
    pub(crate) fn on_hole_filled(&mut self, now: Time, timestamp: Time, len: Bytes, window: Bytes, stack: &Stack) {
        self.note_timestamp(timestamp);
        self.pending += len;
        self.adapt(now, timestamp, window, stack);
    }

    /// TS.Recent becomes the timestamp of a segment that starts at or below the last ACK sent, and never decreases (RFC
    /// 7323, section 4.3, rule 2). Called for a segment that starts at RCV.NXT: the last ACK is RCV.NXT unless data
    /// arrived since.
    #[inline]
    fn note_timestamp(&mut self, timestamp: Time) {
        if self.pending == Bytes::ZERO && timestamp > self.echo {
            self.echo = timestamp;
        }
    }

    /// Whether a segment with this timestamp is older than TS.Recent, so that it is not acceptable (RFC 7323, section
    /// 5.3, rule R1). Linux tolerates one tick (`TCP_PAWS_WINDOW`).
    #[cold]
    pub(crate) fn is_old(&self, timestamp: Time, stack: &Stack) -> bool {
        let tolerated = u64::from(stack.rules == Rules::Linux);
        stack.timestamps
            && stack.paws
            && timestamp.as_nanos() / TIMESTAMP_TICK + tolerated < self.echo.as_nanos() / TIMESTAMP_TICK
    }

    /// Adapts the delay to the gap before an arrival in order, and starts quick ACKs at the first one and after a gap of
    /// more than the RTO (Linux, tcp_event_data_recv).
    #[inline]
    fn adapt(&mut self, now: Time, timestamp: Time, window: Bytes, stack: &Stack) {
        let gap = now - self.last_arrival;
        let least = stack.ack_delay;
        self.last_arrival = now;
        if self.timeout == Duration::ZERO {
            self.on_first_arrival(now - timestamp, window, stack);
        } else if gap <= least / 2 {
            self.timeout = self.timeout / 2 + least / 2;
        } else if gap < self.timeout {
            self.timeout = (self.timeout / 2 + gap).min(self.rto());
        } else if gap > self.rto() && self.answers == Answers::No {
            self.start_quick_acks(stack.quick_acks, window, stack);
        }
    }

    #[cold]
    fn on_first_arrival(&mut self, delay: Duration, window: Bytes, stack: &Stack) {
        self.timeout = stack.ack_delay.max(Duration::from_nanos(1));
        self.rtt += delay;
        self.start_quick_acks(stack.quick_acks, window, stack);
    }

    /// Acknowledges the next arrivals one by one: one for each two segments of the window, at least two, at most `most`
    /// (Linux, tcp_incr_quickack).
    fn start_quick_acks(&mut self, most: u32, window: Bytes, stack: &Stack) {
        let half = window.0 / (2 * stack.mss.0);
        let count = if half == 0 { 2 } else { half };
        self.quick = self.quick.max(count.min(u64::from(most)).min(u64::from(u16::MAX)) as u16);
    }

    /// Acknowledges this arrival at once, also where the endpoint answers (Linux, `ICSK_ACK_NOW`).
    #[inline]
    pub(crate) fn acknowledge_at_once(&mut self) {
        self.at_once = true;
    }

    /// Acknowledges this arrival at once, since the window opens (Linux, tcp_grow_window) or for Accurate ECN.
    #[inline]
    pub(crate) fn acknowledge_now(&mut self) {
        self.quick |= 1;
    }

    /// Acknowledges the next arrivals one by one, and resets the delay: the sender may have a small window (Linux,
    /// tcp_enter_quickack_mode).
    #[cold]
    pub(crate) fn enter_quick_acks(&mut self, most: u32, window: Bytes, stack: &Stack) {
        self.start_quick_acks(most.min(stack.quick_acks), window, stack);
        self.timeout = stack.ack_delay;
        self.answers = Answers::No;
    }

    /// Adds segments that arrived before, and are in order since a hole was filled.
    pub(crate) fn add(&mut self, len: Bytes) {
        self.pending += len;
    }

    /// Whether the arrivals are acknowledged immediately: by a quick ACK, which an end that answers does not have (Linux,
    /// tcp_in_quickack_mode), or since they are more than a full segment (RFC 5681, section 4.2: at least every second
    /// full-sized segment).
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.quick > 0 && self.answers == Answers::No || self.pending > self.most_pending || self.at_once
    }

    /// The RTO of the endpoint's sender, or that after the handshake's sample (RFC 6298, section 2.2, with Linux' floor on the
    /// variance).
    fn rto(&self) -> Duration {
        if self.sender_rto > Duration::ZERO {
            self.sender_rto
        } else if self.rtt == Duration::ZERO {
            rto::INITIAL // a receiver may have no sample
        } else {
            self.rtt + (self.rtt * 2).max(rto::LINUX_MIN)
        }
    }

    /// The delay of an ACK (Linux, tcp_send_delayed_ack).
    #[inline]
    fn delay(&self, stack: &Stack) -> Duration {
        let least = stack.ack_delay;
        if self.timeout <= least {
            return self.timeout;
        }
        let known = if self.rtt == Duration::ZERO { Duration::MAX } else { self.rtt.max(least) };
        self.timeout.min(known).min(DELACK_MAX.max(least))
    }

    /// The delay of a compressed ACK: 5 % of the RTT, at most 1 ms (Linux, __tcp_ack_snd_check).
    pub(crate) fn compression_delay(&self) -> Duration {
        let part = if self.rtt == Duration::ZERO { COMPRESSION_DELAY } else { self.rtt / 20 };
        part.min(COMPRESSION_DELAY) + COMPRESSION_SLACK
    }

    /// Handles the transmission of an ACK.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self, stack: &Stack) {
        (self.pending, self.at_once) = (Bytes::ZERO, false);
        if self.answers == Answers::Waiting {
            self.answers = Answers::Yes;
        }
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.timeout = stack.ack_delay; // Linux, tcp_dec_quickack_mode
            }
        }
    }

    /// Handles the expiry of the timer of a delayed ACK: the delay was too short to be of use, and doubles; or there was no
    /// answer, and the mode ends (Linux, tcp_delack_timer_handler).
    pub(crate) fn on_expired(&mut self, stack: &Stack) {
        if self.answers != Answers::No {
            (self.answers, self.timeout) = (Answers::No, stack.ack_delay);
        } else if self.is_pending() {
            self.timeout = (self.timeout * 2).min(self.rto());
        }
    }

    /// Payload that arrived in order and is not acknowledged yet.
    pub(crate) fn pending(&self) -> Bytes {
        self.pending
    }

    /// Whether some segment is not acknowledged yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending() > Bytes::ZERO
    }

    /// The timestamp to echo.
    #[inline]
    pub(crate) fn echo(&self) -> Time {
        self.echo
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Rate;

    use super::*;
    use crate::linux_stack::linux;

    const WINDOW: Bytes = Bytes(64_240);
    /// The estimates of a sender without a sample.
    const UNKNOWN: Estimate = Estimate { srtt: Duration::ZERO, rto: rto::INITIAL };

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn at(count: u64) -> Time {
        Time::ZERO + ms(count)
    }

    /// Delivers a segment in order at `now`, sent at the same time.
    fn deliver(ack: &mut DelayedAck, now: u64, len: Bytes, push: bool, stack: &Stack) -> Option<Time> {
        ack.on_in_order(at(now), Arrival { timestamp: at(now), len, push }, WINDOW, Time::MAX, stack)
    }

    fn stack() -> Stack {
        Stack { quick_acks: 0, timestamps: true, ..linux() }
    }

    /// Delivers segments in order at these times, ms, each acknowledged when it is due; returns when each ACK is due, ms.
    fn delays(rtt_ms: u64, arrivals_ms: &[u64]) -> Vec<Option<u64>> {
        let stack = Stack { ack_every: 100, ..stack() };
        let mut ack = DelayedAck::new(&stack);
        ack.on_established(ms(rtt_ms));
        arrivals_ms
            .iter()
            .map(|&now| {
                let due = deliver(&mut ack, now, stack.mss, false, &stack);
                ack.on_ack_sent(&stack);
                due.map(|due| (due - at(now)).as_nanos() / 1_000_000)
            })
            .collect()
    }

    /// RFC 5681, section 4.2: at least every second segment is acknowledged. RFC 7323, section 4.3: the ACK echoes the
    /// timestamp of the first of the two.
    #[test]
    fn every_second_segment_is_acknowledged_with_the_first_ones_timestamp() {
        let stack = stack();
        let mut ack = DelayedAck::new(&stack);
        let due = [10, 20].map(|now| deliver(&mut ack, now, stack.mss, false, &stack));
        assert_eq!(due, [Some(at(50)), None]);
        assert_eq!(ack.echo(), at(10));
    }

    /// RFC 7323, section 4.3, rule 2: TS.Recent does not decrease; section 5.3, R1: an older segment is not acceptable.
    /// Linux tolerates one tick of 1 ms (TCP_PAWS_WINDOW).
    #[test]
    fn the_echoed_timestamp_never_decreases() {
        let stack = stack();
        let mut ack = DelayedAck::new(&stack);
        ack.on_hole_filled(at(30), at(20), stack.mss, WINDOW, &stack);
        ack.on_ack_sent(&stack);
        ack.on_hole_filled(at(31), at(10), stack.mss, WINDOW, &stack);
        assert_eq!(ack.echo(), at(20));
        assert_eq!([18, 19].map(|sent| ack.is_old(at(sent), &stack)), [true, false]);
        let rfc = Stack { rules: Rules::Rfc, ..stack };
        assert_eq!([19, 20].map(|sent| ack.is_old(at(sent), &rfc)), [true, false]);
    }

    /// Linux, tcp_event_data_recv: after a gap of more than the RTO segments are acknowledged one by one again. By hand:
    /// with an RTT of 100 ms the RTO is 100 + max(200, 200) = 300 ms.
    #[test]
    fn quick_acks_resume_after_a_gap_of_an_rto() {
        let stack = Stack { quick_acks: 16, ..stack() };
        let mut ack = DelayedAck::new(&stack);
        ack.on_established(ms(100));
        let mut quick = |now| {
            let due = deliver(&mut ack, now, stack.mss, false, &stack);
            ack.on_ack_sent(&stack);
            due.is_none()
        };
        assert!((1000..1016).all(&mut quick));
        assert_eq!([1016, 1316, 1617].map(quick), [false, false, true]);
    }

    /// Linux, tcp_incr_quickack, by hand with an MSS of 1460: 64,240/2920 = 22, of which 16 are allowed; 5840/2920 = 2; a
    /// window below two segments gives 2.
    #[test]
    fn quick_acks_depend_on_the_window() {
        let stack = Stack { mss: Bytes(1460), quick_acks: 16, ..linux() };
        let counts = [64_240, 5840, 1000].map(|window| {
            let mut ack = DelayedAck::new(&stack);
            ack.start_quick_acks(16, Bytes(window), &stack);
            ack.quick
        });
        assert_eq!(counts, [16, 2, 2]);
    }

    /// Linux, tcp_event_data_recv and tcp_send_delayed_ack, by hand: gaps of 10 ms leave the delay at 40 ms; gaps of 30 ms
    /// give 50, 55, 57 (57.5); with an RTT of 20 ms it is at most 40.
    #[test]
    fn the_delay_of_an_ack_follows_the_gaps_between_arrivals() {
        assert_eq!(delays(100, &[1000, 1010, 1020]), [Some(40); 3]);
        assert_eq!(delays(100, &[1000, 1030, 1060, 1090]), [Some(40), Some(50), Some(55), Some(57)]);
        assert_eq!(delays(20, &[1000, 1030, 1060, 1090]), [Some(40); 4]);
    }

    /// Linux, tcp_cleanup_rbuf: the application reads a small segment at once, which sends its ACK.
    #[test]
    fn a_small_segment_is_acknowledged_when_it_is_read() {
        let stack = stack();
        let mut ack = DelayedAck::new(&stack);
        assert_eq!(deliver(&mut ack, 1, Bytes(10), false, &stack), None);
    }

    /// Linux, tcp_event_data_sent and tcp_cleanup_rbuf, by hand: an end that answers within the delay of 40 ms is in
    /// ping-pong mode, in which one small segment waits and a second one sends the ACK; an answer after it is none.
    #[test]
    fn the_ack_of_an_end_that_answers_waits_for_its_data() {
        let stack = Stack { quick_acks: 16, ..stack() };
        let small = |ack: &mut DelayedAck, now| deliver(ack, now, Bytes(10), true, &stack);
        let answered = |after: u64| {
            let mut ack = DelayedAck::new(&stack);
            assert_eq!(small(&mut ack, 1), None);
            ack.on_ack_sent(&stack);
            ack.on_data_sent(at(1 + after), UNKNOWN, &stack);
            ack
        };
        let mut ack = answered(0);
        assert_eq!(small(&mut ack, 11), Some(at(51)));
        assert_eq!(small(&mut ack, 12), None);
        ack.on_ack_sent(&stack);
        assert_eq!(small(&mut ack, 1000), Some(at(1040))); // no quick ACKs after a gap of more than the RTO
        assert_eq!(small(&mut answered(40), 60), None);
    }

    /// Linux, tcp_grow_window and tcp_in_quickack_mode: a segment that opens the window is acknowledged at once, but not by an end
    /// that answers.
    #[test]
    fn an_end_that_answers_has_no_quick_ack_for_its_window() {
        let stack = Stack { quick_acks: 0, ..stack() };
        for answers in [false, true] {
            let mut ack = DelayedAck::new(&stack);
            deliver(&mut ack, 1, stack.mss, false, &stack);
            ack.on_ack_sent(&stack);
            if answers {
                ack.on_data_sent(at(2), UNKNOWN, &stack);
            }
            ack.acknowledge_now();
            assert_eq!(deliver(&mut ack, 11, stack.mss, false, &stack).is_none(), !answers);
        }
    }

    /// Linux, tcp_event_data_recv: quick ACKs begin again after a gap of more than the connection's RTO, of which both
    /// directions give samples, in ticks. By hand: after the handshake's 100 ms it is 300 ms; a request whose answer takes 101
    /// ms may have 301 ms, 304 in ticks of 4 ms. A gap of 302 ms is longer than the first one only.
    #[test]
    fn the_gap_before_quick_acks_is_the_rto_of_the_endpoint() {
        let stack = Stack { quick_acks: 16, rto_granularity: ms(4), ..stack() };
        for (estimate, quick) in [(UNKNOWN, 16), (Estimate { srtt: ms(101), rto: ms(301) }, 0)] {
            let mut ack = DelayedAck::new(&stack);
            ack.on_established(ms(100));
            deliver(&mut ack, 100, stack.mss, false, &stack);
            ack.quick = 0;
            ack.on_data_sent(at(301), estimate, &stack);
            deliver(&mut ack, 402, stack.mss, false, &stack);
            assert_eq!(ack.quick, quick, "{estimate:?}");
        }
    }

    /// Linux, tcp_delack_timer_handler: an ACK that no answer took ends ping-pong mode, and its delay is the shortest again.
    #[test]
    fn an_ack_without_an_answer_ends_the_mode() {
        let stack = stack();
        let mut ack = DelayedAck::new(&stack);
        deliver(&mut ack, 1, Bytes(10), true, &stack);
        ack.on_ack_sent(&stack);
        ack.on_data_sent(at(1), UNKNOWN, &stack);
        assert_eq!(deliver(&mut ack, 11, Bytes(10), true, &stack), Some(at(51)));
        ack.on_expired(&stack);
        ack.on_ack_sent(&stack);
        assert_eq!(ack.timeout, stack.ack_delay);
        assert_eq!(deliver(&mut ack, 100, Bytes(10), true, &stack), None);
    }

    /// Linux since 6.6, tcp_measure_rcv_mss: a full segment with PSH, which ends a burst, sends its ACK when it is read. A
    /// slow reader leaves it to the timer.
    #[test]
    fn the_last_segment_of_a_burst_is_acknowledged_when_it_is_read() {
        let slow = Stack { read_rate: Some(Rate::from_mbps(8)), ..stack() };
        for (stack, push, due) in [(stack(), false, false), (stack(), true, true), (slow, true, false)] {
            let mut ack = DelayedAck::new(&stack);
            let at = deliver(&mut ack, 1, stack.mss, push, &stack);
            assert_eq!(at.is_none(), due);
        }
    }

    /// Linux, __tcp_ack_snd_check, by hand: 5 % of an RTT of 10 ms are 0.5 ms, of 20 ms and more 1 ms; with the timer's
    /// slack of 0.1 ms.
    #[test]
    fn compressed_acks_wait_for_a_twentieth_of_the_rtt() {
        let delay = |rtt| DelayedAck { rtt: ms(rtt), ..DelayedAck::new(&stack()) }.compression_delay();
        assert_eq!([10, 20, 200].map(delay), [600, 1100, 1100].map(Duration::from_micros));
    }
}
