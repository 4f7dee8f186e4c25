//! The state that all connections of a server share, and the state of one connection.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::watch;

use crate::admission::{host, Admission, Evictable, WaitingList};
use crate::counters::{count, Counters};
use crate::limits::Limits;
use crate::monitor::{Activity, Monitor};
use crate::swappable::Offer;
use crate::tokens::Tokens;
use crate::transfer::{lock, Accounts, Client, End, Transfer};
use cwndlab_fetch::clock::{now, since_ns};
use cwndlab_fetch::snapshot::Snapshot;

/// Maximum number of failures of algorithms that are stored.
const MAX_FAILURES: usize = 100;

/// Open connections that presented a valid token: their number, and the number per host.
type Authenticated = (usize, BTreeMap<[u8; 9], usize>);

/// The state of a server.
pub(crate) struct ServerState {
    pub(crate) limits: Arc<Limits>,
    pub(crate) tokens: Tokens,
    pub(crate) clients: Vec<Arc<Client>>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) admission: Mutex<Admission>,
    /// Connections between their first byte and a valid token.
    pub(crate) unproven: Mutex<WaitingList>,
    pub(crate) accounts: Mutex<Accounts>,
    pub(crate) epoch: Instant,
    pub(crate) stop: watch::Receiver<bool>,
    /// The algorithms over QUIC, if the server accepts it as well.
    pub(crate) quic: Option<Arc<Offer>>,
    /// Failures of algorithms that nobody has read yet, at most [`MAX_FAILURES`].
    pub(crate) failures: Arc<Mutex<Vec<String>>>,
    authenticated: Mutex<Authenticated>,
}

/// The limit that a client with a valid token has reached.
pub(crate) enum LimitReached {
    /// Connections of the server.
    Server,
    /// Connections of the client's address.
    Address,
}

impl ServerState {
    pub(crate) fn new(limits: Limits, tokens: Tokens, stop: watch::Receiver<bool>, quic: Option<Arc<Offer>>) -> Self {
        let client =
            |name: &str| Client { name: name.to_owned(), running: AtomicUsize::new(0), free_ns: Mutex::new(0) };
        Self {
            clients: tokens.names().map(|name| Arc::new(client(name))).collect(),
            admission: Mutex::new(Admission::new(&limits)),
            unproven: Mutex::new(WaitingList::new(limits.unproven)),
            accounts: Mutex::new(Accounts::new(limits.transfers_kept)),
            limits: Arc::new(limits),
            tokens,
            counters: Arc::default(),
            epoch: now(),
            stop,
            quic,
            failures: Arc::default(),
            authenticated: Mutex::default(),
        }
    }

    /// Time since the start of the server, ns.
    pub(crate) fn age_ns(&self) -> u64 {
        since_ns(self.epoch)
    }

    /// Number of open connections that presented a valid token.
    pub(crate) fn connections(&self) -> usize {
        lock(&self.authenticated).0
    }

    /// Counts and stores a failure of an algorithm; returns its first line for the client. The rest has paths of this
    /// machine.
    pub(crate) fn on_failure<'a>(&self, failure: &'a str) -> &'a str {
        count(&self.counters.failed_algorithms);
        let mut failures = lock(&self.failures);
        if failures.len() < MAX_FAILURES {
            failures.push(failure.to_owned());
        }
        failure.lines().next().unwrap_or_default()
    }

    /// Acquires a slot for a connection from `address` that presented a valid token.
    fn acquire_slot(self: &Arc<Self>, address: IpAddr) -> Result<Slot, LimitReached> {
        let host = host(address);
        let mut authenticated = lock(&self.authenticated);
        let of_host = authenticated.1.get(&host).copied().unwrap_or(0);
        if authenticated.0 >= self.limits.connections {
            return Err(LimitReached::Server);
        }
        if of_host >= self.limits.connections_per_address {
            return Err(LimitReached::Address);
        }
        authenticated.0 += 1;
        authenticated.1.insert(host, of_host + 1);
        Ok(Slot { server: Arc::clone(self), host })
    }
}

/// The slot of one of the connections that a server allows. Dropping it releases the slot.
pub(crate) struct Slot {
    server: Arc<ServerState>,
    host: [u8; 9],
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut authenticated = lock(&self.server.authenticated);
        authenticated.0 -= 1;
        match authenticated.1.get_mut(&self.host) {
            Some(of_host) if *of_host > 1 => *of_host -= 1,
            _ => {
                authenticated.1.remove(&self.host);
            }
        }
    }
}

/// Counts a panic in the task of a connection.
pub(crate) struct PanicCounter(pub(crate) Arc<ServerState>);

impl Drop for PanicCounter {
    fn drop(&mut self) {
        if std::thread::panicking() {
            count(&self.0.counters.panics);
        }
    }
}

/// The sender of a connection: the interface that TCP and QUIC implement.
pub(crate) trait ServerTransport: Send + Sync {
    /// `tcp` or `quic`.
    fn name(&self) -> &'static str;
    /// The algorithms that `?cc=` can select.
    fn offered(&self) -> Vec<String>;
    /// The full name of an algorithm; `None` where the transport does not have it.
    fn resolve(&self, name: &str) -> Option<String>;
    /// The algorithm of requests without `?cc=`.
    fn default_algorithm(&self) -> String;
    /// Selects the algorithm; returns the name that the transport then reports.
    fn select(&self, name: &str) -> Result<String, String>;
    /// The state of the sender.
    fn snapshot(&self) -> Option<Snapshot>;
    /// The reason why the selected algorithm was replaced, once.
    fn take_failure(&self) -> Option<String> {
        None
    }
}

/// A connection.
pub(crate) struct ServedConnection {
    pub(crate) peer: IpAddr,
    pub(crate) evictable: Evictable,
    pub(crate) transport: Box<dyn ServerTransport>,
    /// The transport accepts no more data of a response. Over TCP its send buffer shows that.
    pub(crate) is_blocked: AtomicBool,
    pub(crate) state: Mutex<ServedState>,
    monitor: Mutex<Monitor>,
}

/// The changing state of a connection.
#[derive(Default)]
pub(crate) struct ServedState {
    slot: Option<Slot>,
    /// The algorithm of the first transfer.
    pub(crate) algorithm: Option<String>,
    /// Number of transfers.
    pub(crate) transfers: u32,
    pub(crate) current: Option<Arc<Transfer>>,
}

impl ServedConnection {
    pub(crate) fn new(
        server: &ServerState,
        peer: IpAddr,
        evictable: Evictable,
        transport: Box<dyn ServerTransport>,
    ) -> Self {
        let monitor = Mutex::new(Monitor::new(&server.limits));
        Self { peer, evictable, transport, is_blocked: AtomicBool::new(false), state: Mutex::default(), monitor }
    }

    /// Admits the connection, whose client presented a valid token.
    pub(crate) fn authenticate(&self, server: &Arc<ServerState>) -> Result<(), LimitReached> {
        let mut state = lock(&self.state);
        if state.slot.is_none() {
            if !self.evictable.protect() {
                return Err(LimitReached::Server);
            }
            state.slot = Some(server.acquire_slot(self.peer)?);
            lock(&server.admission).on_valid_token(self.peer, server.age_ns());
        }
        Ok(())
    }

    /// The current transfer, unless it has ended.
    pub(crate) fn running(&self) -> Option<Arc<Transfer>> {
        lock(&self.state).current.clone().filter(|transfer| !transfer.has_ended())
    }

    /// Updates the current transfer and the limits of the connection with the state of the sender; returns how the
    /// transfer ends if it ends now. Unless that is [`End::Complete`], the caller must end the connection, which may be
    /// between two transfers.
    pub(crate) fn observe(&self, server: &ServerState) -> Option<End> {
        let snapshot = self.transport.snapshot()?;
        let transfer = self.running();
        if let Some(failure) = self.transport.take_failure() {
            let why = server.on_failure(&failure);
            if let Some(transfer) = transfer {
                transfer.end(End::Failed, why);
            }
            return Some(End::Failed);
        }
        let activity =
            Activity { has_transfer: transfer.is_some(), is_blocked: self.is_blocked.load(Ordering::Relaxed) };
        let ended = transfer.as_ref().and_then(|transfer| transfer.observe(&snapshot));
        if ended == Some(End::Complete) {
            count(&server.counters.complete);
        }
        let Some((end, why)) = lock(&self.monitor).observe(server.age_ns(), &snapshot, activity) else { return ended };
        if let Some(transfer) = transfer.filter(|_| ended.is_none()) {
            transfer.end(end, why);
            if end == End::Breaker {
                count(&server.counters.broken);
            }
        }
        Some(end)
    }

    /// Ends the current transfer.
    pub(crate) fn end(&self, end: End, why: &str) {
        if let Some(transfer) = self.running() {
            transfer.end(end, why);
        }
    }
}

impl Drop for ServedConnection {
    fn drop(&mut self) {
        self.end(End::Disconnected, "the connection was closed before all data were acknowledged");
    }
}
