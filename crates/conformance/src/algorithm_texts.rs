//! The algorithms of a catalogue on which the battery runs.

use cwndlab_control::{Catalogue, Kind};

/// The texts of the tested algorithms: every congestion avoidance with its default slow start, every whole algorithm,
/// and every slow start with `reno` and `cubic` if compatible.
#[must_use]
pub fn algorithm_texts(catalogue: &Catalogue) -> Vec<String> {
    let of = |kinds: &'static [Kind]| catalogue.specs.iter().filter(|spec| kinds.contains(&spec.kind));
    let mut texts: Vec<String> = Vec::new();
    for spec in of(&[Kind::CongestionAvoidance, Kind::Whole, Kind::Router]) {
        // Router schemes without a sender, such as SIRENS, are not algorithms.
        texts.extend(catalogue.parse(spec.name).map(|algorithm| algorithm.to_string()));
    }
    for spec in of(&[Kind::SlowStart]) {
        for growth in ["reno", "cubic"] {
            // Incompatible combinations are errors and are skipped.
            texts.extend(catalogue.parse(&format!("{growth}+{}", spec.name)).map(|algorithm| algorithm.to_string()));
        }
    }
    let mut seen = Vec::new();
    texts.retain(|text| !seen.contains(text) && (seen.push(text.clone()), true).1);
    texts
}
