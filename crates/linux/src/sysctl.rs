//! Kernel settings by name, through `/proc/sys`: proc_sys(5), `Documentation/networking/ip-sysctl.rst` of the kernel.
//!
//! Settings below `net` belong to the network namespace of the calling thread.

use cwndlab_units::Fault;

fn path_of(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// Writes the setting `name`, such as `net.ipv4.tcp_ecn`.
pub fn write(name: &str, value: &str) -> Result<(), Fault> {
    let path = path_of(name);
    std::fs::write(&path, value).map_err(|error| {
        Fault::new(
            path,
            error.to_string(),
            "emulation writes settings of its own namespaces, which needs a writable /proc/sys",
        )
    })
}

/// Reads the setting `name` without surrounding white space; `None` where it cannot be read.
#[must_use]
pub fn read(name: &str) -> Option<String> {
    std::fs::read_to_string(path_of(name)).ok().map(|text| text.trim().to_owned())
}

/// The congestion controls loaded in the kernel (`net.ipv4.tcp_available_congestion_control`).
#[must_use]
pub fn available_congestion_controls() -> Vec<String> {
    let names = read("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// proc_sys_kernel(5): `ostype` is "Linux". tcp(7): Reno is always available.
    #[test]
    fn settings_are_read_by_their_dotted_names() {
        assert_eq!(read("kernel.ostype").as_deref(), Some("Linux"));
        assert_eq!(read("kernel.no_such_setting"), None);
        assert!(available_congestion_controls().iter().any(|name| name == "reno"));
    }
}
