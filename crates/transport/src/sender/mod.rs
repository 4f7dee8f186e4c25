//! The sender: what it knows, and what an ACK makes of it.

mod detection;
mod duplicate;
mod recovery;
mod timers;
mod transmit;

use std::cell::Cell;

use cwndlab_control::{Ack, Change, CongestionControl, DeliveryRate, Feedback, Need, RecoveryKind, Spec, Window};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::receiver::NEVER;
use crate::rtt::RttEstimator;
use crate::scoreboard::{Scoreboard, Segment, APP_LIMITED, EVER_RETRANS, SACKED};
use crate::stack::{Ecn, RtoRestart, Stack};
use crate::wire::{AckPacket, Output};

/// An application that always has data.
pub const ENDLESS: u64 = u64::MAX;

/// What the sender is doing, numbered as Linux numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// All is well.
    Open = 0,
    /// Duplicates arrive.
    Disorder = 1,
    /// The window falls after an ECN echo.
    Cwr = 2,
    /// A loss is being repaired.
    Recovery = 3,
    /// The retransmission timer expired.
    Loss = 4,
}

/// What the sender counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent_packets: u64,
    /// Payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Segments sent again.
    pub retransmitted_packets: u64,
    /// Payload sent again.
    pub retransmitted_bytes: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// Entries into recovery.
    pub recoveries: u64,
    /// Reductions by ECN.
    pub ecn_reductions: u64,
    /// Reductions taken back.
    pub undos: u64,
    /// Tail loss probes.
    pub loss_probes: u64,
}

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
    pub(crate) slow_start: bool,
    pub(crate) window_limited: bool,
    /// The last sending held back for a larger burst: the window was the limit.
    pub(crate) deferred: bool,
    pub(crate) force: bool,
    pub(crate) frto: bool,
    pub(crate) persist: bool,
    pub(crate) cwr_pending: bool,
    /// The algorithm.
    pub control: Box<dyn CongestionControl>,
    /// What became of the segments.
    pub board: Scoreboard,
    pub(crate) mss: u32,
    per_mss: f64,
    /// The effective window, segments.
    pub cwnd: u32,
    pub(crate) peer_window: u32,
    /// The window as the peer wrote it: the division is spared while it stays.
    peer_bytes: u32,
    pub(crate) high_seq: u32,
    pub(crate) dupacks: u32,
    pub(crate) usage_end: u32,
    pub(crate) usage_max: u32,
    round_end: u32,
    pub(crate) prr_out: u32,
    /// When the next timer is due.
    pub timer: u64,
    /// When the next paced burst may leave; `NEVER` while nothing waits for it.
    pub pace_timer: u64,
    pub(crate) rto_at: u64,
    pub(crate) probe_at: u64,
    pub(crate) reorder_at: u64,
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
    pub(crate) rack_seq: u32,
    pub(crate) probe_end: Option<u32>,
    pub(crate) undo_from: Option<u32>,
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
    /// Segments that duplicates reported delivered and that are not acknowledged yet.
    pub(crate) delivered_before: u32,
    pub(crate) partial_seen: bool,
    pub(crate) rescued: bool,
    pub(crate) high_rxt: u32,
    /// First unacknowledged segment when the retransmission timer expired last.
    pub(crate) timed_out: u32,
    pub(crate) undo_retrans: i32,
    pub(crate) retrans_stamp: u64,
    pub(crate) reordering_seen: bool,
    pub(crate) reo_mult: u32,
    pub(crate) reo_round: u64,
    pub(crate) reo_persist: u32,
    pub(crate) ce_seen: u32,
    accelerated: u64,
    pub(crate) syn_tries: u32,
    pub(crate) opened_at: u64,
}

/// What one ACK brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gain {
    /// Segments newly delivered, cumulatively or by SACK.
    pub(crate) segments: u32,
    pub(crate) bytes: u64,
    /// RTT of the oldest and of the newest segment that was sent once; 0 is none.
    oldest: u64,
    newest: u64,
    /// Rate sample of the newest segment.
    prior_delivered: u64,
    prior_at: u64,
    send_interval: u64,
    last_sent: u64,
    app_limited: bool,
    /// A segment that was never retransmitted and lies below `high_seq` arrived.
    pub(crate) original: bool,
}

impl Sender {
    /// A sender in front of its handshake.
    #[must_use]
    pub fn new(control: Box<dyn CongestionControl>, kind: RecoveryKind, stack: &Stack) -> Self {
        let mss = stack.mss.0 as u32;
        let cwnd = (control.cwnd().0 as u32 / mss).max(1);
        Self {
            control,
            board: Scoreboard::new(),
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
            dupacks: 0,
            delivered_before: 0,
            force: false,
            partial_seen: false,
            rescued: false,
            high_rxt: 0,
            timed_out: u32::MAX,
            undo_from: None,
            undo_retrans: 0,
            retrans_stamp: 0,
            frto: false,
            cwr_pending: false,
            rto_at: NEVER,
            probe_at: NEVER,
            reorder_at: NEVER,
            persist: false,
            probe_end: None,
            rack_sent: 0,
            rack_seq: 0,
            rack_rtt: 0,
            reordering_seen: false,
            reo_mult: 1,
            reo_round: 0,
            reo_persist: 0,
            peer_window: u32::MAX,
            peer_bytes: u32::MAX,
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
            slow_start: true,
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
        let bytes = self.control.cwnd().0.min(u64::from(u32::MAX));
        let guess = (bytes as f64 * self.per_mss) as u64;
        let mss = u64::from(self.mss);
        let exact = if guess * mss > bytes { guess - 1 } else { guess + u64::from((guess + 1) * mss <= bytes) };
        (exact as u32).max(1)
    }

    /// The peer opened the connection: its SYN was answered at `answered`, and now its first data is here.
    pub fn accept(&mut self, answered: u64, now: u64, window: u32, out: &mut impl Output) {
        self.opened_at = answered;
        self.on_syn_ack(now, window, None, out);
    }

    /// The SYN-ACK arrived.
    pub fn on_syn_ack(&mut self, now: u64, window: u32, feedback: Option<Feedback>, out: &mut impl Output) {
        if self.established {
            return;
        }
        self.established = true;
        self.peer_window = window / self.mss;
        let sample = (self.syn_tries == 0).then(|| now - self.opened_at);
        if let Some(sample) = sample {
            self.rtt.sample(now, sample, sample);
        }
        self.rto_at = NEVER;
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

    /// A segment was delivered: counts it, samples RTT and rate, advances RACK.
    #[inline]
    fn deliver(&mut self, now: u64, seq: u32, segment: &Segment, gain: &mut Gain) {
        let len = u64::from(segment.len);
        gain.segments += 1;
        gain.bytes += len;
        let rtt = now - segment.sent_at;
        let once = segment.flags & EVER_RETRANS == 0;
        if once {
            if gain.oldest == 0 {
                gain.oldest = rtt;
            }
            gain.newest = rtt;
            gain.original |= seq < self.high_seq;
        }
        // RFC 8985, step 2: an ACK that comes sooner than min_rtt is of the original, not of the retransmission.
        if (segment.sent_at, seq) >= (self.rack_sent, self.rack_seq) && (once || rtt >= self.rtt.min) {
            (self.rack_sent, self.rack_seq, self.rack_rtt) = (segment.sent_at, seq, rtt);
        }
        // Linux, tcp_rate_skb_delivered: the sample of the segment that was sent last.
        if segment.sent_at >= gain.last_sent {
            gain.last_sent = segment.sent_at;
            gain.prior_delivered = segment.delivered;
            gain.prior_at = segment.delivered_at;
            gain.send_interval = segment.sent_at - segment.first_sent_at;
            gain.app_limited = segment.flags & APP_LIMITED != 0;
            self.first_sent_at = segment.sent_at;
        }
    }

    /// An ACK arrives.
    pub fn on_ack(&mut self, now: u64, ack: &AckPacket, out: &mut impl Output) {
        if !self.established || ack.ack > self.board.next || ack.ack < self.board.una {
            return;
        }
        let prior_una = self.board.una;
        let prior_in_flight = self.board.in_flight();
        if ack.window != self.peer_bytes {
            self.peer_bytes = ack.window;
            self.peer_window = ack.window / self.mss;
        }
        let mut gain = Gain::default();
        if ack.ack > prior_una {
            let mut bytes = 0;
            while self.board.una < ack.ack {
                let seq = self.board.una;
                let segment = self.board.pop_front();
                bytes += u64::from(segment.len);
                if segment.flags & SACKED == 0 {
                    self.deliver(now, seq, &segment, &mut gain);
                    if seq < self.board.fack && segment.flags & EVER_RETRANS == 0 && self.board.sacked > 0 {
                        self.reordering_seen |= self.kind == RecoveryKind::Rack;
                    }
                }
            }
            self.count.acked_bytes += bytes;
            self.board.advanced();
        }
        if ack.blocks.len > 0 {
            self.on_blocks(now, ack, &mut gain);
        }
        let advanced = ack.ack > prior_una;
        self.sample_rtt(now, ack, advanced, &gain);
        let rate = self.sample_rate(now, &gain);
        if let Some(feedback) = ack.feedback {
            self.note_feedback(feedback);
        }
        self.persist &= self.peer_window == 0;
        let ce = self.note_ecn(now, ack, out);
        if advanced && ack.ack > self.round_end {
            self.round += 1;
            self.round_end = self.board.next;
        }
        self.react(now, ack, advanced, prior_una, &mut gain, out);
        if gain.segments > 0 {
            self.tell_control(now, &gain, prior_in_flight, rate, ce, advanced, out);
        }
        self.settle();
        if advanced {
            self.restart_timers(now);
        } else if self.stack.rto_restart == RtoRestart::EveryAck && self.board.outstanding() > 0 {
            self.rto_at = now + self.rtt.rto();
        }
        if self.pacing_bps > 0 || self.stack.pacing != crate::stack::Pacing::Off {
            self.update_pacing();
        }
        self.transmit(now, out);
    }

    fn on_blocks(&mut self, now: u64, ack: &AckPacket, gain: &mut Gain) {
        let mut blocks = ack.blocks.as_slice();
        if ack.blocks.duplicate {
            self.on_duplicate_report(blocks[0].0);
            blocks = &blocks[1..];
        }
        let mut board = std::mem::take(&mut self.board);
        for &(from, to) in blocks {
            let high = board.fack;
            board.sack(from, to, |seq, segment| {
                if seq < high && segment.flags & EVER_RETRANS == 0 {
                    // A hole below what had arrived was filled by the original: the path reorders.
                    self.reordering_seen = true;
                }
                self.deliver(now, seq, segment, gain);
            });
        }
        self.board = board;
    }

    #[inline]
    fn sample_rtt(&mut self, now: u64, ack: &AckPacket, advanced: bool, gain: &Gain) {
        if gain.oldest > 0 {
            self.rtt.sample(now, gain.oldest, gain.newest);
        } else if advanced && self.stack.timestamps && ack.echo.0 > 0 && ack.echo.0 < now {
            let sample = now - ack.echo.0; // RFC 7323, section 4.1: timestamps lift Karn's ambiguity
            self.rtt.sample(now, sample, sample);
        }
    }

    #[inline]
    fn sample_rate(&mut self, now: u64, gain: &Gain) -> Option<DeliveryRate> {
        if gain.segments == 0 {
            return None;
        }
        self.delivered += gain.bytes;
        self.delivered_at = now;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let delivered = self.delivered - gain.prior_delivered;
        let interval = gain.send_interval.max(now - gain.prior_at);
        if interval == 0 || interval < self.rtt.min {
            return None; // Linux, tcp_rate_gen: shorter than min_rtt is ACK compression
        }
        // IEEE multiplication and division: the same everywhere, and a tenth of a 128-bit division.
        let rate = (delivered as f64 * 8e9 / interval as f64) as u64;
        if !gain.app_limited || rate > self.delivery_rate {
            self.delivery_rate = rate;
        }
        Some(DeliveryRate {
            rate: Rate(rate),
            delivered: Bytes(delivered),
            interval: Duration(interval),
            prior_delivered: Bytes(gain.prior_delivered),
            app_limited: gain.app_limited,
        })
    }

    /// ECN: how many bytes were marked, and the reaction once per window.
    fn note_ecn(&mut self, now: u64, ack: &AckPacket, out: &mut impl Output) -> u64 {
        if self.stack.ecn == Ecn::Off {
            return 0;
        }
        let marked = ack.ce_count.wrapping_sub(self.ce_seen);
        self.ce_seen = ack.ce_count;
        let echo = match self.stack.ecn {
            Ecn::Accurate | Ecn::Dctcp => marked > 0,
            _ => ack.ece,
        };
        if echo && self.state <= State::Disorder && self.board.una >= self.high_seq {
            self.enter_cwr(now, out);
        }
        u64::from(marked) * u64::from(self.mss)
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
        advanced: bool,
        out: &mut impl Output,
    ) {
        let mss = u64::from(self.mss);
        let ack = Ack {
            now: Time(now),
            mss: Bytes(mss),
            acked: Bytes(self.stack.ack_counting.counted(gain.bytes, mss, self.slow_start)),
            acks: 1,
            interval: Duration::ZERO,
            prior_in_flight: Bytes(u64::from(prior_in_flight) * mss),
            in_flight: Bytes(u64::from(self.board.in_flight()) * mss),
            lost: Bytes((self.lost_total - self.lost_reported) * mss),
            rtt: (gain.newest > 0).then_some(Duration(gain.newest)),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            delivery_rate: rate,
            delivered: Bytes(self.delivered),
            ce: Bytes(ce),
            app_limited: self.app_limited_until > 0,
            cwnd_limited: self.is_window_limited(),
            recovering: matches!(self.state, State::Recovery | State::Cwr)
                || (!advanced && self.state != State::Loss)
                || (!advanced && self.board.lost > 0),
            round: self.round,
            feedback: self.feedback.take(),
            note: Cell::new(None),
        };
        self.lost_reported = self.lost_total;
        self.control.on_ack(&ack);
        if let Some(note) = ack.note.get() {
            let window = note.cwnd_segments as u32;
            if note.what == "slow-start-exit" {
                self.slow_start = false;
            }
            out.event(note.what, note.reason, self.cwnd, window, note.pipe_segments);
        }
    }

    /// Linux' `tcp_is_cwnd_limited`: in slow start a window counts as used when half of it was.
    #[inline]
    fn is_window_limited(&self) -> bool {
        self.window_limited || (self.slow_start && self.cwnd < 2 * self.usage_max)
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
