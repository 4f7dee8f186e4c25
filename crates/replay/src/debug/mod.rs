//! Shows any moment of a simulated run: the event that an algorithm received, and its state before and after.
//!
//! A run is a pure function of plan and seed, and fast, so that a moment is reached by running again:
//!
//! - [`look`]: the event at a time, or the next or previous one of a kind ([`kinds`]), with its neighbours ([`watch`]);
//! - [`diverge`]: the first event after which another algorithm, given the same events, has another window or rate
//!   ([`shadow`]);
//! - [`lost_packet()`]: the drop behind a loss, with the state of its queue ([`lost_packet`](mod@lost_packet));
//! - [`transport_at`]: what the transport reports of the flow at a time;
//! - [`source`]: file and line of the method that handled an event, and the equations that it names.

pub mod json;
pub mod kinds;
pub mod lost_packet;
pub mod shadow;
pub mod source;
pub mod watch;

use std::sync::atomic::AtomicBool;

use cwndlab_control::Report as Reported;
use cwndlab_control::{CongestionControl, Event, State};
use cwndlab_records::rows::SampleRow;
use cwndlab_scenario::plan::Plan;
use cwndlab_units::{Bytes, Duration, Fault, FlowId, Rate, Time};

pub use kinds::Wanted;
pub use lost_packet::{lost_packet, LostPacket};
pub use shadow::{diverge, Divergence};
pub use watch::{look, Search, View};

/// What an algorithm shows of itself between two events.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Its window.
    pub cwnd: Bytes,
    /// Its pacing rate.
    pub pacing: Option<Rate>,
    /// Threshold and phase.
    pub state: State,
    /// Its named numbers, in its order.
    pub values: Vec<(&'static str, f64)>,
}

impl Snapshot {
    /// The present state of an algorithm.
    #[must_use]
    pub fn of(control: &dyn CongestionControl) -> Self {
        let mut values = Vec::new();
        let state = control.state(Some(&mut |name, value| values.push((name, value))));
        Self { cwnd: control.cwnd(), pacing: control.pacing_rate(), state, values }
    }
}

/// An event that an algorithm received.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Its number among the events of the connection that this module shows, from 1. Sent segments are not counted.
    pub number: u64,
    /// The connection of the flow, from 0.
    pub connection: u32,
    /// The event.
    pub event: Reported,
    /// The state before it.
    pub before: Snapshot,
    /// The state after it.
    pub after: Snapshot,
    /// The event that the algorithm returned, which becomes a row of the table `events`.
    pub returned: Option<Event>,
}

/// The row of the table `samples` of a flow at the end of `at`, after all events of that time; `None` where the flow has
/// not started.
///
/// # Errors
/// If the run is cancelled.
pub fn transport_at(
    plan: &Plan,
    seed: u64,
    flow: FlowId,
    at: Time,
    cancel: &AtomicBool,
) -> Result<Option<SampleRow>, Fault> {
    // One sample, which does not change the run.
    let until = Duration::from_nanos(at.as_nanos().max(1));
    let plan = Plan { duration: until, sample_interval: until, packets: false, ..plan.clone() };
    let records = cwndlab_simulator::run(&plan, seed, cancel, None)?;
    Ok(records.samples.into_iter().find(|row| FlowId::from(row.flow) == flow))
}

/// Whether this crate shows an event. Segments that are sent are not shown: an ACK often causes several of them.
fn is_shown(event: &Reported) -> bool {
    !matches!(event, Reported::Sent(_))
}
