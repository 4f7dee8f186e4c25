//! The datapath in the kernel: algorithms registered under their names, and the thread that decides for them.
//!
//! The program (`bpf/datapath.bpf.c`) measures and enforces; it is loaded once per algorithm, so that each has its own name,
//! ring and slots. One thread reads all rings and writes all answers.

mod guard;
pub mod latency;
mod program;
mod shared;

use std::any::Any;
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use cwndlab_control::{Algorithm, Fault};
use cwndlab_linux::clock::monotonic;
use cwndlab_linux::poll::wait_readable;
use cwndlab_linux::realtime::{set_realtime, Policy};
use cwndlab_units::{Duration as Span, Rate};
use libbpf_rs::RingBufferBuilder;

use crate::decider::Decider;
use crate::report::{Kind, Report, State};
use latency::{Latency, BUCKETS};
use program::Program;
pub use program::When;
use shared::{RawReport, SLOTS};

/// Between two looks at the rings while connections are open.
const POLL: Span = Span::from_micros(100);
/// And while none is; a connection that begins wakes the thread.
const IDLE: Span = Span::from_millis(20);
/// Its real-time priority, where it may have one.
const PRIORITY: i32 = 50;

/// An algorithm to register.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// When the kernel reports; by default what the entry asks for.
    pub when: Option<When>,
}

/// A connection as it is now.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Which of the registrations.
    pub registration: usize,
    /// Its port here.
    pub near_port: u16,
    /// The far end.
    pub far: (Ipv4Addr, u16),
    /// The window in force at the last report, and the last answer that the program took, segments.
    pub cwnd: u32,
    /// The last answer that the program took, segments.
    pub window: u32,
    /// The rate of the last answer.
    pub pacing: Option<Rate>,
    /// Smoothed round-trip time, ns.
    pub srtt_ns: u64,
    /// Smallest round-trip time, ns.
    pub min_rtt_ns: u64,
    /// Last delivery rate.
    pub rate: Rate,
    /// Delivered so far, bytes.
    pub delivered_bytes: u64,
    /// Reports so far.
    pub reports: u32,
    /// The watchdog serves it now.
    pub fallback: bool,
    /// How often it did.
    pub fallbacks: u32,
    /// The kernel's state (`enum tcp_ca_state`).
    pub state: u32,
}

/// Congestion events by cause.
#[derive(Clone, Copy, Debug, Default)]
pub struct Congestions {
    /// Losses found.
    pub loss: u64,
    /// ECN echoes.
    pub ecn: u64,
    /// Timers that expired.
    pub timeout: u64,
    /// Reductions taken back.
    pub undo: u64,
}

/// What a registration counts.
#[derive(Clone, Debug)]
pub struct Totals {
    /// The name in the kernel.
    pub name: String,
    /// When it reports.
    pub when: When,
    /// Connections so far.
    pub connections: u64,
    /// Reports that left.
    pub reports: u64,
    /// Reports for which the ring had no room.
    pub lost: u64,
    /// Connections for which there was no slot.
    pub refused: u64,
    /// Times that the watchdog took over.
    pub fallbacks: u64,
    /// From a report to its answer in force.
    pub applied: Latency,
    /// From a report to its answer written.
    pub decided: Latency,
    /// Congestion events of which deciders heard: losses, ECN echoes, timeouts, and reductions taken back.
    pub congestions: Congestions,
    /// Algorithms that panicked, with the last message; their connections are the watchdog's.
    pub failures: Vec<String>,
}

/// What the deciding thread counts, for others to read.
#[derive(Debug)]
struct Board {
    decided: Vec<[AtomicU64; BUCKETS]>,
    longest: Vec<AtomicU64>,
    /// In the order of [`Congestions`].
    congestions: Vec<[AtomicU64; 4]>,
    failures: Mutex<Vec<(usize, String)>>,
}

/// The registered algorithms and their thread. Dropped, names are free again; open connections stay, served by the
/// program's watchdog.
pub struct Datapath {
    programs: Arc<Vec<Program>>,
    whens: Vec<When>,
    board: Arc<Board>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    real_time: bool,
}

impl std::fmt::Debug for Datapath {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.programs.iter().map(|program| &program.name)).finish()
    }
}

/// The deciders of a registration.
struct Desk {
    index: usize,
    algorithm: Algorithm,
    /// By slot, with the slot's generation; one that panicked is not asked again, so that the watchdog takes over.
    deciders: Vec<Option<(u32, Option<Decider>)>>,
    live: usize,
    begun: u64,
}

impl Desk {
    fn hear(&mut self, report: &RawReport, program: &Program, board: &Board) {
        let Some(place) = self.deciders.get_mut(report.slot as usize) else { return };
        if place.as_ref().is_none_or(|(generation, _)| *generation != report.generation) {
            self.live += usize::from(place.is_none());
            self.begun += 1;
            let path = report.tell().path(self.begun);
            let built = catch_unwind(AssertUnwindSafe(|| Decider::new(&self.algorithm, &path)));
            *place = Some((report.generation, built.map_err(|panic| failed(self.index, &*panic, board)).ok()));
        }
        if let Some((_, decider)) = place {
            answer(self.index, decider, report, program, board);
        }
        if report.closes() {
            *place = None;
            self.live -= 1;
        }
    }
}

/// Decides, and writes the answer.
fn answer(index: usize, place: &mut Option<Decider>, report: &RawReport, program: &Program, board: &Board) {
    let Some(decider) = place else { return };
    let told = report.tell();
    if let Some(cause) = cause(&told) {
        board.congestions[index][cause].fetch_add(1, Ordering::Relaxed);
    }
    match catch_unwind(AssertUnwindSafe(|| decider.report(&told))) {
        Ok(decision) => {
            program.decisions.answer(report, &decision);
            let took = monotonic().0.saturating_sub(report.now_ns);
            board.decided[index][latency::bucket(took).min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
            board.longest[index].fetch_max(took, Ordering::Relaxed);
        }
        Err(panic) => {
            failed(index, &*panic, board);
            *place = None;
        }
    }
}

/// An algorithm panicked; its connection is the watchdog's from here on.
fn failed(index: usize, panic: &(dyn Any + Send), board: &Board) {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    board.failures.lock().unwrap_or_else(PoisonError::into_inner).push((index, text.unwrap_or_default()));
}

/// Which of [`Congestions`] a report tells of.
fn cause(report: &Report) -> Option<usize> {
    match (report.kind, report.state) {
        (Kind::Undo, _) => Some(3),
        (Kind::State { .. }, State::Loss) => Some(2),
        (Kind::State { congestion: true, ece: true }, State::Cwr) => Some(1),
        (Kind::State { congestion: true, .. }, _) => Some(0),
        _ => None,
    }
}

fn decide(programs: &[Program], desks: &[RefCell<Desk>], board: &Board, stop: &AtomicBool) -> Result<(), Fault> {
    let broken =
        |error: libbpf_rs::Error| Fault { what: format!("the rings cannot be read: {error}"), hint: String::new() };
    let mut builder = RingBufferBuilder::new();
    for (program, desk) in programs.iter().zip(desks) {
        let hear = move |bytes: &[u8]| {
            if let Some(report) = RawReport::read(bytes) {
                desk.borrow_mut().hear(&report, program, board);
            }
            0
        };
        builder.add(&program.reports, hear).map_err(broken)?;
    }
    let ring = builder.build().map_err(broken)?;
    while !stop.load(Ordering::Relaxed) {
        let heard = ring.consume_raw();
        let live = desks.iter().any(|desk| desk.borrow().live > 0);
        if heard <= 0 || live {
            wait_readable([ring.epoll_fd()], if live { POLL } else { IDLE });
        }
    }
    Ok(())
}

impl Datapath {
    /// Registers all of them, or none, and begins to decide. Waits for a name that another process has as long as `patience`.
    pub fn start(registrations: &[Registration], patience: Duration) -> Result<Self, Fault> {
        let (mut programs, mut desks, mut whens) = (Vec::new(), Vec::new(), Vec::new());
        for (index, one) in registrations.iter().enumerate() {
            let when = one.when.unwrap_or_else(|| When::of(&one.algorithm));
            whens.push(when);
            programs.push(Program::register(&one.algorithm, when, patience)?);
            let deciders = std::iter::repeat_with(|| None).take(SLOTS).collect();
            let algorithm = one.algorithm.clone();
            desks.push(RefCell::new(Desk { index, algorithm, deciders, live: 0, begun: 0 }));
        }
        let programs = Arc::new(programs);
        let board = Arc::new(Board {
            decided: programs.iter().map(|_| std::array::from_fn(|_| AtomicU64::new(0))).collect(),
            longest: programs.iter().map(|_| AtomicU64::new(0)).collect(),
            congestions: programs.iter().map(|_| Default::default()).collect(),
            failures: Mutex::default(),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let (say, hear) = std::sync::mpsc::channel();
        let (inner, counted, ended) = (Arc::clone(&programs), Arc::clone(&board), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("cwndlab-decider".to_owned()).spawn(move || {
            let _ = say.send(set_realtime(Policy::Fifo, PRIORITY));
            if let Err(fault) = decide(&inner, &desks, &counted, &ended) {
                counted.failures.lock().unwrap_or_else(PoisonError::into_inner).push((0, fault.what));
            }
        });
        let thread = thread.map_err(|error| Fault { what: format!("no thread: {error}"), hint: String::new() })?;
        let real_time = hear.recv().unwrap_or(false);
        Ok(Self { programs, whens, board, stop, thread: Some(thread), real_time })
    }

    /// The deciding thread has real-time priority.
    #[must_use]
    pub fn real_time(&self) -> bool {
        self.real_time
    }

    /// The names in the kernel, in the order of the registrations.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.programs.iter().map(|program| program.name.clone()).collect()
    }

    /// The open connections.
    #[must_use]
    pub fn flows(&self) -> Vec<Flow> {
        let mut found = Vec::new();
        for (registration, program) in self.programs.iter().enumerate() {
            let open = (0..SLOTS).map(|slot| program.flows.get(slot)).filter(|flow| flow.used != 0);
            found.extend(open.map(|flow| Flow {
                registration,
                near_port: flow.near_port,
                far: (Ipv4Addr::from(flow.address.to_ne_bytes()), u16::from_be(flow.far_port)),
                cwnd: flow.cwnd,
                window: flow.window,
                pacing: (flow.pacing_bytes > 0).then_some(Rate(flow.pacing_bytes * 8)),
                srtt_ns: u64::from(flow.srtt_us) * 1_000,
                min_rtt_ns: u64::from(flow.min_rtt_us) * 1_000,
                rate: Rate(u64::from(flow.rate_bytes) * 8),
                delivered_bytes: u64::from(flow.delivered) * u64::from(flow.mss),
                reports: flow.number,
                fallback: flow.fallback != 0,
                fallbacks: flow.fallbacks,
                state: flow.state,
            }));
        }
        found
    }

    /// What each registration counted so far.
    #[must_use]
    pub fn totals(&self) -> Vec<Totals> {
        let failures = self.board.failures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let each = self.programs.iter().zip(&self.whens).enumerate();
        each.map(|(index, (program, when))| {
            let raw = program.totals.get(0);
            let counted = |at: usize| self.board.congestions[index][at].load(Ordering::Relaxed);
            let decided = std::array::from_fn(|at| self.board.decided[index][at].load(Ordering::Relaxed));
            Totals {
                name: program.name.clone(),
                when: *when,
                connections: raw.connections,
                reports: raw.reports,
                lost: raw.lost,
                refused: raw.refused,
                fallbacks: raw.fallbacks,
                applied: Latency { counts: raw.latency, most: raw.applied_max_ns },
                decided: Latency { counts: decided, most: self.board.longest[index].load(Ordering::Relaxed) },
                congestions: Congestions { loss: counted(0), ecn: counted(1), timeout: counted(2), undo: counted(3) },
                failures: failures.iter().filter(|(at, _)| *at == index).map(|(_, text)| text.clone()).collect(),
            }
        })
        .collect()
    }
}

impl Drop for Datapath {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
