//! Locks of values that threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value that its users replace in one step, so that it is valid even after a panic of another holder.
pub(crate) fn lock<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}
