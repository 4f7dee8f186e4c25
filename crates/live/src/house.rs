//! What all connections of a server share.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::watch;

use crate::account::{lock, Accounts, Client, End, Transfer};
use crate::admission::{host, Admission, Place, Room};
use crate::clock::{now, since_ns};
use crate::counters::{count, Counters};
use crate::limits::Limits;
use crate::look::Look;
use crate::tokens::Tokens;

/// The server's common state.
pub(crate) struct House {
    pub(crate) limits: Arc<Limits>,
    pub(crate) tokens: Tokens,
    pub(crate) clients: Vec<Arc<Client>>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) admission: Mutex<Admission>,
    pub(crate) unproven: Mutex<Room>,
    pub(crate) accounts: Mutex<Accounts>,
    pub(crate) epoch: Instant,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) quic: bool,
    guests: Mutex<(usize, BTreeMap<[u8; 9], usize>)>,
}

/// Why somebody with a valid token does not get in.
pub(crate) enum Full {
    House,
    Address,
}

impl House {
    pub(crate) fn new(limits: Limits, tokens: Tokens, stop: watch::Receiver<bool>, quic: bool) -> Self {
        let client =
            |name: &str| Client { name: name.to_owned(), running: AtomicUsize::new(0), free_ns: Mutex::new(0) };
        Self {
            clients: tokens.names().map(|name| Arc::new(client(name))).collect(),
            admission: Mutex::new(Admission::new(&limits)),
            unproven: Mutex::new(Room::new(limits.unproven)),
            accounts: Mutex::new(Accounts::new(limits.transfers_kept)),
            limits: Arc::new(limits),
            tokens,
            counters: Arc::default(),
            epoch: now(),
            stop,
            quic,
            guests: Mutex::default(),
        }
    }

    pub(crate) fn age_ns(&self) -> u64 {
        since_ns(self.epoch)
    }

    /// Connections that showed a valid token and are open.
    pub(crate) fn connections(&self) -> usize {
        lock(&self.guests).0
    }

    fn seat(self: &Arc<Self>, address: IpAddr) -> Result<Seat, Full> {
        let host = host(address);
        let mut guests = lock(&self.guests);
        let here = guests.1.get(&host).copied().unwrap_or(0);
        if guests.0 >= self.limits.connections {
            return Err(Full::House);
        }
        if here >= self.limits.connections_per_address {
            return Err(Full::Address);
        }
        guests.0 += 1;
        guests.1.insert(host, here + 1);
        Ok(Seat { house: Arc::clone(self), host })
    }
}

/// A connection that showed a valid token.
pub(crate) struct Seat {
    house: Arc<House>,
    host: [u8; 9],
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut guests = lock(&self.house.guests);
        guests.0 -= 1;
        match guests.1.get_mut(&self.host) {
            Some(here) if *here > 1 => *here -= 1,
            _ => {
                guests.1.remove(&self.host);
            }
        }
    }
}

/// Says so when a connection's code panicked.
pub(crate) struct Guard(pub(crate) Arc<House>);

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            count(&self.0.counters.panics);
        }
    }
}

/// How a connection is carried: what differs between TCP and QUIC.
pub(crate) trait Carrier: Send + Sync {
    /// `tcp` or `quic`.
    fn transport(&self) -> &'static str;
    /// Names that `?cc=` may have here.
    fn offered(&self) -> Vec<String>;
    /// What this name means here, if anything.
    fn meaning(&self, name: &str) -> Option<String>;
    /// What is used where nothing is named.
    fn usual(&self) -> String;
    /// Sends with it from now on; answers what the transport says that it is.
    fn choose(&self, name: &str) -> Result<String, String>;
    /// What the transport says.
    fn look(&self) -> Option<Look>;
}

/// One connection.
pub(crate) struct Link {
    pub(crate) peer: IpAddr,
    pub(crate) place: Place,
    pub(crate) carrier: Box<dyn Carrier>,
    pub(crate) state: Mutex<LinkState>,
}

/// What changes on it.
#[derive(Default)]
pub(crate) struct LinkState {
    pub(crate) seat: Option<Seat>,
    pub(crate) algorithm: Option<String>,
    pub(crate) transfers: u32,
    pub(crate) current: Option<Arc<Transfer>>,
}

impl Link {
    pub(crate) fn new(peer: IpAddr, place: Place, carrier: Box<dyn Carrier>) -> Self {
        Self { peer, place, carrier, state: Mutex::default() }
    }

    /// Somebody showed a valid token on it.
    pub(crate) fn prove(&self, house: &Arc<House>) -> Result<(), Full> {
        let mut state = lock(&self.state);
        if state.seat.is_none() {
            if !self.place.keep() {
                return Err(Full::House);
            }
            state.seat = Some(house.seat(self.peer)?);
            lock(&house.admission).proved(self.peer, house.age_ns());
        }
        Ok(())
    }

    /// The transfer that runs on it.
    pub(crate) fn running(&self) -> Option<Arc<Transfer>> {
        lock(&self.state).current.clone().filter(|transfer| !transfer.has_ended())
    }

    /// Looks at the transfer that runs; answers how it ended, if it just did.
    pub(crate) fn watch(&self, house: &House) -> Option<End> {
        let transfer = self.running()?;
        let end = transfer.look(&self.carrier.look()?)?;
        match end {
            End::Whole => count(&house.counters.whole),
            End::Breaker => count(&house.counters.broken),
            _ => {}
        }
        Some(end)
    }

    /// Ends what runs.
    pub(crate) fn end(&self, end: End, why: &str) {
        if let Some(transfer) = self.running() {
            transfer.end(end, why);
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end(End::Gone, "the connection was closed before all was acknowledged");
    }
}
