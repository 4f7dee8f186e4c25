//! Reports of the receiver for each packet: which arrived, when, and with which mark.

use std::collections::BTreeMap;

use cwndlab_units::{Bytes, Duration, Time};

/// The largest offset of RFC 8888, section 3.1, in units of 1/1024 s, which stands for 8189 and more.
const LARGEST_OFFSET: u64 = 0x1FFE;
/// The unit of arrival times of transport-wide reports (draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1.5).
const DELTA: u64 = 250_000;
/// The largest difference of one byte, in that unit.
const SMALL_DELTA: u64 = 255;

/// The format of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// What the receiver computed (RFC 8698, 5.3).
    Aggregate,
    /// A word of two bytes for each packet (RFC 8888).
    PerPacket,
    /// A status of two bits for each packet, and a difference of arrival times (transport-wide).
    TransportWide,
}

/// The entry of a packet in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) arrival: Option<Time>,
    pub(crate) is_marked: bool,
}

/// What the receiver has computed (RFC 8698, section 5.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aggregate {
    /// Accelerated ramp-up is recommended (rmode 0).
    pub ramps_up: bool,
    /// The aggregate congestion signal, ms.
    pub signal: f64,
    /// Receiving rate, bit/s.
    pub rate: f64,
    /// Time of sending of the last packet, and the time since its arrival, for the sender's RTT.
    pub last: (Time, Duration),
}

/// A report on its way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) at: Time,
    pub(crate) entries: Vec<Entry>,
    pub(crate) aggregate: Option<Aggregate>,
}

/// The offset of an arrival before a report at `at`, in units of 1/1024 s (RFC 8888, section 3.1).
fn offset(arrival: Time, at: Time) -> u64 {
    let units = (at - arrival).as_nanos() * 1024 / 1_000_000_000;
    if units >= LARGEST_OFFSET - 1 {
        LARGEST_OFFSET
    } else {
        units
    }
}

impl Format {
    /// The arrival as a report at `at` states it.
    fn stated(self, arrival: Time, at: Time) -> Time {
        match self {
            Self::Aggregate => arrival,
            Self::PerPacket => {
                Time::from_nanos(at.as_nanos().saturating_sub(offset(arrival, at) * 1_000_000_000 / 1024))
            }
            Self::TransportWide => Time::from_nanos(arrival.as_nanos() / DELTA * DELTA),
        }
    }

    /// Bytes of these entries.
    pub(crate) fn bytes(self, entries: &[Entry]) -> Bytes {
        let count = entries.len() as u64;
        Bytes(match self {
            Self::Aggregate => 0,
            Self::PerPacket => (2 * count).next_multiple_of(4),
            Self::TransportWide => {
                let arrivals: Vec<u64> =
                    entries.iter().filter_map(|one| one.arrival).map(|at| at.as_nanos() / DELTA).collect();
                let delta = |pair: &[u64]| 1 + u64::from(!(pair[0]..=pair[0] + SMALL_DELTA).contains(&pair[1]));
                let deltas = arrivals.windows(2).map(delta).sum::<u64>() + u64::from(!arrivals.is_empty());
                (2 * count.div_ceil(7) + deltas).next_multiple_of(4)
            }
        })
    }
}

/// The arrivals that the next reports state. A report begins where the one before it began to be new, so that a lost report
/// loses nothing (RFC 8888, section 2, lets reports overlap).
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    arrived: BTreeMap<u64, (Time, bool)>,
    /// First packet of the next report, and first packet that no report has covered.
    begin: u64,
    uncovered: u64,
}

impl Arrivals {
    /// Handles a packet that arrived.
    pub(crate) fn on_packet(&mut self, number: u64, now: Time, is_marked: bool) {
        if number >= self.begin {
            self.arrived.insert(number, (now, is_marked));
        }
    }

    /// The entries of a report at `now`.
    pub(crate) fn report(&mut self, format: Format, now: Time) -> Vec<Entry> {
        let end = self.arrived.last_key_value().map_or(self.begin, |(&number, _)| number + 1);
        let entry = |number| {
            let one = self.arrived.get(&number);
            let arrival = one.map(|&(at, _)| format.stated(at, now));
            Entry { number, arrival, is_marked: one.is_some_and(|one| one.1) }
        };
        let entries = (self.begin..end).map(entry).collect();
        self.begin = self.uncovered;
        self.uncovered = self.uncovered.max(end);
        self.arrived = self.arrived.split_off(&self.begin);
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    /// RFC 8888, section 3.1, in units of 1/1024 s: 25 ms before the report are 25 (25.6 truncated), 1 s is 1024, and 8 s
    /// are 0x1FFE.
    #[test]
    fn offsets_of_rfc_8888() {
        for (before_us, units) in [(25_000, 25), (1_000_000, 1024), (8_000_000, 0x1FFE)] {
            assert_eq!(offset(at(9_000_000 - before_us), at(9_000_000)), units);
        }
        assert_eq!(Format::TransportWide.stated(at(1_499), at(2_000)), at(1_250));
    }

    /// By hand: 5 packets are 10 bytes, padded to 12; transport-wide a status chunk of 2 bytes, and a byte for each of the
    /// arrivals but 2 for one more than 63.75 ms later: 7, padded to 8, since the length of RTCP packets counts words of 32
    /// bits (RFC 3550, 6.4.1).
    #[test]
    fn sizes_of_reports() {
        let mut arrivals = Arrivals::default();
        for (number, ms) in [(0, 1), (1, 2), (3, 3), (4, 100)] {
            arrivals.on_packet(number, at(ms * 1000), number == 3);
        }
        let entries = arrivals.report(Format::TransportWide, at(110_000));
        assert_eq!(
            entries.iter().map(|one| one.arrival.is_some()).collect::<Vec<_>>(),
            [true, true, false, true, true]
        );
        assert!(entries[3].is_marked && !entries[4].is_marked);
        assert_eq!(Format::PerPacket.bytes(&entries), Bytes(12));
        assert_eq!(Format::TransportWide.bytes(&entries), Bytes(8));
        assert_eq!(Format::Aggregate.bytes(&entries), Bytes::ZERO);
    }

    /// A report repeats what the one before it had, and no more.
    #[test]
    fn reports_overlap_by_one() {
        let mut arrivals = Arrivals::default();
        let mut numbers = |number| {
            arrivals.on_packet(number, at(number), false);
            arrivals.report(Format::PerPacket, at(number)).iter().map(|one| one.number).collect::<Vec<_>>()
        };
        assert_eq!([numbers(1), numbers(3), numbers(4)], [vec![0, 1], vec![0, 1, 2, 3], vec![2, 3, 4]]);
    }
}
