//! The kinds of messages of CoAP (RFC 7252, 4 and 5), and what their senders remember.

use std::collections::{BTreeSet, VecDeque};

use cwndlab_units::{Bytes, Duration, Time};

use super::timeout::Schedule;
use crate::dialogue::{End, Message};

/// `EXCHANGE_LIFETIME` of RFC 7252, 4.8.2: within it a repeated message is acknowledged and not processed again, and a
/// response may still come.
pub(crate) const EXCHANGE_LIFETIME: Duration = Duration::from_secs(247);

/// Bytes of an unsigned integer in an option, without leading zeros (RFC 7252, 3.2).
pub(crate) fn uint_bytes(value: u64) -> u64 {
    u64::from((u64::BITS - value.leading_zeros()).div_ceil(8))
}

/// A request, with or without payload.
pub(crate) const REQUEST: u8 = 0;
/// A response in an acknowledgement (piggybacked, RFC 7252, 5.2.1).
pub(crate) const PIGGYBACKED: u8 = 1;
/// An empty acknowledgement of a request.
pub(crate) const EMPTY: u8 = 2;
/// A separate response (5.2.2), or that to a non-confirmable request (5.2.3).
pub(crate) const SEPARATE: u8 = 3;
/// An empty acknowledgement of a separate response or of a notification.
pub(crate) const ACKNOWLEDGED: u8 = 4;
/// A registration (RFC 7641, 3.1).
pub(crate) const REGISTER: u8 = 5;
/// A notification (RFC 7641, 3.2).
pub(crate) const NOTIFY: u8 = 6;

/// A message of the application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) since: Time,
    pub(crate) total: Bytes,
    /// Offset of the block in question.
    pub(crate) done: Bytes,
}

/// A confirmable message that waits for its acknowledgement, or a request that waits for its response.
#[derive(Debug)]
pub(crate) struct Outstanding {
    pub(crate) from: End,
    pub(crate) bytes: Bytes,
    pub(crate) message: Message,
    pub(crate) first_sent: Time,
    pub(crate) schedule: Schedule,
    pub(crate) retransmissions: u32,
    pub(crate) due: Time,
    /// The acknowledgement is there, the response is not.
    pub(crate) acknowledged: bool,
}

/// What distinguishes a message from all others: its start, its offset or size, and its kind.
type Identity = (Time, Bytes, u8);

/// The messages that arrived in the last lifetime of an exchange (RFC 7252, 4.5).
#[derive(Debug, Default)]
pub(crate) struct Known {
    messages: BTreeSet<Identity>,
    /// The same in the order of their arrivals, with these.
    arrivals: VecDeque<(Time, Identity)>,
}

impl Known {
    /// Whether a message that arrives at `now` is received for the first time.
    pub(crate) fn is_new(&mut self, message: Message, now: Time) -> bool {
        while let Some(&(_, old)) = self.arrivals.front().filter(|&&(at, _)| now - at > EXCHANGE_LIFETIME) {
            self.arrivals.pop_front();
            self.messages.remove(&old);
        }
        let identity = (message.since, message.size, message.kind);
        let is_new = self.messages.insert(identity);
        if is_new {
            self.arrivals.push_back((now, identity));
        }
        is_new
    }
}
