//! Server connections over QUIC with HTTP/3; [`crate::tcp`] has those over TCP.

use cwndlab_units::Fault;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use h3_quinn::Connection as H3;
use hyper::header::CONTENT_LENGTH;
use hyper::Response;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, IdleTimeout, Incoming, TransportConfig, VarInt};
use tokio::time::{interval, timeout, MissedTickBehavior};

use crate::admission::Evictable;
use crate::body::Content;
use crate::certificate::Certificate;
use crate::counters::count;
use crate::handler::handle;
use crate::server_state::{PanicCounter, ServedConnection, ServerState, ServerTransport};
use crate::swappable::{FailureReason, Offer, SwappableFactory, SwappableState, DEFAULT};
use crate::tls;
use crate::transfer::{lock, End};
use cwndlab_fetch::snapshot::Snapshot;

/// Bytes that a client may send before the server has sent data.
const FREE_RECEIVE_BYTES: u64 = 1 << 18;
/// Interval of checks of the receive budget.
const BUDGET_CHECK: Duration = Duration::from_millis(20);
/// Receive window, bytes; requests are small.
const RECEIVE_WINDOW: u32 = 64 << 10;

/// Maximum number of clients with a validated address that wait to be accepted.
const PENDING: usize = 1024;

/// Maximum amount of unacknowledged data, bytes: the BDP of 10 Gbit/s and 10 ms, or of 1 Gbit/s and 100 ms.
const SEND_WINDOW: u64 = 12_500_000;

/// The sender of a QUIC connection.
struct QuicSender {
    connection: quinn::Connection,
    state: Arc<Mutex<SwappableState>>,
    offer: Arc<Offer>,
    failure: FailureReason,
}

impl ServerTransport for QuicSender {
    fn name(&self) -> &'static str {
        "quic"
    }

    fn offered(&self) -> Vec<String> {
        self.offer.names().to_vec()
    }

    fn resolve(&self, name: &str) -> Option<String> {
        self.offer.factory(name, &FailureReason::default()).map(|(full, _)| full)
    }

    fn default_algorithm(&self) -> String {
        DEFAULT.to_owned()
    }

    fn select(&self, name: &str) -> Result<String, String> {
        let (full, factory) = self.offer.factory(name, &self.failure).ok_or("unknown algorithm")?;
        lock(&self.state).replace(factory);
        Ok(full)
    }

    fn take_failure(&self) -> Option<String> {
        lock(&self.failure).take()
    }

    fn snapshot(&self) -> Option<Snapshot> {
        // quinn calls the controller, which locks the state, while it locks the connection: no call of the connection may
        // follow the lock of the state.
        let stats = self.connection.stats();
        let closed = self.connection.close_reason().is_some();
        let sender = lock(&self.state).sender(&stats.path);
        Some(Snapshot { sender, closed, ..Snapshot::default() })
    }
}

/// A transport configuration with a replaceable controller.
fn transport(server: &ServerState, factory: Arc<SwappableFactory>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(factory)
        .max_idle_timeout(IdleTimeout::try_from(server.limits.patience.max(server.limits.header)).ok())
        .max_concurrent_bidi_streams(VarInt::from_u32(2))
        .max_concurrent_uni_streams(VarInt::from_u32(8))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW / 2))
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(None);
    transport
}

/// Creates the endpoint. Must be called within a runtime.
pub(crate) fn listen(
    address: SocketAddr,
    certificate: &Certificate,
) -> Result<(Endpoint, Arc<QuicServerConfig>), Fault> {
    let broken = |cause: String| Fault::new("--quic", cause, "");
    let crypto = tls::config(certificate, b"h3")?;
    let crypto = Arc::new(QuicServerConfig::try_from(crypto).map_err(|cause| broken(cause.to_string()))?);
    let mut config = quinn::ServerConfig::with_crypto(Arc::<QuicServerConfig>::clone(&crypto));
    config.max_incoming(PENDING).incoming_buffer_size(1 << 16).incoming_buffer_size_total(PENDING as u64 * (1 << 14));
    let endpoint = Endpoint::server(config, address).map_err(|cause| {
        let hint = "choose another port, or port 0 for a free one";
        Fault::new("--listen", format!("UDP '{address}': {cause}"), hint)
    })?;
    Ok((endpoint, crypto))
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(
    server: Arc<ServerState>,
    endpoint: Endpoint,
    crypto: Arc<QuicServerConfig>,
    offer: Arc<Offer>,
) {
    let mut stop = server.stop.clone();
    loop {
        let incoming = tokio::select! {
            _ = stop.wait_for(|&stop| stop) => break,
            incoming = endpoint.accept() => incoming,
        };
        let Some(incoming) = incoming else { return };
        // A source address may be spoofed until it is validated (RFC 9000, section 8.1), so attempts count only then.
        if !incoming.remote_address_validated() {
            let _ = incoming.retry();
            continue;
        }
        count(&server.counters.attempts);
        let peer = incoming.remote_address().ip().to_canonical();
        let now = server.age_ns();
        if !lock(&server.admission).attempt(peer, now) {
            count(&server.counters.over_rate);
            incoming.ignore();
            continue;
        }
        if !lock(&server.admission).handshake(peer, now) {
            count(&server.counters.over_handshakes);
            incoming.refuse();
            continue;
        }
        let evictable = Evictable::default();
        let served = serve(Arc::clone(&server), incoming, Arc::clone(&crypto), Arc::clone(&offer), evictable.clone());
        let task = tokio::spawn(served);
        if lock(&server.unproven).push(evictable, task.abort_handle()) {
            count(&server.counters.displaced_unproven);
        }
    }
    endpoint.close(VarInt::from_u32(0), b"the server stopped");
    endpoint.wait_idle().await;
}

/// Serves a connection: handshake and requests.
async fn serve(
    server: Arc<ServerState>,
    incoming: Incoming,
    crypto: Arc<QuicServerConfig>,
    offer: Arc<Offer>,
    evictable: Evictable,
) {
    let _guard = PanicCounter(Arc::clone(&server));
    let peer = incoming.remote_address().ip().to_canonical();
    let factory = Arc::<SwappableFactory>::default();
    let mut config = quinn::ServerConfig::with_crypto(crypto);
    config.transport_config(Arc::new(transport(&server, Arc::clone(&factory)))).migration(false);
    let Ok(connecting) = incoming.accept_with(Arc::new(config)) else { return };
    let Ok(Ok(connection)) = timeout(server.limits.handshake, connecting).await else {
        count(&server.counters.failed_handshakes);
        return;
    };
    count(&server.counters.handshakes);
    let Some(state) = factory.state() else { return };
    let transport = QuicSender { connection: connection.clone(), state, offer, failure: FailureReason::default() };
    let served = ServedConnection::new(&server, peer, evictable, Box::new(transport));
    serve_requests(&server, &served, &connection).await;
    let stopped = *server.stop.borrow();
    if stopped {
        served.end(End::Stopped, "the server stopped");
    }
    connection.close(VarInt::from_u32(0x100), b"");
}

type Requests = h3::server::Connection<H3, Bytes>;

/// Serves the requests of a connection, one after another.
async fn serve_requests(server: &Arc<ServerState>, served: &ServedConnection, connection: &quinn::Connection) {
    let mut builder = h3::server::builder();
    builder.max_field_section_size(server.limits.header_bytes as u64).send_grease(false);
    let opening = builder.build(H3::new(connection.clone()));
    let Ok(Ok(mut requests)) = timeout(server.limits.header, opening).await else { return };
    while let Some(close) = serve_one(server, served, connection, &mut requests).await {
        if close {
            // The client closes the connection after it has read the response.
            let _ = timeout(Duration::from_secs(1), connection.closed()).await;
            return;
        }
    }
}

/// Whether a client has exceeded its receive budget: a quarter of the bytes that the server sent, plus an initial
/// budget. Requests and acknowledgements need less. `h3` buffers a complete frame before it checks the size of the
/// frame.
fn exceeds_receive_budget(connection: &quinn::Connection) -> bool {
    let stats = connection.stats();
    stats.udp_rx.bytes > FREE_RECEIVE_BYTES + stats.udp_tx.bytes / 4
}

/// Serves one request; returns whether the connection closes after it, `None` if the connection has ended.
async fn serve_one(
    server: &Arc<ServerState>,
    served: &ServedConnection,
    connection: &quinn::Connection,
    requests: &mut Requests,
) -> Option<bool> {
    let mut stop = server.stop.clone();
    let mut tick = interval(server.limits.sample_interval.max(Duration::from_millis(1)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut budget_check = interval(BUDGET_CHECK);
    budget_check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let response = respond(server, served, requests);
    let mut close = None;
    tokio::pin!(response);
    while close.is_none() {
        tokio::select! {
            _ = stop.wait_for(|&stop| stop) => return None,
            done = &mut response => close = Some(done?),
            _ = budget_check.tick() => {
                if exceeds_receive_budget(connection) {
                    return None;
                }
            }
            _ = tick.tick() => {
                if served.observe(server).is_some_and(|end| end != End::Complete) {
                    return None;
                }
            }
        }
    }
    close
}

/// Reads a request and sends its response; returns whether the connection closes after it.
async fn respond(server: &Arc<ServerState>, served: &ServedConnection, requests: &mut Requests) -> Option<bool> {
    // The time limit of a request does not apply while the last bytes of a transfer are in flight.
    let resolver = loop {
        match timeout(server.limits.header, requests.accept()).await {
            Ok(accepted) => break accepted.ok()??,
            Err(_) if served.running().is_some() => {}
            Err(_) => return None,
        }
    };
    let (request, mut stream) = timeout(server.limits.header, resolver.resolve_request()).await.ok()?.ok()?;
    let (parts, ()) = request.into_parts();
    let has_body = parts.headers.get(CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
    let reply = handle(server, served, &parts, has_body);
    let (head, content) = reply.response.into_parts();
    // The client must read a response within the time limit of a request. Transfers have separate limits.
    let limit = server.limits.header;
    timeout(limit, stream.send_response(Response::from_parts(head, ()))).await.ok()?.ok()?;
    match content {
        Content::Text(Some(text)) => timeout(limit, stream.send_data(text)).await.ok()?.ok()?,
        Content::Text(None) => {}
        Content::Stream(mut body) => {
            while let Some(chunk) = poll_fn(|cx| body.poll_chunk(cx)).await {
                // Data that the client's flow control does not admit are not in flight.
                served.is_blocked.store(true, Ordering::Relaxed);
                stream.send_data(chunk).await.ok()?;
                served.is_blocked.store(false, Ordering::Relaxed);
            }
        }
    }
    timeout(limit, stream.finish()).await.ok()?.ok()?;
    Some(reply.close)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use bytes::Buf as _;
    use hyper::header::AUTHORIZATION;
    use hyper::Request;
    use quinn::crypto::rustls::QuicClientConfig;
    use quinn::ClientConfig;

    use super::*;
    use crate::limits::Limits;
    use crate::server::{Server, Settings};
    use crate::tokens::Tokens;
    use crate::Classes;
    use cwndlab_fetch::trust;

    const TOKEN: &str = "0123456789abcdef";
    const SIZE: usize = 40_000;

    fn start_server() -> Server {
        let mut limits = Limits::default();
        limits.set([("patience_s", 0.5), ("progress_bps", 1e9), ("sample_interval_s", 0.02)]).unwrap();
        let settings = Settings {
            listen: "127.0.0.1:0".to_owned(),
            certificate: Certificate::self_signed(&["localhost".to_owned()]).unwrap(),
            tokens: Tokens::parse(&format!("anna {TOKEN}\n"), "tokens").unwrap(),
            limits,
            quic: Some(Classes::default()),
        };
        Server::start(settings).unwrap()
    }

    /// Requests up to `max` streams over one connection with a receive window of 4 kB, and reads a part of each every
    /// 5 ms; returns the number of complete ones.
    async fn read_slowly(server: &Server, max: u32) -> u32 {
        let endpoint = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
        let crypto = QuicClientConfig::try_from(trust::config(Some(server.fingerprint()), b"h3").unwrap()).unwrap();
        let mut config = ClientConfig::new(Arc::new(crypto));
        let mut transport = TransportConfig::default();
        transport.stream_receive_window(VarInt::from_u32(4096));
        config.transport_config(Arc::new(transport));
        let connection = endpoint.connect_with(config, server.address(), "localhost").unwrap().await.unwrap();
        let (mut driver, mut requests) = h3::client::new(H3::new(connection)).await.unwrap();
        tokio::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
        for complete in 0..max {
            let request = Request::get(format!("https://localhost/bytes/{SIZE}"));
            let request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}")).body(()).unwrap();
            let Ok(mut stream) = requests.send_request(request).await else { return complete };
            if stream.finish().await.is_err() || stream.recv_response().await.is_err() {
                return complete;
            }
            let mut left = SIZE;
            while left > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
                let Ok(Some(data)) = stream.recv_data().await else { return complete };
                left -= data.remaining();
            }
        }
        max
    }

    /// Each stream takes far less than `patience_s`, but none reaches the minimum rate. The client's flow control holds
    /// the data back, so that none are in flight while the server waits.
    #[test]
    fn a_series_of_short_transfers_is_limited_like_a_long_one() {
        let server = start_server();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let complete = runtime.block_on(read_slowly(&server, 100));
        assert!(complete < 100, "{complete}");
        assert_eq!(server.counters().panics.load(Ordering::Relaxed), 0);
    }
}
