//! The state of a transceiver: its view of the channel, its exchange, and the backoff of its access functions.

use cwndlab_units::{Duration, Time};

use crate::random::Stream;
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

/// The backoff of an access function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    /// Remaining slots after `ready`.
    pub(super) slots: u64,
    /// End of the interframe space.
    pub(super) ready: Time,
    /// Access without a backoff, unless another station sends before.
    pub(super) immediate: bool,
    /// Time of its valid access event; those at other times are void.
    pub(super) due: Time,
    /// Failures since the last success: without RTS, or of the RTS; and after an RTS (QSRC and QLRC).
    pub(super) failures: [u32; 2],
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
    Beacon,
    /// The end of a TXOP, for all stations.
    CfEnd,
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
    pub(super) function: u32,
    pub(super) path: u32,
    /// Serial numbers of its data frames.
    pub(super) serials: Vec<u64>,
    /// Their sizes with delimiters, bytes.
    pub(super) mpdus: Vec<u32>,
    /// Their bytes as IP packets.
    pub(super) ip_bytes: u64,
    pub(super) mode: Mode,
    pub(super) data: Duration,
    /// The duration field of its data.
    pub(super) nav: Duration,
    pub(super) start: Time,
    /// End of its last own frame.
    pub(super) sent_until: Time,
    /// It begins with an RTS.
    pub(super) with_rts: bool,
    /// A CTS was received.
    pub(super) reserved: bool,
    /// It is a request for a BlockAck of its data frames, not their transmission.
    pub(super) is_request: bool,
    /// Another frame overlapped with one of its frames at the receiver: in the same slot, or at another time.
    pub(super) overlapped: [bool; 2],
    /// Number of its valid timeout.
    pub(super) timeout: u64,
    /// The timeout has passed during a reception, whose end decides.
    pub(super) timed_out: bool,
}

/// The transceiver of a station.
#[derive(Debug)]
pub(super) struct Transceiver {
    /// Index of the rules of its medium.
    pub(super) rules: u32,
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
    /// Start of the idle period by carrier sense and NAV.
    pub(super) idle_from: Time,
    /// End of the last data frame to which it responds.
    pub(super) gap_from: Time,
    pub(super) exchange: Option<OwnExchange>,
    /// The access function that holds a TXOP, and the end of its last exchange at the latest.
    pub(super) txop: Option<(u32, Time)>,
    /// A beacon is due.
    pub(super) beacon_waits: bool,
    /// Time at which it is sent, unless the channel becomes busy before.
    pub(super) beacon_at: Time,
    pub(super) causes: LossCauses,
    pub(super) busy: BusyTimes,
    pub(super) random: Stream,
}

impl Transceiver {
    /// Accounts the time until `now` for the present activity.
    pub(super) fn account(&mut self, now: Time) {
        self.busy = self.busy_until(now);
        self.since = now;
    }

    /// Its time by activity until `now`.
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

    /// Whether the channel is busy by carrier sense or NAV, or by its own exchange.
    pub(super) fn is_busy(&self, now: Time) -> bool {
        self.activity != Activity::Idle || now < self.idle_from || self.exchange.is_some()
    }

    /// Whether an access function may send after its backoff.
    pub(super) fn is_free(&self) -> bool {
        self.activity == Activity::Idle && self.exchange.is_none()
    }
}
