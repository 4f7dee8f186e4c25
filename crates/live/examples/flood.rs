//! A load generator for `benches/serve.py`: connection attempts over the loopback from addresses of 127/8, at a given
//! rate.
//!
//! `flood ADDRESS:PORT ATTEMPTS_PER_S SECONDS` prints the number of attempts as JSON. A quarter of the connections are
//! closed immediately, a quarter stay open without sending data, a quarter send the beginning of a TLS record, and a
//! quarter send bytes other than TLS.

#![allow(clippy::print_stdout, reason = "the output of the program")]
#![allow(clippy::disallowed_methods, reason = "the wall clock")]

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

/// Number of open connections; a new one replaces the oldest.
const MAX_OPEN: usize = 400;

/// Attempts between two reads of the clock.
const BATCH: u64 = 50;

fn attempt(to: SocketAddr, number: u64) -> std::io::Result<Socket> {
    // 127.1.0.1 to 127.254.255.254, without repetition within sixteen million attempts.
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let host = Ipv4Addr::new(127, (spread >> 16) as u8 % 254 + 1, (spread >> 8) as u8, spread as u8 % 254 + 1);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    // Closing sends a RST, so that closed connections do not occupy local ports in TIME-WAIT.
    socket.set_linger(Some(Duration::ZERO))?;
    socket.bind(&SocketAddr::from((host, 0)).into())?;
    // On the loopback the handshake is complete when this returns, unless the server's queue is full.
    let _ = socket.connect(&to.into());
    Ok(socket)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [to, rate, seconds] = arguments.as_slice() else {
        eprintln!("usage: flood ADDRESS:PORT ATTEMPTS_PER_S SECONDS");
        std::process::exit(2);
    };
    let to: SocketAddr = to.parse().expect("an address and a port");
    let rate: u64 = rate.parse().expect("an integer");
    let duration = Duration::from_secs_f64(seconds.parse().expect("a number"));
    let mut open = VecDeque::new();
    let mut attempts = 0u64;
    let mut failed = 0u64;
    let start = Instant::now();
    while start.elapsed() < duration {
        for _ in 0..BATCH {
            match attempt(to, attempts) {
                Ok(socket) => {
                    match attempts % 4 {
                        0 => drop(socket),
                        kind => {
                            let text: &[u8] = match kind {
                                1 => b"\x16\x03\x01\x02\x00\x01",
                                2 => b"SSH-2.0-flood\r\n",
                                _ => b"",
                            };
                            let _ = socket.send(text);
                            open.push_back(socket);
                        }
                    }
                    if open.len() > MAX_OPEN {
                        open.pop_front();
                    }
                }
                Err(_) => failed += 1,
            }
            attempts += 1;
        }
        let due = Duration::from_nanos(attempts * 1_000_000_000 / rate.max(1));
        std::thread::sleep(due.saturating_sub(start.elapsed()));
    }
    let elapsed = start.elapsed().as_secs_f64();
    println!(
        "{{\"attempts\": {attempts}, \"failed\": {failed}, \"seconds\": {elapsed}, \"attempts_per_s\": {}}}",
        attempts as f64 / elapsed
    );
}
