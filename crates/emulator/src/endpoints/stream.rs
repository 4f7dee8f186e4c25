//! One-way data over TCP: the sender's thread with the workloads bulk, on-off and transfers, and the receiver's thread.

use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::Arc;

use cwndlab_linux::fault::Fault;
use cwndlab_scenario::plan::Workload;
use cwndlab_traffic::sampling::{sample_pause, sample_period, TIME_STREAM};
use cwndlab_units::{Bytes, Duration, Time};

use super::connection::{is_timeout, lock, Endpoint, PendingTransfer, ACCEPT_INTERVAL, STOP_CHECK};
use crate::addresses::Side;

/// Runs the sender of a flow until the end of the run.
pub(crate) fn send(endpoint: &Endpoint<'_>) -> Result<(), Fault> {
    endpoint.run.sleep_until(endpoint.start);
    if endpoint.run.is_over() {
        return Ok(());
    }
    send_workload(endpoint).map_err(|error| endpoint.fault(error))
}

fn send_workload(endpoint: &Endpoint<'_>) -> std::io::Result<()> {
    let (run, state) = (endpoint.run, endpoint.state);
    // A transfer over a connection of its own begins with the handshake, as in the simulator.
    let start = run.now();
    state.started.store(start.0, Ordering::Relaxed);
    let Some(first) = endpoint.connect(Side::Senders)? else { return Ok(()) };
    let mut socket = state.open(first);
    let is_done = match &endpoint.plan.workload {
        &Workload::Bulk { bytes } => {
            if let Some(bytes) = bytes {
                begin_transfer(endpoint, bytes, start);
            }
            endpoint.send(&socket, bytes.map(|bytes| bytes.0), endpoint.stop_at())?;
            true
        }
        Workload::RandomOnOff { on, off } => {
            let mut times = endpoint.stream(TIME_STREAM);
            let period = || (sample_period(on, &mut times), sample_pause(off, &mut times));
            send_in_periods(endpoint, &socket, period)?
        }
        &Workload::OnOff { on, off } => send_in_periods(endpoint, &socket, || (on, off))?,
        Workload::Transfers { .. } => match send_transfers(endpoint, &mut socket, start)? {
            Some(is_done) => is_done,
            None => return Ok(()),
        },
        _ => true,
    };
    if is_done && endpoint.drain(&socket) && !run.is_over() {
        state.ended.store(run.now().0, Ordering::Relaxed);
        let _ = socket.shutdown(Shutdown::Write);
    }
    // The final TCP_INFO is read at the end of the run.
    run.sleep_until(Time(u64::MAX));
    state.close(&socket);
    Ok(())
}

/// Sends without end during the first part of each period and not at all during the second.
fn send_in_periods(
    endpoint: &Endpoint<'_>,
    socket: &TcpStream,
    mut period: impl FnMut() -> (Duration, Duration),
) -> std::io::Result<bool> {
    while endpoint.is_active() {
        let (on, off) = period();
        let until = endpoint.run.now() + on;
        endpoint.send(socket, None, until.min(endpoint.stop_at()))?;
        endpoint.run.sleep_until((until + off).min(endpoint.stop_at()));
    }
    Ok(true)
}

/// Sends one transfer after another. Returns whether the last was acknowledged; `None` where the run ended before a new
/// connection.
fn send_transfers(
    endpoint: &Endpoint<'_>,
    socket: &mut Arc<TcpStream>,
    mut start: Time,
) -> std::io::Result<Option<bool>> {
    let &Workload::Transfers { count, bytes, gap, new_connection } = &endpoint.plan.workload else {
        return Ok(Some(true));
    };
    let (mut number, mut is_done) = (0, true);
    while endpoint.is_active() && count.is_none_or(|count| number < count) {
        if number > 0 {
            start = endpoint.run.now();
        }
        if number > 0 && new_connection {
            endpoint.state.close(socket);
            let Some(next) = endpoint.connect(Side::Senders)? else { return Ok(None) };
            *socket = endpoint.state.open(next);
        }
        begin_transfer(endpoint, bytes, start);
        endpoint.send(socket, Some(bytes.0), endpoint.stop_at())?;
        is_done = endpoint.drain(socket);
        number += 1;
        endpoint.run.sleep_until((endpoint.run.now() + gap).min(endpoint.stop_at()));
    }
    Ok(Some(is_done))
}

/// Tells the receiver where the next transfer ends.
fn begin_transfer(endpoint: &Endpoint<'_>, bytes: Bytes, start: Time) {
    let end = endpoint.state.delivered.load(Ordering::Relaxed) + bytes.0;
    *lock(&endpoint.state.pending) = Some(PendingTransfer { end, size: bytes.0, start });
}

/// Runs the receiver of a flow until the end of the run: reads one connection after another.
pub(crate) fn receive(endpoint: &Endpoint<'_>, listener: &TcpListener) {
    let mut buffer = vec![0u8; 1 << 18];
    while !endpoint.run.is_over() {
        let Ok((mut socket, _)) = listener.accept() else {
            std::thread::sleep(ACCEPT_INTERVAL);
            continue;
        };
        let _ = socket.set_nonblocking(false);
        let _ = socket.set_read_timeout(Some(STOP_CHECK));
        while !endpoint.run.is_over() {
            match socket.read(&mut buffer) {
                Ok(0) => break,
                Ok(bytes) => on_read(endpoint, bytes as u64),
                Err(error) if is_timeout(&error) => {}
                Err(_) => break,
            }
        }
    }
}

/// Counts payload, and completes the current transfer with its last byte.
fn on_read(endpoint: &Endpoint<'_>, bytes: u64) {
    let state = endpoint.state;
    let delivered = state.delivered.fetch_add(bytes, Ordering::Relaxed) + bytes;
    let mut pending = lock(&state.pending);
    if let Some(transfer) = pending.filter(|transfer| delivered >= transfer.end) {
        endpoint.record_transfer(transfer.start, transfer.size);
        *pending = None;
    }
}
