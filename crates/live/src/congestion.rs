//! The congestion control of one TCP connection, by its name in the kernel.

use cwndlab_control::kernel_name::{library_name, resolve};
use cwndlab_linux::sysctl;
use socket2::{Domain, SockRef, Socket, Type};

/// The algorithm of a connection before its first request: unpaced, with a fresh window. A connection that begins with
/// `bbr` stays paced (bbr sets `sk_pacing_status`, and nothing resets it).
pub(crate) const INITIAL: &str = "reno";

/// The algorithms that this process may select, sorted. They are read each time, since `cwndlab kernel` registers more,
/// and tried on a socket, since some need privileges.
#[must_use]
pub fn offered() -> Vec<String> {
    let Ok(socket) = Socket::new(Domain::IPV4, Type::STREAM, None) else { return Vec::new() };
    let mut names = sysctl::available_congestion_controls();
    names.retain(|name| socket.set_tcp_congestion(name.as_bytes()).is_ok());
    names.sort_unstable();
    names
}

/// The system's default algorithm.
#[must_use]
pub fn system_default() -> String {
    sysctl::read("net.ipv4.tcp_congestion_control").unwrap_or_else(|| INITIAL.to_owned())
}

/// The names of a request for the kernel's names.
#[must_use]
pub fn names(kernels: &[String]) -> Vec<String> {
    kernels.iter().map(|name| library_name(name).to_owned()).collect()
}

/// The kernel's name for a name of a request.
#[must_use]
pub fn kernel_name(name: &str, offered: &[String]) -> Option<String> {
    resolve(name, &cwndlab_algorithms::catalogue(), offered)
}

/// Selects an algorithm; returns the one that the kernel reports.
pub(crate) fn set(socket: SockRef<'_>, name: &str) -> std::io::Result<String> {
    socket.set_tcp_congestion(name.as_bytes())?;
    read(&socket)
}

/// The algorithm of a socket.
pub(crate) fn read(socket: &SockRef<'_>) -> std::io::Result<String> {
    let name = socket.tcp_congestion()?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_library_resolve_to_those_of_the_kernel() {
        let offered = ["bbr", "cdg", "cubic", "cwndlab_ctcp", "cwndlab_abe_ecn", "cwndlab_westwoo", "htcp", "reno"];
        let offered = offered.map(str::to_owned);
        for (name, kernel) in [
            ("reno", Some("reno")),
            ("newreno", Some("reno")),
            ("cubic", Some("cubic")),
            ("cubic-linux", Some("cubic")),
            ("bbr1", Some("bbr")),
            // `bbr` is BBRv3 everywhere, which is not registered.
            ("bbr", None),
            ("bbr3", None),
            ("westwood", Some("cwndlab_westwoo")),
            // Modules of the kernel: the library has no algorithm of the first name, and the same of the second.
            ("cdg", Some("cdg")),
            ("htcp", Some("htcp")),
            ("ctcp", Some("cwndlab_ctcp")),
            ("compound", Some("cwndlab_ctcp")),
            ("abe-ecn", Some("cwndlab_abe_ecn")),
            ("cwndlab_abe_ecn", Some("cwndlab_abe_ecn")),
            ("vegas", None),
            ("", None),
        ] {
            assert_eq!(kernel_name(name, &offered).as_deref(), kernel, "{name}");
        }
    }

    #[test]
    fn the_kernel_reports_the_algorithm_that_was_selected() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        for name in offered() {
            assert_eq!(set(SockRef::from(&socket), &name).unwrap(), name);
        }
        assert!(set(SockRef::from(&socket), "nobody").is_err());
    }
}
