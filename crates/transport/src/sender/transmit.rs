//! What leaves, and when: retransmissions first, then new data, as window, pacing and the peer allow.

use cwndlab_control::{Change, RecoveryKind, Sent};
use cwndlab_units::{Bytes, Time};

use super::timers::Pending;
use super::{Resend, Sender, State, ENDLESS};
use crate::receiver::NEVER;
use crate::scoreboard::{Segment, APP_LIMITED};
use crate::stack::{Ecn, IdleRestart, Pacing, RtoRestart};
use crate::wire::{Data, Output};

/// RFC 7661, section 4.4: the non-validated phase lasts five minutes at most.
const NVP_NS: u64 = 300_000_000_000;
/// Linux: a burst is what the pacing rate gives in about a millisecond (`sk_pacing_shift` 10).
const BURST_SHIFT: u32 = 10;
/// Linux does not pace the first ten packets of a connection (tcp_update_skb_after_send, as sch_fq does).
const UNPACED_PACKETS: u64 = 10;
/// A super-segment holds 64 kB.
const MAX_BURST_BYTES: u64 = 65_536;
/// tcp_min_tso_segs.
const MIN_BURST: u32 = 2;
/// Linux holds a small burst back only where the last one left within a millisecond, and the next ACK is due within
/// another (tcp_tso_should_defer).
const RECENT_NS: u64 = 1_000_000;

/// A super-segment in the making: what was found out about it once for all its segments, since divisions are dear.
#[derive(Default)]
struct Burst {
    /// Its size by the rate; 0 until somebody asks.
    goal: u32,
    /// Segments that may leave without another question.
    cleared: u32,
}

impl Sender {
    /// Sends what may leave now.
    pub fn transmit(&mut self, now: u64, out: &mut impl Output) {
        if !self.established {
            return;
        }
        if self.board.outstanding() == 0 && self.unsent > 0 && self.last_sent_at > 0 && !self.model_based {
            self.restart_after_idle(now, out);
        }
        let paced = self.pacing_bps > 0;
        let burst = self.paced_burst();
        self.deferred = false;
        let mut sent_new = false;
        let mut sent = 0;
        let mut super_segment = Burst::default();
        loop {
            if paced && self.pace_next > now && !self.force {
                break;
            }
            super_segment.cleared = 0;
            let mut step = 0;
            while step < if paced { burst } else { u32::MAX } {
                match self.send_one(now, &mut super_segment, out) {
                    Sending::Old => {}
                    Sending::New => sent_new = true,
                    Sending::Nothing => break,
                }
                step += 1;
            }
            sent += step;
            if step == 0 || !paced {
                break;
            }
            if self.stack.tso_burst && self.count.sent_packets < UNPACED_PACKETS {
                continue;
            }
            // Payload, as the rates that algorithms measure: Linux' own timer counts no headers.
            let size = u64::from(step) * u64::from(self.mss);
            let gap = (u128::from(size) * 8_000_000_000 / u128::from(self.pacing_bps)) as u64;
            // Linux, tcp_update_skb_after_send: who is late makes up for it by half of the gap at most.
            let credit = now.saturating_sub(self.pace_next).min(gap / 2);
            self.pace_next = self.pace_next.max(now) + gap - credit;
        }
        if self.resend == Resend::NewFirst {
            // RFC 5682, section 2.1, step 2b: without new data the doubt ends, and what is lost goes again.
            self.resend = Resend::Hold;
            if !sent_new {
                self.frto = false;
                self.resend = Resend::Lost;
                self.transmit(now, out);
                return;
            }
        }
        self.pace_timer = if paced && self.pace_next > now && self.has_work() { self.pace_next } else { NEVER };
        self.after_sending(now, sent_new, sent);
    }

    fn has_work(&mut self) -> bool {
        let in_flight = self.board.in_flight();
        in_flight < self.cwnd
            && (self.board.next_lost().is_some() || (self.unsent > 0 && self.board.outstanding() < self.peer_window))
    }

    #[inline]
    fn after_sending(&mut self, now: u64, sent_new: bool, sent: u32) {
        let outstanding = self.board.outstanding();
        // Linux, tcp_cwnd_validate: remember the fullest moment of the window.
        let limited = self.board.in_flight() >= self.cwnd || self.deferred;
        if self.board.una >= self.usage_end || limited || (!self.window_limited && outstanding > self.usage_max) {
            self.window_limited = limited;
            self.usage_max = outstanding;
            self.usage_end = self.board.next;
        }
        if sent > 0 {
            self.start_timers(now, sent_new);
        } else if self.unsent > 0 && outstanding == 0 {
            self.watch_window(now);
        }
        if self.unsent == 0 && self.board.in_flight() < self.cwnd {
            // Linux, tcp_rate_check_app_limited: bubbles until what is in flight now is delivered.
            self.app_limited_until = (self.delivered + self.in_flight_bytes()).max(1);
        }
    }

    #[inline]
    fn send_one(&mut self, now: u64, burst: &mut Burst, out: &mut impl Output) -> Sending {
        let in_flight = self.board.in_flight();
        if self.board.lost > 0 && self.resend == Resend::Lost {
            if in_flight < self.cwnd || self.force {
                if let Some(seq) = self.board.next_lost() {
                    // Linux, __tcp_retransmit_skb: of what a shrunken window leaves out, the head alone asks for it.
                    if seq >= self.board.una.saturating_add(u64::from(self.peer_window.max(1))) {
                        return Sending::Nothing;
                    }
                    self.force = false;
                    self.high_rxt = self.high_rxt.max(seq + 1);
                    self.retransmit(seq, now, out);
                    return Sending::Old;
                }
            } else {
                return Sending::Nothing;
            }
        }
        self.force = false;
        let mut window = self.cwnd;
        if self.state <= State::Disorder {
            if self.dupacks > 0 && self.stack.limited_transmit {
                window += self.dupacks.min(2); // RFC 3042
            } else if self.board.sacked > 0 && !self.stack.limited_transmit {
                window = window.saturating_sub(self.board.sacked);
            }
        }
        if in_flight >= window || self.board.outstanding() >= self.peer_window {
            return Sending::Nothing;
        }
        if self.unsent < u64::from(self.mss) {
            if self.unsent == 0 {
                return self.fill_holes(now, out);
            }
            if self.nagle && self.board.outstanding() > 0 {
                return Sending::Nothing;
            }
        }
        if self.stack.tso_burst && !self.spaced && self.state <= State::Cwr {
            if burst.cleared == 0 {
                let room = (window - in_flight).min(self.next_supply());
                if self.defers(now, window - in_flight, burst) {
                    self.deferred = true;
                    return Sending::Nothing;
                }
                burst.cleared = if room <= MIN_BURST { room } else { room.min(self.goal(burst)) };
            }
            burst.cleared -= 1;
        }
        self.send_new(now, out);
        Sending::New
    }

    /// RFC 6675, NextSeg rules (3) and (4): with nothing new to send, what is not SACKed goes again, last the tail once.
    fn fill_holes(&mut self, now: u64, out: &mut impl Output) -> Sending {
        if self.kind != RecoveryKind::Sack || self.state != State::Recovery {
            return Sending::Nothing;
        }
        let (from, fack) = (self.high_rxt, self.board.fack);
        if let Some(seq) = self.board.next_hole(from, fack) {
            self.high_rxt = seq + 1;
            self.retransmit(seq, now, out);
            return Sending::Old;
        }
        if !self.rescued && self.board.fack < self.high_seq {
            self.rescued = true;
            let last = self.high_seq - 1;
            self.retransmit(last, now, out);
            return Sending::Old;
        }
        Sending::Nothing
    }

    fn next_len(&self) -> u32 {
        if self.unsent == ENDLESS {
            self.mss
        } else {
            u64::from(self.mss).min(self.unsent) as u32
        }
    }

    #[allow(clippy::inline_always)] // for each segment, out of the loop
    #[inline(always)]
    fn send_new(&mut self, now: u64, out: &mut impl Output) {
        let len = self.next_len();
        if self.unsent != ENDLESS {
            self.unsent -= u64::from(len);
        }
        if self.board.outstanding() == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let app_limited = self.app_limited_until > 0;
        let seq = self.board.push(Segment {
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            len: len as u16,
            flags: if app_limited { APP_LIMITED } else { 0 },
            ..Segment::default()
        });
        self.emit(seq, len, false, now, out);
        if self.state == State::Recovery || self.state == State::Cwr {
            self.prr_out += 1;
        }
    }

    /// Sends a segment again.
    pub(crate) fn retransmit(&mut self, seq: u64, now: u64, out: &mut impl Output) {
        let len = u32::from(self.board.get(seq).len);
        self.board.resend(seq, now);
        self.stamp(seq);
        if self.retrans_stamp == 0 {
            self.retrans_stamp = now;
        }
        self.undo_retrans = self.undo_retrans.max(0) + 1;
        self.prr_out += 1;
        self.count.retransmitted_packets += 1;
        self.count.retransmitted_bytes += u64::from(len);
        let impatient = self.kind == RecoveryKind::NewReno && self.partial_seen && self.state == State::Recovery;
        let head = seq == self.board.una && self.pending != Pending::Reorder;
        if self.stack.rto_restart != RtoRestart::NewData && head && !impatient {
            self.arm_rto(now);
        }
        self.emit(seq, len, true, now, out);
    }

    /// The last segment again, to ask whether it arrived. It is a second copy: neither does it count as in flight, nor does
    /// its ACK tell of an undo (Linux, tcp_send_loss_probe, calls __tcp_retransmit_skb).
    pub(crate) fn send_tail_again(&mut self, now: u64, out: &mut impl Output) {
        let seq = self.board.next - 1;
        let len = u32::from(self.board.get(seq).len);
        self.board.send_again(seq, now);
        self.stamp(seq);
        self.count.retransmitted_packets += 1;
        self.count.retransmitted_bytes += u64::from(len);
        self.emit(seq, len, true, now, out);
    }

    /// The segment begins a rate sample anew.
    fn stamp(&mut self, seq: u64) {
        let (first_sent_at, delivered_at, delivered) = (self.first_sent_at, self.delivered_at, self.delivered);
        let segment = self.board.get_mut(seq);
        segment.first_sent_at = first_sent_at;
        segment.delivered_at = delivered_at;
        segment.delivered = delivered;
    }

    #[allow(clippy::inline_always)] // for each segment, out of the loop
    #[inline(always)]
    fn emit(&mut self, seq: u64, len: u32, again: bool, now: u64, out: &mut impl Output) {
        self.count.sent_packets += 1;
        self.count.sent_bytes += u64::from(len);
        self.last_sent_at = now;
        let ect = self.stack.ecn != Ecn::Off && !again; // RFC 3168, 6.1.5: retransmissions are not ECN-capable
        let cwr = self.cwr_pending && !again;
        self.cwr_pending &= again;
        out.data(&Data { seq, len, retransmission: again, ect, cwr, stamp: Time(now), feedback: None });
        self.control.on_sent(&Sent {
            now: Time(now),
            size: Bytes(u64::from(len)),
            in_flight: Bytes(self.in_flight_bytes()),
            retransmission: again,
            app_limited: self.app_limited_until > 0,
        });
    }

    /// A probe with new data, where there is some; the window may be passed by one segment.
    pub(crate) fn send_new_as_probe(&mut self, now: u64, out: &mut impl Output) -> bool {
        if self.unsent == 0 || self.board.outstanding() >= self.peer_window {
            return false;
        }
        self.send_new(now, out);
        true
    }

    /// An empty segment below what is acknowledged: the peer answers it with an ACK (Linux, tcp_xmit_probe_skb).
    pub(crate) fn probe_window(&mut self, now: u64, out: &mut impl Output) {
        self.count.sent_packets += 1;
        let seq = self.board.una.wrapping_sub(1);
        out.data(&Data { seq, len: 0, retransmission: true, ect: false, cwr: false, stamp: Time(now), feedback: None });
    }

    /// Linux, tcp_tso_should_defer: wait for a larger burst while an ACK that allows it is near.
    #[inline]
    fn defers(&self, now: u64, room: u32, burst: &mut Burst) -> bool {
        if room >= (self.cwnd / 3).max(1) || self.board.outstanding() == 0 {
            return false;
        }
        if now > self.last_sent_at.max(self.pace_next) + RECENT_NS {
            return false;
        }
        let supply = self.next_supply();
        if room >= supply || (room >= MIN_BURST && room >= self.goal(burst)) {
            return false;
        }
        // Only where the ACK of the oldest segment is due within a millisecond, or half an RTT (Linux since 6.18; before,
        // half an RTT alone).
        let due = self.board.get(self.board.una).sent_at + self.rtt.srtt;
        due <= now + RECENT_NS.min(self.rtt.srtt / 2)
    }

    #[inline]
    fn goal(&self, burst: &mut Burst) -> u32 {
        if burst.goal == 0 {
            burst.goal = self.burst_goal();
        }
        burst.goal
    }

    fn next_supply(&self) -> u32 {
        if self.unsent == ENDLESS {
            u32::MAX
        } else {
            self.unsent.div_ceil(u64::from(self.mss)).min(1 << 20) as u32
        }
    }

    /// Linux, tcp_tso_autosize: a millisecond of the pacing rate, two segments at least.
    fn burst_goal(&self) -> u32 {
        let rate = if self.pacing_bps > 0 { self.pacing_bps } else { self.linux_rate() };
        (((rate / 8) >> BURST_SHIFT).min(MAX_BURST_BYTES) as u32 / self.mss).max(MIN_BURST)
    }

    /// Segments that a paced sender sends at once: with Linux' bursts at least what the rate gives in a millisecond.
    fn paced_burst(&self) -> u32 {
        let quantum = self.stack.pacing_quantum.max(1);
        if self.spaced {
            1
        } else if self.stack.tso_burst && self.pacing_bps > 0 {
            // tcp_cwnd_test: half of the window at most
            quantum.max(self.burst_goal()).min((self.cwnd / 2).max(1))
        } else {
            quantum
        }
    }

    /// Linux, tcp_update_pacing_rate: the window, or what is out of it, per SRTT; twice that below half of ssthresh, where slow
    /// start has another round trip before it, and 1.2 times above.
    fn linux_rate(&self) -> u64 {
        if self.rtt.srtt == 0 {
            return u64::MAX >> 4;
        }
        let factor = if self.is_below_ssthresh(2) { 2.0 } else { 1.2 };
        (f64::from(self.cwnd.max(self.board.outstanding())) * f64::from(self.mss) * 8e9 * factor / self.rtt.srtt as f64)
            as u64
    }

    /// Asks the algorithm, and the profile, for the pacing rate.
    #[inline]
    pub(crate) fn update_pacing(&mut self) {
        self.pacing_bps = match (self.stack.pacing, self.control.pacing_rate()) {
            (Pacing::Off, _) | (Pacing::Algorithm, None) => 0,
            (_, Some(rate)) => rate.0.max(1),
            (Pacing::Always, None) => self.linux_rate(),
        };
    }

    /// The engine's clock reached `pace_timer`.
    pub fn on_pace(&mut self, now: u64, out: &mut impl Output) {
        self.pace_timer = NEVER;
        self.transmit(now, out);
    }

    fn restart_after_idle(&mut self, now: u64, out: &mut impl Output) {
        let idle = now - self.last_sent_at;
        let rto = self.rtt.rto();
        if idle <= rto {
            return;
        }
        let restart = self.stack.initial_window.min(self.cwnd);
        let window = match self.stack.idle_restart {
            IdleRestart::InitialWindow => restart, // RFC 5681, section 4.1
            IdleRestart::Decay => {
                let halvings = (idle / rto).min(31) as u32; // RFC 2861, as Linux' tcp_cwnd_restart
                (self.cwnd >> halvings).max(restart)
            }
            IdleRestart::Rfc7661 if idle > NVP_NS => (self.cwnd / 2).max(restart),
            IdleRestart::Off | IdleRestart::Rfc7661 => return,
        };
        let before = self.cwnd;
        self.impose(now, Change::Idle, window, idle);
        self.cwnd = window;
        out.event("idle-restart", "idle", before, window, f64::NAN);
    }
}

/// What left.
enum Sending {
    Old,
    New,
    Nothing,
}
