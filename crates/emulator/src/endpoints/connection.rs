//! Connections of a flow: the state that its threads share, connecting, sending, and completed transfers.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Scope};
use std::time::{Duration as Wait, Instant};

use cwndlab_linux::realtime::{set_realtime, Policy};
use cwndlab_linux::socket;
use cwndlab_linux::tcp_info::TcpInfo;
use cwndlab_path::lifetimes::Lifetime;
use cwndlab_records::rows::{EventRow, TransferRow};
use cwndlab_scenario::plan::FlowPlan;
use cwndlab_traffic::message_log::MessageLog;
use cwndlab_units::{Bytes, Duration, Fault, FlowId, Rate, SenderCounters, SenderState, Time};

use crate::addresses::{has_timestamps, Family, Side};
use crate::inbox::Inboxes;
use crate::locking::lock;

/// The port of the listening endpoint.
const PORT: u16 = 7000;
/// Timeout of blocking calls, after which a thread checks whether the run is over.
pub(crate) const STOP_CHECK: Wait = Wait::from_millis(20);
/// Interval of checks for unacknowledged data.
pub(crate) const DRAIN_INTERVAL: Duration = Duration::from_micros(100);
/// Interval of checks for a new connection.
pub(crate) const ACCEPT_INTERVAL: Wait = Wait::from_millis(1);
/// Real-time priority of the endpoints' threads, below that of the path.
const PRIORITY: i32 = 20;

/// Gives a thread of an endpoint real-time priority, where the kernel permits it. The thread represents a separate
/// host, which other processes of this machine must not delay.
pub(crate) fn set_priority() {
    let _ = set_realtime(Policy::RoundRobin, PRIORITY);
}

/// A transfer whose last byte has not arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingTransfer {
    /// Cumulative payload of the flow at the end of the transfer, bytes.
    pub(crate) end: u64,
    /// Payload of the transfer, bytes.
    pub(crate) size: u64,
    /// Start of the transfer.
    pub(crate) start: Time,
}

/// The state of a flow that its threads share.
#[derive(Debug)]
pub struct FlowState {
    /// The connections. The sockets stay open while another thread reads their `TCP_INFO`.
    connections: Mutex<Connections>,
    /// Payload that the receiver read, bytes.
    pub delivered: AtomicU64,
    /// Start of the first connection, ns; `u64::MAX` before.
    pub started: AtomicU64,
    /// Time at which the application had finished and all data were acknowledged, ns; `u64::MAX` before.
    pub ended: AtomicU64,
    /// Completed transfers.
    pub transfers: Mutex<Vec<TransferRow>>,
    /// Messages, delivered or not.
    pub messages: Mutex<MessageLog>,
    /// The transfers whose last byte has not arrived, in the order of their starts.
    pub(crate) pending: Mutex<VecDeque<PendingTransfer>>,
    /// Events that the endpoints recorded themselves.
    pub(crate) events: Mutex<Vec<EventRow>>,
}

/// An open connection.
#[derive(Debug)]
struct OpenConnection {
    number: u64,
    socket: Arc<TcpStream>,
    /// Counters at the end of the handshake: the kernel counts SYNs among acknowledged bytes, retransmissions and timeouts.
    handshake: SenderCounters,
    /// The state when all data were acknowledged, after which the connection sends a FIN alone; `None` before.
    finished: Option<TcpInfo>,
}

impl OpenConnection {
    /// The state, with the counters of data alone; `None` if it cannot be read.
    fn info(&self) -> Option<TcpInfo> {
        if self.finished.is_some() {
            return self.finished;
        }
        let info = TcpInfo::read(self.socket.as_raw_fd())?;
        let counters = info.sender.counters.combined(&self.handshake, u64::saturating_sub);
        Some(TcpInfo { sender: SenderState { counters, ..info.sender }, ..info })
    }
}

/// The connections of a flow.
#[derive(Debug, Default)]
struct Connections {
    /// The open connections, in the order of their starts.
    open: Vec<OpenConnection>,
    /// Number of connections so far.
    count: u64,
    /// The final state of the connection that closed last, with counters and minimum RTT over all closed connections.
    closed: Option<TcpInfo>,
}

/// The state of a flow's connections at one instant.
#[derive(Clone, Debug)]
pub struct FlowInfo {
    /// The state of the newest connection, with counters summed and the minimum RTT taken over all connections.
    pub total: TcpInfo,
    /// The states of the open connections, by number.
    pub open: Vec<(u64, TcpInfo)>,
}

/// The state `newer`, with counters and minimum RTT over both.
fn accumulated(older: &TcpInfo, newer: &TcpInfo) -> TcpInfo {
    let min_rtt = [older.sender.min_rtt, newer.sender.min_rtt].into_iter().flatten().min();
    let sender = SenderState { counters: older.sender.counters + newer.sender.counters, min_rtt, ..newer.sender };
    TcpInfo { sender, segments_in: older.segments_in + newer.segments_in, ..*newer }
}

impl Default for FlowState {
    fn default() -> Self {
        Self {
            connections: Mutex::default(),
            delivered: AtomicU64::new(0),
            started: AtomicU64::new(u64::MAX),
            ended: AtomicU64::new(u64::MAX),
            transfers: Mutex::default(),
            messages: Mutex::default(),
            pending: Mutex::default(),
            events: Mutex::default(),
        }
    }
}

impl FlowState {
    /// The state of the connections; `None` before the first one.
    #[must_use]
    pub fn info(&self) -> Option<FlowInfo> {
        let connections = lock(&self.connections);
        let read = |one: &OpenConnection| Some((one.number, one.info()?));
        let open: Vec<_> = connections.open.iter().filter_map(read).collect();
        let states = connections.closed.into_iter().chain(open.iter().map(|(_, info)| *info));
        Some(FlowInfo { total: states.reduce(|older, newer| accumulated(&older, &newer))?, open })
    }

    /// Sets the end of the flow, unless it has one.
    pub(crate) fn end(&self, now: Time) {
        let _ = self.ended.compare_exchange(u64::MAX, now.as_nanos(), Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Adds the socket to the open connections, before it sends data.
    pub(crate) fn open(&self, socket: TcpStream) -> Arc<TcpStream> {
        let handshake = TcpInfo::read(socket.as_raw_fd()).unwrap_or_default().sender.counters;
        let socket = Arc::new(socket);
        let mut connections = lock(&self.connections);
        let number = connections.count;
        connections.count += 1;
        connections.open.push(OpenConnection { number, socket: Arc::clone(&socket), handshake, finished: None });
        socket
    }

    /// Ends the data of a connection, all of which are acknowledged: its state remains as it is, whatever becomes of the
    /// FIN.
    pub(crate) fn finish(&self, socket: &Arc<TcpStream>) {
        let mut connections = lock(&self.connections);
        if let Some(one) = connections.open.iter_mut().find(|one| Arc::ptr_eq(&one.socket, socket)) {
            one.finished = one.info();
        }
        let _ = socket.shutdown(Shutdown::Write);
    }

    /// Stores the final state of an open connection and drops the reference to its socket.
    pub(crate) fn close(&self, socket: &Arc<TcpStream>) {
        let mut connections = lock(&self.connections);
        let Some(at) = connections.open.iter().position(|one| Arc::ptr_eq(&one.socket, socket)) else { return };
        let last = connections.open.remove(at).info();
        let states = connections.closed.into_iter().chain(last);
        connections.closed = states.reduce(|older, newer| accumulated(&older, &newer));
    }
}

/// The clock of a run, and its stop flag.
#[derive(Clone, Copy, Debug)]
pub struct RunClock<'a> {
    /// Start of the run.
    pub start: Instant,
    /// The stop flag: true when the run is over.
    pub stop: &'a AtomicBool,
}

impl RunClock<'_> {
    /// The time since the start of the run.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sleeps until `at` or the end of the run.
    pub(crate) fn sleep_until(&self, at: Time) {
        while !self.is_over() {
            let rest = Wait::from_nanos(at.as_nanos().saturating_sub(self.now().as_nanos()));
            if rest.is_zero() {
                return;
            }
            std::thread::sleep(rest.min(STOP_CHECK));
        }
    }
}

/// The parameters and shared state of a flow's endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// The clock of the run.
    pub run: RunClock<'a>,
    /// The flow.
    pub flow: FlowId,
    /// Its plan.
    pub plan: &'a FlowPlan,
    /// The seed of the run.
    pub seed: u64,
    /// When the flow starts and stops.
    pub lifetime: Lifetime,
    /// Rate of the slowest line of its route.
    pub line_rate: Rate,
    /// The kernel's name of its congestion control.
    pub algorithm: &'a str,
    /// The shared state.
    pub state: &'a FlowState,
    /// The messages that wait to be sent on.
    pub(crate) inboxes: &'a Inboxes,
    /// The flow's messages are kept, for the table `messages` or to be sent on.
    pub(crate) keeps_messages: bool,
}

impl Endpoint<'_> {
    /// An error of one of the flow's sockets.
    pub(crate) fn fault(&self, error: std::io::Error) -> Fault {
        Fault::new(format!("flow {}", self.plan.name), error.to_string(), "")
    }

    /// Connects from `side` with the flow's algorithm; `None` if the run ends before the handshake, or `gives_up` returns
    /// true.
    pub(crate) fn connect(&self, side: Side, gives_up: impl Fn() -> bool) -> std::io::Result<Option<TcpStream>> {
        let family = Family::of_headers(self.plan.stack.header);
        let at = |side: Side, port| SocketAddr::new(side.address(self.flow, family), port);
        // TCP_MAXSEG includes TCP options; timestamps take 12 bytes (RFC 7323, appendix A).
        let timestamps = Bytes(if has_timestamps(self.plan.stack.header) { 12 } else { 0 });
        let options = socket::Options {
            algorithm: self.algorithm,
            max_segment: self.plan.stack.mss + timestamps,
            write_timeout: STOP_CHECK,
        };
        socket::connect(at(side, 0), at(side.other(), PORT), options, || self.run.is_over() || gives_up())
    }

    /// Connects from `side` in a thread of its own.
    pub(crate) fn begin_handshake<'scope>(
        &self,
        side: Side,
        scope: &'scope Scope<'scope, '_>,
    ) -> std::io::Result<Handshake>
    where
        Self: 'scope,
    {
        let is_given_up = Arc::new(AtomicBool::new(false));
        let (sender, result) = mpsc::channel();
        let (endpoint, inner) = (*self, Arc::clone(&is_given_up));
        Builder::new().spawn_scoped(scope, move || {
            // Without a receiver the socket closes.
            let _ = sender.send(endpoint.connect(side, || inner.load(Ordering::Relaxed)));
        })?;
        Ok(Handshake { side, result, outcome: None, is_given_up })
    }

    /// Keeps a message that was generated at this time.
    pub(crate) fn offer_message(&self, at: Time, size: Bytes) {
        if self.keeps_messages {
            lock(&self.state.messages).offer(at, size);
        }
    }

    /// Notes the delivery of the message that was generated at this time, and passes it to the flows that send it on.
    pub(crate) fn deliver_message(&self, since: Time) {
        if self.keeps_messages {
            let size = lock(&self.state.messages).deliver(since, self.run.now());
            if let Some(size) = size {
                self.inboxes.forward(self.flow, since, size);
            }
        }
    }

    /// Records a completed transfer.
    pub(crate) fn record_transfer(&self, start: Time, size: Bytes) {
        let mut rows = lock(&self.state.transfers);
        let transfer = rows.len() as u64;
        let end_ns = self.run.now().as_nanos();
        rows.push(TransferRow {
            flow: self.flow.into(),
            transfer,
            start_ns: start.as_nanos(),
            end_ns,
            size_bytes: size.0,
        });
    }
}

/// A handshake for whose end another thread waits, so that the application's timer continues. Dropping it gives the
/// connection up.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// The side of the client.
    pub(crate) side: Side,
    result: Receiver<std::io::Result<Option<TcpStream>>>,
    outcome: Option<std::io::Result<Option<TcpStream>>>,
    is_given_up: Arc<AtomicBool>,
}

impl Handshake {
    /// Waits for the end of the handshake, for `time` at most.
    pub(crate) fn wait(&mut self, time: Wait) {
        if self.outcome.is_none() {
            self.outcome = self.result.recv_timeout(time).ok();
        }
    }

    /// The connection, once, when the handshake is complete.
    pub(crate) fn take(&mut self) -> std::io::Result<Option<TcpStream>> {
        self.outcome.take().or_else(|| self.result.try_recv().ok()).unwrap_or(Ok(None))
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }
}

/// Whether the error is a timeout or an interruption, after which the call is repeated.
pub(crate) fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Reads at most `limit` bytes; returns the number of bytes read, 0 on a timeout. The end of the stream is an error.
pub(crate) fn read(socket: &TcpStream, limit: u64) -> std::io::Result<u64> {
    let mut buffer = [0u8; 1 << 14];
    let room = limit.min(buffer.len() as u64) as usize;
    let mut socket = socket;
    match socket.read(&mut buffer[..room]) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(bytes) => Ok(bytes as u64),
        Err(error) if is_timeout(&error) => Ok(0),
        Err(error) => Err(error),
    }
}

/// Creates the listener of a side, before any flow starts. On the senders' side accepted connections send data and
/// inherit the listener's congestion control.
pub fn listener(flow: FlowId, plan: &FlowPlan, side: Side, algorithm: &str) -> Result<TcpListener, Fault> {
    let at = SocketAddr::new(side.address(flow, Family::of_headers(plan.stack.header)), PORT);
    let failed =
        |error: std::io::Error| Fault::new(format!("flow {}: listen on {at}", plan.name), error.to_string(), "");
    let listener = TcpListener::bind(at).map_err(failed)?;
    if side == Side::Senders {
        socket::set_congestion_control(listener.as_raw_fd(), algorithm).map_err(failed)?;
    }
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// RFC 9293, section 3.4: SYN and FIN take a sequence number each, which the kernel counts as acknowledged; 12 bytes of
    /// data are 12.
    #[test]
    fn the_acknowledged_bytes_are_those_of_the_data() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let state = FlowState::default();
        let socket = state.open(TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens"));
        let (mut peer, _) = listener.accept().expect("a connection");
        let acked = || state.info().expect("a connection").total.sender.counters.acked_bytes;
        assert_eq!(acked(), 0);
        (&*socket).write_all(b"twelve bytes").expect("it has room");
        while socket::unacknowledged(&socket) > Bytes::ZERO {
            std::thread::yield_now();
        }
        assert_eq!(acked(), 12);
        state.finish(&socket);
        assert_eq!(peer.read_to_end(&mut Vec::new()).expect("the end of the stream"), 12);
        drop(peer);
        let _ = (&*socket).read(&mut [0]);
        assert_eq!(acked(), 12);
        state.close(&socket);
        state.close(&socket);
        assert_eq!(acked(), 12);
    }
}
