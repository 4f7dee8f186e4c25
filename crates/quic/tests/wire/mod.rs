//! Two QUIC endpoints of `quinn-proto` over a wire in memory, on a virtual clock, without sockets, threads or
//! randomness.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use cwndlab_quic::{Factory, Observation};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    ServerConfig, StreamId, Transmit, TransportConfig, VarInt,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Size of the IPv4 and UDP headers of a QUIC packet, bytes.
pub(crate) const HEADERS: u64 = 28;
/// Size of a full QUIC packet, which is the UDP payload, bytes.
pub(crate) const MTU: u16 = 1452;

/// One direction of the path: a drop-tail queue, a line and a wire.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    rate_bps: u64,
    delay_ns: u64,
    /// Capacity of the queue without the packet in service, packets.
    capacity: usize,
    /// Queue length from which arriving packets are marked, packets.
    mark_from: Option<usize>,
    /// Start and end of an outage, ns: packets that arrive in it are lost.
    outage: Option<(u64, u64)>,
    busy_until: u64,
    starts: VecDeque<u64>,
    drops: u64,
}

impl Line {
    pub(crate) fn new(rate_bps: u64, delay_ns: u64, capacity: usize) -> Self {
        Self {
            rate_bps,
            delay_ns,
            capacity,
            mark_from: None,
            outage: None,
            busy_until: 0,
            starts: VecDeque::new(),
            drops: 0,
        }
    }

    /// The line with a marking threshold of `from` waiting packets.
    pub(crate) fn with_marking(self, from: usize) -> Self {
        Self { mark_from: Some(from), ..self }
    }

    /// The line with an outage, ns.
    pub(crate) fn with_outage(self, from: u64, to: u64) -> Self {
        Self { outage: Some((from, to)), ..self }
    }

    /// The arrival time of a packet at the other end, and whether it is marked; `None` if it is dropped.
    fn enqueue(&mut self, now: u64, bytes: u64) -> Option<(u64, bool)> {
        while self.starts.front().is_some_and(|start| *start <= now) {
            self.starts.pop_front();
        }
        if self.starts.len() >= self.capacity || self.outage.is_some_and(|(from, to)| (from..to).contains(&now)) {
            self.drops += 1;
            return None;
        }
        let marked = self.mark_from.is_some_and(|from| self.starts.len() >= from);
        let start = self.busy_until.max(now);
        if start > now {
            self.starts.push_back(start);
        }
        self.busy_until = start + bytes * 8_000_000_000 / self.rate_bps;
        Some((self.busy_until + self.delay_ns, marked))
    }
}

struct WireEndpoint {
    endpoint: Endpoint,
    address: SocketAddr,
    connection: Option<(ConnectionHandle, Connection)>,
    inbound: VecDeque<(u64, Option<EcnCodepoint>, Vec<u8>)>,
}

/// The result of a transfer.
pub(crate) struct Outcome {
    /// The observations at the sender, with times since the start of the transfer.
    pub(crate) observations: Vec<Observation>,
    /// Bytes that the receiving application read.
    pub(crate) delivered: u64,
    /// Packets that the forward line dropped.
    pub(crate) drops: u64,
    /// Maximum of the bytes in flight over all observations.
    pub(crate) max_in_flight: u64,
}

/// Splits a transmission into datagrams.
fn split(transmit: &Transmit, buffer: &[u8]) -> Vec<(Option<EcnCodepoint>, Vec<u8>)> {
    let size = transmit.segment_size.unwrap_or(transmit.size).max(1);
    buffer[..transmit.size].chunks(size).map(|part| (transmit.ecn, part.to_vec())).collect()
}

impl WireEndpoint {
    /// Processes all arrivals and timers that are due, and returns the datagrams to send.
    fn process(&mut self, base: Instant, now: u64, peer: SocketAddr) -> Vec<(Option<EcnCodepoint>, Vec<u8>)> {
        let instant = base + Duration::from_nanos(now);
        let mut buffer = Vec::new();
        let mut out = Vec::new();
        while self.inbound.front().is_some_and(|(due, ..)| *due <= now) {
            let Some((_, ecn, bytes)) = self.inbound.pop_front() else { break };
            match self.endpoint.handle(instant, peer, None, ecn, BytesMut::from(&bytes[..]), &mut buffer) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let accepted = self.endpoint.accept(incoming, instant, &mut buffer, None);
                    self.connection = Some(accepted.unwrap_or_else(|refused| panic!("{}", refused.cause)));
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    if let Some((_, connection)) = &mut self.connection {
                        connection.handle_event(event);
                    }
                }
                Some(DatagramEvent::Response(transmit)) => out.extend(split(&transmit, &buffer)),
                None => {}
            }
            buffer.clear();
        }
        let Some((handle, connection)) = &mut self.connection else { return out };
        while connection.poll_timeout().is_some_and(|due| due <= instant) {
            connection.handle_timeout(instant);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(transmit) = connection.poll_transmit(instant, 10, &mut buffer) {
            out.extend(split(&transmit, &buffer));
            buffer.clear();
        }
        out
    }

    fn due(&mut self, base: Instant) -> Option<u64> {
        let timer = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let timer = timer.map(|due| due.saturating_duration_since(base).as_nanos() as u64);
        let arrival = self.inbound.front().map(|(due, ..)| *due);
        [timer, arrival].into_iter().flatten().min()
    }
}

/// The workload of the sending application.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Workload {
    /// Unlimited data.
    Endless,
    /// A burst of bytes in each interval: bytes, ns.
    Bursts(u64, u64),
}

fn transport(factory: Arc<Factory>) -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    let window = VarInt::from_u32(1 << 28);
    config
        .congestion_controller_factory(factory)
        .initial_mtu(MTU)
        .mtu_discovery_config(None)
        .stream_receive_window(window)
        .receive_window(window)
        .send_window(1 << 26);
    Arc::new(config)
}

/// Runs a transfer from one endpoint to the other for `duration_ns`.
pub(crate) fn transfer(
    factory: Factory,
    workload: Workload,
    mut forward: Line,
    mut back: Line,
    duration_ns: u64,
) -> Outcome {
    // An Ed25519 signature has one length: the handshake has the same number of bytes each time.
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    let signed = rcgen::CertificateParams::new(vec!["wire".to_owned()]).expect("a name").self_signed(&key);
    let certificate = signed.expect("a certificate").der().clone();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).expect("a valid certificate");

    let observations: Arc<Mutex<Vec<Observation>>> = Arc::default();
    let sink = Arc::clone(&observations);
    let factory = factory.with_observer(Arc::new(move |observation| sink.lock().expect("no panic").push(*observation)));
    let mut server = ServerConfig::with_single_cert(vec![certificate], private).expect("key and certificate match");
    server.transport_config(transport(cwndlab_quic::controller_factory("reno").expect("an entry")));
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a root certificate");
    client.transport_config(transport(Arc::new(factory)));

    let base = origin();
    let endpoint = |seed: u8, server| {
        let mut config = EndpointConfig::default();
        config.rng_seed(Some([seed; 32]));
        Endpoint::new(Arc::new(config), server, false, None)
    };
    let addresses: [SocketAddr; 2] = ["10.0.0.1:1000", "10.0.0.2:443"].map(|text| text.parse().expect("an address"));
    let mut sender =
        WireEndpoint { endpoint: endpoint(1, None), address: addresses[0], connection: None, inbound: VecDeque::new() };
    let mut receiver = WireEndpoint {
        endpoint: endpoint(2, Some(Arc::new(server))),
        address: addresses[1],
        connection: None,
        inbound: VecDeque::new(),
    };
    sender.connection = Some(sender.endpoint.connect(base, client, addresses[1], "wire").expect("it connects"));

    let (mut now, mut stream, mut delivered): (u64, Option<StreamId>, u64) = (0, None, 0);
    let mut unsent = 0;
    let mut next_burst = 0;
    let block = vec![0u8; 1 << 16];
    while now <= duration_ns {
        if let Workload::Bursts(bytes, interval) = workload {
            while next_burst <= now {
                unsent += bytes;
                next_burst += interval;
            }
        } else {
            unsent = u64::MAX;
        }
        // Arrivals precede the applications' reads and writes, and these precede the resulting transmissions.
        let mut leaving = sender.process(base, now, addresses[1]);
        write(&mut sender, &mut stream, &mut unsent, &block);
        leaving.extend(sender.process(base, now, addresses[1]));
        for (ecn, bytes) in leaving {
            if let Some((due, marked)) = forward.enqueue(now, bytes.len() as u64 + HEADERS) {
                let ecn = if marked { ecn.map(|_| EcnCodepoint::Ce) } else { ecn };
                receiver.inbound.push_back((due, ecn, bytes));
            }
        }
        let mut leaving = receiver.process(base, now, addresses[0]);
        delivered += read(&mut receiver);
        leaving.extend(receiver.process(base, now, addresses[0]));
        for (ecn, bytes) in leaving {
            if let Some((due, _)) = back.enqueue(now, bytes.len() as u64 + HEADERS) {
                sender.inbound.push_back((due, ecn, bytes));
            }
        }
        let burst = matches!(workload, Workload::Bursts(..)).then_some(next_burst);
        let Some(next) = [sender.due(base), receiver.due(base), burst].into_iter().flatten().min() else { break };
        now = next.max(now + 1);
    }
    assert_eq!(sender.address, addresses[0]);
    assert_eq!(receiver.address, addresses[1]);
    let observations = std::mem::take(&mut *observations.lock().expect("no panic"));
    let max_in_flight = observations.iter().map(|observation| observation.in_flight.0).max().unwrap_or(0);
    Outcome { observations, delivered, drops: forward.drops, max_in_flight }
}

/// The origin of the virtual clock. Only the system's clock supplies an `Instant`; only differences of times matter.
#[allow(clippy::disallowed_methods)]
fn origin() -> Instant {
    Instant::now()
}

fn write(sender: &mut WireEndpoint, stream: &mut Option<StreamId>, unsent: &mut u64, block: &[u8]) {
    let Some((_, connection)) = &mut sender.connection else { return };
    while connection.poll().is_some() {}
    if connection.is_handshaking() {
        return;
    }
    if stream.is_none() {
        *stream = connection.streams().open(Dir::Uni);
    }
    let Some(stream) = *stream else { return };
    while *unsent > 0 {
        let size = (*unsent).min(block.len() as u64) as usize;
        match connection.send_stream(stream).write(&block[..size]) {
            Ok(written) if *unsent != u64::MAX => *unsent -= written as u64,
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

fn read(receiver: &mut WireEndpoint) -> u64 {
    let Some((_, connection)) = &mut receiver.connection else { return 0 };
    while connection.poll().is_some() {}
    while connection.streams().accept(Dir::Uni).is_some() {}
    let mut read = 0;
    let first = StreamId::new(quinn_proto::Side::Client, Dir::Uni, 0);
    let mut streams = connection.recv_stream(first);
    if let Ok(mut chunks) = streams.read(true) {
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            read += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }
    read
}
