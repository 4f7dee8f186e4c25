//! Replays one event sequence to an algorithm in the simulator, the kernel decider and the QUIC adapter, and compares
//! the windows.
//!
//! [`event_log`] records the events that the simulator's transport reports to an algorithm, and the algorithm's
//! windows; [`cases`] are the short runs that are recorded. [`kernel`] and [`quic`] translate the events into reports
//! of the kernel's datapath and calls of `quinn`, from which the decider and the adapter derive events again.
//! [`verdict`] compares the events that reach the algorithm, and its windows, with the record.
//!
//! Information that a stack does not give to its adapter is a *known difference* with a name and a reason
//! ([`verdict::KnownDifference`]), after which windows may differ. Any other difference is a fault of the adapter.
//!
//! [`debug`] shows any moment of a run: it runs again up to there.
//!
//! Without the feature `backends` the crate has only [`debug`], [`event_log`] and [`wrap`].

#[cfg(feature = "backends")]
mod backend;
#[cfg(feature = "backends")]
pub mod cases;
#[cfg(feature = "backends")]
mod compare;
pub mod debug;
#[cfg(feature = "backends")]
mod difference;
pub mod event_log;
#[cfg(feature = "backends")]
pub mod kernel;
#[cfg(feature = "backends")]
pub mod quic;
#[cfg(feature = "backends")]
pub mod verdict;
pub mod wrap;

#[cfg(feature = "backends")]
use cwndlab_control::{kernel_name, Algorithm, Driver};

#[cfg(feature = "backends")]
pub use cases::{Case, CASES};
#[cfg(feature = "backends")]
pub use verdict::{Backend, Finding};

/// Replays all cases in all backends.
#[cfg(feature = "backends")]
#[must_use]
pub fn conform(algorithm: &Algorithm) -> Vec<Finding> {
    CASES.iter().flat_map(|case| run_case(algorithm, case)).collect()
}

/// Replays one case in all backends.
#[cfg(feature = "backends")]
#[must_use]
pub fn run_case(algorithm: &Algorithm, case: &Case) -> Vec<Finding> {
    let log = case.record(algorithm);
    let mut findings = vec![verdict::simulator(case, &log, Driver::of(algorithm, &log.path))];
    findings.push(match kernel_name::check(algorithm) {
        Ok(()) => verdict::judge(case, Backend::Kernel, &log, &kernel::replay(algorithm, &log)),
        Err(fault) => Finding::absent(case, Backend::Kernel, fault.what),
    });
    findings.push(match quic::replay(algorithm, &log) {
        Ok(replayed) => verdict::judge(case, Backend::Quic, &log, &replayed),
        Err(refused) => Finding::absent(case, Backend::Quic, format!("{refused:#}")),
    });
    findings
}
