//! Server connections over QUIC with HTTP/3; [`crate::tcp`] has those over TCP.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use cwndlab_linux::fault::{fault, Fault};
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
use crate::snapshot::Snapshot;
use crate::swappable::{self, SwappableFactory, SwappableState};
use crate::tls;
use crate::transfer::{lock, End};

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
}

impl ServerTransport for QuicSender {
    fn name(&self) -> &'static str {
        "quic"
    }

    fn offered(&self) -> Vec<String> {
        swappable::offered()
    }

    fn resolve(&self, name: &str) -> Option<String> {
        swappable::factory(name).map(|(full, _)| full)
    }

    fn default_algorithm(&self) -> String {
        swappable::DEFAULT.to_owned()
    }

    fn select(&self, name: &str) -> Result<String, String> {
        let (full, factory) = swappable::factory(name).ok_or("unknown algorithm")?;
        lock(&self.state).replace(factory);
        Ok(full)
    }

    fn snapshot(&self) -> Option<Snapshot> {
        let stats = self.connection.stats();
        let state = lock(&self.state);
        let metrics = state.metrics();
        Some(Snapshot {
            cwnd_bytes: stats.path.cwnd,
            ssthresh_bytes: metrics.ssthresh.filter(|&bytes| bytes < u64::MAX / 2),
            in_flight_bytes: state.in_flight_bytes,
            srtt_ns: stats.path.rtt.as_nanos() as u64,
            pacing_rate_bps: metrics.pacing_rate,
            acked_bytes: state.acked_bytes,
            sent_bytes: state.sent_bytes,
            retransmitted_bytes: stats.path.lost_bytes,
            sent_packets: stats.path.sent_packets,
            retransmitted_packets: stats.path.lost_packets,
            idle: state.in_flight_bytes == 0,
            closed: self.connection.close_reason().is_some(),
            min_rtt_ns: Some(stats.path.min_rtt.as_nanos() as u64),
            ..Snapshot::default()
        })
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
    let broken = |cause: String| fault("--quic", cause, "");
    let crypto = tls::config(certificate, b"h3")?;
    let crypto = Arc::new(QuicServerConfig::try_from(crypto).map_err(|cause| broken(cause.to_string()))?);
    let mut config = quinn::ServerConfig::with_crypto(Arc::<QuicServerConfig>::clone(&crypto));
    config.max_incoming(PENDING).incoming_buffer_size(1 << 16).incoming_buffer_size_total(PENDING as u64 * (1 << 14));
    let endpoint = Endpoint::server(config, address).map_err(|cause| {
        let hint = "choose another port, or port 0 for a free one";
        fault("--listen", format!("UDP '{address}': {cause}"), hint)
    })?;
    Ok((endpoint, crypto))
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(server: Arc<ServerState>, endpoint: Endpoint, crypto: Arc<QuicServerConfig>) {
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
        let task = tokio::spawn(serve(Arc::clone(&server), incoming, Arc::clone(&crypto), evictable.clone()));
        if lock(&server.unproven).push(evictable, task.abort_handle()) {
            count(&server.counters.displaced_unproven);
        }
    }
    endpoint.close(VarInt::from_u32(0), b"the server stopped");
    endpoint.wait_idle().await;
}

/// Serves a connection: handshake and requests.
async fn serve(server: Arc<ServerState>, incoming: Incoming, crypto: Arc<QuicServerConfig>, evictable: Evictable) {
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
    let transport = QuicSender { connection: connection.clone(), state };
    let served = ServedConnection::new(peer, evictable, Box::new(transport));
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
    let (response, mut close) = (respond(server, served, requests), None);
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
                stream.send_data(chunk).await.ok()?;
            }
        }
    }
    timeout(limit, stream.finish()).await.ok()?.ok()?;
    Some(reply.close)
}
