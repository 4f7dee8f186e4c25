//! Fetching by HTTP/3 over QUIC.

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

use crate::clock::since_ns;
use crate::fetch::{Ask, Failure, Place, Times, Transport};
use crate::look::Look;

/// What may come before it is read: the network shall be what limits, not this.
const RECEIVE_WINDOW: u32 = 64 << 20;

/// A connection.
pub(crate) struct Quic {
    _endpoint: Endpoint,
    connection: quinn::Connection,
    requests: SendRequest<OpenStreams, Bytes>,
    driver: JoinHandle<()>,
    answer: Option<RequestStream<BidiStream<Bytes>, Bytes>>,
}

impl Drop for Quic {
    fn drop(&mut self) {
        self.connection.close(VarInt::from_u32(0x100), b"");
        self.driver.abort();
    }
}

fn failed(place: &Place, cause: &ConnectionError) -> Failure {
    let at = format!("{}:{}", place.host, place.port);
    let said = cause.to_string();
    match cause {
        ConnectionError::TransportError(error) if error.to_string().contains("fingerprint") => {
            let hint = "is it the right server? `cwndlab serve` prints its fingerprint when it starts";
            Failure::Lasting(fault(at, format!("shows another certificate than the one trusted: {said}"), hint))
        }
        ConnectionError::TransportError(error) if error.to_string().contains("certificate") => {
            let hint = "name it by --trust: a PEM file, or the fingerprint that `cwndlab serve` printed";
            Failure::Lasting(fault(at, format!("its certificate is not trusted ({said})"), hint))
        }
        ConnectionError::TimedOut => {
            let hint = "does `cwndlab serve --quic` run there, and does UDP pass on the way?";
            Failure::Transient(fault(at, "no answer over QUIC", hint))
        }
        _ => {
            let hint = "it may be overloaded, or your address has too many connections: try again later";
            Failure::Transient(fault(at, format!("no connection over QUIC: {said}"), hint))
        }
    }
}

impl Transport for Quic {
    async fn connect(
        place: &Place,
        config: rustls::ClientConfig,
        addresses: &[SocketAddr],
        mut times: Times,
    ) -> Result<(Self, Times), Failure> {
        let ours = |cause: String| Failure::Lasting(fault("fetch", cause, ""));
        let address = addresses.first().copied().ok_or_else(|| ours("no address".to_owned()))?;
        times.address = address;
        let local: SocketAddr =
            if address.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let endpoint = Endpoint::client(local).map_err(|cause| ours(cause.to_string()))?;
        let crypto = QuicClientConfig::try_from(config).map_err(|cause| ours(cause.to_string()))?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        let mut transport = TransportConfig::default();
        transport
            .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
            .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW))
            .keep_alive_interval(Some(std::time::Duration::from_secs(5)));
        config.transport_config(Arc::new(transport));
        let connecting = endpoint
            .connect_with(config, address, &place.host)
            .map_err(|cause| ours(format!("'{}': {cause}", place.host)))?;
        let connection = connecting.await.map_err(|cause| failed(place, &cause))?;
        times.connect_ns = since_ns(times.began);
        times.handshake_ns = times.connect_ns;
        let opened = h3::client::new(h3_quinn::Connection::new(connection.clone())).await;
        let (mut driver, requests) = opened.map_err(|cause| {
            Failure::Transient(fault(format!("{}:{}", place.host, place.port), cause.to_string(), ""))
        })?;
        let driver = tokio::spawn(async move {
            let _ = poll_fn(|cx| driver.poll_close(cx)).await;
        });
        Ok((Self { _endpoint: endpoint, connection, requests, driver, answer: None }, times))
    }

    async fn get(&mut self, place: &Place, ask: &Ask, path: &str) -> Result<(StatusCode, HeaderMap), Fault> {
        let broken = |cause: String| {
            let at = format!("{}:{}", place.host, place.port);
            fault(at, format!("closed the connection before it answered ({cause})"), "try again later")
        };
        let request = place.request(ask, path, true)?;
        let mut stream = self.requests.send_request(request).await.map_err(|cause| broken(cause.to_string()))?;
        stream.finish().await.map_err(|cause| broken(cause.to_string()))?;
        let (parts, ()) = stream.recv_response().await.map_err(|cause| broken(cause.to_string()))?.into_parts();
        self.answer = Some(stream);
        Ok((parts.status, parts.headers))
    }

    async fn piece(&mut self) -> Result<Option<Bytes>, String> {
        let Some(stream) = &mut self.answer else { return Ok(None) };
        match stream.recv_data().await {
            Ok(None) => Ok(None),
            Ok(Some(mut data)) => Ok(Some(data.copy_to_bytes(data.remaining()))),
            Err(cause) => Err(cause.to_string()),
        }
    }

    fn look(&self) -> Option<Look> {
        None
    }
}
