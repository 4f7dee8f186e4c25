//! Admission control under overload: token buckets per address and per prefix, and eviction of the oldest waiting
//! connection.
//!
//! A flood from one address or one network empties its own buckets. A flood from many networks cannot be distinguished
//! from legitimate new clients before they send data. Therefore a connection gets no resources except its socket before
//! its first byte, idle connections are evicted first, and only a TLS client hello consumes one of the handshakes that
//! all new clients share.
//!
//! Tables are ordered by complete keys instead of hashes, so that two hosts never share an entry.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::limits::Limits;

const SECOND: u64 = 1_000_000_000;

/// Maximum number of entries of a table.
const MAX_ENTRIES: usize = 1 << 16;

/// Number of entries at which a table first removes expired entries.
const FIRST_SWEEP: usize = 1 << 10;

/// Minimum time between two sweeps of a full table.
const SWEEP_INTERVAL: Duration = Duration::from_millis(10);

/// Time for which an address is known after a valid token.
const KNOWN_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// Depth of a bucket, in seconds of its rate.
const BURST: u64 = 4;

/// A token bucket as one number: the time at which it is full again (the generic cell rate algorithm, ITU-T I.371).
#[derive(Clone, Copy, Debug)]
struct TokenBucket {
    gap_ns: u64,
    depth_ns: u64,
}

impl TokenBucket {
    fn new(per_s: u32, seconds: u64) -> Self {
        Self { gap_ns: SECOND / u64::from(per_s.max(1)), depth_ns: seconds * SECOND }
    }

    /// Takes one token at `now`. Returns the time at which the bucket is full again; `None` where it is empty.
    fn take(self, full_ns: u64, now_ns: u64) -> Option<u64> {
        let full = full_ns.max(now_ns) + self.gap_ns;
        (full - now_ns <= self.depth_ns.max(self.gap_ns)).then_some(full)
    }
}

/// Expiry times by key, at most `MAX_ENTRIES`. Sweeps remove expired entries.
#[derive(Debug)]
struct Table<K> {
    times: BTreeMap<K, u64>,
    sweep_at_len: usize,
    next_sweep_ns: u64,
}

impl<K: Ord + Copy> Table<K> {
    fn new() -> Self {
        Self { times: BTreeMap::new(), sweep_at_len: FIRST_SWEEP, next_sweep_ns: 0 }
    }

    /// The time of this key; 0 for a missing key.
    fn get(&self, key: K) -> u64 {
        self.times.get(&key).copied().unwrap_or(0)
    }

    /// Whether the time of this key can be stored.
    fn has_room(&mut self, key: K, now_ns: u64) -> bool {
        if self.times.len() >= self.sweep_at_len && now_ns >= self.next_sweep_ns {
            self.times.retain(|_, time| *time > now_ns);
            // A sweep of n entries follows at least n / 2 insertions, or the interval.
            self.sweep_at_len = (2 * self.times.len()).clamp(FIRST_SWEEP, MAX_ENTRIES);
            self.next_sweep_ns =
                if self.times.len() < MAX_ENTRIES { 0 } else { now_ns + SWEEP_INTERVAL.as_nanos() as u64 };
        }
        self.times.len() < MAX_ENTRIES || self.times.contains_key(&key)
    }

    fn set(&mut self, key: K, time_ns: u64) {
        self.times.insert(key, time_ns);
    }

    /// Drops the entry with the earliest time.
    fn drop_earliest(&mut self) {
        if let Some(key) = self.times.iter().min_by_key(|(_, time)| **time).map(|(key, _)| *key) {
            self.times.remove(&key);
        }
    }
}

/// Key of a host: an IPv4 address, or a /64 of IPv6.
type Host = [u8; 9];

/// Key of a network: a /24 of IPv4, or a /48 of IPv6.
type Prefix = [u8; 7];

/// The token buckets of addresses, prefixes and handshakes.
#[derive(Debug)]
pub(crate) struct Admission {
    address: TokenBucket,
    prefix: TokenBucket,
    handshake: TokenBucket,
    /// Times at which the buckets of hosts are full again.
    addresses: Table<Host>,
    /// Times at which the buckets of networks are full again.
    prefixes: Table<Prefix>,
    /// Times until which hosts are known. Known hosts have separate buckets, which floods from other hosts cannot
    /// empty.
    known: Table<Host>,
    known_addresses: Table<Host>,
    handshakes: u64,
}

fn prefix(address: IpAddr) -> Prefix {
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

/// The key of a host: an IPv6 host can use all addresses of its /64.
pub(crate) fn host(address: IpAddr) -> Host {
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
            address: TokenBucket::new(limits.attempts.per_address_per_s, BURST),
            prefix: TokenBucket::new(limits.attempts.per_prefix_per_s, BURST),
            handshake: TokenBucket::new(limits.attempts.handshakes_per_s, 1),
            addresses: Table::new(),
            prefixes: Table::new(),
            known: Table::new(),
            known_addresses: Table::new(),
            handshakes: 0,
        }
    }

    /// Whether this address may connect now; otherwise its connection is closed immediately. Times are in ns since the
    /// server's start.
    ///
    /// A new host is rejected while a table is full of hosts whose buckets are not full again. With the default limits
    /// that takes more than half a million admitted attempts per second.
    pub(crate) fn attempt(&mut self, address: IpAddr, now_ns: u64) -> bool {
        let host = host(address);
        let net = prefix(address);
        // A known host does not share its prefix's bucket.
        if self.known.get(host) > now_ns {
            let Some(full) = self.address.take(self.known_addresses.get(host), now_ns) else { return false };
            if self.known_addresses.has_room(host, now_ns) {
                self.known_addresses.set(host, full);
            }
            return true;
        }
        let Some(address_full) = self.address.take(self.addresses.get(host), now_ns) else { return false };
        let Some(prefix_full) = self.prefix.take(self.prefixes.get(net), now_ns) else { return false };
        if !(self.addresses.has_room(host, now_ns) && self.prefixes.has_room(net, now_ns)) {
            return false;
        }
        self.addresses.set(host, address_full);
        self.prefixes.set(net, prefix_full);
        true
    }

    /// Whether another handshake may begin.
    pub(crate) fn handshake(&mut self, address: IpAddr, now_ns: u64) -> bool {
        if self.known.get(host(address)) > now_ns {
            return true;
        }
        let full = self.handshake.take(self.handshakes, now_ns);
        self.handshakes = full.unwrap_or(self.handshakes);
        full.is_some()
    }

    /// Records that a client at this address presented a valid token. A full table drops the host with the oldest
    /// token.
    pub(crate) fn on_valid_token(&mut self, address: IpAddr, now_ns: u64) {
        let host = host(address);
        if !self.known.has_room(host, now_ns) {
            self.known.drop_earliest();
        }
        self.known.set(host, now_ns + KNOWN_LIFETIME.as_nanos() as u64);
    }
}

/// Whether a connection may still be evicted for a new one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evictable(Arc<AtomicU8>);

const OPEN: u8 = 0;
const PROTECTED: u8 = 1;
const EVICTED: u8 = 2;

impl Evictable {
    /// Protects the connection from eviction; false if it has been evicted.
    pub(crate) fn protect(&self) -> bool {
        self.0.compare_exchange(OPEN, PROTECTED, Ordering::AcqRel, Ordering::Acquire).is_ok()
            || self.0.load(Ordering::Acquire) == PROTECTED
    }

    fn evict(&self) -> bool {
        self.0.compare_exchange(OPEN, EVICTED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// A fixed number of waiting connections. A new connection evicts the oldest one that is still waiting.
#[derive(Debug)]
pub(crate) struct WaitingList {
    entries: Vec<Option<(Evictable, AbortHandle)>>,
    next: usize,
}

impl WaitingList {
    pub(crate) fn new(size: usize) -> Self {
        Self { entries: (0..size.max(1)).map(|_| None).collect(), next: 0 }
    }

    /// Adds a connection; returns whether another was evicted.
    pub(crate) fn push(&mut self, evictable: Evictable, task: AbortHandle) -> bool {
        let at = self.next;
        self.next = (at + 1) % self.entries.len();
        let before = self.entries[at].replace((evictable, task));
        before.is_some_and(|(evictable, task)| {
            let is_evicted = !task.is_finished() && evictable.evict();
            if is_evicted {
                task.abort();
            }
            is_evicted
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::AttemptLimits;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn four(d: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, d).into()
    }

    fn limits() -> Limits {
        let attempts = AttemptLimits { per_address_per_s: 10, per_prefix_per_s: 100, handshakes_per_s: 50 };
        Limits { attempts, ..Limits::default() }
    }

    fn without_prefix_limit() -> Limits {
        let attempts = AttemptLimits { per_prefix_per_s: u32::MAX, ..limits().attempts };
        Limits { attempts, ..limits() }
    }

    /// By hand: a burst of four seconds at 10 a second, then 10 a second.
    #[test]
    fn an_address_has_its_burst_and_then_its_rate() {
        let mut admission = Admission::new(&limits());
        assert_eq!((0..1000).filter(|_| admission.attempt(four(1), 0)).count(), 40);
        // Ten a second for three seconds, attempted every millisecond.
        let later = (0..3000).filter(|at| admission.attempt(four(1), at * 1_000_000)).count();
        assert!((29..=31).contains(&later), "{later}");
    }

    #[test]
    fn a_flooding_network_is_limited_and_others_and_known_hosts_are_not() {
        let mut admission = Admission::new(&limits());
        admission.on_valid_token(four(250), 0);
        // By hand: a burst is four seconds of the prefix's 100 per second, although each of 250 hosts may burst to 40.
        let admitted: usize = (0..250).map(|host| (0..10).filter(|_| admission.attempt(four(host), 1)).count()).sum();
        assert_eq!(admitted, 400);
        assert!((0..250).all(|host| !admission.attempt(four(host), 1)));
        assert!(admission.attempt(four(250), 1), "known");
        assert!(admission.attempt(Ipv4Addr::new(198, 51, 100, 1).into(), 1), "elsewhere");
    }

    /// In a hash table of 65,536 slots without collision handling, some of 4,000 hosts would share a slot.
    #[test]
    fn every_host_has_a_separate_bucket_among_many_hosts() {
        let mut admission = Admission::new(&without_prefix_limit());
        let host = |n: u32| IpAddr::from(Ipv4Addr::from(n << 8));
        (0..1000).for_each(|n| admission.on_valid_token(host(1 << 20 | n), 0));
        for n in 0..4000 {
            assert_eq!((0..50).filter(|_| admission.attempt(host(n), 0)).count(), 40, "{n}");
        }
        assert_eq!((0..50).filter(|_| admission.attempt(host(1 << 20), 0)).count(), 40, "known");
        // New hosts are not known: they share the rate of handshakes.
        assert_eq!((0..4000).filter(|&n| admission.handshake(host(n), 0)).count(), 50);
    }

    /// The rate of an address is 10 per second: after one attempt its bucket is full again in 100 ms.
    #[test]
    fn a_table_is_bounded_and_drops_hosts_whose_buckets_are_full() {
        let mut admission = Admission::new(&without_prefix_limit());
        let newcomer = |n: u32| IpAddr::from(Ipv4Addr::from(n << 8));
        admission.on_valid_token(newcomer(200_000), 0);
        let max = MAX_ENTRIES as u32;
        assert!((0..max).all(|n| admission.attempt(newcomer(n), 0)));
        assert!(!admission.attempt(newcomer(max), 1), "full");
        assert!(admission.attempt(newcomer(200_000), 1), "a known host has its entry");
        assert!(admission.attempt(newcomer(5), 1), "a host with an entry has its bucket");
        let later = 200_000_000;
        assert!((0..max).all(|n| admission.attempt(newcomer(max + n), later)));
        assert!(admission.addresses.times.len() <= MAX_ENTRIES);
        assert!(admission.attempt(newcomer(9), 2 * later));
        assert_eq!(admission.addresses.times.len(), 1);
    }

    #[test]
    fn a_full_table_of_known_hosts_drops_the_oldest() {
        let mut admission = Admission::new(&limits());
        let host = |n: u32| IpAddr::from(Ipv4Addr::from(n));
        let max = MAX_ENTRIES as u32;
        (0..=max).for_each(|n| admission.on_valid_token(host(n), u64::from(n)));
        let known = |n: u32| admission.known.get(super::host(host(n))) > 0;
        assert_eq!([known(0), known(1), known(max)], [false, true, true]);
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
        admission.on_valid_token(four(1), 0);
        assert!(admission.handshake(four(1), 0));
    }

    #[tokio::test]
    async fn the_oldest_waiting_connection_is_evicted_and_a_protected_one_is_not() {
        let mut list = WaitingList::new(2);
        let waiting = || tokio::spawn(std::future::pending::<()>());
        let tasks = [waiting(), waiting(), waiting(), waiting()];
        let entries: Vec<Evictable> = tasks.iter().map(|_| Evictable::default()).collect();
        assert!(entries[1].protect());
        let evicted: Vec<bool> = tasks
            .iter()
            .zip(&entries)
            .map(|(task, evictable)| list.push(evictable.clone(), task.abort_handle()))
            .collect();
        assert_eq!(evicted, [false, false, true, false]);
        assert!(!entries[0].protect());
        assert!(entries[1].protect());
        let [first, second, ..] = tasks;
        assert!(first.await.unwrap_err().is_cancelled());
        assert!(!second.is_finished());
        second.abort();
    }
}
