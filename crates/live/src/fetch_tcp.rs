//! Fetching by HTTP/1.1 over TLS and TCP.

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use bytes::Bytes;
use cwndlab_linux::fault::{fault, Fault};
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

use crate::clock::since_ns;
use crate::fetch::{Ask, Failure, Place, Times, Transport};
use crate::look::Look;
use crate::socket::Shared;

/// A connection.
pub(crate) struct Tcp {
    stream: Arc<TcpStream>,
    requests: SendRequest<Empty<Bytes>>,
    driver: JoinHandle<()>,
    answer: Option<Incoming>,
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

fn place_of(place: &Place) -> String {
    format!("{}:{}", place.host, place.port)
}

/// What a failed handshake means.
fn handshake_failed(place: &Place, cause: std::io::Error) -> Failure {
    let inner = cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(why)) => Failure::Lasting(fault(
            place_of(place),
            format!("its certificate is not trusted ({why})"),
            "name it by --trust: a PEM file, or the fingerprint that `cwndlab serve` printed",
        )),
        Some(rustls::Error::General(why)) => Failure::Lasting(fault(
            place_of(place),
            format!("shows another certificate than the one trusted: {why}"),
            "is it the right server? `cwndlab serve` prints its fingerprint when it starts",
        )),
        Some(other) => Failure::Lasting(fault(place_of(place), format!("no TLS with it: {other}"), "")),
        None => Failure::Transient(fault(
            place_of(place),
            format!("closed the connection before TLS stood ({cause})"),
            "it may be overloaded, or your address has too many connections: try again later",
        )),
    }
}

impl Transport for Tcp {
    async fn connect(
        place: &Place,
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
            let hint = "does `cwndlab serve` run there, and is its port open?";
            Failure::Transient(fault(place_of(place), cause.to_string(), hint))
        })?;
        times.connect_ns = since_ns(times.began);
        let _ = stream.set_nodelay(true);
        let stream = Arc::new(stream);
        let name = ServerName::try_from(place.host.clone())
            .map_err(|cause| Failure::Lasting(fault("url", cause.to_string(), "write https://HOST:PORT")))?;
        let connector = TlsConnector::from(Arc::new(config));
        let tls = connector.connect(name, Shared(Arc::clone(&stream))).await;
        let tls = tls.map_err(|cause| handshake_failed(place, cause))?;
        times.handshake_ns = since_ns(times.began);
        let (requests, driver) = handshake(TokioIo::new(tls))
            .await
            .map_err(|cause| Failure::Transient(fault(place_of(place), cause.to_string(), "")))?;
        let driver = tokio::spawn(async move {
            let _ = driver.await;
        });
        Ok((Self { stream, requests, driver, answer: None }, times))
    }

    async fn get(&mut self, place: &Place, ask: &Ask, path: &str) -> Result<(StatusCode, HeaderMap), Fault> {
        let broken = |cause: hyper::Error| {
            fault(place_of(place), format!("closed the connection before it answered ({cause})"), "try again later")
        };
        self.requests.ready().await.map_err(broken)?;
        let request = place.request(ask, path, false)?;
        let (parts, body) = self.requests.send_request(request).await.map_err(broken)?.into_parts();
        self.answer = Some(body);
        Ok((parts.status, parts.headers))
    }

    async fn piece(&mut self) -> Result<Option<Bytes>, String> {
        let Some(body) = &mut self.answer else { return Ok(None) };
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

    fn look(&self) -> Option<Look> {
        Look::of_tcp(self.stream.as_raw_fd(), 0)
    }
}
