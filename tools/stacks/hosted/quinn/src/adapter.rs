//! The adapter of stacks with the interface of quinn-proto, which the crate that has this module names in `api`. Their
//! time is an argument, and their random numbers come from the seed of the endpoint and from the system.
//!
//! Options: `window=BYTES`, the flow control's; `gso=DATAGRAMS`; `mtu=BYTES`, the first datagrams' size; `mtud=0`;
//! `idle=SECONDS`; and those of the congestion controls.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use cwndlab_stack::{clock, tls, Answer, Stack, Start, Value};

use crate::api::proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use crate::api::proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event,
    FinishError, MtuDiscoveryConfig, ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig, VarInt,
    WriteError,
};
use crate::api::{self, Observed, ObservedFactory};
use crate::controls;

/// Bytes that are written at once.
const CHUNK: usize = 1 << 16;
/// Datagrams in a batch of segmentation offload, as in quinn.
const SEGMENTS: usize = 10;
const SENDER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 1);
const RECEIVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 2);

/// A connection with one stream, from the end that opens it.
pub struct Adapter {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The configuration of a sender that has not connected.
    client: Option<ClientConfig>,
    controller: String,
    segments: usize,
    observed: Arc<Mutex<Observed>>,
    /// It is written when the adapter ends.
    _log: Option<api::Log>,
    stream: Option<StreamId>,
    to_write: u64,
    is_finishing: bool,
    is_finished: bool,
    is_done: bool,
    delivered: u64,
    chunk: Bytes,
    buffer: Vec<u8>,
}

/// The configuration of the transport with the options, and the datagrams of a batch.
fn transport(start: &Start) -> Result<(TransportConfig, usize), String> {
    let mut transport = TransportConfig::default();
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(start.max_datagram.min(1452));
    transport.mtu_discovery_config(Some(discovery));
    let mut segments = SEGMENTS;
    for (key, value) in start.pairs()? {
        let number: u32 = value.parse().map_err(|_| format!("{key}: '{value}' is not a number"))?;
        match key {
            "window" => {
                transport.stream_receive_window(VarInt::from_u32(number)).send_window(number.into());
            }
            "mtu" => {
                transport.initial_mtu(number as u16);
            }
            "mtud" => {
                if number == 0 {
                    transport.mtu_discovery_config(None);
                }
            }
            "gso" => segments = number.max(1) as usize,
            "idle" => {
                transport.max_idle_timeout(Some(VarInt::from_u32(number * 1000).into()));
            }
            _ if controls::OPTIONS.contains(&key) => {}
            _ => {
                let names = [&["window", "mtu", "mtud", "gso", "idle"], controls::OPTIONS].concat().join(", ");
                return Err(format!("no option is called '{key}': {names}"));
            }
        }
    }
    Ok((transport, segments))
}

fn ecn_field(ecn: Option<EcnCodepoint>) -> u8 {
    ecn.map_or(0, |codepoint| codepoint as u8)
}

/// Writes the datagrams of a transmission to the answer.
fn send(transmit: &Transmit, buffer: &[u8], answer: &mut Answer) {
    let sent = &buffer[..transmit.size];
    for datagram in sent.chunks(transmit.segment_size.unwrap_or(transmit.size)) {
        answer.send(ecn_field(transmit.ecn), datagram);
    }
}

impl Adapter {
    fn connect(&mut self, now: Instant) {
        if let Some(config) = self.client.take() {
            let connected = self.endpoint.connect(now, config, RECEIVER, "localhost");
            self.connection = Some(connected.expect("the configuration is valid"));
        }
    }

    fn on_event(&mut self, event: Event, now: Instant) {
        let Some((_, connection)) = &mut self.connection else { return };
        match event {
            Event::Connected if connection.side().is_client() => self.stream = connection.streams().open(Dir::Uni),
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                self.stream = connection.streams().accept(Dir::Uni).or(self.stream);
            }
            Event::Stream(StreamEvent::Finished { .. }) => {
                self.is_done = true;
                connection.close(now, VarInt::from_u32(0), Bytes::new());
            }
            _ => {}
        }
    }

    fn write_stream(&mut self) {
        let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.stream) else { return };
        let mut stream = connection.send_stream(stream);
        while self.to_write > 0 {
            let chunk = self.chunk.slice(..self.to_write.min(CHUNK as u64) as usize);
            match api::write(&mut stream, chunk) {
                Ok(_) if self.to_write == u64::MAX => {}
                Ok(written) => self.to_write -= written as u64,
                Err(WriteError::Blocked) => return,
                Err(_) => self.to_write = 0,
            }
        }
        if self.is_finishing && !self.is_finished {
            self.is_finished = !matches!(stream.finish(), Err(FinishError::ClosedStream));
        }
    }

    fn read_stream(&mut self) {
        let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.stream) else { return };
        let mut stream = connection.recv_stream(stream);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(CHUNK) {
            self.delivered += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }

    /// Runs the connection until it has nothing more to do at this time.
    fn drive(&mut self, now: Instant, answer: &mut Answer) {
        while let Some(event) = self.connection.as_mut().and_then(|(_, connection)| connection.poll()) {
            self.on_event(event, now);
        }
        if self.client.is_none() && self.connection.as_ref().is_some_and(|(_, one)| one.side().is_client()) {
            self.write_stream();
        } else {
            self.read_stream();
        }
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        loop {
            self.buffer.clear();
            let Some(transmit) = api::transmit(connection, now, self.segments, &mut self.buffer) else { return };
            send(&transmit, &self.buffer, answer);
        }
    }

    fn report(&mut self, answer: &mut Answer) {
        let Some((_, connection)) = &mut self.connection else { return };
        api::report(connection, answer);
        let mut observed = self.observed.lock().expect("no thread panics");
        for sample in observed.samples.drain(..) {
            answer.value(Value::Rtt, sample.as_nanos() as u64);
        }
        answer.value(Value::InFlight, observed.in_flight);
    }
}

impl Stack for Adapter {
    fn start(start: &Start) -> Result<Self, String> {
        let (controller, name) = controls::of(start)?;
        let (mut transport, segments) = transport(start)?;
        let (controller, log) = api::log(&mut transport, controller, start);
        let observed = Arc::new(Mutex::new(Observed::default()));
        transport.congestion_controller_factory(Arc::new(ObservedFactory::new(controller, observed.clone())));
        let mut config = EndpointConfig::default();
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&start.seed.to_le_bytes());
        config.rng_seed(Some(seed));
        let transport = Arc::new(transport);
        let (client, server) = if start.is_sender {
            let mut client = ClientConfig::new(Arc::new(
                QuicClientConfig::try_from(tls::client()).expect("TLS 1.3 has an initial cipher suite"),
            ));
            client.transport_config(transport);
            (Some(client), None)
        } else {
            let mut server = ServerConfig::with_crypto(Arc::new(
                QuicServerConfig::try_from(tls::server()).expect("TLS 1.3 has an initial cipher suite"),
            ));
            server.transport_config(transport);
            (None, Some(Arc::new(server)))
        };
        Ok(Self {
            endpoint: api::endpoint(config, server),
            connection: None,
            client,
            controller: name,
            segments,
            observed,
            _log: log,
            stream: None,
            to_write: 0,
            is_finishing: false,
            is_finished: false,
            is_done: false,
            delivered: 0,
            chunk: Bytes::from(vec![0; CHUNK]),
            buffer: Vec::new(),
        })
    }

    fn names(&self) -> (String, String) {
        (controls::NAME.to_owned(), self.controller.clone())
    }

    fn on_timer(&mut self, _now: Duration) {
        let now = clock::now();
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn on_datagram(&mut self, _now: Duration, ecn: u8, payload: &[u8], answer: &mut Answer) {
        let now = clock::now();
        let remote = if self.client.is_some() || self.is_client() { RECEIVER } else { SENDER };
        self.buffer.clear();
        let data = BytesMut::from(payload);
        match api::handle(&mut self.endpoint, now, remote, EcnCodepoint::from_bits(ecn), data, &mut self.buffer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Ok(accepted) = self.endpoint.accept(incoming, now, &mut self.buffer, None) {
                    self.connection = Some(accepted);
                }
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((_, connection)) = self.connection.as_mut().filter(|(one, _)| *one == handle) {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => send(&transmit, &self.buffer, answer),
            None => {}
        }
    }

    fn write(&mut self, bytes: u64) {
        self.to_write = self.to_write.saturating_add(bytes);
    }

    fn pause(&mut self) {
        if self.to_write == u64::MAX {
            self.to_write = 0;
        }
    }

    fn finish(&mut self) {
        self.is_finishing = true;
        self.pause();
    }

    fn answer(&mut self, now: Duration, answer: &mut Answer) {
        let at = clock::now();
        self.connect_if_writing(at);
        self.drive(at, answer);
        let timeout = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        if let Some(at) = timeout {
            // A timer in the past is due now.
            answer.next_timer(clock::since_start(at).max(now));
        }
        answer.delivered(self.delivered);
        self.report(answer);
        if self.is_done {
            answer.done();
        }
    }
}

impl Adapter {
    fn is_client(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, connection)| connection.side().is_client())
    }

    fn connect_if_writing(&mut self, now: Instant) {
        if self.to_write > 0 || self.is_finishing {
            self.connect(now);
        }
    }
}
