//! The hash of records: SHA-256 over the values of all tables in canonical order.
//!
//! For each column of each table, the hash covers the names of table and column, the number of rows, the null positions
//! and the values: little-endian numbers, text after its length, null as zero. The division of a table into batches is
//! irrelevant. The [`HashRule`] of a column can exclude it. Columns that name the machine or the release are always
//! excluded, so that equal runs have equal hashes everywhere. Columns of later schema versions are excluded if they have
//! no values.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_array::Array;
use arrow_schema::DataType;
use sha2::{Digest, Sha256};

use crate::declaration::{Column, HashRule};
use crate::table::Tables;

/// Size of the buffer in front of the hash function, bytes.
const BUFFER: usize = 1 << 16;

/// The hash in hexadecimal.
#[must_use]
pub fn hash(tables: &Tables) -> String {
    let mut sink = Sink { state: Sha256::new(), buffer: Vec::with_capacity(BUFFER) };
    for (table, batches) in tables.present() {
        for (at, column) in table.columns.iter().enumerate() {
            let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(at).as_ref()).collect();
            sink.column(table.name, column, &arrays);
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
    fn column(&mut self, table: &str, column: &Column, arrays: &[&dyn Array]) {
        let rows: usize = arrays.iter().map(|array| array.len()).sum();
        let nulls: usize = arrays.iter().map(|array| array.null_count()).sum();
        let included = match column.hash_rule {
            HashRule::Always | HashRule::NullsIfAny => true,
            HashRule::Never => false,
            HashRule::IfRows => rows > 0,
            HashRule::IfValues => nulls < rows,
        };
        if !included {
            return;
        }
        self.text(table);
        self.text(column.name);
        self.bytes(&(rows as u64).to_le_bytes());
        if column.nullable && (nulls > 0 || column.hash_rule != HashRule::NullsIfAny) {
            for array in arrays {
                (0..array.len()).for_each(|row| self.bytes(&[u8::from(array.is_valid(row))]));
            }
        }
        for array in arrays {
            self.values(*array);
        }
    }

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
            other => unreachable!("a declaration cannot have a column of type {other}"),
        }
    }

    fn finish(mut self) -> impl IntoIterator<Item = u8> {
        self.state.update(&self.buffer);
        self.state.finalize()
    }
}
