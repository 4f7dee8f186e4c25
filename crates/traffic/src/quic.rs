//! Sizes of QUIC's packets, and the flights of its handshake (RFC 9000, RFC 9001).
//!
//! ```text
//! packet with a short header: 28 (IPv4, UDP) + 1 + 8 (connection identifier) + 2 (packet number) + 16 (tag)       = 55
//!   with data:  55 + 1 + 2 (stream) + 4 (offset), a STREAM frame up to the end of the packet (19.8)               = 62
//!   with an ACK frame of one range: 55 + 1 + 2 (largest) + 2 (delay) + 1 + 1 (19.3)                               = 62
//! packet with a long header: 1 + 4 + 1 + 8 + 1 + 8 (connection identifiers) + 1 (token) + 2 + 2 + 16 + 5 (CRYPTO) = 49
//! ```
//!
//! Datagrams of a handshake have at most 1200 bytes: no larger ones are known to pass (RFC 9000, 14.2). Not modelled: Retry,
//! version negotiation, `HANDSHAKE_DONE`, session tickets, and connections that move to another path.

use cwndlab_units::Bytes;

use crate::packets::UDP_HEADER;

/// Headers of a packet with data, tag included; size of a packet with an ACK of one range.
pub const QUIC_HEADER: Bytes = Bytes(62);
/// A further range of an ACK: its gap and its length (RFC 9000, 19.3.1).
pub const QUIC_ACK_RANGE: Bytes = Bytes(2);
/// The smallest datagram that a path must carry, and the size of one with an Initial packet (RFC 9000, 14 and 14.1).
pub const QUIC_DATAGRAM: Bytes = Bytes(1200);

/// Headers of a packet of the handshake, tag included.
const LONG_HEADER: u64 = 49;
/// An ACK frame of the client's first packet.
const ACK_FRAME: u64 = 5;
/// A server sends at most three times what it received before it knows the address of the client (RFC 9000, 8.1).
const AMPLIFICATION: u64 = 3;

/// What the simulator sends for these datagrams: without what it adds to each of them.
fn payload(bytes: u64) -> Bytes {
    let datagrams = bytes.div_ceil(QUIC_DATAGRAM.0);
    Bytes(bytes) - (QUIC_HEADER - UDP_HEADER) * datagrams
}

/// The flights of a handshake whose TLS messages have these sizes, from client and server in turn.
///
/// All datagrams of a client that have an Initial packet are padded, as are the server's that an acknowledgement follows
/// (RFC 9000, 14.1). What exceeds the limit of the server's first flight follows the client's acknowledgement, which
/// validates its address.
pub(crate) fn flights(client_hello: u64, server: u64) -> Vec<Bytes> {
    let datagram = QUIC_DATAGRAM.0;
    let hello = client_hello.div_ceil(datagram - LONG_HEADER) * datagram;
    // ServerHello is in an Initial packet of the first datagram, all else in Handshake packets.
    let first = server + LONG_HEADER + ACK_FRAME;
    let answer = (first + LONG_HEADER * first.div_ceil(datagram - LONG_HEADER)).max(datagram);
    let limit = AMPLIFICATION * hello;
    let flights = if answer > limit {
        vec![hello, limit, datagram, answer - limit, datagram]
    } else {
        vec![hello, answer, datagram]
    };
    flights.into_iter().map(payload).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, of UDP payload: a `ClientHello` of 253 bytes is padded to 1200, a server's flight of 3367 takes 3367 + 54 +
    /// 3 · 49 = 3568 in three datagrams, below 3 · 1200; one of 117 is padded. The client ends with a datagram. A segment has
    /// 34 bytes of these in its headers.
    #[test]
    fn datagrams_of_a_handshake_are_padded() {
        assert_eq!(flights(253, 3367), [1166, 3568 - 3 * 34, 1166].map(Bytes));
        assert_eq!(flights(117, 121), [1166, 1166, 1166].map(Bytes));
    }

    /// RFC 9000, section 8.1, by hand: 5000 + 54 + 5 · 49 = 5299 bytes exceed 3600 by 1699, which wait for a round trip.
    #[test]
    fn a_long_chain_of_certificates_takes_another_round_trip() {
        let expected = [1166, 3600 - 3 * 34, 1166, 1699 - 2 * 34, 1166];
        assert_eq!(flights(253, 5000), expected.map(Bytes));
    }
}
