//! Transmission opportunities and internal collisions of EDCA.

use cwndlab_units::{Duration, Time};

use super::access::BEACON_MODE;
use super::transceiver::{FrameKind, OwnExchange};
use super::{Neighbourhood, BROADCAST};
use crate::wifi::phy::CF_END_BYTES;

impl<P: Copy> Neighbourhood<P> {
    /// An access function whose first frame loses an internal collision backs off as after a collision, and the frame has
    /// failed once more (10.22.2.4, 10.22.2.11.1).
    #[cold]
    pub(super) fn collide_internally(&mut self, at: Time, index: usize) {
        let path = self.stations.first_path(index);
        let mut exchange = self.exchange(at, index, 0);
        exchange.overlapped[0] = true;
        let lost = self.settle(at, at, &exchange, false);
        let function = &self.stations.functions[index];
        let cw = if lost { function.access.cw_min } else { function.access.widened(function.cw) };
        self.back_off(index, cw);
        self.flush(path);
    }

    /// The next exchange of a TXOP, a SIFS after the last one. Without a frame, or if its exchange exceeds the limit, the
    /// TXOP ends.
    #[cold]
    pub(super) fn continue_txop(&mut self, at: Time, station: u32) {
        let transceiver = &mut self.transceivers[station as usize];
        let Some((index, end)) = transceiver.txop.filter(|_| transceiver.is_free()) else { return };
        let index = index as usize;
        if self.stations.functions[index].device > 0 {
            let path = self.stations.first_path(index);
            let path = &self.stations.paths[path as usize];
            let max_bytes = path.max_bytes_within(self.rules_of(index), end.saturating_since(at));
            let exchange = self.exchange(at, index, max_bytes);
            if at + exchange.data + exchange.acknowledgement() <= end {
                return self.begin_exchange(at, station, exchange, false);
            }
        }
        self.transceivers[station as usize].txop = None;
        let edca = self.rules_of(index).edca.as_ref();
        if let Some(airtime) = edca.and_then(|edca| edca.truncation(at, end)) {
            self.send(at, station, BROADCAST, FrameKind::CfEnd, BEACON_MODE, airtime, Duration::ZERO, CF_END_BYTES);
        }
    }

    /// The duration field of the data of an exchange, or of a request for a BlockAck, that begins at `at`; `lead`: its data
    /// follow after this time.
    pub(super) fn duration_field(&self, at: Time, station: u32, exchange: &OwnExchange, lead: Duration) -> Duration {
        let response = exchange.acknowledgement();
        let index = exchange.function as usize;
        let limit = self.stations.functions[index].access.txop_limit;
        let rules = self.rules_of(index);
        let Some(edca) = rules.edca.as_ref().filter(|_| limit > Duration::ZERO) else { return response };
        let limit = self.transceivers[station as usize].txop.map_or(at + limit, |txop| txop.1);
        let end = at + lead + exchange.data;
        edca.protection.duration_field(end, limit, response, || {
            let Some(&last) = exchange.serials.last() else { return Duration::ZERO };
            let rest = limit.saturating_since(end + response);
            self.stations.following(index, exchange.path, last, rules, rest)
        })
    }
}
