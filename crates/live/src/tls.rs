//! The server's TLS configuration, for TCP and QUIC.

use std::sync::Arc;

use cwndlab_linux::fault::{fault, Fault};
use rustls::server::NoServerSessionStorage;
use rustls::ServerConfig;

use crate::certificate::Certificate;

/// A configuration with this certificate and application protocol (ALPN, RFC 7301).
pub(crate) fn config(certificate: &Certificate, protocol: &[u8]) -> Result<ServerConfig, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed =
        |cause: rustls::Error| fault("certificate", cause.to_string(), "certificate and key must belong together");
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_no_client_auth()
        .with_single_cert(certificate.chain.clone(), certificate.key.clone_key())
        .map_err(failed)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    // No session is stored, and no ticket is sent, which would precede a transfer's first byte.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}
