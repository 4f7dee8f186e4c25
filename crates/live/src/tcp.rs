//! Connections over TCP and TLS: from the kernel's queue to the last acknowledgement.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

use crate::account::{lock, End};
use crate::admission::{Place, Room};
use crate::answer::answer;
use crate::clock::{now, since_ns};
use crate::congestion;
use crate::counters::count;
use crate::house::{Carrier, Guard, House, Link};
use crate::look::Look;
use crate::socket::{cut, part, Shared};

/// First byte of a TLS record that begins a handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// After `accept` failed for want of descriptors or memory.
const BREATH: Duration = Duration::from_millis(20);

/// A TCP connection's sender.
struct Tcp(Arc<TcpStream>);

impl Carrier for Tcp {
    fn transport(&self) -> &'static str {
        "tcp"
    }

    fn offered(&self) -> Vec<String> {
        congestion::names(&congestion::offered())
    }

    fn meaning(&self, name: &str) -> Option<String> {
        congestion::kernel_name(name, &congestion::offered())
    }

    fn usual(&self) -> String {
        congestion::usual()
    }

    fn choose(&self, name: &str) -> Result<String, String> {
        congestion::set(SockRef::from(&*self.0), name).map_err(|cause| cause.to_string())
    }

    fn look(&self) -> Option<Look> {
        Look::of_tcp(self.0.as_raw_fd(), 0)
    }
}

/// Accepts until the server stops.
pub(crate) async fn accept(house: Arc<House>, listener: TcpListener, acceptor: TlsAcceptor) {
    let mut stop = house.stop.clone();
    let mut waiting = Room::new(house.limits.waiting);
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|&stop| stop) => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(pair) => pair,
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(_) => {
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        count(&house.counters.attempts);
        let peer = peer.ip().to_canonical();
        if !lock(&house.admission).attempt(peer, house.age_ns()) {
            count(&house.counters.over_rate);
            cut(&stream);
            continue;
        }
        let place = Place::default();
        let task = tokio::spawn(wait(Arc::clone(&house), stream, peer, acceptor.clone(), place.clone()));
        if waiting.enter(place, task.abort_handle()) {
            count(&house.counters.displaced_waiting);
        }
    }
}

/// Waits for the first byte, which costs a socket and nothing else; then hands on.
async fn wait(house: Arc<House>, stream: TcpStream, peer: IpAddr, acceptor: TlsAcceptor, place: Place) {
    // Whoever gives way to another leaves nothing in the kernel either.
    cut(&stream);
    let mut first = [0];
    let spoke = timeout(house.limits.handshake, stream.peek(&mut first)).await;
    if !matches!(spoke, Ok(Ok(1))) {
        count(&house.counters.silent);
        return;
    }
    if first[0] != HANDSHAKE {
        count(&house.counters.silent);
        if first[0].is_ascii_uppercase() {
            plain(&stream);
        }
        return;
    }
    if !lock(&house.admission).handshake(peer, house.age_ns()) {
        count(&house.counters.over_handshakes);
        return;
    }
    if !place.keep() {
        return;
    }
    let place = Place::default();
    let task = tokio::spawn(serve(Arc::clone(&house), Arc::new(stream), peer, acceptor, place.clone()));
    if lock(&house.unproven).enter(place, task.abort_handle()) {
        count(&house.counters.displaced_unproven);
    }
}

/// Somebody speaks plain HTTP; the request is read so that closing does not take back the answer.
fn plain(stream: &TcpStream) {
    part(stream);
    let _ = stream.try_read(&mut [0; 4096]);
    let line = "this server speaks https alone\n";
    let head = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n";
    let _ = stream.try_write(format!("{head}Content-Length: {}\r\n\r\n{line}", line.len()).as_bytes());
}

async fn serve(house: Arc<House>, stream: Arc<TcpStream>, peer: IpAddr, acceptor: TlsAcceptor, place: Place) {
    let _guard = Guard(Arc::clone(&house));
    let handshake = timeout(house.limits.handshake, acceptor.accept(Shared(Arc::clone(&stream)))).await;
    let Ok(Ok(tls)) = handshake else {
        count(&house.counters.failed_handshakes);
        return;
    };
    count(&house.counters.handshakes);
    part(&stream);
    let link = Arc::new(Link::new(peer, place, Box::new(Tcp(Arc::clone(&stream)))));
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        let has_body = !request.body().is_end_stream();
        let (parts, body) = request.into_parts();
        let mut reply = answer(&house, &link, &parts, has_body);
        drop(body);
        if reply.close {
            reply.response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        std::future::ready(Ok::<_, Infallible>(reply.response))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(house.limits.header)
        .max_buf_size(house.limits.header_bytes.max(8192))
        .serve_connection(TokioIo::new(tls), service);
    tokio::pin!(connection);
    let mut stop = house.stop.clone();
    let mut tick = interval(house.limits.sample_interval.max(Duration::from_millis(1)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut open = true;
    let mut moved = (0, now());
    // When the connection is over the kernel still has to bring what it was given: looked at until it has.
    while open || link.running().is_some() {
        tokio::select! {
            () = stopped(&mut stop) => {
                link.end(End::Stopped, "the server stopped");
                cut(&stream);
                return;
            }
            _ = &mut connection, if open => {
                open = false;
                if link.running().is_some_and(|transfer| !transfer.is_handed()) {
                    link.end(End::Gone, "the client went away");
                    cut(&stream);
                }
            }
            _ = tick.tick() => {
                if link.watch(&house).is_some_and(|end| end != End::Whole) || stuck(&house, &link, &mut moved) {
                    cut(&stream);
                    return;
                }
            }
        }
    }
}

/// Nothing but answers is on its way, and for as long as a transfer may stand still the client has taken none of them.
fn stuck(house: &House, link: &Link, moved: &mut (u64, Instant)) -> bool {
    let Some(look) = link.carrier.look().filter(|look| !look.idle && link.running().is_none()) else {
        *moved = (0, now());
        return false;
    };
    if look.acked_bytes != moved.0 {
        *moved = (look.acked_bytes, now());
    }
    since_ns(moved.1) > house.limits.patience.as_nanos() as u64
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|&stop| stop).await;
}

/// A listening socket; what it accepts is unpaced and waits for its algorithm.
pub(crate) fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_tcp_congestion(congestion::NEUTRAL.as_bytes())?;
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    Ok(socket.into())
}
