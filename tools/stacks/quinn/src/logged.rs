//! A controller that delegates to one of quinn and logs its calls. quinn's own qlog (feature `qlog` of quinn-proto
//! 0.11.19) has no ACK frames.

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use stack_log::{Event, Log, Metrics, Space};

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Outstanding,
    Acked,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    time: Instant,
    /// Its number, or that of the last packet in its datagram.
    number: u64,
    bytes: u64,
    fate: Fate,
}

/// The calls of a connection. Its calls name packets by time and size; the log numbers them in the order of sending.
#[derive(Debug, Default)]
pub struct Record {
    start: Option<Instant>,
    sent: Vec<Sent>,
    /// Packets before this one have a fate.
    oldest: usize,
    /// Packets of the ACK frame in progress.
    acked: Vec<usize>,
    /// The largest acknowledged number.
    largest: Option<u64>,
    events: Vec<(Instant, Call)>,
    state: Option<&'static str>,
    /// A window that is not logged yet: the time of its event, and the bytes in flight.
    window: Option<(Instant, Option<u64>)>,
}

#[derive(Debug)]
enum Call {
    Sent(usize),
    Acked(Vec<usize>),
    Lost(Vec<usize>),
    Metrics(Metrics),
    State(&'static str),
}

impl Record {
    fn sent(&mut self, time: Instant, bytes: u64, number: u64) {
        self.start.get_or_insert(time);
        self.events.push((time, Call::Sent(self.sent.len())));
        self.sent.push(Sent { time, number, bytes, fate: Fate::Outstanding });
    }

    fn outstanding(&mut self) -> impl Iterator<Item = usize> + '_ {
        while self.sent.get(self.oldest).is_some_and(|one| one.fate != Fate::Outstanding) {
            self.oldest += 1;
        }
        (self.oldest..self.sent.len()).filter(|at| self.sent[*at].fate == Fate::Outstanding)
    }

    /// A packet is acknowledged. In the handshake a datagram may hold several packets: the rest of it stays.
    fn acked(&mut self, time: Instant, bytes: u64) {
        let same: Vec<usize> = {
            let all: Vec<usize> = self.outstanding().collect();
            all.into_iter().filter(|at| self.sent[*at].time == time).collect()
        };
        let exact = same.iter().copied().find(|at| self.sent[*at].bytes == bytes);
        let Some(whole) = exact.or_else(|| same.into_iter().find(|at| self.sent[*at].bytes > bytes)) else { return };
        let mut at = whole;
        if exact.is_none() {
            at = self.sent.len();
            self.sent[whole].bytes -= bytes;
            self.sent.push(Sent { time, bytes, ..self.sent[whole] });
            let place = self.events.iter().position(|(_, call)| matches!(call, Call::Sent(one) if *one == whole));
            self.events.insert(place.map_or(0, |place| place + 1), (time, Call::Sent(at)));
        }
        self.sent[at].fate = Fate::Acked;
        self.acked.push(at);
    }

    /// The state of the sender, if it is another one. `is_limited`: the application limits it.
    fn state(&mut self, now: Instant, is_limited: bool, in_slow_start: bool) {
        let state = match (is_limited, in_slow_start) {
            (true, _) => "application_limited",
            (false, true) => "slow_start",
            (false, false) => "congestion_avoidance",
        };
        if self.state != Some(state) {
            self.state = Some(state);
            self.events.push((now, Call::State(state)));
        }
    }

    fn end_acks(&mut self, now: Instant, largest: Option<u64>) {
        self.largest = self.largest.max(largest);
        if !self.acked.is_empty() {
            let acked = std::mem::take(&mut self.acked);
            self.events.push((now, Call::Acked(acked)));
        }
    }

    /// `bytes` are lost in packets up to the one sent at `last`: the outstanding ones, since RFC 9002 (section 6.1)
    /// declares all packets before a lost one lost. Packets with only an ACK are never acknowledged.
    fn lost(&mut self, now: Instant, last: Instant, bytes: u64) {
        let mut older: Vec<usize> = self.outstanding().collect();
        older.retain(|at| self.sent[*at].time <= last);
        let mut lost = self.sized(older, bytes);
        for at in &mut lost {
            *at = self.lost_of_batch(*at);
            self.sent[*at].fate = Fate::Lost;
        }
        if !lost.is_empty() {
            self.events.push((now, Call::Lost(lost)));
        }
    }

    /// These packets, without some so that `bytes` remain: the smallest ones, or else the oldest ones, which may be of the
    /// handshake.
    fn sized(&self, packets: Vec<usize>, bytes: u64) -> Vec<usize> {
        let size = |packets: &[usize]| packets.iter().map(|at| self.sent[*at].bytes).sum::<u64>();
        let mut by_size = packets.clone();
        while size(&by_size) > bytes {
            let Some(least) = (0..by_size.len()).min_by_key(|at| self.sent[by_size[*at]].bytes) else { break };
            by_size.remove(least);
        }
        let newest = (0..packets.len()).map(|at| &packets[at..]).find(|rest| size(rest) == bytes);
        match newest {
            Some(rest) if size(&by_size) != bytes => rest.to_vec(),
            _ => by_size,
        }
    }

    /// Packets of one time and size are acknowledged in the order of sending here. Where the lost one of them is the
    /// last, another one must be it: a lost packet is three below an acknowledged one (RFC 9002, section 6.1.1).
    fn lost_of_batch(&mut self, at: usize) -> usize {
        let one = self.sent[at];
        let below = |number: u64| self.largest.is_some_and(|largest| number + 3 <= largest);
        if below(one.number) {
            return at;
        }
        let same = |other: &Sent| (other.time, other.bytes, other.fate) == (one.time, one.bytes, Fate::Acked);
        let first = self.sent.partition_point(|other| other.time < one.time);
        let Some(other) = (first..at).rev().find(|other| same(&self.sent[*other]) && below(self.sent[*other].number))
        else {
            return at;
        };
        self.sent[at].fate = Fate::Acked;
        let calls = self.events.iter_mut().rev();
        let mut acked = calls.filter_map(|(_, call)| if let Call::Acked(all) = call { Some(all) } else { None });
        if let Some(place) = acked.find_map(|all| all.iter_mut().find(|place| **place == other)) {
            *place = at;
        }
        other
    }

    /// The log, with packets numbered by the time of sending. The order of its events is that of the calls: a packet that an
    /// ACK lets leave follows it, at the same time.
    pub fn into_log(self) -> Log {
        let mut log = Log::default();
        let Some(start) = self.start else { return log };
        let since = |time: Instant| time.saturating_duration_since(start) + Duration::from_millis(1);
        let sent = self.events.iter().filter_map(|(_, call)| if let Call::Sent(at) = call { Some(*at) } else { None });
        let mut order: Vec<usize> = sent.collect();
        order.sort_by_key(|at| self.sent[*at].time);
        let mut numbers = vec![0; self.sent.len()];
        for (number, at) in order.into_iter().enumerate() {
            numbers[at] = number as u64;
        }
        let space = Space::Application;
        for (time, call) in self.events {
            match call {
                Call::Sent(at) => {
                    log.push(since(time), Event::Sent { packet: (space, numbers[at]), bytes: self.sent[at].bytes });
                }
                Call::Acked(packets) => {
                    let mut ranges: Vec<(u64, u64)> = packets.iter().map(|at| (numbers[*at], numbers[*at])).collect();
                    ranges.sort_unstable();
                    log.push(since(time), Event::Acked { space, ranges });
                }
                Call::Lost(packets) => {
                    for at in packets {
                        log.push(since(time), Event::Lost { packet: (space, numbers[at]) });
                    }
                }
                Call::Metrics(metrics) => log.push(since(time), Event::Metrics(metrics)),
                Call::State(state) => log.push(since(time), Event::State(state)),
            }
        }
        log
    }
}

/// The controller.
pub struct Logged {
    inner: Box<dyn Controller>,
    record: Arc<Mutex<Record>>,
    rtt: Option<(Duration, Duration)>,
    waits_for_losses: bool,
}

struct Factory {
    inner: Arc<dyn ControllerFactory + Send + Sync>,
    record: Arc<Mutex<Record>>,
    waits_for_losses: bool,
}

impl Logged {
    /// Creates controllers that log. One that `waits_for_losses` processes an ACK with the losses that it shows, when its
    /// window is requested: its window is logged then.
    pub fn factory(
        inner: Arc<dyn ControllerFactory + Send + Sync>,
        record: Arc<Mutex<Record>>,
        waits_for_losses: bool,
    ) -> impl ControllerFactory + Send + Sync {
        Factory { inner, record, waits_for_losses }
    }

    fn with(&self, act: impl FnOnce(&mut Record)) {
        act(&mut self.record.lock().expect("no thread has panicked"));
    }

    fn log_window(&self, now: Instant, in_flight: Option<u64>) {
        self.with(|record| {
            let before = record.window.take().and_then(|(_, in_flight)| in_flight);
            record.window = Some((now, in_flight.or(before)));
        });
        if !self.waits_for_losses {
            self.log_waiting(None);
        }
    }

    /// Logs the window that waits, except that of an event at `now`.
    fn log_waiting(&self, now: Option<Instant>) {
        let mut record = self.record.lock().expect("no thread has panicked");
        let Some((time, in_flight)) = record.window.take_if(|(time, _)| Some(*time) != now) else { return };
        let metrics = self.inner.metrics();
        let event = Call::Metrics(Metrics {
            cwnd: metrics.congestion_window,
            ssthresh: metrics.ssthresh,
            in_flight,
            srtt: self.rtt.map(|one| one.0),
            min_rtt: self.rtt.map(|one| one.1),
            latest_rtt: None,
        });
        record.events.push((time, event));
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, mtu);
        let (record, waits_for_losses) = (self.record.clone(), self.waits_for_losses);
        let controller = Logged { inner, record, rtt: None, waits_for_losses };
        controller.log_window(now, None);
        Box::new(controller)
    }
}

impl Controller for Logged {
    fn on_sent(&mut self, now: Instant, bytes: u64, last: u64) {
        self.log_waiting(None);
        self.with(|record| record.sent(now, bytes, last));
        self.inner.on_sent(now, bytes, last);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.log_waiting(None);
        let metrics = self.inner.metrics();
        let in_slow_start = metrics.ssthresh.is_none_or(|threshold| metrics.congestion_window < threshold);
        self.with(|record| {
            record.state(now, app_limited, in_slow_start);
            record.acked(sent, bytes);
        });
        self.rtt = Some((rtt.get(), rtt.min()));
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        self.with(|record| record.end_acks(now, largest));
        self.log_window(now, Some(in_flight));
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.log_waiting(Some(now));
        self.inner.on_congestion_event(now, sent, persistent, lost);
        self.with(|record| record.lost(now, sent, lost));
        self.log_window(now, None);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.inner.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        self.log_waiting(None);
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), record: self.record.clone(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
