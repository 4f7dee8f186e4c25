//! The receive window and its auto-tuning (Linux' dynamic right-sizing, tcp_rcv_space_adjust).

use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::stack::Stack;

/// Linux' initial receive window, 64 kB, regardless of `tcp_rmem`.
const FIRST_WINDOW: Bytes = Bytes(65_535);
/// Silly window syndrome avoidance: smaller windows are advertised as closed (RFC 9293, section 3.8.6.2.2).
const SMALLEST_STEP: Bytes = Bytes(1460);
/// Segments that Linux adds to twice the data of a round.
const EXTRA_SEGMENTS: u64 = 16;

/// The receive window. Its parameters are in the connection's stack.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ReceiveWindow {
    size: Bytes,
    /// The round ends when this segment arrives.
    round_end: u64,
    round_bytes: Bytes,
    /// Data that the application read in the largest round so far (Linux, `rcvq_space.space`).
    space: Bytes,
    /// Data not yet read at `drained_at`.
    buffered: Bytes,
    drained_at: Time,
}

impl ReceiveWindow {
    /// The window of a new connection.
    pub(crate) fn new(stack: &Stack) -> Self {
        let ceiling = stack.receive_window;
        Self {
            size: if stack.auto_tuning { ceiling.min(FIRST_WINDOW) } else { ceiling },
            round_end: 0,
            round_bytes: Bytes::ZERO,
            space: FIRST_WINDOW / 2,
            buffered: Bytes::ZERO,
            drained_at: Time::ZERO,
        }
    }

    /// Its size, bytes.
    pub(crate) fn size(&self) -> Bytes {
        self.size
    }

    /// Handles in-order data up to the segment `expected`.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Time, bytes: Bytes, expected: u64, stack: &Stack) {
        if let Some(read_rate) = stack.read_rate {
            self.drain(now, read_rate);
            self.buffered += bytes;
        }
        if stack.auto_tuning {
            self.round_bytes += bytes;
            if expected >= self.round_end {
                self.tune(stack);
                self.round_end = expected + self.size.0 / stack.mss.0;
            }
        }
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
        }
    }

    /// The window to advertise.
    #[inline]
    pub(crate) fn advertise(&mut self, now: Time, stack: &Stack) -> Bytes {
        let Some(read_rate) = stack.read_rate else { return self.size };
        self.drain(now, read_rate);
        let free = self.size.saturating_sub(self.buffered);
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
        window.on_data(Time::ZERO, Bytes(9000), 9, &stack);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        assert_eq!([0, 1, 9].map(|ms| window.advertise(at(ms), &stack).0), [0, 2000, 10_000]);
    }

    /// tcp_rcv_space_adjust, by hand: a round of 65,534 bytes, twice the previous 32,767, gives (2 · 65,534 + 16 ·
    /// 1000) · 3.
    #[test]
    fn the_window_grows_to_a_multiple_of_the_data_read_in_a_round() {
        let stack = Stack { receive_window: Bytes(1 << 20), auto_tuning: true, read_rate: None, ..linux() };
        let mut window = ReceiveWindow::new(&stack);
        window.on_data(Time::ZERO, Bytes(65_534), 65, &stack);
        assert_eq!(window.advertise(Time::ZERO, &stack), Bytes(3 * (2 * 65_534 + 16_000)));
    }
}
