//! The audit of a log: parameters from the log, the reconstruction, and the comparison.

use cwndlab_control::{Algorithm, Need, Path};
use cwndlab_units::{Bytes, Fault, Time};

use crate::comparison::Tolerance;
use crate::event::{Event, Log, Protocol, Remark, What};
use crate::item::{Flights, Item};
use crate::judge::Judge;
use crate::quic::Quic;
use crate::tcp::Tcp;

/// What the user knows and the log does not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Payload of a full packet, bytes.
    pub mss: Option<u64>,
    /// Initial window, bytes.
    pub initial_cwnd: Option<u64>,
    /// Tolerance, segments.
    pub tolerance: Option<f64>,
    /// What no log has.
    pub unknown: Unknown,
    /// The sender is identified: of a log without windows the bytes in flight are the window, and the comparison is brief.
    /// It ends where the corrections have more bits than this.
    pub identifies: Option<f64>,
}

/// What no log has: of several values, a comparison takes that which explains the log best.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown {
    /// Seed of the algorithm's random numbers.
    pub seed: u64,
    /// Without logged windows: a paced sender fills its window, and is limited by it. Otherwise it is where the window of
    /// the reference is full.
    pub fills_when_paced: bool,
}

/// The result of an audit.
#[derive(Debug)]
pub struct Audit<'a> {
    /// The algorithm of the reference.
    pub algorithm: &'a Algorithm,
    /// The path of the reference.
    pub path: Path,
    /// The tolerances.
    pub tolerance: Tolerance,
    /// The windows of the algorithm follow from measurements or are paced: the tolerance is larger.
    pub is_coarse: bool,
    /// The comparison.
    pub judge: Judge<'a>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

fn fault<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new("", what, hint))
}

/// Tolerance of model-based algorithms, and of the bytes in flight of paced ones, which are sent in bursts, segments. BBR
/// adds two segments to its window while it probes (Linux,
/// bbr_quantization_budget), at times that follow from a random number.
const MODEL_TOLERANCE: f64 = 3.0;

/// What a first pass over the log finds.
#[derive(Debug, Default)]
struct Survey {
    mss: Option<u64>,
    largest: u64,
    initial_cwnd: Option<u64>,
    first_cwnd: Option<u64>,
    /// An ACK comes before the first window.
    late: bool,
    resolution: u64,
    acks: u64,
    losses: u64,
    windows: u64,
    metrics: u64,
    remarks: bool,
    /// All times are whole milliseconds.
    whole_ms: bool,
}

impl Survey {
    fn of(log: &Log) -> Self {
        let mut survey = Self { whole_ms: true, ..Self::default() };
        let mut divisor = 0;
        for event in &log.events {
            survey.whole_ms &= event.time.as_nanos().is_multiple_of(1_000_000);
            match &event.what {
                What::PacketSent { bytes, mtu_probe: false, .. } | What::Segment { bytes, .. } => {
                    survey.largest = survey.largest.max(*bytes);
                }
                What::AckFrame { .. } | What::TcpAck { .. } => survey.acks += 1,
                What::PacketLost { .. } | What::PacketsLost { .. } => survey.losses += 1,
                What::Remark { remark, cwnd } => {
                    survey.remarks |= !matches!(remark, Remark::Opened | Remark::Established);
                    survey.first_cwnd = survey.first_cwnd.or(Some(cwnd.1).filter(|window| *window > 0));
                }
                What::Metrics(metrics) => {
                    survey.metrics += 1;
                    survey.windows += u64::from(metrics.cwnd.is_some());
                    survey.late |= survey.first_cwnd.is_none() && metrics.cwnd.is_some() && survey.acks > 0;
                    survey.first_cwnd = survey.first_cwnd.or(metrics.cwnd);
                    divisor = metrics.cwnd.map_or(divisor, |cwnd| gcd(divisor, cwnd));
                }
                What::Parameters { mss, initial_cwnd } => {
                    survey.mss = mss.or(survey.mss);
                    survey.initial_cwnd = initial_cwnd.or(survey.initial_cwnd);
                }
                What::PacketSent { .. } | What::State(_) => {}
            }
        }
        survey.resolution = divisor.max(1);
        survey
    }
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 {
        one
    } else {
        gcd(other, one % other)
    }
}

/// Compares `log` with `algorithm`.
///
/// # Errors
///
/// The log has no windows or no ACKs, or the algorithm needs inputs that no log has.
pub fn audit<'a>(log: &Log, algorithm: &'a Algorithm, options: &Options) -> Result<Audit<'a>, Fault> {
    let survey = Survey::of(log);
    check_usable(log, &survey, algorithm)?;
    let mut notes = log.notes.clone();
    let (mss, initial) = parameters(&survey, options, log, &mut notes);
    // Windows in whole segments: the resolution is that of the log, and the host counts segments. Otherwise bytes.
    let flights = log.windowless && options.identifies.is_some();
    let whole = flights || survey.windows > 1 && survey.resolution.is_multiple_of(mss);
    let path = Path {
        mss: Bytes(mss),
        initial_cwnd: Bytes(initial),
        initial_ssthresh: None,
        paced: log.protocol == Protocol::Quic,
        seed: options.unknown.seed,
        classic_ecn: false,
        oracle_buffer: None,
        saved: None,
    };
    let bursts = flights && algorithm.growth.spec.needs.contains(&Need::Pacing);
    let is_coarse = algorithm.is_model_based() || bursts;
    let tolerance = Tolerance {
        segments: options.tolerance.unwrap_or(if is_coarse { MODEL_TOLERANCE } else { 1.0 }),
        resolution: if whole { mss } else { 1 },
        per_ack: if whole { 0.0 } else { 1.0 },
    };
    if !log.windowless && survey.windows < survey.acks / 4 && survey.metrics < survey.acks / 2 {
        notes.push(format!(
            "the log has {} windows for {} ACKs: the ACKs between two windows are judged together",
            survey.windows, survey.acks
        ));
    }
    let quic = log.protocol == Protocol::Quic;
    let mut judge = Judge::new(algorithm, path.clone(), quic, tolerance);
    if let Some(most_bits) = options.identifies {
        judge.be_brief(most_bits);
    }
    if !log.events.iter().any(|one| matches!(one.what, What::Remark { remark: Remark::Established, .. })) {
        judge.established(log.events[0].time);
    }
    if log.begins_late {
        judge.begin_late();
    }
    if quic {
        if survey.losses == 0 {
            notes.push(
                "the log has no lost packets: they are inferred from the ACKs (RFC 9002, section 6.1)".to_owned(),
            );
        }
        replay_quic(log, Quic::new(mss, survey.losses == 0, survey.whole_ms), &mut judge);
    } else {
        let flights = match (log.windowless, options.identifies.is_some()) {
            (false, _) => Flights::Unused,
            (true, false) => Flights::LowerBound,
            (true, true) => Flights::Window,
        };
        let mut tcp = Tcp::new(mss, initial, survey.remarks, flights);
        if options.unknown.fills_when_paced {
            tcp.fill_when_paced();
        }
        replay_tcp(log, tcp, &mut judge);
    }
    judge.finish();
    if log.begins_late {
        notes.insert(0, late_note(&judge));
    }
    Ok(Audit { algorithm, path, tolerance, is_coarse, judge, notes })
}

fn late_note(judge: &Judge<'_>) -> String {
    let unknown = "the log begins in the middle of the connection, where window and state of the sender are unknown";
    if judge.is_unknown() {
        format!("{unknown}; it has no second congestion event, which would set them: record it from the handshake on")
    } else {
        format!("{unknown}: the comparison begins with the second congestion event")
    }
}

/// The largest window that the log has around each event, bytes: of the windows before and after it.
fn permitted(log: &Log) -> Vec<Option<u64>> {
    let windows = |event: &Event| match &event.what {
        What::Metrics(metrics) => metrics.cwnd.map(|cwnd| (cwnd, cwnd)),
        What::Remark { cwnd, .. } if cwnd.1 > 0 => Some((cwnd.0.max(1), cwnd.1)),
        _ => None,
    };
    let mut next = None;
    let mut permitted: Vec<Option<u64>> = Vec::with_capacity(log.events.len());
    for event in log.events.iter().rev() {
        next = windows(event).map(|one| one.0).or(next);
        permitted.push(next);
    }
    permitted.reverse();
    let mut last = None;
    for (event, most) in log.events.iter().zip(&mut permitted) {
        *most = match (last, *most) {
            (Some(last), Some(next)) => Some(std::cmp::max(last, next)),
            (Some(last), None) => Some(last),
            (None, _) => None,
        };
        last = windows(event).map(|one| one.1).or(last);
    }
    permitted
}

fn check_usable(log: &Log, survey: &Survey, algorithm: &Algorithm) -> Result<(), Fault> {
    if let Some(need) = algorithm.all_needs().find(|need| matches!(need, Need::Agent(_))) {
        let _ = need;
        return fault(
            format!("'{algorithm}' reads the feedback of routers, which no log of a sender has"),
            "audit an algorithm without router assistance",
        );
    }
    if survey.first_cwnd.is_none() && !log.windowless {
        return fault(
            "has no congestion window",
            "log `recovery:metrics_updated` with `congestion_window`, at best after every ACK",
        );
    }
    if survey.acks == 0 {
        return fault(
            "has no ACK: without ACK frames nobody can say what the algorithm received",
            "log `transport:packet_received` with its `frames`, and `packet_sent` with its size",
        );
    }
    Ok(())
}

fn initial_is_inferred(options: &Options, survey: &Survey) -> bool {
    options.initial_cwnd.is_none() && survey.initial_cwnd.is_none()
}

/// Segment size and initial window: of the user, of the log, else inferred. The initial window of RFC 6928 (section 2)
/// and RFC 9002 (section 7.2) stands where the first logged window follows an ACK.
fn parameters(survey: &Survey, options: &Options, log: &Log, notes: &mut Vec<String>) -> (u64, u64) {
    let quic = log.protocol == Protocol::Quic;
    let mss = options.mss.or(survey.mss).unwrap_or_else(|| {
        notes.push(format!("the datagram size is inferred from the largest packet: {} B", survey.largest));
        survey.largest
    });
    let (most, source) = if quic { (14_720, "RFC 9002") } else { (14_600, "RFC 6928") };
    let standard = (10 * mss).min(most.max(2 * mss));
    let first = survey.first_cwnd.filter(|_| !survey.late || log.begins_late);
    let initial = options.initial_cwnd.or(survey.initial_cwnd).or(first).unwrap_or(standard);
    if log.begins_late {
        return (mss.max(1), initial);
    }
    if initial_is_inferred(options, survey) && first.is_none() {
        notes.push(format!("the initial window is that of {source}: {initial} B"));
    } else if initial_is_inferred(options, survey) {
        notes.push(format!("the initial window is the first logged one: {initial} B"));
    }
    (mss.max(1), initial)
}

fn replay_quic(log: &Log, mut quic: Quic, judge: &mut Judge<'_>) {
    let mut items: Vec<Item> = Vec::new();
    let permitted = permitted(log);
    for (number, event) in log.events.iter().enumerate() {
        if judge.is_beyond() {
            return;
        }
        judge.log_permits(permitted[number]);
        quic.event(number, event, &judge.view(), &mut items);
        items.drain(..).for_each(|item| judge.item(item));
    }
    let end = log.events.last().map_or(Time::ZERO, |one| one.time);
    quic.end(log.events.len(), end, &judge.view(), &mut items);
    items.drain(..).for_each(|item| judge.item(item));
}

fn replay_tcp(log: &Log, mut tcp: Tcp, judge: &mut Judge<'_>) {
    let mut items: Vec<Item> = Vec::new();
    let permitted = permitted(log);
    let mut first = 0;
    while first < log.events.len() && !judge.is_beyond() {
        let end = group(&log.events, first);
        judge.log_permits(permitted[first]);
        tcp.events(first, &log.events[first..end], &log.events[end..], &judge.view(), &mut items);
        items.drain(..).for_each(|item| judge.item(item));
        first = end;
    }
}

/// The end of the events at the time of event `first`, with at most one ACK.
fn group(events: &[Event], first: usize) -> usize {
    let mut acks = 0;
    for (at, event) in events.iter().enumerate().skip(first) {
        acks += usize::from(matches!(event.what, What::TcpAck { .. }));
        if event.time != events[first].time || acks > 1 {
            return at;
        }
    }
    events.len()
}
