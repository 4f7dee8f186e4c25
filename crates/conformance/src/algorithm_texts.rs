//! What the battery is run on: the texts that name the algorithms of a catalogue.

use cwndlab_control::{Catalogue, Kind};

/// What the battery is run on: every growth with its companion, every whole algorithm, and every slow start under
/// `reno` and `cubic` where these take it.
#[must_use]
pub fn texts(catalogue: &Catalogue) -> Vec<String> {
    let of = |kinds: &'static [Kind]| catalogue.specs.iter().filter(|spec| kinds.contains(&spec.kind));
    let mut texts: Vec<String> = Vec::new();
    for spec in of(&[Kind::CongestionAvoidance, Kind::Whole, Kind::Router]) {
        // A scheme of routers alone, such as SIRENS, names no sender.
        texts.extend(catalogue.parse(spec.name).map(|algorithm| algorithm.to_string()));
    }
    for spec in of(&[Kind::SlowStart]) {
        for growth in ["reno", "cubic"] {
            // Some are refused, since the growth has a start that they do not fit.
            texts.extend(catalogue.parse(&format!("{growth}+{}", spec.name)).map(|algorithm| algorithm.to_string()));
        }
    }
    let mut seen = Vec::new();
    texts.retain(|text| !seen.contains(text) && (seen.push(text.clone()), true).1);
    texts
}
