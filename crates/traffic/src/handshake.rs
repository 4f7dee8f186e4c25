//! Handshakes: what the ends of a connection exchange before the first message of a dialogue, such as TLS or a login.
//!
//! A `Handshake` is a list of flights, which both ends send in turn. `Handshake::wrap` puts it in front of each
//! connection of a dialogue: messages that the dialogue sends before the end of the handshake wait.
//!
//! Sources: RFC 8446 (TLS 1.3), RFC 5246 (TLS 1.2); sizes of flights: draft-ietf-iotops-security-protocol-comparison. Not
//! modelled: session tickets, alerts, computing times, and a server that needs a round trip to validate a path.

use cwndlab_config::{fields, words, Faults, Reader};
use cwndlab_units::{Bytes, Time};

use crate::dialogue::{send_in_parts, Action, Dialogue, End, Message, FLIGHT};
use crate::quic;

words! {
    /// Version of TLS.
    pub enum TlsVersion {
        /// no TLS
        None = "none",
        /// TLS 1.3: one round trip before the first message (RFC 8446, 2)
        Tls13 = "1.3",
        /// TLS 1.3 that resumes an earlier session: the first message follows the first flight (RFC 8446, 2.3)
        EarlyData = "1.3-0rtt",
        /// TLS 1.2: two round trips before the first message (RFC 5246, 7.3)
        Tls12 = "1.2",
    }
}

words! {
    /// Authentication of a TLS handshake.
    pub enum Authentication {
        /// a certificate of the server, and those of its chain
        Certificates = "certificates",
        /// raw public keys of both ends (RFC 7250)
        RawKeys = "raw-keys",
        /// a pre-shared key with a Diffie–Hellman exchange
        PskEcdhe = "psk-ecdhe",
        /// a pre-shared key
        Psk = "psk",
    }
}

fields! {
    /// TLS of a dialogue's connections.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Tls {
        /// TLS of each connection: round trips and bytes of its handshake, and 22 bytes (1.3) or 29 bytes (1.2) with
        /// each record of up to 16384 bytes
        tls: TlsVersion = absent("none", TlsVersion::None),
        /// authentication of the TLS handshake
        tls_authentication: Option<Authentication> = absent("certificates; psk-ecdhe with 0-RTT"),
        /// certificates of the server's chain beside its own
        tls_chain: Bytes = absent("2 kB", Bytes(2000)),
    }
    check
}

/// Largest payload of a record (RFC 8446, 5.1; RFC 5246, 6.2.1).
const RECORD: u64 = 16_384;
/// A record of TLS 1.3: header of 5 bytes, content type, tag of 16 bytes (RFC 8446, 5.2).
const RECORD_13: u64 = 22;
/// A record of TLS 1.2 with AES-GCM: header of 5 bytes, explicit nonce of 8 (RFC 5288, 3), tag of 16.
const RECORD_12: u64 = 29;
/// The empty extension `early_data` (RFC 8446, 4.2.10) of `ClientHello` and `EncryptedExtensions`.
const EARLY_DATA: u64 = 4;
/// `EndOfEarlyData` (RFC 8446, 4.5), a message without content, in a record of its own.
const END_OF_EARLY_DATA: u64 = 4 + RECORD_13;

impl Tls {
    /// No TLS.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self { tls: TlsVersion::None, tls_authentication: None, tls_chain: Bytes(2000) };

    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        let authentication = self.authentication();
        let psk = matches!(authentication, Authentication::PskEcdhe | Authentication::Psk);
        if self.tls == TlsVersion::EarlyData && !psk {
            faults.add(table.at("tls_authentication"), "is not a pre-shared key", "0-RTT has one (RFC 8446, 2.3)");
        }
        if self.tls == TlsVersion::Tls12 && authentication != Authentication::Certificates {
            faults.add(table.at("tls_authentication"), "exists here only with TLS 1.3", "write 'tls = \"1.3\"'");
        }
    }

    /// Checks the TLS of QUIC.
    pub(crate) fn check_quic(&self, table: &Reader<'_>, faults: &mut Faults) {
        if !matches!(self.tls, TlsVersion::Tls13 | TlsVersion::EarlyData) {
            let what = "is not TLS 1.3, which QUIC's handshake is (RFC 9001)";
            faults.add(table.at("tls"), what, "write 'tls = \"1.3\"' or \"1.3-0rtt\"");
        }
    }

    /// Whether there is TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.tls != TlsVersion::None
    }

    fn authentication(&self) -> Authentication {
        let early = self.tls == TlsVersion::EarlyData;
        self.tls_authentication.unwrap_or(if early { Authentication::PskEcdhe } else { Authentication::Certificates })
    }

    /// The flights of TLS 1.3, figure "Comparison of message sizes" of the draft; with certificates those of its section
    /// on TLS 1.2, the handshakes of "The Illustrated TLS Connection" with one certificate.
    fn flights(&self) -> Vec<u64> {
        let chain = self.tls_chain.0;
        let mut flights = match (self.tls, self.authentication()) {
            (TlsVersion::None, _) => vec![],
            (TlsVersion::Tls12, _) => vec![170, 1188 + chain, 117, 75],
            (_, Authentication::Certificates) => vec![253, 1367 + chain, 79],
            (_, Authentication::RawKeys) => vec![162, 394, 233],
            (_, Authentication::PskEcdhe) => vec![196, 190, 50],
            (_, Authentication::Psk) => vec![113, 117, 50],
        };
        if self.tls == TlsVersion::EarlyData {
            for (flight, more) in flights.iter_mut().zip([EARLY_DATA, EARLY_DATA, END_OF_EARLY_DATA]) {
                *flight += more;
            }
        }
        flights
    }
}

/// The sizes of what an end writes, one after the other, in a flight.
pub(crate) type Writes = Vec<Bytes>;

/// The flights before the first message of a dialogue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handshake {
    /// In turn from the opener and from the other end.
    flights: Vec<Writes>,
    /// The flight with which the opener's first message may be sent: one that it sends, or the last one that it receives.
    ready: usize,
    /// Bytes that protection adds to each record.
    record: u64,
    /// The handshake of the connections after the first one whose handshake has ended; `None`: the same.
    again: Option<Box<Handshake>>,
}

impl Handshake {
    /// Appends TLS, which protects all that follows.
    pub(crate) fn secure(mut self, tls: &Tls) -> Self {
        let flights: Vec<Writes> = tls.flights().into_iter().map(|bytes| vec![Bytes(bytes)]).collect();
        let (ready, record) = match tls.tls {
            TlsVersion::None => return self,
            TlsVersion::Tls13 => (2, RECORD_13),
            TlsVersion::EarlyData => (0, RECORD_13),
            TlsVersion::Tls12 => (3, RECORD_12),
        };
        self.append(&flights, ready);
        self.record = record;
        self
    }

    /// The handshake of a QUIC connection, whose packets are protected as parts of their headers. There is no
    /// `EndOfEarlyData` (RFC 9001, 8.3).
    pub(crate) fn quic(tls: &Tls) -> Self {
        let sizes = tls.flights();
        let (Some(&hello), Some(&server)) = (sizes.first(), sizes.get(1)) else { return Self::default() };
        let flights: Vec<Writes> = quic::flights(hello, server).into_iter().map(|bytes| vec![bytes]).collect();
        let ready = if tls.tls == TlsVersion::EarlyData { 0 } else { flights.len() - 2 };
        Self { flights, ready, record: 0, again: None }
    }

    /// Appends an even number of flights, the first one from the opener.
    pub(crate) fn then(self, flights: &[Bytes]) -> Self {
        self.then_in_parts(flights.iter().map(|&bytes| vec![bytes]))
    }

    /// The same with the writes of each flight.
    pub(crate) fn then_in_parts(mut self, flights: impl IntoIterator<Item = Writes>) -> Self {
        let protect = |one: Writes| one.into_iter().map(|bytes| self.protect(bytes)).collect();
        let protected: Vec<Writes> = flights.into_iter().map(protect).collect();
        self.append(&protected, protected.len() - 1);
        self
    }

    /// Sets the handshake of later connections.
    pub(crate) fn again(self, other: Self) -> Self {
        Self { again: Some(Box::new(other)), ..self }
    }

    /// The first of these flights goes with the one after which the opener may send messages.
    fn append(&mut self, flights: &[Writes], ready: usize) {
        let first = if self.flights.is_empty() { 0 } else { self.ready + self.ready % 2 };
        self.flights.resize(self.flights.len().max(first + flights.len()), Writes::new());
        for (flight, more) in self.flights[first..].iter_mut().zip(flights) {
            match (flight.last_mut(), more.split_first()) {
                (Some(last), Some((&bytes, rest))) => {
                    *last += bytes;
                    flight.extend_from_slice(rest);
                }
                _ => flight.extend_from_slice(more),
            }
        }
        self.ready = first + ready;
    }

    /// Size of a message with its records.
    fn protect(&self, bytes: Bytes) -> Bytes {
        bytes + Bytes(self.record * bytes.0.div_ceil(RECORD))
    }

    /// The dialogue with this handshake on each of its connections.
    pub(crate) fn wrap(self, dialogue: Box<dyn Dialogue>) -> Box<dyn Dialogue> {
        if self.flights.is_empty() {
            return dialogue;
        }
        Box::new(WithHandshake { handshake: self, dialogue, ready: false, ended: false, waiting: Vec::new() })
    }
}

/// A dialogue with a handshake.
#[derive(Debug)]
struct WithHandshake {
    handshake: Handshake,
    dialogue: Box<dyn Dialogue>,
    /// The opener may send messages.
    ready: bool,
    /// A handshake has ended.
    ended: bool,
    /// The opener's messages that wait for the end of the handshake.
    waiting: Vec<(Bytes, Message)>,
}

impl WithHandshake {
    /// Appends the actions of the dialogue.
    fn forward(&mut self, from_dialogue: Vec<Action>, now: Time, actions: &mut Vec<Action>) {
        for action in from_dialogue {
            match action {
                Action::Connect => {
                    if let Some(again) = self.handshake.again.take_if(|_| self.ended) {
                        self.handshake = *again;
                    }
                    self.ready = false;
                    self.waiting.clear();
                    actions.push(action);
                    self.send_flight(0, now, actions);
                }
                Action::Send(bytes, message) if self.ready => {
                    actions.push(Action::Send(self.handshake.protect(bytes), message));
                }
                Action::Send(bytes, message) => self.waiting.push((bytes, message)),
                other => actions.push(other),
            }
        }
    }

    /// Sends a flight, if there is one with this number.
    fn send_flight(&mut self, number: usize, now: Time, actions: &mut Vec<Action>) {
        let Some(writes) = self.handshake.flights.get(number) else { return };
        send_in_parts(writes, Message { kind: FLIGHT, size: Bytes(number as u64), since: now }, actions);
        if number == self.handshake.ready && number.is_multiple_of(2) {
            self.on_ready(now, actions);
        }
    }

    /// Sends the messages that waited.
    fn on_ready(&mut self, now: Time, actions: &mut Vec<Action>) {
        (self.ready, self.ended) = (true, true);
        let waiting = std::mem::take(&mut self.waiting);
        actions
            .extend(waiting.into_iter().map(|(bytes, message)| Action::Send(self.handshake.protect(bytes), message)));
        let mut more = Vec::new();
        self.dialogue.on_connected(now, &mut more);
        self.forward(more, now, actions);
    }
}

impl Dialogue for WithHandshake {
    fn opener(&self) -> End {
        self.dialogue.opener()
    }

    fn nagle(&self, end: End) -> bool {
        self.dialogue.nagle(end)
    }

    fn due(&self) -> Time {
        self.dialogue.due()
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        let mut more = Vec::new();
        self.dialogue.on_timer(now, &mut more);
        self.forward(more, now, actions);
    }

    fn responder_due(&self) -> Time {
        self.dialogue.responder_due()
    }

    fn on_responder_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        let mut more = Vec::new();
        self.dialogue.on_responder_timer(now, &mut more);
        self.forward(more, now, actions);
    }

    fn on_forwarded(&mut self, since: Time, size: Bytes, now: Time, actions: &mut Vec<Action>) {
        let mut more = Vec::new();
        self.dialogue.on_forwarded(since, size, now, &mut more);
        self.forward(more, now, actions);
    }

    fn on_message(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        if message.kind != FLIGHT {
            let mut more = Vec::new();
            self.dialogue.on_message(message, now, &mut more);
            return self.forward(more, now, actions);
        }
        let number = message.size.0 as usize;
        self.send_flight(number + 1, now, actions);
        if number == self.handshake.ready && number % 2 == 1 {
            self.on_ready(now, actions);
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::Application;

    /// The sizes of the flights of a dialogue's first connection, one row per round trip.
    pub(crate) fn sent_sizes(application: Application) -> Vec<[u64; 2]> {
        let Application::Dialogue(mut dialogue) = application else { panic!("{application:?}") };
        let mut actions = Vec::new();
        dialogue.on_timer(Time::ZERO, &mut actions);
        let mut sizes = Vec::new();
        while let Some(Action::Send(bytes, message)) = actions.iter().copied().find(is_flight) {
            sizes.push(bytes.0);
            actions.clear();
            dialogue.on_message(message, Time::ZERO, &mut actions);
        }
        sizes.chunks(2).map(|two| [two[0], two.get(1).copied().unwrap_or(0)]).collect()
    }

    /// The sizes of the flights of a first connection, and of a later one.
    pub(crate) fn flight_sizes(handshake: &Handshake) -> [Vec<u64>; 2] {
        [handshake, handshake.again.as_deref().unwrap_or(handshake)]
            .map(|one| one.flights.iter().map(|flight| flight.iter().map(|write| write.0).sum()).collect())
    }

    fn is_flight(action: &Action) -> bool {
        matches!(action, Action::Send(_, Message { kind: FLIGHT, .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Configuration;
    use crate::flow_context::FlowContext;
    use crate::workloads::request_response;
    use crate::{Application, Distribution, NEVER};

    /// A client with a request of 100 bytes and a response of 20,000, behind a handshake.
    fn client(handshake: Handshake) -> Box<dyn Dialogue> {
        let config = request_response::Config {
            request: Distribution::Fixed(100.0),
            response: Distribution::Fixed(20_000.0),
            think: Distribution::Fixed(0.0),
            count: Some(1),
            new_connection: false,
        };
        let flow = FlowContext { flow: 0.into(), seed: 1, stop: NEVER, header: Bytes(40) };
        match config.application(&flow) {
            Application::Dialogue(dialogue) => handshake.wrap(dialogue),
            other => panic!("{other:?}"),
        }
    }

    fn tls(version: TlsVersion, authentication: Option<Authentication>) -> Handshake {
        let tls = Tls { tls: version, tls_authentication: authentication, tls_chain: Bytes(2000) };
        Handshake::default().secure(&tls)
    }

    /// The sizes of what both ends send, one row per half round trip, each end's messages together.
    fn exchange(handshake: Handshake) -> Vec<Vec<u64>> {
        let mut dialogue = client(handshake);
        let mut rows = Vec::new();
        let mut actions = Vec::new();
        dialogue.on_timer(Time::ZERO, &mut actions);
        loop {
            let sent: Vec<(Bytes, Message)> = actions
                .drain(..)
                .filter_map(
                    |action| if let Action::Send(bytes, message) = action { Some((bytes, message)) } else { None },
                )
                .collect();
            if sent.is_empty() {
                return rows;
            }
            rows.push(sent.iter().map(|(bytes, _)| bytes.0).collect());
            for (_, message) in sent {
                dialogue.on_message(message, Time::ZERO, &mut actions);
            }
        }
    }

    /// RFC 8446, section 2 and figure 1: the request goes with the client's second flight, one round trip after the
    /// first. Sizes of flights by the draft; a record of 16,384 bytes at most has 22 bytes, so that the response takes
    /// two.
    #[test]
    fn tls_1_3_takes_one_round_trip() {
        let sizes = exchange(tls(TlsVersion::Tls13, Some(Authentication::RawKeys)));
        assert_eq!(sizes, [vec![162], vec![394], vec![233, 122], vec![20_044]]);
        let certificates = exchange(tls(TlsVersion::Tls13, None));
        assert_eq!(certificates, [vec![253], vec![3367], vec![79, 122], vec![20_044]]);
    }

    /// RFC 8446, section 2.3 and figure 4: the request follows the first flight; the server's flight is followed by its
    /// response, and the client ends the early data.
    #[test]
    fn early_data_takes_no_round_trip() {
        let sizes = exchange(tls(TlsVersion::EarlyData, Some(Authentication::Psk)));
        assert_eq!(sizes, [vec![117, 122], vec![121, 20_044], vec![76]]);
    }

    /// RFC 9001, sections 4 and 4.6, by hand: the request follows the server's flight, which a long chain of certificates
    /// divides (RFC 9000, 8.1), or with 0-RTT the first flight. Packets have no records. Sizes as in `quic`.
    #[test]
    fn a_handshake_of_quic_takes_one_round_trip_or_none() {
        let quic = |version, authentication, chain| {
            let tls = Tls { tls: version, tls_authentication: authentication, tls_chain: Bytes(chain) };
            exchange(Handshake::quic(&tls))
        };
        let full = quic(TlsVersion::Tls13, None, 2000);
        assert_eq!(full, [vec![1166], vec![3466], vec![1166, 100], vec![20_000]]);
        let long = quic(TlsVersion::Tls13, None, 3633);
        assert_eq!(long, [vec![1166], vec![3498], vec![1166], vec![1631], vec![1166, 100], vec![20_000]]);
        let early = quic(TlsVersion::EarlyData, None, 2000);
        assert_eq!(early, [vec![1166, 100], vec![1166, 20_000], vec![1166]]);
    }

    /// RFC 5246, section 7.3, figure 1: the request follows the server's second flight, after two round trips.
    #[test]
    fn tls_1_2_takes_two_round_trips() {
        let sizes = exchange(tls(TlsVersion::Tls12, None));
        assert_eq!(sizes, [vec![170], vec![3188], vec![117], vec![75], vec![129], vec![20_058]]);
    }

    /// A login of one round trip after TLS: its request goes with the client's last flight of TLS 1.3, with the first
    /// one of early data, and after the whole handshake of TLS 1.2.
    #[test]
    fn a_login_follows_tls() {
        let login = [Bytes(10), Bytes(20)];
        let psk = Some(Authentication::Psk);
        let after = |version, authentication| exchange(tls(version, authentication).then(&login));
        let full = [vec![113], vec![117], vec![50 + 32], vec![42], vec![122], vec![20_044]];
        assert_eq!(after(TlsVersion::Tls13, psk), full);
        let early = [vec![117 + 32], vec![121 + 42], vec![76, 122], vec![20_044]];
        assert_eq!(after(TlsVersion::EarlyData, psk), early);
        let old = [vec![170], vec![3188], vec![117], vec![75], vec![39], vec![49], vec![129], vec![20_058]];
        assert_eq!(after(TlsVersion::Tls12, None), old);
    }

    /// Without TLS nothing is added; before TLS nothing is protected (STARTTLS).
    #[test]
    fn flights_before_tls_are_not_protected() {
        let start = Handshake::default().then(&[Bytes(51), Bytes(50)]);
        let psk = Tls { tls: TlsVersion::Tls13, tls_authentication: Some(Authentication::Psk), tls_chain: Bytes(0) };
        let sizes = exchange(start.clone().secure(&psk));
        assert_eq!(sizes, [vec![51], vec![50], vec![113], vec![117], vec![50, 122], vec![20_044]]);
        assert_eq!(exchange(start.secure(&Tls::NONE)), [vec![51], vec![50], vec![100], vec![20_000]]);
        assert_eq!(exchange(Handshake::default().secure(&Tls::NONE)), [vec![100], vec![20_000]]);
    }
}
