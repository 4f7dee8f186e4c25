//! Resource limits of the process: getrlimit(2), `/proc/self/limits` (proc_pid_limits(5)).

/// The soft limit on open file descriptors; `None` where it is unknown or unlimited.
#[must_use]
pub fn max_open_files() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}
