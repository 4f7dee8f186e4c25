//! The ends: kernel TCP, a sender and a receiver of each flow, and what the kernel tells of it.

pub mod talk;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration as Wait, Instant};

use cwndlab_network::random::Stream;
use cwndlab_records::rows::{EventRow, SampleRow, TransferRow};
use cwndlab_scenario::plan::{FlowPlan, Workload};
use cwndlab_traffic::sampling::{sample_pause, sample_period, TIME_STREAM};

use crate::between::Side;
use crate::fault::{fault, Fault};
use crate::info::Info;
use crate::path::Drops;

/// Where receivers listen.
const PORT: u16 = 7000;
/// Longest wait of a blocking call before it looks whether it shall stop.
const GLANCE: Wait = Wait::from_millis(20);
/// Between two looks at how much is unacknowledged, where the next transfer waits for it.
const DRAIN: Wait = Wait::from_micros(100);

/// What the threads of a flow share.
#[derive(Debug)]
pub struct End {
    /// The connection at hand, kept open while somebody asks about it.
    socket: Mutex<Option<Arc<TcpStream>>>,
    /// Payload that the receiver read.
    pub delivered: AtomicU64,
    /// When the first connection was asked for, ns; `u64::MAX` before.
    pub started: AtomicU64,
    /// When the application was done and all acknowledged, ns; `u64::MAX` before.
    pub ended: AtomicU64,
    /// Completed transfers.
    pub transfers: Mutex<Vec<TransferRow>>,
    /// Where the transfer at hand ends, in payload of the whole flow, its size, and when it began.
    boundary: Mutex<Option<(u64, u64, u64)>>,
    /// The last word of each connection that is over.
    past: Mutex<Vec<Info>>,
}

impl Default for End {
    fn default() -> Self {
        Self {
            socket: Mutex::default(),
            delivered: AtomicU64::new(0),
            started: AtomicU64::new(u64::MAX),
            ended: AtomicU64::new(u64::MAX),
            transfers: Mutex::default(),
            boundary: Mutex::default(),
            past: Mutex::default(),
        }
    }
}

/// A lock whose holder cannot have died half-way: what it guards is replaced at once.
fn lock<T>(guarded: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl End {
    /// What the kernel says of the flow: its connection at hand, with the counters of those before.
    #[must_use]
    pub fn info(&self) -> Option<Info> {
        let socket = lock(&self.socket).clone();
        let past = lock(&self.past);
        let now = socket.and_then(|socket| Info::of(socket.as_raw_fd()));
        let last = now.or_else(|| past.last().copied())?;
        let before = if now.is_some() { &past[..] } else { &past[..past.len() - 1] };
        Some(before.iter().fold(last, |sum, one| Info {
            retransmitted: sum.retransmitted + one.retransmitted,
            acked_bytes: sum.acked_bytes + one.acked_bytes,
            data_segments: sum.data_segments + one.data_segments,
            segments_in: sum.segments_in + one.segments_in,
            sent_bytes: sum.sent_bytes + one.sent_bytes,
            retransmitted_bytes: sum.retransmitted_bytes + one.retransmitted_bytes,
            timeouts: sum.timeouts + one.timeouts,
            ..sum
        }))
    }

    fn open(&self, socket: TcpStream) -> Arc<TcpStream> {
        let socket = Arc::new(socket);
        *lock(&self.socket) = Some(Arc::clone(&socket));
        socket
    }

    fn close(&self, socket: &Arc<TcpStream>) {
        if let Some(last) = Info::of(socket.as_raw_fd()) {
            lock(&self.past).push(last);
        }
        *lock(&self.socket) = None;
    }
}

/// What every thread of a run knows.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// When it began.
    pub start: Instant,
    /// It is over.
    pub stop: &'a AtomicBool,
}

impl Run<'_> {
    /// Now, ns of the run.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sleeps until `at`, or the end of the run.
    fn sleep_until(&self, at: u64) {
        while !self.is_over() {
            let rest = Wait::from_nanos(at.saturating_sub(self.now()));
            if rest.is_zero() {
                return;
            }
            std::thread::sleep(rest.min(GLANCE));
        }
    }
}

fn option(socket: RawFd, level: i32, name: i32, value: &[u8]) -> std::io::Result<()> {
    // SAFETY: the value lives through the call and its length is its own.
    let answer =
        unsafe { libc::setsockopt(socket, level, name, value.as_ptr().cast(), value.len() as libc::socklen_t) };
    if answer == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// Selects the congestion control of a socket.
pub fn select(socket: RawFd, algorithm: &str) -> std::io::Result<()> {
    option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, algorithm.as_bytes())
}

/// A connection of the flow with its algorithm, chosen before it is asked for; nothing where the run ends before it is
/// there.
fn connect(
    run: Run<'_>,
    (flow, side): (u32, Side),
    plan: &FlowPlan,
    algorithm: &str,
) -> std::io::Result<Option<TcpStream>> {
    // SAFETY: no pointers; the answer is checked.
    let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if raw < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    let socket = unsafe { TcpStream::from_raw_fd(raw) };
    select(raw, algorithm)?;
    option(raw, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &segment(plan).to_ne_bytes())?;
    socket.set_nodelay(true)?;
    // It bounds how long the wait for the handshake lasts, too.
    socket.set_write_timeout(Some(GLANCE))?;
    let at = |side: Side, port: u16| {
        let mut out = [0u8; 16];
        out[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        out[2..4].copy_from_slice(&port.to_be_bytes());
        out[4..8].copy_from_slice(&side.address(flow));
        out
    };
    let (own, far) = (at(side, 0), at(side.other(), PORT));
    // SAFETY: the address is a `struct sockaddr_in`, which is 16 bytes, and lives through the call.
    if unsafe { libc::bind(raw, own.as_ptr().cast(), 16) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    while !run.is_over() {
        // SAFETY: as above.
        if unsafe { libc::connect(raw, far.as_ptr().cast(), 16) } == 0 {
            return Ok(Some(socket));
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EISCONN) => return Ok(Some(socket)),
            Some(libc::EINPROGRESS | libc::EALREADY | libc::EINTR | libc::EAGAIN) => {}
            _ => return Err(error),
        }
    }
    Ok(None)
}

/// `TCP_MAXSEG` counts what stands before options; timestamps take 12 of it.
fn segment(plan: &FlowPlan) -> i32 {
    let options = if plan.stack.header.0 > 40 { 12 } else { 0 };
    plan.stack.mss.0 as i32 + options
}

/// Bytes that the kernel holds and the far end has not acknowledged.
fn unacknowledged(socket: &TcpStream) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (TIOCOUTQ) writes one int, which lives.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if answer == 0 {
        bytes as u64
    } else {
        0
    }
}

/// What a sender's thread sends: `bytes` or without end, until `until`; answers whether it came to the end of its bytes.
fn send(run: Run<'_>, socket: &TcpStream, bytes: Option<u64>, until: u64) -> std::io::Result<bool> {
    let block = vec![0u8; 1 << 16];
    let (mut socket, mut left) = (socket, bytes.unwrap_or(u64::MAX));
    while left > 0 && !run.is_over() && run.now() < until {
        match socket.write(&block[..left.min(block.len() as u64) as usize]) {
            Ok(sent) => left -= sent as u64,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => {}
            // The far end left first: at the end of a run all threads see it, each at its own time.
            Err(_) if run.is_over() => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(left == 0)
}

/// Waits until everything is acknowledged, or the run is over; answers whether it was.
fn drain(run: Run<'_>, socket: &TcpStream) -> bool {
    while unacknowledged(socket) > 0 {
        if run.is_over() {
            return false;
        }
        std::thread::sleep(DRAIN);
    }
    true
}

/// What went wrong at a flow's ends.
fn place(plan: &FlowPlan, what: std::io::Error) -> Fault {
    fault(format!("flow {}", plan.name), what.to_string(), "")
}

/// A sender's thread.
pub fn sender(
    run: Run<'_>,
    flow: u32,
    plan: &FlowPlan,
    (seed, start): (u64, u64),
    algorithm: &str,
    end: &End,
) -> Result<(), Fault> {
    let place = |what| place(plan, what);
    run.sleep_until(start);
    if run.is_over() {
        return Ok(());
    }
    let stop = plan.stop.map_or(u64::MAX, |stop| stop.0);
    // A transfer over a connection of its own begins with the handshake, as in the simulator.
    let mut begun = run.now();
    end.started.store(begun, Ordering::Relaxed);
    let Some(first) = connect(run, (flow, Side::Senders), plan, algorithm).map_err(place)? else { return Ok(()) };
    let mut socket = end.open(first);
    let mut done = true;
    match &plan.workload {
        &Workload::Bulk { bytes } => {
            if let Some(bytes) = bytes {
                announce(end, bytes.0, begun);
            }
            send(run, &socket, bytes.map(|bytes| bytes.0), stop).map_err(place)?;
        }
        Workload::RandomOnOff { on, off } => {
            let mut times = Stream::new(seed, TIME_STREAM, u64::from(flow));
            while !run.is_over() && run.now() < stop {
                let quiet = run.now() + sample_period(on, &mut times).0;
                send(run, &socket, None, quiet.min(stop)).map_err(place)?;
                run.sleep_until((quiet + sample_pause(off, &mut times).0).min(stop));
            }
        }
        &Workload::OnOff { on, off } => {
            while !run.is_over() && run.now() < stop {
                let quiet = run.now() + on.0;
                send(run, &socket, None, quiet.min(stop)).map_err(place)?;
                run.sleep_until((quiet + off.0).min(stop));
            }
        }
        &Workload::Transfers { count, bytes, gap, new_connection } => {
            let mut number = 0;
            while !run.is_over() && run.now() < stop && count.is_none_or(|count| number < count) {
                if number > 0 {
                    begun = run.now();
                }
                if number > 0 && new_connection {
                    end.close(&socket);
                    drop(socket);
                    let Some(next) = connect(run, (flow, Side::Senders), plan, algorithm).map_err(place)? else {
                        return Ok(());
                    };
                    socket = end.open(next);
                }
                announce(end, bytes.0, begun);
                send(run, &socket, Some(bytes.0), stop).map_err(place)?;
                done = drain(run, &socket);
                number += 1;
                run.sleep_until((run.now() + gap.0).min(stop));
            }
        }
        _ => {}
    }
    if done && drain(run, &socket) && !run.is_over() {
        end.ended.store(run.now(), Ordering::Relaxed);
        let _ = socket.shutdown(std::net::Shutdown::Write);
    }
    // The kernel's last word is taken at the end of the run.
    run.sleep_until(u64::MAX);
    end.close(&socket);
    Ok(())
}

fn announce(end: &End, bytes: u64, begun: u64) {
    let at = end.delivered.load(Ordering::Relaxed) + bytes;
    *lock(&end.boundary) = Some((at, bytes, begun));
}

/// The listener of a side, made before any sender begins. Where the senders' side listens, what it accepts will send, and has
/// the algorithm.
pub fn listener(flow: u32, plan: &FlowPlan, side: Side, algorithm: &str) -> Result<TcpListener, Fault> {
    let at = SocketAddrV4::new(Ipv4Addr::from(side.address(flow)), PORT);
    let place = |error: std::io::Error| fault(format!("flow {}: listen on {at}", plan.name), error.to_string(), "");
    let listener = TcpListener::bind(at).map_err(place)?;
    if side == Side::Senders {
        select(listener.as_raw_fd(), algorithm).map_err(place)?;
    }
    listener.set_nonblocking(true).map_err(place)?;
    Ok(listener)
}

/// A receiver's thread: takes what comes, connection after connection.
pub fn receiver(run: Run<'_>, flow: u32, listener: &TcpListener, end: &End) {
    let mut buffer = vec![0u8; 1 << 18];
    while !run.is_over() {
        let Ok((mut socket, _)) = listener.accept() else {
            std::thread::sleep(Wait::from_millis(1));
            continue;
        };
        let _ = socket.set_nonblocking(false);
        let _ = socket.set_read_timeout(Some(GLANCE));
        while !run.is_over() {
            match socket.read(&mut buffer) {
                Ok(0) => break,
                Ok(bytes) => took(run, flow, bytes as u64, end),
                Err(error)
                    if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => {}
                Err(_) => break,
            }
        }
    }
}

fn took(run: Run<'_>, flow: u32, bytes: u64, end: &End) {
    let delivered = end.delivered.fetch_add(bytes, Ordering::Relaxed) + bytes;
    let mut boundary = lock(&end.boundary);
    if let Some((_, size_bytes, start_ns)) = boundary.filter(|(at, ..)| delivered >= *at) {
        let mut transfers = lock(&end.transfers);
        let transfer = transfers.len() as u64;
        transfers.push(TransferRow { flow, transfer, start_ns, end_ns: run.now(), size_bytes });
        *boundary = None;
    }
}

/// What the sampler keeps of a flow between two looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    /// Entries into recovery.
    pub recoveries: u64,
    /// Reductions by an ECN echo (`TCP_CA_CWR`).
    pub reductions: u64,
    /// Sum and number of the RTTs seen.
    pub rtt: (u64, u64),
    /// The last word.
    pub info: Info,
    seen: bool,
}

const CWR: u8 = 2;
const RECOVERY: u8 = 3;

impl Watch {
    /// Looks at the flow and tells what happened since.
    pub fn look(&mut self, now: u64, flow: u32, end: &End, events: &mut Vec<EventRow>) {
        let Some(info) = end.info() else { return };
        if info.srtt_ns > 0 {
            self.rtt = (self.rtt.0 + info.srtt_ns, self.rtt.1 + 1);
        }
        if self.seen {
            let entered = |state: u8| info.ca_state == state && self.info.ca_state != state;
            let (recovered, reduced) = (entered(RECOVERY), entered(CWR));
            self.recoveries += u64::from(recovered);
            self.reductions += u64::from(reduced);
            let kinds = [(recovered, "recovery"), (reduced, "ecn"), (info.timeouts > self.info.timeouts, "timeout")];
            for (_, kind) in kinds.into_iter().filter(|(happened, _)| *happened) {
                events.push(EventRow {
                    time_ns: now,
                    flow,
                    kind,
                    cause: "kernel",
                    cwnd_before_bytes: self.info.cwnd * self.info.mss,
                    cwnd_after_bytes: info.ssthresh.unwrap_or(info.cwnd) * info.mss,
                    pipe_segments: None,
                });
            }
        }
        self.seen = true;
        self.info = info;
    }

    /// The flow as a sample.
    #[must_use]
    pub fn sample(&self, time_ns: u64, flow: u32, end: &End, drops: &Drops) -> Option<SampleRow> {
        self.seen.then(|| SampleRow {
            time_ns,
            flow,
            cwnd_bytes: Some(self.info.cwnd * self.info.mss),
            ssthresh_bytes: self.info.ssthresh.map(|segments| segments * self.info.mss),
            in_flight_bytes: Some(self.info.in_flight * self.info.mss),
            srtt_ns: Some(self.info.srtt_ns).filter(|&srtt| srtt > 0),
            rtt_ns: None,
            pacing_rate_bps: self.info.pacing_bps,
            delivery_rate_bps: self.info.delivery_bps,
            delivered_bytes: end.delivered.load(Ordering::Relaxed),
            sent_bytes: self.info.sent_bytes,
            retransmitted_bytes: self.info.retransmitted_bytes,
            retransmitted_packets: self.info.retransmitted,
            congestion_events: self.recoveries + self.reductions + self.info.timeouts,
            timeouts: self.info.timeouts,
            queue_drops: drops.queue[flow as usize].load(Ordering::Relaxed),
            wire_losses: drops.wire[flow as usize].load(Ordering::Relaxed),
            rtt_sum_ns: self.rtt.0,
            rtt_count: self.rtt.1,
            state: self.info.ca_state,
            delay_ns: None,
            delay_sum_ns: None,
            delay_count: None,
            jitter_ns: None,
        })
    }
}
