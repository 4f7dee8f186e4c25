//! The memory that the eBPF program and this process share: the types of `bpf/shared.h`, and mappings of the kernel's
//! arrays.

use std::os::fd::AsRawFd;
use std::sync::atomic::{fence, Ordering};

use cwndlab_units::{Duration, Time};
use libbpf_rs::MapCore;

use crate::report::{Acked, Decision, Kind, RateSample, Report, Rtt, State};

/// Maximum number of connections of one algorithm.
pub(super) const SLOTS: usize = 4096;
/// Number of buckets of a latency histogram.
pub const BUCKETS: usize = 464;

const ADVANCED: u8 = 1;
const CWND_LIMITED: u8 = 2;
const APP_LIMITED: u8 = 4;
const RATE_APP_LIMITED: u8 = 8;
const CONGESTION: u8 = 16;
const ECE: u8 = 32;

/// `struct settings`.
#[repr(C)]
pub(super) struct Settings {
    pub(super) when: u32,
    pub(super) model_based: u32,
    pub(super) every_ns: u64,
}

/// `struct report`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawReport {
    pub(super) now_ns: u64,
    first_ns: u64,
    idle_ns: u64,
    pub(super) slot: u32,
    pub(super) generation: u32,
    pub(super) number: u32,
    kind: u8,
    state: u8,
    flags: u8,
    padding: u8,
    acked: u32,
    acks: u32,
    lost: u32,
    ce: u32,
    sent: u32,
    prior_in_flight: u32,
    in_flight: u32,
    flight: u32,
    lost_out: u32,
    rtt_us: u32,
    srtt_us: u32,
    min_rtt_us: u32,
    rate_delivered: u32,
    rate_interval_us: u32,
    rate_prior_delivered: u32,
    delivered: u32,
    una: u32,
    nxt: u32,
    cwnd: u32,
    mss: u32,
}

/// `struct decision`.
#[repr(C)]
struct RawDecision {
    begun: u32,
    generation: u32,
    report_ns: u64,
    pacing_bytes: u64,
    cwnd: u32,
    ssthresh: u32,
    number: u32,
    unused: [u32; 5],
}

/// `struct flow`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawFlow {
    pub(super) used: u32,
    pub(super) generation: u32,
    pub(super) number: u32,
    pub(super) decided: u32,
    hold: u32,
    pub(super) fallback: u32,
    times: [u64; 4],
    pub(super) pacing_bytes: u64,
    pub(super) window: u32,
    sums: [u32; 19],
    pub(super) cwnd: u32,
    pub(super) srtt_us: u32,
    pub(super) min_rtt_us: u32,
    pub(super) delivered: u32,
    pub(super) mss: u32,
    pub(super) rate_bytes: u32,
    pub(super) fallbacks: u32,
    pub(super) state: u32,
    pub(super) address: u32,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
}

/// `struct totals`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawTotals {
    pub(super) reports: u64,
    pub(super) lost: u64,
    pub(super) refused: u64,
    pub(super) fallbacks: u64,
    pub(super) applied_at_next: u64,
    pub(super) applied_max_ns: u64,
    pub(super) connections: u64,
    pub(super) latency: [u64; BUCKETS],
}

const _: () = assert!(std::mem::size_of::<Settings>() == 16);
const _: () = assert!(std::mem::size_of::<RawReport>() == 120);
const _: () = assert!(std::mem::size_of::<RawDecision>() == 56);
const _: () = assert!(std::mem::size_of::<RawFlow>() == 184);

fn microseconds(us: u32) -> Duration {
    Duration(u64::from(us) * 1_000)
}

impl RawReport {
    /// Reads a record of the ring buffer; `None` if it is too short.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < std::mem::size_of::<Self>() {
            return None;
        }
        // SAFETY: it is long enough, and every bit pattern is a valid report; the ring aligns records to eight bytes
        // only.
        Some(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }

    /// Converts to the decider's type.
    pub(super) fn report(&self) -> Report {
        Report {
            now: Time(self.now_ns),
            kind: self.kind(),
            state: self.state(),
            acked: Acked {
                segments: self.acked,
                acks: self.acks,
                interval: Duration(self.now_ns.saturating_sub(self.first_ns)),
                prior_in_flight: self.prior_in_flight,
                lost: self.lost,
                ce: self.ce,
            },
            advanced: self.has(ADVANCED),
            sent: self.sent,
            in_flight: self.in_flight,
            flight: self.flight,
            lost_out: self.lost_out,
            rtt: Rtt {
                latest: (self.rtt_us > 0).then(|| microseconds(self.rtt_us)),
                smoothed: microseconds(self.srtt_us),
                min: microseconds(self.min_rtt_us),
            },
            rate: (self.rate_interval_us > 0).then(|| RateSample {
                delivered: self.rate_delivered,
                interval: microseconds(self.rate_interval_us),
                prior_delivered: self.rate_prior_delivered,
                app_limited: self.has(RATE_APP_LIMITED),
            }),
            delivered: self.delivered,
            app_limited: self.has(APP_LIMITED),
            cwnd_limited: self.has(CWND_LIMITED),
            una: self.una,
            nxt: self.nxt,
            cwnd: self.cwnd,
            mss: self.mss,
        }
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn kind(&self) -> Kind {
        match self.kind {
            0 => Kind::Open,
            2 => Kind::State { congestion: self.has(CONGESTION), ece: self.has(ECE) },
            3 => Kind::Undo,
            4 => Kind::Idle(Duration(self.idle_ns)),
            5 => Kind::Close,
            _ => Kind::Acks,
        }
    }

    fn state(&self) -> State {
        match self.state {
            0 => State::Open,
            1 => State::Disorder,
            2 => State::Cwr,
            3 => State::Recovery,
            _ => State::Loss,
        }
    }

    /// Whether the connection ends with this report.
    pub(super) fn closes(&self) -> bool {
        self.kind == 5
    }
}

/// An array map of the kernel in this process's memory (`BPF_F_MMAPABLE`, mmap(2)).
pub(super) struct Mapped<T> {
    base: *mut T,
    entries: usize,
}

// SAFETY: plain memory without thread affinity. Only the decider thread writes decisions, only the program writes the
// rest.
unsafe impl<T: Send> Send for Mapped<T> {}
// SAFETY: as above; readers copy by volatile loads.
unsafe impl<T: Send> Sync for Mapped<T> {}

impl<T: Copy> Mapped<T> {
    /// A copy of entry `index`, whose fields may have been written at different times.
    pub(super) fn get(&self, index: usize) -> T {
        assert!(index < self.entries, "index {index} is beyond the end of a kernel array");
        // SAFETY: within the mapping, which exists as long as `self`; aligned, since the kernel's entries are aligned.
        unsafe { self.base.add(index).read_volatile() }
    }
}

impl<T> Mapped<T> {
    /// Maps `map`, whose entries must have the layout of `T`.
    pub(super) fn new(map: &impl MapCore, entries: usize) -> std::io::Result<Self> {
        let size = std::mem::size_of::<T>();
        assert_eq!(map.value_size() as usize, size, "entry size of {} in program and process", map.name().display());
        let flags = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of an open file descriptor, at an address that the kernel selects.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), size * entries, flags, libc::MAP_SHARED, map.as_fd().as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Self { base: base.cast(), entries })
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size, and no reference to it exists.
        unsafe { libc::munmap(self.base.cast(), self.entries * std::mem::size_of::<T>()) };
    }
}

/// The array of decisions. Only one thread writes it.
pub(super) struct Decisions(Mapped<RawDecision>);

impl Decisions {
    pub(super) fn new(map: &impl MapCore) -> std::io::Result<Self> {
        Mapped::new(map, SLOTS).map(Self)
    }

    /// Writes the decision on a report. `begun` is written first and `number` last, so that the program detects a
    /// partly written decision.
    pub(super) fn write(&self, to: &RawReport, decision: &Decision) {
        let slot = to.slot as usize;
        assert!(slot < self.0.entries, "the program has no slot {slot}");
        let bytes = decision.pacing.map_or(0, |rate| (rate.0 / 8).max(1));
        // SAFETY: within the mapping; no other thread of this process writes, and the program detects partial writes.
        unsafe {
            let entry = self.0.base.add(slot);
            (&raw mut (*entry).begun).write_volatile(to.number);
            fence(Ordering::SeqCst);
            (&raw mut (*entry).generation).write_volatile(to.generation);
            (&raw mut (*entry).report_ns).write_volatile(to.now_ns);
            (&raw mut (*entry).pacing_bytes).write_volatile(bytes);
            (&raw mut (*entry).cwnd).write_volatile(decision.cwnd);
            (&raw mut (*entry).ssthresh).write_volatile(decision.ssthresh.unwrap_or(0));
            fence(Ordering::SeqCst);
            (&raw mut (*entry).number).write_volatile(to.number);
        }
    }
}
