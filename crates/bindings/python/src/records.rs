//! Records, passed to Python as Arrow streams, or as rows for small tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt32Array, UInt64Array, UInt8Array,
};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use cwndlab_records::findings::{self, CODES};
use cwndlab_records::parquet;
use cwndlab_records::rows::{FindingRow, FlowRow, Records as Rows, SampleRow, TABLES};
use cwndlab_records::stall;
use cwndlab_records::table::{self, Header, Tables};
use cwndlab_units::{Duration, Time};
use cwndlab_units::{Fault, FaultKind};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::errors::{fault_error, guarded};

/// The tables of one run.
#[pyclass(frozen, module = "cwndlab._engine")]
pub(crate) struct Records {
    tables: Tables,
}

impl Records {
    pub(crate) fn new(tables: Tables) -> Self {
        Self { tables }
    }

    fn batches(&self, name: &str) -> PyResult<&[RecordBatch]> {
        self.tables.batches(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

/// Converts the outcome of an operation on a folder to a result with a Python exception.
fn into_result<T>(py: Python<'_>, folder: &Path, outcome: Result<Result<T, Fault>, Fault>) -> PyResult<T> {
    let fault = match outcome {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(fault)) => fault,
        Err(panic) => panic.at(folder.display().to_string()),
    };
    let class = if fault.kind == FaultKind::Output { "OutputError" } else { "RecordsError" };
    Err(fault_error(py, class, [fault]))
}

#[pymethods]
impl Records {
    /// A table, for consumers of Arrow streams.
    fn table(&self, name: &str) -> PyResult<Table> {
        let batches = self.batches(name)?.to_vec();
        let schema = table::schema(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(Table { schema, batches })
    }

    /// A table as dictionaries, one per row.
    fn rows<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let mut rows = Vec::new();
        for batch in self.batches(name)? {
            for row in 0..batch.num_rows() {
                let entry = PyDict::new(py);
                for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
                    entry.set_item(field.name(), cell(py, column, row)?)?;
                }
                rows.push(entry);
            }
        }
        Ok(rows)
    }

    /// Writes the tables into a folder atomically: all of them or none.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let written = py.detach(|| guarded(|| parquet::write(&self.tables, &folder)));
        into_result(py, &folder, written)
    }

    /// SHA-256 over the values of all tables.
    fn hash(&self, py: Python<'_>) -> String {
        py.detach(|| cwndlab_records::hash::hash(&self.tables))
    }

    /// The scenario, JSON.
    #[getter]
    fn scenario(&self) -> &str {
        &self.tables.header.scenario
    }

    /// SHA-256 of the scenario's canonical form.
    #[getter]
    fn scenario_hash(&self) -> &str {
        &self.tables.header.scenario_hash
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.tables.header.seed
    }

    /// The version of cwndlab that made the run.
    #[getter]
    fn version(&self) -> &str {
        &self.tables.header.version
    }

    /// Notes on the run.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.tables.header.notes.clone()
    }
}

fn cell<'py>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! number {
        ($type:ty) => {
            column.as_primitive::<$type>().value(row).into_pyobject(py)?.into_any()
        };
    }
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Int64 => number!(Int64Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Boolean => column.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        DataType::Utf8 => column.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        other => unreachable!("no table has a column of type {other}"),
    })
}

/// One table, with the Arrow PyCapsule interface.
#[pyclass(frozen, module = "cwndlab._engine")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    /// The table as an Arrow stream, without copying data.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface permits a producer that cannot cast to return its own schema.
        drop(requested_schema);
        let batches: Vec<Result<RecordBatch, ArrowError>> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// The declarations of all tables, in order: name, description, whether the table is optional, and for each column
/// name, type, nullability, unit and description.
#[pyfunction]
pub(crate) fn tables(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let declared = TABLES.iter().map(|table| {
        let columns = table.columns.iter().map(|column| {
            let entry = PyDict::new(py);
            entry.set_item("name", column.name)?;
            entry.set_item("type", column.column_type.name())?;
            entry.set_item("nullable", column.nullable)?;
            entry.set_item("unit", column.unit())?;
            entry.set_item("description", column.description)?;
            Ok(entry)
        });
        let entry = PyDict::new(py);
        entry.set_item("name", table.name)?;
        entry.set_item("description", table.description)?;
        entry.set_item("optional", table.optional)?;
        entry.set_item("columns", columns.collect::<PyResult<Vec<_>>>()?)?;
        Ok(entry)
    });
    declared.collect()
}

/// The codes of findings, in order: code, severity, condition.
#[pyfunction]
pub(crate) fn finding_codes(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let declared = CODES.iter().map(|code| {
        let entry = PyDict::new(py);
        entry.set_item("code", code.name)?;
        entry.set_item("severity", code.severity.name())?;
        entry.set_item("condition", code.condition)?;
        Ok(entry)
    });
    declared.collect()
}

/// Reads the run of a folder.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, folder: PathBuf) -> PyResult<Records> {
    let read = py.detach(|| guarded(|| parquet::read(&folder)));
    into_result(py, &folder, read).map(Records::new)
}

/// Creates records of measurements that no engine made: `header` has the columns of the table `runs`, with `scenario`
/// as JSON and `notes` as a list; `tables` are rows by table. A missing column is null, or an error if it is not
/// nullable.
#[pyfunction]
pub(crate) fn assemble(
    header: &Bound<'_, PyDict>,
    tables: BTreeMap<String, Vec<Bound<'_, PyDict>>>,
) -> PyResult<Records> {
    fn entry<'py, T: for<'a> FromPyObject<'a, 'py, Error = PyErr>>(
        header: &Bound<'py, PyDict>,
        name: &str,
    ) -> PyResult<T> {
        header.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?.extract()
    }
    let header = Header {
        scenario: entry(header, "scenario")?,
        scenario_hash: entry(header, "scenario_hash")?,
        seed: entry(header, "seed")?,
        engine: entry(header, "engine")?,
        version: entry(header, "version")?,
        host: entry(header, "host")?,
        duration: Duration::from_nanos(entry(header, "duration_ns")?),
        measure_from: Time::from_nanos(entry(header, "measure_from_ns")?),
        sample_interval: Duration::from_nanos(entry(header, "sample_interval_ns")?),
        notes: entry(header, "notes")?,
    };
    let findings = measured(&header, &tables)?;
    let mut batches = Vec::new();
    for (name, rows) in tables {
        let schema = table::schema(&name).ok_or_else(|| PyKeyError::new_err(name.clone()))?;
        let columns = schema.fields().iter().map(|field| column(field, &rows)).collect::<PyResult<Vec<_>>>()?;
        let batch = RecordBatch::try_new(schema.clone(), columns);
        batches.push((name.clone(), batch.map_err(|cause| PyValueError::new_err(format!("{name}: {cause}")))?));
    }
    let found = Tables::new(header.clone(), Rows { findings, ..Rows::default() });
    batches
        .extend(found.batches("findings").unwrap_or_default().iter().map(|one| ("findings".to_owned(), one.clone())));
    Tables::from_named_batches(header, batches).map(Records::new).map_err(PyValueError::new_err)
}

/// The findings on measured flows, by the rows of `flows` and `samples`, and the notes on the measurement.
fn measured(header: &Header, tables: &BTreeMap<String, Vec<Bound<'_, PyDict>>>) -> PyResult<Vec<FindingRow>> {
    fn number(row: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<u64>> {
        row.get_item(name)?.map_or(Ok(None), |cell| cell.extract())
    }
    let count = |row: &Bound<'_, PyDict>, name: &str| Ok::<u64, PyErr>(number(row, name)?.unwrap_or_default());
    let rows = |name: &str| tables.get(name).map(Vec::as_slice).unwrap_or_default();
    let mut found = Vec::new();
    for (flow, row) in (0u32..).zip(rows("flows")) {
        let name: String = row.get_item("name")?.map_or(Ok(String::new()), |name| name.extract())?;
        let flow_row = FlowRow {
            flow,
            name: name.clone(),
            sent_packets: count(row, "sent_packets")?,
            retransmitted_packets: count(row, "retransmitted_packets")?,
            ..FlowRow::default()
        };
        let samples = rows("samples").iter().map(|sample| {
            Ok(SampleRow {
                time_ns: count(sample, "time_ns")?,
                flow: count(sample, "flow")? as u32,
                in_flight_bytes: number(sample, "in_flight_bytes")?,
                srtt_ns: number(sample, "srtt_ns")?,
                delivered_bytes: count(sample, "delivered_bytes")?,
                sent_bytes: count(sample, "sent_bytes")?,
                timeouts: count(sample, "timeouts")?,
                ..SampleRow::default()
            })
        });
        let samples: Vec<SampleRow> = samples.collect::<PyResult<_>>()?;
        let samples: Vec<SampleRow> = samples.into_iter().filter(|sample| sample.flow == flow).collect();
        let stall = stall::of_samples(&samples, count(row, "mss_bytes")?, header.duration);
        found.extend(stall.map(|stall| stall.finding(flow.into(), &name)));
        found.extend(findings::repetitions(&flow_row));
        found.extend(findings::short_run(
            flow.into(),
            &name,
            header.duration,
            Duration::from_nanos(count(row, "base_rtt_ns")?),
        ));
    }
    findings::add_notes(&mut found, findings::ENVIRONMENT, &header.notes);
    Ok(found)
}

fn column(field: &Field, rows: &[Bound<'_, PyDict>]) -> PyResult<ArrayRef> {
    macro_rules! filled {
        ($array:ident, $cell:ty) => {{
            let cells = rows.iter().map(|row| match row.get_item(field.name())? {
                Some(cell) => cell.extract::<Option<$cell>>(),
                None => Ok(None),
            });
            Arc::new(cells.collect::<PyResult<Vec<_>>>()?.into_iter().collect::<$array>())
        }};
    }
    Ok(match field.data_type() {
        DataType::UInt8 => filled!(UInt8Array, u8),
        DataType::UInt32 => filled!(UInt32Array, u32),
        DataType::UInt64 => filled!(UInt64Array, u64),
        DataType::Int64 => filled!(Int64Array, i64),
        DataType::Float64 => filled!(Float64Array, f64),
        DataType::Boolean => filled!(BooleanArray, bool),
        DataType::Utf8 => filled!(StringArray, String),
        other => unreachable!("no table has a column of type {other}"),
    })
}
