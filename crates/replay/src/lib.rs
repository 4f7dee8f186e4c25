//! One stream of events, several places: does an algorithm answer alike in simulator, kernel decider and QUIC adapter?
//!
//! [`tape`] keeps what the simulator's transport told an algorithm and what it answered; [`courses`] are the short runs in
//! which that is recorded. [`kernel`] and [`quic`] translate the stream into what the kernel's datapath reports and what `quinn` calls, and let
//! the decider and the adapter make events of it again. [`verdict`] holds what arrives at the algorithm, and its windows, against the record.
//!
//! What an adapter cannot know, since its stack does not tell, is a difference *by nature*: it has a name and a reason
//! ([`verdict::Nature`]), and windows may part after it. A difference without one is a fault of the adapter.

pub mod courses;
mod hearing;
pub mod kernel;
pub mod quic;
pub mod tape;
pub mod verdict;

use cwndlab_control::Algorithm;

pub use courses::{Course, COURSES};
pub use verdict::{Finding, Place};

/// Replays every course in every place.
#[must_use]
pub fn conform(algorithm: &Algorithm) -> Vec<Finding> {
    COURSES.iter().flat_map(|course| on_course(algorithm, course)).collect()
}

/// Replays one course in every place.
#[must_use]
pub fn on_course(algorithm: &Algorithm, course: &Course) -> Vec<Finding> {
    let tape = course.record(algorithm);
    let mut found = vec![verdict::simulator(course, &tape, algorithm.build(&tape.path))];
    found.push(if algorithm.scheme().is_some() {
        let why = format!("'{algorithm}' asks the routers of the path, and the kernel's packets carry no such header");
        Finding::absent(course, Place::Kernel, why)
    } else {
        verdict::judge(course, Place::Kernel, &tape, &kernel::replay(algorithm, &tape))
    });
    found.push(match quic::replay(algorithm, &tape) {
        Ok(heard) => verdict::judge(course, Place::Quic, &tape, &heard),
        Err(refused) => Finding::absent(course, Place::Quic, refused.to_string()),
    });
    found
}
