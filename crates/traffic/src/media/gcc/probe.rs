//! Probes, and whether the application limits the rate (`probe_controller.cc`, `probe_bitrate_estimator.cc`,
//! `alr_detector.cc`). Rates in bit/s.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use crate::media::rate_control::{PacketFeedback, Probe, SentPacket};

/// Rates of the first two probes over the first rate.
const FIRST: [f64; 2] = [3.0, 6.0];
/// A result beyond this part of a probe's rate leads to a further one at this multiple of the result.
const FURTHER: (f64, f64) = (0.7, 2.0);
/// Time in which a result is awaited.
const WAIT: Duration = Duration::from_secs(1);
/// Packets and time of a probe.
const PACKETS: u32 = 5;
const LENGTH: Duration = Duration::from_millis(15);
/// Interval and rate of probes while the application limits the rate.
const LIMITED_INTERVAL: Duration = Duration::from_secs(5);
const LIMITED_FACTOR: f64 = 2.0;
/// Share of packets and of bytes that a result needs.
const REQUIRED: f64 = 0.8;
/// Longest duration of a probe, and the largest rate of arrival over that of sending.
const LONGEST: Duration = Duration::from_secs(1);
const MOST_RATIO: f64 = 2.0;
/// A rate of arrival below this part of that of sending is the path's, of which this much is used.
const SATURATED: (f64, f64) = (0.9, 0.95);
/// A result is at least this part of the throughput, or the last rate.
const LEAST: f64 = 0.85;
/// Share of the rate at which the budget grows, its length, and the shares of it that begin and end the limitation.
const BUDGET: (f64, f64) = (0.65, 0.5);
const LIMITED: (f64, f64) = (0.8, 0.5);

/// A probe that was sent, or is.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    probe: Probe,
    packets: u32,
    bytes: f64,
    first: Option<Time>,
    /// Packets, bytes, arrivals and times of sending that reports have.
    received: Received,
}

#[derive(Clone, Copy, Debug, Default)]
struct Received {
    packets: u32,
    bytes: f64,
    sent: Option<(Time, Time)>,
    arrived: Option<(Time, Time)>,
    /// Sizes of the packet sent last and of that which arrived first.
    last_size: f64,
    first_size: f64,
}

/// Probes and the budget.
#[derive(Debug)]
pub(super) struct Prober {
    range: (f64, f64),
    due: VecDeque<Probe>,
    sending: Option<Cluster>,
    sent: VecDeque<Cluster>,
    next_id: u32,
    /// Rate of the last probe, and the time until which a further one may follow.
    last: Option<(f64, Time)>,
    probed: Time,
    /// Bits that the application may send before it uses its rate.
    budget: f64,
    budget_at: Time,
    limited_since: Option<Time>,
}

impl Prober {
    pub(super) fn new(range: (f64, f64), now: Time) -> Self {
        let mut one = Self {
            range,
            due: VecDeque::new(),
            sending: None,
            sent: VecDeque::new(),
            next_id: 0,
            last: None,
            probed: now,
            budget: 0.0,
            budget_at: now,
            limited_since: None,
        };
        for factor in FIRST {
            one.add(factor * range.0, now);
        }
        one
    }

    fn add(&mut self, rate: f64, now: Time) {
        let rate = rate.min(self.range.1);
        self.due.push_back(Probe { id: self.next_id, rate });
        self.next_id += 1;
        (self.last, self.probed) = (Some((rate, now + WAIT)), now);
    }

    /// The probe to which the next packet belongs.
    pub(super) fn current(&self) -> Option<Probe> {
        self.sending.map(|one| one.probe).or(self.due.front().copied())
    }

    /// Whether the application sends less than its rate.
    pub(super) fn is_application_limited(&self) -> bool {
        self.limited_since.is_some()
    }

    /// Handles a packet that was sent with this target.
    pub(super) fn on_sent(&mut self, packet: &SentPacket, target: f64) {
        let bytes = packet.size.0 as f64;
        self.use_budget(8.0 * bytes, packet.sent, target);
        let mut cluster = match self.sending.take() {
            Some(cluster) => cluster,
            None => match self.due.pop_front() {
                Some(probe) => {
                    let received = Received::default();
                    Cluster { probe, packets: 0, bytes: 0.0, first: None, received }
                }
                None => return,
            },
        };
        let first = *cluster.first.get_or_insert(packet.sent);
        cluster.packets += 1;
        cluster.bytes += bytes;
        if cluster.packets >= PACKETS && packet.sent - first >= LENGTH {
            self.sent.push_back(cluster);
            if self.sent.len() > 8 {
                self.sent.pop_front();
            }
        } else {
            self.sending = Some(cluster);
        }
    }

    fn use_budget(&mut self, bits: f64, now: Time, target: f64) {
        let most = BUDGET.1 * BUDGET.0 * target;
        let seconds = (now - self.budget_at).as_nanos() as f64 / 1e9;
        self.budget = (self.budget + BUDGET.0 * target * seconds - bits).clamp(-most, most);
        self.budget_at = now;
        if self.budget >= LIMITED.0 * most {
            self.limited_since = self.limited_since.or(Some(now));
        } else if self.budget < LIMITED.1 * most {
            self.limited_since = None;
        }
    }

    /// Handles a report; returns the rate that a complete probe has found.
    pub(super) fn on_feedback(&mut self, packets: &[PacketFeedback], target: f64, acked: Option<f64>) -> Option<f64> {
        let mut found = None;
        for one in packets {
            let (Some(id), Some(arrival)) = (one.probe, one.arrival) else { continue };
            let Some(cluster) = self.sent.iter_mut().find(|cluster| cluster.probe.id == id) else { continue };
            cluster.received.add(one, arrival);
            found = cluster.result().or(found);
        }
        let found = found?.max(target.min(LEAST * acked.unwrap_or(0.0)));
        self.follow(found, packets.last()?.sent);
        Some(found)
    }

    /// A further probe after a result that is not far below the last one's rate.
    fn follow(&mut self, found: f64, now: Time) {
        let (share, factor) = FURTHER;
        if let Some((rate, until)) = self.last {
            if now <= until && found > share * rate && rate < self.range.1 {
                self.add(factor * found, now);
            }
        }
    }

    /// Adds the probes of an application-limited time.
    pub(super) fn schedule(&mut self, now: Time, target: f64, may_probe: bool) {
        let Some(since) = self.limited_since else { return };
        let waits = self.current().is_some() || target >= self.range.1;
        if may_probe && !waits && now - since.max(self.probed) >= LIMITED_INTERVAL {
            self.add(LIMITED_FACTOR * target, now);
        }
    }
}

impl Received {
    fn add(&mut self, one: &PacketFeedback, arrival: Time) {
        let size = one.size.0 as f64;
        self.packets += 1;
        self.bytes += size;
        let (first, last) = self.sent.unwrap_or((one.sent, one.sent));
        if one.sent >= last {
            self.last_size = size;
        }
        self.sent = Some((first.min(one.sent), last.max(one.sent)));
        let (first, last) = self.arrived.unwrap_or((arrival, arrival));
        if arrival <= first {
            self.first_size = size;
        }
        self.arrived = Some((first.min(arrival), last.max(arrival)));
    }
}

impl Cluster {
    /// The rate that it has found.
    fn result(&self) -> Option<f64> {
        let one = &self.received;
        let enough = f64::from(one.packets) >= REQUIRED * f64::from(self.packets) && one.bytes >= REQUIRED * self.bytes;
        let ((first_sent, last_sent), (first, last)) = (one.sent?, one.arrived?);
        let (sending, arriving) = (last_sent - first_sent, last - first);
        if !enough || sending == Duration::ZERO || arriving == Duration::ZERO || sending.max(arriving) > LONGEST {
            return None;
        }
        let rate = |bytes: f64, time: Duration| bytes * 8e9 / time.as_nanos() as f64;
        let (sent, arrived) = (rate(one.bytes - one.last_size, sending), rate(one.bytes - one.first_size, arriving));
        if arrived > MOST_RATIO * sent {
            return None;
        }
        let is_saturated = arrived < SATURATED.0 * sent;
        Some(if is_saturated { SATURATED.1 * arrived } else { sent.min(arrived) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::Bytes;

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    /// The result of the first probe, of packets of 1250 bytes sent each `sent` µs that arrive each `arrived` µs.
    fn probe(sent: u64, arrived: u64) -> (Prober, Option<f64>) {
        let mut prober = Prober::new((300e3, 10e6), at(0));
        let mut packets = Vec::new();
        while prober.sent.is_empty() {
            let n = packets.len() as u64;
            let probe = prober.current().map(|one| one.id);
            let one = SentPacket { size: Bytes(1250), sent: at(n * sent), in_flight: Bytes(0) };
            prober.on_sent(&one, 300e3);
            let arrival = Some(at(100_000 + n * arrived));
            packets.push(PacketFeedback {
                size: one.size,
                sent: one.sent,
                arrival,
                is_marked: false,
                probe,
                was_missing: false,
            });
        }
        let found = prober.on_feedback(&packets, 300e3, None);
        (prober, found)
    }

    /// By hand: 1250 bytes each 10 ms are 1 Mbit/s. If they arrive each 20 ms, the path has 500 kbit/s, of which 95 % are
    /// used; if they arrive each 4 ms, there is no result.
    #[test]
    fn a_probe_finds_the_smaller_rate() {
        for (arrived, expected) in [(10_000, Some(1e6)), (20_000, Some(475e3)), (4_000, None)] {
            let (_, found) = probe(10_000, arrived);
            match (found, expected) {
                (Some(found), Some(expected)) => assert!((found - expected).abs() < 1.0, "{found}"),
                (found, expected) => assert_eq!(found, expected),
            }
        }
    }

    /// By hand: the first two probes have 3 and 6 times the first rate, 5 packets and 15 ms each; a result of 1.5 Mbit/s,
    /// more than 0.7 of 1.8, leads to a probe at 3 Mbit/s.
    #[test]
    fn a_good_result_leads_to_a_further_probe() {
        let prober = Prober::new((300e3, 10e6), at(0));
        assert_eq!(prober.due.iter().map(|one| one.rate).collect::<Vec<_>>(), [900e3, 1.8e6]);
        let (prober, found) = probe(6_667, 6_667);
        assert!(found.is_some_and(|found| (found - 1.5e6).abs() < 1e3));
        assert!(prober.due.back().is_some_and(|one| (one.rate - 3e6).abs() < 2e3), "{:?}", prober.due);
        assert_eq!(prober.sent[0].packets, 5);
    }

    /// The results of a probe of `required` packets and bytes, whose packets have size, time of sending and arrival, ms.
    fn results(required: (u32, f64), packets: &[(u64, u64, u64)]) -> Option<f64> {
        let probe = Probe { id: 0, rate: 1e6 };
        let received = Received::default();
        let mut cluster = Cluster { probe, packets: required.0, bytes: required.1, first: None, received };
        for &(size, sent, arrival) in packets {
            let sent = at(1000 * sent);
            let one = PacketFeedback {
                size: Bytes(size),
                sent,
                arrival: None,
                is_marked: false,
                probe: Some(0),
                was_missing: false,
            };
            cluster.received.add(&one, at(1000 * arrival));
        }
        cluster.result()
    }

    /// `probe_bitrate_estimator_unittest.cc` of libwebrtc: probes of five packets and 5000 bytes unless stated otherwise.
    #[test]
    fn results_of_libwebrtc() {
        let usual = (5, 5000.0);
        let even = |size, count: u64| (0..count).map(|n| (size, 10 * n, 10 * n + 10)).collect::<Vec<_>>();
        let sized =
            |sizes: &[u64]| sizes.iter().zip(0..).map(|(&size, n)| (size, 10 * n, 10 * n + 10)).collect::<Vec<_>>();
        let timed =
            |times: &[(u64, u64)]| times.iter().map(|&(sent, arrival)| (1000, sent, arrival)).collect::<Vec<_>>();
        let large = (0..25).map(|n| (12_500, n, n + 5)).collect::<Vec<_>>();
        for (name, required, packets, expected) in [
            ("OneCluster", usual, even(1000, 4), Some(800e3)),
            ("OneClusterTooFewProbes", usual, even(2000, 3), None),
            ("OneClusterTooFewBytes", (5, 6000.0), even(800, 5), None),
            ("SmallCluster", (5, 1000.0), even(150, 6), Some(120e3)),
            ("LargeCluster", (30, 312_500.0), large, Some(100e6)),
            ("FastReceive", usual, timed(&[(0, 15), (10, 30), (20, 35), (30, 40)]), Some(800e3)),
            ("TooFastReceive", usual, timed(&[(0, 19), (10, 22), (20, 25), (40, 27)]), None),
            ("SlowReceive", usual, timed(&[(0, 10), (10, 40), (20, 70), (30, 85)]), Some(0.95 * 320e3)),
            ("BurstReceive", usual, timed(&[(0, 50), (10, 50), (20, 50), (40, 50)]), None),
            ("MultipleClusters", usual, timed(&[(0, 10), (10, 20), (20, 30), (40, 60)]), Some(0.95 * 480e3)),
            ("", usual, timed(&[(0, 10), (10, 20), (20, 30), (40, 60), (50, 60)]), Some(640e3)),
            ("", usual, timed(&[(60, 70), (65, 77), (70, 84), (75, 90)]), Some(0.95 * 1200e3)),
            ("IgnoreSizeLastSendPacket", usual, sized(&[1000, 1000, 1000, 1000, 1500]), Some(800e3)),
            ("IgnoreSizeFirstReceivePacket", usual, sized(&[1500, 1000, 1000, 1000]), Some(0.95 * 800e3)),
        ] {
            let found = results(required, &packets);
            let agrees = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 10.0,
                (found, expected) => found == expected,
            };
            assert!(agrees, "{name} {found:?} {expected:?}");
        }
    }

    /// `TestExponentialProbing`, `TestExponentialProbingTimeout` and `PeriodicProbing` of `probe_controller_unittest.cc`: from
    /// 300 bit/s, a result of 1000 is no more than 0.7 of 1800; one of 1800 leads to a probe at 3600, but not after the
    /// time of waiting. A limited application probes after 5 s at twice 500.
    #[test]
    fn probes_of_libwebrtc() {
        for (found, ms, expected) in [(1000.0, 0, None), (1800.0, 0, Some(3600.0)), (1800.0, 5000, None)] {
            let mut prober = Prober::new((300.0, 10e3), at(0));
            prober.due.clear();
            prober.follow(found, at(1000 * ms));
            assert_eq!(prober.due.front().map(|one| one.rate), expected, "{found} {ms}");
        }
        let mut prober = Prober::new((300.0, 10e3), at(0));
        prober.due.clear();
        prober.limited_since = Some(at(0));
        for (ms, expected) in [(4999, None), (5000, Some(1000.0))] {
            prober.schedule(at(1000 * ms), 500.0, true);
            assert_eq!(prober.due.front().map(|one| one.rate), expected, "{ms}");
        }
    }
}
