//! quinn as the sender of a transfer, and the receiver of all transfers.
//!
//!     stack-quinn receive ADDRESS CERTIFICATE
//!     stack-quinn send ADDRESS CERTIFICATE ALGORITHM BYTES PAUSES LOG

mod logged;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use stack_log::{Arguments, DATAGRAM};

use logged::{Logged, Record};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const ALPN: &[u8] = b"cwndlab-audit";
/// Windows of the receiver, so that flow control never limits a sender.
const RECEIVE_WINDOW: u32 = 1 << 30;

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .send_window(1 << 30)
        .max_idle_timeout(Some(VarInt::from_u32(60_000).into()));
    transport
}

/// Receives one stream of each connection, and answers with a byte.
async fn receive(address: &str, certificate: &str) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(quinn::crypto::rustls::QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport()));
    std::fs::write(certificate, made.cert.pem())?;
    let endpoint = Endpoint::server(config, address.parse()?)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await?;
            let (mut send, mut receive) = connection.accept_bi().await?;
            while receive.read_chunk(1 << 16, false).await?.is_some() {}
            send.write_all(b".").await?;
            send.finish()?;
            connection.closed().await;
            std::result::Result::<(), Box<dyn std::error::Error + Send + Sync>>::Ok(())
        });
    }
    Ok(())
}

fn controller(name: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
    Ok(match name {
        "reno" => Arc::new(NewRenoConfig::default()),
        "cubic" => Arc::new(CubicConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => return Err(format!("quinn has no algorithm '{name}': reno, cubic, bbr").into()),
    })
}

async fn send(arguments: &Arguments) -> Result<()> {
    let record = Arc::new(Mutex::new(Record::default()));
    let mut roots = rustls::RootCertStore::empty();
    let pem = std::fs::read(&arguments.certificate)?;
    roots.add(rustls::pki_types::pem::PemObject::from_pem_slice(&pem)?)?;
    let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let mut config = ClientConfig::new(Arc::new(quinn::crypto::rustls::QuicClientConfig::try_from(tls)?));
    let mut transport = transport();
    // Without segmentation offload the stack reports each packet. The datagram size is constant.
    transport
        .enable_segmentation_offload(false)
        .initial_mtu(DATAGRAM)
        .min_mtu(DATAGRAM)
        .mtu_discovery_config(None)
        .congestion_controller_factory(Arc::new(Logged::factory(
            controller(&arguments.algorithm)?,
            record.clone(),
            false,
        )));
    config.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(arguments.address, "localhost")?.await?;
    let (mut send, mut answer) = connection.open_bi().await?;
    for (number, part) in arguments.parts().into_iter().enumerate() {
        if number > 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        send.write_all(&vec![0; part]).await?;
    }
    send.finish()?;
    answer.read_to_end(1).await?;
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    let record = std::mem::take(&mut *record.lock().expect("no thread has panicked"));
    record.into_log().write(&arguments.log, "quinn 0.11.12 (quinn-proto 0.11.19)", DATAGRAM)?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("receive") if words.len() == 4 => receive(&words[2], &words[3]).await,
        Some("send") => send(&Arguments::read(2)?).await,
        _ => Err("arguments: receive ADDRESS CERTIFICATE, or send and those of a sender".into()),
    }
}
