//! The kernel's datapath: registration of algorithms, and the thread that runs their deciders.
//!
//! The eBPF program (`bpf/datapath.bpf.c`) measures and enforces. It is loaded once per algorithm, so that each
//! algorithm has its own name, ring buffer and slots. One thread reads the reports of all rings and writes all
//! decisions.

pub mod latency;
mod name_lock;
mod program;
mod shared;

use std::any::Any;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use cwndlab_control::{kernel_name, Algorithm, Driver, ReportSchedule};
use cwndlab_linux::clock::monotonic;
use cwndlab_linux::poll::wait_readable;
use cwndlab_linux::realtime::{set_realtime, Policy};
use cwndlab_units::{panics, CaState, Duration as Span, Fault, Rate};
use libbpf_rs::RingBufferBuilder;

use crate::decider::Decider;
use crate::report::{Kind, Report};
use latency::{Latency, BUCKETS};
use program::Program;
use shared::{RawReport, SLOTS};

/// Interval of reads of the rings while reports arrive. A sleep of this length takes about twice as long, with the
/// wake-up of an idle processor.
const BUSY_INTERVAL: Span = Span::from_micros(40);
/// Interval of reads while connections are open and no report has arrived for [`QUIET`].
const POLL_INTERVAL: Span = Span::from_micros(100);
/// A time without reports.
const QUIET: Span = Span::from_millis(1);
/// Interval of searches for connections whose last report was lost.
const SWEEP_INTERVAL: Span = Span::from_millis(100);
/// Interval of reads while no connection is open. A new connection wakes the thread.
const IDLE_INTERVAL: Span = Span::from_millis(20);
/// Real-time priority of the decider thread, where the kernel permits it.
const PRIORITY: i32 = 50;

/// Maximum wait at the end for a call of a decider to return.
const LONGEST_CALL: Span = Span::from_secs(5);

/// An algorithm to register.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The schedule of the kernel's reports; `None` selects that of [`ReportSchedule::for_algorithm`].
    pub schedule: Option<ReportSchedule>,
    /// Describes the failure that unwound in this thread, for an algorithm that unwinds without a message.
    pub describe: Option<fn() -> Option<String>>,
}

/// The state of a connection.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The index of its registration.
    pub registration: usize,
    /// Its local port.
    pub local_port: u16,
    /// The remote address and port.
    pub remote: SocketAddr,
    /// The window in force after the last ACK or decision, segments.
    pub cwnd: u32,
    /// The window of the last decision that the program applied, segments.
    pub window: u32,
    /// The pacing rate of the last decision.
    pub pacing: Option<Rate>,
    /// Smoothed round-trip time, ns.
    pub srtt_ns: u64,
    /// Smallest round-trip time, ns.
    pub min_rtt_ns: u64,
    /// Last delivery rate.
    pub rate: Rate,
    /// Payload acknowledged cumulatively by the last report, bytes.
    pub delivered_bytes: u64,
    /// Reports so far.
    pub reports: u32,
    /// The watchdog currently controls the connection.
    pub fallback: bool,
    /// Number of activations of the watchdog.
    pub fallbacks: u32,
    /// The kernel's state (`enum tcp_ca_state`).
    pub state: u32,
}

/// Congestion events by cause.
#[derive(Clone, Copy, Debug, Default)]
pub struct CongestionCounts {
    /// Losses detected.
    pub loss: u64,
    /// ECN echoes.
    pub ecn: u64,
    /// Expired retransmission timers.
    pub timeout: u64,
    /// Undone reductions.
    pub undo: u64,
}

/// The counters of a registration.
#[derive(Clone, Debug)]
pub struct Totals {
    /// The kernel's name of the algorithm.
    pub name: String,
    /// The schedule of its reports.
    pub schedule: ReportSchedule,
    /// Connections so far.
    pub connections: u64,
    /// Reports sent.
    pub reports: u64,
    /// Reports lost because the ring was full.
    pub lost: u64,
    /// Connections without a slot, which use Reno.
    pub refused: u64,
    /// Number of activations of the watchdog.
    pub fallbacks: u64,
    /// Latency from a report to the application of its decision.
    pub applied: Latency,
    /// Decisions that applied at the first ACK or transmission after their report; none can apply earlier.
    pub applied_at_next: u64,
    /// Latency from a report to the writing of its decision.
    pub decided: Latency,
    /// Congestion events reported to the deciders.
    pub congestions: CongestionCounts,
    /// The messages of algorithms that panicked; the watchdog controls their connections.
    pub failures: Vec<String>,
}

/// The counters of the decider thread, shared with the threads that read them.
#[derive(Debug)]
struct SharedCounters {
    decided: Vec<[AtomicU64; BUCKETS]>,
    max: Vec<AtomicU64>,
    /// In the order of [`CongestionCounts`].
    congestions: Vec<[AtomicU64; 4]>,
    failures: Mutex<Vec<(usize, String)>>,
}

/// The registered algorithms and the decider thread. Dropping it releases the names; open connections continue under
/// the program's watchdog.
pub struct Datapath {
    programs: Arc<Vec<Program>>,
    schedules: Vec<ReportSchedule>,
    counters: Arc<SharedCounters>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    real_time: bool,
}

impl std::fmt::Debug for Datapath {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.programs.iter().map(|program| &program.name)).finish()
    }
}

/// The connections of a registration and their deciders.
struct FlowTable {
    index: usize,
    algorithm: Algorithm,
    /// By slot, with the slot's generation. A decider that panicked is dropped, so that the watchdog becomes active.
    deciders: Vec<Option<(u32, Option<Decider>)>>,
    open: usize,
    opened: u64,
    describe: Option<fn() -> Option<String>>,
}

impl FlowTable {
    /// Passes a report to the decider of its connection. Creates the decider when the connection begins, and drops it
    /// when the connection ends.
    fn on_report(&mut self, report: &RawReport, program: &Program, counters: &SharedCounters) {
        let Some(entry) = self.deciders.get_mut(report.slot as usize) else { return };
        if entry.as_ref().is_none_or(|(generation, _)| *generation != report.generation) {
            self.open += usize::from(entry.is_none());
            self.opened += 1;
            let path = report.report().path(self.opened);
            let built = catch_unwind(AssertUnwindSafe(|| Decider::new(Driver::of(&self.algorithm, &path), &path)));
            let built = built.map_err(|panic| counters.add_failure(self.index, text_of(&*panic, self.describe)));
            *entry = Some((report.generation, built.ok()));
        }
        if let Some((_, decider)) = entry {
            if let Err(panic) = decide(self.index, decider, report, program, counters) {
                // From now on the watchdog controls the connection.
                *decider = None;
                counters.add_failure(self.index, text_of(&*panic, self.describe));
            }
        }
        if report.closes() {
            *entry = None;
            self.open -= 1;
        }
    }

    /// Drops the deciders of connections that have ended although the ring had no room for their last report.
    fn drop_closed(&mut self, program: &Program) {
        for (slot, entry) in self.deciders.iter_mut().enumerate() {
            let Some((generation, _)) = entry else { continue };
            let flow = program.flows.get(slot);
            if flow.used == 0 || flow.generation != *generation {
                *entry = None;
                self.open -= 1;
            }
        }
    }
}

/// Calls the decider and writes its decision. Returns the panic of an algorithm.
fn decide(
    index: usize,
    decider: &mut Option<Decider>,
    raw: &RawReport,
    program: &Program,
    counters: &SharedCounters,
) -> Result<(), Box<dyn Any + Send>> {
    let Some(decider) = decider else { return Ok(()) };
    let report = raw.report();
    if let Some(cause) = cause(&report) {
        counters.congestions[index][cause].fetch_add(1, Ordering::Relaxed);
    }
    let decision = catch_unwind(AssertUnwindSafe(|| decider.on_report(&report)))?;
    program.decisions.write(raw, &decision);
    let elapsed = monotonic().as_nanos().saturating_sub(raw.now_ns);
    counters.decided[index][latency::bucket(elapsed).min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
    counters.max[index].fetch_max(elapsed, Ordering::Relaxed);
    Ok(())
}

/// The message of a panic, or the description of a failure without one.
fn text_of(panic: &(dyn Any + Send), describe: Option<fn() -> Option<String>>) -> String {
    let text = panics::message(panic).map(str::to_owned);
    text.or_else(|| describe.and_then(|describe| describe())).unwrap_or_else(|| panics::NO_MESSAGE.to_owned())
}

impl SharedCounters {
    /// Records the failure of an algorithm, once for connections that fail equally.
    fn add_failure(&self, index: usize, text: String) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if !failures.iter().any(|(other, known)| *other == index && *known == text) {
            failures.push((index, text));
        }
    }
}

/// The index of the reported event in [`CongestionCounts`]; `None` if the report is not a congestion event.
fn cause(report: &Report) -> Option<usize> {
    match (report.kind, report.state) {
        (Kind::Undo, _) => Some(3),
        (Kind::State { .. }, CaState::Loss) => Some(2),
        (Kind::State { congestion: true, ece: true }, CaState::Cwr) => Some(1),
        (Kind::State { congestion: true, .. }, _) => Some(0),
        _ => None,
    }
}

/// Reads reports and writes decisions until `stop` is set.
fn run(
    programs: &[Program],
    tables: &[RefCell<FlowTable>],
    counters: &SharedCounters,
    stop: &AtomicBool,
) -> Result<(), Fault> {
    let broken = |error: libbpf_rs::Error| Fault::new("", format!("the ring buffers cannot be read: {error}"), "");
    let mut builder = RingBufferBuilder::new();
    for (program, table) in programs.iter().zip(tables) {
        let on_record = move |bytes: &[u8]| {
            if let Some(report) = RawReport::read(bytes) {
                table.borrow_mut().on_report(&report, program, counters);
            }
            0
        };
        builder.add(&program.reports, on_record).map_err(broken)?;
    }
    let ring = builder.build().map_err(broken)?;
    let mut last_report = monotonic();
    let mut next_sweep = monotonic();
    while !stop.load(Ordering::Relaxed) {
        let records = ring.consume_raw();
        let now = monotonic();
        if records > 0 {
            last_report = now;
        }
        if now >= next_sweep {
            next_sweep = now + SWEEP_INTERVAL;
            for (program, table) in programs.iter().zip(tables) {
                table.borrow_mut().drop_closed(program);
            }
        }
        let has_connections = tables.iter().any(|table| table.borrow().open > 0);
        let interval = match now.saturating_since(last_report) {
            _ if !has_connections => IDLE_INTERVAL,
            since if since < QUIET => BUSY_INTERVAL,
            _ => POLL_INTERVAL,
        };
        if records <= 0 || has_connections {
            let _ = wait_readable([ring.epoll_fd()], interval);
        }
    }
    Ok(())
}

impl Datapath {
    /// Registers all algorithms and starts the decider thread. Waits at most `timeout` for a name that another process
    /// has registered.
    ///
    /// # Errors
    ///
    /// A registration that fails; then no name remains registered.
    pub fn start(registrations: &[Registration], timeout: Duration) -> Result<Self, Fault> {
        reject_equal_names(registrations)?;
        let mut programs = Vec::new();
        let mut tables = Vec::new();
        let mut schedules = Vec::new();
        for (index, one) in registrations.iter().enumerate() {
            let schedule = one.schedule.unwrap_or_else(|| ReportSchedule::for_algorithm(&one.algorithm));
            schedules.push(schedule);
            programs.push(Program::register(&one.algorithm, schedule, timeout)?);
            let deciders = std::iter::repeat_with(|| None).take(SLOTS).collect();
            let algorithm = one.algorithm.clone();
            tables.push(RefCell::new(FlowTable {
                index,
                algorithm,
                deciders,
                open: 0,
                opened: 0,
                describe: one.describe,
            }));
        }
        let programs = Arc::new(programs);
        let counters = Arc::new(SharedCounters {
            decided: programs.iter().map(|_| std::array::from_fn(|_| AtomicU64::new(0))).collect(),
            max: programs.iter().map(|_| AtomicU64::new(0)).collect(),
            congestions: programs.iter().map(|_| Default::default()).collect(),
            failures: Mutex::default(),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = std::sync::mpsc::channel();
        let inner = Arc::clone(&programs);
        let counted = Arc::clone(&counters);
        let ended = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("cwndlab-decider".to_owned()).spawn(move || {
            let _ = sender.send(set_realtime(Policy::Fifo, PRIORITY));
            if let Err(fault) = run(&inner, &tables, &counted, &ended) {
                counted.add_failure(0, fault.what);
            }
        });
        let thread =
            thread.map_err(|error| Fault::new("", format!("the decider thread cannot be started: {error}"), ""))?;
        let real_time = receiver.recv().unwrap_or(false);
        Ok(Self { programs, schedules, counters, stop, thread: Some(thread), real_time })
    }

    /// Whether the decider thread has real-time priority.
    #[must_use]
    pub fn real_time(&self) -> bool {
        self.real_time
    }

    /// The kernel's names of the algorithms, in the order of the registrations.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.programs.iter().map(|program| program.name.clone()).collect()
    }

    /// The open connections.
    #[must_use]
    pub fn flows(&self) -> Vec<Flow> {
        let mut flows = Vec::new();
        for (registration, program) in self.programs.iter().enumerate() {
            let open = (0..SLOTS).map(|slot| program.flows.get(slot)).filter(|flow| flow.used != 0);
            flows.extend(open.map(|flow| Flow {
                registration,
                local_port: flow.local_port,
                remote: flow.remote(),
                cwnd: flow.cwnd,
                window: flow.window,
                pacing: (flow.pacing_bytes > 0).then_some(Rate(flow.pacing_bytes * 8)),
                srtt_ns: u64::from(flow.srtt_us) * 1_000,
                min_rtt_ns: u64::from(flow.min_rtt_us) * 1_000,
                rate: Rate(flow.rate_bytes * 8),
                delivered_bytes: flow.acked_bytes,
                reports: flow.number,
                fallback: flow.fallback != 0,
                fallbacks: flow.fallbacks,
                state: flow.state,
            }));
        }
        flows
    }

    /// The counters of each registration.
    #[must_use]
    pub fn totals(&self) -> Vec<Totals> {
        let failures = self.counters.failures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let each = self.programs.iter().zip(&self.schedules).enumerate();
        each.map(|(index, (program, schedule))| {
            let raw = program.totals.get(0);
            let counted = |at: usize| self.counters.congestions[index][at].load(Ordering::Relaxed);
            let decided = std::array::from_fn(|at| self.counters.decided[index][at].load(Ordering::Relaxed));
            Totals {
                name: program.name.clone(),
                schedule: *schedule,
                connections: raw.connections,
                reports: raw.reports,
                lost: raw.lost,
                refused: raw.refused,
                fallbacks: raw.fallbacks,
                applied: Latency { counts: raw.latency, max: raw.applied_max_ns },
                applied_at_next: raw.applied_at_next,
                decided: Latency { counts: decided, max: self.counters.max[index].load(Ordering::Relaxed) },
                congestions: CongestionCounts {
                    loss: counted(0),
                    ecn: counted(1),
                    timeout: counted(2),
                    undo: counted(3),
                },
                failures: failures.iter().filter(|(at, _)| *at == index).map(|(_, text)| text.clone()).collect(),
            }
        })
        .collect()
    }
}

/// Rejects algorithms that the kernel would have under one name.
fn reject_equal_names(registrations: &[Registration]) -> Result<(), Fault> {
    let algorithms: Vec<&Algorithm> = registrations.iter().map(|one| &one.algorithm).collect();
    match kernel_name::equal_names(&algorithms) {
        None => Ok(()),
        Some((one, other)) => {
            let name = kernel_name::kernel_name(one);
            let hint = "name one of them; the recovery is the kernel's".to_owned();
            Err(Fault::new("", format!("'{one}' and '{other}' have the same name in the kernel, {name}"), hint))
        }
    }
}

impl Drop for Datapath {
    /// Ends the decider thread. A thread within a call that does not end, such as `time.sleep` in a class in Python, is
    /// left behind; it keeps its names until the call or the process ends.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        let begin = monotonic();
        while !thread.is_finished() && monotonic().saturating_since(begin) < LONGEST_CALL {
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}
