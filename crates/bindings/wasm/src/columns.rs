//! Where the columns of tables lie in memory, as JSON.
//!
//! A table is `{"name", "rows", "columns"}`. A column is `{"name", "type", "unit", "values", "valid"}`: `type` as
//! in docs/records.md, `values` the address of the first value. Values of type `bool` are bits, least significant first;
//! those of type `text` are UTF-8, from `offsets[row]` to `offsets[row + 1]` (32 bits each) after `values`. `valid` is
//! null, or the address of bits that are 0 where the value is null, the first one at bit `valid_from`.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use cwndlab_records::declaration::Column;
use cwndlab_records::rows::TABLES;
use cwndlab_records::table::Tables;
use serde_json::{json, Value};

/// All tables of a run except those without rows.
#[must_use]
pub fn describe(tables: &Tables) -> Value {
    let mut found = Vec::new();
    for table in TABLES {
        // A run has one batch per table.
        if let Some([batch]) = tables.batches(table.name).filter(|batches| batches.iter().any(|one| one.num_rows() > 0)) {
            found.push(json!({
                "name": table.name,
                "rows": batch.num_rows(),
                "columns": columns(table.columns, batch),
            }));
        }
    }
    Value::Array(found)
}

fn columns(declared: &[Column], batch: &RecordBatch) -> Vec<Value> {
    let arrays = batch.columns().iter();
    arrays.zip(declared).map(|(array, declared)| column(declared, array.as_ref())).collect()
}

fn column(declared: &Column, array: &dyn Array) -> Value {
    let (values, first_bit, offsets) = match array.data_type() {
        DataType::UInt8 => (address(array.as_primitive::<UInt8Type>().values()), 0, None),
        DataType::UInt32 => (address(array.as_primitive::<UInt32Type>().values()), 0, None),
        DataType::UInt64 => (address(array.as_primitive::<UInt64Type>().values()), 0, None),
        DataType::Int64 => (address(array.as_primitive::<Int64Type>().values()), 0, None),
        DataType::Float64 => (address(array.as_primitive::<Float64Type>().values()), 0, None),
        DataType::Boolean => {
            let bits = array.as_boolean().values();
            (address(bits.values()), bits.offset(), None)
        }
        DataType::Utf8 => {
            let text = array.as_string::<i32>();
            (address(text.value_data()), 0, Some(address(text.value_offsets())))
        }
        other => unreachable!("a declaration cannot have a column of type {other}"),
    };
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    json!({
        "name": declared.name,
        "type": declared.column_type.name(),
        "unit": declared.unit(),
        "values": values,
        "first_bit": first_bit,
        "offsets": offsets,
        "valid": nulls.map(|nulls| address(nulls.validity())),
        "valid_from": nulls.map_or(0, |nulls| nulls.inner().offset()),
    })
}

/// The address of the first element.
fn address<T>(slice: &[T]) -> usize {
    slice.as_ptr() as usize
}
