//! The congestion control of one TCP connection, by its name in the kernel.

use cwndlab_control::kernel_name::{library_name, resolve};
use cwndlab_linux::sysctl;
use socket2::{Domain, SockRef, Socket, Type};

/// Under it a connection stands until somebody says what it is to send with: unpaced, with a fresh window. One that
/// began under `bbr` would stay paced for ever (`sk_pacing_status` is set by bbr and never taken back).
pub(crate) const NEUTRAL: &str = "reno";

/// What this process may choose, in the kernel's order: asked for each time, since algorithms come and go
/// (`cwndlab kernel`), and tried on a socket, since some are for the privileged.
#[must_use]
pub fn offered() -> Vec<String> {
    let Ok(socket) = Socket::new(Domain::IPV4, Type::STREAM, None) else { return Vec::new() };
    let mut names = sysctl::available_congestion_controls();
    names.retain(|name| socket.set_tcp_congestion(name.as_bytes()).is_ok());
    names.sort_unstable();
    names
}

/// What the system uses where nothing is named.
#[must_use]
pub fn usual() -> String {
    sysctl::read("net.ipv4.tcp_congestion_control").unwrap_or_else(|| NEUTRAL.to_owned())
}

/// The same by the names that a request may write.
#[must_use]
pub fn names(kernels: &[String]) -> Vec<String> {
    kernels.iter().map(|name| library_name(name).to_owned()).collect()
}

/// The kernel's name for one of this library's.
#[must_use]
pub fn kernel_name(name: &str, offered: &[String]) -> Option<String> {
    resolve(name, &cwndlab_algorithms::catalogue(), offered)
}

/// Sets it; answers what the kernel says that it is now.
pub(crate) fn set(socket: SockRef<'_>, name: &str) -> std::io::Result<String> {
    socket.set_tcp_congestion(name.as_bytes())?;
    read(&socket)
}

/// What the kernel says.
pub(crate) fn read(socket: &SockRef<'_>) -> std::io::Result<String> {
    let name = socket.tcp_congestion()?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_library_mean_what_the_kernel_has() {
        let offered = ["bbr", "cdg", "cubic", "cwndlab_ctcp", "cwndlab_abe_ecn", "cwndlab_westwoo", "htcp", "reno"];
        let offered = offered.map(str::to_owned);
        for (name, kernel) in [
            ("reno", Some("reno")),
            ("newreno", Some("reno")),
            ("cubic", Some("cubic")),
            ("cubic-linux", Some("cubic")),
            ("bbr1", Some("bbr")),
            // One meaning everywhere: BBRv3, which is not registered.
            ("bbr", None),
            ("bbr3", None),
            ("westwood", Some("cwndlab_westwoo")),
            // Modules of the kernel; the library has none of the first name, and the same algorithm of the second.
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
    fn what_is_set_is_what_the_kernel_reads_back() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        for name in offered() {
            assert_eq!(set(SockRef::from(&socket), &name).unwrap(), name);
        }
        assert!(set(SockRef::from(&socket), "nobody").is_err());
    }
}
