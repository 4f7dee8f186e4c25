//! Interned strings: texts of Python algorithms that records refer to until the end of the process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Maximum number of texts. An algorithm uses a few; one that formats numbers into texts must not exhaust the memory.
const MAX_TEXTS: usize = 4096;

static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Interns a text; `None` if the maximum number is reached.
#[must_use]
pub fn intern(text: &str) -> Option<&'static str> {
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text) {
        return Some(known);
    }
    if texts.len() >= MAX_TEXTS {
        return None;
    }
    let interned: &'static str = Box::leak(text.to_owned().into_boxed_str());
    texts.insert(interned);
    Some(interned)
}
