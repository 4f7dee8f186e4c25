//! What a reconstruction of a log yields: events for the algorithm, and logged windows to compare.

use cwndlab_control::{Ack, Congestion, Report, Window};
use cwndlab_units::{Duration, Time};

use crate::event::{Remark, Span};

/// The state of the reference that a reconstruction needs.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Window, bytes.
    pub cwnd: u64,
    /// Window, bytes, at most the logged one: a sender with a smaller window is limited by that.
    pub permitted_cwnd: u64,
    /// The reference is in slow start.
    pub slow_start: bool,
    /// The algorithm implements `on_sent`.
    pub observes_sent: bool,
    /// The algorithm sets the window during recovery.
    pub model_based: bool,
    /// The algorithm has a pacing rate.
    pub paced: bool,
}

/// Whether the window limited the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The window was full.
    Window,
    /// Less than half of the window was used.
    Application,
    /// Between the two: RFC 9002 (section 7.8) and RFC 7661 leave the boundary to the stack.
    Unclear,
}

/// Events for the algorithm that belong together.
#[derive(Clone, Debug)]
pub struct Step {
    /// Time.
    pub time: Time,
    /// Number of the event of the log that completes it.
    pub event: usize,
    /// Possible sequences, the most likely first. The log does not say which of them took place, or the standards
    /// permit all of them.
    pub alternatives: Vec<Vec<Report>>,
    /// An ACK of new data.
    pub acks: u32,
    /// What limited the sender, for an ACK.
    pub limit: Option<Limit>,
    /// The ACK arrived during recovery.
    pub recovering: bool,
}

/// A logged window.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Time.
    pub time: Time,
    /// Number of the event of the log.
    pub event: usize,
    /// The logged window, bytes.
    pub cwnd: u64,
    /// The logged slow-start threshold, bytes.
    pub ssthresh: Option<u64>,
    /// `cwnd` is the bytes in flight: a lower bound of the sender's window.
    pub is_flight: bool,
    /// `cwnd` is the bytes in flight that the sender reached since this ACK: what it permitted itself.
    pub since: Option<Since>,
}

/// The ACK after which a sender filled its window.
#[derive(Clone, Copy, Debug)]
pub struct Since {
    /// Time of the ACK.
    pub time: Time,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Bytes in flight that the receive window permits.
    pub receivable: u64,
    /// It begins a span of time in which a sender fills its window: one that sends in bursts leaves a part free between
    /// them.
    pub begins: bool,
    /// The span ends here: the maxima are compared.
    pub ends: bool,
}

/// What the bytes in flight of a log without windows say about the sender's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flights {
    /// Nothing: the log has windows.
    Unused,
    /// They are a lower bound of it.
    LowerBound,
    /// They are equal to it, since the sender sends whatever its window and its pacing permit.
    Window,
}

/// An item of the reconstruction.
#[derive(Clone, Debug)]
pub enum Item {
    /// Events for the algorithm.
    Step(Step),
    /// A window to compare.
    Check(Check),
    /// ACKs during which the transport sets the window.
    Unjudged(u32),
}

/// An event of the log, and the items of the reconstruction so far.
#[derive(Debug)]
pub(crate) struct Moment<'a> {
    /// Number of the event.
    pub(crate) event: usize,
    /// Time of the event.
    pub(crate) now: Time,
    /// The state of the reference.
    pub(crate) view: &'a View,
    /// The items.
    pub(crate) out: &'a mut Vec<Item>,
}

impl Moment<'_> {
    /// Adds a change of the window by the transport: its possible sequences.
    pub(crate) fn step(&mut self, alternatives: Vec<Vec<Report>>) {
        self.out.push(Item::Step(Step::window(self.event, alternatives, self.now)));
    }

    /// Adds a logged window and threshold.
    pub(crate) fn check(&mut self, cwnd: u64, ssthresh: Option<u64>) {
        let (time, event) = (self.now, self.event);
        self.out.push(Item::Check(Check { time, event, cwnd, ssthresh, is_flight: false, since: None }));
    }
}

impl Step {
    /// A change of the window by the transport.
    #[must_use]
    pub fn window(event: usize, alternatives: Vec<Vec<Report>>, time: Time) -> Self {
        Self { time, event, alternatives, acks: 0, limit: None, recovering: false }
    }

    /// The event that a reader recognises: a congestion event, else a change of the window, else the ACK.
    #[must_use]
    pub fn main_event(&self) -> Option<&Report> {
        let first = self.alternatives.first()?;
        let rank = |one: &&Report| match one {
            Report::Congestion(Congestion { .. }) => 0,
            Report::Window(Window { .. }) => 1,
            Report::Ack(Ack { .. }) => 2,
            Report::Sent(_) => 3,
        };
        first.iter().min_by_key(rank)
    }
}

/// An ACK of TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) ack: u64,
    pub(crate) sack: &'a [Span],
    pub(crate) ece: bool,
    /// The counter of marks modulo eight, with Accurate ECN.
    pub(crate) ace: Option<u8>,
    /// Timestamp that it echoes.
    pub(crate) echo: Option<u32>,
    /// RTT by it.
    pub(crate) echo_rtt: Option<Duration>,
    /// The receive window that it advertises.
    pub(crate) rwnd: Option<u64>,
    /// It is a duplicate if it acknowledges nothing.
    pub(crate) duplicates: bool,
    /// The reduction of the window that it starts.
    pub(crate) begins: Option<Remark>,
}

impl Arrived<'_> {
    /// Bytes that D-SACK reports (RFC 2883, section 4): the first block is acknowledged, or lies within the second.
    pub(crate) fn duplicated(&self) -> u64 {
        let Some(first) = self.sack.first() else { return 0 };
        let within = self.sack.get(1).is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
        if first.1 <= self.ack || within {
            first.1 - first.0
        } else {
            0
        }
    }
}
