//! Faulty algorithms: Reno with one fault each, and the rules that detect it.
//!
//! The faults are examples of violations of the rules. [`without_fault`] is the same Reno without a fault; it satisfies
//! all rules.

use std::sync::atomic::{AtomicU64, Ordering};

use cwndlab_control::{Ack, Change, Congestion, CongestionControl, Event, Extra, Path, Phase, Ssthresh, State, Window};
use cwndlab_units::{Bytes, Duration, Rate};

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident => $rules:expr;)*) => {
        /// A fault of the algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $($(#[$doc])* $name,)*
        }

        impl Fault {
            /// All faults.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The violated rules; all others hold.
            #[must_use]
            pub fn breaks(self) -> &'static [&'static str] {
                match self {
                    $(Self::$name => &$rules,)*
                }
            }
        }
    };
}

faults! {
    /// The window after a timeout is half a segment.
    BelowOneSegment => ["one-segment"];
    /// A division of zero by zero before the first RTT sample makes the window NaN.
    NotANumber => ["one-segment", "state"];
    /// An unbounded increment that is exponential in the RTT, `2^(RTT / 25 ms)`, as a faulty Hybla.
    GrowsWithoutBound => ["bounded"];
    /// `cwnd_limited` is ignored.
    GrowsUnused => ["unused-window"];
    /// `recovering` is ignored.
    GrowsInRecovery => ["recovery"];
    /// All flows of the process share a counter.
    SharesACounter => ["same-windows"];
    /// A loss increases the window by a segment.
    RaisesOnLoss => ["congestion", "backs-off"];
    /// A loss does not change the window.
    IgnoresLoss => ["backs-off"];
    /// A timeout halves the window as a loss does.
    IgnoresRestart => ["restart"];
    /// An undo is treated as another loss.
    HalvesAtAnUndo => ["undo"];
    /// The window that the transport restored is doubled.
    UndoesTwice => ["undo"];
    /// The window is not reduced after an idle hour.
    IgnoresIdle => ["imposed"];
    /// After a timeout the window never grows again.
    NeverComesBack => ["comes-back"];
    /// A division by the minimum RTT before the first sample makes the rate infinite.
    PacesInfinitely => ["pacing"];
    /// The pacing rate is zero without an RTT sample.
    PacesAtZero => ["pacing"];
    /// A number of the state is 0/0.
    StateIsNaN => ["state"];
    /// The phase remains slow start above ssthresh.
    StaysInSlowStart => ["state"];
    /// An `unwrap` of the RTT sample, which Karn's algorithm may omit.
    UnwrapsTheRtt => ["no-panic"];
    /// A panic in the constructor.
    PanicsWhenMade => ["no-panic"];
}

/// Reno with an optional fault.
#[derive(Clone, Debug)]
struct FaultyReno {
    fault: Option<Fault>,
    mss: f64,
    w: f64,
    ssthresh: f64,
    /// RTT, seconds; zero before the first sample.
    rtt: f64,
    min_rtt: f64,
    stuck: bool,
}

/// Reno without a fault.
#[must_use]
pub fn without_fault(path: &Path) -> Box<dyn CongestionControl> {
    Box::new(FaultyReno::new(path, None))
}

/// Reno with a fault.
///
/// # Panics
/// For [`Fault::PanicsWhenMade`].
#[must_use]
pub fn with_fault(fault: Fault, path: &Path) -> Box<dyn CongestionControl> {
    assert!(fault != Fault::PanicsWhenMade, "a panic in the constructor");
    Box::new(FaultyReno::new(path, Some(fault)))
}

static SHARED: AtomicU64 = AtomicU64::new(0);

impl FaultyReno {
    fn new(path: &Path, fault: Option<Fault>) -> Self {
        let mss = path.mss.0 as f64;
        let w = path.initial_cwnd.0 as f64 / mss;
        let ssthresh = path.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.0 as f64 / mss);
        Self { fault, mss, w, ssthresh, rtt: 0.0, min_rtt: 0.0, stuck: false }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}

impl CongestionControl for FaultyReno {
    fn on_ack(&mut self, ack: &Ack) -> Option<Event> {
        if self.has(Fault::UnwrapsTheRtt) {
            self.rtt = ack.rtt.expect("every ACK has an RTT").as_secs();
        }
        self.rtt = ack.rtt.map_or(0.0, Duration::as_secs);
        self.min_rtt = ack.min_rtt.as_secs();
        let used = ack.cwnd_limited || (self.has(Fault::GrowsUnused) && !ack.recovering);
        let may_grow = !ack.recovering || (self.has(Fault::GrowsInRecovery) && ack.cwnd_limited);
        if !used || !may_grow || self.stuck {
            return None;
        }
        let mut n = ack.acked.0 as f64 / self.mss;
        if self.has(Fault::NotANumber) && self.min_rtt == 0.0 {
            self.w *= self.rtt / self.min_rtt;
        }
        if self.has(Fault::GrowsWithoutBound) && self.rtt > 1.0 {
            n *= (0..(self.rtt / 0.025).min(200.0) as u32).fold(1.0, |product, _| product * 2.0);
        }
        if self.has(Fault::SharesACounter) {
            n *= 1.0 + (SHARED.fetch_add(1, Ordering::Relaxed) % 2) as f64;
        }
        if self.w < self.ssthresh {
            self.w += n.min(self.ssthresh - self.w);
        } else {
            self.w += n / self.w;
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if !event.repeated {
            self.ssthresh = (event.in_flight.0 as f64 / self.mss / 2.0).max(2.0);
        }
        self.stuck = self.has(Fault::NeverComesBack) && event.restart;
        let halved = self.ssthresh.min(self.w.max(2.0));
        self.w = match self.fault {
            Some(Fault::RaisesOnLoss) if !event.restart => self.w.max(2.0) + 1.0,
            Some(Fault::IgnoresLoss) if !event.restart => self.w,
            Some(Fault::IgnoresRestart) => halved,
            Some(Fault::BelowOneSegment) if event.restart => 0.5,
            _ if event.restart => 1.0,
            _ => halved,
        };
    }

    fn cwnd(&self) -> Bytes {
        Bytes(((self.w + 1e-9) * self.mss) as u64)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Undo if self.has(Fault::HalvesAtAnUndo) => self.w = (self.w / 2.0).max(1.0),
            Change::Undo if self.has(Fault::UndoesTwice) => self.w *= 2.0,
            Change::Idle if self.has(Fault::IgnoresIdle) => {}
            Change::Idle | Change::Recovered => self.w = window.cwnd.0 as f64 / self.mss,
            Change::Undo | Change::Established => {}
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let bits = 8.0 * self.w * self.mss;
        match self.fault {
            Some(Fault::PacesInfinitely) => Some(Rate((2.0 * bits / self.min_rtt) as u64)),
            Some(Fault::PacesAtZero) => Some(Rate(if self.rtt > 0.0 { (2.0 * bits / self.rtt) as u64 } else { 0 })),
            _ => None,
        }
    }

    fn state(&self, extra: Option<Extra<'_>>) -> State {
        if let Some(put) = extra {
            put("w_segments", self.w);
            if self.has(Fault::StateIsNaN) {
                put("queue_segments", (self.rtt - self.min_rtt) / self.rtt);
            }
        }
        let below = self.w < self.ssthresh || self.has(Fault::StaysInSlowStart);
        let phase = if below { Phase::SlowStart } else { Phase::CongestionAvoidance };
        State { ssthresh: Ssthresh::of(self.ssthresh, self.mss), phase }
    }
}
