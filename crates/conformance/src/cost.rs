//! The CPU cost per ACK: recorded events of the path model are replayed to new instances and timed by the host's clock.
//!
//! The value is informative. It depends on the machine and its load, and no rule uses it.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cwndlab_control::{CongestionControl, Path, Report};

use crate::broken_rule::catch_panic;
use crate::cases::{path, with_feedback};
use crate::harness::{Findings, Harness};
use crate::model_flow::ModelFlow;
use crate::path_model::{PathModel, MS};
use crate::traits::Traits;

/// Number of events between two readings of the clock: small enough for the L2 cache, large enough for the clock's
/// resolution.
const CHUNK: usize = 512;

/// Nanoseconds per ACK for `on_ack`, `cwnd` and `pacing_rate` by dynamic dispatch, the minimum of `times` repetitions,
/// over `acks` ACKs of a path of 100 Mbit/s, 50 ms and a queue of one bandwidth-delay product; `None` after a panic.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "the host's time is measured; no result depends on it")]
pub fn ns_per_ack(
    traits: &Traits,
    make: &dyn Fn(&Path) -> Box<dyn CongestionControl>,
    acks: usize,
    times: u32,
) -> Option<f64> {
    let begin = path(traits, 10, None);
    let event_log = record(traits, make, &begin, acks)?;
    let recorded = event_log.iter().filter(|event| matches!(event, Report::Ack(_))).count();
    let pass = || {
        let mut flow = make(&begin);
        let mut hot = Vec::with_capacity(CHUNK);
        let mut spent = 0;
        for chunk in event_log.chunks(CHUNK) {
            hot.clear();
            hot.extend_from_slice(chunk);
            let start = Instant::now();
            for event in &hot {
                let _ = black_box(event.deliver(&mut *flow));
                black_box((flow.cwnd(), flow.pacing_rate()));
            }
            spent += start.elapsed().as_nanos();
        }
        spent as f64 / recorded.max(1) as f64
    };
    let mut best = f64::INFINITY;
    for _ in 0..times.max(1) {
        best = best.min(catch_panic(pass).ok()?);
    }
    Some(best)
}

/// Records the events of an algorithm on the path model.
fn record(
    traits: &Traits,
    make: &dyn Fn(&Path) -> Box<dyn CongestionControl>,
    begin: &Path,
    acks: usize,
) -> Option<Vec<Report>> {
    let model =
        PathModel { rate: 100_000_000, rtt: 50 * MS, buffer: 625_000, acks: acks as u64, ..PathModel::default() };
    let never = AtomicBool::new(false);
    let mut findings = Findings::new(traits, &never);
    let mut harness = Harness::new("cost", make, begin, &mut findings)?;
    harness.event_log = Some(Vec::with_capacity(acks + acks / 16));
    ModelFlow::begin(with_feedback(traits, model), &mut harness, 1).and_then(|mut flow| flow.run()).ok()?;
    harness.event_log.take()
}
