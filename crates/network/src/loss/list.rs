//! Loss of packets with given indices, such as the drops recorded in another simulator.

use std::sync::Arc;

use cwndlab_config::{Faults, Field, Kind, Reader, Table, Word};
use serde_json::Value;

use crate::random::Stream;

const COUNTS: &[Word] = &[("all", "all packets"), ("payload", "only packets that carry payload")];

/// The declaration of the model.
pub static SPEC: Table = Table::new(
    "list",
    "The packets with these indices are lost.",
    &[&[
        Field::new("indices", Kind::Integers, "indices of the lost packets, from 0, ascending")
            .absent("the indices in `file`"),
        Field::word("counts", COUNTS, "all", "packets to which the indices apply"),
        Field::new("file", Kind::Text, "CSV file with a header line, in place of `indices`"),
        Field::new("column", Kind::Text, "column of the indices in `file`").absent("`packet_index`"),
        Field::new("where", Kind::Values, "required values of other columns: `{ link = \"r1-r2\" }`"),
    ]],
)
.class("LossList");

/// The configuration of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Indices of the lost packets, from 0, ascending.
    pub indices: Arc<[u64]>,
    /// The indices apply only to packets that carry payload.
    pub payload_only: bool,
}

impl Config {
    pub(super) fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        if !table.gives("indices") {
            faults.add(table.at("indices"), "is missing", "write 'indices = [17, 403]', or 'file = \"drops.csv\"'");
            return None;
        }
        let list = table.list("indices", faults)?;
        let indices: Option<Vec<u64>> = list.iter().map(Value::as_u64).collect();
        let Some(indices) = indices else {
            faults.add(table.at("indices"), "packet indices are integers from 0", "");
            return None;
        };
        if indices.windows(2).any(|pair| pair[0] >= pair[1]) {
            faults.add(table.at("indices"), "packet indices are not ascending", "sort them and remove duplicates");
        }
        Some(Self { indices: indices.into(), payload_only: table.word("counts", faults)? == "payload" })
    }

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
        if self.config.payload_only && !payload {
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
        let config = Config { indices: [1, 3].into(), payload_only: true };
        let mut process = config.build(Stream::new(1, Purpose::Loss, 1));
        let lost: Vec<bool> =
            [true, false, true, true, true].into_iter().map(|payload| process.loses(payload)).collect();
        assert_eq!(lost, [false, false, true, false, true]);
    }
}
