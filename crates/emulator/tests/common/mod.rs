//! Runs of scenarios in the emulator, for tests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;
use std::time::Duration;

use cwndlab_algorithms::catalogue;
use cwndlab_emulator::{emulate, Datapath, Options, Quality};
use cwndlab_linux::privileges::skip_test;
use cwndlab_records::rows::Records;
use cwndlab_scenario::Scenario;
use serde_json::Value;

/// Time limit of an emulation; the runs of these tests take seconds.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Runs the work with a flag that is set after [`LIMIT`].
pub(crate) fn within_limit<T>(work: impl FnOnce(&AtomicBool) -> T) -> T {
    let stop = &AtomicBool::new(false);
    let (done, ended) = mpsc::channel::<()>();
    let stop = &stop;
    thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        let result = work(stop);
        drop(done);
        result
    })
}

/// Runs the document with seed 1; `None`, and a skipped test, where the kernel denies namespaces.
#[track_caller]
pub(crate) fn run(document: &Value) -> Option<(Records, Quality)> {
    let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
    let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let is_required = std::env::var_os("CWNDLAB_REQUIRE_EMULATION").is_some();
    match within_limit(|stop| emulate(Arc::new(plan), 1, Datapath::Kernel, &Options::default(), stop)) {
        Ok(result) => Some(result),
        Err(fault) if !is_required && (fault.place.contains("unshare") || fault.place.contains("/dev/net/tun")) => {
            skip_test(&fault.to_string());
            None
        }
        Err(fault) => panic!("{fault}"),
    }
}
