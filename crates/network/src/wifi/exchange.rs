//! Frame exchanges and transmission opportunities.

use cwndlab_units::{Duration, Time};

/// A frame exchange: optional RTS/CTS, data and acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) path: u32,
    pub(super) frames: u32,
    /// Airtime of the first frame, which a collision destroys: the RTS, or the data.
    pub(super) first: Duration,
    /// From the start to the end of the data.
    pub(super) data_end: Duration,
    /// SIFS and the acknowledgement.
    pub(super) acknowledgement: Duration,
    pub(super) after_rts: bool,
}

/// Numbers of frames of an exchange that were received, and dropped after the last attempt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameCounts {
    pub(super) received: u64,
    pub(super) lost: u64,
}

/// A transmission opportunity (TXOP) between two of its exchanges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Txop {
    /// The access function that holds it.
    pub(super) function: u32,
    /// Start of the next exchange: a SIFS after the last one.
    pub(super) start: Time,
    /// End of the last exchange at the latest.
    pub(super) end: Time,
    /// The receiver of all exchanges so far, which does not set its NAV; `None`: there are several, or it does not send.
    pub(super) receiver: Option<u32>,
}
