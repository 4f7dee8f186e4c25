//! What the adapter takes from quinn-proto.

use std::fs::File;
use std::io::BufWriter;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use cwndlab_stack::{log, Answer, Start, Value};
pub use quinn_proto as proto;
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::{
    Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, SendStream, ServerConfig, Transmit,
    TransportConfig, WriteError,
};

use crate::controls;
use crate::logged::{Logged, Record};
pub use crate::observed::{Observed, ObservedFactory};

/// A congestion control.
pub type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// The largest datagram that quinn looks for.
const LARGEST: u16 = 1452;

/// The log of a sender, which is written when it ends.
pub struct Log {
    record: Arc<Mutex<Record>>,
    file: Option<BufWriter<File>>,
    datagram: u16,
}

impl Drop for Log {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        let record = std::mem::take(&mut *self.record.lock().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = record.into_log().write_to(file, controls::NAME, self.datagram) {
            eprintln!("the log: {error}");
        }
    }
}

/// The sender writes a log of the calls of its controller, if one is wanted: quinn's own qlog has neither the frames of
/// packets nor ACKs.
pub fn log(_: &mut TransportConfig, controller: Factory, start: &Start) -> (Factory, Option<Log>) {
    let Some(file) = log::create(start, controls::LOG, "sqlog") else { return (controller, None) };
    let record = Arc::new(Mutex::new(Record::default()));
    let datagram = start.max_datagram.min(LARGEST);
    let logged = Arc::new(Logged::factory(controller, record.clone(), controls::WAITS_FOR_LOSSES));
    (logged, Some(Log { record, file: Some(file), datagram }))
}

/// An endpoint, which divides what it sends into the datagrams of batches.
pub fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(config), server, true, None)
}

/// Writes to a stream; returns the written bytes.
pub fn write(stream: &mut SendStream<'_>, chunk: Bytes) -> Result<usize, WriteError> {
    stream.write_chunks(&mut [chunk]).map(|written| written.bytes)
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
    endpoint.handle(now, remote, None, ecn, data, buffer)
}

/// The next datagrams to send.
pub fn transmit(connection: &mut Connection, now: Instant, segments: usize, buffer: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, segments, buffer)
}

/// Reports what the connection shows of its path.
pub fn report(connection: &mut Connection, answer: &mut Answer) {
    let path = connection.stats().path;
    let metrics = connection.congestion_state().metrics();
    answer.value(Value::Cwnd, path.cwnd);
    answer.value(Value::SmoothedRtt, path.rtt.as_nanos() as u64);
    answer.value(Value::LostPackets, path.lost_packets);
    answer.value(Value::LostBytes, path.lost_bytes);
    answer.value(Value::CongestionEvents, path.congestion_events);
    for (value, number) in [(Value::Ssthresh, metrics.ssthresh), (Value::PacingRate, metrics.pacing_rate)] {
        if let Some(number) = number.filter(|&number| number < u64::MAX) {
            answer.value(value, number);
        }
    }
}
