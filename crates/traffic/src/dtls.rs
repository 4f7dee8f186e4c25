//! DTLS 1.3 (RFC 9147) and DTLS 1.2 (RFC 6347): a handshake in front of the datagrams of an exchange, and the bytes of its
//! records.
//!
//! The end that sends first is the client. It sends its flight again after 1 s, which doubles up to 60 s (RFC 9147, 5.8.2),
//! until the answer is there; its datagrams wait so long. The server answers each copy, and discards datagrams that arrive
//! before the client's last flight.
//!
//! A server's flight with certificates takes several datagrams. A client of DTLS 1.3 that lacks some of them acknowledges
//! the others a quarter of its timeout after the first one, and the server sends the missing ones (RFC 9147, 7.1); with
//! DTLS 1.2 all are sent again.
//!
//! Sizes of flights: draft-ietf-iotops-security-protocol-comparison. With certificates they are those of TLS (`handshake`)
//! and what DTLS adds:
//!
//! ```text
//! DTLS 1.3, as in the draft's handshakes: 23 (ClientHello, connection identifier), 36 + 2 · 8 (server's five messages), 6
//! DTLS 1.2: 8 per record, 8 per message of the handshake (RFC 6347, 4.1 and 4.2.2), 1 + cookie in a ClientHello
//! each further datagram of a flight: a record and a header of 12 bytes for the rest of the message
//! ```
//!
//! Not modelled: cookies of DTLS 1.3, certificates of the client, new sessions, and a timer of the server.

use cwndlab_config::{fields, words, Faults, Reader};
use cwndlab_units::{Bytes, Duration, Time};

use crate::dialogue::{End, Message, FLIGHT};
use crate::exchange::{Action, Exchange};
use crate::NEVER;

words! {
    /// Whether datagrams are protected.
    pub enum DtlsVersion {
        /// no DTLS
        None = "none",
        /// DTLS 1.3: one round trip before the first datagram (RFC 9147, 5.7)
        Dtls13 = "1.3",
        /// DTLS 1.2: three round trips, one of them for a cookie (RFC 6347, 4.2.4)
        Dtls12 = "1.2",
    }
}

words! {
    /// Authentication of a DTLS handshake.
    pub enum DtlsAuthentication {
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
    /// DTLS of a flow over UDP.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Dtls {
        /// DTLS: round trips and bytes of its handshake before the first datagram, and 11 bytes (1.3) or 29 bytes (1.2)
        /// with each datagram
        dtls: DtlsVersion = absent("none", DtlsVersion::None),
        /// authentication of the DTLS handshake
        dtls_authentication: DtlsAuthentication = absent("psk", DtlsAuthentication::Psk),
        /// certificates of the server's chain beside its own
        dtls_chain: Bytes = absent("2 kB", Bytes(2000)),
    }
    check
}

/// Records with a tag of 8 bytes, figure "Overhead" of the draft.
const RECORD_13: Bytes = Bytes(11);
const RECORD_12: Bytes = Bytes(29);
/// A record of DTLS 1.2 without protection (RFC 6347, 4.1).
const PLAIN_RECORD: Bytes = Bytes(13);
/// Header of a message of the handshake, or of a fragment of it (RFC 9147, 5.2; RFC 6347, 4.2.2).
const FRAGMENT: Bytes = Bytes(12);
/// Largest datagram of a flight: a packet of IPv6 of 1280 bytes, which each path carries (RFC 8200, 5).
const DATAGRAM: Bytes = Bytes(1232);
/// So many datagrams are sent without an acknowledgement (RFC 9147, 5.8.3).
const MOST_DATAGRAMS: usize = 10;
/// A cookie: an HMAC with SHA-256 (RFC 6347, 4.2.1).
const COOKIE: u64 = 32;
/// The shortest and the longest timeout of a flight (RFC 9147, 5.8.2).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
const LAST_TIMEOUT: Duration = Duration::from_secs(60);

/// An acknowledgement (RFC 9147, 7): a record with a list of record numbers of 16 bytes behind its length of 2.
fn ack(records: u32) -> Bytes {
    RECORD_13 + Bytes(2 + 16 * u64::from(records))
}

impl Dtls {
    /// No DTLS.
    #[cfg(test)]
    pub(crate) const NONE: Self =
        Self { dtls: DtlsVersion::None, dtls_authentication: DtlsAuthentication::Psk, dtls_chain: Bytes(2000) };

    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.dtls == DtlsVersion::Dtls12 && self.dtls_authentication != DtlsAuthentication::Certificates {
            let hint = "write 'dtls_authentication = \"certificates\"', or 'dtls = \"1.3\"'";
            faults.add(table.at("dtls_authentication"), "exists here only with DTLS 1.3", hint);
        }
        if self.flights().iter().any(|flight| flight.len() > MOST_DATAGRAMS) {
            let what =
                format!("takes more than {MOST_DATAGRAMS} datagrams, which are not sent at once (RFC 9147, 5.8.3)");
            faults.add(table.at("dtls_chain"), what, "write \"2 kB\"");
        }
    }

    /// Bytes that protection adds to each datagram.
    pub(crate) fn record(self) -> Bytes {
        match self.dtls {
            DtlsVersion::None => Bytes::ZERO,
            DtlsVersion::Dtls13 => RECORD_13,
            DtlsVersion::Dtls12 => RECORD_12,
        }
    }

    /// The datagrams of each flight, from client and server in turn; of DTLS 1.3 with connection identifiers, the last one the
    /// acknowledgement of the client's last flight.
    fn flights(self) -> Vec<Vec<Bytes>> {
        let chain = self.dtls_chain.0;
        let (flights, record) = match (self.dtls, self.dtls_authentication) {
            (DtlsVersion::Dtls12, _) => (vec![187, 28 + COOKIE, 187 + COOKIE, 1252 + chain, 157, 99], PLAIN_RECORD),
            (_, DtlsAuthentication::Certificates) => (vec![276, 1419 + chain, 85, ack(1).0], RECORD_13),
            (_, DtlsAuthentication::RawKeys) => (vec![185, 454, 255, ack(1).0], RECORD_13),
            (_, DtlsAuthentication::PskEcdhe) => (vec![219, 226, 56, ack(1).0], RECORD_13),
            (_, DtlsAuthentication::Psk) => (vec![136, 153, 56, ack(1).0], RECORD_13),
        };
        flights.into_iter().map(|bytes| datagrams(Bytes(bytes), record + FRAGMENT)).collect()
    }

    /// The exchange behind its handshake, if it has one.
    pub(crate) fn wrap(self, exchange: Box<dyn Exchange>) -> Box<dyn Exchange> {
        if self.dtls == DtlsVersion::None {
            return exchange;
        }
        let flights = self.flights();
        let acknowledges = self.dtls == DtlsVersion::Dtls13;
        Box::new(Protected {
            exchange,
            // DTLS 1.3 acknowledges the client's last flight, behind which its datagrams go.
            ready: flights.len() - if acknowledges { 3 } else { 1 },
            flights,
            acknowledges,
            record: self.record(),
            stage: Stage::Idle,
            client: End::Sender,
            client_ready: false,
            server_ready: false,
            received: 0,
            waiting: Vec::new(),
            due: NEVER,
            timeout: FIRST_TIMEOUT,
        })
    }
}

/// The datagrams of a flight, each further one with `more` bytes.
fn datagrams(mut rest: Bytes, more: Bytes) -> Vec<Bytes> {
    let mut list = Vec::new();
    while rest > DATAGRAM && list.len() < MOST_DATAGRAMS {
        list.push(DATAGRAM);
        rest = rest - DATAGRAM + more;
    }
    list.push(rest);
    list
}

/// The client's part of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was sent.
    Idle,
    /// This flight of the server is awaited.
    Awaits(usize),
    /// There is no further flight.
    Done,
}

/// A part of a handshake: a flight's number, and the number of the datagram in it; with `ACKNOWLEDGED`, the set of its
/// datagrams that the client has. It is the size of a message.
fn part(number: usize, datagrams: u64) -> Message {
    Message { kind: FLIGHT, size: Bytes(number as u64 + (datagrams << 8)), since: Time::ZERO }
}

/// The part is an acknowledgement of some datagrams of the flight.
const ACKNOWLEDGED: usize = 128;

/// An exchange with a handshake.
#[derive(Debug)]
struct Protected {
    exchange: Box<dyn Exchange>,
    flights: Vec<Vec<Bytes>>,
    /// The server's flight after which the client sends datagrams.
    ready: usize,
    /// The client acknowledges a part of a flight.
    acknowledges: bool,
    /// Bytes that protection adds to each datagram.
    record: Bytes,
    stage: Stage,
    client: End,
    /// The client may send datagrams.
    client_ready: bool,
    /// The server has the client's last flight.
    server_ready: bool,
    /// The set of datagrams of the awaited flight that the client has.
    received: u64,
    /// Datagrams that wait for the handshake.
    waiting: Vec<(End, Bytes, Message)>,
    /// Time of the client's next retransmission or acknowledgement.
    due: Time,
    timeout: Duration,
}

impl Protected {
    /// Appends the actions of the exchange.
    fn forward(&mut self, of_exchange: Vec<Action>, now: Time, actions: &mut Vec<Action>) {
        for action in of_exchange {
            match action {
                Action::Send(from, bytes, message) if !self.client_ready => {
                    if self.stage == Stage::Idle {
                        self.client = from;
                        self.begin(0, now, actions);
                    }
                    // A retransmission of what waits would only follow it.
                    if !self.waiting.iter().any(|&(_, _, other)| other == message) {
                        self.waiting.push((from, bytes, message));
                    }
                }
                Action::Send(from, bytes, message) => actions.push(Action::Send(from, bytes + self.record, message)),
                other => actions.push(other),
            }
        }
    }

    /// Sends a flight of the client, and awaits the server's answer.
    fn begin(&mut self, number: usize, now: Time, actions: &mut Vec<Action>) {
        self.stage = Stage::Awaits(number + 1);
        self.received = 0;
        self.timeout = FIRST_TIMEOUT;
        self.due = now + FIRST_TIMEOUT;
        self.send_flight(number, 0, actions);
    }

    /// Sends the datagrams of a flight without those that the other end has.
    fn send_flight(&self, number: usize, known: u64, actions: &mut Vec<Action>) {
        let from = if number.is_multiple_of(2) { self.client } else { self.client.other() };
        for (datagram, &bytes) in self.flights[number].iter().enumerate() {
            if known >> datagram & 1 == 0 {
                actions.push(Action::Send(from, bytes, part(number, datagram as u64)));
            }
        }
    }

    fn on_part(&mut self, message: Message, now: Time, actions: &mut Vec<Action>) {
        let (number, datagrams) = ((message.size.0 & 0xff) as usize, message.size.0 >> 8);
        if number >= ACKNOWLEDGED {
            self.send_flight(number - ACKNOWLEDGED, datagrams, actions);
        } else if number.is_multiple_of(2) {
            self.server_ready |= number + 2 == self.flights.len();
            self.send_flight(number + 1, 0, actions);
        } else if self.stage == Stage::Awaits(number) {
            self.on_server_flight(number, datagrams, now, actions);
        }
    }

    /// Handles a datagram of the flight that the client awaits.
    fn on_server_flight(&mut self, number: usize, datagram: u64, now: Time, actions: &mut Vec<Action>) {
        if self.received == 0 && self.acknowledges {
            self.due = self.due.min(now + self.timeout / 4);
        }
        self.received |= 1 << datagram;
        if self.received.count_ones() as usize != self.flights[number].len() {
            return;
        }
        if number + 1 < self.flights.len() {
            self.begin(number + 1, now, actions);
        } else {
            (self.stage, self.due) = (Stage::Done, NEVER);
        }
        if number == self.ready {
            self.client_ready = true;
            let waiting = std::mem::take(&mut self.waiting);
            let record = self.record;
            actions.extend(waiting.into_iter().map(|(from, bytes, one)| Action::Send(from, bytes + record, one)));
        }
    }

    /// Sends the client's flight again, or acknowledges what it has of the answer.
    fn on_timeout(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Stage::Awaits(number) = self.stage else { return };
        if self.acknowledges && self.received != 0 {
            let message = part(number + ACKNOWLEDGED, self.received);
            actions.push(Action::Send(self.client, ack(self.received.count_ones()), message));
            self.due = now + self.timeout;
            self.timeout = (self.timeout + self.timeout).min(LAST_TIMEOUT);
            return;
        }
        self.timeout = (self.timeout + self.timeout).min(LAST_TIMEOUT);
        self.due = now + self.timeout;
        self.send_flight(number - 1, 0, actions);
    }
}

impl Exchange for Protected {
    fn due(&self) -> Time {
        self.exchange.due().min(self.due)
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.due <= now {
            self.on_timeout(now, actions);
        }
        let mut more = Vec::new();
        self.exchange.on_timer(now, &mut more);
        self.forward(more, now, actions);
    }

    fn on_datagram(&mut self, at: End, message: Message, now: Time, actions: &mut Vec<Action>) {
        if message.kind == FLIGHT {
            return self.on_part(message, now, actions);
        }
        if at == self.client || self.server_ready {
            let mut more = Vec::new();
            self.exchange.on_datagram(at, message, now, &mut more);
            self.forward(more, now, actions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a datagram of 10 bytes at 0 and 5 s, and answers each with 20.
    #[derive(Debug, Default)]
    struct Client(u64);

    const AT: [Time; 2] = [Time::ZERO, Time::from_nanos(5_000_000_000)];

    impl Exchange for Client {
        fn due(&self) -> Time {
            AT.get(self.0 as usize).copied().unwrap_or(NEVER)
        }

        fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
            if self.due() <= now {
                self.0 += 1;
                actions.push(Action::Send(End::Sender, Bytes(10), Message { kind: 0, size: Bytes(1), since: now }));
            }
        }

        fn on_datagram(&mut self, at: End, message: Message, _: Time, actions: &mut Vec<Action>) {
            if at == End::Receiver {
                actions.push(Action::Send(End::Receiver, Bytes(20), message));
            }
        }
    }

    fn version(dtls: DtlsVersion, dtls_authentication: DtlsAuthentication) -> Dtls {
        Dtls { dtls, dtls_authentication, ..Dtls::NONE }
    }

    fn client(authentication: DtlsAuthentication) -> Box<dyn Exchange> {
        version(DtlsVersion::Dtls13, authentication).wrap(Box::new(Client::default()))
    }

    fn at(second: u64) -> Time {
        Time::from_nanos(second * 1_000_000_000)
    }

    /// What the ends send if nothing is lost, one row per half round trip.
    fn rows(exchange: &mut dyn Exchange) -> Vec<Vec<u64>> {
        let mut actions = Vec::new();
        exchange.on_timer(at(0), &mut actions);
        let mut rows = Vec::new();
        while !actions.is_empty() {
            let sent: Vec<_> = actions
                .drain(..)
                .filter_map(
                    |one| if let Action::Send(from, bytes, one) = one { Some((from, bytes.0, one)) } else { None },
                )
                .collect();
            rows.push(sent.iter().map(|(_, bytes, _)| *bytes).collect());
            for (from, _, message) in sent {
                exchange.on_datagram(from.other(), message, at(0), &mut actions);
            }
        }
        rows
    }

    /// RFC 9147, section 5.7, figure 7: the datagram follows the client's last flight after a round trip. Sizes by the draft;
    /// each record has 11 bytes.
    #[test]
    fn the_handshake_takes_a_round_trip() {
        let full = |first, second, third| vec![vec![first], vec![second], vec![third, 21], vec![29, 31]];
        assert_eq!(rows(&mut *client(DtlsAuthentication::RawKeys)), full(185, 454, 255));
        assert_eq!(rows(&mut *client(DtlsAuthentication::PskEcdhe)), full(219, 226, 56));
        let mut psk = client(DtlsAuthentication::Psk);
        assert_eq!(rows(&mut *psk), full(136, 153, 56));
        assert_eq!(psk.due(), at(5), "the handshake is over");
    }

    /// RFC 9147, section 5.8.2: timeouts of 1, 2, 4 s. The datagram of 5 s waits with that of 0 s, and both follow the last
    /// flight, which is repeated until it is acknowledged. What overtakes it is discarded.
    #[test]
    fn lost_flights_are_repeated() {
        let mut one = client(DtlsAuthentication::Psk);
        let mut actions = Vec::new();
        one.on_timer(at(0), &mut actions);
        let flight = |number, bytes| {
            let from = if number % 2 == 0 { End::Sender } else { End::Receiver };
            Action::Send(from, Bytes(bytes), Message { kind: FLIGHT, size: Bytes(number), since: Time::ZERO })
        };
        let data = |second| Message { kind: 0, size: Bytes(1), since: at(second) };
        assert_eq!(std::mem::take(&mut actions), [flight(0, 136)]);
        for second in [1, 3] {
            assert_eq!(one.due(), at(second));
            one.on_timer(at(second), &mut actions);
            assert_eq!(std::mem::take(&mut actions), [flight(0, 136)]);
        }
        one.on_timer(at(5), &mut actions);
        assert_eq!(std::mem::take(&mut actions), []);
        one.on_datagram(End::Sender, Message { kind: FLIGHT, ..data(0) }, at(6), &mut actions);
        let datagrams = [0, 5].map(|second| Action::Send(End::Sender, Bytes(21), data(second)));
        assert_eq!(std::mem::take(&mut actions), [vec![flight(2, 56)], datagrams.to_vec()].concat());
        one.on_datagram(End::Receiver, data(0), at(6), &mut actions);
        assert_eq!(std::mem::take(&mut actions), [], "the server has no keys yet");
        assert_eq!(one.due(), at(7));
        one.on_timer(at(7), &mut actions);
        assert_eq!(std::mem::take(&mut actions), [flight(2, 56)]);
        one.on_datagram(End::Receiver, Message { kind: FLIGHT, size: Bytes(2), since: at(0) }, at(8), &mut actions);
        assert_eq!(std::mem::take(&mut actions), [flight(3, 29)]);
        one.on_datagram(End::Sender, Message { kind: FLIGHT, size: Bytes(3), since: at(0) }, at(8), &mut actions);
        one.on_datagram(End::Receiver, data(5), at(8), &mut actions);
        assert_eq!(actions, [Action::Send(End::Receiver, Bytes(31), data(5))]);
        assert_eq!(one.due(), NEVER);
    }

    /// RFC 9147, section 5.7, figure 6, by hand: 1419 bytes of a server's flight and 2000 of its chain take three datagrams, each
    /// further one with 23 bytes; the first datagram follows after one round trip. RFC 6347, figure 1: after three, with a
    /// cookie of 32 bytes; 1252 + 2000 bytes, each further datagram with 25, and 29 bytes with each record.
    #[test]
    fn certificates_take_several_datagrams() {
        let certificates = DtlsAuthentication::Certificates;
        let new = rows(&mut *version(DtlsVersion::Dtls13, certificates).wrap(Box::new(Client::default())));
        assert_eq!(new, [vec![276], vec![1232, 1232, 1001], vec![85, 21], vec![29, 31]]);
        let mut old = version(DtlsVersion::Dtls12, certificates).wrap(Box::new(Client::default()));
        let flights = [vec![187], vec![60], vec![219], vec![1232, 1232, 838], vec![157], vec![99]];
        assert_eq!(rows(&mut *old), [&flights[..], &[vec![39], vec![49]]].concat());
        assert_eq!(old.due(), at(5), "the handshake is over");
    }

    /// A client whose server's flight has arrived without its second datagram at 0.1 s, and what it does then: when, and the
    /// sizes of what both ends send.
    fn without_a_datagram(dtls: DtlsVersion, number: usize) -> (u64, Vec<u64>, Vec<u64>) {
        let mut one = version(dtls, DtlsAuthentication::Certificates).wrap(Box::new(Client::default()));
        let mut actions = Vec::new();
        one.on_timer(at(0), &mut actions);
        for earlier in (1..number).step_by(2) {
            one.on_datagram(End::Sender, part(earlier, 0), at(0), &mut actions);
        }
        let arrival = Time::from_nanos(100_000_000);
        for datagram in [0, 2] {
            one.on_datagram(End::Sender, part(number, datagram), arrival, &mut actions);
        }
        let due = one.due();
        let mut sizes = [vec![], vec![]];
        for (step, list) in sizes.iter_mut().enumerate() {
            let sent = std::mem::take(&mut actions);
            if step == 0 {
                one.on_timer(due, &mut actions);
            } else {
                for action in sent {
                    let Action::Send(_, _, message) = action else { panic!("{action:?}") };
                    one.on_datagram(End::Receiver, message, due, &mut actions);
                }
            }
            list.extend(actions.iter().map(|action| if let Action::Send(_, bytes, _) = action { bytes.0 } else { 0 }));
        }
        let [client, server] = sizes;
        (due.as_nanos() / 1_000_000, client, server)
    }

    /// RFC 9147, section 7.1: 250 ms after the first datagram the client acknowledges two records, 11 + 2 + 2 · 16 bytes, and the
    /// server sends the third. RFC 6347, section 4.2.4: after 1 s the client repeats its flight, and the server all of its own.
    #[test]
    fn a_lost_datagram_of_a_flight_is_sent_again() {
        assert_eq!(without_a_datagram(DtlsVersion::Dtls13, 1), (350, vec![45], vec![1232]));
        assert_eq!(without_a_datagram(DtlsVersion::Dtls12, 3), (1000, vec![219], vec![1232, 1232, 838]));
    }
}
