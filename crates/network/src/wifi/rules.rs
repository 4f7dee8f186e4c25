//! Parameters and access rules of an 802.11 medium, common to all of its stations.

use cwndlab_units::Duration;

use super::edca::{AccessParameters, Edca};
use super::neighbourhood::radio::ENERGY_DBM;
use super::phy::{self, dsss_airtime, ACK_BYTES, OVERHEAD_BYTES, QOS_OVERHEAD_BYTES, SHORT_SLOT, SIFS};

/// Limits of an aggregate: frames in one transmission to one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Maximum number of frames, which is also the BlockAck window.
    pub frames: u32,
    /// Maximum size, delimiters included, bytes.
    pub bytes: u32,
    /// Maximum airtime.
    pub airtime: Duration,
}

/// Access of a frame that arrives at an idle medium with a backoff counter of zero, if another station sends before the
/// interframe space ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// The station draws a backoff (IEEE 802.11-2016, 10.3.4.2).
    Draws,
    /// The station sends without a backoff, a DIFS after the arrival of the frame or after the other transmission. The SIFS
    /// between a received frame and its acknowledgement also counts as idle. This is the access rule of ns-3's DCF: an
    /// immediate response of a host, such as a TCP ACK, is sent a DIFS after the 802.11 ACK.
    Keeps,
}

/// Beacons of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// The sending station.
    pub station: u32,
    /// Beacon interval; the first beacon is due after one interval.
    pub interval: Duration,
    /// Airtime of a beacon.
    pub airtime: Duration,
    /// Size of a beacon.
    pub bytes: u32,
}

/// Parameters of a medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Slot time.
    pub slot: Duration,
    /// Channel access without access categories.
    pub access: AccessParameters,
    /// Channel access with four access categories.
    pub edca: Option<Edca>,
    /// The slot boundary at which another station starts to send decrements the backoff counter. EDCA does this
    /// (10.22.2.4); DCF counts only slots that end idle (10.3.4.3), so that only the last sender can use the first slot
    /// after DIFS.
    pub counts_busy_slot: bool,
    /// Maximum attempts of an RTS, or of a frame without RTS (dot11ShortRetryLimit).
    pub short_attempts: u32,
    /// Maximum attempts of a frame with RTS (dot11LongRetryLimit).
    pub long_attempts: u32,
    /// RTS threshold: larger frames, header and FCS included, are sent after an RTS, bytes.
    pub rts_above: Option<u32>,
    /// Airtime of an ACK at the lowest rate. After a collision, other stations wait for SIFS and this airtime before DIFS
    /// (EIFS, 10.3.2.3.7). `None`: they wait for DIFS, as if no preamble was detected.
    pub eifs_ack: Option<Duration>,
    /// Overhead of a frame over its IP packet, bytes.
    pub overhead: u32,
    /// A-MPDU with BlockAck.
    pub aggregation: Option<Aggregation>,
    /// In a neighbourhood: after an aggregate without a BlockAck, a BlockAckReq is repeated until it is answered. Frames
    /// of aggregates have no maximum of attempts; their lifetime limits them (IEEE 802.11-2016, 10.24.3).
    pub block_ack_request: bool,
    /// In a neighbourhood: frames are dropped this time after they joined the queue (dot11EDCATableMSDULifetime).
    pub lifetime: Option<Duration>,
    /// In a neighbourhood with beacons: a station dozes this time after its last data frame.
    pub power_save: Option<Duration>,
    /// In a neighbourhood: total power at which the channel is busy if no preamble was detected, dBm.
    pub energy_detection_dbm: f64,
    /// Access after an arrival at an idle medium.
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
            access: AccessParameters {
                aifsn: 2,
                cw_min: 15,
                cw_max: 1023,
                txop_limit: Duration::ZERO,
                aggregates: true,
            },
            edca: None,
            counts_busy_slot: false,
            short_attempts: 7,
            long_attempts: 4,
            rts_above: None,
            eifs_ack: None,
            overhead: OVERHEAD_BYTES,
            aggregation: None,
            block_ack_request: false,
            lifetime: None,
            power_save: None,
            energy_detection_dbm: ENERGY_DBM,
            deferral: Deferral::Draws,
            beacon: None,
        }
    }

    /// 802.11n: EDCA, best effort, A-MPDU. In mixed format the legacy length field ends a frame at 5.484 ms
    /// (table 19-25, aPPDUMaxTime).
    #[must_use]
    pub fn ht() -> Self {
        let dcf = Self::erp_ofdm();
        Self {
            access: AccessParameters { aifsn: 3, ..dcf.access },
            aggregation: Some(Aggregation { frames: 64, bytes: 65_535, airtime: Duration::from_micros(5_484) }),
            ..dcf.with_qos()
        }
    }

    /// 802.11ac: as 802.11n with aggregates of up to 1,048,575 bytes.
    #[must_use]
    pub fn vht() -> Self {
        let ht = Self::ht();
        let aggregation = ht.aggregation.map(|one| Aggregation { bytes: 1_048_575, ..one });
        Self { aggregation, ..ht }
    }

    /// 802.11ax: as 802.11n with aggregates of up to 256 frames and 6,500,631 bytes.
    #[must_use]
    pub fn he() -> Self {
        let ht = Self::ht();
        let aggregation = ht.aggregation.map(|one| Aggregation { frames: 256, bytes: 6_500_631, ..one });
        Self { aggregation, ..ht }
    }

    /// The frame format and the slot boundaries of EDCA.
    #[must_use]
    pub fn with_qos(self) -> Self {
        Self { counts_busy_slot: true, overhead: QOS_OVERHEAD_BYTES, ..self }
    }

    /// The interframe space of these parameters before a backoff.
    #[must_use]
    pub fn aifs(&self, access: &AccessParameters) -> Duration {
        SIFS + self.slot * u64::from(access.aifsn)
    }

    /// The interframe space before a beacon.
    #[must_use]
    pub fn pifs(&self) -> Duration {
        SIFS + self.slot
    }

    /// ACK timeout after the end of a frame: SIFS, a slot and the preamble of the ACK (10.3.2.9).
    #[must_use]
    pub fn timeout(&self) -> Duration {
        SIFS + self.slot + Duration::from_micros(20)
    }

    /// Time for which the other stations wait after a collision, before the interframe space.
    #[must_use]
    pub fn after_collision(&self) -> Duration {
        self.eifs_ack.map_or(Duration::ZERO, |ack| SIFS + ack)
    }

    /// Airtime of an ACK at 1 Mbit/s, the lowest rate of an 802.11g station.
    #[must_use]
    pub fn lowest_ack() -> Duration {
        dsss_airtime(ACK_BYTES)
    }

    /// Maximum size of an A-MPDU in this mode with at most this airtime, bytes.
    pub(super) fn max_bytes(&self, mode: phy::Mode, airtime: Duration) -> u32 {
        let Some(aggregation) = self.aggregation else { return 0 };
        let airtime = airtime.min(aggregation.airtime);
        let mut fits = 0;
        let mut over = aggregation.bytes + 1;
        while over - fits > 1 {
            let middle = u32::midpoint(fits, over);
            if mode.airtime(middle) <= airtime {
                fits = middle;
            } else {
                over = middle;
            }
        }
        fits
    }
}
