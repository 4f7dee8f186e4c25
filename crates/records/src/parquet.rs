//! A run on disk: a folder with one Parquet file per table, each with the run's header in its footer, and the list
//! `SHA256SUMS` of their checksums. Parquet itself notices few altered bytes; a file that differs from its checksum is
//! refused before anything in it is read.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::RecordBatch;
use sha2::{Digest, Sha256};

use crate::hash::hex;
use crate::table::{schema, Header, Tables, NAMES, SCHEMA_VERSION, SELDOM};

/// Names of the header's entries.
const SCHEMA: &str = "cwndlab.schema_version";
const SCENARIO: &str = "cwndlab.scenario";
const SCENARIO_HASH: &str = "cwndlab.scenario_hash";
const SEED: &str = "cwndlab.seed";
const ENGINE: &str = "cwndlab.engine";
const VERSION: &str = "cwndlab.version";

/// Name of the list of checksums: one line per table, as `sha256sum` writes and checks it.
const SUMS: &str = "SHA256SUMS";

/// Why records could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordsError {
    /// The file or folder.
    pub place: String,
    /// What is wrong, in lower case, without full stop.
    pub what: String,
    /// What would do; may be empty.
    pub hint: String,
    /// The system could not write.
    pub is_output: bool,
}

impl fmt::Display for RecordsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)?;
        if self.hint.is_empty() {
            Ok(())
        } else {
            write!(f, "\n  hint: {}", self.hint)
        }
    }
}

impl std::error::Error for RecordsError {}

fn error<T>(place: &Path, what: impl Into<String>, hint: impl Into<String>) -> Result<T, RecordsError> {
    Err(RecordsError { place: place.display().to_string(), what: what.into(), hint: hint.into(), is_output: false })
}

fn table_file(table: &str) -> String {
    format!("{table}.parquet")
}

/// The folder's file of a table.
fn file(folder: &Path, table: &str) -> PathBuf {
    folder.join(table_file(table))
}

/// A line of the list of checksums.
fn sum_line(digest: &str, table: &str) -> String {
    format!("{digest}  {}\n", table_file(table))
}

/// Writes the tables into `folder`, which is made if need be: all of them or, on any error, none.
///
/// A folder that holds the same run (scenario, seed, version) is written anew; one that holds another is refused.
pub fn write(tables: &Tables, folder: &Path) -> Result<(), RecordsError> {
    let made = make(folder)?;
    let written =
        refuse_other(&tables.header, folder).and_then(|()| stage(tables, folder)).and_then(|()| commit(tables, folder));
    if written.is_err() {
        for name in NAMES.into_iter().map(table_file).chain([SUMS.to_owned()]) {
            // What was never made cannot be removed, which is well.
            let _ = fs::remove_file(staged(folder, &name));
        }
        if made {
            let _ = fs::remove_dir(folder);
        }
    }
    written
}

/// Makes the folder; `true` if it was not there.
fn make(folder: &Path) -> Result<bool, RecordsError> {
    if folder.is_dir() {
        return Ok(false);
    }
    if folder.exists() {
        return error(folder, "is a file, not a folder", "name a folder that is empty or does not exist");
    }
    match fs::create_dir_all(folder) {
        Ok(()) => Ok(true),
        Err(cause) => failed(folder, &cause),
    }
}

/// What a failed write means to whoever asked for it.
fn failed<T>(place: &Path, cause: &io::Error) -> Result<T, RecordsError> {
    let failure = match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => error(
            place,
            "no space is left on the device",
            "free some or name a folder elsewhere; nothing of this run was kept there",
        ),
        io::ErrorKind::PermissionDenied => error(place, "may not be written", "name a folder that you may write to"),
        io::ErrorKind::ReadOnlyFilesystem => {
            error(place, "lies on a file system that cannot be written", "name a folder elsewhere")
        }
        _ => error(place, format!("cannot be written ({cause})"), "name a folder elsewhere"),
    };
    failure.map_err(|error| RecordsError { is_output: true, ..error })
}

fn refuse_other(header: &Header, folder: &Path) -> Result<(), RecordsError> {
    for path in NAMES.iter().map(|name| file(folder, name)).filter(|path| path.exists()) {
        let hint = "name a folder that is empty or does not exist";
        let header_of = || open(&path).and_then(|reader| read_header(&reader, &path));
        let Ok(Ok(held)) = std::panic::catch_unwind(header_of) else {
            return error(&path, "is in the way and cannot be read as part of a run", hint);
        };
        let same =
            (&held.scenario_hash, held.seed, &held.version) == (&header.scenario_hash, header.seed, &header.version);
        if !same {
            let scenario = held.scenario_hash.get(..12).unwrap_or(&held.scenario_hash);
            return error(
                folder,
                format!("holds another run (scenario {scenario}, seed {}, version {})", held.seed, held.version),
                hint,
            );
        }
    }
    Ok(())
}

fn staged(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.{}", std::process::id()))
}

/// A file under construction and the checksum of what was written to it so far.
struct Digesting<'a> {
    file: File,
    state: &'a mut Sha256,
}

impl Write for Digesting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.state.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn stage(tables: &Tables, folder: &Path) -> Result<(), RecordsError> {
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
    let mut sums = String::new();
    for name in NAMES.into_iter().filter(|name| !tables.lacks(name)) {
        let batches = tables.batches(name).unwrap_or_default();
        match stage_one(&staged(folder, &table_file(name)), name, batches, properties.clone()) {
            Ok(digest) => sums += &sum_line(&digest, name),
            Err(cause) => {
                let place = file(folder, name);
                return match &cause {
                    ParquetError::External(inner) => match inner.downcast_ref::<io::Error>() {
                        Some(inner) => failed(&place, inner),
                        None => failed(&place, &io::Error::other(cause.to_string())),
                    },
                    _ => failed(&place, &io::Error::other(cause.to_string())),
                };
            }
        }
    }
    fs::write(staged(folder, SUMS), sums).or_else(|cause| failed(&folder.join(SUMS), &cause))
}

fn stage_one(
    path: &Path,
    table: &str,
    batches: &[RecordBatch],
    properties: WriterProperties,
) -> Result<String, ParquetError> {
    let schema = schema(table).expect("every name has a schema");
    let mut state = Sha256::new();
    let sink = Digesting { file: File::create(path)?, state: &mut state };
    let mut writer = ArrowWriter::try_new(sink, schema, Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.close()?;
    Ok(hex(state.finalize()))
}

/// Renames what was written to its place, the checksums last.
fn commit(tables: &Tables, folder: &Path) -> Result<(), RecordsError> {
    let written = NAMES.iter().rev().filter(|name| !tables.lacks(name)).map(|name| table_file(name));
    for name in written.chain([SUMS.to_owned()]) {
        let place = folder.join(&name);
        if let Err(cause) = fs::rename(staged(folder, &name), &place) {
            return failed(&place, &cause);
        }
    }
    Ok(())
}

/// Reads the run that `folder` holds.
pub fn read(folder: &Path) -> Result<Tables, RecordsError> {
    let sums = read_sums(folder)?;
    let mut header: Option<Header> = None;
    let mut batches: [Vec<RecordBatch>; NAMES.len()] = Default::default();
    for (name, batches) in NAMES.iter().zip(&mut batches) {
        let path = file(folder, name);
        let listed = sums.as_ref().is_some_and(|sums| sums.contains_key(name));
        if SELDOM.contains(name) && !listed && !path.exists() {
            *batches = schema(name).map(RecordBatch::new_empty).into_iter().collect();
            continue;
        }
        if let Some(sums) = &sums {
            verify(&path, sums.get(name).map(String::as_str))?;
        }
        let (own, read) = read_table(name, &path)?;
        match &header {
            Some(first) if first != &own => {
                return error(&path, "belongs to another run than runs.parquet", "run again into an empty folder");
            }
            Some(_) => {}
            None => header = Some(own),
        }
        *batches = read;
    }
    if sums.is_none() {
        return error(&folder.join(SUMS), "there is no such file", "the run was not written completely; run again");
    }
    let mut header = header.unwrap_or_default();
    complete(&mut header, &batches[0]);
    Ok(Tables::from_batches(header, batches))
}

/// The checksums by table; nothing where the folder has no list of them.
fn read_sums(folder: &Path) -> Result<Option<BTreeMap<&'static str, String>>, RecordsError> {
    let path = folder.join(SUMS);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(cause) => return error(&path, format!("cannot be read ({cause})"), WHAT_HOLDS),
    };
    let altered = || error(&path, "is no list of checksums as it was written", "it was cut off or altered; run again");
    let Ok(text) = String::from_utf8(bytes) else { return altered() };
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let Some((digest, name)) = line.split_once("  ") else { return altered() };
        let Some(table) = NAMES.into_iter().find(|table| table_file(table) == name) else { return altered() };
        sums.insert(table, digest.to_owned());
    }
    // Line for line as written: nothing between the lines, none twice, none missing.
    let again: String =
        NAMES.iter().filter_map(|table| sums.get(table).map(|digest| sum_line(digest, table))).collect();
    let whole = NAMES.iter().all(|table| SELDOM.contains(table) || sums.contains_key(table));
    if again != text || !whole {
        return altered();
    }
    Ok(Some(sums))
}

/// Compares a file with its checksum.
fn verify(path: &Path, expected: Option<&str>) -> Result<(), RecordsError> {
    let hint = "it was cut off, altered or comes from elsewhere; run again";
    let Some(expected) = expected else {
        return error(path, format!("is not listed in {SUMS}"), hint);
    };
    let mut file = open_file(path)?;
    let mut state = Sha256::new();
    if let Err(cause) = io::copy(&mut file, &mut state) {
        return error(path, format!("cannot be read ({cause})"), WHAT_HOLDS);
    }
    if hex(state.finalize()) == expected {
        Ok(())
    } else {
        error(path, format!("does not match its checksum in {SUMS}"), hint)
    }
}

/// The reader of Parquet panics at some altered bytes; to whoever asked, that is a damaged file like others.
fn read_table(table: &str, path: &Path) -> Result<(Header, Vec<RecordBatch>), RecordsError> {
    let attempt = std::panic::catch_unwind(|| {
        let reader = open(path)?;
        Ok((read_header(&reader, path)?, read_batches(reader, table, path)?))
    });
    attempt.unwrap_or_else(|_| damaged(path, &"its pages contradict each other"))
}

/// What the header's entries leave out stands in the one row of `runs`.
fn complete(header: &mut Header, runs: &[RecordBatch]) {
    let Some(row) = runs.iter().find(|batch| batch.num_rows() > 0) else { return };
    let text = |name: &str| row.column_by_name(name).map_or("", |array| array.as_string::<i32>().value(0)).to_owned();
    header.host = text("host");
    header.notes = text("notes").lines().map(str::to_owned).collect();
    let number = |name: &str| row.column_by_name(name).map_or(0, |array| array.as_primitive::<Int64Type>().value(0));
    header.duration_ns = number("duration_ns").cast_unsigned();
    header.measure_from_ns = number("measure_from_ns").cast_unsigned();
    header.sample_interval_ns = number("sample_interval_ns").cast_unsigned();
}

type Reader = ParquetRecordBatchReaderBuilder<File>;

const WHAT_HOLDS: &str = "name a folder that `cwndlab run --out` has written";

fn open_file(path: &Path) -> Result<File, RecordsError> {
    match File::open(path) {
        Ok(file) if !path.is_dir() => Ok(file),
        Ok(_) => error(path, "is a folder, not a file", WHAT_HOLDS),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => error(path, "there is no such file", WHAT_HOLDS),
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            error(path, "may not be read", "ask whoever wrote it")
        }
        Err(cause) => error(path, format!("cannot be read ({cause})"), WHAT_HOLDS),
    }
}

fn open(path: &Path) -> Result<Reader, RecordsError> {
    Reader::try_new(open_file(path)?).or_else(|cause| damaged(path, &cause))
}

fn damaged<T>(path: &Path, cause: &dyn fmt::Display) -> Result<T, RecordsError> {
    let cause = cause.to_string();
    let cause = cause.lines().next().unwrap_or_default();
    error(
        path,
        format!("is no whole Parquet file ({cause})"),
        "it was cut off, altered or is of another kind; run again",
    )
}

fn read_header(reader: &Reader, path: &Path) -> Result<Header, RecordsError> {
    let entries = reader.metadata().file_metadata().key_value_metadata();
    let entry = |key: &str| {
        let found = entries.and_then(|all| all.iter().find(|one| one.key == key));
        found.and_then(|one| one.value.clone()).ok_or_else(|| RecordsError {
            place: path.display().to_string(),
            what: format!("was not written by cwndlab (its header has no '{key}')"),
            hint: WHAT_HOLDS.to_owned(),
            is_output: false,
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
        return error(path, format!("names no seed ('{seed}')"), "it was altered; run again");
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

fn read_batches(reader: Reader, table: &str, path: &Path) -> Result<Vec<RecordBatch>, RecordsError> {
    let expected = schema(table).expect("every name has a schema");
    let found = reader.schema().clone();
    let rows = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
    if found.fields() != expected.fields() {
        return error(path, format!("does not hold the columns of '{table}'"), "it was altered; run again");
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
