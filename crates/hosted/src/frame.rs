//! Frames: a length of four bytes, then items, each with its kind in one byte. Integers are little-endian.

use cwndlab_units::Time;

use crate::report::Value;

/// Version of the protocol.
pub const VERSION: u8 = 1;
/// The largest frame, bytes.
pub const MAX_FRAME: usize = 1 << 26;

const START: u8 = 0x01;
const NOW: u8 = 0x02;
const TIMER: u8 = 0x03;
const DATAGRAM: u8 = 0x04;
const WRITE: u8 = 0x05;
const FINISH: u8 = 0x06;
const PAUSE: u8 = 0x07;

const READY: u8 = 0x11;
const SEND: u8 = 0x12;
const NEXT: u8 = 0x13;
const DELIVERED: u8 = 0x14;
const VALUE: u8 = 0x15;
const DONE: u8 = 0x16;
const FAILURE: u8 = 0x17;

/// The role of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It opens the connection and sends the data.
    Sender,
    /// It accepts the connection and receives the data.
    Receiver,
}

/// What a stack is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start<'a> {
    /// Its role.
    pub role: Role,
    /// Seed of all its random numbers.
    pub seed: u64,
    /// The largest payload of a datagram, bytes.
    pub max_datagram: u16,
    /// The congestion control; empty: the stack's default.
    pub controller: &'a str,
    /// Options that only the stack interprets.
    pub options: &'a str,
}

/// A call, as it is written.
#[derive(Debug, Default)]
pub struct Call(Vec<u8>);

impl Call {
    /// The first call.
    #[must_use]
    pub fn start(start: &Start<'_>) -> Self {
        let mut call = Self(vec![0; 4]);
        call.0.extend([START, VERSION, u8::from(start.role == Role::Receiver)]);
        call.0.extend(start.seed.to_le_bytes());
        call.0.extend(start.max_datagram.to_le_bytes());
        for text in [start.controller, start.options] {
            call.0.extend((text.len() as u16).to_le_bytes());
            call.0.extend(text.as_bytes());
        }
        call
    }

    /// Begins a call at `now` in the memory of this one.
    pub fn begin(&mut self, now: Time) {
        self.0.clear();
        self.0.extend([0; 4]);
        self.number(NOW, now.as_nanos());
    }

    fn number(&mut self, kind: u8, number: u64) {
        self.0.push(kind);
        self.0.extend(number.to_le_bytes());
    }

    /// The timer expired.
    pub fn timer(&mut self) {
        self.0.push(TIMER);
    }

    /// A datagram with this field of ECN arrived.
    pub fn datagram(&mut self, ecn: u8, payload: &[u8]) {
        self.0.extend([DATAGRAM, ecn]);
        self.0.extend((payload.len() as u16).to_le_bytes());
        self.0.extend(payload);
    }

    /// The application writes this number of bytes; the largest one is an endless supply.
    pub fn write(&mut self, bytes: u64) {
        self.number(WRITE, bytes);
    }

    /// The application has written everything.
    pub fn finish(&mut self) {
        self.0.push(FINISH);
    }

    /// The application writes nothing until it writes further bytes; an endless supply ends.
    pub fn pause(&mut self) {
        self.0.push(PAUSE);
    }

    /// The frame.
    pub fn frame(&mut self) -> &[u8] {
        let length = (self.0.len() - 4) as u32;
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        &self.0
    }
}

/// An item of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// The stack is ready: its name with its version, and its congestion control.
    Ready(&'a str, &'a str),
    /// It sends a datagram with this ECN field.
    Send(u8, &'a [u8]),
    /// Its next timer.
    Next(Time),
    /// Bytes in order that its application has received, in total.
    Delivered(u64),
    /// It reports a value.
    Value(Value, u64),
    /// All data of the application are acknowledged.
    Done,
    /// It cannot go on.
    Failure(&'a str),
}

/// The items of an answer.
#[derive(Debug)]
pub struct Items<'a>(&'a [u8]);

impl<'a> Items<'a> {
    /// The items of a frame without its length.
    #[must_use]
    pub fn new(frame: &'a [u8]) -> Self {
        Self(frame)
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("an item is cut off")?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.bytes(1)?[0])
    }

    fn number(&mut self) -> Result<u64, String> {
        let bytes = self.bytes(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| "an item is cut off")?))
    }

    fn block(&mut self) -> Result<&'a [u8], String> {
        let length = self.bytes(2)?;
        self.bytes(usize::from(u16::from_le_bytes([length[0], length[1]])))
    }

    fn text(&mut self) -> Result<&'a str, String> {
        std::str::from_utf8(self.block()?).map_err(|_| "a text is not UTF-8".to_owned())
    }

    fn item(&mut self) -> Result<Item<'a>, String> {
        Ok(match self.byte()? {
            READY => Item::Ready(self.text()?, self.text()?),
            SEND => Item::Send(self.byte()?, self.block()?),
            NEXT => Item::Next(Time::from_nanos(self.number()?)),
            DELIVERED => Item::Delivered(self.number()?),
            VALUE => {
                let code = self.byte()?;
                let value = Value::of(code).ok_or_else(|| format!("no value has the code {code}"))?;
                Item::Value(value, self.number()?)
            }
            DONE => Item::Done,
            FAILURE => Item::Failure(self.text()?),
            kind => return Err(format!("no item of an answer has the kind {kind:#04x}")),
        })
    }
}

/// Ends after the first error.
impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let item = self.item();
        if item.is_err() {
            self.0 = &[];
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, after the table of `docs/host.md`.
    #[test]
    fn a_call_has_its_length_and_its_items() {
        let start = Start { role: Role::Receiver, seed: 2, max_datagram: 1472, controller: "bbr", options: "" };
        let expected = b"\x14\0\0\0\x01\x01\x01\x02\0\0\0\0\0\0\0\xc0\x05\x03\0bbr\0\0";
        assert_eq!(Call::start(&start).frame()[..], expected[..]);
        let mut call = Call::default();
        call.begin(Time::from_nanos(256));
        call.timer();
        call.datagram(3, b"ab");
        call.write(5);
        call.pause();
        call.finish();
        let expected = b"\x1b\0\0\0\x02\0\x01\0\0\0\0\0\0\x03\x04\x03\x02\0ab\x05\x05\0\0\0\0\0\0\0\x07\x06";
        assert_eq!(call.frame()[..4], (expected.len() as u32 - 4).to_le_bytes());
        assert_eq!(call.frame()[4..], expected[4..]);
    }

    /// By hand, after the table of `docs/host.md`.
    #[test]
    fn an_answer_is_read_up_to_its_first_error() {
        let answer =
            b"\x12\x02\x02\0ab\x13\x05\0\0\0\0\0\0\0\x14\x07\0\0\0\0\0\0\0\x15\x01\x09\0\0\0\0\0\0\0\x16\x20\x16";
        let items: Vec<_> = Items::new(answer).collect();
        assert_eq!(
            items,
            [
                Ok(Item::Send(2, b"ab")),
                Ok(Item::Next(Time::from_nanos(5))),
                Ok(Item::Delivered(7)),
                Ok(Item::Value(Value::Cwnd, 9)),
                Ok(Item::Done),
                Err("no item of an answer has the kind 0x20".to_owned()),
            ]
        );
        assert_eq!(Items::new(b"\x12\x02\x05\0ab").collect::<Vec<_>>(), [Err("an item is cut off".to_owned())]);
        assert_eq!(Items::new(b"\x15\xff").collect::<Vec<_>>(), [Err("no value has the code 255".to_owned())]);
    }
}
