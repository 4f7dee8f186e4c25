//! The account of a transfer: what was asked, what the sender's transport said meanwhile, and how it ended.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{json, Value};

use crate::breaker::Breaker;
use crate::clock::{now, since_ns, unix_ns};
use crate::limits::Limits;
use crate::look::{Look, Samples};

/// Locks; whoever died with the lock in hand left nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Somebody with a token.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) running: AtomicUsize,
    /// When its rate allows the next byte, ns since the server's start.
    pub(crate) free_ns: Mutex<u64>,
}

impl Client {
    /// One more transfer, unless it has as many as it may.
    pub(crate) fn begin(&self, most: usize) -> bool {
        self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now < most).then_some(now + 1)).is_ok()
    }
}

/// How a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Every byte was acknowledged.
    Whole,
    /// The client went away.
    Gone,
    /// The circuit breaker.
    Breaker,
    /// The client read too slowly.
    Slow,
    /// It took too long.
    Long,
    /// The server stopped.
    Stopped,
}

impl End {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Gone => "gone",
            Self::Breaker => "breaker",
            Self::Slow => "slow",
            Self::Long => "long",
            Self::Stopped => "stopped",
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) size: u64,
    pub(crate) first: u64,
    pub(crate) length: u64,
    pub(crate) algorithm: String,
    pub(crate) transport: &'static str,
    pub(crate) address: IpAddr,
    /// Transfers that the connection had before.
    pub(crate) earlier: u32,
}

#[derive(Debug)]
struct State {
    handed: u64,
    base: Look,
    last: Look,
    samples: Samples,
    breaker: Breaker,
    progress: (u64, u64),
    ended: Option<(End, u64, String)>,
}

/// One transfer.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) id: String,
    pub(crate) owner: usize,
    pub(crate) asked: Asked,
    client: Arc<Client>,
    started_unix_ns: u64,
    began: Instant,
    limits: Arc<Limits>,
    state: Mutex<State>,
}

/// So much may be unacknowledged by a client that has everything: QUIC's acknowledgements follow packets in pairs, and late.
const ACKS_BEHIND: u64 = 1 << 15;

impl Transfer {
    /// Begins the account; the client's count of running transfers was raised before.
    pub(crate) fn new(
        id: String,
        owner: usize,
        client: Arc<Client>,
        asked: Asked,
        base: Look,
        limits: Arc<Limits>,
    ) -> Self {
        let first = base.since(&base);
        let mut samples = Samples::new(limits.samples, limits.sample_interval.as_nanos() as u64);
        samples.offer(first.clone());
        let state = State {
            handed: 0,
            base,
            last: first.clone(),
            samples,
            breaker: Breaker::new(limits.envelope, first),
            progress: (0, 0),
            ended: None,
        };
        Self { id, owner, asked, client, started_unix_ns: unix_ns(), began: now(), limits, state: Mutex::new(state) }
    }

    /// Since its begin, ns.
    pub(crate) fn age_ns(&self) -> u64 {
        since_ns(self.began)
    }

    /// So many bytes went to the transport.
    pub(crate) fn handed(&self, bytes: u64) {
        lock(&self.state).handed += bytes;
    }

    /// Takes a look; answers how the transfer ends by it, if it does. The caller then ends the connection, unless it
    /// ended whole.
    pub(crate) fn look(&self, look: &Look) -> Option<End> {
        let mut state = lock(&self.state);
        if let Some((end, ..)) = state.ended {
            return Some(end);
        }
        let look = Look { time_ns: self.age_ns(), ..look.since(&state.base) };
        state.samples.offer(look.clone());
        state.last = look.clone();
        // What encrypts it is acknowledged too, so this holds a moment before the last byte is.
        let all = state.handed == self.asked.length && look.acked_bytes >= self.asked.length;
        let verdict = if all && look.idle {
            Some((End::Whole, String::new()))
        } else if look.closed {
            Some((End::Gone, "the connection was closed before all was acknowledged".to_owned()))
        } else if look.time_ns > self.limits.duration.as_nanos() as u64 {
            let most = self.limits.duration.as_secs_f64();
            Some((End::Long, format!("a transfer may take {most} s here")))
        } else if let Some(why) = state.breaker.look(&look) {
            Some((End::Breaker, why))
        } else {
            self.slow(&mut state, &look).map(|why| (End::Slow, why))
        };
        let (end, why) = verdict?;
        self.close(&mut state, end, why);
        Some(end)
    }

    fn slow(&self, state: &mut State, look: &Look) -> Option<String> {
        let (since, acked) = state.progress;
        let patience = self.limits.patience.as_nanos() as u64;
        if look.time_ns - since < patience {
            return None;
        }
        state.progress = (look.time_ns, look.acked_bytes);
        let seconds = (look.time_ns - since) as f64 * 1e-9;
        let rate = 8.0 * look.acked_bytes.saturating_sub(acked) as f64 / seconds;
        let least = self.limits.progress_bps;
        (rate < least as f64).then(|| format!("{rate:.0} bit/s over {seconds:.0} s, {least} bit/s are the least"))
    }

    /// Ends it for a reason from outside; what ended before stays as it is.
    pub(crate) fn end(&self, end: End, why: impl Into<String>) {
        let mut state = lock(&self.state);
        if state.ended.is_none() {
            self.close(&mut state, end, why.into());
        }
    }

    /// The client has it all: it said so, by asking for something else on the same connection. Who asks ahead of what it has
    /// taken is not believed.
    pub(crate) fn received(&self) {
        let mut state = lock(&self.state);
        let near = state.last.acked_bytes + ACKS_BEHIND >= self.asked.length;
        if state.ended.is_none() && state.handed == self.asked.length && near {
            self.close(&mut state, End::Whole, String::new());
        }
    }

    fn close(&self, state: &mut State, end: End, why: String) {
        state.ended = Some((end, self.age_ns(), why));
        let State { samples, last, .. } = state;
        samples.close(last);
        samples.shrink();
        self.client.running.fetch_sub(1, Ordering::AcqRel);
    }

    /// All of it went to the transport.
    pub(crate) fn is_handed(&self) -> bool {
        lock(&self.state).handed == self.asked.length
    }

    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.state).ended.is_some()
    }

    /// Whether its account has been kept for as long as accounts are.
    fn is_old(&self) -> bool {
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
            "address": self.asked.address.to_canonical().to_string(),
            "transport": self.asked.transport,
            "algorithm": self.asked.algorithm,
            "size_bytes": self.asked.size,
            "first_byte": self.asked.first,
            "asked_bytes": self.asked.length,
            "handed_bytes": state.handed,
            "transfers_before": self.asked.earlier,
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
        // Whoever carried it is gone without a word.
        self.end(End::Gone, "");
    }
}

/// The accounts, never more than `most`; the oldest that ended gives way.
#[derive(Debug)]
pub(crate) struct Accounts {
    most: usize,
    kept: VecDeque<Arc<Transfer>>,
}

impl Accounts {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), kept: VecDeque::new() }
    }

    /// Adds one; refuses where all are running.
    pub(crate) fn add(&mut self, transfer: Arc<Transfer>) -> bool {
        if self.kept.len() >= self.most {
            let Some(old) = self.kept.iter().position(|one| one.has_ended()) else { return false };
            self.kept.remove(old);
        }
        self.kept.push_back(transfer);
        true
    }

    /// Drops the accounts that are old; answers whether there were any.
    pub(crate) fn expire(&mut self) -> bool {
        let before = self.kept.len();
        self.kept.retain(|one| !one.is_old());
        self.kept.len() < before
    }

    /// The account of this name, for its owner alone.
    pub(crate) fn find(&self, id: &str, owner: usize) -> Option<Arc<Transfer>> {
        self.kept.iter().find(|one| one.owner == owner && one.id == id).cloned()
    }
}
