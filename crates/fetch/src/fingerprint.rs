//! Fingerprints of certificates.

use sha2::{Digest, Sha256};

/// SHA-256 of a DER certificate in lower-case hex: the output of `openssl x509 -fingerprint -sha256` without colons.
#[must_use]
pub fn fingerprint(certificate: &[u8]) -> String {
    hex(&Sha256::digest(certificate))
}

/// Hexadecimal digits in lower case.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
