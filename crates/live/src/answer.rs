//! Answers to requests, over whatever carries them. The order of the checks is the order of what an asker may learn:
//! nothing at all without a token.

use std::sync::Arc;

use bytes::Bytes;
use cwndlab_control::kernel_name::{library_name, misnamed};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Version};
use serde_json::json;

use crate::account::{lock, Asked, End, Transfer};
use crate::body::{Content, Stream};
use crate::certificate::hex;
use crate::counters::count;
use crate::house::{Full, House, Link};
use crate::request::{range, target, Refusal, Target};
use crate::{congestion, switch};

/// The transfer's name in `/transfers/ID`.
pub const TRANSFER: HeaderName = HeaderName::from_static("cwndlab-transfer");
/// What the sender says that it sends with.
pub const ALGORITHM: HeaderName = HeaderName::from_static("cwndlab-congestion-control");

/// Seconds until a client that was one too many should try again.
const LATER: &str = "5";

/// An answer, and whether the connection ends with it.
pub(crate) struct Reply {
    pub(crate) response: Response<Content>,
    pub(crate) close: bool,
}

impl Reply {
    fn line(status: StatusCode, line: impl Into<String>) -> Self {
        let mut line = line.into();
        line.push('\n');
        Self::text(status, "text/plain; charset=utf-8", line)
    }

    fn text(status: StatusCode, kind: &'static str, text: String) -> Self {
        let mut response = Response::new(Content::Text(Some(Bytes::from(text))));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Self { response, close: false }
    }

    fn closing(self) -> Self {
        Self { close: true, ..self }
    }

    fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.response.headers_mut().append(name, value);
        }
        self
    }
}

/// Answers a request; `has_body` says that it carries something, which nothing here wants.
pub(crate) fn answer(house: &Arc<House>, link: &Link, request: &Parts, has_body: bool) -> Reply {
    count(&house.counters.requests);
    let mut reply = match asked(house, link, request, has_body) {
        Ok(reply) => reply,
        Err(reply) => {
            if reply.response.status() == StatusCode::UNAUTHORIZED {
                count(&house.counters.unauthorized);
            } else {
                count(&house.counters.refused);
            }
            *reply
        }
    };
    if has_body {
        reply.close = true;
    }
    reply
}

fn asked(house: &Arc<House>, link: &Link, request: &Parts, has_body: bool) -> Result<Reply, Box<Reply>> {
    let refuse = |status, line: &str| Box::new(Reply::line(status, line));
    // RFC 9112, section 3.2: a request of HTTP/1.1 without Host, or any with more than one, is answered with 400. What
    // stands in front of this server could have chosen the other one.
    let hosts = request.headers.get_all(header::HOST).iter().count();
    if hosts > 1 || (hosts == 0 && request.version == Version::HTTP_11) {
        return Err(Box::new(Reply::line(StatusCode::BAD_REQUEST, "a request has one header Host").closing()));
    }
    let Some(owner) = house.tokens.asks(&request.headers) else {
        let reply = Reply::line(
            StatusCode::UNAUTHORIZED,
            "a token is needed: send the header 'Authorization: Bearer TOKEN' with one of this server's",
        );
        let reply = reply.with(header::WWW_AUTHENTICATE, "Bearer realm=\"cwndlab\"");
        return Err(Box::new(reply.with(header::WWW_AUTHENTICATE, "Basic realm=\"cwndlab\"").closing()));
    };
    link.prove(house).map_err(|full| {
        let (status, line) = match full {
            Full::House => (StatusCode::SERVICE_UNAVAILABLE, "the server has as many connections as it allows"),
            Full::Address => {
                (StatusCode::TOO_MANY_REQUESTS, "your address has as many connections as the server allows it")
            }
        };
        Box::new(Reply::line(status, line).with(header::RETRY_AFTER, LATER).closing())
    })?;
    let target = target(request.uri.path(), request.uri.query()).map_err(|refusal| match refusal {
        Refusal::Unknown => {
            refuse(StatusCode::NOT_FOUND, "there is /bytes/N?cc=NAME, /transfers/ID and /algorithms, nothing else")
        }
        Refusal::Wrong(line) => refuse(StatusCode::BAD_REQUEST, &line),
    })?;
    if request.method != Method::GET && request.method != Method::HEAD {
        let reply = Reply::line(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD");
        return Err(Box::new(reply.with(header::ALLOW, "GET, HEAD")));
    }
    if has_body {
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "a request carries nothing here"));
    }
    match target {
        Target::Algorithms => {
            let quic = house.quic.then(|| json!({"usual": switch::NEUTRAL, "algorithms": switch::offered()}));
            let names = congestion::names(&congestion::offered());
            let tcp = json!({"usual": library_name(&congestion::usual()), "algorithms": names});
            let offered = json!({"tcp": tcp, "quic": quic});
            Ok(Reply::text(StatusCode::OK, "application/json", format!("{offered}\n")))
        }
        Target::Account(id) => account(house, link, owner, &id),
        Target::Bytes { size, algorithm } => bytes(house, link, request, owner, size, algorithm.as_deref()),
    }
}

fn account(house: &Arc<House>, link: &Link, owner: usize, id: &str) -> Result<Reply, Box<Reply>> {
    let found = lock(&house.accounts).find(id, owner);
    let Some(transfer) = found else {
        let line = "you have no transfer of this name, or it was so long ago that it is forgotten";
        return Err(Box::new(Reply::line(StatusCode::NOT_FOUND, line)));
    };
    settle(house, link)?;
    Ok(Reply::text(StatusCode::OK, "application/json", format!("{}\n", transfer.json())))
}

/// Who asks for something else on a connection has what came before.
fn settle(house: &House, link: &Link) -> Result<(), Box<Reply>> {
    if link.watch(house).is_some_and(|end| end != End::Whole) {
        let line = "the transfer before was ended, and the connection with it: its account says why";
        return Err(Box::new(Reply::line(StatusCode::SERVICE_UNAVAILABLE, line).closing()));
    }
    if let Some(before) = link.running() {
        before.received();
        if before.has_ended() {
            count(&house.counters.whole);
        }
    }
    Ok(())
}

/// What of the stream is asked for: first byte, length, and whether it is a part.
fn part(request: &Parts, size: u64, tag: &str) -> Result<(u64, u64, bool), Box<Reply>> {
    let mut values = request.headers.get_all(header::RANGE).iter();
    let Some(value) = values.next() else { return Ok((0, size, false)) };
    // Of another stream than the one that the client has a part of, it wants all (RFC 9110, section 13.1.5).
    if request.headers.get(header::IF_RANGE).is_some_and(|known| known.as_bytes() != tag.as_bytes()) {
        return Ok((0, size, false));
    }
    let found = if values.next().is_some() { Err("one range at a time") } else { range(value.as_bytes(), size) };
    match found {
        Ok(None) => Ok((0, size, false)),
        Ok(Some((first, length))) => Ok((first, length, true)),
        Err(line) => {
            let reply = Reply::line(StatusCode::RANGE_NOT_SATISFIABLE, line);
            Err(Box::new(reply.with(header::CONTENT_RANGE, &format!("bytes */{size}"))))
        }
    }
}

fn bytes(
    house: &Arc<House>,
    link: &Link,
    request: &Parts,
    owner: usize,
    size: u64,
    algorithm: Option<&str>,
) -> Result<Reply, Box<Reply>> {
    let refuse = |status, line: String| Box::new(Reply::line(status, line));
    let tag = format!("\"splitmix64-0-{size}\"");
    let (first, length, partial) = part(request, size, &tag)?;
    if length > house.limits.transfer_bytes {
        let line =
            format!("a transfer has at most {} bytes here; ask for a part by Range", house.limits.transfer_bytes);
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, line));
    }
    let name = chosen(link, algorithm)?;
    let head = |content: Content, actual: &str| {
        let status = if partial { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
        let mut reply = Reply { response: Response::new(content), close: false };
        *reply.response.status_mut() = status;
        let reply = reply
            .with(header::CONTENT_TYPE, "application/octet-stream")
            .with(header::CONTENT_LENGTH, &length.to_string())
            .with(header::ACCEPT_RANGES, "bytes")
            .with(header::ETAG, &tag)
            .with(header::CACHE_CONTROL, "no-store, no-transform")
            .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
            .with(ALGORITHM, actual);
        if partial {
            reply.with(header::CONTENT_RANGE, &format!("bytes {first}-{}/{size}", first + length - 1))
        } else {
            reply
        }
    };
    if request.method == Method::HEAD {
        return Ok(head(Content::Text(None), &name));
    }
    settle(house, link)?;
    let client = &house.clients[owner];
    if !client.begin(house.limits.transfers_per_token) {
        let most = house.limits.transfers_per_token;
        let reply = Reply::line(StatusCode::TOO_MANY_REQUESTS, format!("a token has at most {most} transfers at once"));
        return Err(Box::new(reply.with(header::RETRY_AFTER, LATER)));
    }
    // From here on the account holds the client's place, and gives it back however this ends.
    let already = lock(&link.state).algorithm.is_some();
    let actual = if already { Ok(name.clone()) } else { link.carrier.choose(&name) };
    let id = identity();
    let asked = Asked {
        size,
        first,
        length,
        algorithm: actual.clone().unwrap_or_default(),
        transport: link.carrier.transport(),
        address: link.peer,
        earlier: lock(&link.state).transfers,
    };
    let base = link.carrier.look().unwrap_or_default();
    let limits = Arc::clone(&house.limits);
    let transfer =
        Arc::new(Transfer::new(id.clone().unwrap_or_default(), owner, Arc::clone(client), asked, base, limits));
    let actual =
        actual.map_err(|cause| refuse(StatusCode::SERVICE_UNAVAILABLE, format!("'{name}' cannot be set: {cause}")))?;
    let id =
        id.ok_or_else(|| refuse(StatusCode::SERVICE_UNAVAILABLE, "the system gives no random bytes".to_owned()))?;
    if !lock(&house.accounts).add(Arc::clone(&transfer)) {
        let reply =
            Reply::line(StatusCode::SERVICE_UNAVAILABLE, "as many transfers run as the server keeps account of");
        return Err(Box::new(reply.with(header::RETRY_AFTER, LATER)));
    }
    {
        let mut state = lock(&link.state);
        state.algorithm = Some(actual.clone());
        state.transfers += 1;
        state.current = Some(Arc::clone(&transfer));
    }
    count(&house.counters.transfers);
    let stream = Stream::new(transfer, Arc::clone(client), house.limits.rate_bps, house.epoch);
    Ok(head(Content::Stream(stream), &actual).with(TRANSFER, &id))
}

/// The algorithm that is meant. A connection keeps its first one: a window that another algorithm has grown is no fair
/// start.
fn chosen(link: &Link, asked: Option<&str>) -> Result<String, Box<Reply>> {
    let before = lock(&link.state).algorithm.clone();
    let Some(asked) = asked else { return Ok(before.unwrap_or_else(|| link.carrier.usual())) };
    let Some(name) = link.carrier.meaning(asked) else {
        let hint = misnamed(asked).map(|hint| format!(" ({hint})")).unwrap_or_default();
        let line = format!("this server has no '{asked}'{hint}; it has {}", link.carrier.offered().join(", "));
        return Err(Box::new(Reply::line(StatusCode::BAD_REQUEST, line)));
    };
    match before {
        Some(before) if before != name => {
            let line = format!(
                "this connection has sent under '{before}', whose window is no fair start for '{name}': open a new one"
            );
            Err(Box::new(Reply::line(StatusCode::CONFLICT, line).closing()))
        }
        _ => Ok(name),
    }
}

/// A name that nobody guesses: 128 bits.
fn identity() -> Option<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}
