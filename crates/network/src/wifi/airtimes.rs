//! The airtime of each flow on a medium.

use std::collections::BTreeMap;

use cwndlab_units::Duration;

/// Bytes of consecutive frames of a flow in an exchange.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// Number of the flow on this medium ([`FlowAirtimes`]).
    number: u32,
    bytes: u64,
}

/// A flow with its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownFlow {
    flow: u64,
    number: u32,
}

impl Default for KnownFlow {
    /// No flow.
    fn default() -> Self {
        Self { flow: u64::MAX, number: 0 }
    }
}

/// The airtime of each flow, by the number that it gets with its first frame.
#[derive(Debug, Default)]
pub(super) struct FlowAirtimes {
    numbers: BTreeMap<u64, u32>,
    airtimes: Vec<Duration>,
    /// The last share of the present exchange; without bytes between exchanges.
    last: Share,
    /// Its other shares.
    others: Vec<Share>,
}

impl FlowAirtimes {
    /// Number of a flow. `known` is the last flow of the path with its number: most paths carry one flow.
    #[inline]
    fn number(&mut self, known: &mut KnownFlow, flow: u64) -> u32 {
        if known.flow != flow {
            let next = self.airtimes.len() as u32;
            let number = *self.numbers.entry(flow).or_insert(next);
            if number == next {
                self.airtimes.push(Duration::ZERO);
            }
            *known = KnownFlow { flow, number };
        }
        known.number
    }

    /// Adds a frame to the shares of the present exchange.
    #[inline]
    pub(super) fn add(&mut self, known: &mut KnownFlow, flow: u64, size: u32) {
        let number = self.number(known, flow);
        let bytes = u64::from(size);
        if self.last.number == number {
            self.last.bytes += bytes;
        } else {
            let before = std::mem::replace(&mut self.last, Share { number, bytes });
            if before.bytes > 0 {
                self.others.push(before);
            }
        }
    }

    /// Ends the exchange: its airtime is that of the flows of its frames, in proportion to the bytes of their packets.
    #[inline]
    pub(super) fn end(&mut self, airtime: Duration) {
        let rest = if self.others.is_empty() { airtime } else { self.divide(airtime) };
        self.airtimes[self.last.number as usize] += rest;
        self.last.bytes = 0;
    }

    /// As [`end`](Self::end), of an exchange on a path whose last flow is `known`: an exchange without frames, which asks for
    /// the BlockAck of frames that have expired, is that flow's.
    pub(super) fn end_on(&mut self, known: KnownFlow, airtime: Duration) {
        if self.last.bytes == 0 {
            self.last.number = known.number;
        }
        self.end(airtime);
    }

    /// Adds the airtimes of all shares but the last; returns what remains for that. The shares so far are rounded down
    /// together, so that all of them are the airtime.
    #[cold]
    fn divide(&mut self, airtime: Duration) -> Duration {
        let all = self.others.iter().map(|share| share.bytes).sum::<u64>() + self.last.bytes;
        let mut bytes = 0;
        let mut shared = 0;
        for share in self.others.drain(..) {
            bytes += share.bytes;
            let until = airtime.as_nanos() * bytes / all;
            self.airtimes[share.number as usize] += Duration::from_nanos(until - shared);
            shared = until;
        }
        airtime - Duration::from_nanos(shared)
    }

    /// All flows with their airtimes, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, Duration)> + '_ {
        self.numbers.iter().map(|(&flow, &number)| (flow, self.airtimes[number as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: two paths with a flow each; the last exchange has no frame, and is that of the first path.
    #[test]
    fn an_exchange_without_frames_belongs_to_the_flow_of_its_path() {
        let us = Duration::from_micros;
        let mut all = FlowAirtimes::default();
        let mut paths = [KnownFlow::default(); 2];
        for (path, flow) in paths.iter_mut().zip([7, 9]) {
            all.add(path, flow, 1500);
            all.end_on(*path, us(300));
        }
        all.end_on(paths[0], us(40));
        assert_eq!(all.all().collect::<Vec<_>>(), [(7, us(340)), (9, us(300))]);
    }
}
