//! Faults of a document: path, message and hint.

use std::fmt;

/// A fault in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path of the field, such as `flow[1].rtt`; empty for the whole document.
    pub path: String,
    /// Message.
    pub what: String,
    /// A remedy; may be empty.
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

impl Fault {
    /// A fault; control characters of the texts, which may quote the document, are escaped.
    pub fn new(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { path: printable(&path.into()), what: printable(&what.into()), hint: printable(&hint.into()) }
    }
}

/// A list of faults.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Adds a fault.
    pub fn add(&mut self, path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Fault::new(path, what, hint));
    }
}
