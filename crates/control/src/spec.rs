//! The entry by which an algorithm is known: everything else is derived from it.

use std::fmt;

use crate::contract::{CongestionControl, Path};
use crate::parts::{CongestionAvoidance, SlowStart};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// How the window grows in avoidance.
    CongestionAvoidance,
    /// How it grows before.
    SlowStart,
    /// What is retransmitted, and the window until a loss is repaired.
    Recovery,
    /// An algorithm that owns its start.
    Whole,
    /// A scheme with an agent in the routers.
    Router,
    /// A mechanism of the transport, not a point on an axis.
    Mechanism,
}

/// How sure the entry is of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confidence {
    /// Published constants and formulas, compared with reference code or text.
    High,
    /// Published formulas or summaries; some details chosen.
    Medium,
    /// Our reconstruction from a short description.
    Low,
}

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// One of the words that the parameter allows.
    Word(&'static str),
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// A number within these bounds, both included.
    Range(f64, f64),
    /// One of these words.
    Words(&'static [&'static str]),
}

/// A parameter of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, as in `ccm-ss(mu=1.5)`.
    pub name: &'static str,
    /// Its unit; empty for a ratio or a word.
    pub unit: &'static str,
    /// What it is unless given.
    pub default: Value,
    /// What it may be.
    pub domain: Domain,
    /// One sentence; for an ambiguity of the source, what each choice means.
    pub doc: &'static str,
}

/// The values of an entry's parameters, in the order of its `parameters`, defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    pub(crate) parameters: &'static [Parameter],
    pub(crate) values: Vec<Value>,
}

impl Arguments {
    /// The defaults.
    #[must_use]
    pub fn defaults(parameters: &'static [Parameter]) -> Self {
        Self { parameters, values: parameters.iter().map(|one| one.default).collect() }
    }

    /// Names and values.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, Value)> + '_ {
        self.parameters.iter().zip(&self.values).map(|(one, value)| (one.name, *value))
    }

    fn value(&self, name: &str) -> Value {
        let at = self.parameters.iter().position(|one| one.name == name);
        self.values[at.unwrap_or_else(|| panic!("an entry asks for '{name}', which it does not list"))]
    }

    /// The number called `name`. Panics where the entry does not list one: a fault of the entry.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(number) => number,
            Value::Word(word) => panic!("'{name}' is the word '{word}', not a number"),
        }
    }

    /// The word called `name`. Panics where the entry does not list one: a fault of the entry.
    #[must_use]
    pub fn word(&self, name: &str) -> &'static str {
        match self.value(name) {
            Value::Word(word) => word,
            Value::Number(number) => panic!("'{name}' is the number {number}, not a word"),
        }
    }
}

/// The recoveries that a transport offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecoveryKind {
    /// Fast retransmit, then slow start from one segment; go-back-N.
    Tahoe,
    /// Fast recovery that ends with the first ACK of new data (RFC 2581).
    Reno,
    /// Partial ACKs retransmit (RFC 6582).
    NewReno,
    /// The SACK scoreboard and its pipe (RFC 6675).
    Sack,
    /// Forward acknowledgement.
    Fack,
    /// RACK-TLP (RFC 8985) with proportional rate reduction.
    Rack,
}

/// Makes a congestion control that is known only at run time, such as a class of another language.
pub trait Make: fmt::Debug + Sync {
    /// One for a flow.
    fn make(&self, path: &Path, arguments: &Arguments) -> Box<dyn CongestionControl>;
}

/// How to make it.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// A growth.
    CongestionAvoidance(fn(&Path, &Arguments) -> Box<dyn CongestionAvoidance>),
    /// A slow start.
    SlowStart(fn(&Path, &Arguments) -> Box<dyn SlowStart>),
    /// A whole algorithm.
    Whole(fn(&Path, &Arguments) -> Box<dyn CongestionControl>),
    /// A whole algorithm that was handed over at run time.
    Dynamic(&'static dyn Make),
    /// A recovery, which the transport performs.
    Recovery(RecoveryKind),
    /// Nothing to make: a mechanism that is part of the transport.
    Mechanism,
}

/// What an entry needs from host or path beyond windows and ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// The transport must pace what it sends.
    Pacing,
    /// Every segment must leave on its own: bursts would hide the delay that it measures.
    Spacing,
    /// ECN must be negotiated, and the receiver must echo every mark (accurate ECN).
    Ecn,
    /// The routers on the path must have an agent of this scheme: the `scheme` of a link's agent.
    Agent(&'static str),
    /// It must be told of every ACK; by default being asked once per round trip would do.
    EveryAck,
}

/// An algorithm's entry. Two are the same if they have the same name and kind.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name: lower case, words joined by `-`.
    pub name: &'static str,
    /// Its name in full.
    pub title: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Publication, RFC or doi.
    pub source: &'static str,
    /// The year of it.
    pub year: u16,
    /// How sure we are.
    pub confidence: Confidence,
    /// What it does, in a few sentences, with its equations.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Ambiguities of the source and what we choose; one sentence each.
    pub choices: &'static [&'static str],
    /// What to beware of; one sentence each.
    pub pitfalls: &'static [&'static str],
    /// The slow start that comes with it where none is named; empty: it brings its own.
    pub companion: &'static str,
    /// What it needs from host and path.
    pub needs: &'static [Need],
    /// Congestion-avoidance algorithms that this slow start cannot be combined with, or the reverse, each with the reason.
    pub refuses: &'static [(&'static str, &'static str)],
    /// It keeps a model of the path rather than a window that losses drive; may grow while app-limited.
    pub model_based: bool,
    /// How to make it.
    pub build: Build,
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.kind == other.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Ack, Congestion};
    use crate::event::Event;
    use crate::testing::path;
    use crate::Catalogue;
    use cwndlab_units::Bytes;

    #[derive(Clone, Debug)]
    struct Fixed(Bytes);

    impl CongestionControl for Fixed {
        fn on_ack(&mut self, _: &Ack) -> Option<Event> {
            None
        }
        fn on_congestion(&mut self, _: &Congestion) {}
        fn cwnd(&self) -> Bytes {
            self.0
        }
    }

    #[derive(Debug)]
    struct Segments;

    impl Make for Segments {
        fn make(&self, path: &Path, arguments: &Arguments) -> Box<dyn CongestionControl> {
            let pairs: Vec<_> = arguments.pairs().collect();
            assert_eq!(pairs, [("segments", Value::Number(3.0)), ("mode", Value::Word("a"))]);
            Box::new(Fixed(path.mss * arguments.number("segments") as u64))
        }
    }

    static GIVEN: Spec = Spec {
        name: "given",
        title: "",
        kind: Kind::Whole,
        source: "",
        year: 0,
        confidence: Confidence::High,
        summary: "",
        parameters: &[
            Parameter {
                name: "segments",
                unit: "",
                default: Value::Number(8.0),
                domain: Domain::Range(1.0, 10.0),
                doc: "",
            },
            Parameter { name: "mode", unit: "", default: Value::Word("a"), domain: Domain::Words(&["a"]), doc: "" },
        ],
        choices: &[],
        pitfalls: &[],
        companion: "",
        needs: &[],
        refuses: &[],
        model_based: false,
        build: Build::Dynamic(&Segments),
    };

    /// By hand: 3 segments of 1000 bytes.
    #[test]
    fn what_was_handed_over_makes_the_control() {
        let catalogue = Catalogue { specs: vec![&GIVEN], aliases: &[] };
        let algorithm = catalogue.parse("given(segments=3)").expect("it is in the catalogue");
        assert_eq!(algorithm.build(&path(10)).cwnd(), Bytes(3000));
        assert_eq!(algorithm.to_string(), "given(segments=3)");
    }
}
