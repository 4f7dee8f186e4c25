//! The stream as `quinn` would call its controller, and the adapter's answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cwndlab_control::{Ack, Algorithm, Cause, Change, Congestion, CongestionControl, Sent, Window};
use cwndlab_quic::{Adapter, Factory, UnsupportedAlgorithm};
use cwndlab_units::Time;
use quinn_proto::congestion::Controller;

use crate::backend::{Answer, Replayed};
use crate::event_log::{take_entries, EventLog, Recorder, Reported, SharedEntries};

/// Bytes of a handshake, whose acknowledgement gives the first RTT.
const HANDSHAKE: u64 = 1200;

/// A packet that is out.
#[derive(Clone, Copy, Debug)]
struct Packet {
    at: Time,
    size: u64,
    again: bool,
    number: u64,
}

/// The stack: which packets are out, and what is lost.
struct Stack {
    adapter: Adapter,
    base: Instant,
    out: Vec<Packet>,
    sent: u64,
    /// Bytes called lost that no report has told yet.
    called: u64,
    /// The window before the event at hand.
    cwnd: u64,
    mss: u64,
    /// The record's smoothed RTT.
    srtt: u64,
}

/// What a replay changes of `quinn`'s calls, to prove that it is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spoil {
    /// Nothing.
    #[default]
    Nothing,
    /// Every tenth packet is acknowledged half.
    HalfAcks,
    /// Packets seem to have left a millisecond sooner.
    Sooner,
    /// Losses are not told.
    NoLosses,
}

/// Replays the log through an adapter of its own.
///
/// # Errors
///
/// The algorithm does not run over QUIC.
pub fn replay(algorithm: &Algorithm, log: &EventLog) -> Result<Replayed, UnsupportedAlgorithm> {
    Factory::new(algorithm)?;
    let (one, path) = (algorithm.clone(), log.path.clone());
    let make = move || one.build(&path);
    Ok(replay_on(log, algorithm.growth.spec.model_based, Arc::new(make), Spoil::Nothing))
}

/// The same with a control made elsewhere, and calls spoiled.
#[must_use]
pub fn replay_on(
    log: &EventLog,
    model_based: bool,
    make: Arc<dyn Fn() -> Box<dyn CongestionControl> + Send + Sync>,
    spoil: Spoil,
) -> Replayed {
    let entries = SharedEntries::default();
    let kept = Arc::clone(&entries);
    // The path of the record, that all backends begin alike; what the adapter makes of its own is tested where it stands.
    let maker = move |_: &_| Box::new(Recorder::new(make(), Arc::clone(&kept))) as Box<dyn CongestionControl>;
    let mss = log.path.mss.0;
    let factory = Factory::from_constructor("replayed", model_based, Arc::new(maker))
        .with_initial_window_packets(log.path.initial_cwnd.0 / mss);
    let base = origin();
    let adapter = factory.adapter(base, mss as u16);
    let mut stack =
        Stack { adapter, base, out: Vec::new(), sent: 0, called: 0, cwnd: log.path.initial_cwnd.0, mss, srtt: 0 };
    let mut replayed = Replayed::default();
    let mut held = None;
    for (at, entry) in log.entries.iter().enumerate() {
        match &entry.told {
            Reported::Sent(sent) => stack.sent(sent),
            Reported::Ack(ack) => stack.ack(ack, held.take(), spoil),
            // The stack acknowledges first and looks for losses then.
            Reported::Congestion(event) if ack_follows(log, at) => {
                held = Some(event);
                replayed.joined.push(at);
                continue;
            }
            Reported::Congestion(event) => stack.timer(event),
            Reported::Window(window) => stack.window(window),
        }
        let window = stack.adapter.window() - 1;
        stack.cwnd = entry.cwnd.0;
        replayed.told.extend(take_entries(&entries).into_iter().map(|one| (at, one.told)));
        if held.is_none() && !matches!(entry.told, Reported::Sent(_)) {
            replayed.answers.push(Answer { at, segments: window / mss, least: 2 });
        }
    }
    replayed
}

/// Where time begins: only differences count.
#[allow(clippy::disallowed_methods, reason = "an Instant can be had nowhere else; no answer depends on it")]
fn origin() -> Instant {
    Instant::now()
}

/// The ACK that brought the congestion comes next.
fn ack_follows(log: &EventLog, at: usize) -> bool {
    let now = log.entries[at].told.now();
    let mut rest = log.entries[at + 1..].iter().take_while(|one| one.told.now() == now);
    matches!(rest.find(|one| !matches!(one.told, Reported::Window(_))), Some(one) if matches!(one.told, Reported::Ack(_)))
}

impl Stack {
    fn instant(&self, at: Time) -> Instant {
        self.base + Duration::from_nanos(at.0)
    }

    fn sent(&mut self, sent: &Sent) {
        let (now, size) = (sent.now, sent.size.0);
        self.adapter.on_sent(self.instant(now), size, self.sent);
        self.out.push(Packet { at: now, size, again: sent.retransmission, number: self.sent });
        self.sent += 1;
    }

    /// The packets that an ACK newly acknowledges: the one that gave the RTT sample, and those before it; without a sample
    /// what was sent again.
    fn pick(&mut self, ack: &Ack) -> Vec<Packet> {
        let left_at = ack.rtt.map(|rtt| ack.now - rtt);
        let newest = match left_at {
            Some(at) => self.out.iter().rposition(|one| one.at == at && !one.again),
            None => self.out.iter().position(|one| one.again),
        };
        let Some(newest) = newest.or(self.out.len().checked_sub(1)) else { return Vec::new() };
        if let Some(packets) = self.in_order(ack, left_at) {
            return packets;
        }
        let mut picked = Vec::new();
        let mut bytes = 0;
        let before = (0..=newest).rev();
        let after = newest + 1..self.out.len();
        for index in before.chain(after) {
            if bytes >= ack.acked.0 {
                break;
            }
            bytes += self.out[index].size;
            picked.push(index);
        }
        self.reach_back(ack, &mut picked);
        picked.sort_unstable();
        let packets = picked.iter().map(|index| self.out[*index]).collect();
        for index in picked.iter().rev() {
            self.out.remove(*index);
        }
        packets
    }

    /// An ACK with a hole below its newest packet: the oldest that it acknowledges is the one that the smoothed RTT tells of.
    fn reach_back(&self, ack: &Ack, picked: &mut [usize]) {
        let smoothed = |index: usize| {
            let sample = (ack.now - self.out[index].at).0;
            if self.srtt == 0 {
                sample.max(1)
            } else {
                (self.srtt - (self.srtt >> 3) + (sample >> 3)).max(1)
            }
        };
        let Some(last) = picked.last_mut().filter(|last| smoothed(**last) != ack.srtt.0) else { return };
        if let Some(oldest) = (0..*last).rev().find(|index| smoothed(*index) == ack.srtt.0) {
            *last = oldest;
        }
    }

    /// The oldest packets, where the sample is of the last of them: of those that left at one time it may be any.
    fn in_order(&mut self, ack: &Ack, left_at: Option<Time>) -> Option<Vec<Packet>> {
        let mut bytes = 0;
        let count = 1 + self.out.iter().position(|one| {
            bytes += one.size;
            bytes >= ack.acked.0
        })?;
        let fits = left_at.is_some() && self.out.get(count - 1).map(|one| one.at) == left_at;
        fits.then(|| self.out.drain(..count).collect())
    }

    /// Takes so many bytes of packets that are lost, and gives when the newest of them left.
    fn lose(&mut self, bytes: u64) -> Time {
        let mut lost = 0;
        let mut newest = Time::ZERO;
        while lost < bytes && !self.out.is_empty() {
            let one = self.out.remove(0);
            lost += one.size;
            newest = one.at;
        }
        newest
    }

    fn ack(&mut self, ack: &Ack, held: Option<&Congestion>, spoil: Spoil) {
        let now = self.instant(ack.now);
        let packets = self.pick(ack);
        // Short of data, and room in the window when the sender stopped.
        let idle = ack.app_limited && ack.prior_in_flight.0 + self.mss <= self.cwnd;
        for packet in &packets {
            let half = spoil == Spoil::HalfAcks && packet.number % 10 == 0;
            let sooner = if spoil == Spoil::Sooner { 1_000_000 } else { 0 };
            let sent = self.instant(Time(packet.at.0.saturating_sub(sooner)));
            self.adapter.on_packet_acked(sent, if half { packet.size / 2 } else { packet.size }, idle);
        }
        self.srtt = ack.srtt.0;
        let lost = ack.lost.0.saturating_sub(std::mem::take(&mut self.called));
        let largest = packets.last().map(|one| one.number);
        self.adapter.on_end_acks(now, ack.in_flight.0 + lost, idle, largest);
        if lost > 0 && spoil != Spoil::NoLosses {
            let newest = self.lose(lost);
            self.adapter.on_congestion_event(now, self.instant(newest), false, lost);
        }
        let marked = ack.ce.0 > 0 || held.is_some_and(|event| event.cause == Cause::Ecn);
        if let Some(newest) = packets.last().filter(|_| marked) {
            self.adapter.on_congestion_event(now, self.instant(newest.at), false, 0);
        }
    }

    /// A timer found losses, or nothing came back for long.
    fn timer(&mut self, event: &Congestion) {
        let now = self.instant(event.now);
        let persistent = event.cause == Cause::Timeout;
        let lost = if persistent { event.in_flight } else { event.lost }.0.max(self.mss);
        let newest = self.lose(lost);
        self.called += lost;
        self.adapter.on_congestion_event(now, self.instant(newest), persistent, lost);
    }

    fn window(&mut self, window: &Window) {
        // Of the others quinn tells nothing.
        if window.change != Change::Established {
            return;
        }
        let rtt = window.rtt.unwrap_or_default();
        self.srtt = rtt.0;
        let sent = self.instant(window.now - rtt);
        self.adapter.on_sent(sent, HANDSHAKE, self.sent);
        self.sent += 1;
        self.adapter.on_packet_acked(sent, HANDSHAKE, true);
        self.adapter.on_end_acks(self.instant(window.now), 0, true, Some(0));
    }
}
