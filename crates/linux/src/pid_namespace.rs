//! A PID namespace whose processes end with this process: pid_namespaces(7), pidfd_open(2), clone(2).
//!
//! When the first process of a PID namespace ends, the kernel kills all other processes of the namespace. The first
//! process of this module only waits until a pipe is closed or this process ends, also by a signal (through its pidfd).

use cwndlab_units::Fault;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration as Wait;

use crate::fault::os_fault;
use crate::privileges::NAMESPACE_HINT;

/// A PID namespace, represented by its first process.
#[derive(Debug)]
pub struct PidNamespace {
    init: libc::pid_t,
    /// The pidfd of the first process, which also refers to its namespace.
    pidfd: OwnedFd,
    /// The write end of the pipe. Closing it ends the first process.
    stop_pipe: Option<OwnedFd>,
}

/// Maximum wait for the end of the namespace. A process whose exit status has not been collected delays it.
const END_TIMEOUT: Wait = Wait::from_secs(2);

fn pidfd_of(process: libc::pid_t) -> Result<OwnedFd, Fault> {
    // SAFETY: no pointers; the result is checked, and the descriptor is new and has no other owner.
    unsafe {
        let pidfd = libc::syscall(libc::SYS_pidfd_open, process, 0);
        if pidfd < 0 {
            return Err(os_fault("pidfd_open", "programs as endpoints need Linux 5.9 or later"));
        }
        Ok(OwnedFd::from_raw_fd(pidfd as i32))
    }
}

impl PidNamespace {
    /// Creates a namespace.
    pub fn new() -> Result<Self, Fault> {
        let mut pipe = [0; 2];
        // SAFETY: the array holds two descriptors, which are new and have no other owner.
        let (read, write) = unsafe {
            if libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(os_fault("pipe", ""));
            }
            (OwnedFd::from_raw_fd(pipe[0]), OwnedFd::from_raw_fd(pipe[1]))
        };
        let parent = pidfd_of(std::process::id().cast_signed())?;
        // SAFETY: a fork by the system call itself: no atfork handler runs, and the child makes system calls only.
        let init = unsafe {
            let flags = libc::CLONE_NEWPID | libc::SIGCHLD;
            match libc::syscall(libc::SYS_clone, libc::c_long::from(flags), 0, 0, 0, 0) {
                0 => run_init(read.as_raw_fd(), parent.as_raw_fd()),
                process => process as libc::pid_t,
            }
        };
        if init < 0 {
            return Err(os_fault("clone(CLONE_NEWPID)", NAMESPACE_HINT));
        }
        Ok(Self { init, pidfd: pidfd_of(init)?, stop_pipe: Some(write) })
    }

    /// Places processes that the calling thread starts afterwards into the namespace.
    pub fn join(&self) -> Result<(), Fault> {
        // SAFETY: setns takes an open descriptor and a flag; it changes this thread alone.
        if unsafe { libc::setns(self.pidfd.as_raw_fd(), libc::CLONE_NEWPID) } == 0 {
            Ok(())
        } else {
            Err(os_fault("setns(CLONE_NEWPID)", NAMESPACE_HINT))
        }
    }
}

impl Drop for PidNamespace {
    /// Ends every process of the namespace.
    fn drop(&mut self) {
        self.stop_pipe = None;
        let step = Wait::from_millis(2);
        for _ in 0..END_TIMEOUT.as_millis() / step.as_millis() {
            // SAFETY: no status is requested; the process is our child.
            if unsafe { libc::waitpid(self.init, std::ptr::null_mut(), libc::WNOHANG) } != 0 {
                return;
            }
            std::thread::sleep(step);
        }
    }
}

/// The first process: waits until the other end of `stop_pipe` is closed or the process of the pidfd `parent` ends,
/// then exits. It closes all other descriptors, so that it keeps no pipe and no namespace of this process open.
///
/// # Safety
///
/// Must be called in a forked child, with two open descriptors.
unsafe fn run_init(stop_pipe: i32, parent: i32) -> ! {
    // SAFETY: system calls with integer arguments, and with an array that outlives them.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::signal(libc::SIGCHLD, libc::SIG_IGN); // orphans are reaped at once
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"cwndlab-init".as_ptr());
        let stop_pipe = libc::fcntl(stop_pipe, libc::F_DUPFD, 10);
        let parent = libc::fcntl(parent, libc::F_DUPFD, 10);
        libc::dup2(stop_pipe, 0);
        libc::dup2(parent, 1);
        libc::syscall(libc::SYS_close_range, 2, u32::MAX, 0);
        let readable = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut both = [readable(0), readable(1)];
        while libc::poll(both.as_mut_ptr(), 2, -1) <= 0 {}
        libc::_exit(0)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::privileges::{has_capability, skip_test, CAP_SYS_ADMIN};

    /// pid_namespaces(7): when the first process ends, the kernel kills all others with SIGKILL.
    #[test]
    fn a_program_ends_with_its_namespace() {
        if !has_capability(CAP_SYS_ADMIN) {
            return skip_test("a namespace requires CAP_SYS_ADMIN");
        }
        let namespace = PidNamespace::new().expect("created");
        let mut child = std::thread::scope(|scope| {
            let start = || {
                namespace.join().expect("it exists");
                Command::new("sleep").arg("600").spawn().expect("it starts")
            };
            scope.spawn(start).join().expect("no panic")
        });
        assert!(child.try_wait().expect("a child").is_none(), "it runs while the namespace exists");
        // Another thread collects the exit status, without which the namespace does not end.
        let ended = std::thread::spawn(move || child.wait().expect("a child"));
        drop(namespace);
        let status = ended.join().expect("no panic");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
    }
}
