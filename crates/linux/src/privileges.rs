//! Capabilities of the calling thread, and user namespaces: capabilities(7), user_namespaces(7).

use std::io::Write as _;

use crate::fault::os_fault;
use cwndlab_units::Fault;

/// `CAP_NET_ADMIN`: devices, routes, settings of a network namespace (`include/uapi/linux/capability.h`).
pub const CAP_NET_ADMIN: u32 = 12;
/// `CAP_SYS_ADMIN`: new namespaces.
pub const CAP_SYS_ADMIN: u32 = 21;
/// `CAP_PERFMON`: pointers and loops in BPF programs.
pub const CAP_PERFMON: u32 = 38;
/// `CAP_BPF`: loading BPF programs.
pub const CAP_BPF: u32 = 39;

/// The hint where the kernel denies a namespace.
pub(crate) const NAMESPACE_HINT: &str = "emulation needs root, or a machine that lets users create user namespaces \
    (/proc/sys/user/max_user_namespaces, kernel.unprivileged_userns_clone): try `sudo`";

/// Whether the capability is in the effective set of the calling thread (`CapEff` of proc_pid_status(5)).
#[must_use]
pub fn has_capability(capability: u32) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> capability & 1 == 1)
}

/// Reports that the calling test does not run here: a line on standard error, past the capture of the test harness, and
/// one in the file that `CWNDLAB_SKIPPED_TESTS` names, which `tests/skips.py` judges.
#[track_caller]
pub fn skip_test(reason: &str) {
    let file = std::panic::Location::caller().file();
    let thread = std::thread::current();
    let test = thread.name().and_then(|name| name.rsplit("::").next()).unwrap_or("main");
    let line = format!("{file}::{test}: {}\n", reason.lines().next().unwrap_or_default());
    let _ = std::io::stderr().write_all(format!("skipped: {line}").as_bytes());
    if let Some(path) = std::env::var_os("CWNDLAB_SKIPPED_TESTS") {
        let list = std::fs::OpenOptions::new().create(true).append(true).open(path);
        list.and_then(|mut list| list.write_all(line.as_bytes())).expect("the list of skipped tests can be written");
    }
}

/// Enters a new user namespace as its root user, unless the process already has the capabilities for network
/// namespaces. Returns whether it entered one.
///
/// The kernel permits this only to single-threaded processes (unshare(2)): call it before any thread starts.
pub fn become_root() -> Result<bool, Fault> {
    if has_capability(CAP_SYS_ADMIN) && has_capability(CAP_NET_ADMIN) {
        return Ok(false);
    }
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        let what = format!("a process of {threads} threads cannot enter a user namespace");
        return Err(Fault::new("unshare(CLONE_NEWUSER)", what, "run as root, or use the command line `cwndlab`"));
    }
    // SAFETY: no pointers.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: unshare takes a flag; there is one thread.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
        return Err(os_fault("unshare(CLONE_NEWUSER)", NAMESPACE_HINT));
    }
    // The kernel accepts gid_map only after setgroups is denied (user_namespaces(7)).
    for (file, text) in
        [("setgroups", "deny".to_owned()), ("uid_map", format!("0 {user} 1")), ("gid_map", format!("0 {group} 1"))]
    {
        let path = format!("/proc/self/{file}");
        std::fs::write(&path, text).map_err(|error| Fault::new(path, error.to_string(), NAMESPACE_HINT))?;
    }
    Ok(true)
}
