//! s2n-quic as a hosted stack: docs/host.md. Its clock is an argument; its random numbers come from the system.
//! Controllers: cubic (default), bbr.
//!
//! Options: `window=BYTES`, the flow control's and that of the send buffer; `mtu=BYTES`, the first datagrams' size;
//! `idle=SECONDS`.

mod application;
mod io;
#[path = "../../../s2n-quic/src/record.rs"]
mod record;
mod values;

use std::fs::File;
use std::future::Future;
use std::io::BufWriter;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use cwndlab_stack::{log, tls, Answer, Stack, Start};
use s2n_quic::provider::congestion_controller::{Bbr, Cubic, Endpoint as Controllers};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Server};
use s2n_quic_core::path::mtu;

use crate::application::{Shared, Supply};
use crate::io::{since_start, timestamp, Inbox, Outbox, Place, Provider};
use crate::record::{Events, Record};
use crate::values::{Values, Watch};

const NAME: &str = "s2n-quic 1.91.0";
/// The headers of IPv4 and UDP, which s2n-quic counts.
const HEADERS: u16 = 28;
/// Rounds between application and endpoint at one time, beyond which neither waits for the other.
const ROUNDS: usize = 1000;

/// What the application of an end does.
type Application = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// Whether somebody was woken.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One end of a connection.
struct Adapter {
    endpoint: Place,
    application: Option<Application>,
    shared: Shared,
    controller: &'static str,
    inbox: Inbox,
    outbox: Outbox,
    flag: Arc<Flag>,
    values: Arc<Mutex<Values>>,
    /// The log of the sender, and its file.
    log: Option<(Arc<Mutex<Record>>, BufWriter<File>)>,
    datagram: u16,
    failure: Option<String>,
}

/// The parameters of the endpoint with the options.
fn parameters(start: &Start) -> Result<(Limits, mtu::Config), String> {
    let mut limits = Limits::new();
    let mut mtu = mtu::Config::builder();
    for (key, value) in start.pairs()? {
        let number: u32 = value.parse().map_err(|_| format!("{key}: '{value}' is not a number"))?;
        let fault = |error: &dyn std::fmt::Display| format!("{key}: {error}");
        match key {
            "window" => {
                limits = limits
                    .with_data_window(number.into())
                    .and_then(|limits| limits.with_unidirectional_data_window(number.into()))
                    .and_then(|limits| limits.with_max_send_buffer_size(number))
                    .map_err(|error| fault(&error))?;
            }
            "mtu" => mtu = mtu.with_initial_mtu(number as u16 + HEADERS).map_err(|error| fault(&error))?,
            "idle" => {
                let idle = Duration::from_secs(number.into());
                limits = limits.with_max_idle_timeout(idle).map_err(|error| fault(&error))?;
            }
            _ => return Err(format!("no option is called '{key}': window, mtu, idle")),
        }
    }
    let mtu = mtu.with_max_mtu(start.max_datagram + HEADERS).map_err(text)?;
    Ok((limits, mtu.build().map_err(text)?))
}

/// Locks what only one thread uses.
fn lock<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The client of a sender.
fn client<C: Controllers + Send + 'static>(
    io: Provider,
    limits: Limits,
    controller: C,
    events: (Watch, Events),
) -> Result<Client, String> {
    let tls = rustls::Client::from(tls::client());
    let builder = Client::builder().with_io(io).map_err(text)?.with_tls(tls).map_err(text)?;
    let builder = builder.with_limits(limits).map_err(text)?.with_event(events).map_err(text)?;
    builder.with_congestion_controller(controller).map_err(text)?.start().map_err(text)
}

/// The server of a receiver.
fn server<C: Controllers + Send + 'static>(io: Provider, limits: Limits, controller: C) -> Result<Server, String> {
    let tls = rustls::Server::from(tls::server());
    let builder = Server::builder().with_io(io).map_err(text)?.with_tls(tls).map_err(text)?;
    let builder = builder.with_limits(limits).map_err(text)?;
    builder.with_congestion_controller(controller).map_err(text)?.start().map_err(text)
}

impl Adapter {
    /// Runs the endpoint and the application until neither wakes the other.
    fn drive(&mut self, now: Duration) {
        let now = timestamp(now);
        let mut place = lock(&self.endpoint);
        let Some(endpoint) = place.as_mut() else { return };
        let waker = Waker::from(self.flag.clone());
        let mut context = Context::from_waker(&waker);
        for _ in 0..ROUNDS {
            self.flag.0.store(false, Ordering::Relaxed);
            if !self.inbox.datagrams.is_empty() {
                endpoint.receive(&mut self.inbox, now);
            }
            if let Some(application) = &mut self.application {
                if let Poll::Ready(ended) = application.as_mut().poll(&mut context) {
                    self.application = None;
                    self.failure = ended.err();
                }
            }
            endpoint.wake(&mut context, now);
            endpoint.transmit(&mut self.outbox, now);
            if !self.flag.0.load(Ordering::Relaxed) {
                return;
            }
        }
        self.failure = Some(format!("application and endpoint woke each other {ROUNDS} times"));
    }
}

impl Stack for Adapter {
    fn start(start: &Start) -> Result<Self, String> {
        let controller = match start.controller.as_str() {
            "" | "cubic" => "cubic",
            "bbr" => "bbr",
            other => return Err(format!("no congestion control is called '{other}': cubic, bbr")),
        };
        let (limits, mtu) = parameters(start)?;
        let (endpoint, shared) = (Place::default(), Shared::new(Mutex::new(Supply::default())));
        let io = Provider { place: endpoint.clone(), mtu };
        let values = Arc::new(Mutex::new(Values::default()));
        let log = log::create(start, "s2n-quic", "sqlog").map(|file| (Arc::new(Mutex::new(Record::default())), file));
        let events = (Watch(values.clone()), Events(log.as_ref().map(|(record, _)| record.clone())));
        let application: Application = match (start.is_sender, controller) {
            (true, "bbr") => Box::pin(application::send(client(io, limits, Bbr::default(), events)?, shared.clone())),
            (true, _) => Box::pin(application::send(client(io, limits, Cubic::default(), events)?, shared.clone())),
            (false, _) => Box::pin(application::receive(server(io, limits, Cubic::default())?, shared.clone())),
        };
        Ok(Self {
            endpoint,
            application: Some(application),
            shared,
            controller,
            inbox: Inbox::new(start.is_sender),
            outbox: Outbox::new(),
            flag: Arc::default(),
            values,
            log,
            datagram: start.max_datagram,
            failure: None,
        })
    }

    fn names(&self) -> (String, String) {
        (NAME.to_owned(), self.controller.to_owned())
    }

    /// Transmissions handle the timers that have expired.
    fn on_timer(&mut self, _now: Duration) {}

    fn on_datagram(&mut self, _now: Duration, ecn: u8, payload: &[u8], _answer: &mut Answer) {
        self.inbox.datagrams.push((ecn, payload.to_vec()));
    }

    fn write(&mut self, bytes: u64) {
        let mut supply = lock(&self.shared);
        supply.to_write = supply.to_write.saturating_add(bytes);
    }

    fn pause(&mut self) {
        let mut supply = lock(&self.shared);
        if supply.to_write == u64::MAX {
            supply.to_write = 0;
        }
    }

    fn finish(&mut self) {
        lock(&self.shared).is_finishing = true;
        self.pause();
    }

    fn answer(&mut self, now: Duration, answer: &mut Answer) {
        self.drive(now);
        for (ecn, datagram) in self.outbox.datagrams.drain(..) {
            answer.send(ecn, &datagram);
        }
        let place = lock(&self.endpoint);
        if let Some(at) = place.as_ref().and_then(|endpoint| endpoint.timeout()) {
            // A timer in the past is due now. Its clock has microseconds.
            answer.next_timer(since_start(at).max(now));
        }
        let supply = lock(&self.shared);
        answer.delivered(supply.delivered);
        lock(&self.values).report(answer);
        if supply.is_done {
            answer.done();
        }
        if let Some(failure) = self.failure.take() {
            answer.failure(&failure);
        }
    }
}

impl Drop for Adapter {
    /// The log is complete at the end only: it leaves out packets without an answer (`stack_log`).
    fn drop(&mut self) {
        let Some((record, file)) = self.log.take() else { return };
        let mut record = lock(&record);
        record.end_frame();
        if let Err(error) = record.log.write_to(file, NAME, self.datagram) {
            eprintln!("the log: {error}");
        }
    }
}

fn main() -> std::io::Result<()> {
    cwndlab_stack::serve::<Adapter>()
}
