//! The server as a whole: it starts, it can be asked how it fares, it stops.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use cwndlab_linux::fault::{fault, Fault};
use cwndlab_linux::{memory, rlimit, sysctl};
use rustls::server::NoServerSessionStorage;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::{interval, MissedTickBehavior};
use tokio_rustls::TlsAcceptor;

use crate::account::lock;
use crate::certificate::Certificate;
use crate::counters::Counters;
use crate::house::House;
use crate::limits::Limits;
use crate::tokens::Tokens;
use crate::{quic, tcp};

/// What a server is made of.
#[derive(Debug)]
pub struct Settings {
    /// Address and port; port 0 takes a free one.
    pub listen: String,
    /// What it shows.
    pub certificate: Certificate,
    /// Who may fetch.
    pub tokens: Tokens,
    /// How much.
    pub limits: Limits,
    /// Over QUIC too, on the same port.
    pub quic: bool,
}

/// A server that runs; it stops when dropped.
pub struct Server {
    address: SocketAddr,
    fingerprint: String,
    counters: Arc<Counters>,
    notes: Vec<String>,
    stop: watch::Sender<bool>,
    runtime: Option<Runtime>,
}

/// How long what runs may take to notice that the server stops.
const FAREWELL: Duration = Duration::from_secs(2);

/// How often old accounts are dropped and memory is returned.
const TIDY: Duration = Duration::from_secs(5);

fn resolve(listen: &str) -> Result<SocketAddr, Fault> {
    let hint = "write ADDRESS:PORT, such as 127.0.0.1:8443 or [::]:8443";
    let mut found =
        listen.to_socket_addrs().map_err(|cause| fault("--listen", format!("'{listen}': {cause}"), hint))?;
    found.next().ok_or_else(|| fault("--listen", format!("'{listen}' has no address"), hint))
}

/// A server must never meet the end of its descriptors.
fn descriptors(limits: &Limits) -> Result<(), Fault> {
    let Some(soft) = rlimit::open_files() else { return Ok(()) };
    let needed = limits.descriptors();
    if needed <= soft {
        return Ok(());
    }
    let what = format!("{needed} descriptors are needed for so many connections, this process may have {soft}");
    Err(fault("limits", what, format!("`ulimit -n {needed}`, or fewer connections")))
}

/// Settings of the kernel that let one transfer see what another one met.
fn notes() -> Vec<String> {
    let mut notes = Vec::new();
    if sysctl::read("net.ipv4.tcp_no_metrics_save").is_some_and(|value| value == "0") {
        notes.push(
            "the kernel remembers a path's metrics from one connection to the next (net.ipv4.tcp_no_metrics_save=0): \
             set it to 1 for independent transfers"
                .to_owned(),
        );
    }
    notes
}

pub(crate) fn tls(certificate: &Certificate, protocol: &[u8]) -> Result<ServerConfig, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let broken =
        |cause: rustls::Error| fault("certificate", cause.to_string(), "certificate and key must belong together");
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(broken)?
        .with_no_client_auth()
        .with_single_cert(certificate.chain.clone(), certificate.key.clone_key())
        .map_err(broken)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    // Nothing is kept of a session, and no ticket is sent that would come before a transfer's first byte.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Forgets old accounts, and returns the memory of connections that have ended to the system, which the allocator
/// would keep.
async fn tidy(house: Arc<House>) {
    let mut tick = interval(TIDY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = house.stop.clone();
    let (mut attempts, mut was_busy) = (0, false);
    loop {
        tokio::select! {
            _ = stop.wait_for(|&stop| stop) => return,
            _ = tick.tick() => {}
        }
        let has_expired = lock(&house.accounts).expire();
        let now = house.counters.attempts.load(Ordering::Relaxed);
        let is_busy = now != attempts || house.connections() > 0;
        // Once more after the last connection has gone.
        if is_busy || was_busy || has_expired {
            memory::trim();
        }
        (attempts, was_busy) = (now, is_busy);
    }
}

impl Server {
    /// Listens and serves, on threads of its own.
    pub fn start(settings: Settings) -> Result<Self, Fault> {
        descriptors(&settings.limits)?;
        let address = resolve(&settings.listen)?;
        let fingerprint = settings.certificate.fingerprint();
        let config = tls(&settings.certificate, b"http/1.1")?;
        let runtime = Builder::new_multi_thread()
            .thread_name("cwndlab-serve")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|cause| fault("serve", cause.to_string(), ""))?;
        let busy = |cause: std::io::Error| {
            fault("--listen", format!("'{}': {cause}", settings.listen), "another port, or port 0 for a free one")
        };
        let listener = tcp::listen(address).map_err(busy)?;
        let address = listener.local_addr().map_err(busy)?;
        let (stop, stopped) = watch::channel(false);
        let house = Arc::new(House::new(settings.limits, settings.tokens, stopped, settings.quic));
        let counters = Arc::clone(&house.counters);
        let listener = {
            let _within = runtime.enter();
            TcpListener::from_std(listener).map_err(busy)?
        };
        if settings.quic {
            let _within = runtime.enter();
            let (endpoint, crypto) = quic::listen(address, &settings.certificate)?;
            runtime.spawn(quic::accept(Arc::clone(&house), endpoint, crypto));
        }
        runtime.spawn(tidy(Arc::clone(&house)));
        runtime.spawn(tcp::accept(house, listener, TlsAcceptor::from(Arc::new(config))));
        Ok(Self { address, fingerprint, counters, notes: notes(), stop, runtime: Some(runtime) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// SHA-256 of its certificate, hex.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What whoever runs it should know of this machine.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Ends every transfer and connection, and waits until they are gone.
    pub fn stop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(FAREWELL);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
