//! Network namespaces without names: they live as long as a file descriptor of this process, so that nothing is left
//! behind, however the process ends.

use std::fs::File;
use std::os::fd::AsRawFd;

use crate::fault::{fault, system, Fault};

/// A network namespace of our own.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
}

/// What would do where the kernel refuses.
pub(crate) const HINT: &str = "emulation needs root, or a machine that lets users make user namespaces \
    (/proc/sys/user/max_user_namespaces, kernel.unprivileged_userns_clone): try `sudo`";

/// The namespace of the calling thread.
fn of_thread() -> Result<File, Fault> {
    File::open("/proc/thread-self/ns/net").map_err(|error| fault("/proc/thread-self/ns/net", error.to_string(), ""))
}

fn set(handle: &File) -> Result<(), Fault> {
    // SAFETY: setns takes a descriptor that lives and a flag; it changes this thread alone.
    if unsafe { libc::setns(handle.as_raw_fd(), libc::CLONE_NEWNET) } == 0 {
        Ok(())
    } else {
        Err(system("setns", HINT))
    }
}

impl Namespace {
    /// A new namespace with its loopback up.
    pub fn new() -> Result<Self, Fault> {
        let made = std::thread::spawn(|| {
            // SAFETY: unshare takes a flag; with CLONE_NEWNET it changes this thread alone.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(system("unshare(CLONE_NEWNET)", HINT));
            }
            let handle = of_thread()?;
            crate::device::up("lo")?;
            Ok(Self { handle })
        });
        made.join().unwrap_or_else(|_| Err(fault("unshare(CLONE_NEWNET)", "the thread that made it died", "")))
    }

    /// Calls `work` on a thread within this namespace and waits for its answer.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> Result<T, Fault> + Send) -> Result<T, Fault> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                self.join()?;
                work()
            });
            inside.join().unwrap_or_else(|_| Err(fault("setns", "the thread within the namespace died", "")))
        })
    }

    /// Moves the calling thread here, for good.
    pub fn join(&self) -> Result<(), Fault> {
        set(&self.handle)
    }
}

/// Enters a user namespace of our own in which we are root, where we are not root already; answers whether it did.
///
/// Only a process of one thread may (unshare(2)): to be called before anything else.
pub fn become_root() -> Result<bool, Fault> {
    if may(CAP_SYS_ADMIN) && may(CAP_NET_ADMIN) {
        return Ok(false);
    }
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        let what = format!("a process of {threads} threads cannot enter a user namespace");
        return Err(fault("unshare(CLONE_NEWUSER)", what, "run as root, or use the command line `cwndlab`"));
    }
    // SAFETY: no pointers.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: unshare takes a flag; there is one thread.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
        return Err(system("unshare(CLONE_NEWUSER)", HINT));
    }
    // A group may be mapped only after setgroups was given up (user_namespaces(7)).
    for (file, text) in
        [("setgroups", "deny".to_owned()), ("uid_map", format!("0 {user} 1")), ("gid_map", format!("0 {group} 1"))]
    {
        let path = format!("/proc/self/{file}");
        std::fs::write(&path, text).map_err(|error| fault(path, error.to_string(), HINT))?;
    }
    Ok(true)
}

const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;

/// The capability is in force.
fn may(capability: u32) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> capability & 1 == 1)
}

/// Writes a setting of the calling thread's namespace, as `net.ipv4.tcp_ecn`.
pub fn set_sysctl(name: &str, value: &str) -> Result<(), Fault> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    std::fs::write(&path, value).map_err(|error| {
        fault(
            path,
            error.to_string(),
            "emulation writes the settings of its own namespaces; a read-only /proc/sys forbids it",
        )
    })
}

/// Reads a setting of the calling thread's namespace.
#[must_use]
pub fn sysctl(name: &str) -> Option<String> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Counters of the calling thread's namespace that tell what its TCP senders did (`/proc/net/netstat`, `TcpExt`).
const COUNTERS: &[&str] = &[
    "TCPSackRecovery",
    "TCPRenoRecovery",
    "TCPTimeouts",
    "TCPSynRetrans",
    "TCPLossProbes",
    "TCPLostRetransmit",
    "TCPFullUndo",
    "TCPPartialUndo",
    "TCPDSACKUndo",
    "TCPLossUndo",
    "TCPDSACKRecv",
    "TCPHystartTrainDetect",
    "TCPHystartDelayDetect",
];

/// What the kernel counted in the calling thread's namespace, by its own names.
#[must_use]
pub fn counters() -> Vec<(String, u64)> {
    let text = std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    names
        .split_whitespace()
        .zip(values.split_whitespace())
        .filter(|(name, _)| COUNTERS.contains(name))
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .collect()
}
