//! The sender: what it knows, and what an ACK makes of it.

mod counters;
mod delivery;
mod detection;
mod duplicate;
mod episode;
mod recovery;
mod timers;
mod transmit;

use cwndlab_control::{
    Ack, BeforeReduction, Change, CongestionControl, DeliveryRate, Feedback, Need, RecoveryKind, Spec, Ssthresh, Window,
};
use cwndlab_units::{Bytes, Duration, Time};

pub use self::counters::{Counters, State};
pub(crate) use self::delivery::Gain;
use self::timers::Pending;
use crate::receiver::NEVER;
use crate::rtt::RttEstimator;
use crate::scoreboard::{Scoreboard, SACKED};
use crate::stack::{Ecn, RtoRestart, Rules, Stack};
use crate::wire::{AckPacket, Output};

/// An application that always has data.
pub const ENDLESS: u64 = u64::MAX;

/// The largest window, segments: no two segments in flight are further apart (see [`crate::wire::expand`]).
const MOST_SEGMENTS: u64 = 1 << 30;

/// The sending end of a connection, in the order of use: the switches end the stack, and what only losses need is last.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    pub(crate) stack: Stack,
    pub(crate) kind: RecoveryKind,
    /// The window stays the algorithm's while a loss is repaired, and after idleness.
    pub(crate) model_based: bool,
    /// Paced segments leave one by one, whatever the stack's bursts.
    pub(crate) spaced: bool,
    /// The connection is open.
    pub established: bool,
    /// What it is doing.
    pub state: State,
    pub(crate) window_limited: bool,
    /// The last sending held back for a larger burst: the window was the limit.
    pub(crate) deferred: bool,
    pub(crate) force: bool,
    pub(crate) frto: bool,
    pub(crate) cwr_pending: bool,
    /// RACK under Linux' rules, where these depart from the RFCs (docs/validity.md has the list).
    pub(crate) linux: bool,
    /// Which timer `timer` is: there is one.
    pub(crate) pending: Pending,
    pub(crate) resend: Resend,
    /// RACK has news of a delivery that detection has not looked at.
    pub(crate) rack_advanced: bool,
    /// The algorithm.
    pub control: Box<dyn CongestionControl>,
    /// The algorithm before its last reduction, where that may be taken back.
    pub(crate) before: BeforeReduction,
    /// What became of the segments.
    pub board: Scoreboard,
    pub(crate) mss: u32,
    per_mss: f64,
    /// The effective window, segments.
    pub cwnd: u32,
    pub(crate) peer_window: u32,
    /// The window as the peer wrote it: the division is spared while it stays.
    peer_bytes: u64,
    pub(crate) high_seq: u64,
    pub(crate) dupacks: u32,
    pub(crate) usage_end: u64,
    pub(crate) usage_max: u32,
    round_end: u64,
    pub(crate) prr_out: u32,
    /// When the next timer is due.
    pub timer: u64,
    /// When the next paced burst may leave; `NEVER` while nothing waits for it.
    pub pace_timer: u64,
    /// When the retransmission timer would expire (RFC 6298), while another one runs in its place.
    pub(crate) rto_at: u64,
    pub(crate) last_sent_at: u64,
    /// Application data not yet sent, bytes.
    pub unsent: u64,
    pub(crate) delivered: u64,
    pub(crate) delivered_at: u64,
    pub(crate) first_sent_at: u64,
    pub(crate) app_limited_until: u64,
    /// Last delivery-rate sample, bit/s.
    pub delivery_rate: u64,
    pub(crate) round: u64,
    pub(crate) rack_sent: u64,
    pub(crate) rack_rtt: u64,
    pub(crate) rack_seq: u64,
    /// `next` when a tail loss probe left that is not answered yet; it was a retransmission.
    pub(crate) probe_end: Option<u64>,
    pub(crate) probe_again: bool,
    pub(crate) undo_from: Option<u64>,
    pub(crate) pacing_bps: u64,
    pub(crate) pace_next: u64,
    pub(crate) lost_total: u64,
    lost_reported: u64,
    /// What routers wrote and no report has told yet; what of all bytes said "accelerate".
    feedback: Option<Feedback>,
    /// Round-trip estimation.
    pub rtt: RttEstimator,
    /// Counters.
    pub count: Counters,
    /// It was given up.
    pub dead: bool,
    /// Nagle's algorithm (RFC 9293, 3.7.4): a segment that is not full waits while others are not acknowledged.
    pub nagle: bool,
    pub(crate) target: u32,
    pub(crate) prr_delivered: u32,
    pub(crate) recover_fs: u32,
    pub(crate) halving_odd: bool,
    /// The threshold of an algorithm that keeps none, segments, and what an undo restores.
    pub(crate) derived_ssthresh: u32,
    pub(crate) derived_before: u32,
    /// Segments that duplicates reported delivered and that are not acknowledged yet.
    pub(crate) delivered_before: u32,
    pub(crate) partial_seen: bool,
    pub(crate) rescued: bool,
    pub(crate) high_rxt: u64,
    /// First unacknowledged segment when the retransmission timer expired last.
    pub(crate) timed_out: u64,
    /// Retransmissions of which no duplicate was reported yet; -1 before the first one.
    pub(crate) undo_retrans: i32,
    /// The window before the reduction may be restored: ECN told of no congestion.
    pub(crate) restorable: bool,
    pub(crate) retrans_stamp: u64,
    pub(crate) reordering_seen: bool,
    /// The farthest that a segment was seen displaced, segments; at least the threshold (Linux, `tp->reordering`).
    pub(crate) reordering: u32,
    pub(crate) reo_mult: u32,
    /// Since when a report of a duplicate may widen the window of reordering again: round (RFC 8985), or bytes delivered (Linux).
    pub(crate) reo_round: u64,
    pub(crate) reo_persist: u32,
    /// A report of a duplicate waits to widen the window of reordering.
    pub(crate) reo_pending: bool,
    /// Segments that were reported to have arrived twice.
    pub(crate) duplicates: u64,
    /// How often the persist timer expired.
    pub(crate) window_probes: u32,
    pub(crate) ce_seen: u32,
    accelerated: u64,
    pub(crate) syn_tries: u32,
    pub(crate) opened_at: u64,
}

/// What an ACK lets the sender send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resend {
    /// What is marked lost, before new data.
    Lost,
    /// New data first, and what is marked lost only where there is none (RFC 5682, section 2.1, step 2b).
    NewFirst,
    /// Nothing.
    Hold,
}

impl Sender {
    /// A sender in front of its handshake.
    #[must_use]
    pub fn new(control: Box<dyn CongestionControl>, kind: RecoveryKind, stack: &Stack) -> Self {
        let mss = stack.mss.0 as u32;
        let cwnd = (control.cwnd().0 / u64::from(mss)).clamp(1, MOST_SEGMENTS) as u32;
        Self {
            control,
            before: BeforeReduction::default(),
            board: if kind == RecoveryKind::Rack {
                Scoreboard::by_time(stack.first_segment)
            } else {
                Scoreboard::new(stack.first_segment)
            },
            rtt: RttEstimator::new(stack),
            count: Counters::default(),
            state: State::Open,
            cwnd,
            timer: NEVER,
            pace_timer: NEVER,
            established: false,
            dead: false,
            unsent: 0,
            delivery_rate: 0,
            nagle: false,
            stack: stack.clone(),
            kind,
            model_based: false,
            spaced: false,
            mss,
            high_seq: 0,
            target: cwnd,
            prr_delivered: 0,
            prr_out: 0,
            recover_fs: 0,
            halving_odd: false,
            derived_ssthresh: u32::MAX,
            derived_before: u32::MAX,
            dupacks: 0,
            delivered_before: 0,
            force: false,
            partial_seen: false,
            rescued: false,
            high_rxt: 0,
            timed_out: u64::MAX,
            undo_from: None,
            undo_retrans: -1,
            restorable: false,
            retrans_stamp: 0,
            frto: false,
            cwr_pending: false,
            linux: stack.rules == Rules::Linux && kind == RecoveryKind::Rack,
            pending: Pending::Nothing,
            resend: Resend::Lost,
            rack_advanced: false,
            rto_at: NEVER,
            probe_end: None,
            probe_again: false,
            rack_sent: 0,
            rack_seq: 0,
            rack_rtt: 0,
            reordering_seen: false,
            reordering: stack.dup_thresh,
            reo_mult: 1,
            reo_round: 0,
            reo_persist: 0,
            reo_pending: false,
            duplicates: 0,
            window_probes: 0,
            peer_window: u32::MAX,
            peer_bytes: u64::MAX,
            per_mss: 1.0 / f64::from(mss),
            delivered: 0,
            delivered_at: 0,
            first_sent_at: 0,
            app_limited_until: 0,
            round: 0,
            round_end: 0,
            usage_end: 0,
            usage_max: 0,
            window_limited: false,
            lost_reported: 0,
            lost_total: 0,
            last_sent_at: 0,
            pace_next: 0,
            pacing_bps: 0,
            ce_seen: 0,
            feedback: None,
            accelerated: 0,
            syn_tries: 0,
            opened_at: 0,
            deferred: false,
        }
    }

    /// What the algorithm's entry asks of its transport. A model-based one sees no reduction of the transport's own, neither
    /// by PRR nor after idleness, and hears of the end of each recovery (Linux: a module with `cong_control`).
    #[must_use]
    pub fn serving(mut self, spec: &Spec) -> Self {
        self.model_based = spec.model_based;
        self.spaced = spec.needs.contains(&Need::Spacing);
        self
    }

    /// The algorithm sets the window of a recovery itself. Without SACK it cannot: the pipe is not known.
    #[inline]
    pub(crate) fn leaves_window(&self) -> bool {
        self.model_based && Self::uses_sack(self.kind)
    }

    /// SACK is of use to this recovery.
    #[must_use]
    pub fn uses_sack(kind: RecoveryKind) -> bool {
        matches!(kind, RecoveryKind::Sack | RecoveryKind::Fack | RecoveryKind::Rack)
    }

    /// The application hands over more.
    pub fn supply(&mut self, bytes: u64, now: u64, out: &mut impl Output) {
        self.unsent = if bytes == ENDLESS { ENDLESS } else { self.unsent.saturating_add(bytes) };
        if self.established {
            self.transmit(now, out);
        }
    }

    /// The application has no more than it handed over: an endless supply ends.
    pub fn stop(&mut self) {
        if self.unsent == ENDLESS {
            self.unsent = 0;
        }
    }

    /// All that was handed over is acknowledged.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.unsent == 0 && self.board.outstanding() == 0
    }

    /// In flight, bytes.
    #[must_use]
    pub fn in_flight_bytes(&self) -> u64 {
        u64::from(self.board.in_flight()) * u64::from(self.mss)
    }

    /// The rate at which it paces, where it does.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<u64> {
        (self.pacing_bps > 0).then_some(self.pacing_bps)
    }

    /// The algorithm's window, in segments.
    #[inline]
    pub(crate) fn control_window(&self) -> u32 {
        // A product instead of a division, put right where rounding took it one too far: exact, and a third of the time.
        let mss = u64::from(self.mss);
        let bytes = self.control.cwnd().0.min(MOST_SEGMENTS * mss);
        let guess = (bytes as f64 * self.per_mss) as u64;
        let exact = if guess * mss > bytes { guess - 1 } else { guess + u64::from((guess + 1) * mss <= bytes) };
        (exact as u32).max(1)
    }

    /// The peer opened the connection: its SYN was answered at `answered`, and now its first data is here. `None`: it was
    /// answered several times, so that nobody knows which answer the data follows (Karn's rule; Linux,
    /// tcp_synack_rtt_meas: no sample with `num_retrans`).
    pub fn accept(&mut self, answered: Option<u64>, now: u64, window: u64, out: &mut impl Output) {
        match answered {
            Some(at) => self.opened_at = at,
            None => self.syn_tries = 1,
        }
        self.on_syn_ack(now, window, None, out);
    }

    /// The SYN-ACK arrived.
    pub fn on_syn_ack(&mut self, now: u64, window: u64, feedback: Option<Feedback>, out: &mut impl Output) {
        if self.established {
            return;
        }
        self.established = true;
        self.offer(window);
        let sample = (self.syn_tries == 0).then(|| now - self.opened_at);
        if let Some(sample) = sample {
            self.rtt.sample(now, sample, sample);
        }
        self.disarm();
        self.delivered_at = now;
        self.first_sent_at = now;
        self.control.on_window(&Window {
            now: Time(now),
            change: Change::Established,
            cwnd: self.control.cwnd(),
            idle: Duration::ZERO,
            rtt: sample.map(Duration),
            feedback,
        });
        self.settle();
        self.update_pacing();
        out.event("established", "", self.cwnd, self.cwnd, f64::NAN);
        self.transmit(now, out);
    }

    /// The peer offers a window of so many bytes.
    #[inline]
    fn offer(&mut self, window: u64) {
        self.peer_bytes = window;
        self.peer_window = (window / u64::from(self.mss)).min(MOST_SEGMENTS) as u32;
    }

    /// An ACK arrives.
    pub fn on_ack(&mut self, now: u64, ack: &AckPacket, out: &mut impl Output) {
        if !self.established || ack.ack > self.board.next {
            return;
        }
        if ack.ack < self.board.una {
            if self.linux {
                self.on_old_ack(now, ack, out);
            }
            return;
        }
        let prior_una = self.board.una;
        let prior_in_flight = self.board.in_flight();
        let idle = self.board.outstanding() == 0;
        let advanced = ack.ack > prior_una;
        let mut gain = Gain::of(advanced, self.lost_total);
        if ack.window != self.peer_bytes {
            self.note_window(ack, advanced, &mut gain);
        }
        if advanced {
            gain.prior_fack = if self.board.sacked > 0 { self.board.fack } else { prior_una };
            gain.lowest = u64::MAX;
            gain.echo = ack.echo.0;
            let mut bytes = 0;
            while self.board.una < ack.ack {
                let seq = self.board.una;
                let segment = self.board.pop_front();
                bytes += u64::from(segment.len);
                if segment.flags & SACKED == 0 {
                    self.deliver(now, seq, &segment, &mut gain);
                }
            }
            self.count.acked_bytes += bytes;
            self.board.advanced();
        }
        if ack.blocks.len > 0 {
            self.on_blocks(now, ack, prior_una, &mut gain);
        }
        if gain.lowest < gain.prior_fack && advanced {
            self.note_reordering(gain.lowest);
        }
        self.sample_rtt(now, ack, &mut gain);
        let rate = self.sample_rate(now, &gain);
        if let Some(feedback) = ack.feedback {
            self.note_feedback(feedback);
        }
        if idle {
            self.note_answer(now);
        }
        let (ce, echo) = self.note_ecn(ack);
        gain.ece = echo;
        if advanced && ack.ack > self.round_end {
            self.round += 1;
            self.round_end = self.board.next;
        }
        self.react(now, ack, prior_una, idle, &mut gain, out);
        if gain.segments > 0 && !idle {
            self.tell_control(now, &gain, prior_in_flight, rate, ce, out);
        }
        self.settle();
        if gain.rearm {
            self.restart_timers(now);
        } else if self.stack.rto_restart == RtoRestart::EveryAck && self.pending == Pending::Rto {
            self.arm_rto(now);
        }
        if self.pacing_bps > 0 || self.stack.pacing != crate::stack::Pacing::Off {
            self.update_pacing();
        }
        self.transmit(now, out);
        self.resend = Resend::Lost;
    }

    /// An ACK that another one overtook tells of arrivals all the same (Linux, tcp_ack, `old_ack`); the window and the timers
    /// stay as they are, and the algorithm does not hear of it.
    #[cold]
    fn on_old_ack(&mut self, now: u64, ack: &AckPacket, out: &mut impl Output) {
        if ack.blocks.len > 0 {
            let mut gain = Gain::of(false, self.lost_total);
            self.on_blocks(now, ack, self.board.una, &mut gain);
            self.resend = Resend::Hold;
            self.alert(now, ack, self.board.una, &mut gain, out);
            self.settle();
        }
        self.transmit(now, out);
        self.resend = Resend::Lost;
    }

    /// The peer's window changed. What takes it back without acknowledging anything is an old segment to Linux, unless it
    /// closes the window (tcp_may_update_window).
    fn note_window(&mut self, ack: &AckPacket, advanced: bool, gain: &mut Gain) {
        let news = advanced || ack.window > self.peer_bytes || ack.window == 0;
        if news || !self.linux {
            gain.window_update = true;
            self.offer(ack.window);
        }
    }

    /// ECN: how many bytes were marked, and whether that asks for a reaction.
    fn note_ecn(&mut self, ack: &AckPacket) -> (u64, bool) {
        if self.stack.ecn == Ecn::Off {
            return (0, false);
        }
        let marked = ack.ce_count.wrapping_sub(self.ce_seen);
        self.ce_seen = ack.ce_count;
        let echo = match self.stack.ecn {
            Ecn::Accurate | Ecn::Dctcp => marked > 0,
            _ => ack.ece,
        };
        (u64::from(marked) * u64::from(self.mss), echo)
    }

    /// What routers wrote waits for the report; the receiver counts what said "accelerate".
    #[cold]
    fn note_feedback(&mut self, last: Feedback) {
        let waiting = self.feedback.map_or(Bytes::ZERO, |one| one.accelerated);
        let new = Bytes(last.accelerated.0.saturating_sub(self.accelerated));
        self.accelerated = self.accelerated.max(last.accelerated.0);
        self.feedback = Some(Feedback { accelerated: waiting + new, ..last });
    }

    #[allow(clippy::too_many_arguments)] // one caller; the values of one ACK
    fn tell_control(
        &mut self,
        now: u64,
        gain: &Gain,
        prior_in_flight: u32,
        rate: Option<DeliveryRate>,
        ce: u64,
        out: &mut impl Output,
    ) {
        let mss = u64::from(self.mss);
        let ack = Ack {
            now: Time(now),
            mss: Bytes(mss),
            acked: Bytes(self.stack.ack_counting.counted(gain.bytes, mss, || self.is_below_ssthresh(1))),
            acks: 1,
            interval: Duration::ZERO,
            prior_in_flight: Bytes(u64::from(prior_in_flight) * mss),
            in_flight: Bytes(u64::from(self.board.in_flight()) * mss),
            lost: Bytes((self.lost_total - self.lost_reported) * mss),
            rtt: (gain.rtt > 0).then_some(Duration(gain.rtt)),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            delivery_rate: rate,
            delivered: Bytes(self.delivered),
            ce: Bytes(ce),
            app_limited: self.app_limited_until > 0,
            cwnd_limited: self.is_window_limited(),
            recovering: matches!(self.state, State::Recovery | State::Cwr) || !self.may_raise(gain),
            round: self.round,
            feedback: self.feedback.take(),
        };
        self.lost_reported = self.lost_total;
        if let Some(event) = self.control.on_ack(&ack) {
            let window = event.cwnd_segments as u32;
            out.event(event.kind.name(), event.reason.name(), self.cwnd, window, event.pipe_segments);
        }
    }

    /// The window may grow upon this ACK, if no reduction is under way. Linux, tcp_may_raise_cwnd: on data in order, or on
    /// any that arrives where the path is known to reorder far.
    #[inline]
    fn may_raise(&self, gain: &Gain) -> bool {
        if gain.advanced {
            return true;
        }
        if self.linux {
            return gain.sacked && self.reordering > self.stack.dup_thresh;
        }
        self.state == State::Loss && self.board.lost == 0
    }

    /// Linux' `tcp_is_cwnd_limited`: in slow start a window counts as used when half of it was.
    #[inline]
    fn is_window_limited(&self) -> bool {
        self.window_limited || (self.cwnd < self.usage_max.saturating_mul(2) && self.is_below_ssthresh(1))
    }

    /// The window is below the `part`th part of the slow-start threshold; with `part` 1 Linux' `tcp_in_slow_start`.
    #[inline]
    pub(crate) fn is_below_ssthresh(&self, part: u64) -> bool {
        let above = u64::from(self.cwnd) + 1;
        match self.control.state(None).ssthresh {
            Ssthresh::Unlimited => true,
            // In whole segments, without a division: cwnd < ⌊⌊ssthresh / mss⌋ / part⌋.
            Ssthresh::At(threshold) => above * part * u64::from(self.mss) <= threshold.0,
            Ssthresh::Unknown => above * part <= u64::from(self.derived_ssthresh),
        }
    }

    /// The transport tells the algorithm of a window of its own.
    pub(crate) fn impose(&mut self, now: u64, change: Change, segments: u32, idle: u64) {
        let cwnd = Bytes(u64::from(segments) * u64::from(self.mss));
        self.control.on_window(&Window {
            now: Time(now),
            change,
            cwnd,
            idle: Duration(idle),
            rtt: None,
            feedback: None,
        });
    }
}
