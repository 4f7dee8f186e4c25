//! What the client's TCP and QUIC connections share: options, the server's address, times, and the interface of both.

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cwndlab_linux::fault::{fault, Fault};
use hyper::header::{HeaderMap, AUTHORIZATION, HOST, RANGE};
use hyper::{Request, StatusCode, Uri};

use crate::snapshot::Snapshot;

/// The options of a fetch.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// `https://HOST[:PORT]` of a server.
    pub url: String,
    /// The client's token.
    pub token: String,
    /// The congestion control of the server; its default without.
    pub algorithm: Option<String>,
    /// Length of the stream.
    pub size_bytes: u64,
    /// First byte to fetch: the client has those before it.
    pub first_byte: u64,
    /// `tcp` or `quic`.
    pub transport: String,
    /// A PEM file or a fingerprint; the system's certificate authorities without.
    pub trust: Option<String>,
    /// Time limit of the whole fetch.
    pub timeout: Duration,
}

/// The address of a server.
#[derive(Clone, Debug)]
pub(crate) struct ServerAddress {
    pub(crate) host: String,
    pub(crate) port: u16,
    authority: String,
}

impl ServerAddress {
    /// Parses `https://HOST[:PORT]`.
    pub(crate) fn read(url: &str) -> Result<Self, Fault> {
        let hint = "write https://HOST:PORT";
        let uri: Uri = url.parse().map_err(|cause| fault("url", format!("'{url}': {cause}"), hint))?;
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("https"));
        let authority = authority.ok_or_else(|| fault("url", format!("'{url}' is no https address"), hint))?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(fault("url", format!("'{url}' has a path"), hint));
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port: authority.port_u16().unwrap_or(443), authority: authority.as_str().to_owned() })
    }

    /// HOST:PORT.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// A request for a path; with `whole_uri` in absolute form, without a header `Host`.
    pub(crate) fn request<B: Default>(
        &self,
        options: &FetchOptions,
        path: &str,
        whole_uri: bool,
    ) -> Result<Request<B>, Fault> {
        let uri = if whole_uri { format!("https://{}{path}", self.authority) } else { path.to_owned() };
        let mut request = Request::get(uri).header(AUTHORIZATION, format!("Bearer {}", options.token));
        if !whole_uri {
            request = request.header(HOST, &self.authority);
        }
        if options.first_byte > 0 && path.starts_with("/bytes/") {
            request = request.header(RANGE, format!("bytes={}-", options.first_byte));
        }
        let hint = "a token is plain text without blanks";
        request.body(B::default()).map_err(|cause| fault("request", cause.to_string(), hint))
    }
}

/// Times of a connection, since `began`.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) began: Instant,
    pub(crate) started_unix_ns: u64,
    pub(crate) lookup_ns: u64,
    pub(crate) connect_ns: u64,
    pub(crate) handshake_ns: u64,
    pub(crate) address: SocketAddr,
}

/// Why a connection attempt failed.
pub(crate) enum Failure {
    /// Another attempt may succeed.
    Transient(Fault),
    /// No other attempt will succeed.
    Permanent(Fault),
}

/// A connection of the client.
pub(crate) trait Transport: Sized {
    /// Connects to one of the addresses.
    fn connect(
        server: &ServerAddress,
        config: rustls::ClientConfig,
        addresses: &[SocketAddr],
        times: Times,
    ) -> impl Future<Output = Result<(Self, Times), Failure>>;
    /// Requests a path; returns status and headers.
    fn get(
        &mut self,
        server: &ServerAddress,
        options: &FetchOptions,
        path: &str,
    ) -> impl Future<Output = Result<(StatusCode, HeaderMap), Fault>>;
    /// The next chunk of the response; `None` at its end. Cancel-safe.
    fn chunk(&mut self) -> impl Future<Output = Result<Option<Bytes>, String>>;
    /// The state of the connection, where the system reports it.
    fn snapshot(&self) -> Option<Snapshot>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_address_is_https_with_host_and_port() {
        let server = ServerAddress::read("https://[::1]:8443").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("::1", 8443));
        assert_eq!(ServerAddress::read("https://example.org/").unwrap().port, 443);
        for wrong in
            ["http://example.org", "example.org", "https://example.org/bytes/1", "https://", "https://a?b", "…"]
        {
            let fault = ServerAddress::read(wrong).unwrap_err();
            assert_eq!(fault.place, "url", "{wrong}");
        }
    }
}
