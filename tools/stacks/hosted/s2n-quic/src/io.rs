//! Input and output of an endpoint of s2n-quic without sockets: the endpoint is kept, and driven by the adapter.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use s2n_quic::provider::io;
use s2n_quic_core::endpoint::{CloseError, Endpoint};
use s2n_quic_core::inet::datagram::Header;
use s2n_quic_core::inet::{ExplicitCongestionNotification, SocketAddress};
use s2n_quic_core::io::tx::{Error, Message, Outcome, PayloadBuffer};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::{mtu, LocalAddress, RemoteAddress, Tuple};
use s2n_quic_core::time::Timestamp;

pub const SENDER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 4433);
pub const RECEIVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 4433);

/// What the clock of the endpoint shows at the start of the run: it has no zero.
const ORIGIN: Duration = Duration::from_secs(1);
/// Bytes that any datagram has room for.
const LARGEST: usize = 1 << 16;

/// The time of the endpoint, in microseconds.
pub fn timestamp(now: Duration) -> Timestamp {
    // SAFETY: the durations of one clock, that of the run.
    unsafe { Timestamp::from_duration(ORIGIN + now) }
}

/// Time since the start of the run.
pub fn since_start(at: Timestamp) -> Duration {
    // SAFETY: as in `timestamp`.
    unsafe { at.as_duration() }.saturating_sub(ORIGIN)
}

/// Datagrams that arrived.
pub struct Inbox {
    path: Tuple,
    pub datagrams: Vec<(u8, Vec<u8>)>,
}

impl Inbox {
    /// Of an endpoint that sends or receives.
    pub fn new(is_sender: bool) -> Self {
        let (local, remote) = if is_sender { (SENDER, RECEIVER) } else { (RECEIVER, SENDER) };
        let (local, remote) = (SocketAddress::from(local), SocketAddress::from(remote));
        let path = Tuple { remote_address: RemoteAddress(remote), local_address: LocalAddress(local) };
        Self { path, datagrams: Vec::new() }
    }
}

impl rx::Queue for Inbox {
    type Handle = Tuple;

    fn for_each<F: FnMut(Header<Tuple>, &mut [u8])>(&mut self, mut on_packet: F) {
        for (ecn, mut payload) in self.datagrams.drain(..) {
            on_packet(Header { path: self.path, ecn: ExplicitCongestionNotification::new(ecn) }, &mut payload);
        }
    }

    fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }
}

/// Datagrams to send.
pub struct Outbox {
    pub datagrams: Vec<(u8, Vec<u8>)>,
    buffer: Vec<u8>,
}

impl Outbox {
    pub fn new() -> Self {
        Self { datagrams: Vec::new(), buffer: vec![0; LARGEST] }
    }
}

impl tx::Queue for Outbox {
    type Handle = Tuple;

    const SUPPORTS_ECN: bool = true;

    fn push<M: Message<Handle = Tuple>>(&mut self, mut message: M) -> Result<Outcome, Error> {
        let len = message.write_payload(PayloadBuffer::new(&mut self.buffer), 0)?;
        self.datagrams.push((message.ecn() as u8, self.buffer[..len].to_vec()));
        Ok(Outcome { len, index: self.datagrams.len() - 1 })
    }

    fn capacity(&self) -> usize {
        LARGEST
    }
}

/// An endpoint of any type.
pub trait Drive: Send {
    /// Takes the datagrams of the inbox.
    fn receive(&mut self, inbox: &mut Inbox, now: Timestamp);
    /// Takes what the application asks for. An endpoint that has ended stays silent.
    fn wake(&mut self, context: &mut Context<'_>, now: Timestamp);
    /// Handles expired timers and writes datagrams to the outbox.
    fn transmit(&mut self, outbox: &mut Outbox, now: Timestamp);
    /// The next timer.
    fn timeout(&self) -> Option<Timestamp>;
}

impl<E: Endpoint<PathHandle = Tuple>> Drive for E {
    fn receive(&mut self, inbox: &mut Inbox, now: Timestamp) {
        Endpoint::receive(self, inbox, &now);
    }

    fn wake(&mut self, context: &mut Context<'_>, now: Timestamp) {
        let _: Poll<Result<usize, CloseError>> = self.poll_wakeups(context, &now);
    }

    fn transmit(&mut self, outbox: &mut Outbox, now: Timestamp) {
        Endpoint::transmit(self, outbox, &now);
    }

    fn timeout(&self) -> Option<Timestamp> {
        Endpoint::timeout(self)
    }
}

/// The place of an endpoint, once it has started.
pub type Place = Arc<Mutex<Option<Box<dyn Drive>>>>;

/// A provider that puts the endpoint into a place.
pub struct Provider {
    pub place: Place,
    pub mtu: mtu::Config,
}

impl io::Provider for Provider {
    type PathHandle = Tuple;
    type Error = Infallible;

    fn start<E: Endpoint<PathHandle = Tuple>>(self, mut endpoint: E) -> Result<SocketAddress, Infallible> {
        endpoint.set_mtu_config(self.mtu);
        *crate::lock(&self.place) = Some(Box::new(endpoint));
        Ok(SENDER.into())
    }
}
