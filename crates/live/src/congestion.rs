//! The congestion control of one TCP connection, by the kernel's name.

use cwndlab_control::kernel_name::{library_name, resolve};
use cwndlab_linux::sysctl;
use socket2::{Domain, SockRef, Socket, Type};

/// The algorithm of a connection before its first request, which is unpaced. A connection that begins with `bbr`
/// remains paced under another algorithm (bbr sets `sk_pacing_status`, and the kernel does not reset it).
pub(crate) const INITIAL: &str = "reno";

/// The algorithms that this process may select, sorted. Each call reads them from the kernel, because `cwndlab kernel`
/// may register further ones, and tries them on a socket, because some need privileges.
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

/// Translates the kernel's names to the names of requests.
#[must_use]
pub fn request_names(kernel_names: &[String]) -> Vec<String> {
    kernel_names.iter().map(|name| library_name(name).to_owned()).collect()
}

/// The kernel's name for the name of a request.
#[must_use]
pub fn kernel_name(name: &str, offered: &[String]) -> Option<String> {
    resolve(name, &cwndlab_algorithms::catalogue(), offered)
}

/// Selects an algorithm; returns the name that the kernel then reports.
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
            // Modules of the kernel: the library has no algorithm with the first name, and the same algorithm with the
            // second.
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
        assert!(set(SockRef::from(&socket), "unknown").is_err());
    }
}
