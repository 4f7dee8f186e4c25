//! Dialogues over TCP: one thread per endpoint transmits the messages of a state machine that both endpoints share.
//!
//! The client opens the connections, the server accepts them. The bytes on the wire are zeros; the contents of the
//! messages are passed in queues of this process. Messages that the send buffer does not take wait at their endpoint, and
//! a thread of its own waits for each handshake, so that neither the timer of the application nor its reading waits for
//! the network, as in the simulator. The queues belong to the client's newest connection, which its port names: what
//! still arrives over an older one is discarded.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::Scope;

use cwndlab_linux::poll::wait_readable;
use cwndlab_traffic::dialogue::{Action, Dialogue, End, Message, MessageQueue};
use cwndlab_units::{Bytes, Duration, Time};

use super::connection::{read, Endpoint, ACCEPT_INTERVAL, STOP_CHECK};
use super::writer::{Writer, NO_OTHERS};
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
    to_client: Direction,
    to_server: Direction,
    /// The client has opened a connection.
    is_opened: bool,
    /// The client's port of the newest connection; `None` before the end of its handshake.
    port: Option<u16>,
}

/// One direction of the newest connection.
#[derive(Debug, Default)]
struct Direction {
    messages: MessageQueue,
    /// Sizes of the messages that the sending endpoint has not written.
    unwritten: Vec<Bytes>,
}

impl Shared {
    /// Begins a new connection: what was written to the last one is lost.
    fn begin_connection(&mut self) {
        for direction in [&mut self.to_client, &mut self.to_server] {
            direction.messages.clear();
            direction.unwritten.clear();
        }
        (self.is_opened, self.port) = (true, None);
    }

    /// The direction to or from the client.
    fn direction(&mut self, to_client: bool) -> &mut Direction {
        if to_client {
            &mut self.to_client
        } else {
            &mut self.to_server
        }
    }
}

/// One endpoint's state of a connection.
#[derive(Debug)]
struct Connection {
    writer: Writer,
    /// Bytes read.
    received: Bytes,
    /// The client's port; `None` before the end of the handshake.
    port: Option<u16>,
}

impl Connection {
    fn new(writer: Writer, port: Option<u16>) -> Self {
        Self { writer, received: Bytes::ZERO, port }
    }
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
        let (to_client, to_server) = (Direction::default(), Direction::default());
        let shared = Shared { dialogue, to_client, to_server, is_opened: false, port: None };
        Self { endpoint, client, shared: Mutex::new(shared) }
    }

    fn close(&self, end: End, connection: &Connection) {
        if let Some(socket) = connection.writer.socket().filter(|_| end == End::Sender) {
            self.endpoint.state.close(socket);
        }
    }

    /// Replaces the client's last connection by a new one.
    fn connect<'scope>(
        &self,
        last: Option<&Connection>,
        scope: &'scope Scope<'scope, '_>,
    ) -> std::io::Result<Connection>
    where
        'a: 'scope,
    {
        if let Some(last) = last {
            self.close(self.client, last);
        }
        let nodelay = {
            let mut shared = lock(&self.shared);
            shared.begin_connection();
            !shared.dialogue.nagle(self.client)
        };
        let handshake = self.endpoint.begin_handshake(side_of(self.client), scope)?;
        Ok(Connection::new(Writer::opening(&self.endpoint, handshake, nodelay), None))
    }

    /// Makes the next socket that waits at the listener the server's connection, unless the server has the newest one
    /// already: the client gave the other one up.
    fn accept(&self, listener: &TcpListener, connection: &mut Option<Connection>) {
        let (socket, client) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(_) => return std::thread::sleep(ACCEPT_INTERVAL),
        };
        let has_newest = |one: &Connection| lock(&self.shared).port == one.port;
        if connection.as_ref().is_some_and(has_newest) {
            return;
        }
        let end = self.client.other();
        if let Some(last) = connection.take() {
            self.close(end, &last);
        }
        *connection = self.set_up_connection(end, socket, client.port()).ok();
    }

    /// Sets the options of an accepted socket and makes it a connection.
    fn set_up_connection(&self, end: End, socket: TcpStream, port: u16) -> std::io::Result<Connection> {
        socket.set_nodelay(!lock(&self.shared).dialogue.nagle(end))?;
        socket.set_nonblocking(true)?;
        let socket = if end == End::Sender { self.endpoint.state.open(socket) } else { Arc::new(socket) };
        Ok(Connection::new(Writer::new(&self.endpoint, socket), Some(port)))
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
    fn append(&self, end: End, bytes: Bytes, message: Message) {
        let mut shared = lock(&self.shared);
        let direction = shared.direction(end != self.client);
        direction.messages.write(bytes, message);
        direction.unwritten.push(bytes);
    }

    /// Writes what the socket takes of the messages to the other endpoint.
    fn write(&self, end: End, connection: &mut Connection) -> std::io::Result<()> {
        connection.writer.connect(&self.endpoint)?;
        let mut shared = lock(&self.shared);
        if connection.port.is_none() {
            let Some(socket) = connection.writer.socket() else { return Ok(()) };
            connection.port = Some(socket.local_addr()?.port());
            shared.port = connection.port;
        }
        if shared.port == connection.port {
            let unwritten = &mut shared.direction(end != self.client).unwritten;
            unwritten.drain(..).for_each(|bytes| connection.writer.append(bytes));
        }
        drop(shared);
        connection.writer.write(&self.endpoint)
    }

    /// Reads the data that have arrived and passes each complete message of the newest connection to the dialogue.
    fn read(&self, end: End, connection: &mut Connection, actions: &mut Vec<Action>) -> std::io::Result<()> {
        let Some(socket) = connection.writer.socket() else { return Ok(()) };
        let bytes = read(socket, u64::MAX)?;
        if bytes == 0 {
            return Ok(()); // a timeout
        }
        let mut shared = lock(&self.shared);
        if shared.port != connection.port {
            return Ok(());
        }
        connection.received += Bytes(bytes);
        if end == End::Receiver {
            self.endpoint.state.delivered.fetch_add(bytes, Ordering::Relaxed);
        }
        shared.direction(end == self.client).messages.on_delivered(connection.received);
        while let Some(message) = shared.direction(end == self.client).messages.read() {
            shared.dialogue.on_message(message, self.endpoint.run.now(), actions);
        }
        Ok(())
    }

    /// Writes what the socket takes, then reads the data that have arrived. Waits for either, or for `others`, for `rest`
    /// at most.
    fn exchange(
        &self,
        end: End,
        connection: &mut Connection,
        rest: Duration,
        others: [RawFd; 2],
        actions: &mut Vec<Action>,
    ) -> std::io::Result<()> {
        self.write(end, connection)?;
        connection.writer.wait(rest, true, others);
        self.read(end, connection, actions)
    }

    /// Runs the client, which has the timer, until the run is over: messages that were written before the end of the
    /// dialogue still arrive and are answered.
    pub(crate) fn run_client(&self) -> std::io::Result<()> {
        std::thread::scope(|scope| self.run_client_in(scope))
    }

    fn run_client_in<'scope>(&self, scope: &'scope Scope<'scope, '_>) -> std::io::Result<()>
    where
        'a: 'scope,
    {
        let run = self.endpoint.run;
        let mut connection = None::<Connection>;
        let mut actions = Vec::new();
        let mut due = Time::ZERO;
        while !run.is_over() {
            match &mut connection {
                Some(connection) if run.now() < due => {
                    let rest = due.saturating_since(run.now());
                    self.exchange(self.client, connection, rest, NO_OTHERS, &mut actions)?;
                }
                _ => lock(&self.shared).dialogue.on_timer(run.now(), &mut actions),
            }
            for action in actions.drain(..) {
                match action {
                    Action::Connect => connection = Some(self.connect(connection.as_ref(), scope)?),
                    Action::Offer(..) | Action::Deliver(_) | Action::Record(..) => self.record(action),
                    Action::Queue(..) | Action::Withdraw(_) => {} // `check_records` refuses such workloads
                    Action::Finish => self.endpoint.state.end(run.now()),
                    Action::Send(bytes, message) => self.append(self.client, bytes, message),
                }
            }
            due = lock(&self.shared).dialogue.due();
        }
        if let Some(connection) = &connection {
            self.close(self.client, connection);
        }
        Ok(())
    }

    /// Responds to the client's messages until the end of the run, over the connection that was accepted last.
    pub(crate) fn run_server(&self, listener: &TcpListener) {
        let end = self.client.other();
        let inbox = self.endpoint.inboxes.of(self.endpoint.flow);
        let others = [listener.as_raw_fd(), inbox.map_or(NO_OTHERS[0], AsRawFd::as_raw_fd)];
        let mut connection = None::<Connection>;
        let mut actions = Vec::new();
        while !self.endpoint.run.is_over() {
            self.accept(listener, &mut connection);
            let due = lock(&self.shared).dialogue.responder_due();
            let now = self.endpoint.run.now();
            if due <= now {
                lock(&self.shared).dialogue.on_responder_timer(now, &mut actions);
            } else if let Some(one) = &mut connection {
                if self.exchange(end, one, due.saturating_since(now), others, &mut actions).is_err() {
                    // An error ends the connection; the client reports it.
                    self.close(end, one);
                    connection = None;
                }
            } else {
                let rest = due.saturating_since(now).min(Duration::from_nanos(STOP_CHECK.as_nanos() as u64));
                let _ = wait_readable(others, rest);
            }
            self.take_forwarded(inbox, &mut actions);
            for action in actions.drain(..) {
                match action {
                    Action::Send(bytes, message) => self.append(end, bytes, message),
                    Action::Offer(..) | Action::Deliver(_) | Action::Record(..) => self.record(action),
                    Action::Finish => self.endpoint.state.end(self.endpoint.run.now()),
                    // The client's; and those of workloads that `check_records` refuses.
                    Action::Connect | Action::Queue(..) | Action::Withdraw(_) => {}
                }
            }
        }
        if let Some(connection) = &connection {
            self.close(end, connection);
        }
    }

    /// Passes the messages in the inbox to the dialogue. Before the first connection nobody listens.
    fn take_forwarded(&self, inbox: Option<&Inbox>, actions: &mut Vec<Action>) {
        for (since, size) in inbox.map(Inbox::take).into_iter().flatten() {
            let mut shared = lock(&self.shared);
            if shared.is_opened {
                shared.dialogue.on_forwarded(since, size, self.endpoint.run.now(), actions);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::Shutdown;
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    use cwndlab_algorithms::catalogue;
    use cwndlab_path::lifetimes::Lifetime;
    use cwndlab_scenario::Scenario;
    use cwndlab_traffic::NEVER;
    use cwndlab_units::{FlowId, Rate};
    use serde_json::json;

    use super::super::connection::{FlowState, RunClock};
    use super::*;
    use crate::inbox::Inboxes;

    /// A dialogue whose server reads deliveries, and answers nothing.
    #[derive(Debug)]
    struct Reader;

    impl Dialogue for Reader {
        fn opener(&self) -> End {
            End::Sender
        }

        fn due(&self) -> Time {
            NEVER
        }

        fn on_timer(&mut self, _: Time, _: &mut Vec<Action>) {}

        fn on_message(&mut self, message: Message, _: Time, actions: &mut Vec<Action>) {
            actions.push(Action::Deliver(message.since));
        }
    }

    /// Calls `work` with the endpoints of the dialogue on a path of any kind.
    fn with_endpoints(work: impl FnOnce(&DialogueEndpoints<'_>)) {
        let document = json!({
            "schema_version": 1, "duration": "1 s", "dumbbell": { "bottleneck": { "rate": "1 Mbps", "delay": "1 ms" } },
            "flow": [{ "algorithm": "reno", "rtt": "10 ms" }],
        });
        let scenario = Scenario::from_json(&document.to_string(), None).expect("the scenario reads");
        let (plan, _) = scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
        let (stop, state) = (AtomicBool::new(false), FlowState::default());
        let inboxes = Inboxes::new(&plan).expect("a pipe");
        let flow = FlowId::from(0);
        #[allow(clippy::disallowed_methods, reason = "an emulation runs on the wall clock")]
        let run = RunClock { start: Instant::now(), stop: &stop };
        let endpoint = Endpoint {
            run,
            flow,
            plan: &plan.flows[flow],
            seed: 1,
            lifetime: Lifetime { start: Time::ZERO, stop: NEVER },
            line_rate: Rate(1_000_000),
            algorithm: "reno",
            state: &state,
            inboxes: &inboxes,
            keeps_messages: false,
        };
        work(&DialogueEndpoints::new(endpoint, Box::new(Reader)));
    }

    /// RFC 9293, section 3.4: the bytes of a connection are its own. By hand: 100 bytes of a connection that the client gave
    /// up arrive after it has opened another one, whose message of 37 bytes they do not complete. A socket that the client
    /// gave up does not replace the newest one.
    #[test]
    fn bytes_of_an_older_connection_complete_no_message_of_the_newest() {
        with_endpoints(|dialogue| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let at = listener.local_addr().expect("bound");
            let open = || {
                let socket = TcpStream::connect(at).expect("it listens");
                let port = socket.local_addr().expect("bound").port();
                (socket, port)
            };
            let (mut connection, mut actions) = (None, Vec::new());
            let mut read = |connection: &mut Option<Connection>| {
                let one = connection.as_mut().expect("accepted");
                while dialogue.read(End::Receiver, one, &mut actions).is_ok() {}
                std::mem::take(&mut actions)
            };
            let message = |size| Message { kind: 1, size: Bytes(size), since: Time::from_nanos(size) };
            let end = |mut socket: TcpStream, bytes: &[u8]| {
                socket.write_all(bytes).expect("it has room");
                socket.shutdown(Shutdown::Write).expect("it is open");
            };
            let begin = |port: Option<u16>, bytes: u64| {
                let mut shared = lock(&dialogue.shared);
                shared.begin_connection();
                shared.port = port;
                drop(shared);
                dialogue.append(End::Sender, Bytes(bytes), message(bytes));
            };

            let (old, port) = open();
            begin(Some(port), 100);
            dialogue.accept(&listener, &mut connection);
            begin(None, 37);
            end(old, &[0; 100]);
            assert_eq!(read(&mut connection), []);
            let (new, port) = open();
            lock(&dialogue.shared).port = Some(port);
            dialogue.accept(&listener, &mut connection);
            let _given_up = open();
            dialogue.accept(&listener, &mut connection);
            end(new, &[0; 37]);
            assert_eq!(read(&mut connection), [Action::Deliver(Time::from_nanos(37))]);
            assert_eq!(dialogue.endpoint.state.delivered.load(Ordering::Relaxed), 37);
        });
    }
}
