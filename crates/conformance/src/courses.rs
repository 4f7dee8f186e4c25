//! The courses: paths and scripts, each with what it is meant to bring out.

use cwndlab_control::{Cause, Change, Need, Path};
use cwndlab_units::{Bytes, Time};

use crate::probe::{Going, Maker, Probe, Tally};
use crate::road::{Journey, Road, MS, S};
use crate::script::Script;
use crate::{Says, Size};

/// Payload of a segment on the courses: Ethernet without options.
pub const MSS: u64 = 1460;

/// The flow's beginning: ten segments, as RFC 6928.
pub(crate) fn path(says: &Says, segments: u64, ssthresh: Option<u64>) -> Path {
    Path {
        mss: Bytes(MSS),
        initial_cwnd: Bytes(MSS * segments),
        initial_ssthresh: ssthresh.map(|segments| Bytes(MSS * segments)),
        paced: says.needs.contains(&Need::Pacing),
        seed: 1,
        oracle_buffer: None,
    }
}

/// What every road has for whoever needs it: routers that answer.
pub(crate) fn answering(says: &Says, road: Road) -> Road {
    let asked = says.needs.iter().any(|need| matches!(need, Need::Agent(_)));
    Road { feedback: if asked { road.feedback.or(Some(80)) } else { None }, ..road }
}

/// All of them in turn.
pub(crate) fn run(says: &Says, make: Maker<'_>, size: &Size, tally: &mut Tally<'_>) {
    for (name, road) in roads(size) {
        let road = answering(says, road);
        if let Some(mut probe) = Probe::new(name, make, &path(says, 10, None), tally) {
            let _ = journey(road, &mut probe);
        }
    }
    long(says, make, size, tally);
    wide(says, make, size, tally);
    blackout(says, make, size, tally);
    for (name, script) in SCRIPTS {
        if let Some(mut probe) = Probe::new(name, make, &path(says, 10, None), tally) {
            let _ = script(&mut probe, size);
        }
    }
}

fn journey(road: Road, probe: &mut Probe<'_, '_>) -> Going {
    Journey::begin(road, probe, 1)?.run()
}

/// Paths that differ from [`Road::default`] by what they are named after.
fn roads(size: &Size) -> Vec<(&'static str, Road)> {
    let road = || Road { acks: size.acks, ..Road::default() };
    vec![
        // Overflow, recovery, avoidance: the life of a flow.
        ("bottleneck", road()),
        // Many reductions, small windows.
        ("small buffer", Road { buffer: 12_000, ..road() }),
        // Every second segment is acknowledged (RFC 9293, section 3.8.6.3).
        ("delayed ACKs", Road { unit: 2, ..road() }),
        // Receive offload: one ACK for 64 kB.
        ("stretch ACKs", Road { unit: 44, rate: 1_000_000_000, buffer: 6_250_000, ..road() }),
        // Savage et al. 1999: a receiver that divides its ACKs.
        ("one-byte ACKs", Road { split: MSS, acks: 4 * size.acks, ..road() }),
        ("RTT of 0.1 ms", Road { rtt: MS / 10, rate: 10_000_000_000, buffer: 250_000, ..road() }),
        ("RTT of 10 s", Road { rtt: 10 * S, rate: 10_000_000, buffer: 2_000_000, ..road() }),
        // Karn's rule: every ACK might be of the original or of what was resent.
        ("no RTT after the handshake", Road { samples: false, ..road() }),
        ("no RTT at all", Road { samples: false, handshake: false, ..road() }),
        ("path of another RTT", Road { shifts: vec![(10 * S, 200 * MS), (30 * S, 5 * MS)], ..road() }),
        ("random loss", Road { loss_one_in: Some(100), ..road() }),
        ("heavy loss", Road { loss_one_in: Some(4), acks: size.acks / 4, ..road() }),
        ("ECN", Road { mark_above: Some(30_000), buffer: 500_000, ..road() }),
        ("ECN on every packet", Road { mark_above: Some(0), rate: 2_000_000, ..road() }),
        ("ECN and random loss", Road { mark_above: Some(60_000), loss_one_in: Some(300), ..road() }),
        ("app-limited", Road { bursts: Some((2 * MSS, 20 * MS)), ..road() }),
        ("bursts of the application", Road { bursts: Some((600_000, 400 * MS)), ..road() }),
        ("bursts without restart", Road { bursts: Some((600_000, 2 * S)), idle_restart: false, ..road() }),
        ("idle of an hour", Road { bursts: Some((1_500_000, 3_600 * S)), until: 1_000_000 * S, ..road() }),
        (
            "idle of an hour without restart",
            Road { bursts: Some((1_500_000, 3_600 * S)), idle_restart: false, until: 1_000_000 * S, ..road() },
        ),
        ("loss that restarts slow start", Road { tahoe: true, ..road() }),
        ("reports every 10 ms", Road { report_every: 10 * MS, acks: 4 * size.acks, ..road() }),
        ("reports every 200 ms", Road { report_every: 200 * MS, acks: 4 * size.acks, ..road() }),
        ("handshake sent twice", Road { handshake: false, ..road() }),
    ]
}

/// Counters that run over, sums that drift, increments that nobody bounds: 10⁷ ACKs in full size.
fn long(says: &Says, make: Maker<'_>, size: &Size, tally: &mut Tally<'_>) {
    let road = Road {
        rate: 1_000_000_000,
        rtt: 20 * MS,
        buffer: 1_250_000,
        loss_one_in: Some(50_000),
        acks: size.long_acks,
        ..Road::default()
    };
    if let Some(mut probe) = Probe::new("long", make, &path(says, 10, None), tally) {
        probe.look_every = 64;
        let _ = journey(answering(says, road), &mut probe);
    }
}

/// Windows of 10⁶ segments in full size: in slow start, and in avoidance from the first ACK on.
fn wide(says: &Says, make: Maker<'_>, size: &Size, tally: &mut Tally<'_>) {
    let bdp = size.wide_segments * MSS;
    for (name, ssthresh) in [("wide, slow start", None), ("wide, avoidance", Some(size.wide_segments))] {
        let road = Road {
            rate: bdp * 80,
            rtt: 100 * MS,
            buffer: bdp / 4,
            unit: 44,
            acks: 6 * size.wide_segments / 44,
            ..Road::default()
        };
        if let Some(mut probe) = Probe::new(name, make, &path(says, size.wide_segments, ssthresh), tally) {
            let _ = journey(answering(says, road), &mut probe);
        }
    }
}

/// Loss of everything, timeouts in a row; then packets arrive again, and the window comes back.
fn blackout(says: &Says, make: Maker<'_>, size: &Size, tally: &mut Tally<'_>) {
    for (name, dark) in [
        ("blackout of a minute", vec![(5 * S, 65 * S)]),
        ("blackout from the first packet on", vec![(0, 40 * S)]),
        ("two blackouts", vec![(2 * S, 10 * S), (11 * S, 200 * S)]),
    ] {
        // A hundred round trips after the last timeout, which is at most two minutes late.
        let end = dark.last().map_or(0, |(_, to)| *to) + 120 * S + 100 * 100 * MS;
        let road = Road { dark, acks: 200 * size.acks, until: end, rate: 4_000_000, buffer: 25_000, ..Road::default() };
        if let Some(mut probe) = Probe::new(name, make, &path(says, 10, None), tally) {
            if journey(answering(says, road), &mut probe).is_ok() {
                probe.expect_back(Time(end), &format!("the end of '{name}'"));
            }
        }
    }
}

/// A course that is told by hand.
type Course = fn(&mut Probe<'_, '_>, &Size) -> Going;

const SCRIPTS: [(&str, Course); 5] = [
    ("standing time", standing),
    ("undo", undo),
    ("timeouts by hand", timeouts),
    ("imposed windows", imposed),
    ("nothing acknowledged", nothing),
];

/// Many events at one instant: rates over no time, rounds without length.
fn standing(probe: &mut Probe<'_, '_>, size: &Size) -> Going {
    let mut script = Script::begin(probe)?;
    let mss = script.probe.mss().0;
    for number in 1..=size.acks {
        let mut ack = script.make(mss);
        if number % 3 == 0 {
            ack.delivery_rate = None;
        }
        script.probe.ack(&ack)?;
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

/// An undo after every kind of congestion, at once and after ACKs, once and twice.
fn undo(probe: &mut Probe<'_, '_>, _: &Size) -> Going {
    let mut script = Script::begin(probe)?;
    script.undo()?; // before anything happened
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
    // Two reductions, one of them taken back; the same one taken back twice.
    script.congestion(Cause::Loss, false, false)?;
    script.congestion(Cause::Timeout, true, false)?;
    script.undo()?;
    script.undo()?;
    script.acks(60)
}

/// Timeouts in a row with a window that is full, empty, or of one segment.
fn timeouts(probe: &mut Probe<'_, '_>, _: &Size) -> Going {
    let mut script = Script::begin(probe)?;
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

/// Windows that the transport imposes, down to one segment.
fn imposed(probe: &mut Probe<'_, '_>, _: &Size) -> Going {
    let mut script = Script::begin(probe)?;
    for divisor in [1, 2, 10, 1_000_000] {
        for change in [Change::Idle, Change::Recovered] {
            script.acks(80)?;
            if change == Change::Recovered {
                script.congestion(Cause::Loss, false, false)?;
            }
            let window = (script.probe.window().0 / MSS / divisor).max(1) * MSS;
            let idle = if change == Change::Idle { 3 * S } else { 0 };
            script.now += idle;
            script.window(change, window, idle)?;
        }
    }
    script.acks(80)
}

/// ACKs that acknowledge nothing new, or whose window is not used, or while a loss is repaired.
fn nothing(probe: &mut Probe<'_, '_>, _: &Size) -> Going {
    let mut script = Script::begin(probe)?;
    for round in 0..6 {
        script.acks(50)?;
        for number in 0..100 {
            script.now += MS;
            let mut ack = script.make(if number % 4 == 0 { 0 } else { MSS });
            (ack.cwnd_limited, ack.recovering) = [(true, true), (false, false), (false, true)][round % 3];
            ack.app_limited = !ack.cwnd_limited;
            script.probe.ack(&ack)?;
        }
        if round == 3 {
            script.congestion(Cause::Loss, false, false)?;
        }
    }
    Ok(())
}
