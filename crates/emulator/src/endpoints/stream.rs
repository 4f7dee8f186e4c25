//! One-way data over TCP: the sender's thread, which executes the actions of a byte source, and the receiver's thread.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::Arc;

use cwndlab_linux::socket;
use cwndlab_scenario::plan::Workload;
use cwndlab_traffic::action::Action;
use cwndlab_traffic::byte_source::{ByteSource, Drained};
use cwndlab_units::{Bytes, Time};

use super::connection::{is_timeout, lock, Endpoint, PendingTransfer, ACCEPT_INTERVAL, STOP_CHECK};
use crate::addresses::Side;

/// Runs the sender of a flow from the start of the flow until the end of the run.
pub(crate) fn send(endpoint: &Endpoint<'_>, source: &mut ByteSource) -> std::io::Result<()> {
    let mut socket = None::<Arc<TcpStream>>;
    let is_done = run_source(endpoint, source, &mut socket)?;
    let Some(socket) = socket else { return Ok(()) };
    if is_done && endpoint.drain(&socket) && !endpoint.run.is_over() {
        endpoint.state.ended.store(endpoint.run.now().0, Ordering::Relaxed);
        let _ = socket.shutdown(Shutdown::Write);
    }
    // The final TCP_INFO is read at the end of the run.
    endpoint.run.sleep_until(Time::MAX);
    endpoint.state.close(&socket);
    Ok(())
}

/// Executes the actions of the source until it is done or the run is over; returns whether it is done.
fn run_source(
    endpoint: &Endpoint<'_>,
    source: &mut ByteSource,
    socket: &mut Option<Arc<TcpStream>>,
) -> std::io::Result<bool> {
    let run = endpoint.run;
    while !run.is_over() {
        // A transfer over a new connection begins with the handshake, as in the simulator.
        let start = run.now();
        let (action, mut next) = source.on_timer(start);
        let is_transfer = !matches!(action, Action::Supply(_) | Action::Open(Some(Bytes::ZERO)));
        let bytes = match action {
            Action::Open(bytes) | Action::Reopen(bytes) => {
                if let Some(last) = socket.take() {
                    endpoint.state.close(&last);
                }
                let Some(opened) = endpoint.connect(Side::Senders)? else { return Ok(false) };
                *socket = Some(endpoint.state.open(opened));
                Some(bytes)
            }
            Action::Write(bytes) => Some(bytes),
            Action::Supply(bytes) => Some(Some(bytes)),
            Action::Stop => return Ok(true),
            Action::Pause | Action::Nothing => None,
        };
        if let (Some(bytes), Some(socket)) = (bytes, socket.as_ref()) {
            if let Some(size) = bytes.filter(|_| is_transfer) {
                begin_transfer(endpoint, size, start);
            }
            let all = endpoint.send(socket, bytes.map(|bytes| bytes.0), next.min(endpoint.stop_at()))?;
            if is_transfer && bytes.is_some() && all && endpoint.drain(socket) {
                source.complete_transfer();
                match source.on_drained(run.now()) {
                    Drained::Done => return Ok(true),
                    Drained::Wait(at) => next = at,
                    Drained::Nothing => {}
                }
            }
        }
        run.sleep_until(next);
    }
    Ok(false)
}

/// Announces the end of the next transfer to the receiver's thread.
fn begin_transfer(endpoint: &Endpoint<'_>, bytes: Bytes, start: Time) {
    let end = endpoint.state.delivered.load(Ordering::Relaxed) + bytes.0;
    *lock(&endpoint.state.pending) = Some(PendingTransfer { end, size: bytes.0, start });
}

/// Data for which the receiver of endless data waits. A wake-up for every second packet would take more processor time
/// than the packets. The limit is far below [the initial buffer](crate::session), so that it does not change the window.
const LOW_WATER: Bytes = Bytes(1 << 16);
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
        if is_endless(endpoint) {
            let _ = socket::set_receive_low_water(&socket, LOW_WATER);
        }
        while !endpoint.run.is_over() {
            match socket::discard(&socket, MAX_READ) {
                Ok(Bytes::ZERO) => break,
                Ok(bytes) => on_read(endpoint, bytes.0),
                Err(error) if is_timeout(&error) => {}
                Err(_) => break,
            }
        }
    }
}

/// Counts received payload, and completes the current transfer when its last byte has arrived.
fn on_read(endpoint: &Endpoint<'_>, bytes: u64) {
    let state = endpoint.state;
    let delivered = state.delivered.fetch_add(bytes, Ordering::Relaxed) + bytes;
    let mut pending = lock(&state.pending);
    if let Some(transfer) = pending.filter(|transfer| delivered >= transfer.end) {
        endpoint.record_transfer(transfer.start, Bytes(transfer.size));
        *pending = None;
    }
}
