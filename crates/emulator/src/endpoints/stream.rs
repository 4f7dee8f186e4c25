//! One-way data over TCP: the sender's thread, which executes the actions of a byte source, and the receiver's thread.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::thread::Scope;

use cwndlab_linux::socket;
use cwndlab_scenario::plan::Workload;
use cwndlab_traffic::action::Action;
use cwndlab_traffic::byte_source::{ByteSource, Drained};
use cwndlab_units::{Bytes, Time};

use super::connection::{is_timeout, Endpoint, PendingTransfer, ACCEPT_INTERVAL, DRAIN_INTERVAL, STOP_CHECK};
use super::writer::{Writer, NO_OTHERS};
use crate::addresses::Side;
use crate::locking::lock;

/// Runs the sender of a flow from the start of the flow until the end of the run.
pub(crate) fn send(endpoint: &Endpoint<'_>, source: &mut ByteSource) -> std::io::Result<()> {
    std::thread::scope(|scope| {
        let due = endpoint.lifetime.start;
        let mut sender =
            StreamSender { endpoint, scope, source, writer: None, due, written: 0, in_transfer: false, is_done: false };
        sender.run()?;
        // The final TCP_INFO is read at the end of the run.
        endpoint.run.sleep_until(Time::MAX);
        sender.close();
        Ok(())
    })
}

/// A byte source and its connection.
struct StreamSender<'a, 'scope, 'env> {
    endpoint: &'a Endpoint<'scope>,
    /// The scope of the threads that wait for handshakes.
    scope: &'scope Scope<'scope, 'env>,
    source: &'a mut ByteSource,
    writer: Option<Writer>,
    /// Due time of the source's timer.
    due: Time,
    /// Bytes of the transfers so far.
    written: u64,
    /// A transfer is not acknowledged in full.
    in_transfer: bool,
    /// The source writes no more.
    is_done: bool,
}

impl StreamSender<'_, '_, '_> {
    /// Executes the actions of the source until all its data are acknowledged or the run is over.
    fn run(&mut self) -> std::io::Result<()> {
        let run = self.endpoint.run;
        while !run.is_over() {
            // The source has its own clock: its times do not depend on when this thread wakes up.
            if self.due <= run.now() {
                self.on_timer()?;
                continue;
            }
            let rest = self.due.saturating_since(run.now());
            let Some(writer) = &mut self.writer else {
                run.sleep_until(self.due);
                continue;
            };
            writer.write(self.endpoint)?;
            if !(self.in_transfer || self.is_done) || !writer.is_empty() {
                writer.wait(rest, false, NO_OTHERS);
            } else if !writer.is_drained() {
                writer.wait(rest.min(DRAIN_INTERVAL), false, NO_OTHERS);
            } else if self.on_drained() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Handles the source's timer, which is due.
    fn on_timer(&mut self) -> std::io::Result<()> {
        let start = self.due;
        let (action, next) = self.source.on_timer(start);
        self.due = next;
        match action {
            // A transfer over a new connection begins with the handshake, as in the simulator.
            Action::Open(bytes) | Action::Reopen(bytes) => {
                self.connect()?;
                self.append(bytes, start)?;
            }
            Action::Write(bytes) => self.append(bytes, start)?,
            Action::Supply(bytes) => self.writer.iter_mut().for_each(|writer| writer.append(bytes)),
            Action::Pause => self.writer.iter_mut().try_for_each(Writer::end_supply)?,
            Action::Stop => {
                self.writer.iter_mut().try_for_each(Writer::end_supply)?;
                self.is_done = true;
            }
            Action::Nothing => {}
        }
        Ok(())
    }

    /// Replaces the connection by a new one.
    fn connect(&mut self) -> std::io::Result<()> {
        self.close();
        let handshake = self.endpoint.begin_handshake(Side::Senders, self.scope)?;
        self.writer = Some(Writer::opening(self.endpoint, handshake, true));
        Ok(())
    }

    /// Closes the connection, if there is one.
    fn close(&mut self) {
        if let Some(socket) = self.writer.take().as_ref().and_then(Writer::socket) {
            self.endpoint.state.close(socket);
        }
    }

    /// Appends a transfer of `bytes` that started at `start`; `None`: an endless supply until the next timer.
    fn append(&mut self, bytes: Option<Bytes>, start: Time) -> std::io::Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        match bytes {
            None => writer.begin_supply(self.due)?,
            Some(Bytes::ZERO) => {}
            Some(size) => {
                self.written += size.0;
                let transfer = PendingTransfer { end: self.written, size: size.0, start };
                self.endpoint.offer_message(start, size);
                lock(&self.endpoint.state.pending).push_back(transfer);
                writer.append(size);
                self.in_transfer = true;
            }
        }
        Ok(())
    }

    /// Handles the acknowledgement of all data; returns whether the flow ends.
    fn on_drained(&mut self) -> bool {
        let now = self.endpoint.run.now();
        if std::mem::take(&mut self.in_transfer) {
            self.source.complete_transfer();
            match self.source.on_drained(now) {
                Drained::Done => self.is_done = true,
                Drained::Wait(at) => self.due = at,
                Drained::Nothing => {}
            }
        }
        if let Some(socket) = self.writer.as_ref().and_then(Writer::socket).filter(|_| self.is_done) {
            self.endpoint.state.end(now);
            self.endpoint.state.finish(socket);
        }
        self.is_done
    }
}

/// Data for which the receiver of endless data waits: a wake-up for every second packet would take more processor time
/// than the packets.
const LOW_WATER: Bytes = Bytes(1 << 16);
/// Data before which the receiver waits for none: unread data make the receive window smaller, which slow start needs.
const UNTIL_LOW_WATER: u64 = 1 << 22;
/// The receiver waits for a part of its buffer of `1 / BUFFER_PARTS` at most, which is an eighth of the window.
const BUFFER_PARTS: u64 = 16;
/// Data that the receiver takes by one call.
const MAX_READ: Bytes = Bytes(1 << 20);

/// Whether nothing depends on the time at which the receiver reads a byte.
fn is_endless(endpoint: &Endpoint<'_>) -> bool {
    matches!(&endpoint.plan.workload, Workload::Bulk(bulk) if bulk.bytes.is_none())
}

/// Runs the receiver of a flow until the end of the run. It accepts and reads one connection after another.
pub(crate) fn receive(endpoint: &Endpoint<'_>, listener: &TcpListener) {
    while !endpoint.run.is_over() {
        let Ok((socket, _)) = listener.accept() else {
            std::thread::sleep(ACCEPT_INTERVAL);
            continue;
        };
        let _ = socket.set_nonblocking(false);
        let _ = socket.set_read_timeout(Some(STOP_CHECK));
        let mut until_low_water = if is_endless(endpoint) { UNTIL_LOW_WATER } else { u64::MAX };
        while !endpoint.run.is_over() {
            match socket::discard(&socket, MAX_READ) {
                Ok(Bytes::ZERO) => break,
                Ok(bytes) => {
                    on_read(endpoint, bytes.0);
                    until_low_water = until_low_water.saturating_sub(bytes.0);
                    if until_low_water == 0 {
                        until_low_water = u64::MAX;
                        wait_for_more(&socket);
                    }
                }
                Err(error) if is_timeout(&error) => {}
                Err(_) => break,
            }
        }
    }
}

/// Makes the reads of a socket wait for [`LOW_WATER`], or for the part of the buffer that the window can spare.
fn wait_for_more(socket: &TcpStream) {
    if let Ok(buffer) = socket::receive_buffer(socket) {
        let _ = socket::set_receive_low_water(socket, Bytes(buffer.0 / BUFFER_PARTS).min(LOW_WATER));
    }
}

/// Counts received payload, and completes each transfer whose last byte has arrived.
fn on_read(endpoint: &Endpoint<'_>, bytes: u64) {
    let state = endpoint.state;
    let delivered = state.delivered.fetch_add(bytes, Ordering::Relaxed) + bytes;
    let mut pending = lock(&state.pending);
    while let Some(&transfer) = pending.front().filter(|transfer| delivered >= transfer.end) {
        endpoint.deliver_message(transfer.start);
        endpoint.record_transfer(transfer.start, Bytes(transfer.size));
        pending.pop_front();
    }
}
