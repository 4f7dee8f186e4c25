//! DTLS 1.3 (RFC 9147): a handshake in front of the datagrams of an exchange, and the bytes of its records.
//!
//! The end that sends first is the client. It sends its flight again after 1 s, which doubles up to 60 s (RFC 9147, 5.8.2),
//! until the answer is there; its datagrams wait so long. The server answers each copy, and discards datagrams that arrive
//! before the client's last flight. Sizes of flights: draft-ietf-iotops-security-protocol-comparison. Not modelled: cookies,
//! certificates, new sessions and fragments of flights.

use cwndlab_config::{fields, words};
use cwndlab_units::{Bytes, Duration, Time};

use crate::dialogue::{End, Message};
use crate::exchange::{Action, Exchange};
use crate::NEVER;

words! {
    /// Whether datagrams are protected.
    pub enum DtlsVersion {
        /// no DTLS
        None = "none",
        /// DTLS 1.3: one round trip before the first datagram (RFC 9147, 5.7)
        Dtls13 = "1.3",
    }
}

words! {
    /// Authentication of a DTLS handshake.
    pub enum DtlsAuthentication {
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
        /// DTLS: a round trip and the bytes of its handshake before the first datagram, and 11 bytes with each datagram
        dtls: DtlsVersion = absent("none", DtlsVersion::None),
        /// authentication of the DTLS handshake
        dtls_authentication: DtlsAuthentication = absent("psk", DtlsAuthentication::Psk),
    }
}

/// A record of DTLS 1.3 with a tag of 8 bytes, figure "Overhead" of the draft.
pub(crate) const RECORD: Bytes = Bytes(11);
/// The ACK of the client's last flight (RFC 9147, 4 and 7): a record with a list of one record number of 16 bytes behind its
/// length of 2.
const ACK: Bytes = Bytes(11 + 2 + 16);
/// The shortest and the longest timeout of a flight (RFC 9147, 5.8.2).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
const LAST_TIMEOUT: Duration = Duration::from_secs(60);

impl Dtls {
    /// No DTLS.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self { dtls: DtlsVersion::None, dtls_authentication: DtlsAuthentication::Psk };

    /// Bytes that protection adds to each datagram.
    pub(crate) fn record(self) -> Bytes {
        if self.dtls == DtlsVersion::None {
            Bytes::ZERO
        } else {
            RECORD
        }
    }

    /// The flights with connection identifiers, from client and server in turn.
    fn flights(self) -> [Bytes; 3] {
        match self.dtls_authentication {
            DtlsAuthentication::RawKeys => [185, 454, 255],
            DtlsAuthentication::PskEcdhe => [219, 226, 56],
            DtlsAuthentication::Psk => [136, 153, 56],
        }
        .map(Bytes)
    }

    /// The exchange behind its handshake, if it has one.
    pub(crate) fn wrap(self, exchange: Box<dyn Exchange>) -> Box<dyn Exchange> {
        if self.dtls == DtlsVersion::None {
            return exchange;
        }
        let (flights, stage) = (self.flights(), Stage::Idle);
        let (waiting, due, timeout) = (Vec::new(), NEVER, FIRST_TIMEOUT);
        Box::new(Protected {
            exchange,
            flights,
            stage,
            client: End::Sender,
            server_ready: false,
            waiting,
            due,
            timeout,
        })
    }
}

/// The client's part of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was sent.
    Idle,
    /// The first flight was sent.
    Hello,
    /// The last flight was sent, and with it the datagrams that waited.
    Finished,
    /// It was acknowledged.
    Done,
}

/// Kind of the datagram that is a flight, whose number is its size; the fourth is the acknowledgement.
const FLIGHT: u8 = u8::MAX;

/// An exchange with a handshake.
#[derive(Debug)]
struct Protected {
    exchange: Box<dyn Exchange>,
    flights: [Bytes; 3],
    stage: Stage,
    client: End,
    /// The server has the client's last flight.
    server_ready: bool,
    /// Datagrams that wait for the handshake.
    waiting: Vec<(End, Bytes, Message)>,
    /// Time of the client's next retransmission.
    due: Time,
    timeout: Duration,
}

impl Protected {
    /// Appends the actions of the exchange.
    fn forward(&mut self, of_exchange: Vec<Action>, now: Time, actions: &mut Vec<Action>) {
        for action in of_exchange {
            match action {
                Action::Send(from, bytes, message) if matches!(self.stage, Stage::Idle | Stage::Hello) => {
                    if self.stage == Stage::Idle {
                        self.client = from;
                        self.begin(Stage::Hello, now);
                        self.send_flight(0, actions);
                    }
                    // A retransmission of what waits would only follow it.
                    if !self.waiting.iter().any(|&(_, _, other)| other == message) {
                        self.waiting.push((from, bytes, message));
                    }
                }
                Action::Send(from, bytes, message) => actions.push(Action::Send(from, bytes + RECORD, message)),
                other => actions.push(other),
            }
        }
    }

    fn begin(&mut self, stage: Stage, now: Time) {
        self.stage = stage;
        self.timeout = FIRST_TIMEOUT;
        self.due = now + FIRST_TIMEOUT;
    }

    fn send_flight(&self, number: usize, actions: &mut Vec<Action>) {
        let from = if number.is_multiple_of(2) { self.client } else { self.client.other() };
        let bytes = self.flights.get(number).copied().unwrap_or(ACK);
        let message = Message { kind: FLIGHT, size: Bytes(number as u64), since: Time::ZERO };
        actions.push(Action::Send(from, bytes, message));
    }

    fn on_flight(&mut self, number: u64, now: Time, actions: &mut Vec<Action>) {
        match number {
            0 => self.send_flight(1, actions),
            1 if self.stage == Stage::Hello => {
                self.begin(Stage::Finished, now);
                self.send_flight(2, actions);
                let waiting = std::mem::take(&mut self.waiting);
                actions.extend(waiting.into_iter().map(|(from, bytes, one)| Action::Send(from, bytes + RECORD, one)));
            }
            2 => {
                self.server_ready = true;
                self.send_flight(3, actions);
            }
            3 => (self.stage, self.due) = (Stage::Done, NEVER),
            _ => {}
        }
    }
}

impl Exchange for Protected {
    fn due(&self) -> Time {
        self.exchange.due().min(self.due)
    }

    fn on_timer(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.due <= now {
            self.timeout = (self.timeout + self.timeout).min(LAST_TIMEOUT);
            self.due = now + self.timeout;
            self.send_flight(if self.stage == Stage::Hello { 0 } else { 2 }, actions);
        }
        let mut more = Vec::new();
        self.exchange.on_timer(now, &mut more);
        self.forward(more, now, actions);
    }

    fn on_datagram(&mut self, at: End, message: Message, now: Time, actions: &mut Vec<Action>) {
        if message.kind == FLIGHT {
            return self.on_flight(message.size.0, now, actions);
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

    fn client(authentication: DtlsAuthentication) -> Box<dyn Exchange> {
        Dtls { dtls: DtlsVersion::Dtls13, dtls_authentication: authentication }.wrap(Box::new(Client::default()))
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
}
