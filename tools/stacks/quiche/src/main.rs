//! quiche as the sender of a transfer; the log is its own qlog.
//!
//!     stack-quiche ADDRESS CERTIFICATE ALGORITHM BYTES PAUSES LOG
//!
//! `ALGORITHM` is a name of quiche (`reno`, `cubic`, `bbr2_gcongestion`), with `-no-hystart` to switch HyStart++ off.

use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::time::{Duration, Instant};

use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};
use stack_log::{Arguments, DATAGRAM};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const STREAM: u64 = 0;

fn config(arguments: &Arguments) -> Result<quiche::Config> {
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
    let (algorithm, hystart) = match arguments.algorithm.strip_suffix("-no-hystart") {
        Some(name) => (name, false),
        None => (arguments.algorithm.as_str(), true),
    };
    config.load_verify_locations_from_file(&arguments.certificate)?;
    config.set_application_protos(&[b"cwndlab-audit"])?;
    config.set_max_idle_timeout(60_000);
    config.set_max_recv_udp_payload_size(DATAGRAM.into());
    config.set_max_send_udp_payload_size(DATAGRAM.into());
    config.set_initial_max_data(1 << 24);
    config.set_initial_max_stream_data_bidi_local(1 << 24);
    config.set_cc_algorithm_name(algorithm)?;
    config.enable_hystart(hystart);
    Ok(config)
}

/// The data of the stream: parts with pauses of a second between them.
struct Source {
    parts: Vec<usize>,
    resumes: Option<Instant>,
}

impl Source {
    /// Writes what the connection takes.
    fn write(&mut self, connection: &mut quiche::Connection) -> Result<()> {
        const DATA: [u8; 1 << 16] = [0; 1 << 16];
        if self.resumes.is_some_and(|at| Instant::now() < at) {
            return Ok(());
        }
        self.resumes = None;
        while let Some(left) = self.parts.first_mut() {
            let size = (*left).min(DATA.len());
            let last = size == *left && self.parts.len() == 1;
            let left = &mut self.parts[0];
            match connection.stream_send(STREAM, &DATA[..size], last) {
                Ok(written) => *left -= written,
                Err(quiche::Error::Done) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            if *left == 0 {
                self.parts.remove(0);
                if !self.parts.is_empty() {
                    self.resumes = Some(Instant::now() + Duration::from_secs(1));
                    return Ok(());
                }
            } else if connection.stream_capacity(STREAM).is_ok_and(|bytes| bytes == 0) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Sends what may be sent now. Returns the time at which the pacer releases the packet that stays in `held`.
fn send(
    socket: &UdpSocket,
    connection: &mut quiche::Connection,
    held: &mut Option<(Vec<u8>, Instant)>,
) -> Result<Option<Instant>> {
    let mut buffer = [0; 1500];
    loop {
        if held.is_none() {
            match connection.send(&mut buffer) {
                Ok((size, info)) => *held = Some((buffer[..size].to_vec(), info.at)),
                Err(quiche::Error::Done) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some((data, at)) = held.as_ref() {
            if *at > Instant::now() {
                return Ok(Some(*at));
            }
            match socket.send(data) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(Some(Instant::now() + Duration::from_millis(1)));
                }
                other => other?,
            };
            *held = None;
        }
    }
}

fn receive(socket: &UdpSocket, connection: &mut quiche::Connection, arguments: &Arguments) -> Result<()> {
    let mut buffer = [0; 1 << 16];
    loop {
        match socket.recv(&mut buffer) {
            Ok(size) => {
                let info = quiche::RecvInfo { from: arguments.address, to: socket.local_addr()? };
                connection.recv(&mut buffer[..size], info)?;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::read(1)?;
    let mut config = config(&arguments)?;
    let mut socket = UdpSocket::bind("0.0.0.0:0".parse()?)?;
    socket.connect(arguments.address)?;
    let mut poll = Poll::new()?;
    poll.registry().register(&mut socket, Token(0), Interest::READABLE)?;
    let id = quiche::ConnectionId::from_ref(&[7; 16]);
    let local = socket.local_addr()?;
    let mut connection = quiche::connect(Some("localhost"), &id, local, arguments.address, &mut config)?;
    let writer = Box::new(BufWriter::new(File::create(&arguments.log)?));
    connection.set_qlog(writer, "quiche 0.30.0".to_owned(), arguments.algorithm.clone());
    let mut source = Source { parts: arguments.parts(), resumes: None };
    let mut events = Events::with_capacity(16);
    let mut held = None;
    while !connection.is_closed() {
        if connection.is_established() {
            source.write(&mut connection)?;
        }
        let released = send(&socket, &mut connection, &mut held)?;
        let now = Instant::now();
        let waits = [
            connection.timeout(),
            released.map(|at| at.saturating_duration_since(now)),
            source.resumes.map(|at| at.saturating_duration_since(now)),
        ];
        poll.poll(&mut events, waits.into_iter().flatten().min())?;
        receive(&socket, &mut connection, &arguments)?;
        if connection.timeout().is_some_and(|left| left.is_zero()) {
            connection.on_timeout();
        }
        let mut answer = [0; 1];
        if connection.is_established() && matches!(connection.stream_recv(STREAM, &mut answer), Ok((_, true))) {
            let _ = connection.close(true, 0, b"");
        }
    }
    Ok(())
}
