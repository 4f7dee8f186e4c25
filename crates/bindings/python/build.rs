//! Computes a digest of the sources that determine the results of a simulation, which is the key of cached results,
//! because the engine may change without a change of its version. Copies the data files of the wheel to `OUT_DIR`, from
//! where maturin adds them to the package (`include` in pyproject.toml).

use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

/// The crates that a simulation uses. The exact versions of relevant dependencies are in the workspace's `Cargo.toml`.
const CRATES: [&str; 11] = [
    "units",
    "control",
    "algorithms",
    "transport",
    "network",
    "traffic",
    "path",
    "scenario",
    "records",
    "learned",
    "simulator",
];

/// Folders of data and their names in the package.
const DATA: [(&str, &str); 9] = [
    ("scenarios", "_scenarios"),
    ("known-answers/ns2", "_known_answers/ns2"),
    ("known-answers/ns3", "_known_answers/ns3"),
    ("known-answers/linux", "_known_answers/linux"),
    ("known-answers/kernel", "_known_answers/kernel"),
    ("crates/units/src", "_crates/units/src"),
    ("crates/control/src", "_crates/control/src"),
    ("crates/plugin/src", "_crates/plugin/src"),
    ("crates/plugin/manifests", "_crates/plugin/manifests"),
];

fn copy_data(root: &Path) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for (from, to) in DATA {
        let from = root.join(from);
        let to = out.join(to);
        println!("cargo::rerun-if-changed={}", from.display());
        // Files that were removed since an earlier build must not stay.
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(&to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
        let entries = fs::read_dir(&from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        for entry in entries.flatten() {
            fs::copy(entry.path(), to.join(entry.file_name()))
                .unwrap_or_else(|error| panic!("{}: {error}", entry.path().display()));
        }
    }
}

fn collect_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect_sources(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../..");
    copy_data(&root);
    let mut files = vec![root.join("Cargo.toml")];
    for name in CRATES {
        let folder = root.join("crates").join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect_sources(&folder, &mut files);
    }
    println!("cargo::rerun-if-changed={}", files[0].display());
    files.sort();
    let mut digest = Sha256::new();
    for path in &files {
        digest.update(path.strip_prefix(&root).unwrap_or(path).to_string_lossy().as_bytes());
        digest.update(fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
    let short = digest.finalize().iter().take(6).fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    println!("cargo::rustc-env=CWNDLAB_SOURCES={short:012x}");
}
