//! Counters of a server since its start.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Monotonic counters.
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
    /// Accepted connections.
    attempts,
    /// Closed immediately because of the rate limit of the address or prefix.
    over_rate,
    /// Evicted before their first byte.
    displaced_waiting,
    /// Closed because they sent no data within the time limit, or data other than TLS.
    silent,
    /// Closed after their first byte because of the rate limit of handshakes.
    over_handshakes,
    /// Evicted before they presented a valid token.
    displaced_unproven,
    /// TLS handshakes that failed.
    failed_handshakes,
    /// TLS handshakes that succeeded.
    handshakes,
    /// Requests.
    requests,
    /// Requests without a valid token.
    unauthorized,
    /// Requests rejected for other reasons.
    refused,
    /// Transfers started.
    transfers,
    /// Transfers with every byte acknowledged.
    complete,
    /// Transfers ended by the circuit breaker.
    broken,
    /// Connections whose algorithm failed: an exception of a class in Python.
    failed_algorithms,
    /// Connections whose task panicked, which is a defect of the server.
    panics,
}

/// Increases a counter by one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
