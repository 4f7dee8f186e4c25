//! An ACK's way through the sender: deliveries, samples, recovery, the report to the algorithm, timers, transmission.

use cwndlab_control::{Ack, DeliveryRate};
use cwndlab_units::{Bytes, Duration, Time};

use super::Sender;
use crate::ack_summary::{rtts, AckSummary};
use crate::rate_sample::RateSample;
use crate::recovery::LossRecovery;
use crate::stack::RtoRestart;
use crate::state::{Rexmit, State};
use crate::tcb::Tcb;
use crate::timers::Timer;
use crate::wire::{AckPacket, Output};

/// What a report to the algorithm needs to know of an ACK.
struct News {
    /// Newly delivered, before the stack's rule of counting.
    bytes: Bytes,
    /// The RTT sample; zero is none.
    rtt: Duration,
    prior_in_flight: Bytes,
    delivery_rate: Option<DeliveryRate>,
    ce: Bytes,
    recovering: bool,
}

impl Sender {
    /// An ACK arrives.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &AckPacket, out: &mut impl Output) {
        if self.is_ordinary(ack) {
            self.on_ordinary_ack(now, ack, out);
        } else {
            self.on_other_ack(now, *ack, out);
        }
    }

    /// It does nothing but advance SND.UNA, and there is nothing but data in flight that was sent once.
    #[inline]
    fn is_ordinary(&self, ack: &AckPacket) -> bool {
        let Tcb { quiet, scoreboard, ecn, .. } = &self.tcb;
        *quiet
            && ack.ack > scoreboard.una
            && ack.ack <= scoreboard.next
            && ack.blocks.len == 0
            && ack.feedback.is_none()
            && ecn.is_known(ack)
    }

    /// The steps of [`on_other_ack`](Self::on_other_ack) that such an ACK needs, in the same order, without a summary: what is
    /// known of it stays in registers.
    #[inline]
    fn on_ordinary_ack(&mut self, now: Time, ack: &AckPacket, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        let prior_in_flight = tcb.in_flight();
        if tcb.send_buffer.differs(ack.window) {
            let mss = tcb.mss();
            tcb.send_buffer.set_window(ack.window, mss);
        }
        let run = tcb.scoreboard.pop_untouched(ack.ack);
        tcb.scoreboard.advanced();
        tcb.counters.acked_bytes += run.bytes.0;
        let (oldest, newest) = rtts(now, &run);
        tcb.rack.advance(now, (run.last_seq(), &run.last), tcb.rtt.min_or_max(), false, &mut false);
        let mut sample = RateSample::default();
        tcb.rate.on_run_delivered(&run, &mut sample);
        tcb.rtt.sample(now, oldest, newest);
        let delivery_rate = tcb.rate.generate(now, &sample, tcb.rtt.min_or_max());
        tcb.rate.count_round(ack.ack, tcb.scoreboard.next);
        let news = News {
            bytes: run.bytes,
            rtt: newest,
            prior_in_flight,
            delivery_rate,
            ce: Bytes::ZERO,
            recovering: false,
        };
        self.report_ack(now, news, out);
        self.tcb.sync_cwnd();
        if !self.fill_window(now, out) {
            self.restart_timers(now, true);
            self.transmit(now, out);
        }
    }

    /// Any other ACK. A function of its own, so that the ordinary one needs no copies in memory.
    #[inline(never)]
    fn on_other_ack(&mut self, now: Time, ack: AckPacket, out: &mut impl Output) {
        let ack = &ack;
        let tcb = &mut self.tcb;
        if !self.established || ack.ack > tcb.scoreboard.next {
            return;
        }
        tcb.quiet = false;
        let prior_una = tcb.scoreboard.una;
        if ack.ack < prior_una {
            if tcb.features.linux {
                self.on_old_ack(now, ack, out);
            }
            return;
        }
        let prior_in_flight = tcb.in_flight();
        let mut summary = AckSummary::new(ack, prior_una);
        summary.was_idle = tcb.scoreboard.flight_size() == 0;
        let delivery_rate = self.take_deliveries(now, ack, &mut summary);
        let (ce, echo) = self.tcb.on_ecn_echo(ack);
        summary.ece = echo;
        let tcb = &mut self.tcb;
        if summary.advanced {
            tcb.rate.count_round(ack.ack, tcb.scoreboard.next);
        }
        self.recovery.on_ack(tcb, now, &mut summary, out);
        if summary.rate.segments > 0 && !summary.was_idle {
            let (bytes, rtt) = (summary.rate.bytes, summary.rtt.reported);
            let recovering = tcb.state.is_reducing() || !tcb.may_raise_cwnd(&summary);
            self.report_ack(now, News { bytes, rtt, prior_in_flight, delivery_rate, ce, recovering }, out);
        }
        self.tcb.sync_cwnd();
        self.restart_timers(now, summary.restart_timer);
        self.update_pacing_rate();
        self.transmit(now, out);
        self.tcb.rexmit = Rexmit::Lost;
        self.tcb.quiet = self.tcb.is_untroubled() && self.recovery.is_quiet(&self.tcb) && !self.feedback.waits();
    }

    /// Counts what the ACK delivers, and takes its samples of RTT and rate.
    #[inline]
    fn take_deliveries(&mut self, now: Time, ack: &AckPacket, summary: &mut AckSummary) -> Option<DeliveryRate> {
        let tcb = &mut self.tcb;
        if tcb.send_buffer.differs(ack.window) {
            let mss = tcb.mss();
            summary.window_update =
                tcb.send_buffer.update_window(ack.window, mss, tcb.features.linux, summary.advanced);
        }
        if summary.advanced {
            tcb.acknowledge(now, summary);
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
            self.on_window_answer(now);
        }
        rate
    }

    /// An ACK below SND.UNA, which another one overtook, still reports SACKs (Linux, tcp_ack, `old_ack`); window and timers
    /// stay as they are, and the algorithm receives no report.
    #[cold]
    fn on_old_ack(&mut self, now: Time, ack: &AckPacket, out: &mut impl Output) {
        if ack.blocks.len > 0 {
            let tcb = &mut self.tcb;
            let mut summary = AckSummary::new(ack, tcb.scoreboard.una);
            tcb.on_sack_blocks(now, ack, &mut summary);
            self.recovery.on_old_ack(tcb, now, &mut summary, out);
            self.tcb.sync_cwnd();
        }
        self.transmit(now, out);
        self.tcb.rexmit = Rexmit::Lost;
    }

    /// Reports the ACK to the algorithm: with the data in flight before it, its rate sample and the data marked CE.
    #[allow(clippy::inline_always)] // as a call it would store what it needs and load it again
    #[inline(always)]
    fn report_ack(&mut self, now: Time, news: News, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        let counted = tcb.stack.ack_counting.counted(news.bytes, tcb.stack.mss, || tcb.is_below_ssthresh(1));
        let ack = Ack {
            now,
            mss: tcb.stack.mss,
            acked: counted,
            acks: 1,
            interval: Duration::ZERO,
            prior_in_flight: news.prior_in_flight,
            in_flight: tcb.in_flight(),
            lost: tcb.controller.take_lost(),
            rtt: (news.rtt > Duration::ZERO).then_some(news.rtt),
            srtt: tcb.rtt.srtt(),
            min_rtt: tcb.rtt.min_rtt(),
            delivery_rate: news.delivery_rate,
            delivered: tcb.rate.delivered(),
            ce: news.ce,
            app_limited: tcb.rate.is_app_limited(),
            cwnd_limited: self.validation.is_cwnd_limited(tcb.cwnd, || tcb.is_below_ssthresh(1)),
            recovering: news.recovering,
            round: tcb.rate.round(),
            feedback: self.feedback.take(),
        };
        if let Some(event) = tcb.controller.on_ack(&ack) {
            let window = event.cwnd_segments as u32;
            out.event(event.kind.name(), event.reason.name(), tcb.cwnd, window, event.pipe_segments);
        }
    }

    /// Restarts the retransmission timer upon new data acknowledged (RFC 6298, 5.2 and 5.3), which `restart` says.
    #[inline]
    fn restart_timers(&mut self, now: Time, restart: bool) {
        let tcb = &mut self.tcb;
        if restart {
            if tcb.scoreboard.flight_size() == 0 {
                tcb.timers.disarm();
            } else if tcb.state != State::Recovery || self.recovery.restarts_rto() {
                tcb.restart_rto(now);
            }
        } else if tcb.stack.rto_restart == RtoRestart::EveryAck && tcb.timers.running == Timer::Rto {
            tcb.arm_rto(now);
        }
    }

    /// An ACK while nothing was in flight: the window has opened, or the persist timer restarts (Linux, tcp_ack_probe).
    fn on_window_answer(&mut self, now: Time) {
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
