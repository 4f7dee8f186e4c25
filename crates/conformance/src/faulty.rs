//! Wrong algorithms, kept on purpose: Reno with one fault each, and the rules that find it.
//!
//! Whoever wonders what a rule wants reads the fault it finds. [`without_fault`] is the same Reno without a fault and passes
//! everything.

use std::sync::atomic::{AtomicU64, Ordering};

use cwndlab_control::{Ack, Change, Congestion, CongestionControl, Event, Extra, Path, Phase, Ssthresh, State, Window};
use cwndlab_units::{Bytes, Duration, Rate};

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident => $rules:expr;)*) => {
        /// What may be wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $($(#[$doc])* $name,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The rules that it breaks, and no other.
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
    /// A timeout leaves half a segment.
    BelowOneSegment => ["one-segment"];
    /// It divides zero by zero before there is an RTT, and the window is NaN from then on.
    NotANumber => ["one-segment", "state"];
    /// An increment that grows with the power of the RTT, without a bound: `2^(RTT / 25 ms)`, as a careless Hybla.
    GrowsWithoutBound => ["bounded"];
    /// It does not look at `cwnd_limited`.
    GrowsUnused => ["unused-window"];
    /// It does not look at `recovering`.
    GrowsInRecovery => ["recovery"];
    /// A counter that all flows of the process share.
    SharesACounter => ["same-windows"];
    /// A loss adds a segment.
    RaisesOnLoss => ["congestion", "backs-off"];
    /// A loss changes nothing.
    IgnoresLoss => ["backs-off"];
    /// A timeout halves the window, as if it were a loss.
    IgnoresRestart => ["restart"];
    /// It takes the report of an undo for another loss.
    HalvesAtAnUndo => ["undo"];
    /// It doubles what the transport restored.
    UndoesTwice => ["undo"];
    /// It keeps its window after an hour of silence.
    IgnoresIdle => ["imposed"];
    /// It waits, after a timeout, for an RTT sample of less than a nanosecond.
    NeverComesBack => ["comes-back"];
    /// It divides by the least RTT before there is one: the rate is infinite.
    PacesInfinitely => ["pacing"];
    /// Its rate is what was delivered over the last RTT, and zero without one.
    PacesAtZero => ["pacing"];
    /// A number of its state is 0/0.
    StateIsNaN => ["state"];
    /// Its phase stays slow start above the threshold.
    StaysInSlowStart => ["state"];
    /// It unwraps the RTT, which Karn's rule withholds.
    UnwrapsTheRtt => ["no-panic"];
    /// It panics already when it is made.
    PanicsWhenMade => ["no-panic"];
}

/// Reno, with a fault or without.
#[derive(Clone, Debug)]
struct FaultyReno {
    fault: Option<Fault>,
    mss: f64,
    w: f64,
    ssthresh: f64,
    /// Seconds; zero before the first sample.
    rtt: f64,
    min_rtt: f64,
    stuck: bool,
}

/// Reno, right.
#[must_use]
pub fn without_fault(path: &Path) -> Box<dyn CongestionControl> {
    Box::new(FaultyReno::new(path, None))
}

/// Reno with this fault.
#[must_use]
pub fn with_fault(fault: Fault, path: &Path) -> Box<dyn CongestionControl> {
    assert!(fault != Fault::PanicsWhenMade, "no flow today");
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
        let ours = !ack.recovering || (self.has(Fault::GrowsInRecovery) && ack.cwnd_limited);
        if !used || !ours || self.stuck {
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
