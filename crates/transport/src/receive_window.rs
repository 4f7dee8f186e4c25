//! The receive window and its auto-tuning (Linux' dynamic right-sizing, tcp_rcv_space_adjust).

use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::stack::{Rules, Stack};

/// Linux' initial receive window, 64 kB, regardless of `tcp_rmem`.
const FIRST_WINDOW: Bytes = Bytes(65_535);
/// Segments that Linux adds to twice the data of a round.
const EXTRA_SEGMENTS: u64 = 16;
/// Segments of the first round, above which the window grows (Linux, `TCP_INIT_CWND` in tcp_init_buffer_space).
const FIRST_ROUND: u64 = 10;

/// The RTT of a receiver that also answers (`piggyback`), as Linux measures it: a full segment with a new timestamp gives a
/// sample (tcp_rcv_rtt_measure_ts), or else the time in which a window of data arrives (tcp_rcv_rtt_measure). Segments of one
/// burst echo the same timestamp: behind a short first one, none gives a sample.
#[derive(Debug)]
struct MeasuredRtt {
    /// Before the first sample `None`.
    rtt: Option<Duration>,
    /// When the last segment was sent.
    last_sent: Time,
    received: Bytes,
    /// The number of received bytes at which the window ends, and when it began.
    window: Option<(Bytes, Time)>,
}

impl MeasuredRtt {
    fn new() -> Self {
        Self { rtt: None, last_sent: Time::MAX, received: Bytes::ZERO, window: None }
    }

    /// Handles a segment with the delay of the other direction; `advertised`: the window, `full`: a full segment's payload.
    /// Returns the RTT.
    fn on_data(
        &mut self,
        now: Time,
        bytes: Bytes,
        sent: Time,
        back: Duration,
        advertised: Bytes,
        full: Bytes,
    ) -> Option<Duration> {
        if sent != self.last_sent && bytes >= full {
            let sample = back + (now - sent);
            let smoothed = |rtt: Duration| Duration::from_nanos((7 * rtt.as_nanos() + sample.as_nanos()) / 8);
            self.rtt = Some(self.rtt.map_or(sample, smoothed));
        }
        self.last_sent = sent;
        self.received += bytes;
        let ended = self.window.filter(|&(end, _)| self.received >= end);
        if let Some((_, since)) = ended {
            self.rtt = Some(self.rtt.map_or(now - since, |rtt| rtt.min(now - since)));
        }
        if self.window.is_none() || ended.is_some() {
            self.window = Some((self.received + advertised, now));
        }
        self.rtt
    }
}

/// The receive window. Its parameters are in the connection's stack.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ReceiveWindow {
    /// The part of `size` that is advertised: grows by two segments per segment that arrives (Linux, `rcv_ssthresh`).
    open: Bytes,
    /// The window changes: it is tuned, or the application reads slowly.
    changes: bool,
    /// The buffer's share for data (Linux, `window_clamp`).
    size: Bytes,
    /// Start of the round, a round trip of auto-tuning.
    round_start: Time,
    /// Data that the application read in the round (Linux, `copied_seq` less `rcvq_space.seq`).
    round_bytes: Bytes,
    /// Data that the application read in the largest round so far (Linux, `rcvq_space.space`).
    space: Bytes,
    /// The delay of the SYN-ACK, and a moving average of the delays of segments: together the RTT.
    delays: (Duration, Duration),
    /// The RTT in their place.
    measured: Option<Box<MeasuredRtt>>,
    /// Data not yet read at `drained_at`.
    buffered: Bytes,
    drained_at: Time,
}

impl ReceiveWindow {
    /// The window of a new connection.
    pub(crate) fn new(stack: &Stack) -> Self {
        let ceiling = stack.receive_window;
        let size = if stack.auto_tuning { ceiling.min(stack.initial_receive_window) } else { ceiling };
        let opens = stack.auto_tuning && stack.rules == Rules::Linux;
        Self {
            open: if opens { size.min(FIRST_WINDOW) } else { size },
            changes: stack.auto_tuning || stack.read_rate.is_some(),
            size,
            round_start: Time::ZERO,
            round_bytes: Bytes::ZERO,
            space: (stack.mss * FIRST_ROUND).min(size), // tcp_init_buffer_space
            delays: (Duration::ZERO, Duration::ZERO),
            measured: (opens && stack.piggyback).then(|| Box::new(MeasuredRtt::new())),
            buffered: Bytes::ZERO,
            drained_at: Time::ZERO,
        }
    }

    /// The advertised size, bytes.
    pub(crate) fn advertised(&self) -> Bytes {
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
        if !self.changes {
            return false;
        }
        match stack.read_rate {
            None => self.round_bytes += bytes,
            Some(read_rate) => {
                self.drain(now, read_rate);
                self.buffered += bytes;
            }
        }
        if !stack.auto_tuning {
            return false;
        }
        let (back, forward) = self.delays;
        let delay = now - sent;
        let forward = if forward == Duration::ZERO {
            delay
        } else {
            Duration::from_nanos((7 * forward.as_nanos() + delay.as_nanos()) / 8)
        };
        self.delays.1 = forward;
        let rtt = match &mut self.measured {
            None => Some(back + forward), // the RTT that timestamps show (Linux, tcp_rcv_rtt_measure_ts)
            Some(measured) => measured.on_data(now, bytes, sent, back, self.open, stack.mss),
        };
        if rtt.is_some_and(|rtt| now - self.round_start >= rtt) {
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

    /// The application reads at its rate.
    #[cold]
    fn drain(&mut self, now: Time, read_rate: Rate) {
        let read = read_rate.bytes_in(now - self.drained_at);
        self.round_bytes += read.min(self.buffered);
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
    /// least two segments, are free. It is the only update, so that one of the smallest window would let the sender send
    /// a segment in the next round trip.
    pub(crate) fn time_to_open(&self, mss: Bytes, read_rate: Rate) -> Duration {
        let wanted = (self.size / 2).max(mss * 2).min(self.size);
        read_rate.time_for_backlog(self.buffered.saturating_sub(self.size - wanted)) + Duration::from_nanos(1)
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
        window.on_data(Time::ZERO, Bytes(9001), Time::ZERO, &stack);
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
            window.on_data(Time::ZERO, Bytes(size), Time::ZERO, &stack);
            assert_eq!([opens - 1, opens].map(|ms| window.advertise(at(ms), &stack).0), [0, opens], "{mss}, {size}");
        }
    }

    /// tcp_rcv_space_adjust: the window grows by what the application reads, not by what arrives. By hand: of 60,000 bytes
    /// it reads 20,000 in the round of 100 ms at 200 bytes/ms, and (2 · 20,000 + 16 · 1000) · 3 = 168,000; at 50 bytes/ms
    /// 5000, less than the first 10,000.
    #[test]
    fn unread_data_does_not_enlarge_the_window() {
        for (bytes_per_ms, size) in [(200, Bytes(168_000)), (50, FIRST_WINDOW)] {
            let read_rate = Some(Rate(8000 * bytes_per_ms));
            let stack = Stack { receive_window: Bytes(1 << 20), auto_tuning: true, read_rate, ..linux() };
            let mut window = ReceiveWindow::new(&stack);
            window.on_established(Duration::from_millis(50));
            for (now, bytes) in [(100, 60_000), (200, 1000)] {
                window.on_data(at(now), Bytes(bytes), at(now - 50), &stack);
            }
            assert_eq!(window.size, size, "{bytes_per_ms}");
        }
    }

    /// By hand: at 3200 bit/s, 400 bytes a second, a look every millisecond rounds to whole bytes, and 400 are read
    /// in a second all the same.
    #[test]
    fn fractions_of_a_byte_are_read_later() {
        let stack = Stack { receive_window: Bytes(10_000), auto_tuning: false, read_rate: Some(Rate(3200)), ..linux() };
        let mut window = ReceiveWindow::new(&stack);
        window.on_data(Time::ZERO, Bytes(9000), Time::ZERO, &stack);
        let last = (0..=1000).map(|ms| window.advertise(at(ms), &stack).0).last();
        assert_eq!(last, Some(1000 + 400));
    }

    /// tcp_init_buffer_space and tcp_grow_window: a buffer that holds 2^22 bytes of data is advertised as 65,535 at first. By
    /// hand: (2^22 - 65,535) / 2000 are 2064.4, so that 2065 segments of 1000 bytes open it, and the next one does not.
    #[test]
    fn a_large_initial_buffer_is_opened_by_two_segments_per_segment() {
        let stack = Stack { initial_receive_window: Bytes(1 << 22), ..linux() };
        let mut window = ReceiveWindow::new(&stack);
        window.on_established(Duration::from_millis(50));
        assert_eq!(window.advertised(), FIRST_WINDOW);
        let opens = (0..3000).filter(|ms| window.on_data(at(100 + ms), stack.mss, at(50 + ms), &stack)).count();
        assert_eq!((opens, window.advertised()), (2065, Bytes(1 << 22)));
    }

    /// tcp_rcv_rtt_measure_ts, by hand: responses of 109, 1448 and 561 bytes each 302 ms, sent together, give no sample, since the
    /// first segment is short. 65,535 bytes after it end with the 31st response (109 + 65,535 ≤ 31 · 2118), so that the time
    /// until then counts as a round trip, in which more than the first 14,480 bytes arrived: the window grows. With 1448 and 670 bytes each response gives a sample of 100 ms, and no round has 14,480.
    #[test]
    fn a_short_segment_before_a_full_one_hides_the_round_trip() {
        let stack = Stack { receive_window: Bytes(1 << 20), auto_tuning: true, piggyback: true, ..linux() };
        let stack = Stack { mss: Bytes(1448), initial_receive_window: FIRST_WINDOW, ..stack };
        for (response, opens_in) in [(vec![109, 1448, 561], Some(31)), (vec![1448, 670], None)] {
            let mut window = ReceiveWindow::new(&stack);
            window.on_established(Duration::from_millis(50));
            let mut opens = |number: u64| {
                let sent = at(302 * number);
                let arrive =
                    |bytes: &u64| window.on_data(sent + Duration::from_millis(50), Bytes(*bytes), sent, &stack);
                response.iter().map(arrive).filter(|&one| one).count() > 0
            };
            assert_eq!((1..=50).find(|&number| opens(number)), opens_in, "{response:?}");
        }
    }

    /// tcp_rcv_space_adjust, by hand: a round of 20,000 bytes, twice the first 10,000, gives (2 · 20,000 + 16 · 1000) · 3 =
    /// 168,000. tcp_grow_window: the advertised window opens by two segments per segment.
    #[test]
    fn the_window_grows_to_a_multiple_of_the_data_read_in_a_round() {
        let stack = Stack { receive_window: Bytes(1 << 20), auto_tuning: true, read_rate: None, ..linux() };
        let mut window = ReceiveWindow::new(&stack);
        window.on_established(Duration::from_millis(50));
        let opens = [100, 110, 200, 210].map(|now| window.on_data(at(now), Bytes(10_000), at(now - 50), &stack));
        assert_eq!(opens, [false, false, true, true]);
        assert_eq!(window.size, Bytes(168_000));
        assert_eq!(window.advertise(at(210), &stack), FIRST_WINDOW + Bytes(4000));
    }
}
