//! A load generator for `benches/serve.py`: connection attempts over the loopback from addresses of 127/8, at a given rate.
//!
//! `flood ADDRESS:PORT ATTEMPTS_PER_S SECONDS` prints how many attempts it made, as JSON. A quarter of them are
//! opened and closed, a quarter are held open in silence, a quarter send the beginning of a TLS record, a quarter send
//! bytes other than TLS.

#![allow(clippy::print_stdout, reason = "the output of the program")]
#![allow(clippy::disallowed_methods, reason = "the wall clock")]

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

/// Connections that are held; the oldest is closed for a new one.
const HELD: usize = 400;

/// Between the two looks at the clock.
const BATCH: u64 = 50;

fn attempt(to: SocketAddr, number: u64) -> std::io::Result<Socket> {
    // 127.1.0.1 to 127.254.255.254, none twice in a row of sixteen million.
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let host = Ipv4Addr::new(127, (spread >> 16) as u8 % 254 + 1, (spread >> 8) as u8, spread as u8 % 254 + 1);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    // A closed one goes at once: no port of this machine is kept by what is over.
    socket.set_linger(Some(Duration::ZERO))?;
    socket.bind(&SocketAddr::from((host, 0)).into())?;
    // On the loopback the handshake is over when this returns, or the server's queue is full.
    let _ = socket.connect(&to.into());
    Ok(socket)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [to, rate, seconds] = words.as_slice() else {
        eprintln!("usage: flood ADDRESS:PORT ATTEMPTS_PER_S SECONDS");
        std::process::exit(2);
    };
    let to: SocketAddr = to.parse().expect("an address and a port");
    let rate: u64 = rate.parse().expect("a whole number");
    let whole = Duration::from_secs_f64(seconds.parse().expect("a number"));
    let (mut held, mut made, mut failed) = (VecDeque::new(), 0u64, 0u64);
    let begin = Instant::now();
    while begin.elapsed() < whole {
        for _ in 0..BATCH {
            match attempt(to, made) {
                Ok(socket) => {
                    match made % 4 {
                        0 => drop(socket),
                        kind => {
                            let text: &[u8] = match kind {
                                1 => b"\x16\x03\x01\x02\x00\x01",
                                2 => b"SSH-2.0-flood\r\n",
                                _ => b"",
                            };
                            let _ = socket.send(text);
                            held.push_back(socket);
                        }
                    }
                    if held.len() > HELD {
                        held.pop_front();
                    }
                }
                Err(_) => failed += 1,
            }
            made += 1;
        }
        let due = Duration::from_nanos(made * 1_000_000_000 / rate.max(1));
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
    }
    let took = begin.elapsed().as_secs_f64();
    println!(
        "{{\"attempts\": {made}, \"failed\": {failed}, \"seconds\": {took}, \"attempts_per_s\": {}}}",
        made as f64 / took
    );
}
