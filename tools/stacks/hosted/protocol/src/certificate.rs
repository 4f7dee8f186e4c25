//! A self-signed certificate. Its length and that of its signatures do not vary: Ed25519, and a fixed serial number.

use rcgen::{CertificateParams, KeyPair, SerialNumber, PKCS_ED25519};

/// A certificate for `localhost` and its key (PKCS #8), both in DER.
#[must_use]
pub fn generate() -> (Vec<u8>, Vec<u8>) {
    let key = KeyPair::generate_for(&PKCS_ED25519).expect("the algorithm is known");
    let mut parameters = CertificateParams::new(vec!["localhost".to_owned()]).expect("the name is valid");
    parameters.serial_number = Some(SerialNumber::from(1u64));
    let certificate = parameters.self_signed(&key).expect("the parameters are valid");
    (certificate.der().to_vec(), key.serialize_der())
}
