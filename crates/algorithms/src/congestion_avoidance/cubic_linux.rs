//! CUBIC as Linux implements it.
//!
//! Source: S. Ha, I. Rhee, L. Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", ACM SIGOPS OSR 42(5), 2008;
//! constants and integer arithmetic of Linux `net/ipv4/tcp_cubic.c` v2.3.
//!
//! ```text
//! K      = ((W_max − w) / C)^(1/3),  C = 410/1024                  (1)
//! target = W_max ± ⌊C |t + RTT_min − K|³⌋, − before K              (2)
//! cnt    = w / (target − w) below the target, 100 w above          (3)
//! cnt   ≤ 20 before the first loss                                 (4)
//! friendliness: w_tcp += 1 per ⌊15 w / 8⌋ segments; cnt ≤ w / (w_tcp − w)  (5)
//! cnt   ≥ 2;  w += 1 per cnt acknowledged segments                 (6)
//! congestion event: W_max = w (1024 + 717)/2048 if w < W_max, else w; ssthresh = max(717 w / 1024, 2)  (7)
//! ```
//!
//! Units: whole segments; time in 1/1024 s. A timeout resets all state.
//! Differs from the source: (1) and the cube of (2) use floating point instead of Linux' shifted integers.

use cwndlab_control::{
    options, Ack, Build, Cause, Change, Confidence, Congestion, CongestionAvoidance, Extra, Kind, Spec, Window,
};
use cwndlab_units::maths::{cbrt, floor};
use cwndlab_units::{Bytes, Duration, Time};

use super::reno::segments;
use crate::shared::linux_counter::LinuxCounter;

options! {
    struct Options {
        /// multiplicative decrease factor, in 1/1024
        beta: f64["/1024"] = 717.0 in 100.0..=1023.0,
        /// fast convergence: a congestion event below W_max sets W_max below the window
        fast_convergence: bool = true,
        /// the window grows at least as fast as Reno's
        tcp_friendliness: bool = true,
    }
}

/// The entry.
pub static SPEC: Spec = Spec {
    name: "cubic-linux",
    title: "CUBIC (Linux)",
    kind: Kind::CongestionAvoidance,
    source: "doi:10.1145/1400097.1400105; Linux tcp_cubic.c v2.3",
    year: 2008,
    confidence: Confidence::High,
    summary:
        "CUBIC as Linux computes it: whole segments, an ACK counter, the minimum RTT in the target, beta = 717/1024.",
    parameters: Options::PARAMETERS,
    choices: &[],
    pitfalls: &["the reduction applies to the window, not to FlightSize"],
    companion: "hystart-linux",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::CongestionAvoidance(|_, arguments| Box::new(CubicLinux::new(arguments.into()))),
};

/// C: 41 · 10 / 1024 segments/s³.
const C: f64 = 410.0 / 1024.0;
/// Interval of updates while the window is constant: 1/32 s.
const MIN_UPDATE: Duration = Duration::from_nanos(1_000_000_000 / 32);
/// Period after the start of an epoch whose RTT samples do not count.
const EPOCH_GRACE: Duration = Duration::from_secs(1);

/// Congestion avoidance of CUBIC in Linux.
#[derive(Clone, Debug)]
pub struct CubicLinux {
    beta: f64,
    friendly_scale: f64,
    fast_convergence: bool,
    friendliness: bool,
    cnt: f64,
    last_max: f64,
    last_cwnd: f64,
    last_time: Time,
    origin: f64,
    k: f64,
    /// Zero before the first sample.
    delay_min: Duration,
    /// Start of the epoch; zero before the first ACK of congestion avoidance.
    epoch: Time,
    ack_cnt: f64,
    tcp_cwnd: f64,
    counter: LinuxCounter,
    /// Where nothing is in flight: when the segment was sent whose ACK came last.
    emptied: Option<Time>,
}

impl CubicLinux {
    fn new(options: Options) -> Self {
        let beta = options.beta;
        Self {
            beta,
            // Linux, bictcp_register: beta_scale = 8 (1024 + β) / 3 / (1024 − β), integer
            friendly_scale: floor(8.0 * (1024.0 + beta) / 3.0 / (1024.0 - beta)),
            fast_convergence: options.fast_convergence,
            friendliness: options.tcp_friendliness,
            cnt: 0.0,
            last_max: 0.0,
            last_cwnd: 0.0,
            last_time: Time::ZERO,
            origin: 0.0,
            k: 0.0,
            delay_min: Duration::ZERO,
            epoch: Time::ZERO,
            ack_cnt: 0.0,
            tcp_cwnd: 0.0,
            counter: LinuxCounter::default(),
            emptied: None,
        }
    }

    fn reset(&mut self) {
        (self.cnt, self.last_max, self.last_cwnd, self.last_time) = (0.0, 0.0, 0.0, Time::ZERO);
        (self.origin, self.k, self.epoch, self.ack_cnt, self.tcp_cwnd) = (0.0, 0.0, Time::ZERO, 0.0, 0.0);
        self.delay_min = Duration::ZERO;
    }

    fn update(&mut self, now: Time, w: f64, acked: f64) {
        self.ack_cnt += acked;
        if self.last_cwnd == w && now - self.last_time <= MIN_UPDATE {
            return;
        }
        let first = self.epoch == Time::ZERO;
        if first || now != self.last_time {
            self.last_cwnd = w;
            self.last_time = now;
            if first {
                self.begin(now, w, acked);
            }
            self.update_count(now, w);
        }
        self.apply_friendliness(w);
        self.cnt = self.cnt.max(2.0); // (6)
    }

    fn begin(&mut self, now: Time, w: f64, acked: f64) {
        self.epoch = now;
        self.ack_cnt = acked;
        self.tcp_cwnd = w;
        if self.last_max <= w {
            (self.k, self.origin) = (0.0, w);
        } else {
            (self.k, self.origin) = (cbrt((self.last_max - w) / C), self.last_max);
            // (1)
        }
    }

    fn update_count(&mut self, now: Time, w: f64) {
        let t = (now - self.epoch + self.delay_min).as_nanos() as f64 * 1e-9 - self.k;
        // (2): the distance from the origin is rounded down to whole segments, so the plateau is one segment high.
        let distance = floor(C * t.abs() * t.abs() * t.abs());
        let target = if t < 0.0 { self.origin - distance } else { self.origin + distance };
        self.cnt = if target > w { floor(w / (target - w)) } else { 100.0 * w }; // (3)
        if self.last_max == 0.0 {
            self.cnt = self.cnt.min(20.0); // (4)
        }
    }

    /// Linux, `cubictcp_cwnd_event` (`CA_EVENT_TX_START`): where nothing was in flight before a segment that was `sent`
    /// then, the epoch moves by the time since the last one, but not beyond that moment.
    fn resume(&mut self, sent: Option<Time>) {
        let (Some(last), Some(sent)) = (self.emptied.take(), sent) else { return };
        if self.epoch != Time::ZERO && sent > last {
            self.epoch = (self.epoch + (sent - last)).min(sent).max(Time::from_nanos(1));
        }
    }

    fn apply_friendliness(&mut self, w: f64) {
        if !self.friendliness {
            return;
        }
        let delta = floor(w * self.friendly_scale / 8.0);
        if self.ack_cnt > delta && delta > 0.0 {
            // Linux: while (ca->ack_cnt > delta), both whole numbers.
            let steps = floor((self.ack_cnt - 1.0) / delta);
            self.ack_cnt -= steps * delta;
            self.tcp_cwnd += steps;
        }
        if self.tcp_cwnd > w {
            self.cnt = self.cnt.min(floor(w / (self.tcp_cwnd - w))); // (5)
        }
    }
}

impl CongestionAvoidance for CubicLinux {
    #[inline]
    fn observe(&mut self, ack: &Ack, _: f64) {
        let sent = ack.rtt.map(|rtt| ack.now - rtt.min(ack.now - Time::ZERO));
        self.resume(sent);
        self.emptied = sent.filter(|_| ack.in_flight == Bytes::ZERO);
        let Some(rtt) = ack.rtt else { return };
        if self.epoch != Time::ZERO && ack.now - self.epoch < EPOCH_GRACE {
            return;
        }
        if self.delay_min == Duration::ZERO || rtt < self.delay_min {
            self.delay_min = rtt.max(Duration::from_nanos(1));
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, w: f64) -> f64 {
        let n = segments(ack);
        let whole = floor(w);
        self.update(ack.now, whole, n);
        w + self.counter.add(n, self.cnt)
    }

    fn on_congestion(&mut self, event: &Congestion, w: f64) -> f64 {
        let whole = floor(w);
        self.epoch = Time::ZERO;
        // No margins in this file: windows and counters are whole numbers.
        let shrinks = whole < self.last_max && self.fast_convergence;
        self.last_max = if shrinks { floor(whole * (1024.0 + self.beta) / 2048.0) } else { whole }; // (7)
        if event.cause == Cause::Timeout {
            self.reset();
        }
        self.counter.reset();
        floor(whole * self.beta / 1024.0).max(2.0)
    }

    fn on_window(&mut self, window: &Window) {
        match window.change {
            // Linux, cubictcp_cwnd_event: the epoch moves by the idle time, but not beyond the present.
            Change::Idle => {
                self.emptied = None;
                if self.epoch != Time::ZERO {
                    self.epoch = (self.epoch + window.idle).min(window.now);
                }
            }
            // Linux, tcp_reno_undo_cwnd: only window and threshold are restored. The reduction ended the epoch and left
            // a W_max not above the window, so a new curve starts at the window.
            Change::Undo => {
                (self.epoch, self.last_max) = (Time::ZERO, 1.0);
                self.counter.reset();
            }
            _ => {}
        }
    }

    fn extra(&self, put: Extra<'_>) {
        put("w_max_segments", self.last_max);
        put("k_s", self.k);
        put("cnt", self.cnt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_control::testing::{ack_at, loss};

    fn flow() -> CubicLinux {
        CubicLinux::new(Options::default())
    }

    /// By hand: ⌊8 · 1741 / 3 / 307⌋ = 15; ⌊717 · 100 / 1024⌋ = 70; K = (30 / 0.4004)^(1/3) = 4.2158 s.
    #[test]
    fn integer_arithmetic_matches_linux() {
        let mut flow = flow();
        assert_eq!(flow.friendly_scale, 15.0);
        assert_eq!(flow.on_congestion(&loss(100), 100.0), 70.0);
        flow.begin(Time::from_nanos(1), 70.0, 1.0);
        assert!((flow.k - 4.2158).abs() < 1e-4, "{}", flow.k);
    }

    /// (2): one second before K the curve is C = 0.4 segments below the origin, rounded down to 0: the target is
    /// already the origin, and the window reaches it within a round trip. Two seconds before K the distance is 3.2,
    /// rounded to 3.
    #[test]
    fn the_plateau_is_one_segment_high() {
        let mut flow = flow();
        let second = |n| Time::ZERO + Duration::from_secs(n);
        (flow.origin, flow.k, flow.epoch, flow.last_max) = (135.0, 4.0, second(1), 135.0);
        flow.update_count(second(4), 134.0);
        assert_eq!(flow.cnt, 134.0);
        flow.update_count(second(3), 130.0);
        assert_eq!(flow.cnt, 65.0); // 130 / (132 - 130)
        flow.update_count(second(7), 135.0);
        assert_eq!(flow.cnt, 45.0); // 135 / (138 - 135)
    }

    /// `cubictcp_cwnd_event`, by hand: the last segment before a pause is sent at 2.0 s and acknowledged at 2.1 s, the next
    /// one at 5.0 s and 5.1 s: the epoch moves by three seconds. The transport's own restart is not counted twice.
    #[test]
    fn the_epoch_moves_by_a_pause() {
        let at = |ms: u64, in_flight: u64| {
            let now = Time::from_nanos(ms * 1_000_000);
            Ack { in_flight: Bytes(in_flight), rtt: Some(Duration::from_millis(100)), ..ack_at(now, 1) }
        };
        let mut flow = flow();
        flow.begin(Time::from_nanos(1_000_000_000), 70.0, 1.0);
        for (ms, in_flight) in [(2000, 1000), (2100, 0), (5100, 1000), (5200, 1000)] {
            flow.observe(&at(ms, in_flight), 70.0);
        }
        assert_eq!(flow.epoch, Time::from_nanos(4_000_000_000));
        flow.observe(&at(5300, 0), 70.0);
        let idle = Duration::from_secs(2);
        flow.on_window(&Window { idle, ..Window::new(Time::from_nanos(7_200_000_000), Change::Idle, Bytes(10_000)) });
        flow.observe(&at(7300, 0), 70.0);
        assert_eq!(flow.epoch, Time::from_nanos(6_000_000_000));
    }

    /// (7): a window below the last maximum sets W_max to 1741/2048 of itself.
    #[test]
    fn fast_convergence_sets_w_max_to_85_percent() {
        let mut flow = flow();
        let _ = flow.on_congestion(&loss(100), 100.0);
        let _ = flow.on_congestion(&loss(80), 80.0);
        assert_eq!(flow.last_max, 68.0);
    }
}
