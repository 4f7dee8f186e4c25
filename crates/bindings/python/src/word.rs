//! Words that an algorithm in Python makes up and the records keep: each lasts as long as the process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// An algorithm has a handful of them; one that puts numbers into its words must not fill the memory.
const MOST: usize = 4096;

static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The text, for ever; nothing where there are too many.
pub(crate) fn lasting(text: &str) -> Option<&'static str> {
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(text) {
        return Some(known);
    }
    if words.len() >= MOST {
        return None;
    }
    let word: &'static str = Box::leak(text.to_owned().into_boxed_str());
    words.insert(word);
    Some(word)
}
