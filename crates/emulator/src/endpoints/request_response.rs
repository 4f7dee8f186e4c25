//! Requests and responses over TCP: a client on the receivers' side, a server on the senders' side. Sizes and times are
//! drawn as in the simulator.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;

use cwndlab_scenario::plan::Workload;
use cwndlab_traffic::sampling::{sample_pause, sample_size, OTHER_STREAM, SIZE_STREAM, TIME_STREAM};
use cwndlab_units::Time;

use super::connection::{read, Endpoint, STOP_CHECK};
use super::messages::{serve, MessageQueue};
use crate::addresses::Side;

/// The dialogue of a flow.
#[derive(Debug)]
pub struct RequestResponse<'a> {
    endpoint: Endpoint<'a>,
    /// Requests under way, each with the size of its response.
    requests: MessageQueue<u64>,
}

impl<'a> RequestResponse<'a> {
    pub(crate) fn new(endpoint: Endpoint<'a>) -> Self {
        Self { endpoint, requests: MessageQueue::default() }
    }

    fn connect(&self) -> std::io::Result<Option<TcpStream>> {
        let socket = self.endpoint.connect(Side::Receivers)?;
        if let Some(socket) = &socket {
            socket.set_read_timeout(Some(STOP_CHECK))?;
        }
        Ok(socket)
    }

    /// Runs the client: sends one request after another and reads the responses.
    pub(crate) fn run_client(&self) -> std::io::Result<()> {
        let endpoint = &self.endpoint;
        let Workload::Exchanges { request, response, think, count, new_connection } = &endpoint.plan.workload else {
            return Ok(());
        };
        let [mut sizes, mut times, mut others] =
            [SIZE_STREAM, TIME_STREAM, OTHER_STREAM].map(|purpose| endpoint.stream(purpose));
        let mut connection = None;
        while endpoint.is_active() {
            let start = endpoint.run.now();
            if connection.is_none() || *new_connection {
                drop(connection.take());
                connection = self.connect()?;
            }
            let Some(socket) = &connection else { return Ok(()) };
            let (size, request_size) = (sample_size(response, &mut sizes).0, sample_size(request, &mut others).0);
            self.requests.push(request_size, size);
            endpoint.send(socket, Some(request_size), Time(u64::MAX))?;
            if !self.read_response(socket, size)? {
                return Ok(());
            }
            let done = endpoint.record_transfer(start, size);
            if count.is_some_and(|count| done >= count) {
                return Ok(());
            }
            let next = endpoint.run.now() + sample_pause(think, &mut times);
            endpoint.run.sleep_until(next.min(endpoint.stop_at()));
        }
        Ok(())
    }

    /// Reads `size` bytes; returns whether all came before the end of the run.
    fn read_response(&self, socket: &TcpStream, size: u64) -> std::io::Result<bool> {
        let mut left = size;
        while left > 0 && !self.endpoint.run.is_over() {
            let bytes = read(socket, left)?;
            left -= bytes;
            self.endpoint.state.delivered.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(left == 0)
    }

    /// Runs the server: sends a response of the size that each request carries.
    pub(crate) fn run_server(&self, listener: &TcpListener) {
        serve(&self.endpoint, listener, &self.requests, true, |socket, size| {
            self.endpoint.send(socket, Some(size), Time(u64::MAX)).map(drop)
        });
    }
}
