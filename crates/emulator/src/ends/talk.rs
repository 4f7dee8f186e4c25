//! Conversations over kernel TCP: requests and responses, and the messages of MQTT. Bytes are zeros; what they stand for
//! is told from end to end within this process, sizes and moments are drawn as the simulator draws them.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::Mutex;
use std::time::Duration as Wait;

use cwndlab_network::random::Stream;
use cwndlab_records::rows::TransferRow;
use cwndlab_scenario::plan::{FlowPlan, Mqtt, Workload};
use cwndlab_traffic::sampling::{sample_pause, sample_size, OTHER_STREAM, SIZE_STREAM, TIME_STREAM};

use super::{connect, lock, place, send, End, Run, GLANCE};
use crate::between::Side;
use crate::fault::Fault;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// A request for a response of this size.
    Request(u64),
    /// CONNECT.
    Connect,
    /// PUBLISH of this payload, and when it was published.
    Publish(u64, u64),
    /// PUBACK of it.
    Published(u64, u64),
    /// PINGREQ.
    Ping,
    /// What asks for nothing.
    Nothing,
}

/// Messages of one direction that are under way.
#[derive(Debug, Default)]
struct Lane(Mutex<VecDeque<(u64, Word)>>);

impl Lane {
    /// To be called before the first byte is written.
    fn say(&self, bytes: u64, word: Word) {
        lock(&self.0).push_back((bytes, word));
    }

    /// The next message that so many bytes make whole, which are taken off.
    fn hear(&self, bytes: &mut u64) -> Option<Word> {
        let mut lane = lock(&self.0);
        let (size, word) = *lane.front().filter(|(size, _)| size <= bytes)?;
        *bytes -= size;
        lane.pop_front();
        Some(word)
    }
}

/// A conversation of a flow, by all that its two threads share.
#[derive(Debug)]
pub struct Talk<'a> {
    flow: u32,
    plan: &'a FlowPlan,
    seed: u64,
    start: u64,
    algorithm: &'a str,
    end: &'a End,
    /// From whoever opens the connection, and back.
    lanes: [Lane; 2],
}

impl<'a> Talk<'a> {
    /// The flow's; nothing where it does not talk.
    #[must_use]
    pub fn of(
        flow: u32,
        plan: &'a FlowPlan,
        (seed, start): (u64, u64),
        algorithm: &'a str,
        end: &'a End,
    ) -> Option<Self> {
        let talks = matches!(plan.workload, Workload::Exchanges { .. } | Workload::Mqtt(_));
        talks.then(|| Self { flow, plan, seed, start, algorithm, end, lanes: <[Lane; 2]>::default() })
    }

    /// The side that opens the connection: who asks is where a flow's data goes, a sensor is whence it comes.
    #[must_use]
    pub fn opener(plan: &FlowPlan) -> Side {
        match plan.workload {
            Workload::Exchanges { .. } => Side::Receivers,
            _ => Side::Senders,
        }
    }

    fn stream(&self, purpose: u64) -> Stream {
        Stream::new(self.seed, purpose, u64::from(self.flow))
    }

    fn stop_at(&self) -> u64 {
        self.plan.stop.map_or(u64::MAX, |stop| stop.0)
    }

    fn note(&self, start_ns: u64, end_ns: u64, size_bytes: u64) -> u64 {
        let mut rows = lock(&self.end.transfers);
        let transfer = rows.len() as u64;
        rows.push(TransferRow { flow: self.flow, transfer, start_ns, end_ns, size_bytes });
        transfer + 1
    }

    /// The thread of the end that opens the connection.
    pub fn open(&self, run: Run<'_>) -> Result<(), Fault> {
        run.sleep_until(self.start);
        if run.is_over() {
            return Ok(());
        }
        self.end.started.store(run.now(), Ordering::Relaxed);
        let done = match &self.plan.workload {
            Workload::Exchanges { .. } => self.ask(run),
            Workload::Mqtt(sensor) => self.publish(run, sensor),
            _ => Ok(()),
        };
        if !run.is_over() {
            // At the end of the run the other end may hang up first.
            done.map_err(|error| place(self.plan, error))?;
            self.end.ended.store(run.now(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn dial(&self, run: Run<'_>) -> std::io::Result<Option<TcpStream>> {
        let found = connect(run, (self.flow, Self::opener(self.plan)), self.plan, self.algorithm)?;
        if let Some(socket) = &found {
            socket.set_read_timeout(Some(GLANCE))?;
        }
        Ok(found)
    }

    /// Requests, one after another.
    fn ask(&self, run: Run<'_>) -> std::io::Result<()> {
        let Workload::Exchanges { request, response, think, count, new_connection } = &self.plan.workload else {
            return Ok(());
        };
        let [mut sizes, mut times, mut others] =
            [SIZE_STREAM, TIME_STREAM, OTHER_STREAM].map(|purpose| self.stream(purpose));
        let mut socket = None;
        while !run.is_over() && run.now() < self.stop_at() {
            let since = run.now();
            if socket.is_none() || *new_connection {
                drop(socket.take());
                socket = self.dial(run)?;
            }
            let Some(socket) = &socket else { return Ok(()) };
            let (size, asked) = (sample_size(response, &mut sizes).0, sample_size(request, &mut others).0);
            self.lanes[0].say(asked, Word::Request(size));
            send(run, socket, Some(asked), u64::MAX)?;
            let mut left = size;
            while left > 0 && !run.is_over() {
                let got = take(socket, left)?;
                left -= got;
                self.end.delivered.fetch_add(got, Ordering::Relaxed);
            }
            if left > 0 {
                return Ok(());
            }
            let done = self.note(since, run.now(), size);
            if count.is_some_and(|count| done >= count) {
                return Ok(());
            }
            run.sleep_until((run.now() + sample_pause(think, &mut times).0).min(self.stop_at()));
        }
        Ok(())
    }

    /// A sensor's messages and pings.
    fn publish(&self, run: Run<'_>, sensor: &Mqtt) -> std::io::Result<()> {
        let [mut sizes, mut times] = [SIZE_STREAM, TIME_STREAM].map(|purpose| self.stream(purpose));
        let Some(socket) = self.dial(run)? else { return Ok(()) };
        socket.set_nodelay(!sensor.nagle)?;
        let socket = self.end.open(socket);
        let say = |bytes: u64, word: Word| {
            self.lanes[0].say(bytes, word);
            send(run, &socket, Some(bytes), u64::MAX)
        };
        say(sensor.connect_bytes(), Word::Connect)?;
        let mut heard = 0;
        while heard < Mqtt::ACKNOWLEDGEMENT && !run.is_over() {
            heard += take(&socket, Mqtt::ACKNOWLEDGEMENT - heard)?;
        }
        self.lanes[1].hear(&mut heard);
        let (mut beat, mut spoke) = (run.now(), run.now());
        let mut next = beat + times.below(sensor.jitter.0);
        while !run.is_over() {
            let ping = sensor.keep_alive.map_or(u64::MAX, |time| spoke + time.0);
            let at = next.min(ping).min(self.stop_at());
            while run.now() < at && !run.is_over() {
                socket.set_read_timeout(Some(Wait::from_nanos((at - run.now()).max(1_000)).min(GLANCE)))?;
                heard += take(&socket, u64::MAX)?;
                while let Some(word) = self.lanes[1].hear(&mut heard) {
                    if let Word::Published(payload, since) = word {
                        self.note(since, run.now(), payload);
                    }
                }
            }
            let now = run.now();
            if run.is_over() || now >= self.stop_at() {
                break;
            }
            spoke = now;
            if now >= next {
                let payload = sample_size(&sensor.payload, &mut sizes).0;
                beat += sensor.period.0;
                next = beat + times.below(sensor.jitter.0);
                say(sensor.publish_bytes(payload), Word::Publish(payload, now))?;
            } else {
                say(Mqtt::PING, Word::Ping)?;
            }
        }
        self.end.close(&socket);
        Ok(())
    }

    /// The thread of the other end: takes connection after connection and answers.
    pub fn answer(&self, run: Run<'_>, listener: &TcpListener) {
        while !run.is_over() {
            let Ok((socket, _)) = listener.accept() else {
                std::thread::sleep(Wait::from_millis(1));
                continue;
            };
            // A connection that breaks is over; the other end says so.
            let _ = self.attend(run, socket);
        }
    }

    fn attend(&self, run: Run<'_>, socket: TcpStream) -> std::io::Result<()> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(GLANCE))?;
        socket.set_write_timeout(Some(GLANCE))?;
        let sends = Self::opener(self.plan) == Side::Receivers;
        let socket = if sends { self.end.open(socket) } else { socket.into() };
        let (mut heard, mut done) = (0, Ok(()));
        while !run.is_over() && done.is_ok() {
            let Ok(got) = take(&socket, u64::MAX) else { break };
            heard += got;
            if !sends {
                self.end.delivered.fetch_add(got, Ordering::Relaxed);
            }
            while let Some(word) = self.lanes[0].hear(&mut heard) {
                done = self.reply(run, &socket, word);
            }
        }
        if sends {
            self.end.close(&socket);
        }
        done
    }

    fn reply(&self, run: Run<'_>, socket: &TcpStream, word: Word) -> std::io::Result<()> {
        let acknowledges = matches!(&self.plan.workload, Workload::Mqtt(sensor) if sensor.qos > 0);
        let (bytes, answer) = match word {
            Word::Request(size) => (size, Word::Nothing),
            Word::Connect => (Mqtt::ACKNOWLEDGEMENT, Word::Nothing),
            Word::Publish(payload, since) if acknowledges => (Mqtt::ACKNOWLEDGEMENT, Word::Published(payload, since)),
            Word::Publish(payload, since) => {
                self.note(since, run.now(), payload);
                return Ok(());
            }
            Word::Ping => (Mqtt::PING, Word::Nothing),
            Word::Published(..) | Word::Nothing => return Ok(()),
        };
        if !matches!(word, Word::Request(_)) {
            self.lanes[1].say(bytes, answer);
        }
        send(run, socket, Some(bytes), u64::MAX).map(drop)
    }
}

/// Reads what is there, at most so many bytes; 0 where nothing came in time. An end of file is an error.
fn take(socket: &TcpStream, most: u64) -> std::io::Result<u64> {
    let mut buffer = [0u8; 1 << 14];
    let room = most.min(buffer.len() as u64) as usize;
    let mut socket = socket;
    match socket.read(&mut buffer[..room]) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(bytes) => Ok(bytes as u64),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
        Err(error) => Err(error),
    }
}
