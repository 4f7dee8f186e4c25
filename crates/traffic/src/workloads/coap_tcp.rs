//! CoAP over TCP (RFC 8323): messages without identifiers, acknowledgements and retransmissions.

use cwndlab_config::{fields, Faults, Positive, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Duration, Time};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::coap::configuration::Method;
use crate::coap::messages::{uint_bytes, Job};
use crate::configuration::{check_interval, Configuration};
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::{PositiveSizes, PositiveTimes, Times};
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::sampling::sample_size;
use crate::schedule::{Generation, Schedule};
use crate::server::Server;
use crate::NEVER;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "coap-tcp",
    "A device that sends or offers measurements by CoAP over TCP (RFC 8323): POST requests, GET requests of the flow's receiver, or notifications (Observe), after a Capabilities and Settings Message of each end. Larger payloads than 1024 bytes come in blocks, a round trip each, which hold several times 1024 bytes if `max_message_size` permits (BERT).",
    &[Config::FIELDS],
)
.class("CoapTcp");

/// A block (RFC 7959, 2.2), or the unit of those of BERT (RFC 8323, 6).
const BLOCK: u64 = 1024;
/// The size exponent of BERT blocks (RFC 8323, 6), and of blocks of 1024 bytes.
const BERT: u64 = 7;
const BLOCK_1024: u64 = 6;
/// The marker in front of a payload.
const MARKER: u64 = 1;
/// Ping and Pong without token and options (RFC 8323, 5.4).
const PING_SIZE: Bytes = Bytes(2);

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// who sends what
        method: Method = "post",
        /// payload of a message
        payload: PositiveSizes = absent("uniform from 16 B to 128 B", Distribution::Uniform(16.0, 128.0)),
        /// time between two messages; the exponential distribution gives a Poisson process
        period: PositiveTimes = required("'period = \"10 s\"'"),
        /// total number
        count: Option<Positive<u64>> = absent("unlimited"),
        /// `Max-Message-Size` of both ends (RFC 8323, 5.3.1); larger payloads come in blocks
        max_message_size: Bytes = "1152 B",
        /// time that a server needs for a response, one after another
        processing: Times = "0 s",
        /// length of the token, bytes
        token: u32 = 4 in 0..=8,
        /// length of a request's other options, such as Uri-Path, bytes
        options: u32 = 16 in 0..=1_000,
        /// maximum idle time of the client before a Ping; zero disables it
        keep_alive: Duration = "0 s",
        /// Nagle's algorithm: a small segment waits while other data are unacknowledged (RFC 9293, 3.7.4), or small
        /// segments (profile linux)
        nagle: bool = false,
        /// TLS
        tls: Tls,
    }
    check
}

/// Size of a message whose options and payload, marker included, have `body` bytes: a length of 4 bits and up to 4 bytes
/// more, code, token (RFC 8323, 3.2).
fn framed(token: u64, body: u64) -> Bytes {
    let more = match body {
        0..=12 => 0,
        13..=268 => 1,
        269..=65_804 => 2,
        _ => 4,
    };
    Bytes(2 + more + token + body)
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.max_message_size < Bytes(1152) {
            let hint = "the default of RFC 8323, section 5.3.1, which fits a block of 1024 bytes";
            faults.add(table.at("max_message_size"), "is less than 1152 B", hint);
            return;
        }
        check_interval(table, "keep_alive", self.keep_alive, "\"0 s\" disables it", faults);
        let largest = match self.payload {
            Distribution::Fixed(largest) | Distribution::Uniform(_, largest) => largest,
            _ => 0.0,
        };
        if let Some(limit) = self.limit().filter(|limit| largest > limit.0 as f64) {
            let hint = "requests come in blocks, notifications do not; increase 'max_message_size'";
            faults.add(table.at("payload"), format!("is larger than {} B", limit.0), hint);
        }
    }

    /// Largest payload of a message that does not come in blocks: a notification, whose further blocks the client would have
    /// to request.
    fn limit(&self) -> Option<Bytes> {
        (self.method == Method::Observe).then(|| Bytes(self.block_size()))
    }

    /// The end that sends requests or registers.
    fn client(&self) -> End {
        if self.method == Method::Post {
            End::Sender
        } else {
            End::Receiver
        }
    }

    /// Payload of a full block: as many units as fit beside 128 bytes of header and options.
    fn block_size(&self) -> u64 {
        (self.max_message_size.0 - 128) / BLOCK * BLOCK
    }

    /// Length of the block at the offset of the job.
    fn block(&self, job: Job) -> Bytes {
        Bytes((job.total - job.done).0.min(self.block_size()))
    }

    /// Bytes of the option Block1 or Block2 (RFC 7959, 2.2), whose number counts units of 1024 bytes; `far`: its number is
    /// more than 12 above that of the option before.
    fn block_option(&self, job: Job, far: bool) -> u64 {
        if job.total.0 <= BLOCK {
            return 0;
        }
        let more = u64::from(job.done + self.block(job) < job.total);
        let exponent = if self.block_size() > BLOCK { BERT } else { BLOCK_1024 };
        1 + u64::from(far) + uint_bytes((job.done.0 / BLOCK) << 4 | more << 3 | exponent)
    }

    fn message(&self, options: u64, payload: Bytes) -> Bytes {
        let marked = if payload == Bytes::ZERO { 0 } else { MARKER + payload.0 };
        framed(u64::from(self.token), options + marked)
    }

    /// Size of the request for, or with, a block.
    fn request_bytes(&self, job: Job) -> Bytes {
        let options = u64::from(self.options);
        match self.method {
            Method::Post => self.message(options + self.block_option(job, true), self.block(job)),
            // The first request for a payload does not know that it comes in blocks.
            _ if job.done == Bytes::ZERO => self.message(options, Bytes::ZERO),
            _ => self.message(options + self.block_option(job, false), Bytes::ZERO),
        }
    }

    /// Size of the response to that request.
    fn response_bytes(&self, job: Job) -> Bytes {
        match self.method {
            Method::Post => self.message(self.block_option(job, true), Bytes::ZERO),
            _ => self.message(self.block_option(job, false), self.block(job)),
        }
    }

    /// Size of a registration: the option Observe with value 0 is one byte (RFC 7641, 2).
    fn registration_bytes(&self) -> Bytes {
        self.message(u64::from(self.options) + 1, Bytes::ZERO)
    }

    /// Size of a notification, whose option Observe may be empty (RFC 8323, 7.1).
    fn notification_bytes(&self, payload: Bytes) -> Bytes {
        self.message(1, payload)
    }

    /// Size of a Capabilities and Settings Message with `Max-Message-Size` and `Block-Wise-Transfer` (RFC 8323, 5.3).
    fn settings_bytes(&self) -> Bytes {
        framed(0, 1 + uint_bytes(self.max_message_size.0) + 1)
    }
}

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(self.client())
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(Handshake::default().secure(&self.tls).wrap(Box::new(CoapTcp::new(self, flow))))
    }

    fn offered_load(&self) -> OfferedLoad {
        self.schedule().offered_load()
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

impl Config {
    fn schedule(&self) -> Schedule {
        Schedule { period: self.period.clone(), count: self.count, burst: None, burst_max: None }
    }
}

/// Capabilities and settings of the client, which opens the connection, and of the server.
const SETTINGS: u8 = 0;
const SERVER_SETTINGS: u8 = 1;
/// A request; its size is the offset of its block.
const REQUEST: u8 = 2;
/// A response; its size is that offset.
const RESPONSE: u8 = 3;
const REGISTER: u8 = 4;
/// The response to a registration.
const STATE: u8 = 5;
/// A notification, with its size.
const NOTIFY: u8 = 6;
const PING: u8 = 7;
const PONG: u8 = 8;

/// The state of client and server.
#[derive(Debug)]
struct CoapTcp {
    config: Config,
    messages: Generation,
    sizes: Stream,
    server: Server,
    active: Vec<Job>,
    /// Time of the client's last message; [`NEVER`] before the first one.
    last_sent: Time,
}

impl CoapTcp {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            messages: Generation::new(&config.schedule(), flow),
            sizes: flow.stream(Purpose::Size),
            server: Server::new(&config.processing, flow),
            active: Vec::new(),
            last_sent: NEVER,
        }
    }

    fn observes(&self) -> bool {
        self.config.method == Method::Observe
    }

    fn ping_due(&self) -> Time {
        if self.config.keep_alive == Duration::ZERO || self.last_sent == NEVER {
            NEVER
        } else {
            self.last_sent + self.config.keep_alive
        }
    }

    /// Sends a message of the client.
    fn send(&mut self, bytes: Bytes, message: Message, now: Time, actions: &mut Vec<Action>) {
        self.last_sent = now;
        actions.push(Action::Send(bytes, message));
    }

    /// Sends the request for, or with, the next block.
    fn request(&mut self, job: Job, now: Time, actions: &mut Vec<Action>) {
        let message = Message { kind: REQUEST, size: job.done, since: job.since };
        self.send(self.config.request_bytes(job), message, now, actions);
    }

    /// Opens the connection: the settings go ahead of the first request or the registration, which do not wait for those of
    /// the server (RFC 8323, 5.3).
    fn open(&mut self, now: Time, actions: &mut Vec<Action>) {
        let of_kind = |kind| Message { kind, size: Bytes::ZERO, since: now };
        self.send(self.config.settings_bytes(), of_kind(SETTINGS), now, actions);
        if self.observes() {
            self.send(self.config.registration_bytes(), of_kind(REGISTER), now, actions);
        } else {
            self.messages.start(now);
        }
    }

    fn draw_payload(&mut self) -> Bytes {
        let size = sample_size(&self.config.payload, &mut self.sizes);
        self.config.limit().map_or(size, |limit| size.min(limit))
    }

    /// Generates the payload of a message.
    fn generate(&mut self, now: Time, actions: &mut Vec<Action>) -> Bytes {
        let size = self.draw_payload();
        actions.push(Action::Offer(now, size));
        size
    }

    fn job_at(&self, message: Message) -> Option<Job> {
        let job = self.active.iter().find(|job| job.since == message.since)?;
        Some(Job { done: message.size, ..*job })
    }

    /// The server has a request.
    fn on_request(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let Some(job) = self.job_at(message) else { return };
        if self.config.method == Method::Post && job.done + self.config.block(job) == job.total {
            actions.push(Action::Deliver(job.since));
        }
        let response = Message { kind: RESPONSE, ..message };
        self.server.respond(self.config.response_bytes(job), response, now, actions);
    }

    /// The client has a response: it requests the next block, or has all.
    fn on_response(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let Some(job) = self.job_at(message) else { return };
        let next = Job { done: job.done + self.config.block(job), ..job };
        if next.done < next.total {
            return self.request(next, now, actions);
        }
        self.active.retain(|one| one.since != job.since);
        if self.config.method == Method::Get {
            actions.push(Action::Deliver(job.since));
        }
        actions.push(Action::Record(job.since, job.total));
        self.messages.complete(actions);
    }
}

impl Dialogue for CoapTcp {
    fn opener(&self) -> End {
        self.config.client()
    }

    fn nagle(&self, _: End) -> bool {
        self.config.nagle
    }

    fn due(&self) -> Time {
        if self.messages.is_finished() {
            return NEVER;
        }
        let next = if self.observes() { self.messages.stop() } else { self.messages.due() };
        next.min(self.ping_due())
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.messages.opens_or_ends(now, actions) {
            if !self.messages.is_finished() {
                self.open(now, actions);
            }
            return;
        }
        let generates = !self.observes() && self.messages.next() <= now;
        for _ in 0..if generates { self.messages.take(now) } else { 0 } {
            let total = self.generate(now, actions);
            let job = Job { since: now, total, done: Bytes::ZERO };
            self.active.push(job);
            self.request(job, now, actions);
        }
        if self.ping_due() <= now {
            self.send(PING_SIZE, Message { kind: PING, size: Bytes::ZERO, since: now }, now, actions);
        }
    }

    fn responder_due(&self) -> Time {
        let next = if self.observes() && self.messages.is_running() { self.messages.next() } else { NEVER };
        self.server.due().min(next)
    }

    fn on_responder_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.server.on_timer(now, actions);
        if self.observes() && self.messages.is_running() {
            for _ in 0..self.messages.take(now) {
                let size = self.generate(now, actions);
                let message = Message { kind: NOTIFY, size, since: now };
                actions.push(Action::Send(self.config.notification_bytes(size), message));
            }
        }
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            SETTINGS => {
                let settings = Message { kind: SERVER_SETTINGS, ..message };
                actions.push(Action::Send(self.config.settings_bytes(), settings));
            }
            REQUEST => self.on_request(message, now, actions),
            RESPONSE => self.on_response(message, now, actions),
            REGISTER => {
                // The response carries the state; notifications are additional responses (RFC 7641, 1.2), of which the first
                // one follows a period later.
                let state = self.draw_payload();
                let response = Message { kind: STATE, ..message };
                let answered = self.server.respond(self.config.notification_bytes(state), response, now, actions);
                self.messages.start_after(answered);
            }
            NOTIFY => {
                actions.extend([Action::Deliver(message.since), Action::Record(message.since, message.size)]);
                self.messages.complete(actions);
            }
            PING => actions.push(Action::Send(PING_SIZE, Message { kind: PONG, ..message })),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(method: Method, payload: f64) -> Config {
        Config {
            method,
            payload: Distribution::Fixed(payload),
            period: Distribution::Fixed(100e9),
            count: None,
            max_message_size: Bytes(1152),
            processing: Distribution::Fixed(0.0),
            token: 4,
            options: 16,
            keep_alive: Duration::ZERO,
            nagle: false,
            tls: Tls::NONE,
        }
    }

    fn at(second: u64) -> Time {
        Time::from_nanos(second * 1_000_000_000)
    }

    fn device(config: &Config) -> CoapTcp {
        CoapTcp::new(config, &FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) })
    }

    /// The sizes of what both ends send, one row per half round trip, until nothing is left or `rounds` are over.
    fn rows(device: &mut CoapTcp, now: Time) -> Vec<Vec<u64>> {
        let mut actions = Vec::new();
        while device.due() <= now || device.messages.next() == NEVER && !device.messages.has_started() {
            device.on_timer(now, &mut actions);
        }
        if device.responder_due() <= now {
            device.on_responder_timer(now, &mut actions);
        }
        let mut rows = Vec::new();
        loop {
            let sent: Vec<(Bytes, Message)> = actions
                .drain(..)
                .filter_map(|one| if let Action::Send(bytes, message) = one { Some((bytes, message)) } else { None })
                .collect();
            if sent.is_empty() {
                return rows;
            }
            rows.push(sent.iter().map(|(bytes, _)| bytes.0).collect());
            for (_, message) in sent {
                device.on_message(message, now, &mut actions);
            }
        }
    }

    /// RFC 8323, section 3.2, figure 4: 0 to 12 bytes fit the first nibble, 13 to 268 take one byte more, up to 65,804 two,
    /// from 65,805 on four.
    #[test]
    fn the_length_takes_up_to_four_bytes() {
        let sizes = [0, 12, 13, 268, 269, 65_804, 65_805].map(|body| framed(4, body).0 - body);
        assert_eq!(sizes, [6, 6, 7, 7, 8, 8, 10]);
    }

    /// By hand: settings are 2 bytes, the option Max-Message-Size with 1152 (3 bytes) and Block-Wise-Transfer (1). A POST of
    /// 10 bytes has 2 + 1 + 4 + 16 + 1 + 10, its response of 2.04 only 2 + 4.
    #[test]
    fn a_request_goes_with_the_settings() {
        assert_eq!(rows(&mut device(&config(Method::Post, 10.0)), at(0)), [vec![6, 34], vec![6, 6]]);
        // GET: 2 + 1 + 4 + 16; its response 2 + 4 + 1 + 10 with a body of 11.
        assert_eq!(rows(&mut device(&config(Method::Get, 10.0)), at(0)), [vec![6, 23], vec![6, 17]]);
    }

    /// RFC 7959, section 2.2: 2500 bytes are blocks of 1024, 1024 and 452, a round trip each. The option Block1 has a value of
    /// one byte after a delta of 16, which takes a byte: 2 + 2 + 4 + 16 + 3 + 1 + 1024. With messages of 8 kB one BERT block
    /// has all.
    #[test]
    fn blocks_take_a_round_trip_each() {
        let mut small = device(&config(Method::Post, 2500.0));
        let sizes = rows(&mut small, at(0));
        assert_eq!(sizes, [vec![6, 1052], vec![6, 9], vec![1052], vec![9], vec![480], vec![9]]);
        let bert = Config { max_message_size: Bytes(8192), ..config(Method::Post, 2500.0) };
        assert_eq!(rows(&mut device(&bert), at(0)), [vec![6, 2528], vec![6, 9]]);
    }

    /// RFC 8323, section 7.1: a notification has an empty option Observe: 2 + 4 + 1 + 1 + 10. A Ping follows 60 s after the
    /// registration, which is the client's last message.
    #[test]
    fn a_client_registers_and_pings() {
        let observe = Config { keep_alive: Duration::from_secs(60), ..config(Method::Observe, 10.0) };
        let mut one = device(&observe);
        let mut actions = Vec::new();
        one.on_timer(at(0), &mut actions);
        let of_kind = |kind| Message { kind, size: Bytes::ZERO, since: at(0) };
        let sends = [Action::Send(Bytes(6), of_kind(SETTINGS)), Action::Send(Bytes(24), of_kind(REGISTER))];
        assert_eq!(actions, [vec![Action::Connect], sends.to_vec()].concat());
        actions.clear();
        one.on_message(of_kind(REGISTER), at(1), &mut actions);
        assert_eq!(actions, [Action::Send(Bytes(18), of_kind(STATE))]);
        assert_eq!((one.responder_due(), one.due()), (at(101), at(60)));
        assert_eq!(rows(&mut one, at(60)), [vec![2], vec![2]]);
        actions.clear();
        one.on_responder_timer(at(101), &mut actions);
        let notify = Message { kind: NOTIFY, size: Bytes(10), since: at(101) };
        assert_eq!(actions, [Action::Offer(at(101), Bytes(10)), Action::Send(Bytes(18), notify)]);
    }

    /// RFC 7641, section 1.2: notifications are additional responses. By hand: a server that needs 5 s answers a registration of
    /// 1 s at 6 s, and notifies 100 s later.
    #[test]
    fn notifications_follow_the_answer_to_the_registration() {
        let processing = Distribution::Fixed(5e9);
        let mut one = device(&Config { processing, ..config(Method::Observe, 10.0) });
        let mut actions = Vec::new();
        let register = Message { kind: REGISTER, size: Bytes::ZERO, since: at(0) };
        one.on_message(register, at(1), &mut actions);
        assert_eq!((&actions[..], one.responder_due()), (&[][..], at(6)));
        one.on_responder_timer(at(6), &mut actions);
        assert_eq!(actions, [Action::Send(Bytes(18), Message { kind: STATE, ..register })]);
        assert_eq!(one.responder_due(), at(106));
    }
}
