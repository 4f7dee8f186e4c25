//! Page loads over HTTP/2 or HTTP/3: the main object of a page, then its embedded objects, multiplexed over one connection.
//!
//! Source of the distributions: the web browsing model of the IEEE 802.16m Evaluation Methodology Document (IEEE
//! 802.16m-08/004r5, 2009, section 10.1; J. J. Lee et al., IEEE C802.16m-07/182r3), which 3GPP and NGMN also use.
//! Framing: RFC 9113, 4.1 and 4.2; RFC 9114, 7.1.
//!
//! ```text
//! number of objects = min(X, 55) − 2, X Pareto of index 1.1 from 2: mean 5.64                 (1)
//! bytes of an object on the connection = size + 9 · ⌈size / 16384⌉, HTTP/3: 1 + v(size) + size   (2)
//! ```
//!
//! The duration of a load is the time from the request for the main object to the last byte of the last object. The
//! requests for the embedded objects are sent together, so that the order in which the server multiplexes them does not
//! affect the duration. With HTTP/3 each object has a stream of its own, so that a lost packet delays one of them only, and
//! the load ends with the last one. The source discards sizes above 2 MB; here they are limited to 2 MB.

use cwndlab_config::{fields, Faults, Positive, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Time};

use crate::application::{Application, ApplicationKind};
use crate::configuration::Configuration;
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::{PositiveSizes, Times};
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::http::{frame, in_frames, Version};
use crate::repetition::Repetition;
use crate::sampling::{sample, sample_size};

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "page-loads",
    "Page loads over HTTP/2 or HTTP/3: the flow's receiver is the browser. It requests the main object of a page, parses it, requests all embedded objects at once, multiplexed over one connection (frames of RFC 9113; with HTTP/3 each object on a stream of its own, RFC 9114), and waits for a think time before the next page. A transfer is a page. The default distributions are from the web browsing model of IEEE 802.16m-08/004r5 (TCP, or QUIC).",
    &[Config::FIELDS],
)
.class("PageLoads");

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// sizes of main objects
        main: PositiveSizes = absent(
            "log-normal: mean 10710 B, standard deviation 25032 B",
            Distribution::log_normal(10_710.0, 25_032.0 / 10_710.0)
        ),
        /// sizes of embedded objects
        object: PositiveSizes = absent(
            "log-normal: mean 7758 B, standard deviation 126168 B",
            Distribution::log_normal(7_758.0, 126_168.0 / 7_758.0)
        ),
        /// number of embedded objects of a page
        objects: Option<u64> = absent("Pareto of index 1.1 from 2 to 55, minus 2") in 0..=10_000, // (1)
        /// maximum size of an object; larger draws are limited to it
        largest: Positive<Bytes> = "2 MB",
        /// size of a request (rounded)
        request: Positive<Bytes> = "400 B",
        /// time from the main object to the requests for the embedded objects
        parse: Times = absent("exponential: mean 130 ms", Distribution::Exponential(130e6)),
        /// time from the end of a page to the request for the next one
        think: Times = absent("exponential: mean 30 s", Distribution::Exponential(30e9)),
        /// total number
        count: Option<Positive<u64>> = absent("unlimited"),
        /// a separate connection for each
        new_connection: bool = false,
        /// version of HTTP, 2 or 3
        http: Version = absent("2", Version::Http2),
        /// TLS
        tls: Tls,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        match self.http {
            Version::Http2 => {}
            Version::Http3 => self.tls.check_quic(table, faults),
            Version::Http11 => {
                faults.add(
                    table.at("http"),
                    "has no streams for the objects of a page",
                    "write 'http = \"2\"' or \"3\"",
                );
            }
        }
    }

    /// (2).
    fn framed(&self, size: Bytes) -> Bytes {
        if self.http == Version::Http3 {
            frame(size)
        } else {
            in_frames(size)
        }
    }
}

/// The end that requests opens the connection.
const OPENER: End = End::Receiver;

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let handshake =
            if self.is_quic() { Handshake::quic(&self.tls) } else { Handshake::default().secure(&self.tls) };
        Application::Dialogue(handshake.wrap(Box::new(PageLoads::new(self, flow))))
    }

    fn is_quic(&self) -> bool {
        self.http == Version::Http3
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

/// The request for a main object, with the size of that object.
const MAIN_REQUEST: u8 = 0;
/// A main object, with its size.
const MAIN: u8 = 1;
/// The requests for all embedded objects of a page, with the size of the page.
const OBJECT_REQUESTS: u8 = 2;
/// All embedded objects of a page.
const OBJECTS: u8 = 3;
/// With HTTP/3 the request for an embedded object, with its number, and that object.
const OBJECT_REQUEST: u8 = 4;
const OBJECT: u8 = 5;

/// The state of browser and server.
#[derive(Debug)]
struct PageLoads {
    config: Config,
    sizes: Stream,
    numbers: Stream,
    pages: Repetition,
    /// The main object in parsing: start time of its load, and its size.
    parsed: Option<(Time, Bytes)>,
    /// Sizes of the page's embedded objects with frame headers.
    objects: Vec<Bytes>,
    /// With HTTP/3 the size of the page, and the number of its objects that have not arrived.
    total: Bytes,
    missing: u64,
}

impl PageLoads {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            sizes: flow.stream(Purpose::Size),
            numbers: flow.stream(Purpose::Other),
            pages: Repetition::new(config.count, config.new_connection, &config.think, flow),
            parsed: None,
            objects: Vec::new(),
            total: Bytes::ZERO,
            missing: 0,
        }
    }

    /// Draws the number of embedded objects of the next page.
    fn draw_number(&mut self) -> u64 {
        self.config.objects.unwrap_or_else(|| {
            let pareto = Distribution::Pareto { shape: 1.1, min: 2.0, max: f64::INFINITY };
            (sample(&pareto, &mut self.numbers).min(55.0) - 2.0 + 0.5) as u64 // (1)
        })
    }

    /// Requests the next page.
    fn start_page(&mut self, now: Time, actions: &mut Vec<Action>) {
        let size = sample_size(&self.config.main, &mut self.sizes).min(self.config.largest);
        self.pages.begin(now, size, actions);
        actions.push(Action::Send(self.config.request, Message { kind: MAIN_REQUEST, size, since: now }));
    }

    /// Requests the embedded objects after the parsing of the main object; completes a page without embedded objects.
    fn request_objects(&mut self, since: Time, main: Bytes, now: Time, actions: &mut Vec<Action>) {
        let number = self.draw_number();
        if number == 0 {
            self.pages.complete(since, main, now, actions);
            return;
        }
        self.total = main;
        self.objects.clear();
        for _ in 0..number {
            let size = sample_size(&self.config.object, &mut self.sizes).min(self.config.largest);
            self.total += size;
            self.objects.push(self.config.framed(size));
        }
        if self.config.http == Version::Http3 {
            self.missing = number;
            let request = |number| Message { kind: OBJECT_REQUEST, size: Bytes(number), since };
            actions.extend((0..number).map(|number| Action::Send(self.config.request, request(number))));
            return;
        }
        let requests = Message { kind: OBJECT_REQUESTS, size: self.total, since };
        actions.push(Action::Send(self.config.request * number, requests));
    }

    /// Handles an embedded object at the browser; the last one completes the page.
    fn on_object(&mut self, since: Time, now: Time, actions: &mut Vec<Action>) {
        self.missing -= 1;
        if self.missing == 0 {
            self.pages.complete(since, self.total, now, actions);
        }
    }
}

impl Dialogue for PageLoads {
    fn opener(&self) -> End {
        OPENER
    }

    fn due(&self) -> Time {
        self.pages.due
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if let Some((since, main)) = self.parsed.take() {
            self.pages.resume();
            self.request_objects(since, main, now, actions);
        } else if self.pages.on_timer(now, actions) {
            self.start_page(now, actions);
        }
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            MAIN_REQUEST => {
                let bytes = self.config.framed(message.size);
                actions.push(Action::Send(bytes, Message { kind: MAIN, ..message }));
            }
            MAIN => {
                self.parsed = Some((message.since, message.size));
                self.pages.pause(&self.config.parse, now);
            }
            OBJECT_REQUESTS => {
                let bytes = self.objects.iter().fold(Bytes::ZERO, |sum, &object| sum + object);
                actions.push(Action::Send(bytes, Message { kind: OBJECTS, ..message }));
            }
            OBJECT_REQUEST => {
                if let Some(&bytes) = self.objects.get(message.size.0 as usize) {
                    actions.push(Action::Send(bytes, Message { kind: OBJECT, ..message }));
                }
            }
            OBJECT => self.on_object(message.since, now, actions),
            _ => self.pages.complete(message.since, message.size, now, actions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::testing::sent_sizes;
    use crate::handshake::TlsVersion;
    use crate::NEVER;

    fn config(objects: Option<u64>, count: u64) -> Config {
        Config {
            main: Distribution::Fixed(16_385.0),
            object: Distribution::Fixed(1_000.0),
            objects,
            largest: Bytes(2_000_000),
            request: Bytes(400),
            parse: Distribution::Fixed(50.0),
            think: Distribution::Fixed(700.0),
            count: Some(count),
            new_connection: false,
            http: Version::Http2,
            tls: Tls::NONE,
        }
    }

    fn load(config: &Config) -> PageLoads {
        PageLoads::new(config, &context())
    }

    fn context() -> FlowContext {
        FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) }
    }

    fn browser(objects: Option<u64>, count: u64) -> PageLoads {
        load(&config(objects, count))
    }

    fn at_timer(browser: &mut PageLoads, now: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        browser.on_timer(Time::from_nanos(now), &mut actions);
        actions
    }

    fn at_message(browser: &mut PageLoads, message: Message, now: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        browser.on_message(message, Time::from_nanos(now), &mut actions);
        actions
    }

    /// By hand: a main object of 16,385 bytes takes two frames, 18 bytes of headers; three objects of 1,000 bytes take
    /// one frame each. The parsing takes 50 ns; the next page starts 700 ns after the last object.
    #[test]
    fn a_page_is_its_main_object_and_its_embedded_objects() {
        let mut browser = browser(Some(3), 2);
        let message = |kind, size| Message { kind, size: Bytes(size), since: Time::ZERO };
        let request = message(MAIN_REQUEST, 16_385);
        let offer = Action::Offer(Time::ZERO, Bytes(16_385));
        assert_eq!(at_timer(&mut browser, 0), [Action::Connect, offer, Action::Send(Bytes(400), request)]);
        let main = message(MAIN, 16_385);
        assert_eq!(at_message(&mut browser, request, 10), [Action::Send(Bytes(16_403), main)]);
        assert_eq!(at_message(&mut browser, main, 20), []);
        assert_eq!(browser.due(), Time::from_nanos(70));
        let requests = message(OBJECT_REQUESTS, 19_385);
        assert_eq!(at_timer(&mut browser, 70), [Action::Send(Bytes(1_200), requests)]);
        let objects = message(OBJECTS, 19_385);
        assert_eq!(at_message(&mut browser, requests, 80), [Action::Send(Bytes(3_027), objects)]);
        let complete = [Action::Deliver(Time::ZERO), Action::Record(Time::ZERO, Bytes(19_385))];
        assert_eq!(at_message(&mut browser, objects, 90), complete);
        assert_eq!(browser.due(), Time::from_nanos(790));
    }

    /// RFC 9114, 7.1, by hand: a main object of 16,385 bytes is a frame with 1 + 4 bytes before them, one of 1,000 bytes has 1 +
    /// 2. Each object has a request, and the page ends with the last one of them, in whatever order they arrive.
    #[test]
    fn over_http_3_each_object_is_a_message() {
        let mut browser = load(&Config { http: Version::Http3, ..config(Some(2), 2) });
        let message = |kind, size| Message { kind, size: Bytes(size), since: Time::ZERO };
        at_timer(&mut browser, 0);
        let main = message(MAIN, 16_385);
        assert_eq!(at_message(&mut browser, message(MAIN_REQUEST, 16_385), 10), [Action::Send(Bytes(16_390), main)]);
        assert_eq!(at_message(&mut browser, main, 20), []);
        let request = |number| Action::Send(Bytes(400), message(OBJECT_REQUEST, number));
        assert_eq!(at_timer(&mut browser, 70), [request(0), request(1)]);
        for number in [1, 0] {
            let object = Action::Send(Bytes(1_003), message(OBJECT, number));
            assert_eq!(at_message(&mut browser, message(OBJECT_REQUEST, number), 80), [object]);
        }
        assert_eq!(at_message(&mut browser, message(OBJECT, 1), 90), []);
        let complete = [Action::Deliver(Time::ZERO), Action::Record(Time::ZERO, Bytes(18_385))];
        assert_eq!(at_message(&mut browser, message(OBJECT, 0), 95), complete);
        assert_eq!(browser.due(), Time::from_nanos(795));
    }

    /// RFC 8446, 2, and RFC 9001, 4: one round trip before the request, with the flights of `handshake` and `quic`.
    #[test]
    fn tls_takes_a_round_trip_before_the_page() {
        let secure = |http| {
            let tls = Tls { tls: TlsVersion::Tls13, ..Tls::NONE };
            sent_sizes(Config { http, tls, ..config(Some(1), 1) }.application(&context()))
        };
        assert_eq!(secure(Version::Http2), [[253, 3367], [79, 0]]);
        assert_eq!(secure(Version::Http3), [[1166, 3466], [1166, 0]]);
    }

    #[test]
    fn a_page_without_embedded_objects_is_complete_after_parsing() {
        let mut browser = browser(Some(0), 1);
        at_timer(&mut browser, 0);
        at_message(&mut browser, Message { kind: MAIN, size: Bytes(16_385), since: Time::ZERO }, 20);
        let complete = [Action::Deliver(Time::ZERO), Action::Record(Time::ZERO, Bytes(16_385)), Action::Finish];
        assert_eq!(at_timer(&mut browser, 70), complete);
    }

    /// IEEE 802.16m-08/004r5, table of the web browsing model: 5.64 objects on average, at most 53. The tolerance of
    /// 0.1 covers the rounding to integers and 200,000 draws.
    #[test]
    fn the_mean_number_of_objects_matches_the_source() {
        let mut browser = browser(None, 1);
        let draws: Vec<u64> = (0..200_000).map(|_| browser.draw_number()).collect();
        let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
        assert!((mean - 5.64).abs() < 0.1, "{mean}");
        assert_eq!(draws.iter().max(), Some(&53));
    }

    /// docs/scenario.md: what was written before `stop` is sent in full. By hand: the main object is there at 10 ns, the stop at
    /// 20 ns, and the parsing ends at 60 ns; the page goes on, and the flow ends with it.
    #[test]
    fn a_page_in_parsing_outlasts_the_stop() {
        let stop = Time::from_nanos(20);
        let mut browser = PageLoads::new(&config(Some(1), 9), &FlowContext { stop, ..context() });
        at_timer(&mut browser, 0);
        let message = |kind, size| Message { kind, size: Bytes(size), since: Time::ZERO };
        assert_eq!(at_message(&mut browser, message(MAIN, 16_385), 10), []);
        assert_eq!(browser.due(), Time::from_nanos(60));
        let request = Action::Send(Bytes(400), message(OBJECT_REQUESTS, 17_385));
        assert_eq!((at_timer(&mut browser, 60), browser.due()), (vec![request], NEVER));
        let end = at_message(&mut browser, message(OBJECTS, 17_385), 70);
        let complete = [Action::Deliver(Time::ZERO), Action::Record(Time::ZERO, Bytes(17_385)), Action::Finish];
        assert_eq!(end, complete);
    }
}
