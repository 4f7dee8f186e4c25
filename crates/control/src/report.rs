//! What the transport reports to a congestion control.

use crate::contract::{Ack, Congestion, CongestionControl, Sent, Window};
use crate::event::Event;
use cwndlab_units::Time;

/// A report of the transport: a call of one of the four methods of [`CongestionControl`] that receive something.
#[derive(Clone, Debug)]
pub enum Report {
    /// [`CongestionControl::on_ack`]: data was acknowledged.
    Ack(Ack),
    /// [`CongestionControl::on_congestion`]: a loss, an ECN echo or a timeout.
    Congestion(Congestion),
    /// [`CongestionControl::on_sent`]: a segment was sent.
    Sent(Sent),
    /// [`CongestionControl::on_window`]: handshake, idle period, end of recovery, or undo.
    Window(Window),
}

impl Report {
    /// Time of the report.
    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::Ack(ack) => ack.now,
            Self::Congestion(event) => event.now,
            Self::Sent(sent) => sent.now,
            Self::Window(window) => window.now,
        }
    }

    /// A short description.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Ack(ack) => format!("an ACK of {} B", ack.acked.0),
            Self::Congestion(event) => format!("congestion ({:?})", event.cause).to_lowercase(),
            Self::Sent(sent) => format!("{} B sent", sent.size.0),
            Self::Window(window) => format!("the window ({:?})", window.change).to_lowercase(),
        }
    }

    /// Calls the method of `control`; returns the algorithm's event, if it has one. A
    /// [`Driver`](crate::Driver) also keeps the state that an undo restores.
    pub fn deliver(&self, control: &mut dyn CongestionControl) -> Option<Event> {
        match self {
            Self::Ack(ack) => return control.on_ack(ack),
            Self::Congestion(event) => control.on_congestion(event),
            Self::Sent(sent) => control.on_sent(sent),
            Self::Window(window) => control.on_window(window),
        }
        None
    }
}

macro_rules! from {
    ($($kind:ident)*) => {$(
        impl From<$kind> for Report {
            fn from(report: $kind) -> Self {
                Self::$kind(report)
            }
        }
    )*};
}

from! { Ack Congestion Sent Window }
