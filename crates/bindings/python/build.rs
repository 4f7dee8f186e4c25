//! Computes a digest of the sources that determine the results of a simulation. It is the key of cached results,
//! because the engine may change without a change of its version.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The crates that a simulation uses. The exact versions of relevant dependencies are in the workspace's `Cargo.toml`.
const CRATES: [&str; 10] =
    ["units", "control", "algorithms", "transport", "network", "traffic", "path", "scenario", "records", "simulator"];

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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
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
