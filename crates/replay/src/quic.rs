//! Replay through the QUIC adapter: the events as calls of `quinn`'s controller, and the adapter's windows.

use std::time::{Duration, Instant};

use cwndlab_control::{Ack, Algorithm, Cause, Change, Congestion, Constructor, Report, Sent, Window};
use cwndlab_quic::{Adapter, Factory};
use cwndlab_units::{Fault, Time};
use quinn_proto::congestion::Controller;

use crate::backend::{Replayed, ReplayedWindow};
use crate::event_log::{take_entries, EventLog, Recorder, SharedEntries};

/// Size of the handshake packet in bytes; its acknowledgement gives the first RTT sample.
const HANDSHAKE: u64 = 1200;

/// An outstanding packet.
#[derive(Clone, Copy, Debug)]
struct Packet {
    at: Time,
    size: u64,
    retransmission: bool,
    number: u64,
}

/// The state of the QUIC stack.
struct Stack {
    adapter: Adapter,
    base: Instant,
    outstanding: Vec<Packet>,
    sent: u64,
    /// Bytes declared lost by the timer that no recorded ACK has reported yet.
    declared_lost: u64,
    /// Window before the current event.
    cwnd: u64,
    mss: u64,
    /// SRTT of the record, ns.
    srtt: u64,
}

/// A fault injected into the calls of `quinn`, which the comparison must detect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InjectedFault {
    /// No fault.
    #[default]
    None,
    /// Only half of every tenth packet is acknowledged.
    HalfAcks,
    /// Sending times are a millisecond too early.
    EarlySendTimes,
    /// Losses are not reported.
    NoLosses,
}

/// Replays the log through a new adapter.
///
/// # Errors
///
/// The algorithm is not available over QUIC.
pub fn replay(algorithm: &Algorithm, log: &EventLog) -> Result<Replayed, Fault> {
    Factory::new(algorithm)?;
    Ok(replay_on(log, algorithm, InjectedFault::None))
}

/// Replays the log through a new adapter, with an injected fault.
#[must_use]
pub fn replay_on(log: &EventLog, algorithm: &Algorithm, fault: InjectedFault) -> Replayed {
    let entries = SharedEntries::default();
    // The recorded path gives all backends the same initial state. The adapter's own path is tested in its crate.
    let one = algorithm.clone();
    let path = log.path.clone();
    let shared = SharedEntries::clone(&entries);
    let constructor = Constructor::new(move |_| Recorder::wrap(one.build(&path), &shared));
    let mss = log.path.mss.0;
    let factory = Factory::from_constructor("replayed", algorithm.is_model_based(), constructor)
        .with_initial_window_packets(log.path.initial_cwnd.0 / mss);
    let base = origin();
    let adapter = factory.adapter(base, mss as u16);
    let mut stack = Stack {
        adapter,
        base,
        outstanding: Vec::new(),
        sent: 0,
        declared_lost: 0,
        cwnd: log.path.initial_cwnd.0,
        mss,
        srtt: 0,
    };
    let mut replayed = Replayed::default();
    let mut held = None;
    for (at, entry) in log.entries.iter().enumerate() {
        match &entry.event {
            Report::Sent(sent) => stack.sent(sent),
            Report::Ack(ack) => stack.ack(ack, held.take(), fault),
            // The stack processes acknowledgements before losses.
            Report::Congestion(event) if ack_follows(log, at) => {
                held = Some(event);
                replayed.joined.push(at);
                continue;
            }
            Report::Congestion(event) => stack.timer(event),
            Report::Window(window) => stack.window(window),
        }
        let window = stack.adapter.window() - 1;
        stack.cwnd = entry.cwnd.0;
        replayed.events.extend(take_entries(&entries).into_iter().map(|one| (at, one.event)));
        if held.is_none() && !matches!(entry.event, Report::Sent(_)) {
            replayed.windows.push(ReplayedWindow { at, segments: window / mss, min_segments: 2 });
        }
    }
    replayed
}

/// The origin of time; only differences matter.
#[allow(clippy::disallowed_methods, reason = "the only way to create an Instant; no result depends on it")]
fn origin() -> Instant {
    Instant::now()
}

/// Whether the ACK that caused the congestion event is the next event at the same time.
fn ack_follows(log: &EventLog, at: usize) -> bool {
    let now = log.entries[at].event.now();
    let mut rest = log.entries[at + 1..].iter().take_while(|one| one.event.now() == now);
    matches!(rest.find(|one| !matches!(one.event, Report::Window(_))), Some(one) if matches!(one.event, Report::Ack(_)))
}

impl Stack {
    fn instant(&self, at: Time) -> Instant {
        self.base + Duration::from_nanos(at.as_nanos())
    }

    fn sent(&mut self, sent: &Sent) {
        let now = sent.now;
        let size = sent.size.0;
        self.adapter.on_sent(self.instant(now), size, self.sent);
        self.outstanding.push(Packet { at: now, size, retransmission: sent.retransmission, number: self.sent });
        self.sent += 1;
    }

    /// Removes the packets that an ACK newly acknowledges: the packet of the RTT sample and earlier ones; without a
    /// sample a retransmission.
    fn newly_acked(&mut self, ack: &Ack) -> Vec<Packet> {
        let left_at = ack.rtt.map(|rtt| ack.now - rtt);
        let newest = match left_at {
            Some(at) => self.outstanding.iter().rposition(|one| one.at == at && !one.retransmission),
            None => self.outstanding.iter().position(|one| one.retransmission),
        };
        let Some(newest) = newest.or(self.outstanding.len().checked_sub(1)) else { return Vec::new() };
        if let Some(packets) = self.in_order(ack, left_at) {
            return packets;
        }
        let mut picked = Vec::new();
        let mut bytes = 0;
        let before = (0..=newest).rev();
        let after = newest + 1..self.outstanding.len();
        for index in before.chain(after) {
            if bytes >= ack.acked.0 {
                break;
            }
            bytes += self.outstanding[index].size;
            picked.push(index);
        }
        self.match_srtt(ack, &mut picked);
        picked.sort_unstable();
        let packets = picked.iter().map(|index| self.outstanding[*index]).collect();
        for index in picked.iter().rev() {
            self.outstanding.remove(*index);
        }
        packets
    }

    /// Corrects the oldest packet of an ACK with a hole below its newest packet: the recorded SRTT determines it.
    fn match_srtt(&self, ack: &Ack, picked: &mut [usize]) {
        let smoothed = |index: usize| {
            let sample = (ack.now - self.outstanding[index].at).as_nanos();
            if self.srtt == 0 {
                sample.max(1)
            } else {
                (self.srtt - (self.srtt >> 3) + (sample >> 3)).max(1)
            }
        };
        let Some(last) = picked.last_mut().filter(|last| smoothed(**last) != ack.srtt.as_nanos()) else { return };
        if let Some(oldest) = (0..*last).rev().find(|index| smoothed(*index) == ack.srtt.as_nanos()) {
            *last = oldest;
        }
    }

    /// Removes the oldest packets if the RTT sample is that of the last of them. Packets sent at the same time are
    /// equivalent.
    fn in_order(&mut self, ack: &Ack, left_at: Option<Time>) -> Option<Vec<Packet>> {
        let mut bytes = 0;
        let count = 1 + self.outstanding.iter().position(|one| {
            bytes += one.size;
            bytes >= ack.acked.0
        })?;
        let fits = left_at.is_some() && self.outstanding.get(count - 1).map(|one| one.at) == left_at;
        fits.then(|| self.outstanding.drain(..count).collect())
    }

    /// Removes lost packets with a total of `bytes`; returns the sending time of the newest.
    fn lose(&mut self, bytes: u64) -> Time {
        let mut lost = 0;
        let mut newest = Time::ZERO;
        while lost < bytes && !self.outstanding.is_empty() {
            let one = self.outstanding.remove(0);
            lost += one.size;
            newest = one.at;
        }
        newest
    }

    fn ack(&mut self, ack: &Ack, held: Option<&Congestion>, fault: InjectedFault) {
        let now = self.instant(ack.now);
        let packets = self.newly_acked(ack);
        // Application-limited, with room for a segment in the window.
        let idle = ack.app_limited && ack.prior_in_flight.0 + self.mss <= self.cwnd;
        for packet in &packets {
            let half = fault == InjectedFault::HalfAcks && packet.number % 10 == 0;
            let early = if fault == InjectedFault::EarlySendTimes { 1_000_000 } else { 0 };
            let sent = self.instant(Time::from_nanos(packet.at.as_nanos().saturating_sub(early)));
            self.adapter.on_packet_acked(sent, if half { packet.size / 2 } else { packet.size }, idle);
        }
        self.srtt = ack.srtt.as_nanos();
        let lost = ack.lost.0.saturating_sub(std::mem::take(&mut self.declared_lost));
        let largest = packets.last().map(|one| one.number);
        self.adapter.on_end_acks(now, ack.in_flight.0 + lost, idle, largest);
        if lost > 0 && fault != InjectedFault::NoLosses {
            let newest = self.lose(lost);
            self.adapter.on_congestion_event(now, self.instant(newest), false, lost);
        }
        let marked = ack.ce.0 > 0 || held.is_some_and(|event| event.cause == Cause::Ecn);
        if let Some(newest) = packets.last().filter(|_| marked) {
            self.adapter.on_congestion_event(now, self.instant(newest.at), false, 0);
        }
    }

    /// A loss detected by a timer, or persistent congestion.
    fn timer(&mut self, event: &Congestion) {
        let now = self.instant(event.now);
        let persistent = event.cause == Cause::Timeout;
        let lost = if persistent { event.in_flight } else { event.lost }.0.max(self.mss);
        let newest = self.lose(lost);
        self.declared_lost += lost;
        self.adapter.on_congestion_event(now, self.instant(newest), persistent, lost);
    }

    fn window(&mut self, window: &Window) {
        // quinn does not report the other changes.
        if window.change != Change::Established {
            return;
        }
        let rtt = window.rtt.unwrap_or_default();
        self.srtt = rtt.as_nanos();
        let sent = self.instant(window.now - rtt);
        self.adapter.on_sent(sent, HANDSHAKE, self.sent);
        self.sent += 1;
        self.adapter.on_packet_acked(sent, HANDSHAKE, true);
        self.adapter.on_end_acks(self.instant(window.now), 0, true, Some(0));
    }
}
