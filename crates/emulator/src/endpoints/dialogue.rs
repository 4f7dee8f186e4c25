//! Dialogues over TCP: one thread per endpoint transmits the messages of a state machine that both endpoints share.
//!
//! The client opens the connections, the server accepts them. The bytes on the wire are zeros; the contents of the
//! messages are passed in queues of this process. Messages that the send buffer does not take wait at their endpoint, so
//! that neither the timer of the application nor its reading waits for the network, as in the simulator.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use cwndlab_traffic::dialogue::{Action, Dialogue, End, Message, MessageQueue};
use cwndlab_units::{Bytes, Duration, Time};

use super::connection::{read, Endpoint, ACCEPT_INTERVAL};
use super::writer::Writer;
use crate::addresses::Side;
use crate::inbox::Inbox;
use crate::locking::lock;

/// Both endpoints of a dialogue.
#[derive(Debug)]
pub struct DialogueEndpoints<'a> {
    pub(crate) endpoint: Endpoint<'a>,
    client: End,
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
    writer: Writer,
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

impl<'a> DialogueEndpoints<'a> {
    pub(crate) fn new(endpoint: Endpoint<'a>, dialogue: Box<dyn Dialogue>) -> Self {
        let client = dialogue.opener();
        let to_client = MessageQueue::default();
        let to_server = MessageQueue::default();
        Self { endpoint, client, shared: Mutex::new(Shared { dialogue, to_client, to_server }) }
    }

    /// Sets the options of a socket and makes it this endpoint's connection.
    fn set_up_connection(&self, end: End, socket: TcpStream) -> std::io::Result<Connection> {
        socket.set_nodelay(!lock(&self.shared).dialogue.nagle(end))?;
        socket.set_nonblocking(true)?;
        let socket = if end == End::Sender { self.endpoint.state.open(socket) } else { Arc::new(socket) };
        Ok(Connection { writer: Writer::new(&self.endpoint, socket), received: Bytes::ZERO })
    }

    fn close(&self, end: End, connection: &Connection) {
        if end == End::Sender {
            self.endpoint.state.close(connection.writer.socket());
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

    /// Records what the application says of a message.
    fn record(&self, action: Action) {
        match action {
            Action::Offer(at, size) => self.endpoint.offer_message(at, size),
            Action::Deliver(since) => self.endpoint.deliver_message(since),
            Action::Record(since, size) => self.endpoint.record_transfer(since, size),
            Action::Connect | Action::Send(..) | Action::Finish | Action::Queue(..) | Action::Withdraw(_) => {}
        }
    }

    /// Appends a message to the other endpoint.
    fn append(&self, end: End, connection: &mut Connection, bytes: Bytes, message: Message) {
        {
            let mut shared = lock(&self.shared);
            let queue = if end == self.client { &mut shared.to_server } else { &mut shared.to_client };
            queue.write(bytes, message);
        }
        connection.writer.append(bytes);
    }

    /// Writes what the socket takes, then reads the data that have arrived and passes each complete message to the
    /// dialogue. Waits for either for `rest` at most.
    fn exchange(
        &self,
        end: End,
        connection: &mut Connection,
        rest: Duration,
        actions: &mut Vec<Action>,
    ) -> std::io::Result<()> {
        connection.writer.write(self.endpoint.run)?;
        let inbox = self.endpoint.inboxes.of(self.endpoint.flow).filter(|_| end != self.client);
        connection.writer.wait(rest, true, inbox.map(AsRawFd::as_raw_fd));
        for (since, size) in inbox.map(Inbox::take).into_iter().flatten() {
            lock(&self.shared).dialogue.on_forwarded(since, size, self.endpoint.run.now(), actions);
        }
        let bytes = read(connection.writer.socket(), u64::MAX)?;
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

    /// Runs the client, which has the timer, until the run is over: messages that were written before the end of the
    /// dialogue still arrive and are answered.
    pub(crate) fn run_client(&self) -> std::io::Result<()> {
        let run = self.endpoint.run;
        let mut connection = None::<Connection>;
        let mut actions = Vec::new();
        let mut due = Time::ZERO;
        while !run.is_over() {
            match &mut connection {
                Some(connection) if run.now() < due => {
                    self.exchange(self.client, connection, due.saturating_since(run.now()), &mut actions)?;
                }
                _ => lock(&self.shared).dialogue.on_timer(run.now(), &mut actions),
            }
            for action in actions.drain(..) {
                match action {
                    Action::Connect => {
                        connection = self.connect(connection.as_ref())?;
                        if connection.is_none() {
                            return Ok(()); // the run ended before the handshake
                        }
                    }
                    Action::Offer(..) | Action::Deliver(_) | Action::Record(..) => self.record(action),
                    Action::Queue(..) | Action::Withdraw(_) => {} // `check_records` refuses such workloads
                    Action::Finish => self.endpoint.state.end(run.now()),
                    Action::Send(bytes, message) => {
                        if let Some(connection) = &mut connection {
                            self.append(self.client, connection, bytes, message);
                        }
                    }
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
        let end = self.client.other();
        let mut connection = self.set_up_connection(end, socket)?;
        let mut actions = Vec::new();
        let mut result = Ok(());
        while !self.endpoint.run.is_over() && result.is_ok() {
            let due = lock(&self.shared).dialogue.responder_due();
            let now = self.endpoint.run.now();
            if due <= now {
                lock(&self.shared).dialogue.on_responder_timer(now, &mut actions);
            } else {
                result = self.exchange(end, &mut connection, due.saturating_since(now), &mut actions);
            }
            for action in actions.drain(..) {
                match action {
                    Action::Send(bytes, message) => self.append(end, &mut connection, bytes, message),
                    Action::Offer(..) | Action::Deliver(_) | Action::Record(..) => self.record(action),
                    Action::Finish => self.endpoint.state.end(self.endpoint.run.now()),
                    // The client's; and those of workloads that `check_records` refuses.
                    Action::Connect | Action::Queue(..) | Action::Withdraw(_) => {}
                }
            }
        }
        self.close(end, &connection);
        result
    }
}
