//! SCReAMv2: a congestion control for media by a window of bytes in flight (draft-ietf-ccwg-rfc8298bis-screamv2).
//!
//! The base delay is the smallest one-way delay of the last ten minutes, in bins of a minute (RFC 6817). No congestion has
//! been detected at the start: growth is not held back after it. The RTT counts the time until the report, as in RFC 6298.
//! Delay holds growth back as losses and marks do, as in the authors' code (github.com/EricssonResearch/scream); the
//! draft's pseudocode names the latter two. Of the draft's options, none is in use: scaling by jitter, clock drift, loss
//! filter, policer detection, undershoot, and compensation for competing flows; the overhead of the window is that without
//! the first of them.

use std::collections::VecDeque;

use cwndlab_units::{Bytes, Duration, Time};

use crate::media::feedback::Format;
use crate::media::rate_control::{Decision, Feedback, FrameInfo, Parameters, RateControl, SentPacket};

/// Target of the queueing delay, s.
const QDELAY_TARGET: f64 = 0.06;
const MIN_REF_WND: f64 = 3000.0;
const HEAD_ROOM: f64 = 1.5;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
const MSS: f64 = 1000.0;
/// RTTs for which growth is slower after congestion.
const POST_CONGESTION_RTTS: f64 = 100.0;
const MUL_INCREASE: f64 = 0.02;
/// s.
const VIRTUAL_RTT: f64 = 0.025;
const ALPHA_GAIN_UP: f64 = 1.0 / 8.0;
const ALPHA_GAIN_DOWN: f64 = 1.0 / 128.0;
const QDELAY_GAIN: f64 = 0.25;
/// Shortest interval of the updates of alpha, s.
const ALPHA_INTERVAL: f64 = 0.01;
/// The bytes in flight may be this multiple of the window.
const REF_WND_OVERHEAD: f64 = 3.0;
const RATE_PACE_MIN: f64 = 50e3;
const PACING_HEAD_ROOM: f64 = 1.5;
/// The largest factor of relaxed pacing, and the share of the largest rate from which it begins.
const RELAXED_PACING: (f64, f64) = (4.0, 0.8);
/// Bytes of headers per packet in the target rate.
const PACKET_OVERHEAD: f64 = 20.0;
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const FRAME_SIZE_GAIN: f64 = 1.0 / 64.0;
/// Bins of the base delay, and the length of one.
const BASE_BINS: usize = 10;
const BASE_BIN: Duration = Duration::from_secs(60);
/// Gain of the smoothed RTT (RFC 6298).
const SRTT_GAIN: f64 = 1.0 / 8.0;

/// Congestion, the strongest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Congestion {
    Delay,
    Mark,
    Loss,
}

/// The sender.
#[derive(Debug)]
pub(crate) struct Control {
    range: (f64, f64),
    is_l4s: bool,
    /// Time between two frames, s.
    frame_interval: f64,
    /// The reference window, and its last inflection point, bytes.
    ref_wnd: f64,
    ref_wnd_i: f64,
    /// The window has grown since its last reduction, or was not reduced yet.
    has_grown: bool,
    alpha: Alpha,
    queue: QueueDelay,
    /// The smoothed RTT, s.
    srtt: f64,
    flight: FlightMaxima,
    reduced: Option<Time>,
    /// A loss or mark since then.
    detected: Option<Congestion>,
    media: MediaQueue,
}

/// The share of marked packets.
#[derive(Debug, Default)]
struct Alpha {
    value: f64,
    marked: f64,
    delivered: f64,
    updated: Time,
}

impl Alpha {
    fn update(&mut self, now: Time, srtt: f64) {
        if seconds(now - self.updated) < ALPHA_INTERVAL.min(srtt) || self.delivered == 0.0 {
            return;
        }
        let share = self.marked / self.delivered;
        self.value = if share >= self.value {
            ALPHA_GAIN_UP * share + (1.0 - ALPHA_GAIN_UP) * self.value
        } else {
            (1.0 - ALPHA_GAIN_DOWN) * self.value
        };
        (self.marked, self.delivered, self.updated) = (0.0, 0.0, now);
    }
}

/// The queueing delay.
#[derive(Debug, Default)]
struct QueueDelay {
    /// Smallest one-way delays of bins, s, the latest last, and the start of that bin.
    bins: VecDeque<f64>,
    bin: Time,
    latest: f64,
    average: f64,
    updated: Time,
}

impl QueueDelay {
    /// Handles the one-way delay of a packet, s.
    fn on_delay(&mut self, delay: f64, now: Time) {
        if self.bins.is_empty() || now - self.bin >= BASE_BIN {
            self.bins.push_back(delay);
            self.bin = now;
            if self.bins.len() > BASE_BINS {
                self.bins.pop_front();
            }
        } else if let Some(last) = self.bins.back_mut() {
            *last = last.min(delay);
        }
        self.latest = delay - self.bins.iter().copied().fold(f64::INFINITY, f64::min);
    }

    fn update(&mut self, now: Time, srtt: f64) {
        if seconds(now - self.updated) < VIRTUAL_RTT.min(srtt) {
            return;
        }
        self.average = if self.latest < self.average {
            self.latest
        } else {
            self.average + QDELAY_GAIN * (self.latest - self.average)
        };
        self.updated = now;
    }
}

/// The largest number of bytes in flight in the current round trip and in the one before.
#[derive(Debug, Default)]
struct FlightMaxima {
    current: f64,
    previous: f64,
    since: Time,
}

impl FlightMaxima {
    fn update(&mut self, in_flight: f64, now: Time, srtt: f64) {
        if seconds(now - self.since) >= srtt.max(VIRTUAL_RTT) {
            (self.previous, self.current, self.since) = (self.current, 0.0, now);
        }
        self.current = self.current.max(in_flight);
    }

    fn largest(&self) -> f64 {
        self.current.max(self.previous)
    }
}

/// What frames do to the target rate.
#[derive(Debug, Default)]
struct MediaQueue {
    /// By the delay of packets before they are sent.
    adjustment: f64,
    /// By frames larger than the target.
    deviation: f64,
}

fn seconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e9
}

impl Control {
    /// A sender with the smallest window.
    pub(crate) fn new(parameters: &Parameters, now: Time) -> Self {
        Self {
            range: parameters.range,
            is_l4s: parameters.is_l4s,
            frame_interval: 1.0 / parameters.frame_rate,
            ref_wnd: MIN_REF_WND,
            ref_wnd_i: 1.0,
            has_grown: true,
            alpha: Alpha { updated: now, ..Alpha::default() },
            queue: QueueDelay { updated: now, ..QueueDelay::default() },
            srtt: VIRTUAL_RTT,
            flight: FlightMaxima { since: now, ..FlightMaxima::default() },
            reduced: None,
            detected: None,
            media: MediaQueue::default(),
        }
    }

    /// How far the window is from the last inflection point.
    fn scale(&self) -> f64 {
        let distance = 8.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        (distance * distance).clamp(0.1, 1.0)
    }

    /// The RTT as a multiple of the virtual one, at least 1.
    fn rounds(&self) -> f64 {
        (self.srtt / VIRTUAL_RTT).max(1.0)
    }

    /// The reduction by the strongest congestion, unless one was within an RTT; `scale` as before it.
    fn reduce(&mut self, scale: f64, now: Time) {
        let since = self.reduced.map(|at| seconds(now - at));
        if since.is_some_and(|since| since < VIRTUAL_RTT.min(self.srtt)) {
            return;
        }
        let delay = (self.queue.average > QDELAY_TARGET / 2.0).then_some(Congestion::Delay);
        let Some(congestion) = self.detected.take().max(delay) else { return };
        if self.has_grown {
            (self.ref_wnd_i, self.has_grown) = (self.ref_wnd, false);
        }
        let factor = match congestion {
            Congestion::Loss => BETA_LOSS,
            Congestion::Mark if !self.is_l4s => BETA_ECN,
            Congestion::Mark => {
                let mut backoff = self.alpha.value / 2.0 / self.rounds();
                if self.queue.latest < QDELAY_TARGET / 4.0 {
                    backoff *= scale.max(0.25);
                }
                if since.is_some_and(|since| since > POST_CONGESTION_RTTS * self.srtt.max(VIRTUAL_RTT)) {
                    self.ref_wnd = self.ref_wnd.min(self.flight.previous);
                }
                1.0 - backoff
            }
            Congestion::Delay => {
                let half = QDELAY_TARGET / 2.0;
                1.0 - ((self.queue.average - half) / half).clamp(0.0, 1.0) / 2.0 / self.rounds()
            }
        };
        self.ref_wnd = (self.ref_wnd * factor).max(MIN_REF_WND);
        self.reduced = Some(now);
    }

    /// The growth by `acked` bytes without marks; `scale` as before the reduction.
    fn increase(&mut self, acked: f64, scale: f64, now: Time) {
        let after = POST_CONGESTION_RTTS * self.srtt.max(VIRTUAL_RTT);
        let post = self.reduced.map_or(1.0, |at| (seconds(now - at) / after).clamp(0.0, 1.0));
        let grown = acked
            * (MSS / self.ref_wnd).min(1.0)
            * (self.srtt / VIRTUAL_RTT).min(1.0)
            * scale.max(0.25)
            * (1.0 + MUL_INCREASE * self.ref_wnd / MSS * post * scale);
        let limit = MSS + HEAD_ROOM * self.flight.largest();
        if grown > 0.0 && self.ref_wnd + grown <= limit && self.target() < self.range.1 {
            self.ref_wnd += grown;
            self.has_grown = true;
        }
    }

    /// The target rate of the encoder, bit/s.
    fn target(&self) -> f64 {
        let small = 1.0 - (MSS / self.ref_wnd - 0.1).clamp(0.0, 0.2);
        let shared = 1.2 + self.media.adjustment + self.media.deviation;
        let rate = 8.0 * self.ref_wnd / self.srtt * small * MSS / (MSS + PACKET_OVERHEAD) / shared;
        rate.clamp(self.range.0, self.range.1)
    }

    /// The rate of packets, bit/s.
    fn pacing(&self) -> f64 {
        let (factor, from) = RELAXED_PACING;
        let scale = (1.0 - (self.target() / self.range.1 - from) / (1.0 - from)).clamp(1.0 / factor, 1.0);
        RATE_PACE_MIN.max(self.target()) * PACING_HEAD_ROOM / scale
    }
}

impl RateControl for Control {
    fn format(&self) -> Format {
        Format::PerPacket
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.flight.update(packet.in_flight.0 as f64, packet.sent, self.srtt);
    }

    fn on_frame(&mut self, frame: &FrameInfo) {
        let delay = seconds(frame.queue_delay) - self.frame_interval / 4.0;
        let media = &mut self.media;
        media.adjustment = (media.adjustment + delay / self.frame_interval * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
        let error = (frame.size.0 as f64 / frame.expected - 1.0).max(0.0);
        media.deviation = (media.deviation + FRAME_SIZE_GAIN * (error - media.deviation)).clamp(0.0, 0.2);
    }

    fn on_feedback(&mut self, feedback: &Feedback, now: Time) {
        let newest = feedback.packets.iter().rev().find_map(|one| Some((one.sent, one.arrival?)));
        if let Some((sent, arrival)) = newest {
            let (rtt, is_first) = (seconds(now - sent), self.queue.bins.is_empty());
            self.srtt = if is_first { rtt } else { self.srtt + SRTT_GAIN * (rtt - self.srtt) };
            self.queue.on_delay(seconds(arrival - sent), now);
        }
        let (mut acked, mut marked, mut lost) = (0.0, 0_u32, false);
        for one in &feedback.packets {
            marked += u32::from(one.is_marked);
            lost |= one.arrival.is_none();
            // What is missing counts with the first report, and not again when it arrives later.
            acked += if one.is_marked || one.was_missing { 0.0 } else { one.size.0 as f64 };
        }
        self.alpha.marked += f64::from(marked);
        self.alpha.delivered += feedback.packets.iter().filter(|one| one.arrival.is_some()).count() as f64;
        self.alpha.update(now, self.srtt);
        self.queue.update(now, self.srtt);
        let mark = (marked > 0).then_some(Congestion::Mark);
        self.detected = self.detected.max(mark).max(lost.then_some(Congestion::Loss));
        let scale = self.scale();
        self.reduce(scale, now);
        self.increase(acked, scale, now);
    }

    fn decision(&self, _buffered: Bytes) -> Decision {
        let window = Some(Bytes((self.ref_wnd * REF_WND_OVERHEAD) as u64));
        Decision { target: self.target(), pacing: self.pacing(), window, probe: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::rate_control::PacketFeedback;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn control(ref_wnd: f64, srtt: f64, is_l4s: bool) -> Control {
        let parameters = Parameters {
            range: (150e3, 1e9),
            priority: 1.0,
            feedback: Duration::from_millis(40),
            frame_rate: 30.0,
            is_l4s,
        };
        Control { ref_wnd, srtt, ..Control::new(&parameters, at(0)) }
    }

    /// The window after one reduction, over the window before.
    fn factor(mut control: Control, congestion: Option<Congestion>) -> f64 {
        let before = control.ref_wnd;
        control.detected = congestion;
        control.reduce(control.scale(), at(1000));
        control.ref_wnd / before
    }

    /// Draft, "Reference Window Update", by hand: ×0.7 by a loss, ×0.8 by a classic mark; with L4S and alpha 0.5, ×0.75 at
    /// an RTT of 25 ms and ×0.875 at 50 ms; by a delay of 45 ms at an RTT of 100 ms ×0.9375, of 60 ms ×0.875.
    #[test]
    fn reductions_by_the_kind_of_congestion() {
        assert!((factor(control(1e4, 0.1, false), Some(Congestion::Loss)) - 0.7).abs() < 1e-12);
        assert!((factor(control(1e4, 0.1, false), Some(Congestion::Mark)) - 0.8).abs() < 1e-12);
        for (srtt, expected) in [(0.025, 0.75), (0.05, 0.875)] {
            let mut scalable = control(1e4, srtt, true);
            scalable.alpha.value = 0.5;
            assert!((factor(scalable, Some(Congestion::Mark)) - expected).abs() < 1e-12);
        }
        for (average, expected) in [(0.03, 1.0), (0.045, 0.9375), (0.06, 0.875)] {
            let mut late = control(1e4, 0.1, false);
            late.queue.average = average;
            assert!((factor(late, None) - expected).abs() < 1e-12);
        }
        assert!((factor(control(3500.0, 0.1, false), Some(Congestion::Loss)) * 3500.0 - 3000.0).abs() < 1e-9);
    }

    /// By hand: one reduction per min(25 ms, SRTT).
    #[test]
    fn reductions_have_a_distance() {
        let mut one = control(1e5, 0.1, false);
        for ms in [100, 124, 125] {
            one.detected = Some(Congestion::Loss);
            one.reduce(1.0, at(ms));
        }
        assert!((one.ref_wnd - 49_000.0).abs() < 1e-6);
    }

    /// Draft, "Reference Window Reduction": the flags tell of losses and marks since the last reaction, so that what comes too
    /// early for a reduction is not forgotten.
    #[test]
    fn a_loss_soon_after_a_reduction_reduces_later() {
        let mut one = control(1e5, 0.1, false);
        one.on_feedback(&feedback(100, &[false]), at(100));
        one.on_feedback(&feedback(110, &[false]), at(110));
        assert!((one.ref_wnd - 7e4).abs() < 1e-6, "{}", one.ref_wnd);
        one.on_feedback(&Feedback::default(), at(125));
        assert!((one.ref_wnd - 4.9e4).abs() < 1e-6, "{}", one.ref_wnd);
    }

    /// Draft, "Reference Window Reduction": the scale is computed before the inflection point moves. By hand, alpha = 0.5 at
    /// an RTT of 25 ms and without a queue: × (1 − 0.5/2) at twice the inflection point, × (1 − 0.5/2 · 0.25) close to it;
    /// the window is the next inflection point.
    #[test]
    fn a_reduction_depends_on_the_inflection_point_before_it() {
        for (ref_wnd_i, expected) in [(5e3, 0.75), (9.9e3, 0.9375)] {
            let mut one = Control { ref_wnd_i, has_grown: true, ..control(1e4, 0.025, true) };
            one.alpha.value = 0.5;
            one.detected = Some(Congestion::Mark);
            one.reduce(one.scale(), at(1000));
            assert!((one.ref_wnd / 1e4 - expected).abs() < 1e-12, "{}", one.ref_wnd);
            assert!((one.ref_wnd_i - 1e4).abs() < 1e-12);
        }
    }

    /// Draft, "Reference Window Reduction": if the last reaction is more than 100 RTTs ago, the window is no more than the
    /// largest number of bytes in flight in the previous round trip.
    #[test]
    fn a_late_mark_reduces_to_the_flight_of_the_previous_round_trip() {
        for (ms, expected) in [(9_999, 10_000.0), (10_001, 5000.0)] {
            let mut one = Control { reduced: Some(at(0)), ..control(1e4, 0.1, true) };
            (one.flight.previous, one.flight.current) = (5000.0, 9000.0);
            one.detected = Some(Congestion::Mark);
            one.reduce(1.0, at(ms));
            assert!((one.ref_wnd - expected).abs() < 1e-9, "{ms} {}", one.ref_wnd);
        }
    }

    /// By hand: a report that arrives 100 ms after its newest packet was sent is an RTT of 100 ms, although the packet waited
    /// for 40 ms for the report (RFC 6298, 3: the time until the acknowledgement).
    #[test]
    fn the_rtt_counts_the_wait_for_the_report() {
        let mut one = control(1e4, 0.025, false);
        let report = Feedback { rtt: Some(Duration::from_millis(60)), ..feedback(1000, &[true]) };
        one.on_feedback(&report, at(1000));
        assert!((one.srtt - 0.1).abs() < 1e-12, "{}", one.srtt);
    }

    /// Packets that were sent 100 ms before `ms`; those that are `true` arrived 30 ms later.
    fn feedback(ms: u64, arrived: &[bool]) -> Feedback {
        let packet = |&arrived: &bool| PacketFeedback {
            size: Bytes(1000),
            sent: at(ms - 100),
            arrival: arrived.then(|| at(ms - 70)),
            is_marked: false,
            probe: None,
            was_missing: false,
        };
        Feedback { packets: arrived.iter().map(packet).collect(), ..Feedback::default() }
    }

    /// What a report states as missing counts as acknowledged with it, as in libwebrtc (`DataUnitsAckedAndNotMarked`). When it
    /// arrives after all, the window grows by nothing; by a packet of which there was no report it grows.
    #[test]
    fn a_packet_that_was_missing_is_not_acknowledged_twice() {
        let mut one = control(1e4, 0.1, false);
        one.flight.current = 1e6;
        let mut late = feedback(200, &[true]);
        late.packets[0].was_missing = true;
        let before = one.ref_wnd;
        one.on_feedback(&late, at(200));
        assert!((one.ref_wnd - before).abs() < 1e-9, "{}", one.ref_wnd);
        one.on_feedback(&feedback(300, &[true]), at(300));
        assert!(one.ref_wnd > before);
    }

    /// By hand: all packets marked, 1/8, 15/64, 0.3301; half of a value after 89 updates without marks.
    #[test]
    fn alpha_rises_by_an_eighth_and_falls_by_a_128th() {
        let mut alpha = Alpha::default();
        for (n, expected) in [(1, 0.125), (2, 0.234_375), (3, 0.330_078_125)] {
            (alpha.marked, alpha.delivered) = (10.0, 10.0);
            alpha.update(at(10 * n), 0.1);
            assert!((alpha.value - expected).abs() < 1e-12);
        }
        alpha.value = 0.5;
        let mut updates = 0;
        while alpha.value > 0.25 {
            updates += 1;
            alpha.delivered = 10.0;
            alpha.update(at(100 + 10 * updates), 0.1);
        }
        assert_eq!(updates, 89);
    }

    /// By hand: (8 · 0.05)² = 0.16, (8 · 0.1)² = 0.64, and 1 from an eighth on.
    #[test]
    fn changes_are_slower_near_the_inflection_point() {
        for (distance, expected) in [(0.0, 0.1), (0.05, 0.16), (0.1, 0.64), (0.125, 1.0), (-0.1, 0.64), (0.5, 1.0)] {
            let one = Control { ref_wnd_i: 1e4, ..control(1e4 * (1.0 + distance), 0.1, false) };
            assert!((one.scale() - expected).abs() < 1e-9, "{distance}");
        }
    }

    /// Draft, "Media Rate Control", by hand: 30,000 bytes in 50 ms are 4.8 Mbit/s; / 1.02 / 1.2 = 3.922 Mbit/s. Pacing has
    /// 1.5 times the target at half the largest rate, and 6 times at the largest.
    #[test]
    fn target_and_pacing_follow_the_window() {
        let mut one = control(3e4, 0.05, false);
        assert!((one.target() / 3.9216e6 - 1.0).abs() < 1e-4, "{}", one.target());
        one.range.1 = 2.0 * one.target();
        assert!((one.pacing() / one.target() - 1.5).abs() < 1e-9);
        one.range.1 = one.target();
        assert!((one.pacing() / one.target() - 6.0).abs() < 1e-9);
    }

    /// By hand, far from the inflection point and right after congestion: acknowledged bytes · MSS / window; none beyond the
    /// bytes in flight with their head room.
    #[test]
    fn growth_is_a_segment_per_window_and_needs_data_in_flight() {
        let mut one = control(1e4, 0.1, false);
        one.reduced = Some(at(1000));
        one.flight.current = 1e4;
        one.increase(1e4, 1.0, at(1000));
        assert!((one.ref_wnd - 11_000.0).abs() < 1e-9);
        one.flight = FlightMaxima::default();
        one.increase(1e4, 1.0, at(1000));
        assert!((one.ref_wnd - 11_000.0).abs() < 1e-9);
    }
}
