//! Converts panics of the engine to errors, without messages on the terminal.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, catch_unwind, AssertUnwindSafe};

thread_local! {
    /// Panics of this thread are converted to errors.
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// Source location of the last panic.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a panic hook that prints no message for panics caught by [`guarded`].
pub(crate) fn quiet_panics() {
    let default_hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if QUIET.get() {
            let place = info.location().map_or(String::new(), |at| format!("{}:{}", at.file(), at.line()));
            PLACE.set(place);
        } else {
            default_hook(info);
        }
    }));
}

/// Calls `work`. A panic is returned as its message and source location.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = QUIET.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    done.map_err(|payload| format!("{} ({})", text(payload.as_ref()), PLACE.take()))
}

fn text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}
