//! Loss of packets with given indices, such as the drops recorded in another simulator.

use std::sync::Arc;

use cwndlab_config::{fields, words, Faults, Field, FieldType, Kind, Reader, Table};
use serde_json::Value;

use crate::random::Stream;

/// The declaration of the model.
pub static SPEC: Table =
    Table::new("list", "The packets with these indices are lost.", &[Config::FIELDS, FILE]).class("LossList");

/// The fields that name a file, which the reader of the document replaces by its indices.
const FILE: &[Field] = &[
    Field::new("file", Kind::Text, "CSV file with a header line, in place of `indices`"),
    Field::new("column", Kind::Text, "column of the indices in `file`").absent("`packet_index`"),
    Field::new("where", Kind::Values, "required values of other columns: `{ link = \"r1-r2\" }`"),
];

/// Ascending indices, from 0.
#[derive(Debug)]
pub enum Indices {}

impl FieldType for Indices {
    type Value = Arc<[u64]>;

    const KIND: Kind = Kind::Integers;

    const OPTIONAL: bool = true;

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Arc<[u64]>> {
        if !table.gives(name) {
            faults.add(table.at(name), "is missing", "write 'indices = [17, 403]', or 'file = \"drops.csv\"'");
        }
        let indices: Option<Vec<u64>> = table.list(name, faults)?.iter().map(Value::as_u64).collect();
        let Some(indices) = indices else {
            faults.add(table.at(name), "packet indices are integers from 0", "");
            return None;
        };
        if indices.windows(2).any(|pair| pair[0] >= pair[1]) {
            faults.add(table.at(name), "packet indices are not ascending", "sort them and remove duplicates");
        }
        Some(indices.into())
    }
}

words! {
    /// The packets to which the indices apply.
    pub enum Counts {
        /// all packets
        All = "all",
        /// only packets that carry payload
        Payload = "payload",
    }
}

fields! {
    /// The configuration of the model.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// indices of the lost packets, from 0, ascending
        indices: Indices = absent("the indices in `file`"),
        /// packets to which the indices apply
        counts: Counts = "all",
    }
}

impl Config {
    pub(super) fn build(&self, _: Stream) -> Process {
        Process { config: self.clone(), packets: 0, at: 0 }
    }
}

/// The loss process.
#[derive(Clone, Debug)]
pub struct Process {
    config: Config,
    /// Packets counted so far.
    packets: u64,
    /// Position of the next entry in the list.
    at: usize,
}

impl Process {
    #[inline]
    pub(super) fn loses(&mut self, payload: bool) -> bool {
        if self.config.counts == Counts::Payload && !payload {
            return false;
        }
        let index = self.packets;
        self.packets += 1;
        let hit = self.config.indices.get(self.at) == Some(&index);
        self.at += usize::from(hit);
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn exactly_the_listed_packets_are_lost() {
        let config = Config { indices: [1, 3].into(), counts: Counts::Payload };
        let mut process = config.build(Stream::new(1, Purpose::Loss, 1));
        let lost: Vec<bool> =
            [true, false, true, true, true].into_iter().map(|payload| process.loses(payload)).collect();
        assert_eq!(lost, [false, false, true, false, true]);
    }
}
