//! The events of a TCP sender from its log: segments sent, ACKs with SACK blocks, and what the sender remarked.
//!
//! Congestion events are those that the sender logged, or are inferred from retransmissions where it logged none.

mod reaction;
mod scoreboard;
#[cfg(test)]
mod tests;

use cwndlab_control::{Change, Report, Sent, Window};
use cwndlab_transport::cwnd_validation::{restart_ssthresh, restart_window};
use cwndlab_transport::duplicate_acks::DuplicateAcks;
use cwndlab_transport::stack::IdleRestart;
use cwndlab_units::{rto, Bytes, Duration, Time};

use self::scoreboard::{InFlight, Scoreboard};
use crate::event::{Event, LoggedState, Metrics, Remark, Span, What};
use crate::item::{Arrived, Check, Flights, Item, Limit, Moment, Since, Step, View};
use crate::limit::Usage;
use crate::samples::{Delivered, Samples};
use crate::spurious::{Reordering, Retransmissions, DUP_THRESHOLD};

/// A sender processes an ACK within this time.
const AT_ONCE: Duration = Duration::from_nanos(1_000_000);

/// Spans of a round trip whose maxima of the bytes in flight are compared.
const SPANS_PER_ROUND: u64 = 8;

/// The first value of the counter of marks (RFC 9768, section 3.2.2).
const FIRST_ACE: u8 = 0b101;

/// RTTs of the first and the last of some segments.
type RttRange = Option<(Duration, Duration)>;

/// The congestion state (Linux, `tcp_ca_state`, without Disorder).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Reducing,
    Loss,
}

/// The state of the sender.
#[derive(Debug)]
pub(crate) struct Tcp {
    board: Scoreboard,
    reordering: Reordering,
    retransmissions: Retransmissions,
    /// Bytes sent after a duplicate ACK, without SACK, and one more (RFC 3042); zero without one.
    duplicates: u64,
    /// The counter of marks modulo eight, with Accurate ECN.
    ace: u8,
    /// Segments that duplicate ACKs delivered, without SACK.
    reported: DuplicateAcks,
    has_sack: bool,
    samples: Samples,
    usage: Usage,
    state: State,
    /// The reduction repairs losses: it is not one by ECN.
    repairs: bool,
    /// SND.NXT at the last congestion event.
    high: u64,
    /// SND.UNA at the last timeout.
    timed_out: Option<u64>,
    /// Bytes marked lost since the last report of an ACK.
    newly_lost: u64,
    /// New data after a timeout tells whether it was spurious (RFC 5682; Linux, `tp->frto`).
    frto: bool,
    /// End of the highest segment above `high` that was retransmitted during the reduction: a loss of the next window.
    lost_beyond: u64,
    last_sent: Time,
    last_ack: Time,
    /// Last restart of the retransmission timer (RFC 6298, section 5).
    timer: Time,
    initial_cwnd: u64,
    opened: Option<Time>,
    /// The sender logs its congestion events.
    remarks: bool,
    /// What is compared in place of logged windows.
    flights: Flights,
    /// A paced sender fills its window, too.
    fills_when_paced: bool,
    /// End of the data that the receive window permits (RFC 9293, section 3.4: SND.UNA + SND.WND).
    receivable: u64,
    /// Bytes in flight after the last ACK.
    after_ack: Option<Since>,
    /// Start of the span whose maximum is compared.
    filling: Option<Time>,
}

impl Tcp {
    pub(crate) fn new(mss: u64, initial_cwnd: u64, remarks: bool, flights: Flights) -> Self {
        Self {
            board: Scoreboard::default(),
            reordering: Reordering::new(),
            retransmissions: Retransmissions::default(),
            duplicates: 0,
            ace: FIRST_ACE,
            reported: DuplicateAcks::default(),
            has_sack: false,
            samples: Samples::new(mss),
            usage: Usage::default(),
            state: State::Open,
            repairs: false,
            high: 0,
            timed_out: None,
            newly_lost: 0,
            frto: false,
            lost_beyond: 0,
            last_sent: Time::ZERO,
            last_ack: Time::ZERO,
            timer: Time::ZERO,
            initial_cwnd,
            opened: None,
            remarks,
            flights,
            fills_when_paced: false,
            receivable: u64::MAX,
            after_ack: None,
            filling: None,
        }
    }

    /// A paced sender fills its window, too: otherwise it does where the window of the reference is full.
    pub(crate) fn fill_when_paced(&mut self) {
        self.fills_when_paced = true;
    }

    /// Data in flight without what is marked lost (Linux, tcp_packets_in_flight).
    fn pipe(&self) -> u64 {
        let reported = u64::from(self.reported.delivered()) * self.samples.mss;
        self.board.in_flight().saturating_sub(self.board.lost() + reported)
    }

    /// Data in flight as it is compared with the window. Without SACK duplicate ACKs permit new data (RFC 3042; Linux,
    /// tcp_packets_in_flight).
    fn filled_window(&self) -> u64 {
        if self.has_sack {
            self.board.in_flight()
        } else {
            self.pipe()
        }
    }

    /// Processes the events of one time: an ACK, what the sender remarked about it, and what it sent then. `following`
    /// are the later ones.
    pub(crate) fn events(
        &mut self,
        first: usize,
        events: &[Event],
        following: &[Event],
        view: &View,
        out: &mut Vec<Item>,
    ) {
        let mut at = Moment { event: first, now: events[0].time, view, out };
        let begins = self.begins_reduction(events, following);
        let remarked = events.iter().filter_map(|one| match one.what {
            What::Remark { remark, cwnd } => Some((remark, cwnd)),
            _ => None,
        });
        let mut remarks: Vec<(Remark, (u64, u64))> = remarked.collect();
        for (event, number) in events.iter().zip(first..) {
            if let &What::TcpAck { ack, ref sack, ece, ace, echo, echo_rtt, rwnd, duplicates } = &event.what {
                at.event = number;
                let remarks = std::mem::take(&mut remarks);
                let arrived = Arrived { ack, sack, ece, ace, echo, echo_rtt, rwnd, duplicates, begins };
                self.ack(&mut at, arrived, &remarks);
            }
        }
        // Without an ACK, to which the remarks would belong.
        for (remark, (before, after)) in remarks {
            self.remark(&mut at, remark, before, after);
        }
        for (event, number) in events.iter().zip(first..) {
            if let What::Segment { seq, bytes, stamp, .. } = event.what {
                at.event = number;
                self.sent(&mut at, seq, bytes, stamp);
            }
        }
        // Logged windows are those after all other events of this time.
        for (event, number) in events.iter().zip(first..) {
            match &event.what {
                What::Metrics(metrics) => {
                    at.event = number;
                    self.metrics(&mut at, metrics, events[number - first..].iter().chain(following));
                }
                What::State(state) => self.usage.logged_limited = *state == LoggedState::AppLimited,
                _ => {}
            }
        }
        at.event = first + events.len() - 1;
        if events.iter().any(|one| matches!(one.what, What::Segment { .. })) {
            self.compare_flight(&mut at);
        }
    }

    /// Compares what is in flight after data was sent, as a lower bound of the window. Without new data it may be more than
    /// the window, as after a reduction.
    fn compare_flight(&self, at: &mut Moment<'_>) {
        if self.flights == Flights::LowerBound && self.state == State::Open {
            let (time, event, cwnd) = (at.now, at.event, self.filled_window());
            at.out.push(Item::Check(Check { time, event, cwnd, ssthresh: None, is_flight: true, since: None }));
        }
    }

    fn metrics<'a>(&mut self, at: &mut Moment<'_>, metrics: &Metrics, later: impl Iterator<Item = &'a Event>) {
        let known = &mut self.samples.logged;
        known.cwnd = metrics.cwnd.or(known.cwnd);
        known.ssthresh = metrics.ssthresh.or(known.ssthresh);
        let Some(cwnd) = known.cwnd else { return };
        // A capture shows the entry into recovery by the first retransmission only, later than the reduction.
        let unclear = !self.remarks
            && self.board.sacked() > 0
            && later
                .take_while(|one| !matches!(one.what, What::TcpAck { .. }))
                .any(|one| matches!(one.what, What::Segment { seq, .. } if seq < self.board.next()));
        if (self.state != State::Reducing && !unclear) || at.view.model_based {
            at.check(cwnd, known.ssthresh);
        }
    }

    fn sent(&mut self, at: &mut Moment<'_>, seq: u64, bytes: u64, stamp: Option<u32>) {
        let now = at.now;
        if seq + bytes <= self.board.una() {
            // It was acknowledged while it waited below the sender, in a queue of the host. A D-SACK may report it.
            self.retransmissions.sent(stamp);
            return;
        }
        if self.board.is_empty() && self.board.flight() == 0 && self.last_sent == Time::ZERO {
            self.board.begin(seq);
        }
        if self.board.flight() == 0 && self.last_sent > Time::ZERO && seq >= self.board.next() {
            self.idle(at);
            let at_once = if at.view.paced { self.samples.srtt().max(AT_ONCE) } else { AT_ONCE };
            if now.saturating_since(self.last_ack) > at_once {
                self.samples.sampler.set_app_limited(Bytes::ZERO); // it had no data when the last of it was acknowledged
            }
        }
        let retransmission = seq < self.board.next();
        if self.board.flight() == 0 {
            self.timer = now;
        }
        let segment = self.samples.sent(now, bytes, self.board.in_flight());
        if retransmission {
            self.retransmitted(at, seq);
            self.board.send_again(seq, segment);
            self.retransmissions.sent(stamp);
        } else {
            if self.duplicates > 0 && self.state == State::Open {
                self.duplicates += bytes;
            }
            self.board.send(seq, bytes, segment);
        }
        self.last_sent = now;
        self.usage.on_sent(self.filled_window());
        if at.view.observes_sent {
            let size = Bytes(bytes);
            let in_flight = Bytes(self.board.in_flight());
            let app_limited = self.samples.sampler.is_app_limited();
            let sent = Sent { now, size, in_flight, retransmission, app_limited };
            at.step(vec![vec![Report::Sent(sent)]]);
        }
    }

    /// What the retransmission from byte `seq` says about the reductions of the window.
    fn retransmitted(&mut self, at: &mut Moment<'_>, seq: u64) {
        if self.state == State::Reducing && seq >= self.high {
            self.lost_beyond = self.lost_beyond.max(seq + 1);
        }
        let is_first = seq <= self.board.una();
        let timer = self.timer;
        self.timer = if is_first { at.now } else { timer };
        if self.remarks {
            return;
        }
        let silence = at.now.saturating_since(self.last_ack.max(self.last_sent));
        // Without SACK duplicate ACKs do not restart the timer (Linux, tcp_rearm_rto), and mark the first segment lost for
        // a recovery.
        let least = self.samples.srtt() + rto::LINUX_MIN;
        let expires = |unmarked| {
            silence >= rto::LINUX_MIN || !self.has_sack && unmarked && at.now.saturating_since(timer) >= least
        };
        if self.state != State::Open {
            if is_first && self.board.is_first_retransmitted() && expires(true) {
                self.remark(at, Remark::Timeout, at.view.cwnd, 0);
            }
        } else if !self.is_loss_probe(seq, silence) {
            let timeout = is_first && expires(self.board.lost() == 0);
            let remark = if timeout { Remark::Timeout } else { Remark::Recovery };
            self.remark(at, remark, at.view.cwnd, 0);
        }
    }

    /// RFC 8985, section 7.2: the last segment, sent again after two round trips without an ACK.
    fn is_loss_probe(&self, seq: u64, waited: Duration) -> bool {
        self.board.is_last(seq)
            && self.board.sacked() == 0
            && waited.as_nanos() >= self.samples.srtt().as_nanos() * 3 / 2
    }

    /// RFC 5681, section 4.1: after more than an RTO the window restarts. RFC 2861 halves it once per RTO.
    fn idle(&mut self, at: &mut Moment<'_>) {
        let Moment { now, view, .. } = *at;
        let idle = now.saturating_since(self.last_sent);
        let timeout = self.samples.rtt.rto();
        let mss = self.samples.mss;
        if view.model_based || idle <= timeout.max(rto::LINUX_MIN) {
            return;
        }
        let cwnd = (view.cwnd / mss) as u32;
        let initial = (self.initial_cwnd / mss) as u32;
        let floors = [self.samples.srtt() + rto::LINUX_MIN, timeout.max(rto::LINUX_MIN), timeout.max(rto::RFC_MIN)];
        let mut windows: Vec<(u64, Option<Bytes>)> = Vec::new();
        for policy in [IdleRestart::Decay, IdleRestart::InitialWindow] {
            let ssthresh = restart_ssthresh(policy, cwnd).map(|segments| Bytes(u64::from(segments) * mss));
            let restarts = floors.iter().filter_map(|rto| restart_window(policy, idle, *rto, cwnd, initial));
            windows.extend(restarts.map(|window| (u64::from(window) * mss, ssthresh)));
        }
        windows.dedup();
        let window = |(cwnd, ssthresh)| {
            vec![Report::Window(Window { ssthresh, idle, ..Window::new(now, Change::Idle, Bytes(cwnd)) })]
        };
        let mut alternatives: Vec<_> = windows.iter().map(|cwnd| window(*cwnd)).collect();
        if floors.iter().any(|rto| idle <= *rto) {
            alternatives.push(Vec::new()); // the timeout of the sender may be longer than the pause
        }
        at.step(alternatives);
    }

    /// Compares the bytes in flight that the sender reached since the last ACK.
    fn filled(&mut self, at: &mut Moment<'_>) {
        let Some(since) = self.after_ack.take().filter(|_| self.state == State::Open) else {
            self.filling = None;
            return;
        };
        let cwnd = self.usage.most_in_flight();
        let begins = self.filling.is_none();
        let start = *self.filling.get_or_insert(since.time);
        let span = self.samples.srtt().as_nanos() / SPANS_PER_ROUND;
        let ends = cwnd > since.in_flight && (at.now - start).as_nanos() >= span;
        if ends {
            self.filling = None;
        }
        let (time, event, since) = (at.now, at.event, Some(Since { begins, ends, ..since }));
        at.out.push(Item::Check(Check { time, event, cwnd, ssthresh: None, is_flight: false, since }));
    }

    fn ack(&mut self, at: &mut Moment<'_>, arrived: Arrived<'_>, remarks: &[(Remark, (u64, u64))]) {
        let Moment { now, view, .. } = *at;
        let Arrived { ack, sack, ece, ace, echo_rtt, .. } = arrived;
        if ack > self.board.next() {
            return;
        }
        if ack < self.board.una() {
            // Linux, tcp_ack (old_ack): SACK blocks count; the window does not grow, and there is no RTT sample.
            let mut delivered = Delivered::default();
            let _ = self.deliver(now, ack, sack, &mut delivered);
            let _ = self.react(at, &arrived, self.board.una(), false, remarks);
            return;
        }
        self.filled(at);
        let una = self.board.una();
        let mss = self.samples.mss;
        // In segments; writes that end in a short one shift the boundaries between them.
        let next = self.board.next().div_ceil(mss);
        let by_window = self.usage.on_ack(next - (self.board.next() - una).div_ceil(mss), next, mss, view);
        let fills = (!view.paced || self.fills_when_paced) && !self.receiver_limits();
        let (limit, estimate) =
            if self.flights == Flights::Window && fills { self.usage.by_flight(mss, view) } else { by_window };
        if let Some(rwnd) = arrived.rwnd {
            let end = ack.saturating_add(rwnd);
            self.receivable = if self.receivable == u64::MAX { end } else { self.receivable.max(end) };
        }
        let prior_in_flight = self.pipe();
        let marks = ace.map_or(u64::from(ece), |ace| self.count_marks(ace));
        let mut delivered = Delivered { prior_in_flight, ce: marks * mss, ..Delivered::default() };
        let was_idle = self.board.flight() == 0;
        let (sacked, times) = self.deliver(now, ack, sack, &mut delivered);
        delivered.rtt = self.sample_rtt(now, times, echo_rtt.filter(|_| ack > una));
        let raises = ack > una || sacked && self.reordering.exceeds_threshold();
        if ack == una && delivered.bytes == 0 && !was_idle {
            self.duplicates = self.duplicates.max(1);
        } else if ack > una && self.state == State::Open {
            self.duplicates = 0;
        }
        self.count_duplicates(&arrived, una, &mut delivered);
        self.step_frto(ack > una, ack);
        if ack > una {
            self.timer = now;
            let round = self.samples.sampler.round();
            self.samples.sampler.count_round(ack, self.board.next());
            self.usage.end_round(self.samples.sampler.round() > round);
        }
        let newly_lost = if self.has_sack { self.mark_lost(now) } else { self.mark_first_lost(ack > una) };
        self.newly_lost += newly_lost;
        delivered.in_flight = self.pipe();
        let reports = delivered.bytes > 0 && !was_idle;
        // Linux takes the samples of an ACK before it reduces the window or undoes a reduction (tcp_clean_rtx_queue).
        let lost = view.model_based && newly_lost > 0;
        let reduces = !view.model_based && self.begins(&arrived, lost).is_some();
        if reports {
            delivered.lost = std::mem::take(&mut self.newly_lost);
        }
        if reports && reduces {
            self.report(at, &delivered, limit, estimate, false);
        }
        if self.react(at, &arrived, una, lost, remarks) && !view.model_based {
            delivered.rtt = None;
        }
        // Without SACK Linux waits for an ACK above that of all data before (RFC 6582, section 4.1).
        let waits = view.model_based && !self.has_sack && ack == self.high;
        if !self.remarks && self.state != State::Open && ack >= self.high && !waits {
            let again = self.state == State::Reducing && ack < self.lost_beyond;
            self.remark(at, Remark::Recovered, view.cwnd, view.cwnd);
            if again {
                self.remark(at, Remark::Recovery, at.view.cwnd, 0);
            }
        }
        delivered.in_flight = self.pipe(); // an undo brings back what was marked lost
        self.last_ack = now;
        self.usage.end_ack(self.filled_window());
        if self.flights == Flights::Window && self.board.flight() > 0 {
            let in_flight = self.filled_window();
            let receivable = self.receivable.saturating_sub(self.board.una() + self.board.sacked());
            self.after_ack = Some(Since { time: now, in_flight, receivable, begins: false, ends: false });
        }
        if reports && !reduces {
            self.report(at, &delivered, limit, estimate, raises);
        }
    }

    /// The marks since the last ACK, with Accurate ECN. The counter begins at five, with the ACKs of data (RFC 9768, section
    /// 3.2.2); the ACK of the handshake has another value in its place.
    fn count_marks(&mut self, ace: u8) -> u64 {
        if self.board.flight() == 0 {
            return 0;
        }
        let before = std::mem::replace(&mut self.ace, ace);
        u64::from(ace.wrapping_sub(before) & 0b111)
    }

    /// Without SACK a duplicate ACK delivers a segment, which no later one delivers again (Linux, tcp_add_reno_sack and
    /// tcp_remove_reno_sacks). An advance outside of recovery forgets them (tcp_reset_reno_sack). After a timeout those
    /// count that new data cause (tcp_process_loss), and never more than segments that are not marked lost
    /// (tcp_limit_reno_sacked).
    fn count_duplicates(&mut self, arrived: &Arrived<'_>, una: u64, delivered: &mut Delivered) {
        let mss = self.samples.mss;
        self.has_sack |= !arrived.sack.is_empty();
        if self.has_sack {
            return;
        }
        let segments = |bytes: u64| bytes.div_ceil(mss) as u32;
        if arrived.ack > una && delivered.bytes > 0 {
            let acked = segments(delivered.bytes);
            let reported = u64::from(self.reported.take_reported(acked)) * mss;
            delivered.bytes = delivered.bytes.saturating_sub(reported).max(1);
            delivered.rate.bytes = delivered.rate.bytes.saturating_sub(Bytes(reported));
            if self.state != State::Reducing {
                self.reported.clear_reported();
            }
        } else if arrived.ack == una && self.board.flight() > 0 && arrived.duplicates {
            let held = self.state != State::Open && una >= self.high; // tcp_try_undo_recovery
            if held || self.state == State::Loss && self.board.next() <= self.high {
                return;
            }
            let before = self.reported.delivered();
            let flight = segments(self.board.flight());
            let holes = (segments(self.board.lost()) + self.board.outstanding() as u32).max(1);
            if before + holes >= flight {
                self.reordering.set_degree(u64::from(flight));
            }
            self.reported.on_duplicate((flight + 1).saturating_sub(holes).max(1));
            delivered.bytes = u64::from(self.reported.delivered().saturating_sub(before)) * mss; // the limit may lower it
            self.samples.sampler.count(Bytes(delivered.bytes));
        }
    }

    /// The receive window has no space for another segment.
    fn receiver_limits(&self) -> bool {
        self.receivable.saturating_sub(self.board.next()) < self.samples.mss
    }

    /// The reduction that an ACK starts and the log does not name.
    fn begins(&self, arrived: &Arrived<'_>, lost: bool) -> Option<Remark> {
        let begins = if lost { Some(Remark::Recovery) } else { arrived.begins };
        let ends_at_once = begins == Some(Remark::Recovery) && arrived.ack >= self.board.next();
        begins.filter(|_| self.state == State::Open && !self.remarks && !ends_at_once)
    }

    /// What an ACK and the remarks about it say about the reductions of the window. `una` is SND.UNA before it; `lost`: it
    /// marks data lost. Returns whether a reduction is undone that the log does not name.
    fn react(
        &mut self,
        at: &mut Moment<'_>,
        arrived: &Arrived<'_>,
        una: u64,
        lost: bool,
        remarks: &[(Remark, (u64, u64))],
    ) -> bool {
        let undone = !self.remarks && self.undo(at, arrived, una);
        if let Some(remark) = self.begins(arrived, lost) {
            self.remark(at, remark, at.view.cwnd, 0);
        }
        for &(remark, (before, after)) in remarks {
            self.remark(at, remark, before, after);
        }
        undone
    }

    /// Reports an ACK of new data. `raises`: it acknowledges data cumulatively, or SACKs data on a path with a high degree
    /// of reordering (Linux, tcp_may_raise_cwnd). `estimate`: Linux would take the sender for limited by its window.
    fn report(&mut self, at: &mut Moment<'_>, delivered: &Delivered, limit: Limit, estimate: bool, raises: bool) {
        let Moment { event, now, view, .. } = *at;
        let reducing = self.state == State::Reducing;
        let recovering = reducing || !raises;
        let report = self.samples.ack(now, delivered, estimate, recovering);
        let mut step = Step::window(event, vec![vec![Report::Ack(report.clone())]], now);
        let unclear =
            if view.model_based { view.paced && self.flights == Flights::Window } else { limit == Limit::Unclear };
        if unclear && !recovering {
            let other = cwndlab_control::Ack { cwnd_limited: !estimate, ..report };
            step.alternatives.push(vec![Report::Ack(other)]);
        }
        let judged = !reducing || view.model_based;
        (step.acks, step.limit, step.recovering) = (u32::from(judged), Some(limit), reducing);
        at.out.push(Item::Step(step));
        if !judged {
            at.out.push(Item::Unjudged(1));
        }
        if limit == Limit::Application && !view.model_based {
            self.samples.sampler.set_app_limited(Bytes(self.board.in_flight()));
        }
    }

    /// Marks segments delivered, cumulatively and by SACK, and observes reordering. Returns whether a segment was SACKed,
    /// and the RTT of the first and the last segment that give a sample (Linux, tcp_clean_rtx_queue).
    fn deliver(&mut self, now: Time, ack: u64, sack: &[Span], delivered: &mut Delivered) -> (bool, RttRange) {
        let prior_fack = self.board.fack();
        let prior_sacked = self.board.sacked() > 0;
        // The lowest segments that were sent once and are newly acknowledged, and newly SACKed below others.
        let mut lowest = u64::MAX;
        let mut lowest_sacked = u64::MAX;
        let mut any_sacked = false;
        let mut oldest = None;
        let mut newest = None;
        let mut sacked_oldest = None;
        let mut sacked_newest = None;
        let sample = |one: &InFlight| Duration::from_nanos(now.saturating_since(one.segment.sent_at).as_nanos().max(1));
        let mut retransmitted = false;
        while let Some(one) = self.board.acknowledge(ack) {
            retransmitted |= one.retransmitted;
            if one.sacked {
                continue;
            }
            delivered.bytes += one.end - one.seq;
            if !one.retransmitted {
                lowest = lowest.min(one.seq);
                oldest = oldest.or(Some(sample(&one)));
                newest = Some(sample(&one));
            }
            self.samples.sampler.on_delivered(&one.segment, &mut delivered.rate);
        }
        self.board.advance(ack);
        let mut blocks: Vec<Span> = sack.iter().copied().filter(|block| block.0 > ack).collect();
        blocks.sort_unstable(); // Linux, tcp_sacktag_write_queue: in ascending order
        for block in blocks {
            self.board.sack(block, |one| {
                any_sacked = true;
                delivered.bytes += one.end - one.seq;
                if !one.retransmitted {
                    lowest_sacked =
                        if prior_sacked && one.seq < prior_fack { lowest_sacked.min(one.seq) } else { lowest_sacked };
                    sacked_oldest = sacked_oldest.or(Some(sample(one)));
                    sacked_newest = Some(sample(one));
                }
                self.samples.sampler.on_delivered(&one.segment, &mut delivered.rate);
            });
        }
        let lowest = if lowest < prior_fack && prior_sacked { lowest.min(lowest_sacked) } else { lowest_sacked };
        if lowest < u64::MAX {
            self.reordering.observe(lowest, self.board.fack(), self.samples.mss);
        }
        let first = if retransmitted { None } else { oldest }.or(sacked_oldest);
        (any_sacked, first.zip(sacked_newest.or(newest)))
    }

    /// The RTT sample of an ACK: that of the segment that was sent last. Where it acknowledges retransmitted segments, the
    /// timestamp that it echoes gives it (Linux, tcp_ack_update_rtt).
    fn sample_rtt(&mut self, now: Time, times: RttRange, echo: Option<Duration>) -> Option<Duration> {
        let (first, last) = times.or(echo.map(|echo| (echo, echo)))?;
        self.samples.rtt.sample(now, first, last);
        Some(last)
    }

    /// After a timeout the first advance lets new data be sent, at whose end the Loss ends (RFC 5682, section 2.1, step 2b;
    /// Linux, tcp_process_loss).
    fn step_frto(&mut self, advances: bool, ack: u64) {
        if !self.frto || self.state != State::Loss {
            return;
        }
        if self.board.next() > self.high {
            self.frto = advances; // step 3a: a duplicate, so that the loss was genuine
        } else if advances && ack < self.high {
            self.high = self.board.next();
        }
    }

    /// Without SACK: marks the first segment lost after as many duplicate ACKs as the degree of reordering, and after each
    /// advance during the recovery (Linux, tcp_newreno_mark_lost). Returns the bytes newly marked.
    fn mark_first_lost(&mut self, advances: bool) -> u64 {
        let lost = match self.state {
            State::Open => u64::from(self.reported.delivered()) >= self.reordering.degree(),
            State::Reducing => self.repairs && advances && self.board.una() < self.high,
            State::Loss => false,
        };
        if lost {
            self.board.mark_first_lost(1)
        } else {
            0
        }
    }

    /// Marks the segments lost that were sent before the most recently sent delivered one (RFC 8985, section 6.2). Until
    /// reordering is seen, there is no reordering window in recovery and from three SACKed segments on; then it is a
    /// quarter of the minimum RTT (Linux, tcp_rack_reo_wnd). Returns the bytes newly marked.
    fn mark_lost(&mut self, now: Time) -> u64 {
        let mut wait = Duration::ZERO;
        if self.reordering.is_seen() {
            let window = Duration::from_nanos(self.samples.rtt.min_or_max().as_nanos() / 4).min(self.samples.srtt());
            wait = now.saturating_since(self.board.newest_delivered()) + window;
        } else if self.state == State::Open && self.board.sacked() < DUP_THRESHOLD * self.samples.mss {
            return 0;
        }
        self.board.mark_lost(now, wait)
    }

    /// A change of the window by the transport. The logged windows before and after it are compared.
    fn remark(&mut self, at: &mut Moment<'_>, remark: Remark, before: u64, after: u64) {
        let view = at.view;
        let in_handshake = matches!(remark, Remark::Opened | Remark::Established);
        let compared = self.remarks && !in_handshake && (self.state != State::Reducing || view.model_based);
        if compared {
            at.check(before, None);
        }
        if in_handshake {
            return self.handshake(at, remark);
        }
        let (state, timed_out, reported) = (self.state, self.timed_out, self.reported.delivered());
        let alternatives = self.reaction(at.now, remark, after, view);
        if matches!(remark, Remark::Recovery | Remark::Ecn | Remark::Timeout) {
            self.retransmissions.begin(self.board.outstanding());
        }
        if matches!(remark, Remark::Timeout | Remark::Recovered | Remark::Undo) {
            self.reported.clear_reported();
        }
        if remark == Remark::Timeout {
            self.frto = state == State::Open || state == State::Loss && timed_out == self.timed_out;
        }
        if remark == Remark::Timeout && !self.has_sack {
            if state == State::Open {
                self.reordering.on_timeout(u64::from(reported));
            }
            self.newly_lost += self.board.mark_all_lost();
        }
        self.high = self.board.next();
        if !alternatives.is_empty() {
            at.step(alternatives);
        }
        if self.remarks && !view.model_based && remark != Remark::Timeout {
            at.check(after, None);
        }
    }
}

/// A change of the window by the transport.
fn window(now: Time, change: Change, cwnd: u64) -> Window {
    Window::new(now, change, Bytes(cwnd))
}
