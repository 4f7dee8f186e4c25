//! The client's connection over TCP: HTTP/1.1 over TLS.

use cwndlab_units::Fault;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{handshake, SendRequest};
use hyper::header::HeaderMap;
use hyper::StatusCode;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::client_transport::{Failure, FetchOptions, ServerAddress, Times, Transport};
use crate::clock::since_ns;
use crate::snapshot::{of_stream, Snapshot};
use crate::socket::SharedStream;

/// A connection over TCP.
pub(crate) struct Tcp {
    stream: Arc<TcpStream>,
    requests: SendRequest<Empty<Bytes>>,
    driver: JoinHandle<()>,
    response: Option<Incoming>,
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The failure of a TLS handshake.
fn handshake_failed(server: &ServerAddress, cause: std::io::Error) -> Failure {
    let inner = cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(why)) => Failure::Permanent(Fault::new(
            server.name(),
            format!("its certificate is not trusted ({why})"),
            "name it by --trust: a PEM file, or the fingerprint that `cwndlab serve` printed",
        )),
        Some(rustls::Error::General(why)) => Failure::Permanent(Fault::new(
            server.name(),
            format!("presents a certificate other than the trusted one: {why}"),
            "check the address of the server; `cwndlab serve` prints its fingerprint when it starts",
        )),
        Some(other) => Failure::Permanent(Fault::new(server.name(), format!("the TLS handshake failed: {other}"), "")),
        None => Failure::Transient(Fault::new(
            server.name(),
            format!("closed the connection before the end of the TLS handshake ({cause})"),
            "the server may be overloaded, or your address has too many connections: try again later",
        )),
    }
}

impl Transport for Tcp {
    async fn connect(
        server: &ServerAddress,
        config: ClientConfig,
        addresses: &[SocketAddr],
        mut times: Times,
    ) -> Result<(Self, Times), Failure> {
        let mut connected = Err(std::io::Error::other("no address"));
        for address in addresses {
            times.address = *address;
            connected = TcpStream::connect(address).await;
            if connected.is_ok() {
                break;
            }
        }
        let stream = connected.map_err(|cause| {
            let hint = "check that `cwndlab serve` runs there, and that its port is open";
            Failure::Transient(Fault::new(server.name(), cause.to_string(), hint))
        })?;
        times.connect_ns = since_ns(times.began);
        let _ = stream.set_nodelay(true);
        let stream = Arc::new(stream);
        let name = ServerName::try_from(server.host.clone())
            .map_err(|cause| Failure::Permanent(Fault::new("url", cause.to_string(), "write https://HOST:PORT")))?;
        let connector = TlsConnector::from(Arc::new(config));
        let tls = connector.connect(name, SharedStream(Arc::clone(&stream))).await;
        let tls = tls.map_err(|cause| handshake_failed(server, cause))?;
        times.handshake_ns = since_ns(times.began);
        let (requests, driver) = handshake(TokioIo::new(tls))
            .await
            .map_err(|cause| Failure::Transient(Fault::new(server.name(), cause.to_string(), "")))?;
        let driver = tokio::spawn(async move {
            let _ = driver.await;
        });
        Ok((Self { stream, requests, driver, response: None }, times))
    }

    async fn get(
        &mut self,
        server: &ServerAddress,
        options: &FetchOptions,
        path: &str,
    ) -> Result<(StatusCode, HeaderMap), Fault> {
        let broken = |cause: hyper::Error| {
            Fault::new(server.name(), format!("closed the connection before its response ({cause})"), "try again later")
        };
        self.requests.ready().await.map_err(broken)?;
        let request = server.request(options, path, false)?;
        let (parts, body) = self.requests.send_request(request).await.map_err(broken)?.into_parts();
        self.response = Some(body);
        Ok((parts.status, parts.headers))
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, String> {
        let Some(body) = &mut self.response else { return Ok(None) };
        loop {
            match body.frame().await {
                None => return Ok(None),
                Some(Err(cause)) => {
                    let why = std::error::Error::source(&cause).map(|why| format!(": {why}"));
                    return Err(format!("{cause}{}", why.unwrap_or_default()));
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    fn snapshot(&self) -> Option<Snapshot> {
        of_stream(&*self.stream)
    }
}
