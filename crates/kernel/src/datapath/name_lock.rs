//! Locks on the global names of algorithms in the kernel: one process at a time registers a name.

use cwndlab_units::Fault;
use std::fs::{DirBuilder, File};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

/// Interval of attempts to acquire a lock that another process holds.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The lock on a name, held until it is dropped or the process ends (flock(2)).
#[derive(Debug)]
pub(super) struct NameLock {
    _file: File,
}

/// The folder of the locks, which only root can write. Without the permission to create it: the folder of temporary
/// files; registration then fails in any case.
fn folder() -> PathBuf {
    let own = PathBuf::from("/run/cwndlab");
    let created = DirBuilder::new().recursive(true).mode(0o700).create(&own);
    if created.is_ok() {
        own
    } else {
        std::env::temp_dir()
    }
}

impl NameLock {
    /// Locks the name. Waits at most `timeout` for another process to release it.
    pub(super) fn acquire(name: &str, timeout: Duration) -> Result<Self, Fault> {
        let path = folder().join(format!("{name}.lock"));
        let failed = |error: std::io::Error| {
            Fault::new(
                "",
                format!("{} cannot be locked: {error}", path.display()),
                "registering a name with the kernel requires root",
            )
        };
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let mut file = options.open(&path).map_err(failed)?;
        let mut left = timeout;
        loop {
            // SAFETY: the descriptor is open.
            if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
                break;
            }
            let error = std::io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EWOULDBLOCK) {
                return Err(failed(error));
            }
            if left.is_zero() {
                let mut owner = String::new();
                let _ = file.read_to_string(&mut owner);
                let what = format!("'{name}' is registered already, by process {}", owner.trim());
                return Err(Fault::new("", what, "only one process at a time can register a name; end that one"));
            }
            std::thread::sleep(RETRY_INTERVAL.min(left));
            left = left.saturating_sub(RETRY_INTERVAL);
        }
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// flock(2): a lock excludes other open file descriptions, and is released when its own is closed.
    #[test]
    fn a_locked_name_reports_its_owner() {
        let name = format!("cwndlab-test-{}", std::process::id());
        let first = NameLock::acquire(&name, Duration::ZERO).expect("it is free");
        let fault = NameLock::acquire(&name, Duration::from_millis(60)).expect_err("it is locked");
        assert_eq!(fault.what, format!("'{name}' is registered already, by process {}", std::process::id()));
        drop(first);
        NameLock::acquire(&name, Duration::ZERO).expect("it is free again");
        let _ = std::fs::remove_file(folder().join(format!("{name}.lock")));
    }
}
