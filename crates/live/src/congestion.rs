//! The congestion control of one TCP connection, by its name in the kernel.

use cwndlab_emulator::namespace::sysctl;
use socket2::{Domain, SockRef, Socket, Type};

/// Under it a connection stands until somebody says what it is to send with: unpaced, with a fresh window. One that
/// began under `bbr` would stay paced for ever (`sk_pacing_status` is set by bbr and never taken back).
pub(crate) const NEUTRAL: &str = "reno";

/// What this process may choose, in the kernel's order: asked for each time, since algorithms come and go
/// (`cwndlab kernel`), and tried on a socket, since some are for the privileged.
#[must_use]
pub fn offered() -> Vec<String> {
    let Ok(socket) = Socket::new(Domain::IPV4, Type::STREAM, None) else { return Vec::new() };
    let known = sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let mut names: Vec<String> = known
        .split_whitespace()
        .filter(|name| socket.set_tcp_congestion(name.as_bytes()).is_ok())
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names
}

/// What the system uses where nothing is named.
#[must_use]
pub fn usual() -> String {
    sysctl("net.ipv4.tcp_congestion_control").unwrap_or_else(|| NEUTRAL.to_owned())
}

/// The kernel's name for one of this library's: the kernel's own where it stands for ours, `cwndlab_NAME` where
/// `cwndlab kernel` has registered it.
#[must_use]
pub fn kernel_name(name: &str, offered: &[String]) -> Option<String> {
    let ours = match name {
        "newreno" => "reno".to_owned(),
        "cubic-linux" => "cubic".to_owned(),
        "bbr1" => "bbr".to_owned(),
        "compound" => "cwndlab_ctcp".to_owned(),
        other => format!("cwndlab_{}", other.replace('-', "_")),
    };
    let has = |name: &str| offered.iter().any(|one| one == name);
    if has(name) {
        return Some(name.to_owned());
    }
    has(&ours).then_some(ours)
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
        let offered = ["bbr", "cubic", "cwndlab_ctcp", "cwndlab_step_ecn", "reno"].map(str::to_owned);
        for (name, kernel) in [
            ("reno", Some("reno")),
            ("newreno", Some("reno")),
            ("cubic", Some("cubic")),
            ("cubic-linux", Some("cubic")),
            ("bbr1", Some("bbr")),
            ("bbr", Some("bbr")),
            ("ctcp", Some("cwndlab_ctcp")),
            ("compound", Some("cwndlab_ctcp")),
            ("step-ecn", Some("cwndlab_step_ecn")),
            ("cwndlab_step_ecn", Some("cwndlab_step_ecn")),
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
