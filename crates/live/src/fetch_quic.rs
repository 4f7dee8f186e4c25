//! The client's connection over QUIC: HTTP/3.

use std::future::poll_fn;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use cwndlab_linux::fault::{fault, Fault};
use h3::client::{RequestStream, SendRequest};
use h3_quinn::{BidiStream, OpenStreams};
use hyper::header::HeaderMap;
use hyper::StatusCode;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectionError, Endpoint, TransportConfig, VarInt};
use tokio::task::JoinHandle;

use crate::client_transport::{Failure, FetchOptions, ServerAddress, Times, Transport};
use crate::clock::since_ns;
use crate::snapshot::Snapshot;

/// Receive window, bytes: large enough that only the network limits the transfer.
const RECEIVE_WINDOW: u32 = 64 << 20;

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
            Failure::Permanent(fault(at, format!("presents a certificate other than the trusted one: {reason}"), hint))
        }
        ConnectionError::TransportError(error) if error.to_string().contains("certificate") => {
            let hint = "name it by --trust: a PEM file, or the fingerprint that `cwndlab serve` printed";
            Failure::Permanent(fault(at, format!("its certificate is not trusted ({reason})"), hint))
        }
        ConnectionError::TimedOut => {
            let hint = "check that `cwndlab serve --quic` runs there, and that no firewall blocks UDP";
            Failure::Transient(fault(at, "no response over QUIC", hint))
        }
        _ => {
            let hint = "the server may be overloaded, or your address has too many connections: try again later";
            Failure::Transient(fault(at, format!("no connection over QUIC: {reason}"), hint))
        }
    }
}

impl Transport for Quic {
    async fn connect(
        server: &ServerAddress,
        config: rustls::ClientConfig,
        addresses: &[SocketAddr],
        mut times: Times,
    ) -> Result<(Self, Times), Failure> {
        let internal = |cause: String| Failure::Permanent(fault("fetch", cause, ""));
        let address = addresses.first().copied().ok_or_else(|| internal("no address".to_owned()))?;
        times.address = address;
        let local: SocketAddr =
            if address.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let endpoint = Endpoint::client(local).map_err(|cause| internal(cause.to_string()))?;
        let crypto = QuicClientConfig::try_from(config).map_err(|cause| internal(cause.to_string()))?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        let mut transport = TransportConfig::default();
        transport
            .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
            .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW))
            .keep_alive_interval(Some(std::time::Duration::from_secs(5)));
        config.transport_config(Arc::new(transport));
        let connecting = endpoint
            .connect_with(config, address, &server.host)
            .map_err(|cause| internal(format!("'{}': {cause}", server.host)))?;
        let connection = connecting.await.map_err(|cause| failed(server, &cause))?;
        times.connect_ns = since_ns(times.began);
        times.handshake_ns = times.connect_ns;
        let opened = h3::client::new(h3_quinn::Connection::new(connection.clone())).await;
        let (mut driver, requests) =
            opened.map_err(|cause| Failure::Transient(fault(server.name(), cause.to_string(), "")))?;
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
            fault(server.name(), format!("closed the connection before its response ({cause})"), "try again later")
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
