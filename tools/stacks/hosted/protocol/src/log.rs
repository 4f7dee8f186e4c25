//! The log of a sender, which `cwndlab host` asks for when it audits: a file in the folder that `CWNDLAB_STACK_LOGS` names.

use std::env;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use crate::Start;

/// The file of a sender's log, if one is wanted. The name has the seed, which differs between flows.
#[must_use]
pub fn create(start: &Start, stack: &str, extension: &str) -> Option<BufWriter<File>> {
    let folder = env::var_os("CWNDLAB_STACK_LOGS").filter(|_| start.is_sender)?;
    let path = Path::new(&folder).join(format!("{stack}-{:016x}.{extension}", start.seed));
    match File::create(&path) {
        Ok(file) => Some(BufWriter::new(file)),
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            None
        }
    }
}

/// A capture of IPv4 packets in the format of pcap, with times in nanoseconds.
pub struct Capture(BufWriter<File>);

impl Capture {
    /// Writes the header of the file (draft-ietf-opsawg-pcap, section 4): link type 101, packets of IP.
    #[must_use]
    pub fn new(mut file: BufWriter<File>) -> Self {
        let words = [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, 65535, 101u32];
        words.iter().for_each(|word| put(&mut file, &word.to_le_bytes()));
        Self(file)
    }

    /// Writes a packet.
    pub fn packet(&mut self, now: Duration, packet: &[u8]) {
        for word in [now.as_secs() as u32, now.subsec_nanos(), packet.len() as u32, packet.len() as u32] {
            put(&mut self.0, &word.to_le_bytes());
        }
        put(&mut self.0, packet);
    }
}

/// A log that cannot be written is not worth the end of a run.
fn put(file: &mut BufWriter<File>, bytes: &[u8]) {
    if let Err(error) = file.write_all(bytes) {
        eprintln!("the log: {error}");
    }
}
