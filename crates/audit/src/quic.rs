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
    pending: Option<Pending>,
    /// A window was logged since the last comparison.
    logged: bool,
    last_sent: Time,
    /// The log has no lost packets: they follow from the ACKs.
    infers_losses: bool,
}

impl Quic {
    pub(crate) fn new(mss: u64, infers_losses: bool) -> Self {
        Self {
            spaces: Default::default(),
            largest_acked: [None; 3],
            ce: [0; 3],
            sent: 0,
            in_flight: 0,
            samples: Samples::new(mss),
            usage: Usage::default(),
            recovery_start: None,
            pending: None,
            logged: false,
            last_sent: Time::ZERO,
            infers_losses,
        }
    }

    /// Processes an event of the log.
    pub(crate) fn event(&mut self, number: usize, event: &Event, view: &View, out: &mut Vec<Item>) {
        let now = event.time;
        let at = &mut Moment { event: number, now, view, out };
        match &event.what {
            What::PacketSent { space, number, bytes } => {
                self.flush(at);
                self.packet_sent(at, usize::from(*space), *number, *bytes);
            }
            What::AckFrame { space, ranges, ce } => {
                let joins = self.pending.as_ref().is_some_and(|one| {
                    one.acked.is_empty() && !one.lost.is_empty() && now.saturating_since(one.time) <= SAME_DATAGRAM
                });
                if !joins {
                    self.flush(at);
                }
                self.ack_frame(at, usize::from(*space), ranges, *ce);
            }
            What::PacketLost { space, number } => {
                if self.pending.as_ref().is_some_and(|one| now.saturating_since(one.time) > SAME_DATAGRAM) {
                    self.flush(at);
                }
                self.packet_lost(at, usize::from(*space), *number);
            }
            What::PacketsLost { largest, count } => {
                if self.pending.as_ref().is_some_and(|one| now.saturating_since(one.time) > SAME_DATAGRAM) {
                    self.flush(at);
                }
                let below = self.spaces[2].range(..=*largest).rev().take(usize::try_from(*count).unwrap_or(usize::MAX));
                let mut numbers: Vec<u64> = below.map(|(number, _)| *number).collect();
                numbers.reverse();
                for number in numbers {
                    self.packet_lost(at, 2, number);
                }
            }
            What::Metrics(metrics) => self.metrics(metrics),
            What::State(state) => self.usage.logged_limited = *state == LoggedState::AppLimited,
            _ => {}
        }
    }

    /// The log ends.
    pub(crate) fn end(&mut self, number: usize, now: Time, view: &View, out: &mut Vec<Item>) {
        let at = &mut Moment { event: number, now, view, out };
        self.flush(at);
        self.check(at);
    }

    fn metrics(&mut self, metrics: &Metrics) {
        self.logged = true;
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

    fn packet_sent(&mut self, at: &mut Moment<'_>, space: usize, number: u64, bytes: u64) {
        let now = at.now;
        if self.in_flight == 0
            && self.last_sent > Time::ZERO
            && self.recovery_start.is_none_or(|start| start < self.last_sent)
        {
            self.idle(at);
        }
        let segment = self.samples.sent(now, bytes, self.in_flight);
        let packet = Packet { segment, bytes, number: self.sent };
        if self.spaces[space].insert(number, packet).is_none() {
            self.in_flight += bytes;
            self.sent += 1;
        }
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
        if self.infers_losses {
            self.infer_losses(at, space);
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
            self.packet_lost(at, space, number);
        }
    }

    fn packet_lost(&mut self, at: &mut Moment<'_>, space: usize, number: u64) {
        let Some(packet) = self.spaces[space].remove(&number) else { return };
        // RFC 9002, section 6.1: only a packet below an acknowledged one is lost. Stacks log `packet_lost` also for the
        // packets that a probe timeout sends again, which are no congestion event (section 6.2).
        if self.largest_acked[space].is_none_or(|largest| number > largest) {
            self.in_flight -= packet.bytes;
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
            step.alternatives = self.reduction(&pending, cause, view, after);
        } else if !pending.acked.is_empty() {
            step.recovering = was_recovering.is_some() && after == 0;
            step.alternatives = self.growth(&pending, before, after, view);
        }
        if !pending.acked.is_empty() {
            self.usage.end_ack(self.in_flight);
            let limited = pending.limit.is_some_and(|one| one.0 == Limit::Application);
            if limited && !view.model_based || self.in_flight == 0 {
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
            lost: pending.lost.iter().map(|one| one.bytes).sum(),
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
        if before > 0 && after > 0 {
            // Packets of the recovery period do not increase the window.
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
        match limit {
            Limit::Window => vec![with(true)],
            Limit::Application => vec![with(false)],
            Limit::Unclear if recovering || view.model_based => vec![with(estimate)],
            Limit::Unclear => vec![with(estimate), with(!estimate)],
        }
    }

    /// The sequences of a congestion event. RFC 9438 (section 4.6) reduces FlightSize and permits the window, RFC 9002
    /// (section 7.3.2) reduces the window; the ACK that reports the loss may count before it. `after`: as in [`growth`](Self::growth).
    fn reduction(&mut self, pending: &Pending, cause: Cause, view: &View, after: u64) -> Vec<Vec<Report>> {
        let lost: u64 = pending.lost.iter().map(|one| one.bytes).sum();
        let flight = self.in_flight + lost;
        let bytes = pending.acked.iter().map(|one| one.bytes).sum();
        let delivered = self.delivered(pending, bytes);
        let (_, estimate) = pending.limit.unwrap_or((Limit::Window, true));
        let ack = (bytes > 0).then(|| self.samples.ack(pending.time, &delivered, estimate, true));
        let growth = ack
            .as_ref()
            .filter(|_| after > 0)
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
            all.push(vec![event(Cause::Timeout, view.cwnd)]);
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
