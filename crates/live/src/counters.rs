//! What happened since the server's start, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts; none is ever taken back.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        impl Counters {
            /// Names and values.
            #[must_use]
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.load(Ordering::Relaxed)),)*]
            }
        }
    };
}

counters! {
    /// Connections that the kernel handed over.
    attempts,
    /// Closed at once: too many from that address or prefix.
    over_rate,
    /// Gave way to a newcomer before their first byte.
    displaced_waiting,
    /// Said nothing, or no TLS, in time.
    silent,
    /// Closed after their first byte: too many handshakes.
    over_handshakes,
    /// Gave way to a newcomer before they showed a valid token.
    displaced_unproven,
    /// TLS handshakes that failed.
    failed_handshakes,
    /// TLS handshakes that succeeded.
    handshakes,
    /// Requests.
    requests,
    /// Requests without a valid token.
    unauthorized,
    /// Requests that were refused for another reason.
    refused,
    /// Transfers begun.
    transfers,
    /// Transfers of which every byte was acknowledged.
    whole,
    /// Transfers ended by the circuit breaker.
    broken,
    /// Connections whose code panicked: a fault of ours.
    panics,
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
