//! Samples of `ss -tinmO`, each after a line with its time (`date +%s.%N`).
//!
//! `ss` starts and reads the kernel's state some milliseconds after that time. Its counters of segments (`segs_in`,
//! `data_segs_out`) say which packets the state includes.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

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

/// Adds the samples of the connection to the events. Those outside of `span`, the times of the first and last packet, are
/// left out: what the sender received before them is not known.
///
/// # Errors
///
/// There are no samples of the connection, or none within `span`.
pub(crate) fn merge(
    events: &mut Vec<Event>,
    text: &str,
    endpoints: Endpoints,
    span: (Time, Time),
    counted: &Counted,
    notes: &mut Vec<String>,
) -> Result<(), Fault> {
    let (first, last) = span;
    let samples = samples(text, endpoints, notes)?;
    let before = events.len();
    for (written, sample) in &samples {
        let time = counted.place(*written, sample.segs_in, sample.data_segs_out);
        if (first..=last).contains(&time) {
            events.push(Event { time: ORIGIN + (time - first), what: What::Metrics(sample.metrics) });
        }
    }
    if events.len() == before {
        let seconds = |time: Time| time.as_nanos() as f64 / 1e9;
        let what = format!(
            "the samples are from {:.3} s to {:.3} s, the capture is from {:.3} s to {:.3} s",
            seconds(samples[0].0),
            seconds(samples[samples.len() - 1].0),
            seconds(first),
            seconds(last)
        );
        return Err(Fault::new("", what, "take the samples while the capture runs, by the same clock"));
    }
    events.sort_by_key(|one| one.time);
    Ok(())
}

/// The samples of the connection, each with the time before it. If none has its addresses, those of the only socket with
/// its ports: addresses differ behind NAT.
fn samples(text: &str, endpoints: Endpoints, notes: &mut Vec<String>) -> Result<Vec<(Time, Sample)>, Fault> {
    let mut sampled_at: Option<Time> = None;
    let mut sockets: BTreeMap<Endpoints, Vec<(Time, Sample)>> = BTreeMap::new();
    for line in text.lines() {
        if let Some(time) = parse_time(line) {
            sampled_at = Some(time);
        } else if let (Some(time), Some((socket, sample))) = (sampled_at, parse(line)) {
            if (socket.from.port(), socket.to.port()) == (endpoints.from.port(), endpoints.to.port()) {
                sockets.entry(socket).or_default().push((time, sample));
            }
        }
    }
    if let Some(samples) = sockets.remove(&endpoints) {
        return Ok(samples);
    }
    match sockets.pop_first() {
        Some((socket, samples)) if sockets.is_empty() => {
            notes.push(format!(
                "the samples are of {socket}, which has the ports of the connection and other addresses"
            ));
            Ok(samples)
        }
        _ => Err(Fault::new(
            "",
            format!("the samples have no window of {endpoints} after a time"),
            "write `date +%s.%N` and `ss -tinmO` in turn into the file",
        )),
    }
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

/// An address with its port, as `ss` prints it: IPv6 in brackets or without them, with an interface or zone after `%`.
fn address(word: &str) -> Option<SocketAddr> {
    let (host, port) = word.rsplit_once(':')?;
    let host: IpAddr = host.split('%').next()?.trim_matches(['[', ']']).parse().ok()?;
    // An IPv6 socket has the packets of IPv4 with mapped addresses (RFC 4291, section 2.5.5.2).
    Some(SocketAddr::new(host.to_canonical(), port.parse().ok()?))
}

/// The socket and the values of a line of `ss -tinO`, where the handshake is over: before that the MSS is not that of the
/// connection. The local address is the first one.
fn parse(line: &str) -> Option<(Endpoints, Sample)> {
    if line.starts_with("SYN-") {
        return None;
    }
    let mut addresses = line.split_whitespace().filter_map(address);
    let socket = Endpoints { from: addresses.next()?, to: addresses.next()? };
    let value = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
    let whole = |name: &str| value(name)?.parse::<u64>().ok();
    let mss = whole("mss")?;
    let srtt = value("rtt").and_then(|text| text.split('/').next()?.parse::<f64>().ok());
    let metrics = Metrics {
        cwnd: Some(whole("cwnd")? * mss),
        ssthresh: whole("ssthresh").map(|segments| segments * mss),
        srtt: srtt.filter(|ms| *ms > 0.0).map(|ms| Duration::from_nanos((ms * 1e6) as u64)),
        ..Metrics::default()
    };
    Some((socket, Sample { metrics, segs_in: whole("segs_in"), data_segs_out: whole("data_segs_out") }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn endpoints() -> Endpoints {
        let at = |last, port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port);
        Endpoints { from: at(1, 40000), to: at(2, 5001) }
    }

    const START: Time = Time::from_nanos(1_700_000_000_000_000_000);

    const SPAN: (Time, Time) = (START, Time::MAX);

    /// A line of iproute2 6.1.
    const LINE: &str = "ESTAB 0 0 10.0.0.1:40000 10.0.0.2:5001 skmem:(r0,rb131072) cubic wscale:7,7 rto:204 \
                        rtt:40.5/1.25 mss:1448 pmtu:1500 cwnd:20 ssthresh:14 bytes_sent:1000";

    #[test]
    fn a_line_of_ss_has_window_threshold_and_rtt() {
        let (socket, Sample { metrics, .. }) = parse(LINE).expect("a sample");
        assert_eq!(socket, endpoints());
        assert_eq!((metrics.cwnd, metrics.ssthresh), (Some(28_960), Some(20_272)));
        assert_eq!(metrics.srtt, Some(Duration::from_nanos(40_500_000)));
    }

    /// Windows of the samples of the connection in segments, and notes. `lines`: addresses and window of each sample.
    fn windows(lines: &[(&str, u64)]) -> Result<(Vec<u64>, usize), Fault> {
        let mut notes = Vec::new();
        let line = |(ends, cwnd): &(&str, u64)| format!("1700000000.5\nESTAB 0 0 {ends} cubic mss:1448 cwnd:{cwnd}\n");
        let text: String = lines.iter().map(line).collect();
        let found = samples(&text, endpoints(), &mut notes)?;
        Ok((found.iter().filter_map(|(_, sample)| Some(sample.metrics.cwnd? / 1448)).collect(), notes.len()))
    }

    /// By hand: the same connection over IPv4, with mapped addresses, and with an interface. The other end of a connection
    /// over loopback has the addresses in the other order, and clients on other hosts may have the same port.
    #[test]
    fn a_sample_is_of_the_socket_with_the_addresses_of_the_connection() {
        let own = [
            ("10.0.0.1:40000 10.0.0.2:5001", 20),
            ("[::ffff:10.0.0.1]:40000 [::ffff:10.0.0.2]:5001", 21),
            ("10.0.0.1%eth0:40000 10.0.0.2:5001", 22),
        ];
        let others = [
            ("10.0.0.2:5001 10.0.0.1:40000", 10),
            ("10.0.0.9:40000 10.0.0.2:5001", 11),
            ("10.0.0.1:40000 [2001:db8::1]:5001", 12),
            ("10.0.0.1:40001 10.0.0.2:5001", 13),
        ];
        assert_eq!(windows(&[&own[..], &others[..]].concat()).ok(), Some((vec![20, 21, 22], 0)));
        // Behind NAT the only socket with the ports is taken; of two, none.
        assert_eq!(windows(&others[..2]).ok(), Some((vec![11], 1)));
        assert!(windows(&others[..3]).is_err());
        assert!(windows(&others[3..]).is_err());
    }

    /// By hand: packets from 0 to 1 s. A sample before the first or after the last one shows a window of which the capture
    /// does not say what it follows from.
    #[test]
    fn samples_outside_of_the_capture_are_left_out() {
        let end = START + Duration::from_millis(1000);
        let times = |seconds: &[&str]| {
            let mut events = Vec::new();
            let samples: Vec<String> = seconds.iter().map(|one| format!("{one}\n{LINE}\n")).collect();
            merge(&mut events, &samples.concat(), endpoints(), (START, end), &Counted::default(), &mut Vec::new())
                .map(|()| events.iter().map(|one| (one.time - ORIGIN).as_nanos() / 1_000_000).collect::<Vec<_>>())
                .map_err(|fault| fault.what)
        };
        assert_eq!(times(&["1699999999.9", "1700000000.0", "1700000001.0", "1700000001.1"]), Ok(vec![0, 1000]));
        let apart =
            "the samples are from 1700003000.500 s to 1700003000.700 s, the capture is from 1700000000.000 s to \
                     1700000001.000 s";
        assert_eq!(times(&["1700003000.5", "1700003000.7"]), Err(apart.to_owned()));
    }

    #[test]
    fn a_sample_has_the_time_before_it() {
        let mut events = Vec::new();
        let text = format!("1700000000.5\n{LINE}\n1700000000.510000000\n{LINE}\n");
        merge(&mut events, &text, endpoints(), SPAN, &Counted::default(), &mut Vec::new()).expect("samples");
        let times: Vec<u64> = events.iter().map(|one| one.time.as_nanos() - ORIGIN.as_nanos()).collect();
        assert_eq!(times, [500_000_000, 510_000_000]);
        let none = merge(&mut events, "State Recv-Q\n", endpoints(), SPAN, &Counted::default(), &mut Vec::new());
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
            merge(&mut events, &text, endpoints(), SPAN, &counted, &mut Vec::new()).expect("a sample");
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
        assert_eq!(parse(&LINE.replace("ESTAB", "SYN-SENT")), None);
    }
}
