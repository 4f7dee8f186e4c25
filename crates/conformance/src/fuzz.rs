//! Randomised event sequences: consistent ones of a path with anomalies, and arbitrary ones that no path could cause.
//!
//! Arbitrary sequences keep the invariants of every transport: time, delivered bytes and rounds do not decrease, no RTT
//! is below the minimum, at most ten segments or a window are acknowledged, marked bytes do not exceed acknowledged
//! ones, a repeated timeout is a timeout, and a timeout restarts slow start. All values are within the range of the
//! cases, RTTs from 0.1 ms to 10 s and idle periods up to an hour. The order of events is random.

use cwndlab_control::{Cause, Change, DeliveryRate, Feedback, Path, Sent};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::battery_size::BatterySize;
use crate::cases::{path, with_feedback, MSS};
use crate::harness::{CaseResult, Findings, Harness, Maker};
use crate::model_flow::ModelFlow;
use crate::path_model::{PathModel, MS, S};
use crate::random::Random;
use crate::script::Script;
use crate::traits::Traits;

/// Runs all randomised sequences.
pub(crate) fn run(traits: &Traits, make: Maker<'_>, size: &BatterySize, findings: &mut Findings<'_>) {
    for seed in 1..=size.streams {
        let mut random = Random::new(seed);
        let (model, begin) = consistent(traits, size, &mut random);
        if let Some(mut harness) = Harness::new(&format!("consistent stream {seed}"), make, &begin, findings) {
            let model = with_feedback(traits, model);
            let _ = ModelFlow::begin(model, &mut harness, seed).and_then(|mut flow| flow.run());
        }
        let mut random = Random::new(seed ^ 0xdead);
        let begin = random_path(traits, &mut random);
        if let Some(mut harness) = Harness::new(&format!("arbitrary stream {seed}"), make, &begin, findings) {
            let _ = arbitrary(&mut harness, size.events, &mut random);
        }
    }
}

/// A random initial path of a flow.
fn random_path(traits: &Traits, random: &mut Random) -> Path {
    let ssthresh = if random.one_in(2) { Some(random.magnitude(2, 1000)) } else { None };
    let mut path = path(traits, random.pick(&[1, 2, 3, 4, 10, 10, 32, 500]), ssthresh);
    path.seed = random.bits();
    path.paced = path.paced || random.one_in(2);
    path
}

/// A random path model and the initial path of its flow.
fn consistent(traits: &Traits, size: &BatterySize, random: &mut Random) -> (PathModel, Path) {
    let rate = random.magnitude(100_000, 10_000_000_000);
    let rtt = random.magnitude(MS / 10, 10 * S);
    let bdp = (u128::from(rate) * u128::from(rtt) / 8_000_000_000).min(30_000_000) as u64;
    let optional = |random: &mut Random, n: u64, low: u64, high: u64| {
        if random.one_in(n) {
            Some(random.magnitude(low, high))
        } else {
            None
        }
    };
    let model = PathModel {
        rate,
        rtt,
        buffer: (bdp / 100 * random.magnitude(1, 400)).max(2 * MSS),
        unit: random.pick(&[1, 1, 1, 2, 2, 8]),
        split: random.pick(&[1, 1, 1, 1, 2, 10]),
        mark_above: optional(random, 3, 1, bdp.max(2)),
        loss_one_in: optional(random, 2, 5, 10_000),
        samples: !random.one_in(8),
        handshake: !random.one_in(8),
        bursts: optional(random, 3, 1, 1_000_000).map(|bytes| (bytes, rtt / 2 + random.magnitude(MS, 20 * S))),
        idle_restart: random.one_in(2),
        report_every: optional(random, 4, MS / 10, rtt.max(MS)).unwrap_or(0),
        feedback: Some(random.between(1, 200)),
        anomaly: Some(random.magnitude(5, 500)),
        acks: size.events,
        ..PathModel::default()
    };
    (model, random_path(traits, random))
}

/// Reports random events.
fn arbitrary(harness: &mut Harness<'_, '_>, events: u64, random: &mut Random) -> CaseResult {
    let mut script = Script::begin(harness)?;
    let mut min_rtt = u64::MAX;
    for _ in 0..events {
        if !random.one_in(4) {
            script.now += random.magnitude(1, 10 * S);
        }
        let window = script.harness.window().0.clamp(MSS, 1 << 41);
        let smaller = (random.between(1, window) / MSS).max(1) * MSS;
        match random.below(40) {
            0 => script.undo()?,
            1 => script.window(Change::Recovered, smaller, 0)?,
            2 => {
                let idle = random.magnitude(MS, 3_600 * S);
                script.now += idle;
                script.window(Change::Idle, smaller, idle)?;
            }
            3 => {
                let flight = random.magnitude(1, 10_000_000);
                script.congestion_at(Cause::Ecn, false, false, flight)?;
            }
            4 | 5 => {
                let flight = random.below(10_000_000);
                let restart = random.one_in(6);
                script.congestion_at(Cause::Loss, restart, false, flight)?;
            }
            6 => {
                let flight = random.below(10_000_000);
                let repeated = random.one_in(2);
                script.congestion_at(Cause::Timeout, true, repeated, flight)?;
            }
            7 => {
                let sent = Sent {
                    now: Time::from_nanos(script.now),
                    size: Bytes(random.between(1, 65_536)),
                    in_flight: Bytes(random.magnitude(1, 100_000_000)),
                    retransmission: random.one_in(5),
                    app_limited: random.one_in(3),
                };
                script.harness.report(sent)?;
            }
            _ => arbitrary_ack(&mut script, &mut min_rtt, random)?,
        }
    }
    Ok(())
}

/// Reports a random ACK.
fn arbitrary_ack(script: &mut Script<'_, '_, '_>, min_rtt: &mut u64, random: &mut Random) -> CaseResult {
    let limit = script.harness.window().0.clamp(10 * MSS, 1_000_000);
    let bytes = if random.one_in(20) { 0 } else { random.magnitude(1, limit) };
    let prior = script.delivered;
    let mut ack = script.next_ack(bytes);
    let rtt = random.magnitude(MS / 10, 10 * S);
    *min_rtt = if random.one_in(200) { rtt } else { (*min_rtt).min(rtt) };
    ack.rtt = (!random.one_in(4)).then_some(Duration::from_nanos(rtt));
    ack.min_rtt = Duration::from_nanos(*min_rtt);
    ack.srtt = Duration::from_nanos((*min_rtt).max(random.magnitude(MS / 10, 10 * S)));
    if random.one_in(20) {
        (ack.rtt, ack.min_rtt, ack.srtt) = (None, Duration::ZERO, Duration::ZERO);
    }
    ack.acks = random.pick(&[1, 1, 1, 2, 50]);
    ack.interval = if ack.acks > 1 { Duration::from_nanos(random.magnitude(1, S)) } else { Duration::ZERO };
    ack.in_flight = Bytes(random.below(100_000_000));
    ack.prior_in_flight = ack.in_flight + ack.acked;
    ack.lost = Bytes(if random.one_in(10) { random.magnitude(1, 1_000_000) } else { 0 });
    ack.ce = Bytes(if random.one_in(5) { random.between(0, bytes) } else { 0 });
    let interval = random.magnitude(MS / 10, 10 * S);
    let delivered = random.between(0, script.delivered.min(10_000_000));
    ack.delivery_rate = (!random.one_in(5)).then(|| DeliveryRate {
        delivered: Bytes(delivered),
        interval: Duration::from_nanos(interval),
        prior_delivered: Bytes(prior.min(script.delivered - delivered)),
        app_limited: random.one_in(4),
    });
    ack.app_limited = random.one_in(5);
    ack.cwnd_limited = !ack.app_limited && !random.one_in(6);
    ack.recovering = random.one_in(6);
    if random.one_in(3) {
        let rate = Rate(random.magnitude(1, 100_000_000_000));
        ack.feedback = Some(Feedback { rate, accelerated: Bytes(random.between(0, bytes)) });
    }
    script.harness.report(ack)
}
