//! Who gets in when too many want to: token buckets per address and per prefix in tables of fixed size, and room for the
//! newest where somebody has to wait.
//!
//! A flood from one address or one network empties its own buckets. One from everywhere cannot be told from honest
//! newcomers before they speak; so nothing is spent on a connection before its first byte, those who do not speak give
//! way to those who come, and only who speaks TLS counts against the handshakes that all newcomers share.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::limits::Limits;

const SECOND: u64 = 1_000_000_000;

/// Buckets of a table; whoever shares one by chance (the key is drawn at the start) shares its rate.
const SLOTS: usize = 1 << 16;

/// A valid token speaks for its address so long.
const KNOWN: Duration = Duration::from_secs(24 * 3600);

/// How much more than a second's worth may come at once.
const BURST: u64 = 4;

/// A token bucket in one number: the time when it is full again (the generic cell rate algorithm of ITU-T I.371).
#[derive(Clone, Copy, Debug)]
struct Pace {
    gap_ns: u64,
    depth_ns: u64,
}

impl Pace {
    fn new(per_s: u32, seconds: u64) -> Self {
        Self { gap_ns: SECOND / u64::from(per_s.max(1)), depth_ns: seconds * SECOND }
    }

    /// When the bucket would be full again after one more at `now`; nothing where there is no more.
    fn one_more(self, full_ns: u64, now_ns: u64) -> Option<u64> {
        let full = full_ns.max(now_ns) + self.gap_ns;
        (full - now_ns <= self.depth_ns.max(self.gap_ns)).then_some(full)
    }
}

/// The tables.
#[derive(Debug)]
pub(crate) struct Admission {
    keys: RandomState,
    address: Pace,
    prefix: Pace,
    handshake: Pace,
    addresses: Vec<u64>,
    prefixes: Vec<u64>,
    known: Vec<u64>,
    handshakes: u64,
}

fn prefix(address: IpAddr) -> [u8; 7] {
    match address.to_canonical() {
        IpAddr::V4(four) => {
            let [a, b, c, _] = four.octets();
            [4, a, b, c, 0, 0, 0]
        }
        IpAddr::V6(six) => {
            let mut key = [6; 7];
            key[1..].copy_from_slice(&six.octets()[..6]);
            key
        }
    }
}

/// One who has IPv6 has a /64 of it.
pub(crate) fn host(address: IpAddr) -> [u8; 9] {
    let mut key = [0; 9];
    match address.to_canonical() {
        IpAddr::V4(four) => {
            key[0] = 4;
            key[1..5].copy_from_slice(&four.octets());
        }
        IpAddr::V6(six) => {
            key[0] = 6;
            key[1..].copy_from_slice(&six.octets()[..8]);
        }
    }
    key
}

impl Admission {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            keys: RandomState::new(),
            address: Pace::new(limits.attempts_per_address_per_s, BURST),
            prefix: Pace::new(limits.attempts_per_prefix_per_s, BURST),
            handshake: Pace::new(limits.handshakes_per_s, 1),
            addresses: vec![0; SLOTS],
            prefixes: vec![0; SLOTS],
            known: vec![0; SLOTS],
            handshakes: 0,
        }
    }

    fn slot(&self, key: impl Hash) -> usize {
        self.keys.hash_one(key) as usize % SLOTS
    }

    /// Whether this address may try now; one that may not is closed at once. Times in ns since the server's start.
    pub(crate) fn attempt(&mut self, address: IpAddr, now_ns: u64) -> bool {
        let (host, net) = (self.slot(host(address)), self.slot(prefix(address)));
        let Some(full) = self.address.one_more(self.addresses[host], now_ns) else { return false };
        // Somebody who is known does not suffer from the neighbours.
        if self.known[host] <= now_ns {
            let Some(full) = self.prefix.one_more(self.prefixes[net], now_ns) else { return false };
            self.prefixes[net] = full;
        }
        self.addresses[host] = full;
        true
    }

    /// Whether there is room for one more handshake.
    pub(crate) fn handshake(&mut self, address: IpAddr, now_ns: u64) -> bool {
        if self.known[self.slot(host(address))] > now_ns {
            return true;
        }
        let more = self.handshake.one_more(self.handshakes, now_ns);
        self.handshakes = more.unwrap_or(self.handshakes);
        more.is_some()
    }

    /// Somebody at this address showed a valid token.
    pub(crate) fn proved(&mut self, address: IpAddr, now_ns: u64) {
        let slot = self.slot(host(address));
        self.known[slot] = now_ns + KNOWN.as_nanos() as u64;
    }
}

/// Whether a connection may still be thrown out for a newcomer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place(Arc<AtomicU8>);

const OPEN: u8 = 0;
const KEPT: u8 = 1;
const LOST: u8 = 2;

impl Place {
    /// It stays; false where it was thrown out before.
    pub(crate) fn keep(&self) -> bool {
        self.0.compare_exchange(OPEN, KEPT, Ordering::AcqRel, Ordering::Acquire).is_ok()
            || self.0.load(Ordering::Acquire) == KEPT
    }

    fn take(&self) -> bool {
        self.0.compare_exchange(OPEN, LOST, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// So many may wait; whoever came as many places before the newest gives way, if still there.
#[derive(Debug)]
pub(crate) struct Room {
    places: Vec<Option<(Place, AbortHandle)>>,
    next: usize,
}

impl Room {
    pub(crate) fn new(size: usize) -> Self {
        Self { places: (0..size.max(1)).map(|_| None).collect(), next: 0 }
    }

    /// Lets one in; true where another had to go.
    pub(crate) fn enter(&mut self, place: Place, task: AbortHandle) -> bool {
        let at = self.next;
        self.next = (at + 1) % self.places.len();
        let before = self.places[at].replace((place, task));
        before.is_some_and(|(place, task)| {
            let gone = !task.is_finished() && place.take();
            if gone {
                task.abort();
            }
            gone
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn four(d: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, d).into()
    }

    fn limits() -> Limits {
        Limits {
            attempts_per_address_per_s: 10,
            attempts_per_prefix_per_s: 100,
            handshakes_per_s: 50,
            ..Limits::default()
        }
    }

    #[test]
    fn an_address_has_its_burst_and_then_its_rate() {
        let mut admission = Admission::new(&limits());
        assert_eq!((0..1000).filter(|_| admission.attempt(four(1), 0)).count(), 40);
        // Ten a second for three seconds, asked for every millisecond.
        let later = (0..3000).filter(|at| admission.attempt(four(1), at * 1_000_000)).count();
        assert!((29..=31).contains(&later), "{later}");
    }

    #[test]
    fn a_network_that_floods_is_cut_and_others_and_the_known_are_not() {
        let mut admission = Admission::new(&limits());
        admission.proved(four(250), 0);
        // By hand: a burst is four seconds of the prefix's hundred, though 250 hosts may have 40 each.
        let admitted: usize = (0..250).map(|host| (0..10).filter(|_| admission.attempt(four(host), 1)).count()).sum();
        assert_eq!(admitted, 400);
        assert!((0..250).all(|host| !admission.attempt(four(host), 1)));
        assert!(admission.attempt(four(250), 1), "known");
        assert!(admission.attempt(Ipv4Addr::new(198, 51, 100, 1).into(), 1), "elsewhere");
    }

    #[test]
    fn a_64_of_ipv6_is_one_host_and_a_mapped_address_is_ipv4() {
        let mut admission = Admission::new(&limits());
        let six = |host| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host));
        assert_eq!((0..1000).filter(|&host| admission.attempt(six(host), 0)).count(), 40);
        assert_eq!(host(Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().into()), host(four(1)));
    }

    #[test]
    fn handshakes_of_newcomers_share_a_rate() {
        let mut admission = Admission::new(&limits());
        let elsewhere = |n: u32| IpAddr::from(Ipv4Addr::from(n * 65_536));
        assert_eq!((0..1000).filter(|&n| admission.handshake(elsewhere(n), 0)).count(), 50);
        admission.proved(four(1), 0);
        assert!(admission.handshake(four(1), 0));
    }

    #[tokio::test]
    async fn the_oldest_that_waits_gives_way_and_who_is_kept_does_not() {
        let mut room = Room::new(2);
        let waiting = || tokio::spawn(std::future::pending::<()>());
        let tasks = [waiting(), waiting(), waiting(), waiting()];
        let places: Vec<Place> = tasks.iter().map(|_| Place::default()).collect();
        assert!(places[1].keep());
        let gone: Vec<bool> =
            tasks.iter().zip(&places).map(|(task, place)| room.enter(place.clone(), task.abort_handle())).collect();
        assert_eq!(gone, [false, false, true, false]);
        assert!(!places[0].keep());
        assert!(places[1].keep());
        let [first, second, ..] = tasks;
        assert!(first.await.unwrap_err().is_cancelled());
        assert!(!second.is_finished());
        second.abort();
    }
}
