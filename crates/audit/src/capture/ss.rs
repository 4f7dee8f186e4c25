//! Samples of `ss -tinmO`, each after a line with its time (`date +%s.%N`).
//!
//! `ss` starts and reads the kernel's state some milliseconds after that time. Its counters of segments (`segs_in`,
//! `data_segs_out`) say which packets the state includes.

use cwndlab_units::{Duration, Fault, Time};

use super::packet::Endpoints;
use crate::event::{Event, Metrics, What, ORIGIN};

/// Times of the packets that the counters of `ss` count. Empty where the capture does not begin with the handshake.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// All packets received.
    pub(crate) received: Vec<Time>,
    /// All segments with data sent, each as often as it has segments.
    pub(crate) sent: Vec<Time>,
}

impl Counted {
    /// The time of a state that includes `received` and `sent` packets: after these, before the next one received.
    fn place(&self, written: Time, received: Option<u64>, sent: Option<u64>) -> Time {
        let last = |times: &[Time], count: Option<u64>| {
            let last = usize::try_from(count?).ok()?.checked_sub(1)?;
            times.get(last).copied()
        };
        let from = last(&self.received, received).max(last(&self.sent, sent));
        let next = received.and_then(|count| self.received.get(usize::try_from(count).ok()?));
        let until = next.map_or(Time::MAX, |next| Time::from_nanos(next.as_nanos().saturating_sub(1)));
        written.min(until).max(from.unwrap_or(Time::ZERO))
    }
}

/// Adds the samples of the connection to the events.
pub(crate) fn merge(
    events: &mut Vec<Event>,
    text: &str,
    endpoints: Endpoints,
    origin: Time,
    counted: &Counted,
) -> Result<(), Fault> {
    let mut sampled_at: Option<Time> = None;
    let mut found = 0;
    for line in text.lines() {
        if let Some(time) = parse_time(line) {
            sampled_at = Some(time);
        } else if let (Some(time), Some(sample)) = (sampled_at, parse(line, endpoints)) {
            found += 1;
            let time = counted.place(time, sample.segs_in, sample.data_segs_out);
            if time >= origin {
                events.push(Event { time: ORIGIN + (time - origin), what: What::Metrics(sample.metrics) });
            }
        }
    }
    if found == 0 {
        return Err(Fault::new(
            "",
            format!("the samples have no window of {endpoints} after a time"),
            "write `date +%s.%N` and `ss -tinmO` in turn into the file",
        ));
    }
    events.sort_by_key(|one| one.time);
    Ok(())
}

/// Seconds with up to nine digits after the point.
fn parse_time(line: &str) -> Option<Time> {
    let (seconds, fraction) = line.trim().split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let digits = fraction.len();
    let fraction: u64 = fraction.parse().ok()?;
    (1..=9)
        .contains(&digits)
        .then(|| Time::from_nanos(seconds * 1_000_000_000 + fraction * 10u64.pow(9 - digits as u32)))
}

/// A line of `ss`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    metrics: Metrics,
    segs_in: Option<u64>,
    data_segs_out: Option<u64>,
}

/// The values of a line of `ss -tinO`, where it has the ports of the connection and the handshake is over: before that
/// the MSS is not that of the connection.
fn parse(line: &str, endpoints: Endpoints) -> Option<Sample> {
    if line.starts_with("SYN-") {
        return None;
    }
    let ends = |port: u16| format!(":{port}");
    let local = ends(endpoints.from.port());
    let peer = ends(endpoints.to.port());
    let mut words = line.split_whitespace();
    words.clone().find(|word| word.ends_with(&local))?;
    words.clone().find(|word| word.ends_with(&peer))?;
    let value = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
    let whole = |name: &str| value(name)?.parse::<u64>().ok();
    let _ = words.next();
    let mss = whole("mss")?;
    let srtt = value("rtt").and_then(|text| text.split('/').next()?.parse::<f64>().ok());
    let metrics = Metrics {
        cwnd: Some(whole("cwnd")? * mss),
        ssthresh: whole("ssthresh").map(|segments| segments * mss),
        srtt: srtt.filter(|ms| *ms > 0.0).map(|ms| Duration::from_nanos((ms * 1e6) as u64)),
        ..Metrics::default()
    };
    Some(Sample { metrics, segs_in: whole("segs_in"), data_segs_out: whole("data_segs_out") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    fn endpoints() -> Endpoints {
        let at = |last, port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port);
        Endpoints { from: at(1, 40000), to: at(2, 5001) }
    }

    const START: Time = Time::from_nanos(1_700_000_000_000_000_000);

    /// A line of iproute2 6.1.
    const LINE: &str = "ESTAB 0 0 10.0.0.1:40000 10.0.0.2:5001 skmem:(r0,rb131072) cubic wscale:7,7 rto:204 \
                        rtt:40.5/1.25 mss:1448 pmtu:1500 cwnd:20 ssthresh:14 bytes_sent:1000";

    #[test]
    fn a_line_of_ss_has_window_threshold_and_rtt() {
        let metrics = parse(LINE, endpoints()).expect("it is the connection").metrics;
        assert_eq!((metrics.cwnd, metrics.ssthresh), (Some(28_960), Some(20_272)));
        assert_eq!(metrics.srtt, Some(Duration::from_nanos(40_500_000)));
        let other = Endpoints { from: SocketAddr::new(endpoints().from.ip(), 40001), ..endpoints() };
        assert_eq!(parse(LINE, other), None);
    }

    #[test]
    fn a_sample_has_the_time_before_it() {
        let mut events = Vec::new();
        let text = format!("1700000000.5\n{LINE}\n1700000000.510000000\n{LINE}\n");
        merge(&mut events, &text, endpoints(), START, &Counted::default()).expect("samples");
        let times: Vec<u64> = events.iter().map(|one| one.time.as_nanos() - ORIGIN.as_nanos()).collect();
        assert_eq!(times, [500_000_000, 510_000_000]);
        let none = merge(&mut events, "State Recv-Q\n", endpoints(), Time::ZERO, &Counted::default());
        assert!(none.is_err());
    }

    /// `segs_in:2` says that the state includes the second packet, which arrived 30 ms after the written time, and not
    /// the third one.
    #[test]
    fn the_counters_of_a_sample_correct_its_time() {
        let at = |ms: u64| Time::from_nanos(START.as_nanos() + ms * 1_000_000);
        let counted = Counted { received: vec![at(0), at(40), at(60)], sent: vec![at(1), at(45)] };
        let time = |written: u64, counters: &str| {
            let mut events = Vec::new();
            let text = format!("1700000000.{written:03}\n{LINE} {counters}\n");
            merge(&mut events, &text, endpoints(), START, &counted).expect("a sample");
            events[0].time.as_nanos() - ORIGIN.as_nanos()
        };
        assert_eq!(time(10, ""), 10_000_000);
        assert_eq!(time(10, "segs_in:2"), 40_000_000);
        assert_eq!(time(50, "segs_in:2"), 50_000_000);
        assert_eq!(time(10, "segs_in:2 data_segs_out:2"), 45_000_000);
        assert_eq!(time(70, "segs_in:2"), 59_999_999);
        assert_eq!(time(70, "segs_in:3"), 70_000_000);
    }

    /// A socket that opens has the MSS of RFC 9293 (536 B, less options), not that of the connection.
    #[test]
    fn a_socket_that_opens_has_no_window() {
        assert_eq!(parse(&LINE.replace("ESTAB", "SYN-SENT"), endpoints()), None);
    }
}
