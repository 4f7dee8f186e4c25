//! A placeholder for the congestion control of flows without one.

use cwndlab_control::{Ack, Congestion, CongestionControl, Event};
use cwndlab_units::Bytes;

/// A congestion control with a constant, unused window.
#[derive(Clone, Debug)]
pub(crate) struct NoControl(pub(crate) Bytes);

impl CongestionControl for NoControl {
    fn on_ack(&mut self, _ack: &Ack) -> Option<Event> {
        None
    }

    fn on_congestion(&mut self, _event: &Congestion) {}

    fn cwnd(&self) -> Bytes {
        self.0
    }
}
