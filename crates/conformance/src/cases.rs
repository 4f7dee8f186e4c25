//! The cases: paths and scripted event sequences, each for a situation in which algorithms may fail.

use cwndlab_control::{Cause, Change, Need, Path};
use cwndlab_units::{Bytes, Time};

use crate::battery_size::BatterySize;
use crate::harness::{CaseResult, Findings, Harness, Maker};
use crate::model_flow::ModelFlow;
use crate::path_model::{PathModel, MS, S};
use crate::script::Script;
use crate::traits::Traits;

/// MSS of the cases: Ethernet without TCP options, bytes.
pub const MSS: u64 = 1460;

/// The path of a new flow.
pub(crate) fn path(traits: &Traits, segments: u64, ssthresh: Option<u64>) -> Path {
    Path {
        mss: Bytes(MSS),
        initial_cwnd: Bytes(MSS * segments),
        initial_ssthresh: ssthresh.map(|segments| Bytes(MSS * segments)),
        paced: traits.needs.contains(&Need::Pacing),
        seed: 1,
        classic_ecn: false,
        oracle_buffer: None,
        saved: None,
    }
}

/// Adds router feedback to a path if the algorithm requires it.
pub(crate) fn with_feedback(traits: &Traits, model: PathModel) -> PathModel {
    let required = traits.needs.iter().any(|need| matches!(need, Need::Agent(_)));
    PathModel { feedback: if required { model.feedback.or(Some(80)) } else { None }, ..model }
}

/// Runs all cases.
pub(crate) fn run(traits: &Traits, make: Maker<'_>, size: &BatterySize, findings: &mut Findings<'_>) {
    for (name, model) in path_cases(size) {
        let model = with_feedback(traits, model);
        if let Some(mut harness) = Harness::new(name, make, &path(traits, 10, None), findings) {
            let _ = run_flow(model, &mut harness);
        }
    }
    long_flow(traits, make, size, findings);
    large_windows(traits, make, size, findings);
    outages(traits, make, size, findings);
    for (name, script) in SCRIPTS {
        if let Some(mut harness) = Harness::new(name, make, &path(traits, 10, None), findings) {
            let _ = script(&mut harness, size);
        }
    }
}

fn run_flow(model: PathModel, harness: &mut Harness<'_, '_>) -> CaseResult {
    ModelFlow::begin(model, harness, 1)?.run()
}

/// The paths, named after their difference from [`PathModel::default`].
fn path_cases(size: &BatterySize) -> Vec<(&'static str, PathModel)> {
    let model = || PathModel { acks: size.acks, ..PathModel::default() };
    vec![
        // Overflow, recovery, congestion avoidance.
        ("bottleneck", model()),
        // Many reductions, small windows.
        ("small buffer", PathModel { buffer: 12_000, ..model() }),
        // An ACK for every second segment (RFC 9293, section 3.8.6.3).
        ("delayed ACKs", PathModel { unit: 2, ..model() }),
        // Receive offload: one ACK for 64 kB.
        ("stretch ACKs", PathModel { unit: 44, rate: 1_000_000_000, buffer: 6_250_000, ..model() }),
        // Savage et al. 1999: a receiver that divides its ACKs.
        ("one-byte ACKs", PathModel { split: MSS, acks: 4 * size.acks, ..model() }),
        ("RTT of 0.1 ms", PathModel { rtt: MS / 10, rate: 10_000_000_000, buffer: 250_000, ..model() }),
        ("RTT of 10 s", PathModel { rtt: 10 * S, rate: 10_000_000, buffer: 2_000_000, ..model() }),
        // Karn's algorithm: no RTT samples, as if all ACKs were ambiguous.
        ("no RTT after the handshake", PathModel { samples: false, ..model() }),
        ("no RTT at all", PathModel { samples: false, handshake: false, ..model() }),
        ("path of another RTT", PathModel { shifts: vec![(10 * S, 200 * MS), (30 * S, 5 * MS)], ..model() }),
        ("random loss", PathModel { loss_one_in: Some(100), ..model() }),
        ("heavy loss", PathModel { loss_one_in: Some(4), acks: size.acks / 4, ..model() }),
        ("ECN", PathModel { mark_above: Some(30_000), buffer: 500_000, ..model() }),
        ("ECN on every packet", PathModel { mark_above: Some(0), rate: 2_000_000, ..model() }),
        ("ECN and random loss", PathModel { mark_above: Some(60_000), loss_one_in: Some(300), ..model() }),
        ("app-limited", PathModel { bursts: Some((2 * MSS, 20 * MS)), ..model() }),
        ("bursts of the application", PathModel { bursts: Some((600_000, 400 * MS)), ..model() }),
        ("bursts without restart", PathModel { bursts: Some((600_000, 2 * S)), idle_restart: false, ..model() }),
        ("idle of an hour", PathModel { bursts: Some((1_500_000, 3_600 * S)), until: 1_000_000 * S, ..model() }),
        (
            "idle of an hour without restart",
            PathModel { bursts: Some((1_500_000, 3_600 * S)), idle_restart: false, until: 1_000_000 * S, ..model() },
        ),
        ("loss that restarts slow start", PathModel { tahoe: true, ..model() }),
        ("reports every 10 ms", PathModel { report_every: 10 * MS, acks: 4 * size.acks, ..model() }),
        ("reports every 200 ms", PathModel { report_every: 200 * MS, acks: 4 * size.acks, ..model() }),
        ("handshake sent twice", PathModel { handshake: false, ..model() }),
    ]
}

/// A long flow, 10⁷ ACKs at full size: overflowing counters, accumulating rounding errors, unbounded increments.
fn long_flow(traits: &Traits, make: Maker<'_>, size: &BatterySize, findings: &mut Findings<'_>) {
    let model = PathModel {
        rate: 1_000_000_000,
        rtt: 20 * MS,
        buffer: 1_250_000,
        loss_one_in: Some(50_000),
        acks: size.long_acks,
        ..PathModel::default()
    };
    if let Some(mut harness) = Harness::new("long", make, &path(traits, 10, None), findings) {
        harness.state_interval = 64;
        let _ = run_flow(with_feedback(traits, model), &mut harness);
    }
}

/// Large windows, 10⁶ segments at full size: in slow start, and in congestion avoidance from the first ACK on.
fn large_windows(traits: &Traits, make: Maker<'_>, size: &BatterySize, findings: &mut Findings<'_>) {
    let bdp = size.wide_segments * MSS;
    for (name, ssthresh) in [("wide, slow start", None), ("wide, avoidance", Some(size.wide_segments))] {
        let model = PathModel {
            rate: bdp * 80,
            rtt: 100 * MS,
            buffer: bdp / 4,
            unit: 44,
            acks: 6 * size.wide_segments / 44,
            ..PathModel::default()
        };
        if let Some(mut harness) = Harness::new(name, make, &path(traits, size.wide_segments, ssthresh), findings) {
            let _ = run_flow(with_feedback(traits, model), &mut harness);
        }
    }
}

/// Outages with consecutive timeouts; afterwards the window must grow again.
fn outages(traits: &Traits, make: Maker<'_>, size: &BatterySize, findings: &mut Findings<'_>) {
    for (name, outages) in [
        ("blackout of a minute", vec![(5 * S, 65 * S)]),
        ("blackout from the first packet on", vec![(0, 40 * S)]),
        ("two blackouts", vec![(2 * S, 10 * S), (11 * S, 200 * S)]),
    ] {
        // A hundred round trips after the last timeout, which occurs at most two minutes after the outage.
        let end = outages.last().map_or(0, |(_, to)| *to) + 120 * S + 100 * 100 * MS;
        let model = PathModel {
            outages,
            acks: 200 * size.acks,
            until: end,
            rate: 4_000_000,
            buffer: 25_000,
            ..PathModel::default()
        };
        if let Some(mut harness) = Harness::new(name, make, &path(traits, 10, None), findings) {
            if run_flow(with_feedback(traits, model), &mut harness).is_ok() {
                harness.expect_recovered(Time::from_nanos(end), &format!("the end of '{name}'"));
            }
        }
    }
}

/// A case with a scripted event sequence.
type ScriptedCase = fn(&mut Harness<'_, '_>, &BatterySize) -> CaseResult;

const SCRIPTS: [(&str, ScriptedCase); 5] = [
    ("simultaneous events", simultaneous_events),
    ("undo", undo),
    ("scripted timeouts", timeouts),
    ("imposed windows", imposed_windows),
    ("unproductive ACKs", unproductive_acks),
];

/// Many events at the same time: intervals and rounds of zero duration.
fn simultaneous_events(harness: &mut Harness<'_, '_>, size: &BatterySize) -> CaseResult {
    let mut script = Script::begin(harness)?;
    let mss = script.harness.mss().0;
    for number in 1..=size.acks {
        let mut ack = script.next_ack(mss);
        if number % 3 == 0 {
            ack.delivery_rate = None;
        }
        script.harness.report(ack)?;
        match number % 500 {
            100 => script.congestion(Cause::Loss, false, false)?,
            200 => script.congestion(Cause::Ecn, false, false)?,
            300 => script.congestion(Cause::Timeout, true, false)?,
            301 => script.congestion(Cause::Timeout, true, true)?,
            400 => script.undo()?,
            _ => {}
        }
    }
    Ok(())
}

/// An undo after every kind of congestion event: immediately, after ACKs, and repeated.
fn undo(harness: &mut Harness<'_, '_>, _: &BatterySize) -> CaseResult {
    let mut script = Script::begin(harness)?;
    script.undo()?; // before any reduction
    script.acks(100)?;
    for between in [0, 1, 40] {
        for (cause, restart, repeats) in [
            (Cause::Loss, false, 0),
            (Cause::Ecn, false, 0),
            (Cause::Loss, true, 0),
            (Cause::Timeout, true, 0),
            (Cause::Timeout, true, 4),
        ] {
            script.congestion(cause, restart, false)?;
            for _ in 0..repeats {
                script.now += S;
                script.congestion(cause, restart, true)?;
            }
            script.acks(between)?;
            script.undo()?;
            script.acks(60)?;
        }
    }
    // Two reductions, one undo; a second undo of the same reduction.
    script.congestion(Cause::Loss, false, false)?;
    script.congestion(Cause::Timeout, true, false)?;
    script.undo()?;
    script.undo()?;
    script.acks(60)
}

/// Consecutive timeouts with a full window, no data in flight, or one segment.
fn timeouts(harness: &mut Harness<'_, '_>, _: &BatterySize) -> CaseResult {
    let mut script = Script::begin(harness)?;
    for flight in [0, 1, 2, 10, 1_000] {
        script.acks(50)?;
        for number in 0..12 {
            script.now += S << number.min(7);
            script.congestion_at(Cause::Timeout, true, number > 0, flight * MSS)?;
        }
        script.acks(5)?;
        script.congestion_at(Cause::Loss, false, false, flight * MSS)?;
    }
    Ok(())
}

/// Windows imposed by the transport, down to one segment.
fn imposed_windows(harness: &mut Harness<'_, '_>, _: &BatterySize) -> CaseResult {
    let mut script = Script::begin(harness)?;
    for divisor in [1, 2, 10, 1_000_000] {
        for change in [Change::Idle, Change::Recovered] {
            script.acks(80)?;
            if change == Change::Recovered {
                script.congestion(Cause::Loss, false, false)?;
            }
            let window = (script.harness.window().0 / MSS / divisor).max(1) * MSS;
            let idle = if change == Change::Idle { 3 * S } else { 0 };
            script.now += idle;
            script.window(change, window, idle)?;
        }
    }
    script.acks(80)
}

/// ACKs without new data, with an unused window, or in a recovery.
fn unproductive_acks(harness: &mut Harness<'_, '_>, _: &BatterySize) -> CaseResult {
    let mut script = Script::begin(harness)?;
    for round in 0..6 {
        script.acks(50)?;
        for number in 0..100 {
            script.now += MS;
            let mut ack = script.next_ack(if number % 4 == 0 { 0 } else { MSS });
            (ack.cwnd_limited, ack.recovering) = [(true, true), (false, false), (false, true)][round % 3];
            ack.app_limited = !ack.cwnd_limited;
            script.harness.report(ack)?;
        }
        if round == 3 {
            script.congestion(Cause::Loss, false, false)?;
        }
    }
    Ok(())
}
