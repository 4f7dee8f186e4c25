//! Dialogues over TCP: one thread per endpoint transmits the messages of a state machine that both endpoints share.
//!
//! The client opens the connections, the server accepts them. The bytes on the wire are zeros; the contents of the
//! messages are passed in queues of this process.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration as Wait;

use cwndlab_traffic::dialogue::{Action, Dialogue, End, Message, MessageQueue};
use cwndlab_units::{Bytes, Time};

use super::connection::{lock, read, Endpoint, ACCEPT_INTERVAL, STOP_CHECK};
use crate::addresses::Side;

/// Both endpoints of a dialogue.
#[derive(Debug)]
pub struct DialogueEndpoints<'a> {
    pub(crate) endpoint: Endpoint<'a>,
    client: End,
    nagle: bool,
    shared: Mutex<Shared>,
}

/// The state that both endpoints share.
#[derive(Debug)]
struct Shared {
    dialogue: Box<dyn Dialogue>,
    to_client: MessageQueue,
    to_server: MessageQueue,
}

/// One endpoint's state of a connection.
#[derive(Debug)]
struct Connection {
    socket: Arc<TcpStream>,
    /// Bytes read.
    received: Bytes,
}

/// The side of the path on which an endpoint runs.
pub(crate) fn side_of(end: End) -> Side {
    match end {
        End::Sender => Side::Senders,
        End::Receiver => Side::Receivers,
    }
}

fn other(end: End) -> End {
    match end {
        End::Sender => End::Receiver,
        End::Receiver => End::Sender,
    }
}

impl<'a> DialogueEndpoints<'a> {
    pub(crate) fn new(endpoint: Endpoint<'a>, dialogue: Box<dyn Dialogue>) -> Self {
        let (client, nagle) = (dialogue.opener(), dialogue.nagle());
        let (to_client, to_server) = (MessageQueue::default(), MessageQueue::default());
        Self { endpoint, client, nagle, shared: Mutex::new(Shared { dialogue, to_client, to_server }) }
    }

    /// Sets the options of a socket and makes it this endpoint's connection.
    fn set_up_connection(&self, end: End, socket: TcpStream) -> std::io::Result<Connection> {
        socket.set_nodelay(!self.nagle)?;
        socket.set_read_timeout(Some(STOP_CHECK))?;
        socket.set_write_timeout(Some(STOP_CHECK))?;
        let socket = if end == End::Sender { self.endpoint.state.open(socket) } else { Arc::new(socket) };
        Ok(Connection { socket, received: Bytes::ZERO })
    }

    fn close(&self, end: End, connection: &Connection) {
        if end == End::Sender {
            self.endpoint.state.close(&connection.socket);
        }
    }

    /// Replaces the last connection by a new one; `None` if the run ends before the handshake.
    fn connect(&self, last: Option<&Connection>) -> std::io::Result<Option<Connection>> {
        if let Some(last) = last {
            self.close(self.client, last);
        }
        {
            let mut shared = lock(&self.shared);
            shared.to_client.clear();
            shared.to_server.clear();
        }
        let socket = self.endpoint.connect(side_of(self.client))?;
        socket.map(|socket| self.set_up_connection(self.client, socket)).transpose()
    }

    /// Sends a message to the other endpoint.
    fn send(&self, end: End, connection: &Connection, bytes: Bytes, message: Message) -> std::io::Result<()> {
        {
            let mut shared = lock(&self.shared);
            let queue = if end == self.client { &mut shared.to_server } else { &mut shared.to_client };
            queue.write(bytes, message);
        }
        self.endpoint.send(&connection.socket, Some(bytes.0), Time::MAX).map(drop)
    }

    /// Reads the data that have arrived, and passes each complete message to the dialogue.
    fn receive(&self, end: End, connection: &mut Connection, actions: &mut Vec<Action>) -> std::io::Result<()> {
        let bytes = read(&connection.socket, u64::MAX)?;
        if bytes == 0 {
            return Ok(()); // a timeout; the queue may already belong to another connection
        }
        connection.received += Bytes(bytes);
        if end == End::Receiver {
            self.endpoint.state.delivered.fetch_add(bytes, Ordering::Relaxed);
        }
        let mut shared = lock(&self.shared);
        let Shared { dialogue, to_client, to_server } = &mut *shared;
        let queue = if end == self.client { to_client } else { to_server };
        queue.on_delivered(connection.received);
        while let Some(message) = queue.read() {
            dialogue.on_message(message, self.endpoint.run.now(), actions);
        }
        Ok(())
    }

    /// Runs the client, which has the timer, until the dialogue is finished or the run is over.
    pub(crate) fn run_client(&self) -> std::io::Result<()> {
        let run = self.endpoint.run;
        let (mut connection, mut actions, mut due) = (None::<Connection>, Vec::new(), Time::ZERO);
        'run: while !run.is_over() {
            match &mut connection {
                Some(connection) if run.now() < due => {
                    let rest = Wait::from_nanos(due.0.saturating_sub(run.now().0).max(1_000));
                    connection.socket.set_read_timeout(Some(rest.min(STOP_CHECK)))?;
                    self.receive(self.client, connection, &mut actions)?;
                }
                _ => lock(&self.shared).dialogue.on_timer(run.now(), &mut actions),
            }
            for action in actions.drain(..) {
                match action {
                    Action::Connect => connection = self.connect(connection.as_ref())?,
                    Action::Record(since, size) => self.endpoint.record_transfer(since, size),
                    Action::Finish => {
                        self.endpoint.state.ended.store(run.now().0, Ordering::Relaxed);
                        break 'run;
                    }
                    Action::Send(bytes, message) => match &connection {
                        Some(connection) => self.send(self.client, connection, bytes, message)?,
                        None => break 'run, // the run ended before the handshake
                    },
                }
            }
            due = lock(&self.shared).dialogue.due();
        }
        if let Some(connection) = &connection {
            self.close(self.client, connection);
        }
        Ok(())
    }

    /// Accepts one connection after another until the end of the run, and responds to the client's messages.
    pub(crate) fn run_server(&self, listener: &TcpListener) {
        while !self.endpoint.run.is_over() {
            let Ok((socket, _)) = listener.accept() else {
                std::thread::sleep(ACCEPT_INTERVAL);
                continue;
            };
            // An error ends the connection; the client reports it.
            let _ = self.serve(socket);
        }
    }

    fn serve(&self, socket: TcpStream) -> std::io::Result<()> {
        let end = other(self.client);
        socket.set_nonblocking(false)?;
        let mut connection = self.set_up_connection(end, socket)?;
        let (mut actions, mut result) = (Vec::new(), Ok(()));
        while !self.endpoint.run.is_over() && result.is_ok() {
            result = self.receive(end, &mut connection, &mut actions);
            for action in actions.drain(..) {
                match action {
                    Action::Send(bytes, message) => result = self.send(end, &connection, bytes, message),
                    Action::Record(since, size) => self.endpoint.record_transfer(since, size),
                    Action::Connect | Action::Finish => {} // actions of the client
                }
            }
        }
        self.close(end, &connection);
        result
    }
}
