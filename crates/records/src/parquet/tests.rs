//! Tests of reading and writing run folders, and of the hash of records.

use super::*;
use crate::findings::NEVER_STARTS;
use crate::hash::hash;
use crate::rows::{
    CalibrationRow, CellUserRow, EventRow, FlowRow, LatenessRow, LinkEventRow, LinkRow, NamedValueRow, PacketRow,
    Records, SampleRow, StationRow,
};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("cwndlab-records-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn tables(seed: u64, rows: u64) -> Tables {
    let header = Header {
        scenario: r#"{"schema_version":1}"#.to_owned(),
        scenario_hash: "0123456789abcdef".repeat(4),
        seed,
        engine: "simulate".to_owned(),
        version: "0.1.0".to_owned(),
        host: "here".to_owned(),
        duration: Duration::from_nanos(7),
        measure_from: Time::from_nanos(2),
        sample_interval: Duration::from_nanos(1),
        notes: vec!["link[0]: floored at 2 packets".to_owned(), "another".to_owned()],
    };
    let records = Records {
        flows: vec![FlowRow { name: "flow0".to_owned(), end_ns: None, min_rtt_ns: Some(4), ..FlowRow::default() }],
        links: vec![LinkRow { name: "bottleneck".to_owned(), utilisation: 0.75, ..LinkRow::default() }],
        samples: (0..rows)
            .map(|at| SampleRow { time_ns: at, ssthresh_bytes: (at % 2 == 0).then_some(at), ..SampleRow::default() })
            .collect(),
        events: vec![EventRow {
            time_ns: 1,
            flow: 0,
            kind: "recovery",
            cause: "rack",
            cwnd_before_bytes: 2,
            cwnd_after_bytes: 1,
            pipe_segments: Some(0.5),
        }],
        packets: vec![PacketRow {
            time_ns: 3,
            link: 0,
            flow: 0,
            kind: 1,
            sequence_bytes: 9,
            size_bytes: 40,
            fate: 0,
            departure_ns: None,
            retransmission: true,
            sack: "1448-2896".to_owned(),
            echo_ns: Some(1),
            ..PacketRow::default()
        }],
        stations: vec![StationRow {
            medium: "cell".to_owned(),
            station: "ap".to_owned(),
            attempts: 7,
            ..StationRow::default()
        }],
        cell_users: vec![CellUserRow { cell: "lte".to_owned(), cqi: Some(15), ..CellUserRow::default() }],
        link_events: vec![LinkEventRow { time_ns: 15, link: 1, kind: "handover", duration_ns: 50 }],
        lateness: vec![LatenessRow { late_ns: 1250, packets: 3 }],
        calibration: vec![CalibrationRow { flow: 0, quantity: "rate_bps", expected: 1e6, measured: 999e3 }],
        named_values: vec![NamedValueRow { time_ns: 4, flow: 0, name: "w_max_segments", value: f64::INFINITY }],
        findings: vec![NEVER_STARTS.of_flow(0.into(), "flow0 would start at 9 s")],
        ..Records::default()
    };
    Tables::new(header, records)
}

#[test]
fn a_written_run_is_read_back() {
    let folder = Folder::new();
    let written = tables(7, 1000);
    write(&written, &folder.0).unwrap();
    let read = read(&folder.0).unwrap();
    assert_eq!(read.header, written.header);
    assert_eq!(hash(&read), hash(&written));
    for table in TABLES {
        assert_eq!(read.batches(table.name), written.batches(table.name), "{}", table.name);
    }
    let mut expected: Vec<String> = TABLES.iter().map(|table| format!("{}.parquet", table.name)).collect();
    expected.push("SHA256SUMS".to_owned());
    expected.sort();
    assert_eq!(folder.files(), expected);
}

/// A run without 802.11 has an empty table `stations`.
#[test]
fn an_empty_optional_table_has_no_file() {
    let folder = Folder::new();
    let header = tables(7, 10).header;
    let written = Tables::new(header, Records::default());
    write(&written, &folder.0).unwrap();
    assert!(!folder.files().contains(&"stations.parquet".to_owned()));
    let read = read(&folder.0).unwrap();
    assert_eq!(hash(&read), hash(&written));
    assert_eq!(read.batches("stations"), written.batches("stations"));
}

#[test]
fn a_folder_accepts_the_same_run_again_and_rejects_a_different_run() {
    let folder = Folder::new();
    write(&tables(7, 10), &folder.0).unwrap();
    write(&tables(7, 10), &folder.0).unwrap();
    let error = write(&tables(8, 10), &folder.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}: holds another run (scenario 0123456789ab, seed 7, version 0.1.0)\n  hint: name a folder that is empty or does not exist",
            folder.0.display()
        )
    );
    assert_eq!(read(&folder.0).unwrap().header.seed, 7);
}

/// Both writers have seen an empty folder before either gives its files their names.
#[test]
fn of_two_writers_of_different_runs_the_first_is_kept() {
    let folder = Folder::new();
    let (first, second) = (tables(1, 3), tables(2, 3));
    let (one, other) = (Staging::new(&folder.0), Staging::new(&folder.0));
    stage(&first, &one).unwrap();
    stage(&second, &other).unwrap();
    commit(&first, &one).unwrap();
    let fault = commit(&second, &other).unwrap_err();
    assert!(fault.what.starts_with("holds another run (scenario 0123456789ab, seed 1,"), "{fault}");
    assert_eq!(read(&folder.0).unwrap().header.seed, 1);
}

/// The second writer has created the file of a table that the first one lacks, and takes it back.
#[test]
fn a_writer_that_is_refused_leaves_none_of_its_tables() {
    let folder = Folder::new();
    let first = Tables::new(tables(1, 3).header, Records::default());
    write(&first, &folder.0).unwrap();
    let before = folder.files();
    let second = tables(2, 3);
    let staging = Staging::new(&folder.0);
    stage(&second, &staging).unwrap();
    commit(&second, &staging).unwrap_err();
    let left: Vec<_> = folder.files().into_iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(left, before);
}

#[test]
fn threads_write_the_same_run_at_once() {
    let folder = Folder::new();
    let run = tables(1, 3);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|_| scope.spawn(|| write(&run, &folder.0))).collect();
        for writer in writers {
            assert_eq!(writer.join().unwrap(), Ok(()));
        }
    });
    assert_eq!(read(&folder.0).unwrap().header.seed, 1);
    assert!(folder.files().iter().all(|name| !name.starts_with('.')));
}

#[test]
fn an_emulation_is_never_overwritten_and_overwrites_nothing() {
    // Real time does not come again: equal scenarios and seeds are two measurements (docs/emulation.md).
    let of = |engine: &str| {
        let mut tables = tables(7, 10);
        tables.header.engine = engine.to_owned();
        tables
    };
    for (kept, new) in [("emulate", "emulate"), ("emulate", "simulate"), ("simulate", "emulate"), ("live", "live")] {
        let folder = Folder::new();
        write(&of(kept), &folder.0).unwrap();
        let error = write(&of(new), &folder.0).unwrap_err();
        assert_eq!(error.what, "holds another run (scenario 0123456789ab, seed 7, version 0.1.0)");
        assert_eq!(read(&folder.0).unwrap().header.engine, kept);
    }
}

#[test]
fn a_file_that_is_not_part_of_a_run_is_not_overwritten() {
    let folder = Folder::new();
    let path = file(&folder.0, "flows");
    fs::write(&path, "my own").unwrap();
    let error = write(&tables(7, 10), &folder.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}: exists and is not part of a run\n  hint: name a folder that is empty or does not exist",
            path.display()
        )
    );
    assert_eq!(folder.files(), ["flows.parquet"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "my own");
}

#[test]
fn a_file_in_place_of_the_folder_is_an_error() {
    let folder = Folder::new();
    let path = folder.0.join("taken");
    fs::write(&path, "x").unwrap();
    assert_eq!(
        write(&tables(7, 1), &path).unwrap_err().to_string(),
        format!("{}: is a file, not a folder\n  hint: name a folder that is empty or does not exist", path.display())
    );
}

#[test]
fn a_truncated_file_is_named() {
    let folder = Folder::new();
    write(&tables(7, 1000), &folder.0).unwrap();
    let path = file(&folder.0, "samples");
    let complete = fs::read(&path).unwrap();
    for kept in [0, 3, complete.len() / 2, complete.len() - 1] {
        fs::write(&path, &complete[..kept]).unwrap();
        let error = read(&folder.0).unwrap_err();
        assert_eq!(error.place, path.display().to_string());
        assert_eq!(error.what, "does not match its checksum in SHA256SUMS");
        assert_eq!(error.hint, "it was truncated, altered or belongs to another run; run again");
        update_checksums(&folder.0);
        let error = read(&folder.0).unwrap_err();
        assert!(error.what.starts_with("is not a complete Parquet file ("), "{}", error.what);
        write(&tables(7, 1000), &folder.0).unwrap_err();
        fs::write(&path, &complete).unwrap();
        update_checksums(&folder.0);
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = Folder::new();
    write(&tables(7, 1), &folder.0).unwrap();
    let path = file(&folder.0, "events");
    fs::remove_file(&path).unwrap();
    assert_eq!(
        read(&folder.0).unwrap_err().to_string(),
        format!(
            "{}: there is no such file\n  hint: name a folder that `cwndlab run --out` has written",
            path.display()
        )
    );
}

#[test]
fn tables_of_two_runs_are_not_mixed() {
    let one = Folder::new();
    let two = Folder::new();
    write(&tables(7, 1), &one.0).unwrap();
    write(&tables(8, 1), &two.0).unwrap();
    fs::copy(file(&two.0, "links"), file(&one.0, "links")).unwrap();
    update_checksums(&one.0);
    assert_eq!(
        read(&one.0).unwrap_err().to_string(),
        format!(
            "{}: belongs to another run than runs.parquet\n  hint: run again into an empty folder",
            file(&one.0, "links").display()
        )
    );
}

/// Recomputes the checksums of the files.
fn update_checksums(folder: &Path) {
    let names = TABLES.iter().map(|table| table.name).filter(|name| file(folder, name).exists());
    let checksums: String =
        names.map(|name| checksum_line(&hex(Sha256::digest(fs::read(file(folder, name)).unwrap())), name)).collect();
    fs::write(folder.join(CHECKSUMS), checksums).unwrap();
}

/// Source: FIPS 180-2, appendix B.1, the digest of "abc".
#[test]
fn checksums_are_sha256_in_the_format_of_sha256sum() {
    let digest = hex(Sha256::digest("abc"));
    assert_eq!(
        checksum_line(&digest, "flows"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  flows.parquet\n"
    );
}

/// A sample of the bits of every file, the checksum file included.
#[test]
fn a_flipped_bit_in_any_file_is_an_error() {
    let folder = Folder::new();
    write(&tables(7, 100), &folder.0).unwrap();
    for name in folder.files() {
        let path = folder.0.join(&name);
        let complete = fs::read(&path).unwrap();
        let step = if name == CHECKSUMS { 1 } else { complete.len() / 40 + 1 };
        for (n, at) in (0..complete.len()).step_by(step).enumerate() {
            let mut altered = complete.clone();
            altered[at] ^= 1 << (n % 8);
            fs::write(&path, &altered).unwrap();
            let error = read(&folder.0).map(|_| ()).unwrap_err();
            assert!(error.what.contains("checksum"), "byte {at} of {name}: {error}");
        }
        fs::write(&path, &complete).unwrap();
    }
    read(&folder.0).unwrap();
}

#[test]
fn a_run_without_checksums_is_an_error() {
    let folder = Folder::new();
    write(&tables(7, 1), &folder.0).unwrap();
    let path = folder.0.join(CHECKSUMS);
    fs::remove_file(&path).unwrap();
    assert_eq!(
        read(&folder.0).unwrap_err().to_string(),
        format!("{}: there is no such file\n  hint: the run was not written completely; run again", path.display())
    );
}

fn write_raw(path: &Path, entries: &[(&str, &str)]) {
    let entries = entries.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect();
    let properties = WriterProperties::builder().set_key_value_metadata(Some(entries)).build();
    stage_table(path, &TABLES[0], tables(1, 1).batches("runs").unwrap(), properties).unwrap();
}

#[test]
fn a_foreign_file_and_one_of_another_version_have_different_errors() {
    let folder = Folder::new();
    let path = file(&folder.0, "runs");
    write_raw(&path, &[]);
    assert_eq!(
        read(&folder.0).unwrap_err().to_string(),
        format!(
            "{}: was not written by cwndlab (its header has no 'cwndlab.schema_version')\n  hint: name a folder that `cwndlab run --out` has written",
            path.display()
        )
    );
    write_raw(&path, &[(SCHEMA, "9"), (VERSION, "3.0.0")]);
    assert_eq!(
        read(&folder.0).unwrap_err().to_string(),
        format!(
            "{}: has schema version 9 (written by cwndlab 3.0.0), this is version 8\n  hint: read it with the version that wrote it, or run again",
            path.display()
        )
    );
}

/// `/dev/full` fails every write like a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_leaves_no_file() {
    let folder = Folder::new();
    let inside = folder.0.join("out");
    fs::create_dir(&inside).unwrap();
    let staging = Staging::new(&inside);
    std::os::unix::fs::symlink("/dev/full", staging.file("samples.parquet")).unwrap();
    let error = write_by(&tables(7, 1000), &staging).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}: no space is left on the device\n  hint: free some space or name another folder; nothing of this run was kept there",
            file(&inside, "samples").display()
        )
    );
    assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
}

/// Definition of the hash: it excludes machine and release and includes every other value of `runs`.
#[test]
fn the_hash_ignores_only_host_and_version() {
    let base = tables(7, 10);
    let again = |change: fn(&mut Header)| {
        let mut header = base.header.clone();
        change(&mut header);
        hash(&Tables::new(header, Records::default()))
    };
    let plain = again(|_| {});
    assert_eq!(again(|header| header.host = "there".to_owned()), plain);
    assert_eq!(again(|header| header.version = "9".to_owned()), plain);
    assert_ne!(again(|header| header.seed = 8), plain);
    assert_ne!(again(|header| header.notes.clear()), plain);
    assert_ne!(hash(&base), plain);
}

proptest! {
    #[test]
    fn the_hash_does_not_depend_on_batches(rows in 1_u64..200, cut in 0_usize..200) {
        let complete = tables(1, rows);
        let parts = TABLES.iter().map(|table| {
            let batch = &complete.batches(table.name).unwrap()[0];
            let at = cut.min(batch.num_rows());
            vec![batch.slice(0, at), batch.slice(at, batch.num_rows() - at)]
        });
        prop_assert_eq!(hash(&Tables::from_batches(complete.header.clone(), parts.collect())), hash(&complete));
    }

    /// The checksums match the altered bytes, so that the Parquet reader receives them.
    #[test]
    fn altered_bytes_do_not_panic(at in 0_usize..4000, value: u8) {
        let folder = Folder::new();
        write(&tables(7, 100), &folder.0).unwrap();
        let path = file(&folder.0, "samples");
        let mut bytes = fs::read(&path).unwrap();
        let at = at % bytes.len();
        bytes[at] = value;
        fs::write(&path, bytes).unwrap();
        update_checksums(&folder.0);
        let _ = read(&folder.0);
    }
}
