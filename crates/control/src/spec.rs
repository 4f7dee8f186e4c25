//! An algorithm's entry in the catalogue, from which all lists, help texts and pages are derived.

use std::fmt;

use crate::contract::{CongestionControl, Path};
use crate::parts::{CongestionAvoidance, SlowStart};

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Congestion avoidance.
    CongestionAvoidance,
    /// Slow start.
    SlowStart,
    /// Loss recovery: retransmissions, and the window during recovery.
    Recovery,
    /// A whole algorithm, with its own slow start.
    Whole,
    /// A router-assisted scheme, with an agent in the routers.
    Router,
    /// A mechanism of the transport, which a flow does not select.
    Mechanism,
}

/// The agreement of an entry with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confidence {
    /// Published constants and formulas, compared with reference code or text.
    High,
    /// Published formulas or summaries; some details are our choice.
    Medium,
    /// Our reconstruction from a short description.
    Low,
}

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// One of the permitted words.
    Word(&'static str),
}

/// The permitted values of a parameter.
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
    /// Its default value.
    pub default: Value,
    /// Its permitted values.
    pub domain: Domain,
    /// Its meaning, in one sentence; for an ambiguity of the source, the meaning of each value.
    pub doc: &'static str,
}

/// The values of an entry's parameters, in the order of its `parameters`, including defaults.
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

    /// The value of the parameter `name`, for callers that do not know the entry; `None` where it has no such parameter.
    /// An algorithm reads its own parameters as [`options!`](crate::options!).
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.pairs().find(|pair| pair.0 == name).map(|pair| pair.1)
    }
}

/// The loss recoveries of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecoveryKind {
    /// Fast retransmit, then slow start from one segment; go-back-N.
    Tahoe,
    /// Fast recovery that ends with the first ACK of new data (RFC 2581).
    Reno,
    /// Partial ACKs retransmit (RFC 6582).
    NewReno,
    /// The SACK scoreboard and the pipe estimate (RFC 6675).
    Sack,
    /// Forward acknowledgement.
    Fack,
    /// RACK-TLP (RFC 8985) with proportional rate reduction.
    Rack,
}

/// The constructor of a congestion control that is defined at run time, such as a class of another language.
pub trait Make: fmt::Debug + Sync {
    /// Creates the congestion control of a flow.
    fn make(&self, path: &Path, arguments: &Arguments) -> Box<dyn CongestionControl>;

    /// Whether the controls of several flows may share state, so that the order of calls to them matters.
    fn may_share_state(&self) -> bool {
        true
    }
}

/// The constructor of an entry.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// Congestion avoidance.
    CongestionAvoidance(fn(&Path, &Arguments) -> Box<dyn CongestionAvoidance>),
    /// A slow start.
    SlowStart(fn(&Path, &Arguments) -> Box<dyn SlowStart>),
    /// A whole algorithm.
    Whole(fn(&Path, &Arguments) -> Box<dyn CongestionControl>),
    /// A whole algorithm that is defined at run time.
    Dynamic(&'static dyn Make),
    /// A loss recovery, which the transport implements.
    Recovery(RecoveryKind),
    /// No constructor: a mechanism of the transport.
    Mechanism,
}

/// A requirement of an entry on host or path, besides windows and ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// The transport must pace.
    Pacing,
    /// Segments must be sent separately: bursts would conceal the delay that the algorithm measures.
    Spacing,
    /// ECN must be negotiated, and the receiver must echo every mark (accurate ECN).
    Ecn,
    /// Accurate ECN must be negotiated, and packets carry ECT(1) (L4S, RFC 9331).
    L4s,
    /// The routers on the path must have an agent of this scheme: the `scheme` of a link's agent.
    Agent(&'static str),
    /// The algorithm must receive every ACK, also after slow start. Without this, a report at each ACK of slow start and
    /// one per round trip after it are sufficient (docs/kernel.md, "Report schedules").
    EveryAck,
    /// A loss that begins a recovery within the reduction for a mark must be reported as another congestion event
    /// (Linux: a module with `set_state`). Others reduce once per window of data.
    LossInReduction,
}

/// An algorithm's entry. Entries of the same name and kind are equal.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name: lower case, words joined by `-`.
    pub name: &'static str,
    /// Its full name.
    pub title: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Publication, RFC or doi.
    pub source: &'static str,
    /// Year of the source.
    pub year: u16,
    /// Agreement with the source.
    pub confidence: Confidence,
    /// Description in a few sentences, with equations.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Ambiguities of the source and our choices; one sentence each.
    pub choices: &'static [&'static str],
    /// Limitations and typical errors of use; one sentence each.
    pub pitfalls: &'static [&'static str],
    /// The default slow start of congestion avoidance; empty: it has its own.
    pub companion: &'static str,
    /// Requirements on host and path.
    pub needs: &'static [Need],
    /// Congestion-avoidance algorithms that this slow start cannot be combined with, or the reverse, each with the
    /// reason.
    pub incompatible: &'static [(&'static str, &'static str)],
    /// The algorithm has a model of the path instead of a loss-driven window; its window may grow while app-limited.
    pub model_based: bool,
    /// Its constructor.
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
            let Some(Value::Number(segments)) = arguments.get("segments") else { unreachable!("it is a number") };
            Box::new(Fixed(path.mss * segments as u64))
        }
    }

    static DYNAMIC: Spec = Spec {
        name: "dynamic",
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
        incompatible: &[],
        model_based: false,
        build: Build::Dynamic(&Segments),
    };

    /// By hand: 3 segments of 1000 bytes.
    #[test]
    fn a_dynamic_entry_constructs_the_control() {
        let catalogue = Catalogue { specs: vec![&DYNAMIC], aliases: &[] };
        let algorithm = catalogue.parse("dynamic(segments=3)").expect("it is in the catalogue");
        assert_eq!(algorithm.build(&path(10)).cwnd(), Bytes(3000));
        assert_eq!(algorithm.to_string(), "dynamic(segments=3)");
    }
}
