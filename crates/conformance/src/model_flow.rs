//! A model of a flow: one line with a queue, ACK clocking, and a sender that is limited by the window.
//!
//! The model is not a TCP simulator: it has no retransmissions and no headers, and the next arriving packet reveals a
//! loss. It provides an algorithm with RTTs, rates, rounds and losses that depend on its window.

use cwndlab_control::delivery::{DeliveryEstimator, Rounds};
use cwndlab_control::{Ack, Cause, Change, Congestion, Feedback, Sent, Window};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::harness::{CaseEnded, CaseResult, Harness};
use crate::line::{Line, Unit};
use crate::path_model::{PathModel, MS, S};
use crate::random::Random;
use crate::sender::{Application, Recovery, Reports, RttEstimator, SendState};

/// The state of a modelled flow.
pub(crate) struct ModelFlow<'a, 'b, 'c> {
    model: PathModel,
    harness: &'a mut Harness<'b, 'c>,
    random: Random,
    now: Time,
    mss: u64,
    /// Initial window, bytes.
    initial: u64,
    /// Bytes in flight above which a loss indicates the overflow of a standing queue.
    overflow_above: u64,
    /// Receive window, bytes.
    rwnd: u64,
    line: Line,
    application: Application,
    sender: SendState,
    recovery: Recovery,
    rtt: RttEstimator,
    delivery: DeliveryEstimator,
    rounds: Rounds,
    reports: Reports,
}

impl<'a, 'b, 'c> ModelFlow<'a, 'b, 'c> {
    /// A flow after its handshake.
    pub(crate) fn begin(model: PathModel, harness: &'a mut Harness<'b, 'c>, seed: u64) -> Result<Self, CaseEnded> {
        let mss = harness.mss().0;
        let initial = harness.window().0;
        let now = Time::from_nanos(model.rtt);
        let mut delivery = DeliveryEstimator::default();
        delivery.start(now);
        let mut flow = Self {
            random: Random::new(seed),
            now,
            mss,
            initial,
            overflow_above: model.overflow_above(),
            rwnd: (4 * (model.bdp() + model.buffer)).max(4 * initial).max(64 * mss),
            line: Line::default(),
            application: Application::new(&model, now),
            sender: SendState::new(now),
            recovery: Recovery::default(),
            rtt: RttEstimator::default(),
            delivery,
            rounds: Rounds::default(),
            reports: Reports::default(),
            model,
            harness,
        };
        if flow.model.handshake {
            flow.rtt.sample(Duration::from_nanos(flow.model.rtt));
        }
        flow.notify_window(Change::Established, flow.harness.window().0, Duration::ZERO)?;
        Ok(flow)
    }

    /// Router feedback, if enabled.
    fn feedback(&self, accelerated: u64) -> Option<Feedback> {
        let percent = self.model.feedback?;
        Some(Feedback { rate: Rate((self.model.rate / 100 * percent).max(1)), accelerated: Bytes(accelerated) })
    }

    /// Reports a change of the window by the transport.
    fn notify_window(&mut self, change: Change, cwnd: u64, idle: Duration) -> CaseResult {
        let established = change == Change::Established;
        self.harness.report(Window {
            idle,
            rtt: (established && self.model.handshake).then_some(Duration::from_nanos(self.model.rtt)),
            feedback: if established { self.feedback(0) } else { None },
            ..Window::new(self.now, change, Bytes(cwnd))
        })
    }

    /// Reports a congestion event.
    fn report_congestion(
        &mut self,
        cause: Cause,
        restart: bool,
        repeated: bool,
        in_flight: u64,
        lost: u64,
    ) -> CaseResult {
        self.report()?;
        self.recovery.begin(self.sender.next_seq, restart);
        self.harness.overflow = in_flight > self.overflow_above;
        self.harness.report(Congestion {
            now: self.now,
            mss: Bytes(self.mss),
            cause,
            restart,
            repeated,
            in_flight: Bytes(in_flight),
            lost: Bytes(lost),
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min_rtt,
            round: self.rounds.count(),
        })
    }

    /// Runs the flow to the end of the case.
    pub(crate) fn run(&mut self) -> CaseResult {
        while self.reports.acks < self.model.acks {
            self.send()?;
            let arrival = self.line.next_arrival();
            let timer = self.rto_expiry();
            let write = self.application.next_write;
            let next = arrival.min(timer).min(self.pacing_time()).min(write);
            if next > Time::from_nanos(self.model.until) {
                self.now = Time::from_nanos(self.model.until);
                break;
            }
            self.now = self.now.max(next);
            if next == write {
                self.on_write()?;
            } else if next == arrival {
                self.on_arrival()?;
            } else if next == timer {
                self.on_timeout()?;
            }
        }
        self.report()
    }

    /// Expiry of the RTO timer, which runs only if all data in flight are lost.
    fn rto_expiry(&self) -> Time {
        if self.line.is_empty() && self.sender.in_flight > 0 {
            self.sender.last_sent + self.rtt.timeout(self.recovery.timeouts)
        } else {
            Time::MAX
        }
    }

    /// Time at which pacing permits the next unit, if data wait.
    fn pacing_time(&self) -> Time {
        if self.sender.next_send > self.now && self.application.unsent > 0 {
            self.sender.next_send
        } else {
            Time::MAX
        }
    }

    /// Handles a write of the application; the window restarts after a pause above the RTO.
    fn on_write(&mut self) -> CaseResult {
        let Some((bytes, every)) = self.model.bursts else { return Ok(()) };
        self.application.write(bytes, self.now + Duration::from_nanos(every));
        let idle = self.now - self.sender.last_sent;
        if self.model.idle_restart && self.sender.in_flight == 0 && idle > self.rtt.idle_after() {
            self.report()?;
            let window = self.initial.min(self.harness.window().0);
            self.notify_window(Change::Idle, window, idle)?;
        }
        Ok(())
    }

    /// Sends as many units as window, application and pacing permit.
    fn send(&mut self) -> CaseResult {
        loop {
            let window = self.harness.window().0.max(self.mss);
            if self.application.unsent == 0 {
                self.delivery.set_app_limited(Bytes(self.sender.in_flight));
                self.sender.window_limited = false;
                return Ok(());
            }
            let unit = self.model.unit * self.mss;
            let room = window.min(self.rwnd).saturating_sub(self.sender.in_flight);
            // As with segmentation offload, a partial unit waits unless the window is small.
            let size = if room >= unit || window < 4 * unit { room / self.mss * self.mss } else { 0 };
            let size = if self.sender.in_flight == 0 { size.max(self.mss) } else { size };
            if size == 0 {
                self.sender.window_limited = window <= self.rwnd;
                return Ok(());
            }
            if self.sender.next_send > self.now {
                self.sender.window_limited = false;
                return Ok(());
            }
            self.send_unit(unit.min(size).min(self.application.unsent))?;
        }
    }

    /// Sends one unit.
    fn send_unit(&mut self, size: u64) -> CaseResult {
        let now = self.now;
        if let Some(rate) = self.harness.pacing() {
            self.sender.pace(size, rate, now);
        }
        if self.sender.in_flight == 0 {
            self.delivery.start(now);
        }
        self.application.send(size);
        let seq = self.sender.send(size, now);
        self.line.send(&self.model, &mut self.random, seq, size, self.delivery.departure(now));
        self.harness.report(Sent {
            now,
            size: Bytes(size),
            in_flight: Bytes(self.sender.in_flight),
            retransmission: false,
            app_limited: self.delivery.is_app_limited(),
        })
    }

    /// Handles a retransmission timeout: all data in flight are lost.
    fn on_timeout(&mut self) -> CaseResult {
        let flight = self.sender.in_flight;
        let repeated = self.recovery.timeouts > 0;
        self.recovery.timeouts += 1;
        self.report_congestion(Cause::Timeout, true, repeated, flight, flight)?;
        self.line.clear_losses();
        (self.sender.in_flight, self.sender.next_send) = (0, Time::ZERO);
        Ok(())
    }

    /// Handles the arrival of a unit: losses, marks, RTT sample and ACKs.
    fn on_arrival(&mut self) -> CaseResult {
        let Some(unit) = self.line.arrive() else { return Ok(()) };
        self.recovery.timeouts = 0;
        let before = self.sender.in_flight;
        self.sender.in_flight -= unit.lost;
        self.recovery.acknowledge(unit.seq);
        if unit.lost > 0 && self.recovery.is_past(unit.lost_seq) {
            self.report_congestion(Cause::Loss, self.model.tahoe, false, before, unit.lost)?;
        } else if unit.marked && !self.recovery.active && self.recovery.is_past(unit.seq) {
            self.report_congestion(Cause::Ecn, false, false, before, 0)?;
        }
        if self.model.samples {
            self.rtt.sample(self.now - unit.departure.sent_at);
        }
        for part in 0..self.model.split {
            let share = unit.size / self.model.split;
            let size = if part + 1 == self.model.split { unit.size - share * part } else { share };
            let lost = if part == 0 { unit.lost } else { 0 };
            self.acknowledge(&unit, size, lost)?;
        }
        match self.model.anomaly {
            Some(n) if self.random.one_in(n) => self.inject_anomaly(),
            _ => Ok(()),
        }
    }

    /// Processes an ACK of `size` bytes of a unit, which also reports `lost` bytes.
    fn acknowledge(&mut self, unit: &Unit, size: u64, lost: u64) -> CaseResult {
        self.sender.in_flight -= size;
        self.delivery.deliver(self.now, Bytes(size), &unit.departure);
        self.rounds.advance(unit.departure.delivered.0, self.delivery.delivered().0);
        self.reports.acks += 1;
        let ack = self.ack_of(unit, size, lost);
        if self.model.report_every == 0 {
            return self.harness.report(ack);
        }
        if self.reports.join(ack) >= Duration::from_nanos(self.model.report_every) {
            return self.report();
        }
        Ok(())
    }

    /// The contents of an ACK.
    fn ack_of(&self, unit: &Unit, size: u64, lost: u64) -> Ack {
        Ack {
            now: self.now,
            mss: Bytes(self.mss),
            acked: Bytes(size),
            acks: 1,
            interval: Duration::ZERO,
            prior_in_flight: Bytes(self.sender.in_flight + size + lost),
            in_flight: Bytes(self.sender.in_flight),
            lost: Bytes(lost),
            rtt: self.model.samples.then_some(self.now - unit.departure.sent_at),
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min_rtt,
            delivery_rate: self.delivery.sample(self.now, &unit.departure, self.rtt.min_rtt),
            delivered: self.delivery.delivered(),
            ce: Bytes(if unit.marked { size } else { 0 }),
            app_limited: self.delivery.is_app_limited(),
            cwnd_limited: self.sender.window_limited,
            recovering: self.recovery.active,
            round: self.rounds.count(),
            feedback: self.feedback(if unit.marked { 0 } else { size }),
        }
    }

    /// Reports the pending ACKs.
    fn report(&mut self) -> CaseResult {
        match self.reports.take(self.now) {
            Some(ack) => self.harness.report(ack),
            None => Ok(()),
        }
    }

    /// Injects an event or a change that is unrelated to the state of the path.
    fn inject_anomaly(&mut self) -> CaseResult {
        self.report()?;
        let window = self.harness.window().0.clamp(self.mss, self.rwnd);
        match self.random.below(8) {
            0 => self.notify_window(Change::Undo, window, Duration::ZERO),
            1 => self.notify_window(Change::Recovered, (window / self.mss / 2).max(1) * self.mss, Duration::ZERO),
            2 => self.report_congestion(Cause::Ecn, false, false, self.sender.in_flight, 0),
            3 => self.report_congestion(Cause::Loss, false, false, self.sender.in_flight, self.mss),
            4 => self.report_congestion(Cause::Timeout, true, false, self.sender.in_flight, self.sender.in_flight),
            5 => {
                // A timeout that is immediately detected as spurious (F-RTO).
                self.report_congestion(Cause::Timeout, true, false, self.sender.in_flight, self.sender.in_flight)?;
                self.notify_window(Change::Undo, self.harness.window().0, Duration::ZERO)
            }
            6 => {
                self.model.samples = !self.model.samples;
                Ok(())
            }
            _ => {
                let rtt = self.random.magnitude(MS / 10, 2 * S);
                self.model.shifts = vec![(self.now.as_nanos(), rtt)];
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::path;
    use crate::faulty;
    use crate::harness::Findings;
    use crate::traits::Traits;
    use cwndlab_control::Report;
    use std::sync::atomic::AtomicBool;

    /// The events of Reno without a fault on the path.
    fn recorded(model: PathModel) -> Vec<Report> {
        let traits = Traits::default();
        let never = AtomicBool::new(false);
        let mut findings = Findings::new(&traits, &never);
        let mut harness =
            Harness::new("test", &faulty::without_fault, &path(&traits, 10, None), &mut findings).unwrap();
        harness.event_log = Some(Vec::new());
        ModelFlow::begin(model, &mut harness, 1).and_then(|mut flow| flow.run()).unwrap();
        harness.event_log.take().unwrap()
    }

    fn acks(events: &[Report]) -> Vec<&Ack> {
        fn ack(one: &Report) -> Option<&Ack> {
            if let Report::Ack(ack) = one {
                Some(ack)
            } else {
                None
            }
        }
        events.iter().filter_map(ack).collect()
    }

    /// By hand: 1460 bytes at 20 Mbit/s take 584 µs, so that ten segments have RTTs of 50.584, 51.168, … 55.84 ms.
    #[test]
    fn acks_arrive_at_the_rate_of_the_line() {
        let events = recorded(PathModel { acks: 10, ..PathModel::default() });
        let rtts: Vec<_> = acks(&events).iter().map(|ack| ack.rtt.unwrap().as_nanos()).collect();
        assert_eq!(rtts, (1..=10).map(|n| 50 * MS + n * 584_000).collect::<Vec<_>>());
    }

    /// By hand: path and queue hold 125,000 bytes each, so that no RTT is above 100 ms; with a queue that is
    /// never empty the delivery rate is the rate of the line.
    #[test]
    fn a_full_queue_doubles_the_rtt_and_delivers_at_the_line_rate() {
        let events = recorded(PathModel { acks: 3_000, ..PathModel::default() });
        let last = acks(&events).split_off(1_000);
        assert!(last.iter().all(|ack| ack.rtt.unwrap().as_nanos() <= 101 * MS));
        let rate = last.last().unwrap().delivery_rate.unwrap().rate().0;
        assert!((19_900_000..=20_000_000).contains(&rate), "{rate} bit/s");
    }

    /// RFC 6298 (5.5) by hand: a first timeout after 200 ms, then each after twice the time and marked as repeated.
    #[test]
    fn the_rto_doubles_in_an_outage() {
        let events = recorded(PathModel { acks: 1, outages: vec![(0, 3 * S)], ..PathModel::default() });
        let timeouts: Vec<_> = events
            .iter()
            .filter_map(|one| {
                if let Report::Congestion(event) = one {
                    Some((event.now.as_nanos() / MS, event.repeated))
                } else {
                    None
                }
            })
            .collect();
        let times = [250, 650, 1450, 3050].map(|ms| (ms, ms > 250));
        assert_eq!(timeouts, times);
    }

    #[test]
    fn time_bytes_and_rounds_do_not_decrease() {
        let events =
            recorded(PathModel { acks: 3_000, loss_one_in: Some(50), anomaly: Some(20), ..PathModel::default() });
        for pair in acks(&events).windows(2) {
            let one = pair[0];
            let two = pair[1];
            assert!(one.now <= two.now && one.delivered < two.delivered && one.round <= two.round);
            assert_eq!(two.prior_in_flight.0, two.in_flight.0 + two.acked.0 + two.lost.0);
        }
    }
}
