//! The server's TLS configuration, for TCP and QUIC.

use cwndlab_units::Fault;
use std::sync::Arc;

use rustls::server::NoServerSessionStorage;
use rustls::ServerConfig;

use crate::certificate::Certificate;

/// The configuration for a certificate and an application protocol (ALPN, RFC 7301).
pub(crate) fn config(certificate: &Certificate, protocol: &[u8]) -> Result<ServerConfig, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed =
        |cause: rustls::Error| Fault::new("certificate", cause.to_string(), "the key must be that of the certificate");
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_no_client_auth()
        .with_single_cert(certificate.chain.clone(), certificate.key.clone_key())
        .map_err(failed)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    // No sessions are stored. No tickets are sent, because they would precede the first byte of a transfer.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}
