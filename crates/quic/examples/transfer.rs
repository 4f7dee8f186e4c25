//! Transfers data over QUIC with an algorithm of the library, and writes a trace of its window.
//!
//! ```text
//! cargo run --release -p cwndlab-quic --example transfer -- server 0.0.0.0:4433 --algorithm cubic
//! cargo run --release -p cwndlab-quic --example transfer -- client 10.0.0.2:4433 10000000 --algorithm reno --trace trace.csv
//! ```
//!
//! The client sends; the server reads and returns the number of bytes received. The server generates its certificate,
//! and the client accepts every certificate: the example measures a path and provides no security.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cwndlab_quic::{controller_factory, Factory, Observation};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "transfer server ADDRESS [--algorithm NAME] [--once]
transfer client ADDRESS BYTES [--algorithm NAME] [--trace FILE]";

/// Accepts every certificate.
#[derive(Debug)]
struct AcceptAll(CryptoProvider);

impl ServerCertVerifier for AcceptAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Flow-control windows that do not limit a test, and packets of constant size, so that a trace can count them.
fn transport(factory: Arc<Factory>) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    let window = VarInt::from_u32(1 << 28);
    transport
        .congestion_controller_factory(factory)
        .initial_mtu(1452)
        .mtu_discovery_config(None)
        .stream_receive_window(window)
        .receive_window(window)
        .send_window(1 << 26);
    Arc::new(transport)
}

async fn serve(address: SocketAddr, factory: Arc<Factory>, once: bool) -> Result<(), Failure> {
    let certified = rcgen::generate_simple_self_signed(vec!["cwndlab".to_owned()])?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let mut config = ServerConfig::with_single_cert(vec![certified.cert.der().clone()], key)?;
    config.transport_config(transport(factory));
    let endpoint = Endpoint::server(config, address)?;
    println!("listening on {}", endpoint.local_addr()?);
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await?;
        let (mut send, mut receive) = connection.accept_bi().await?;
        let mut bytes = 0;
        while let Some(chunk) = receive.read_chunk(1 << 20, true).await? {
            bytes += chunk.bytes.len();
        }
        send.write_all(bytes.to_string().as_bytes()).await?;
        send.finish()?;
        connection.closed().await;
        println!("received {bytes} bytes from {}", connection.remote_address());
        if once {
            break;
        }
    }
    endpoint.wait_idle().await;
    Ok(())
}

async fn send(address: SocketAddr, bytes: u64, factory: Factory, trace: Option<&str>) -> Result<(), Failure> {
    let observations: Arc<Mutex<Vec<Observation>>> = Arc::default();
    let sink = Arc::clone(&observations);
    let factory = factory.with_observer(Arc::new(move |observation| {
        if let Ok(mut sink) = sink.lock() {
            sink.push(*observation);
        }
    }));
    let provider = ring::default_provider();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(provider.clone()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAll(provider)))
        .with_no_client_auth();
    tls.enable_early_data = false;
    let mut config = ClientConfig::new(Arc::new(quinn::crypto::rustls::QuicClientConfig::try_from(tls)?));
    let name = factory.name().to_owned();
    config.transport_config(transport(Arc::new(factory)));
    let any: SocketAddr = if address.is_ipv4() { "0.0.0.0:0".parse()? } else { "[::]:0".parse()? };
    let mut endpoint = Endpoint::client(any)?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(address, "cwndlab")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    let start = tokio::time::Instant::now();
    let block = vec![0u8; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let size = left.min(block.len() as u64);
        send.write_all(&block[..size as usize]).await?;
        left -= size;
    }
    send.finish()?;
    let response = receive.read_to_end(64).await?;
    let elapsed = start.elapsed();
    if response != bytes.to_string().as_bytes() {
        let received = String::from_utf8_lossy(&response);
        return Err(format!("{bytes} bytes were sent, but the server received {received}").into());
    }
    let rate = bytes as f64 * 8e-6 / elapsed.as_secs_f64();
    println!(
        "{name}: {bytes} bytes in {:.3} s, {rate:.2} Mbit/s, {} packets lost",
        elapsed.as_secs_f64(),
        connection.stats().path.lost_packets
    );
    connection.close(0u32.into(), b"");
    tokio::time::timeout(Duration::from_secs(3), endpoint.wait_idle()).await.ok();
    if let Some(file) = trace {
        let observations = observations.lock().map_err(|_| "the trace is incomplete: the observer panicked")?;
        std::fs::write(file, csv(&observations)?).map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(())
}

/// The trace as CSV, a row per observation.
fn csv(observations: &[Observation]) -> Result<String, Failure> {
    let mut text = "time_ns,cwnd_bytes,in_flight_bytes,rtt_ns,congestion\n".to_owned();
    for Observation { now, cwnd, in_flight, rtt, congestion } in observations {
        writeln!(text, "{},{},{},{},{}", now.as_nanos(), cwnd.0, in_flight.0, rtt.as_nanos(), u8::from(*congestion))?;
    }
    Ok(text)
}

/// Removes an option and its value from the arguments, and returns the value.
fn take_option(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == name)?;
    let value = arguments.get(at + 1).cloned();
    arguments.drain(at..(at + 2).min(arguments.len()));
    value
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = take_option(&mut arguments, "--algorithm").unwrap_or_else(|| "cubic".to_owned());
    let trace = take_option(&mut arguments, "--trace");
    let once = arguments.iter().position(|argument| argument == "--once").map(|at| arguments.remove(at)).is_some();
    let factory = controller_factory(&name)?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["server", address] => serve(address.parse()?, factory, once).await,
        ["client", address, bytes] => {
            send(address.parse()?, bytes.parse()?, Factory::clone(&factory), trace.as_deref()).await
        }
        _ => Err(USAGE.into()),
    }
}
