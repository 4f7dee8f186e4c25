//! The state of a station: its view of the channel, its backoff, its exchange, and its frames.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use super::minstrel::Minstrel;
use crate::aqm::{Discipline, QueuedPacket};
use crate::queue::Limit;
use crate::random::Stream;
use crate::wifi::access_function::{Counters, PathTotals, QueueLength, Routed};
use crate::wifi::airtimes::KnownFlow;
use crate::wifi::phy::Mode;

/// Failed exchanges of a station by cause, which is determined at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCauses {
    /// Another station that the receiver senses began in the same slot.
    pub same_slot: u64,
    /// Another frame at the receiver began before or after: a hidden station, or the receiver itself was sending.
    pub hidden: u64,
    /// No other frame: noise, a frame below the preamble threshold, or a lost response.
    pub noise: u64,
}

/// Time of a station by activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyTimes {
    /// Sending.
    pub sending: Duration,
    /// Receiving a frame for the station.
    pub receiving: Duration,
    /// Receiving a frame for another station.
    pub overheard: Duration,
    /// Energy above the threshold without a detected preamble.
    pub energy: Duration,
}

/// What a station does or senses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Activity {
    #[default]
    Idle,
    Sending,
    Receiving,
    Overhearing,
    Energy,
}

/// The backoff of a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    /// Remaining slots after `ready`.
    pub(super) slots: u64,
    /// End of the interframe space.
    pub(super) ready: Time,
    /// Start of the idle period by carrier sense and NAV.
    pub(super) idle_from: Time,
    /// Access without a backoff, unless another station sends before.
    pub(super) immediate: bool,
    /// Contention window, slots.
    pub(super) cw: u32,
    /// Number of the valid access event: earlier ones are void.
    pub(super) generation: u64,
}

impl Backoff {
    /// Time at which the station sends, unless the channel becomes busy before.
    pub(super) fn expiry(&self, slot: Duration) -> Time {
        self.ready + slot * self.slots
    }

    /// Number of slots that began between the end of the interframe space and `at`, plus `more`.
    pub(super) fn counted(&self, at: Time, slot: Duration, more: u64) -> u64 {
        if at < self.ready {
            return 0;
        }
        (at - self.ready).as_nanos() / slot.as_nanos() + more
    }
}

/// A period of constant SINR in a reception.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) until: Time,
    /// Signal to interference and noise, a ratio.
    pub(super) sinr: f64,
}

/// The frame that a station receives.
#[derive(Debug)]
pub(super) struct Reception {
    pub(super) signal: u64,
    pub(super) from: u32,
    /// The frame is for this station.
    pub(super) addressed: bool,
    pub(super) start: Time,
    pub(super) chunks: Vec<Chunk>,
    /// SINR since the last chunk.
    pub(super) sinr: f64,
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Rts,
    Cts,
    Data,
    BlockAckRequest,
    /// ACK or BlockAck.
    Ack,
}

impl FrameKind {
    /// Whether it demands a response.
    pub(super) fn asks(self) -> bool {
        matches!(self, Self::Rts | Self::Data | Self::BlockAckRequest)
    }
}

/// The frame exchange of a station.
#[derive(Debug)]
pub(super) struct OwnExchange {
    pub(super) path: u32,
    /// Serial numbers of its data frames.
    pub(super) serials: Vec<u64>,
    /// Their sizes with delimiters, bytes.
    pub(super) mpdus: Vec<u32>,
    pub(super) mode: Mode,
    pub(super) data: Duration,
    pub(super) start: Time,
    /// End of its last own frame.
    pub(super) sent_until: Time,
    /// A CTS was received.
    pub(super) reserved: bool,
    /// It begins with an RTS.
    pub(super) after_rts: bool,
    /// Number of this request for a BlockAck, from 1; 0: it has data.
    pub(super) requests: u32,
    /// Another frame overlapped with one of its frames at the receiver: in the same slot, or at another time.
    pub(super) overlapped: [bool; 2],
    /// Number of its valid timeout.
    pub(super) timeout: u64,
    /// The timeout has passed during a reception, whose end decides.
    pub(super) timed_out: bool,
}

/// A frame in the queue of its sender.
#[derive(Debug)]
pub(super) struct SentFrame<P> {
    pub(super) one: QueuedPacket<P>,
    pub(super) serial: u64,
    /// Failed attempts without RTS, and with RTS.
    pub(super) failures: [u32; 2],
    /// The receiver has it.
    pub(super) received: bool,
    /// The sender has its acknowledgement, or dropped it.
    pub(super) done: bool,
    /// Its outcome was returned.
    pub(super) reported: bool,
}

/// The frames of a station to one receiver.
#[derive(Debug)]
pub(super) struct NeighbourPath<P> {
    pub(super) from: u32,
    pub(super) to: u32,
    /// The mode of all transmissions, unless statistics select it.
    pub(super) mode: Option<Mode>,
    /// The statistics.
    pub(super) minstrel: Option<Minstrel>,
    /// Transmissions without a response since the last one with it.
    pub(super) misses: u32,
    /// Logarithm of the probability that other noise does not destroy a frame.
    pub(super) ln_noise: f64,
    pub(super) frames: VecDeque<SentFrame<P>>,
    pub(super) queue_length: QueueLength,
    pub(super) totals: PathTotals,
    pub(super) known_flow: KnownFlow,
    /// Maximum size of an aggregate in the last mode, bytes.
    pub(super) max_bytes: Option<(Mode, u32)>,
}

/// The state of a station.
#[derive(Debug)]
pub(super) struct Station<P> {
    pub(super) backoff: Backoff,
    /// The frame that it sends.
    pub(super) sending: Option<u64>,
    pub(super) reception: Option<Reception>,
    pub(super) activity: Activity,
    pub(super) since: Time,
    /// The last reception failed: EIFS.
    pub(super) failed_reception: bool,
    /// End of the reservation by frames of others.
    pub(super) nav: Time,
    /// It is that of an RTS, and no frame was detected since.
    pub(super) nav_of_rts: bool,
    /// End of the last data frame to which it responds.
    pub(super) gap_from: Time,
    pub(super) exchange: Option<OwnExchange>,
    /// The next exchange, if it is a request for a BlockAck.
    pub(super) request: Option<OwnExchange>,
    /// Its paths.
    pub(super) paths: Vec<u32>,
    /// Frames in the device, or in the queue without a discipline, that are neither acknowledged nor dropped.
    pub(super) backlog: u64,
    pub(super) limit: Limit,
    /// The frame in service counts towards the limit.
    pub(super) counts_in_service: bool,
    /// A queue discipline above the device.
    pub(super) queue: Option<Box<dyn Discipline<Routed<P>>>>,
    /// Frames of the device if there is a discipline.
    pub(super) room: u64,
    pub(super) queue_length: QueueLength,
    pub(super) counters: Counters,
    pub(super) causes: LossCauses,
    pub(super) busy: BusyTimes,
    pub(super) random: Stream,
}

impl<P> Station<P> {
    /// Accounts the time until `now` for the present activity.
    pub(super) fn account(&mut self, now: Time) {
        self.busy = self.busy_until(now);
        self.since = now;
    }

    /// The time by activity until `now`.
    pub(super) fn busy_until(&self, now: Time) -> BusyTimes {
        let span = now.saturating_since(self.since);
        let mut busy = self.busy;
        match self.activity {
            Activity::Idle => {}
            Activity::Sending => busy.sending += span,
            Activity::Receiving => busy.receiving += span,
            Activity::Overhearing => busy.overheard += span,
            Activity::Energy => busy.energy += span,
        }
        busy
    }

    /// Whether the channel is busy by carrier sense or NAV.
    pub(super) fn is_busy(&self, now: Time) -> bool {
        self.activity != Activity::Idle || now < self.backoff.idle_from
    }

    /// Draws a backoff from a contention window.
    pub(super) fn back_off(&mut self, cw: u32) {
        self.backoff.cw = cw;
        self.backoff.slots = self.random.below(u64::from(cw) + 1);
    }
}
