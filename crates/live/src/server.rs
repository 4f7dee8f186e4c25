//! The server: start, stop and counters.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cwndlab_linux::{memory, rlimit, sysctl};
use cwndlab_units::Fault;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::{interval, MissedTickBehavior};
use tokio_rustls::TlsAcceptor;

use crate::certificate::Certificate;
use crate::counters::Counters;
use crate::limits::Limits;
use crate::server_state::ServerState;
use crate::swappable::{Classes, Offer};
use crate::tokens::Tokens;
use crate::transfer::lock;
use crate::{quic, tcp, tls};

/// The settings of a server.
#[derive(Debug)]
pub struct Settings {
    /// Address and port; port 0 selects a free port.
    pub listen: String,
    /// The certificate.
    pub certificate: Certificate,
    /// The clients' tokens.
    pub tokens: Tokens,
    /// The limits.
    pub limits: Limits,
    /// Accept QUIC as well, on the same port, with these algorithms besides those of the catalogue.
    pub quic: Option<Classes>,
}

/// A running server, which stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    fingerprint: String,
    counters: Arc<Counters>,
    failures: Arc<Mutex<Vec<String>>>,
    notes: Vec<String>,
    stop: watch::Sender<bool>,
    runtime: Option<Runtime>,
}

/// Maximum time for connections to end when the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval at which expired accounts are dropped and memory is returned.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(5);

fn resolve(listen: &str) -> Result<SocketAddr, Fault> {
    let hint = "write ADDRESS:PORT, such as 127.0.0.1:8443 or [::]:8443";
    let mut addresses =
        listen.to_socket_addrs().map_err(|cause| Fault::new("--listen", format!("'{listen}': {cause}"), hint))?;
    addresses.next().ok_or_else(|| Fault::new("--listen", format!("'{listen}' has no address"), hint))
}

/// Checks that the process may open the number of descriptors that the limits require.
fn check_descriptors(limits: &Limits) -> Result<(), Fault> {
    let Some(soft) = rlimit::max_open_files() else { return Ok(()) };
    let needed = limits.descriptors();
    if needed <= soft {
        return Ok(());
    }
    let what = format!("the connections need {needed} file descriptors, but the limit of this process is {soft}");
    Err(Fault::new("limits", what, format!("run `ulimit -n {needed}`, or reduce the number of connections")))
}

/// Notes on kernel settings that make transfers depend on earlier transfers.
fn notes() -> Vec<String> {
    let mut notes = Vec::new();
    if sysctl::read("net.ipv4.tcp_no_metrics_save").is_some_and(|value| value == "0") {
        notes.push(
            "the kernel saves the metrics of a path for later connections (net.ipv4.tcp_no_metrics_save=0): set it to 1 \
             for independent transfers"
                .to_owned(),
        );
    }
    notes
}

/// Drops expired accounts, and returns the memory of ended connections to the system, which the allocator would retain.
async fn maintain(server: Arc<ServerState>) {
    let mut tick = interval(MAINTENANCE_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = server.stop.clone();
    let mut attempts = 0;
    let mut was_busy = false;
    loop {
        tokio::select! {
            _ = stop.wait_for(|&stop| stop) => return,
            _ = tick.tick() => {}
        }
        let has_expired = lock(&server.accounts).expire();
        let now = server.counters.attempts.load(Ordering::Relaxed);
        let is_busy = now != attempts || server.connections() > 0;
        // `was_busy`: once more after the end of the last connection.
        if is_busy || was_busy || has_expired {
            memory::trim();
        }
        (attempts, was_busy) = (now, is_busy);
    }
}

impl Server {
    /// Starts a server on new threads.
    ///
    /// # Errors
    ///
    /// An invalid or used address, or too few file descriptors.
    pub fn start(settings: Settings) -> Result<Self, Fault> {
        check_descriptors(&settings.limits)?;
        let address = resolve(&settings.listen)?;
        let fingerprint = settings.certificate.fingerprint();
        let config = tls::config(&settings.certificate, b"http/1.1")?;
        let runtime = Builder::new_multi_thread()
            .thread_name("cwndlab-serve")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|cause| Fault::new("serve", cause.to_string(), ""))?;
        let bind_fault = |cause: std::io::Error| {
            let hint = "choose another port, or port 0 for a free one";
            Fault::new("--listen", format!("'{}': {cause}", settings.listen), hint)
        };
        let listener = tcp::listen(address).map_err(bind_fault)?;
        let address = listener.local_addr().map_err(bind_fault)?;
        let (stop, stopped) = watch::channel(false);
        let offer = settings.quic.map(|classes| Arc::new(Offer::new(classes)));
        let server = Arc::new(ServerState::new(settings.limits, settings.tokens, stopped, offer.clone()));
        let counters = Arc::clone(&server.counters);
        let failures = Arc::clone(&server.failures);
        let listener = {
            let _runtime = runtime.enter();
            TcpListener::from_std(listener).map_err(bind_fault)?
        };
        if let Some(offer) = offer {
            let _runtime = runtime.enter();
            let (endpoint, crypto) = quic::listen(address, &settings.certificate)?;
            runtime.spawn(quic::accept(Arc::clone(&server), endpoint, crypto, offer));
        }
        runtime.spawn(maintain(Arc::clone(&server)));
        runtime.spawn(tcp::accept(server, listener, TlsAcceptor::from(Arc::new(config))));
        Ok(Self { address, fingerprint, counters, failures, notes: notes(), stop, runtime: Some(runtime) })
    }

    /// The address on which the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// SHA-256 of the certificate, hex.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The failures of algorithms since the last call, each with its traceback.
    #[must_use]
    pub fn take_failures(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.failures))
    }

    /// Notes on settings of this machine that affect measurements.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Ends all transfers and connections, and waits for them.
    pub fn stop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
