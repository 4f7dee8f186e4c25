//! Files that a document names. Their contents replace their names, so that the hash covers them.

use std::path::{Path, PathBuf};

use cwndlab_config::Faults;
use cwndlab_traffic::distribution_fields::{check_last_point, check_point};
use serde_json::{Map, Value};

use crate::trace;

/// Replaces the names of all files by their contents: lists of drops, distribution functions, traces, policies.
pub(super) fn read_files(value: &mut Value, path: &str, folder: Option<&Path>, faults: &mut Faults) {
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter_mut().enumerate() {
                read_files(item, &format!("{path}[{n}]"), folder, faults);
            }
        }
        Value::Object(map) => {
            // The file of a class records its origin and is not read.
            if !path.starts_with("algorithms.") {
                match kind_and_file(map, folder) {
                    Some((kind, file)) if kind == "cdf" => return read_distribution(map, &file, path, faults),
                    Some((_, file)) => read_drop_list(map, &file, path, faults),
                    None => {}
                }
                if let Some(trace) = map.get_mut("trace") {
                    read_trace(trace, &format!("{path}.trace"), folder, faults);
                }
                if let Some(Value::Object(delays)) = map.get_mut("delay_trace") {
                    read_delays(delays, &format!("{path}.delay_trace.file"), folder, faults);
                }
            } else if let Some(policy) = map.get_mut("policy") {
                read_policy(policy, &format!("{path}.policy"), folder, faults);
            }
            for (key, item) in map.iter_mut() {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                read_files(item, &path, folder, faults);
            }
        }
        _ => {}
    }
}

/// The kind of a table that names a file, and the path of that file.
fn kind_and_file(map: &Map<String, Value>, folder: Option<&Path>) -> Option<(String, PathBuf)> {
    let kind = map.get("kind")?.as_str()?;
    let file = map.get("file")?.as_str()?;
    Some((kind.to_owned(), folder.unwrap_or(Path::new("")).join(file)))
}

/// Replaces the file of a distribution function by its points.
fn read_distribution(map: &mut Map<String, Value>, file: &Path, path: &str, faults: &mut Faults) {
    match distribution_file(file) {
        Ok(points) => {
            map.remove("file");
            map.insert("points".to_owned(), points);
        }
        Err((what, hint)) => faults.add(format!("{path}.file"), what, hint),
    }
}

/// Replaces the file of a list of drops by its indices.
fn read_drop_list(map: &mut Map<String, Value>, file: &Path, path: &str, faults: &mut Faults) {
    let column = map.get("column").and_then(Value::as_str).unwrap_or("packet_index");
    match drop_list(file, column, map.get("where")) {
        Ok(indices) => {
            for key in ["file", "column", "where"] {
                map.remove(key);
            }
            map.insert("indices".to_owned(), Value::from(indices));
        }
        Err(what) => {
            faults.add(format!("{path}.file"), what, "a CSV file with a header line and a column of packet indices");
        }
    }
}

/// Reads the points of a distribution function: lines of value (bytes or nanoseconds) and probability, separated by a
/// comma or white space. A header line and text after `#` are ignored.
fn distribution_file(file: &Path) -> Result<Value, (String, String)> {
    let name = file.display();
    let fail = |line: usize, what: String, hint: &str| Err((format!("{name}:{line}: {what}"), hint.to_owned()));
    let text = std::fs::read_to_string(file)
        .map_err(|error| (format!("'{name}' cannot be read: {error}"), "name a file with two columns".to_owned()))?;
    let mut points = Vec::new();
    let mut last = None;
    let mut end = 0;
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        let cells: Vec<&str> =
            line.split(|one: char| one == ',' || one.is_whitespace()).filter(|cell| !cell.is_empty()).collect();
        let numbers: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
        if cells.is_empty() || (points.is_empty() && numbers.is_empty()) {
            continue;
        }
        let &[value, probability] = numbers.as_slice() else {
            return fail(n + 1, "expected two numbers".to_owned(), "two columns: size in bytes, probability");
        };
        if cells.len() != 2 {
            return fail(n + 1, "expected two numbers".to_owned(), "two columns: size in bytes, probability");
        }
        if let Err((what, hint)) = check_point(last, value, probability) {
            return fail(n + 1, what, hint);
        }
        last = Some((value, probability));
        end = n + 1;
        points.push(serde_json::json!([value, probability]));
    }
    match check_last_point(last) {
        Ok(()) => Ok(Value::Array(points)),
        Err((what, hint)) => fail(end.max(1), what, hint),
    }
}

/// Replaces the file of a trace by its contents, so that the scenario is complete without it; names of synthetic traces
/// are kept.
fn read_trace(value: &mut Value, path: &str, folder: Option<&Path>, faults: &mut Faults) {
    let (name, place) = match &*value {
        Value::String(name) => (name.clone(), path.to_owned()),
        Value::Object(map) => match map.get("file") {
            Some(Value::String(name)) => (name.clone(), format!("{path}.file")),
            _ => return,
        },
        _ => return,
    };
    if trace::SyntheticTrace::named(&name).is_some() {
        return;
    }
    let names: Vec<_> = trace::SYNTHETIC.iter().map(|kind| kind.name).collect();
    let hint = format!("a file in Mahimahi's format, or one of {}", names.join(", "));
    let file = folder.unwrap_or(Path::new("")).join(&name);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => return faults.add(place, format!("'{}' cannot be read: {error}", file.display()), hint),
    };
    if let Err(what) = trace::parse(&text, &name) {
        return faults.add(place, what, "one integer number of milliseconds per line, in non-decreasing order");
    }
    if let Value::Object(map) = value {
        map.remove("file");
        map.insert("text".to_owned(), text.into());
    } else {
        *value = serde_json::json!({ "text": text });
    }
}

/// Replaces the file of recorded delays by its contents.
fn read_delays(map: &mut Map<String, Value>, place: &str, folder: Option<&Path>, faults: &mut Faults) {
    let Some(Value::String(name)) = map.get("file") else { return };
    let file = folder.unwrap_or(Path::new("")).join(name);
    let hint = "a file with an integer number of milliseconds on each line";
    match std::fs::read_to_string(&file) {
        Err(error) => faults.add(place, format!("'{}' cannot be read: {error}", file.display()), hint),
        Ok(text) => {
            if let Err(what) = trace::parse_delays(&text, name) {
                return faults.add(place, what, "one integer number of milliseconds per line");
            }
            map.remove("file");
            map.insert("text".to_owned(), text.into());
        }
    }
}

/// Replaces the file of a policy by its contents.
fn read_policy(value: &mut Value, path: &str, folder: Option<&Path>, faults: &mut Faults) {
    let Value::String(name) = &*value else { return };
    let file = folder.unwrap_or(Path::new("")).join(name);
    let hint = "name a file that `cwndlab.gym.Policy` wrote";
    match std::fs::read_to_string(&file) {
        Err(error) => faults.add(path, format!("'{}' cannot be read: {error}", file.display()), hint),
        Ok(text) => match serde_json::from_str::<Value>(&text) {
            Ok(policy) if policy.is_object() => *value = policy,
            _ => faults.add(path, format!("'{}' is not a policy in JSON", file.display()), hint),
        },
    }
}

/// Reads a column of a CSV file, restricted to rows in which each column of `select` has the given value.
fn drop_list(file: &Path, column: &str, select: Option<&Value>) -> Result<Vec<u64>, String> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("'{name}' cannot be read: {error}"))?;
    let mut lines = text.trim_start_matches('\u{feff}').lines(); // spreadsheets begin with a byte order mark
    let header: Vec<&str> = lines.next().unwrap_or("").split(',').collect();
    let position = |column: &str| {
        header.iter().position(|one| *one == column).ok_or_else(|| format!("'{name}' has no column '{column}'"))
    };
    let at = position(column)?;
    let mut filters = Vec::new();
    for (key, value) in select.and_then(Value::as_object).into_iter().flatten() {
        filters.push((position(key)?, value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    }
    let mut indices = Vec::new();
    for (n, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
        let cells: Vec<&str> = line.split(',').collect();
        if filters.iter().any(|(at, value)| cells.get(*at) != Some(&value.as_str())) {
            continue;
        }
        let cell = cells.get(at).copied().unwrap_or("");
        indices.push(cell.parse().map_err(|_| format!("'{name}', line {}: expected a packet index", n + 2))?);
    }
    Ok(indices)
}
