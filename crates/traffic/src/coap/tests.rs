//! Devices and servers by hand, after RFC 7252 and RFC 7641.

use super::timeout::CongestionControl;
use super::*;
use crate::dialogue::End::{Receiver, Sender};
use crate::dtls::Dtls;
use crate::UDP_HEADER;

const SECOND: u64 = 1_000_000_000;

fn at(seconds: u64) -> Time {
    Time::from_nanos(seconds * SECOND)
}

fn config(method: Method, payload: f64) -> Config {
    Config {
        method,
        confirmable: true,
        payload: Distribution::Fixed(payload),
        period: Distribution::Fixed(100e9),
        count: None,
        control: CongestionControl::Rfc7252,
        ack_timeout: Duration::from_secs(2),
        ack_random_factor: 1.0,
        max_retransmit: 4,
        nstart: 1,
        processing: Distribution::Fixed(0.0),
        block: Bytes(1024),
        token: 4,
        options: 16,
        max_age: Duration::from_secs(60),
        security: 0,
        dtls: Dtls::NONE,
    }
}

fn device(config: &Config) -> Coap {
    device_until(config, NEVER)
}

fn device_until(config: &Config, stop: Time) -> Coap {
    Coap::new(config, &FlowContext { flow: 0.into(), seed: 1, stop, header: UDP_HEADER })
}

fn at_timer(device: &mut Coap, now: Time) -> Vec<Action> {
    let mut actions = Vec::new();
    device.on_timer(now, &mut actions);
    actions
}

fn at_arrival(device: &mut Coap, end: End, message: Message, now: Time) -> Vec<Action> {
    let mut actions = Vec::new();
    device.on_datagram(end, message, now, &mut actions);
    actions
}

fn message(kind: u8, since: u64) -> Message {
    Message { kind, size: Bytes::ZERO, since: at(since) }
}

/// RFC 7252, section 4.2 and table 2, with ACK_RANDOM_FACTOR 1: a confirmable message without an answer is sent at 0, 2, 6,
/// 14 and 30 s and given up at 62 s, the shortest MAX_TRANSMIT_WAIT (31 timeouts of 2 s); the next one starts at once.
#[test]
fn a_confirmable_message_is_sent_five_times_and_given_up_after_31_timeouts() {
    let mut device = device(&Config { period: Distribution::Fixed(61e9), ..config(Method::Post, 10.0) });
    // Header, token, options, marker and payload: 4 + 4 + 16 + 1 + 10.
    let request = |since| Action::Send(Sender, Bytes(35), message(REQUEST, since));
    let offer = |since| Action::Offer(at(since), Bytes(10));
    assert_eq!(at_timer(&mut device, at(0)), [offer(0), request(0)]);
    for second in [2, 6, 14, 30] {
        assert_eq!(device.due(), at(second));
        assert_eq!(at_timer(&mut device, at(second)), [request(0)]);
    }
    assert_eq!(device.due(), at(61));
    assert_eq!(at_timer(&mut device, at(61)), [offer(61)], "NSTART is 1");
    assert_eq!(device.due(), at(62));
    assert_eq!(at_timer(&mut device, at(62)), [request(61)]);
}

/// RFC 7252, sections 4.5 and 5.2.1: each copy is acknowledged with the response, the message is delivered once.
#[test]
fn a_repeated_request_is_acknowledged_and_delivered_once() {
    let mut device = device(&config(Method::Post, 10.0));
    at_timer(&mut device, at(0));
    let response = Action::Send(Receiver, Bytes(8), message(PIGGYBACKED, 0));
    let request = message(REQUEST, 0);
    assert_eq!(at_arrival(&mut device, Receiver, request, at(1)), [Action::Deliver(at(0)), response]);
    assert_eq!(at_arrival(&mut device, Receiver, request, at(2)), [response]);
    let record = Action::Record(at(0), Bytes(10));
    assert_eq!(at_arrival(&mut device, Sender, message(PIGGYBACKED, 0), at(3)), [record]);
    assert_eq!(at_arrival(&mut device, Sender, message(PIGGYBACKED, 0), at(4)), []);
    assert_eq!(device.due(), at(100));
}

/// RFC 7252, section 5.2.2: an empty acknowledgement of 4 bytes stops the retransmissions; the response is confirmable,
/// and its own acknowledgement has 4 bytes.
#[test]
fn a_separate_response_follows_an_empty_acknowledgement() {
    let mut device = device(&Config { processing: Distribution::Fixed(5e9), ..config(Method::Post, 10.0) });
    at_timer(&mut device, at(0));
    let empty = Action::Send(Receiver, Bytes(4), message(EMPTY, 0));
    let delivered = Action::Deliver(at(0));
    assert_eq!(at_arrival(&mut device, Receiver, message(REQUEST, 0), at(1)), [delivered, empty]);
    assert_eq!(at_arrival(&mut device, Sender, message(EMPTY, 0), at(1)), []);
    assert_eq!(device.due(), at(6));
    let response = Action::Send(Receiver, Bytes(8), message(SEPARATE, 0));
    assert_eq!(at_timer(&mut device, at(6)), [response]);
    assert_eq!(device.due(), at(8));
    assert_eq!(at_timer(&mut device, at(8)), [response]);
    let acknowledgement = Action::Send(Sender, Bytes(4), message(ACKNOWLEDGED, 0));
    let record = Action::Record(at(0), Bytes(10));
    assert_eq!(at_arrival(&mut device, Sender, message(SEPARATE, 0), at(9)), [acknowledgement, record]);
    assert_eq!(at_arrival(&mut device, Receiver, message(ACKNOWLEDGED, 0), at(9)), []);
    assert_eq!(device.due(), at(100));
}

/// RFC 7959, section 2.2: 2500 bytes in blocks of 1024 are three requests; the value of Block1 has one byte (block 0 to 2,
/// SZX 6), the option 3 with its header and extended delta. By hand: 24 + 3 + 1 + 1024, the same, and 24 + 3 + 1 + 452.
#[test]
fn a_large_payload_takes_one_exchange_per_block() {
    let mut device = device(&config(Method::Post, 2500.0));
    let first = at_timer(&mut device, at(0))[1];
    let block = |offset| Message { kind: REQUEST, size: Bytes(offset), since: at(0) };
    assert_eq!(first, Action::Send(Sender, Bytes(1052), block(0)));
    for (offset, next, bytes) in [(0, 1024, 1052), (1024, 2048, 480)] {
        let response = Message { kind: PIGGYBACKED, ..block(offset) };
        let reply = at_arrival(&mut device, Receiver, block(offset), at(1));
        assert_eq!(reply, [Action::Send(Receiver, Bytes(11), response)]);
        let more = at_arrival(&mut device, Sender, response, at(1));
        assert_eq!(more, [Action::Send(Sender, Bytes(bytes), block(next))]);
    }
    let reply = at_arrival(&mut device, Receiver, block(2048), at(2));
    assert_eq!(reply[0], Action::Deliver(at(0)));
    let last = Message { kind: PIGGYBACKED, ..block(2048) };
    assert_eq!(at_arrival(&mut device, Sender, last, at(3)), [Action::Record(at(0), Bytes(2500))]);
}

/// RFC 7252, section 3.1: in a response Block2 (23) is the first option, its delta takes a byte of its own (D1 0A and the
/// value); in a request it follows Uri-Path (11) with a delta of 12. By hand: 8 + 3 + 1 + 1024, 24 + 2, 8 + 3 + 1 + 452.
#[test]
fn block2_of_a_response_has_an_extended_delta() {
    let config = config(Method::Get, 2500.0);
    let block = |offset| Job { since: at(0), total: Bytes(2500), done: Bytes(offset) };
    let sizes = |offset| (config.request_bytes(block(offset)), config.response_bytes(block(offset)));
    assert_eq!(sizes(0), (Bytes(24), Bytes(1036)));
    assert_eq!(sizes(1024), (Bytes(26), Bytes(1036)));
    assert_eq!(sizes(2048), (Bytes(26), Bytes(464)));
}

/// RFC 7641, section 4.5.2: while a confirmable notification waits for its acknowledgement, a newer state replaces one that
/// waits. Section 4.5: without an acknowledgement the server forgets the client, which registers again after Max-Age.
#[test]
fn a_newer_state_replaces_one_that_waits() {
    let mut device = device(&Config { period: Distribution::Fixed(1e9), ..config(Method::Observe, 10.0) });
    let register = Action::Send(Receiver, Bytes(25), message(REGISTER, 0));
    assert_eq!(at_timer(&mut device, at(0)), [register]);
    // Header, token, the option Observe with an empty value, marker, payload: 4 + 4 + 1 + 1 + 10.
    let state = Action::Send(Sender, Bytes(20), message(PIGGYBACKED, 0));
    assert_eq!(at_arrival(&mut device, Sender, message(REGISTER, 0), at(0)), [state]);
    at_arrival(&mut device, Receiver, message(PIGGYBACKED, 0), at(0));
    let notify = |since| Action::Send(Sender, Bytes(21), message(NOTIFY, since));
    assert_eq!(at_timer(&mut device, at(1)), [Action::Offer(at(1), Bytes(10)), notify(1)]);
    for second in [2, 3] {
        let actions = at_timer(&mut device, at(second));
        assert_eq!(actions.iter().filter(|one| matches!(one, Action::Offer(..))).count(), 1);
    }
    let arrived = at_arrival(&mut device, Receiver, message(NOTIFY, 1), at(3));
    let acknowledgement = Action::Send(Receiver, Bytes(4), message(ACKNOWLEDGED, 1));
    assert_eq!(arrived, [Action::Deliver(at(1)), acknowledgement]);
    let acknowledged = at_arrival(&mut device, Sender, message(ACKNOWLEDGED, 1), at(3));
    assert_eq!(acknowledged, [Action::Record(at(1), Bytes(10)), notify(3)], "the state of 2 s was replaced");
}

/// A notification and a non-confirmable message carry at most 1024 bytes, also where the sizes have no bound.
#[test]
fn a_message_without_blocks_carries_1024_bytes_at_most() {
    for (method, confirmable) in [(Method::Observe, true), (Method::Post, false)] {
        let config = Config { confirmable, payload: Distribution::Exponential(1e6), ..config(method, 1.0) };
        let mut device = device(&config);
        assert!((0..100).all(|_| (1..=1024).contains(&device.draw_payload().0)));
    }
}

/// A non-confirmable message is sent once; its lost response ends nothing.
#[test]
fn a_non_confirmable_message_is_not_repeated() {
    let mut device = device(&Config { confirmable: false, ..config(Method::Post, 10.0) });
    let request = message(REQUEST, 0);
    assert_eq!(at_timer(&mut device, at(0))[1], Action::Send(Sender, Bytes(35), request));
    assert_eq!(device.due(), at(100));
    let response = Action::Send(Receiver, Bytes(8), message(SEPARATE, 0));
    assert_eq!(at_arrival(&mut device, Receiver, request, at(1)), [Action::Deliver(at(0)), response]);
    at_timer(&mut device, at(100));
    assert_eq!(device.due(), at(200));
}

/// RFC 7252, section 4.2, with the times above: of the messages of 0 and 1 s neither is acknowledged at the stop at 1.5 s. The
/// first one is sent again at 2 s, the second one after its acknowledgement and 2 s later again; with its acknowledgement
/// nothing is left. None of 2 s is generated.
#[test]
fn messages_that_wait_at_the_stop_are_sent_and_retransmitted() {
    let config = Config { period: Distribution::Fixed(1e9), ..config(Method::Post, 10.0) };
    let mut device = device_until(&config, Time::from_nanos(1_500_000_000));
    let request = |since| Action::Send(Sender, Bytes(35), message(REQUEST, since));
    at_timer(&mut device, at(0));
    assert_eq!(at_timer(&mut device, at(1)), [Action::Offer(at(1), Bytes(10))]);
    let stop = device.due();
    assert_eq!((at_timer(&mut device, stop), device.due()), (vec![], at(2)));
    assert_eq!(at_timer(&mut device, at(2)), [request(0)]);
    let record = |since| Action::Record(at(since), Bytes(10));
    let first = at_arrival(&mut device, Sender, message(PIGGYBACKED, 0), at(3));
    assert_eq!(first, [record(0), request(1)]);
    assert_eq!(device.due(), at(5));
    assert_eq!(at_timer(&mut device, at(5)), [request(1)]);
    let last = at_arrival(&mut device, Sender, message(PIGGYBACKED, 1), at(6));
    assert_eq!((last, device.due()), (vec![record(1), Action::Finish], NEVER));
}

/// A device without a message on its way ends at its stop, as one that has not started. A client does not register again
/// after it.
#[test]
fn an_idle_device_ends_at_its_stop() {
    let mut posting = device_until(&config(Method::Post, 10.0), at(20));
    at_timer(&mut posting, at(0));
    at_arrival(&mut posting, Sender, message(PIGGYBACKED, 0), at(1));
    assert_eq!(posting.due(), at(20));
    let mut observed = device_until(&config(Method::Observe, 10.0), at(20));
    at_timer(&mut observed, at(0));
    at_arrival(&mut observed, Sender, message(REGISTER, 0), at(1));
    at_arrival(&mut observed, Receiver, message(PIGGYBACKED, 0), at(2));
    let mut before = device_until(&config(Method::Post, 10.0), at(20));
    for device in [&mut posting, &mut observed, &mut before] {
        assert_eq!((at_timer(device, at(20)), device.due()), (vec![Action::Finish], NEVER));
    }
}

/// CoCoA, section 4.1: each end has its own estimate, 2 s before its first round-trip time. The client has measured 100 ms
/// by its registration (1150 ms, section 4.2), the server nothing: its notification waits 2 to 3 s.
#[test]
fn a_notification_has_the_timeout_of_its_server() {
    let config =
        Config { control: CongestionControl::Cocoa, period: Distribution::Fixed(1e9), ..config(Method::Observe, 10.0) };
    let mut device = device(&config);
    at_timer(&mut device, at(0));
    at_arrival(&mut device, Sender, message(REGISTER, 0), Time::from_nanos(50_000_000));
    at_arrival(&mut device, Receiver, message(PIGGYBACKED, 0), Time::from_nanos(100_000_000));
    let now = device.due();
    at_timer(&mut device, now);
    assert_eq!(device.outstanding[0].message.kind, NOTIFY);
    let first = device.outstanding[0].due - now;
    assert!(first >= Duration::from_secs(2) && first <= Duration::from_secs(3), "{first}");
    // The acknowledgement after 100 ms is the server's first round-trip time, and changes nothing at the client.
    let later = now + Duration::from_millis(100);
    at_arrival(&mut device, Sender, Message { since: now, ..message(ACKNOWLEDGED, 0) }, later);
    for timeouts in &mut device.timeouts {
        let next = timeouts.start(later, 0, &mut device.random).current;
        let (least, most) = (Duration::from_millis(1150), Duration::from_millis(1725));
        assert!(next >= least && next <= most, "{next}");
    }
}

/// RFC 7252, section 4.8.2: the response to a message of 0 s may come for 247 s; without it the last one has ended then.
#[test]
fn a_count_ends_without_the_last_response() {
    let mut device = device(&Config { confirmable: false, count: Some(1), ..config(Method::Post, 10.0) });
    at_timer(&mut device, at(0));
    assert_eq!(device.due(), at(247));
    assert_eq!((at_timer(&mut device, at(247)), device.due()), (vec![Action::Finish], NEVER));
}

/// By hand: the notification of 1 s is acknowledged; that of 2 s is given up at 4 s without a retransmission, with the state
/// of 3 s, which waits, and that of 4 s finds no client, as that of 5 s, which is the last one of five.
#[test]
fn a_count_ends_without_a_client() {
    let config =
        Config { count: Some(5), period: Distribution::Fixed(1e9), max_retransmit: 0, ..config(Method::Observe, 10.0) };
    let mut device = device(&config);
    at_timer(&mut device, at(0));
    at_arrival(&mut device, Sender, message(REGISTER, 0), at(0));
    at_arrival(&mut device, Receiver, message(PIGGYBACKED, 0), at(0));
    at_timer(&mut device, at(1));
    at_arrival(&mut device, Receiver, message(NOTIFY, 1), at(1));
    at_arrival(&mut device, Sender, message(ACKNOWLEDGED, 1), at(1));
    for second in 2..=4 {
        assert!(!at_timer(&mut device, at(second)).contains(&Action::Finish));
    }
    assert_eq!(device.due(), at(5));
    assert_eq!(at_timer(&mut device, at(5)), [Action::Offer(at(5), Bytes(10)), Action::Finish]);
}

/// RFC 7252, section 4.5: a message is known for 247 s after its arrival, however long it waited before it was sent. That of
/// 0 s arrives at 300 s: its copies at 301 and 547 s are acknowledged and not delivered again.
#[test]
fn a_message_that_waited_is_known_from_its_arrival() {
    let mut device = device(&config(Method::Post, 10.0));
    at_timer(&mut device, at(0));
    let request = message(REQUEST, 0);
    let delivered = [300, 301, 547, 548]
        .map(|now| at_arrival(&mut device, Receiver, request, at(now)).contains(&Action::Deliver(at(0))));
    assert_eq!(delivered, [true, false, false, true]);
}
