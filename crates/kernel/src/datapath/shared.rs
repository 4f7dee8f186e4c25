//! The memory that the eBPF program and this process share: the types of `bpf/shared.h`, and mappings of the kernel's
//! arrays.

use std::net::{Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::atomic::{fence, Ordering};

use cwndlab_units::{CaState, Duration, Time};
use libbpf_rs::MapCore;

use crate::report::{Acked, Decision, Kind, RateSample, Report, Rtt};

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
const ACCURATE_ECN: u8 = 64;

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
    waiting_since_ns: u64,
    report_ns: u64,
    first_ns: u64,
    idle_ns: u64,
    pub(super) pacing_bytes: u64,
    pub(super) rate_bytes: u64,
    acked_first: u64,
    pub(super) acked_bytes: u64,
    pub(super) window: u32,
    ssthresh: u32,
    prr_delivered: u32,
    prior_cwnd: u32,
    round_end: u32,
    flags: u32,
    acked: u32,
    acks: u32,
    ce_seen: u32,
    lost_seen: u32,
    sent_seen: u32,
    prior_in_flight: u32,
    rtt_us: u32,
    rate_delivered: u32,
    rate_interval_us: u32,
    rate_prior_delivered: u32,
    ece: u32,
    delivered_first: u32,
    missed: u32,
    pub(super) cwnd: u32,
    pub(super) srtt_us: u32,
    pub(super) min_rtt_us: u32,
    pub(super) fallbacks: u32,
    pub(super) state: u32,
    pub(super) address: [u32; 4],
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
}

impl RawFlow {
    /// The remote address and port. Addresses of IPv4 are mapped (RFC 4291, section 2.5.5.2).
    pub(super) fn remote(&self) -> SocketAddr {
        let mut octets = [0; 16];
        for (part, word) in octets.chunks_exact_mut(4).zip(self.address) {
            part.copy_from_slice(&word.to_ne_bytes());
        }
        SocketAddr::new(Ipv6Addr::from(octets).to_canonical(), u16::from_be(self.remote_port))
    }
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

/// The layout of `bpf/shared.h`, which states it too: by structure its size, and by field its name there, its name here
/// and its offset.
macro_rules! layout {
    ($($type:ident is $name:literal, $size:literal: $($in_c:literal $field:ident $at:literal,)*;)*) => {
        $(
            const _: () = assert!(std::mem::size_of::<$type>() == $size);
            $(const _: () = assert!(std::mem::offset_of!($type, $field) == $at);)*
        )*
        /// By structure of `bpf/shared.h`: name, size, and name and offset of each field.
        #[cfg(test)]
        const LAYOUT: &[(&str, usize, &[(&str, usize)])] = &[$(($name, $size, &[$(($in_c, $at)),*])),*];
    };
}

layout! {
    Settings is "settings", 16:
        "when" when 0,
        "model_based" model_based 4,
        "every_ns" every_ns 8,
    ;
    RawReport is "report", 120:
        "now_ns" now_ns 0,
        "first_ns" first_ns 8,
        "idle_ns" idle_ns 16,
        "slot" slot 24,
        "generation" generation 28,
        "number" number 32,
        "kind" kind 36,
        "state" state 37,
        "flags" flags 38,
        "padding" padding 39,
        "acked" acked 40,
        "acks" acks 44,
        "lost" lost 48,
        "ce" ce 52,
        "sent" sent 56,
        "prior_in_flight" prior_in_flight 60,
        "in_flight" in_flight 64,
        "flight" flight 68,
        "lost_out" lost_out 72,
        "rtt_us" rtt_us 76,
        "srtt_us" srtt_us 80,
        "min_rtt_us" min_rtt_us 84,
        "rate_delivered" rate_delivered 88,
        "rate_interval_us" rate_interval_us 92,
        "rate_prior_delivered" rate_prior_delivered 96,
        "delivered" delivered 100,
        "una" una 104,
        "nxt" nxt 108,
        "cwnd" cwnd 112,
        "mss" mss 116,
    ;
    RawDecision is "decision", 56:
        "begun" begun 0,
        "generation" generation 4,
        "report_ns" report_ns 8,
        "pacing_Bps" pacing_bytes 16,
        "cwnd" cwnd 24,
        "ssthresh" ssthresh 28,
        "number" number 32,
        "unused" unused 36,
    ;
    RawFlow is "flow", 208:
        "used" used 0,
        "generation" generation 4,
        "number" number 8,
        "decided" decided 12,
        "hold" hold 16,
        "fallback" fallback 20,
        "waiting_since_ns" waiting_since_ns 24,
        "report_ns" report_ns 32,
        "first_ns" first_ns 40,
        "idle_ns" idle_ns 48,
        "pacing_Bps" pacing_bytes 56,
        "rate_Bps" rate_bytes 64,
        "acked_first" acked_first 72,
        "acked_bytes" acked_bytes 80,
        "window" window 88,
        "ssthresh" ssthresh 92,
        "prr_delivered" prr_delivered 96,
        "prior_cwnd" prior_cwnd 100,
        "round_end" round_end 104,
        "flags" flags 108,
        "acked" acked 112,
        "acks" acks 116,
        "ce_seen" ce_seen 120,
        "lost_seen" lost_seen 124,
        "sent_seen" sent_seen 128,
        "prior_in_flight" prior_in_flight 132,
        "rtt_us" rtt_us 136,
        "rate_delivered" rate_delivered 140,
        "rate_interval_us" rate_interval_us 144,
        "rate_prior_delivered" rate_prior_delivered 148,
        "ece" ece 152,
        "delivered_first" delivered_first 156,
        "missed" missed 160,
        "cwnd" cwnd 164,
        "srtt_us" srtt_us 168,
        "min_rtt_us" min_rtt_us 172,
        "fallbacks" fallbacks 176,
        "state" state 180,
        "address" address 184,
        "local_port" local_port 200,
        "remote_port" remote_port 202,
    ;
    RawTotals is "totals", 3768:
        "reports" reports 0,
        "lost" lost 8,
        "refused" refused 16,
        "fallbacks" fallbacks 24,
        "applied_at_next" applied_at_next 32,
        "applied_max_ns" applied_max_ns 40,
        "connections" connections 48,
        "latency" latency 56,
    ;
}

fn microseconds(us: u32) -> Duration {
    Duration::from_nanos(u64::from(us) * 1_000)
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
            now: Time::from_nanos(self.now_ns),
            kind: self.kind(),
            state: CaState::from_number(self.state),
            acked: Acked {
                segments: self.acked,
                acks: self.acks,
                interval: Duration::from_nanos(self.now_ns.saturating_sub(self.first_ns)),
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
            accurate_ecn: self.has(ACCURATE_ECN),
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
            4 => Kind::Idle(Duration::from_nanos(self.idle_ns)),
            5 => Kind::Close,
            _ => Kind::Acks,
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

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = include_str!("../../bpf/shared.h");

    /// The arguments of each line `NAME(…);` of the header.
    fn calls(name: &str) -> impl Iterator<Item = Vec<&'static str>> + '_ {
        HEADER.lines().filter_map(move |line| {
            let inner = line.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(");")?;
            Some(inner.split(", ").collect())
        })
    }

    /// The value of a constant of an `enum` of the header.
    fn constant(name: &str) -> usize {
        let at = HEADER.find(&format!("{name} = ")).unwrap_or_else(|| panic!("the header has no {name}"));
        let digits = HEADER[at + name.len() + 3..].chars().take_while(char::is_ascii_digit).collect::<String>();
        digits.parse().expect("a constant is a number")
    }

    /// Both compilers assert their list; here the lists are equal, so that both sides agree on every field.
    #[test]
    fn program_and_process_have_the_same_layout() {
        let mut offsets = calls("OFFSET");
        let mut sizes = calls("SIZE");
        for (name, size, fields) in LAYOUT {
            for (field, at) in *fields {
                assert_eq!(offsets.next(), Some(vec![*name, *field, at.to_string().leak()]), "{name}.{field}");
            }
            assert_eq!(sizes.next(), Some(vec![*name, size.to_string().leak()]), "{name}");
        }
        assert_eq!((offsets.next(), sizes.next()), (None, None));
        // Every field of the header is in its list: members of structures are the indented lines of a type.
        let members = HEADER.lines().filter(|line| line.starts_with("\t__u")).count();
        assert_eq!(members, LAYOUT.iter().map(|(_, _, fields)| fields.len()).sum::<usize>());
    }

    #[test]
    fn program_and_process_have_the_same_constants() {
        let flags = [
            ("FLAG_ADVANCED", ADVANCED),
            ("FLAG_CWND_LIMITED", CWND_LIMITED),
            ("FLAG_APP_LIMITED", APP_LIMITED),
            ("FLAG_RATE_APP_LIMITED", RATE_APP_LIMITED),
            ("FLAG_CONGESTION", CONGESTION),
            ("FLAG_ECE", ECE),
            ("FLAG_ACCURATE_ECN", ACCURATE_ECN),
        ];
        for (name, flag) in flags {
            assert_eq!(constant(name), usize::from(flag), "{name}");
        }
        assert_eq!((constant("SLOTS"), constant("BUCKETS")), (SLOTS, BUCKETS));
        let kinds = ["OPEN", "ACKS", "STATE", "UNDO", "IDLE", "CLOSE"].map(|kind| constant(&format!("KIND_{kind}")));
        assert_eq!(kinds, [0, 1, 2, 3, 4, 5], "as `RawReport::kind` reads them");
    }

    /// By hand: 2³² byte/s are 34 Gbit/s. A sample of 2³² segments of 64 kB would be needed to exceed 64 bits in the
    /// quotient's numerator, which counts bytes times 10⁶.
    #[test]
    fn rates_have_64_bits_on_both_sides() {
        assert!(["rate_Bps", "pacing_Bps"].iter().all(|name| HEADER.contains(&format!("\t__u64 {name};"))));
        let flow = |raw: &RawFlow| (raw.rate_bytes, raw.pacing_bytes);
        let _: fn(&RawFlow) -> (u64, u64) = flow;
    }
}
