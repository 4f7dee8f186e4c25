//! Reads a cell of LTE or NR, and the parameters of its links.

use cwndlab_config::{fields, Faults, Positive, Reader, TablePath};
use cwndlab_network::cell::{cqi_at, Configuration, Grants, Harq, Rlc, Rrc, SchedulerKind, Technology};
use cwndlab_units::Duration;

use super::table::tables;
use crate::plan::{Decibels, HarqPlan, StepPlan};

tables! {
    /// A cell.
    CELL: (Cell) = "cell",
        "A cell of LTE or 5G NR; links of a graph share its resource blocks, in each direction by itself.";
}

fields! {
    /// A cell.
    #[derive(Clone, Debug)]
    pub struct Cell {
        /// path in the document
        path: TablePath,
        /// unique name
        name: String = required("'name = \"lte\"'"),
        /// node of the base station: links from it are downlink, links to it are uplink
        base_station: String = required("'base_station = \"enb\"'"),
        /// `"lte"` (FDD, a TTI of 1 ms) or `"nr"` (30 kHz, a slot of 0.5 ms)
        technology: Technology = "lte",
        /// bandwidth of each direction; LTE: 6, 15, 25, 50, 75, 100 for 1.4, 3, 5, 10, 15, 20 MHz; NR: 51, 106, 217, 273 for
        /// 20, 40, 80, 100 MHz
        resource_blocks: Option<u32> = absent("100 with LTE, 273 with NR") in 1..=1000,
        /// resource elements for data in a resource block and TTI; a transport block has their number times the efficiency of
        /// the CQI
        resource_elements: Option<u32> = absent("LTE: transport block sizes of TS 36.213; NR: 144") in 1..=168,
        /// which user is next in a TTI
        scheduler: SchedulerKind = "proportional-fair",
        /// proportional fair: averaging window of the mean throughput
        averaging: Option<Positive<Duration>> = absent("99 TTIs, as in ns-3"),
        /// age of the SNR from which the CQI is selected
        cqi_delay: Duration = "6 ms",
        /// retransmissions of the physical layer
        harq: Option<HarqPlan> = absent("its defaults; with NR rounds of 4 ms"),
        /// radio link control
        rlc: Rlc = absent("acknowledged mode", Rlc::default()),
        /// grants of the uplink
        grants: Grants = absent("its defaults", Grants::default()),
        /// idle users
        rrc: Option<Rrc> = absent("users are always connected"),
        /// a hand-over forwards the queue; otherwise what waits and what is in transmission is lost
        forwarding: bool = true,
    }
}

impl Cell {
    /// The parameters with explicit values.
    #[must_use]
    pub fn configuration(&self) -> Configuration {
        let tti = self.technology.tti();
        let technology = self.technology;
        Configuration {
            technology,
            resource_blocks: self.resource_blocks.unwrap_or(match technology {
                Technology::Lte => 100,
                Technology::Nr => 273,
            }),
            block_bits: technology.block_bits(self.resource_elements),
            scheduler: self.scheduler,
            averaging: self.averaging.map_or(99.0, |span| (span.as_nanos() as f64 / tti.as_nanos() as f64).max(1.0)),
            cqi_delay: self.cqi_delay,
            harq: self.harq.map_or(
                Harq { error: 0.1, round: technology.harq_round(), retransmissions: 3 },
                |HarqPlan { probability, round, most }| Harq { error: probability, round, retransmissions: most },
            ),
            rlc: self.rlc,
            grants: self.grants,
            rrc: self.rrc,
            forwarding: self.forwarding,
        }
    }
}

fields! {
    /// The fields of a graph's link for a cell.
    #[derive(Clone, Debug)]
    pub struct LinkCell {
        /// cell of LTE or NR, in place of a line
        cell: Option<String> = absent(""),
        /// mean signal-to-noise ratio on the cell, dB
        snr: Option<Decibels> = absent("required on a cell"),
        /// coherence time of Rayleigh fading on the cell
        fading: Option<Positive<Duration>> = absent("no fading"),
    }
}

/// Fields of a line, which a cell replaces.
const LINE: [&str; 5] = ["rate", "trace", "token_bucket", "harq", "wifi_jitter"];
/// The least SNR of CQI 1, for hints.
const LEAST_SNR: &str = "the lowest rate, CQI 1, takes -2.1 dB";

impl LinkCell {
    /// Adds faults of fields that do not fit the cell, or its absence; `names` are those of all cells.
    pub(super) fn check(&self, table: &Reader<'_>, steps: &[StepPlan], names: &[&str], faults: &mut Faults) {
        let paths = table.items("schedule", &mut Faults::default());
        let step_at = |n: usize, key: &str| format!("{}.{key}", paths[n].0);
        let Some(cell) = &self.cell else {
            for key in ["snr", "fading"].into_iter().filter(|key| table.gives(key)) {
                faults.add(table.at(key), "the link is on no cell", "name one: 'cell = \"lte\"'");
            }
            for (n, step) in steps.iter().enumerate() {
                for key in [step.snr.map(|_| "snr"), step.handover.map(|_| "handover")].into_iter().flatten() {
                    faults.add(step_at(n, key), "the link is on no cell", "name one: 'cell = \"lte\"'");
                }
            }
            return;
        };
        if !names.contains(&cell.as_str()) {
            let hint = match names {
                [] => "write a '[[cell]]' with this name".to_owned(),
                names => format!("one of {}", names.join(", ")),
            };
            faults.add(table.at("cell"), format!("no cell is called '{cell}'"), hint);
        }
        match self.snr {
            None => faults.add(table.at("snr"), "is missing", "write 'snr = 20', in dB"),
            Some(snr) if cqi_at(snr) == 0 => {
                faults.add(table.at("snr"), format!("{snr} dB is out of range of the cell"), LEAST_SNR);
            }
            Some(_) => {}
        }
        if table.gives("medium") {
            faults.add(table.at("medium"), "conflicts with 'cell'", "use one of them");
        }
        for key in LINE.into_iter().filter(|key| table.gives(key)) {
            faults.add(table.at(key), "the cell of the link replaces the line", "remove one of the two");
        }
        for key in ["agents", "admission"].into_iter().filter(|key| table.gives(key)) {
            faults.add(table.at(key), "a cell has no constant capacity to allocate", "remove it");
        }
        for (n, step) in steps.iter().enumerate() {
            if step.rate.is_some() {
                faults.add(step_at(n, "rate"), "the cell of the link has no rate", "change 'snr' instead");
            }
            if step.wifi_jitter.is_some() {
                faults.add(step_at(n, "wifi_jitter"), "the cell of the link replaces the line", "remove it");
            }
        }
    }
}
