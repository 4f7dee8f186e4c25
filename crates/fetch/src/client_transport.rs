//! The common interface of the client's TCP and QUIC connections, and their options, server address and times.

use cwndlab_units::Fault;
use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, AUTHORIZATION, HOST, RANGE};
use hyper::{Request, StatusCode, Uri};

use crate::snapshot::Snapshot;

/// The header with the ID of a transfer, for `/transfers/ID`.
pub const TRANSFER: HeaderName = HeaderName::from_static("cwndlab-transfer");
/// The header with the congestion control that the sender reports.
pub const ALGORITHM: HeaderName = HeaderName::from_static("cwndlab-congestion-control");

/// How the server calls the end of a transfer that another algorithm than the requested one sent.
pub const FAILED: &str = "failed";

/// The options of a fetch.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// `https://HOST[:PORT]` of a server.
    pub url: String,
    /// The client's token.
    pub token: String,
    /// The congestion control of the server; `None` selects its default.
    pub algorithm: Option<String>,
    /// Length of the stream.
    pub size_bytes: u64,
    /// Offset of the first byte to fetch.
    pub first_byte: u64,
    /// `tcp` or `quic`.
    pub transport: String,
    /// A PEM file or a fingerprint; `None` trusts the system's certificate authorities.
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
    pub(crate) fn parse(url: &str) -> Result<Self, Fault> {
        let hint = "write https://HOST:PORT";
        let uri: Uri = url.parse().map_err(|cause| Fault::new("url", format!("'{url}': {cause}"), hint))?;
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("https"));
        let authority = authority.ok_or_else(|| Fault::new("url", format!("'{url}' is not an https address"), hint))?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(Fault::new("url", format!("'{url}' has a path"), hint));
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port: authority.port_u16().unwrap_or(443), authority: authority.as_str().to_owned() })
    }

    /// HOST:PORT.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// A request for a path. With `absolute_form` its URI is absolute and it has no header `Host`.
    pub(crate) fn request<B: Default>(
        &self,
        options: &FetchOptions,
        path: &str,
        absolute_form: bool,
    ) -> Result<Request<B>, Fault> {
        let uri = if absolute_form { format!("https://{}{path}", self.authority) } else { path.to_owned() };
        let mut request = Request::get(uri).header(AUTHORIZATION, format!("Bearer {}", options.token));
        if !absolute_form {
            request = request.header(HOST, &self.authority);
        }
        if options.first_byte > 0 && path.starts_with("/bytes/") {
            request = request.header(RANGE, format!("bytes={}-", options.first_byte));
        }
        let hint = "a token is ASCII text without spaces";
        request.body(B::default()).map_err(|cause| Fault::new("request", cause.to_string(), hint))
    }
}

/// Times of a connection, relative to `began`.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) began: Instant,
    pub(crate) started_unix_ns: u64,
    pub(crate) lookup_ns: u64,
    pub(crate) connect_ns: u64,
    pub(crate) handshake_ns: u64,
    pub(crate) address: SocketAddr,
}

/// The failure of a connection attempt.
pub(crate) enum Failure {
    /// A further attempt may succeed.
    Transient(Fault),
    /// Every further attempt fails as well.
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
        let server = ServerAddress::parse("https://[::1]:8443").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("::1", 8443));
        assert_eq!(ServerAddress::parse("https://example.org/").unwrap().port, 443);
        for invalid in
            ["http://example.org", "example.org", "https://example.org/bytes/1", "https://", "https://a?b", "…"]
        {
            let fault = ServerAddress::parse(invalid).unwrap_err();
            assert_eq!(fault.place, "url", "{invalid}");
        }
    }
}
