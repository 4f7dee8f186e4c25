//! Two QUIC endpoints of `quinn-proto` over a wire in memory, on a virtual clock: no sockets, no threads, no chance.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use cwndlab_quic::{Answer, Factory};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    ServerConfig, StreamId, Transmit, TransportConfig, VarInt,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Bytes of IPv4 and UDP headers in front of a QUIC packet.
pub(crate) const HEADERS: u64 = 28;
/// Bytes of a full QUIC packet: its UDP payload.
pub(crate) const MTU: u16 = 1452;

/// One direction: a drop-tail queue in packets, a line, a wire.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    rate_bps: u64,
    delay_ns: u64,
    /// The packet in service not counted.
    capacity: usize,
    /// From so many packets in the queue on they are marked instead.
    mark_from: Option<usize>,
    /// Everything that enters between these times is lost.
    dark: Option<(u64, u64)>,
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
            dark: None,
            busy_until: 0,
            starts: VecDeque::new(),
            drops: 0,
        }
    }

    /// The same with marks from so many waiting packets on.
    pub(crate) fn marking(self, from: usize) -> Self {
        Self { mark_from: Some(from), ..self }
    }

    /// The same with everything lost that enters between these times.
    pub(crate) fn dark(self, from: u64, to: u64) -> Self {
        Self { dark: Some((from, to)), ..self }
    }

    /// When a packet arrives at the other end, and whether it is marked; `None`: dropped.
    fn take(&mut self, now: u64, bytes: u64) -> Option<(u64, bool)> {
        while self.starts.front().is_some_and(|start| *start <= now) {
            self.starts.pop_front();
        }
        if self.starts.len() >= self.capacity || self.dark.is_some_and(|(from, to)| (from..to).contains(&now)) {
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

struct End {
    endpoint: Endpoint,
    address: SocketAddr,
    connection: Option<(ConnectionHandle, Connection)>,
    inbound: VecDeque<(u64, Option<EcnCodepoint>, Vec<u8>)>,
}

/// What a transfer did.
pub(crate) struct Outcome {
    /// The sender's answers, times since the wire was switched on.
    pub(crate) answers: Vec<Answer>,
    /// Bytes that the receiving application read.
    pub(crate) delivered: u64,
    /// Packets that the forward line dropped.
    pub(crate) drops: u64,
    /// In flight at most, after an answer.
    pub(crate) most_in_flight: u64,
}

/// What leaves an end, one datagram each.
fn split(transmit: &Transmit, buffer: &[u8]) -> Vec<(Option<EcnCodepoint>, Vec<u8>)> {
    let size = transmit.segment_size.unwrap_or(transmit.size).max(1);
    buffer[..transmit.size].chunks(size).map(|part| (transmit.ecn, part.to_vec())).collect()
}

impl End {
    /// Lets everything happen that is due, and gives what leaves.
    fn act(&mut self, base: Instant, now: u64, peer: SocketAddr) -> Vec<(Option<EcnCodepoint>, Vec<u8>)> {
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
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
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

/// What the sending application does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// It always has data.
    Endless,
    /// So many bytes every so many nanoseconds.
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

/// Sends for `duration_ns` from one end to the other.
pub(crate) fn transfer(factory: Factory, work: Work, mut forward: Line, mut back: Line, duration_ns: u64) -> Outcome {
    // An Ed25519 signature has one length: the handshake has the same number of bytes each time.
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    let made = rcgen::CertificateParams::new(vec!["wire".to_owned()]).expect("a name").self_signed(&key);
    let certificate = made.expect("a certificate").der().clone();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).expect("it is one");

    let answers: Arc<Mutex<Vec<Answer>>> = Arc::default();
    let kept = Arc::clone(&answers);
    let factory = factory.observed(Arc::new(move |answer| kept.lock().expect("nobody panics").push(*answer)));
    let mut server = ServerConfig::with_single_cert(vec![certificate], private).expect("key and certificate match");
    server
        .transport_config(transport(Arc::new(Factory::clone(&cwndlab_quic::controller("reno").expect("it is there")))));
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("it trusts one");
    client.transport_config(transport(Arc::new(factory)));

    let base = origin();
    let endpoint = |seed: u8, server| {
        let mut config = EndpointConfig::default();
        config.rng_seed(Some([seed; 32]));
        Endpoint::new(Arc::new(config), server, false, None)
    };
    let addresses: [SocketAddr; 2] = ["10.0.0.1:1000", "10.0.0.2:443"].map(|text| text.parse().expect("an address"));
    let mut sender =
        End { endpoint: endpoint(1, None), address: addresses[0], connection: None, inbound: VecDeque::new() };
    let mut receiver = End {
        endpoint: endpoint(2, Some(Arc::new(server))),
        address: addresses[1],
        connection: None,
        inbound: VecDeque::new(),
    };
    sender.connection = Some(sender.endpoint.connect(base, client, addresses[1], "wire").expect("it connects"));

    let (mut now, mut stream, mut delivered): (u64, Option<StreamId>, u64) = (0, None, 0);
    let (mut owed, mut next_burst) = (0, 0);
    let block = vec![0u8; 1 << 16];
    while now <= duration_ns {
        if let Work::Bursts(bytes, every) = work {
            while next_burst <= now {
                owed += bytes;
                next_burst += every;
            }
        } else {
            owed = u64::MAX;
        }
        // Arrivals first, then what the applications do with them, then what leaves on their behalf.
        let mut leaving = sender.act(base, now, addresses[1]);
        write(&mut sender, &mut stream, &mut owed, &block);
        leaving.extend(sender.act(base, now, addresses[1]));
        for (ecn, bytes) in leaving {
            if let Some((due, marked)) = forward.take(now, bytes.len() as u64 + HEADERS) {
                let ecn = if marked { ecn.map(|_| EcnCodepoint::Ce) } else { ecn };
                receiver.inbound.push_back((due, ecn, bytes));
            }
        }
        let mut leaving = receiver.act(base, now, addresses[0]);
        delivered += read(&mut receiver);
        leaving.extend(receiver.act(base, now, addresses[0]));
        for (ecn, bytes) in leaving {
            if let Some((due, _)) = back.take(now, bytes.len() as u64 + HEADERS) {
                sender.inbound.push_back((due, ecn, bytes));
            }
        }
        let burst = matches!(work, Work::Bursts(..)).then_some(next_burst);
        let Some(next) = [sender.due(base), receiver.due(base), burst].into_iter().flatten().min() else { break };
        now = next.max(now + 1);
    }
    assert_eq!(sender.address, addresses[0]);
    assert_eq!(receiver.address, addresses[1]);
    let answers = std::mem::take(&mut *answers.lock().expect("nobody panics"));
    let most_in_flight = answers.iter().map(|answer| answer.in_flight.0).max().unwrap_or(0);
    Outcome { answers, delivered, drops: forward.drops, most_in_flight }
}

/// Where the virtual clock begins: an `Instant` can only be had from the system's clock, and only differences count.
#[allow(clippy::disallowed_methods)]
fn origin() -> Instant {
    Instant::now()
}

fn write(sender: &mut End, stream: &mut Option<StreamId>, owed: &mut u64, block: &[u8]) {
    let Some((_, connection)) = &mut sender.connection else { return };
    while connection.poll().is_some() {}
    if connection.is_handshaking() {
        return;
    }
    if stream.is_none() {
        *stream = connection.streams().open(Dir::Uni);
    }
    let Some(stream) = *stream else { return };
    while *owed > 0 {
        let size = (*owed).min(block.len() as u64) as usize;
        match connection.send_stream(stream).write(&block[..size]) {
            Ok(written) if *owed != u64::MAX => *owed -= written as u64,
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

fn read(receiver: &mut End) -> u64 {
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
