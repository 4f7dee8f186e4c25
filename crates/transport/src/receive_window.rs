//! The receive window and its auto-tuning (Linux' dynamic right-sizing, tcp_rcv_space_adjust).

use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::stack::{Rules, Stack};

/// Linux' initial receive window, 64 kB, regardless of `tcp_rmem`.
const FIRST_WINDOW: Bytes = Bytes(65_535);
/// Silly window syndrome avoidance: smaller windows are advertised as closed (RFC 9293, section 3.8.6.2.2).
const SMALLEST_STEP: Bytes = Bytes(1460);
/// Segments that Linux adds to twice the data of a round.
const EXTRA_SEGMENTS: u64 = 16;
/// Segments of the first round, above which the window grows (Linux, `TCP_INIT_CWND` in tcp_init_buffer_space).
const FIRST_ROUND: u64 = 10;

/// The receive window. Its parameters are in the connection's stack.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ReceiveWindow {
    /// The buffer's share for data (Linux, `window_clamp`).
    size: Bytes,
    /// The part of it that is advertised: grows by two segments per segment that arrives (Linux, `rcv_ssthresh`).
    open: Bytes,
    /// Start of the round, a round trip of auto-tuning.
    round_start: Time,
    round_bytes: Bytes,
    /// Data that the application read in the largest round so far (Linux, `rcvq_space.space`).
    space: Bytes,
    /// The delay of the SYN-ACK, and a moving average of the delays of segments: together the RTT.
    delays: (Duration, Duration),
    /// Data not yet read at `drained_at`.
    buffered: Bytes,
    drained_at: Time,
}

impl ReceiveWindow {
    /// The window of a new connection.
    pub(crate) fn new(stack: &Stack) -> Self {
        let ceiling = stack.receive_window;
        let size = if stack.auto_tuning { ceiling.min(FIRST_WINDOW) } else { ceiling };
        Self {
            size,
            open: size,
            round_start: Time::ZERO,
            round_bytes: Bytes::ZERO,
            space: (stack.mss * FIRST_ROUND).min(size), // tcp_init_buffer_space
            delays: (Duration::ZERO, Duration::ZERO),
            buffered: Bytes::ZERO,
            drained_at: Time::ZERO,
        }
    }

    /// The advertised size, bytes.
    pub(crate) fn size(&self) -> Bytes {
        self.open
    }

    /// Sets the delay of the SYN-ACK.
    pub(crate) fn on_established(&mut self, delay: Duration) {
        self.delays.0 = delay;
    }

    /// Handles data in order; `sent` is when its first segment was sent. Returns whether the window opens (Linux, which then
    /// acknowledges the segment at once).
    #[inline]
    pub(crate) fn on_data(&mut self, now: Time, bytes: Bytes, sent: Time, stack: &Stack) -> bool {
        if let Some(read_rate) = stack.read_rate {
            self.drain(now, read_rate);
            self.buffered += bytes;
        }
        if !stack.auto_tuning {
            return false;
        }
        self.round_bytes += bytes;
        let (back, forward) = self.delays;
        let delay = now - sent;
        let forward = if forward == Duration::ZERO { delay } else { Duration((7 * forward.0 + delay.0) / 8) };
        self.delays.1 = forward;
        // The RTT that timestamps show (Linux, tcp_rcv_rtt_measure_ts).
        if now - self.round_start >= back + forward {
            self.tune(stack);
            self.round_start = now;
        }
        self.open(stack)
    }

    /// Opens the window by two segments for one that arrived, also out of order; returns whether it did (Linux,
    /// tcp_grow_window).
    #[inline]
    pub(crate) fn open(&mut self, stack: &Stack) -> bool {
        let grows = self.open < self.size && stack.rules == Rules::Linux;
        if grows {
            self.open = self.size.min(self.open + stack.mss * 2);
        }
        grows
    }

    #[cold]
    fn drain(&mut self, now: Time, read_rate: Rate) {
        let read = read_rate.bytes_in(now - self.drained_at);
        if read > Bytes::ZERO {
            self.buffered = self.buffered.saturating_sub(read);
            self.drained_at = now;
        }
    }

    /// Adjusts the window at the end of a round: to twice the data read in it, or more if this increased
    /// (tcp_rcv_space_adjust).
    fn tune(&mut self, stack: &Stack) {
        let copied = self.round_bytes.0;
        self.round_bytes = Bytes::ZERO;
        if copied > self.space.0 {
            let mut size = 2 * copied + EXTRA_SEGMENTS * stack.mss.0;
            size += 2 * (u128::from(size) * u128::from(copied - self.space.0) / u128::from(self.space.0)) as u64;
            self.size = self.size.max(Bytes(size)).min(stack.receive_window);
            self.space = Bytes(copied);
            if stack.rules == Rules::Rfc {
                self.open = self.size;
            }
        }
    }

    /// The window to advertise.
    #[inline]
    pub(crate) fn advertise(&mut self, now: Time, stack: &Stack) -> Bytes {
        let Some(read_rate) = stack.read_rate else { return self.open };
        self.drain(now, read_rate);
        let free = self.size.saturating_sub(self.buffered).min(self.open);
        if free < SMALLEST_STEP {
            Bytes::ZERO
        } else {
            free
        }
    }

    /// Time in which the application reads enough for a window update: until half of the window, and at least two
    /// segments, are free.
    pub(crate) fn time_to_open(&self, mss: Bytes, read_rate: Rate) -> Duration {
        let mss = mss.0;
        let wanted = (self.size.0 / 2).max(2 * mss).min(self.size.0);
        let surplus = self.buffered.0.saturating_sub(self.size.0 - wanted).max(mss);
        Duration((u128::from(surplus) * 8_000_000_000 / u128::from(read_rate.0)) as u64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux_stack::linux;

    /// By hand: 10,000 bytes, of which the application reads 1000 per millisecond (8 Mbit/s). RFC 9293, section 3.8.6.2.2: a
    /// window of 1000 bytes is advertised as closed.
    #[test]
    fn unread_data_closes_the_window() {
        let read_rate = Some(Rate::from_mbps(8));
        let stack = Stack { receive_window: Bytes(10_000), auto_tuning: false, read_rate, ..linux() };
        let mut window = ReceiveWindow::new(&stack);
        window.on_data(Time::ZERO, Bytes(9000), Time::ZERO, &stack);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        assert_eq!([0, 1, 9].map(|ms| window.advertise(at(ms), &stack).0), [0, 2000, 10_000]);
    }

    /// tcp_rcv_space_adjust, by hand: a round of 20,000 bytes, twice the first 10,000, gives (2 · 20,000 + 16 · 1000) · 3 =
    /// 168,000. tcp_grow_window: the advertised window opens by two segments per segment.
    #[test]
    fn the_window_grows_to_a_multiple_of_the_data_read_in_a_round() {
        let stack = Stack { receive_window: Bytes(1 << 20), auto_tuning: true, read_rate: None, ..linux() };
        let mut window = ReceiveWindow::new(&stack);
        window.on_established(Duration::from_millis(50));
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let opens = [100, 110, 200, 210].map(|now| window.on_data(at(now), Bytes(10_000), at(now - 50), &stack));
        assert_eq!(opens, [false, false, true, true]);
        assert_eq!(window.size, Bytes(168_000));
        assert_eq!(window.advertise(at(210), &stack), FIRST_WINDOW + Bytes(4000));
    }
}
