//! DualPI2: two coupled queues under one controller, which give scalable senders a low delay beside classic ones.
//!
//! Source: De Schepper, Briscoe, White, "Dual-Queue Coupled AQM for L4S", RFC 9332 (2023), appendix A.
//!
//! ```text
//! every T_update: p' += alpha (delay - target) + beta (delay - delay_old)   delay: maximum over both queues           (1)
//! p_C = p'^2, at most 1 / k^2: classic packets are marked if they are ECN-capable, otherwise dropped               (2)
//! p_CL = k p'                                                                                                      (3)
//! p_L = max(p_CL, ramp of the L queue's own delay from l_min over l_range): scalable packets are marked            (4)
//! a packet is marked or dropped when the sum of its probabilities exceeds 1 (`recur`, appendix A)                  (5)
//! weighted round robin: the C queue has a guaranteed share of 1/10 (`c_protection` in Linux)                       (6)
//! p_CL at its limit of 1: L packets are also dropped with p_C (overload, A.2)                                      (7)
//! ```
//!
//! With `linux`, as in sch_dualpi2.c: marks and drops are drawn with their probabilities instead of (5), (2) by two draws
//! with p'; a backlog below two packets of 1514 bytes has neither; (4) marks after (3), where the delay exceeds `l_min`; p'
//! is at most 1, so that overload drops are not limited to 1 / k^2; and the credit of (6) begins in favour of the L queue, and
//! changes only by packets that are sent.
//!
//! Units: ns, bytes. Packets with ECT(1) or CE use the L queue. One limit applies to the sum of both queues.

use std::collections::VecDeque;

use cwndlab_config::{fields, Positive, Probability, Table};
use cwndlab_units::{Duration, Fault, Rate, Time};

use super::discipline::too_frequent;
use super::fifo::Fifo;
use super::{capacity, Codepoint, Configuration, Discipline, Packet, QueueContext, QueuedPacket};
use crate::queue::Limit;
use crate::random::Stream;

/// DualPI2's declaration.
pub static SPEC: Table = Table::new(
    "dualpi2",
    "Two coupled queues for classic and scalable senders (RFC 9332); flows with accurate ECN send ECT(1).",
    &[&[capacity::field("10000 packets")], Config::FIELDS],
)
.class("DualPi2");

fields! {
    /// DualPI2's configuration. The values of absent fields are those of RFC 9332, appendix A.1.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// target delay of the classic queue
        target: Positive<Duration> = "15 ms",
        /// largest expected RTT, from which the defaults of the next three fields are computed
        rtt_max: Positive<Duration> = "100 ms",
        /// time between two updates of the probability
        update: Positive<Duration> = absent(
            "the smaller of `target` and a third of `rtt_max`",
            Duration::from_nanos(target.as_nanos().min((rtt_max.as_secs() / 3.0 * 1e9) as u64).max(1))
        ),
        /// weight of the deviation from the target, per second
        alpha: f64 = absent(
            "0.1 × `update` / `rtt_max`²",
            0.1 * update.as_secs() / (rtt_max.as_secs() * rtt_max.as_secs())
        ),
        /// weight of the trend of the delay, per second
        beta: f64 = absent("0.3 / `rtt_max`", 0.3 / rtt_max.as_secs()),
        /// coupling factor k
        coupling: f64 = 2.0,
        /// delay of the L queue at which its native marking begins
        l_min: Duration = "800 us",
        /// additional delay over which the native marking probability rises to 1; zero is a step
        l_range: Duration = "400 us",
        /// guaranteed share of the line for the classic queue
        protection: Probability = 0.1,
        /// draws marks and drops at random, and acts on short queues, as Linux does (sch_dualpi2.c); its constants are
        /// `update` 16 ms, `alpha` 0.16, `beta` 3.2, `l_min` 1 ms, `l_range` 0, `min_qlen_step` 0
        linux: bool = absent("false", false),
        /// native marking of packets that find at least this number in the L queue
        min_qlen_step: Option<u32> = absent("of packets behind which another one waits at their departure"),
    }
}

/// Bytes of a packet in Linux: the MTU and the header of Ethernet.
const PACKET: u64 = 1514;

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(Box::new(DualPi2::new(*self, context.limit, context.stream)))
    }

    fn fault_at(&self, _: Rate) -> Option<Fault> {
        too_frequent("update", self.update)
    }
}

/// The two queues managed by DualPI2.
#[derive(Debug)]
pub struct DualPi2<P> {
    config: Config,
    limit: Limit,
    stream: Stream,
    low: Fifo<P>,
    /// Of each packet of the L queue: the number of those before it at its arrival; with `min_qlen_step`.
    found: VecDeque<u64>,
    classic: Fifo<P>,
    /// p', the base probability of the PI controller.
    base: f64,
    delay_old: Duration,
    next_update: Time,
    low_sum: f64,
    classic_sum: f64,
    /// Credit of the weighted round robin, bytes; positive while the classic queue is to be served.
    credit: f64,
}

/// The credit of (6) of two empty queues.
fn initial_credit(config: &Config) -> f64 {
    if config.linux {
        (2.0 * config.protection - 1.0) * PACKET as f64
    } else {
        0.0
    }
}

/// (5).
fn recur(sum: &mut f64, probability: f64) -> bool {
    *sum += probability;
    if *sum > 1.0 {
        *sum -= 1.0;
        return true;
    }
    false
}

impl<P: Copy + Default + std::fmt::Debug + Send> DualPi2<P> {
    /// Two empty queues that hold at most `limit` together.
    #[must_use]
    pub fn new(config: Config, limit: Limit, stream: Stream) -> Self {
        Self {
            config,
            limit,
            stream,
            low: Fifo::new(Limit::Unlimited, false),
            found: VecDeque::new(),
            classic: Fifo::new(Limit::Unlimited, false),
            base: 0.0,
            delay_old: Duration::ZERO,
            next_update: Time::ZERO + config.update,
            low_sum: 0.0,
            classic_sum: 0.0,
            credit: initial_credit(&config),
        }
    }

    /// (1), once for each update that is due; between updates only the age of the queues' heads changes.
    fn catch_up(&mut self, now: Time) {
        let Config { target, update, alpha, beta, coupling, .. } = self.config;
        while self.next_update <= now {
            let at = self.next_update;
            let age = |queue: &Fifo<P>| queue.front().map_or(Duration::ZERO, |one| at.saturating_since(one.since));
            let delay = age(&self.low).max(age(&self.classic));
            let seconds = |a: Duration, b: Duration| (a.as_nanos() as f64 - b.as_nanos() as f64) * 1e-9;
            let step = alpha * seconds(delay, target) + beta * seconds(delay, self.delay_old);
            let most = if self.config.linux { 1.0 } else { (1.0 / coupling).min(1.0) };
            self.base = (self.base + step).clamp(0.0, most);
            self.delay_old = delay;
            self.next_update += update;
        }
    }

    /// (2), (3): p_C and p_CL.
    fn probabilities(&self) -> (f64, f64) {
        let Config { coupling, linux, .. } = self.config;
        let most = if linux { 1.0 } else { 1.0 / (coupling * coupling) };
        // At its limit of 1 / k: the product may be just below 1 in floating point, with k = 49 for instance.
        let coupled = if self.base >= 1.0 / coupling { 1.0 } else { (coupling * self.base).min(1.0) };
        ((self.base * self.base).min(most), coupled)
    }

    /// Whether the classic queue's probability applies to the next packet.
    fn classic_signal(&mut self, probability: f64) -> bool {
        if !self.config.linux {
            return recur(&mut self.classic_sum, probability);
        }
        self.backlog().1 >= 2 * PACKET && self.stream.unit() < self.base && self.stream.unit() < self.base
    }

    /// (4): whether a departing packet of the L queue, which waited for `delay` and found `found` packets, is marked.
    fn low_signal(&mut self, coupled: f64, delay: Duration, found: u64) -> bool {
        let applies = match self.config.min_qlen_step {
            Some(least) => found >= u64::from(least),
            // With a single packet there is no native marking (`Th_len` in A.1).
            None => self.low.backlog().0 > 0,
        };
        let native = if applies { self.ramp(delay) } else { 0.0 };
        if !self.config.linux {
            return recur(&mut self.low_sum, native.max(coupled));
        }
        let drawn = self.backlog().1 >= 2 * PACKET && self.stream.unit() < coupled;
        drawn || native > 0.0 && self.stream.unit() < native
    }

    /// (4), without the coupling: the native marking probability.
    fn ramp(&self, delay: Duration) -> f64 {
        let Config { l_min, l_range, .. } = self.config;
        if delay < l_min || self.config.linux && delay == l_min {
            0.0
        } else if delay >= l_min + l_range {
            1.0
        } else {
            (delay - l_min).as_nanos() as f64 / l_range.as_nanos() as f64
        }
    }

    /// (6): the L queue is to be served.
    fn is_low_next(&self) -> bool {
        self.low.backlog().0 > 0 && (self.classic.backlog().0 == 0 || self.credit <= 0.0)
    }
}

impl<P: Copy + Default + std::fmt::Debug + Send> Discipline<P> for DualPi2<P> {
    fn enqueue(&mut self, now: Time, serving: u32, one: QueuedPacket<P>, dropped: &mut Vec<QueuedPacket<P>>) {
        self.catch_up(now);
        let (packets, bytes) = self.backlog();
        if !self.limit.admits(packets, bytes, one.size) {
            dropped.push(one);
        } else if matches!(one.ecn, Codepoint::Scalable | Codepoint::Ce) {
            if self.config.min_qlen_step.is_some() {
                self.found.push_back(self.low.backlog().0);
            }
            self.low.enqueue(now, serving, one, dropped);
        } else {
            self.classic.enqueue(now, serving, one, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        self.catch_up(now);
        let (p_classic, p_coupled) = self.probabilities();
        let Config { protection, linux, .. } = self.config;
        loop {
            if self.is_low_next() {
                let mut one = self.low.dequeue(now, dropped)?;
                let both = self.classic.backlog().0 > 0;
                let change = if both { protection * f64::from(one.size) } else { 0.0 };
                let found = self.found.pop_front().unwrap_or(0);
                let drops = p_coupled >= 1.0 && self.classic_signal(p_classic); // (7)
                self.credit += if drops && linux { 0.0 } else { change };
                if drops {
                    dropped.push(one);
                    continue;
                }
                if self.low_signal(p_coupled, now - one.since, found) {
                    one.mark();
                }
                return Some(one);
            }
            let Some(mut one) = self.classic.dequeue(now, dropped) else {
                self.credit = initial_credit(&self.config);
                return None;
            };
            let both = self.low.backlog().0 > 0;
            let change = if both { -(1.0 - protection) * f64::from(one.size) } else { 0.0 };
            let drops = self.classic_signal(p_classic) && !(p_coupled < 1.0 && one.mark());
            self.credit += if drops && linux { 0.0 } else { change };
            if drops {
                dropped.push(one);
                continue;
            }
            return Some(one);
        }
    }

    fn backlog(&self) -> (u64, u64) {
        let low = self.low.backlog();
        let classic = self.classic.backlog();
        (low.0 + classic.0, low.1 + classic.1)
    }

    fn oldest(&self) -> Option<Time> {
        [self.low.oldest(), self.classic.oldest()].into_iter().flatten().min()
    }

    fn memory(&self) -> usize {
        self.low.memory() + self.classic.memory() + self.found.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    /// RFC 9332, appendix A: the values of the example.
    const CONFIG: Config = Config {
        target: Duration::from_millis(15),
        rtt_max: Duration::from_millis(100),
        update: Duration::from_millis(15),
        alpha: 0.15,
        beta: 3.0,
        coupling: 2.0,
        l_min: Duration::from_micros(800),
        l_range: Duration::from_micros(400),
        protection: 0.1,
        linux: false,
        min_qlen_step: None,
    };

    /// sch_dualpi2.c: its constants.
    const LINUX: Config = Config {
        update: Duration::from_millis(16),
        alpha: 0.16,
        beta: 3.2,
        l_min: Duration::from_millis(1),
        l_range: Duration::ZERO,
        linux: true,
        min_qlen_step: Some(0),
        ..CONFIG
    };

    fn dual(config: Config) -> DualPi2<u64> {
        DualPi2::new(config, Limit::Unlimited, Stream::new(1, Purpose::Queue, 0))
    }

    fn packet(now: Time, ecn: Codepoint) -> QueuedPacket<u64> {
        QueuedPacket { since: now, size: 1500, ecn, ..QueuedPacket::default() }
    }

    /// `links-and-queues.md`: p' = 0.1 gives p_C = 0.01 and p_CL = 0.2; p_C is at most 1/k² = 25 %.
    #[test]
    fn the_classic_probability_is_the_square_and_the_coupled_one_linear() {
        let mut dual = dual(CONFIG);
        dual.base = 0.1;
        let (classic, coupled) = dual.probabilities();
        assert!((classic - 0.01).abs() < 1e-15 && (coupled - 0.2).abs() < 1e-15);
        dual.base = 0.5;
        assert_eq!(dual.probabilities(), (0.25, 1.0));
    }

    /// RFC 9332, A.2: with p' at its limit of 1/k, p_CL is 1, and ECN-capable classic packets are dropped, not marked. These k
    /// times 1/k are below 1 in floating point, but for the first.
    #[test]
    fn overload_begins_at_the_limit_of_the_base_probability() {
        for coupling in [2.0, 49.0, 98.0, 103.0, 107.0, 161.0] {
            let mut dual = dual(Config { coupling, ..CONFIG });
            (dual.base, dual.classic_sum) = (1.0 / coupling, 1.0);
            assert_eq!(dual.probabilities().1, 1.0, "{coupling}");
            let mut dropped = Vec::new();
            (0..2).for_each(|_| dual.enqueue(Time::ZERO, 0, packet(Time::ZERO, Codepoint::Classic), &mut dropped));
            let left = dual.dequeue(Time::ZERO, &mut dropped).expect("the second");
            assert_eq!((dropped.len(), left.marked), (1, false), "{coupling}");
        }
        let mut below = dual(Config { coupling: 0.5, ..CONFIG });
        below.base = 1.0;
        assert_eq!(below.probabilities().1, 0.5);
    }

    /// By hand: the ramp is 0 below 0.8 ms, half at 1 ms, 1 from 1.2 ms.
    #[test]
    fn the_native_probability_of_the_l_queue_is_a_ramp() {
        let dual = dual(CONFIG);
        assert_eq!(
            [0, 799_999, 1_000_000, 1_200_000].map(|delay| dual.ramp(Duration::from_nanos(delay))),
            [0.0, 0.0, 0.5, 1.0]
        );
    }

    /// By hand: one update with a sojourn time of 30 ms at the head: 0.15 × 0.015 + 3 × 0.030 = 0.09225.
    #[test]
    fn an_update_follows_the_rfc() {
        let mut dual = dual(CONFIG);
        let now = Time::from_nanos(30_000_000);
        dual.next_update = now;
        dual.classic.enqueue(Time::ZERO, 0, packet(Time::ZERO, Codepoint::NotCapable), &mut Vec::new());
        dual.catch_up(now);
        assert!((dual.base - 0.092_25).abs() < 1e-12, "{}", dual.base);
    }

    /// With both queues backlogged the classic one gets a tenth of the line.
    #[test]
    fn the_classic_queue_has_a_guaranteed_share() {
        let mut dual = dual(Config { alpha: 0.0, beta: 0.0, ..CONFIG });
        let mut dropped = Vec::new();
        let mut classic = 0;
        for _ in 0..3_000 {
            dual.enqueue(Time::ZERO, 1500, packet(Time::ZERO, Codepoint::Scalable), &mut dropped);
            dual.enqueue(Time::ZERO, 1500, packet(Time::ZERO, Codepoint::NotCapable), &mut dropped);
        }
        for _ in 0..2_000 {
            classic += u32::from(dual.dequeue(Time::ZERO, &mut dropped).expect("full").ecn == Codepoint::NotCapable);
        }
        assert!((199..=201).contains(&classic), "{classic}");
        assert!(dropped.is_empty());
    }

    /// Accumulator of appendix A by hand: at p_L = 0.35 of twenty packets the 3rd, 6th, 9th, 12th, 15th and 18th are marked.
    #[test]
    fn marks_are_spaced_by_the_sum_of_probabilities() {
        let mut sum = 0.0;
        let marked: Vec<u32> = (1..=20).filter(|_| recur(&mut sum, 0.35)).collect();
        assert_eq!(marked, [3, 6, 9, 12, 15, 18]);
    }

    /// By hand, the delay rising from 20 to 30 ms at a target of 15 ms: 0.15 × 0.015 + 3 × 0.010 = 0.03225 with the gains of the
    /// RFC, 0.16 × 0.015 + 3.2 × 0.010 = 0.0344 with Linux'.
    #[test]
    fn the_gains_of_linux_give_its_step() {
        for (config, expected) in [(CONFIG, 0.032_25), (LINUX, 0.034_4)] {
            let mut dual = dual(config);
            let now = Time::from_nanos(30_000_000);
            (dual.next_update, dual.delay_old) = (now, Duration::from_millis(20));
            dual.classic.enqueue(Time::ZERO, 0, packet(Time::ZERO, Codepoint::NotCapable), &mut Vec::new());
            dual.catch_up(now);
            assert!((dual.base - expected).abs() < 1e-12, "{}", dual.base);
        }
    }

    /// Linux, `must_drop`: with p' = 0.2 a share of 0.4 of the L packets is marked and of 0.04 of the classic ones dropped (and
    /// of the next after a drop, 0.0416 in all), by independent draws; a backlog below two packets has neither. Limits: four
    /// standard deviations of 20,000 draws.
    #[test]
    fn linux_draws_marks_and_drops() {
        let mut dual = dual(Config { alpha: 0.0, beta: 0.0, ..LINUX });
        dual.base = 0.2;
        let (mut dropped, mut marked) = (Vec::new(), 0);
        for _ in 0..20_000 {
            for ecn in [Codepoint::Scalable, Codepoint::NotCapable] {
                (0..5).for_each(|_| dual.enqueue(Time::ZERO, 1500, packet(Time::ZERO, ecn), &mut dropped));
            }
            marked += u32::from(dual.dequeue(Time::ZERO, &mut dropped).expect("full").marked);
            dual.low = Fifo::new(Limit::Unlimited, false);
            dual.dequeue(Time::ZERO, &mut dropped);
            dual.classic = Fifo::new(Limit::Unlimited, false);
            dual.found.clear();
            dual.credit = 0.0;
        }
        assert!((7_720..8_280).contains(&marked), "{marked}");
        assert!((716..949).contains(&dropped.len()), "{}", dropped.len());
        (dual.base, marked) = (0.49, 0);
        for _ in 0..100 {
            dual.enqueue(Time::ZERO, 0, packet(Time::ZERO, Codepoint::Scalable), &mut dropped);
            marked += u32::from(dual.dequeue(Time::ZERO, &mut dropped).expect("one").marked);
        }
        assert_eq!(marked, 0);
    }

    /// Linux: the step applies to packets that found `min_qlen_step` in the L queue at their arrival. 0 is the default since
    /// 6.17; the kernel of 2020 demanded two.
    #[test]
    fn the_step_of_linux_depends_on_the_queue_at_the_arrival() {
        for (least, expected) in [(0, [true; 3]), (2, [false, false, true])] {
            let mut dual = dual(Config { min_qlen_step: Some(least), ..LINUX });
            let mut dropped = Vec::new();
            (0..3).for_each(|_| dual.enqueue(Time::ZERO, 0, packet(Time::ZERO, Codepoint::Scalable), &mut dropped));
            let late = Time::from_nanos(2_000_000);
            assert_eq!([(); 3].map(|()| dual.dequeue(late, &mut dropped).expect("three").marked), expected);
        }
    }

    /// RFC 9332, 2.3: packets with ECT(1) and with CE belong to the L queue. sch_dualpi2.c: "IP.ECN==0b*1".
    #[test]
    fn packets_with_ce_use_the_l_queue() {
        use Codepoint::{Ce, Classic, NotCapable, Scalable};
        for (ecn, packets) in [(NotCapable, 0), (Classic, 0), (Scalable, 1), (Ce, 1)] {
            let mut dual = dual(CONFIG);
            dual.enqueue(Time::ZERO, 0, packet(Time::ZERO, ecn), &mut Vec::new());
            assert_eq!(dual.low.backlog().0, packets, "{ecn:?}");
        }
    }

    /// sch_dualpi2.c, `do_step_aqm`: a packet is marked if it has waited for more than the threshold of 1 ms.
    #[test]
    fn the_step_of_linux_marks_above_its_threshold() {
        for (ns, expected) in [(1_000_000, false), (1_000_001, true)] {
            let mut dual = dual(Config { min_qlen_step: Some(0), ..LINUX });
            dual.enqueue(Time::ZERO, 0, packet(Time::ZERO, Codepoint::Scalable), &mut Vec::new());
            assert_eq!(dual.dequeue(Time::from_nanos(ns), &mut Vec::new()).expect("one").marked, expected);
        }
    }

    /// sch_dualpi2.c, `dualpi2_qdisc_dequeue`: the credit of the round robin changes by packets that are sent. With p' = 1 all
    /// four classic packets are dropped, while the L queue has more than two packets.
    #[test]
    fn in_linux_dropped_packets_do_not_change_the_credit() {
        let mut dual = dual(Config { alpha: 0.0, beta: 0.0, coupling: 0.5, ..LINUX });
        (dual.base, dual.credit) = (1.0, 9000.0);
        let mut dropped = Vec::new();
        for ecn in [Codepoint::Scalable, Codepoint::NotCapable] {
            (0..4).for_each(|_| dual.enqueue(Time::ZERO, 0, packet(Time::ZERO, ecn), &mut dropped));
        }
        assert_eq!(dual.dequeue(Time::ZERO, &mut dropped).expect("an L packet").ecn, Codepoint::Scalable);
        assert_eq!((dropped.len(), dual.credit), (4, 9000.0));
    }
}
