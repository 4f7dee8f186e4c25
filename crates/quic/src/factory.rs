//! Makes a controller per connection, or per path of it.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use cwndlab_algorithms::catalogue;
use cwndlab_control::{Algorithm, CongestionControl, Fault, Need, Path, RecoveryKind};
use cwndlab_units::Bytes;
use quinn_proto::congestion::{Controller, ControllerFactory};

use crate::controller::{Adapter, Observer, State};

/// Packets of the initial window (RFC 9002, 7.2).
const INITIAL_PACKETS: u64 = 10;
/// Its bound for large datagrams, bytes (the same).
const INITIAL_BYTES: u64 = 14_720;

/// Makes an algorithm for a path.
pub type Maker = Arc<dyn Fn(&Path) -> Box<dyn CongestionControl> + Send + Sync>;

/// Why an algorithm does not run over QUIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub Fault);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { what, hint } = &self.0;
        if hint.is_empty() {
            return f.write_str(what);
        }
        write!(f, "{what} (hint: {hint})")
    }
}

impl std::error::Error for Refused {}

fn refuse<T>(what: String, hint: &str) -> Result<T, Refused> {
    Err(Refused(Fault { what, hint: hint.to_owned() }))
}

/// The algorithm that the text names, `GROWTH[+SLOW_START]`, for [`quinn_proto::TransportConfig`].
///
/// # Errors
///
/// No algorithm has this name, or it needs what QUIC does not have: an agent in routers, or Tahoe's recovery.
pub fn controller(text: &str) -> Result<Arc<Factory>, Refused> {
    Factory::new(&catalogue().parse(text).map_err(Refused)?).map(Arc::new)
}

/// Makes the controllers of connections.
#[derive(Clone)]
pub struct Factory {
    name: String,
    make: Maker,
    model_based: bool,
    initial_packets: Option<u64>,
    seed: u64,
    /// Controllers made so far.
    made: Arc<AtomicU64>,
    observer: Option<Observer>,
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("name", &self.name).field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl Factory {
    /// Of a parsed algorithm.
    ///
    /// # Errors
    ///
    /// As [`controller`].
    pub fn new(algorithm: &Algorithm) -> Result<Self, Refused> {
        if algorithm.all_needs().any(|need| matches!(need, Need::Agent(_))) {
            return refuse(
                format!("'{algorithm}' asks the routers of the path, and QUIC encrypts what routers would read"),
                "`cwndlab run` simulates it",
            );
        }
        if algorithm.recovery_kind() == Some(RecoveryKind::Tahoe) {
            return refuse(
                format!("'{algorithm}' restarts slow start at each loss, and QUIC repairs losses by RFC 9002"),
                "write 'reno'",
            );
        }
        let (name, model_based) = (algorithm.to_string(), algorithm.growth.spec.model_based);
        let algorithm = algorithm.clone();
        Ok(Self::made_by(name, model_based, Arc::new(move |path| algorithm.build(path))))
    }

    /// Of an algorithm outside of the catalogue. A model-based one is told of the end of every recovery.
    #[must_use]
    pub fn made_by(name: impl Into<String>, model_based: bool, make: Maker) -> Self {
        // Connections of one process and of many must not draw alike.
        let seed = std::hash::RandomState::new().build_hasher().finish();
        Self { name: name.into(), make, model_based, initial_packets: None, seed, made: Arc::default(), observer: None }
    }

    /// Draws as of this seed, the number of the connection added: for what must be repeated.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Begins with so many packets instead of RFC 9002's ten (or 14,720 bytes, or two packets, where these are large).
    #[must_use]
    pub fn initial_window_packets(mut self, packets: u64) -> Self {
        self.initial_packets = Some(packets.max(2));
        self
    }

    /// Tells `observer` of every answer, from within the connection's own calls: it must not block.
    #[must_use]
    pub fn observed(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The algorithm's text in full.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A controller for a path whose datagrams have `mtu` bytes.
    #[must_use]
    pub fn adapter(&self, now: Instant, mtu: u16) -> Adapter {
        let mtu = u64::from(mtu);
        let initial = self.initial_window(mtu);
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let control = (self.make)(&Path {
            mss: Bytes(mtu),
            initial_cwnd: Bytes(initial),
            initial_ssthresh: None,
            paced: true,
            seed: self.seed.wrapping_add(number),
            oracle_buffer: None,
        });
        Adapter::new(now, initial, State::new(control, self.model_based, mtu, self.observer.clone()))
    }

    /// RFC 9002, 7.2: ten packets, but not more than 14,720 bytes nor less than two packets.
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
        let factory = Factory::new(&catalogue().parse("reno").expect("it is there")).expect("QUIC has all it needs");
        assert_eq!(
            [1200, 1452, 1472, 1500, 9000].map(|mtu| factory.initial_window(mtu)),
            [12_000, 14_520, 14_720, 14_720, 18_000]
        );
        assert_eq!(factory.initial_window_packets(4).initial_window(1200), 4800);
    }

    #[test]
    fn a_refusal_says_what_is_missing() {
        let message = |text: &str| controller(text).expect_err("QUIC cannot").to_string();
        assert_eq!(
            message("rcp"),
            "'rcp' asks the routers of the path, and QUIC encrypts what routers would read (hint: `cwndlab run` simulates it)"
        );
        assert_eq!(
            message("tahoe"),
            "'reno+standard/tahoe' restarts slow start at each loss, and QUIC repairs losses by RFC 9002 (hint: write 'reno')"
        );
        assert_eq!(
            message("cubik"),
            "no algorithm is called 'cubik' (hint: did you mean 'cubic'? `cwndlab list` shows them all)"
        );
    }
}
