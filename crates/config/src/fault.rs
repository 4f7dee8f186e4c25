//! What is wrong with a document: where, what, and what would do.

use std::fmt;

/// A fault in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field, as `flow[1].rtt`; empty for the document as a whole.
    pub path: String,
    /// What is wrong.
    pub what: String,
    /// What would do; may be empty.
    pub hint: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.what)?;
        if self.hint.is_empty() {
            Ok(())
        } else {
            write!(f, "\n  hint: {}", self.hint)
        }
    }
}

/// The text with its control characters written as escapes, so that a terminal shows them and does not obey them.
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

impl Fault {
    /// A fault whose texts may quote the document.
    pub fn new(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { path: printable(&path.into()), what: printable(&what.into()), hint: printable(&hint.into()) }
    }
}

/// All faults found so far.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Adds one.
    pub fn add(&mut self, path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Fault::new(path, what, hint));
    }
}
