//! What all stations of a medium obey.

use cwndlab_units::Duration;

use super::phy::{self, dsss_airtime, ACK_BYTES, OVERHEAD_BYTES, QOS_OVERHEAD_BYTES, SHORT_SLOT, SIFS};

/// Frames that are sent together to one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// The most frames, which is also the window of the BlockAck.
    pub frames: u32,
    /// The most bytes, delimiters included.
    pub bytes: u32,
    /// The longest time on the air.
    pub airtime: Duration,
}

/// What a station does whose frame comes to an idle medium when its counter stands at zero, and somebody else sends
/// before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// It draws a backoff (IEEE 802.11-2016, 10.3.4.2).
    Draws,
    /// It sends a DIFS after the frame came, or, where somebody sends in between, a DIFS after that, without a backoff;
    /// and the SIFS between a frame that it received and its answer is idle too. So ns-3's DCF does: what a host answers
    /// at once, as a TCP receiver does, goes out a DIFS after the ACK.
    Keeps,
}

/// Beacons of one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// Who sends them.
    pub station: u32,
    /// Their nominal distance; the first is due after one.
    pub interval: Duration,
    /// How long one is on the air.
    pub airtime: Duration,
}

/// The rules of a medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Slot.
    pub slot: Duration,
    /// Slots of the interframe space above SIFS: 2 make DIFS, EDCA's best effort has 3.
    pub aifsn: u32,
    /// Smallest contention window.
    pub cw_min: u32,
    /// Largest.
    pub cw_max: u32,
    /// A frozen counter was decremented at the boundary at which somebody else began to send: EDCA does (10.22.2.4), DCF
    /// only counts slots that ended idle (10.3.4.3), so that after DIFS the first slot is the last sender's alone.
    pub counts_busy_slot: bool,
    /// Attempts at an RTS, or at a frame that goes without (dot11ShortRetryLimit).
    pub short_attempts: u32,
    /// Attempts at a frame behind its RTS (dot11LongRetryLimit).
    pub long_attempts: u32,
    /// Frames of more bytes, header and FCS included, go behind an RTS.
    pub rts_above: Option<u32>,
    /// How long an ACK at the lowest rate takes: bystanders of a collision wait SIFS and that before DIFS (EIFS,
    /// 10.3.2.3.7). `None`: they wait DIFS, as where nobody could make out a preamble.
    pub eifs_ack: Option<Duration>,
    /// What a frame adds to an IP packet, bytes.
    pub overhead: u32,
    /// A-MPDU with BlockAck.
    pub aggregation: Option<Aggregation>,
    /// When the medium turns busy before a first try.
    pub deferral: Deferral,
    /// Beacons.
    pub beacon: Option<Beacon>,
}

impl Rules {
    /// 802.11g with ERP-OFDM stations only: DCF.
    #[must_use]
    pub fn erp_ofdm() -> Self {
        Self {
            slot: SHORT_SLOT,
            aifsn: 2,
            cw_min: 15,
            cw_max: 1023,
            counts_busy_slot: false,
            short_attempts: 7,
            long_attempts: 4,
            rts_above: None,
            eifs_ack: None,
            overhead: OVERHEAD_BYTES,
            aggregation: None,
            deferral: Deferral::Draws,
            beacon: None,
        }
    }

    /// 802.11n: EDCA, best effort, A-MPDU. In mixed format the legacy length field ends a frame at 5.484 ms
    /// (table 19-25, aPPDUMaxTime).
    #[must_use]
    pub fn ht() -> Self {
        Self {
            aifsn: 3,
            counts_busy_slot: true,
            overhead: QOS_OVERHEAD_BYTES,
            aggregation: Some(Aggregation { frames: 64, bytes: 65_535, airtime: Duration::from_micros(5_484) }),
            ..Self::erp_ofdm()
        }
    }

    /// The interframe space before a backoff.
    #[must_use]
    pub fn difs(&self) -> Duration {
        SIFS + self.slot * u64::from(self.aifsn)
    }

    /// The one before a beacon.
    #[must_use]
    pub fn pifs(&self) -> Duration {
        SIFS + self.slot
    }

    /// How long after a frame its sender misses the answer: SIFS, a slot and the answer's preamble (10.3.2.9).
    #[must_use]
    pub fn timeout(&self) -> Duration {
        SIFS + self.slot + Duration::from_micros(20)
    }

    /// What a bystander waits after a collision.
    #[must_use]
    pub fn after_collision(&self) -> Duration {
        self.eifs_ack.map_or(Duration::ZERO, |ack| SIFS + ack) + self.difs()
    }

    /// An ACK at 1 Mbit/s, the lowest rate of an 802.11g station.
    #[must_use]
    pub fn lowest_ack() -> Duration {
        dsss_airtime(ACK_BYTES)
    }

    /// The contention window after another failure.
    #[must_use]
    pub fn widened(&self, cw: u32) -> u32 {
        (2 * cw + 1).min(self.cw_max)
    }

    /// The most bytes of an A-MPDU in this mode.
    pub(super) fn most_bytes(&self, mode: phy::Mode) -> u32 {
        let Some(aggregation) = self.aggregation else { return 0 };
        let (mut fits, mut over) = (0, aggregation.bytes + 1);
        while over - fits > 1 {
            let middle = u32::midpoint(fits, over);
            if mode.airtime(middle) <= aggregation.airtime {
                fits = middle;
            } else {
                over = middle;
            }
        }
        fits
    }
}
