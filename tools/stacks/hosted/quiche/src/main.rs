//! quiche as a hosted stack: docs/host.md. It reads the system's clock, which shows the time of the call, and draws from
//! BoringSSL the packet numbers that it skips, which are numbers of the seed. The pacer's time of each datagram is kept.
//!
//! Controllers: cubic (default), reno, bbr2. Options: `window=BYTES`, the flow control's; `datagram=BYTES`; `idle=SECONDS`;
//! `hystart=0`; `pacing=0`; `relaxed=1`, the loss threshold that adapts to reordering; `idlefix=0`, for CUBIC's epoch.

use std::fs::File;
use std::io::BufWriter;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod, SslSignatureAlgorithm};
use boring::x509::X509;
use cwndlab_stack::{certificate, clock, log, random, serve, Answer, Stack, Start, Value};
use quiche::{Config, Connection, ConnectionId, RecvInfo};

const NAME: &str = "quiche 0.30.0";
const SENDER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 1);
const RECEIVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 2);
/// The first unidirectional stream of the end that opens.
const STREAM: u64 = 2;
/// Bytes that are written or read at once.
const CHUNK: usize = 1 << 16;
/// The flow control's window by default, larger than any path of ours needs.
const WINDOW: u64 = 1 << 24;
/// The payload of datagrams by default, as in quiche's own programs.
const DATAGRAM: usize = 1350;

struct Quiche {
    is_sender: bool,
    config: Config,
    controller: String,
    log: Option<BufWriter<File>>,
    connection: Option<Connection>,
    /// A datagram that the pacer holds until a time.
    held: Option<(Vec<u8>, Instant)>,
    to_write: u64,
    is_finishing: bool,
    is_finished: bool,
    is_done: bool,
    delivered: u64,
    smoothed_rtt: Option<Duration>,
    buffer: Vec<u8>,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn tls(is_sender: bool) -> Result<SslContextBuilder, String> {
    let mut tls = SslContextBuilder::new(SslMethod::tls()).map_err(text)?;
    tls.set_grease_enabled(false);
    if is_sender {
        tls.set_verify_algorithm_prefs(&[SslSignatureAlgorithm::ED25519]).map_err(text)?;
    } else {
        let (certificate, key) = certificate::generate();
        tls.set_certificate(&*X509::from_der(&certificate).map_err(text)?).map_err(text)?;
        tls.set_private_key(&*PKey::private_key_from_pkcs8(&key).map_err(text)?).map_err(text)?;
    }
    Ok(tls)
}

/// The configuration with the options.
fn config(start: &Start, controller: &str) -> Result<Config, String> {
    let mut config =
        Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls(start.is_sender)?).map_err(text)?;
    config.verify_peer(false);
    config.grease(false);
    config.set_application_protos(&[b"cwndlab"]).map_err(text)?;
    config.set_initial_max_streams_uni(1);
    let known = "reno, cubic, bbr2";
    let unknown = |_| format!("no congestion control is called '{controller}': {known}");
    config.set_cc_algorithm_name(controller).map_err(unknown)?;
    let (mut window, mut datagram) = (WINDOW, DATAGRAM);
    for (key, value) in start.pairs()? {
        let number: u64 = value.parse().map_err(|_| format!("{key}: '{value}' is not a number"))?;
        match key {
            "window" => window = number,
            "datagram" => datagram = number as usize,
            "idle" => config.set_max_idle_timeout(number * 1000),
            "hystart" => config.enable_hystart(number != 0),
            "pacing" => config.enable_pacing(number != 0),
            "relaxed" => config.set_enable_relaxed_loss_threshold(number != 0),
            "idlefix" => config.set_enable_cubic_idle_restart_fix(number != 0),
            _ => {
                let known = "window, datagram, idle, hystart, pacing, relaxed, idlefix";
                return Err(format!("no option is called '{key}': {known}"));
            }
        }
    }
    config.set_initial_max_data(window);
    config.set_initial_max_stream_data_uni(window);
    config.set_max_recv_udp_payload_size(start.max_datagram.into());
    config.set_max_send_udp_payload_size(datagram.min(start.max_datagram.into()));
    Ok(config)
}

impl Quiche {
    fn remote(&self) -> SocketAddr {
        if self.is_sender {
            RECEIVER
        } else {
            SENDER
        }
    }

    fn local(&self) -> SocketAddr {
        if self.is_sender {
            SENDER
        } else {
            RECEIVER
        }
    }

    fn connect(&mut self) -> quiche::Result<()> {
        let (local, remote) = (self.local(), self.remote());
        let id = ConnectionId::from_ref(&[1; 16]);
        let mut connection = quiche::connect(Some("localhost"), &id, local, remote, &mut self.config)?;
        if let Some(log) = self.log.take() {
            connection.set_qlog(Box::new(log), NAME.to_owned(), self.controller.clone());
        }
        self.connection = Some(connection);
        Ok(())
    }

    fn write_stream(&mut self) {
        const DATA: [u8; CHUNK] = [0; CHUNK];
        let Some(connection) = self.connection.as_mut().filter(|one| one.is_established()) else { return };
        while !self.is_finished && (self.to_write > 0 || self.is_finishing) {
            let size = self.to_write.min(CHUNK as u64) as usize;
            let is_last = self.is_finishing && size as u64 == self.to_write;
            let Ok(written) = connection.stream_send(STREAM, &DATA[..size], is_last) else { return };
            if self.to_write != u64::MAX {
                self.to_write -= written as u64;
            }
            self.is_finished = is_last && written == size;
            if written < size {
                return;
            }
        }
    }

    fn read_stream(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        self.buffer.resize(CHUNK, 0);
        while let Ok((size, _)) = connection.stream_recv(STREAM, &mut self.buffer) {
            self.delivered += size as u64;
        }
    }

    /// Sends what may leave now; the pacer holds the next datagram.
    fn send(&mut self, answer: &mut Answer) -> quiche::Result<()> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let now = clock::now();
        loop {
            if let Some((datagram, _)) = self.held.take_if(|(_, at)| *at <= now) {
                answer.send(0, &datagram);
            }
            if self.held.is_some() {
                return Ok(());
            }
            self.buffer.resize(CHUNK, 0);
            match connection.send(&mut self.buffer) {
                Ok((size, info)) if info.at <= now => answer.send(0, &self.buffer[..size]),
                Ok((size, info)) => self.held = Some((self.buffer[..size].to_vec(), info.at)),
                Err(quiche::Error::Done) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// A stream of which everything is acknowledged is gone.
    fn close_when_complete(&mut self) {
        let Some(connection) = self.connection.as_mut().filter(|_| self.is_finished && !self.is_done) else { return };
        if connection.stream_capacity(STREAM).is_err() {
            self.is_done = true;
            let _ = connection.close(true, 0, b"");
        }
    }

    fn report(&mut self, answer: &mut Answer) {
        let Some(path) = self.connection.as_ref().and_then(|one| one.path_stats().next()) else { return };
        answer.value(Value::Cwnd, path.cwnd as u64);
        answer.value(Value::LostPackets, path.lost as u64);
        answer.value(Value::LostBytes, path.lost_bytes);
        answer.value(Value::Timeouts, path.total_pto_count as u64);
        if let Some(least) = path.min_rtt {
            self.report_rtt(path.rtt, answer);
            answer.value(Value::MinRtt, least.as_nanos() as u64);
        }
    }

    /// quiche does not show samples of the RTT: a sample is what changed the smoothed RTT by an eighth of the difference
    /// (RFC 9002, section 5.3), less the delay of the ACK.
    fn report_rtt(&mut self, smoothed: Duration, answer: &mut Answer) {
        let before = self.smoothed_rtt.replace(smoothed);
        if before != Some(smoothed) {
            let sample = before.map_or(smoothed, |before| (smoothed * 8).saturating_sub(before * 7));
            answer.value(Value::Rtt, sample.as_nanos() as u64);
            answer.value(Value::SmoothedRtt, smoothed.as_nanos() as u64);
        }
    }
}

impl Stack for Quiche {
    fn start(start: &Start) -> Result<Self, String> {
        let controller = if start.controller.is_empty() { "cubic" } else { &start.controller };
        Ok(Self {
            is_sender: start.is_sender,
            config: config(start, controller)?,
            controller: controller.to_owned(),
            log: log::create(start, "quiche", "sqlog"),
            connection: None,
            held: None,
            to_write: 0,
            is_finishing: false,
            is_finished: false,
            is_done: false,
            delivered: 0,
            smoothed_rtt: None,
            buffer: Vec::new(),
        })
    }

    fn names(&self) -> (String, String) {
        (NAME.to_owned(), self.controller.clone())
    }

    fn on_timer(&mut self, _now: Duration) {
        if let Some(connection) = &mut self.connection {
            connection.on_timeout();
        }
    }

    /// quiche does not use ECN.
    fn on_datagram(&mut self, _now: Duration, _ecn: u8, payload: &[u8], answer: &mut Answer) {
        let info = RecvInfo { from: self.remote(), to: self.local() };
        if self.connection.is_none() && !self.is_sender {
            let id = ConnectionId::from_ref(&[2; 16]);
            match quiche::accept(&id, None, info.to, info.from, &mut self.config) {
                Ok(connection) => self.connection = Some(connection),
                Err(error) => answer.failure(&error.to_string()),
            }
        }
        if let Some(connection) = &mut self.connection {
            // A datagram that the connection cannot use is no fault.
            let _ = connection.recv(&mut payload.to_vec(), info);
        }
    }

    fn write(&mut self, bytes: u64) {
        self.to_write = self.to_write.saturating_add(bytes);
    }

    fn pause(&mut self) {
        if self.to_write == u64::MAX {
            self.to_write = 0;
        }
    }

    fn finish(&mut self) {
        self.is_finishing = true;
        self.pause();
    }

    fn answer(&mut self, now: Duration, answer: &mut Answer) {
        let mut outcome = Ok(());
        if self.is_sender && self.connection.is_none() && (self.to_write > 0 || self.is_finishing) {
            outcome = self.connect();
        }
        if self.is_sender {
            self.write_stream();
            self.close_when_complete();
        } else {
            self.read_stream();
        }
        if let Err(error) = outcome.and_then(|()| self.send(answer)) {
            answer.failure(&error.to_string());
        }
        let timers =
            [self.connection.as_ref().and_then(Connection::timeout_instant), self.held.as_ref().map(|one| one.1)];
        if let Some(at) = timers.into_iter().flatten().min() {
            answer.next_timer(clock::since_start(at).max(now));
        }
        answer.delivered(self.delivered);
        self.report(answer);
        if self.is_done {
            answer.done();
        }
    }
}

/// What quiche and TLS draw from BoringSSL.
///
/// # Safety
///
/// `buffer` has `length` bytes.
#[no_mangle]
pub unsafe extern "C" fn __wrap_RAND_bytes(buffer: *mut u8, length: usize) -> i32 {
    // SAFETY: by the contract of the function.
    random::fill(if length == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(buffer, length) } });
    1
}

fn main() -> std::io::Result<()> {
    serve::<Quiche>()
}
