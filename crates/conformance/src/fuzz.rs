//! Streams that chance makes: consistent ones on a path that misbehaves, and wild ones that no path could send.
//!
//! Wild streams keep what every transport keeps: the clock, the bytes delivered and the rounds never go back, no RTT is
//! below the least, no more is acknowledged than ten segments or a window, no more is marked than was acknowledged, a
//! repeated timeout is a timeout, a timeout restarts. Every value is within the range of the cases, RTTs from 0.1 ms
//! to 10 s and idleness up to an hour; what follows what is chance.

use cwndlab_control::{Cause, Change, DeliveryRate, Feedback, Path, Sent};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::cases::{answering, path, MSS};
use crate::chance::Chance;
use crate::harness::{Going, Harness, Maker, Tally};
use crate::model_flow::ModelFlow;
use crate::path_model::{PathModel, MS, S};
use crate::script::Script;
use crate::size::Size;
use crate::traits::Traits;

pub(crate) fn run(traits: &Traits, make: Maker<'_>, size: &Size, tally: &mut Tally<'_>) {
    for seed in 1..=size.streams {
        let mut chance = Chance::new(seed);
        let (model, begin) = consistent(traits, size, &mut chance);
        if let Some(mut harness) = Harness::new(&format!("consistent stream {seed}"), make, &begin, tally) {
            let model = answering(traits, model);
            let _ = ModelFlow::begin(model, &mut harness, seed).and_then(|mut flow| flow.run());
        }
        let mut chance = Chance::new(seed ^ 0xdead);
        let begin = beginning(traits, &mut chance);
        if let Some(mut harness) = Harness::new(&format!("wild stream {seed}"), make, &begin, tally) {
            let _ = wild(&mut harness, size.events, &mut chance);
        }
    }
}

fn beginning(traits: &Traits, chance: &mut Chance) -> Path {
    let ssthresh = if chance.one_in(2) { Some(chance.magnitude(2, 1000)) } else { None };
    let mut path = path(traits, chance.pick(&[1, 2, 3, 4, 10, 10, 32, 500]), ssthresh);
    path.seed = chance.bits();
    path.paced = path.paced || chance.one_in(2);
    path
}

fn consistent(traits: &Traits, size: &Size, chance: &mut Chance) -> (PathModel, Path) {
    let rate = chance.magnitude(100_000, 10_000_000_000);
    let rtt = chance.magnitude(MS / 10, 10 * S);
    let bdp = (u128::from(rate) * u128::from(rtt) / 8_000_000_000).min(30_000_000) as u64;
    let rarely = |chance: &mut Chance, n: u64, low: u64, high: u64| {
        if chance.one_in(n) {
            Some(chance.magnitude(low, high))
        } else {
            None
        }
    };
    let model = PathModel {
        rate,
        rtt,
        buffer: (bdp / 100 * chance.magnitude(1, 400)).max(2 * MSS),
        unit: chance.pick(&[1, 1, 1, 2, 2, 8]),
        split: chance.pick(&[1, 1, 1, 1, 2, 10]),
        mark_above: rarely(chance, 3, 1, bdp.max(2)),
        loss_one_in: rarely(chance, 2, 5, 10_000),
        samples: !chance.one_in(8),
        handshake: !chance.one_in(8),
        bursts: rarely(chance, 3, 1, 1_000_000).map(|bytes| (bytes, rtt / 2 + chance.magnitude(MS, 20 * S))),
        idle_restart: chance.one_in(2),
        report_every: rarely(chance, 4, MS / 10, rtt.max(MS)).unwrap_or(0),
        feedback: Some(chance.between(1, 200)),
        anomaly: Some(chance.magnitude(5, 500)),
        acks: size.events,
        ..PathModel::default()
    };
    (model, beginning(traits, chance))
}

fn wild(harness: &mut Harness<'_, '_>, events: u64, chance: &mut Chance) -> Going {
    let mut script = Script::begin(harness)?;
    let mut least = u64::MAX;
    for _ in 0..events {
        if !chance.one_in(4) {
            script.now += chance.magnitude(1, 10 * S);
        }
        let window = script.harness.window().0.clamp(MSS, 1 << 41);
        let less = (chance.between(1, window) / MSS).max(1) * MSS;
        match chance.below(40) {
            0 => script.undo()?,
            1 => script.window(Change::Recovered, less, 0)?,
            2 => {
                let idle = chance.magnitude(MS, 3_600 * S);
                script.now += idle;
                script.window(Change::Idle, less, idle)?;
            }
            3 => {
                let flight = chance.magnitude(1, 10_000_000);
                script.congestion_at(Cause::Ecn, false, false, flight)?;
            }
            4 | 5 => {
                let (flight, restart) = (chance.below(10_000_000), chance.one_in(6));
                script.congestion_at(Cause::Loss, restart, false, flight)?;
            }
            6 => {
                let (flight, repeated) = (chance.below(10_000_000), chance.one_in(2));
                script.congestion_at(Cause::Timeout, true, repeated, flight)?;
            }
            7 => {
                let sent = Sent {
                    now: Time(script.now),
                    size: Bytes(chance.between(1, 65_536)),
                    in_flight: Bytes(chance.magnitude(1, 100_000_000)),
                    retransmission: chance.one_in(5),
                    app_limited: chance.one_in(3),
                };
                script.harness.sent(&sent)?;
            }
            _ => wild_ack(&mut script, &mut least, chance)?,
        }
    }
    Ok(())
}

fn wild_ack(script: &mut Script<'_, '_, '_>, least: &mut u64, chance: &mut Chance) -> Going {
    let most = script.harness.window().0.clamp(10 * MSS, 1_000_000);
    let bytes = if chance.one_in(20) { 0 } else { chance.magnitude(1, most) };
    let prior = script.delivered;
    let mut ack = script.make(bytes);
    let rtt = chance.magnitude(MS / 10, 10 * S);
    *least = if chance.one_in(200) { rtt } else { (*least).min(rtt) };
    ack.rtt = (!chance.one_in(4)).then_some(Duration(rtt));
    ack.min_rtt = Duration(*least);
    ack.srtt = Duration((*least).max(chance.magnitude(MS / 10, 10 * S)));
    if chance.one_in(20) {
        (ack.rtt, ack.min_rtt, ack.srtt) = (None, Duration::ZERO, Duration::ZERO);
    }
    ack.acks = chance.pick(&[1, 1, 1, 2, 50]);
    ack.interval = if ack.acks > 1 { Duration(chance.magnitude(1, S)) } else { Duration::ZERO };
    ack.in_flight = Bytes(chance.below(100_000_000));
    ack.prior_in_flight = ack.in_flight + ack.acked;
    ack.lost = Bytes(if chance.one_in(10) { chance.magnitude(1, 1_000_000) } else { 0 });
    ack.ce = Bytes(if chance.one_in(5) { chance.between(0, bytes) } else { 0 });
    let interval = chance.magnitude(MS / 10, 10 * S);
    let delivered = chance.between(0, script.delivered.min(10_000_000));
    ack.delivery_rate = (!chance.one_in(5)).then(|| DeliveryRate {
        delivered: Bytes(delivered),
        interval: Duration(interval),
        prior_delivered: Bytes(prior.min(script.delivered - delivered)),
        app_limited: chance.one_in(4),
    });
    ack.app_limited = chance.one_in(5);
    ack.cwnd_limited = !ack.app_limited && !chance.one_in(6);
    ack.recovering = chance.one_in(6);
    if chance.one_in(3) {
        let rate = Rate(chance.magnitude(1, 100_000_000_000));
        ack.feedback = Some(Feedback { rate, accelerated: Bytes(chance.between(0, bytes)) });
    }
    script.harness.ack(&ack)
}
