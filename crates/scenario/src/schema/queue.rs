//! Reads a queue: its size and its discipline.

use cwndlab_units::{parse_bytes, parse_duration, parse_rate, Bytes, Duration};
use serde_json::Value;

use super::{Queue, Size};
use crate::plan::{CodelPlan, DisciplinePlan, DualPi2Plan, ManagerPlan, PiePlan, RedPlan};
use crate::read::{Faults, Table};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    DropTail,
    StepEcn,
    Red,
    Ared,
    Codel,
    Pie,
    DualPi2,
    Fq,
    FqCodel,
    FqPie,
}

const KINDS: [(&str, Kind); 10] = [
    ("droptail", Kind::DropTail),
    ("step-ecn", Kind::StepEcn),
    ("red", Kind::Red),
    ("ared", Kind::Ared),
    ("codel", Kind::Codel),
    ("pie", Kind::Pie),
    ("dualpi2", Kind::DualPi2),
    ("fq", Kind::Fq),
    ("fq-codel", Kind::FqCodel),
    ("fq-pie", Kind::FqPie),
];

const DROP_TAIL: &[&str] = &["kind", "capacity", "counts_in_service", "mark_above"];
const RED: &[&str] = &[
    "kind",
    "capacity",
    "weight",
    "min_th",
    "max_th",
    "max_p",
    "gentle",
    "wait",
    "ecn",
    "interval",
    "target",
    "mean_packet",
];
const CODEL: &[&str] = &["kind", "capacity", "target", "interval", "ecn"];
const PIE: &[&str] =
    &["kind", "capacity", "target", "update", "alpha", "beta", "burst", "ecn", "mark_below", "mean_packet"];
const DUAL_PI2: &[&str] =
    &["kind", "capacity", "target", "update", "alpha", "beta", "coupling", "rtt_max", "l_min", "l_range", "protection"];
const FQ: &[&str] = &["kind", "capacity", "quantum", "batch"];
const FQ_CODEL: &[&str] = &["kind", "capacity", "queues", "quantum", "batch", "target", "interval", "ecn"];
const FQ_PIE: &[&str] = &[
    "kind",
    "capacity",
    "queues",
    "quantum",
    "batch",
    "target",
    "update",
    "alpha",
    "beta",
    "burst",
    "ecn",
    "mark_below",
    "mean_packet",
];

/// The fields of every kind of queue.
pub(super) const ALL: [&[&str]; 8] = [DROP_TAIL, RED, CODEL, PIE, DUAL_PI2, FQ, FQ_CODEL, FQ_PIE];

impl Kind {
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::DropTail | Self::StepEcn => DROP_TAIL,
            Self::Red | Self::Ared => RED,
            Self::Codel => CODEL,
            Self::Pie => PIE,
            Self::DualPi2 => DUAL_PI2,
            Self::Fq => FQ,
            Self::FqCodel => FQ_CODEL,
            Self::FqPie => FQ_PIE,
        }
    }

    /// What it holds where nothing is said: drop-tail a bandwidth-delay product; those that keep their queue short
    /// themselves what Linux gives them.
    fn size(self) -> Size {
        match self {
            Self::DropTail | Self::StepEcn => Size::Bdp(1.0, None),
            Self::Red | Self::Ared | Self::Codel | Self::Pie => Size::Packets(1_000),
            Self::DualPi2 | Self::Fq => Size::Packets(10_000),
            Self::FqCodel | Self::FqPie => Size::Packets(10_240),
        }
    }
}

pub(super) fn read_queue(value: &Value, path: String, faults: &mut Faults) -> Option<Queue> {
    // The kind says which fields there are, so it is looked for first; a kind that is none is told of once.
    let written = value.get("kind").and_then(Value::as_str);
    let kind = KINDS.iter().find(|(word, _)| Some(*word) == written).map_or(Kind::DropTail, |(_, kind)| *kind);
    let table = Table::new(value, path, kind.fields(), faults)?;
    let _ = table.word("kind", &KINDS, faults);
    let step = kind == Kind::StepEcn;
    let size = table.string("capacity", faults).and_then(|text| {
        read_size(&text)
            .map_err(|what| {
                faults.add(
                    table.at("capacity"),
                    what,
                    "write \"100 packets\", \"64 KiB\", \"20 ms\", \"0.5 bdp\" or \"unlimited\"",
                );
            })
            .ok()
    });
    let (mut mark_above, mut counts_in_service) = (None, false);
    if kind.fields() == DROP_TAIL {
        mark_above = table.whole("mark_above", 0, 100_000_000, faults).map(|n| n as u32);
        counts_in_service = table.flag("counts_in_service", faults).unwrap_or(false);
        if table.get("mark_above").is_some() && table.get("kind").is_some() && !step {
            faults.add(table.at("mark_above"), "'droptail' marks nothing", "write 'kind = \"step-ecn\"'");
        }
        if step && mark_above.is_none() {
            let hint = "step-ecn marks above this many packets: 'mark_above = 20'";
            faults.add(table.at("mark_above"), "is missing", hint);
        }
    }
    Some(Queue {
        size: size.unwrap_or_else(|| kind.size()),
        counts_in_service,
        mark_above: mark_above.filter(|_| step || table.get("kind").is_none()),
        discipline: read_discipline(kind, &table, faults),
    })
}

fn read_discipline(kind: Kind, table: &Table<'_>, faults: &mut Faults) -> DisciplinePlan {
    match kind {
        Kind::DropTail | Kind::StepEcn => DisciplinePlan::DropTail,
        Kind::Red | Kind::Ared => DisciplinePlan::Red(read_red(kind == Kind::Ared, table, faults)),
        Kind::Codel => DisciplinePlan::Codel(read_codel(false, table, faults)),
        Kind::Pie => DisciplinePlan::Pie(read_pie(table, faults)),
        Kind::DualPi2 => DisciplinePlan::DualPi2(read_dual_pi2(table, faults)),
        Kind::Fq | Kind::FqCodel | Kind::FqPie => {
            let queues = if kind == Kind::Fq { None } else { table.whole("queues", 1, 65_536, faults).or(Some(1024)) };
            let quantum = table.bytes("quantum", faults).unwrap_or(Bytes(1514));
            if quantum.0 < 64 || quantum.0 > 1 << 20 {
                faults.add(
                    table.at("quantum"),
                    format!("{quantum} is no credit of a turn"),
                    "from 64 B to 1 MiB: \"1514 B\"",
                );
            }
            DisciplinePlan::Fair {
                queues: queues.map(|n| n as u32),
                quantum,
                batch: table.whole("batch", 1, 1_000_000, faults).unwrap_or(64) as u32,
                manager: match kind {
                    Kind::FqCodel => ManagerPlan::Codel(read_codel(true, table, faults)),
                    Kind::FqPie => ManagerPlan::Pie(read_pie(table, faults)),
                    _ => ManagerPlan::None,
                },
            }
        }
    }
}

/// A time that may not be zero.
fn time(table: &Table<'_>, key: &str, default: Duration, faults: &mut Faults) -> Duration {
    let time = table.duration(key, faults).unwrap_or(default);
    if time == Duration::ZERO {
        faults.add(table.at(key), "is zero", format!("write \"{default}\""));
    }
    time
}

/// A number above zero.
fn positive(table: &Table<'_>, key: &str, default: f64, faults: &mut Faults) -> f64 {
    let Some(value) = table.get(key) else { return default };
    let number = value.as_f64().filter(|number| *number > 0.0 && number.is_finite());
    if number.is_none() {
        faults.add(table.at(key), format!("a number above 0 is wanted, this is {value}"), format!("write {default}"));
    }
    number.unwrap_or(default)
}

/// A number above zero, or `"auto"`.
fn automatic(table: &Table<'_>, key: &str, default: Option<f64>, faults: &mut Faults) -> Option<f64> {
    match table.get(key) {
        None => default,
        Some(Value::String(word)) if word == "auto" => None,
        Some(_) => Some(positive(table, key, default.unwrap_or(5.0), faults)),
    }
}

fn read_red(adaptive: bool, table: &Table<'_>, faults: &mut Faults) -> RedPlan {
    let given = |value| (!adaptive).then_some(value);
    let plan = RedPlan {
        weight: automatic(table, "weight", given(0.002), faults),
        min_th: automatic(table, "min_th", given(5.0), faults),
        max_th: automatic(table, "max_th", given(15.0), faults),
        max_p: table.probability("max_p", faults).unwrap_or(0.1),
        gentle: table.flag("gentle", faults).unwrap_or(true),
        wait: table.flag("wait", faults).unwrap_or(false),
        ecn: table.flag("ecn", faults).unwrap_or(false),
        adaptive: adaptive.then(|| time(table, "interval", Duration::from_millis(500), faults)),
        delay: time(table, "target", Duration::from_millis(5), faults),
        packet: table.bytes("mean_packet", faults).filter(|size| size.0 > 0).unwrap_or(Bytes(1500)),
    };
    if !adaptive && table.get("interval").is_some() {
        faults.add(table.at("interval"), "only 'ared' has it", "write 'kind = \"ared\"', or leave it out");
    }
    if plan.weight.is_some_and(|weight| weight > 1.0) {
        faults.add(table.at("weight"), "is above 1", "the share of a new value in the average: 0.002, or \"auto\"");
    }
    if let (Some(min), Some(max)) = (plan.min_th, plan.max_th) {
        if min >= max {
            let hint = "three times min_th is usual";
            faults.add(table.at("max_th"), format!("{max} packets are not more than min_th's {min}"), hint);
        }
    }
    plan
}

fn read_codel(ecn: bool, table: &Table<'_>, faults: &mut Faults) -> CodelPlan {
    CodelPlan {
        target: time(table, "target", Duration::from_millis(5), faults),
        interval: time(table, "interval", Duration::from_millis(100), faults),
        ecn: table.flag("ecn", faults).unwrap_or(ecn),
    }
}

fn read_pie(table: &Table<'_>, faults: &mut Faults) -> PiePlan {
    PiePlan {
        target: time(table, "target", Duration::from_millis(15), faults),
        update: time(table, "update", Duration::from_millis(15), faults),
        alpha: positive(table, "alpha", 0.125, faults),
        beta: positive(table, "beta", 1.25, faults),
        burst: table.duration("burst", faults).unwrap_or(Duration::from_millis(150)),
        ecn: table.flag("ecn", faults).unwrap_or(false),
        mark_below: table.probability("mark_below", faults).unwrap_or(0.1),
        packet: table.bytes("mean_packet", faults).filter(|size| size.0 > 0).unwrap_or(Bytes(1000)),
    }
}

/// RFC 9332, appendix A.1: T_update = min(target, RTT_max / 3), alpha = 0.1 T_update / RTT_max², beta = 0.3 / RTT_max.
fn read_dual_pi2(table: &Table<'_>, faults: &mut Faults) -> DualPi2Plan {
    let target = time(table, "target", Duration::from_millis(15), faults);
    let longest = time(table, "rtt_max", Duration::from_millis(100), faults).as_secs().max(1e-9);
    let update = time(table, "update", Duration(target.0.min((longest / 3.0 * 1e9) as u64).max(1)), faults);
    let alpha = 0.1 * update.as_secs() / (longest * longest);
    let protection = table.probability("protection", faults).unwrap_or(0.1);
    DualPi2Plan {
        target,
        update,
        alpha: positive(table, "alpha", alpha, faults),
        beta: positive(table, "beta", 0.3 / longest, faults),
        coupling: positive(table, "coupling", 2.0, faults),
        l_min: table.duration("l_min", faults).unwrap_or(Duration(800_000)),
        l_range: table.duration("l_range", faults).unwrap_or(Duration(400_000)),
        protection,
    }
}

/// `100 packets`, `64 KiB`, `20 ms`, `0.5 bdp`, `0.5 bdp(50 ms)`, `unlimited`.
fn read_size(text: &str) -> Result<Size, String> {
    let text = text.trim();
    if text == "unlimited" {
        return Ok(Size::Unlimited);
    }
    if let Some((number, rest)) = text.split_once("bdp") {
        let factor: f64 = number.trim().parse().map_err(|_| format!("'{text}' is no size of a queue"))?;
        if !(factor > 0.0 && factor.is_finite()) {
            return Err(format!("'{text}' is not above zero"));
        }
        let rest = rest.trim();
        let rtt = match rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            Some(inside) => Some(parse_duration(inside).map_err(|fault| fault.what)?),
            None if rest.is_empty() => None,
            None => return Err(format!("'{text}' is no size of a queue")),
        };
        return Ok(Size::Bdp(factor, rtt));
    }
    for unit in ["packets", "packet", "pkts", "pkt"] {
        if let Some(number) = text.strip_suffix(unit) {
            let number: f64 = number.trim().parse().map_err(|_| format!("'{text}' is no size of a queue"))?;
            if number.is_nan() || number < 1.0 {
                return Err(format!("'{text}' is less than a packet"));
            }
            if number > f64::from(u32::MAX) {
                return Err(format!("'{text}' is more than {} packets", u32::MAX));
            }
            return Ok(Size::Packets(number as u64));
        }
    }
    if let Ok(time) = parse_duration(text) {
        return Ok(Size::Time(time));
    }
    let bytes = parse_bytes(text).map_err(|fault| {
        if parse_rate(text).is_ok() {
            format!("'{text}' is a rate, not a size")
        } else {
            fault.what
        }
    })?;
    if bytes.0 < 1500 {
        return Err(format!("'{text}' is less than a packet"));
    }
    Ok(Size::Bytes(bytes))
}
