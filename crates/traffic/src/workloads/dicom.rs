//! DICOM storage: studies of images over one association each.
//!
//! Sources: DICOM PS3.8 (upper layer: associations, 9.3.2 to 9.3.7; fragments, annex D and E), PS3.7, 9.3.1 (C-STORE).
//! An association is a TCP connection (PS3.8, 9.1.1). A message is divided into fragments, one in each P-DATA-TF PDU,
//! which has 6 bytes of PDU header and 6 of the fragment's item (PS3.8, 9.3.5):
//!
//! ```text
//! bytes of a data set of size S = S + 12 · ⌈S / (max_pdu − 6)⌉                              (1)
//! duration of a study of n images, window 1 = Σ (bytes / rate + RTT + storage)              (2)
//! ```
//!
//! The default command sets have 150 bytes, which follow from the implicit little-endian encoding of PS3.7, 9.3.1 with
//! a SOP class of 25 characters and an instance of 56: group length 12, class 34, instance 64, and four elements of 10.

use std::collections::VecDeque;

use cwndlab_config::{fields, words, Faults, Positive, Reader, Table};
use cwndlab_network::random::{Purpose, Stream};
use cwndlab_units::{Bytes, Time};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::Configuration;
use crate::dialogue::{send_in_parts, Action, Dialogue, End, Message};
use crate::distribution::Distribution;
use crate::distribution_fields::{PositiveSizes, Times};
use crate::flow_context::FlowContext;
use crate::handshake::{Handshake, Tls};
use crate::sampling::sample_size;
use crate::schedule::{Generation, Schedule};
use crate::server::Server;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "dicom",
    "A modality that stores studies in an archive by DICOM (PS3.7, PS3.8; TCP): every `period` a study of `images` images, over an association of its own, with a C-STORE request and response for each image. One operation is outstanding, or as many as `window`. A transfer is a study, from its generation to the last response. Several associations in parallel are several flows (`count` of the flow). A study waits until the previous one is stored.",
    &[Config::FIELDS],
)
.class("Dicom");

/// Header of a P-DATA-TF PDU (PS3.8, table 9-22), and of the presentation data value in it: length, presentation context
/// (table 9-23), message control (annex E).
const PDU_HEADER: Bytes = Bytes(6);
const PDV_HEADER: Bytes = Bytes(6);
/// A-RELEASE-RQ and A-RELEASE-RP (PS3.8, 9.3.6 and 9.3.7).
const RELEASE_BYTES: Bytes = Bytes(10);
/// Smallest `max_pdu`: the shortest that DCMTK accepts.
const SMALLEST_PDU: Bytes = Bytes(4096);

words! {
    /// What an end writes at once.
    pub enum Writes {
        /// a message: command set and data set
        Messages = "messages",
        /// each PDU, as pynetdicom does
        Pdus = "pdus",
        /// the headers of each PDU, then its data, as DCMTK does
        Headers = "headers",
    }
}

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// images of a study
        images: u32 = 100 in 1..=100_000,
        /// size of an image, its data set
        image: PositiveSizes = absent("524288 B, a CT slice of 512 × 512 pixels", Distribution::Fixed(524_288.0)),
        /// times of the studies; `period`, `count` and `burst` count studies
        schedule: Schedule,
        /// operations without response (asynchronous operations window)
        window: u32 = 1 in 1..=65_535,
        /// maximum length of a PDU without its header, which the archive announces
        max_pdu: Bytes = "16384 B",
        /// time that the archive needs to store an image, one after the other, before its response
        storage: Times = "0 s",
        /// size of an A-ASSOCIATE-RQ
        associate: Positive<Bytes> = "2 kB",
        /// size of an A-ASSOCIATE-AC
        accept: Positive<Bytes> = "1 kB",
        /// size of the command set of a C-STORE request
        command: Positive<Bytes> = "150 B",
        /// size of the command set of a C-STORE response
        response: Positive<Bytes> = "150 B",
        /// what the modality writes at once; without Nagle's algorithm the last segment of each write is short
        writes: Writes = absent("messages", Writes::Messages),
        /// what the archive writes at once
        archive_writes: Writes = absent("messages", Writes::Messages),
        /// Nagle's algorithm, which DCMTK leaves on: a short segment waits for the ACK of the last one
        nagle: bool = absent("false", false),
        /// TLS
        tls: Tls,
    }
    check
}

impl Config {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.max_pdu < SMALLEST_PDU {
            faults.add(table.at("max_pdu"), format!("is less than {SMALLEST_PDU}"), "");
        }
    }

    /// Size of a command or data set in its PDUs: (1).
    fn with_pdus(&self, bytes: Bytes) -> Bytes {
        let pdus = bytes.0.div_ceil((self.max_pdu - PDV_HEADER).0);
        bytes + (PDU_HEADER + PDV_HEADER) * pdus
    }

    /// Sizes of the writes of a message with these command and data sets.
    fn parts(&self, writes: Writes, sets: &[Bytes]) -> Vec<Bytes> {
        if writes == Writes::Messages {
            return vec![sets.iter().fold(Bytes::ZERO, |sum, &set| sum + self.with_pdus(set))];
        }
        let mut parts = Vec::new();
        for &set in sets {
            let mut left = set;
            while left > Bytes::ZERO {
                let fragment = left.min(self.max_pdu - PDV_HEADER);
                left -= fragment;
                match writes {
                    Writes::Headers => parts.extend([PDU_HEADER + PDV_HEADER, fragment]),
                    _ => parts.push(PDU_HEADER + PDV_HEADER + fragment),
                }
            }
        }
        parts
    }
}

/// The modality opens the associations.
const OPENER: End = End::Sender;

impl Configuration for Config {
    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Dialogue(OPENER)
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let handshake = Handshake::default().secure(&self.tls).then(&[self.associate, self.accept]);
        Application::Dialogue(handshake.wrap(Box::new(Dicom::new(self, flow))))
    }

    fn offered_load(&self) -> OfferedLoad {
        self.schedule.offered_load()
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}

/// A C-STORE request, with the size of its image, and its response.
const STORE: u8 = 0;
const STORED: u8 = 1;
const RELEASE: u8 = 2;
const RELEASED: u8 = 3;

/// A study.
#[derive(Debug)]
struct Study {
    since: Time,
    total: Bytes,
    /// Sizes of the images that are not sent.
    images: VecDeque<Bytes>,
    /// Numbers of images that the archive has, and of those with a response.
    arrived: u32,
    stored: u32,
}

/// The state of modality and archive.
#[derive(Debug)]
struct Dicom {
    config: Config,
    studies: Generation,
    sizes: Stream,
    opened: bool,
    /// The first one has the association.
    waiting: VecDeque<Study>,
    archive: Server,
}

impl Dicom {
    fn new(config: &Config, flow: &FlowContext) -> Self {
        Self {
            config: config.clone(),
            studies: Generation::new(&config.schedule, flow),
            sizes: flow.stream(Purpose::Size),
            opened: false,
            waiting: VecDeque::new(),
            archive: Server::new(&config.storage, flow),
        }
    }

    /// Generates a study; the first one that waits opens its association.
    fn generate(&mut self, now: Time, actions: &mut Vec<Action>) {
        let sizes = &mut self.sizes;
        let images: VecDeque<Bytes> = (0..self.config.images).map(|_| sample_size(&self.config.image, sizes)).collect();
        let total = images.iter().fold(Bytes::ZERO, |sum, &image| sum + image);
        actions.push(Action::Offer(now, total));
        self.waiting.push_back(Study { since: now, total, images, arrived: 0, stored: 0 });
        if self.waiting.len() == 1 {
            self.associate(actions);
        }
    }

    /// Opens the association of the first study, and sends as many images as the window allows.
    fn associate(&mut self, actions: &mut Vec<Action>) {
        actions.push(Action::Connect);
        for _ in 0..self.config.window {
            self.send_image(actions);
        }
    }

    /// Sends the next image of the first study: its command set, then its data set.
    fn send_image(&mut self, actions: &mut Vec<Action>) {
        let Some(study) = self.waiting.front_mut() else { return };
        if let Some(size) = study.images.pop_front() {
            let parts = self.config.parts(self.config.writes, &[self.config.command, size]);
            send_in_parts(&parts, Message { kind: STORE, size, since: study.since }, actions);
        }
    }

    /// Handles an image at the archive.
    fn on_image(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        if let Some(study) = self.waiting.front_mut() {
            study.arrived += 1;
            if study.arrived == self.config.images {
                actions.push(Action::Deliver(study.since));
            }
        }
        let response = Message { kind: STORED, ..message };
        let parts = self.config.parts(self.config.archive_writes, &[self.config.response]);
        self.archive.respond_in_parts(&parts, response, now, actions);
    }

    /// Handles a response at the modality; after the last one the association is released.
    fn on_response(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(study) = self.waiting.front_mut() else { return };
        study.stored += 1;
        if study.stored < self.config.images {
            return self.send_image(actions);
        }
        actions.push(Action::Record(study.since, study.total));
        let release = Message { kind: RELEASE, size: Bytes::ZERO, since: now };
        actions.push(Action::Send(RELEASE_BYTES, release));
        self.studies.complete(actions);
    }
}

impl Dialogue for Dicom {
    fn opener(&self) -> End {
        OPENER
    }

    fn nagle(&self, _: End) -> bool {
        self.config.nagle
    }

    fn due(&self) -> Time {
        self.studies.due()
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.studies.ends(now, actions) {
            return;
        }
        if !std::mem::replace(&mut self.opened, true) {
            self.studies.start(now);
        }
        for _ in 0..self.studies.take(now) {
            self.generate(now, actions);
        }
    }

    fn responder_due(&self) -> Time {
        self.archive.due()
    }

    fn on_responder_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.archive.on_timer(now, actions);
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        match message.kind {
            STORE => self.on_image(message, now, actions),
            STORED => self.on_response(now, actions),
            RELEASE => actions.push(Action::Send(RELEASE_BYTES, Message { kind: RELEASED, ..message })),
            _ => {
                self.waiting.pop_front();
                if !self.waiting.is_empty() {
                    self.associate(actions);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Duration;

    use super::*;
    use crate::dialogue::PART;
    use crate::handshake::testing::sent_sizes;
    use crate::NEVER;

    fn config(window: u32, storage: f64) -> Config {
        Config {
            images: 3,
            image: Distribution::Fixed(16_379.0),
            schedule: Schedule { count: Some(2), ..Schedule::each(Duration::from_secs(10)) },
            window,
            max_pdu: Bytes(16_384),
            storage: Distribution::Fixed(storage),
            associate: Bytes(2000),
            accept: Bytes(1000),
            command: Bytes(150),
            response: Bytes(130),
            writes: Writes::Messages,
            archive_writes: Writes::Messages,
            nagle: false,
            tls: Tls::NONE,
        }
    }

    fn context() -> FlowContext {
        FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) }
    }

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn at_message(modality: &mut Dicom, message: Message, seconds: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        modality.on_message(message, at(seconds), &mut actions);
        actions
    }

    /// PS3.8, 9.3.5: the maximum length counts the variable field of a PDU, so that 16,378 bytes fit in one of 16,384,
    /// and a CT slice of 524,288 bytes takes 33 PDUs of 12 bytes each.
    #[test]
    fn a_data_set_has_twelve_bytes_for_each_pdu() {
        let sizes = [1, 16_378, 16_379, 524_288].map(|size| config(1, 0.0).with_pdus(Bytes(size)).0);
        assert_eq!(sizes, [13, 16_390, 16_403, 524_684]);
    }

    /// PS3.8, 9.3.5, by hand: a command of 150 bytes in one PDU, a data set of 16,379 in two. DCMTK writes the 12 bytes of
    /// headers of each on their own (dulfsm.cc, `writeDataPDU`), and the same total.
    #[test]
    fn writes_are_messages_pdus_or_headers_and_data() {
        let sets = [Bytes(150), Bytes(16_379)];
        let sizes = |writes| config(1, 0.0).parts(writes, &sets).iter().map(|part| part.0).collect::<Vec<_>>();
        assert_eq!(sizes(Writes::Messages), [16_565]);
        assert_eq!(sizes(Writes::Pdus), [162, 16_390, 13]);
        assert_eq!(sizes(Writes::Headers), [12, 150, 12, 16_378, 12, 1]);
    }

    /// An image and its response are messages whose meaning is that of their last part.
    #[test]
    fn the_last_part_has_the_meaning() {
        let config = Config { writes: Writes::Pdus, archive_writes: Writes::Headers, ..config(1, 0.0) };
        let mut modality = Dicom::new(&config, &context());
        let mut actions = Vec::new();
        modality.on_timer(at(0), &mut actions);
        let part = |bytes, message| Action::Send(Bytes(bytes), Message { kind: PART, ..message });
        let store = Message { kind: STORE, size: Bytes(16_379), since: at(0) };
        assert_eq!(actions[2..], [part(162, store), part(16_390, store), Action::Send(Bytes(13), store)]);
        let stored = Message { kind: STORED, ..store };
        assert_eq!(at_message(&mut modality, store, 1), [part(12, stored), Action::Send(Bytes(130), stored)]);
    }

    /// PS3.8, 7.1: the association takes one round trip after that of TCP.
    #[test]
    fn an_association_takes_one_round_trip() {
        assert_eq!(sent_sizes(config(1, 0.0).application(&context())), [[2000, 1000]]);
    }

    /// By hand: an image of 16,379 bytes in two PDUs and its command of 150 in one are 16,379 + 24 + 150 + 12 bytes;
    /// the response has 142; the release 10 each way. The second study, generated at 10 s, waits for the release of the
    /// first.
    #[test]
    fn one_image_is_outstanding_and_each_study_has_an_association() {
        let mut modality = Dicom::new(&config(1, 0.0), &context());
        let message = |kind, since| Message { kind, size: Bytes(16_379), since: at(since) };
        let store = |since| Action::Send(Bytes(16_565), message(STORE, since));
        let offer = |since| Action::Offer(at(since), Bytes(49_137));
        let response = Action::Send(Bytes(142), message(STORED, 0));
        let mut actions = Vec::new();
        modality.on_timer(at(0), &mut actions);
        assert_eq!(std::mem::take(&mut actions), [offer(0), Action::Connect, store(0)]);
        modality.on_timer(at(10), &mut actions);
        assert_eq!(actions, [offer(10)]);
        for image in 1..=3 {
            let arrived = at_message(&mut modality, message(STORE, 0), 11);
            let delivery = (image == 3).then_some(Action::Deliver(at(0)));
            assert_eq!(arrived, delivery.into_iter().chain([response]).collect::<Vec<_>>());
            let stored = at_message(&mut modality, message(STORED, 0), 12);
            if image < 3 {
                assert_eq!(stored, [store(0)]);
            } else {
                let release = Message { kind: RELEASE, size: Bytes::ZERO, since: at(12) };
                assert_eq!(stored, [Action::Record(at(0), Bytes(49_137)), Action::Send(Bytes(10), release)]);
                let released = Message { kind: RELEASED, ..release };
                assert_eq!(at_message(&mut modality, release, 13), [Action::Send(Bytes(10), released)]);
                assert_eq!(at_message(&mut modality, released, 14), [Action::Connect, store(10)]);
            }
        }
    }

    /// By hand: at the stop at 15 s the study of 0 s is not stored, and that of 10 s waits. It has its association after the release
    /// of the first, and its last response ends the flow.
    #[test]
    fn a_study_that_waits_at_the_stop_is_sent() {
        let unlimited = Config { images: 1, schedule: Schedule::each(Duration::from_secs(10)), ..config(1, 0.0) };
        let mut modality = Dicom::new(&unlimited, &FlowContext { stop: at(15), ..context() });
        for seconds in [0, 10] {
            modality.on_timer(at(seconds), &mut Vec::new());
        }
        let mut actions = Vec::new();
        modality.on_timer(at(15), &mut actions);
        assert_eq!((actions, modality.due()), (vec![], NEVER));
        let message = |kind, since| Message { kind, size: Bytes(16_379), since: at(since) };
        at_message(&mut modality, message(STORE, 0), 16);
        at_message(&mut modality, message(STORED, 0), 17);
        let second = Action::Send(Bytes(16_565), message(STORE, 10));
        assert_eq!(at_message(&mut modality, message(RELEASED, 0), 19), [Action::Connect, second]);
        let arrived = at_message(&mut modality, message(STORE, 10), 20);
        assert_eq!(arrived[0], Action::Deliver(at(10)));
        assert_eq!(at_message(&mut modality, message(STORED, 10), 21).last(), Some(&Action::Finish));
    }

    /// PS3.7, annex D.3.3.3: with a window of two operations two images are sent without a response, and each response
    /// allows another one. The archive stores one after the other: images that arrive at 1 s and take 2 s have
    /// responses at 3 and 5 s.
    #[test]
    fn a_window_allows_several_operations() {
        let mut modality = Dicom::new(&config(2, 2e9), &context());
        let mut actions = Vec::new();
        modality.on_timer(at(0), &mut actions);
        let message = |kind| Message { kind, size: Bytes(16_379), since: at(0) };
        let store = Action::Send(Bytes(16_565), message(STORE));
        assert_eq!(actions[1..], [Action::Connect, store, store]);
        for _ in 0..2 {
            assert_eq!(at_message(&mut modality, message(STORE), 1), []);
        }
        for due in [3, 5] {
            assert_eq!(modality.responder_due(), at(due));
            actions.clear();
            modality.on_responder_timer(at(due), &mut actions);
            assert_eq!(actions, [Action::Send(Bytes(142), message(STORED))]);
        }
        assert_eq!(at_message(&mut modality, message(STORED), 6), [store]);
        assert_eq!(at_message(&mut modality, message(STORED), 6), []);
    }
}
