//! Connections over QUIC, HTTP/3: what [`crate::tcp`] is over TCP.

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

use crate::account::{lock, End};
use crate::admission::Place;
use crate::answer::answer;
use crate::body::Content;
use crate::certificate::Certificate;
use crate::counters::count;
use crate::house::{Carrier, Guard, House, Link};
use crate::look::Look;
use crate::server::tls;
use crate::switch::{self, Hold, Inner};

/// What a client may send before anything was sent to it.
const FREE_BYTES: u64 = 1 << 18;
/// How often that is looked at.
const GLANCE: Duration = Duration::from_millis(20);
/// What a client may send before it is read: requests are small.
const RECEIVE_WINDOW: u32 = 64 << 10;

/// Clients that have answered from their address and not been looked at.
const PENDING: usize = 1024;

/// What waits for its acknowledgement at most: a window of 10 Gbit/s over 10 ms, or of 1 Gbit/s over 100 ms.
const SEND_WINDOW: u64 = 12_500_000;

/// A QUIC connection's sender.
struct Quic {
    connection: quinn::Connection,
    inner: Arc<Mutex<Inner>>,
}

impl Carrier for Quic {
    fn transport(&self) -> &'static str {
        "quic"
    }

    fn offered(&self) -> Vec<String> {
        switch::offered()
    }

    fn meaning(&self, name: &str) -> Option<String> {
        switch::factory(name).map(|(full, _)| full)
    }

    fn usual(&self) -> String {
        switch::NEUTRAL.to_owned()
    }

    fn choose(&self, name: &str) -> Result<String, String> {
        let (full, factory) = switch::factory(name).ok_or("there is none")?;
        lock(&self.inner).exchange(factory);
        Ok(full)
    }

    fn look(&self) -> Option<Look> {
        let stats = self.connection.stats();
        let inner = lock(&self.inner);
        let metrics = inner.metrics();
        Some(Look {
            cwnd_bytes: stats.path.cwnd,
            ssthresh_bytes: metrics.ssthresh.filter(|&bytes| bytes < u64::MAX / 2),
            in_flight_bytes: inner.in_flight_bytes,
            srtt_ns: stats.path.rtt.as_nanos() as u64,
            pacing_rate_bps: metrics.pacing_rate,
            acked_bytes: inner.acked_bytes,
            sent_bytes: inner.sent_bytes,
            retransmitted_bytes: stats.path.lost_bytes,
            sent_packets: stats.path.sent_packets,
            retransmitted_packets: stats.path.lost_packets,
            idle: inner.in_flight_bytes == 0,
            closed: self.connection.close_reason().is_some(),
            min_rtt_ns: Some(stats.path.min_rtt.as_nanos() as u64),
            ..Look::default()
        })
    }
}

/// A transport configuration whose controller can be exchanged.
fn transport(house: &House, hold: Arc<Hold>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(hold)
        .max_idle_timeout(IdleTimeout::try_from(house.limits.patience.max(house.limits.header)).ok())
        .max_concurrent_bidi_streams(VarInt::from_u32(2))
        .max_concurrent_uni_streams(VarInt::from_u32(8))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW / 2))
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(None);
    transport
}

/// The socket; call it within a runtime.
pub(crate) fn listen(
    address: SocketAddr,
    certificate: &Certificate,
) -> Result<(Endpoint, Arc<QuicServerConfig>), Fault> {
    let broken = |cause: String| fault("--quic", cause, "");
    let crypto = tls(certificate, b"h3")?;
    let crypto = Arc::new(QuicServerConfig::try_from(crypto).map_err(|cause| broken(cause.to_string()))?);
    let mut config = quinn::ServerConfig::with_crypto(Arc::<QuicServerConfig>::clone(&crypto));
    config.max_incoming(PENDING).incoming_buffer_size(1 << 16).incoming_buffer_size_total(PENDING as u64 * (1 << 14));
    let endpoint = Endpoint::server(config, address).map_err(|cause| {
        let hint = "another port, or port 0 for a free one";
        fault("--listen", format!("UDP '{address}': {cause}"), hint)
    })?;
    Ok((endpoint, crypto))
}

/// Accepts until the server stops.
pub(crate) async fn accept(house: Arc<House>, endpoint: Endpoint, crypto: Arc<QuicServerConfig>) {
    let mut stop = house.stop.clone();
    loop {
        let incoming = tokio::select! {
            _ = stop.wait_for(|&stop| stop) => break,
            incoming = endpoint.accept() => incoming,
        };
        let Some(incoming) = incoming else { return };
        // A source address proves nothing before it has answered: until then it costs and counts nothing.
        if !incoming.remote_address_validated() {
            let _ = incoming.retry();
            continue;
        }
        count(&house.counters.attempts);
        let peer = incoming.remote_address().ip().to_canonical();
        let now = house.age_ns();
        if !lock(&house.admission).attempt(peer, now) {
            count(&house.counters.over_rate);
            incoming.ignore();
            continue;
        }
        if !lock(&house.admission).handshake(peer, now) {
            count(&house.counters.over_handshakes);
            incoming.refuse();
            continue;
        }
        let place = Place::default();
        let task = tokio::spawn(serve(Arc::clone(&house), incoming, Arc::clone(&crypto), place.clone()));
        if lock(&house.unproven).enter(place, task.abort_handle()) {
            count(&house.counters.displaced_unproven);
        }
    }
    endpoint.close(VarInt::from_u32(0), b"the server stopped");
    endpoint.wait_idle().await;
}

async fn serve(house: Arc<House>, incoming: Incoming, crypto: Arc<QuicServerConfig>, place: Place) {
    let _guard = Guard(Arc::clone(&house));
    let peer = incoming.remote_address().ip().to_canonical();
    let hold = Arc::<Hold>::default();
    let mut config = quinn::ServerConfig::with_crypto(crypto);
    config.transport_config(Arc::new(transport(&house, Arc::clone(&hold)))).migration(false);
    let Ok(connecting) = incoming.accept_with(Arc::new(config)) else { return };
    let Ok(Ok(connection)) = timeout(house.limits.handshake, connecting).await else {
        count(&house.counters.failed_handshakes);
        return;
    };
    count(&house.counters.handshakes);
    let Some(inner) = hold.inner() else { return };
    let carrier = Quic { connection: connection.clone(), inner };
    let link = Link::new(peer, place, Box::new(carrier));
    talk(&house, &link, &connection).await;
    let stopped = *house.stop.borrow();
    if stopped {
        link.end(End::Stopped, "the server stopped");
    }
    connection.close(VarInt::from_u32(0x100), b"");
}

type Requests = h3::server::Connection<H3, Bytes>;

async fn talk(house: &Arc<House>, link: &Link, connection: &quinn::Connection) {
    let mut builder = h3::server::builder();
    builder.max_field_section_size(house.limits.header_bytes as u64).send_grease(false);
    let opening = builder.build(H3::new(connection.clone()));
    let Ok(Ok(mut requests)) = timeout(house.limits.header, opening).await else { return };
    while let Some(close) = one(house, link, connection, &mut requests).await {
        if close {
            // What was said last should arrive: the client closes when it has read it.
            let _ = timeout(Duration::from_secs(1), connection.closed()).await;
            return;
        }
    }
}

/// Clients send requests and acknowledgements. `h3` gathers a frame as a whole before it looks at its size, so what comes is
/// bounded here: a quarter of what went out, and a start.
fn is_talkative(connection: &quinn::Connection) -> bool {
    let stats = connection.stats();
    stats.udp_rx.bytes > FREE_BYTES + stats.udp_tx.bytes / 4
}

/// Serves one request; says whether the connection ends with it, and nothing where it has ended.
async fn one(house: &Arc<House>, link: &Link, connection: &quinn::Connection, requests: &mut Requests) -> Option<bool> {
    let mut stop = house.stop.clone();
    let mut tick = interval(house.limits.sample_interval.max(Duration::from_millis(1)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut glance = interval(GLANCE);
    glance.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (answered, mut close) = (asked(house, link, requests), None);
    tokio::pin!(answered);
    while close.is_none() {
        tokio::select! {
            _ = stop.wait_for(|&stop| stop) => return None,
            done = &mut answered => close = Some(done?),
            _ = glance.tick() => {
                if is_talkative(connection) {
                    return None;
                }
            }
            _ = tick.tick() => {
                if link.watch(house).is_some_and(|end| end != End::Whole) {
                    return None;
                }
            }
        }
    }
    close
}

async fn asked(house: &Arc<House>, link: &Link, requests: &mut Requests) -> Option<bool> {
    // While a transfer's last bytes are on their way nobody has to ask for anything.
    let resolver = loop {
        match timeout(house.limits.header, requests.accept()).await {
            Ok(accepted) => break accepted.ok()??,
            Err(_) if link.running().is_some() => {}
            Err(_) => return None,
        }
    };
    let (request, mut stream) = timeout(house.limits.header, resolver.resolve_request()).await.ok()?.ok()?;
    let (parts, ()) = request.into_parts();
    let has_body = parts.headers.get(CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
    let reply = answer(house, link, &parts, has_body);
    let (head, content) = reply.response.into_parts();
    // All but a transfer, which has its own limits, must be taken in the time that a request may take.
    let patience = house.limits.header;
    timeout(patience, stream.send_response(Response::from_parts(head, ()))).await.ok()?.ok()?;
    match content {
        Content::Text(Some(text)) => timeout(patience, stream.send_data(text)).await.ok()?.ok()?,
        Content::Text(None) => {}
        Content::Stream(mut body) => {
            while let Some(chunk) = poll_fn(|cx| body.poll_chunk(cx)).await {
                stream.send_data(chunk).await.ok()?;
            }
        }
    }
    timeout(patience, stream.finish()).await.ok()?.ok()?;
    Some(reply.close)
}
