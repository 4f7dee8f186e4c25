//! Conversion of an algorithm's panics to messages with their source location, without output on the terminal.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, resume_unwind, set_hook, take_hook, AssertUnwindSafe};
use std::sync::Once;

use crate::rules::{NO_PANIC, RULES};

thread_local! {
    /// Panics of this thread are handled by [`catch_panic`] and not printed.
    static SILENCED: Cell<bool> = const { Cell::new(false) };
    /// Source location of the last panic.
    static LOCATION: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a panic hook, which alone has the source location. Other threads keep the previous hook.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |info| {
            if SILENCED.get() {
                let location = info.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
                LOCATION.set(location);
            } else {
                previous(info);
            }
        }));
    });
}

/// A guard: until it is dropped, panics of this thread are not printed.
pub(crate) struct SilencedPanics(bool);

impl SilencedPanics {
    pub(crate) fn new() -> Self {
        install();
        Self(SILENCED.replace(true))
    }
}

impl Drop for SilencedPanics {
    fn drop(&mut self) {
        SILENCED.set(self.0);
    }
}

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
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<BrokenRule>() {
        Ok(broken) => *broken,
        Err(payload) => {
            let why = format!("panics: {}{}", text(payload.as_ref()), LOCATION.take());
            BrokenRule { rule: RULES[NO_PANIC].name, why }
        }
    })
}

fn text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("without text")
}
