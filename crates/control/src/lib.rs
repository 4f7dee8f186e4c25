//! The contract between a transport and a congestion control algorithm, for algorithms in and outside this repository.
//!
//! - [`contract`]: [`CongestionControl`] and the reports of the transport to it;
//! - [`report`]: a report as a value; [`Driver`] delivers it, with the undo of a reduction, [`Observer`] observes it;
//! - [`delivery`]: delivery-rate samples and round trips, which every sender measures;
//! - [`event`] and [`state`]: the events and the state that an algorithm returns;
//! - [`parts`]: [`SlowStart`] and [`CongestionAvoidance`], the two parts that [`Composed`] combines;
//! - [`constructor`]: the injection of an algorithm that has no entry;
//! - [`spec`]: an algorithm's entry in the catalogue: name, parameters, source;
//! - [`options!`]: the options of an entry, each declared once;
//! - [`catalogue`]: all entries, and the text form `GROWTH[+SLOW_START][/RECOVERY]`;
//! - [`kernel_name()`]: the name of an algorithm in the kernel;
//! - [`report_schedule`]: when a datapath reports ACKs.
//!
//! # A whole algorithm
//!
//! An algorithm with its own slow start, a delay signal and an entry. What it does at each event is computed by hand at the
//! end:
//!
//! ```
//! use cwndlab_control::testing::{ack, loss, path, timeout};
//! use cwndlab_control::{
//!     options, Ack, Build, Catalogue, Change, Confidence, Congestion, CongestionControl, Event, EventKind, Extra, Kind,
//!     Path, Phase, Reason, Spec, Ssthresh, State, Window,
//! };
//! use cwndlab_units::{Bytes, Duration};
//!
//! options! {
//!     struct Options {
//!         /// RTT over its minimum that ends slow start
//!         g: f64 = 1.5 in 1.0..=10.0,
//!     }
//! }
//!
//! /// Reno whose slow start ends when the RTT exceeds `g` times its minimum.
//! #[derive(Clone, Debug)]
//! struct Early {
//!     w: f64, // segments, as in papers
//!     ssthresh: f64,
//!     g: f64,
//!     mss: f64,
//! }
//!
//! impl Early {
//!     fn new(path: &Path, options: Options) -> Self {
//!         let mss = path.mss.0 as f64;
//!         let ssthresh = path.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.0 as f64 / mss);
//!         Self { w: path.initial_cwnd.0 as f64 / mss, ssthresh, g: options.g, mss }
//!     }
//! }
//!
//! impl CongestionControl for Early {
//!     fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
//!         if ack.recovering || !ack.cwnd_limited {
//!             return None; // the transport sets the window, or an unused window gives no evidence of capacity
//!         }
//!         let n = ack.acked.0 as f64 / self.mss;
//!         if self.w >= self.ssthresh {
//!             self.w += n / self.w;
//!             return None;
//!         }
//!         self.w += n;
//!         let rtt = ack.rtt?; // none if Karn's algorithm excludes the sample
//!         if rtt.as_secs() <= self.g * ack.min_rtt.as_secs() {
//!             return None;
//!         }
//!         self.ssthresh = self.w;
//!         Some(Event::new(EventKind::SlowStartExit, Reason::Delay, self.w))
//!     }
//!
//!     fn on_congestion(&mut self, event: &Congestion) {
//!         if !event.repeated {
//!             let flight = event.in_flight.0 as f64 / self.mss;
//!             self.ssthresh = (flight / 2.0).max(2.0);
//!         }
//!         self.w = if event.restart { 1.0 } else { self.ssthresh };
//!     }
//!
//!     fn cwnd(&self) -> Bytes {
//!         Bytes((self.w * self.mss) as u64)
//!     }
//!
//!     fn on_window(&mut self, window: &Window) {
//!         if matches!(window.change, Change::Idle | Change::Recovered) {
//!             self.w = (window.cwnd.0 as f64 / self.mss).max(1.0);
//!         }
//!     }
//!
//!     fn state(&self, extra: Option<Extra<'_>>) -> State {
//!         if let Some(named) = extra {
//!             named("w_segments", self.w);
//!         }
//!         let phase = if self.w < self.ssthresh { Phase::SlowStart } else { Phase::CongestionAvoidance };
//!         State { ssthresh: Ssthresh::of(self.ssthresh, self.mss), phase }
//!     }
//! }
//!
//! static SPEC: Spec = Spec {
//!     name: "early",
//!     title: "Early exit",
//!     kind: Kind::Whole,
//!     source: "this page",
//!     year: 2026,
//!     confidence: Confidence::High,
//!     summary: "Reno whose slow start ends when the RTT grows.",
//!     parameters: Options::PARAMETERS,
//!     choices: &[],
//!     pitfalls: &[],
//!     companion: "",
//!     needs: &[],
//!     incompatible: &[],
//!     model_based: false,
//!     build: Build::Whole(|path, arguments| Box::new(Early::new(path, arguments.into()))),
//! };
//!
//! let catalogue = Catalogue { specs: vec![&SPEC], aliases: &[] };
//! let mut flow = catalogue.parse("early(g=2)").unwrap().build(&path(10)); // 10 segments of 1000 bytes
//! flow.on_ack(&ack(2)); // slow start: 10 + 2
//! assert_eq!(flow.cwnd(), Bytes(12_000));
//! let late = Ack { rtt: Some(Duration::from_millis(250)), ..ack(1) }; // more than twice the minimum of 100 ms
//! assert_eq!(flow.on_ack(&late).unwrap().kind, EventKind::SlowStartExit);
//! assert_eq!(flow.state(None).phase, Phase::CongestionAvoidance);
//! flow.on_ack(&ack(13)); // congestion avoidance: 13 + 13 / 13
//! assert_eq!(flow.cwnd(), Bytes(14_000));
//! flow.on_congestion(&loss(14)); // half of what is in flight
//! assert_eq!(flow.cwnd(), Bytes(7_000));
//! flow.on_congestion(&timeout(6)); // one segment; the threshold is 3
//! assert_eq!((flow.cwnd(), flow.state(None).ssthresh.bytes()), (Bytes(1_000), Some(Bytes(3_000))));
//! ```

pub mod catalogue;
pub mod composed;
pub mod constructor;
pub mod contract;
pub mod delivery;
pub mod driver;
pub mod event;
pub mod kernel_name;
pub mod observe;
pub mod options;
pub mod parts;
mod recovery_options;
pub mod report;
pub mod report_schedule;
mod snapshot;
pub mod spec;
pub mod state;
pub mod testing;

pub use catalogue::{Algorithm, Catalogue};
pub use composed::Composed;
pub use constructor::Constructor;
pub use contract::{
    Ack, Cause, Change, Congestion, CongestionControl, DeliveryRate, Feedback, Path, Saved, Sent, Window,
};
pub use driver::Driver;
pub use event::{Event, EventKind, Reason};
pub use kernel_name::kernel_name;
pub use observe::{Observed, Observer};
pub use parts::{Capabilities, CongestionAvoidance, Exit, SlowStart, Step};
pub use recovery_options::{FackOptions, FackRampdown, RackOptions, RackPrr};
pub use report::Report;
pub use report_schedule::ReportSchedule;
pub use spec::{Arguments, Build, Confidence, Domain, Kind, Make, Need, Parameter, RecoveryKind, Spec, Value};
pub use state::{Extra, Phase, Ssthresh, State};
