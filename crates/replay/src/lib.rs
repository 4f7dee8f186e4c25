//! Replays one stream of events to an algorithm in the simulator, the kernel decider and the QUIC adapter, and compares its
//! answers.
//!
//! [`event_log`] keeps what the simulator's transport reported to an algorithm and what it answered; [`courses`] are the short runs in
//! which that is recorded. [`kernel`] and [`quic`] translate the stream into what the kernel's datapath reports and what `quinn` calls, and let
//! the decider and the adapter make events of it again. [`verdict`] holds what arrives at the algorithm, and its windows, against the record.
//!
//! What an adapter cannot know, since its stack does not tell, is a *known difference*: it has a name and a reason
//! ([`verdict::KnownDifference`]), and windows may part after it. A difference without one is a fault of the adapter.

mod backend;
mod compare;
pub mod courses;
mod difference;
pub mod event_log;
pub mod kernel;
pub mod quic;
pub mod verdict;

use cwndlab_control::Algorithm;

pub use courses::{Course, COURSES};
pub use verdict::{Backend, Finding};

/// Replays every course in every backend.
#[must_use]
pub fn conform(algorithm: &Algorithm) -> Vec<Finding> {
    COURSES.iter().flat_map(|course| on_course(algorithm, course)).collect()
}

/// Replays one course in every backend.
#[must_use]
pub fn on_course(algorithm: &Algorithm, course: &Course) -> Vec<Finding> {
    let log = course.record(algorithm);
    let mut found = vec![verdict::simulator(course, &log, algorithm.build(&log.path))];
    found.push(if algorithm.router_assistance().is_some() {
        let why = format!("'{algorithm}' asks the routers of the path, and the kernel's packets carry no such header");
        Finding::absent(course, Backend::Kernel, why)
    } else {
        verdict::judge(course, Backend::Kernel, &log, &kernel::replay(algorithm, &log))
    });
    found.push(match quic::replay(algorithm, &log) {
        Ok(replayed) => verdict::judge(course, Backend::Quic, &log, &replayed),
        Err(refused) => Finding::absent(course, Backend::Quic, refused.to_string()),
    });
    found
}
