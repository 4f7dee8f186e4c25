//! Scripted tests in the style of packetdrill: timed ACKs, and the segments that the sender sends. Times are in
//! milliseconds since the previous step; segments have numbers and 1000 bytes each.

#![allow(dead_code)] // each test file uses some of it

mod linux_stack;

use std::ops::Range;

use cwndlab_control::catalogue::Part;
use cwndlab_control::{
    Ack, Algorithm, Arguments, Build, Change, Confidence, Congestion, CongestionControl, Event, Extra, Kind, Need,
    RecoveryKind, Spec, Window,
};
use cwndlab_transport::sender::Sender;
use cwndlab_transport::stack::{self, RtoRestart, Rules, Stack};
use cwndlab_transport::wire::{AckPacket, Data, Output, SackBlocks};
use cwndlab_units::{Bytes, CaState, Time};

pub(crate) use linux_stack::linux;

const MS: f64 = 1e6;
const MSS: u64 = 1000;

/// The Linux stack with the rules of the RFCs.
pub(crate) fn rfc() -> Stack {
    Stack { rules: Rules::Rfc, rto_restart: RtoRestart::NewData, syn_retries: 5, syn_linear_timeouts: 0, ..linux() }
}

/// An algorithm with slow start up to `ssthresh`, no growth above, and a reduction to 0.7 as in CUBIC (RFC 9438,
/// section 4.6).
#[derive(Clone, Debug)]
struct SlowStart {
    cwnd: u64,
    ssthresh: u64,
    /// FlightSize at the last congestion event.
    flight: u64,
}

impl CongestionControl for SlowStart {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        if ack.cwnd_limited && !ack.recovering && self.cwnd < self.ssthresh {
            self.cwnd = (self.cwnd + ack.acked.0).min(self.ssthresh);
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.flight = event.in_flight.0 / MSS;
        if !event.repeated {
            self.ssthresh = (self.cwnd / MSS * 7 / 10).max(2) * MSS;
        }
        self.cwnd = if event.restart { MSS } else { self.ssthresh };
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Idle | Change::Recovered => self.cwnd = window.cwnd.0,
            Change::Undo | Change::Established => {}
        }
    }

    /// It reports no threshold to the transport, which derives its own.
    fn state(&self, extra: Option<Extra<'_>>) -> cwndlab_control::State {
        if let Some(put) = extra {
            put("ssthresh_segments", (self.ssthresh / MSS) as f64);
            put("flight_segments", self.flight as f64);
        }
        cwndlab_control::State::UNKNOWN
    }
}

/// An entry with a requirement.
static HEARS_LOSSES: Spec = Spec {
    name: "slow-start",
    title: "",
    kind: Kind::CongestionAvoidance,
    source: "",
    year: 2000,
    confidence: Confidence::High,
    summary: "",
    parameters: &[],
    choices: &[],
    pitfalls: &[],
    companion: "",
    needs: &[Need::LossInReduction],
    incompatible: &[],
    model_based: false,
    build: Build::Mechanism,
};

/// Segments sent since the last check, and all events as kind and cause.
#[derive(Default)]
struct SentSegments {
    list: Vec<Data>,
    events: Vec<(&'static str, &'static str)>,
}

impl Output for SentSegments {
    fn data(&mut self, segment: &Data) {
        self.list.push(*segment);
    }

    fn ack(&mut self, _: &AckPacket) {}

    fn syn(&mut self, _: u32) {}

    fn event(&mut self, kind: &'static str, cause: &'static str, _: u32, _: u32, _: f64) {
        self.events.push((kind, cause));
    }
}

/// A connection driven by a script.
pub(crate) struct Script {
    pub(crate) sender: Sender,
    sent: SentSegments,
    now: u64,
    window: Bytes,
    echo: u64,
}

impl Script {
    /// An established connection with RACK whose handshake took `rtt` ms.
    pub(crate) fn new(stack: &Stack, rtt: f64) -> Self {
        Self::with(RecoveryKind::Rack, stack, rtt)
    }

    /// An established connection with this recovery whose handshake took `rtt` ms.
    pub(crate) fn with(kind: RecoveryKind, stack: &Stack, rtt: f64) -> Self {
        Self::with_window(kind, stack, rtt, 1_000_000)
    }

    /// The same with a first receive window of `window` bytes.
    pub(crate) fn with_window(kind: RecoveryKind, stack: &Stack, rtt: f64, window: u64) -> Self {
        let control = Box::new(SlowStart { cwnd: 10 * MSS, ssthresh: 1 << 40, flight: 0 });
        let mut sender = Sender::new(control, kind, &stack.clone().into());
        let mut sent = SentSegments::default();
        let window = Bytes(window);
        sender.open(Time::from_nanos(MS as u64), &mut sent);
        let now = MS as u64 + (rtt * MS) as u64;
        sender.on_syn_ack(Time::from_nanos(now), None, window, None, &mut sent);
        Self { sender, sent, now, window, echo: 0 }
    }

    /// An established connection with RACK and the Linux stack.
    pub(crate) fn linux(rtt: f64) -> Self {
        Self::new(&linux(), rtt)
    }

    /// The algorithm is notified of a loss within the reduction for a mark.
    pub(crate) fn hearing_losses(mut self) -> Self {
        let growth = Part { spec: &HEARS_LOSSES, arguments: Arguments::defaults(&[]) };
        let algorithm = Algorithm { growth, slow_start: None, recovery: None };
        self.sender = self.sender.with_requirements(&algorithm);
        self
    }

    /// The current time, ms since the start.
    pub(crate) fn now(&self) -> f64 {
        self.now as f64 / MS
    }

    /// Advances the time by `ms`; timers expire.
    pub(crate) fn after(&mut self, ms: f64) -> &mut Self {
        let until = self.now + (ms * MS).round() as u64;
        while let Some(at) = self.next_timer().filter(|&at| at <= until) {
            self.fire_timer(at);
        }
        self.now = until;
        self
    }

    fn next_timer(&self) -> Option<u64> {
        let at = self.sender.timer().min(self.sender.pace_timer());
        (at < Time::MAX).then_some(at.as_nanos())
    }

    fn fire_timer(&mut self, at: u64) {
        assert!(at >= self.now, "a timer in the past");
        self.now = at;
        if self.sender.pace_timer().as_nanos() <= at {
            self.sender.on_pace(Time::from_nanos(at), &mut self.sent);
        } else {
            self.sender.on_timer(Time::from_nanos(at), &mut self.sent);
        }
    }

    /// Advances until a segment is sent, for at most ten expired timers.
    fn run_until_sent(&mut self) {
        for _ in 0..10 {
            if !self.sent.list.is_empty() {
                return;
            }
            let at = self.next_timer().expect("no timer runs");
            self.fire_timer(at);
        }
        assert!(!self.sent.list.is_empty(), "silent up to {} ms", self.now());
    }

    /// The application writes `segments` segments.
    pub(crate) fn write(&mut self, segments: u64) -> &mut Self {
        self.sender.supply(Bytes(segments * MSS), Time::from_nanos(self.now), &mut self.sent);
        self
    }

    /// The application writes `bytes`.
    pub(crate) fn write_bytes(&mut self, bytes: u64) -> &mut Self {
        self.sender.supply(Bytes(bytes), Time::from_nanos(self.now), &mut self.sent);
        self
    }

    /// Sets the window that further ACKs advertise, bytes.
    pub(crate) fn window(&mut self, bytes: u64) -> &mut Self {
        self.window = Bytes(bytes);
        self
    }

    /// Sets the timestamp that further ACKs echo, ms.
    pub(crate) fn echo(&mut self, ms: f64) -> &mut Self {
        self.echo = (ms * MS) as u64;
        self
    }

    /// Delivers an ACK with SACK blocks. A first block below `ack` or within the second block is a D-SACK.
    pub(crate) fn ack(&mut self, ack: u64, sack: &[Range<u64>]) -> &mut Self {
        self.deliver_ack(ack, sack, false)
    }

    /// Delivers an ACK with ECE.
    pub(crate) fn ack_ece(&mut self, ack: u64) -> &mut Self {
        self.deliver_ack(ack, &[], true)
    }

    fn deliver_ack(&mut self, ack: u64, sack: &[Range<u64>], ece: bool) -> &mut Self {
        let mut blocks = SackBlocks { len: sack.len() as u8, ..SackBlocks::default() };
        for (to, from) in blocks.list.iter_mut().zip(sack) {
            *to = (from.start, from.end);
        }
        blocks.duplicate = match sack {
            [] => false,
            [first, rest @ ..] => {
                first.start < ack || rest.first().is_some_and(|next| next.start <= first.start && first.end <= next.end)
            }
        };
        let packet = AckPacket {
            ack,
            part: 0,
            window: self.window,
            echo: Time::from_nanos(self.echo),
            ece,
            ce_count: 0,
            accecn: None,
            blocks,
            feedback: None,
        };
        self.sender.on_ack(Time::from_nanos(self.now), &packet, &mut self.sent);
        self
    }

    /// Checks that exactly these segments were sent since the last check, in this order.
    #[track_caller]
    pub(crate) fn sends(&mut self, segments: impl IntoIterator<Item = u64>) -> &mut Self {
        let sent: Vec<_> = self.sent.list.drain(..).map(|data| data.seq).collect();
        assert_eq!(sent, segments.into_iter().collect::<Vec<_>>(), "at {} ms", self.now());
        self
    }

    /// Checks that no segment was sent since the last check.
    #[track_caller]
    pub(crate) fn is_silent(&mut self) -> &mut Self {
        self.sends([])
    }

    /// Checks that without an ACK these are the next segments sent, after `ms`.
    #[track_caller]
    pub(crate) fn after_silence_sends(&mut self, ms: f64, segments: impl IntoIterator<Item = u64>) -> &mut Self {
        self.is_silent();
        let from = self.now;
        self.run_until_sent();
        let elapsed = (self.now - from) as f64 / MS;
        assert!((elapsed - ms).abs() < 0.002, "after {elapsed} ms for {ms}");
        self.sends(segments)
    }

    /// Checks that without an ACK the next segment sent is a window probe, after `ms`.
    #[track_caller]
    pub(crate) fn after_silence_probes_window(&mut self, ms: f64) -> &mut Self {
        let below = self.sender.una().wrapping_sub(1);
        let from = self.now;
        self.run_until_sent();
        let probe = self.sent.list[0];
        assert_eq!((probe.seq, probe.len, probe.retransmission), (below, 0, false));
        let elapsed = (self.now - from) as f64 / MS;
        assert!((elapsed - ms).abs() < 0.002, "after {elapsed} ms for {ms}");
        self.sends([below])
    }

    /// Checks the congestion window, segments.
    #[track_caller]
    pub(crate) fn has_cwnd(&mut self, segments: u32) -> &mut Self {
        assert_eq!(self.sender.cwnd(), segments, "cwnd at {} ms", self.now());
        self
    }

    #[track_caller]
    pub(crate) fn has_ssthresh(&mut self, segments: u32) -> &mut Self {
        assert_eq!(self.value("ssthresh_segments"), f64::from(segments), "ssthresh at {} ms", self.now());
        self
    }

    /// Checks FlightSize at the last congestion event, segments.
    #[track_caller]
    pub(crate) fn reduced_flight(&mut self, segments: u32) -> &mut Self {
        assert_eq!(self.value("flight_segments"), f64::from(segments), "flight size at {} ms", self.now());
        self
    }

    /// A named value of the algorithm.
    fn value(&self, of: &str) -> f64 {
        let mut found = f64::NAN;
        let _ = self.sender.algorithm().state(Some(&mut |name, value| {
            if name == of {
                found = value;
            }
        }));
        found
    }

    /// The causes of the events of this kind so far.
    pub(crate) fn causes(&self, kind: &str) -> Vec<&'static str> {
        self.sent.events.iter().filter(|(of, _)| *of == kind).map(|(_, cause)| *cause).collect()
    }

    /// Checks the payloads of the segments sent since the last check, in order.
    #[track_caller]
    pub(crate) fn sends_payloads(&mut self, bytes: &[u32]) -> &mut Self {
        let sent: Vec<_> = self.sent.list.drain(..).map(|data| data.len).collect();
        assert_eq!(sent, bytes, "at {} ms", self.now());
        self
    }

    /// Checks that without an ACK the next segments have these payloads and are sent after `ms`.
    #[track_caller]
    pub(crate) fn after_silence_sends_payloads(&mut self, ms: f64, bytes: &[u32]) -> &mut Self {
        self.is_silent();
        let from = self.now;
        self.run_until_sent();
        let elapsed = (self.now - from) as f64 / MS;
        assert!((elapsed - ms).abs() < 0.002, "after {elapsed} ms for {ms}");
        self.sends_payloads(bytes)
    }

    #[track_caller]
    pub(crate) fn is_in(&mut self, state: CaState) -> &mut Self {
        assert_eq!(self.sender.state().ca_state, Some(state), "at {} ms", self.now());
        self
    }

    /// Checks the data in flight, segments.
    #[track_caller]
    pub(crate) fn has_in_flight(&mut self, segments: u32) -> &mut Self {
        assert_eq!(self.sender.in_flight(), Bytes(u64::from(segments) * MSS), "in flight at {} ms", self.now());
        self
    }

    /// Checks the numbers of retransmission timeouts and tail loss probes so far.
    #[track_caller]
    pub(crate) fn counts(&mut self, timeouts: u64, probes: u64) -> &mut Self {
        let counters = self.sender.counters();
        assert_eq!(
            (counters.timeouts, counters.loss_probes),
            (timeouts, probes),
            "timeouts, probes at {} ms",
            self.now()
        );
        self
    }
}
