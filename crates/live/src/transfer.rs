//! A transfer and its account: the request, samples of the sender, and the end of the transfer.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{json, Value};

use crate::limits::Limits;
use cwndlab_fetch::clock::{now, since_ns, unix_ns};
use cwndlab_fetch::fetch::FAILED;
use cwndlab_fetch::snapshot::{Samples, Snapshot};

/// Locks a value that is consistent even after a panic of another holder.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client, identified by its token.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) running: AtomicUsize,
    /// Time at which its rate limit allows the next byte, ns since the server's start.
    pub(crate) free_ns: Mutex<u64>,
}

impl Client {
    /// Counts another transfer; false if `max` are running.
    pub(crate) fn begin(&self, max: usize) -> bool {
        self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now < max).then_some(now + 1)).is_ok()
    }
}

/// The reason for the end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Every byte was acknowledged.
    Complete,
    /// The client closed the connection.
    Disconnected,
    /// The circuit breaker ended it.
    Breaker,
    /// The rate of the client was below the minimum.
    Slow,
    /// The transfer exceeded the maximum duration.
    Long,
    /// The algorithm failed.
    Failed,
    /// The server stopped.
    Stopped,
}

impl End {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Disconnected => "disconnected",
            Self::Breaker => "breaker",
            Self::Slow => "slow",
            Self::Long => "long",
            Self::Failed => FAILED,
            Self::Stopped => "stopped",
        }
    }
}

/// The request of a transfer.
#[derive(Clone, Debug)]
pub(crate) struct TransferRequest {
    pub(crate) size: u64,
    pub(crate) first: u64,
    pub(crate) length: u64,
    pub(crate) algorithm: String,
    pub(crate) transport: &'static str,
    pub(crate) address: IpAddr,
    /// Earlier transfers of the connection.
    pub(crate) earlier: u32,
}

#[derive(Debug)]
struct State {
    written: u64,
    base: Snapshot,
    last: Snapshot,
    samples: Samples,
    ended: Option<(End, u64, String)>,
}

/// A transfer.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) id: String,
    pub(crate) owner: usize,
    pub(crate) request: TransferRequest,
    client: Arc<Client>,
    started_unix_ns: u64,
    began: Instant,
    limits: Arc<Limits>,
    state: Mutex<State>,
}

/// Maximum of unacknowledged bytes after a client has received all data: QUIC acknowledges every second packet, with a
/// delay.
const MAX_UNACKED: u64 = 1 << 15;

impl Transfer {
    /// Begins a transfer, which [`Client::begin`] has counted.
    pub(crate) fn new(
        id: String,
        owner: usize,
        client: Arc<Client>,
        request: TransferRequest,
        base: Snapshot,
        limits: Arc<Limits>,
    ) -> Self {
        let first = base.since(&base);
        let mut samples = Samples::new(limits.samples, limits.sample_interval.as_nanos() as u64);
        samples.offer(first.clone());
        let state = State { written: 0, base, last: first, samples, ended: None };
        Self { id, owner, request, client, started_unix_ns: unix_ns(), began: now(), limits, state: Mutex::new(state) }
    }

    /// Time since the start of the transfer, ns.
    pub(crate) fn age_ns(&self) -> u64 {
        since_ns(self.began)
    }

    /// `bytes` more bytes were passed to the transport.
    pub(crate) fn written(&self, bytes: u64) {
        lock(&self.state).written += bytes;
    }

    /// Updates the transfer with the state of the sender; returns the reason if it has ended. Unless the transfer is
    /// complete, the caller must then end the connection.
    pub(crate) fn observe(&self, snapshot: &Snapshot) -> Option<End> {
        let mut state = lock(&self.state);
        if let Some((end, ..)) = state.ended {
            return Some(end);
        }
        let snapshot = Snapshot { time_ns: self.age_ns(), ..snapshot.since(&state.base) };
        state.samples.offer(snapshot.clone());
        state.last = snapshot.clone();
        // Acknowledged bytes include the overhead of encryption, so this is true shortly before the last byte is
        // acknowledged.
        let is_acknowledged =
            state.written == self.request.length && snapshot.sender.counters.acked_bytes >= self.request.length;
        let verdict = if is_acknowledged && !snapshot.sender.waiting {
            Some((End::Complete, String::new()))
        } else if snapshot.closed {
            Some((End::Disconnected, "the connection was closed before all data were acknowledged".to_owned()))
        } else if snapshot.time_ns > self.limits.duration.as_nanos() as u64 {
            let max = self.limits.duration.as_secs_f64();
            Some((End::Long, format!("the limit of a transfer is {max} s")))
        } else {
            None
        };
        let (end, why) = verdict?;
        self.close(&mut state, end, why);
        Some(end)
    }

    /// Ends the transfer for `end`, unless it has ended.
    pub(crate) fn end(&self, end: End, why: impl Into<String>) {
        let mut state = lock(&self.state);
        if state.ended.is_none() {
            self.close(&mut state, end, why.into());
        }
    }

    /// Completes the transfer: the client sent another request on the same connection, so it has received all data. A
    /// client that pipelines requests has more than [`MAX_UNACKED`] bytes unacknowledged.
    pub(crate) fn complete_by_request(&self) {
        let mut state = lock(&self.state);
        let is_near = state.last.sender.counters.acked_bytes + MAX_UNACKED >= self.request.length;
        if state.ended.is_none() && state.written == self.request.length && is_near {
            self.close(&mut state, End::Complete, String::new());
        }
    }

    fn close(&self, state: &mut State, end: End, why: String) {
        state.ended = Some((end, self.age_ns(), why));
        let State { samples, last, .. } = state;
        samples.close(last);
        samples.shrink();
        self.client.running.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether all bytes were passed to the transport.
    pub(crate) fn is_handed(&self) -> bool {
        lock(&self.state).written == self.request.length
    }

    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.state).ended.is_some()
    }

    /// Whether the lifetime of the account has expired.
    fn is_expired(&self) -> bool {
        let kept = self.limits.account.as_nanos() as u64;
        lock(&self.state).ended.as_ref().is_some_and(|(_, at, _)| self.age_ns().saturating_sub(*at) > kept)
    }

    pub(crate) fn json(&self) -> Value {
        let state = lock(&self.state);
        let (end, end_ns, why) = match &state.ended {
            Some((end, at, why)) => (Some(end.name()), Some(*at), Some(why.as_str()).filter(|why| !why.is_empty())),
            None => (None, None, None),
        };
        json!({
            "transfer": self.id,
            "client": self.client.name,
            "address": self.request.address.to_canonical().to_string(),
            "transport": self.request.transport,
            "algorithm": self.request.algorithm,
            "size_bytes": self.request.size,
            "first_byte": self.request.first,
            "requested_bytes": self.request.length,
            "written_bytes": state.written,
            "transfers_before": self.request.earlier,
            "rate_limit_bps": self.limits.rate_bps,
            "started_unix_ns": self.started_unix_ns,
            "ended_unix_ns": end_ns.map(|at| self.started_unix_ns + at),
            "ended": end,
            "why": why,
            "last": state.last.object(),
            "samples": state.samples.json(),
        })
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // The connection ended, and no other reason was recorded.
        self.end(End::Disconnected, "");
    }
}

/// The accounts of transfers, at most `max`. A new one evicts the oldest account of an ended transfer.
#[derive(Debug)]
pub(crate) struct Accounts {
    max: usize,
    transfers: VecDeque<Arc<Transfer>>,
}

impl Accounts {
    pub(crate) fn new(max: usize) -> Self {
        Self { max: max.max(1), transfers: VecDeque::new() }
    }

    /// Adds a transfer; false if the table is full of running transfers.
    pub(crate) fn add(&mut self, transfer: Arc<Transfer>) -> bool {
        if self.transfers.len() >= self.max {
            let Some(old) = self.transfers.iter().position(|one| one.has_ended()) else { return false };
            self.transfers.remove(old);
        }
        self.transfers.push_back(transfer);
        true
    }

    /// Drops the expired accounts; returns whether there were any.
    pub(crate) fn expire(&mut self) -> bool {
        let before = self.transfers.len();
        self.transfers.retain(|one| !one.is_expired());
        self.transfers.len() < before
    }

    /// The transfer with this ID; `None` for other clients than its owner.
    pub(crate) fn find(&self, id: &str, owner: usize) -> Option<Arc<Transfer>> {
        self.transfers.iter().find(|one| one.owner == owner && one.id == id).cloned()
    }
}
