//! From an output of a policy to a window and a pacing rate, as `cwndlab.gym.Action`.

use cwndlab_units::maths;
use serde::Deserialize;

use super::features::Measured;
use crate::external;

/// The kind of an action a in [−1, 1] on the window w or the pacing rate r, with a scale s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// w · s^a
    PowerWindow,
    /// w · (1 + s a) for a ≥ 0, otherwise w / (1 − s a)
    DeltaWindow,
    /// The same of r, with a window of 2 r · SRTT.
    DeltaRate,
}

/// An action.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Its kind.
    pub kind: Kind,
    /// s
    pub scale: f64,
    /// Lower limit of w, or of r · SRTT, segments.
    pub lowest: f64,
    /// Upper limit.
    pub highest: f64,
}

impl Action {
    /// The factor by which window or rate change.
    #[must_use]
    pub fn factor(&self, output: f64) -> f64 {
        let limited = output.clamp(-1.0, 1.0);
        let step = self.scale * limited;
        match self.kind {
            Kind::PowerWindow => maths::pow(self.scale, limited),
            _ if step >= 0.0 => 1.0 + step,
            _ => 1.0 / (1.0 - step),
        }
    }

    /// The decision for this output.
    #[must_use]
    pub fn decide(&self, output: f64, now: &Measured) -> external::Action {
        let factor = self.factor(output);
        if self.kind != Kind::DeltaRate {
            let cwnd = Some((now.cwnd * factor).clamp(self.lowest, self.highest));
            return external::Action { cwnd, ..external::Action::default() };
        }
        if now.srtt.is_nan() {
            return external::Action::default();
        }
        let rate = if now.pacing_rate.is_finite() { now.pacing_rate } else { now.cwnd / now.srtt };
        let rate = (rate * factor).clamp(self.lowest / now.srtt, self.highest / now.srtt);
        external::Action { cwnd: Some(2.0 * rate * now.srtt), pacing: Some(Some(rate)), ..external::Action::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(kind: Kind, scale: f64) -> Action {
        Action { kind, scale, lowest: 2.0, highest: 100.0 }
    }

    /// By hand: 10 · 4^½ = 20, 10 · 4^−1 = 2.5; beyond ±1 the same as ±1.
    #[test]
    fn a_power_multiplies_the_window() {
        let now = Measured { cwnd: 10.0, ..Measured::nothing() };
        let windows = [0.5, -1.0, -9.0, 9.0].map(|output| action(Kind::PowerWindow, 4.0).decide(output, &now).cwnd);
        assert_eq!(windows, [Some(20.0), Some(2.5), Some(2.5), Some(40.0)]);
    }

    /// By hand: 10 · 2, 10 / 2; limits of 2 and 100.
    #[test]
    fn a_delta_adds_a_part_of_the_window() {
        let at = |cwnd, output| {
            action(Kind::DeltaWindow, 1.0).decide(output, &Measured { cwnd, ..Measured::nothing() }).cwnd
        };
        assert_eq!([at(10.0, 1.0), at(10.0, -1.0)], [Some(20.0), Some(5.0)]);
        assert_eq!([at(90.0, 1.0), at(2.0, -1.0)], [Some(100.0), Some(2.0)]);
    }

    /// By hand: 10 segments in 0.1 s are 100 /s; times 1.5 are 150 /s with a window of 30. Without an RTT nothing.
    #[test]
    fn a_rate_begins_with_the_window_per_rtt() {
        let now = Measured { cwnd: 10.0, srtt: 0.1, ..Measured::nothing() };
        let decided = action(Kind::DeltaRate, 0.5).decide(1.0, &now);
        assert_eq!((decided.cwnd, decided.pacing), (Some(30.0), Some(Some(150.0))));
        let unknown = action(Kind::DeltaRate, 0.5).decide(1.0, &Measured::nothing());
        assert_eq!(unknown, external::Action::default());
    }
}
