//! Kinds of events that a search finds.

use cwndlab_control::{Cause, Change, EventKind, Report as Reported};
use cwndlab_units::spelling::nearest;
use cwndlab_units::Fault;

use crate::debug::Moment;

/// A kind of events.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    matches: fn(&Moment) -> bool,
}

fn is_congestion(moment: &Moment, cause: Cause) -> bool {
    matches!(&moment.event, Reported::Congestion(event) if event.cause == cause)
}

fn is_change(moment: &Moment, change: Change) -> bool {
    matches!(&moment.event, Reported::Window(window) if window.change == change)
}

/// All kinds but those of the events that an algorithm returns.
pub static KINDS: &[Kind] = &[
    Kind {
        name: "reduction",
        about: "an event after which the window is smaller",
        matches: |moment| moment.after.cwnd < moment.before.cwnd,
    },
    Kind {
        name: "congestion",
        about: "a congestion event of any cause",
        matches: |moment| matches!(moment.event, Reported::Congestion(_)),
    },
    Kind {
        name: "loss",
        about: "a congestion event: the loss of a segment was detected",
        matches: |moment| is_congestion(moment, Cause::Loss),
    },
    Kind {
        name: "timeout",
        about: "a congestion event: the retransmission timer expired",
        matches: |moment| is_congestion(moment, Cause::Timeout),
    },
    Kind {
        name: "ecn",
        about: "a congestion event: the receiver echoed an ECN mark",
        matches: |moment| is_congestion(moment, Cause::Ecn),
    },
    Kind { name: "ack", about: "an ACK", matches: |moment| matches!(moment.event, Reported::Ack(_)) },
    Kind {
        name: "phase",
        about: "an event after which the algorithm is in another phase",
        matches: |moment| moment.after.state.phase != moment.before.state.phase,
    },
    Kind {
        name: "established",
        about: "the handshake is complete",
        matches: |moment| is_change(moment, Change::Established),
    },
    Kind { name: "recovered", about: "a recovery ended", matches: |moment| is_change(moment, Change::Recovered) },
    Kind {
        name: "idle",
        about: "the window restarts after an idle period",
        matches: |moment| is_change(moment, Change::Idle),
    },
    Kind { name: "undo", about: "the transport undid a reduction", matches: |moment| is_change(moment, Change::Undo) },
    Kind {
        name: "event",
        about: "an event that the algorithm itself reports",
        matches: |moment| moment.returned.is_some(),
    },
];

/// The events of a search.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// Every event.
    Any,
    /// One of [`KINDS`].
    Kind(&'static Kind),
    /// An event that the algorithm returned.
    Returned(EventKind),
}

impl Wanted {
    /// Reads the name of a kind.
    ///
    /// # Errors
    /// If there is no such kind.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if let Some(kind) = KINDS.iter().find(|kind| kind.name == text) {
            return Ok(Self::Kind(kind));
        }
        if let Some(kind) = EventKind::ALL.iter().find(|kind| kind.name() == text) {
            return Ok(Self::Returned(*kind));
        }
        let listed: Vec<_> = names().collect();
        let near = nearest(text, names()).map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let what = format!("no event is called '{text}'");
        Err(Fault::new("", what, format!("{near}the events are {}", listed.join(", "))))
    }

    /// Whether an event is of this kind.
    #[must_use]
    pub fn matches(&self, moment: &Moment) -> bool {
        match self {
            Self::Any => true,
            Self::Kind(kind) => (kind.matches)(moment),
            Self::Returned(kind) => moment.returned.is_some_and(|event| event.kind == *kind),
        }
    }
}

/// The names of all kinds.
fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name).chain(EventKind::ALL.iter().map(|kind| kind.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_is_refused_with_the_nearest_one_and_all_names() {
        let fault = Wanted::parse("reducton").expect_err("is no kind");
        assert_eq!(fault.what, "no event is called 'reducton'");
        assert!(fault.hint.starts_with("did you mean 'reduction'? the events are reduction, congestion, loss, "));
        assert!(fault.hint.contains("slow-start-exit"), "{}", fault.hint);
    }

    /// Each name means one kind.
    #[test]
    fn names_are_unique() {
        let mut all: Vec<_> = names().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
    }
}
