//! A process namespace for the programs at the ends: nothing that runs there outlives this process, also where it is
//! killed, and whatever its programs fork.
//!
//! The first process of a process namespace takes all others with it when it ends (pid_namespaces(7)). Ours does nothing
//! but wait for the end of this process, which a descriptor tells (pidfd_open(2)), or for a pipe to be closed.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration as Wait;

use crate::fault::{system, Fault};
use crate::namespace::HINT;

/// The namespace, by its first process.
#[derive(Debug)]
pub struct Keeper {
    process: libc::pid_t,
    /// Stands for the process, and by it for its namespace.
    handle: OwnedFd,
    /// Open as long as programs may run.
    leash: Option<OwnedFd>,
}

/// How long the end of the namespace is waited for: a program of which nobody has taken the exit status holds it.
const PATIENCE: Wait = Wait::from_secs(2);

fn handle_of(process: libc::pid_t) -> Result<OwnedFd, Fault> {
    // SAFETY: no pointers; the answer is checked, and the descriptor is new and nobody else's.
    unsafe {
        let handle = libc::syscall(libc::SYS_pidfd_open, process, 0);
        if handle < 0 {
            return Err(system("pidfd_open", "programs at the ends need Linux 5.9 or later"));
        }
        Ok(OwnedFd::from_raw_fd(handle as i32))
    }
}

impl Keeper {
    /// A new namespace.
    pub fn new() -> Result<Self, Fault> {
        let mut pipe = [0; 2];
        // SAFETY: the array has room for the two descriptors, which are new and nobody else's.
        let (read, write) = unsafe {
            if libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(system("pipe", ""));
            }
            (OwnedFd::from_raw_fd(pipe[0]), OwnedFd::from_raw_fd(pipe[1]))
        };
        let ours = handle_of(std::process::id().cast_signed())?;
        // SAFETY: a fork by the system call itself: no handler of any library runs, and the child makes system calls
        // only, until it ends.
        let process = unsafe {
            let flags = libc::CLONE_NEWPID | libc::SIGCHLD;
            match libc::syscall(libc::SYS_clone, libc::c_long::from(flags), 0, 0, 0, 0) {
                0 => keep(read.as_raw_fd(), ours.as_raw_fd()),
                process => process as libc::pid_t,
            }
        };
        if process < 0 {
            return Err(system("clone(CLONE_NEWPID)", HINT));
        }
        Ok(Self { process, handle: handle_of(process)?, leash: Some(write) })
    }

    /// What the calling thread starts from now on runs in the namespace.
    pub fn join(&self) -> Result<(), Fault> {
        // SAFETY: setns takes a descriptor that lives and a flag; it changes this thread alone.
        if unsafe { libc::setns(self.handle.as_raw_fd(), libc::CLONE_NEWPID) } == 0 {
            Ok(())
        } else {
            Err(system("setns(CLONE_NEWPID)", HINT))
        }
    }
}

impl Drop for Keeper {
    /// Ends every process of the namespace.
    fn drop(&mut self) {
        self.leash = None;
        let step = Wait::from_millis(2);
        for _ in 0..PATIENCE.as_millis() / step.as_millis() {
            // SAFETY: no status is asked for; the process is a child of ours.
            if unsafe { libc::waitpid(self.process, std::ptr::null_mut(), libc::WNOHANG) } != 0 {
                return;
            }
            std::thread::sleep(step);
        }
    }
}

/// The life of the first process. It keeps no descriptor but the two, so that it holds nobody's pipe or namespace open.
///
/// # Safety
///
/// To be called in a child of its own memory, with two open descriptors.
unsafe fn keep(leash: i32, parent: i32) -> ! {
    // SAFETY: system calls on plain numbers, and on an array that lives.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::signal(libc::SIGCHLD, libc::SIG_IGN); // whom nobody waits for is gone at once
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"cwndlab-keeper".as_ptr());
        let (leash, parent) = (libc::fcntl(leash, libc::F_DUPFD, 10), libc::fcntl(parent, libc::F_DUPFD, 10));
        libc::dup2(leash, 0);
        libc::dup2(parent, 1);
        libc::syscall(libc::SYS_close_range, 2, u32::MAX, 0);
        let look = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut both = [look(0), look(1)];
        while libc::poll(both.as_mut_ptr(), 2, -1) <= 0 {}
        libc::_exit(0)
    }
}
