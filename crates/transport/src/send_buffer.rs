//! The send buffer: unsent data of the application, and the receive window.

use cwndlab_units::Bytes;

use crate::wire::MAX_WINDOW;

/// The amount of data of an application that always has more.
pub const ENDLESS: Bytes = Bytes::MAX;

/// Maximum of [`SendBuffer::segments`] for finite data.
const MAX_SEGMENTS: u64 = 1 << 20;

/// Up to this window, Linux' segments may fill it (`TCP_MSS_DEFAULT`).
const SMALL_WINDOW: Bytes = Bytes(536);

/// The unsent data and the receive window.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    unsent: Bytes,
    /// Unsent data that the application wrote before the endless supply began.
    before: Bytes,
    /// SND.WND in segments of `mss` bytes.
    pub(crate) rwnd: u32,
    /// Payload of a full new segment: that of the connection, or less if the largest window has no room for it.
    mss: u32,
    /// SND.WND in bytes; saves the division while it does not change.
    advertised: Bytes,
    /// Max(SND.WND).
    max_window: Bytes,
    /// Payload of a full segment of the connection.
    full_mss: u32,
    /// Linux' rule for `mss`.
    linux: bool,
    /// Nagle's algorithm (RFC 9293, section 3.7.4).
    pub(crate) nagle: bool,
    /// The last short segment of new data (Linux, `snd_sml`).
    last_short: Option<u64>,
}

impl SendBuffer {
    /// An empty buffer with an unknown receive window, for segments of at most `mss` bytes.
    pub(crate) fn new(mss: u32, linux: bool) -> Self {
        Self {
            unsent: Bytes::ZERO,
            before: Bytes::ZERO,
            rwnd: u32::MAX,
            mss,
            advertised: Bytes::MAX,
            max_window: Bytes::ZERO,
            full_mss: mss,
            linux,
            nagle: false,
            last_short: None,
        }
    }

    /// Whether Nagle's algorithm delays a short segment while `flight_size` segments from `una` on are in flight: behind
    /// any of them (RFC 9293, section 3.7.4), in Linux behind a short one (tcp_minshall_check).
    pub(crate) fn delays_short(&self, flight_size: u32, una: u64) -> bool {
        self.nagle && flight_size > 0 && (!self.linux || self.last_short.is_some_and(|seq| seq >= una))
    }

    /// Notes that the next segment, `seq`, is short (Linux, tcp_minshall_update).
    pub(crate) fn note_short(&mut self, seq: u64) {
        self.last_short = Some(seq);
    }

    /// Adds `bytes` of the application, or [`ENDLESS`].
    pub(crate) fn write(&mut self, bytes: Bytes) {
        if bytes == ENDLESS && self.unsent != ENDLESS {
            self.before = self.unsent;
        }
        self.unsent = if bytes == ENDLESS { ENDLESS } else { Bytes(self.unsent.0.saturating_add(bytes.0)) };
    }

    /// Takes unsent data back, which is not endless.
    pub(crate) fn withdraw(&mut self, bytes: Bytes) {
        if self.unsent != ENDLESS {
            self.unsent = self.unsent.saturating_sub(bytes);
        }
    }

    /// Ends an endless supply. Data that were written before it remain.
    pub(crate) fn end(&mut self) {
        if self.unsent == ENDLESS {
            self.unsent = std::mem::take(&mut self.before);
        }
    }

    /// Whether all data was sent.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.unsent == Bytes::ZERO
    }

    /// The unsent data.
    pub(crate) fn unsent(&self) -> Bytes {
        self.unsent
    }

    /// Whether there is data and the receive window allows a segment beyond `flight_size`.
    pub(crate) fn may_send(&self, flight_size: u32) -> bool {
        !self.is_empty() && (flight_size < self.rwnd || self.fits_small_window(flight_size))
    }

    /// Whether a window below a full segment allows a segment although none of the size of the window is in flight: all
    /// data, or half of the largest window (RFC 9293, section 3.8.6.2.1, rules 2 and 3 with Nagle's condition).
    #[inline]
    pub(crate) fn fits_small_window(&self, flight_size: u32) -> bool {
        flight_size == 0
            && self.has_small_window()
            && (self.unsent <= self.advertised || self.advertised >= self.max_window / 2)
    }

    /// Whether the receive window is open but below a full segment.
    pub(crate) fn has_small_window(&self) -> bool {
        self.rwnd == 0 && self.advertised > Bytes::ZERO
    }

    /// Removes the payload of the next segment and returns its length: a full segment, the rest of the data, or in a
    /// window below a full segment the window.
    #[inline]
    pub(crate) fn take_segment(&mut self) -> u32 {
        let most = if self.rwnd == 0 { self.advertised.0.min(u64::from(self.mss)) } else { u64::from(self.mss) };
        if self.unsent == ENDLESS {
            if self.before > Bytes::ZERO {
                self.before = self.before.saturating_sub(Bytes(most));
            }
            return most as u32;
        }
        let len = most.min(self.unsent.0);
        self.unsent = Bytes(self.unsent.0 - len);
        len as u32
    }

    /// Whether the data does not fill a segment.
    #[inline]
    pub(crate) fn is_partial(&self) -> bool {
        self.unsent.0 < u64::from(self.mss)
    }

    /// Whether the data fills `segments` full segments.
    #[inline]
    pub(crate) fn fills(&self, segments: u32) -> bool {
        self.unsent.0 >= u64::from(segments) * u64::from(self.mss)
    }

    /// `max` if the data fills as many segments, else one.
    #[inline]
    pub(crate) fn full_or_one(&self, max: u32) -> u32 {
        if self.fills(max) {
            max
        } else {
            1
        }
    }

    /// Number of segments of the data, including a partial last one.
    #[inline]
    pub(crate) fn segments(&self) -> u32 {
        if self.unsent == ENDLESS {
            u32::MAX
        } else {
            self.unsent.0.div_ceil(u64::from(self.mss)).min(MAX_SEGMENTS) as u32
        }
    }

    /// Whether `window` differs from the current one.
    #[inline]
    pub(crate) fn window_differs(&self, window: Bytes) -> bool {
        window != self.advertised
    }

    /// Sets the window advertised by the receiver.
    #[inline]
    pub(crate) fn set_window(&mut self, window: Bytes) {
        self.advertised = window;
        if window > self.max_window {
            self.max_window = window;
            self.mss = self.bounded_mss();
        }
        self.rwnd = (window.0 / u64::from(self.mss)).min(MAX_WINDOW) as u32;
    }

    /// A full segment's payload within the largest window; under Linux' rule within half of it, so that two fit
    /// (tcp_bound_to_half_wnd).
    fn bounded_mss(&self) -> u32 {
        let halved = self.linux && self.max_window > SMALL_WINDOW;
        let bound = if halved { self.max_window / 2 } else { self.max_window };
        bound.0.min(u64::from(self.full_mss)) as u32
    }

    /// Handles an ACK with another window. Linux ignores a smaller window of an ACK that acknowledges no new data, as
    /// an old one, unless it closes the window (tcp_may_update_window). `advanced`: the ACK acknowledges new data.
    /// Returns whether the window was updated.
    pub(crate) fn update_window(&mut self, window: Bytes, linux: bool, advanced: bool) -> bool {
        let current = advanced || window > self.advertised || window == Bytes::ZERO || !linux;
        if current {
            self.set_window(window);
        }
        current
    }

    /// Whether the receive window is closed.
    pub(crate) fn is_window_closed(&self) -> bool {
        self.advertised == Bytes::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 2500 bytes in segments of 1000.
    #[test]
    fn the_last_segment_holds_the_rest() {
        let mut buffer = SendBuffer::new(1000, false);
        buffer.write(Bytes(2500));
        assert_eq!(buffer.segments(), 3);
        assert_eq!([buffer.take_segment(), buffer.take_segment()], [1000, 1000]);
        assert!(buffer.is_partial());
        assert_eq!((buffer.take_segment(), buffer.is_empty()), (500, true));
    }

    #[test]
    fn an_endless_supply_lasts_until_it_is_ended() {
        let mut buffer = SendBuffer::new(1000, false);
        buffer.write(ENDLESS);
        assert_eq!((buffer.take_segment(), buffer.is_partial(), buffer.is_empty()), (1000, false, false));
        buffer.end();
        assert!(buffer.is_empty());
    }

    /// By hand: of 2500 bytes written before an endless supply, two segments of 1000 are sent before its end.
    #[test]
    fn data_written_before_an_endless_supply_outlast_it() {
        let mut buffer = SendBuffer::new(1000, true);
        buffer.write(Bytes(2500));
        buffer.write(ENDLESS);
        assert_eq!([buffer.take_segment(), buffer.take_segment()], [1000, 1000]);
        buffer.end();
        assert_eq!((buffer.take_segment(), buffer.is_empty()), (500, true));
        buffer.write(ENDLESS);
        buffer.end();
        assert!(buffer.is_empty());
    }

    /// tcp_may_update_window: in an ACK without newly acknowledged data a smaller window is an old one, unless it is
    /// closed.
    #[test]
    fn linux_ignores_an_old_acks_smaller_window() {
        let mut buffer = SendBuffer::new(1000, false);
        buffer.set_window(Bytes(20_000));
        assert!(!buffer.update_window(Bytes(6000), true, false));
        assert_eq!(buffer.rwnd, 20);
        assert!(buffer.update_window(Bytes::ZERO, true, false));
        assert_eq!((buffer.rwnd, buffer.is_window_closed()), (0, true));
    }
}
