//! The protocol of hosted stacks (docs/host.md) for stacks in Rust: a type with the methods of [`Stack`], and [`serve`].
//!
//! Time and random numbers that a stack asks the system for are those of the run ([`clock`], [`random`]), if the program
//! exports its symbols (`-rdynamic`).

#[cfg(feature = "certificate")]
pub mod certificate;
pub mod clock;
pub mod log;
pub mod random;
pub mod segments;
#[cfg(feature = "tls")]
pub mod tls;

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::os::fd::FromRawFd;
use std::time::Duration;

const VERSION: u8 = 1;
/// Bytes that are read at once.
const BUFFER: usize = 1 << 16;

/// What a stack is started with.
#[derive(Clone, Debug)]
pub struct Start {
    /// It opens the connection and sends the data; else it accepts and receives.
    pub is_sender: bool,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The largest payload of a datagram.
    pub max_datagram: u16,
    /// The congestion control; empty: the default.
    pub controller: String,
    /// Options of the stack.
    pub options: String,
}

impl Start {
    /// The options `KEY=VALUE`, separated by commas.
    pub fn pairs(&self) -> Result<Vec<(&str, &str)>, String> {
        let parts = self.options.split(',').filter(|part| !part.is_empty());
        parts.map(|part| part.split_once('=').ok_or_else(|| format!("'{part}' is not KEY=VALUE"))).collect()
    }

    /// The congestion control, one of these; the first one is the default.
    pub fn choose(&self, known: &[&'static str]) -> Result<&'static str, String> {
        let name = &self.controller;
        let found = known.iter().find(|one| name.is_empty() || *one == name);
        let unknown = || format!("no congestion control is called '{name}': {}", known.join(", "));
        found.copied().ok_or_else(unknown)
    }
}

/// A value that a stack reports.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    Cwnd = 1,
    Ssthresh = 2,
    InFlight = 3,
    SmoothedRtt = 4,
    Rtt = 5,
    PacingRate = 6,
    LostPackets = 7,
    CongestionEvents = 8,
    LostBytes = 9,
    Timeouts = 10,
    MinRtt = 11,
    LossProbes = 12,
}

/// An answer.
#[derive(Debug, Default)]
pub struct Answer {
    bytes: Vec<u8>,
    /// Values reported before, which are not repeated.
    known: [Option<u64>; 13],
}

impl Answer {
    fn number(&mut self, kind: u8, number: u64) {
        self.bytes.push(kind);
        self.bytes.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        let text = &text.as_bytes()[..text.len().min(1000)];
        self.bytes.extend((text.len() as u16).to_le_bytes());
        self.bytes.extend(text);
    }

    /// Sends a datagram with this ECN field.
    pub fn send(&mut self, ecn: u8, payload: &[u8]) {
        self.bytes.extend([0x12, ecn]);
        self.bytes.extend((payload.len() as u16).to_le_bytes());
        self.bytes.extend(payload);
    }

    /// Sets the next timer, a time since the start of the run.
    pub fn next_timer(&mut self, at: Duration) {
        self.number(0x13, at.as_nanos() as u64);
    }

    /// The application has received this number of bytes in order, in total.
    pub fn delivered(&mut self, bytes: u64) {
        self.number(0x14, bytes);
    }

    /// Reports a value if it has changed; each sample of [`Value::Rtt`].
    pub fn value(&mut self, value: Value, number: u64) {
        let known = &mut self.known[value as usize];
        if *known == Some(number) && !matches!(value, Value::Rtt) {
            return;
        }
        *known = Some(number);
        self.bytes.extend([0x15, value as u8]);
        self.bytes.extend(number.to_le_bytes());
    }

    /// All data of the application are acknowledged.
    pub fn done(&mut self) {
        self.bytes.push(0x16);
    }

    /// The stack cannot go on.
    pub fn failure(&mut self, what: &str) {
        self.bytes.push(0x17);
        self.text(what);
    }

    fn ready(&mut self, name: &str, controller: &str) {
        self.bytes.push(0x11);
        self.text(name);
        self.text(controller);
    }
}

/// A stack at one end of a flow. Times are since the start of the run.
pub trait Stack: Sized {
    /// Prepares the stack.
    fn start(start: &Start) -> Result<Self, String>;
    /// Name and version of the stack, and the congestion control.
    fn names(&self) -> (String, String);
    /// The timer expired.
    fn on_timer(&mut self, now: Duration);
    /// A datagram arrived, whose answer may be written at once.
    fn on_datagram(&mut self, now: Duration, ecn: u8, payload: &[u8], answer: &mut Answer);
    /// The application of the sender writes this number of bytes; the largest one: as many as can be sent.
    fn write(&mut self, bytes: u64);
    /// The application of the sender writes nothing until the next `write`: an endless supply ends.
    fn pause(&mut self);
    /// The application of the sender writes no more.
    fn finish(&mut self);
    /// Writes datagrams, the next timer and what else there is to the answer, after all events of a call.
    fn answer(&mut self, now: Duration, answer: &mut Answer);
}

/// The rest of a frame. A frame that is cut off is a fault of the simulator.
struct Frame<'a>(&'a [u8]);

impl<'a> Frame<'a> {
    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        self.bytes(1)[0]
    }

    fn short(&mut self) -> u16 {
        let bytes = self.bytes(2);
        u16::from_le_bytes([bytes[0], bytes[1]])
    }

    fn number(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes(8).try_into().expect("there are eight"))
    }

    fn text(&mut self) -> String {
        let length = self.short();
        String::from_utf8_lossy(self.bytes(length.into())).into_owned()
    }
}

fn start<S: Stack>(frame: &[u8], answer: &mut Answer) -> Option<S> {
    let mut frame = Frame(frame);
    let (kind, version) = (frame.byte(), frame.byte());
    if (kind, version) != (0x01, VERSION) {
        answer.failure(&format!("this stack has version {VERSION} of the protocol"));
        return None;
    }
    let start = Start {
        is_sender: frame.byte() == 0,
        seed: frame.number(),
        max_datagram: frame.short(),
        controller: frame.text(),
        options: frame.text(),
    };
    random::seed(start.seed);
    match S::start(&start) {
        Ok(stack) => {
            let (name, controller) = stack.names();
            answer.ready(&name, &controller);
            Some(stack)
        }
        Err(what) => {
            answer.failure(&what);
            None
        }
    }
}

/// What a stack says to a `WRITE` that follows `FINISH`.
const ONE_CONNECTION: &str = "this stack opens one connection";

fn call(stack: &mut impl Stack, is_finished: &mut bool, frame: &[u8], answer: &mut Answer) {
    let mut frame = Frame(frame);
    let mut now = Duration::ZERO;
    while !frame.0.is_empty() {
        match frame.byte() {
            0x02 => {
                now = Duration::from_nanos(frame.number());
                clock::set(now);
            }
            0x03 => stack.on_timer(now),
            0x04 => {
                let (ecn, length) = (frame.byte(), frame.short());
                stack.on_datagram(now, ecn, frame.bytes(length.into()), answer);
            }
            0x05 if *is_finished => return answer.failure(ONE_CONNECTION),
            0x05 => stack.write(frame.number()),
            0x06 => {
                *is_finished = true;
                stack.finish();
            }
            0x07 => stack.pause(),
            kind => return answer.failure(&format!("no item of a call has the kind {kind:#04x}")),
        }
    }
    stack.answer(now, answer);
}

/// Answers calls until standard input ends.
pub fn serve<S: Stack>() -> io::Result<()> {
    let mut calls = BufReader::with_capacity(BUFFER, io::stdin().lock());
    // Standard output of Rust is written at line feeds, which are bytes like others here.
    // SAFETY: nothing else uses the descriptor, which is open until the process ends.
    let mut answers = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(1) });
    let (mut stack, mut frame, mut answer, mut is_finished) = (None::<S>, Vec::new(), Answer::default(), false);
    loop {
        let mut length = [0; 4];
        match calls.read_exact(&mut length) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        frame.resize(u32::from_le_bytes(length) as usize, 0);
        calls.read_exact(&mut frame)?;
        answer.bytes.clear();
        answer.bytes.extend([0; 4]);
        match &mut stack {
            Some(stack) => call(stack, &mut is_finished, &frame, &mut answer),
            None => stack = start(&frame, &mut answer),
        }
        let length = (answer.bytes.len() - 4) as u32;
        answer.bytes[..4].copy_from_slice(&length.to_le_bytes());
        answers.write_all(&answer.bytes)?;
    }
}
