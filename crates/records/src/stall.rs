//! Detection of connections that stop: with data to send, they deliver nothing, or send one segment per RTO.
//!
//! An engine passes the state of each sender to its [`StallWatch`] at samples, as often as the timeout needs it, and at the
//! end of the run. Between two samples there is no cost.

use cwndlab_units::{rto, Duration, FlowId, SenderCounters, SenderState, Time};

use crate::findings::{Code, HANG, STARVED, UNANSWERED};
use crate::rows::{FindingRow, SampleRow};

/// Timeouts without progress after which a connection has stopped.
const PATIENCE_RTOS: u64 = 10;
/// The largest timeout that counts, in smallest ones.
const MAX_RTO_GROWTH: u64 = 4;
/// The share of the run, as its inverse, in which a connection may send one segment per RTO.
const MAX_SHARE: u64 = 10;
/// The least number of timeouts in that time.
const MIN_TIMEOUTS: u64 = 4;

/// The state of a connection's sender at one time. Counters are cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderProgress {
    /// Number of the connection: another number is another connection.
    pub connection: u64,
    /// There is data to send or to acknowledge.
    pub waiting: bool,
    /// Payload acknowledged.
    pub acked_bytes: u64,
    /// Segments sent, retransmissions and probes included.
    pub sent_packets: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// ACKs that brought no progress.
    pub idle_acks: u64,
    /// Data packets that the path lost.
    pub lost_packets: u64,
    /// The retransmission timeout; `None` while it is backed off.
    pub rto: Option<Duration>,
}

impl SenderProgress {
    /// The progress of a connection with this sender. `idle_acks`: ACKs that brought no progress.
    #[inline]
    #[must_use]
    pub fn of(sender: &SenderState, idle_acks: u64) -> Self {
        let SenderCounters { acked_bytes, sent_packets, timeouts, .. } = sender.counters;
        let rto = (sender.backoff == 0).then_some(sender.rto);
        Self { waiting: sender.waiting, acked_bytes, sent_packets, timeouts, idle_acks, rto, ..Self::default() }
    }
}

/// The start of a period, and the counters there.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    acked_bytes: u64,
    sent_packets: u64,
    timeouts: u64,
    idle_acks: u64,
    lost_packets: u64,
}

impl Mark {
    fn new(at: Time, progress: &SenderProgress) -> Self {
        let &SenderProgress { acked_bytes, sent_packets, timeouts, idle_acks, lost_packets, .. } = progress;
        Self { at, acked_bytes, sent_packets, timeouts, idle_acks, lost_packets }
    }
}

/// A period in which a connection made no or hardly any progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Its code.
    pub code: Code,
    /// Its start.
    pub from: Time,
    /// Its end, or the end of the run.
    pub until: Time,
    /// Segments sent in it.
    pub sent_packets: u64,
    /// Expirations of the retransmission timer in it.
    pub timeouts: u64,
}

impl Stall {
    fn length(&self) -> Duration {
        self.until - self.from
    }

    /// The more severe stall; of two that are equally severe, the longer one.
    #[must_use]
    pub fn worse(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let rank = |stall: &Self| (stall.code.severity, stall.length());
        one.into_iter().chain(other).max_by_key(rank)
    }

    /// The finding on the flow `flow`.
    #[must_use]
    pub fn finding(&self, flow: FlowId, name: &str) -> FindingRow {
        let span = format!("{:.3} s from {:.3} s on", seconds(self.length().as_nanos()), seconds(self.from.as_nanos()));
        let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let sent = count(self.sent_packets, "segment");
        let text = match self.code {
            STARVED => format!("{name} sent one segment per RTO for {span} ({sent}): the path lost most of them"),
            UNANSWERED => format!("{name} received no answer for {span}, with data to send ({sent} sent)"),
            _ if self.sent_packets == 0 => format!("{name} sent nothing for {span}, with data to send"),
            _ if self.timeouts >= MIN_TIMEOUTS && self.is_trickle() => {
                let timeouts = count(self.timeouts, "timeout");
                format!("{name} sent one segment per RTO for {span} ({sent}, {timeouts}), although the path lost few")
            }
            _ => format!("{name} delivered nothing for {span}, with data to send ({sent} sent, and answered)"),
        };
        FindingRow { time_ns: Some(self.from.as_nanos()), ..self.code.of_flow(flow, text) }
    }

    fn is_trickle(&self) -> bool {
        self.sent_packets <= 2 * self.timeouts + 2
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Watches one sender.
#[derive(Clone, Debug)]
pub struct StallWatch {
    /// Last known timeout without back-off, bounded by a multiple of the smallest one.
    rto: Duration,
    /// The initial timeout.
    initial_rto: Duration,
    /// The smallest timeout so far.
    least_rto: Duration,
    /// The RTT of the path, below which no timeout counts.
    base_rtt: Duration,
    /// Time for which a receiver that reads slowly may keep its window closed.
    extra: Duration,
    /// Least length of a period of one segment per RTO.
    max_trickle: Duration,
    /// The connection of the last state.
    connection: u64,
    /// In the last state there was data to send or to acknowledge.
    waiting: bool,
    /// Last progress.
    last: Mark,
    /// Last ACK of any kind.
    answered: Mark,
    /// Start of the current period of one segment per RTO.
    trickle: Mark,
    /// The longest stall of the most severe kind so far.
    worst: Option<Stall>,
    /// The next state that counts is at this time or later.
    due: Time,
}

impl StallWatch {
    /// A watch from `now` on, of a connection with this initial timeout, in a run of this duration. `extra` is the time
    /// for which a receiver that reads slowly may keep its window closed.
    #[must_use]
    pub fn new(now: Time, initial_rto: Duration, extra: Duration, duration: Duration) -> Self {
        let mark = Mark::new(now, &SenderProgress::default());
        Self {
            rto: initial_rto,
            initial_rto,
            least_rto: Duration::MAX,
            base_rtt: Duration::ZERO,
            extra,
            max_trickle: duration / MAX_SHARE,
            connection: 0,
            waiting: false,
            last: mark,
            answered: mark,
            trickle: mark,
            worst: None,
            due: now,
        }
    }

    /// The watch on a path with this RTT. Where it is longer than the initial timeout, the first timeouts are spurious.
    #[must_use]
    pub fn on_path(self, base_rtt: Duration) -> Self {
        Self { rto: self.rto.max(base_rtt), base_rtt, ..self }
    }

    /// Whether a state at `now` counts: half a timeout after the last one, of the ten that make a stall.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.due
    }

    /// Takes the state of the sender at `now`, after all earlier states.
    pub fn observe(&mut self, now: Time, progress: SenderProgress) {
        let mark = Mark::new(now, &progress);
        let continues = progress.waiting && self.waiting && progress.connection == self.connection;
        (self.waiting, self.connection) = (progress.waiting, progress.connection);
        if !continues {
            self.update_rto(now, &progress);
            (self.last, self.answered, self.trickle) = (mark, mark, mark);
            return;
        }
        let progresses = progress.acked_bytes != self.last.acked_bytes;
        if progresses {
            self.last = mark;
        }
        if progresses || progress.idle_acks != self.answered.idle_acks {
            self.answered = mark;
        }
        self.check_silence(now, &progress);
        self.check_trickle(mark);
        self.update_rto(now, &progress);
    }

    /// Notes the timeout. A sender that stops may take RTT samples as long as its own silence, which must not make the
    /// watch patient: the timeout counts up to a multiple of the smallest one.
    fn update_rto(&mut self, now: Time, progress: &SenderProgress) {
        if let Some(rto) = progress.rto {
            self.least_rto = self.least_rto.min(rto);
            self.rto = rto.min((self.least_rto * MAX_RTO_GROWTH).max(self.initial_rto)).max(self.base_rtt);
        }
        self.due = now + self.rto / 2;
    }

    /// Nothing was delivered for ten timeouts.
    fn check_silence(&mut self, now: Time, progress: &SenderProgress) {
        let from = self.last.at;
        if now - from <= self.rto * PATIENCE_RTOS + self.extra {
            return;
        }
        let sent_packets = progress.sent_packets - self.last.sent_packets;
        let lost = progress.lost_packets.saturating_sub(self.last.lost_packets);
        let unanswered = progress.sent_packets > self.answered.sent_packets
            && (now - self.answered.at).as_nanos() * 2 > (now - from).as_nanos();
        let is_of_path = sent_packets > 0 && (unanswered || lost >= sent_packets);
        let timeouts = progress.timeouts - self.last.timeouts;
        let code = if is_of_path { UNANSWERED } else { HANG };
        self.keep(Stall { code, from, until: now, sent_packets, timeouts });
    }

    /// One segment was sent per timeout, for a tenth of the run.
    fn check_trickle(&mut self, mark: Mark) {
        let since = self.trickle;
        let sent_packets = mark.sent_packets - since.sent_packets;
        let timeouts = mark.timeouts - since.timeouts;
        let stall = Stall { code: HANG, from: since.at, until: mark.at, sent_packets, timeouts };
        if !stall.is_trickle() {
            self.trickle = mark;
            return;
        }
        let long = stall.length() > self.max_trickle && stall.length() > self.rto * PATIENCE_RTOS;
        // Without any progress it is a silence.
        if timeouts < MIN_TIMEOUTS || !long || mark.acked_bytes == since.acked_bytes {
            return;
        }
        let lost = mark.lost_packets.saturating_sub(since.lost_packets);
        self.keep(Stall { code: if lost * 2 >= timeouts { STARVED } else { HANG }, ..stall });
    }

    fn keep(&mut self, stall: Stall) {
        let rank = |one: &Stall| (one.code.severity, one.length());
        // The classification of a silence may change while it lasts.
        let replaces = self
            .worst
            .is_none_or(|worst| worst.from == stall.from && worst.until <= stall.until || rank(&stall) > rank(&worst));
        if replaces {
            self.worst = Some(stall);
        }
    }

    /// The longest stall of the most severe kind, if any.
    #[must_use]
    pub fn worst(&self) -> Option<Stall> {
        self.worst
    }
}

/// The longest stall of a flow of a measurement, by its samples: the state of the sender is known at them only.
#[must_use]
pub fn of_samples(samples: &[SampleRow], mss: u64, duration: Duration) -> Option<Stall> {
    let first = samples.first()?;
    let mut watch = StallWatch::new(Time::from_nanos(first.time_ns), rto::INITIAL, Duration::ZERO, duration);
    for row in samples {
        let progress = SenderProgress {
            waiting: row.in_flight_bytes.is_some_and(|bytes| bytes > 0),
            acked_bytes: row.delivered_bytes,
            sent_packets: row.sent_bytes / mss.max(1),
            timeouts: row.timeouts,
            rto: row.srtt_ns.map(|srtt| Duration::from_nanos(srtt) * 2 + rto::LINUX_MIN),
            ..SenderProgress::default()
        };
        watch.observe(Time::from_nanos(row.time_ns), progress);
    }
    watch.worst()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_millis(200);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn watch() -> StallWatch {
        StallWatch::new(Time::ZERO, RTO, Duration::ZERO, Duration::from_secs(100))
    }

    fn waiting(acked: u64, sent: u64) -> SenderProgress {
        SenderProgress {
            waiting: true,
            acked_bytes: acked,
            sent_packets: sent,
            rto: Some(RTO),
            ..SenderProgress::default()
        }
    }

    /// By hand: ten timeouts of 200 ms are 2 s.
    #[test]
    fn a_sender_that_sends_nothing_for_more_than_ten_timeouts_hangs() {
        let mut watch = watch();
        for ms in (0..=2000).step_by(100) {
            watch.observe(at(ms), waiting(1000, 1));
            assert_eq!(watch.worst(), None, "{ms}");
        }
        watch.observe(at(2100), waiting(1000, 1));
        let stall = watch.worst().unwrap();
        assert_eq!((stall.code, stall.from, stall.until), (HANG, at(0), at(2100)));
        assert_eq!(
            stall.finding(4.into(), "flow").text,
            "flow sent nothing for 2.100 s from 0.000 s on, with data to send"
        );
    }

    #[test]
    fn a_sender_without_data_does_not_hang() {
        let mut watch = watch();
        for ms in (0..10_000).step_by(100) {
            watch.observe(at(ms), SenderProgress { waiting: false, ..waiting(1000, 1) });
        }
        assert_eq!(watch.worst(), None);
    }

    #[test]
    fn a_path_that_answers_nothing_is_no_hang_of_the_sender() {
        let mut watch = watch();
        for ms in (0..10_000).step_by(100) {
            let timeouts = ms / 1000;
            watch.observe(at(ms), SenderProgress { timeouts, ..waiting(1000, 10 + timeouts) });
        }
        assert_eq!(watch.worst().unwrap().code, UNANSWERED);
    }

    #[test]
    fn a_sender_whose_segments_are_answered_without_progress_hangs() {
        let mut watch = watch();
        for ms in (0..10_000).step_by(100) {
            let timeouts = ms / 500;
            watch.observe(at(ms), SenderProgress { timeouts, idle_acks: timeouts, ..waiting(1000, 10 + timeouts) });
        }
        let stall = watch.worst().unwrap();
        assert_eq!((stall.code, stall.timeouts), (HANG, 19));
    }

    /// By hand: 12 s are more than a tenth of 100 s.
    #[test]
    fn one_segment_per_timeout_for_a_tenth_of_the_run_is_a_hang_unless_the_path_loses_them() {
        for (losses, code) in [(0, HANG), (1, STARVED)] {
            let mut watch = watch();
            for ms in (0..12_000).step_by(100) {
                let timeouts = ms / 1000;
                let state = waiting(1000 * timeouts, 1 + timeouts);
                watch.observe(at(ms), SenderProgress { timeouts, lost_packets: timeouts * losses, rto: None, ..state });
            }
            assert_eq!(watch.worst().unwrap().code, code);
        }
    }

    #[test]
    fn a_backed_off_timeout_does_not_extend_the_patience() {
        let mut watch = watch();
        watch.observe(at(0), waiting(1000, 1));
        for ms in (100..3000).step_by(100) {
            watch.observe(at(ms), SenderProgress { rto: None, ..waiting(1000, 1) });
        }
        assert_eq!(watch.worst().unwrap().code, HANG);
    }

    /// By hand: an RTT of 100 ms gives a timeout of 400 ms, of which ten pass between 1 s and 6 s.
    #[test]
    fn a_measured_transfer_that_stops_is_found_by_its_samples() {
        let row = |ms: u64, delivered_bytes| SampleRow {
            time_ns: ms * 1_000_000,
            in_flight_bytes: Some(1448),
            srtt_ns: Some(100_000_000),
            delivered_bytes,
            sent_bytes: delivered_bytes + 1448,
            ..SampleRow::default()
        };
        let steady: Vec<SampleRow> = (0..60).map(|n| row(n * 100, n * 1448)).collect();
        assert_eq!(of_samples(&steady, 1448, Duration::from_secs(6)), None);
        let stopped: Vec<SampleRow> = (0..60).map(|n| row(n * 100, n.min(10) * 1448)).collect();
        let stall = of_samples(&stopped, 1448, Duration::from_secs(6)).unwrap();
        assert_eq!((stall.code, stall.from), (HANG, at(1000)));
    }

    /// RFC 6298: the timeout follows RTT samples; one of 60 s is that of the silence itself.
    #[test]
    fn a_timeout_that_grew_by_the_silence_itself_does_not_extend_the_patience() {
        let mut watch = watch();
        watch.observe(at(0), waiting(1000, 1));
        for ms in (100..20_000).step_by(100) {
            watch.observe(at(ms), SenderProgress { rto: Some(Duration::from_secs(60)), ..waiting(2000, 2) });
        }
        assert_eq!(watch.worst().unwrap().code, HANG);
    }

    #[test]
    fn another_connection_starts_anew() {
        let mut watch = watch();
        for ms in (0..10_000).step_by(100) {
            watch.observe(at(ms), SenderProgress { connection: ms / 1000, ..waiting(0, 1) });
        }
        assert_eq!(watch.worst(), None);
    }
}
