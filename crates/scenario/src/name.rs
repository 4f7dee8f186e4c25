//! Names of nodes and flows, which share a text and differ in a number.

use std::fmt;
use std::sync::Arc;

/// A name: a text with an optional number as suffix.
#[derive(Clone, Debug)]
pub struct Name {
    text: Arc<str>,
    number: Option<u32>,
}

impl Name {
    /// A name of a text followed by a number.
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
