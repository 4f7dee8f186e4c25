//! smoltcp as a hosted stack: docs/host.md. Its datagrams are IPv4 packets with TCP segments; its time is an argument, in
//! microseconds. It does not show its window: bytes in flight, RTT and retransmissions are those of its segments.
//!
//! Controllers: cubic (default), reno, none. Options: `window=BYTES`, the buffers' size; `ackdelay=MS`, 0 for none.

use std::collections::VecDeque;
use std::time::Duration;

use cwndlab_stack::log::{self, Capture};
use cwndlab_stack::segments::Segments;
use cwndlab_stack::{serve, Answer, Stack, Start};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

const SENDER: IpAddress = IpAddress::v4(192, 0, 2, 1);
const RECEIVER: IpAddress = IpAddress::v4(192, 0, 2, 2);
const PORT: u16 = 1;
/// Bytes of each buffer by default, larger than any path of ours needs.
const BUFFER: usize = 1 << 20;

/// The link: packets that arrived, and packets that leave.
struct Link {
    arrived: VecDeque<Vec<u8>>,
    leaving: Vec<Vec<u8>>,
    mtu: usize,
}

struct Arrived(Vec<u8>);

struct Leaving<'a>(&'a mut Vec<Vec<u8>>);

impl phy::RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl phy::TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push(packet);
        result
    }
}

impl phy::Device for Link {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        self.arrived.pop_front().map(|packet| (Arrived(packet), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.max_transmission_unit = self.mtu;
        capabilities.medium = Medium::Ip;
        capabilities
    }
}

struct Smoltcp {
    is_sender: bool,
    controller: String,
    link: Link,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    segments: Segments,
    capture: Option<Capture>,
    is_open: bool,
    to_write: u64,
    is_finishing: bool,
    is_done: bool,
    delivered: u64,
}

fn instant(now: Duration) -> Instant {
    Instant::from_micros(now.as_micros() as i64)
}

/// The socket with the congestion control and the options.
fn socket(start: &Start, controller: &str) -> Result<Socket<'static>, String> {
    let (mut buffer, mut delay) = (BUFFER, None);
    for (key, value) in start.pairs()? {
        let number: u64 = value.parse().map_err(|_| format!("{key}: '{value}' is not a number"))?;
        match key {
            "window" => buffer = number as usize,
            "ackdelay" => delay = Some(number),
            _ => return Err(format!("no option is called '{key}': window, ackdelay")),
        }
    }
    let mut socket = Socket::new(SocketBuffer::new(vec![0; buffer]), SocketBuffer::new(vec![0; buffer]));
    if let Some(delay) = delay {
        socket.set_ack_delay((delay > 0).then(|| smoltcp::time::Duration::from_millis(delay)));
    }
    socket.set_congestion_control(match controller {
        "cubic" => CongestionControl::Cubic,
        "reno" => CongestionControl::Reno,
        "none" => CongestionControl::None,
        _ => return Err(format!("no congestion control is called '{controller}': cubic, reno, none")),
    });
    Ok(socket)
}

impl Smoltcp {
    /// The application writes and reads what it can.
    fn exchange(&mut self, now: Duration, answer: &mut Answer) {
        const DATA: [u8; 1 << 14] = [0; 1 << 14];
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        if self.is_sender && !self.is_open && (self.to_write > 0 || self.is_finishing) {
            self.is_open = true;
            if let Err(error) = socket.connect(self.interface.context(), (RECEIVER, PORT), PORT) {
                answer.failure(&error.to_string());
            }
        }
        while self.to_write > 0 && socket.can_send() {
            let size = self.to_write.min(DATA.len() as u64) as usize;
            let written = socket.send_slice(&DATA[..size]).unwrap_or(0);
            if self.to_write != u64::MAX {
                self.to_write -= written as u64;
            }
        }
        if self.is_sender && self.is_open && self.is_finishing && self.to_write == 0 && socket.may_send() {
            socket.close();
        }
        while socket.can_recv() {
            self.delivered += socket.recv(|data| (data.len(), data.len() as u64)).unwrap_or(0);
        }
        if !self.is_sender && socket.state() == State::CloseWait {
            socket.close();
        }
        let is_closed = matches!(socket.state(), State::FinWait2 | State::TimeWait | State::Closed);
        self.is_done |= self.is_sender && self.is_open && self.is_finishing && self.to_write == 0 && is_closed;
        self.interface.poll(instant(now), &mut self.link, &mut self.sockets);
    }
}

impl Stack for Smoltcp {
    fn start(start: &Start) -> Result<Self, String> {
        let controller = if start.controller.is_empty() { "cubic" } else { &start.controller };
        let mut link = Link { arrived: VecDeque::new(), leaving: Vec::new(), mtu: start.max_datagram.into() };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = start.seed;
        let mut interface = Interface::new(config, &mut link, Instant::ZERO);
        let own = if start.is_sender { SENDER } else { RECEIVER };
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(own, 24)).expect("there is room for one");
        });
        let mut socket = socket(start, controller)?;
        if !start.is_sender {
            socket.listen(PORT).map_err(|error| error.to_string())?;
        }
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Ok(Self {
            is_sender: start.is_sender,
            controller: controller.to_owned(),
            link,
            interface,
            sockets,
            handle,
            segments: Segments::default(),
            capture: log::create(start, "smoltcp", "pcap").map(Capture::new),
            is_open: false,
            to_write: 0,
            is_finishing: false,
            is_done: false,
            delivered: 0,
        })
    }

    fn names(&self) -> (String, String) {
        ("smoltcp 0.14.0".to_owned(), self.controller.clone())
    }

    /// Everything that is due happens in the answer.
    fn on_timer(&mut self, _now: Duration) {}

    /// smoltcp does not use ECN.
    fn on_datagram(&mut self, now: Duration, _ecn: u8, payload: &[u8], answer: &mut Answer) {
        if let Some(capture) = &mut self.capture {
            capture.packet(now, payload);
        }
        self.segments.received(now, payload, answer);
        self.link.arrived.push_back(payload.to_vec());
        self.interface.poll(instant(now), &mut self.link, &mut self.sockets);
    }

    fn write(&mut self, bytes: u64) {
        self.to_write = self.to_write.saturating_add(bytes);
    }

    fn pause(&mut self) {
        if self.to_write == u64::MAX {
            self.to_write = 0;
        }
    }

    fn finish(&mut self) {
        self.is_finishing = true;
        self.pause();
    }

    fn answer(&mut self, now: Duration, answer: &mut Answer) {
        self.exchange(now, answer);
        for packet in self.link.leaving.drain(..) {
            self.segments.sent(now, &packet);
            if let Some(capture) = &mut self.capture {
                capture.packet(now, &packet);
            }
            answer.send(0, &packet);
        }
        if let Some(at) = self.interface.poll_at(instant(now), &self.sockets) {
            answer.next_timer(Duration::from_micros(at.total_micros() as u64).max(now));
        }
        answer.delivered(self.delivered);
        self.segments.report(answer);
        if self.is_done {
            answer.done();
        }
    }
}

fn main() -> std::io::Result<()> {
    serve::<Smoltcp>()
}
