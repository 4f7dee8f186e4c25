//! s2n-quic as the sender of a transfer. It has no qlog: a subscriber of its events writes the log.
//!
//!     stack-s2n-quic ADDRESS CERTIFICATE ALGORITHM BYTES PAUSES LOG

mod record;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use s2n_quic::client::{Client, Connect};
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::io::tokio::Provider as Io;
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::default::Client as Tls;
use stack_log::{Arguments, DATAGRAM};

use crate::record::{Events, Record};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::read(1)?;
    let record = Arc::new(Mutex::new(Record::default()));
    let mtu = DATAGRAM + 28;
    let io = Io::builder()
        .with_receive_address("0.0.0.0:0".parse()?)?
        .with_gso_disabled()?
        .with_max_mtu(mtu)?
        .with_initial_mtu(mtu)?
        .with_base_mtu(mtu)?
        .build()?;
    let tls = Tls::builder()
        .with_certificate(std::path::Path::new(&arguments.certificate))?
        .with_application_protocols(["cwndlab-audit"].iter())?
        .build()?;
    let limits = Limits::new().with_max_idle_timeout(Duration::from_secs(60))?;
    let builder =
        Client::builder().with_io(io)?.with_tls(tls)?.with_limits(limits)?.with_event(Events(Some(record.clone())))?;
    let client = match arguments.algorithm.as_str() {
        "cubic" => builder.with_congestion_controller(Cubic::default())?.start()?,
        "bbr" => builder.with_congestion_controller(Bbr::default())?.start()?,
        other => return Err(format!("s2n-quic has no algorithm '{other}': cubic, bbr").into()),
    };
    let mut connection = client.connect(Connect::new(arguments.address).with_server_name("localhost")).await?;
    let (mut receive, mut send) = connection.open_bidirectional_stream().await?.split();
    for (number, part) in arguments.parts().into_iter().enumerate() {
        if number > 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let mut left = part;
        while left > 0 {
            let size = left.min(1 << 16);
            send.send(vec![0; size].into()).await?;
            left -= size;
        }
    }
    send.finish()?;
    while receive.receive().await?.is_some() {}
    connection.close(0_u32.into());
    let mut record = std::mem::take(&mut *record.lock().expect("no thread has panicked"));
    record.end_frame();
    record.log.write(&arguments.log, "s2n-quic 1.91.0", DATAGRAM)?;
    Ok(())
}
