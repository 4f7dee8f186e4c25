//! Data that the application wrote and the sender has not sent, and how much of it the receive window admits.

use cwndlab_units::Bytes;

use crate::wire::MAX_WINDOW;

/// Written by an application that always has data.
pub const ENDLESS: Bytes = Bytes::MAX;

/// Largest answer of [`SendBuffer::segments`] for data that ends.
const MAX_SEGMENTS: u64 = 1 << 20;

/// The unsent data and the receive window.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    unsent: Bytes,
    /// SND.WND in whole segments.
    pub(crate) rwnd: u32,
    /// SND.WND as the receiver advertised it: the division is spared while it stays.
    advertised: Bytes,
    /// Nagle's algorithm (RFC 9293, section 3.7.4).
    pub(crate) nagle: bool,
}

impl SendBuffer {
    /// Empty, and the receive window is not known yet.
    pub(crate) fn new() -> Self {
        Self { unsent: Bytes::ZERO, rwnd: u32::MAX, advertised: Bytes::MAX, nagle: false }
    }

    /// The application writes `bytes`, or [`ENDLESS`].
    pub(crate) fn write(&mut self, bytes: Bytes) {
        self.unsent = if bytes == ENDLESS { ENDLESS } else { Bytes(self.unsent.0.saturating_add(bytes.0)) };
    }

    /// An endless supply ends.
    pub(crate) fn end(&mut self) {
        if self.unsent == ENDLESS {
            self.unsent = Bytes::ZERO;
        }
    }

    /// All data was sent.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.unsent == Bytes::ZERO
    }

    /// There is data and the receive window admits a segment beyond `flight_size`.
    pub(crate) fn may_send(&self, flight_size: u32) -> bool {
        !self.is_empty() && flight_size < self.rwnd
    }

    /// Takes the payload of the next segment, at most `mss`.
    #[inline]
    pub(crate) fn take(&mut self, mss: u32) -> u32 {
        if self.unsent == ENDLESS {
            return mss;
        }
        let len = u64::from(mss).min(self.unsent.0);
        self.unsent = Bytes(self.unsent.0 - len);
        len as u32
    }

    /// The data does not fill a segment.
    #[inline]
    pub(crate) fn is_partial(&self, mss: u32) -> bool {
        self.unsent.0 < u64::from(mss)
    }

    /// The data fills so many segments.
    #[inline]
    pub(crate) fn fills(&self, segments: u32, mss: u32) -> bool {
        self.unsent.0 >= u64::from(segments) * u64::from(mss)
    }

    /// `most` where the data fills as many segments, else one.
    #[inline]
    pub(crate) fn full_or_one(&self, most: u32, mss: u32) -> u32 {
        if self.fills(most, mss) {
            most
        } else {
            1
        }
    }

    /// Segments that the data fills, the last one in part.
    #[inline]
    pub(crate) fn segments(&self, mss: u32) -> u32 {
        if self.unsent == ENDLESS {
            u32::MAX
        } else {
            self.unsent.0.div_ceil(u64::from(mss)).min(MAX_SEGMENTS) as u32
        }
    }

    /// The window differs from the one in force.
    #[inline]
    pub(crate) fn differs(&self, window: Bytes) -> bool {
        window != self.advertised
    }

    /// The receiver advertises `window`.
    #[inline]
    pub(crate) fn set_window(&mut self, window: Bytes, mss: u32) {
        self.advertised = window;
        self.rwnd = (window.0 / u64::from(mss)).min(MAX_WINDOW) as u32;
    }

    /// An ACK advertises another window. Linux ignores an ACK that shrinks it without acknowledging anything, as an old one,
    /// unless it closes the window (tcp_may_update_window). `advanced`: it acknowledges something. Returns whether the window
    /// is in force.
    pub(crate) fn update_window(&mut self, window: Bytes, mss: u32, linux: bool, advanced: bool) -> bool {
        let current = advanced || window > self.advertised || window == Bytes::ZERO || !linux;
        if current {
            self.set_window(window, mss);
        }
        current
    }

    /// The receive window is closed.
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
        let mut buffer = SendBuffer::new();
        buffer.write(Bytes(2500));
        assert_eq!(buffer.segments(1000), 3);
        assert_eq!([buffer.take(1000), buffer.take(1000)], [1000, 1000]);
        assert!(buffer.is_partial(1000));
        assert_eq!((buffer.take(1000), buffer.is_empty()), (500, true));
    }

    #[test]
    fn an_endless_supply_lasts_until_it_is_ended() {
        let mut buffer = SendBuffer::new();
        buffer.write(ENDLESS);
        assert_eq!((buffer.take(1000), buffer.is_partial(1000), buffer.is_empty()), (1000, false, false));
        buffer.end();
        assert!(buffer.is_empty());
    }

    /// tcp_may_update_window: without new data acknowledged, a smaller window is an old one, but not a closed one.
    #[test]
    fn linux_ignores_an_old_acks_smaller_window() {
        let mut buffer = SendBuffer::new();
        buffer.set_window(Bytes(20_000), 1000);
        assert!(!buffer.update_window(Bytes(6000), 1000, true, false));
        assert_eq!(buffer.rwnd, 20);
        assert!(buffer.update_window(Bytes::ZERO, 1000, true, false));
        assert_eq!((buffer.rwnd, buffer.is_window_closed()), (0, true));
    }
}
