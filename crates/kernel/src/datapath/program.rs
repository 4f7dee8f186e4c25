//! Loading of the eBPF program for an algorithm, and registration under the algorithm's name.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cwndlab_control::{kernel_name, Algorithm, ReportSchedule};
use cwndlab_units::Fault;
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, PrintLevel};

use super::name_lock::NameLock;
use super::shared::{Decisions, Mapped, RawFlow, RawTotals, Settings, SLOTS};

/// The compiled program.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/datapath.bpf.o"));
/// The placeholder for the algorithm's name in the program.
const UNNAMED: &[u8; 16] = b"cwndlab_unnamed\0";

/// The messages of libbpf, which has one log callback per process.
static LOG: Mutex<String> = Mutex::new(String::new());

/// A registered algorithm. Dropping it releases its name; connections that use it continue under the program's
/// watchdog.
pub(super) struct Program {
    pub(super) name: String,
    pub(super) flows: Mapped<RawFlow>,
    pub(super) totals: Mapped<RawTotals>,
    pub(super) decisions: Decisions,
    pub(super) reports: MapHandle,
    // Dropped in this order: the name is unregistered before its lock is released.
    _link: Link,
    _object: Object,
    _lock: NameLock,
}

fn append_log(_: PrintLevel, text: String) {
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    if log.len() < 4_000 {
        log.push_str(&text);
    }
}

/// The last message of libbpf.
fn last_message() -> String {
    let log = std::mem::take(&mut *LOG.lock().unwrap_or_else(PoisonError::into_inner));
    log.lines().last().unwrap_or_default().trim().to_owned()
}

fn load_fault(what: &str, error: &libbpf_rs::Error) -> Fault {
    let hint = match error.kind() {
        ErrorKind::PermissionDenied => {
            "it needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN outside of any user namespace: run it as root".to_owned()
        }
        ErrorKind::AlreadyExists => "another process has registered it, or its link is pinned".to_owned(),
        _ => last_message(),
    };
    Fault::new("", format!("{what}: {error}"), hint)
}

/// Writes name and settings into the object before it is loaded. `TCP_CONG_NEEDS_ECN` remains unset: with it, SYNs have
/// ECT(0), and a peer accepts ECN only if its listener has such an algorithm, too (Linux, `tcp_ecn_create_request`).
/// Otherwise packets would have ECT without an echo of marks.
fn prepare(open: &mut OpenObject, name: &str, algorithm: &Algorithm, schedule: ReportSchedule) {
    let (mode, every) = match schedule {
        ReportSchedule::Ack => (0, 0),
        ReportSchedule::Rtt => (1, 0),
        ReportSchedule::Every(span) => (2, span.as_nanos()),
    };
    let model_based = u32::from(algorithm.is_model_based());
    let settings = Settings { when: mode, model_based, every_ns: every };
    for mut map in open.maps_mut() {
        let title = map.name().to_string_lossy().into_owned();
        let Some(value) = map.initial_value_mut() else { continue };
        if title == "ops" {
            let at = value.windows(UNNAMED.len()).position(|part| part == UNNAMED).expect("the program has a name");
            value[at..at + UNNAMED.len()].fill(0);
            value[at..at + name.len()].copy_from_slice(name.as_bytes());
        } else if title.ends_with(".rodata") {
            let bytes = [settings.when.to_ne_bytes(), settings.model_based.to_ne_bytes()].concat();
            value[..8].copy_from_slice(&bytes);
            value[8..16].copy_from_slice(&settings.every_ns.to_ne_bytes());
        }
    }
}

/// Puts the numbers of all slots into the program's queue.
fn fill_free_slots(object: &Object) -> Result<(), Fault> {
    let queue = object.maps().find(|map| map.name() == "free_slots").expect("the program has this map");
    for slot in 0..SLOTS as u32 {
        queue
            .update(&[], &slot.to_ne_bytes(), MapFlags::ANY)
            .map_err(|error| load_fault("the program's slots cannot be listed", &error))?;
    }
    Ok(())
}

impl Program {
    /// Loads and registers the program. Waits at most `timeout` for a name that another process has registered.
    pub(super) fn register(algorithm: &Algorithm, schedule: ReportSchedule, timeout: Duration) -> Result<Self, Fault> {
        let name = kernel_name(algorithm);
        if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(Fault::new(
                "",
                "this kernel has no type information (/sys/kernel/btf/vmlinux)",
                "it needs a kernel built with CONFIG_DEBUG_INFO_BTF, as distributions' kernels are",
            ));
        }
        let lock = NameLock::acquire(&name, timeout)?;
        libbpf_rs::set_print(Some((PrintLevel::Warn, append_log)));
        let mut open = ObjectBuilder::default()
            .open_memory(OBJECT)
            .map_err(|error| load_fault("the program cannot be read", &error))?;
        prepare(&mut open, &name, algorithm, schedule);
        let mut object = open.load().map_err(|error| load_fault("the kernel rejected the program", &error))?;
        fill_free_slots(&object)?;
        let link = object
            .maps_mut()
            .find(|map| map.name() == "ops")
            .expect("the program has operations")
            .attach_struct_ops()
            .map_err(|error| load_fault(&format!("'{name}' cannot be registered"), &error))?;
        let map = |wanted: &str| object.maps().find(|one| one.name() == wanted).expect("the program has this map");
        let unmapped = |error| Fault::new("", format!("the program's arrays cannot be mapped: {error}"), "");
        let flows = Mapped::new(&map("flows"), SLOTS).map_err(unmapped)?;
        let totals = Mapped::new(&map("totals"), 1).map_err(unmapped)?;
        let decisions = Decisions::new(&map("decisions")).map_err(unmapped)?;
        let reports = MapHandle::try_from(&map("reports"))
            .map_err(|error| load_fault("the program's ring buffer cannot be opened", &error))?;
        Ok(Self { name, flows, totals, decisions, reports, _link: link, _object: object, _lock: lock })
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_linux::privileges::{has_capability, skip_test, CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON};

    use super::*;

    /// The program reads a decision under a sequence lock. Without barriers the fields may belong to two decisions on
    /// arm64. `BPF_STX | BPF_DW | BPF_ATOMIC` is 0xdb, and an exchange has the immediate 0xe1 (the kernel's
    /// `Documentation/bpf/standardization/instruction-set.rst`, "Atomic operations"). Each caller has two barriers.
    #[test]
    fn decisions_are_read_between_barriers() {
        let exchanges = OBJECT.windows(8).filter(|one| one[0] == 0xdb && one[4..] == [0xe1, 0, 0, 0]).count();
        assert!(exchanges >= 2 && exchanges.is_multiple_of(2), "{exchanges}");
    }

    /// Loads the program without registering it, so that no name is in use.
    #[test]
    fn the_verifier_accepts_the_program() {
        let is_privileged = [CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF].into_iter().all(has_capability);
        if !is_privileged || !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            return skip_test("loading requires CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF and a kernel with BTF");
        }
        libbpf_rs::set_print(Some((PrintLevel::Warn, append_log)));
        let open = ObjectBuilder::default().open_memory(OBJECT).unwrap();
        open.load().unwrap_or_else(|error| panic!("{error}: {}", last_message()));
    }
}
