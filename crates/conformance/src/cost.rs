//! What an ACK costs: a stream of the small path, told again to fresh instances against the host's clock.
//!
//! A figure for a report: it differs from machine to machine and from moment to moment, and decides nothing.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cwndlab_control::{CongestionControl, Path};

use crate::cases::{answering, path};
use crate::event_log::RecordedEvent;
use crate::harness::{Harness, Tally};
use crate::model_flow::ModelFlow;
use crate::panics::{guarded, Quiet};
use crate::path_model::{PathModel, MS};
use crate::traits::Traits;

/// Events that are told in one go: few enough for the second-level cache, many enough for the clock.
const CHUNK: usize = 512;

/// Nanoseconds per ACK, its `on_ack`, `cwnd` and `pacing_rate` by dynamic calls, at best of `times`, over `acks` ACKs of
/// 100 Mbit/s, 50 ms and a queue of one bandwidth-delay product; `None` where it panics.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "the host's time is what is measured; no answer depends on it")]
pub fn ns_per_ack(
    traits: &Traits,
    make: &dyn Fn(&Path) -> Box<dyn CongestionControl>,
    acks: usize,
    times: u32,
) -> Option<f64> {
    let _quiet = Quiet::new();
    let begin = path(traits, 10, None);
    let event_log = record(traits, make, &begin, acks)?;
    let told = event_log.iter().filter(|told| matches!(told, RecordedEvent::Ack(_))).count();
    let pass = || {
        let mut flow = make(&begin);
        let mut hot = Vec::with_capacity(CHUNK);
        let mut spent = 0;
        for chunk in event_log.chunks(CHUNK) {
            hot.clear();
            hot.extend_from_slice(chunk);
            let start = Instant::now();
            for event in &hot {
                match event {
                    RecordedEvent::Ack(ack) => drop(black_box(flow.on_ack(ack))),
                    RecordedEvent::Congestion(event) => flow.on_congestion(event),
                    RecordedEvent::Window(window) => flow.on_window(window),
                }
                black_box((flow.cwnd(), flow.pacing_rate()));
            }
            spent += start.elapsed().as_nanos();
        }
        spent as f64 / told.max(1) as f64
    };
    let mut best = f64::INFINITY;
    for _ in 0..times.max(1) {
        best = best.min(guarded(pass).ok()?);
    }
    Some(best)
}

fn record(
    traits: &Traits,
    make: &dyn Fn(&Path) -> Box<dyn CongestionControl>,
    begin: &Path,
    acks: usize,
) -> Option<Vec<RecordedEvent>> {
    let model =
        PathModel { rate: 100_000_000, rtt: 50 * MS, buffer: 625_000, acks: acks as u64, ..PathModel::default() };
    let never = AtomicBool::new(false);
    let mut tally = Tally::new(traits, &never);
    let mut harness = Harness::new("cost", make, begin, &mut tally)?;
    harness.event_log = Some(Vec::with_capacity(acks + acks / 16));
    ModelFlow::begin(answering(traits, model), &mut harness, 1).and_then(|mut flow| flow.run()).ok()?;
    harness.event_log.take()
}
