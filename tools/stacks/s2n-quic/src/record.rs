//! The log of a sender from the events of s2n-quic, which has no qlog.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use s2n_quic::provider::event::events::{
    AckRangeReceived, ConnectionInfo, PacketHeader, PacketLost, PacketSent, RecoveryMetrics,
};
use s2n_quic::provider::event::{ConnectionMeta, Subscriber};
use stack_log::{Event, Log, Metrics, Packet, Space};

/// The log, and the ranges of the ACK frame in progress: an event reports one range.
#[derive(Default)]
pub struct Record {
    pub log: Log,
    ranges: Option<(Duration, Space, Vec<(u64, u64)>)>,
}

impl Record {
    fn push(&mut self, time: Duration, event: Event) {
        self.end_frame();
        self.log.push(time, event);
    }

    /// Adds the ACK frame in progress.
    pub fn end_frame(&mut self) {
        if let Some((time, space, ranges)) = self.ranges.take() {
            self.log.push(time, Event::Acked { space, ranges });
        }
    }
}

/// A subscriber that writes to a record, if a log is wanted.
pub struct Events(pub Option<Arc<Mutex<Record>>>);

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
        if let Some(record) = &self.0 {
            act(&mut record.lock().expect("no thread has panicked"));
        }
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
