//! The process of a stack at one end of a flow. It reads calls on its standard input, and answers each on its standard
//! output; what it writes to standard error is shown.

use std::env;
use std::ffi::OsString;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use cwndlab_units::Fault;

use crate::frame::{Call, Items, MAX_FRAME};

/// The variable with the folders in which stacks are searched before those of `PATH`.
pub const FOLDERS: &str = "CWNDLAB_STACKS";
/// What precedes the name of a stack in that of its program.
pub const PREFIX: &str = "cwndlab-stack-";

/// Bytes that are read from the pipe at once.
const BUFFER: usize = 1 << 16;
/// For how long a stack may write its logs after the end of its input, and the pauses between looks at it.
const PATIENCE: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// The program of a stack in these folders, which are lists as in `PATH`.
#[must_use]
pub fn find(stack: &str, folders: impl IntoIterator<Item = OsString>) -> Option<PathBuf> {
    let program = format!("{PREFIX}{stack}{}", env::consts::EXE_SUFFIX);
    let folders: Vec<PathBuf> =
        folders.into_iter().flat_map(|list| env::split_paths(&list).collect::<Vec<_>>()).collect();
    folders.into_iter().map(|folder| folder.join(&program)).find(|path| path.is_file())
}

/// The variable with the seconds that a stack has for an answer; 0 is no limit, as for a stack in a debugger.
pub const ANSWER_LIMIT: &str = "CWNDLAB_STACK_SECONDS";
/// Its default: a machine under load is slow, and a stack that hangs stays so.
const DEFAULT_ANSWER_LIMIT: u64 = 120;
/// The pauses between looks at a call that waits.
const LOOK: Duration = Duration::from_secs(1);

/// Ends a process that does not answer. A second thread counts pauses, so that a call costs no look at a clock.
#[derive(Debug)]
struct Watch {
    child: Mutex<Child>,
    /// Even between calls, odd while one waits for its answer; [`Watch::ENDED`] at the end.
    call: AtomicU64,
    /// The call that was given up.
    given_up: AtomicU64,
}

impl Watch {
    const ENDED: u64 = u64::MAX - 1;

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the call until the end, and kills the process if one waits for more than `looks` pauses.
    fn look(&self, looks: u64) {
        let (mut last, mut waits) = (0, 0);
        loop {
            thread::park_timeout(LOOK);
            let call = self.call.load(Ordering::Acquire);
            if call == Self::ENDED {
                return;
            }
            waits = if call == last && call % 2 == 1 { waits + 1 } else { 0 };
            last = call;
            if waits > looks {
                self.given_up.store(call, Ordering::Release);
                let _ = self.child().kill();
                return;
            }
        }
    }
}

/// A running stack.
#[derive(Debug)]
pub struct StackProcess {
    stack: String,
    watch: Arc<Watch>,
    /// The thread of the watch; `None` without a limit.
    watcher: Option<Thread>,
    limit: Duration,
    /// `None` once the process is to end.
    calls: Option<ChildStdin>,
    answers: Option<BufReader<ChildStdout>>,
    /// The last answer.
    answer: Vec<u8>,
}

impl StackProcess {
    /// Starts the program of a stack.
    pub fn start(stack: &str) -> Result<Self, Fault> {
        let folders = [FOLDERS, "PATH"].into_iter().filter_map(env::var_os);
        let program = find(stack, folders).ok_or_else(|| {
            let what = format!("no program '{PREFIX}{stack}' is in a folder of {FOLDERS} or PATH");
            Fault::new("stack", what, "docs/host.md says how to build or write one")
        })?;
        Self::start_program(stack, &program, answer_limit()?)
    }

    /// Starts a program as a stack that has this time for an answer, in whole seconds; zero is no limit.
    pub fn start_program(stack: &str, program: &Path, limit: Duration) -> Result<Self, Fault> {
        let mut child = Command::new(program)
            .env("PYTHONHASHSEED", "0") // the order of sets in Python
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Fault::new("stack", format!("{} does not start: {error}", program.display()), ""))?;
        let (Some(calls), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Fault::new("stack", "its pipes are missing", ""));
        };
        let watch = Arc::new(Watch { child: Mutex::new(child), call: AtomicU64::new(0), given_up: AtomicU64::new(0) });
        let watcher = (!limit.is_zero()).then(|| {
            let watch = Arc::clone(&watch);
            let looks = limit.as_secs().max(1);
            thread::spawn(move || watch.look(looks)).thread().clone()
        });
        let answers = Some(BufReader::with_capacity(BUFFER, answers));
        let stack = stack.to_owned();
        Ok(Self { stack, watch, watcher, limit, calls: Some(calls), answers, answer: Vec::new() })
    }

    /// A fault of this stack.
    #[must_use]
    pub fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(format!("stack {}", self.stack), what, "")
    }

    /// Makes a call; returns the items of the answer.
    pub fn call(&mut self, call: &mut Call) -> Result<Items<'_>, Fault> {
        // Only this thread writes the number of the call.
        let number = self.watch.call.load(Ordering::Relaxed) + 1;
        self.watch.call.store(number, Ordering::Release);
        let exchanged = self.exchange(call);
        self.watch.call.store(number + 1, Ordering::Release);
        match exchanged {
            Ok(()) => Ok(Items::new(&self.answer)),
            Err(_) if self.watch.given_up.load(Ordering::Acquire) == number => {
                let what = format!("it did not answer for {} s, and was ended", self.limit.as_secs());
                Err(Fault { hint: format!("{ANSWER_LIMIT}=0 sets no limit"), ..self.fault(what) })
            }
            Err(error) => Err(match error.kind() {
                ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => self.fault("its process ended"),
                _ => self.fault(error.to_string()),
            }),
        }
    }

    fn exchange(&mut self, call: &mut Call) -> std::io::Result<()> {
        let calls = self.calls.as_mut().ok_or(ErrorKind::BrokenPipe)?;
        let answers = self.answers.as_mut().ok_or(ErrorKind::BrokenPipe)?;
        calls.write_all(call.frame())?;
        let mut length = [0; 4];
        answers.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_FRAME {
            let what = format!("an answer of {length} bytes is longer than {MAX_FRAME}");
            return Err(std::io::Error::new(ErrorKind::InvalidData, what));
        }
        self.answer.resize(length, 0);
        answers.read_exact(&mut self.answer)
    }

    /// Closes both pipes, at whose end a stack exits, and waits for that; a stack that does not exit is killed. Returns
    /// whether it exited.
    fn end(&mut self) -> bool {
        drop((self.calls.take(), self.answers.take()));
        self.watch.call.store(Watch::ENDED, Ordering::Release);
        if let Some(watcher) = self.watcher.take() {
            watcher.unpark();
        }
        let mut child = self.watch.child();
        let (mut waited, mut pause) = (Duration::ZERO, FIRST_PAUSE);
        while waited < PATIENCE {
            if !matches!(child.try_wait(), Ok(None)) {
                return true;
            }
            thread::sleep(pause);
            (waited, pause) = (waited + pause, (2 * pause).min(LONGEST_PAUSE));
        }
        let _ = child.kill();
        let _ = child.wait();
        false
    }
}

/// The time that a stack has for an answer, as the environment says.
fn answer_limit() -> Result<Duration, Fault> {
    let Some(text) = env::var_os(ANSWER_LIMIT) else { return Ok(Duration::from_secs(DEFAULT_ANSWER_LIMIT)) };
    text.to_str().and_then(|text| text.parse().ok()).map(Duration::from_secs).ok_or_else(|| {
        let what = format!("the variable has '{}', which is no number of seconds", text.display());
        Fault::new(ANSWER_LIMIT, what, format!("leave it out for {DEFAULT_ANSWER_LIMIT} s; 0 is no limit"))
    })
}

impl Drop for StackProcess {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_stack_is_a_fault_that_names_its_program() {
        let fault = StackProcess::start("of-nobody").expect_err("there is none");
        assert_eq!(fault.what, "no program 'cwndlab-stack-of-nobody' is in a folder of CWNDLAB_STACKS or PATH");
    }

    /// `true` ends at once, and `cat` answers a call with the call.
    #[cfg(unix)]
    #[test]
    fn a_process_that_ends_or_answers_nonsense_is_a_fault() {
        let mut call = Call::default();
        call.begin(cwndlab_units::Time::ZERO);
        let mut ended =
            StackProcess::start_program("ended", Path::new("/bin/true"), Duration::ZERO).expect("it starts");
        let fault = ended.call(&mut call).expect_err("it ended");
        assert_eq!((fault.place.as_str(), fault.what.as_str()), ("stack ended", "its process ended"));
        let mut echo = StackProcess::start_program("echo", Path::new("/bin/cat"), Duration::ZERO).expect("it starts");
        let items: Vec<_> = echo.call(&mut call).expect("it answers").collect();
        assert_eq!(items, [Err("no item of an answer has the kind 0x02".to_owned())]);
    }

    /// `tail` reads until the end of its input, and writes nothing before.
    #[cfg(unix)]
    #[test]
    fn a_stack_that_does_not_answer_is_ended() {
        let mut call = Call::default();
        call.begin(cwndlab_units::Time::ZERO);
        let limit = Duration::from_secs(1);
        let mut silent = StackProcess::start_program("tail", Path::new("/usr/bin/tail"), limit).expect("it starts");
        let fault = silent.call(&mut call).expect_err("it is silent");
        assert_eq!(
            (fault.place.as_str(), fault.what.as_str()),
            ("stack tail", "it did not answer for 1 s, and was ended")
        );
        assert_eq!(silent.call(&mut call).expect_err("it has ended").what, "its process ended");
    }

    /// `yes` never reads, and writes until nobody reads: it ends since its output is closed, too.
    #[cfg(unix)]
    #[test]
    fn a_stack_that_writes_without_end_ends_with_its_flow() {
        let mut endless =
            StackProcess::start_program("yes", Path::new("/usr/bin/yes"), Duration::ZERO).expect("it starts");
        assert!(endless.end(), "it had to be killed");
    }
}
