//! The server's certificate: read from PEM files, or generated once and stored with access for the owner only.

use cwndlab_units::Fault;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use cwndlab_fetch::fingerprint::fingerprint;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate chain with its key.
#[derive(Debug)]
pub struct Certificate {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Certificate {
    /// The fingerprint of the server's certificate.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.chain[0])
    }

    /// Reads PEM files.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, Fault> {
        let chain_name = chain.display().to_string();
        let key_name = key.display().to_string();
        let certificates = CertificateDer::pem_file_iter(chain)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|cause| Fault::new(&chain_name, cause.to_string(), "a certificate is a PEM file"))?;
        if certificates.is_empty() {
            return Err(Fault::new(chain_name, "contains no certificate", "a certificate is a PEM file"));
        }
        let key = PrivateKeyDer::from_pem_file(key)
            .map_err(|cause| Fault::new(key_name, cause.to_string(), "a key is a PEM file without a password"))?;
        Ok(Self { chain: certificates, key })
    }

    /// Generates a self-signed certificate without storing it.
    pub fn self_signed(names: &[String]) -> Result<Self, Fault> {
        let (chain, key) = pem(names)?;
        let broken = |cause: rustls::pki_types::pem::Error| Fault::new("certificate", cause.to_string(), "");
        let chain = CertificateDer::from_pem_slice(chain.as_bytes()).map_err(broken)?;
        Ok(Self { chain: vec![chain], key: PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(broken)? })
    }

    /// Reads the certificate stored in `folder`, or generates and stores one for `names`.
    pub fn load_or_create(folder: &Path, names: &[String]) -> Result<Self, Fault> {
        let chain = folder.join("certificate.pem");
        let key = folder.join("key.pem");
        if !chain.exists() || !key.exists() {
            let (certificate, secret) = pem(names)?;
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|cause| {
                Fault::new(folder.display().to_string(), cause.to_string(), "name another folder by --state")
            })?;
            // The certificate is written last: if it exists, its key exists.
            write_private(&key, &secret)?;
            write_private(&chain, &certificate)?;
        }
        Self::read(&chain, &key)
    }
}

/// Generates a self-signed certificate for `names` and its key, both in PEM.
fn pem(names: &[String]) -> Result<(String, String), Fault> {
    let generated = rcgen::generate_simple_self_signed(names)
        .map_err(|cause| Fault::new("certificate", cause.to_string(), "a name is a host name or an address"))?;
    Ok((generated.cert.pem(), generated.signing_key.serialize_pem()))
}

/// Writes a file atomically, with access for the owner only.
pub fn write_private(file: &Path, text: &str) -> Result<(), Fault> {
    let unfinished = file.with_extension(format!("{}.part", std::process::id()));
    let write = || {
        let mut open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        open.write_all(text.as_bytes())?;
        open.sync_all()?;
        fs::rename(&unfinished, file)
    };
    write().map_err(|cause| {
        let _ = fs::remove_file(&unfinished);
        Fault::new(file.display().to_string(), cause.to_string(), "name another folder by --state")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_certificate_is_generated_once_and_only_its_owner_can_read_the_key() {
        let folder = std::env::temp_dir().join(format!("cwndlab-certificate-{}", std::process::id()));
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let created = Certificate::load_or_create(&folder, &names).unwrap();
        assert_eq!(created.fingerprint().len(), 64);
        assert_eq!(Certificate::load_or_create(&folder, &names).unwrap().fingerprint(), created.fingerprint());
        for file in ["key.pem", "certificate.pem"] {
            assert_eq!(fs::metadata(folder.join(file)).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let fault = Certificate::read(&folder.join("key.pem"), &folder.join("key.pem")).unwrap_err();
        assert_eq!(fault.what, "contains no certificate");
        fs::remove_dir_all(&folder).unwrap();
    }
}
