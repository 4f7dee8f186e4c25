//! Known answers: hand calculations, textbook properties of the schedulers, bounds of the standards' timers.

use std::sync::{Arc, Mutex};

use cwndlab_config::{Faults, Reader, TableType};
use cwndlab_units::{maths, Bytes, Duration, Time};
use proptest::prelude::*;
use serde_json::json;

use super::bearer::Service;
use super::channel::Channel;
use super::config::{Configuration, Grants, Harq, Rlc, RlcMode, Rrc, SchedulerKind, Technology};
use super::{cqi_at, transport_block_bytes, BearerConfig, Cell, CellEventKind, CQI_EFFICIENCY, NEVER};
use crate::aqm::{Codepoint, Discipline, Fifo, QueuedPacket};
use crate::queue::Limit;
use crate::random::{Purpose, Stream};
use crate::wifi::FrameOutcome;

const MS: u64 = 1_000_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// LTE of 20 MHz without errors.
fn plain() -> Configuration {
    Configuration {
        technology: Technology::Lte,
        resource_blocks: 100,
        block_bits: Technology::Lte.block_bits(Some(126)),
        scheduler: SchedulerKind::ProportionalFair,
        averaging: 99.0,
        cqi_delay: Duration::ZERO,
        harq: Harq { error: 0.0, round: Technology::Lte.harq_round(), retransmissions: 3 },
        rlc: Rlc { mode: RlcMode::Acknowledged, recovery: ms(45), reordering: ms(35) },
        grants: Grants { request_interval: None, delay: None, first: Bytes(200) },
        rrc: None,
        forwarding: true,
    }
}

fn bearer(user: u32, uplink: bool, snr_db: f64) -> BearerConfig<u32> {
    BearerConfig {
        user,
        uplink,
        queue: Box::new(Fifo::new(Limit::Unlimited, false)),
        mark_above: None,
        snr_db: vec![(Duration::ZERO, snr_db)],
        handovers: Vec::new(),
        repeat: None,
        fading: None,
        stream: Stream::of_part(1, Purpose::Cell, 1, u64::from(user)),
    }
}

/// A cell, its clock and what left it: number, time of delivery, and whether it was lost.
struct Run {
    cell: Cell<u32>,
    offered: u32,
    left: Vec<(u32, Time, bool)>,
    outcomes: Vec<FrameOutcome<u32>>,
    dropped: Vec<QueuedPacket<u32>>,
}

impl Run {
    fn new(configuration: Configuration, bearers: Vec<BearerConfig<u32>>) -> Self {
        let users = bearers.iter().map(|one| one.user + 1).max().unwrap_or(0);
        let cell = Cell::new(configuration, users, bearers, Stream::new(1, Purpose::Cell, 0));
        Self { cell, offered: 0, left: Vec::new(), outcomes: Vec::new(), dropped: Vec::new() }
    }

    fn offer(&mut self, now: Time, bearer: u32, size: u32) {
        self.advance(now);
        let one = QueuedPacket { since: now, size, packet: self.offered, ..QueuedPacket::default() };
        self.offered += 1;
        self.cell.offer(now, bearer, one, &mut self.dropped);
    }

    /// Processes the events before `now`.
    fn advance(&mut self, now: Time) {
        while self.cell.next() < now {
            let at = self.cell.next();
            self.cell.process(at, &mut self.outcomes, &mut self.dropped);
            self.left.extend(self.outcomes.drain(..).map(|one| match one {
                FrameOutcome::Delivered(one) => (one.packet, at, false),
                FrameOutcome::Lost(one) => (one.packet, at, true),
            }));
        }
    }

    /// Runs for `span` with full queues of these bearers.
    fn saturate(&mut self, bearers: u32, span: Duration) {
        for at in 0..span.as_nanos() / MS {
            for bearer in 0..bearers {
                while self.cell.held(bearer).1 < 400_000 {
                    self.offer(Time::from_nanos(at * MS), bearer, 1500);
                }
            }
            self.advance(Time::from_nanos((at + 1) * MS));
        }
    }

    fn bits(&self, bearer: u32) -> f64 {
        self.cell.counters(bearer).sent_bytes as f64 * 8.0
    }

    fn resource_blocks(&self, bearer: u32) -> f64 {
        self.cell.counters(bearer).resource_blocks as f64
    }
}

/// Hand calculation with TS 36.213, table 7.2.3-1: at 20 dB the gap formula gives log₂(1 + 100 / 5.529) = 4.25, so CQI 12
/// with 3.9023 bit; 100 blocks of 126 elements carry 49,168 bit in 1 ms. At 24.1 dB it is CQI 15, at −3 dB out of range.
#[test]
fn a_single_user_has_efficiency_times_resource_blocks() {
    assert_eq!([-3.0, -2.0, 20.0, 24.0, 24.1].map(cqi_at), [0, 1, 12, 14, 15]);
    assert_eq!(transport_block_bytes(3.9023 * 126.0, 100), 6146);
    // The transport block of MCS 22, I_TBS 20, has 46,888 bit.
    assert_eq!(transport_block_bytes(Technology::Lte.block_bits(None)[0][12], 100), 46_888 / 8);
    let mut run = Run::new(plain(), vec![bearer(0, false, 20.0)]);
    run.saturate(1, ms(2000));
    // The last TTI is not decoded yet, and a packet may be incomplete.
    let expected = 1999.0 * 6146.0 * 8.0;
    assert!((expected - 12_000.0..=expected).contains(&run.bits(0)), "{} {expected}", run.bits(0));
    assert_eq!(run.cell.counters(0).transport_blocks, 2000);
}

/// F. Kelly: with full queues and constant channels, proportional fairness maximises Σ log x, whose solution gives every
/// user the same share of the resources; throughputs are proportional to the achievable rates. Round robin as well.
#[test]
fn proportional_fair_and_round_robin_share_resources_equally() {
    for scheduler in [SchedulerKind::ProportionalFair, SchedulerKind::RoundRobin] {
        let snr = [4.0, 12.0, 20.0, 20.0];
        let bearers = (0..).zip(snr).map(|(user, snr)| bearer(user, false, snr)).collect();
        let mut run = Run::new(Configuration { scheduler, ..plain() }, bearers);
        run.saturate(4, ms(20_000));
        for (user, snr) in (0..).zip(snr) {
            let share = run.resource_blocks(user) / (100.0 * 20_000.0);
            assert!((share - 0.25).abs() < 0.005, "{scheduler:?}: {share} of user {user}");
            let alone = CQI_EFFICIENCY[usize::from(cqi_at(snr))] * 126.0 * 100.0 * 20_000.0;
            assert!((run.bits(user) / alone - 0.25).abs() < 0.005, "{scheduler:?}: rate of user {user}");
        }
    }
}

#[test]
fn the_highest_rate_starves_the_others() {
    let configuration = Configuration { scheduler: SchedulerKind::MaxRate, ..plain() };
    let mut run = Run::new(configuration, vec![bearer(0, false, 10.0), bearer(1, false, 20.0)]);
    run.saturate(2, ms(1000));
    assert_eq!(run.resource_blocks(0), 0.0);
    assert_eq!(run.resource_blocks(1), 100_000.0);
}

/// Multi-user diversity: of n users with the same mean SNR s, proportional fairness with a long window serves the one with
/// the best channel. The largest of n exponential gains has the density n e⁻ˣ (1 − e⁻ˣ)ⁿ⁻¹, so that the cell carries
/// ∫ efficiency(s x) n e⁻ˣ (1 − e⁻ˣ)ⁿ⁻¹ dx. (With rates linear in the gain that is H_n = 1 + 1/2 + … + 1/n times the rate
/// of round robin.)
#[test]
fn proportional_fair_exploits_fading_channels() {
    let expected = |users: u32| {
        let step = 1e-4;
        let power = f64::from(users) - 1.0;
        let density = |x: f64| f64::from(users) * maths::exp(-x) * maths::pow(1.0 - maths::exp(-x), power);
        let efficiency = |x: f64| CQI_EFFICIENCY[usize::from(cqi_at(8.0 + 10.0 * x.log10()))];
        (0..200_000).map(|n| (f64::from(n) + 0.5) * step).map(|x| efficiency(x) * density(x) * step).sum::<f64>()
    };
    for users in [1, 2, 8] {
        let faded = |user| BearerConfig { fading: Some(ms(4)), ..bearer(user, false, 8.0) };
        let configuration = Configuration { averaging: 2000.0, ..plain() };
        let mut run = Run::new(configuration, (0..users).map(faded).collect());
        run.saturate(users, ms(40_000));
        let bits: f64 = (0..users).map(|user| run.bits(user)).sum();
        let mean = bits / (100.0 * 126.0 * 40_000.0);
        let expected = expected(users);
        assert!((mean / expected - 1.0).abs() < 0.03, "{users} users: {mean}, expected {expected}");
    }
}

/// An exponential power gain has mean 1 and is below x with probability 1 − e⁻ˣ; Clarke's model has the autocorrelation
/// J₀²(2π f τ) of the power. At f τ = 9 / (16π) = 0.179, the coherence time, J₀(1.125) = 0.708 (Abramowitz and Stegun,
/// table 9.1), so that the correlation is 1/2.
#[test]
fn rayleigh_fading_is_exponential_with_its_coherence_time() {
    let (mut mean, mut below, mut products, mut squares, mut n) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for user in 0..200 {
        let stream = Stream::of_part(1, Purpose::Cell, 1, user);
        let mut channel = Channel::new(&[(Duration::ZERO, 0.0)], None, Some(ms(10)), (ms(1), Duration::ZERO), stream);
        let gains: Vec<f64> = (0..2000).map(|n| channel.snr(Time::from_nanos(n * MS)).0).collect();
        mean += gains.iter().sum::<f64>();
        below += gains.iter().filter(|&&gain| gain < 0.5).count() as f64;
        products += gains.windows(11).map(|pair| (pair[0] - 1.0) * (pair[10] - 1.0)).sum::<f64>();
        squares += gains.windows(11).map(|pair| (pair[0] - 1.0) * (pair[0] - 1.0)).sum::<f64>();
        n += gains.len() as f64;
    }
    assert!((mean / n - 1.0).abs() < 0.02, "{}", mean / n);
    assert!((below / n - (1.0 - maths::exp(-0.5))).abs() < 0.01, "{}", below / n);
    assert!((products / squares - 0.5).abs() < 0.03, "{}", products / squares);
}

/// A packet at an idle buffer waits for the next opportunity (0 to 10 ms), 8 ms for the grant, and 1 ms for its TTI. One
/// that does not fit into the first grant reports the rest, and waits 8 ms more.
#[test]
fn the_first_uplink_packet_waits_for_a_request_and_a_grant() {
    for (size, least, most) in [(100, 9.0, 19.0), (1500, 17.0, 27.0)] {
        let mut run = Run::new(plain(), vec![bearer(0, true, 20.0)]);
        let mut delays = Vec::new();
        for n in 0..400u64 {
            let at = Time::from_nanos(n * 1_000 * MS + n * 25_000);
            run.offer(at, 0, size);
            run.advance(at + ms(900));
            let &(_, delivered, _) = run.left.last().unwrap();
            delays.push((delivered - at).as_nanos() as f64 / MS as f64);
        }
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!(delays.iter().all(|delay| (least..=most).contains(delay)), "{size} B: {delays:?}");
        assert!((mean - f64::midpoint(least, most)).abs() < 0.2, "{size} B: {mean}");
        assert_eq!(run.cell.counters(0).requests, 400);
    }
}

/// Reports with each transmission keep the grants coming: the uplink of a full buffer has no gaps.
#[test]
fn grants_are_pipelined_by_buffer_status_reports() {
    let mut run = Run::new(plain(), vec![bearer(0, true, 20.0)]);
    run.saturate(1, ms(2000));
    let expected = 6146.0 * 8.0 * 1.98e3;
    assert!(run.bits(0) > expected, "{} of {expected}", run.bits(0));
    assert_eq!(run.cell.counters(0).requests, 1);
}

/// By hand: an attempt fails with p = 0.1, the next one is 8 ms later: the delay beyond that of the first attempt is
/// 8 (p + p² + p³) = 0.888 ms on average, for single packets in acknowledged mode plus what RLC adds, 45 ms + 1 ms with
/// probability p⁴.
#[test]
fn harq_adds_eight_milliseconds_per_failed_attempt() {
    let configuration = Configuration { harq: Harq { error: 0.1, ..plain().harq }, ..plain() };
    let mut run = Run::new(configuration, vec![bearer(0, false, 20.0)]);
    let mut extra = 0.0;
    let packets = 20_000u64;
    for n in 0..packets {
        let at = Time::from_nanos(n * 500 * MS);
        run.offer(at, 0, 1500);
        run.advance(at + ms(499));
        extra += (run.left.last().unwrap().1 - at).as_nanos() as f64 / MS as f64 - 1.0;
    }
    let mean = extra / packets as f64;
    assert!((mean - 0.893).abs() < 0.06, "{mean}");
    let counters = run.cell.counters(0);
    let bler = counters.failed_blocks as f64 / counters.transport_blocks as f64;
    assert!((bler - 0.1).abs() < 0.007, "{bler}");
    assert_eq!(counters.lost, 0);
}

/// With p = 1/2 and 3 retransmissions a block is lost with probability 1/16 in unacknowledged mode; in acknowledged mode
/// none is. Both deliver in order.
#[test]
fn acknowledged_mode_loses_nothing() {
    for (mode, expected) in [(RlcMode::Acknowledged, 0.0), (RlcMode::Unacknowledged, 1.0 / 16.0)] {
        let configuration = Configuration {
            harq: Harq { error: 0.5, ..plain().harq },
            rlc: Rlc { mode, ..plain().rlc },
            resource_blocks: 6,
            ..plain()
        };
        let mut run = Run::new(configuration, vec![bearer(0, false, 8.0)]);
        // 8 dB is CQI 5; 6 × 126 × 0.877 bit = 82 B, so that each packet is one block.
        for n in 0..20_000 {
            run.offer(Time::from_nanos(n * 20 * MS), 0, 80);
        }
        run.advance(NEVER);
        let lost = run.left.iter().filter(|one| one.2).count() as f64 / 20_000.0;
        assert!((lost - expected).abs() < 0.006, "{mode:?}: {lost}");
        assert!(run.left.windows(2).all(|pair| pair[0].0 < pair[1].0), "{mode:?}: reordered");
        assert_eq!((run.left.len(), run.cell.next()), (20_000, NEVER));
    }
}

/// Idle, paging and promotion by hand: occasions of user 0 at multiples of 1 s; released 2 s after the last packet.
#[test]
fn an_idle_user_waits_for_paging_and_promotion() {
    let rrc = Some(Rrc { inactivity: ms(2000), promotion: ms(100), paging_cycle: ms(1000) });
    let bearers = vec![bearer(0, false, 20.0), bearer(0, true, 20.0)];
    let mut run = Run::new(Configuration { rrc, ..plain() }, bearers);
    let mut delay = |bearer: u32, at: u64| {
        run.offer(Time::from_nanos(at * MS), bearer, 100);
        run.advance(Time::from_nanos((at + 1900) * MS));
        (run.left.last().unwrap().1 - Time::ZERO).as_nanos() / MS - at
    };
    // At 300 ms: paging at 1000, connected at 1100, delivered a TTI later.
    assert_eq!(delay(0, 300), 801);
    // Connected until 3101 ms.
    assert_eq!(delay(0, 3000), 1);
    // Idle again from 5001: no paging for the uplink, but request (the bearer's opportunities are at 1, 11, … ms) and grant.
    assert_eq!(delay(1, 9000), 100 + 1 + 8 + 1);
    assert_eq!(delay(0, 10_950), 1);
    let events = run.cell.take_events();
    let kinds: Vec<_> = events.iter().map(|event| (event.kind, event.duration)).collect();
    assert_eq!(kinds, [(CellEventKind::Promotion, ms(800)), (CellEventKind::Promotion, ms(100))]);
}

/// A hand-over every second, 50 ms each.
#[test]
fn nothing_is_delivered_during_a_hand_over() {
    for forwarding in [true, false] {
        let moving =
            BearerConfig { handovers: vec![(ms(500), ms(50))], repeat: Some(ms(1000)), ..bearer(0, false, 20.0) };
        let configuration = Configuration { forwarding, harq: Harq { error: 0.1, ..plain().harq }, ..plain() };
        let mut run = Run::new(configuration, vec![moving]);
        run.saturate(1, ms(4000));
        let interrupted = |at: Time| (500 * MS + 1..550 * MS).contains(&(at.as_nanos() % (1000 * MS)));
        assert!(!run.left.iter().any(|&(_, at, lost)| !lost && interrupted(at)), "{forwarding}");
        assert!(run.left.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let counters = run.cell.counters(0);
        assert_eq!((counters.handovers, counters.lost > 0), (4, !forwarding));
        let events = run.cell.take_events();
        let times: Vec<u64> = events.iter().map(|event| (event.time - Time::ZERO).as_nanos() / MS).collect();
        assert_eq!(times, [500, 1500, 2500, 3500]);
        assert!(events.iter().all(|event| event.duration == ms(50)));
    }
}

/// RFC 8257, 3.1, by hand: five packets wait for the first TTI. With the third three wait, the first number above two.
#[test]
fn an_arrival_with_which_more_packets_wait_than_the_threshold_is_marked() {
    let marking = BearerConfig { mark_above: Some(2), ..bearer(0, false, 20.0) };
    let mut cell = Cell::new(plain(), 1, vec![marking], Stream::new(1, Purpose::Cell, 0));
    let (mut outcomes, mut dropped) = (Vec::new(), Vec::new());
    for packet in 0..5 {
        let one = QueuedPacket { size: 1500, ecn: Codepoint::Classic, packet, ..QueuedPacket::default() };
        cell.offer(Time::ZERO, 0, one, &mut dropped);
    }
    while cell.next() < Time::from_nanos(100 * MS) {
        cell.process(cell.next(), &mut outcomes, &mut dropped);
    }
    let marked = outcomes.iter().filter_map(|one| match one {
        FrameOutcome::Delivered(one) | FrameOutcome::Lost(one) => one.marked.then_some(one.packet),
    });
    assert_eq!(marked.collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(outcomes.len(), 5);
}

/// Without a first grant the base station never learns of the backlog, and the uplink never sends.
#[test]
fn the_first_grant_is_above_zero() {
    let grants = json!({ "first": "0 B" });
    let mut faults = Faults::default();
    let table = Reader::new(&grants, "grants", Grants::TABLE, &mut faults).expect("a table");
    assert!(Grants::read_table(&table, &mut faults).is_none());
    assert_eq!(faults.0[0].to_string(), "grants.first: is zero\n  hint: write \"200 B\"");
}

/// T ← (1 − 1/99) T + served / 99: after 99 TTIs without service the mean falls to (1 − 1/99)⁹⁹ = 0.366 of it.
#[test]
fn the_mean_throughput_decays_exponentially() {
    let mut one = Service::NONE;
    one.add(10, 99.0, 9900.0);
    let after = one.mean(11, 99.0);
    assert!((after - 100.0 - maths::pow(98.0 / 99.0, 11.0)).abs() < 1e-9, "{after}");
    assert!((one.mean(110, 99.0) / after - 0.366).abs() < 1e-3);
}

/// By hand: the hand-over of 500 ms ends at 900 ms. Another, from 600 to 620 ms, does not shorten it.
#[test]
fn a_hand_over_during_another_does_not_shorten_its_interruption() {
    let handovers = vec![(ms(500), ms(400)), (ms(600), ms(20))];
    let mut run = Run::new(plain(), vec![BearerConfig { handovers, ..bearer(0, false, 20.0) }]);
    run.offer(Time::ZERO + ms(650), 0, 1500);
    run.advance(Time::ZERO + ms(2000));
    assert_eq!(run.left, [(0, Time::ZERO + ms(901), false)]);
}

/// A queue that notes the times at which it is asked for a packet and has none.
#[derive(Debug)]
struct Noted(Fifo<u32>, Arc<Mutex<Vec<u64>>>);

impl Discipline<u32> for Noted {
    fn enqueue(&mut self, now: Time, serving: u32, one: QueuedPacket<u32>, dropped: &mut Vec<QueuedPacket<u32>>) {
        self.0.enqueue(now, serving, one, dropped);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<u32>>) -> Option<QueuedPacket<u32>> {
        let one = self.0.dequeue(now, dropped);
        if one.is_none() {
            self.1.lock().expect("one thread").push(now.as_nanos() / MS);
        }
        one
    }

    fn backlog(&self) -> (u64, u64) {
        self.0.backlog()
    }

    fn oldest(&self) -> Option<Time> {
        self.0.oldest()
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }
}

/// By hand, as on a line: a packet is sent from 1 to 2 ms, and then the radio finds an empty queue. Of two packets of
/// consecutive TTIs from 10 ms on, the second waits when the first has been sent. At 20 ms the queue drops a packet that is
/// larger than its capacity, and remains empty.
#[test]
fn a_queue_learns_when_the_radio_finds_it_empty() {
    let notes = Arc::default();
    let queue = Box::new(Noted(Fifo::new(Limit::Bytes(2000), false), Arc::clone(&notes)));
    let mut run = Run::new(plain(), vec![BearerConfig { queue, ..bearer(0, false, 20.0) }]);
    for (at_us, size) in [(200, 1500), (9_500, 1500), (10_500, 1500), (20_000, 3000)] {
        run.offer(Time::ZERO + Duration::from_micros(at_us), 0, size);
    }
    run.advance(Time::ZERO + ms(100));
    assert_eq!((run.left.len(), run.dropped.len()), (3, 1));
    assert_eq!(*notes.lock().expect("one thread"), [2, 12, 20]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every packet that is not dropped leaves exactly once, in the order of its arrival, and no TTI has more resource
    /// blocks than there are.
    #[test]
    fn packets_are_conserved_and_in_order(
        packets in prop::collection::vec((0u64..20 * MS, 0u32..4, 40u32..9000), 1..200),
        error in 0.0f64..0.9,
        acknowledged in any::<bool>(),
        forwarding in any::<bool>(),
        resource_blocks in 1u32..100,
        technology in prop::sample::select(vec![Technology::Lte, Technology::Nr]),
        snr in prop::collection::vec(-1.0f64..30.0, 2),
        limit in 1u64..50,
    ) {
        let mode = if acknowledged { RlcMode::Acknowledged } else { RlcMode::Unacknowledged };
        let configuration = Configuration {
            technology,
            resource_blocks,
            harq: Harq { error, round: technology.harq_round(), retransmissions: 2 },
            rlc: Rlc { mode, ..plain().rlc },
            rrc: Some(Rrc { inactivity: ms(30), promotion: ms(5), paging_cycle: ms(40) }),
            cqi_delay: ms(3),
            forwarding,
            ..plain()
        };
        let bearers = (0..4).map(|n| BearerConfig {
            queue: Box::new(Fifo::new(Limit::Packets(limit), false)),
            handovers: vec![(ms(100), ms(20))],
            repeat: Some(ms(300)),
            fading: (n < 2).then(|| ms(20)),
            ..bearer(n / 2, n % 2 == 1, snr[n as usize / 2])
        });
        let mut run = Run::new(configuration, bearers.collect());
        let mut now = Time::ZERO;
        let mut owner = Vec::new();
        for &(gap, bearer, size) in &packets {
            now += Duration::from_nanos(gap);
            run.offer(now, bearer, size);
            owner.push(bearer);
        }
        let end = now + Duration::from_secs(40);
        run.advance(end);
        let ttis = end.as_nanos() / technology.tti().as_nanos();
        let mut used = [0u64; 2];
        for bearer in 0..4u32 {
            let counters = run.cell.counters(bearer);
            let (held, _) = run.cell.held(bearer);
            prop_assert_eq!(counters.offered, counters.dropped + counters.sent + counters.lost + held);
            prop_assert!(!acknowledged || !forwarding || counters.lost == 0);
            let own: Vec<u32> = run.left.iter().map(|one| one.0).filter(|&one| owner[one as usize] == bearer).collect();
            prop_assert!(own.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(own.len() as u64, counters.sent + counters.lost);
            used[bearer as usize % 2] += counters.resource_blocks;
        }
        prop_assert!(used.iter().all(|&used| used <= ttis * u64::from(resource_blocks)));
        let held: u64 = (0..4).map(|bearer| run.cell.held(bearer).0).sum();
        prop_assert!(held == 0 || error > 0.5 || snr.iter().any(|&snr| snr < 3.0), "{} packets remain", held);
    }
}
