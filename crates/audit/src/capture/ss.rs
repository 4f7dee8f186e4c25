//! Samples of `ss -tinmO`, each after a line with its time (`date +%s.%N`).

use cwndlab_control::Fault;
use cwndlab_units::{Duration, Time};

use super::packet::Endpoints;
use crate::event::{Event, Metrics, What, ORIGIN};

/// Adds the samples of the connection to the events.
pub(crate) fn merge(events: &mut Vec<Event>, text: &str, endpoints: Endpoints, origin: Time) -> Result<(), Fault> {
    let mut sampled_at: Option<Time> = None;
    let mut found = 0;
    for line in text.lines() {
        if let Some(time) = parse_time(line) {
            sampled_at = Some(time);
        } else if let (Some(time), Some(metrics)) = (sampled_at, parse(line, endpoints)) {
            found += 1;
            if time < origin {
                continue;
            }
            events.push(Event { time: ORIGIN + (time - origin), what: What::Metrics(metrics) });
        }
    }
    if found == 0 {
        return Err(Fault {
            what: format!("the samples have no window of {endpoints} after a time"),
            hint: "write `date +%s.%N` and `ss -tinmO` in turn into the file".to_owned(),
        });
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
    (1..=9).contains(&digits).then(|| Time(seconds * 1_000_000_000 + fraction * 10u64.pow(9 - digits as u32)))
}

/// The values of a line of `ss -tinO`, where it has the ports of the connection.
fn parse(line: &str, endpoints: Endpoints) -> Option<Metrics> {
    let ends = |port: u16| format!(":{port}");
    let (local, peer) = (ends(endpoints.from.port()), ends(endpoints.to.port()));
    let mut words = line.split_whitespace();
    words.clone().find(|word| word.ends_with(&local))?;
    words.clone().find(|word| word.ends_with(&peer))?;
    let value = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
    let whole = |name: &str| value(name)?.parse::<u64>().ok();
    let _ = words.next();
    let mss = whole("mss")?;
    let srtt = value("rtt").and_then(|text| text.split('/').next()?.parse::<f64>().ok());
    Some(Metrics {
        cwnd: Some(whole("cwnd")? * mss),
        ssthresh: whole("ssthresh").map(|segments| segments * mss),
        srtt: srtt.filter(|ms| *ms > 0.0).map(|ms| Duration((ms * 1e6) as u64)),
        ..Metrics::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    fn endpoints() -> Endpoints {
        let at = |last, port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port);
        Endpoints { from: at(1, 40000), to: at(2, 5001) }
    }

    /// A line of iproute2 6.1.
    const LINE: &str = "ESTAB 0 0 10.0.0.1:40000 10.0.0.2:5001 skmem:(r0,rb131072) cubic wscale:7,7 rto:204 \
                        rtt:40.5/1.25 mss:1448 pmtu:1500 cwnd:20 ssthresh:14 bytes_sent:1000";

    #[test]
    fn a_line_of_ss_has_window_threshold_and_rtt() {
        let metrics = parse(LINE, endpoints()).expect("it is the connection");
        assert_eq!((metrics.cwnd, metrics.ssthresh), (Some(28_960), Some(20_272)));
        assert_eq!(metrics.srtt, Some(Duration(40_500_000)));
        let other = Endpoints { from: SocketAddr::new(endpoints().from.ip(), 40001), ..endpoints() };
        assert_eq!(parse(LINE, other), None);
    }

    #[test]
    fn a_sample_has_the_time_before_it() {
        let mut events = Vec::new();
        let text = format!("1700000000.5\n{LINE}\n1700000000.510000000\n{LINE}\n");
        merge(&mut events, &text, endpoints(), Time(1_700_000_000_000_000_000)).expect("samples");
        let times: Vec<u64> = events.iter().map(|one| one.time.0 - ORIGIN.0).collect();
        assert_eq!(times, [500_000_000, 510_000_000]);
        assert!(merge(&mut events, "State Recv-Q\n", endpoints(), Time::ZERO).is_err());
    }
}
