//! The client's connection over QUIC: HTTP/3.

use cwndlab_units::Fault;
use std::future::poll_fn;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3_quinn::{BidiStream, OpenStreams};
use hyper::header::HeaderMap;
use hyper::StatusCode;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectionError, Endpoint, TransportConfig, VarInt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::client_transport::{Failure, FetchOptions, ServerAddress, Times, Transport};
use crate::clock::since_ns;
use crate::snapshot::Snapshot;

/// Receive window, bytes: large enough that only the network limits the transfer.
const RECEIVE_WINDOW: u32 = 64 << 20;

/// Maximum time for the handshake with an address of a server that has further ones.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(3);

/// A connection over QUIC.
pub(crate) struct Quic {
    _endpoint: Endpoint,
    connection: quinn::Connection,
    requests: SendRequest<OpenStreams, Bytes>,
    driver: JoinHandle<()>,
    response: Option<RequestStream<BidiStream<Bytes>, Bytes>>,
}

impl Drop for Quic {
    fn drop(&mut self) {
        self.connection.close(VarInt::from_u32(0x100), b"");
        self.driver.abort();
    }
}

/// The failure of a connection attempt.
fn failed(server: &ServerAddress, cause: &ConnectionError) -> Failure {
    let at = server.name();
    let reason = cause.to_string();
    match cause {
        ConnectionError::TransportError(error) if error.to_string().contains("fingerprint") => {
            let hint = "check the address of the server; `cwndlab serve` prints its fingerprint when it starts";
            Failure::Permanent(Fault::new(
                at,
                format!("presents a certificate other than the trusted one: {reason}"),
                hint,
            ))
        }
        ConnectionError::TransportError(error) if error.to_string().contains("certificate") => {
            let hint = "name it by --trust: a PEM file, or the fingerprint that `cwndlab serve` printed";
            Failure::Permanent(Fault::new(at, format!("its certificate is not trusted ({reason})"), hint))
        }
        ConnectionError::TimedOut => {
            let hint = "check that `cwndlab serve --quic` runs there, and that no firewall blocks UDP";
            Failure::Transient(Fault::new(at, "no response over QUIC", hint))
        }
        _ => {
            let hint = "the server may be overloaded, or your address has too many connections: try again later";
            Failure::Transient(Fault::new(at, format!("no connection over QUIC: {reason}"), hint))
        }
    }
}

/// Connects to one address.
async fn connect_to(
    server: &ServerAddress,
    config: ClientConfig,
    address: SocketAddr,
) -> Result<(Endpoint, quinn::Connection), Failure> {
    let local: SocketAddr =
        if address.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    // Without IPv6 on this machine, another address may be reachable.
    let unusable = |cause: String| Failure::Transient(Fault::new(server.name(), format!("{address}: {cause}"), ""));
    let endpoint = Endpoint::client(local).map_err(|cause| unusable(cause.to_string()))?;
    let connecting =
        endpoint.connect_with(config, address, &server.host).map_err(|cause| unusable(cause.to_string()))?;
    let connection = connecting.await.map_err(|cause| failed(server, &cause))?;
    Ok((endpoint, connection))
}

impl Transport for Quic {
    async fn connect(
        server: &ServerAddress,
        config: rustls::ClientConfig,
        addresses: &[SocketAddr],
        mut times: Times,
    ) -> Result<(Self, Times), Failure> {
        let internal = |cause: String| Failure::Permanent(Fault::new("fetch", cause, ""));
        let (last, others) = addresses.split_last().ok_or_else(|| internal("no address".to_owned()))?;
        let crypto = QuicClientConfig::try_from(config).map_err(|cause| internal(cause.to_string()))?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        let mut transport = TransportConfig::default();
        transport
            .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
            .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW))
            .keep_alive_interval(Some(Duration::from_secs(5)));
        config.transport_config(Arc::new(transport));
        let mut connected = None;
        for address in others {
            match timeout(ADDRESS_TIMEOUT, connect_to(server, config.clone(), *address)).await {
                Ok(Err(failure @ Failure::Permanent(_))) => return Err(failure),
                Ok(Ok(pair)) => {
                    connected = Some((pair, *address));
                    break;
                }
                _ => {}
            }
        }
        let ((endpoint, connection), address) = match connected {
            Some(connected) => connected,
            None => (connect_to(server, config, *last).await?, *last),
        };
        times.address = address;
        times.connect_ns = since_ns(times.began);
        times.handshake_ns = times.connect_ns;
        let opened = h3::client::new(h3_quinn::Connection::new(connection.clone())).await;
        let (mut driver, requests) =
            opened.map_err(|cause| Failure::Transient(Fault::new(server.name(), cause.to_string(), "")))?;
        let driver = tokio::spawn(async move {
            let _ = poll_fn(|cx| driver.poll_close(cx)).await;
        });
        Ok((Self { _endpoint: endpoint, connection, requests, driver, response: None }, times))
    }

    async fn get(
        &mut self,
        server: &ServerAddress,
        options: &FetchOptions,
        path: &str,
    ) -> Result<(StatusCode, HeaderMap), Fault> {
        let broken = |cause: String| {
            Fault::new(server.name(), format!("closed the connection before its response ({cause})"), "try again later")
        };
        let request = server.request(options, path, true)?;
        let mut stream = self.requests.send_request(request).await.map_err(|cause| broken(cause.to_string()))?;
        stream.finish().await.map_err(|cause| broken(cause.to_string()))?;
        let (parts, ()) = stream.recv_response().await.map_err(|cause| broken(cause.to_string()))?.into_parts();
        self.response = Some(stream);
        Ok((parts.status, parts.headers))
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, String> {
        let Some(stream) = &mut self.response else { return Ok(None) };
        match stream.recv_data().await {
            Ok(None) => Ok(None),
            Ok(Some(mut data)) => Ok(Some(data.copy_to_bytes(data.remaining()))),
            Err(cause) => Err(cause.to_string()),
        }
    }

    fn snapshot(&self) -> Option<Snapshot> {
        None
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_live::certificate::Certificate;
    use cwndlab_live::limits::Limits;
    use cwndlab_live::server::{Server, Settings};
    use cwndlab_live::tokens::Tokens;
    use cwndlab_live::Classes;

    use super::*;
    use crate::clock::now;
    use crate::trust;

    /// A name with an address of each family, one of which reaches no server: a socket that answers nothing.
    #[test]
    fn a_silent_address_does_not_hide_the_next_one() {
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let settings = Settings {
            listen: "127.0.0.1:0".to_owned(),
            certificate: Certificate::self_signed(&["localhost".to_owned()]).unwrap(),
            tokens: Tokens::parse("anna 0123456789abcdef\n", "tokens").unwrap(),
            limits: Limits::default(),
            quic: Some(Classes::default()),
        };
        let server = Server::start(settings).unwrap();
        let url = ServerAddress::parse("https://localhost").unwrap();
        let config = trust::config(Some(server.fingerprint()), b"h3").unwrap();
        let addresses = [silent.local_addr().unwrap(), server.address()];
        let began = now();
        let started_unix_ns = 0;
        let times =
            Times { began, started_unix_ns, lookup_ns: 0, connect_ns: 0, handshake_ns: 0, address: addresses[0] };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let connected = runtime.block_on(Quic::connect(&url, config, &addresses, times));
        let address = connected.map(|(_, times)| times.address).map_err(|_| "no connection");
        assert_eq!(address, Ok(server.address()));
    }
}
