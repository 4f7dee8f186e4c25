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
//! Units: ns, bytes. Packets with ECT(1) use the L queue. One limit applies to the sum of both queues.

use cwndlab_config::{fields, Positive, Probability, Table};
use cwndlab_units::{Duration, Time};

use super::fifo::Fifo;
use super::{capacity, Codepoint, Configuration, Discipline, Packet, QueueContext, QueuedPacket};
use crate::queue::Limit;

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
    }
}

impl Configuration for Config {
    fn build<P: Packet>(&self, context: QueueContext) -> Option<Box<dyn Discipline<P>>> {
        Some(Box::new(DualPi2::new(*self, context.limit)))
    }
}

/// The two queues managed by DualPI2.
#[derive(Debug)]
pub struct DualPi2<P> {
    config: Config,
    limit: Limit,
    low: Fifo<P>,
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
    pub fn new(config: Config, limit: Limit) -> Self {
        Self {
            config,
            limit,
            low: Fifo::new(Limit::Unlimited, false),
            classic: Fifo::new(Limit::Unlimited, false),
            base: 0.0,
            delay_old: Duration::ZERO,
            next_update: Time::ZERO + config.update,
            low_sum: 0.0,
            classic_sum: 0.0,
            credit: 0.0,
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
            self.base = (self.base + step).clamp(0.0, (1.0 / coupling).min(1.0));
            self.delay_old = delay;
            self.next_update += update;
        }
    }

    /// (2), (3): p_C and p_CL.
    fn probabilities(&self) -> (f64, f64) {
        let coupling = self.config.coupling;
        ((self.base * self.base).min(1.0 / (coupling * coupling)), (coupling * self.base).min(1.0))
    }

    /// (4), without the coupling: the native marking probability.
    fn ramp(&self, delay: Duration) -> f64 {
        let Config { l_min, l_range, .. } = self.config;
        if delay < l_min {
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
        } else if one.ecn == Codepoint::Scalable {
            self.low.enqueue(now, serving, one, dropped);
        } else {
            self.classic.enqueue(now, serving, one, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<QueuedPacket<P>>) -> Option<QueuedPacket<P>> {
        self.catch_up(now);
        let (p_classic, p_coupled) = self.probabilities();
        let protection = self.config.protection;
        loop {
            if self.is_low_next() {
                let mut one = self.low.dequeue(now, dropped)?;
                if self.classic.backlog().0 > 0 {
                    self.credit += protection * f64::from(one.size);
                }
                // With a single packet there is no native marking (`Th_len` in A.1).
                let native = if self.low.backlog().0 > 0 { self.ramp(now - one.since) } else { 0.0 };
                if p_coupled >= 1.0 && recur(&mut self.classic_sum, p_classic) {
                    dropped.push(one); // (7)
                    continue;
                }
                if recur(&mut self.low_sum, native.max(p_coupled)) {
                    one.mark();
                }
                return Some(one);
            }
            let Some(mut one) = self.classic.dequeue(now, dropped) else {
                self.credit = 0.0;
                return None;
            };
            if self.low.backlog().0 > 0 {
                self.credit -= (1.0 - protection) * f64::from(one.size);
            }
            if recur(&mut self.classic_sum, p_classic) && !(p_coupled < 1.0 && one.mark()) {
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
        self.low.memory() + self.classic.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    };

    fn packet(now: Time, ecn: Codepoint) -> QueuedPacket<u64> {
        QueuedPacket { since: now, size: 1500, ecn, ..QueuedPacket::default() }
    }

    /// `links-and-queues.md`: p' = 0.1 gives p_C = 0.01 and p_CL = 0.2; p_C is at most 1/k² = 25 %.
    #[test]
    fn the_classic_probability_is_the_square_and_the_coupled_one_linear() {
        let mut dual: DualPi2<u64> = DualPi2::new(CONFIG, Limit::Unlimited);
        dual.base = 0.1;
        let (classic, coupled) = dual.probabilities();
        assert!((classic - 0.01).abs() < 1e-15 && (coupled - 0.2).abs() < 1e-15);
        dual.base = 0.5;
        assert_eq!(dual.probabilities(), (0.25, 1.0));
    }

    /// By hand: the ramp is 0 below 0.8 ms, half at 1 ms, 1 from 1.2 ms.
    #[test]
    fn the_native_probability_of_the_l_queue_is_a_ramp() {
        let dual: DualPi2<u64> = DualPi2::new(CONFIG, Limit::Unlimited);
        assert_eq!(
            [0, 799_999, 1_000_000, 1_200_000].map(|delay| dual.ramp(Duration::from_nanos(delay))),
            [0.0, 0.0, 0.5, 1.0]
        );
    }

    /// By hand: one update with a sojourn time of 30 ms at the head: 0.15 × 0.015 + 3 × 0.030 = 0.09225.
    #[test]
    fn an_update_follows_the_rfc() {
        let mut dual: DualPi2<u64> = DualPi2::new(CONFIG, Limit::Unlimited);
        let now = Time::from_nanos(30_000_000);
        dual.next_update = now;
        dual.classic.enqueue(Time::ZERO, 0, packet(Time::ZERO, Codepoint::NotCapable), &mut Vec::new());
        dual.catch_up(now);
        assert!((dual.base - 0.092_25).abs() < 1e-12, "{}", dual.base);
    }

    /// With both queues backlogged the classic one gets a tenth of the line.
    #[test]
    fn the_classic_queue_has_a_guaranteed_share() {
        let mut dual: DualPi2<u64> = DualPi2::new(Config { alpha: 0.0, beta: 0.0, ..CONFIG }, Limit::Unlimited);
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
}
