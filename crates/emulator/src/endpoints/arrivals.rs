//! Transfers that arrive at random times, each over its own connection: a thread for each transfer at either end.
//!
//! Sizes and arrival times are those of the simulator, whose random streams the arrival process has. The client names
//! each connection by its port before it sends data, so that the server knows which transfer it receives.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Scope};

use cwndlab_records::rows::{EventRow, TransferRow};
use cwndlab_traffic::arrival_process::{Arrival, ArrivalProcess};
use cwndlab_traffic::NEVER;
use cwndlab_units::{Duration, Time};

use super::connection::{read, set_priority, Endpoint, ACCEPT_INTERVAL, DRAIN_INTERVAL, STOP_CHECK};
use super::writer::{Writer, NO_OTHERS};
use crate::addresses::Side;
use crate::locking::lock;

/// Stack of a transfer's thread, bytes. Thousands of them exist at a time.
const STACK: usize = 256 << 10;

/// Errors of a machine without free file descriptors: `ENFILE` and `EMFILE` of `asm-generic/errno-base.h`.
const NO_DESCRIPTORS: [i32; 2] = [23, 24];

/// Whether the machine has no file descriptor or no port for another connection.
fn is_exhaustion(error: &std::io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| NO_DESCRIPTORS.contains(&number))
        || error.kind() == ErrorKind::AddrNotAvailable
}

/// Both endpoints of a flow with random arrivals.
#[derive(Debug)]
pub struct ArrivalEndpoints<'a> {
    pub(crate) endpoint: Endpoint<'a>,
    process: Mutex<ArrivalProcess>,
    /// Transfers whose data the server has not received, with their starts, by the port of the client.
    expected: Mutex<BTreeMap<u16, (Arrival, Time)>>,
    /// Transfers that are not complete.
    active: AtomicUsize,
    failure: Mutex<Option<std::io::Error>>,
}

impl<'a> ArrivalEndpoints<'a> {
    pub(crate) fn new(endpoint: Endpoint<'a>, process: ArrivalProcess) -> Self {
        let process = Mutex::new(process);
        let expected = Mutex::default();
        let failure = Mutex::default();
        Self { endpoint, process, expected, active: AtomicUsize::new(0), failure }
    }

    /// Starts the transfers until the process or the run is over; returns the first error of a transfer.
    pub(crate) fn run_client(&self) -> std::io::Result<()> {
        let run = self.endpoint.run;
        let mut process = lock(&self.process);
        std::thread::scope(|scope| {
            // The process has its own clock: an arrival does not depend on when this thread wakes up.
            let mut due = self.endpoint.lifetime.start;
            while !run.is_over() && due != NEVER {
                let (arrival, next) = process.on_timer(due);
                if let Some(arrival) = arrival {
                    self.admit(scope, arrival, due, process.connections() as usize);
                }
                due = next;
                if due != NEVER {
                    run.sleep_until(due);
                }
            }
        });
        if process.is_over() && !run.is_over() {
            self.endpoint.state.end(run.now());
        }
        lock(&self.failure).take().map_or(Ok(()), Err)
    }

    /// Starts a transfer, unless `limit` transfers are active.
    fn admit<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, arrival: Arrival, at: Time, limit: usize) {
        let transfer = move || {
            set_priority();
            match self.transfer(arrival, at) {
                Err(error) if is_exhaustion(&error) => self.refuse(at, "descriptors"),
                Err(error) if !self.endpoint.run.is_over() => drop(lock(&self.failure).get_or_insert(error)),
                _ => {}
            }
            self.active.fetch_sub(1, Ordering::Relaxed);
        };
        self.endpoint.offer_message(at, arrival.bytes);
        if self.active.fetch_add(1, Ordering::Relaxed) < limit {
            if Builder::new().stack_size(STACK).spawn_scoped(scope, transfer).is_ok() {
                return;
            }
            self.refuse(at, "threads");
        } else {
            self.refuse(at, "connections");
        }
        self.active.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records a transfer that was not admitted, or for which the machine has no connection.
    fn refuse(&self, at: Time, cause: &'static str) {
        lock(&self.endpoint.state.events).push(EventRow {
            time_ns: at.as_nanos(),
            flow: self.endpoint.flow.into(),
            kind: "refused",
            cause,
            cwnd_before_bytes: 0,
            cwnd_after_bytes: 0,
            pipe_segments: None,
        });
    }

    /// Runs one transfer at the client, from the handshake to the last acknowledgement.
    fn transfer(&self, arrival: Arrival, at: Time) -> std::io::Result<()> {
        let endpoint = &self.endpoint;
        let Some(socket) = endpoint.connect(Side::Senders, || false)? else { return Ok(()) };
        lock(&self.expected).insert(socket.local_addr()?.port(), (arrival, at));
        let socket = endpoint.state.open(socket);
        let mut writer = Writer::new(endpoint, Arc::clone(&socket));
        writer.append(arrival.bytes);
        let sent = self.send(&mut writer);
        endpoint.state.close(&socket);
        sent
    }

    /// Sends the data of a transfer until all are acknowledged or the run is over.
    fn send(&self, writer: &mut Writer) -> std::io::Result<()> {
        let run = self.endpoint.run;
        while !run.is_over() && !writer.is_drained() {
            writer.write(&self.endpoint)?;
            writer.wait(if writer.is_empty() { DRAIN_INTERVAL } else { Duration::MAX }, false, NO_OTHERS);
        }
        Ok(())
    }

    /// Accepts connections until the end of the run.
    pub(crate) fn run_server(&self, listener: &TcpListener) {
        std::thread::scope(|scope| {
            while !self.endpoint.run.is_over() {
                match listener.accept() {
                    Ok((socket, client)) => {
                        let port = client.port();
                        let serve = move || {
                            set_priority();
                            // An error ends the connection; the client reports it.
                            let _ = self.receive(&socket, port);
                        };
                        // Without a thread the connection closes, which the client reports.
                        let _ = Builder::new().stack_size(STACK).spawn_scoped(scope, serve);
                    }
                    Err(_) => std::thread::sleep(ACCEPT_INTERVAL),
                }
            }
        });
    }

    /// Receives one transfer at the server, and records it when its last byte has arrived.
    fn receive(&self, socket: &TcpStream, port: u16) -> std::io::Result<()> {
        let Endpoint { run, state, flow, .. } = self.endpoint;
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(STOP_CHECK))?;
        let mut received = 0;
        let mut expected = None::<(Arrival, Time)>;
        while !run.is_over() {
            let bytes = read(socket, u64::MAX)?; // the end of the stream is an error
            received += bytes;
            state.delivered.fetch_add(bytes, Ordering::Relaxed);
            if expected.is_none() && bytes > 0 {
                expected = lock(&self.expected).remove(&port);
            }
            if let Some((arrival, start)) = expected.filter(|(arrival, _)| received == arrival.bytes.0) {
                self.endpoint.deliver_message(start);
                lock(&state.transfers).push(TransferRow {
                    flow: flow.into(),
                    transfer: arrival.number,
                    start_ns: start.as_nanos(),
                    end_ns: run.now().as_nanos(),
                    size_bytes: arrival.bytes.0,
                });
                expected = None;
            }
        }
        Ok(())
    }
}
