//! The events of a QUIC sender (RFC 9002) from its log: packets sent, ACK frames, losses.

use std::collections::BTreeMap;

use cwndlab_control::{Cause, Change, Report, Window};
use cwndlab_transport::segment::Segment;
use cwndlab_units::{rto, Bytes, Duration, Time};

use crate::event::{Event, LoggedState, Metrics, Span, What};
use crate::item::{Item, Limit, Moment, Step, View};
use crate::limit::Usage;
use crate::samples::{Delivered, Samples};

/// Losses and ACK of one datagram may be logged in either order, within this time.
const SAME_DATAGRAM: Duration = Duration::from_nanos(1_000_000);
/// The same, of a log with finer times than milliseconds, where losses precede the ACK, and where ACK and metrics have one
/// time, as that of a stack whose clock is read once for a datagram: a timer found other losses.
const SAME_TIME: Duration = Duration::from_nanos(2_000);
/// RFC 9002, section 7.6.1: kPersistentCongestionThreshold.
const PERSISTENT_THRESHOLD: u64 = 3;
/// RFC 9002, section 6.1.1: kPacketThreshold.
const PACKET_THRESHOLD: u64 = 3;
/// RFC 9000, section 18.2: the default of max_ack_delay.
const MAX_ACK_DELAY: Duration = Duration::from_nanos(25_000_000);

/// An outstanding packet.
#[derive(Clone, Copy, Debug)]
struct Packet {
    segment: Segment,
    bytes: u64,
    number: u64,
    mtu_probe: bool,
}

/// An ACK frame and the losses that it caused, while further events of it may follow.
#[derive(Debug, Default)]
struct Pending {
    time: Time,
    acked: Vec<Packet>,
    lost: Vec<Packet>,
    prior_in_flight: u64,
    largest_newly_acked: bool,
    marked: bool,
    /// What limited the sender, and the estimate of Linux.
    limit: Option<(Limit, bool)>,
    /// Metrics were logged at the time of the ACK.
    has_metrics: bool,
}

impl Pending {
    fn lost_bytes(&self) -> u64 {
        self.lost.iter().map(|one| one.bytes).sum()
    }
}

/// The state of the sender.
#[derive(Debug)]
pub(crate) struct Quic {
    spaces: [BTreeMap<u64, Packet>; 3],
    largest_acked: [Option<u64>; 3],
    ce: [u64; 3],
    sent: u64,
    in_flight: u64,
    samples: Samples,
    usage: Usage,
    recovery_start: Option<Time>,
    /// Nothing that was sent after the start of the recovery is acknowledged.
    in_recovery: bool,
    /// The recovery may be none, but persistent congestion.
    may_be_persistent: bool,
    /// An ACK was processed.
    has_acked: bool,
    pending: Option<Pending>,
    /// The log says when the application limits the sender.
    logs_limits: bool,
    /// A window was logged since the last comparison.
    logged: bool,
    last_sent: Time,
    /// The log has no lost packets: they follow from the ACKs.
    infers_losses: bool,
    /// All times of the log are whole milliseconds.
    whole_ms: bool,
    /// Bytes lost without a report: by a timer, in a recovery.
    unreported_lost: u64,
    /// Packets that were logged as lost above the largest acknowledged one, each with its space, number, and the time.
    early_lost: Vec<(usize, u64, Time, Packet)>,
}

impl Quic {
    pub(crate) fn new(mss: u64, infers_losses: bool, whole_ms: bool) -> Self {
        Self {
            spaces: Default::default(),
            largest_acked: [None; 3],
            ce: [0; 3],
            sent: 0,
            in_flight: 0,
            samples: Samples::new(mss),
            usage: Usage::default(),
            recovery_start: None,
            in_recovery: false,
            may_be_persistent: false,
            has_acked: false,
            pending: None,
            logs_limits: false,
            logged: false,
            last_sent: Time::ZERO,
            infers_losses,
            whole_ms,
            unreported_lost: 0,
            early_lost: Vec::new(),
        }
    }

    /// Processes an event of the log.
    pub(crate) fn event(&mut self, number: usize, event: &Event, view: &View, out: &mut Vec<Item>) {
        let now = event.time;
        let at = &mut Moment { event: number, now, view, out };
        match &event.what {
            What::PacketSent { space, number, bytes, mtu_probe } => {
                self.flush(at);
                self.packet_sent(at, usize::from(*space), *number, *bytes, *mtu_probe);
            }
            What::AckFrame { space, ranges, ce } => {
                let most = self.time_before_ack();
                let joins = self.pending.as_ref().is_some_and(|one| {
                    one.acked.is_empty() && !one.lost.is_empty() && now.saturating_since(one.time) <= most
                });
                if !joins {
                    self.flush(at);
                }
                self.ack_frame(at, usize::from(*space), ranges, *ce);
            }
            What::PacketLost { space, number, mtu_probe } => {
                self.flush_before_loss(at);
                self.packet_lost(at, usize::from(*space), *number, *mtu_probe);
            }
            What::PacketsLost { largest, count } => {
                self.flush_before_loss(at);
                let below = self.spaces[2].range(..=*largest).rev().take(usize::try_from(*count).unwrap_or(usize::MAX));
                let mut numbers: Vec<u64> = below.map(|(number, _)| *number).collect();
                numbers.reverse();
                for number in numbers {
                    self.packet_lost(at, 2, number, false);
                }
            }
            What::Metrics(metrics) => self.metrics(now, metrics),
            What::State(state) => {
                self.usage.logged_limited = *state == LoggedState::AppLimited;
                self.logs_limits |= self.usage.logged_limited;
            }
            _ => {}
        }
    }

    /// A loss belongs to the pending ACK if it is of the same datagram.
    fn flush_before_loss(&mut self, at: &mut Moment<'_>) {
        let Some(pending) = &self.pending else { return };
        let most = if pending.has_metrics && !self.whole_ms { SAME_TIME } else { SAME_DATAGRAM };
        if at.now.saturating_since(pending.time) > most {
            self.flush(at);
        }
    }

    /// The log ends.
    pub(crate) fn end(&mut self, number: usize, now: Time, view: &View, out: &mut Vec<Item>) {
        let at = &mut Moment { event: number, now, view, out };
        self.flush(at);
        self.check(at);
    }

    fn metrics(&mut self, now: Time, metrics: &Metrics) {
        self.logged = true;
        if let Some(pending) = &mut self.pending {
            pending.has_metrics |= pending.time == now;
        }
        let known = &mut self.samples.logged;
        known.cwnd = metrics.cwnd.or(known.cwnd);
        known.ssthresh = metrics.ssthresh.or(known.ssthresh);
        known.srtt = metrics.srtt.or(known.srtt);
        known.min_rtt = metrics.min_rtt.or(known.min_rtt);
        known.latest_rtt = metrics.latest_rtt.or(known.latest_rtt);
    }

    fn check(&mut self, at: &mut Moment<'_>) {
        if !std::mem::take(&mut self.logged) {
            return;
        }
        if let Some(cwnd) = self.samples.logged.cwnd {
            at.check(cwnd, self.samples.logged.ssthresh);
        }
    }

    fn packet_sent(&mut self, at: &mut Moment<'_>, space: usize, number: u64, bytes: u64, mtu_probe: bool) {
        let now = at.now;
        if self.in_flight == 0
            && self.last_sent > Time::ZERO
            && self.recovery_start.is_none_or(|start| start < self.last_sent)
        {
            self.idle(at);
        }
        let segment = self.samples.sent(now, bytes, self.in_flight);
        let packet = Packet { segment, bytes, number: self.sent, mtu_probe };
        match self.spaces[space].insert(number, packet) {
            // The number stands twice: only the last packet can be acknowledged.
            Some(earlier) => self.in_flight -= earlier.bytes,
            None => self.sent += 1,
        }
        self.in_flight += bytes;
        self.last_sent = now;
        self.usage.on_sent(self.in_flight);
        if at.view.observes_sent {
            let sent = cwndlab_control::Sent {
                now,
                size: Bytes(bytes),
                in_flight: Bytes(self.in_flight),
                retransmission: false,
                app_limited: self.samples.sampler.is_app_limited(),
            };
            at.step(vec![vec![Report::Sent(sent)]]);
        }
    }

    /// RFC 9002 does not reset the window after an idle period, and permits it (section 7.8).
    fn idle(&mut self, at: &mut Moment<'_>) {
        let Moment { now, view, .. } = *at;
        let idle = now.saturating_since(self.last_sent);
        if view.model_based || idle <= self.samples.rtt.rto().max(rto::LINUX_MIN) {
            return;
        }
        let restart = Bytes(view.cwnd.min(10 * self.samples.mss));
        let window = |cwnd| Window { idle, ..Window::new(now, Change::Idle, cwnd) };
        let kept = Report::Window(window(Bytes(view.cwnd)));
        let reset = Report::Window(window(restart));
        at.step(vec![vec![], vec![kept], vec![reset]]);
    }

    fn open(&mut self, at: &mut Moment<'_>) -> &mut Pending {
        if self.pending.is_none() {
            self.check(at);
            let prior_in_flight = self.in_flight;
            self.pending = Some(Pending { time: at.now, prior_in_flight, ..Pending::default() });
        }
        self.pending.as_mut().expect("it was just created")
    }

    fn ack_frame(&mut self, at: &mut Moment<'_>, space: usize, ranges: &[Span], ce: u64) {
        let mut acked = Vec::new();
        let largest = ranges.iter().map(|one| one.1 - 1).max();
        let outstanding = &mut self.spaces[space];
        let mut largest_newly_acked = false;
        for &(first, end) in ranges {
            while let Some((&number, _)) = outstanding.range(first..end).next() {
                largest_newly_acked |= Some(number) == largest;
                acked.extend(outstanding.remove(&number));
            }
        }
        let marked = ce > self.ce[space];
        self.ce[space] = self.ce[space].max(ce);
        if acked.is_empty() {
            return;
        }
        acked.sort_unstable_by_key(|one| one.number);
        self.discard_keys(space, acked[acked.len() - 1].number);
        self.largest_acked[space] = self.largest_acked[space].max(largest);
        let bytes: u64 = acked.iter().map(|one| one.bytes).sum();
        let una = self.sent - self.spaces.iter().map(|one| one.len() as u64).sum::<u64>() - acked.len() as u64;
        let limit = self.usage.on_ack(una, self.sent, self.samples.mss, at.view);
        let pending = self.open(at);
        pending.time = at.now;
        pending.largest_newly_acked |= largest_newly_acked;
        pending.marked |= marked;
        pending.acked.extend(acked);
        pending.limit = Some(limit);
        self.in_flight -= bytes;
        self.take_early_losses(at.now, space);
        if self.infers_losses {
            self.infer_losses(at, space);
        }
    }

    /// RFC 9002, section 6.4: packets whose keys are discarded are no longer in flight. A server discards the Initial keys
    /// when a Handshake packet arrives, a client when it sends one (RFC 9001, section 4.9.1); an acknowledged 1-RTT packet
    /// confirms the handshake, which discards the Handshake keys (sections 4.1.2 and 4.9.2). 0-RTT packets have the space of
    /// 1-RTT ones, and their ACK confirms nothing: only packets sent before the `newest` acknowledged one are removed.
    fn discard_keys(&mut self, space: usize, newest: u64) {
        for earlier in &mut self.spaces[..space] {
            earlier.retain(|_, packet| {
                let remains = packet.number > newest;
                self.in_flight -= if remains { 0 } else { packet.bytes };
                remains
            });
        }
    }

    /// The losses of the pending ACK that the log has before it.
    fn take_early_losses(&mut self, now: Time, space: usize) {
        let most = self.time_before_ack();
        let largest = self.largest_acked[space];
        let Some(pending) = &mut self.pending else { return };
        for (lost_space, number, time, packet) in self.early_lost.drain(..) {
            if lost_space == space
                && largest.is_some_and(|largest| number < largest)
                && now.saturating_since(time) <= most
            {
                pending.prior_in_flight += packet.bytes;
                pending.lost.push(packet);
            }
        }
    }

    /// The time within which losses that are logged before an ACK are its own.
    fn time_before_ack(&self) -> Duration {
        if self.whole_ms {
            SAME_DATAGRAM
        } else {
            SAME_TIME
        }
    }

    /// RFC 9002, section 6.1: packets below the largest acknowledged one are lost by number, or by the time since their
    /// transmission.
    fn infer_losses(&mut self, at: &mut Moment<'_>, space: usize) {
        let Some(largest) = self.largest_acked[space] else { return };
        let latest = self.samples.logged.latest_rtt.unwrap_or(Duration::ZERO);
        let rtt = self.samples.srtt().max(latest).max(Duration::from_millis(1));
        let delay = Duration::from_nanos(rtt.as_nanos() + rtt.as_nanos() / 8);
        let below = self.spaces[space].range(..largest);
        let lost = below.filter(|(number, packet)| {
            **number + PACKET_THRESHOLD <= largest || packet.segment.sent_at + delay <= at.now
        });
        let numbers: Vec<u64> = lost.map(|(number, _)| *number).collect();
        for number in numbers {
            self.packet_lost(at, space, number, false);
        }
    }

    fn packet_lost(&mut self, at: &mut Moment<'_>, space: usize, number: u64, mtu_probe: bool) {
        let Some(packet) = self.spaces[space].remove(&number) else { return };
        // RFC 9000, section 14.4: the loss of a probe of the path MTU is no sign of congestion.
        if packet.mtu_probe || mtu_probe {
            self.in_flight -= packet.bytes;
            return;
        }
        // RFC 9002, section 6.1: only a packet below an acknowledged one is lost. Stacks log `packet_lost` also for the
        // packets that a probe timeout sends again, which are no congestion event (section 6.2), and some log the losses of
        // an ACK before it.
        if self.largest_acked[space].is_none_or(|largest| number > largest) {
            self.in_flight -= packet.bytes;
            self.early_lost.push((space, number, at.now, packet));
            return;
        }
        let pending = self.open(at);
        pending.lost.push(packet);
        self.in_flight -= packet.bytes;
    }

    /// Completes the pending ACK.
    fn flush(&mut self, at: &mut Moment<'_>) {
        let view = at.view;
        let Some(pending) = self.pending.take() else { return };
        self.sample(&pending);
        let newest_lost = pending.lost.iter().map(|one| one.segment.sent_at).max();
        let newest_acked = pending.acked.iter().map(|one| one.segment.sent_at).max();
        let news = |sent: Time| self.recovery_start.is_none_or(|start| sent > start);
        let lost = newest_lost.is_some_and(news);
        let marked = pending.marked && newest_acked.is_some_and(news);
        let was_recovering = self.recovery_start;
        let (before, after) = self.split(&pending);
        let mut step = Step::window(at.event, Vec::new(), pending.time);
        step.acks = u32::from(!pending.acked.is_empty());
        step.limit = pending.limit.map(|one| one.0);
        if lost || marked {
            let cause = if lost { Cause::Loss } else { Cause::Ecn };
            self.recovery_start = Some(pending.time);
            self.in_recovery = true;
            self.may_be_persistent = lost && self.is_persistent(&pending);
            step.alternatives = self.reduction(&pending, cause, view, after);
        } else if !pending.acked.is_empty() {
            step.recovering = was_recovering.is_some() && after == 0;
            let is_first = !std::mem::replace(&mut self.has_acked, true);
            step.alternatives = self.growth(&pending, before, after, view);
            if is_first && view.model_based {
                // That of the handshake, which to some stacks is an RTT sample only.
                let rtt = Some(self.samples.rtt.last());
                let window = Window { rtt, ..Window::new(pending.time, Change::Established, Bytes(view.cwnd)) };
                step.alternatives.push(vec![Report::Window(window)]);
            }
        } else {
            self.unreported_lost += pending.lost_bytes();
        }
        if !pending.acked.is_empty() {
            self.usage.end_ack(self.in_flight);
            let is_idle = pending.limit.is_some_and(|one| one.0 == Limit::Application);
            let limited = if self.logs_limits { self.usage.logged_limited } else { is_idle && !view.model_based };
            if limited || self.in_flight == 0 && !self.logs_limits {
                self.samples.sampler.set_app_limited(Bytes(self.in_flight));
            }
        }
        if !step.alternatives.is_empty() {
            at.out.push(Item::Step(step));
        }
    }

    /// RFC 9002, section 5: a sample where the largest acknowledged packet is newly acknowledged.
    fn sample(&mut self, pending: &Pending) {
        let (Some(oldest), Some(newest)) = (pending.acked.first(), pending.acked.last()) else { return };
        if pending.largest_newly_acked {
            let sample = |one: &Packet| {
                Duration::from_nanos(pending.time.saturating_since(one.segment.sent_at).as_nanos().max(1))
            };
            self.samples.rtt.sample(pending.time, sample(oldest), sample(newest));
        }
        self.samples.sampler.count_round(newest.number + 1, self.sent);
    }

    /// Acknowledged bytes that were sent before and after the start of the recovery period (RFC 9002, section 7.3.2).
    fn split(&self, pending: &Pending) -> (u64, u64) {
        let Some(start) = self.recovery_start else {
            return (0, pending.acked.iter().map(|one| one.bytes).sum());
        };
        let mut before = 0;
        let mut after = 0;
        for one in &pending.acked {
            *if one.segment.sent_at > start { &mut after } else { &mut before } += one.bytes;
        }
        (before, after)
    }

    fn delivered(&mut self, pending: &Pending, bytes: u64) -> Delivered {
        let rtt = pending.acked.last().filter(|_| pending.largest_newly_acked);
        let mut delivered = Delivered {
            bytes,
            prior_in_flight: pending.prior_in_flight,
            in_flight: self.in_flight,
            lost: pending.lost_bytes() + std::mem::take(&mut self.unreported_lost),
            ce: if pending.marked { self.samples.mss } else { 0 },
            rtt: rtt
                .map(|one| Duration::from_nanos(pending.time.saturating_since(one.segment.sent_at).as_nanos().max(1))),
            ..Delivered::default()
        };
        for packet in &pending.acked {
            self.samples.sampler.on_delivered(&packet.segment, &mut delivered.rate);
        }
        delivered
    }

    /// The sequences of an ACK. `before` and `after`: its bytes that were sent before and after the start of the recovery
    /// period.
    fn growth(&mut self, pending: &Pending, before: u64, after: u64, view: &View) -> Vec<Vec<Report>> {
        let (limit, estimate) = pending.limit.unwrap_or((Limit::Window, true));
        let mut whole = self.delivered(pending, before + after);
        let mut first = Vec::new();
        if before > 0 && after > 0 && !view.model_based {
            // Packets of the recovery period do not increase the window of an algorithm without a model.
            let part = Delivered {
                bytes: before,
                rate: cwndlab_transport::rate_sample::RateSample::default(),
                ..whole.clone()
            };
            first.push(Report::Ack(self.samples.ack(pending.time, &part, estimate, true)));
            whole.bytes = after;
        }
        let recovering = after == 0;
        let ack = self.samples.ack(pending.time, &whole, estimate, recovering);
        let with = |limited: bool| {
            let mut all = first.clone();
            all.push(Report::Ack(cwndlab_control::Ack { cwnd_limited: limited, ..ack.clone() }));
            all
        };
        let alternatives = match limit {
            _ if view.model_based && self.logs_limits => vec![with(!self.usage.logged_limited)],
            Limit::Window => vec![with(true)],
            Limit::Application => vec![with(false)],
            Limit::Unclear if recovering || view.model_based => vec![with(estimate)],
            Limit::Unclear => vec![with(estimate), with(!estimate)],
        };
        if after == 0 || !std::mem::take(&mut self.in_recovery) || !view.model_based {
            return alternatives;
        }
        let recovered = Report::Window(Window::new(pending.time, Change::Recovered, Bytes(view.cwnd)));
        let mut all: Vec<Vec<Report>> =
            alternatives.iter().map(|one| [vec![recovered.clone()], one.clone()].concat()).collect();
        // RFC 9002, appendix B.8: persistent congestion ends the recovery.
        if self.may_be_persistent {
            all.extend(alternatives);
        }
        all
    }

    /// The sequences of a congestion event. RFC 9438 (section 4.6) reduces FlightSize and permits the window, RFC 9002
    /// (section 7.3.2) reduces the window; the ACK that reports the loss may count before it. `after`: as in [`growth`](Self::growth).
    fn reduction(&mut self, pending: &Pending, cause: Cause, view: &View, after: u64) -> Vec<Vec<Report>> {
        let lost = pending.lost_bytes();
        let flight = self.in_flight + lost;
        let bytes = pending.acked.iter().map(|one| one.bytes).sum();
        let delivered = self.delivered(pending, bytes);
        let (_, estimate) = pending.limit.unwrap_or((Limit::Window, true));
        let ack = (bytes > 0).then(|| self.samples.ack(pending.time, &delivered, estimate, true));
        let growth = ack
            .as_ref()
            .filter(|_| after > 0 && !view.model_based)
            .map(|ack| Report::Ack(cwndlab_control::Ack { acked: Bytes(after), recovering: false, ..ack.clone() }));
        let recovering = ack.map(Report::Ack);
        let event = |cause, flight| Report::Congestion(self.samples.congestion(pending.time, cause, flight, lost));
        let sizes = [pending.prior_in_flight, view.cwnd.max(pending.prior_in_flight), flight];
        let mut all: Vec<Vec<Report>> = Vec::new();
        for size in sizes {
            all.push([event(cause, size)].into_iter().chain(recovering.clone()).collect());
        }
        if let Some(growth) = growth {
            // The window after the ACK: in slow start it has grown by the acknowledged bytes.
            let grown = view.cwnd + if view.slow_start { after } else { 0 };
            all.extend([sizes[0], sizes[1], sizes[2], grown].map(|size| vec![growth.clone(), event(cause, size)]));
        }
        if cause == Cause::Loss && self.is_persistent(pending) {
            // A model receives the ACK with its losses, too.
            let ack = recovering.filter(|_| view.model_based);
            all.push([event(Cause::Timeout, view.cwnd)].into_iter().chain(ack).collect());
        }
        all
    }

    /// RFC 9002, section 7.6: the lost packets span more than the persistent congestion duration. Whether all packets
    /// between them were lost is not checked, so that this is a possibility only.
    fn is_persistent(&self, pending: &Pending) -> bool {
        let times = || pending.lost.iter().map(|one| one.segment.sent_at);
        let (Some(first), Some(last)) = (times().min(), times().max()) else { return false };
        let timeout = self.samples.rtt.rto() + MAX_ACK_DELAY;
        self.samples.srtt() > Duration::ZERO
            && last - first >= Duration::from_nanos(timeout.as_nanos().saturating_mul(PERSISTENT_THRESHOLD))
    }
}

#[cfg(test)]
mod tests;
