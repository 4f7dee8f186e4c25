//! The error of all crates: where, what, and what would do.

use std::fmt;

/// The cause of a fault, for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An argument, text or file is invalid.
    #[default]
    Invalid,
    /// The algorithm or function is not available here.
    Unsupported,
    /// A call of the system failed with this `errno`.
    System(i32),
    /// Output could not be written, for a reason outside of the program such as a full disk.
    Output,
    /// The work was cancelled.
    Cancelled,
    /// The work exceeded its limit, such as a number of events.
    LimitExceeded,
    /// A panic: a fault of this program.
    Panic,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where: the field, argument, file, line or call; may be empty.
    pub place: String,
    /// What is wrong, in lower case, without full stop.
    pub what: String,
    /// What would do; may be empty.
    pub hint: String,
    /// The cause.
    pub kind: FaultKind,
}

impl Fault {
    /// Something [invalid](FaultKind::Invalid). Control characters of the texts, which may quote a document, are
    /// escaped.
    pub fn new(place: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        let [place, what, hint] = [place.into(), what.into(), hint.into()].map(|text| printable(&text));
        Self { place, what, hint, kind: FaultKind::Invalid }
    }

    /// This fault with another cause.
    #[must_use]
    pub fn of_kind(self, kind: FaultKind) -> Self {
        Self { kind, ..self }
    }

    /// This fault at a place.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self { place: printable(&place.into()), ..self }
    }
}

/// `PLACE: WHAT`, with the hint on a line of its own; in the alternate form in parentheses.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.what)?;
        match (self.hint.as_str(), f.alternate()) {
            ("", _) => Ok(()),
            (hint, true) => write!(f, " (hint: {hint})"),
            (hint, false) => write!(f, "\n  hint: {hint}"),
        }
    }
}

impl std::error::Error for Fault {}

/// Escapes the control characters of a text except line feeds, so that a terminal does not interpret them.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() && letter != '\n' {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CONTRIBUTING.md, rule 5: where, what and what would do.
    #[test]
    fn display_shows_place_text_and_hint() {
        let fault = Fault::new("lo: up", "denied", "run as root");
        assert_eq!(fault.to_string(), "lo: up: denied\n  hint: run as root");
        assert_eq!(format!("{fault:#}"), "lo: up: denied (hint: run as root)");
        assert_eq!(Fault::new("", "denied", "").to_string(), "denied");
    }

    /// ECMA-48: ESC begins a control sequence, which a terminal would interpret.
    #[test]
    fn control_characters_of_a_quoted_document_are_escaped() {
        assert_eq!(Fault::new("a\u{1b}[2J", "b\nc", "").to_string(), "a\\u{1b}[2J: b\nc");
    }
}
