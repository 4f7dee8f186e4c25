//! Where the columns of tables lie in memory, as JSON.
//!
//! A table is `{"name", "rows", "columns"}`. A column is `{"name", "type", "unit", "values", "offsets", "valid"}`: `type` as
//! in docs/records.md, `values` the address of the first value. Values of type `bool` are bytes; those of type `text` are
//! UTF-8, from `offsets[row]` to `offsets[row + 1]` (32 bits each) after `values`. `valid` is the address of bytes that
//! are 0 where the value is null; null where no value is.

use cwndlab_records::declaration::Column;
use cwndlab_records::plain::{Plain, Values};
use cwndlab_records::plain_tables::PlainTables;
use serde_json::{json, Value};

/// All tables of a run except those without rows.
#[must_use]
pub fn describe(tables: &PlainTables) -> Value {
    let tables = tables.present().filter(|(_, rows, _)| *rows > 0);
    tables
        .map(|(table, rows, columns)| {
            let columns = table.columns.iter().zip(columns);
            let columns: Vec<Value> = columns.map(|(declared, column)| describe_column(declared, column)).collect();
            json!({"name": table.name, "rows": rows, "columns": columns})
        })
        .collect()
}

fn describe_column(declared: &Column, column: &Plain) -> Value {
    let mut offsets = None;
    let values = match &column.values {
        Values::UInt8(values) => address(values),
        Values::UInt32(values) => address(values),
        Values::UInt64(values) => address(values),
        Values::Int64(values) => address(values),
        Values::Float64(values) => address(values),
        Values::Bool(values) => address(values),
        Values::Text(texts) => {
            offsets = Some(address(&texts.offsets));
            address(&texts.bytes)
        }
    };
    json!({
        "name": declared.name,
        "type": declared.column_type.name(),
        "unit": declared.unit(),
        "values": values,
        "offsets": offsets,
        "valid": column.valid.as_deref().map(address),
    })
}

/// The address of the first element.
fn address<T>(slice: &[T]) -> usize {
    slice.as_ptr() as usize
}
