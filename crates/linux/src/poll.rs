//! Waiting for file descriptors with a timeout in nanoseconds: ppoll(2).

use std::os::fd::RawFd;

use cwndlab_units::Duration;

/// Sleeps until one of the descriptors is readable or `timeout` has passed; returns whether one is readable.
#[must_use]
pub fn wait_readable<const N: usize>(descriptors: [RawFd; N], timeout: Duration) -> bool {
    wait(descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }), timeout)
}

/// The condition for which [`wait_for`] waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Data can be read.
    Readable,
    /// Data can be written.
    Writable,
    /// Data can be read or written.
    Either,
}

/// Sleeps until its condition holds for one of the descriptors or `timeout` has passed; returns whether one holds. An error
/// of a descriptor counts as its condition, so that the next read or write reports it.
#[must_use]
pub fn wait_for<const N: usize>(descriptors: [(RawFd, Interest); N], timeout: Duration) -> bool {
    let polled = descriptors.map(|(fd, interest)| {
        let events = match interest {
            Interest::Readable => libc::POLLIN,
            Interest::Writable => libc::POLLOUT,
            Interest::Either => libc::POLLIN | libc::POLLOUT,
        };
        libc::pollfd { fd, events, revents: 0 }
    });
    wait(polled, timeout)
}

fn wait<const N: usize>(mut polled: [libc::pollfd; N], timeout: Duration) -> bool {
    let second = Duration::from_secs(1).as_nanos();
    let time = libc::timespec {
        tv_sec: (timeout.as_nanos() / second).cast_signed(),
        tv_nsec: (timeout.as_nanos() % second).cast_signed(),
    };
    // SAFETY: the array and the time outlive the call, and the count is the array's length; there is no signal mask.
    unsafe { libc::ppoll(polled.as_mut_ptr(), N as libc::nfds_t, &raw const time, std::ptr::null()) > 0 }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use super::*;

    /// ppoll(2): returns at once where a descriptor is readable.
    #[test]
    fn a_readable_descriptor_ends_the_wait() {
        let empty = std::io::pipe().expect("a pipe");
        let mut pipe = std::io::pipe().expect("a pipe");
        pipe.1.write_all(b"x").expect("it has room");
        assert!(wait_readable([empty.0.as_raw_fd(), pipe.0.as_raw_fd()], Duration::from_secs(3_600)));
        assert!(!wait_readable([empty.0.as_raw_fd()], Duration::from_nanos(1_000)));
    }

    /// ppoll(2): a socket is writable while its buffer has room, and readable when data have arrived.
    #[test]
    fn the_condition_selects_the_direction() {
        let (one, mut other) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let hour = Duration::from_secs(3_600);
        assert!(wait_for([(one.as_raw_fd(), Interest::Writable)], hour));
        assert!(wait_for([(one.as_raw_fd(), Interest::Either)], hour));
        assert!(!wait_for([(one.as_raw_fd(), Interest::Readable)], Duration::from_nanos(1_000)));
        other.write_all(b"x").expect("it has room");
        assert!(wait_for([(one.as_raw_fd(), Interest::Readable)], hour));
    }
}
