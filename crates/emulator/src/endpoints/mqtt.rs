//! MQTT over TCP: a sensor on the senders' side that publishes, a broker on the receivers' side that acknowledges
//! (MQTT 3.1.1: CONNECT, PUBLISH, PUBACK, PINGREQ). Sizes and times are drawn as in the simulator.

use std::net::{TcpListener, TcpStream};
use std::time::Duration as Wait;

use cwndlab_scenario::plan::Mqtt;
use cwndlab_traffic::sampling::{sample_size, SIZE_STREAM, TIME_STREAM};
use cwndlab_units::{Duration, Time};

use super::connection::{read, Endpoint, STOP_CHECK};
use super::messages::{serve, MessageQueue};
use crate::addresses::Side;

/// A published message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Publication {
    /// Bytes of its payload.
    payload: u64,
    /// When the sensor published it.
    since: Time,
}

/// A packet from the sensor to the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Connect,
    Publish(Publication),
    Ping,
}

/// The connection of a sensor.
#[derive(Debug)]
pub struct MqttDialogue<'a> {
    endpoint: Endpoint<'a>,
    sensor: &'a Mqtt,
    requests: MessageQueue<Request>,
    /// Packets to the sensor; a PUBACK carries what it acknowledges.
    replies: MessageQueue<Option<Publication>>,
}

impl<'a> MqttDialogue<'a> {
    pub(crate) fn new(endpoint: Endpoint<'a>, sensor: &'a Mqtt) -> Self {
        Self { endpoint, sensor, requests: MessageQueue::default(), replies: MessageQueue::default() }
    }

    fn request(&self, socket: &TcpStream, bytes: u64, request: Request) -> std::io::Result<()> {
        self.requests.push(bytes, request);
        self.endpoint.send(socket, Some(bytes), Time(u64::MAX)).map(drop)
    }

    /// Runs the sensor: connects, then publishes and pings until the flow stops.
    pub(crate) fn run_sensor(&self) -> std::io::Result<()> {
        let Some(socket) = self.endpoint.connect(Side::Senders)? else { return Ok(()) };
        socket.set_read_timeout(Some(STOP_CHECK))?;
        socket.set_nodelay(!self.sensor.nagle)?;
        let socket = self.endpoint.state.open(socket);
        self.request(&socket, self.sensor.connect_bytes(), Request::Connect)?;
        let mut received = 0;
        while received < Mqtt::ACKNOWLEDGEMENT && !self.endpoint.run.is_over() {
            received += read(&socket, Mqtt::ACKNOWLEDGEMENT - received)?;
        }
        self.replies.pop(&mut received);
        self.publish(&socket, received)?;
        self.endpoint.state.close(&socket);
        Ok(())
    }

    fn publish(&self, socket: &TcpStream, mut received: u64) -> std::io::Result<()> {
        let (endpoint, sensor) = (&self.endpoint, self.sensor);
        let [mut sizes, mut times] = [SIZE_STREAM, TIME_STREAM].map(|purpose| endpoint.stream(purpose));
        let (mut period_start, mut last_sent) = (endpoint.run.now(), endpoint.run.now());
        let mut next = period_start + Duration(times.below(sensor.jitter.0));
        while !endpoint.run.is_over() {
            let ping = sensor.keep_alive.map_or(Time(u64::MAX), |time| last_sent + time);
            self.read_until(socket, next.min(ping).min(endpoint.stop_at()), &mut received)?;
            let now = endpoint.run.now();
            if !endpoint.is_active() {
                break;
            }
            last_sent = now;
            if now >= next {
                let payload = sample_size(&sensor.payload, &mut sizes).0;
                period_start += sensor.period;
                next = period_start + Duration(times.below(sensor.jitter.0));
                let publication = Publication { payload, since: now };
                self.request(socket, sensor.publish_bytes(payload), Request::Publish(publication))?;
            } else {
                self.request(socket, Mqtt::PING, Request::Ping)?;
            }
        }
        Ok(())
    }

    /// Reads replies until `at` or the end of the run.
    fn read_until(&self, socket: &TcpStream, at: Time, received: &mut u64) -> std::io::Result<()> {
        while self.endpoint.run.now() < at && !self.endpoint.run.is_over() {
            let rest = Wait::from_nanos(at.0.saturating_sub(self.endpoint.run.now().0).max(1_000));
            socket.set_read_timeout(Some(rest.min(STOP_CHECK)))?;
            *received += read(socket, u64::MAX)?;
            while let Some(reply) = self.replies.pop(received) {
                if let Some(publication) = reply {
                    self.endpoint.record_transfer(publication.since, publication.payload);
                }
            }
        }
        Ok(())
    }

    /// Runs the broker. With QoS 0 a message is complete when it arrives, else when the sensor has its PUBACK.
    pub(crate) fn run_broker(&self, listener: &TcpListener) {
        serve(&self.endpoint, listener, &self.requests, false, |socket, request| {
            let (bytes, acknowledged) = match request {
                Request::Connect => (Mqtt::ACKNOWLEDGEMENT, None),
                Request::Publish(publication) if self.sensor.qos > 0 => (Mqtt::ACKNOWLEDGEMENT, Some(publication)),
                Request::Publish(publication) => {
                    self.endpoint.record_transfer(publication.since, publication.payload);
                    return Ok(());
                }
                Request::Ping => (Mqtt::PING, None),
            };
            self.replies.push(bytes, acknowledged);
            self.endpoint.send(socket, Some(bytes), Time(u64::MAX)).map(drop)
        });
    }
}
