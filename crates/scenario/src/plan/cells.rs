//! Cells of LTE and NR, and the channels of their links.

use cwndlab_network::cell;
use cwndlab_units::Duration;

/// A cell of LTE or NR.
#[derive(Clone, Debug, PartialEq)]
pub struct CellPlan {
    /// Unique name.
    pub name: String,
    /// Its parameters.
    pub configuration: cell::Configuration,
}

/// The channel of a link on a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserChannelPlan {
    /// Index of the cell.
    pub cell: u32,
    /// The link leads to the base station.
    pub uplink: bool,
    /// Mean SNR before the first step of the schedule that changes it, dB.
    pub snr_db: f64,
    /// Coherence time of Rayleigh fading.
    pub fading: Option<Duration>,
}
