//! Messages of a dialogue. The bytes on the wire are zeros; the other endpoint finds in a queue of this process what the
//! bytes of each message stand for.

use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::connection::{lock, read, Endpoint, ACCEPT_INTERVAL, STOP_CHECK};

/// Messages of one direction that are under way, with their sizes in bytes.
#[derive(Debug)]
pub(crate) struct MessageQueue<T>(Mutex<VecDeque<(u64, T)>>);

impl<T> Default for MessageQueue<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> MessageQueue<T> {
    /// Adds a message; called before its first byte is written.
    pub(crate) fn push(&self, bytes: u64, message: T) {
        lock(&self.0).push_back((bytes, message));
    }

    /// Removes the next message if `received` bytes complete it, and subtracts its size from them.
    pub(crate) fn pop(&self, received: &mut u64) -> Option<T> {
        let mut queue = lock(&self.0);
        queue.front().filter(|(size, _)| size <= received)?;
        let (size, message) = queue.pop_front()?;
        *received -= size;
        Some(message)
    }
}

/// Accepts one connection after another until the end of the run, and passes each complete message of `requests` to
/// `reply`. `sends_data` says that the flow's data travels from this endpoint to the other.
pub(crate) fn serve<T>(
    endpoint: &Endpoint<'_>,
    listener: &TcpListener,
    requests: &MessageQueue<T>,
    sends_data: bool,
    reply: impl Fn(&TcpStream, T) -> std::io::Result<()>,
) {
    while !endpoint.run.is_over() {
        let Ok((socket, _)) = listener.accept() else {
            std::thread::sleep(ACCEPT_INTERVAL);
            continue;
        };
        // A broken connection is over; the other endpoint reports the error.
        let _ = serve_connection(endpoint, socket, requests, sends_data, &reply);
    }
}

fn serve_connection<T>(
    endpoint: &Endpoint<'_>,
    socket: TcpStream,
    requests: &MessageQueue<T>,
    sends_data: bool,
    reply: impl Fn(&TcpStream, T) -> std::io::Result<()>,
) -> std::io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(STOP_CHECK))?;
    socket.set_write_timeout(Some(STOP_CHECK))?;
    let socket = if sends_data { endpoint.state.open(socket) } else { Arc::new(socket) };
    let (mut received, mut result) = (0, Ok(()));
    while !endpoint.run.is_over() && result.is_ok() {
        let Ok(bytes) = read(&socket, u64::MAX) else { break };
        received += bytes;
        if !sends_data {
            endpoint.state.delivered.fetch_add(bytes, Ordering::Relaxed);
        }
        while let Some(message) = requests.pop(&mut received) {
            result = reply(&socket, message);
        }
    }
    if sends_data {
        endpoint.state.close(&socket);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: messages of 10 and 5 bytes; 12 bytes complete the first and leave 2, 3 more complete the second.
    #[test]
    fn a_message_is_complete_with_its_last_byte() {
        let queue = MessageQueue::default();
        queue.push(10, "first");
        queue.push(5, "second");
        let mut received = 9;
        assert_eq!(queue.pop(&mut received), None);
        received += 3;
        assert_eq!((queue.pop(&mut received), received), (Some("first"), 2));
        assert_eq!(queue.pop(&mut received), None);
        received += 3;
        assert_eq!((queue.pop(&mut received), received), (Some("second"), 0));
    }
}
