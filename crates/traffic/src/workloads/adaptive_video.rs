//! Video of a call, whose encoder adapts its rate to the path.

use std::collections::{BTreeMap, VecDeque};

use cwndlab_config::{fields, words, Faults, Positive, Reader, Table};
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::{check_interval, Configuration, Transport};
use crate::dialogue::{End, Message};
use crate::exchange::{Action, DatagramExchange, Exchange};
use crate::flow_context::FlowContext;
pub use crate::media::controls::MediaControl;
use crate::media::custom::CustomControl;
use crate::media::encoder::Encoder;
use crate::media::feedback::{Arrivals, Entry, Report};
use crate::media::rate_control::{
    Arrival, Decision, Feedback, FrameInfo, PacketFeedback, Parameters, RateControl, SentPacket,
};
use crate::{NEVER, UDP_HEADER};

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "adaptive-video",
    "Video of a call over RTP: a live encoder (RFC 8593, 5) whose rate follows a congestion control for media, a rate-shaping buffer, and feedback of the receiver (UDP). A message is a frame; it is delivered with its last packet. Rates count datagrams without the headers of IP and UDP.",
    &[Config::FIELDS],
)
.class("AdaptiveVideo");

words! {
    /// The codepoint of media packets.
    pub enum MediaEcn {
        /// Not-ECT
        Off = "off",
        /// ECT(0)
        Classic = "classic",
        /// ECT(1)
        L4s = "l4s",
    }
}

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// congestion control
        control: MediaControl = "nada",
        /// smallest rate of the encoder, at which it begins
        min_rate: Positive<Rate> = "150 kbps",
        /// largest rate of the encoder
        max_rate: Positive<Rate> = "1.5 Mbps",
        /// frames per second
        frame_rate: f64 = 30.0 up to 1e4,
        /// largest payload of a packet
        packet: Bytes = "1200 B",
        /// bytes of RTP and its protection in each packet: 12 and a tag of 10
        rtp: u32 = 22 in 0..=200,
        /// time between two reports of the receiver
        feedback: Positive<Duration> = "100 ms",
        /// payload of a report: header of RTCP feedback of 12 bytes (RFC 4585, 6.1), 8 of NADA (RFC 8698, 5.3), index and tag
        /// of 14. Those of `scream2` (RFC 8888) and `gcc` (transport-wide) have as much beside the packets that they report
        report: Bytes = "34 B",
        /// weight beside other flows of NADA
        priority: f64 = 1.0 up to 1e3,
        /// ECN of the packets of media, to which `scream2` and `nada` respond, and classes may
        ecn: MediaEcn = absent("off", MediaEcn::Off),
    }
    check
}

/// One frame in 100 s: the frames of fewer would be larger than memory.
const LEAST_FRAME_RATE: f64 = 0.01;
/// libwebrtc's `kCongestionControllerMinBitrate`.
const GCC_FLOOR: Rate = Rate(5_000);

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.min_rate > self.max_rate {
            faults.add(table.at("min_rate"), "is more than 'max_rate'", "");
        }
        if !(100..=9000).contains(&self.packet.0) {
            faults.add(table.at("packet"), "is not from 100 B to 9000 B", "1200 B fit any path (RFC 8831, 5)");
        }
        if !(1..=1400).contains(&self.report.0) {
            faults.add(table.at("report"), "is not from 1 B to 1400 B", "");
        }
        let responds = matches!(self.control, MediaControl::Scream2 | MediaControl::Nada | MediaControl::Custom(_));
        if self.ecn != MediaEcn::Off && !responds {
            faults.add(
                table.at("ecn"),
                "is not 'off': the control does not respond to marks",
                "'scream2' and 'nada' do",
            );
        }
        if self.frame_rate < LEAST_FRAME_RATE {
            faults.add(table.at("frame_rate"), format!("is less than {LEAST_FRAME_RATE}"), "write 'frame_rate = 30'");
        }
        if self.priority <= 0.0 {
            faults.add(table.at("priority"), "is not above zero", "write 'priority = 1'");
        }
        if self.control == MediaControl::Gcc && self.max_rate < GCC_FLOOR {
            faults.add(table.at("max_rate"), "is less than 5 kbps, the smallest rate of 'gcc'", "write \"1.5 Mbps\"");
        }
        check_interval(table, "feedback", self.feedback, "write \"100 ms\"", faults);
    }

    fn datagram(&self, payload: Bytes) -> Bytes {
        payload + Bytes(u64::from(self.rtp))
    }
}

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Udp];

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Exchange
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Exchange(Box::new(DatagramExchange::new(Box::new(Call::new(self, flow)), flow.header)))
    }

    fn offered_load(&self) -> OfferedLoad {
        let packets = self.max_rate.0 as f64 / 8.0 / self.packet.0 as f64;
        OfferedLoad::Packets { per_second: packets + self.frame_rate + 1e9 / self.feedback.as_nanos() as f64 }
    }

    fn packet(&self) -> Option<Bytes> {
        let report = match self.control {
            MediaControl::Nada | MediaControl::None => self.report,
            MediaControl::Scream2 | MediaControl::Gcc | MediaControl::Custom(_) => LARGEST_REPORT,
        };
        Some(UDP_HEADER + self.datagram(self.packet).max(report))
    }

    fn secondary_connections(&self) -> u32 {
        1
    }

    fn custom_control(&self) -> Option<&CustomControl> {
        match &self.control {
            MediaControl::Custom(custom) => Some(custom),
            _ => None,
        }
    }

    fn is_scalable(&self) -> bool {
        self.ecn == MediaEcn::L4s
    }
}

/// A packet of media, whose number is its size.
const MEDIA: u8 = 0;
/// A report, whose number is its size.
const REPORT: u8 = 1;
/// A packet of padding, whose number is its size.
const PADDING: u8 = 2;
/// Time after which what has not arrived is forgotten: longer than a network holds a packet that still plays.
const FORGOTTEN: Duration = Duration::from_secs(30);
/// The largest payload of a report.
const LARGEST_REPORT: Bytes = Bytes(1400);
/// Time after the last packet at which one is sent although the window is full: all in flight may be lost.
const STALLED: Duration = Duration::from_millis(200);

/// A packet that was sent.
#[derive(Debug)]
struct Packet {
    sent: Time,
    bytes: Bytes,
    /// Time of its frame.
    frame: Time,
    arrived: bool,
    is_marked: bool,
    probe: Option<u32>,
    /// Bytes sent until this packet, with it.
    sent_until: Bytes,
    /// What the sender knows of it.
    status: Status,
}

/// What the sender knows of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Unknown,
    Missing,
    Received,
}

/// A frame that is not complete at the receiver.
#[derive(Debug)]
struct Frame {
    missing: u32,
    size: Bytes,
}

/// The state of both ends.
#[derive(Debug)]
struct Call {
    config: Config,
    stop: Time,
    encoder: Encoder,
    control: Option<Box<dyn RateControl>>,
    /// Packets in the rate-shaping buffer, with the time of their frame, and the bytes of all.
    buffer: VecDeque<(Bytes, Time)>,
    buffered: Bytes,
    /// Times of the next frame and of the next packet.
    next_frame: Time,
    next_packet: Time,
    /// Number of the first packet in `packets`.
    first: u64,
    packets: VecDeque<Packet>,
    frames: BTreeMap<Time, Frame>,
    arrivals: Arrivals,
    next_report: Time,
    /// Reports on their way.
    reports: BTreeMap<u64, Report>,
    reported: u64,
    flight: Flight,
}

/// The bytes in flight.
#[derive(Debug, Default)]
struct Flight {
    sent: Bytes,
    /// Those until the newest packet that a report covers.
    covered: Bytes,
    last_sent: Time,
}

impl Flight {
    fn bytes(&self) -> Bytes {
        self.sent - self.covered
    }

    /// The earliest time for a packet of this size.
    fn due(&self, size: Bytes, window: Option<Bytes>) -> Time {
        match window {
            Some(window) if self.bytes() + size > window => self.last_sent + STALLED,
            _ => Time::ZERO,
        }
    }
}

impl Call {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            stop: flow.stop,
            encoder: Encoder::new(config.frame_rate, flow),
            control: None,
            buffer: VecDeque::new(),
            buffered: Bytes::ZERO,
            next_frame: Time::ZERO,
            next_packet: Time::ZERO,
            first: 0,
            packets: VecDeque::new(),
            frames: BTreeMap::new(),
            arrivals: Arrivals::default(),
            next_report: NEVER,
            reports: BTreeMap::new(),
            reported: 0,
            flight: Flight::default(),
        }
    }

    /// Starts the control with the first frame.
    fn start(&mut self, now: Time) {
        let config = &self.config;
        let parameters = Parameters {
            range: (config.min_rate.0 as f64, config.max_rate.0 as f64),
            priority: config.priority,
            feedback: config.feedback,
            frame_rate: config.frame_rate,
            is_l4s: config.ecn == MediaEcn::L4s,
        };
        self.control = config.control.start(&parameters, now);
    }

    fn decision(&self) -> Option<Decision> {
        self.control.as_ref().map(|control| control.decision(self.buffered))
    }

    /// Encodes a frame, and divides it into packets.
    fn encode(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.control.is_none() {
            self.start(now);
        }
        let target = self.decision().map_or(self.config.max_rate.0 as f64, |decision| decision.target);
        let payload = self.config.packet.0;
        // Rates count the bytes of RTP, which the encoder does not produce.
        let share = payload as f64 / (payload + u64::from(self.config.rtp)) as f64;
        let (size, interval) = self.encoder.encode(target * share, now);
        self.next_frame = now + interval;
        actions.push(Action::Offer(now, size));
        let queue_delay = self.buffer.front().map_or(Duration::ZERO, |&(_, since)| now - since);
        if let Some(control) = &mut self.control {
            let expected = target * share / 8.0 / self.config.frame_rate;
            control.on_frame(&FrameInfo { size, expected, queue_delay });
        }
        let packets = size.0.div_ceil(payload);
        self.frames.insert(now, Frame { missing: packets as u32, size });
        for index in 0..packets {
            let bytes = self.config.datagram(Bytes(payload.min(size.0 - index * payload)));
            self.buffer.push_back((bytes, now));
            self.buffered += bytes;
        }
        self.forget(now);
    }

    fn forget(&mut self, now: Time) {
        while self.packets.front().is_some_and(|one| now - one.sent > FORGOTTEN) {
            self.packets.pop_front();
            self.first += 1;
        }
        while self.frames.first_key_value().is_some_and(|(&since, _)| now - since > FORGOTTEN) {
            self.frames.pop_first();
        }
        self.reports.retain(|_, report| now - report.at <= FORGOTTEN);
    }

    /// The time of the next packet, and what is permitted; without a control packets leave at once.
    fn next_packet(&self) -> (Time, Option<Decision>) {
        let decision = self.decision();
        let probe = decision.and_then(|decision| decision.probe);
        let Some(size) = self.buffer.front().map(|one| one.0).or(probe.map(|_| self.config.packet)) else {
            return (NEVER, decision);
        };
        let window = decision.and_then(|decision| decision.window);
        (self.next_packet.max(self.flight.due(size, window)), decision)
    }

    /// Sends the packets that are due.
    fn send(&mut self, now: Time, actions: &mut Vec<Action>) {
        loop {
            let (due, decision) = self.next_packet();
            if due > now {
                return;
            }
            let (bytes, frame, kind) = match self.buffer.pop_front() {
                Some((bytes, frame)) => (bytes, frame, MEDIA),
                None => (self.config.datagram(self.config.packet), now, PADDING),
            };
            self.buffered = Bytes(self.buffered.0 - if kind == MEDIA { bytes.0 } else { 0 });
            let number = self.first + self.packets.len() as u64;
            self.flight.sent += bytes;
            self.flight.last_sent = now;
            let probe = decision.and_then(|decision| decision.probe);
            self.packets.push_back(Packet {
                sent: now,
                bytes,
                frame,
                arrived: false,
                is_marked: false,
                probe: probe.map(|probe| probe.id),
                sent_until: self.flight.sent,
                status: Status::Unknown,
            });
            actions.push(Action::Send(End::Sender, bytes, Message { kind, size: Bytes(number), since: frame }));
            if let Some(control) = &mut self.control {
                control.on_sent(&SentPacket { size: bytes, sent: now, in_flight: self.flight.bytes() });
            }
            let rate = decision.map(|decision| probe.map_or(decision.pacing, |probe| probe.rate));
            let spacing = rate.map_or(0.0, |rate| bytes.0 as f64 * 8e9 / rate);
            self.next_packet = now + Duration::from_nanos(spacing as u64);
        }
    }

    fn on_packet(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let number = message.size.0;
        let Some(at) = number.checked_sub(self.first) else { return };
        let Some(one) = self.packets.get_mut(at as usize) else { return };
        if std::mem::replace(&mut one.arrived, true) {
            return;
        }
        let (sent, size, since, is_marked) = (one.sent, one.bytes, one.frame, one.is_marked);
        if let Some(control) = &mut self.control {
            if self.next_report == NEVER {
                self.next_report = now + self.config.feedback;
            }
            self.arrivals.on_packet(number, now, is_marked);
            control.on_arrival(&Arrival { number, size, sent, at: now, is_marked });
        }
        let Some(frame) = self.frames.get_mut(&since).filter(|_| message.kind == MEDIA) else { return };
        frame.missing -= 1;
        if frame.missing == 0 {
            actions.extend([Action::Deliver(since), Action::Record(since, frame.size)]);
            self.frames.remove(&since);
        }
    }

    fn report(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.next_report = now + self.config.feedback;
        let Some(control) = &mut self.control else { return };
        let format = control.format();
        let entries = self.arrivals.report(format, now);
        let bytes = self.config.report + format.bytes(&entries);
        self.reports.insert(self.reported, Report { at: now, entries, aggregate: control.aggregate(now) });
        let message = Message { kind: REPORT, size: Bytes(self.reported), since: now };
        self.reported += 1;
        actions.push(Action::Send(End::Receiver, bytes.min(LARGEST_REPORT), message));
    }

    /// Handles a report at the sender.
    fn on_report(&mut self, report: Report, now: Time) {
        let mut feedback = Feedback { aggregate: report.aggregate, ..Feedback::default() };
        for entry in &report.entries {
            let at = entry.number.checked_sub(self.first);
            let Some(one) = at.and_then(|at| self.packets.get_mut(at as usize)) else { continue };
            self.flight.covered = self.flight.covered.max(one.sent_until);
            let status = if entry.arrival.is_some() { Status::Received } else { Status::Missing };
            if one.status == Status::Received || one.status == status {
                continue;
            }
            let was_missing = std::mem::replace(&mut one.status, status) == Status::Missing;
            let (size, sent, probe) = (one.bytes, one.sent, one.probe);
            let Entry { arrival, is_marked, .. } = *entry;
            feedback.packets.push(PacketFeedback { size, sent, arrival, is_marked, probe, was_missing });
            if let Some(arrival) = arrival {
                feedback.rtt = Some((now - sent).saturating_sub(report.at - arrival));
            }
        }
        feedback.in_flight = self.flight.bytes();
        if let Some(control) = &mut self.control {
            control.on_feedback(&feedback, now);
        }
    }
}

impl Exchange for Call {
    fn due(&self) -> Time {
        self.next_frame.min(self.next_packet().0).min(self.next_report).min(self.stop)
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if now >= self.stop {
            (self.stop, self.next_frame, self.next_report) = (NEVER, NEVER, NEVER);
            self.buffer.clear();
            return actions.push(Action::Finish);
        }
        if self.next_frame <= now {
            self.encode(now, actions);
        }
        if self.next_report <= now {
            self.report(now, actions);
        }
        self.send(now, actions);
    }

    fn on_datagram(&mut self, _at: End, message: Message, now: Time, actions: &mut Vec<Action>) {
        if message.kind != REPORT {
            self.on_packet(message, now, actions);
        } else if let Some(report) = self.reports.remove(&message.size.0) {
            self.on_report(report, now);
        }
    }

    fn is_ecn_capable(&self) -> bool {
        self.config.ecn != MediaEcn::Off
    }

    fn on_mark(&mut self, message: Message) {
        let at = message.size.0.checked_sub(self.first).filter(|_| message.kind != REPORT);
        if let Some(one) = at.and_then(|at| self.packets.get_mut(at as usize)) {
            one.is_marked = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(control: MediaControl) -> Call {
        let config = Config {
            control,
            min_rate: Rate(150_000),
            max_rate: Rate(1_500_000),
            frame_rate: 30.0,
            packet: Bytes(1200),
            rtp: 22,
            feedback: Duration::from_millis(100),
            report: Bytes(34),
            priority: 1.0,
            ecn: MediaEcn::Off,
        };
        Call::new(&config, &FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(28) })
    }

    /// Runs the call for a time over a line of `rate` with an unlimited queue and 20 ms each way; returns the sizes of frames
    /// that arrived in the second half, and the largest delay of one, ms.
    fn over_line(call: &mut Call, rate: Rate, seconds: u64) -> (f64, f64) {
        let mut events: BTreeMap<(Time, u64), (End, Message)> = BTreeMap::new();
        let (mut free, mut number) = (Time::ZERO, 0);
        let (mut bytes, mut worst) = (0, 0.0_f64);
        let end = Time::from_nanos(seconds * 1_000_000_000);
        let delay = Duration::from_millis(20);
        let mut actions = Vec::new();
        loop {
            let arrival = events.first_key_value().map_or(NEVER, |(&(at, _), _)| at);
            let now = call.due().min(arrival);
            if now >= end {
                return (bytes as f64 * 16.0 / seconds as f64, worst);
            }
            if arrival <= now {
                let (_, (at, message)) = events.pop_first().expect("there is one");
                call.on_datagram(at, message, now, &mut actions);
            } else {
                call.on_timer(now, &mut actions);
            }
            for action in actions.drain(..) {
                match action {
                    Action::Send(End::Sender, size, message) => {
                        free = free.max(now) + rate.time_for(size);
                        events.insert((free + delay, number), (End::Receiver, message));
                    }
                    Action::Send(from, _, message) => {
                        events.insert((now + delay, number), (from.other(), message));
                    }
                    Action::Record(since, size) if now.as_nanos() > seconds * 500_000_000 => {
                        bytes += size.0;
                        worst = worst.max((now - since).as_nanos() as f64 / 1e6);
                    }
                    _ => {}
                }
                number += 1;
            }
        }
    }

    /// A line of 3 Mbit/s carries the largest rate; one of 700 kbit/s has the equilibrium x = 10 · 1.5 / 0.7 = 21 ms of queue
    /// beside what frames need (RFC 8698, 4.3), so that its rate is reached within a tenth.
    #[test]
    fn the_rate_follows_the_line() {
        let (wide, delay) = over_line(&mut call(MediaControl::Nada), Rate(3_000_000), 60);
        assert!((1.35e6..1.55e6).contains(&wide) && delay < 400.0, "{wide} {delay}");
        let (narrow, delay) = over_line(&mut call(MediaControl::Nada), Rate(700_000), 60);
        assert!((600e3..690e3).contains(&narrow) && delay < 400.0, "{narrow} {delay}");
    }

    /// A line of 3 Mbit/s carries the largest rate, and one of 700 kbit/s most of what it has, with frames that arrive within
    /// 400 ms (ITU-T G.114).
    #[test]
    fn each_control_follows_the_line() {
        for control in [MediaControl::Scream2, MediaControl::Gcc] {
            let (wide, delay) = over_line(&mut call(control.clone()), Rate(3_000_000), 60);
            assert!((1.2e6..1.55e6).contains(&wide) && delay < 400.0, "{control:?} {wide} {delay}");
            let (narrow, delay) = over_line(&mut call(control.clone()), Rate(700_000), 60);
            assert!((350e3..690e3).contains(&narrow) && delay < 400.0, "{control:?} {narrow} {delay}");
        }
    }

    /// With a line that loses all packets for a time, packets are sent although the window is full.
    #[test]
    fn a_full_window_does_not_stall_for_ever() {
        let mut call = call(MediaControl::Scream2);
        let (mut actions, mut sent) = (Vec::new(), Vec::new());
        while call.due() < Time::from_nanos(10_000_000_000) {
            let now = call.due();
            call.on_timer(now, &mut actions);
            let packets = actions.drain(..).filter(|one| matches!(one, Action::Send(End::Sender, ..)));
            sent.extend(packets.map(|_| now));
        }
        assert!(sent.windows(2).all(|pair| pair[1] - pair[0] <= STALLED), "{sent:?}");
        assert!(sent.len() < 70, "{}", sent.len());
    }

    /// Without a control the queue of a narrow line grows for ever.
    #[test]
    fn without_control_the_queue_grows() {
        let (rate, delay) = over_line(&mut call(MediaControl::None), Rate(700_000), 20);
        assert!(rate < 700e3 && delay > 5000.0, "{rate} {delay}");
    }

    /// Each packet of the first frame but the last has 1200 bytes, and 22 more of RTP.
    #[test]
    fn a_frame_is_divided_into_packets() {
        let mut call = call(MediaControl::None);
        let mut actions = Vec::new();
        call.on_timer(Time::ZERO, &mut actions);
        let Action::Offer(_, size) = actions[0] else { panic!("{actions:?}") };
        let sent: Vec<u64> = actions[1..]
            .iter()
            .map(|one| if let Action::Send(End::Sender, bytes, _) = one { bytes.0 } else { panic!("{one:?}") })
            .collect();
        assert_eq!(sent.len() as u64, size.0.div_ceil(1200));
        assert_eq!(sent.iter().sum::<u64>(), size.0 + 22 * sent.len() as u64);
        assert!(sent[..sent.len() - 1].iter().all(|&one| one == 1222));
    }
}
