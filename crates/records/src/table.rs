//! Arrow tables of a run.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::declaration::{ColumnType, Table};
pub use crate::header::Header;
use crate::rows::{Records, TABLES};

/// Version of the tables' schema, also named in docs/records.md. A release that changes the set of columns increments it;
/// reading rejects a folder of another version.
pub const SCHEMA_VERSION: u32 = 8;

/// All tables of one run.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Identifies the run.
    pub header: Header,
    /// Batches of each table, in the order of [`TABLES`].
    batches: Vec<Vec<RecordBatch>>,
}

impl Tables {
    /// Converts rows to tables.
    #[must_use]
    pub fn new(header: Header, records: Records) -> Self {
        let columns = records.into_columns(&header.row());
        let batches = TABLES.iter().zip(columns).map(|(table, (rows, columns))| vec![batch(table, rows, columns)]);
        Self { batches: batches.collect(), header }
    }

    /// Creates tables from batches by name. Missing tables are empty; `runs` follows from the header.
    ///
    /// # Errors
    ///
    /// An unknown table, or a table whose columns differ from its [`schema`].
    pub fn from_named_batches(
        header: Header,
        named: impl IntoIterator<Item = (String, RecordBatch)>,
    ) -> Result<Self, String> {
        let mut tables = Self::new(header, Records::default());
        for (name, batch) in named {
            let at = position(&name)
                .filter(|at| *at > 0)
                .ok_or_else(|| format!("'{name}' is not a table of engine records"))?;
            if arrow_schema(&TABLES[at]) != batch.schema() {
                return Err(format!("'{name}' does not have the columns of its schema"));
            }
            tables.batches[at] = vec![batch];
        }
        Ok(tables)
    }

    /// Creates tables from the batches of each, in the order of [`TABLES`].
    #[cfg(feature = "parquet")]
    pub(crate) fn from_batches(header: Header, batches: Vec<Vec<RecordBatch>>) -> Self {
        assert_eq!(batches.len(), TABLES.len(), "one list of batches for each table");
        Self { header, batches }
    }

    /// The tables in the files and in the hash, with their batches: all except empty optional ones.
    pub(crate) fn present(&self) -> impl DoubleEndedIterator<Item = (&'static Table, &[RecordBatch])> {
        let all = TABLES.iter().zip(&self.batches).map(|(table, batches)| (table, batches.as_slice()));
        all.filter(|(table, batches)| !table.optional || batches.iter().any(|batch| batch.num_rows() > 0))
    }

    /// The batches of a table, in order; `None` where no table has this name.
    #[must_use]
    pub fn batches(&self, name: &str) -> Option<&[RecordBatch]> {
        position(name).map(|at| self.batches[at].as_slice())
    }
}

fn position(name: &str) -> Option<usize> {
    TABLES.iter().position(|table| table.name == name)
}

/// The columns of a table; `None` where no table has this name.
#[must_use]
pub fn schema(name: &str) -> Option<SchemaRef> {
    position(name).map(|at| arrow_schema(&TABLES[at]))
}

/// The Arrow schema of a table.
pub(crate) fn arrow_schema(table: &Table) -> SchemaRef {
    let fields =
        table.columns.iter().map(|column| Field::new(column.name, data_type(column.column_type), column.nullable));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn data_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::UInt8 => DataType::UInt8,
        ColumnType::UInt32 => DataType::UInt32,
        ColumnType::UInt64 => DataType::UInt64,
        ColumnType::Int64 => DataType::Int64,
        ColumnType::Float64 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Text => DataType::Utf8,
    }
}

fn batch(table: &Table, rows: usize, columns: Vec<ArrayRef>) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(arrow_schema(table), columns, &options)
        .expect("schema and columns come from the same declaration")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{FlowRow, TransferRow};
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    #[test]
    fn an_empty_table_has_its_schema() {
        let tables = Tables::new(Header::default(), Records::default());
        for table in TABLES {
            let batches = tables.batches(table.name).unwrap();
            assert_eq!(batches.len(), 1);
            assert_eq!(batches[0].schema(), schema(table.name).unwrap(), "{}", table.name);
        }
        assert_eq!(tables.batches("runs").unwrap()[0].num_rows(), 1);
        assert!(tables.batches("unknown").is_none());
        assert!(schema("unknown").is_none());
    }

    #[test]
    fn the_end_of_an_open_flow_is_null() {
        let open = FlowRow { flow: 0, start_ns: 5, ..FlowRow::default() };
        let done = FlowRow { flow: 1, end_ns: Some(7), ..FlowRow::default() };
        let records = Records { flows: vec![open, done], ..Records::default() };
        let tables = Tables::new(Header::default(), records);
        let flows = &tables.batches("flows").unwrap()[0];
        let ends = flows.column_by_name("end_ns").unwrap().as_primitive::<Int64Type>();
        assert_eq!(ends.iter().collect::<Vec<_>>(), [None, Some(7)]);
        let starts = flows.column_by_name("start_ns").unwrap().as_primitive::<Int64Type>();
        assert_eq!(starts.iter().collect::<Vec<_>>(), [Some(5), Some(0)]);
    }

    #[test]
    fn named_batches_must_have_the_columns_of_the_schema() {
        let records =
            Records { transfers: vec![TransferRow { size_bytes: 9, ..TransferRow::default() }], ..Records::default() };
        let filled = Tables::new(Header::default(), records);
        let batch = filled.batches("transfers").unwrap()[0].clone();
        let header = Header { engine: "live".to_owned(), ..Header::default() };
        let tables = Tables::from_named_batches(header, [("transfers".to_owned(), batch.clone())]).unwrap();
        assert_eq!(tables.batches("transfers").unwrap()[0], batch);
        assert_eq!(tables.batches("flows").unwrap()[0].num_rows(), 0);
        let engine = tables.batches("runs").unwrap()[0].column_by_name("engine").unwrap().as_string::<i32>();
        assert_eq!(engine.value(0), "live");
        let error =
            |name: &str| Tables::from_named_batches(Header::default(), [(name.to_owned(), batch.clone())]).unwrap_err();
        assert_eq!(error("flows"), "'flows' does not have the columns of its schema");
        assert_eq!(error("runs"), "'runs' is not a table of engine records");
        assert_eq!(error("unknown"), "'unknown' is not a table of engine records");
    }
}
