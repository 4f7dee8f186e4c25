//! HighSpeed TCP: AIMD whose increase and decrease depend on the window.
//!
//! Source: S. Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649, 2003.
//!
//! ```text
//! u    = (ln w − ln 38) / (ln 83000 − ln 38)                     (1)
//! b(w) = 0.5 + (0.1 − 0.5) u                                     (2)
//! p(w) = exp(ln 1e-3 + u (ln 1e-7 − ln 1e-3))                    (3)
//! a(w) = w² p(w) 2 b(w) / (2 − b(w));  a = 1, b = 1/2 up to 38   (4)
//! each ack: w += n a(w) / w;  congestion event: w = (1 − b(w)) w  (5)
//! ```
//!
//! Units: segments.
//! Differs from the source: a(w) is evaluated once per whole segment of window; u is 1 above 83000. Linux takes the next
//! row of the table of appendix B, and counts ACKs: `highspeed(rule=table, per_ack=true)`.

use cwndlab_control::{options, Ack, Build, Confidence, Congestion, CongestionAvoidance, Kind, Spec};
use cwndlab_units::maths::{exp, floor, ln};

use super::reno::{acked_count, PerAck};

options! {
    struct Options {
        /// half: in recovery the window may fall to half of ssthresh, as in the Linux modules of ns-2.35 (needs fack)
        min_cwnd: MinCwnd { Ssthresh = "ssthresh", Half = "half" } = Ssthresh,
        /// table: the rows of appendix B, of which the next one holds for windows between two (Linux)
        rule: Rule { Formula = "formula", Table = "table" } = Formula,
        /// true: a(w)/w per ACK, regardless of the segments that it acknowledges (Linux)
        per_ack: PerAck = False,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "highspeed",
    title: "HighSpeed TCP",
    kind: Kind::CongestionAvoidance,
    source: "RFC 3649",
    year: 2003,
    confidence: Confidence::High,
    summary: "Reno up to 38 segments. Above, the response function of RFC 3649 gives larger increments and smaller reductions.",
    parameters: Options::PARAMETERS,
    choices: &["the formula; the table of 72 rows, as in Linux, is an option"],
    pitfalls: &["large windows need limited slow start (RFC 3742)"],
    companion: "standard",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(HighSpeed::new(arguments.into()))),
};

const LOW_WINDOW: f64 = 38.0;
const HIGH_WINDOW: f64 = 83_000.0;

fn unlimited_u(w: f64) -> f64 {
    (ln(w) - ln(LOW_WINDOW)) / (ln(HIGH_WINDOW) - ln(LOW_WINDOW)) // (1)
}

fn u(w: f64) -> f64 {
    unlimited_u(w).clamp(0.0, 1.0)
}

/// b(w), the decrease fraction. It is continuous at the low window and needs no margin.
#[must_use]
pub fn b(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        0.5
    } else {
        0.5 + (0.1 - 0.5) * u(w)
    } // (2)
}

/// a(w), the increment in segments per round trip.
#[must_use]
pub fn a(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let u = u(w);
    let b = b(w);
    let p = exp(ln(1e-3) + u * (ln(1e-7) - ln(1e-3)));
    // (3); (4) is below 1 up to 40 segments, and the table of appendix B has 1 from 38 on.
    (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
}

/// The windows of appendix B; a(w) of the first is 1, of the next 2, and so on.
const ROWS: [f64; 72] = [
    38.0, 118.0, 221.0, 347.0, 495.0, 663.0, 851.0, 1_058.0, 1_284.0, 1_529.0, 1_793.0, 2_076.0, 2_378.0, 2_699.0,
    3_039.0, 3_399.0, 3_778.0, 4_177.0, 4_596.0, 5_036.0, 5_497.0, 5_979.0, 6_483.0, 7_009.0, 7_558.0, 8_130.0,
    8_726.0, 9_346.0, 9_991.0, 10_661.0, 11_358.0, 12_082.0, 12_834.0, 13_614.0, 14_424.0, 15_265.0, 16_137.0,
    17_042.0, 17_981.0, 18_955.0, 19_965.0, 21_013.0, 22_101.0, 23_230.0, 24_402.0, 25_618.0, 26_881.0, 28_193.0,
    29_557.0, 30_975.0, 32_450.0, 33_986.0, 35_586.0, 37_253.0, 38_992.0, 40_808.0, 42_707.0, 44_694.0, 46_776.0,
    48_961.0, 51_258.0, 53_677.0, 56_230.0, 58_932.0, 61_799.0, 64_851.0, 68_113.0, 71_617.0, 75_401.0, 79_517.0,
    84_035.0, 89_053.0,
];

/// The row of appendix B for a window.
fn row(w: f64) -> usize {
    ROWS.partition_point(|&of_row| of_row < w).min(ROWS.len() - 1)
}

/// b of a row, in 256ths as Linux has it.
fn row_b(row: usize) -> f64 {
    floor(256.0 * (0.5 + (0.1 - 0.5) * unlimited_u(ROWS[row]))) / 256.0
}

/// Congestion avoidance of HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    per_ack: bool,
    table: bool,
    /// The window, in whole segments, for which `a` was computed.
    at: f64,
    a: f64,
    /// The row of the table, which only congestion avoidance sets: a loss that ends slow start halves the window.
    row: usize,
}

impl HighSpeed {
    fn new(options: Options) -> Self {
        Self { per_ack: options.per_ack == PerAck::True, table: options.rule == Rule::Table, at: -1.0, a: 1.0, row: 0 }
    }
}

impl CongestionAvoidance for HighSpeed {
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let whole = floor(w);
        if whole != self.at {
            self.at = whole;
            self.row = row(whole);
            self.a = if self.table { self.row as f64 + 1.0 } else { a(whole) };
        }
        w + acked_count(ack, self.per_ack) * self.a / w // (5)
    }

    fn on_congestion(&mut self, _: &Congestion, w: f64) -> f64 {
        if self.table {
            return (floor(w) - floor(floor(w) * row_b(self.row))).max(2.0);
        }
        ((1.0 - b(w)) * w).max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack, loss};

    /// RFC 3649, appendix B: a is 1 at 38 segments and 2 at 118; it does not fall between them.
    #[test]
    fn the_increase_is_never_below_that_of_reno() {
        assert_eq!([38.0, 39.0, 40.0].map(a), [1.0, 1.0, 1.0]);
        assert!(a(41.0) > 1.0 && (a(118.0) - 2.0).abs() < 0.05);
    }

    /// RFC 3649, appendix B: up to 38 segments a = 1 and b = 0.50; up to 118, 2 and 0.44; up to 221, 3 and 0.41; the last
    /// row is 89053, with b = 0.10. Linux has b in 256ths and a per ACK, and halves the window before it has a row.
    #[test]
    fn the_table_holds_between_its_rows() {
        let mut flow = HighSpeed::new(Options { rule: Rule::Table, per_ack: PerAck::True, ..Options::default() });
        assert_eq!(flow.on_congestion(&loss(1), 1000.0), 500.0);
        for (w, a, b) in [(38.0, 1.0, 0.5), (39.0, 2.0, 0.44), (118.0, 2.0, 0.44), (119.0, 3.0, 0.41), (1e6, 72.0, 0.1)]
        {
            assert_eq!(flow.on_ack(&ack(2), w), w + a / w);
            assert!((1.0 - flow.on_congestion(&loss(1), w) / w - b).abs() < 0.5 / w + 0.007, "{w}");
        }
    }
}
