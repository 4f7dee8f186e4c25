//! Interned strings: texts of an algorithm in Python that records refer to for the life of the process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Largest number of texts. An algorithm uses a few; one that formats numbers into them must not exhaust the memory.
const MAX_TEXTS: usize = 4096;

static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The interned text; `None` where there are too many.
pub(crate) fn intern(text: &str) -> Option<&'static str> {
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
