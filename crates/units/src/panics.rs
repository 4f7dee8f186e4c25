//! Panics as values: their message and source location, without output on the terminal.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe};
use std::sync::Once;

use crate::fault::{Fault, FaultKind};

thread_local! {
    /// Panics of this thread are caught and not printed.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
    /// Source location of the last panic.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a panic hook, which alone has the source location. Other threads keep the previous hook.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |info| {
            if CAUGHT.get() {
                PLACE.set(info.location().map_or(String::new(), |at| format!("{}:{}", at.file(), at.line())));
            } else {
                previous(info);
            }
        }));
    });
}

/// What a call ended with in place of a value: a panic, or the payload of `resume_unwind`.
pub struct Panic {
    /// The payload.
    pub payload: Box<dyn Any + Send>,
    /// File and line; empty for an unwinding without a panic.
    pub place: String,
}

/// The message, and the source location in parentheses.
impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(message(&*self.payload).unwrap_or(NO_MESSAGE))?;
        if self.place.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", self.place)
        }
    }
}

/// The fault of the engine that a user should report.
impl From<Panic> for Fault {
    fn from(panic: Panic) -> Self {
        Self::new("engine", panic.to_string(), "please report with this line").of_kind(FaultKind::Panic)
    }
}

/// Stands for the message of a panic that has none.
pub const NO_MESSAGE: &str = "a panic without a message";

/// The message of a panic's payload.
#[must_use]
pub fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied())
}

/// Calls `work`. State that it borrows mutably must not be used after a panic.
///
/// # Errors
/// The panic of `work`.
#[inline]
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    install();
    let before = CAUGHT.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    CAUGHT.set(before);
    done.map_err(|payload| Panic { payload, place: PLACE.take() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caught_panic_has_its_message_and_source_line() {
        let line = line!() + 1;
        let text = catch(|| -> u32 { panic!("broken {}", 1) }).err().map(|panic| panic.to_string());
        assert_eq!(text, Some(format!("broken 1 (crates/units/src/panics.rs:{line})")));
        assert_eq!(catch(|| 7).ok(), Some(7));
    }
}
