//! The sender of a connection: the processing order of ACKs, timers and new data.

mod accecn;
mod named_values;
mod on_ack;
mod on_timer;
mod state;
mod transmit;

use std::sync::Arc;

use cwndlab_control::{Algorithm, CongestionControl, Feedback, RecoveryKind};
use cwndlab_units::{Bytes, Duration, Rate, SenderCounters, Time};

use crate::cwnd_validation::CwndValidation;
use crate::pacer::Pacer;
use crate::recovery::{with_negotiated_sack, Recovery};
use crate::router_feedback::RouterFeedback;
use crate::rtt::RttEstimator;
pub use crate::send_buffer::ENDLESS;
use crate::stack::{Rules, Stack};
use crate::tcb::Tcb;
use crate::tso::QueueBuffers;
use crate::wire::{Output, TIMESTAMP_TICK};

/// The sender of a connection. Fields that every segment uses come first.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    established: bool,
    /// The connection was aborted.
    closed: bool,
    /// An ACK that only advances SND.UNA affects neither recovery nor undo, because every segment in flight was sent
    /// once and is neither SACKed nor lost. Only other ACKs and timers end this state.
    fast_path: bool,
    /// Time of the last transmission; zero before the first (Linux, `tp->lsndtime`).
    last_sent: Time,
    queue_buffers: QueueBuffers,
    pacer: Pacer,
    validation: CwndValidation,
    tcb: Tcb,
    recovery: Recovery,
    feedback: RouterFeedback,
    /// SYNs retransmitted.
    syn_retransmissions: u32,
    opened_at: Time,
    /// ACKs that did not advance SND.UNA.
    idle_acks: u64,
}

impl Sender {
    /// A sender before its handshake, with this recovery where the stack has what it needs
    /// ([`with_negotiated_sack`]).
    #[must_use]
    pub fn new(algorithm: Box<dyn CongestionControl>, kind: RecoveryKind, stack: &Arc<Stack>) -> Self {
        let recovery = Recovery::new(with_negotiated_sack(kind, stack.sack, stack.rules));
        Self {
            established: false,
            closed: false,
            fast_path: false,
            tcb: Tcb::new(algorithm, recovery.features(stack), stack),
            recovery,
            validation: CwndValidation::default(),
            pacer: Pacer::new(),
            last_sent: Time::ZERO,
            queue_buffers: QueueBuffers::new(stack.first_segment, stack.mss.0),
            feedback: RouterFeedback::default(),
            syn_retransmissions: 0,
            opened_at: Time::ZERO,
            idle_acks: 0,
        }
    }

    /// Applies the requirements of the algorithm on the transport. A model-based algorithm sets the window during
    /// recovery and after idle periods too, and is notified of the end of each recovery (Linux: a module with
    /// `cong_control`).
    #[must_use]
    pub fn with_requirements(mut self, algorithm: &Algorithm) -> Self {
        self.tcb.controller.set_requirements(algorithm);
        self
    }

    /// Asks for what an ACK reads beyond the sender itself.
    #[inline]
    pub fn prefetch(&self) {
        self.tcb.scoreboard.prefetch_first();
    }

    /// Reports every sent segment, also for an algorithm whose parts do not receive it.
    #[must_use]
    pub fn reporting_sent(mut self) -> Self {
        self.tcb.controller.observes_sent = true;
        self
    }

    /// Turns Nagle's algorithm on or off (RFC 9293, section 3.7.4): it delays a partial segment while other segments
    /// are unacknowledged.
    pub fn set_nagle(&mut self, nagle: bool) {
        self.tcb.send_buffer.nagle = nagle;
    }

    /// Whether Nagle's algorithm is on.
    #[must_use]
    pub fn nagle(&self) -> bool {
        self.tcb.send_buffer.nagle
    }

    /// Opens the connection: sends the SYN.
    pub fn open(&mut self, now: Time, out: &mut impl Output) {
        self.opened_at = now;
        out.event("open", "", 0, self.tcb.cwnd, f64::NAN);
        out.syn(0);
        self.tcb.arm_rto(now);
    }

    /// Completes a handshake that the peer started, at the arrival of its first data, after so many SYN-ACKs. `rtt` is the
    /// time from a SYN-ACK to what acknowledges it. With several SYN-ACKs only timestamps tell which of them it was (Karn's
    /// algorithm; Linux, tcp_synack_rtt_meas and tcp_ack_update_rtt).
    pub fn accept(&mut self, syn_acks: u32, rtt: Duration, now: Time, window: Bytes, out: &mut impl Output) {
        if self.established || self.closed {
            return;
        }
        self.syn_retransmissions = syn_acks.saturating_sub(1); // Linux, tcp_create_openreq_child
                                                               // Routers answer with the packets of data.
        self.tcb.controller.expect_feedback();
        let sample = if syn_acks <= 1 { Some(rtt) } else { self.timestamp_rtt(now, Some(now - rtt)) };
        self.complete_handshake(now, sample, window, None, out);
    }

    /// Begins a connection whose handshake is data of the application, as QUIC's: it may send at once, without a sample of
    /// the RTT.
    pub fn open_without_syn(&mut self, now: Time, window: Bytes, out: &mut impl Output) {
        if self.established {
            return;
        }
        self.opened_at = now;
        self.establish(now, window, None, None, out);
    }

    /// Handles the SYN-ACK, which echoes the timestamp of the SYN that it answers. A connection that was aborted has ended
    /// (RFC 9293, section 3.10.7.1).
    pub fn on_syn_ack(
        &mut self,
        now: Time,
        echo: Option<Time>,
        window: Bytes,
        feedback: Option<Feedback>,
        out: &mut impl Output,
    ) {
        if self.established || self.closed {
            return;
        }
        let is_first = self.syn_retransmissions == 0;
        let rtt = if is_first { Some(now - self.opened_at) } else { self.timestamp_rtt(now, echo) };
        self.complete_handshake(now, rtt, window, feedback, out);
    }

    /// The RTT of a packet that was sent again, by the timestamp that its answer echoes: whole ticks of the clock, at least
    /// one (RFC 7323, section 4.1; Linux, tcp_rtt_tsopt_us).
    fn timestamp_rtt(&self, now: Time, echo: Option<Time>) -> Option<Duration> {
        let sent = echo.filter(|_| self.tcb.stack.timestamps)?;
        let ticks = now.as_nanos() / TIMESTAMP_TICK - sent.as_nanos() / TIMESTAMP_TICK;
        Some(Duration::from_nanos(ticks.max(1) * TIMESTAMP_TICK))
    }

    /// Takes the sample of the handshake, if it has one, and begins the transmission.
    fn complete_handshake(
        &mut self,
        now: Time,
        rtt: Option<Duration>,
        window: Bytes,
        feedback: Option<Feedback>,
        out: &mut impl Output,
    ) {
        match rtt {
            Some(rtt) => self.tcb.rtt.sample(now, rtt, rtt),
            None => self.tcb.rtt.on_ambiguous_handshake(),
        }
        self.establish(now, window, rtt, feedback, out);
    }

    /// Begins the transmission of data.
    fn establish(
        &mut self,
        now: Time,
        window: Bytes,
        rtt: Option<Duration>,
        feedback: Option<Feedback>,
        out: &mut impl Output,
    ) {
        self.established = true;
        let tcb = &mut self.tcb;
        tcb.send_buffer.set_window(window);
        tcb.timers.disarm();
        tcb.rate.start(now);
        // RFC 5681, section 3.1: one segment after a lost SYN or SYN-ACK; Linux, `tcp_init_transfer`: after two.
        let spared = u32::from(tcb.stack.rules == Rules::Linux);
        let is_lossy = self.syn_retransmissions > spared;
        tcb.controller.on_established(now, rtt, feedback, is_lossy);
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

    /// Data that the application wrote and that was not sent.
    #[must_use]
    pub fn unsent(&self) -> Bytes {
        self.tcb.send_buffer.unsent()
    }

    /// Takes back so much of the unsent data.
    pub fn withdraw(&mut self, bytes: Bytes) {
        self.tcb.send_buffer.withdraw(bytes);
    }

    /// Ends an endless supply. Data already written is still sent.
    pub fn stop(&mut self) {
        self.tcb.send_buffer.end();
    }

    /// Whether all data is sent and acknowledged.
    #[inline]
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.tcb.send_buffer.is_empty() && self.tcb.scoreboard.flight_size() == 0
    }

    /// Whether the connection was aborted because no SYN was acknowledged.
    #[inline]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// ACKs received that did not advance SND.UNA.
    #[must_use]
    pub fn idle_acks(&self) -> u64 {
        self.idle_acks
    }

    /// When [`on_timer`](Self::on_timer) is due; `Time::MAX` if no timer runs.
    #[inline]
    #[must_use]
    pub fn timer(&self) -> Time {
        self.tcb.timers.due
    }

    /// When [`on_pace`](Self::on_pace) is due; `Time::MAX` if the timer is off.
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

    /// Payload of the segments from `from` on, all unacknowledged, up to `to`.
    #[must_use]
    pub fn payload(&self, from: u64, to: u64) -> Bytes {
        Bytes((from..to).map(|seq| u64::from(self.tcb.scoreboard.get(seq).len)).sum())
    }

    /// Data in flight (RFC 6675, pipe).
    #[must_use]
    pub fn in_flight(&self) -> Bytes {
        self.tcb.in_flight()
    }

    /// The congestion window, segments.
    #[must_use]
    pub fn cwnd(&self) -> u32 {
        self.tcb.cwnd
    }

    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> &dyn CongestionControl {
        self.tcb.controller.algorithm()
    }

    /// The RTT estimate.
    #[must_use]
    pub fn rtt(&self) -> &RttEstimator {
        &self.tcb.rtt
    }

    /// The pacing rate; `None` if the sender does not pace.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.pacer.is_on().then_some(self.pacer.rate())
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &SenderCounters {
        &self.tcb.counters
    }

    /// Resets the counters, and the totals of the RTT samples.
    pub fn reset_totals(&mut self) {
        self.tcb.counters = SenderCounters::default();
        self.tcb.rtt.reset_totals();
    }

    /// Memory in use beyond the struct itself, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.tcb.scoreboard.memory()
    }
}
