//! Handling of expired timers: SYN, retransmission, tail loss probe, reordering, persist.

use cwndlab_units::Time;

use super::Sender;
use crate::recovery::LossRecovery;
use crate::timers::Timer;
use crate::wire::{Data, Output};

impl Sender {
    /// Handles the expiry of [`timer`](Self::timer).
    pub fn on_timer(&mut self, now: Time, out: &mut impl Output) {
        if now < self.tcb.timers.due || self.tcb.timers.waits_for_tick(now) {
            return;
        }
        if !self.established {
            self.on_syn_timeout(now, out);
            return;
        }
        self.fast_path = false;
        match self.tcb.timers.running {
            Timer::Off => self.tcb.timers.disarm(),
            Timer::Rto => self.on_timeout(now, out),
            Timer::LossProbe => self.on_loss_probe(now, out),
            Timer::Reordering => self.on_reordering_timer(now, out),
            Timer::Persist => self.on_persist(now, out),
        }
    }

    fn on_syn_timeout(&mut self, now: Time, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        let linear = tcb.stack.syn_linear_timeouts;
        if self.syn_retransmissions >= tcb.stack.syn_retries + linear {
            self.closed = true;
            tcb.timers.disarm();
            out.event("close", "syn-timeout", tcb.cwnd, 0, f64::NAN);
            return;
        }
        self.syn_retransmissions += 1;
        if self.syn_retransmissions > linear {
            tcb.rtt.back_off();
        }
        out.event("timeout", "syn", tcb.cwnd, tcb.cwnd, f64::NAN);
        out.syn(self.syn_retransmissions);
        tcb.arm_rto(now);
    }

    fn on_timeout(&mut self, now: Time, out: &mut impl Output) {
        if self.tcb.scoreboard.flight_size() == 0 {
            self.tcb.timers.disarm();
            return;
        }
        self.recovery.on_timeout(&mut self.tcb, now, out);
        self.transmit(now, out);
    }

    /// Sends a tail loss probe: new data, or the last segment again; one probe at a time (Linux, tcp_send_loss_probe).
    fn on_loss_probe(&mut self, now: Time, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        let flight_size = tcb.scoreboard.flight_size();
        if tcb.timers.tlp_end_seq.is_some() || flight_size == 0 {
            tcb.rearm_rto(now);
            return;
        }
        tcb.counters.loss_probes += 1;
        out.event("loss-probe", "tail", tcb.cwnd, tcb.cwnd, f64::NAN);
        let new_data = tcb.send_buffer.may_send(flight_size);
        if new_data {
            self.send_new(1, now, out); // one segment beyond the window
        } else {
            self.send_tail_copy(now, out);
        }
        let tcb = &mut self.tcb;
        tcb.timers.tlp_retrans = !new_data;
        tcb.timers.tlp_end_seq = Some(tcb.scoreboard.next);
        tcb.arm_rto(now);
    }

    /// Linux, tcp_rack_reo_timeout.
    fn on_reordering_timer(&mut self, now: Time, out: &mut impl Output) {
        self.recovery.on_reordering_timer(&mut self.tcb, now, out);
        if self.tcb.scoreboard.lost > 0 {
            self.transmit(now, out);
        }
        if matches!(self.tcb.timers.running, Timer::Reordering | Timer::Off) {
            self.tcb.rearm_rto(now);
        }
    }

    /// Probes a closed window with an empty segment below SND.UNA, which the receiver acknowledges (Linux,
    /// tcp_xmit_probe_skb; RFC 9293, section 3.8.6.1, uses an octet of data). A window below a full segment receives the
    /// data that fits (Linux, tcp_write_wakeup; RFC 9293, section 3.8.6.2.1, rule 4).
    fn on_persist(&mut self, now: Time, out: &mut impl Output) {
        let tcb = &mut self.tcb;
        if tcb.send_buffer.is_empty() || tcb.scoreboard.flight_size() > 0 {
            tcb.timers.disarm();
            return;
        }
        if tcb.send_buffer.has_small_window() {
            self.send_new(1, now, out);
            self.tcb.start_timers(now, true);
            return;
        }
        tcb.counters.sent_packets += 1;
        let seq = tcb.scoreboard.una.wrapping_sub(1);
        out.data(&Data {
            seq,
            len: 0,
            retransmission: false,
            ect: false,
            ect_changed: false,
            cwr: false,
            push: false,
            timestamp: now,
            feedback: None,
        });
        tcb.timers.back_off_persist(now, tcb.rtt.rto(), tcb.stack.max_rto);
    }
}
