//! Names of nodes and flows: many of them differ only in a number.

use std::fmt;
use std::sync::Arc;

/// A name: a text, and behind it a number for one of several.
#[derive(Clone, Debug)]
pub struct Name {
    text: Arc<str>,
    number: Option<u32>,
}

impl Name {
    /// The text and then the number.
    #[must_use]
    pub fn numbered(text: Arc<str>, number: u32) -> Self {
        Self { text, number: Some(number) }
    }
}

impl From<Arc<str>> for Name {
    fn from(text: Arc<str>) -> Self {
        Self { text, number: None }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            None => out.write_str(&self.text),
            Some(number) => write!(out, "{}{number}", self.text),
        }
    }
}
