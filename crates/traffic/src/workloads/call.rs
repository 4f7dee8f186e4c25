//! A call: media streams with priorities over one connection, as of Media over QUIC.

use cwndlab_config::{fields, Faults, Positive, Reader, Table, TableType};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind};
use crate::configuration::Configuration;
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::flow_context::FlowContext;
use crate::NEVER;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "call",
    "Media streams of one connection: frames are generated at fixed rates, and what is sent next is of the stream with the lowest `priority`, as with Media over QUIC (draft-huitema-ccwg-c4-test). The flow's receiver requests the call, and stops a group of frames that is late (TCP, in the simulator).",
    &[Config::FIELDS],
)
.class("Call");

static STREAM: Table = Table::new("media_stream", "A stream of a call.", &[MediaStream::FIELDS]);

fields! {
    /// A stream of frames.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MediaStream {
        /// frames per second
        frame_rate: f64 = required("'frame_rate = 30'") up to 1e6,
        /// size of a frame
        frame: Positive<Bytes> = required("'frame = \"3750 B\"'"),
        /// rank of the stream: data of the lowest one is sent first
        priority: u32 = 0 in 0..=255,
        /// frames of a group
        group: Option<Positive<u64>> = absent("all frames are one group"),
        /// size of the first frame of a group, such as an I-frame
        first_frame: Option<Positive<Bytes>> = absent("that of the others"),
        /// delay of a frame after which the receiver stops the rest of its group
        stop_after: Option<Positive<Duration>> = absent("never"),
    }
}

impl TableType for MediaStream {
    const TABLE: &'static Table = &STREAM;

    fn read_table(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        Self::read(table, faults)
    }
}

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// the streams
        streams: Vec<MediaStream> = required("'streams = [{ frame_rate = 30, frame = \"3750 B\" }]'"),
        /// time from the first frame, at whose end no frame is generated any more
        length: Option<Positive<Duration>> = absent("until the end of the flow"),
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.streams.is_empty() || self.streams.len() >= usize::from(STOP) {
            faults.add(
                table.at("streams"),
                "a call has 1 to 127 streams",
                "write '[{ frame_rate = 50, frame = \"80 B\" }]'",
            );
        }
        if self.streams.iter().any(|one| one.frame_rate <= 0.0) {
            faults.add(table.at("streams"), "a frame rate is not above zero", "write 'frame_rate = 30'");
        }
        if self.streams.iter().any(|one| one.stop_after.is_some() && one.group.is_none()) {
            let hint = "write 'group = 30'; without groups there is no next one that would begin again";
            faults.add(table.at("streams"), "a stream with 'stop_after' has no 'group'", hint);
        }
    }
}

/// The end that receives the media opens the connection and requests them.
const OPENER: End = End::Receiver;
/// The request.
const REQUEST: u8 = 0xff;
/// Its size.
const REQUEST_SIZE: Bytes = Bytes(100);
/// A request to stop a group, with the number of the stream in the lower bits.
const STOP: u8 = 0x80;
/// Its size: a STOP_SENDING frame (RFC 9000, section 19.5) of variable integers.
const STOP_SIZE: Bytes = Bytes(12);

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(Box::new(Call::new(self, flow)))
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

/// A stream at both ends.
#[derive(Debug)]
struct Stream {
    config: MediaStream,
    /// Number of the next frame.
    next: u64,
    /// At the sender: the group that the receiver stopped.
    stopped: Option<u64>,
    /// At the receiver: the group that it asked to stop.
    asked: Option<u64>,
}

impl Stream {
    /// Time of the next frame after the first one.
    fn due(&self, start: Time) -> Time {
        start + Duration::from_nanos((self.next as f64 * 1e9 / self.config.frame_rate) as u64)
    }

    /// The group of the next frame, and whether it is the first of it.
    fn group(&self) -> (u64, bool) {
        self.config.group.map_or((0, self.next == 0), |frames| (self.next / frames, self.next.is_multiple_of(frames)))
    }
}

/// A call.
#[derive(Debug)]
struct Call {
    /// In the order of their priorities, so that messages of the same time are delivered in the order of their generation.
    streams: Vec<Stream>,
    length: Option<Duration>,
    /// Time of the first frames, when the request reached the sender.
    start: Option<Time>,
    stop: Time,
    /// Time of the next frames.
    next: Time,
    /// Time of the opener's timer.
    due: Time,
}

impl Call {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        let stream = |one: &MediaStream| Stream { config: one.clone(), next: 0, stopped: None, asked: None };
        let mut streams: Vec<Stream> = config.streams.iter().map(stream).collect();
        streams.sort_by_key(|one| one.config.priority);
        Self { streams, length: config.length, start: None, stop: flow.stop, next: NEVER, due: Time::ZERO }
    }

    /// Generates the frames that are due, except those of a stopped group, and sets the timer of the next ones.
    fn generate(&mut self, start: Time, now: Time, actions: &mut Vec<Action>) {
        let end = self.length.map_or(self.stop, |length| start + length).min(self.stop);
        for (kind, stream) in self.streams.iter_mut().enumerate() {
            while stream.due(start) <= now {
                let (group, is_first) = stream.group();
                let since = stream.due(start);
                stream.next += 1;
                if stream.stopped == Some(group) {
                    continue;
                }
                let MediaStream { frame, first_frame, priority, .. } = stream.config;
                let size = first_frame.filter(|_| is_first).unwrap_or(frame);
                actions.push(Action::Offer(since, size));
                let message = Message { kind: kind as u8, size: Bytes(group), since };
                actions.push(Action::Queue(size, message, priority));
            }
        }
        let next = self.streams.iter().map(|one| one.due(start)).min().unwrap_or(NEVER);
        self.next = if next < end { next } else { NEVER };
    }
}

impl Dialogue for Call {
    fn opener(&self) -> End {
        OPENER
    }

    fn due(&self) -> Time {
        self.due
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if now >= self.stop {
            self.due = NEVER;
            actions.push(Action::Finish);
            return;
        }
        self.due = self.stop;
        let request = Message { kind: REQUEST, size: Bytes::ZERO, since: now };
        actions.extend([Action::Connect, Action::Send(REQUEST_SIZE, request)]);
    }

    fn responder_due(&self) -> Time {
        self.next
    }

    fn on_responder_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if let Some(start) = self.start {
            self.generate(start, now, actions);
        }
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let Message { kind, size: group, since } = message;
        if kind == REQUEST {
            self.start = Some(now);
            self.generate(now, now, actions);
            return;
        }
        let stream = &mut self.streams[usize::from(kind & !STOP)];
        if kind & STOP != 0 {
            stream.stopped = Some(group.0);
            actions.push(Action::Withdraw(Message { kind: kind & !STOP, ..message }));
            return;
        }
        actions.push(Action::Deliver(since));
        let is_late = stream.config.stop_after.is_some_and(|limit| now - since > limit);
        if is_late && stream.config.group.is_some() && stream.asked != Some(group.0) {
            stream.asked = Some(group.0);
            actions.push(Action::Send(STOP_SIZE, Message { kind: kind | STOP, ..message }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Audio of 50 frames per second, and video of 25 in groups of two that stops after 100 ms.
    fn call() -> Call {
        let audio = MediaStream {
            frame_rate: 50.0,
            frame: Bytes(80),
            priority: 2,
            group: None,
            first_frame: None,
            stop_after: None,
        };
        let video = MediaStream {
            frame_rate: 25.0,
            frame: Bytes(1000),
            priority: 4,
            group: Some(2),
            first_frame: Some(Bytes(9000)),
            stop_after: Some(Duration::from_millis(100)),
        };
        let config = Config { streams: vec![video, audio], length: Some(Duration::from_millis(150)) };
        Call::new(&config, &FlowContext { flow: 0.into(), seed: 1, stop: at(1000), header: Bytes(40) })
    }

    /// The sizes of the frames among the actions.
    fn frames(actions: &[Action]) -> Vec<u64> {
        let size = |one: &Action| match one {
            Action::Queue(size, ..) => Some(size.0),
            _ => None,
        };
        actions.iter().filter_map(size).collect()
    }

    /// The sizes of the frames that are generated at each time, after a request that arrives at 0.
    fn run(call: &mut Call, until: Time) -> Vec<(Time, Vec<u64>)> {
        let mut actions = Vec::new();
        call.on_message(Message { kind: REQUEST, size: Bytes::ZERO, since: Time::ZERO }, Time::ZERO, &mut actions);
        let mut seen = vec![(Time::ZERO, frames(&actions))];
        while call.responder_due() <= until {
            let now = call.responder_due();
            actions.clear();
            call.on_responder_timer(now, &mut actions);
            seen.push((now, frames(&actions)));
        }
        seen
    }

    #[test]
    fn the_receiver_requests_the_call() {
        let mut call = call();
        let mut actions = Vec::new();
        call.on_timer(at(7), &mut actions);
        let request = Message { kind: REQUEST, size: Bytes::ZERO, since: at(7) };
        assert_eq!(actions, [Action::Connect, Action::Send(REQUEST_SIZE, request)]);
        assert_eq!((call.responder_due(), call.due()), (NEVER, at(1000)));
    }

    /// By hand: audio at 0, 20, 40 … ms, video at 0, 40, 80, 120 ms, of which the first and the third begin a group. No frame
    /// is generated 150 ms after the first.
    #[test]
    fn frames_are_generated_at_fixed_rates_in_groups() {
        let expected: [(u64, &[u64]); 8] = [
            (0, &[80, 9000]),
            (20, &[80]),
            (40, &[80, 1000]),
            (60, &[80]),
            (80, &[80, 9000]),
            (100, &[80]),
            (120, &[80, 1000]),
            (140, &[80]),
        ];
        assert_eq!(run(&mut call(), at(1000)), expected.map(|(time, sizes)| (at(time), sizes.to_vec())));
    }

    /// draft-huitema-ccwg-c4-test: a frame that is delivered later than its limit stops its group, once; the next group
    /// begins again. By hand: the frame of 0 ms arrives after 101 ms, and the group of 80 ms is the next one.
    #[test]
    fn a_late_frame_stops_its_group() {
        let mut call = call();
        run(&mut call, at(20));
        let video = |group, since| Message { kind: 1, size: Bytes(group), since: at(since) };
        let mut actions = Vec::new();
        call.on_message(video(0, 0), at(100), &mut actions);
        assert_eq!(actions, [Action::Deliver(at(0))], "at the limit");
        actions.clear();
        call.on_message(video(0, 0), at(101), &mut actions);
        let stop = Message { kind: 1 | STOP, ..video(0, 0) };
        assert_eq!(actions, [Action::Deliver(at(0)), Action::Send(STOP_SIZE, stop)]);
        actions.clear();
        call.on_message(video(0, 0), at(102), &mut actions);
        assert_eq!(actions, [Action::Deliver(at(0))], "once");
        actions.clear();
        call.on_message(stop, at(30), &mut actions);
        assert_eq!(actions, [Action::Withdraw(video(0, 0))]);
        let mut later = Vec::new();
        call.on_responder_timer(at(80), &mut later);
        assert_eq!(frames(&later), [80, 80, 80, 9000], "no video of 40 ms");
    }
}
