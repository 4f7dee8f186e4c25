//! s2n-quic as the sender of a transfer. It has no qlog: a subscriber of its events writes the log.
//!
//!     stack-s2n-quic ADDRESS CERTIFICATE ALGORITHM BYTES PAUSES LOG

use std::sync::{Arc, Mutex};
use std::time::Duration;

use s2n_quic::client::{Client, Connect};
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::event::events::{
    AckRangeReceived, ConnectionInfo, PacketHeader, PacketLost, PacketSent, RecoveryMetrics,
};
use s2n_quic::provider::event::{ConnectionMeta, Subscriber};
use s2n_quic::provider::io::tokio::Provider as Io;
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::default::Client as Tls;
use stack_log::{Arguments, Event, Log, Metrics, Packet, Space, DATAGRAM};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The log, and the ranges of the ACK frame in progress: an event reports one range.
#[derive(Default)]
struct Record {
    log: Log,
    ranges: Option<(Duration, Space, Vec<(u64, u64)>)>,
}

impl Record {
    fn push(&mut self, time: Duration, event: Event) {
        self.end_frame();
        self.log.push(time, event);
    }

    fn end_frame(&mut self) {
        if let Some((time, space, ranges)) = self.ranges.take() {
            self.log.push(time, Event::Acked { space, ranges });
        }
    }
}

struct Events(Arc<Mutex<Record>>);

fn packet(header: &PacketHeader) -> Option<Packet> {
    match header {
        PacketHeader::Initial { number, .. } => Some((Space::Initial, *number)),
        PacketHeader::Handshake { number, .. } => Some((Space::Handshake, *number)),
        PacketHeader::OneRtt { number, .. } => Some((Space::Application, *number)),
        _ => None,
    }
}

impl Events {
    fn with(&self, act: impl FnOnce(&mut Record)) {
        act(&mut self.0.lock().expect("no thread has panicked"));
    }
}

/// Time since the endpoint started.
fn time(meta: &ConnectionMeta) -> Duration {
    meta.timestamp.duration_since_start()
}

impl Subscriber for Events {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) {}

    fn on_packet_sent(&mut self, (): &mut (), meta: &ConnectionMeta, event: &PacketSent) {
        if let Some(packet) = packet(&event.packet_header) {
            self.with(|record| record.push(time(meta), Event::Sent { packet, bytes: event.packet_len as u64 }));
        }
    }

    fn on_packet_lost(&mut self, (): &mut (), meta: &ConnectionMeta, event: &PacketLost) {
        if let Some(packet) = packet(&event.packet_header).filter(|_| !event.is_mtu_probe) {
            self.with(|record| record.push(time(meta), Event::Lost { packet }));
        }
    }

    /// The header is that of the packet with the ACK frame: its space is that of the acknowledged packets.
    fn on_ack_range_received(&mut self, (): &mut (), meta: &ConnectionMeta, event: &AckRangeReceived) {
        let Some((space, _)) = packet(&event.packet_header) else { return };
        let range = (*event.ack_range.start(), *event.ack_range.end());
        self.with(|record| {
            if record.ranges.as_ref().is_some_and(|one| one.1 != space) {
                record.end_frame();
            }
            record.ranges.get_or_insert((time(meta), space, Vec::new())).2.push(range);
        });
    }

    fn on_recovery_metrics(&mut self, (): &mut (), meta: &ConnectionMeta, event: &RecoveryMetrics) {
        let metrics = Metrics {
            cwnd: event.congestion_window.into(),
            ssthresh: None,
            in_flight: Some(event.bytes_in_flight.into()),
            srtt: Some(event.smoothed_rtt),
            min_rtt: Some(event.min_rtt),
            latest_rtt: Some(event.latest_rtt),
        };
        self.with(|record| record.push(time(meta), Event::Metrics(metrics)));
    }
}

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
        Client::builder().with_io(io)?.with_tls(tls)?.with_limits(limits)?.with_event(Events(record.clone()))?;
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
