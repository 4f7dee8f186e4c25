//! SEARCH: slow start exit at right chokepoint.
//!
//! Source: J. W. Chung, M. A. Kachooei, F. Li, M. Claypool, "SEARCH -- a New Slow Start Algorithm for TCP and QUIC",
//! draft-chung-ccwg-search-02 to -09, 2024 to 2026.
//!
//! ```text
//! bin = 0.35 RTT_0; at each bin's end i: D(i) bytes delivered, S(i) bytes sent so far       (1)
//! j = i − RTT/bin, interpolated between bins                                                (2)
//! curr = D(i) − D(i−10),  prev = S(j) − S(j−10)                                             (3)
//!   (form = delivered: prev = 2 (D(j) − D(j−10)))
//! norm = (prev − curr) / prev;  norm ≥ THRESH: leave                                        (4)
//! each ack: w += n                                                                          (5)
//! sent = delivered + in flight + lost                                                       (6)
//! ```
//!
//! Units: bytes, nanoseconds; windows in segments.
//! Differs from the source: a bin's counts are those before the ACK that shows it is over, so that a bin without ACKs needs no
//! rule; the roll-back of the window is off unless asked for.

use cwndlab_control::{
    Ack, Arguments, Build, Change, Confidence, Congestion, Domain, Extra, Kind, Parameter, Reason, SlowStart, Spec,
    Step, Value, Window,
};
use cwndlab_units::maths::floor;

use crate::congestion_avoidance::reno::segments;
use crate::shared::exit;

/// The entry.
pub static SPEC: Spec = Spec {
    name: "search",
    title: "SEARCH",
    kind: Kind::SlowStart,
    source: "draft-chung-ccwg-search-09",
    year: 2024,
    confidence: Confidence::High,
    summary: "Compares what was delivered in the last 3.5 RTTs with what was sent an RTT before that, and leaves when too little came through.",
    parameters: &[
        Parameter { name: "form", unit: "", default: Value::Word("sent"), domain: Domain::Words(&["sent", "delivered"]), doc: "against bytes sent (drafts from -06 on) or twice the bytes delivered (up to -05) one RTT earlier" },
        Parameter { name: "thresh", unit: "", default: Value::Number(0.26), domain: Domain::Range(0.0, 1.0), doc: "leaves from this norm on: 0.26 goes with sent bytes, 0.35 with delivered" },
        Parameter { name: "extra_bins", unit: "bins", default: Value::Number(35.0), domain: Domain::Range(3.0, 35.0), doc: "how far back RTT/bin may look: 35 goes with sent bytes, 15 with delivered" },
        Parameter { name: "shift", unit: "", default: Value::Word("latest"), domain: Domain::Words(&["latest", "min"]), doc: "the RTT of (2): the last sample (the drafts) or the smallest" },
        Parameter { name: "drain", unit: "", default: Value::Word("off"), domain: Domain::Words(&["off", "rollback", "target"]), doc: "at the exit the window falls by what the last two RTTs delivered (rollback, optional in the drafts), or to what the last RTT delivered (target, later drafts)" },
    ],
    choices: &[
        "the constants are those of drafts -08 and -09 as FreeBSD has them",
        "the roll-back at the exit is optional in the drafts and off here",
    ],
    pitfalls: &[
        "needs 13 bins, 4.5 RTTs, before it can judge: a pipe that is full earlier ends with a loss",
        "with the last RTT in (2) a queue that grows moves the comparison back as it grows: the verdict comes five RTTs after the pipe is full, and buffers under some 4 BDP lose first; with shift = min it comes after about three",
    ],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::SlowStart(|_, arguments| Box::new(Search::new(arguments))),
};

/// Bins of the window, and the share of the first RTT that one takes: 3.5 RTTs together.
const BINS: usize = 10;
const BIN_SHARE: f64 = 0.35;
/// More bins than this without an ACK, and it begins anew.
const MISSED: u64 = 2;
/// 10 bins of the window, 35 extra, and room for the interpolation.
const KEPT: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drain {
    Off,
    Rollback,
    Target,
}

/// SEARCH.
#[derive(Clone, Debug)]
pub struct Search {
    sent_form: bool,
    thresh: f64,
    extra: f64,
    latest: bool,
    drain: Drain,
    /// Nanoseconds; 0 before the first ACK.
    bin: u64,
    end: u64,
    /// Bins closed; the counts of the last `KEPT` of them.
    closed: usize,
    delivered: [u64; KEPT],
    sent: [u64; KEPT],
    lost: u64,
    norm: f64,
}

/// (4).
#[must_use]
pub fn norm(prev: f64, curr: f64) -> f64 {
    if prev > 0.0 {
        (prev - curr) / prev
    } else {
        0.0
    }
}

impl Search {
    fn new(arguments: &Arguments) -> Self {
        Self {
            sent_form: arguments.word("form") == "sent",
            thresh: arguments.number("thresh"),
            extra: arguments.number("extra_bins"),
            latest: arguments.word("shift") == "latest",
            drain: match arguments.word("drain") {
                "rollback" => Drain::Rollback,
                "target" => Drain::Target,
                _ => Drain::Off,
            },
            bin: 0,
            end: 0,
            closed: 0,
            delivered: [0; KEPT],
            sent: [0; KEPT],
            lost: 0,
            norm: 0.0,
        }
    }

    /// (1), (6): closes the bins that are over; whether there were any.
    #[inline]
    fn close(&mut self, ack: &Ack, rtt: u64) -> bool {
        let now = ack.now.0;
        if self.bin > 0 && now < self.end {
            self.lost += ack.lost.0;
            return false;
        }
        let delivered = ack.delivered.0.saturating_sub(ack.acked.0);
        let sent = delivered + ack.prior_in_flight.0 + self.lost;
        self.lost += ack.lost.0;
        if let Some(passed) = (now.saturating_sub(self.end)).checked_div(self.bin) {
            if passed <= MISSED {
                for _ in 0..=passed {
                    self.keep(delivered, sent);
                }
                self.end += (passed + 1) * self.bin;
                return true;
            }
        }
        self.bin = ((rtt as f64 * BIN_SHARE) as u64).max(1);
        (self.end, self.closed) = (now + self.bin, 0);
        self.keep(delivered, sent);
        false
    }

    fn keep(&mut self, delivered: u64, sent: u64) {
        self.delivered[self.closed % KEPT] = delivered;
        self.sent[self.closed % KEPT] = sent;
        self.closed += 1;
    }

    /// A count at the end of bin `at`, which need not be whole.
    fn at(counts: &[u64; KEPT], at: f64) -> f64 {
        let whole = floor(at);
        let (low, high) = (counts[whole as usize % KEPT] as f64, counts[(whole as usize + 1) % KEPT] as f64);
        if at > whole {
            low + (high - low) * (at - whole)
        } else {
            low
        }
    }

    /// (2), (3); `None` while the past does not reach far enough.
    fn judge(&self, rtt: u64) -> Option<f64> {
        let last = self.closed.checked_sub(1)? as f64;
        let back = rtt as f64 / self.bin as f64;
        let (span, j) = (BINS as f64, last - back);
        if j < span || back > self.extra {
            return None;
        }
        let over = |counts: &[u64; KEPT], at: f64| Self::at(counts, at) - Self::at(counts, at - span);
        let curr = over(&self.delivered, last);
        let prev = if self.sent_form { over(&self.sent, j) } else { 2.0 * over(&self.delivered, j) };
        Some(norm(prev, curr))
    }

    /// Segments delivered in the last `ns`.
    fn recent(&self, ns: f64, mss: f64) -> f64 {
        let last = self.closed.saturating_sub(1) as f64;
        (Self::at(&self.delivered, last) - Self::at(&self.delivered, (last - ns / self.bin as f64).max(0.0))) / mss
    }

    fn drained(&self, ack: &Ack, w: f64) -> f64 {
        let (mss, first) = (ack.mss.0 as f64, self.bin as f64 / BIN_SHARE);
        match self.drain {
            Drain::Off => w,
            Drain::Rollback => (w - self.recent(2.0 * first, mss)).max(2.0),
            Drain::Target => self.recent(first, mss).clamp(2.0, w),
        }
    }

    fn restart(&mut self) {
        (self.bin, self.closed) = (0, 0);
    }
}

impl SlowStart for Search {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64, _: f64) -> Step {
        let grow = segments(ack); // (5)
        let Some(last) = ack.rtt else {
            self.lost += ack.lost.0;
            return Step::grow(grow);
        };
        if !self.close(ack, last.0) {
            return Step::grow(grow);
        }
        if let Some(norm) = self.judge(if self.latest { last.0 } else { ack.min_rtt.0 }) {
            self.norm = norm;
            if norm >= self.thresh {
                let target = self.drained(ack, w);
                return Step::with_exit(target - w, Some(exit::now(Reason::Norm, target, f64::NAN)));
            }
        }
        Step::grow(grow)
    }

    fn on_congestion(&mut self, _: &Congestion, _: f64, ssthresh: f64) -> f64 {
        self.restart();
        ssthresh
    }

    fn on_window(&mut self, window: &Window) {
        if window.change == Change::Idle {
            self.restart();
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("norm", self.norm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::ack_at;
    use cwndlab_units::{Bytes, Time};

    fn start() -> Search {
        Search::new(&Arguments::defaults(SPEC.parameters))
    }

    /// The sheet: of 100 kB sent 100, 70 and 65 delivered give 0, 0.30 and 0.35: the first stays, the second passes 0.26 only.
    #[test]
    fn the_norm_is_the_share_that_did_not_come_through() {
        assert_eq!([100.0, 70.0, 65.0].map(|curr| norm(100.0, curr)), [0.0, 0.3, 0.35]);
        assert!(norm(100.0, 70.0) >= start().thresh && norm(100.0, 70.0) < 0.35 && norm(100.0, 65.0) >= 0.35);
    }

    /// The sheet: a first RTT of 100 ms makes bins of 35 ms.
    #[test]
    fn the_first_rtt_makes_the_bins() {
        let mut start = start();
        let _ = start.on_ack(&ack_at(Time(1_000_000_000), 1), 10.0, 1e9);
        assert_eq!(start.bin, 35_000_000);
        // By hand: 140 ms later three more bins are over without an ACK: within the allowance; 176 ms: begun anew.
        let _ = start.on_ack(&ack_at(Time(1_139_000_000), 1), 10.0, 1e9);
        assert_eq!(start.closed, 4);
        let _ = start.on_ack(&ack_at(Time(1_139_000_000 + 176_000_000), 1), 10.0, 1e9);
        assert_eq!(start.closed, 1);
    }

    /// By hand: each 5 ms 10 segments are delivered; sent is 100 ms, 200 segments, ahead: norm 0. From 1 s on only 6 come
    /// while 10 leave: once the whole window is of that kind, norm = 0.4.
    fn run(slow: u64) -> Option<u64> {
        let mut start = start();
        let (mut delivered, mut sent) = (0, 200);
        (0..400u64).find(|n| {
            let acked = if n * 5 < 1000 { 10 } else { slow };
            let mut ack = ack_at(Time(1_000_000_000 + n * 5_000_000), acked);
            ack.prior_in_flight = Bytes((sent - delivered) * 1000);
            delivered += acked;
            ack.delivered = Bytes(delivered * 1000);
            sent += 10;
            start.on_ack(&ack, 100.0, 1e9).exit.is_some()
        })
    }

    #[test]
    fn it_leaves_when_less_is_delivered_than_was_sent() {
        assert_eq!(run(10), None);
        assert_eq!(run(8), None, "a fifth less is within the threshold");
        // 0.4 of 350 ms times the share of slow bins reaches 0.26 after 0.65 · 350 ms = 228 ms; bins end each 35 ms.
        let found = run(6).unwrap() * 5;
        assert!((1228..1228 + 40).contains(&found), "{found} ms");
    }
}
