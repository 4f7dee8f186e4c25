//! The client that fetches and takes the times.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use cwndlab_linux::fault::{fault, Fault};
use hyper::header::{HeaderMap, AUTHORIZATION, HOST, RANGE, RETRY_AFTER};
use hyper::{Request, StatusCode, Uri};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::answer::{ALGORITHM, TRANSFER};
use crate::clock::{now, since_ns, unix_ns};
use crate::fetch_quic::Quic;
use crate::fetch_tcp::Tcp;
use crate::look::Look;
use crate::trust;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// `https://HOST[:PORT]` of a server.
    pub url: String,
    /// The client's token.
    pub token: String,
    /// What the server is to send with; its usual one without.
    pub algorithm: Option<String>,
    /// Length of the stream.
    pub size_bytes: u64,
    /// Where to begin in it: what is before is there already.
    pub first_byte: u64,
    /// `tcp` or `quic`.
    pub transport: String,
    /// A PEM file or a fingerprint; the system's authorities without.
    pub trust: Option<String>,
    /// For all of it.
    pub timeout: Duration,
}

/// What came of it. Times since `started_unix_ns`.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// The server's name for the transfer.
    pub transfer: String,
    /// What the server says that it sends with.
    pub algorithm: String,
    /// `tcp` or `quic`.
    pub transport: String,
    /// The server's address.
    pub address: String,
    /// When the name was looked up.
    pub started_unix_ns: u64,
    /// The name had an address.
    pub lookup_ns: u64,
    /// The connection stood; over QUIC the same as the handshake.
    pub connect_ns: u64,
    /// TLS stood.
    pub handshake_ns: u64,
    /// The first byte of the stream came.
    pub first_byte_ns: Option<u64>,
    /// The last byte that came.
    pub last_byte_ns: Option<u64>,
    /// How much came.
    pub received_bytes: u64,
    /// Times and how much had come by then; some hundreds at most, the last one always.
    pub arrivals: Vec<(u64, u64)>,
    /// The receiving side of the connection at its end, where the system tells.
    pub receiver: Option<Look>,
    /// The server's account of the transfer.
    pub sender: Option<Value>,
    /// `whole`, `cancelled`, `timeout`, `broken`, or why the server ended it: `breaker`, `slow`, `long`, `stopped`.
    pub ended: String,
    /// More of it, where there is more to say.
    pub why: String,
    /// Connections that it took.
    pub attempts: u32,
}

/// Arrivals that are kept.
const ARRIVALS: usize = 2000;

/// Attempts to get a connection: a server that is flooded closes newcomers by lot.
const ATTEMPTS: u32 = 6;

/// Between two looks at whether it is still wanted.
const GLANCE: Duration = Duration::from_millis(50);

/// For the account of a transfer that is over.
const ACCOUNT: Duration = Duration::from_secs(10);

/// Times and amounts; when full every other one goes.
#[derive(Debug, Default)]
struct Arrivals {
    kept: Vec<(u64, u64)>,
    gap_ns: u64,
}

impl Arrivals {
    fn add(&mut self, at_ns: u64, bytes: u64) {
        if self.kept.last().is_some_and(|&(last, _)| at_ns < last + self.gap_ns) {
            return;
        }
        if self.kept.len() == ARRIVALS {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            let span = at_ns.saturating_sub(self.kept[0].0);
            self.gap_ns = (2 * self.gap_ns).max(span / ARRIVALS as u64 * 2);
        }
        self.kept.push((at_ns, bytes));
    }

    fn finished(mut self, last: Option<(u64, u64)>) -> Vec<(u64, u64)> {
        if let Some(last) = last.filter(|last| self.kept.last() != Some(last)) {
            self.kept.push(last);
        }
        self.kept
    }
}

/// Where a server is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) port: u16,
    authority: String,
}

impl Place {
    fn read(url: &str) -> Result<Self, Fault> {
        let hint = "write https://HOST:PORT";
        let uri: Uri = url.parse().map_err(|cause| fault("url", format!("'{url}': {cause}"), hint))?;
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("https"));
        let authority = authority.ok_or_else(|| fault("url", format!("'{url}' is no https address"), hint))?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(fault("url", format!("'{url}' has a path"), hint));
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port: authority.port_u16().unwrap_or(443), authority: authority.as_str().to_owned() })
    }

    /// A request for a path.
    pub(crate) fn request<B: Default>(&self, ask: &Ask, path: &str, whole_uri: bool) -> Result<Request<B>, Fault> {
        let uri = if whole_uri { format!("https://{}{path}", self.authority) } else { path.to_owned() };
        let mut request = Request::get(uri).header(AUTHORIZATION, format!("Bearer {}", ask.token));
        if !whole_uri {
            request = request.header(HOST, &self.authority);
        }
        if ask.first_byte > 0 && path.starts_with("/bytes/") {
            request = request.header(RANGE, format!("bytes={}-", ask.first_byte));
        }
        let hint = "a token is plain text without blanks";
        request.body(B::default()).map_err(|cause| fault("request", cause.to_string(), hint))
    }
}

/// Times of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) began: Instant,
    pub(crate) started_unix_ns: u64,
    pub(crate) lookup_ns: u64,
    pub(crate) connect_ns: u64,
    pub(crate) handshake_ns: u64,
    pub(crate) address: SocketAddr,
}

/// Why there is no connection.
pub(crate) enum Failure {
    /// Another attempt may do.
    Transient(Fault),
    /// It will not.
    Lasting(Fault),
}

/// What both transports do.
pub(crate) trait Transport: Sized {
    /// Connects to one of the addresses.
    fn connect(
        place: &Place,
        config: rustls::ClientConfig,
        addresses: &[SocketAddr],
        times: Times,
    ) -> impl Future<Output = Result<(Self, Times), Failure>>;
    /// Asks for a path; answers status and headers.
    fn get(
        &mut self,
        place: &Place,
        ask: &Ask,
        path: &str,
    ) -> impl Future<Output = Result<(StatusCode, HeaderMap), Fault>>;
    /// The next piece of the answer; nothing at its end. May be dropped while it waits.
    fn piece(&mut self) -> impl Future<Output = Result<Option<Bytes>, String>>;
    /// What the system tells of the connection.
    fn look(&self) -> Option<Look>;
}

/// Fetches; `progress` is told how much has come and says whether to go on, `stop` ends it too.
///
/// A fault means that no byte of the stream came; whatever happens afterwards is told in the answer.
pub fn fetch(ask: &Ask, stop: &AtomicBool, progress: &mut dyn FnMut(u64) -> bool) -> Result<Fetched, Fault> {
    let place = Place::read(&ask.url)?;
    if ask.first_byte >= ask.size_bytes.max(1) {
        return Err(fault("first_byte", "lies beyond the end", "begin before size_bytes"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|cause| fault("fetch", cause.to_string(), ""))?;
    match ask.transport.as_str() {
        "tcp" => runtime.block_on(run::<Tcp>(ask, &place, stop, progress)),
        "quic" => runtime.block_on(run::<Quic>(ask, &place, stop, progress)),
        other => Err(fault("transport", format!("'{other}' is none"), "write tcp or quic")),
    }
}

async fn connect<T: Transport>(ask: &Ask, place: &Place, until: Instant) -> Result<(T, Times, u32), Fault> {
    let protocol: &[u8] = if ask.transport == "quic" { b"h3" } else { b"http/1.1" };
    let config = trust::config(ask.trust.as_deref(), protocol)?;
    let mut pause = Duration::from_millis(50);
    let mut attempt = 1;
    loop {
        let left = until.saturating_duration_since(now());
        let failure = match timeout(left, one::<T>(place, config.clone())).await {
            Ok(Ok((connection, times))) => return Ok((connection, times, attempt)),
            Ok(Err(Failure::Lasting(fault))) => return Err(fault),
            Ok(Err(Failure::Transient(fault))) => fault,
            Err(_) => {
                let hint = "is its port open between here and there?";
                return Err(fault(&ask.url, "no connection within the time allowed", hint));
            }
        };
        if attempt == ATTEMPTS || until.saturating_duration_since(now()) < pause {
            return Err(failure);
        }
        sleep(pause).await;
        pause *= 2;
        attempt += 1;
    }
}

async fn one<T: Transport>(place: &Place, config: rustls::ClientConfig) -> Result<(T, Times), Failure> {
    let (began, started_unix_ns) = (now(), unix_ns());
    let found = tokio::net::lookup_host((place.host.as_str(), place.port)).await;
    let addresses: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
    let Some(&address) = addresses.first() else {
        let what = format!("'{}' has no address", place.host);
        return Err(Failure::Lasting(fault("url", what, "is the name right, and is there a network?")));
    };
    let lookup_ns = since_ns(began);
    let times = Times { began, started_unix_ns, lookup_ns, connect_ns: 0, handshake_ns: 0, address };
    T::connect(place, config, &addresses, times).await
}

/// The text of a refusal: one line, and never much.
async fn line<T: Transport>(connection: &mut T) -> String {
    let mut text = Vec::new();
    while let Ok(Some(piece)) = connection.piece().await {
        text.extend_from_slice(&piece[..piece.len().min(500)]);
        if text.len() >= 500 {
            break;
        }
    }
    String::from_utf8_lossy(&text).trim().to_owned()
}

async fn refused<T: Transport>(ask: &Ask, connection: &mut T, status: StatusCode, headers: &HeaderMap) -> Fault {
    let said = line(connection).await;
    let what = format!("{}: {said}", status.as_u16());
    let later = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let hint = match (status, later) {
        (StatusCode::UNAUTHORIZED, _) => "give one of the server's tokens by --token".to_owned(),
        (_, Some(seconds)) => format!("try again in {seconds} s"),
        _ => String::new(),
    };
    fault(&ask.url, what, hint)
}

async fn run<T: Transport>(
    ask: &Ask,
    place: &Place,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Fetched, Fault> {
    let until = now() + ask.timeout;
    let (mut connection, times, attempts) = wanted(stop, connect::<T>(ask, place, until)).await??;
    let mut path = format!("/bytes/{}", ask.size_bytes);
    if let Some(name) = &ask.algorithm {
        path.push_str("?cc=");
        path.push_str(name);
    }
    let left = until.saturating_duration_since(now());
    let late = || fault(&ask.url, "no answer within the time allowed", "allow more time");
    let answered = wanted(stop, timeout(left, connection.get(place, ask, &path))).await?;
    let (status, headers) = answered.map_err(|_| late())??;
    if status != StatusCode::OK && status != StatusCode::PARTIAL_CONTENT {
        let line = wanted(stop, timeout(ACCOUNT, refused(ask, &mut connection, status, &headers))).await?;
        return Err(line.unwrap_or_else(|_| late()));
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let mut fetched = Fetched {
        transfer: text(TRANSFER),
        algorithm: text(ALGORITHM),
        transport: ask.transport.clone(),
        address: times.address.to_string(),
        started_unix_ns: times.started_unix_ns,
        lookup_ns: times.lookup_ns,
        connect_ns: times.connect_ns,
        handshake_ns: times.handshake_ns,
        attempts,
        ..Fetched::default()
    };
    if fetched.transfer.is_empty() {
        return Err(fault(&ask.url, "is no server of cwndlab", "`cwndlab serve` starts one"));
    }
    receive(ask, &mut connection, &mut fetched, until, times.began, stop, progress).await;
    fetched.receiver = connection.look();
    if fetched.ended == "whole" {
        fetched.sender =
            timeout(ACCOUNT, account(ask, place, &mut connection, &fetched.transfer)).await.unwrap_or(None);
    }
    if fetched.sender.is_none() && !stop.load(Ordering::Relaxed) {
        // Over a connection of its own; the one that carried the transfer is closed first.
        drop(connection);
        let anew = async {
            let (mut connection, ..) = connect::<T>(ask, place, now() + ACCOUNT).await.ok()?;
            account(ask, place, &mut connection, &fetched.transfer).await
        };
        fetched.sender = timeout(ACCOUNT, anew).await.unwrap_or(None);
    }
    if fetched.ended == "broken" {
        let said = |key| fetched.sender.as_ref().and_then(|sender| sender[key].as_str()).unwrap_or_default().to_owned();
        let (ended, why) = (said("ended"), said("why"));
        if !matches!(ended.as_str(), "" | "gone" | "whole") {
            (fetched.ended, fetched.why) = (ended, why);
        }
    }
    Ok(fetched)
}

/// Waits as long as it is wanted.
async fn wanted<O>(stop: &AtomicBool, work: impl Future<Output = O>) -> Result<O, Fault> {
    let mut work = std::pin::pin!(work);
    loop {
        match timeout(GLANCE, &mut work).await {
            Ok(done) => return Ok(done),
            Err(_) if stop.load(Ordering::Relaxed) => return Err(fault("fetch", "stopped before its begin", "")),
            Err(_) => {}
        }
    }
}

async fn receive<T: Transport>(
    ask: &Ask,
    connection: &mut T,
    fetched: &mut Fetched,
    until: Instant,
    began: Instant,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64) -> bool,
) {
    let length = ask.size_bytes - ask.first_byte;
    let mut arrivals = Arrivals::default();
    let mut told = now();
    let (ended, why) = loop {
        if fetched.received_bytes >= length {
            break ("whole", String::new());
        }
        let next = timeout(GLANCE, connection.piece()).await;
        let at = since_ns(began);
        match next {
            Ok(Ok(Some(piece))) => {
                fetched.received_bytes += piece.len() as u64;
                fetched.first_byte_ns.get_or_insert(at);
                fetched.last_byte_ns = Some(at);
                arrivals.add(at, fetched.received_bytes);
            }
            Ok(Ok(None)) => break ("broken", "the server ended the connection".to_owned()),
            Ok(Err(cause)) => break ("broken", cause),
            Err(_) => {}
        }
        if now().saturating_duration_since(told) >= GLANCE || fetched.received_bytes >= length {
            told = now();
            if stop.load(Ordering::Relaxed) || !progress(fetched.received_bytes) {
                break ("cancelled", String::new());
            }
            if told >= until {
                break ("timeout", format!("{} s are over", ask.timeout.as_secs_f64()));
            }
        }
    };
    // What is whole is whole, also when its last piece was no longer wanted.
    let ended = if fetched.received_bytes >= length { "whole" } else { ended };
    fetched.ended = String::from(ended);
    fetched.why = why;
    fetched.arrivals = arrivals.finished(fetched.last_byte_ns.map(|at| (at, fetched.received_bytes)));
}

/// The server's account, asked for until the transfer has ended there too.
async fn account<T: Transport>(ask: &Ask, place: &Place, connection: &mut T, id: &str) -> Option<Value> {
    let mut found = None;
    for _ in 0..20 {
        let (status, _) = connection.get(place, ask, &format!("/transfers/{id}")).await.ok()?;
        let mut text = Vec::new();
        while let Some(piece) = connection.piece().await.ok()? {
            text.extend_from_slice(&piece);
        }
        let account: Value = serde_json::from_slice(&text).ok().filter(|_| status == StatusCode::OK)?;
        let over = !account["ended"].is_null();
        found = Some(account);
        if over {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_a_host_and_a_port() {
        let place = Place::read("https://[::1]:8443").unwrap();
        assert_eq!((place.host.as_str(), place.port), ("::1", 8443));
        assert_eq!(Place::read("https://example.org/").unwrap().port, 443);
        for wrong in
            ["http://example.org", "example.org", "https://example.org/bytes/1", "https://", "https://a?b", "…"]
        {
            let fault = Place::read(wrong).unwrap_err();
            assert_eq!(fault.place, "url", "{wrong}");
        }
    }

    #[test]
    fn arrivals_stay_few_and_keep_the_first_and_the_last() {
        let mut arrivals = Arrivals::default();
        for at in 0..1_000_000 {
            arrivals.add(at * 1000, at);
        }
        let kept = arrivals.finished(Some((999_999_000, 999_999)));
        assert!(kept.len() <= ARRIVALS + 1 && kept.len() > ARRIVALS / 4, "{}", kept.len());
        assert_eq!(kept[0], (0, 0));
        assert_eq!(kept[kept.len() - 1], (999_999_000, 999_999));
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
