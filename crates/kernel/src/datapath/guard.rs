//! Names are the machine's: one process at a time registers a name of ours.

use std::fs::{DirBuilder, File};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use cwndlab_control::Fault;

/// Between two looks at a lock that somebody else holds.
const GLANCE: Duration = Duration::from_millis(50);

/// A name that is ours until this is dropped, or the process ends.
#[derive(Debug)]
pub(super) struct Guard {
    _file: File,
}

/// A folder into which nobody else may put anything; of who may not make it, the folder of temporary files, for which
/// registering is refused anyway.
fn folder() -> PathBuf {
    let own = PathBuf::from("/run/cwndlab");
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&own);
    if made.is_ok() {
        own
    } else {
        std::env::temp_dir()
    }
}

impl Guard {
    /// Takes the name, or waits for it as long as `patience`.
    pub(super) fn take(name: &str, patience: Duration) -> Result<Self, Fault> {
        let path = folder().join(format!("{name}.lock"));
        let failed = |error: std::io::Error| Fault {
            what: format!("{} cannot be locked: {error}", path.display()),
            hint: "registering a name with the kernel wants root".to_owned(),
        };
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let mut file = options.open(&path).map_err(failed)?;
        let mut left = patience;
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
                return Err(Fault { what, hint: "one process at a time may serve a name; end that one".to_owned() });
            }
            std::thread::sleep(GLANCE.min(left));
            left = left.saturating_sub(GLANCE);
        }
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_once() {
        let name = format!("cwndlab-test-{}", std::process::id());
        let first = Guard::take(&name, Duration::ZERO).expect("nobody has it");
        let fault = Guard::take(&name, Duration::from_millis(60)).expect_err("it is taken");
        assert_eq!(fault.what, format!("'{name}' is registered already, by process {}", std::process::id()));
        drop(first);
        Guard::take(&name, Duration::ZERO).expect("it was given back");
        let _ = std::fs::remove_file(folder().join(format!("{name}.lock")));
    }
}
