//! The hash of records: SHA-256 over the values of all tables in canonical order.
//!
//! For each column of each table, the hash covers the names of table and column, the number of rows, the null positions
//! and the values: little-endian numbers, text after its length, null as zero. The division of a table into batches is
//! irrelevant. The [`HashRule`] of a column can exclude it. Columns that name the machine or the release are always
//! excluded, so that equal runs have equal hashes everywhere. Columns of later schema versions are excluded if they have
//! no values.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::declaration::{Column, HashRule};
use crate::plain::{Plain, Values};
use crate::plain_tables::PlainTables;
#[cfg(feature = "arrow")]
use crate::table::Tables;

/// Size of the buffer in front of the hash function, bytes.
const BUFFER: usize = 1 << 16;

/// The hash in hexadecimal.
#[cfg(feature = "arrow")]
#[must_use]
pub fn hash(tables: &Tables) -> String {
    let mut sink = Sink::default();
    for (table, batches) in tables.present() {
        for (at, column) in table.columns.iter().enumerate() {
            let parts: Vec<&dyn Part> = batches.iter().map(|batch| batch.column(at) as &dyn Part).collect();
            sink.column(table.name, column, &parts);
        }
    }
    hex(sink.finish())
}

/// The same of tables as vectors.
#[must_use]
pub fn hash_plain(tables: &PlainTables) -> String {
    let mut sink = Sink::default();
    for (table, _, columns) in tables.present() {
        for (declared, column) in table.columns.iter().zip(columns) {
            sink.column(table.name, declared, &[column]);
        }
    }
    hex(sink.finish())
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    let mut hex = String::with_capacity(64);
    for byte in bytes {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
    }
    hex
}

/// A part of a column: an array of Arrow, or the whole column as a vector.
trait Part {
    fn rows(&self) -> usize;
    fn nulls(&self) -> usize;
    fn is_valid(&self, row: usize) -> bool;
    fn put_values(&self, sink: &mut Sink);
}

impl Part for Plain {
    fn rows(&self) -> usize {
        match &self.values {
            Values::UInt8(values) => values.len(),
            Values::UInt32(values) => values.len(),
            Values::UInt64(values) => values.len(),
            Values::Int64(values) => values.len(),
            Values::Float64(values) => values.len(),
            Values::Bool(values) => values.len(),
            Values::Text(texts) => texts.offsets.len() - 1,
        }
    }

    fn nulls(&self) -> usize {
        self.valid.as_ref().map_or(0, |valid| valid.iter().filter(|valid| !**valid).count())
    }

    fn is_valid(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid[row])
    }

    fn put_values(&self, sink: &mut Sink) {
        match &self.values {
            Values::UInt8(values) => sink.bytes(values),
            Values::UInt32(values) => values.iter().for_each(|value| sink.bytes(&value.to_le_bytes())),
            Values::UInt64(values) => values.iter().for_each(|value| sink.bytes(&value.to_le_bytes())),
            Values::Int64(values) => values.iter().for_each(|value| sink.bytes(&value.to_le_bytes())),
            Values::Float64(values) => values.iter().for_each(|value| sink.bytes(&value.to_le_bytes())),
            Values::Bool(values) => values.iter().for_each(|value| sink.bytes(&[u8::from(*value)])),
            Values::Text(texts) => {
                for ends in texts.offsets.windows(2) {
                    sink.text(&texts.bytes[ends[0] as usize..ends[1] as usize]);
                }
            }
        }
    }
}

#[cfg(feature = "arrow")]
mod arrow {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type, UInt8Type};
    use arrow_array::{Array, ArrayRef};
    use arrow_schema::DataType;

    use super::{Part, Sink};

    macro_rules! numbers {
        ($sink:expr, $array:expr, $type:ty) => {
            for value in $array.as_primitive::<$type>() {
                $sink.bytes(&value.unwrap_or_default().to_le_bytes());
            }
        };
    }

    impl Part for ArrayRef {
        fn rows(&self) -> usize {
            self.len()
        }

        fn nulls(&self) -> usize {
            self.null_count()
        }

        fn is_valid(&self, row: usize) -> bool {
            Array::is_valid(self, row)
        }

        fn put_values(&self, sink: &mut Sink) {
            match self.data_type() {
                DataType::UInt8 => numbers!(sink, self, UInt8Type),
                DataType::UInt32 => numbers!(sink, self, UInt32Type),
                DataType::UInt64 => numbers!(sink, self, UInt64Type),
                DataType::Int64 => numbers!(sink, self, Int64Type),
                DataType::Float64 => numbers!(sink, self, Float64Type),
                DataType::Boolean => {
                    for value in self.as_boolean() {
                        sink.bytes(&[u8::from(value.unwrap_or_default())]);
                    }
                }
                DataType::Utf8 => {
                    for value in self.as_string::<i32>() {
                        sink.text(value.unwrap_or_default().as_bytes());
                    }
                }
                other => unreachable!("a declaration cannot have a column of type {other}"),
            }
        }
    }
}

struct Sink {
    state: Sha256,
    buffer: Vec<u8>,
}

impl Default for Sink {
    fn default() -> Self {
        Self { state: Sha256::new(), buffer: Vec::with_capacity(BUFFER) }
    }
}

impl Sink {
    fn column(&mut self, table: &str, column: &Column, parts: &[&dyn Part]) {
        let rows: usize = parts.iter().map(|part| part.rows()).sum();
        let nulls: usize = parts.iter().map(|part| part.nulls()).sum();
        let included = match column.hash_rule {
            HashRule::Always | HashRule::NullsIfAny => true,
            HashRule::Never => false,
            HashRule::IfRows => rows > 0,
            HashRule::IfValues => nulls < rows,
        };
        if !included {
            return;
        }
        self.text(table.as_bytes());
        self.text(column.name.as_bytes());
        self.bytes(&(rows as u64).to_le_bytes());
        if column.nullable && (nulls > 0 || column.hash_rule != HashRule::NullsIfAny) {
            for part in parts {
                (0..part.rows()).for_each(|row| self.bytes(&[u8::from(part.is_valid(row))]));
            }
        }
        for part in parts {
            part.put_values(self);
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.state.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn text(&mut self, text: &[u8]) {
        self.bytes(&(text.len() as u64).to_le_bytes());
        self.bytes(text);
    }

    fn finish(mut self) -> impl IntoIterator<Item = u8> {
        self.state.update(&self.buffer);
        self.state.finalize()
    }
}

#[cfg(all(test, feature = "arrow"))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::header::Header;
    use crate::rows::{EventRow, FlowRow, PacketRow, Records, SampleRow, StationRow};

    fn records() -> impl Strategy<Value = Records> {
        let numbers = prop::collection::vec((any::<u64>(), any::<Option<u32>>(), any::<f64>(), any::<bool>()), 0..20);
        (numbers, ".*").prop_map(|(numbers, text)| {
            let mut records = Records::default();
            for (at, (number, option, float, is_true)) in numbers.into_iter().enumerate() {
                let time_ns = number >> 1;
                let option = option.map(u64::from);
                records.samples.push(SampleRow {
                    time_ns,
                    cwnd_bytes: option,
                    delay_ns: option,
                    ..SampleRow::default()
                });
                records.flows.push(FlowRow { end_ns: option, name: text.clone(), ..FlowRow::default() });
                let pipe_segments = is_true.then_some(float);
                let kind = "recovery";
                let cause = "rack";
                let cwnd_before_bytes = time_ns;
                let cwnd_after_bytes = 0;
                records.events.push(EventRow {
                    time_ns,
                    flow: at as u32,
                    kind,
                    cause,
                    cwnd_before_bytes,
                    cwnd_after_bytes,
                    pipe_segments,
                });
                records.packets.push(PacketRow { retransmission: is_true, sack: text.clone(), ..PacketRow::default() });
                if is_true {
                    records.stations.push(StationRow { time_ns, queue_packet_ns: float, ..StationRow::default() });
                }
            }
            records
        })
    }

    proptest! {
        /// The two forms of tables are the same table.
        #[test]
        fn tables_of_arrow_and_of_vectors_have_the_same_hash(records in records(), seed: u64) {
            let header = Header { seed, notes: vec!["a note".to_owned()], ..Header::default() };
            let arrow = hash(&Tables::new(header.clone(), records.clone()));
            prop_assert_eq!(hash_plain(&PlainTables::new(header, &records)), arrow);
        }
    }
}
