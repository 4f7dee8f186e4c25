//! The contract between a transport and a congestion control algorithm, for algorithms in and outside this repository.
//!
//! - [`contract`]: [`CongestionControl`] and the reports of the transport to it;
//! - [`report`]: a report as a value; [`Driver`] delivers it, with the undo of a reduction, [`Observer`] observes it;
//! - [`event`] and [`state`]: the events and the state that an algorithm returns;
//! - [`parts`]: [`SlowStart`] and [`CongestionAvoidance`], the two parts that [`Composed`] combines;
//! - [`constructor`]: the injection of an algorithm that has no entry;
//! - [`spec`]: an algorithm's entry in the catalogue: name, parameters, source;
//! - [`catalogue`]: all entries, and the text form `GROWTH[+SLOW_START][/RECOVERY]`;
//! - [`kernel_name()`]: the name of an algorithm in the kernel;
//! - [`report_schedule`]: when a datapath reports ACKs.

pub mod catalogue;
pub mod composed;
pub mod constructor;
pub mod contract;
pub mod driver;
pub mod event;
pub mod kernel_name;
pub mod observe;
pub mod parts;
pub mod report;
pub mod report_schedule;
mod snapshot;
pub mod spec;
pub mod state;
pub mod testing;

pub use catalogue::{Algorithm, Catalogue};
pub use composed::Composed;
pub use constructor::Constructor;
pub use contract::{Ack, Cause, Change, Congestion, CongestionControl, DeliveryRate, Feedback, Path, Sent, Window};
pub use driver::Driver;
pub use event::{Event, EventKind, Reason};
pub use kernel_name::kernel_name;
pub use observe::{Observed, Observer};
pub use parts::{Capabilities, CongestionAvoidance, Exit, SlowStart, Step};
pub use report::Report;
pub use report_schedule::ReportSchedule;
pub use spec::{Arguments, Build, Confidence, Domain, Kind, Make, Need, Parameter, RecoveryKind, Spec, Value};
pub use state::{Extra, Phase, Ssthresh, State};
