//! Where the catalogue's algorithms handle an event.

use cwndlab_control::catalogue::Part;
use cwndlab_control::Report as Reported;
use cwndlab_control::{Algorithm, Build, Change, Path, State};
use cwndlab_units::Bytes;

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

/// A method of a type, or of the trait that declares it.
#[derive(Debug)]
struct Method {
    /// The type with its module.
    owner: &'static str,
    name: &'static str,
    file: &'static str,
    line: usize,
    references: &'static [(usize, &'static str)],
}

static METHODS: &[Method] = include!(concat!(env!("OUT_DIR"), "/methods.rs"));

/// The slow start of congestion avoidance that has no method for it.
const DEFAULT_START: &str = "cwndlab_control::parts::CongestionAvoidance";

/// Arguments of a constructor, whose result is asked for its type alone.
const PATH: Path = Path {
    mss: Bytes(1448),
    initial_cwnd: Bytes(14_480),
    initial_ssthresh: None,
    paced: false,
    seed: 1,
    classic_ecn: false,
    oracle_buffer: None,
    saved: None,
};

/// The type that an entry creates; `None` for a class of another language.
fn owner(part: &Part) -> Option<&'static str> {
    let arguments = &part.arguments;
    let name = match part.spec.build {
        Build::CongestionAvoidance(make) => (*make(&PATH, arguments)).type_name(),
        Build::SlowStart(make) => (*make(&PATH, arguments)).type_name(),
        Build::Whole(make) => (*make(&PATH, arguments)).type_name(),
        Build::Dynamic(_) | Build::Recovery(_) | Build::Mechanism => return None,
    };
    name.split('<').next()
}

/// The method of an entry's type; `None` where it has the default one, which does nothing.
fn place(part: &Part, method: &str) -> Option<Place> {
    let owner = owner(part)?;
    let of = |name: &str| METHODS.iter().find(|one| one.owner == name && one.name == method);
    let found = of(owner).or_else(|| if method == "start" { of(DEFAULT_START) } else { None })?;
    let Method { name: method, file, line, references, .. } = *found;
    Some(Place { entry: part.spec.name, method, file, line, references })
}

/// The methods that handled an event of an algorithm whose state was `before`. A class of another language has none.
#[must_use]
pub fn places(algorithm: &Algorithm, event: &Reported, before: &State) -> Vec<Place> {
    let growth = Some(&algorithm.growth);
    let start = algorithm.slow_start.as_ref();
    let is_composed = matches!(algorithm.growth.spec.build, Build::CongestionAvoidance(_));
    let wanted: &[(Option<&Part>, &str)] = match event {
        Reported::Ack(_) if before.phase.is_slow_start() && start.is_some() => &[(start, "on_ack")],
        Reported::Ack(_) if before.phase.is_slow_start() && is_composed => &[(growth, "start")],
        Reported::Ack(_) => &[(growth, "on_ack")],
        Reported::Congestion(_) => &[(growth, "on_congestion"), (start, "on_congestion")],
        Reported::Window(window) if window.change == Change::Established && is_composed => &[(start, "established")],
        Reported::Window(_) => &[(growth, "on_window"), (start, "on_window")],
        Reported::Sent(_) => &[],
    };
    wanted.iter().filter_map(|(part, method)| place((*part)?, method)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};
    use cwndlab_control::{Arguments, Phase, Spec, Ssthresh};

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

    /// Every entry that creates an algorithm has a method that handles ACKs, also where another entry has the same type.
    #[test]
    fn every_entry_has_a_method_for_acks() {
        let specs = cwndlab_simulator::catalogue().specs;
        let creates = |spec: &&Spec| !matches!(spec.build, Build::Recovery(_) | Build::Mechanism);
        for spec in specs.into_iter().filter(creates) {
            let part = Part { spec, arguments: Arguments::defaults(spec.parameters) };
            let place = place(&part, "on_ack").unwrap_or_else(|| panic!("{}: {:?}", spec.name, owner(&part)));
            assert!(line_of(&place).trim_start().starts_with("fn on_ack("), "{place:?}");
        }
    }

    /// rcp-bbr is BBR version 1 with other options, so that the type is in the folder of bbr1.
    #[test]
    fn an_entry_with_the_type_of_another_entry_has_its_methods() {
        let algorithm = cwndlab_simulator::catalogue().parse("rcp-bbr").expect("is valid");
        let starting = State { ssthresh: Ssthresh::Unknown, phase: Phase::Startup };
        let [place] = places(&algorithm, &Reported::Ack(ack(1)), &starting)[..] else { panic!("one place") };
        assert_eq!((place.entry, place.file), ("rcp-bbr", "crates/algorithms/src/whole/bbr1/machine.rs"));
    }

    /// A type has one method of each name, so that a name and a type are enough to find it.
    #[test]
    fn methods_are_unique() {
        let mut names: Vec<_> = METHODS.iter().map(|one| (one.owner, one.name)).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
