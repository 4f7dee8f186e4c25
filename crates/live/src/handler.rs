//! Handles HTTP requests over TCP and QUIC. The token is checked before the path, so that a client without a token
//! receives no information.

use std::sync::Arc;

use bytes::Bytes;
use cwndlab_control::kernel_name::{library_name, misnamed};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Version};
use serde_json::json;

use crate::body::{Content, TransferStream};
use crate::congestion;
use crate::counters::count;
use crate::request::{range, target, Refusal, Target};
use crate::server_state::{LimitReached, ServedConnection, ServerState};
use crate::swappable::DEFAULT;
use crate::transfer::{lock, End, Transfer, TransferRequest};
use cwndlab_fetch::fetch::{ALGORITHM, TRANSFER};
use cwndlab_fetch::fingerprint::hex;

/// Value of Retry-After for a client that reached a limit, seconds.
const RETRY_AFTER_S: &str = "5";

/// A response, and whether the server closes the connection after it.
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

/// Handles a request. `has_body`: the request has a body, which no path accepts.
pub(crate) fn handle(server: &Arc<ServerState>, served: &ServedConnection, request: &Parts, has_body: bool) -> Reply {
    count(&server.counters.requests);
    let mut reply = match route(server, served, request, has_body) {
        Ok(reply) => reply,
        Err(reply) => {
            if reply.response.status() == StatusCode::UNAUTHORIZED {
                count(&server.counters.unauthorized);
            } else {
                count(&server.counters.refused);
            }
            *reply
        }
    };
    if has_body {
        reply.close = true;
    }
    reply
}

/// Checks the token of a request and the limits on connections; returns the index of the client.
fn admit(server: &Arc<ServerState>, served: &ServedConnection, request: &Parts) -> Result<usize, Box<Reply>> {
    // RFC 9112, section 3.2: the response to an HTTP/1.1 request without Host, or to any request with several, is 400.
    // With several, a proxy could use another of them.
    let hosts = request.headers.get_all(header::HOST).iter().count();
    if hosts > 1 || (hosts == 0 && request.version == Version::HTTP_11) {
        return Err(Box::new(
            Reply::line(StatusCode::BAD_REQUEST, "a request needs exactly one header Host").closing(),
        ));
    }
    let Some(owner) = server.tokens.authenticate(&request.headers) else {
        let reply = Reply::line(
            StatusCode::UNAUTHORIZED,
            "a token is required: send the header 'Authorization: Bearer TOKEN' with a token of this server",
        );
        let reply = reply.with(header::WWW_AUTHENTICATE, "Bearer realm=\"cwndlab\"");
        return Err(Box::new(reply.with(header::WWW_AUTHENTICATE, "Basic realm=\"cwndlab\"").closing()));
    };
    served.authenticate(server).map_err(|limit| {
        let (status, line) = match limit {
            LimitReached::Server => {
                (StatusCode::SERVICE_UNAVAILABLE, "the server has reached its limit of connections")
            }
            LimitReached::Address => {
                (StatusCode::TOO_MANY_REQUESTS, "your address has reached its limit of connections")
            }
        };
        Box::new(Reply::line(status, line).with(header::RETRY_AFTER, RETRY_AFTER_S).closing())
    })?;
    Ok(owner)
}

/// Admits the client and passes the request to the handler of its path.
fn route(
    server: &Arc<ServerState>,
    served: &ServedConnection,
    request: &Parts,
    has_body: bool,
) -> Result<Reply, Box<Reply>> {
    let owner = admit(server, served, request)?;
    let refuse = |status, line: &str| Box::new(Reply::line(status, line));
    let target = target(request.uri.path(), request.uri.query()).map_err(|refusal| match refusal {
        Refusal::Unknown => {
            refuse(StatusCode::NOT_FOUND, "the resources are /bytes/N?cc=NAME, /transfers/ID and /algorithms")
        }
        Refusal::Invalid(line) => refuse(StatusCode::BAD_REQUEST, &line),
    })?;
    if request.method != Method::GET && request.method != Method::HEAD {
        let reply = Reply::line(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are supported");
        return Err(Box::new(reply.with(header::ALLOW, "GET, HEAD")));
    }
    if has_body {
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "a request must not have a body"));
    }
    match target {
        Target::Algorithms => {
            let quic = server.quic.as_ref().map(|one| json!({"usual": DEFAULT, "algorithms": one.names()}));
            let names = congestion::request_names(&congestion::offered());
            let tcp = json!({"usual": library_name(&congestion::system_default()), "algorithms": names});
            let offered = json!({"tcp": tcp, "quic": quic});
            Ok(Reply::text(StatusCode::OK, "application/json", format!("{offered}\n")))
        }
        Target::Account(id) => account(server, served, owner, &id),
        Target::Bytes { size, algorithm } => bytes(server, served, request, owner, size, algorithm.as_deref()),
    }
}

/// The account of a transfer.
fn account(server: &Arc<ServerState>, served: &ServedConnection, owner: usize, id: &str) -> Result<Reply, Box<Reply>> {
    let Some(transfer) = lock(&server.accounts).find(id, owner) else {
        let line = "you have no transfer with this ID, or its account has expired";
        return Err(Box::new(Reply::line(StatusCode::NOT_FOUND, line)));
    };
    complete_previous(server, served)?;
    Ok(Reply::text(StatusCode::OK, "application/json", format!("{}\n", transfer.json())))
}

/// Completes the previous transfer of the connection: a client that sends another request has received all data.
fn complete_previous(server: &ServerState, served: &ServedConnection) -> Result<(), Box<Reply>> {
    if served.observe(server).is_some_and(|end| end != End::Complete) {
        let line =
            "the server ended the previous transfer and its connection; the account of the transfer has the reason";
        return Err(Box::new(Reply::line(StatusCode::SERVICE_UNAVAILABLE, line).closing()));
    }
    if let Some(previous) = served.running() {
        previous.complete_by_request();
        if previous.has_ended() {
            count(&server.counters.complete);
        }
    }
    Ok(())
}

/// The part of a stream that a request selects.
struct Part {
    /// Size of the complete stream, bytes.
    size: u64,
    /// Offset of the first byte.
    first: u64,
    /// Number of bytes.
    length: u64,
    /// The request has a valid range.
    partial: bool,
    /// The stream's entity tag.
    tag: String,
}

impl Part {
    /// The part of a stream of `size` bytes that the headers `Range` and `If-Range` select. They have a meaning in GET
    /// alone (RFC 9110, section 14.2).
    fn from_request(request: &Parts, size: u64) -> Result<Self, Box<Reply>> {
        let tag = format!("\"splitmix64-0-{size}\"");
        let whole = |tag| Self { size, first: 0, length: size, partial: false, tag };
        if request.method != Method::GET {
            return Ok(whole(tag));
        }
        let mut values = request.headers.get_all(header::RANGE).iter();
        let Some(value) = values.next() else { return Ok(whole(tag)) };
        // The client has a part of another stream and needs the complete new one (RFC 9110, section 13.1.5).
        if request.headers.get(header::IF_RANGE).is_some_and(|known| known.as_bytes() != tag.as_bytes()) {
            return Ok(whole(tag));
        }
        let range =
            if values.next().is_some() { Err("only one range is supported") } else { range(value.as_bytes(), size) };
        match range {
            Ok(None) => Ok(whole(tag)),
            Ok(Some((first, length))) => Ok(Self { size, first, length, partial: true, tag }),
            Err(line) => {
                let reply = Reply::line(StatusCode::RANGE_NOT_SATISFIABLE, line);
                Err(Box::new(reply.with(header::CONTENT_RANGE, &format!("bytes */{size}"))))
            }
        }
    }

    /// The response with this part.
    fn reply(&self, content: Content, algorithm: &str) -> Reply {
        let status = if self.partial { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
        let mut reply = Reply { response: Response::new(content), close: false };
        *reply.response.status_mut() = status;
        let reply = reply
            .with(header::CONTENT_TYPE, "application/octet-stream")
            .with(header::CONTENT_LENGTH, &self.length.to_string())
            .with(header::ACCEPT_RANGES, "bytes")
            .with(header::ETAG, &self.tag)
            .with(header::CACHE_CONTROL, "no-store, no-transform")
            .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
            .with(ALGORITHM, algorithm);
        if self.partial {
            let first = self.first;
            let last = self.first + self.length - 1;
            reply.with(header::CONTENT_RANGE, &format!("bytes {first}-{last}/{}", self.size))
        } else {
            reply
        }
    }
}

/// Responds with a part of the stream, as a transfer.
fn bytes(
    server: &Arc<ServerState>,
    served: &ServedConnection,
    request: &Parts,
    owner: usize,
    size: u64,
    algorithm: Option<&str>,
) -> Result<Reply, Box<Reply>> {
    let part = Part::from_request(request, size)?;
    if part.length > server.limits.transfer_bytes {
        let line =
            format!("the limit of a transfer is {} bytes; request a part by Range", server.limits.transfer_bytes);
        return Err(Box::new(Reply::line(StatusCode::PAYLOAD_TOO_LARGE, line)));
    }
    let name = resolve_algorithm(served, algorithm)?;
    if request.method == Method::HEAD {
        return Ok(part.reply(Content::Text(None), &name));
    }
    complete_previous(server, served)?;
    if served.running().is_some() {
        let line = "the previous transfer of this connection is not acknowledged: read it before the next request";
        return Err(Box::new(Reply::line(StatusCode::CONFLICT, line)));
    }
    let client = &server.clients[owner];
    if !client.begin(server.limits.transfers_per_token) {
        let max = server.limits.transfers_per_token;
        let reply =
            Reply::line(StatusCode::TOO_MANY_REQUESTS, format!("the limit of a token is {max} simultaneous transfers"));
        return Err(Box::new(reply.with(header::RETRY_AFTER, RETRY_AFTER_S)));
    }
    let transfer = start_transfer(server, served, owner, &part, &name)?;
    let id = transfer.id.clone();
    let actual = transfer.request.algorithm.clone();
    let stream = TransferStream::new(transfer, Arc::clone(client), server.limits.rate_bps, server.epoch);
    Ok(part.reply(Content::Stream(stream), &actual).with(TRANSFER, &id))
}

/// Starts a transfer that the client has counted, under the algorithm `name`.
fn start_transfer(
    server: &Arc<ServerState>,
    served: &ServedConnection,
    owner: usize,
    part: &Part,
    name: &str,
) -> Result<Arc<Transfer>, Box<Reply>> {
    let refuse = |line: String| Box::new(Reply::line(StatusCode::SERVICE_UNAVAILABLE, line));
    let is_selected = lock(&served.state).algorithm.is_some();
    let mut actual = if is_selected { Ok(name.to_owned()) } else { served.transport.select(name) };
    if let Some(failure) = served.transport.take_failure() {
        actual = Err(server.on_failure(&failure).to_owned());
    }
    let id = random_id();
    let request = TransferRequest {
        size: part.size,
        first: part.first,
        length: part.length,
        algorithm: actual.clone().unwrap_or_default(),
        transport: served.transport.name(),
        address: served.peer,
        earlier: lock(&served.state).transfers,
    };
    let base = served.transport.snapshot().unwrap_or_default();
    let client = Arc::clone(&server.clients[owner]);
    let limits = Arc::clone(&server.limits);
    // From here on the transfer owns its entry in the client's count, and releases it when it is dropped or ends.
    let transfer = Arc::new(Transfer::new(id.clone().unwrap_or_default(), owner, client, request, base, limits));
    let actual = actual.map_err(|cause| refuse(format!("'{name}' cannot be set: {cause}")))?;
    if id.is_none() {
        return Err(refuse("the system supplies no random bytes".to_owned()));
    }
    if !lock(&server.accounts).add(Arc::clone(&transfer)) {
        let reply = *refuse("the server has reached its limit of transfers".to_owned());
        return Err(Box::new(reply.with(header::RETRY_AFTER, RETRY_AFTER_S)));
    }
    let mut state = lock(&served.state);
    state.algorithm = Some(actual);
    state.transfers += 1;
    state.current = Some(Arc::clone(&transfer));
    count(&server.counters.transfers);
    Ok(transfer)
}

/// The full name of the algorithm of a request. A connection keeps its first algorithm, because a window that another
/// algorithm has set would bias the transfer.
fn resolve_algorithm(served: &ServedConnection, requested: Option<&str>) -> Result<String, Box<Reply>> {
    let current = lock(&served.state).algorithm.clone();
    let Some(requested) = requested else {
        return Ok(current.unwrap_or_else(|| served.transport.default_algorithm()));
    };
    let Some(name) = served.transport.resolve(requested) else {
        let hint = misnamed(requested).map(|hint| format!(" ({hint})")).unwrap_or_default();
        let line = format!("this server has no '{requested}'{hint}; it has {}", served.transport.offered().join(", "));
        return Err(Box::new(Reply::line(StatusCode::BAD_REQUEST, line)));
    };
    match current {
        Some(current) if current != name => {
            let line = format!(
                "this connection has used '{current}', whose window would bias '{name}': open a new connection"
            );
            Err(Box::new(Reply::line(StatusCode::CONFLICT, line).closing()))
        }
        _ => Ok(name),
    }
}

/// A random ID of 128 bits.
fn random_id() -> Option<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use tokio::sync::watch;

    use super::*;
    use crate::admission::Evictable;
    use crate::limits::Limits;
    use crate::server_state::ServerTransport;
    use crate::tokens::Tokens;
    use cwndlab_fetch::snapshot::Snapshot;

    const TOKEN: &str = "0123456789abcdef";

    /// A sender whose client acknowledges no data.
    struct SilentClient;

    impl ServerTransport for SilentClient {
        fn name(&self) -> &'static str {
            "tcp"
        }

        fn offered(&self) -> Vec<String> {
            vec!["reno".to_owned()]
        }

        fn resolve(&self, name: &str) -> Option<String> {
            Some(name.to_owned())
        }

        fn default_algorithm(&self) -> String {
            "reno".to_owned()
        }

        fn select(&self, name: &str) -> Result<String, String> {
            Ok(name.to_owned())
        }

        fn snapshot(&self) -> Option<Snapshot> {
            Some(Snapshot::default())
        }
    }

    fn get(server: &Arc<ServerState>, served: &ServedConnection, path: &str) -> StatusCode {
        let request = hyper::Request::builder().uri(path).header(header::HOST, "x");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {TOKEN}")).body(()).unwrap();
        handle(server, served, &request.into_parts().0, false).response.status()
    }

    /// Otherwise the first transfer would never end, and would count against the limit of its token for ever.
    #[test]
    fn a_connection_has_one_transfer_at_a_time() {
        let tokens = Tokens::parse(&format!("anna {TOKEN}\n"), "tokens").unwrap();
        let (_stop, stopped) = watch::channel(false);
        let server = Arc::new(ServerState::new(Limits::default(), tokens, stopped, None));
        let address = IpAddr::from(Ipv4Addr::LOCALHOST);
        let served = ServedConnection::new(&server, address, Evictable::default(), Box::new(SilentClient));
        assert_eq!(get(&server, &served, "/bytes/100000"), StatusCode::OK);
        assert_eq!(get(&server, &served, "/bytes/1"), StatusCode::CONFLICT);
        assert_eq!(get(&server, &served, "/algorithms"), StatusCode::OK);
        drop(served);
        let next = ServedConnection::new(&server, address, Evictable::default(), Box::new(SilentClient));
        assert_eq!(get(&server, &next, "/bytes/1"), StatusCode::OK);
    }
}
