//! Arrow tables: one column per field of a row, of the same name.
//!
//! 64-bit counters and times become signed, so that differences of columns may be negative; only the seed is unsigned.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array,
    UInt64Array, UInt8Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::rows::{
    CalibrationRow, EventRow, FlowRow, LatenessRow, LinkRow, LinkSampleRow, PacketRow, Records, SampleRow, StationRow,
    TransferRow,
};

/// Version of the tables' schema.
pub const SCHEMA_VERSION: u32 = 3;

/// The tables of a run, in canonical order.
pub const NAMES: [&str; 11] = [
    "runs",
    "flows",
    "links",
    "samples",
    "link_samples",
    "events",
    "transfers",
    "packets",
    "stations",
    "lateness",
    "calibration",
];

/// Tables of which most runs have nothing: where they are empty they have no file and no part in the hash.
pub(crate) const SELDOM: [&str; 3] = ["stations", "lateness", "calibration"];

/// Of which run the tables are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The scenario, JSON, from which it can be run again.
    pub scenario: String,
    /// SHA-256 of its canonical form, in hex.
    pub scenario_hash: String,
    /// The seed.
    pub seed: u64,
    /// Which engine ran it: `simulate`.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// Name of the machine.
    pub host: String,
    /// How long the run was, on its own clock.
    pub duration_ns: u64,
    /// Metrics leave out what was before.
    pub measure_from_ns: u64,
    /// Interval of the samples; 0 where none were taken.
    pub sample_interval_ns: u64,
    /// What was noted about it, one line each.
    pub notes: Vec<String>,
}

/// All tables of one run.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Of which run.
    pub header: Header,
    batches: [Vec<RecordBatch>; NAMES.len()],
}

impl Tables {
    /// Turns rows into tables.
    #[must_use]
    pub fn new(header: Header, records: &Records) -> Self {
        let batches = [
            vec![batch(std::slice::from_ref(&RunRow(header.clone())))],
            vec![batch(&records.flows)],
            vec![batch(&records.links)],
            vec![batch(&records.samples)],
            vec![batch(&records.link_samples)],
            vec![batch(&records.events)],
            vec![batch(&records.transfers)],
            vec![batch(&records.packets)],
            vec![batch(&records.stations)],
            vec![batch(&records.lateness)],
            vec![batch(&records.calibration)],
        ];
        Self { header, batches }
    }

    /// Tables that were filled elsewhere, by name; what is missing is empty, and `runs` is the header's.
    ///
    /// # Errors
    ///
    /// Names the table that is none, or has other columns than its [`schema`].
    pub fn assembled(header: Header, given: impl IntoIterator<Item = (String, RecordBatch)>) -> Result<Self, String> {
        let mut made = Self::new(header, &Records::default());
        for (name, batch) in given {
            let at =
                NAMES.iter().skip(1).position(|one| *one == name).ok_or_else(|| format!("'{name}' is no table"))?;
            if schema(&name).is_none_or(|schema| schema != batch.schema()) {
                return Err(format!("'{name}' has other columns"));
            }
            made.batches[at + 1] = vec![batch];
        }
        Ok(made)
    }

    pub(crate) fn from_batches(header: Header, batches: [Vec<RecordBatch>; NAMES.len()]) -> Self {
        Self { header, batches }
    }

    /// The table is one of those that a run need not have, and has none of it.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        SELDOM.contains(&name)
            && self.batches(name).is_none_or(|batches| batches.iter().all(|batch| batch.num_rows() == 0))
    }

    /// The batches of a table, in order; `None` where no table has this name.
    #[must_use]
    pub fn batches(&self, name: &str) -> Option<&[RecordBatch]> {
        NAMES.iter().position(|one| *one == name).map(|at| self.batches[at].as_slice())
    }
}

/// The columns of a table; `None` where no table has this name.
#[must_use]
pub fn schema(name: &str) -> Option<SchemaRef> {
    let fields = match name {
        "runs" => RunRow::fields(),
        "flows" => FlowRow::fields(),
        "links" => LinkRow::fields(),
        "samples" => SampleRow::fields(),
        "link_samples" => LinkSampleRow::fields(),
        "events" => EventRow::fields(),
        "transfers" => TransferRow::fields(),
        "packets" => PacketRow::fields(),
        "stations" => StationRow::fields(),
        "lateness" => LatenessRow::fields(),
        "calibration" => CalibrationRow::fields(),
        _ => return None,
    };
    Some(Arc::new(Schema::new(fields)))
}

fn batch<R: Row>(rows: &[R]) -> RecordBatch {
    let schema = Arc::new(Schema::new(R::fields()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema, R::columns(rows), &options)
        .expect("columns are as long as there are rows")
}

trait Row: Sized {
    fn fields() -> Vec<Field>;
    fn columns(rows: &[Self]) -> Vec<ArrayRef>;
}

/// What stands in one row of one column.
trait Cell: Sized {
    const NULLABLE: bool = false;
    fn data_type() -> DataType;
    fn column<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
}

macro_rules! cell {
    ($cell:ty, $type:ident, $array:ident, $nullable:literal, $value:expr) => {
        impl Cell for $cell {
            const NULLABLE: bool = $nullable;

            fn data_type() -> DataType {
                DataType::$type
            }

            fn column<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(cells.map($value).collect::<$array>())
            }
        }
    };
}

/// A `u64` whose upper half is in use.
struct Unsigned(u64);

cell!(u8, UInt8, UInt8Array, false, |&value| Some(value));
cell!(u32, UInt32, UInt32Array, false, |&value| Some(value));
cell!(u64, Int64, Int64Array, false, |&value| Some(value.cast_signed()));
cell!(Unsigned, UInt64, UInt64Array, false, |value| Some(value.0));
cell!(Option<u64>, Int64, Int64Array, true, |value| value.map(u64::cast_signed));
cell!(f64, Float64, Float64Array, false, |&value| Some(value));
cell!(Option<f64>, Float64, Float64Array, true, |&value| value);
cell!(bool, Boolean, BooleanArray, false, |&value| Some(value));
cell!(String, Utf8, StringArray, false, |value| Some(value.as_str()));
cell!(&'static str, Utf8, StringArray, false, |&value| Some(value));

macro_rules! row {
    ($row:ident { $($field:ident),* $(,)? }) => {
        impl Row for $row {
            fn fields() -> Vec<Field> {
                fn field<C: Cell>(name: &str, _: fn(&$row) -> &C) -> Field {
                    Field::new(name, C::data_type(), C::NULLABLE)
                }
                vec![$(field(stringify!($field), |row| &row.$field)),*]
            }

            fn columns(rows: &[Self]) -> Vec<ArrayRef> {
                // A field that has no column does not compile.
                if let Some($row { $($field: _),* }) = rows.first() {}
                vec![$(Cell::column(rows.iter().map(|row| &row.$field))),*]
            }
        }
    };
}

row!(FlowRow {
    flow,
    name,
    algorithm,
    profile,
    mss_bytes,
    base_rtt_ns,
    start_ns,
    end_ns,
    delivered_bytes,
    acked_bytes,
    sent_bytes,
    wire_bytes,
    sent_packets,
    retransmitted_bytes,
    retransmitted_packets,
    ack_packets,
    queue_drops,
    wire_losses,
    timeouts,
    recoveries,
    ecn_reductions,
    undos,
    loss_probes,
    min_rtt_ns,
    mean_rtt_ns,
    min_delay_ns,
    mean_delay_ns,
    max_delay_ns,
    jitter_ns,
    route,
});
row!(LinkRow {
    link,
    name,
    rate_bps,
    delay_ns,
    capacity_packets,
    capacity_bytes,
    arrived_packets,
    dropped_packets,
    lost_packets,
    marked_packets,
    sent_packets,
    sent_bytes,
    mean_queue_packets,
    mean_queue_bytes,
    max_queue_packets,
    utilisation,
    carriable_bytes,
});
row!(SampleRow {
    time_ns,
    flow,
    cwnd_bytes,
    ssthresh_bytes,
    in_flight_bytes,
    srtt_ns,
    rtt_ns,
    pacing_rate_bps,
    delivery_rate_bps,
    delivered_bytes,
    sent_bytes,
    retransmitted_bytes,
    retransmitted_packets,
    congestion_events,
    timeouts,
    queue_drops,
    wire_losses,
    rtt_sum_ns,
    rtt_count,
    state,
    delay_ns,
    delay_sum_ns,
    delay_count,
    jitter_ns,
});
row!(LinkSampleRow {
    time_ns,
    link,
    queue_packets,
    queue_bytes,
    arrived_packets,
    dropped_packets,
    lost_packets,
    marked_packets,
    sent_bytes,
    queue_packet_ns,
    queue_byte_ns,
    carriable_bytes,
});
row!(EventRow { time_ns, flow, kind, cause, cwnd_before_bytes, cwnd_after_bytes, pipe_segments });
row!(TransferRow { flow, transfer, start_ns, end_ns, size_bytes });
row!(PacketRow {
    time_ns,
    link,
    flow,
    kind,
    sequence_bytes,
    size_bytes,
    fate,
    departure_ns,
    retransmission,
    packet,
    sent_ns,
    arrival_ns,
    connection,
    payload_bytes,
    echo_ns,
    window_bytes,
    sack,
    ecn,
    ece,
    cwr,
});
row!(StationRow {
    time_ns,
    medium,
    station,
    attempts,
    failures,
    collisions,
    frame_errors,
    given_up_packets,
    sent_packets,
    sent_bytes,
    dropped_packets,
    airtime_ns,
    queue_packets,
    queue_packet_ns,
    max_queue_packets,
});

row!(LatenessRow { late_ns, packets });
row!(CalibrationRow { flow, quantity, expected, measured });

/// The one row of `runs`.
struct RunRow(Header);

impl Row for RunRow {
    fn fields() -> Vec<Field> {
        vec![
            Field::new("scenario_hash", DataType::Utf8, false),
            Field::new("seed", DataType::UInt64, false),
            Field::new("engine", DataType::Utf8, false),
            Field::new("version", DataType::Utf8, false),
            Field::new("host", DataType::Utf8, false),
            Field::new("duration_ns", DataType::Int64, false),
            Field::new("measure_from_ns", DataType::Int64, false),
            Field::new("sample_interval_ns", DataType::Int64, false),
            Field::new("notes", DataType::Utf8, false),
        ]
    }

    fn columns(rows: &[Self]) -> Vec<ArrayRef> {
        let notes: Vec<String> = rows.iter().map(|row| row.0.notes.join("\n")).collect();
        let seeds: Vec<Unsigned> = rows.iter().map(|row| Unsigned(row.0.seed)).collect();
        vec![
            Cell::column(rows.iter().map(|row| &row.0.scenario_hash)),
            Cell::column(seeds.iter()),
            Cell::column(rows.iter().map(|row| &row.0.engine)),
            Cell::column(rows.iter().map(|row| &row.0.version)),
            Cell::column(rows.iter().map(|row| &row.0.host)),
            Cell::column(rows.iter().map(|row| &row.0.duration_ns)),
            Cell::column(rows.iter().map(|row| &row.0.measure_from_ns)),
            Cell::column(rows.iter().map(|row| &row.0.sample_interval_ns)),
            Cell::column(notes.iter()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    #[test]
    fn every_table_has_its_schema_also_when_empty() {
        let tables = Tables::new(Header::default(), &Records::default());
        for name in NAMES {
            let batches = tables.batches(name).unwrap();
            assert_eq!(batches.len(), 1);
            assert_eq!(batches[0].schema(), schema(name).unwrap(), "{name}");
        }
        assert_eq!(tables.batches("runs").unwrap()[0].num_rows(), 1);
        assert!(tables.batches("walks").is_none());
        assert!(schema("walks").is_none());
    }

    /// The columns are the fields, and what is not there is null.
    #[test]
    fn a_flow_that_lives_has_no_end() {
        let alive = FlowRow { flow: 0, start_ns: 5, ..FlowRow::default() };
        let done = FlowRow { flow: 1, end_ns: Some(7), ..FlowRow::default() };
        let records = Records { flows: vec![alive, done], ..Records::default() };
        let tables = Tables::new(Header::default(), &records);
        let flows = &tables.batches("flows").unwrap()[0];
        let ends = flows.column_by_name("end_ns").unwrap().as_primitive::<Int64Type>();
        assert_eq!(ends.iter().collect::<Vec<_>>(), [None, Some(7)]);
        let starts = flows.column_by_name("start_ns").unwrap().as_primitive::<Int64Type>();
        assert_eq!(starts.iter().collect::<Vec<_>>(), [Some(5), Some(0)]);
    }

    #[test]
    fn tables_are_assembled_where_their_columns_are_those_of_the_schema() {
        let records =
            Records { transfers: vec![TransferRow { size_bytes: 9, ..TransferRow::default() }], ..Records::default() };
        let filled = Tables::new(Header::default(), &records);
        let batch = filled.batches("transfers").unwrap()[0].clone();
        let header = Header { engine: "live".to_owned(), ..Header::default() };
        let made = Tables::assembled(header, [("transfers".to_owned(), batch.clone())]).unwrap();
        assert_eq!(made.batches("transfers").unwrap()[0], batch);
        assert_eq!(made.batches("flows").unwrap()[0].num_rows(), 0);
        let engine = made.batches("runs").unwrap()[0].column_by_name("engine").unwrap().as_string::<i32>();
        assert_eq!(engine.value(0), "live");
        let wrong = |name: &str| Tables::assembled(Header::default(), [(name.to_owned(), batch.clone())]).unwrap_err();
        assert_eq!(wrong("flows"), "'flows' has other columns");
        assert_eq!(wrong("runs"), "'runs' is no table");
        assert_eq!(wrong("walks"), "'walks' is no table");
    }

    /// Units end the names of columns, and no table mixes nanoseconds with seconds.
    #[test]
    fn times_are_nanoseconds_everywhere() {
        for name in NAMES {
            for field in schema(name).unwrap().fields() {
                assert!(!field.name().ends_with("_s") && !field.name().ends_with("_ms"), "{name}.{}", field.name());
            }
        }
    }
}
