//! The ends: kernel TCP, a sender and a receiver of each flow, and what the kernel tells of it.

pub mod talk;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration as Wait, Instant};

use cwndlab_linux::fault::{fault, Fault};
use cwndlab_linux::realtime::{set_realtime, Policy};
use cwndlab_linux::socket;
use cwndlab_linux::tcp_info::{TcpInfo, CA_CWR, CA_RECOVERY};
use cwndlab_network::random::Stream;
use cwndlab_records::rows::{EventRow, SampleRow, TransferRow};
use cwndlab_scenario::plan::{FlowPlan, Workload};
use cwndlab_simulator::draw::{self, TIME_STREAM};
use cwndlab_units::Bytes;

use crate::between::Side;
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
    past: Mutex<Vec<TcpInfo>>,
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
    pub fn info(&self) -> Option<TcpInfo> {
        let socket = lock(&self.socket).clone();
        let past = lock(&self.past);
        let now = socket.and_then(|socket| TcpInfo::of(socket.as_raw_fd()));
        let last = now.or_else(|| past.last().copied())?;
        let before = if now.is_some() { &past[..] } else { &past[..past.len() - 1] };
        Some(before.iter().fold(last, |sum, one| TcpInfo { counters: sum.counters + one.counters, ..sum }))
    }

    fn open(&self, socket: TcpStream) -> Arc<TcpStream> {
        let socket = Arc::new(socket);
        *lock(&self.socket) = Some(Arc::clone(&socket));
        socket
    }

    fn close(&self, socket: &Arc<TcpStream>) {
        if let Some(last) = TcpInfo::of(socket.as_raw_fd()) {
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

/// Real-time priority of the flows' ends, below that of the path.
const PRIORITY: i32 = 20;

/// Gives a thread of a flow's end real-time priority, where the kernel grants it: it stands for a host of its own, which
/// other processes of this machine must not delay.
pub(crate) fn ask_for_priority() {
    set_realtime(Policy::RoundRobin, PRIORITY);
}

/// A connection of the flow with its algorithm, chosen before it is asked for; nothing where the run ends before it is
/// there.
fn connect(
    run: Run<'_>,
    (flow, side): (u32, Side),
    plan: &FlowPlan,
    algorithm: &str,
) -> std::io::Result<Option<TcpStream>> {
    let at = |side: Side, port| SocketAddrV4::new(side.address(flow).into(), port);
    let options = socket::Options { algorithm, max_segment: segment(plan), write_timeout: GLANCE };
    socket::connect(at(side, 0), at(side.other(), PORT), options, || run.is_over())
}

/// `TCP_MAXSEG` counts what stands before options; timestamps take 12 of it.
fn segment(plan: &FlowPlan) -> Bytes {
    let options = if plan.stack.header.0 > 40 { 12 } else { 0 };
    plan.stack.mss + Bytes(options)
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
    while socket::unacknowledged(socket).0 > 0 {
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
                let quiet = run.now() + draw::whole(on, &mut times);
                send(run, &socket, None, quiet.min(stop)).map_err(place)?;
                run.sleep_until((quiet + draw::pause(off, &mut times)).min(stop));
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
        socket::set_congestion_control(listener.as_raw_fd(), algorithm).map_err(place)?;
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
    pub info: TcpInfo,
    seen: bool,
}

impl Watch {
    /// Looks at the flow and tells what happened since.
    pub fn look(&mut self, now: u64, flow: u32, end: &End, events: &mut Vec<EventRow>) {
        let Some(info) = end.info() else { return };
        if info.srtt.0 > 0 {
            self.rtt = (self.rtt.0 + info.srtt.0, self.rtt.1 + 1);
        }
        if self.seen {
            let entered = |state: u8| info.ca_state == state && self.info.ca_state != state;
            let (recovered, reduced) = (entered(CA_RECOVERY), entered(CA_CWR));
            self.recoveries += u64::from(recovered);
            self.reductions += u64::from(reduced);
            let kinds = [
                (recovered, "recovery"),
                (reduced, "ecn"),
                (info.counters.timeouts > self.info.counters.timeouts, "timeout"),
            ];
            for (_, kind) in kinds.into_iter().filter(|(happened, _)| *happened) {
                events.push(EventRow {
                    time_ns: now,
                    flow,
                    kind,
                    cause: "kernel",
                    cwnd_before_bytes: self.info.cwnd * self.info.mss.0,
                    cwnd_after_bytes: info.ssthresh.unwrap_or(info.cwnd) * info.mss.0,
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
            cwnd_bytes: Some(self.info.cwnd * self.info.mss.0),
            ssthresh_bytes: self.info.ssthresh.map(|segments| segments * self.info.mss.0),
            in_flight_bytes: Some(self.info.in_flight * self.info.mss.0),
            srtt_ns: Some(self.info.srtt.0).filter(|&srtt| srtt > 0),
            rtt_ns: None,
            pacing_rate_bps: self.info.pacing.map(|rate| rate.0),
            delivery_rate_bps: self.info.delivery_rate.map(|rate| rate.0),
            delivered_bytes: end.delivered.load(Ordering::Relaxed),
            sent_bytes: self.info.counters.sent.0,
            retransmitted_bytes: self.info.counters.retransmitted.0,
            retransmitted_packets: self.info.counters.retransmitted_segments,
            congestion_events: self.recoveries + self.reductions + self.info.counters.timeouts,
            timeouts: self.info.counters.timeouts,
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
