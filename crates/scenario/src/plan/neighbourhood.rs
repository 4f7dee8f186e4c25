//! Media of 802.11 with a channel.

use cwndlab_config::words;
use cwndlab_units::Duration;

/// The channel of a medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelPlan {
    /// Number.
    pub number: u32,
    /// Width, MHz.
    pub width_mhz: u8,
    /// Selection of the mode of each transmission.
    pub rate_adaptation: RateAdaptation,
    /// Threshold of energy detection, dBm.
    pub energy_detection: f64,
    /// A BlockAckReq follows an aggregate without a BlockAck, until it is answered.
    pub block_ack_request: bool,
    /// Lifetime of a frame after it joined the queue of its station.
    pub lifetime: Option<Duration>,
    /// Time after its last data frame for which a station stays awake.
    pub power_save: Option<Duration>,
}

words! {
    /// Selection of the mode of each transmission.
    pub enum RateAdaptation {
        /// the given mode
        Fixed = "fixed",
        /// the fastest mode of the standard with a bit error rate of at most 10⁻⁶ in the absence of interference; streams
        /// and guard interval as given
        Ideal = "ideal",
        /// Minstrel-HT: by the acknowledged frames of each mode; guard interval as given, and at most as many streams
        Minstrel = "minstrel",
    }
}

/// The stations of the media with a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourhoodPlan {
    /// Medium and node of each station.
    pub stations: Vec<(u32, u32)>,
    /// Received power by sender and receiver, dBm; the overlap of their channels is not included.
    pub received_dbm: Vec<Vec<f64>>,
}
