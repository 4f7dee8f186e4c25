//! A slow start and a growth joined into a congestion control.

use cwndlab_units::Bytes;

use crate::contract::{Ack, Change, Congestion, CongestionControl, Path, Window};
use crate::parts::{Growth, SlowStart};

/// The floor of `ssthresh`, segments (RFC 5681, equation 4).
const MIN_SSTHRESH: f64 = 2.0;

/// A slow start and a growth as one [`CongestionControl`]. The window is in segments, as the papers write it.
#[derive(Debug)]
pub struct Composed {
    slow_start: Box<dyn SlowStart>,
    growth: Box<dyn Growth>,
    mss: f64,
    w: f64,
    ssthresh: f64,
    /// Window and threshold before the last reduction, for an undo.
    before: (f64, f64),
}

impl Composed {
    /// Joins the two at the start of a flow.
    #[must_use]
    pub fn new(path: &Path, slow_start: Box<dyn SlowStart>, growth: Box<dyn Growth>) -> Self {
        let mss = path.mss.0 as f64;
        let w = path.initial_cwnd.0 as f64 / mss;
        let ssthresh = path.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.0 as f64 / mss);
        Self { slow_start, growth, mss, w, ssthresh, before: (w, ssthresh) }
    }

    #[inline]
    fn start(&mut self, ack: &Ack, may_grow: bool) {
        let step = self.slow_start.on_ack(ack, self.w, self.ssthresh);
        if let Some(exit) = step.exit {
            self.ssthresh = exit.ssthresh.max(MIN_SSTHRESH);
            ack.note.set(Some(exit.note));
        }
        if !may_grow || step.grow <= 0.0 {
            return;
        }
        let room = self.ssthresh - self.w;
        if step.grow <= room || step.exit.is_some() {
            self.w += step.grow.min(room.max(0.0));
            return;
        }
        // Linux, tcp_slow_start: what the threshold leaves over counts for avoidance.
        self.w = self.ssthresh;
        let left = Bytes((ack.acked.0 as f64 * (1.0 - room / step.grow)) as u64);
        if left.0 > 0 {
            let rest = Ack { acked: left, ..ack.clone() };
            self.w = self.growth.on_ack(&rest, self.w);
        }
    }
}

impl CongestionControl for Composed {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.growth.observe(ack, self.w);
        let may_grow = ack.cwnd_limited && !ack.recovering;
        if self.w < self.ssthresh {
            self.start(ack, may_grow);
        } else if may_grow {
            self.w = self.growth.on_ack(ack, self.w);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if !event.repeated {
            self.before = (self.w, self.ssthresh);
            self.ssthresh = self.growth.on_congestion(event, self.w).max(MIN_SSTHRESH);
        }
        self.w = if event.restart { 1.0 } else { self.ssthresh };
        self.slow_start.on_congestion(event);
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        // A hair more, so that k segments stored as a sum of fractions are k segments.
        Bytes(((self.w + 1e-9) * self.mss) as u64)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            Change::Undo => {
                self.w = self.w.max(self.before.0);
                self.ssthresh = self.before.1;
            }
            Change::Idle | Change::Recovered => self.w = window.cwnd.0 as f64 / self.mss,
        }
        self.growth.on_window(window);
        self.slow_start.on_window(window);
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        if self.ssthresh.is_finite() {
            put("ssthresh_segments", self.ssthresh);
        }
        put("w_segments", self.w);
        self.slow_start.trace(put);
        self.growth.trace(put);
    }
}
