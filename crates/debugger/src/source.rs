//! Where the catalogue's algorithms handle an event.

use cwndlab_control::Report as Reported;
use cwndlab_control::{Algorithm, Change, State};

/// A method of an algorithm in the sources of this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The catalogue's entry.
    pub entry: &'static str,
    /// The method.
    pub method: &'static str,
    /// Its file, relative to the root of the repository.
    pub file: &'static str,
    /// The line of its signature.
    pub line: usize,
    /// The equations and sections that its comments name: line, comment.
    pub references: &'static [(usize, &'static str)],
}

static PLACES: &[Place] = include!(concat!(env!("OUT_DIR"), "/places.rs"));

/// The methods that handled an event of an algorithm whose state was `before`. Entries that use the method of another
/// entry, and classes in other languages, have none.
#[must_use]
pub fn places(algorithm: &Algorithm, event: &Reported, before: &State) -> Vec<Place> {
    let growth = algorithm.growth.spec.name;
    let start = algorithm.slow_start.as_ref().map(|part| part.spec.name);
    let is_starting = before.phase.is_slow_start();
    let wanted: Vec<(Option<&str>, &str)> = match event {
        Reported::Ack(_) if is_starting && start.is_some() => vec![(start, "on_ack")],
        Reported::Ack(_) if is_starting => vec![(Some(growth), "start"), (Some(growth), "on_ack")],
        Reported::Ack(_) => vec![(Some(growth), "on_ack")],
        Reported::Congestion(_) => vec![(Some(growth), "on_congestion"), (start, "on_congestion")],
        Reported::Window(window) if window.change == Change::Established => vec![(start, "established")],
        Reported::Window(_) => vec![(Some(growth), "on_window"), (start, "on_window")],
        Reported::Sent(_) => Vec::new(),
    };
    let found = |(entry, method): (Option<&str>, &str)| {
        PLACES.iter().copied().find(|place| Some(place.entry) == entry && place.method == method)
    };
    let places: Vec<Place> = wanted.into_iter().filter_map(found).collect();
    match event {
        // The first of the two that exists.
        Reported::Ack(_) => places.into_iter().take(1).collect(),
        _ => places,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};
    use cwndlab_control::{Phase, Ssthresh};

    fn cubic() -> Algorithm {
        cwndlab_simulator::catalogue().parse("cubic+hystart-pp").expect("is valid")
    }

    fn line_of(place: &Place) -> String {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = std::fs::read_to_string(root.join(place.file)).expect("the file exists");
        text.lines().nth(place.line - 1).expect("the line exists").to_owned()
    }

    /// The ACK of congestion avoidance is handled by CUBIC, with equation (4) among its references; that of slow start
    /// by HyStart++.
    #[test]
    fn the_place_is_the_method_of_the_part_in_charge() {
        let avoiding = State { ssthresh: Ssthresh::Unlimited, phase: Phase::CongestionAvoidance };
        let [place] = places(&cubic(), &Reported::Ack(ack(1)), &avoiding)[..] else { panic!("one place") };
        assert_eq!((place.entry, place.method), ("cubic", "on_ack"));
        assert!(place.file.ends_with("congestion_avoidance/cubic.rs"));
        assert!(line_of(&place).contains("fn on_ack(&mut self, ack: &Ack, w: f64) -> f64"));
        assert!(place.references.iter().any(|(_, comment)| *comment == "(4)"), "{:?}", place.references);

        let starting = State { phase: Phase::SlowStart, ..avoiding };
        let [place] = places(&cubic(), &Reported::Ack(ack(1)), &starting)[..] else { panic!("one place") };
        assert_eq!((place.entry, place.method), ("hystart-pp", "on_ack"));

        let [place, ..] = places(&cubic(), &Reported::Congestion(loss(10)), &avoiding)[..] else { panic!("a place") };
        assert_eq!((place.entry, place.method), ("cubic", "on_congestion"));
    }

    /// Every entry with an algorithm has a method that handles ACKs, its own or that of another entry.
    #[test]
    fn most_entries_have_a_method_for_acks() {
        let catalogue = cwndlab_simulator::catalogue();
        let without: Vec<_> = cwndlab_conformance_texts(&catalogue)
            .into_iter()
            .filter(|name| !PLACES.iter().any(|place| place.entry == *name))
            .collect();
        assert!(without.len() <= 8, "{without:?}");
    }

    fn cwndlab_conformance_texts(catalogue: &cwndlab_control::Catalogue) -> Vec<&'static str> {
        use cwndlab_control::Kind;
        let is_algorithm = |kind| matches!(kind, Kind::CongestionAvoidance | Kind::Whole | Kind::SlowStart);
        catalogue.specs.iter().filter(|spec| is_algorithm(spec.kind)).map(|spec| spec.name).collect()
    }
}
