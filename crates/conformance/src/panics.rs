//! Panics of an algorithm as text with their place, and off the terminal.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, resume_unwind, set_hook, take_hook, AssertUnwindSafe};
use std::sync::Once;

use crate::rules::{NO_PANIC, RULES};

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

/// What an algorithm unwinds with where it can say more than a panic does: one that calls another language meets errors
/// and answers there that no `u64` can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The rule that it breaks, by name; `no-panic` where no rule is called so.
    pub rule: &'static str,
    /// What happened.
    pub why: String,
}

impl Broken {
    /// Ends the case. No hook is called and nothing is printed.
    pub fn unwind(self) -> ! {
        resume_unwind(Box::new(self))
    }
}

/// Does the work; a panic is told as its text and place.
#[inline]
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Broken> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Broken>() {
        Ok(broken) => *broken,
        Err(payload) => {
            let why = format!("panics: {}{}", text(payload.as_ref()), PLACE.take());
            Broken { rule: RULES[NO_PANIC].name, why }
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
