//! The configuration of CoAP, and the sizes of its messages.

use cwndlab_config::{fields, words, Faults, Positive, Reader};
use cwndlab_units::{Bytes, Duration};

use super::messages::{uint_bytes, Job};
use super::timeout::CongestionControl;
use crate::configuration::check_interval;
use crate::dialogue::End;
use crate::distribution::Distribution;
use crate::distribution_fields::{PositiveSizes, PositiveTimes, Times};
use crate::dtls::Dtls;
use crate::UDP_HEADER;

/// Header of a message (RFC 7252, 3): version, type, token length, code, message identifier.
const HEADER: Bytes = Bytes(4);
/// The marker in front of a payload.
const MARKER: Bytes = Bytes(1);
/// Largest payload of a message if the path MTU is unknown (RFC 7252, 4.6).
const MAX_PAYLOAD: Bytes = Bytes(1024);
/// Blocks that the option Block can number (RFC 7959, 2.2).
const MOST_BLOCKS: u64 = 1 << 20;

words! {
    /// Who sends what.
    pub enum Method {
        /// the flow's sender sends its payload in requests
        Post = "post",
        /// the flow's receiver requests, the sender responds with its payload
        Get = "get",
        /// the flow's receiver registers once, the sender notifies it of each new payload (RFC 7641)
        Observe = "observe",
    }
}

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// who sends what
        method: Method = "post",
        /// confirmable (CON): retransmitted until it is acknowledged; false: non-confirmable (NON)
        confirmable: bool = true,
        /// payload of a message
        payload: PositiveSizes = absent("uniform from 16 B to 128 B", Distribution::Uniform(16.0, 128.0)),
        /// time between two messages; the exponential distribution gives a Poisson process
        period: PositiveTimes = required("'period = \"10 s\"'"),
        /// total number
        count: Option<Positive<u64>> = absent("unlimited"),
        /// congestion control: the retransmission timeouts
        control: CongestionControl = "rfc7252",
        /// `ACK_TIMEOUT`: shortest first timeout of `rfc7252`
        ack_timeout: Positive<Duration> = "2 s",
        /// `ACK_RANDOM_FACTOR`: ratio of the longest to the shortest first timeout of `rfc7252`
        ack_random_factor: f64 = 1.5 up to 10.0,
        /// `MAX_RETRANSMIT`: after so many retransmissions and a last timeout the message is given up
        max_retransmit: u32 = 4 in 0..=20,
        /// `NSTART`: confirmable messages that wait for an answer at the same time; further ones wait at their sender
        nstart: u32 = 1 in 1..=1_000,
        /// time that a server needs for a response; if it is not zero, an empty acknowledgement goes ahead of the response
        processing: Times = "0 s",
        /// block size for larger payloads: a power of two from 16 B to 1024 B (RFC 7959)
        block: Bytes = "1024 B",
        /// length of the token, bytes
        token: u32 = 4 in 0..=8,
        /// length of a request's other options, such as Uri-Path, bytes
        options: u32 = 16 in 0..=1_000,
        /// `Max-Age`: without a notification for this time the client registers again
        max_age: Positive<Duration> = "60 s",
        /// bytes that security other than `dtls` adds to each datagram: 13 for OSCORE, 29 for DTLS 1.2 with tags of 8 bytes
        security: u32 = 0 in 0..=256,
        /// DTLS
        dtls: Dtls,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if !(16..=1024).contains(&self.block.0) || !self.block.0.is_power_of_two() {
            faults.add(table.at("block"), "is not a power of two from 16 B to 1024 B", "RFC 7959, section 2.2");
        }
        if self.ack_random_factor < 1.0 {
            faults.add(table.at("ack_random_factor"), "is less than 1", "RFC 7252, section 4.8.1");
        }
        let largest = match self.payload {
            Distribution::Fixed(largest) | Distribution::Uniform(_, largest) => largest,
            _ => 0.0,
        };
        if self.limit().is_some_and(|limit| largest > limit.0 as f64) {
            let hint = "requests that are confirmable come in blocks, notifications and other messages do not";
            faults.add(table.at("payload"), format!("is larger than {} B", MAX_PAYLOAD.0), hint);
        } else if largest > (self.block.0 * MOST_BLOCKS) as f64 {
            let what = format!("is more than {MOST_BLOCKS} blocks, which an option cannot number");
            faults.add(table.at("payload"), what, "RFC 7959, section 2.2: NUM has 20 bits");
        }
        check_interval(table, "ack_timeout", self.ack_timeout, "RFC 7252, section 4.8: 2 s", faults);
        check_interval(table, "max_age", self.max_age, "RFC 7252, section 5.10.5: 60 s", faults);
    }

    /// Largest payload of a message that does not come in blocks: a notification, whose further blocks the client would have
    /// to request, or a message that is not confirmable, whose blocks RFC 9177 describes.
    pub(crate) fn limit(&self) -> Option<Bytes> {
        (!self.confirmable || self.method == Method::Observe).then_some(MAX_PAYLOAD)
    }

    /// The end that sends requests or registers.
    pub(crate) fn client(&self) -> End {
        if self.method == Method::Post {
            End::Sender
        } else {
            End::Receiver
        }
    }

    /// Whether a payload of this size is sent in blocks.
    pub(crate) fn has_blocks(&self, total: Bytes) -> bool {
        self.limit().is_none() && total > self.block
    }

    /// Length of the block at `offset` of a payload.
    pub(crate) fn block(&self, total: Bytes, offset: Bytes) -> Bytes {
        if self.has_blocks(total) {
            (total - offset).min(self.block)
        } else {
            total
        }
    }

    /// Bytes of the option Block1 or Block2 at `offset` (RFC 7959, 2.2): number, more, size exponent in 0 to 3 bytes. A delta
    /// of its number from that of the option before it takes a further byte from 13 on (RFC 7252, 3.1): in a request Block1
    /// (27) follows Uri-Path (11) and has one, Block2 (23) does not; in a response both are the first option.
    pub(crate) fn block_option(&self, total: Bytes, offset: Bytes, extended: bool) -> Bytes {
        if !self.has_blocks(total) {
            return Bytes::ZERO;
        }
        let more = u64::from(offset + self.block < total);
        let exponent = u64::from(self.block.0.trailing_zeros()) - 4;
        let value = (offset.0 / self.block.0) << 4 | more << 3 | exponent;
        Bytes(1 + u64::from(extended) + uint_bytes(value))
    }

    /// Size of a message that carries `payload`.
    pub(crate) fn with_payload(&self, options: Bytes, payload: Bytes) -> Bytes {
        let marked = if payload == Bytes::ZERO { Bytes::ZERO } else { MARKER + payload };
        self.fixed() + options + marked
    }

    /// Size of the request for, or with, the block at `offset`.
    pub(crate) fn request_bytes(&self, job: Job) -> Bytes {
        let post = self.method == Method::Post;
        let option = match (post, job.done) {
            // The first request for a payload does not know that it comes in blocks.
            (false, Bytes::ZERO) => Bytes::ZERO,
            _ => self.block_option(job.total, job.done, post),
        };
        let payload = if post { self.block(job.total, job.done) } else { Bytes::ZERO };
        self.with_payload(Bytes(u64::from(self.options)) + option, payload)
    }

    /// Size of the response to that request.
    pub(crate) fn response_bytes(&self, job: Job) -> Bytes {
        let post = self.method == Method::Post;
        let payload = if post { Bytes::ZERO } else { self.block(job.total, job.done) };
        self.with_payload(self.block_option(job.total, job.done, true), payload)
    }

    /// Size of a notification: the option Observe has a sequence number of 24 bits (RFC 7641, 2 and 4.4).
    pub(crate) fn notification_bytes(&self, sequence: u64, payload: Bytes) -> Bytes {
        self.with_payload(Bytes(1 + uint_bytes(sequence & 0xff_ffff)), payload)
    }

    /// Size of the largest packet: a message with a full payload and the options Observe or Block (at most 6 bytes).
    pub(crate) fn largest_packet(&self) -> Bytes {
        let options = Bytes(u64::from(self.options) + 6);
        UDP_HEADER + self.with_payload(options, MAX_PAYLOAD) + self.dtls.record()
    }

    /// Size of an empty message.
    pub(crate) fn empty_bytes(&self) -> Bytes {
        HEADER + Bytes(u64::from(self.security))
    }

    /// Bytes of each message that is not empty: header, token, security.
    fn fixed(&self) -> Bytes {
        HEADER + Bytes(u64::from(self.token) + u64::from(self.security))
    }
}
