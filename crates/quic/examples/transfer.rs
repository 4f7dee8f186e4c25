//! A transfer over QUIC with an algorithm of the library, and the trace of its window.
//!
//! ```text
//! cargo run --release -p cwndlab-quic --example transfer -- server 0.0.0.0:4433 --algorithm cubic
//! cargo run --release -p cwndlab-quic --example transfer -- client 10.0.0.2:4433 10000000 --algorithm reno --trace trace.csv
//! ```
//!
//! The client sends, the server reads and answers with the number of bytes that came. The certificate is made on the spot and the
//! client believes any: this measures a path and protects nothing.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cwndlab_quic::{controller, Answer, Factory};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "transfer server ADDRESS [--algorithm NAME] [--once]
transfer client ADDRESS BYTES [--algorithm NAME] [--trace FILE]";

/// Believes any certificate.
#[derive(Debug)]
struct Anybody(CryptoProvider);

impl ServerCertVerifier for Anybody {
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

/// Windows as wide as a test may need; packets of one size, so that a trace counts them.
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
    let made = rcgen::generate_simple_self_signed(vec!["cwndlab".to_owned()])?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let mut config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key)?;
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
    let answers: Arc<Mutex<Vec<Answer>>> = Arc::default();
    let kept = Arc::clone(&answers);
    let factory = factory.observed(Arc::new(move |answer| {
        if let Ok(mut kept) = kept.lock() {
            kept.push(*answer);
        }
    }));
    let provider = ring::default_provider();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(provider.clone()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
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
    let begun = tokio::time::Instant::now();
    let block = vec![0u8; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let size = left.min(block.len() as u64);
        send.write_all(&block[..size as usize]).await?;
        left -= size;
    }
    send.finish()?;
    let answer = receive.read_to_end(64).await?;
    let took = begun.elapsed();
    if answer != bytes.to_string().as_bytes() {
        return Err(format!("{bytes} bytes were sent, '{}' arrived", String::from_utf8_lossy(&answer)).into());
    }
    let rate = bytes as f64 * 8e-6 / took.as_secs_f64();
    println!(
        "{name}: {bytes} bytes in {:.3} s, {rate:.2} Mbit/s, {} packets lost",
        took.as_secs_f64(),
        connection.stats().path.lost_packets
    );
    connection.close(0u32.into(), b"");
    tokio::time::timeout(Duration::from_secs(3), endpoint.wait_idle()).await.ok();
    if let Some(file) = trace {
        let answers = answers.lock().map_err(|_| "the trace was left half written")?;
        std::fs::write(file, csv(&answers)?).map_err(|fault| format!("{file}: {fault}"))?;
    }
    Ok(())
}

/// A row per answer.
fn csv(answers: &[Answer]) -> Result<String, Failure> {
    let mut text = "time_ns,cwnd_bytes,in_flight_bytes,rtt_ns,congestion\n".to_owned();
    for Answer { now, cwnd, in_flight, rtt, congestion } in answers {
        writeln!(text, "{},{},{},{},{}", now.0, cwnd.0, in_flight.0, rtt.0, u8::from(*congestion))?;
    }
    Ok(text)
}

/// The value of an option, and the words without it.
fn option(words: &mut Vec<String>, name: &str) -> Option<String> {
    let at = words.iter().position(|word| word == name)?;
    let value = words.get(at + 1).cloned();
    words.drain(at..(at + 2).min(words.len()));
    value
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match work().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

async fn work() -> Result<(), Failure> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let name = option(&mut words, "--algorithm").unwrap_or_else(|| "cubic".to_owned());
    let trace = option(&mut words, "--trace");
    let once = words.iter().position(|word| word == "--once").map(|at| words.remove(at)).is_some();
    let factory = controller(&name)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["server", address] => serve(address.parse()?, factory, once).await,
        ["client", address, bytes] => {
            send(address.parse()?, bytes.parse()?, Factory::clone(&factory), trace.as_deref()).await
        }
        _ => Err(USAGE.into()),
    }
}
