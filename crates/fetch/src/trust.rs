//! The certificates that a client trusts: the system's authorities, those of a PEM file, or one with a given
//! fingerprint.

use cwndlab_units::Fault;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use subtle::ConstantTimeEq;

use crate::fingerprint::fingerprint;

/// Trusts one certificate, regardless of its names and dates.
#[derive(Debug)]
struct PinnedCertificate {
    expected: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let presented = fingerprint(certificate);
        if bool::from(presented.as_bytes().ct_eq(self.expected.as_bytes())) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::General(format!("its fingerprint is {presented}")))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Parses a fingerprint, with or without colons, to lower-case hex.
fn parse_fingerprint(text: &str) -> Option<String> {
    let plain: String = text.chars().filter(|&one| one != ':').collect();
    (plain.len() == 64 && plain.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| plain.to_ascii_lowercase())
}

/// The client's TLS configuration. `trust` is a PEM file or a fingerprint (SHA-256); `None` trusts the system's
/// authorities.
pub fn config(trust: Option<&str>, protocol: &[u8]) -> Result<ClientConfig, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|cause| Fault::new("--trust", cause.to_string(), ""))?;
    let mut config = if let Some(expected) = trust.and_then(parse_fingerprint) {
        let verifier = Arc::new(PinnedCertificate { expected, provider });
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        builder.with_root_certificates(roots(trust)?).with_no_client_auth()
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

fn roots(trust: Option<&str>) -> Result<RootCertStore, Fault> {
    let mut roots = RootCertStore::empty();
    let Some(file) = trust else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let hint = "give a PEM file, or the fingerprint that `cwndlab serve` prints (SHA-256, 64 hex digits)";
    let certificates = CertificateDer::pem_file_iter(Path::new(file)).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = certificates.map_err(|cause| Fault::new("--trust", format!("'{file}': {cause}"), hint))?;
    if roots.add_parsable_certificates(certificates).0 == 0 {
        return Err(Fault::new("--trust", format!("'{file}' contains no certificate"), hint));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_64_hex_digits_with_or_without_colons() {
        let plain = "ab".repeat(32);
        assert_eq!(parse_fingerprint(&plain), Some(plain.clone()));
        assert_eq!(parse_fingerprint(&["AB"; 32].join(":")), Some(plain));
        assert_eq!(parse_fingerprint("ab"), None);
        assert_eq!(parse_fingerprint(&"xy".repeat(32)), None);
        let fault = config(Some("nowhere.pem"), b"h3").unwrap_err();
        assert!(fault.what.starts_with("'nowhere.pem': "), "{}", fault.what);
    }
}
