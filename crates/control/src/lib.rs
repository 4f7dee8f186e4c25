//! The contract between a transport and a congestion control algorithm, for algorithms in and outside this repository.
//!
//! - [`contract`]: [`CongestionControl`] and the reports of the transport to it;
//! - [`event`] and [`state`]: the events and the state that an algorithm returns;
//! - [`parts`]: [`SlowStart`] and [`CongestionAvoidance`], the two parts that [`Composed`] combines;
//! - [`spec`]: an algorithm's entry in the catalogue: name, parameters, source;
//! - [`catalogue`]: all entries, and the text form `GROWTH[+SLOW_START][/RECOVERY]`;
//! - [`kernel_name()`]: the name of an algorithm in the kernel;
//! - [`report_schedule`]: when a datapath reports ACKs.

pub mod catalogue;
pub mod composed;
pub mod contract;
pub mod event;
pub mod kernel_name;
pub mod parts;
pub mod report_schedule;
mod snapshot;
pub mod spec;
pub mod state;
pub mod testing;
pub mod undo;

pub use catalogue::{Algorithm, Catalogue, Fault};
pub use composed::Composed;
pub use contract::{Ack, Cause, Change, Congestion, CongestionControl, DeliveryRate, Feedback, Path, Sent, Window};
pub use event::{Event, EventKind, Reason};
pub use kernel_name::kernel_name;
pub use parts::{Capabilities, CongestionAvoidance, Exit, SlowStart, Step};
pub use report_schedule::ReportSchedule;
pub use spec::{Arguments, Build, Confidence, Domain, Kind, Make, Need, Parameter, RecoveryKind, Spec, Value};
pub use state::{Extra, Phase, Ssthresh, State};
pub use undo::BeforeReduction;
