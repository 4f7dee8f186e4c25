//! Network namespaces without names: network_namespaces(7), setns(2), unshare(2).
//!
//! A namespace exists as long as a file descriptor of this process refers to it. When the process ends, even by a
//! signal, the kernel removes the namespace with its devices, routes and sockets.

use cwndlab_units::Fault;
use std::fs::File;
use std::os::fd::AsRawFd;

use crate::fault::os_fault;
use crate::interface;
use crate::privileges::NAMESPACE_HINT;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
}

/// Opens the network namespace of the calling thread.
fn of_thread() -> Result<File, Fault> {
    File::open("/proc/thread-self/ns/net")
        .map_err(|error| Fault::new("/proc/thread-self/ns/net", error.to_string(), ""))
}

impl Namespace {
    /// Creates a namespace with an active loopback device.
    pub fn new() -> Result<Self, Fault> {
        let created = std::thread::spawn(|| {
            // SAFETY: unshare takes a flag; with CLONE_NEWNET it changes this thread alone.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(os_fault("unshare(CLONE_NEWNET)", NAMESPACE_HINT));
            }
            let handle = of_thread()?;
            interface::set_up("lo")?;
            Ok(Self { handle })
        });
        let panicked = "the thread that creates the namespace panicked";
        created.join().unwrap_or_else(|_| Err(Fault::new("unshare(CLONE_NEWNET)", panicked, "")))
    }

    /// Runs `work` on a new thread within this namespace and returns its result.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> Result<T, Fault> + Send) -> Result<T, Fault> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                self.join()?;
                work()
            });
            inside.join().unwrap_or_else(|_| Err(Fault::new("setns", "the thread within the namespace panicked", "")))
        })
    }

    /// Moves the calling thread into this namespace permanently.
    pub fn join(&self) -> Result<(), Fault> {
        // SAFETY: setns takes an open descriptor and a flag; it changes this thread alone.
        if unsafe { libc::setns(self.handle.as_raw_fd(), libc::CLONE_NEWNET) } == 0 {
            Ok(())
        } else {
            Err(os_fault("setns", NAMESPACE_HINT))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};

    use super::*;
    use crate::privileges::{has_capability, skip_test, CAP_SYS_ADMIN};

    /// network_namespaces(7): each namespace has its own port numbers, so one address and port binds in both.
    #[test]
    fn two_namespaces_bind_the_same_port() {
        if !has_capability(CAP_SYS_ADMIN) {
            return skip_test("a namespace requires CAP_SYS_ADMIN");
        }
        let bind =
            || UdpSocket::bind((Ipv4Addr::LOCALHOST, 7)).map_err(|error| Fault::new("bind", error.to_string(), ""));
        let one = Namespace::new().expect("created");
        let other = Namespace::new().expect("created");
        let first = one.enter(bind).expect("the port is free");
        let second = other.enter(bind).expect("the port is free in the other namespace");
        assert!(one.enter(bind).is_err(), "the port is taken in the first");
        drop((first, second));
    }
}
