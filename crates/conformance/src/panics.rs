//! Panics of an algorithm as text with their place, and off the terminal.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// This thread answers for its panics itself.
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// Where the last one was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The place of a panic is known to the hook alone; other threads keep the hook they had.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if QUIET.get() {
                let place = info.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
                PLACE.set(place);
            } else {
                usual(info);
            }
        }));
    });
}

/// While it lives, panics of this thread are not printed.
pub(crate) struct Quiet(bool);

impl Quiet {
    pub(crate) fn new() -> Self {
        install();
        Self(QUIET.replace(true))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        QUIET.set(self.0);
    }
}

/// Does the work; a panic is told as its text and place.
#[inline]
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|payload| format!("panics: {}{}", text(payload.as_ref()), PLACE.take()))
}

fn text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("without text")
}
