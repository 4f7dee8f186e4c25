//! Lists the methods of every algorithm with their lines and the equations that their comments name, from the sources of
//! the crate `algorithms`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The methods that handle an event.
const METHODS: [&str; 6] = ["on_ack", "on_congestion", "on_window", "start", "outside", "established"];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The name of the entry that a file declares: the first `name: "…"` of its `SPEC`.
fn entry(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("static SPEC: Spec")?;
    let (_, after) = after.split_once("name: \"")?;
    after.split('"').next()
}

/// The lines from a method's signature to its end, by indentation, as rustfmt writes them.
fn body<'a>(lines: &[&'a str], from: usize) -> Vec<(usize, &'a str)> {
    let indent = lines[from].len() - lines[from].trim_start().len();
    let end = format!("{}}}", " ".repeat(indent));
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate().skip(from) {
        found.push((number + 1, *line));
        if *line == end {
            break;
        }
    }
    found
}

/// A comment that names an equation, a section or a line of an algorithm.
fn reference(line: &str) -> Option<&str> {
    let (_, comment) = line.split_once("//")?;
    let comment = comment.trim_start_matches('/').trim();
    let numbered = comment.starts_with('(') && comment[1..].starts_with(|letter: char| letter.is_ascii_digit());
    let named =
        ["ection ", "quation ", "Eq. ", "Algorithm ", "RFC ", "§", "Linux"].iter().any(|one| comment.contains(one));
    (numbered || named).then_some(comment)
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("crates/algorithms/src");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut found = Vec::new();
    files(&folder, &mut found);
    found.sort();
    let mut table = String::from("&[\n");
    for path in found {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let Some(name) = entry(&text) else { continue };
        let file = path.strip_prefix(&root).expect("the file is below the root").to_string_lossy().into_owned();
        let code: Vec<&str> = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).collect();
        for (number, line) in code.iter().enumerate() {
            let Some(rest) = line.trim_start().strip_prefix("fn ") else { continue };
            let Some(method) = METHODS.into_iter().find(|one| rest.starts_with(&format!("{one}("))) else { continue };
            let lines = body(&code, number);
            let references: Vec<_> =
                lines.iter().filter_map(|(at, line)| reference(line).map(|what| (*at, what))).collect();
            writeln!(
                table,
                "    Place {{ entry: {name:?}, method: {method:?}, file: {file:?}, line: {}, references: &{references:?} }},",
                number + 1
            )
            .expect("writes to memory");
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("places.rs");
    fs::write(&out, table).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}
