//! What the adapter takes from noq-proto.

use std::fs::File;
use std::io::BufWriter;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use cwndlab_stack::{log, Answer, Start, Value};
pub use noq_proto as proto;
use noq_proto::congestion::{Controller, ControllerFactory};
use noq_proto::{
    Connection, ConnectionId, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, PathId, QlogConfig,
    QlogFactory, SendStream, ServerConfig, Side, Transmit, TransportConfig, WriteError,
};

pub use crate::observed::{Observed, ObservedFactory};

/// A congestion control.
pub type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// The stack writes the log.
pub struct Log;

/// The file of the log, for the only connection.
struct LogFile(Mutex<Option<BufWriter<File>>>);

impl QlogFactory for LogFile {
    fn for_connection(&self, _: Side, _: SocketAddr, _: ConnectionId, _: Instant) -> Option<QlogConfig> {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(QlogConfig::new(Box::new(file)))
    }
}

/// The sender writes a qlog, if one is wanted.
pub fn log(transport: &mut TransportConfig, controller: Factory, start: &Start) -> (Factory, Option<Log>) {
    let file = log::create(start, "noq", "sqlog");
    let log = file.map(|file| {
        transport.qlog_factory(Arc::new(LogFile(Mutex::new(Some(file)))));
        Log
    });
    (controller, log)
}

/// An endpoint, which divides what it sends into the datagrams of batches.
pub fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(config), server, true)
}

/// Writes to a stream; returns the written bytes.
pub fn write(stream: &mut SendStream<'_>, chunk: Bytes) -> Result<usize, WriteError> {
    stream.write_chunks(&mut &mut [chunk][..])
}

/// The endpoint takes a datagram.
pub fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    buffer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::new(remote, None), ecn, data, buffer)
}

/// The next datagrams to send.
pub fn transmit(connection: &mut Connection, now: Instant, segments: usize, buffer: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::new(segments)?, buffer)
}

/// Reports what the connection shows of its path.
pub fn report(connection: &mut Connection, answer: &mut Answer) {
    let Some(path) = connection.path_stats(PathId::ZERO) else { return };
    let Some(metrics) = connection.congestion_state(PathId::ZERO).map(Controller::metrics) else { return };
    answer.value(Value::Cwnd, path.cwnd);
    answer.value(Value::SmoothedRtt, path.rtt.as_nanos() as u64);
    answer.value(Value::LostPackets, path.lost_packets);
    answer.value(Value::LostBytes, path.lost_bytes);
    answer.value(Value::CongestionEvents, path.congestion_events);
    for (value, number) in [
        (Value::Ssthresh, metrics.ssthresh),
        (Value::PacingRate, metrics.pacing_rate.map(|rate| rate.saturating_mul(8))),
    ] {
        if let Some(number) = number.filter(|&number| number < u64::MAX) {
            answer.value(value, number);
        }
    }
}
