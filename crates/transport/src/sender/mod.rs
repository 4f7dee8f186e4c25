//! The sender of a connection: the order in which an ACK, a timer or new data passes through the components.

mod on_ack;
mod on_timer;
mod transmit;

use std::sync::Arc;

use cwndlab_control::{CongestionControl, Feedback, RecoveryKind, Spec};
use cwndlab_units::{Bytes, Duration, Rate, Time};

pub use crate::counters::Counters;
use crate::cwnd_validation::CwndValidation;
use crate::pacer::Pacer;
use crate::recovery::Recovery;
use crate::router_feedback::RouterFeedback;
use crate::rtt::RttEstimator;
pub use crate::send_buffer::ENDLESS;
use crate::stack::Stack;
pub use crate::state::State;
use crate::tcb::Tcb;
use crate::wire::Output;

/// The sending end of a connection. Fields that every segment needs come first.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    established: bool,
    /// It gave the connection up.
    closed: bool,
    /// An ACK that only advances SND.UNA concerns neither recovery nor undo: every segment in flight was sent once, and nothing
    /// was reported of any. Only another ACK and timers end that.
    quiet: bool,
    /// When a segment was sent last; zero: none was (Linux, `tp->lsndtime`).
    last_sent: Time,
    pacer: Pacer,
    validation: CwndValidation,
    tcb: Tcb,
    recovery: Recovery,
    feedback: RouterFeedback,
    /// SYNs retransmitted.
    syn_retransmissions: u32,
    opened_at: Time,
}

impl Sender {
    /// A sender before its handshake.
    #[must_use]
    pub fn new(algorithm: Box<dyn CongestionControl>, kind: RecoveryKind, stack: &Arc<Stack>) -> Self {
        let recovery = Recovery::new(kind);
        Self {
            established: false,
            closed: false,
            quiet: false,
            tcb: Tcb::new(algorithm, recovery.features(stack.rules), stack),
            recovery,
            validation: CwndValidation::default(),
            pacer: Pacer::new(),
            last_sent: Time::ZERO,
            feedback: RouterFeedback::default(),
            syn_retransmissions: 0,
            opened_at: Time::ZERO,
        }
    }

    /// Applies what the algorithm's entry requests of its transport. A model-based algorithm keeps its window during recovery
    /// and after idleness, and is notified of the end of each recovery (Linux: a module with `cong_control`).
    #[must_use]
    pub fn with_spec(mut self, spec: &Spec) -> Self {
        self.tcb.controller.set_spec(spec);
        self
    }

    /// Nagle's algorithm (RFC 9293, section 3.7.4): a partial segment waits while others are not acknowledged.
    pub fn set_nagle(&mut self, nagle: bool) {
        self.tcb.send_buffer.nagle = nagle;
    }

    /// Nagle's algorithm is in use.
    #[must_use]
    pub fn nagle(&self) -> bool {
        self.tcb.send_buffer.nagle
    }

    /// Opens the connection: sends the SYN.
    pub fn open(&mut self, now: Time, out: &mut impl Output) {
        self.opened_at = now;
        out.event("open", "", 0, self.tcb.cwnd, f64::NAN);
        out.syn();
        self.tcb.arm_rto(now);
    }

    /// The peer opened the connection: its SYN was answered at `answered`, and now its first data is here. `None`: it was
    /// answered several times, so that the RTT is ambiguous (Karn's rule; Linux, tcp_synack_rtt_meas: no sample with
    /// `num_retrans`).
    pub fn accept(&mut self, answered: Option<Time>, now: Time, window: Bytes, out: &mut impl Output) {
        match answered {
            Some(at) => self.opened_at = at,
            None => self.syn_retransmissions = 1,
        }
        self.on_syn_ack(now, window, None, out);
    }

    /// The SYN-ACK arrived.
    pub fn on_syn_ack(&mut self, now: Time, window: Bytes, feedback: Option<Feedback>, out: &mut impl Output) {
        if self.established {
            return;
        }
        self.established = true;
        let tcb = &mut self.tcb;
        let mss = tcb.mss();
        tcb.send_buffer.set_window(window, mss);
        let rtt: Option<Duration> = (self.syn_retransmissions == 0).then(|| now - self.opened_at);
        if let Some(rtt) = rtt {
            tcb.rtt.sample(now, rtt, rtt);
        }
        tcb.timers.disarm();
        tcb.rate.start(now);
        tcb.controller.on_established(now, rtt, feedback);
        tcb.sync_cwnd();
        self.update_pacing_rate();
        out.event("established", "", self.tcb.cwnd, self.tcb.cwnd, f64::NAN);
        self.transmit(now, out);
    }

    /// The application writes `bytes`, or [`ENDLESS`].
    pub fn supply(&mut self, bytes: Bytes, now: Time, out: &mut impl Output) {
        self.tcb.send_buffer.write(bytes);
        if self.established {
            self.transmit(now, out);
        }
    }

    /// An endless supply ends; data that was written is still sent.
    pub fn stop(&mut self) {
        self.tcb.send_buffer.end();
    }

    /// All data is sent and acknowledged.
    #[inline]
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.tcb.send_buffer.is_empty() && self.tcb.scoreboard.flight_size() == 0
    }

    /// It gave the connection up: no SYN was answered.
    #[inline]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// When [`on_timer`](Self::on_timer) is due; `Time::MAX`: never.
    #[inline]
    #[must_use]
    pub fn timer(&self) -> Time {
        self.tcb.timers.due
    }

    /// When [`on_pace`](Self::on_pace) is due; `Time::MAX`: never.
    #[inline]
    #[must_use]
    pub fn pace_timer(&self) -> Time {
        self.pacer.timer
    }

    /// Oldest unacknowledged segment (SND.UNA).
    #[inline]
    #[must_use]
    pub fn una(&self) -> u64 {
        self.tcb.scoreboard.una
    }

    /// Next new segment (SND.NXT).
    #[must_use]
    pub fn next_segment(&self) -> u64 {
        self.tcb.scoreboard.next
    }

    /// Data in flight (RFC 6675, pipe).
    #[must_use]
    pub fn in_flight(&self) -> Bytes {
        self.tcb.in_flight()
    }

    /// The window in force, segments.
    #[must_use]
    pub fn cwnd(&self) -> u32 {
        self.tcb.cwnd
    }

    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> &dyn CongestionControl {
        self.tcb.controller.algorithm()
    }

    /// The congestion state.
    #[must_use]
    pub fn state(&self) -> State {
        self.tcb.state
    }

    /// The RTT estimate.
    #[must_use]
    pub fn rtt(&self) -> &RttEstimator {
        &self.tcb.rtt
    }

    /// The pacing rate; `None` where it does not pace.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.pacer.is_on().then_some(self.pacer.rate())
    }

    /// Last delivery-rate sample; zero before the first.
    #[must_use]
    pub fn delivery_rate(&self) -> Rate {
        self.tcb.rate.rate()
    }

    /// Its totals.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.tcb.counters
    }

    /// Begins its totals, and those of the RTT samples, anew.
    pub fn reset_totals(&mut self) {
        self.tcb.counters = Counters::default();
        self.tcb.rtt.reset_totals();
    }

    /// Memory held beyond the struct itself, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.tcb.scoreboard.memory()
    }
}
