//! Violations that an algorithm reports by unwinding, and its panics.

use std::panic::resume_unwind;

use cwndlab_units::panics::catch;

use crate::rules::{NO_PANIC, RULES};

/// A violation that an algorithm reports by unwinding. An adapter to another language may encounter errors and values
/// that the return types cannot represent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// Name of the violated rule; an unknown name is reported as `no-panic`.
    pub rule: &'static str,
    /// Description of the violation.
    pub why: String,
}

impl BrokenRule {
    /// Ends the case by unwinding, without a panic hook or output.
    pub fn unwind(self) -> ! {
        resume_unwind(Box::new(self))
    }
}

/// Calls `work`; a panic is returned with its text and source location.
#[inline]
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, BrokenRule> {
    catch(work).map_err(|panic| match panic.payload.downcast_ref::<BrokenRule>() {
        Some(broken) => broken.clone(),
        None => BrokenRule { rule: RULES[NO_PANIC].name, why: format!("panics: {panic}") },
    })
}
