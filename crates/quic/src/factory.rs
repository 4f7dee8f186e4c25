//! The factory of controllers: `quinn` requests one per connection, and one per new path of a connection.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use cwndlab_algorithms::catalogue;
use cwndlab_control::{Algorithm, Catalogue, CongestionControl, Constructor, Need, Path, RecoveryKind};
use cwndlab_units::{Bytes, Fault, FaultKind};
use quinn_proto::congestion::{Controller, ControllerFactory};

use crate::controller::{Adapter, Observer, State};
use crate::guarded::{Guarded, OnFailure};

/// Initial window, packets (RFC 9002, 7.2).
const INITIAL_PACKETS: u64 = 10;
/// Limit of the initial window for large datagrams, bytes (RFC 9002, 7.2).
const INITIAL_BYTES: u64 = 14_720;

fn unsupported<T>(what: String, hint: &str) -> Result<T, Fault> {
    Err(Fault::new("", what, hint).of_kind(FaultKind::Unsupported))
}

/// Creates a factory for [`quinn_proto::TransportConfig`] from the text form of an algorithm, `GROWTH[+SLOW_START]`.
///
/// # Errors
///
/// An unknown algorithm, or one that needs router assistance or the recovery of Tahoe, which QUIC does not have.
pub fn controller_factory(text: &str) -> Result<Arc<Factory>, Fault> {
    Factory::parse(&catalogue(), text).map(Arc::new)
}

/// Creates the controllers of connections.
#[derive(Clone)]
pub struct Factory {
    name: String,
    construct: Constructor,
    model_based: bool,
    classic_ecn: bool,
    initial_packets: Option<u64>,
    seed: u64,
    /// Number of controllers created so far.
    count: Arc<AtomicU64>,
    observer: Option<Observer>,
    on_failure: Option<OnFailure>,
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("name", &self.name).field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl Factory {
    /// Creates a factory from the text form of an algorithm of `catalogue`.
    ///
    /// # Errors
    ///
    /// Those of [`controller_factory`].
    pub fn parse(catalogue: &Catalogue, text: &str) -> Result<Self, Fault> {
        Self::new(&catalogue.parse(text)?)
    }

    /// Creates a factory from a parsed algorithm.
    ///
    /// # Errors
    ///
    /// An algorithm that needs router assistance or the recovery of Tahoe, which QUIC does not have.
    pub fn new(algorithm: &Algorithm) -> Result<Self, Fault> {
        if algorithm.all_needs().any(|need| matches!(need, Need::Agent(_))) {
            return unsupported(
                format!("'{algorithm}' needs router assistance, and QUIC encrypts the headers that routers would read"),
                "`cwndlab run` simulates it",
            );
        }
        if algorithm.recovery_kind() == Some(RecoveryKind::Tahoe) {
            return unsupported(
                format!("'{algorithm}' restarts slow start at each loss, and QUIC recovers losses by RFC 9002"),
                "write 'reno'",
            );
        }
        let name = algorithm.to_string();
        let model_based = algorithm.is_model_based();
        // `quinn` sends ECT(0), whose marks are answered as losses (RFC 3168, 5); L4S has ECT(1) (RFC 9331, 4.1).
        let classic_ecn = algorithm.needs(Need::L4s);
        let algorithm = algorithm.clone();
        let factory = Self::from_constructor(name, model_based, Constructor::new(move |path| algorithm.build(path)));
        Ok(Self { classic_ecn, ..factory })
    }

    /// Creates a factory of an algorithm outside of the catalogue. A model-based algorithm is notified of the end of
    /// every recovery.
    #[must_use]
    pub fn from_constructor(name: impl Into<String>, model_based: bool, construct: Constructor) -> Self {
        // Connections of one process and of several processes need different random streams.
        let seed = std::hash::RandomState::new().build_hasher().finish();
        Self {
            name: name.into(),
            construct,
            model_based,
            classic_ecn: false,
            initial_packets: None,
            seed,
            count: Arc::default(),
            observer: None,
            on_failure: None,
        }
    }

    /// Sets the seed, for repeatable runs. The seed of a connection is this seed plus the number of the connection.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the initial window, at least two packets. The default is that of RFC 9002, 7.2: ten packets, limited to the
    /// maximum of 14,720 bytes and two packets.
    #[must_use]
    pub fn with_initial_window_packets(mut self, packets: u64) -> Self {
        self.initial_packets = Some(packets.max(2));
        self
    }

    /// Calls `observer` after every event, within the calls of the connection: it must not block.
    #[must_use]
    pub fn with_observer(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Continues a connection with Reno where a method of its algorithm unwinds, and calls `on_failure` once then. Without
    /// this, the unwinding ends the task of the connection.
    #[must_use]
    pub fn with_substitute(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = Some(on_failure);
        self
    }

    /// The full text form of the algorithm.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates a controller for a path with datagrams of `mtu` bytes.
    #[must_use]
    pub fn adapter(&self, now: Instant, mtu: u16) -> Adapter {
        let mtu = u64::from(mtu);
        let initial = self.initial_window(mtu);
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let path = Path {
            mss: Bytes(mtu),
            initial_cwnd: Bytes(initial),
            initial_ssthresh: None,
            paced: true,
            seed: self.seed.wrapping_add(number),
            classic_ecn: self.classic_ecn,
            oracle_buffer: None,
            saved: None,
        };
        let control: Box<dyn CongestionControl> = match &self.on_failure {
            Some(on_failure) => Box::new(Guarded::new(&self.construct, path, Arc::clone(on_failure))),
            None => self.construct.construct(&path),
        };
        Adapter::new(now, initial, State::new(control, self.model_based, mtu, self.observer.clone()))
    }

    /// RFC 9002, 7.2: ten packets, limited to the maximum of 14,720 bytes and two packets.
    fn initial_window(&self, mtu: u64) -> u64 {
        match self.initial_packets {
            Some(packets) => packets * mtu,
            None => (INITIAL_PACKETS * mtu).min(INITIAL_BYTES.max(2 * mtu)),
        }
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(self.adapter(now, current_mtu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9002, 7.2, by hand.
    #[test]
    fn the_initial_window_is_that_of_rfc_9002() {
        let factory = Factory::new(&catalogue().parse("reno").expect("an entry")).expect("QUIC supports it");
        assert_eq!(
            [1200, 1452, 1472, 1500, 9000].map(|mtu| factory.initial_window(mtu)),
            [12_000, 14_520, 14_720, 14_720, 18_000]
        );
        assert_eq!(factory.with_initial_window_packets(4).initial_window(1200), 4800);
    }

    #[test]
    fn the_error_names_the_missing_feature() {
        let message = |text: &str| format!("{:#}", controller_factory(text).expect_err("unsupported"));
        assert_eq!(
            message("rcp"),
            "'rcp' needs router assistance, and QUIC encrypts the headers that routers would read (hint: `cwndlab run` \
             simulates it)"
        );
        assert_eq!(
            message("tahoe"),
            "'reno+standard/tahoe' restarts slow start at each loss, and QUIC recovers losses by RFC 9002 (hint: write \
             'reno')"
        );
        assert_eq!(
            message("cubik"),
            "no algorithm is called 'cubik' (hint: did you mean 'cubic'? `cwndlab list` shows them all)"
        );
    }
}
