//! Storage of a run: a folder with one Parquet file per table, the run's header in each footer, and checksums in
//! `SHA256SUMS`. Parquet itself detects few altered bytes, so that reading verifies the checksum of a file first.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use cwndlab_units::{panics, Duration, Fault, FaultKind, Time};
use sha2::{Digest, Sha256};

use crate::declaration::Table;
use crate::hash::hex;
use crate::rows::TABLES;
use crate::table::{arrow_schema, Header, Tables, SCHEMA_VERSION};

/// Keys of the header in a footer.
const SCHEMA: &str = "cwndlab.schema_version";
const SCENARIO: &str = "cwndlab.scenario";
const SCENARIO_HASH: &str = "cwndlab.scenario_hash";
const SEED: &str = "cwndlab.seed";
const ENGINE: &str = "cwndlab.engine";
const VERSION: &str = "cwndlab.version";

/// The checksum file: one line per table, in the format of `sha256sum`.
const CHECKSUMS: &str = "SHA256SUMS";

fn error<T>(path: &Path, message: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new(path.display().to_string(), message, hint))
}

fn table_file(table: &str) -> String {
    format!("{table}.parquet")
}

/// The file of a table in a folder.
fn file(folder: &Path, table: &str) -> PathBuf {
    folder.join(table_file(table))
}

/// A line of the checksum file.
fn checksum_line(digest: &str, table: &str) -> String {
    format!("{digest}  {}\n", table_file(table))
}

/// Writes the tables into `folder`, which is created if necessary: all of them or, on any error, none.
///
/// The same simulation (scenario, seed, version) in the folder is overwritten; a different run is an error. An emulation
/// and the run of another engine differ from every run, also from those of the same scenario. That holds for several
/// writers at once, too: of two runs the first one is kept, and the other is the error.
pub fn write(tables: &Tables, folder: &Path) -> Result<(), Fault> {
    let created = create(folder)?;
    let written = write_by(tables, &Staging::new(folder));
    if written.is_err() && created {
        let _ = fs::remove_dir(folder);
    }
    written
}

/// Writes the tables by these temporary files, of which none is left.
fn write_by(tables: &Tables, staging: &Staging<'_>) -> Result<(), Fault> {
    let written = reject_other_run(&tables.header, staging.folder)
        .and_then(|()| stage(tables, staging))
        .and_then(|()| commit(tables, staging));
    if written.is_err() {
        for name in TABLES.iter().map(|table| table_file(table.name)).chain([CHECKSUMS.to_owned()]) {
            // A file may not have been staged before the error.
            let _ = fs::remove_file(staging.file(&name));
        }
    }
    written
}

/// Creates the folder; `false` if it exists.
fn create(folder: &Path) -> Result<bool, Fault> {
    if folder.is_dir() {
        return Ok(false);
    }
    if folder.exists() {
        return error(folder, "is a file, not a folder", "name a folder that is empty or does not exist");
    }
    match fs::create_dir_all(folder) {
        Ok(()) => Ok(true),
        Err(cause) => write_error(folder, &cause),
    }
}

/// The error of a failed write.
fn write_error<T>(path: &Path, cause: &io::Error) -> Result<T, Fault> {
    let failure = match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => error(
            path,
            "no space is left on the device",
            "free some space or name another folder; nothing of this run was kept there",
        ),
        io::ErrorKind::PermissionDenied => error(path, "may not be written", "name a folder that you may write to"),
        io::ErrorKind::ReadOnlyFilesystem => error(path, "is on a read-only file system", "name another folder"),
        _ => error(path, format!("cannot be written ({cause})"), "name another folder"),
    };
    failure.map_err(|fault: Fault| fault.of_kind(FaultKind::Output))
}

fn reject_other_run(header: &Header, folder: &Path) -> Result<(), Fault> {
    for path in TABLES.iter().map(|table| file(folder, table.name)).filter(|path| path.exists()) {
        let hint = "name a folder that is empty or does not exist";
        let existing_header = || open(&path).and_then(|reader| read_header(&reader, &path));
        let Ok(Ok(existing)) = panics::catch(existing_header) else {
            return error(&path, "exists and is not part of a run", hint);
        };
        if !is_same_simulation(&existing, header) {
            let scenario = existing.scenario_hash.get(..12).unwrap_or(&existing.scenario_hash);
            return error(
                folder,
                format!(
                    "holds another run (scenario {scenario}, seed {}, version {})",
                    existing.seed, existing.version
                ),
                hint,
            );
        }
    }
    Ok(())
}

/// Whether both are one run, made twice: only a simulation gives the same records again.
fn is_same_simulation(one: &Header, other: &Header) -> bool {
    let identity = |run: &Header| (run.scenario_hash.clone(), run.seed, run.version.clone());
    let simulated = |run: &Header| run.engine == "simulate";
    simulated(one) && simulated(other) && identity(one) == identity(other)
}

/// The temporary files of one call of [`write()`], which other calls of this and other processes do not use.
struct Staging<'a> {
    folder: &'a Path,
    call: u64,
}

impl<'a> Staging<'a> {
    fn new(folder: &'a Path) -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        Self { folder, call: CALLS.fetch_add(1, Ordering::Relaxed) }
    }

    /// The temporary file that is renamed to `name` on success.
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!(".{name}.{}.{}", std::process::id(), self.call))
    }
}

/// A file in writing, with the hash state of its content so far.
struct HashingWriter<'a> {
    file: File,
    state: &'a mut Sha256,
}

impl Write for HashingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.state.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn stage(tables: &Tables, staging: &Staging<'_>) -> Result<(), Fault> {
    let header = &tables.header;
    let entries = [
        (SCHEMA, SCHEMA_VERSION.to_string()),
        (SCENARIO, header.scenario.clone()),
        (SCENARIO_HASH, header.scenario_hash.clone()),
        (SEED, header.seed.to_string()),
        (ENGINE, header.engine.clone()),
        (VERSION, header.version.clone()),
    ];
    let entries = entries.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(entries))
        .set_created_by(format!("cwndlab {}", header.version))
        .build();
    let mut checksums = String::new();
    for (table, batches) in tables.present() {
        match stage_table(&staging.file(&table_file(table.name)), table, batches, properties.clone()) {
            Ok(digest) => checksums += &checksum_line(&digest, table.name),
            Err(cause) => return write_error(&file(staging.folder, table.name), &system_error(cause)),
        }
    }
    fs::write(staging.file(CHECKSUMS), checksums).or_else(|cause| write_error(&staging.folder.join(CHECKSUMS), &cause))
}

/// The I/O error that caused a Parquet error, if any.
fn system_error(cause: ParquetError) -> io::Error {
    let text = cause.to_string();
    match cause {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(inner) => *inner,
            Err(_) => io::Error::other(text),
        },
        _ => io::Error::other(text),
    }
}

fn stage_table(
    path: &Path,
    table: &Table,
    batches: &[RecordBatch],
    properties: WriterProperties,
) -> Result<String, ParquetError> {
    let mut state = Sha256::new();
    let sink = HashingWriter { file: File::create(path)?, state: &mut state };
    let mut writer = ArrowWriter::try_new(sink, arrow_schema(table), Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.close()?;
    Ok(hex(state.finalize()))
}

/// Gives the staged files their names, the checksums last.
///
/// Writers of different runs go through the tables in one order and meet at the first one that both have. A link to a
/// name that exists fails, a renaming does not: only one of them creates the file, and the other takes back its own.
fn commit(tables: &Tables, staging: &Staging<'_>) -> Result<(), Fault> {
    let mut linked = Vec::new();
    for (table, _) in tables.present().rev() {
        let (from, path) = (staging.file(&table_file(table.name)), file(staging.folder, table.name));
        match fs::hard_link(&from, &path) {
            Ok(()) => {
                linked.push(path);
                // Where it cannot be removed, only a second name stays.
                let _ = fs::remove_file(&from);
                continue;
            }
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                if let Err(other) = reject_other_run(&tables.header, staging.folder) {
                    for path in linked {
                        let _ = fs::remove_file(path);
                    }
                    return Err(other);
                }
            }
            Err(_) => {} // some file systems have no links
        }
        rename(&from, &path)?;
    }
    rename(&staging.file(CHECKSUMS), &staging.folder.join(CHECKSUMS))
}

fn rename(from: &Path, path: &Path) -> Result<(), Fault> {
    fs::rename(from, path).or_else(|cause| write_error(path, &cause))
}

/// Reads the run in `folder`.
pub fn read(folder: &Path) -> Result<Tables, Fault> {
    let checksums = read_checksums(folder)?;
    let mut header: Option<Header> = None;
    let mut batches = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        let path = file(folder, table.name);
        let listed = checksums.as_ref().is_some_and(|checksums| checksums.contains_key(table.name));
        if table.optional && !listed && !path.exists() {
            batches.push(vec![RecordBatch::new_empty(arrow_schema(table))]);
            continue;
        }
        if let Some(checksums) = &checksums {
            verify(&path, checksums.get(table.name).map(String::as_str))?;
        }
        let (table_header, table_batches) = read_table(table, &path)?;
        match &header {
            Some(first) if first != &table_header => {
                return error(&path, "belongs to another run than runs.parquet", "run again into an empty folder");
            }
            Some(_) => {}
            None => header = Some(table_header),
        }
        batches.push(table_batches);
    }
    if checksums.is_none() {
        return error(
            &folder.join(CHECKSUMS),
            "there is no such file",
            "the run was not written completely; run again",
        );
    }
    let mut header = header.unwrap_or_default();
    complete_header(&mut header, &batches[0]);
    Ok(Tables::from_batches(header, batches))
}

/// The checksums by table; `None` if the folder has no checksum file.
fn read_checksums(folder: &Path) -> Result<Option<BTreeMap<&'static str, String>>, Fault> {
    let path = folder.join(CHECKSUMS);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(cause) => return error(&path, format!("cannot be read ({cause})"), RUN_FOLDER),
    };
    let altered = || error(&path, "is not the list of checksums as written", "it was truncated or altered; run again");
    let Ok(text) = String::from_utf8(bytes) else { return altered() };
    let mut checksums = BTreeMap::new();
    for line in text.lines() {
        let Some((digest, name)) = line.split_once("  ") else { return altered() };
        let Some(table) = TABLES.iter().find(|table| table_file(table.name) == name) else { return altered() };
        checksums.insert(table.name, digest.to_owned());
    }
    // The file must have exactly the lines as written: none added, repeated or missing.
    let lines = TABLES.iter().filter_map(|table| Some(checksum_line(checksums.get(table.name)?, table.name)));
    let expected: String = lines.collect();
    let complete = TABLES.iter().all(|table| table.optional || checksums.contains_key(table.name));
    if expected != text || !complete {
        return altered();
    }
    Ok(Some(checksums))
}

/// Compares a file with its checksum.
fn verify(path: &Path, expected: Option<&str>) -> Result<(), Fault> {
    let hint = "it was truncated, altered or belongs to another run; run again";
    let Some(expected) = expected else {
        return error(path, format!("is not listed in {CHECKSUMS}"), hint);
    };
    let mut file = open_file(path)?;
    let mut state = Sha256::new();
    if let Err(cause) = io::copy(&mut file, &mut state) {
        return error(path, format!("cannot be read ({cause})"), RUN_FOLDER);
    }
    if hex(state.finalize()) == expected {
        Ok(())
    } else {
        error(path, format!("does not match its checksum in {CHECKSUMS}"), hint)
    }
}

/// Reads a table. The Parquet reader panics on some altered bytes, which is reported as damage too.
fn read_table(table: &Table, path: &Path) -> Result<(Header, Vec<RecordBatch>), Fault> {
    let attempt = panics::catch(|| {
        let reader = open(path)?;
        Ok((read_header(&reader, path)?, read_batches(reader, table, path)?))
    });
    attempt.unwrap_or_else(|_| damaged(path, &"its pages are inconsistent"))
}

/// Sets the fields of the header that only the table `runs` has.
fn complete_header(header: &mut Header, runs: &[RecordBatch]) {
    let Some(row) = runs.iter().find(|batch| batch.num_rows() > 0) else { return };
    let text = |name: &str| row.column_by_name(name).map_or("", |array| array.as_string::<i32>().value(0)).to_owned();
    header.host = text("host");
    header.notes = text("notes").lines().map(str::to_owned).collect();
    let number = |name: &str| row.column_by_name(name).map_or(0, |array| array.as_primitive::<Int64Type>().value(0));
    header.duration = Duration::from_nanos(number("duration_ns").cast_unsigned());
    header.measure_from = Time::from_nanos(number("measure_from_ns").cast_unsigned());
    header.sample_interval = Duration::from_nanos(number("sample_interval_ns").cast_unsigned());
}

type Reader = ParquetRecordBatchReaderBuilder<File>;

const RUN_FOLDER: &str = "name a folder that `cwndlab run --out` has written";

fn open_file(path: &Path) -> Result<File, Fault> {
    match File::open(path) {
        Ok(file) if !path.is_dir() => Ok(file),
        Ok(_) => error(path, "is a folder, not a file", RUN_FOLDER),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => error(path, "there is no such file", RUN_FOLDER),
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            error(path, "may not be read", "ask its owner for permission")
        }
        Err(cause) => error(path, format!("cannot be read ({cause})"), RUN_FOLDER),
    }
}

fn open(path: &Path) -> Result<Reader, Fault> {
    Reader::try_new(open_file(path)?).or_else(|cause| damaged(path, &cause))
}

fn damaged<T>(path: &Path, cause: &dyn fmt::Display) -> Result<T, Fault> {
    let cause = cause.to_string();
    let cause = cause.lines().next().unwrap_or_default();
    error(
        path,
        format!("is not a complete Parquet file ({cause})"),
        "it was truncated, altered or has another format; run again",
    )
}

fn read_header(reader: &Reader, path: &Path) -> Result<Header, Fault> {
    let entries = reader.metadata().file_metadata().key_value_metadata();
    let entry = |key: &str| {
        let entry = entries.and_then(|all| all.iter().find(|one| one.key == key));
        entry.and_then(|one| one.value.clone()).ok_or_else(|| {
            let what = format!("was not written by cwndlab (its header has no '{key}')");
            Fault::new(path.display().to_string(), what, RUN_FOLDER)
        })
    };
    let version = entry(SCHEMA)?;
    if version != SCHEMA_VERSION.to_string() {
        let writer = entry(VERSION).unwrap_or_else(|_| "?".to_owned());
        return error(
            path,
            format!("has schema version {version} (written by cwndlab {writer}), this is version {SCHEMA_VERSION}"),
            "read it with the version that wrote it, or run again",
        );
    }
    let seed = entry(SEED)?;
    let Ok(seed) = seed.parse() else {
        return error(path, format!("has an invalid seed ('{seed}')"), "it was altered; run again");
    };
    Ok(Header {
        scenario: entry(SCENARIO)?,
        scenario_hash: entry(SCENARIO_HASH)?,
        seed,
        engine: entry(ENGINE)?,
        version: entry(VERSION)?,
        ..Header::default()
    })
}

fn read_batches(reader: Reader, table: &Table, path: &Path) -> Result<Vec<RecordBatch>, Fault> {
    let expected = arrow_schema(table);
    let actual = reader.schema().clone();
    let rows = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
    if actual.fields() != expected.fields() {
        return error(path, format!("does not have the columns of '{}'", table.name), "it was altered; run again");
    }
    let batches = reader.with_batch_size(rows.clamp(1, 1 << 20)).build().or_else(|cause| damaged(path, &cause))?;
    let mut all = Vec::new();
    for batch in batches {
        let batch = batch.or_else(|cause| damaged(path, &cause))?;
        all.push(batch.with_schema(expected.clone()).or_else(|cause| damaged(path, &cause))?);
    }
    if all.is_empty() {
        all.push(RecordBatch::new_empty(expected));
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
