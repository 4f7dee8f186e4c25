//! Server connections over TCP and TLS, from their acceptance to the last acknowledgement.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Body as _;
use hyper::header::{HeaderValue, CONNECTION};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{interval, timeout, MissedTickBehavior};
use tokio_rustls::TlsAcceptor;

use crate::admission::{Evictable, WaitingList};
use crate::congestion;
use crate::counters::count;
use crate::handler::handle;
use crate::server_state::{PanicCounter, ServedConnection, ServerState, ServerTransport};
use crate::transfer::{lock, End};
use cwndlab_fetch::snapshot::Snapshot;
use cwndlab_fetch::socket::{close_gracefully, reset_on_close, SharedStream};

/// First byte of a TLS handshake record (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// Pause after `accept` failed because of missing descriptors or memory.
const ACCEPT_RETRY: Duration = Duration::from_millis(20);

/// The sender of a TCP connection.
struct TcpSender(Arc<TcpStream>);

impl ServerTransport for TcpSender {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn offered(&self) -> Vec<String> {
        congestion::request_names(&congestion::offered())
    }

    fn resolve(&self, name: &str) -> Option<String> {
        congestion::kernel_name(name, &congestion::offered())
    }

    fn default_algorithm(&self) -> String {
        congestion::system_default()
    }

    fn select(&self, name: &str) -> Result<String, String> {
        congestion::set(SockRef::from(&*self.0), name).map_err(|cause| cause.to_string())
    }

    fn snapshot(&self) -> Option<Snapshot> {
        Snapshot::of_tcp(self.0.as_raw_fd(), 0)
    }
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(server: Arc<ServerState>, listener: TcpListener, acceptor: TlsAcceptor) {
    let mut stop = server.stop.clone();
    let mut waiting = WaitingList::new(server.limits.waiting);
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|&stop| stop) => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(pair) => pair,
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(_) => {
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            }
        };
        count(&server.counters.attempts);
        let peer = peer.ip().to_canonical();
        if !lock(&server.admission).attempt(peer, server.age_ns()) {
            count(&server.counters.over_rate);
            reset_on_close(&stream);
            continue;
        }
        let evictable = Evictable::default();
        let task = tokio::spawn(wait(Arc::clone(&server), stream, peer, acceptor.clone(), evictable.clone()));
        if waiting.push(evictable, task.abort_handle()) {
            count(&server.counters.displaced_waiting);
        }
    }
}

/// Waits for the first byte, with no resources except the socket, then serves the connection.
async fn wait(server: Arc<ServerState>, stream: TcpStream, peer: IpAddr, acceptor: TlsAcceptor, evictable: Evictable) {
    // An evicted connection leaves no state in the kernel.
    reset_on_close(&stream);
    let mut first = [0];
    let received = timeout(server.limits.handshake, stream.peek(&mut first)).await;
    if !matches!(received, Ok(Ok(1))) {
        count(&server.counters.silent);
        return;
    }
    if first[0] != HANDSHAKE {
        count(&server.counters.silent);
        if first[0].is_ascii_uppercase() {
            reject_plain_http(&stream);
        }
        return;
    }
    if !lock(&server.admission).handshake(peer, server.age_ns()) {
        count(&server.counters.over_handshakes);
        return;
    }
    if !evictable.protect() {
        return;
    }
    let evictable = Evictable::default();
    let task = tokio::spawn(serve(Arc::clone(&server), Arc::new(stream), peer, acceptor, evictable.clone()));
    if lock(&server.unproven).push(evictable, task.abort_handle()) {
        count(&server.counters.displaced_unproven);
    }
}

/// Rejects a client that sends plain HTTP. The request is read, so that closing sends no RST before the response.
fn reject_plain_http(stream: &TcpStream) {
    close_gracefully(stream);
    let _ = stream.try_read(&mut [0; 4096]);
    let line = "this server supports only https\n";
    let head = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n";
    let _ = stream.try_write(format!("{head}Content-Length: {}\r\n\r\n{line}", line.len()).as_bytes());
}

/// Serves a connection: TLS handshake and requests.
async fn serve(
    server: Arc<ServerState>,
    stream: Arc<TcpStream>,
    peer: IpAddr,
    acceptor: TlsAcceptor,
    evictable: Evictable,
) {
    let _guard = PanicCounter(Arc::clone(&server));
    let handshake = timeout(server.limits.handshake, acceptor.accept(SharedStream(Arc::clone(&stream)))).await;
    let Ok(Ok(tls)) = handshake else {
        count(&server.counters.failed_handshakes);
        return;
    };
    count(&server.counters.handshakes);
    close_gracefully(&stream);
    let served = Arc::new(ServedConnection::new(&server, peer, evictable, Box::new(TcpSender(Arc::clone(&stream)))));
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        let has_body = !request.body().is_end_stream();
        let (parts, body) = request.into_parts();
        let mut reply = handle(&server, &served, &parts, has_body);
        drop(body);
        if reply.close {
            reply.response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        std::future::ready(Ok::<_, Infallible>(reply.response))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(server.limits.header)
        .max_buf_size(server.limits.header_bytes.max(8192))
        .serve_connection(TokioIo::new(tls), service);
    supervise(&server, &stream, &served, connection).await;
}

/// Runs a connection and observes its transfers. After the end of the connection the kernel still delivers the data in
/// the send buffer; the transfer is observed until then.
async fn supervise(
    server: &Arc<ServerState>,
    stream: &TcpStream,
    served: &ServedConnection,
    connection: impl Future<Output = hyper::Result<()>>,
) {
    tokio::pin!(connection);
    let mut stop = server.stop.clone();
    let mut tick = interval(server.limits.sample_interval.max(Duration::from_millis(1)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut open = true;
    while open || served.running().is_some() {
        tokio::select! {
            () = stopped(&mut stop) => {
                served.end(End::Stopped, "the server stopped");
                reset_on_close(stream);
                return;
            }
            _ = &mut connection, if open => {
                open = false;
                if served.running().is_some_and(|transfer| !transfer.is_handed()) {
                    served.end(End::Disconnected, "the client closed the connection");
                    reset_on_close(stream);
                }
            }
            _ = tick.tick() => {
                let has_failed = served.observe(server).is_some_and(|end| end != End::Complete);
                if has_failed {
                    reset_on_close(stream);
                    return;
                }
            }
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|&stop| stop).await;
}

/// Creates the listening socket. Its connections are unpaced until a request selects an algorithm.
pub(crate) fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_tcp_congestion(congestion::INITIAL.as_bytes())?;
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    Ok(socket.into())
}
