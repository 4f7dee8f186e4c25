//! The hash of records: SHA-256 over the values of all tables in canonical order.
//!
//! For each column of each table: its name, its number of rows, which of them are null, then the values, little-endian,
//! text with its length before it, null as zero. How a table is cut into batches does not matter, nor who ran it:
//! `host` and `version` of the table `runs` stay out, so that one hash holds across machines and releases; so do, where
//! no packet was recorded, the columns that `packets` got later, so that it holds across versions of that table; and
//! `route`, which the scenario determines.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use sha2::{Digest, Sha256};

use crate::table::{schema, Tables, NAMES};

/// Columns of `runs` that say who ran it.
const LEFT_OUT: [&str; 2] = ["host", "version"];

/// Columns that came after the first records: they count once there is a value in them, so that the hashes of runs
/// without such values stay what they were.
const ADDED: [&str; 8] = [
    "min_delay_ns",
    "mean_delay_ns",
    "max_delay_ns",
    "delay_ns",
    "jitter_ns",
    "delay_sum_ns",
    "delay_count",
    "carriable_bytes",
];
/// Columns that follow from the scenario, whose hash counts.
const DERIVED: [&str; 1] = ["route"];
/// Columns that may be null since then: which rows are counts once one is.
const LOOSENED: [&str; 2] = ["cwnd_bytes", "in_flight_bytes"];
/// The first columns of `packets`, which count also where it is empty.
const FIRST_OF_PACKETS: usize = 9;

/// Bytes gathered before they are hashed.
const BUFFER: usize = 1 << 16;

/// The hash, in hex.
#[must_use]
pub fn hash(tables: &Tables) -> String {
    let mut sink = Sink { state: Sha256::new(), buffer: Vec::with_capacity(BUFFER) };
    for name in NAMES {
        if tables.lacks(name) {
            continue;
        }
        let batches = tables.batches(name).unwrap_or_default();
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let schema = schema(name).expect("every name has a schema");
        for (at, field) in schema.fields().iter().enumerate() {
            if name == "runs" && LEFT_OUT.contains(&field.name().as_str()) {
                continue;
            }
            let nulls: usize = batches.iter().map(|batch| batch.column(at).null_count()).sum();
            if DERIVED.contains(&field.name().as_str()) {
                continue;
            }
            if ADDED.contains(&field.name().as_str()) && nulls == rows {
                continue;
            }
            if name == "packets" && at >= FIRST_OF_PACKETS && rows == 0 {
                continue;
            }
            sink.text(name);
            sink.text(field.name());
            sink.bytes(&(rows as u64).to_le_bytes());
            if field.is_nullable() && (nulls > 0 || !LOOSENED.contains(&field.name().as_str())) {
                for array in batches.iter().map(|batch| batch.column(at)) {
                    (0..array.len()).for_each(|row| sink.bytes(&[u8::from(array.is_valid(row))]));
                }
            }
            for batch in batches {
                sink.values(batch.column(at));
            }
        }
    }
    hex(sink.finish())
}

/// Bytes in hex.
pub(crate) fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    let mut hex = String::with_capacity(64);
    for byte in bytes {
        write!(hex, "{byte:02x}").expect("a string takes what is written");
    }
    hex
}

struct Sink {
    state: Sha256,
    buffer: Vec<u8>,
}

macro_rules! numbers {
    ($sink:expr, $array:expr, $type:ty) => {
        for value in $array.as_primitive::<$type>() {
            $sink.bytes(&value.unwrap_or_default().to_le_bytes());
        }
    };
}

impl Sink {
    fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.state.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn text(&mut self, text: &str) {
        self.bytes(&(text.len() as u64).to_le_bytes());
        self.bytes(text.as_bytes());
    }

    fn values(&mut self, array: &dyn Array) {
        match array.data_type() {
            DataType::UInt8 => numbers!(self, array, UInt8Type),
            DataType::UInt32 => numbers!(self, array, UInt32Type),
            DataType::UInt64 => numbers!(self, array, UInt64Type),
            DataType::Int64 => numbers!(self, array, Int64Type),
            DataType::Float64 => numbers!(self, array, Float64Type),
            DataType::Boolean => {
                for value in array.as_boolean() {
                    self.bytes(&[u8::from(value.unwrap_or_default())]);
                }
            }
            DataType::Utf8 => {
                for value in array.as_string::<i32>() {
                    self.text(value.unwrap_or_default());
                }
            }
            other => unreachable!("no table has a column of type {other}"),
        }
    }

    fn finish(mut self) -> impl IntoIterator<Item = u8> {
        self.state.update(&self.buffer);
        self.state.finalize()
    }
}
