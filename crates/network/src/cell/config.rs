//! The parameters of a cell.

use cwndlab_config::{fields, words, Faults, Positive, Reader, Table, TableType};
use cwndlab_units::{Bytes, Duration};
use serde_json::json;

use super::radio::{element_bits, lte_block_bits};

words! {
    /// Radio access technology.
    pub enum Technology {
        /// LTE, FDD: a TTI of 1 ms
        Lte = "lte",
        /// 5G NR with a subcarrier spacing of 30 kHz: a TTI (slot) of 0.5 ms
        Nr = "nr",
    }
}

words! {
    /// How a direction assigns its resource blocks in each TTI.
    pub enum SchedulerKind {
        /// the highest ratio of achievable rate to mean throughput
        ProportionalFair = "proportional-fair",
        /// the user that was served longest ago
        RoundRobin = "round-robin",
        /// the highest achievable rate
        MaxRate = "max-rate",
    }
}

words! {
    /// Mode of RLC (TS 36.322).
    pub enum RlcMode {
        /// acknowledged: blocks that HARQ gave up are retransmitted
        Acknowledged = "am",
        /// unacknowledged: packets in these blocks are lost
        Unacknowledged = "um",
    }
}

/// HARQ. Attempts fail independently; retransmissions add their SNR to that of the attempts before (Chase combining), and
/// take the same resource blocks before new data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Harq {
    /// Probability that an attempt fails whose SNR suffices for the selected CQI.
    pub error: f64,
    /// Time from an attempt to the next one.
    pub round: Duration,
    /// Maximum number of retransmissions.
    pub retransmissions: u32,
}

fields! {
    /// RLC.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Rlc {
        /// acknowledged or unacknowledged mode
        mode: RlcMode = "am",
        /// acknowledged mode: time from the last attempt of HARQ to the retransmission (as t-PollRetransmit, TS 36.322)
        recovery: Duration = "45 ms",
        /// unacknowledged mode: time for which the receiver waits for a missing block (as t-Reordering, TS 36.322)
        reordering: Duration = "35 ms",
    }
}

fields! {
    /// Grants of the uplink. Each transmission reports the backlog, from which the base station grants further blocks.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Grants {
        /// time between two opportunities for a scheduling request
        request_interval: Option<Positive<Duration>> = absent("10 ms with LTE, 5 ms with NR"),
        /// time from a request or report to the transmission that it enables
        delay: Option<Duration> = absent("8 ms with LTE, 4 ms with NR"),
        /// size of the grant that answers a request: the base station does not know the backlog yet
        first: Positive<Bytes> = "200 B",
    }
}

fields! {
    /// The states of RRC: a user without packets is released, and a packet connects it again.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Rrc {
        /// time from the last packet to the release
        inactivity: Duration = "10 s",
        /// time from idle to connected
        promotion: Duration = "100 ms",
        /// cycle in which an idle user listens for paging; a downlink packet waits for it
        paging_cycle: Positive<Duration> = "1.28 s",
    }
}

/// Declares the tables of configurations.
macro_rules! tables {
    ($($config:ident = $name:literal, $about:literal;)+) => {$(
        impl TableType for $config {
            const TABLE: &'static Table = {
                static TABLE: Table = Table::new($name, $about, &[$config::FIELDS]);
                &TABLE
            };

            fn read_table(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
                Self::read(table, faults)
            }
        }

        /// The defaults of the fields.
        impl Default for $config {
            fn default() -> Self {
                let (empty, mut faults) = (json!({}), Faults::default());
                let table = Reader::new(&empty, $name, Self::TABLE, &mut faults);
                table.and_then(|table| Self::read(&table, &mut faults)).expect("every field has a default")
            }
        }
    )+};
}

tables! {
    Rlc = "rlc", "Radio link control (RLC) of a cell.";
    Grants = "grants", "Scheduling requests and grants of the uplink of a cell.";
    Rrc = "rrc", "States of radio resource control (RRC): a packet connects an idle user.";
}

/// The parameters of a cell with explicit values.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Technology.
    pub technology: Technology,
    /// Resource blocks of the bandwidth.
    pub resource_blocks: u32,
    /// Bits that a resource block carries in a TTI by CQI, downlink and uplink.
    pub block_bits: [[f64; 16]; 2],
    /// Scheduler of each direction.
    pub scheduler: SchedulerKind,
    /// Averaging window of the mean throughput, TTIs.
    pub averaging: f64,
    /// Age of the SNR from which the CQI is selected.
    pub cqi_delay: Duration,
    /// HARQ.
    pub harq: Harq,
    /// RLC.
    pub rlc: Rlc,
    /// Grants of the uplink.
    pub grants: Grants,
    /// States of RRC; `None`: always connected.
    pub rrc: Option<Rrc>,
    /// A hand-over forwards the queue, and acknowledged blocks are sent again; otherwise all is lost.
    pub forwarding: bool,
}

impl Technology {
    /// Transmission time interval.
    #[must_use]
    pub fn tti(self) -> Duration {
        Duration::from_micros(match self {
            Self::Lte => 1000,
            Self::Nr => 500,
        })
    }

    /// Bits that a resource block carries in a TTI by CQI, downlink and uplink: with LTE the transport block sizes of TS
    /// 36.213; with NR 144 resource elements for data, of 12 × 14 without one symbol of control and one of DM-RS (TS 38.214,
    /// 5.1.3.2); or this number of `elements`.
    #[must_use]
    pub fn block_bits(self, elements: Option<u32>) -> [[f64; 16]; 2] {
        match (elements, self) {
            (Some(elements), _) => [element_bits(elements); 2],
            (None, Self::Lte) => lte_block_bits(),
            (None, Self::Nr) => [element_bits(12 * 12); 2],
        }
    }

    /// Time from an attempt of HARQ to the next one: eight TTIs.
    #[must_use]
    pub fn harq_round(self) -> Duration {
        self.tti() * 8
    }
}

impl Configuration {
    pub(super) fn tti(&self) -> Duration {
        self.technology.tti()
    }

    pub(super) fn request_interval(&self) -> Duration {
        self.grants.request_interval.unwrap_or(self.tti() * 10)
    }

    pub(super) fn grant_delay(&self) -> Duration {
        self.grants.delay.unwrap_or(self.tti() * 8)
    }
}
