//! Audits of a QUIC sender whose algorithm is known: the reference itself, and the reference with one fault.
//!
//! The sender runs the algorithm behind the adapter for `quinn`, which measures by its own code, over a line with a
//! drop-tail queue. Its log has packets, ACK frames, losses by the packet threshold (RFC 9002, section 6.1.1) and the
//! window after every ACK.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cwndlab_algorithms::catalogue;
use cwndlab_audit::departure::DepartureKind;
use cwndlab_audit::event::{Event, Log, Metrics, Protocol, What, ORIGIN};
use cwndlab_audit::{audit, Options};
use cwndlab_control::{Ack, Congestion, CongestionControl, Constructor, Event as Note, Extra, Sent, State, Window};
use cwndlab_quic::{Adapter, Factory};
use cwndlab_units::{Bytes, Time};
use quinn_proto::congestion::Controller;

const SIZE: u64 = 1200;
const MS: u64 = 1_000_000;
/// One-way delays of 20 ms and a line of 12 Mbit/s: a packet of 1200 B takes 0.8 ms, a BDP is 50 packets.
const DELAY: u64 = 20 * MS;
const LINE: u64 = 800_000;

/// A fault of the sender's algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// The window grows although the application limits the sender.
    GrowsWhileLimited,
    /// The window grows by ACKs of packets that were sent before the congestion event.
    GrowsInRecovery,
    /// The window is reduced again by the first ACK after the congestion event.
    ReducesTwice,
    /// The window is reported in packets of 1460 bytes.
    WrongUnits,
    /// Congestion events are ignored.
    NoReduction,
}

/// The reference with a fault.
#[derive(Clone, Debug)]
struct Faulty {
    inner: Box<dyn CongestionControl>,
    fault: Fault,
    reduced: bool,
}

impl CongestionControl for Faulty {
    fn on_ack(&mut self, ack: &Ack) -> Option<Note> {
        let mut ack = ack.clone();
        ack.cwnd_limited |= self.fault == Fault::GrowsWhileLimited;
        ack.recovering &= self.fault != Fault::GrowsInRecovery;
        if std::mem::take(&mut self.reduced) && self.fault == Fault::ReducesTwice && ack.recovering {
            let again = cwndlab_control::testing::loss(ack.prior_in_flight.0 / SIZE);
            self.inner.on_congestion(&Congestion {
                now: ack.now,
                mss: ack.mss,
                in_flight: ack.prior_in_flight,
                ..again
            });
        }
        self.inner.on_ack(&ack)
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.reduced = true;
        if self.fault != Fault::NoReduction {
            self.inner.on_congestion(event);
        }
    }

    fn cwnd(&self) -> Bytes {
        let cwnd = self.inner.cwnd();
        if self.fault == Fault::WrongUnits {
            Bytes(cwnd.0 / SIZE * 1460)
        } else {
            cwnd
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.inner.on_sent(sent);
    }

    fn on_window(&mut self, window: &Window) {
        self.inner.on_window(window);
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        self.inner.state(extra)
    }
}

/// A sender, its path, and its log.
struct Run {
    controller: Adapter,
    base: Instant,
    events: Vec<Event>,
    outstanding: BTreeMap<u64, u64>,
    next: u64,
    in_flight: u64,
    free_at: u64,
    /// Arrivals of ACKs: time and packet.
    acks: BTreeSet<(u64, u64)>,
    queue: u64,
    /// Every packet of this number times k is lost.
    lose_every: u64,
    /// Packets that the application has written per millisecond; 0: unlimited.
    written_per_ms: u64,
    now: u64,
    /// A probe timeout at this millisecond declares the newest packet lost in the log only.
    probe_at_ms: u64,
}

#[allow(clippy::disallowed_methods, reason = "the only way to create an Instant; no result depends on it")]
fn origin() -> Instant {
    Instant::now()
}

impl Run {
    fn new(algorithm: &str, fault: Fault, queue: u64, lose_every: u64, written_per_ms: u64) -> Self {
        let algorithm = catalogue().parse(algorithm).expect("an entry");
        let make = move |path: &cwndlab_control::Path| {
            Box::new(Faulty { inner: algorithm.build(path), fault, reduced: false }) as Box<dyn CongestionControl>
        };
        let base = origin();
        let factory = Factory::from_constructor("audited", false, Constructor::new(make));
        let controller = factory.with_initial_window_packets(10).adapter(base, SIZE as u16);
        Self {
            controller,
            base,
            events: Vec::new(),
            outstanding: BTreeMap::new(),
            next: 0,
            in_flight: 0,
            free_at: 0,
            acks: BTreeSet::new(),
            queue,
            lose_every,
            written_per_ms,
            now: 0,
            probe_at_ms: 0,
        }
    }

    fn log(&mut self, what: What) {
        self.events.push(Event { time: ORIGIN + cwndlab_units::Duration::from_nanos(self.now), what });
    }

    fn instant(&self, at: u64) -> Instant {
        self.base + Duration::from_nanos(at)
    }

    fn window(&self) -> u64 {
        self.controller.window() - 1
    }

    fn send(&mut self) {
        let number = self.next;
        self.next += 1;
        self.log(What::PacketSent { space: 2, number, bytes: SIZE, mtu_probe: false });
        self.controller.on_sent(self.instant(self.now), SIZE, number);
        self.outstanding.insert(number, self.now);
        self.in_flight += SIZE;
        let start = self.now.max(self.free_at);
        let lost = self.lose_every > 0 && number > 0 && number.is_multiple_of(self.lose_every);
        if !lost && (start - self.now) / LINE < self.queue {
            self.free_at = start + LINE;
            self.acks.insert((self.free_at + 2 * DELAY, number));
        }
    }

    /// Sends what window and application allow. Returns whether the application limits.
    fn fill(&mut self) -> bool {
        let written = if self.written_per_ms == 0 { u64::MAX } else { self.written_per_ms * (self.now / MS) };
        while self.in_flight + SIZE <= self.window() && self.next < written {
            self.send();
        }
        self.in_flight + SIZE <= self.window()
    }

    fn metrics(&mut self) {
        let cwnd = Some(self.window());
        let in_flight = Some(self.in_flight);
        self.log(What::Metrics(Metrics { cwnd, in_flight, ..Metrics::default() }));
    }

    fn ack(&mut self, number: u64, app_limited: bool) {
        let Some(sent) = self.outstanding.remove(&number) else { return };
        self.log(What::AckFrame { space: 2, ranges: Box::new([(number, number + 1)]), ce: 0 });
        let now = self.instant(self.now);
        let sent = self.instant(sent);
        self.controller.on_packet_acked(sent, SIZE, app_limited);
        self.in_flight -= SIZE;
        let lost: Vec<u64> = self.outstanding.range(..number.saturating_sub(2)).map(|(number, _)| *number).collect();
        self.controller.on_end_acks(now, self.in_flight, app_limited, Some(number));
        if let Some(newest) = lost.last() {
            let newest = self.instant(self.outstanding[newest]);
            for number in &lost {
                self.log(What::PacketLost { space: 2, number: *number, mtu_probe: false });
                self.outstanding.remove(number);
                self.in_flight -= SIZE;
            }
            self.controller.on_congestion_event(now, newest, false, lost.len() as u64 * SIZE);
        }
        self.metrics();
    }

    fn probe(&mut self) {
        let (number, _) = self.outstanding.pop_last().expect("a packet in flight");
        self.in_flight -= SIZE;
        self.log(What::PacketLost { space: 2, number, mtu_probe: false });
        self.metrics();
    }

    fn run(mut self, seconds: u64) -> Log {
        self.metrics();
        self.send();
        let mut app_limited = true;
        while self.now < seconds * 1000 * MS {
            let tick = (self.now / MS + 1) * MS;
            match self.acks.first().copied() {
                Some((at, number)) if at < tick => {
                    self.acks.pop_first();
                    self.now = at;
                    self.ack(number, app_limited);
                    if number == 0 {
                        app_limited = false;
                    }
                }
                _ => {
                    self.now = tick;
                    if self.now == self.probe_at_ms * MS {
                        self.probe();
                    }
                }
            }
            // The first packet is the handshake: data follows its ACK.
            if !self.outstanding.contains_key(&0) {
                app_limited = self.fill();
            }
        }
        Log {
            events: self.events,
            protocol: Protocol::Quic,
            windowless: false,
            begins_late: false,
            origin_ms: 0.0,
            connection: "0".to_owned(),
            notes: Vec::new(),
        }
    }
}

/// Share of the explained ACKs, and the departures: kind and time in ms.
fn compare(log: &Log, reference: &str) -> (f64, Vec<(DepartureKind, u64)>) {
    let algorithm = catalogue().parse(reference).expect("an entry");
    let result = audit(log, &algorithm, &Options::default()).unwrap_or_else(|fault| panic!("{}", fault.what));
    let counts = result.judge.counts;
    assert!(counts.acks > 1000, "{counts:?}");
    let departures = &result.judge.departures;
    let found = departures.iter().map(|one| (one.kind, (one.time.as_nanos() - ORIGIN.as_nanos()) / MS)).collect();
    (counts.explained as f64 / counts.acks as f64, found)
}

const SENDERS: [&str; 8] =
    ["reno", "cubic", "cubic+standard", "cubic+hystart", "cubic-linux", "htcp", "scalable", "highspeed"];

#[test]
fn the_reference_explains_its_own_log_on_a_clean_path() {
    for sender in SENDERS {
        let log = Run::new(sender, Fault::None, 50, 0, 0).run(10);
        assert_eq!(compare(&log, sender), (1.0, vec![]), "{sender}");
    }
}

#[test]
fn the_reference_explains_its_own_log_with_losses() {
    for sender in SENDERS {
        let log = Run::new(sender, Fault::None, 50, 997, 0).run(10);
        assert_eq!(compare(&log, sender), (1.0, vec![]), "{sender}");
    }
}

/// One packet per millisecond is less than the line, and more than the initial window per round trip.
#[test]
fn the_reference_explains_its_own_log_of_a_limited_application() {
    for sender in SENDERS {
        let log = Run::new(sender, Fault::None, 50, 0, 1).run(10);
        assert_eq!(compare(&log, sender), (1.0, vec![]), "{sender}");
    }
}

/// The first departure of a sender with a fault, and the time of its first loss, in ms.
fn first(fault: Fault, lose_every: u64, written_per_ms: u64) -> (DepartureKind, u64, Option<u64>) {
    let log = Run::new("cubic+standard", fault, 200, lose_every, written_per_ms).run(10);
    let loss = log.events.iter().find(|one| matches!(one.what, What::PacketLost { .. }));
    let loss = loss.map(|one| (one.time.as_nanos() - ORIGIN.as_nanos()) / MS);
    let (share, departures) = compare(&log, "cubic+standard");
    assert!(share < 1.0, "{fault:?}");
    let (kind, at) = departures.first().copied().unwrap_or_else(|| panic!("{fault:?} was not found"));
    (kind, at, loss)
}

#[test]
fn a_missing_reduction_is_found_at_the_first_loss() {
    let (kind, at, loss) = first(Fault::NoReduction, 997, 0);
    assert_eq!((kind, Some(at)), (DepartureKind::NoReduction, loss));
}

#[test]
fn growth_in_recovery_is_found_in_the_first_recovery() {
    let (kind, at, loss) = first(Fault::GrowsInRecovery, 997, 0);
    let loss = loss.expect("a loss");
    assert_eq!(kind, DepartureKind::GrowthInRecovery);
    assert!((loss..loss + 200).contains(&at), "{at} ms, loss at {loss} ms");
}

#[test]
fn a_second_reduction_is_found_in_the_first_recovery() {
    let (kind, at, loss) = first(Fault::ReducesTwice, 997, 0);
    let loss = loss.expect("a loss");
    assert!(matches!(kind, DepartureKind::SecondReduction | DepartureKind::Reduction), "{kind:?}");
    assert!((loss..loss + 50).contains(&at), "{at} ms, loss at {loss} ms");
}

#[test]
fn growth_while_the_application_limits_is_found() {
    let (kind, _, loss) = first(Fault::GrowsWhileLimited, 0, 1);
    assert_eq!((kind, loss), (DepartureKind::GrowthWhileLimited, None));
}

#[test]
fn a_window_in_wrong_units_is_found_in_slow_start() {
    let (kind, at, _) = first(Fault::WrongUnits, 997, 0);
    assert_eq!(kind, DepartureKind::FastSlowStart);
    assert!(at < 500, "{at} ms");
}

/// RFC 9002, section 6.2: a probe timeout does not indicate loss, whatever the log calls its packets.
#[test]
fn a_probe_timeout_is_no_congestion_event() {
    for sender in SENDERS {
        let mut run = Run::new(sender, Fault::None, 200, 997, 0);
        run.probe_at_ms = 1503;
        let log = run.run(5);
        assert_eq!(compare(&log, sender), (1.0, vec![]), "{sender}");
    }
}

/// A time is that of the log: the first event is at zero.
#[test]
fn times_count_from_the_first_event() {
    assert_eq!(Log::ms(ORIGIN), 0.0);
    assert_eq!(Log::ms(Time::from_nanos(ORIGIN.as_nanos() + 1_500_000)), 1.5);
}
