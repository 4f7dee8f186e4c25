//! The connection: the sender of cwndlab's transport behind a simulated handshake and a simulated end.

use std::collections::VecDeque;
use std::sync::Arc;

use cwndlab_control::{Need, Path, RecoveryKind};
use cwndlab_scenario::profile;
use cwndlab_transport::accecn::{handshake_encoding, AccEcnFeedback, Codepoint, MarkTotals};
use cwndlab_transport::sender::Sender;
use cwndlab_transport::stack::{Ecn, IdleRestart, Pacing, Stack};
use cwndlab_transport::wire::{AckPacket, Data, Output, SackBlocks, MAX_BLOCKS};
use cwndlab_units::{Bytes, Duration, Time};

use super::feedback::Feedback;
use super::handshake::Negotiated;
use super::segments::{PartOfSegment, Segments};
use super::wire::{codepoint, read_accecn, Sent};
use crate::script::{Packet, TcpOption};
use crate::settings::Settings;

/// What the sender's packets need beside the segments themselves.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) queue: VecDeque<Sent>,
    segments: Segments,
    /// The next byte of the peer.
    pub(super) rcv_next: u64,
    /// The peer's latest timestamp, if timestamps are in use.
    pub(super) ts_recent: Option<u64>,
    /// What packets report, with Accurate ECN.
    feedback: Option<Feedback>,
    /// The codepoint of ECN-capable packets.
    ect: Codepoint,
    now: Time,
    srtt: Duration,
}

impl Wire {
    /// A packet that begins with this byte, without data.
    fn packet(&mut self, seq: u64) -> Sent {
        let (ace, accecn) = self.feedback.as_mut().map_or((0, None), |one| one.next(self.now, self.srtt));
        Sent { ace, accecn, ..Sent::pure_ack(self.now, seq, self.rcv_next, self.ts_recent) }
    }
}

impl Output for Wire {
    fn data(&mut self, data: &Data) {
        let len = u64::from(data.len);
        let seq = if len == 0 {
            self.segments.start(data.seq.wrapping_add(1)) - 1 // a window probe, below SND.UNA
        } else {
            self.segments.record(data.seq, len);
            self.segments.start(data.seq)
        };
        let base = self.packet(seq);
        let ace = base.ace | if data.cwr { CWR } else { 0 };
        let ecn = if data.ect { self.ect } else { Codepoint::NotEct };
        self.queue.push_back(Sent { ace, len, ecn, ..base });
    }

    fn ack(&mut self, _: &AckPacket) {}

    fn syn(&mut self, _: u32) {}

    fn event(&mut self, _: &'static str, _: &'static str, _: u32, _: u32, _: f64) {}
}

/// The flag CWR of classic ECN.
const CWR: u8 = 0b010;
/// The tick of Linux' timers with HZ = 1000, which the scripts assume.
const TICK: Duration = Duration::from_millis(1);

/// The end of our side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// The application closed; the FIN follows the last data.
    Closing,
    FinSent,
}

/// An established connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) sender: Sender,
    pub(super) wire: Wire,
    negotiated: Negotiated,
    end: End,
    dctcp: bool,
    /// Segments of ACKs with ECE, for DCTCP, whose receiver counts marks.
    marked: u32,
    /// Segments delivered by ACKs with ECE of classic ECN (Linux, `tcp_count_delivered`).
    echoed: u32,
    /// The newest timestamp of the peer.
    newest: Option<u64>,
}

/// The algorithm of a script in the text form of the catalogue: Linux' own variants.
pub(crate) fn algorithm_text(kernel_name: &str) -> &str {
    match kernel_name {
        "cubic" => "cubic-linux+hystart-linux",
        "reno" => "reno+standard",
        "bbr" => "bbr1",
        other => other,
    }
}

/// The stack of a script: the profile `linux` with what was set and negotiated.
fn stack(negotiated: &Negotiated, settings: &Settings) -> Stack {
    let (linux, _) = profile::find("linux").expect("the profile exists");
    let dctcp = settings.algorithm == "dctcp";
    Stack {
        mss: Bytes(negotiated.mss),
        sack: negotiated.sack,
        timestamps: negotiated.timestamps,
        initial_window: settings.initial_window,
        rto_granularity: TICK,
        min_rto: settings.min_rto.unwrap_or(linux.min_rto),
        dup_thresh: settings.dup_thresh,
        ecn: match negotiated.ecn {
            Ecn::Classic if dctcp => Ecn::Dctcp,
            other => other,
        },
        pacing: if settings.paced { Pacing::Always } else { Pacing::Algorithm },
        pacing_quantum: settings.min_tso_segments,
        tso_burst: settings.tso_deferral,
        idle_restart: if settings.restart_after_idle { IdleRestart::Decay } else { IdleRestart::Off },
        tail_loss_probe: settings.tail_loss_probe,
        ..linux
    }
}

impl Connection {
    /// A connection of which the handshake arrived.
    pub(super) fn new(
        negotiated: Negotiated,
        settings: &Settings,
        now: Time,
        queue: VecDeque<Sent>,
        feedback: Option<Feedback>,
    ) -> Self {
        // Without SACK Linux uses NewReno, and no tail loss probes (tcp_identify_packet_loss).
        let kind = if negotiated.sack { RecoveryKind::Rack } else { RecoveryKind::NewReno };
        let algorithm = cwndlab_algorithms::catalogue()
            .parse(algorithm_text(&settings.algorithm))
            .expect("applicability::reasons has examined the algorithm");
        let ect1 = negotiated.ecn == Ecn::AccEcn && algorithm.needs(Need::L4s);
        let stack = Arc::new(Stack { ect1, ..stack(&negotiated, settings) });
        let control = algorithm.build(&Path {
            mss: stack.mss,
            initial_cwnd: stack.mss * u64::from(stack.initial_window),
            initial_ssthresh: None,
            paced: settings.paced,
            seed: 1,
            classic_ecn: false,
            oracle_buffer: None,
            saved: None,
        });
        let mut sender = Sender::new(control, kind, &stack).with_requirements(&algorithm);
        sender.set_nagle(settings.nagle);
        let segments = Segments::new(negotiated.mss);
        let ect = if ect1 { Codepoint::Ect1 } else { Codepoint::Ect0 };
        let srtt = Duration::ZERO;
        let wire = Wire { queue, segments, rcv_next: 1, ts_recent: None, feedback, ect, now, srtt };
        let dctcp = settings.algorithm == "dctcp";
        Self { sender, wire, negotiated, end: End::Open, dctcp, marked: 0, echoed: 0, newest: None }
    }

    /// Establishes the connection: so many SYNs or SYN-ACKs of ours left, the first one at `first`.
    pub(super) fn begin(&mut self, number: u32, first: Time, window: Bytes, ts_recent: Option<u64>) {
        self.wire.ts_recent = ts_recent.filter(|_| self.negotiated.timestamps);
        self.newest = self.wire.ts_recent;
        self.sender.accept(number, self.wire.now - first, self.wire.now, window, &mut self.wire);
    }

    /// Hands the option of a packet of the handshake to the sender.
    pub(super) fn take_option(&mut self, packet: &Packet) {
        if let Some(option) = packet.options().find_map(read_accecn) {
            self.sender.on_handshake_option(option);
        }
    }

    /// Answers a SYN or a SYN-ACK in the established connection by a challenge ACK (RFC 9293, section 3.10.7.4).
    fn challenge(&mut self, packet: &Packet) {
        if packet.has('.') {
            self.acknowledge_syn_ack(packet);
        } else {
            let ack = self.control(self.next_byte());
            self.wire.queue.push_back(ack);
        }
    }

    /// Whether a packet has a mark that classic ECN echoes, which the simulated receiver does not.
    pub(super) fn owes_echo(&self, packet: &Packet) -> bool {
        self.negotiated.ecn == Ecn::Classic && packet.len > 0 && codepoint(packet.ecn) == Codepoint::Ce
    }

    /// Acknowledges a SYN-ACK, also one that is repeated. With Accurate ECN the ACE field encodes its ECN field (RFC 9768,
    /// section 3.2.2.1).
    pub(super) fn acknowledge_syn_ack(&mut self, syn_ack: &Packet) {
        if let Some(feedback) = &mut self.wire.feedback {
            feedback.on_syn_ack(syn_ack);
        }
        let mut ack = self.control(self.next_byte());
        if self.negotiated.ecn == Ecn::AccEcn {
            ack.ace = handshake_encoding(codepoint(syn_ack.ecn));
        }
        self.wire.queue.push_back(ack);
    }

    /// Counts the ECN field of a packet that arrives.
    pub(super) fn count(&mut self, packet: &Packet) {
        if let Some(feedback) = &mut self.wire.feedback {
            feedback.on_packet(packet);
        }
    }

    /// The marks of our packets that the peer reported.
    pub(super) fn delivered_marks(&self) -> MarkTotals {
        match self.negotiated.ecn {
            Ecn::AccEcn => self.sender.reported_marks(),
            _ => MarkTotals { packets: self.echoed, ..MarkTotals::default() },
        }
    }

    /// The marks of packets that arrived.
    pub(super) fn received_marks(&self) -> MarkTotals {
        self.wire.feedback.as_ref().map(Feedback::received).unwrap_or_default()
    }

    /// A packet without data. With Accurate ECN it is ECN-capable if data is (Linux, `tcp_ecn_send`).
    fn control(&mut self, seq: u64) -> Sent {
        let is_capable = self.negotiated.ecn == Ecn::AccEcn && self.sender.sends_ect();
        let ecn = if is_capable { self.wire.ect } else { Codepoint::NotEct };
        Sent { ecn, ..self.wire.packet(seq) }
    }

    fn set_now(&mut self, now: Time) {
        self.wire.now = now;
        self.wire.srtt = self.sender.rtt().srtt();
    }

    pub(super) fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// When the next timer expires; `Time::MAX` if none runs.
    pub(super) fn next_timer(&self) -> Time {
        self.sender.timer().min(self.sender.pace_timer()).max(self.wire.now)
    }

    /// Handles the next timer.
    pub(super) fn fire_timer(&mut self) {
        let now = self.next_timer();
        self.set_now(now);
        if self.sender.pace_timer() <= now {
            self.sender.on_pace(now, &mut self.wire);
        } else {
            self.sender.on_timer(now, &mut self.wire);
        }
        self.send_fin();
    }

    /// The application writes.
    pub(super) fn write(&mut self, now: Time, bytes: Bytes) {
        self.set_now(now);
        self.sender.supply(bytes, now, &mut self.wire);
        self.send_fin();
    }

    /// Turns Nagle's algorithm off or on; what it held back is sent.
    pub(super) fn set_nagle(&mut self, now: Time, nagle: bool) {
        self.set_now(now);
        self.sender.set_nagle(nagle);
        self.sender.supply(Bytes::ZERO, now, &mut self.wire);
    }

    /// The application closes, or ends its direction.
    pub(super) fn close(&mut self, now: Time) {
        self.set_now(now);
        if self.end == End::Open {
            self.end = End::Closing;
        }
        self.send_fin();
    }

    /// Whether the application may not write any more.
    pub(super) fn is_closed(&self) -> bool {
        self.end != End::Open
    }

    /// SND.NXT, the FIN included.
    fn next_byte(&self) -> u64 {
        self.wire.segments.next_byte() + u64::from(self.end == End::FinSent)
    }

    /// Sends the FIN behind the last data, with it where it leaves now.
    fn send_fin(&mut self) {
        if self.end != End::Closing || self.sender.state().unsent > Bytes::ZERO {
            return;
        }
        let next = self.next_byte();
        let now = self.wire.now;
        let with_data = |last: &&mut Sent| last.at == now && last.len > 0 && last.seq + last.len == next;
        if let Some(last) = self.wire.queue.back_mut().filter(with_data) {
            last.fin = true;
        } else {
            let base = self.control(next);
            self.wire.queue.push_back(Sent { fin: true, ..base });
        }
        self.end = End::FinSent;
    }

    /// Handles an arriving packet. `echo` is when the segment was sent whose timestamp it echoes.
    pub(super) fn receive(&mut self, now: Time, packet: &Packet, echo: Option<Time>) -> Result<(), PartOfSegment> {
        self.set_now(now);
        if packet.has('S') {
            self.challenge(packet);
            return Ok(());
        }
        self.count(packet);
        let consumed = packet.len + u64::from(packet.has('F'));
        let in_order = packet.seq == self.wire.rcv_next;
        if in_order {
            self.wire.rcv_next += consumed;
        }
        let sent = self.wire.queue.len();
        if packet.has('.') {
            self.receive_ack(now, packet, echo)?;
        }
        self.send_fin();
        // The receiver is simulated: it acknowledges data and FIN at once, with data where some leaves.
        let acknowledges_acks = self.wire.feedback.as_ref().is_some_and(Feedback::acknowledges_acks);
        if (consumed > 0 || acknowledges_acks) && self.wire.queue.len() == sent {
            let ack = self.control(self.next_byte());
            self.wire.queue.push_back(ack);
        }
        Ok(())
    }

    fn receive_ack(&mut self, now: Time, packet: &Packet, echo: Option<Time>) -> Result<(), PartOfSegment> {
        let acked_fin = self.end == End::FinSent && packet.ack == Some(self.next_byte());
        let byte = packet.ack.unwrap_or_default() - u64::from(acked_fin);
        // Linux (tcp_ack, old_ack): an ACK below SND.UNA, here below the first byte, changes nothing.
        if byte < self.wire.segments.start(0) {
            return Ok(());
        }
        let ack = self.wire.segments.acknowledged(byte)?;
        let ece = packet.has('E');
        if ece {
            self.marked += ack.saturating_sub(self.sender.una()) as u32;
        }
        let window = packet.window.unwrap_or_default() << self.negotiated.window_scale.unwrap_or_default();
        let ece = ece && self.negotiated.ecn == Ecn::Classic;
        let ack = AckPacket {
            ack,
            part: 0,
            window: Bytes(window),
            echo: echo.filter(|_| self.negotiated.timestamps).unwrap_or(Time::ZERO),
            ece,
            ce_count: if self.dctcp { self.marked } else { 0 },
            accecn: self.accecn(packet),
            blocks: self.blocks(packet, byte),
            feedback: None,
        };
        let before = self.sender.state().delivered;
        self.sender.on_ack(now, &ack, &mut self.wire);
        if ece {
            let delivered = self.sender.state().delivered.0 - before.0;
            self.echoed += delivered.div_ceil(self.negotiated.mss) as u32;
        }
        Ok(())
    }

    /// The feedback of Accurate ECN of an ACK.
    fn accecn(&mut self, packet: &Packet) -> Option<AccEcnFeedback> {
        let value =
            packet
                .options()
                .find_map(|option| if let TcpOption::Timestamps(value, _) = option { Some(*value) } else { None });
        let value = value.filter(|_| self.negotiated.timestamps);
        let newer = value.is_some() && value > self.newest;
        self.newest = self.newest.max(value);
        let option = packet.options().find_map(read_accecn);
        (self.negotiated.ecn == Ecn::AccEcn).then(|| AccEcnFeedback { ace: packet.ace(), option, newer })
    }

    /// The SACK blocks in segments. A first block below the acknowledgement or within the second one is a D-SACK (RFC
    /// 2883, section 4).
    fn blocks(&self, packet: &Packet, ack: u64) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let list =
            packet.options().find_map(|option| if let TcpOption::Sack(list) = option { Some(list) } else { None });
        let Some([first, rest @ ..]) = list.map(Vec::as_slice) else { return blocks };
        let within = rest.first().is_some_and(|next| next.0 <= first.0 && first.1 <= next.1);
        let mut push = |block: (u64, u64)| {
            if usize::from(blocks.len) < MAX_BLOCKS {
                blocks.list[usize::from(blocks.len)] = block;
                blocks.len += 1;
            }
        };
        let duplicate = first.0 < ack || within;
        if duplicate {
            push(self.wire.segments.overlapping(first.0, first.1));
        }
        let sacked = if duplicate { rest } else { list.map_or(rest, Vec::as_slice) };
        sacked.iter().filter_map(|&(from, to)| self.wire.segments.within(from, to)).for_each(push);
        blocks.duplicate = duplicate;
        blocks
    }

    /// Unacknowledged and unsent bytes.
    pub(super) fn unacknowledged(&self) -> (u64, u64) {
        let una = self.wire.segments.start(self.sender.una());
        (self.wire.segments.next_byte() - una, self.sender.state().unsent.0)
    }
}

/// The time of a script's start: an echo of zero would mean that there is none.
pub(super) const START: Time = Time::from_nanos(1_000_000_000);

/// The time since the start of the script.
pub(super) fn since_start(at: Time) -> Duration {
    at - START
}
