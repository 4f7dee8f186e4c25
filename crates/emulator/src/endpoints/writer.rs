//! Writing to a socket what the application has written by then, as in the simulator.
//!
//! The simulator's application writes into a buffer without limit. Of an endless supply (`bulk`, the active periods of
//! `on-off`, steps without a rate) nothing is left when it ends: only data in flight follow. A kernel's send buffer takes
//! tens of megabytes, which it would send during the pause. The part of an endless supply that the kernel may hold unsent
//! is therefore limited, as applications limit it by `TCP_NOTSENT_LOWAT`:
//!
//! ```text
//! limit(t) = min(max(10 · MSS, 8 ms · rate), max(2 · MSS, t · rate / 4))                       (1)
//! ```
//!
//! where t is the time to the end of the supply, and the rate that of the slowest line of the route. The first maximum
//! covers an initial window and the latency of a thread's wake-up, so that the connection never lacks data; the second
//! lets the kernel send the data before the end, also with a quarter of the line. A supply without an end has no limit.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Duration as Wait;

use cwndlab_linux::poll::{wait_for, Interest};
use cwndlab_linux::socket;
use cwndlab_units::{Bytes, Duration, Rate, Time};

use super::connection::{is_timeout, Endpoint, Handshake, STOP_CHECK};
use crate::addresses::Side;

/// The data of a write.
static PAYLOAD: [u8; 1 << 16] = [0; 1 << 16];

/// Maximum of unsent data in segments at low rates, of equation (1).
const MAX_SEGMENTS: u64 = 10;
/// Minimum of the limit in segments, of equation (1).
const MIN_SEGMENTS: u64 = 2;
/// No descriptors of [`Writer::wait`]: poll(2) ignores negative ones.
pub(crate) const NO_OTHERS: [RawFd; 2] = [-1; 2];
/// Time whose data may be unsent, of equation (1).
const HORIZON: Duration = Duration::from_millis(8);
/// Part of the line on which a flow with the limit of equation (1) sends all data by the end of the supply.
const SHARE: u64 = 4;

/// The limit of unsent data of an endless supply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SupplyLimit {
    /// Payload of a segment.
    mss: Bytes,
    /// Rate of the slowest line of the route.
    rate: Rate,
}

impl SupplyLimit {
    /// Equation (1) at a time `rest` before the end of the supply, in full segments.
    fn at(self, rest: Duration) -> Bytes {
        let mss = self.mss.0.max(1);
        let sent_in = |time: Duration| (u128::from(self.rate.0) * u128::from(time.as_nanos()) / 8_000_000_000) as u64;
        let max = sent_in(HORIZON).max(MAX_SEGMENTS * mss);
        let limit = (sent_in(rest) / SHARE).max(MIN_SEGMENTS * mss).min(max);
        Bytes(limit / mss * mss)
    }
}

/// Data that the application has written and the kernel's send buffer has not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Backlog {
    finite: u64,
    /// The end of the endless supply behind the finite data; [`Time::MAX`]: none. `None` without a supply.
    supply_end: Option<Time>,
}

impl Backlog {
    fn is_empty(self) -> bool {
        self.finite == 0 && self.supply_end.is_none()
    }

    fn take(&mut self, bytes: u64) {
        self.finite = self.finite.saturating_sub(bytes);
    }
}

/// Removes bytes from the first of several writes.
fn take(writes: &mut VecDeque<u64>, bytes: u64) {
    if let Some(first) = writes.front_mut() {
        *first = first.saturating_sub(bytes);
    }
    while writes.front() == Some(&0) {
        writes.pop_front();
    }
}

/// A connection and the data that the application has written to it.
#[derive(Debug)]
pub(crate) struct Writer {
    /// The connection; `None` before the end of the handshake.
    socket: Option<Arc<TcpStream>>,
    handshake: Option<Handshake>,
    /// The application turns Nagle's algorithm off.
    nodelay: bool,
    backlog: Backlog,
    /// Sizes of what is left of the application's writes, each of which the kernel gets on its own.
    writes: VecDeque<u64>,
    limit: SupplyLimit,
    /// The limit that the socket has.
    current: Option<Bytes>,
}

impl Writer {
    /// A connection of the endpoint, without data.
    pub(crate) fn new(endpoint: &Endpoint<'_>, socket: Arc<TcpStream>) -> Self {
        Self::with(endpoint, Some(socket), None, true)
    }

    /// A connection of the endpoint, without data, whose handshake is under way. `nodelay`: Nagle's algorithm is off, but
    /// for an endless supply.
    pub(crate) fn opening(endpoint: &Endpoint<'_>, handshake: Handshake, nodelay: bool) -> Self {
        Self::with(endpoint, None, Some(handshake), nodelay)
    }

    fn with(
        endpoint: &Endpoint<'_>,
        socket: Option<Arc<TcpStream>>,
        handshake: Option<Handshake>,
        nodelay: bool,
    ) -> Self {
        let limit = SupplyLimit { mss: endpoint.plan.stack.mss, rate: endpoint.line_rate };
        let (backlog, writes) = (Backlog::default(), VecDeque::new());
        Self { socket, handshake, nodelay, backlog, writes, limit, current: None }
    }

    /// The socket; `None` before the end of the handshake.
    pub(crate) fn socket(&self) -> Option<&Arc<TcpStream>> {
        self.socket.as_ref()
    }

    /// Takes the connection when its handshake is complete. On the senders' side it is one of the flow's senders.
    pub(crate) fn connect(&mut self, endpoint: &Endpoint<'_>) -> std::io::Result<()> {
        let Some(handshake) = &mut self.handshake else { return Ok(()) };
        let Some(socket) = handshake.take()? else { return Ok(()) };
        socket.set_nodelay(self.nodelay && self.backlog.supply_end.is_none())?;
        socket.set_nonblocking(true)?;
        self.socket = Some(match handshake.side {
            Side::Senders => endpoint.state.open(socket),
            Side::Receivers => Arc::new(socket),
        });
        self.handshake = None;
        Ok(())
    }

    /// Turns Nagle's algorithm on or off, now or at the end of the handshake.
    fn set_nodelay(&self, nodelay: bool) -> std::io::Result<()> {
        self.socket.as_ref().map_or(Ok(()), |socket| socket.set_nodelay(nodelay))
    }

    /// Appends a number of bytes.
    pub(crate) fn append(&mut self, bytes: Bytes) {
        self.backlog.finite = self.backlog.finite.saturating_add(bytes.0);
        self.writes.extend((bytes > Bytes::ZERO).then_some(bytes.0));
    }

    /// Begins an endless supply, which ends at `end` or by [`Self::end_supply`]. Its segments are full, as in the
    /// simulator: without Nagle's algorithm the kernel sends a part of one where the program writes late, or where the
    /// receive window ends within a segment (`tcp_mss_split_point`).
    pub(crate) fn begin_supply(&mut self, end: Time) -> std::io::Result<()> {
        self.backlog.supply_end = Some(end);
        self.set_nodelay(false)
    }

    /// Ends the endless supply. Finite data that the application has written remain, and the kernel sends all it has.
    pub(crate) fn end_supply(&mut self) -> std::io::Result<()> {
        self.backlog.supply_end = None;
        self.set_nodelay(true)
    }

    /// Whether the kernel has taken all data.
    pub(crate) fn is_empty(&self) -> bool {
        self.backlog.is_empty()
    }

    /// Whether the remote endpoint has acknowledged all data.
    pub(crate) fn is_drained(&self) -> bool {
        let is_acknowledged = |socket: &Arc<TcpStream>| socket::unacknowledged(socket) == Bytes::ZERO;
        self.is_empty() && self.socket.as_ref().is_some_and(is_acknowledged)
    }

    /// The number of bytes that the kernel may take now; 0 where the limit is reached.
    fn room(&mut self, socket: &TcpStream, now: Time) -> std::io::Result<u64> {
        let Some(end) = self.backlog.supply_end else { return Ok(self.backlog.finite) };
        if end == Time::MAX {
            return Ok(u64::MAX);
        }
        let limit = self.limit.at(end.saturating_since(now));
        if self.current != Some(limit) {
            socket::set_unsent_limit(socket, limit)?;
            self.current = Some(limit);
        }
        let room = limit.0.saturating_sub(socket::unsent(socket).0);
        Ok(room / self.limit.mss.0 * self.limit.mss.0)
    }

    /// Passes as much data to the kernel as it takes at once: none before the end of the handshake.
    pub(crate) fn write(&mut self, endpoint: &Endpoint<'_>) -> std::io::Result<()> {
        self.connect(endpoint)?;
        let Some(socket) = self.socket.clone() else { return Ok(()) };
        let run = endpoint.run;
        if self.current.is_some() && self.backlog.supply_end.is_none() && self.backlog.finite > 0 {
            // Finite data were written at once: the kernel may hold all of them.
            socket::set_unsent_limit(&socket, Bytes::MAX)?;
            self.current = None;
        }
        while !self.is_empty() && !run.is_over() {
            let now = run.now();
            if self.backlog.supply_end.is_some_and(|end| end <= now) {
                return Ok(()); // the application's timer is due, at which it ends the supply
            }
            let next = self.writes.front().copied().unwrap_or(u64::MAX);
            let room = self.room(&socket, now)?.min(next).min(PAYLOAD.len() as u64) as usize;
            if room == 0 {
                return Ok(());
            }
            match socket::write_now(&socket, &PAYLOAD[..room]) {
                Ok(written) => {
                    self.backlog.take(written.0);
                    take(&mut self.writes, written.0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sleeps for `time` at most: until the end of the handshake or until the kernel takes data again where some are left,
    /// and, with `reads`, until data can be read here or from `others`.
    pub(crate) fn wait(&mut self, time: Duration, reads: bool, others: [RawFd; 2]) {
        let time = time.min(Duration::from_nanos(STOP_CHECK.as_nanos() as u64));
        let socket = match (&self.socket, &mut self.handshake) {
            (Some(socket), _) => socket.as_raw_fd(),
            (None, Some(handshake)) => return handshake.wait(Wait::from_nanos(time.as_nanos())),
            (None, None) => return,
        };
        let interest = match (self.is_empty(), reads) {
            (true, false) => return std::thread::sleep(Wait::from_nanos(time.as_nanos())),
            (true, true) => Interest::Readable,
            (false, true) => Interest::Either,
            (false, false) => Interest::Writable,
        };
        let [one, other] = others.map(|fd| (fd, Interest::Readable));
        let _ = wait_for([(socket, interest), one, other], time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes(1_000);

    /// By hand, equation (1): 8 ms of 80 Mbit/s are 80 kB, a quarter of the line carries 80 kB in 32 ms and 10 kB in 4 ms. At
    /// 1 Mbit/s ten segments are more than 8 ms; a quarter of the line carries 5.5 segments in 176 ms. The least are two.
    #[test]
    fn the_limit_falls_towards_the_end_of_the_supply() {
        let at = |rate: u64, ms: u64| {
            let limit = SupplyLimit { mss: MSS, rate: Rate(rate * 1_000_000) };
            limit.at(Duration::from_millis(ms)).0
        };
        assert_eq!([10_000, 32, 16, 4, 0].map(|ms| at(80, ms)), [80_000, 80_000, 40_000, 10_000, 2_000]);
        assert_eq!([10_000, 320, 176, 32, 0].map(|ms| at(1, ms)), [10_000, 10_000, 5_000, 2_000, 2_000]);
        assert_eq!(SupplyLimit { mss: MSS, rate: Rate(u64::MAX) }.at(Duration::MAX).0 % 1_000, 0);
    }

    /// By hand: a part of a write leaves its rest, and what the kernel takes beyond the writes is of the endless supply.
    #[test]
    fn a_write_is_complete_before_the_next_one() {
        let mut writes = VecDeque::from([12, 16_378]);
        take(&mut writes, 12);
        assert_eq!(writes, [16_378]);
        take(&mut writes, 16_000);
        assert_eq!(writes, [378]);
        take(&mut writes, 378);
        take(&mut writes, 1_000);
        assert!(writes.is_empty());
    }

    /// Data written before an endless supply, and after it, are not part of it.
    #[test]
    fn the_end_of_a_supply_leaves_finite_data() {
        let mut backlog = Backlog { finite: 5_000, supply_end: Some(Time::from_nanos(7)) };
        backlog.take(3_000);
        backlog.supply_end = None;
        assert!(!backlog.is_empty());
        backlog.take(9_000);
        assert!(backlog.is_empty());
        assert!(!Backlog { finite: 0, supply_end: Some(Time::MAX) }.is_empty());
    }
}
