//! Versions of HTTP and their frames.
//!
//! Sources: RFC 9113 (HTTP/2: frames 4.1 and 4.2), RFC 9114 (HTTP/3: frames 7.1), RFC 9000, 16 (variable-length integers).

use cwndlab_config::words;
use cwndlab_units::Bytes;

words! {
    /// Version of HTTP.
    pub enum Version {
        /// HTTP/2: frames, short header fields after the first message
        Http2 = "2",
        /// HTTP/3: the same over QUIC, with each message on a stream of its own
        Http3 = "3",
        /// HTTP/1.1: all header fields with each message
        Http11 = "1.1",
    }
}

/// Header of a frame of HTTP/2 (RFC 9113, 4.1), and a SETTINGS frame without settings (6.5).
pub(crate) const FRAME_HEADER: Bytes = Bytes(9);
/// Largest payload of a frame of HTTP/2 (RFC 9113, 4.2: the initial value of `SETTINGS_MAX_FRAME_SIZE` is 2¹⁴).
const FRAME: u64 = 16_384;

/// A body in its frames of HTTP/2.
pub(crate) fn in_frames(body: Bytes) -> Bytes {
    body + FRAME_HEADER * body.0.div_ceil(FRAME)
}

/// A frame of HTTP/3 with this payload.
pub(crate) fn frame(payload: Bytes) -> Bytes {
    let length = match payload.0 {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    };
    Bytes(1 + length) + payload
}
