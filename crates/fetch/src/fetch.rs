//! The client: fetches part of a server's stream and measures arrival times.

use cwndlab_units::Fault;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hyper::header::{HeaderMap, RETRY_AFTER};
use hyper::StatusCode;
use serde_json::{json, Value};
use tokio::time::{sleep, timeout};

use crate::client_transport::{Failure, ServerAddress, Times, Transport};
pub use crate::client_transport::{FetchOptions, ALGORITHM, FAILED, TRANSFER};
use crate::clock::{now, since_ns, unix_ns};
use crate::fetch_quic::Quic;
use crate::fetch_tcp::Tcp;
use crate::snapshot::Snapshot;
use crate::trust;

/// The result of a fetch. Times are relative to `started_unix_ns`.
#[derive(Clone, Debug, Default)]
pub struct FetchResult {
    /// The server's ID of the transfer.
    pub transfer: String,
    /// The congestion control that the server reports.
    pub algorithm: String,
    /// `tcp` or `quic`.
    pub transport: String,
    /// The server's address.
    pub address: String,
    /// Start of the name look-up, ns since 1970.
    pub started_unix_ns: u64,
    /// End of the name look-up.
    pub lookup_ns: u64,
    /// End of connection establishment; over QUIC the same as `handshake_ns`.
    pub connect_ns: u64,
    /// End of the TLS handshake.
    pub handshake_ns: u64,
    /// Arrival of the first byte.
    pub first_byte_ns: Option<u64>,
    /// Arrival of the last byte.
    pub last_byte_ns: Option<u64>,
    /// Bytes received.
    pub received_bytes: u64,
    /// Times and cumulative bytes received: at most 2,001 entries, the last arrival included.
    pub arrivals: Vec<(u64, u64)>,
    /// The receiver's state at the end, where the system reports it.
    pub receiver: Option<Snapshot>,
    /// The server's account of the transfer.
    pub sender: Option<Value>,
    /// `complete`, `cancelled`, `timeout`, `broken`, or the server's reason: `breaker`, `slow`, `long`, `stopped`.
    pub ended: String,
    /// A description of the reason; may be empty.
    pub why: String,
    /// Number of connection attempts.
    pub attempts: u32,
}

impl FetchResult {
    /// The result as an object, whose fields are those of the type.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "transfer": self.transfer,
            "algorithm": self.algorithm,
            "transport": self.transport,
            "address": self.address,
            "started_unix_ns": self.started_unix_ns,
            "lookup_ns": self.lookup_ns,
            "connect_ns": self.connect_ns,
            "handshake_ns": self.handshake_ns,
            "first_byte_ns": self.first_byte_ns,
            "last_byte_ns": self.last_byte_ns,
            "received_bytes": self.received_bytes,
            "arrivals": self.arrivals,
            "receiver": self.receiver.as_ref().map(Snapshot::object),
            "sender": self.sender,
            "ended": self.ended,
            "why": self.why,
            "attempts": self.attempts,
        })
    }
}

/// Maximum number of stored arrivals.
const MAX_ARRIVALS: usize = 2000;

/// Maximum number of connection attempts. An overloaded server closes some new connections.
const MAX_ATTEMPTS: u32 = 6;

/// Interval of checks for a cancellation.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Time limit of a request for the account of a transfer.
const ACCOUNT_TIMEOUT: Duration = Duration::from_secs(10);

/// Times and cumulative bytes received. When the table is full, every other entry is dropped.
#[derive(Debug, Default)]
struct Arrivals {
    entries: Vec<(u64, u64)>,
    gap_ns: u64,
}

impl Arrivals {
    fn add(&mut self, at_ns: u64, bytes: u64) {
        if self.entries.last().is_some_and(|&(last, _)| at_ns < last + self.gap_ns) {
            return;
        }
        if self.entries.len() == MAX_ARRIVALS {
            let mut index = 0;
            self.entries.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            let span = at_ns.saturating_sub(self.entries[0].0);
            self.gap_ns = (2 * self.gap_ns).max(span / MAX_ARRIVALS as u64 * 2);
        }
        self.entries.push((at_ns, bytes));
    }

    fn into_entries(mut self, last: Option<(u64, u64)>) -> Vec<(u64, u64)> {
        if let Some(last) = last.filter(|last| self.entries.last() != Some(last)) {
            self.entries.push(last);
        }
        self.entries
    }
}

/// Fetches part of a server's stream. `progress` is called with the bytes received and returns whether to continue;
/// `stop` cancels as well.
///
/// # Errors
///
/// A failure before the first byte of the stream. Later failures are part of the result.
pub fn fetch(
    options: &FetchOptions,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<FetchResult, Fault> {
    let server = ServerAddress::parse(&options.url)?;
    if options.first_byte >= options.size_bytes.max(1) {
        return Err(Fault::new("first_byte", "is beyond the end of the stream", "give a value below size_bytes"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|cause| Fault::new("fetch", cause.to_string(), ""))?;
    match options.transport.as_str() {
        "tcp" => runtime.block_on(run::<Tcp>(options, &server, stop, progress)),
        "quic" => runtime.block_on(run::<Quic>(options, &server, stop, progress)),
        other => Err(Fault::new("transport", format!("'{other}' is not a transport"), "write tcp or quic")),
    }
}

/// Connects, with further attempts after transient failures; returns the number of attempts as well.
async fn connect<T: Transport>(
    options: &FetchOptions,
    server: &ServerAddress,
    until: Instant,
) -> Result<(T, Times, u32), Fault> {
    let protocol: &[u8] = if options.transport == "quic" { b"h3" } else { b"http/1.1" };
    let config = trust::config(options.trust.as_deref(), protocol)?;
    let mut pause = Duration::from_millis(50);
    let mut attempt = 1;
    loop {
        let left = until.saturating_duration_since(now());
        let failure = match timeout(left, connect_once::<T>(server, config.clone())).await {
            Ok(Ok((connection, times))) => return Ok((connection, times, attempt)),
            Ok(Err(Failure::Permanent(fault))) => return Err(fault),
            Ok(Err(Failure::Transient(fault))) => fault,
            Err(_) => {
                let hint = "check that no firewall blocks its port";
                return Err(Fault::new(&options.url, "no connection within the time limit", hint));
            }
        };
        if attempt == MAX_ATTEMPTS || until.saturating_duration_since(now()) < pause {
            return Err(failure);
        }
        sleep(pause).await;
        pause *= 2;
        attempt += 1;
    }
}

async fn connect_once<T: Transport>(
    server: &ServerAddress,
    config: rustls::ClientConfig,
) -> Result<(T, Times), Failure> {
    let began = now();
    let started_unix_ns = unix_ns();
    let resolved = tokio::net::lookup_host((server.host.as_str(), server.port)).await;
    let addresses: Vec<SocketAddr> = resolved.map(Iterator::collect).unwrap_or_default();
    let Some(&address) = addresses.first() else {
        let what = format!("'{}' has no address", server.host);
        return Err(Failure::Permanent(Fault::new("url", what, "check the name and the network connection")));
    };
    let lookup_ns = since_ns(began);
    let times = Times { began, started_unix_ns, lookup_ns, connect_ns: 0, handshake_ns: 0, address };
    T::connect(server, config, &addresses, times).await
}

/// The text of an error response, at most its first 500 bytes.
async fn refusal_text<T: Transport>(connection: &mut T) -> String {
    let mut text = Vec::new();
    while let Ok(Some(chunk)) = connection.chunk().await {
        text.extend_from_slice(&chunk[..chunk.len().min(500)]);
        if text.len() >= 500 {
            break;
        }
    }
    String::from_utf8_lossy(&text).trim().to_owned()
}

/// The fault for a response other than a transfer.
async fn refused<T: Transport>(
    options: &FetchOptions,
    connection: &mut T,
    status: StatusCode,
    headers: &HeaderMap,
) -> Fault {
    let text = refusal_text(connection).await;
    let what = format!("{}: {text}", status.as_u16());
    let later = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let hint = match (status, later) {
        (StatusCode::UNAUTHORIZED, _) => "give one of the server's tokens by --token".to_owned(),
        (_, Some(seconds)) => format!("try again in {seconds} s"),
        _ => String::new(),
    };
    Fault::new(&options.url, what, hint)
}

async fn run<T: Transport>(
    options: &FetchOptions,
    server: &ServerAddress,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<FetchResult, Fault> {
    let until = now() + options.timeout;
    let (mut connection, times, attempts) = unless_stopped(stop, connect::<T>(options, server, until)).await??;
    let headers = request_transfer(options, server, &mut connection, until, stop).await?;
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let mut result = FetchResult {
        transfer: text(TRANSFER),
        algorithm: text(ALGORITHM),
        transport: options.transport.clone(),
        address: times.address.to_string(),
        started_unix_ns: times.started_unix_ns,
        lookup_ns: times.lookup_ns,
        connect_ns: times.connect_ns,
        handshake_ns: times.handshake_ns,
        attempts,
        ..FetchResult::default()
    };
    if result.transfer.is_empty() {
        return Err(Fault::new(&options.url, "is not a cwndlab server", "`cwndlab serve` starts one"));
    }
    receive(options, &mut connection, &mut result, until, times.began, stop, progress).await;
    result.receiver = connection.snapshot();
    result.sender = fetch_account(options, server, connection, &result, stop).await;
    let text = |key| result.sender.as_ref().and_then(|sender| sender[key].as_str()).unwrap_or_default().to_owned();
    let ended = text("ended");
    let why = text("why");
    let server_ended_it = result.ended == "broken" && !matches!(ended.as_str(), "" | "disconnected" | "complete");
    // A complete transfer, too, in which another algorithm replaced the requested one.
    if server_ended_it || ended == FAILED {
        (result.ended, result.why) = (ended, why);
    }
    Ok(result)
}

/// Requests the stream; returns the headers of the response.
async fn request_transfer<T: Transport>(
    options: &FetchOptions,
    server: &ServerAddress,
    connection: &mut T,
    until: Instant,
    stop: &AtomicBool,
) -> Result<HeaderMap, Fault> {
    let mut path = format!("/bytes/{}", options.size_bytes);
    if let Some(name) = &options.algorithm {
        path.push_str("?cc=");
        path.push_str(name);
    }
    let left = until.saturating_duration_since(now());
    let late = || Fault::new(&options.url, "no response within the time limit", "increase the time limit");
    let response = unless_stopped(stop, timeout(left, connection.get(server, options, &path))).await?;
    let (status, headers) = response.map_err(|_| late())??;
    if status != StatusCode::OK && status != StatusCode::PARTIAL_CONTENT {
        let refusal = timeout(ACCOUNT_TIMEOUT, refused(options, connection, status, &headers));
        return Err(unless_stopped(stop, refusal).await?.unwrap_or_else(|_| late()));
    }
    Ok(headers)
}

/// Fetches the server's account of a transfer: over its connection if the transfer is complete, else over a new one.
async fn fetch_account<T: Transport>(
    options: &FetchOptions,
    server: &ServerAddress,
    mut connection: T,
    result: &FetchResult,
    stop: &AtomicBool,
) -> Option<Value> {
    let mut received = None;
    if result.ended == "complete" {
        let request = account(options, server, &mut connection, &result.transfer);
        received = timeout(ACCOUNT_TIMEOUT, request).await.unwrap_or(None);
    }
    if received.is_none() && !stop.load(Ordering::Relaxed) {
        // The connection that carried the transfer is closed first.
        drop(connection);
        let request = async {
            let (mut connection, ..) = connect::<T>(options, server, now() + ACCOUNT_TIMEOUT).await.ok()?;
            account(options, server, &mut connection, &result.transfer).await
        };
        received = timeout(ACCOUNT_TIMEOUT, request).await.unwrap_or(None);
    }
    received
}

/// Waits for `work` unless the fetch is cancelled.
async fn unless_stopped<O>(stop: &AtomicBool, work: impl Future<Output = O>) -> Result<O, Fault> {
    let mut work = std::pin::pin!(work);
    loop {
        match timeout(STOP_CHECK, &mut work).await {
            Ok(done) => return Ok(done),
            Err(_) if stop.load(Ordering::Relaxed) => {
                return Err(Fault::new("fetch", "cancelled before the transfer began", ""))
            }
            Err(_) => {}
        }
    }
}

/// Receives the stream until its end, a failure, the time limit or a cancellation.
async fn receive<T: Transport>(
    options: &FetchOptions,
    connection: &mut T,
    result: &mut FetchResult,
    until: Instant,
    began: Instant,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64) -> bool,
) {
    let length = options.size_bytes - options.first_byte;
    let mut arrivals = Arrivals::default();
    let mut last_progress = now();
    let (ended, why) = loop {
        if result.received_bytes >= length {
            break ("complete", String::new());
        }
        let next = timeout(STOP_CHECK, connection.chunk()).await;
        let at = since_ns(began);
        match next {
            Ok(Ok(Some(chunk))) => {
                result.received_bytes += chunk.len() as u64;
                result.first_byte_ns.get_or_insert(at);
                result.last_byte_ns = Some(at);
                arrivals.add(at, result.received_bytes);
            }
            Ok(Ok(None)) => break ("broken", "the server ended the connection".to_owned()),
            Ok(Err(cause)) => break ("broken", cause),
            Err(_) => {}
        }
        if now().saturating_duration_since(last_progress) >= STOP_CHECK || result.received_bytes >= length {
            last_progress = now();
            if stop.load(Ordering::Relaxed) || !progress(result.received_bytes) {
                break ("cancelled", String::new());
            }
            if last_progress >= until {
                break ("timeout", format!("the time limit of {} s expired", options.timeout.as_secs_f64()));
            }
        }
    };
    // A complete transfer counts as complete even if it was cancelled at its last chunk.
    let ended = if result.received_bytes >= length { "complete" } else { ended };
    result.ended = String::from(ended);
    result.why = why;
    result.arrivals = arrivals.into_entries(result.last_byte_ns.map(|at| (at, result.received_bytes)));
}

/// Requests the server's account until the transfer has ended at the server as well.
async fn account<T: Transport>(
    options: &FetchOptions,
    server: &ServerAddress,
    connection: &mut T,
    id: &str,
) -> Option<Value> {
    let mut latest = None;
    for _ in 0..20 {
        let (status, _) = connection.get(server, options, &format!("/transfers/{id}")).await.ok()?;
        let mut text = Vec::new();
        while let Some(chunk) = connection.chunk().await.ok()? {
            text.extend_from_slice(&chunk);
        }
        let account: Value = serde_json::from_slice(&text).ok().filter(|_| status == StatusCode::OK)?;
        let has_ended = !account["ended"].is_null();
        latest = Some(account);
        if has_ended {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    latest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_bounded_and_include_the_first_and_the_last() {
        let mut arrivals = Arrivals::default();
        for at in 0..1_000_000 {
            arrivals.add(at * 1000, at);
        }
        let entries = arrivals.into_entries(Some((999_999_000, 999_999)));
        assert!(entries.len() <= MAX_ARRIVALS + 1 && entries.len() > MAX_ARRIVALS / 4, "{}", entries.len());
        assert_eq!(entries[0], (0, 0));
        assert_eq!(entries[entries.len() - 1], (999_999_000, 999_999));
        assert!(entries.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
