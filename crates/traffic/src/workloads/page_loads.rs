//! Page loads over HTTP/2: the main object of a page, then its embedded objects, multiplexed over one connection.
//!
//! Source of the distributions: the web browsing model of the IEEE 802.16m Evaluation Methodology Document (IEEE
//! 802.16m-08/004r5, 2009, section 10.1; J. J. Lee et al., IEEE C802.16m-07/182r3), which 3GPP and NGMN also use.
//! Framing: RFC 9113, 4.1 and 4.2.
//!
//! ```text
//! number of objects = min(X, 55) − 2, X Pareto of index 1.1 from 2: mean 5.64                 (1)
//! bytes of an object on the connection = size + 9 · ⌈size / 16384⌉                            (2)
//! ```
//!
//! The duration of a load is the time from the request for the main object to the last byte of the last object. The
//! requests for the embedded objects are sent together, so that the order in which the server multiplexes them does not
//! affect the duration. The source discards sizes above 2 MB; here they are limited to 2 MB.

use cwndlab_config::{fields, Positive, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Time};

use crate::application::{Application, ApplicationKind};
use crate::configuration::Configuration;
use crate::dialogue::{Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::{PositiveSizes, Times};
use crate::flow_context::FlowContext;
use crate::repetition::Repetition;
use crate::sampling::{sample, sample_size};

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "page-loads",
    "Page loads over HTTP/2: the flow's receiver is the browser. It requests the main object of a page, parses it, requests all embedded objects at once, multiplexed over one connection (frames of RFC 9113), and waits for a think time before the next page. A transfer is a page. The default distributions are from the web browsing model of IEEE 802.16m-08/004r5 (TCP).",
    &[Config::FIELDS],
)
.class("PageLoads");

/// Largest payload of a frame (RFC 9113, 4.2: the initial value of `SETTINGS_MAX_FRAME_SIZE` is 2¹⁴).
const FRAME: u64 = 16_384;
/// Header of a frame (RFC 9113, 4.1).
const FRAME_HEADER: u64 = 9;

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
    }
}

/// The end that requests opens the connection.
const OPENER: End = End::Receiver;

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Dialogue(Box::new(PageLoads::new(self, flow)))
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

/// (2).
fn framed(size: Bytes) -> Bytes {
    Bytes(size.0 + FRAME_HEADER * size.0.div_ceil(FRAME))
}

/// The state of browser and server.
#[derive(Debug)]
struct PageLoads {
    config: Config,
    sizes: Stream,
    numbers: Stream,
    pages: Repetition,
    /// The main object in parsing: start time of its load, and its size.
    parsed: Option<(Time, Bytes)>,
    /// Size of the page's embedded objects with frame headers.
    framed_objects: Bytes,
}

impl PageLoads {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            sizes: flow.stream(Purpose::Size),
            numbers: flow.stream(Purpose::Other),
            pages: Repetition::new(config.count, config.new_connection, &config.think, flow),
            parsed: None,
            framed_objects: Bytes::ZERO,
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
        let mut total = main;
        let mut with_frames = Bytes::ZERO;
        for _ in 0..number {
            let size = sample_size(&self.config.object, &mut self.sizes).min(self.config.largest);
            total += size;
            with_frames += framed(size);
        }
        self.framed_objects = with_frames;
        let requests = Message { kind: OBJECT_REQUESTS, size: total, since };
        actions.push(Action::Send(self.config.request * number, requests));
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
        if !self.pages.on_timer(now, actions) {
            return;
        }
        if let Some((since, main)) = self.parsed.take() {
            self.request_objects(since, main, now, actions);
        } else {
            self.start_page(now, actions);
        }
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            MAIN_REQUEST => actions.push(Action::Send(framed(message.size), Message { kind: MAIN, ..message })),
            MAIN => {
                self.parsed = Some((message.since, message.size));
                self.pages.pause(&self.config.parse, now);
            }
            OBJECT_REQUESTS => actions.push(Action::Send(self.framed_objects, Message { kind: OBJECTS, ..message })),
            _ => self.pages.complete(message.since, message.size, now, actions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NEVER;

    fn browser(objects: Option<u64>, count: u64) -> PageLoads {
        let config = Config {
            main: Distribution::Fixed(16_385.0),
            object: Distribution::Fixed(1_000.0),
            objects,
            largest: Bytes(2_000_000),
            request: Bytes(400),
            parse: Distribution::Fixed(50.0),
            think: Distribution::Fixed(700.0),
            count: Some(count),
            new_connection: false,
        };
        PageLoads::new(&config, &FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) })
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
}
