//! The receive window and its auto-tuning (Linux' dynamic right-sizing, tcp_rcv_space_adjust).

use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::stack::Stack;

/// Linux' initial receive window, 64 kB, regardless of `tcp_rmem`.
const FIRST_WINDOW: Bytes = Bytes(65_535);
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
        if read >= self.buffered {
            (self.buffered, self.drained_at) = (Bytes::ZERO, now);
        } else if read > Bytes::ZERO {
            self.buffered -= read;
            self.drained_at += read_rate.time_for_backlog(read); // the rest of a byte is read next time
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
        if free < self.smallest(stack.mss) {
            Bytes::ZERO
        } else {
            free
        }
    }

    /// Smaller windows are advertised as closed: silly window syndrome avoidance (RFC 1122, section 4.2.3.3; RFC 9293,
    /// section 3.8.6.2.2: min(RCV.BUFF / 2, Eff.snd.MSS)).
    fn smallest(&self, mss: Bytes) -> Bytes {
        mss.min(self.size / 2).max(Bytes(1))
    }

    /// Time in which the application reads enough for the update of a closed window: until half of the window, and at
    /// least two segments, are free.
    pub(crate) fn time_to_open(&self, mss: Bytes, read_rate: Rate) -> Duration {
        let wanted = (self.size / 2).max(mss * 2).min(self.size);
        read_rate.time_for_backlog(self.buffered.saturating_sub(self.size - wanted)) + Duration(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux_stack::linux;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// By hand: 10,000 bytes, of which the application reads 1000 per millisecond (8 Mbit/s). RFC 9293, section 3.8.6.2.2: a
    /// window below a segment of 1000 bytes is advertised as closed.
    #[test]
    fn unread_data_closes_the_window() {
        let read_rate = Some(Rate::from_mbps(8));
        let stack = Stack { receive_window: Bytes(10_000), auto_tuning: false, read_rate, ..linux() };
        let mut window = ReceiveWindow::new(&stack);
        window.on_data(Time::ZERO, Bytes(9001), 9, &stack);
        assert_eq!([0, 1, 10].map(|ms| window.advertise(at(ms), &stack).0), [0, 1999, 10_000]);
    }

    /// RFC 1122, section 4.2.3.3: the window opens by min(RCV.BUFF / 2, Eff.snd.MSS). By hand: the free bytes at which
    /// it opens.
    #[test]
    fn the_window_opens_by_a_segment_or_half_of_the_buffer() {
        for (mss, size, opens) in
            [(536, 1072, 536), (1448, 1448, 724), (1448, 1000, 500), (9000, 64_000, 9000), (1, 1, 1)]
        {
            let stack = Stack { mss: Bytes(mss), receive_window: Bytes(size), auto_tuning: false, ..linux() };
            let stack = Stack { read_rate: Some(Rate(8000)), ..stack }; // a byte per millisecond
            let mut window = ReceiveWindow::new(&stack);
            window.on_data(Time::ZERO, Bytes(size), 1, &stack);
            assert_eq!([opens - 1, opens].map(|ms| window.advertise(at(ms), &stack).0), [0, opens], "{mss}, {size}");
        }
    }

    /// By hand: at 3200 bit/s, 400 bytes a second, a look every millisecond rounds to whole bytes, and 400 are read
    /// in a second all the same.
    #[test]
    fn fractions_of_a_byte_are_read_later() {
        let stack = Stack { receive_window: Bytes(10_000), auto_tuning: false, read_rate: Some(Rate(3200)), ..linux() };
        let mut window = ReceiveWindow::new(&stack);
        window.on_data(Time::ZERO, Bytes(9000), 9, &stack);
        let last = (0..=1000).map(|ms| window.advertise(at(ms), &stack).0).last();
        assert_eq!(last, Some(1000 + 400));
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
