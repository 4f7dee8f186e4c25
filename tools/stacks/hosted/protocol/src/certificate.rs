//! A self-signed certificate. Its length and that of its signatures do not vary: Ed25519, and a fixed serial number.

use rcgen::{CertificateParams, KeyPair, SerialNumber, PKCS_ED25519};

/// What precedes the 32 bytes of a key of Ed25519 in PKCS #8 of version 1 (RFC 8410, section 7).
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// A certificate for `localhost` and its key (PKCS #8), both in DER. The key has version 1, without its public half, which
/// BoringSSL does not read.
#[must_use]
pub fn generate() -> (Vec<u8>, Vec<u8>) {
    let key = KeyPair::generate_for(&PKCS_ED25519).expect("the algorithm is known");
    let mut parameters = CertificateParams::new(vec!["localhost".to_owned()]).expect("the name is valid");
    parameters.serial_number = Some(SerialNumber::from(1u64));
    let certificate = parameters.self_signed(&key).expect("the parameters are valid");
    let key = key.serialize_der();
    (certificate.der().to_vec(), [&PKCS8[..], &key[PKCS8.len()..PKCS8.len() + 32]].concat())
}
