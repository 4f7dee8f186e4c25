//! Dialogues over TCP: a thread at each end carries the messages of one state machine, which plays both ends.
//!
//! The bytes on the wire are zeros; what the bytes of a message stand for is in a queue of this process.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration as Wait;

use cwndlab_traffic::dialogue::{Action, Dialogue, End, Message, MessageQueue};
use cwndlab_units::{Bytes, Time};

use super::connection::{lock, read, Endpoint, ACCEPT_INTERVAL, STOP_CHECK};
use crate::addresses::Side;

/// Both ends of a dialogue.
#[derive(Debug)]
pub struct DialogueEnds<'a> {
    pub(crate) endpoint: Endpoint<'a>,
    opener: End,
    nagle: bool,
    shared: Mutex<Shared>,
}

/// What both ends share.
#[derive(Debug)]
struct Shared {
    dialogue: Box<dyn Dialogue>,
    to_opener: MessageQueue,
    to_acceptor: MessageQueue,
}

/// A connection as one end has it.
#[derive(Debug)]
struct Connection {
    socket: Arc<TcpStream>,
    /// Bytes read.
    received: Bytes,
}

/// The side of an end of a flow.
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

impl<'a> DialogueEnds<'a> {
    pub(crate) fn new(endpoint: Endpoint<'a>, dialogue: Box<dyn Dialogue>) -> Self {
        let (opener, nagle) = (dialogue.opener(), dialogue.nagle());
        let (to_opener, to_acceptor) = (MessageQueue::default(), MessageQueue::default());
        Self { endpoint, opener, nagle, shared: Mutex::new(Shared { dialogue, to_opener, to_acceptor }) }
    }

    /// Makes a socket this end's connection.
    fn take(&self, end: End, socket: TcpStream) -> std::io::Result<Connection> {
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

    /// Opens another connection in place of the last one; `None` where the run ends before.
    fn connect(&self, last: Option<&Connection>) -> std::io::Result<Option<Connection>> {
        if let Some(last) = last {
            self.close(self.opener, last);
        }
        {
            let mut shared = lock(&self.shared);
            shared.to_opener.clear();
            shared.to_acceptor.clear();
        }
        let socket = self.endpoint.connect(side_of(self.opener))?;
        socket.map(|socket| self.take(self.opener, socket)).transpose()
    }

    /// Sends a message to the other end.
    fn send(&self, end: End, connection: &Connection, bytes: Bytes, message: Message) -> std::io::Result<()> {
        {
            let mut shared = lock(&self.shared);
            let queue = if end == self.opener { &mut shared.to_acceptor } else { &mut shared.to_opener };
            queue.write(bytes, message);
        }
        self.endpoint.send(&connection.socket, Some(bytes.0), Time::MAX).map(drop)
    }

    /// Reads what has arrived, and passes each message that is complete to the dialogue.
    fn receive(&self, end: End, connection: &mut Connection, actions: &mut Vec<Action>) -> std::io::Result<()> {
        let bytes = read(&connection.socket, u64::MAX)?;
        if bytes == 0 {
            return Ok(()); // a timeout; the queue may already be that of another connection
        }
        connection.received += Bytes(bytes);
        if end == End::Receiver {
            self.endpoint.state.delivered.fetch_add(bytes, Ordering::Relaxed);
        }
        let mut shared = lock(&self.shared);
        let Shared { dialogue, to_opener, to_acceptor } = &mut *shared;
        let queue = if end == self.opener { to_opener } else { to_acceptor };
        queue.on_delivered(connection.received);
        while let Some(message) = queue.read() {
            dialogue.on_message(message, self.endpoint.run.now(), actions);
        }
        Ok(())
    }

    /// Runs the end that opens the connection, which has the timer, until the dialogue is finished or the run over.
    pub(crate) fn run_opener(&self) -> std::io::Result<()> {
        let run = self.endpoint.run;
        let (mut connection, mut actions, mut due) = (None::<Connection>, Vec::new(), Time::ZERO);
        'run: while !run.is_over() {
            match &mut connection {
                Some(connection) if run.now() < due => {
                    let rest = Wait::from_nanos(due.0.saturating_sub(run.now().0).max(1_000));
                    connection.socket.set_read_timeout(Some(rest.min(STOP_CHECK)))?;
                    self.receive(self.opener, connection, &mut actions)?;
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
                        Some(connection) => self.send(self.opener, connection, bytes, message)?,
                        None => break 'run, // the run ended before the handshake
                    },
                }
            }
            due = lock(&self.shared).dialogue.due();
        }
        if let Some(connection) = &connection {
            self.close(self.opener, connection);
        }
        Ok(())
    }

    /// Accepts one connection after another until the end of the run, and answers.
    pub(crate) fn run_acceptor(&self, listener: &TcpListener) {
        while !self.endpoint.run.is_over() {
            let Ok((socket, _)) = listener.accept() else {
                std::thread::sleep(ACCEPT_INTERVAL);
                continue;
            };
            // A broken connection is over; the opener reports the error.
            let _ = self.serve(socket);
        }
    }

    fn serve(&self, socket: TcpStream) -> std::io::Result<()> {
        let end = other(self.opener);
        socket.set_nonblocking(false)?;
        let mut connection = self.take(end, socket)?;
        let (mut actions, mut result) = (Vec::new(), Ok(()));
        while !self.endpoint.run.is_over() && result.is_ok() {
            result = self.receive(end, &mut connection, &mut actions);
            for action in actions.drain(..) {
                match action {
                    Action::Send(bytes, message) => result = self.send(end, &connection, bytes, message),
                    Action::Record(since, size) => self.endpoint.record_transfer(since, size),
                    Action::Connect | Action::Finish => {} // the opener's
                }
            }
        }
        self.close(end, &connection);
        result
    }
}
