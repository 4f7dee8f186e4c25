//! The handshake before a connection is established: SYNs, SYN-ACKs, and their repetitions.

use std::collections::VecDeque;

use cwndlab_transport::accecn::{Codepoint, SYN_FLAGS};
use cwndlab_transport::accecn_handshake::{syn_flags, Answer, HandshakeAck, ServerHandshake};
use cwndlab_transport::accecn_option::SYN_ACK_OPTION_SIZE;
use cwndlab_transport::stack::{Ecn, PeerEcn};
use cwndlab_units::{Bytes, Duration, Time};

use super::connection::Connection;
use super::feedback::{option_of_syn_ack, Feedback};
use super::handshake::{announced_mss, mode_of_client, negotiate, Negotiated};
use super::wire::{codepoint, Sent};
use crate::script::{Packet, TcpOption};
use crate::settings::Settings;

/// The first byte after a SYN, which has number 0.
pub(super) const FIRST_BYTE: u64 = 1;
/// The flags of a SYN for classic ECN (RFC 3168, section 6.1.1).
const CLASSIC_SYN: u8 = 0b011;
/// The retransmission timeout of a SYN and of a SYN-ACK (RFC 6298, section 2).
const TIMEOUT: Duration = Duration::from_secs(1);
/// Timeouts of a SYN after the first one before they double (Linux, `tcp_syn_linear_timeouts`).
const LINEAR_TIMEOUTS: u32 = 4;
/// Repetitions at most (Linux, `tcp_syn_retries`, which are beside those of linear timeouts, and `tcp_synack_retries`).
const REPETITIONS: [u32; 2] = [6 + LINEAR_TIMEOUTS, 5];
/// Options that are to be sent after the handshake (Linux, `accecn_opt_demand`): by a client and by a server.
const DEMANDED: [u8; 2] = [2, 1];

/// What both ends share.
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    pub(super) now: Time,
    pub(super) ts_recent: Option<u64>,
}

/// Our SYN was sent.
pub(super) struct Client {
    first_at: Time,
    retransmissions: u32,
    /// When the SYN is sent again; `Time::MAX` if it is not.
    pub(super) timer: Time,
}

impl Client {
    /// Sends the first SYN.
    pub(super) fn open(now: Time, settings: &Settings, queue: &mut VecDeque<Sent>) -> Self {
        queue.push_back(syn(now, 0, settings));
        Self { first_at: now, retransmissions: 0, timer: now + TIMEOUT }
    }

    /// Sends the SYN again.
    pub(super) fn repeat(&mut self, settings: &Settings, queue: &mut VecDeque<Sent>) {
        self.retransmissions += 1;
        queue.push_back(syn(self.timer, self.retransmissions, settings));
        let doublings = self.retransmissions.saturating_sub(LINEAR_TIMEOUTS);
        self.timer = next_timer(self.timer, doublings, self.retransmissions, REPETITIONS[0]);
    }

    /// The connection that a SYN-ACK establishes. Our side acknowledges it.
    pub(super) fn establish(self, syn_ack: &Packet, queue: VecDeque<Sent>, context: &Context<'_>) -> Connection {
        let settings = context.settings;
        let ecn = mode_of_client(syn_ack, settings.ecn);
        let negotiated = negotiate(syn_ack, settings, ecn);
        let last = (Codepoint::NotEct, DEMANDED[0]);
        let feedback = Feedback::new(settings.accecn, &negotiated, syn_ack, last);
        let negotiated = with_option(negotiated, feedback.as_ref());
        let mut connection = Connection::new(negotiated, settings, context.now, queue, feedback);
        if settings.accecn.fallback {
            connection.sender.on_syn_ack_flags(syn_ack.ace(), Codepoint::NotEct, &mut connection.wire);
        }
        connection.take_option(syn_ack);
        // The window of a SYN is not scaled (RFC 7323, section 2.2).
        connection.begin(
            self.retransmissions + 1,
            self.first_at,
            Bytes(syn_ack.window.unwrap_or_default()),
            context.ts_recent,
        );
        connection.acknowledge_syn_ack(syn_ack);
        connection
    }
}

/// Our SYN after this number of retransmissions.
fn syn(at: Time, retransmissions: u32, settings: &Settings) -> Sent {
    let offer = Negotiated {
        mss: 0,
        announced_mss: announced_mss(settings),
        sack: settings.sack,
        timestamps: settings.timestamps,
        window_scale: settings.window_scaling.then_some(0),
        ecn: Ecn::Off,
    };
    let request = match settings.ecn.requests {
        PeerEcn::Off => 0,
        PeerEcn::Classic => CLASSIC_SYN,
        PeerEcn::Accurate => SYN_FLAGS,
    };
    let requests = !settings.accecn.fallback || syn_flags(retransmissions) != 0;
    let ace = if requests { request } else { 0 };
    Sent { syn: true, ack: None, ace, offer: Some(offer), ..Sent::pure_ack(at, 0, 0, None) }
}

/// The peer's SYN was answered.
pub(super) struct Server {
    first_at: Time,
    answers: u32,
    timeouts: u32,
    /// When the SYN-ACK is sent again; `Time::MAX` if it is not.
    pub(super) timer: Time,
    negotiated: Negotiated,
    ecn: ServerHandshake,
    /// The ECN field of the latest SYN.
    arrived: Codepoint,
    ts_recent: Option<u64>,
}

impl Server {
    /// Answers the first SYN. `None`: it is answered by a reset.
    pub(super) fn open(syn: &Packet, queue: &mut VecDeque<Sent>, context: &Context<'_>) -> Option<Self> {
        let ecn = ServerHandshake::new(context.settings.ecn.accepts);
        let mut server = Self {
            first_at: context.now,
            answers: 0,
            timeouts: 0,
            timer: Time::MAX,
            negotiated: negotiate(syn, context.settings, Ecn::Off),
            ecn,
            arrived: Codepoint::NotEct,
            ts_recent: context.ts_recent,
        };
        server.on_syn(syn, queue, context).then_some(server)
    }

    /// Answers a SYN. Returns false if the answer is a reset.
    pub(super) fn on_syn(&mut self, syn: &Packet, queue: &mut VecDeque<Sent>, context: &Context<'_>) -> bool {
        self.arrived = codepoint(syn.ecn);
        let Answer::SynAck { flags, option } = self.ecn.on_syn(syn.ace(), self.arrived) else { return false };
        self.negotiated.ecn = self.ecn.mode().unwrap_or(Ecn::Off);
        self.timer = context.now;
        self.answer(flags, option, context.settings, queue);
        true
    }

    /// Sends the SYN-ACK again.
    pub(super) fn repeat(&mut self, settings: &Settings, queue: &mut VecDeque<Sent>) {
        self.timeouts += 1;
        let flags = self.ecn.on_timeout();
        self.answer(flags, false, settings, queue);
    }

    /// Sends a SYN-ACK at the time of the timer, and restarts it.
    fn answer(&mut self, ace: u8, option: bool, settings: &Settings, queue: &mut VecDeque<Sent>) {
        let timestamps = self.negotiated.timestamps;
        let accecn = option.then(|| option_of_syn_ack(settings.accecn, timestamps)).flatten();
        let base = Sent::pure_ack(self.timer, 0, FIRST_BYTE, self.ts_recent);
        queue.push_back(Sent { syn: true, ace, accecn, offer: Some(self.negotiated), ..base });
        self.answers += 1;
        self.timer = next_timer(self.timer, self.timeouts, self.timeouts, REPETITIONS[1]);
    }

    /// The connection that the packet `first` establishes, which acknowledges a SYN-ACK.
    pub(super) fn establish(self, first: &Packet, queue: VecDeque<Sent>, context: &Context<'_>) -> Connection {
        let settings = context.settings;
        let feedback = Feedback::new(settings.accecn, &self.negotiated, first, (self.arrived, DEMANDED[1]));
        let negotiated = with_option(self.negotiated, feedback.as_ref());
        let mut connection = Connection::new(negotiated, settings, context.now, queue, feedback);
        if negotiated.ecn == Ecn::AccEcn {
            let has_blocks = first.options().any(|option| matches!(option, TcpOption::Sack(_)));
            if first.len == 0 && !has_blocks {
                let ack = HandshakeAck::read(first.ace());
                let sent = match ack {
                    HandshakeAck::Arrived(arrived) if !settings.accecn.fallback => arrived,
                    _ => Codepoint::NotEct,
                };
                connection.sender.on_handshake_ack(ack, sent, &mut connection.wire);
            }
            if !self.ecn.may_send_ect() {
                connection.sender.stop_ect();
            }
            connection.take_option(first);
        }
        let window = first.window.unwrap_or_default() << negotiated.window_scale.unwrap_or_default();
        connection.begin(self.answers, self.first_at, Bytes(window), context.ts_recent);
        connection
    }
}

/// What was negotiated, with segments that leave room for an option on each packet.
fn with_option(negotiated: Negotiated, feedback: Option<&Feedback>) -> Negotiated {
    let room = if feedback.is_some_and(Feedback::is_on_each_packet) { SYN_ACK_OPTION_SIZE } else { 0 };
    Negotiated { mss: negotiated.mss.saturating_sub(room.into()).max(1), ..negotiated }
}

/// The time of the next repetition, after a timeout that doubled this often.
fn next_timer(now: Time, doublings: u32, repetitions: u32, most: u32) -> Time {
    if repetitions < most {
        now + TIMEOUT * (1 << doublings)
    } else {
        Time::MAX
    }
}
