//! ACK processing: deliveries, samples, recovery, the report to the algorithm, timers, transmission.

use cwndlab_control::{Ack, DeliveryRate, Feedback};
use cwndlab_units::{Bytes, CaState, Duration, Time};

use super::Sender;
use crate::ack_summary::{rtts, AckSummary};
use crate::rate_sample::RateSample;
use crate::recovery::LossRecovery;
use crate::rexmit::Rexmit;
use crate::stack::{AckCounting, RtoRestart};
use crate::timers::Timer;
use crate::wire::{AckPacket, Output, PlainAck};

/// The data of an ACK for the report to the algorithm.
struct AckReport {
    /// Data newly delivered, before the stack's ACK counting.
    bytes: Bytes,
    /// The RTT sample; zero if there is none.
    rtt: Duration,
    prior_in_flight: Bytes,
    in_flight: Bytes,
    lost: Bytes,
    delivery_rate: Option<DeliveryRate>,
    ce: Bytes,
    recovering: bool,
    feedback: Option<Feedback>,
}

impl Sender {
    /// Handles an ACK.
    pub fn on_ack(&mut self, now: Time, ack: &AckPacket, out: &mut impl Output) {
        match ack.plain() {
            Some(plain) => self.on_plain_ack(now, plain, out),
            None if ack.part > 0 && ack.ack == self.una() => self.on_part_of_segment(now, out),
            None => self.on_slow_path_ack(now, ack, out),
        }
    }

    /// Handles an ACK without options. Most of these take the fast path: they only advance SND.UNA over data that was
    /// sent once.
    #[inline]
    pub fn on_plain_ack(&mut self, now: Time, ack: PlainAck, out: &mut impl Output) {
        let board = &self.tcb.scoreboard;
        if self.fast_path && ack.ack > board.una && ack.ack <= board.next && !ack.ece {
            self.on_fast_path_ack(now, ack, out);
        } else {
            self.on_slow_path_ack(now, &ack.into(), out);
        }
    }

    /// The steps of [`on_slow_path_ack`](Self::on_slow_path_ack) that a fast-path ACK needs, in the same order. Without
    /// a summary, its values stay in registers.
    #[inline]
    fn on_fast_path_ack(&mut self, now: Time, ack: PlainAck, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        let prior_in_flight = tcb.flight_size();
        if tcb.send_buffer.window_differs(ack.window) {
            tcb.send_buffer.set_window(ack.window);
        }
        let run = tcb.scoreboard.pop_untouched(ack.ack);
        tcb.scoreboard.on_una_advanced();
        tcb.counters.acked_bytes += run.bytes.0;
        let (oldest, newest) = rtts(now, &run);
        tcb.rack.advance(now, run.last_seq(), &run.last, tcb.rtt.min_or_max(), false, &mut false);
        let mut sample = RateSample::default();
        tcb.rate.on_run_delivered(&run, &mut sample);
        tcb.rtt.sample(now, oldest, newest);
        let delivery_rate = tcb.rate.generate(now, &sample, tcb.rtt.min_or_max());
        tcb.rate.count_round(ack.ack, tcb.scoreboard.next);
        let report = AckReport {
            bytes: sample.bytes,
            rtt: newest,
            prior_in_flight,
            in_flight: tcb.flight_size(),
            lost: Bytes::ZERO,
            delivery_rate,
            ce: Bytes::ZERO,
            recovering: false,
            feedback: None,
        };
        self.report_ack(now, report, out);
        self.tcb.adopt_cwnd();
        self.update_pacing_rate();
        if let Some(room) = self.free_window() {
            self.fill_window(room, now, out);
        } else {
            self.restart_timers(now, true);
            self.transmit(now, out);
        }
    }

    /// Handles any other ACK. A separate function, so that the fast path has all registers.
    #[inline(never)]
    fn on_slow_path_ack(&mut self, now: Time, ack: &AckPacket, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        if !self.established || ack.ack > tcb.scoreboard.next {
            return;
        }
        self.fast_path = false;
        let prior_una = tcb.scoreboard.una;
        self.idle_acks += u64::from(ack.ack <= prior_una);
        if ack.ack < prior_una {
            // RFC 7323, section 5.3, R1: with timestamps it is older than one that arrived, and is discarded.
            let discarded = tcb.stack.timestamps && tcb.stack.paws;
            if tcb.features.linux && !discarded {
                self.on_old_ack(now, ack, out);
            }
            return;
        }
        let prior_in_flight = tcb.in_flight();
        let mut summary = AckSummary::new(ack, prior_una);
        summary.was_idle = tcb.scoreboard.flight_size() == 0;
        let delivery_rate = self.take_deliveries(now, ack, &mut summary);
        let ce = self.take_marks(ack, &mut summary, out);
        let tcb = &mut self.tcb;
        if summary.advanced {
            tcb.rate.count_round(ack.ack, tcb.scoreboard.next);
        }
        self.recovery.on_ack(tcb, now, &mut summary, out);
        if summary.rate.segments > 0 && !summary.was_idle {
            let report = AckReport {
                bytes: summary.rate.bytes,
                rtt: summary.rtt.reported,
                prior_in_flight,
                in_flight: tcb.in_flight(),
                lost: tcb.controller.take_lost(),
                delivery_rate,
                ce,
                recovering: tcb.state.is_reducing() || !tcb.may_raise_cwnd(&summary),
                feedback: self.feedback.take(),
            };
            self.report_ack(now, report, out);
        }
        self.tcb.sync_cwnd();
        self.restart_timers(now, summary.restart_timer);
        self.update_pacing_rate();
        self.transmit(now, out);
        self.tcb.rexmit = Rexmit::Lost;
        self.fast_path =
            self.tcb.allows_fast_path() && self.recovery.allows_fast_path(&self.tcb) && !self.feedback.is_pending();
    }

    /// The marks that the ACK echoes. Sets whether it asks for a reduction.
    #[inline]
    fn take_marks(&mut self, ack: &AckPacket, summary: &mut AckSummary, out: &mut impl Output) -> Bytes {
        let usable = !self.tcb.ecn.is_ignored();
        let (ce, echo) = self.tcb.on_ecn_echo(ack, summary);
        summary.ece = echo;
        let cwnd = self.tcb.cwnd;
        if usable && self.tcb.ecn.is_ignored() {
            out.event("fallback", "the ACE field is cleared", cwnd, cwnd, f64::NAN);
        }
        ce
    }

    /// Counts the deliveries of the ACK, and takes its RTT and rate samples.
    #[inline]
    fn take_deliveries(&mut self, now: Time, ack: &AckPacket, summary: &mut AckSummary) -> Option<DeliveryRate> {
        let tcb = &mut self.tcb;
        if tcb.send_buffer.window_differs(ack.window) {
            summary.window_update = tcb.send_buffer.update_window(ack.window, tcb.features.linux, summary.advanced);
        }
        if summary.has_blocks {
            tcb.on_dsack_block(ack, summary);
        }
        if summary.advanced {
            tcb.acknowledge(now, summary);
            tcb.remove_duplicates(summary);
        }
        if summary.has_blocks {
            tcb.on_sack_blocks(now, ack, summary);
        }
        if summary.advanced && summary.lowest < summary.prior_fack {
            tcb.note_reordering(summary.lowest);
        }
        tcb.sample_rtt(now, summary);
        let rate = tcb.rate.generate(now, &summary.rate, tcb.rtt.min_or_max());
        if let Some(feedback) = ack.feedback {
            self.feedback.on_ack(feedback);
        }
        if summary.was_idle {
            self.on_window_probe_ack(now);
        }
        rate
    }

    /// Handles a reordered ACK below SND.UNA without timestamps: evaluates its SACK blocks (Linux, tcp_ack, `old_ack`).
    /// Window and timers do not change, the algorithm receives no report, and there is no rate sample, but what the blocks
    /// report counts as delivered.
    #[cold]
    fn on_old_ack(&mut self, now: Time, ack: &AckPacket, out: &mut impl Output) {
        if ack.blocks.len > 0 {
            let tcb = &mut self.tcb;
            let mut summary = AckSummary::new(ack, tcb.scoreboard.una);
            tcb.on_dsack_block(ack, &mut summary);
            tcb.on_sack_blocks(now, ack, &mut summary);
            tcb.rate.count(summary.rate.bytes);
            self.recovery.on_old_ack(tcb, now, &mut summary, out);
            self.tcb.sync_cwnd();
        }
        self.transmit(now, out);
        self.tcb.rexmit = Rexmit::Lost;
    }

    /// Handles an ACK of a part of the segment at SND.UNA. Nothing is delivered, since only whole segments are (Linux,
    /// `tcp_clean_rtx_queue`); but in Recovery and CWR, the window grows by a segment where each ACK counts as one. By RFC
    /// 6298, 5.3 the retransmission timer restarts, which in Linux it does not.
    #[cold]
    fn on_part_of_segment(&mut self, now: Time, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        if tcb.state.is_reducing() || tcb.scoreboard.flight_size() == 0 {
            return;
        }
        if tcb.stack.ack_counting == AckCounting::Acks {
            let report = AckReport {
                bytes: tcb.stack.mss,
                rtt: Duration::ZERO,
                prior_in_flight: tcb.in_flight(),
                in_flight: tcb.in_flight(),
                lost: Bytes::ZERO,
                delivery_rate: None,
                ce: Bytes::ZERO,
                recovering: false,
                feedback: None,
            };
            self.report_ack(now, report, out);
            self.tcb.sync_cwnd();
            self.update_pacing_rate();
        }
        self.restart_timers(now, !self.tcb.features.linux);
        self.transmit(now, out);
    }

    /// Reports the ACK to the algorithm.
    #[allow(clippy::inline_always)] // as a call it would store its arguments and load them again
    #[inline(always)]
    fn report_ack(&mut self, now: Time, report: AckReport, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        let counted = tcb.stack.ack_counting.counted(report.bytes, tcb.stack.mss, || tcb.is_below_ssthresh(1));
        let ack = Ack {
            now,
            mss: tcb.stack.mss,
            acked: counted,
            acks: 1,
            interval: Duration::ZERO,
            prior_in_flight: report.prior_in_flight,
            in_flight: report.in_flight,
            lost: report.lost,
            rtt: (report.rtt > Duration::ZERO).then_some(report.rtt),
            srtt: tcb.rtt.srtt(),
            min_rtt: tcb.rtt.min_rtt(),
            delivery_rate: report.delivery_rate,
            delivered: tcb.rate.delivered(),
            ce: report.ce,
            app_limited: tcb.rate.is_app_limited(),
            cwnd_limited: self.validation.is_cwnd_limited(tcb.cwnd, || tcb.is_below_ssthresh(1)),
            recovering: report.recovering,
            round: tcb.rate.round(),
            feedback: report.feedback,
        };
        if let Some(event) = tcb.controller.on_ack(&ack) {
            let window = event.cwnd_segments as u32;
            out.event(event.kind.name(), event.reason.name(), tcb.cwnd, window, event.pipe_segments);
        }
    }

    /// Restarts the retransmission timer if `restart`, after an ACK of new data (RFC 6298, 5.2 and 5.3).
    #[inline]
    fn restart_timers(&mut self, now: Time, restart: bool) {
        let tcb = &mut self.tcb;
        if restart {
            if tcb.scoreboard.flight_size() == 0 {
                tcb.timers.disarm();
            } else if tcb.state != CaState::Recovery || self.recovery.restarts_rto() {
                tcb.restart_rto(now);
            }
        } else if tcb.stack.rto_restart == RtoRestart::EveryAck && tcb.timers.running == Timer::Rto {
            tcb.arm_rto(now);
        }
    }

    /// Handles an ACK while no segment was in flight: the window has opened, or the persist timer restarts (Linux,
    /// tcp_ack_probe).
    fn on_window_probe_ack(&mut self, now: Time) {
        let tcb = &mut self.tcb;
        if tcb.timers.running != Timer::Persist {
            return;
        }
        if tcb.send_buffer.rwnd > 0 {
            tcb.timers.disarm();
        } else {
            tcb.timers.restart_persist(now, tcb.rtt.rto(), tcb.stack.max_rto);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux_stack::linux;
    use crate::sender::ENDLESS;
    use crate::stack::{Pacing, Rules, Stack};
    use crate::wire::{Data, SackBlocks};
    use cwndlab_control::{Congestion, CongestionControl, Event, RecoveryKind};
    use proptest::prelude::*;

    /// An algorithm whose window grows by the acknowledged data up to a limit, and halves.
    #[derive(Clone, Debug)]
    struct Growing(u64);

    impl CongestionControl for Growing {
        fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
            if ack.cwnd_limited && !ack.recovering {
                self.0 = (self.0 + ack.acked.0).min(60_000);
            }
            None
        }

        fn on_congestion(&mut self, event: &Congestion) {
            self.0 = if event.restart { 1000 } else { (self.0 / 2).max(2000) };
        }

        fn cwnd(&self) -> Bytes {
            Bytes(self.0)
        }
    }

    #[derive(Default)]
    struct Sent(Vec<Data>);

    impl Output for Sent {
        fn data(&mut self, segment: &Data) {
            self.0.push(*segment);
        }
        fn ack(&mut self, _: &AckPacket) {}
        fn syn(&mut self, _: u32) {}
        fn event(&mut self, _: &'static str, _: &'static str, _: u32, _: u32, _: f64) {}
    }

    /// An ACK: the number of newly acknowledged segments, the time since the previous ACK (µs), and the number of
    /// segments SACKed above a hole.
    type Step = (u64, u64, u64);

    /// The segments that a sender sends after these ACKs, its final state, and the number of ACKs on the fast path.
    fn run(kind: RecoveryKind, stack: &Stack, steps: &[Step], fast_path: bool) -> (Vec<Data>, String, usize) {
        let mut out = Sent::default();
        let mut now = Time::from_nanos(1_000_000);
        let mut count = 0;
        let mut sender = Sender::new(Box::new(Growing(10_000)), kind, &stack.clone().into());
        sender.open(now, &mut out);
        now += Duration::from_millis(50);
        sender.on_syn_ack(now, None, Bytes(1_000_000), None, &mut out);
        sender.supply(ENDLESS, now, &mut out);
        for &(further, gap, sacked) in steps {
            now += Duration::from_micros(gap);
            sender.on_timer(now, &mut out);
            if sender.pace_timer() <= now {
                sender.on_pace(now, &mut out);
            }
            sender.fast_path &= fast_path;
            count += usize::from(sender.fast_path && further > 0 && sacked == 0);
            let ack = (sender.una() + further).min(sender.next_segment());
            let end = (ack + 1 + sacked).min(sender.next_segment());
            let mut blocks = SackBlocks::default();
            if ack + 1 < end {
                (blocks.list[0], blocks.len) = ((ack + 1, end), 1);
            }
            let window = Bytes(1_000_000 - 1000 * (gap % 2));
            let echo = Time::from_nanos(now.as_nanos() - 40_000_000);
            let packet =
                AckPacket { ack, part: 0, window, echo, ece: false, ce_count: 0, accecn: None, blocks, feedback: None };
            sender.on_ack(now, &packet, &mut out);
        }
        sender.fast_path = false;
        (out.0, format!("{sender:?}"), count)
    }

    const KINDS: [RecoveryKind; 6] = [
        RecoveryKind::Tahoe,
        RecoveryKind::Reno,
        RecoveryKind::NewReno,
        RecoveryKind::Sack,
        RecoveryKind::Fack,
        RecoveryKind::Rack,
    ];

    proptest! {
        /// The fast path has the same effect on the sender as the slow path.
        #[test]
        fn a_fast_path_ack_has_the_effect_of_the_slow_path(
            kind in prop::sample::select(&KINDS[..]),
            (rfc, tso_burst, tail_loss_probe) in (any::<bool>(), any::<bool>(), any::<bool>()),
            pacing in prop::sample::select(vec![Pacing::Off, Pacing::Algorithm, Pacing::Always]),
            steps in prop::collection::vec(
                (0u64..4, 1u64..30_000, prop_oneof![12 => Just(0u64), 1 => 1u64..5]), 1..80,
            ),
        ) {
            let rules = if rfc { Rules::Rfc } else { Rules::Linux };
            let stack = Stack { timestamps: true, rules, tso_burst, tail_loss_probe, pacing, ..linux() };
            let (sent, state, _) = run(kind, &stack, &steps, true);
            let (expected, expected_state, _) = run(kind, &stack, &steps, false);
            prop_assert_eq!(sent, expected);
            prop_assert_eq!(state, expected_state);
        }
    }

    /// Without losses all ACKs except the first take the fast path.
    #[test]
    fn most_acks_take_the_fast_path() {
        for kind in KINDS {
            assert_eq!(run(kind, &linux(), &[(2, 1000, 0); 10], true).2, 9, "{kind:?}");
        }
    }
}
