//! A path in small: one line with a queue, ACKs that clock, a sender that keeps to the window.
//!
//! It is no simulator of TCP: nothing is resent, no header is counted, and a lost packet is known at the next one that
//! arrives. It is there so that an algorithm meets RTTs, rates, rounds and losses that answer to its window.

use std::collections::VecDeque;

use cwndlab_control::{Ack, Cause, Change, Congestion, DeliveryRate, Feedback, Sent, Window};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::chance::Chance;
use crate::harness::{Going, Harness};

/// Milliseconds in nanoseconds.
pub(crate) const MS: u64 = 1_000_000;
/// Seconds in nanoseconds.
pub(crate) const S: u64 = 1_000_000_000;
/// Least timeout, that of Linux.
const MIN_RTO: u64 = 200 * MS;
/// Largest timeout, that of Linux.
const MAX_RTO: u64 = 120 * S;

/// The path, and what happens on it.
#[derive(Clone, Debug)]
pub(crate) struct PathModel {
    /// Of the line, bit/s.
    pub(crate) rate: u64,
    /// Round trip without a queue, ns.
    pub(crate) rtt: u64,
    /// Of the queue, bytes.
    pub(crate) buffer: u64,
    /// Segments that one ACK acknowledges.
    pub(crate) unit: u64,
    /// ACKs into which such an acknowledgement is divided.
    pub(crate) split: u64,
    /// Bytes in the queue from which on packets are marked.
    pub(crate) mark_above: Option<u64>,
    /// One packet in so many is lost on the line.
    pub(crate) loss_one_in: Option<u64>,
    /// Everything sent between these times is lost.
    pub(crate) outages: Vec<(u64, u64)>,
    /// From a time on the round trip without a queue is another.
    pub(crate) shifts: Vec<(u64, u64)>,
    /// ACKs give RTT samples; without them Karn's rule has the word.
    pub(crate) samples: bool,
    /// The handshake gave one.
    pub(crate) handshake: bool,
    /// The application writes so many bytes every so many ns; `None`: always enough.
    pub(crate) bursts: Option<(u64, u64)>,
    /// An idle flow restarts with the initial window.
    pub(crate) idle_restart: bool,
    /// A loss restarts slow start.
    pub(crate) tahoe: bool,
    /// ACKs are reported together, at most one report per so many ns.
    pub(crate) report_every: u64,
    /// What routers write, as a share of the line's rate in percent.
    pub(crate) feedback: Option<u64>,
    /// Once in so many ACKs something uncalled-for happens.
    pub(crate) anomaly: Option<u64>,
    /// It ends after so many ACKs…
    pub(crate) acks: u64,
    /// … or at this time.
    pub(crate) until: u64,
}

impl Default for PathModel {
    /// 20 Mbit/s, 50 ms, a queue of one bandwidth-delay product: 85 segments of 1460 bytes.
    fn default() -> Self {
        Self {
            rate: 20_000_000,
            rtt: 50 * MS,
            buffer: 125_000,
            unit: 1,
            split: 1,
            mark_above: None,
            loss_one_in: None,
            outages: Vec::new(),
            shifts: Vec::new(),
            samples: true,
            handshake: true,
            bursts: None,
            idle_restart: true,
            tahoe: false,
            report_every: 0,
            feedback: None,
            anomaly: None,
            acks: 10_000,
            until: 100_000 * S,
        }
    }
}

/// What left together and comes back as one ACK.
#[derive(Clone, Copy, Debug)]
struct Unit {
    arrives: u64,
    sent: u64,
    size: u64,
    /// The number of the first byte.
    seq: u64,
    /// Bytes that were lost between the unit before and this one, and the number of their last.
    lost: u64,
    lost_seq: u64,
    marked: bool,
    app_limited: bool,
    /// As Linux notes them when a segment leaves.
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
}

/// A flow under way.
pub(crate) struct ModelFlow<'a, 'b, 'c> {
    model: PathModel,
    harness: &'a mut Harness<'b, 'c>,
    chance: Chance,
    initial: u64,
    /// A loss with more than this in flight means that a standing queue ran over.
    full: u64,
    peer: u64,
    mss: u64,
    pub(crate) now: u64,
    flying: VecDeque<Unit>,
    in_flight: u64,
    tail_lost: u64,
    tail_seq: u64,
    seq: u64,
    /// What is sent from here on was sent after the last reduction.
    recover: u64,
    recovering: bool,
    /// Timeouts since the last ACK.
    timeouts: u32,
    last_sent: u64,
    line_free: u64,
    last_arrival: u64,
    next_send: u64,
    window_limited: bool,
    written: u64,
    next_burst: u64,
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    app_limited_until: u64,
    round: u64,
    round_end: u64,
    srtt: u64,
    min_rtt: u64,
    pending: Option<Ack>,
    reported: u64,
    acks: u64,
}

impl<'a, 'b, 'c> ModelFlow<'a, 'b, 'c> {
    /// A flow whose handshake is done.
    pub(crate) fn begin(
        model: PathModel,
        harness: &'a mut Harness<'b, 'c>,
        seed: u64,
    ) -> Result<Self, crate::harness::Ended> {
        let (mss, initial) = (harness.mss().0, harness.window().0);
        let bdp = (u128::from(model.rate) * u128::from(model.rtt) / 8_000_000_000) as u64;
        let now = model.rtt;
        // With loss, blackouts and anomalies a loss says nothing; nor does it where the queue is too short to stand.
        let clean = model.loss_one_in.is_none() && model.outages.is_empty() && model.anomaly.is_none();
        let queues = clean && !model.tahoe && model.shifts.is_empty() && 2 * model.buffer >= bdp;
        let mut flow = Self {
            full: if queues { bdp + model.buffer / 4 * 3 } else { u64::MAX },
            peer: (4 * (bdp + model.buffer)).max(4 * initial).max(64 * mss),
            srtt: 0,
            min_rtt: 0,
            now,
            initial,
            mss,
            chance: Chance::new(seed),
            flying: VecDeque::new(),
            in_flight: 0,
            tail_lost: 0,
            tail_seq: 0,
            seq: 0,
            recover: 0,
            recovering: false,
            timeouts: 0,
            last_sent: now,
            line_free: 0,
            last_arrival: 0,
            next_send: 0,
            window_limited: false,
            written: if model.bursts.is_some() { 0 } else { u64::MAX },
            next_burst: if model.bursts.is_some() { now } else { u64::MAX },
            delivered: 0,
            delivered_at: now,
            first_sent: now,
            app_limited_until: 0,
            round: 0,
            round_end: 0,
            pending: None,
            reported: 0,
            acks: 0,
            model,
            harness,
        };
        if flow.model.handshake {
            flow.sample(now);
        }
        flow.impose(Change::Established, flow.harness.window().0, 0)?;
        Ok(flow)
    }

    fn sample(&mut self, rtt: u64) {
        self.srtt = if self.srtt == 0 { rtt } else { self.srtt - self.srtt / 8 + rtt / 8 };
        self.min_rtt = if self.min_rtt == 0 { rtt } else { self.min_rtt.min(rtt) };
    }

    fn feedback(&self, accelerated: u64) -> Option<Feedback> {
        let percent = self.model.feedback?;
        Some(Feedback { rate: Rate((self.model.rate / 100 * percent).max(1)), accelerated: Bytes(accelerated) })
    }

    fn impose(&mut self, change: Change, cwnd: u64, idle: u64) -> Going {
        let established = change == Change::Established;
        self.harness.on_window(&Window {
            now: Time(self.now),
            change,
            cwnd: Bytes(cwnd),
            idle: Duration(idle),
            rtt: (established && self.model.handshake).then_some(Duration(self.model.rtt)),
            feedback: if established { self.feedback(0) } else { None },
        })
    }

    fn congest(&mut self, cause: Cause, restart: bool, repeated: bool, in_flight: u64, lost: u64) -> Going {
        self.report()?;
        self.recover = self.seq;
        self.recovering = !restart;
        self.harness.overflow = in_flight > self.full;
        self.harness.congestion(&Congestion {
            now: Time(self.now),
            mss: Bytes(self.mss),
            cause,
            restart,
            repeated,
            in_flight: Bytes(in_flight),
            lost: Bytes(lost),
            srtt: Duration(self.srtt),
            min_rtt: Duration(self.min_rtt),
            round: self.round,
        })
    }

    /// To the end of the path.
    pub(crate) fn run(&mut self) -> Going {
        while self.acks < self.model.acks {
            self.send()?;
            let arrival = self.flying.front().map_or(u64::MAX, |unit| unit.arrives);
            let timer = if self.flying.is_empty() && self.in_flight > 0 { self.timer() } else { u64::MAX };
            let paced = if self.next_send > self.now && self.written > 0 { self.next_send } else { u64::MAX };
            let next = arrival.min(timer).min(paced).min(self.next_burst);
            if next > self.model.until {
                self.now = self.model.until;
                break;
            }
            self.now = self.now.max(next);
            if next == self.next_burst {
                self.write()?;
            } else if next == arrival {
                self.arrive()?;
            } else if next == timer {
                self.expire()?;
            }
        }
        self.report()
    }

    fn timer(&self) -> u64 {
        let base = if self.srtt == 0 { S } else { (2 * self.srtt).max(MIN_RTO) };
        let rto = base.saturating_mul(1 << self.timeouts.min(10)).min(MAX_RTO.max(base));
        self.last_sent + rto
    }

    /// The application writes; after a pause of more than the timeout the flow was idle.
    fn write(&mut self) -> Going {
        let Some((bytes, every)) = self.model.bursts else { return Ok(()) };
        self.next_burst = self.now + every;
        self.written += bytes;
        let idle = self.now - self.last_sent;
        if self.model.idle_restart && self.in_flight == 0 && idle > MIN_RTO.max(2 * self.srtt) {
            self.report()?;
            let window = self.initial.min(self.harness.window().0);
            self.impose(Change::Idle, window, idle)?;
        }
        Ok(())
    }

    fn send(&mut self) -> Going {
        loop {
            let window = self.harness.window().0.max(self.mss);
            if self.written == 0 {
                // Linux, tcp_rate_check_app_limited: until what is in flight now is delivered.
                self.app_limited_until = (self.delivered + self.in_flight).max(1);
                self.window_limited = false;
                return Ok(());
            }
            let unit = self.model.unit * self.mss;
            let room = window.min(self.peer).saturating_sub(self.in_flight);
            // As segmentation offload: what does not fill a unit waits, unless the window is small.
            let most = if room >= unit || window < 4 * unit { room / self.mss * self.mss } else { 0 };
            let most = if self.in_flight == 0 { most.max(self.mss) } else { most };
            if most == 0 {
                self.window_limited = window <= self.peer;
                return Ok(());
            }
            if self.next_send > self.now {
                self.window_limited = false;
                return Ok(());
            }
            self.put(unit.min(most).min(self.written))?;
        }
    }

    /// One unit goes onto the line.
    fn put(&mut self, size: u64) -> Going {
        let now = self.now;
        if let Some(rate) = self.harness.pacing() {
            self.next_send = now + (u128::from(size) * 8_000_000_000 / u128::from(rate.0.max(1))).min(1 << 50) as u64;
        }
        if self.in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        if self.written != u64::MAX {
            self.written -= size;
        }
        let waits = self.line_free.saturating_sub(now);
        let queued = (u128::from(waits) * u128::from(self.model.rate) / 8_000_000_000) as u64;
        let full = queued + size > self.model.buffer.max(size);
        if !full {
            self.line_free = now + waits + size * 8_000_000_000 / self.model.rate;
        }
        let lost = full
            || self.model.outages.iter().any(|(from, to)| (*from..*to).contains(&now))
            || self.model.loss_one_in.is_some_and(|n| self.chance.one_in(n));
        let seq = self.seq;
        self.seq += size;
        self.in_flight += size;
        self.last_sent = now;
        if lost {
            self.tail_lost += size;
            self.tail_seq = seq;
        } else {
            let rtt = self.model.shifts.iter().rev().find(|(at, _)| *at <= now).map_or(self.model.rtt, |(_, rtt)| *rtt);
            self.last_arrival = (self.line_free + rtt).max(self.last_arrival);
            self.flying.push_back(Unit {
                arrives: self.last_arrival,
                sent: now,
                size,
                seq,
                lost: std::mem::take(&mut self.tail_lost),
                lost_seq: self.tail_seq,
                marked: self.model.mark_above.is_some_and(|above| queued > above),
                app_limited: self.app_limited_until > 0,
                delivered: self.delivered,
                delivered_at: self.delivered_at,
                first_sent: self.first_sent,
            });
        }
        self.harness.sent(&Sent {
            now: Time(now),
            size: Bytes(size),
            in_flight: Bytes(self.in_flight),
            retransmission: false,
            app_limited: self.app_limited_until > 0,
        })
    }

    /// All of it is lost and nothing will come.
    fn expire(&mut self) -> Going {
        let (flight, repeated) = (self.in_flight, self.timeouts > 0);
        self.timeouts += 1;
        self.congest(Cause::Timeout, true, repeated, flight, flight)?;
        (self.in_flight, self.tail_lost) = (0, 0);
        self.next_send = 0;
        Ok(())
    }

    fn arrive(&mut self) -> Going {
        let Some(unit) = self.flying.pop_front() else { return Ok(()) };
        self.timeouts = 0;
        let before = self.in_flight;
        self.in_flight -= unit.lost;
        if unit.seq >= self.recover {
            self.recovering = false;
        }
        if unit.lost > 0 && unit.lost_seq >= self.recover {
            self.congest(Cause::Loss, self.model.tahoe, false, before, unit.lost)?;
        } else if unit.marked && !self.recovering && unit.seq >= self.recover {
            self.congest(Cause::Ecn, false, false, before, 0)?;
        }
        if self.model.samples {
            self.sample(self.now - unit.sent);
        }
        for part in 0..self.model.split {
            let share = unit.size / self.model.split;
            let size = if part + 1 == self.model.split { unit.size - share * part } else { share };
            let lost = if part == 0 { unit.lost } else { 0 };
            self.acknowledge(&unit, size, lost)?;
        }
        match self.model.anomaly {
            Some(n) if self.chance.one_in(n) => self.misbehave(),
            _ => Ok(()),
        }
    }

    fn acknowledge(&mut self, unit: &Unit, size: u64, lost: u64) -> Going {
        let prior = self.in_flight + lost;
        self.in_flight -= size;
        self.delivered += size;
        self.delivered_at = self.now;
        self.first_sent = unit.sent;
        if unit.delivered >= self.round_end {
            (self.round, self.round_end) = (self.round + 1, self.delivered);
        }
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        self.acks += 1;
        let (delivered, span) =
            (self.delivered - unit.delivered, (unit.sent - unit.first_sent).max(self.now - unit.delivered_at));
        let ack = Ack {
            now: Time(self.now),
            mss: Bytes(self.mss),
            acked: Bytes(size),
            acks: 1,
            interval: Duration::ZERO,
            prior_in_flight: Bytes(prior),
            in_flight: Bytes(self.in_flight),
            lost: Bytes(lost),
            rtt: self.model.samples.then_some(Duration(self.now - unit.sent)),
            srtt: Duration(self.srtt),
            min_rtt: Duration(self.min_rtt),
            // Linux, tcp_rate_gen: an interval below the least RTT is no sample.
            delivery_rate: (span >= self.min_rtt && span > 0).then(|| DeliveryRate {
                rate: Rate::of(Bytes(delivered), Duration(span)),
                delivered: Bytes(delivered),
                interval: Duration(span),
                prior_delivered: Bytes(unit.delivered),
                app_limited: unit.app_limited,
            }),
            delivered: Bytes(self.delivered),
            ce: Bytes(if unit.marked { size } else { 0 }),
            app_limited: self.app_limited_until > 0,
            cwnd_limited: self.window_limited,
            recovering: self.recovering,
            round: self.round,
            feedback: self.feedback(if unit.marked { 0 } else { size }),
        };
        if self.model.report_every == 0 {
            return self.harness.ack(&ack);
        }
        self.pending = Some(match self.pending.take() {
            Some(first) => first.joined(&ack),
            None => ack,
        });
        if self.now - self.reported >= self.model.report_every {
            return self.report();
        }
        Ok(())
    }

    /// What waits to be reported.
    fn report(&mut self) -> Going {
        let Some(ack) = self.pending.take() else { return Ok(()) };
        self.reported = self.now;
        self.harness.ack(&ack)
    }

    /// What no path of this battery brings about by itself.
    fn misbehave(&mut self) -> Going {
        self.report()?;
        let window = self.harness.window().0.clamp(self.mss, self.peer);
        match self.chance.below(8) {
            0 => self.impose(Change::Undo, window, 0),
            1 => self.impose(Change::Recovered, (window / self.mss / 2).max(1) * self.mss, 0),
            2 => self.congest(Cause::Ecn, false, false, self.in_flight, 0),
            3 => self.congest(Cause::Loss, false, false, self.in_flight, self.mss),
            4 => self.congest(Cause::Timeout, true, false, self.in_flight, self.in_flight),
            5 => {
                // Found to be spurious at once (F-RTO).
                self.congest(Cause::Timeout, true, false, self.in_flight, self.in_flight)?;
                self.impose(Change::Undo, self.harness.window().0, 0)
            }
            6 => {
                self.model.samples = !self.model.samples;
                Ok(())
            }
            _ => {
                let rtt = self.chance.magnitude(MS / 10, 2 * S);
                self.model.shifts = vec![(self.now, rtt)];
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::path;
    use crate::cost::Told;
    use crate::harness::Tally;
    use crate::{faulty, Traits};
    use std::sync::atomic::AtomicBool;

    /// What a right Reno is told on the path.
    fn told(model: PathModel) -> Vec<Told> {
        let (traits, never) = (Traits::default(), AtomicBool::new(false));
        let mut tally = Tally::new(&traits, &never);
        let mut harness = Harness::new("test", &faulty::without_fault, &path(&traits, 10, None), &mut tally).unwrap();
        harness.tape = Some(Vec::new());
        ModelFlow::begin(model, &mut harness, 1).and_then(|mut flow| flow.run()).unwrap();
        harness.tape.take().unwrap()
    }

    fn acks(told: &[Told]) -> Vec<&Ack> {
        fn ack(one: &Told) -> Option<&Ack> {
            if let Told::Ack(ack) = one {
                Some(ack)
            } else {
                None
            }
        }
        told.iter().filter_map(ack).collect()
    }

    /// By hand: 1460 bytes at 20 Mbit/s take 584 µs, so ten segments come back after 50.584, 51.168, … 55.84 ms.
    #[test]
    fn acks_come_as_the_line_sends() {
        let told = told(PathModel { acks: 10, ..PathModel::default() });
        let rtts: Vec<_> = acks(&told).iter().map(|ack| ack.rtt.unwrap().0).collect();
        assert_eq!(rtts, (1..=10).map(|n| 50 * MS + n * 584_000).collect::<Vec<_>>());
    }

    /// By hand: path and queue hold 125,000 bytes each, so no RTT is above 100 ms; with the queue never empty the line's
    /// rate is what arrives.
    #[test]
    fn a_full_queue_doubles_the_rtt_and_the_line_sets_the_rate() {
        let told = told(PathModel { acks: 3_000, ..PathModel::default() });
        let last = acks(&told).split_off(1_000);
        assert!(last.iter().all(|ack| ack.rtt.unwrap().0 <= 101 * MS));
        let rate = last.last().unwrap().delivery_rate.unwrap().rate.0;
        assert!((19_900_000..=20_000_000).contains(&rate), "{rate} bit/s");
    }

    /// RFC 6298 (5.5) by hand: a first timeout after 200 ms, then each after twice the time, marked as repeated.
    #[test]
    fn in_a_blackout_timeouts_double() {
        let told = told(PathModel { acks: 1, outages: vec![(0, 3 * S)], ..PathModel::default() });
        let timeouts: Vec<_> = told
            .iter()
            .filter_map(
                |one| if let Told::Congestion(event) = one { Some((event.now.0 / MS, event.repeated)) } else { None },
            )
            .collect();
        let times = [250, 650, 1450, 3050].map(|ms| (ms, ms > 250));
        assert_eq!(timeouts, times);
    }

    #[test]
    fn clock_bytes_and_rounds_only_go_forward() {
        let told = told(PathModel { acks: 3_000, loss_one_in: Some(50), anomaly: Some(20), ..PathModel::default() });
        for pair in acks(&told).windows(2) {
            let (one, two) = (pair[0], pair[1]);
            assert!(one.now <= two.now && one.delivered < two.delivered && one.round <= two.round);
            assert_eq!(two.prior_in_flight.0, two.in_flight.0 + two.acked.0 + two.lost.0);
        }
    }
}
