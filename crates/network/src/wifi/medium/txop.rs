//! Transmission opportunities and internal collisions of EDCA.

use cwndlab_units::{Duration, Time};

use super::{Exchange, Medium, Path, Space, Txop};
use crate::wifi::phy::SIFS;

impl<P: Copy> Medium<P> {
    /// After an exchange from `at` to `end`, the access function holds its TXOP, or begins one.
    #[cold]
    #[inline(never)]
    pub(super) fn hold_txop(&mut self, at: Time, index: usize, path: u32, end: Time) {
        let (limit, receiver) = (self.txop_limit(at, index), self.sole_receiver(path));
        self.txop = Some(Txop { function: index as u32, start: end + SIFS, end: limit, receiver });
    }

    /// End of the last exchange of the TXOP at the latest, if an exchange of it begins at `at`.
    fn txop_limit(&self, at: Time, index: usize) -> Time {
        self.txop.map_or(at + self.stations.functions[index].access.txop_limit, |txop| txop.end)
    }

    /// The receiver of all exchanges of the TXOP, if one on this path is the last.
    fn sole_receiver(&self, path: u32) -> Option<u32> {
        let receiver = self.stations.paths[path as usize].to;
        receiver.filter(|_| self.txop.is_none_or(|txop| txop.receiver == receiver))
    }

    /// Maximum size of an aggregate in the rest of a TXOP, bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn max_bytes_in(&self, txop: Txop, path: &Path<P>) -> u32 {
        path.max_bytes_within(&self.rules, txop.end.saturating_since(txop.start))
    }

    /// The duration field of the data of an exchange in a TXOP, which begins at `at`.
    fn duration_field(&self, at: Time, index: usize, exchange: Exchange) -> Duration {
        let Some(edca) = &self.rules.edca else { return exchange.acknowledgement };
        let (data_end, limit) = (at + exchange.data_end, self.txop_limit(at, index));
        edca.protection.duration_field(data_end, limit, exchange.acknowledgement, || {
            let frames = &self.stations.paths[exchange.path as usize].frames;
            let pending = frames.iter().filter(|frame| frame.state.is_pending());
            let Some(last) = pending.take(exchange.frames as usize).last() else { return Duration::ZERO };
            let rest = limit.saturating_since(data_end + exchange.acknowledgement);
            self.stations.following(index, exchange.path, last.serial, &self.rules, rest)
        })
    }

    /// After an exchange of a TXOP, which began at `at`, the medium is idle for holder and receiver from its end on, and for
    /// the others from the end of the duration field on: frames for a station do not set its NAV (10.3.2.4).
    #[cold]
    #[inline(never)]
    pub(super) fn reserve(&mut self, at: Time, index: usize, exchange: Exchange) {
        let data_end = at + exchange.data_end;
        let (end, path) = (data_end + exchange.acknowledgement, exchange.path);
        let reserved = data_end + self.duration_field(at, index, exchange);
        if reserved <= end {
            return;
        }
        self.contention.set_idle(reserved, Duration::ZERO);
        let holder = (index / self.stations.categories) as u32;
        for station in [Some(holder), self.sole_receiver(path)].into_iter().flatten() {
            for one in self.stations.by_category(station) {
                let ready = end + self.stations.functions[one].aifs;
                self.contention.set_space(one, Space { ready, idle_from: end });
            }
        }
    }

    /// Schedules another exchange of the TXOP. Without a frame, or if its exchange exceeds the limit, the TXOP ends.
    #[cold]
    #[inline(never)]
    pub(super) fn continue_txop(&mut self) -> bool {
        let Some(Txop { function, start, end, .. }) = self.txop else { return false };
        if self.stations.functions[function as usize].device > 0 {
            let Exchange { data_end, acknowledgement, .. } = self.exchange(function as usize);
            if start + data_end + acknowledgement <= end {
                self.start = start;
                self.winners.clear();
                self.winners.push(function);
                return true;
            }
        }
        self.txop = None;
        if let Some(airtime) = self.rules.edca.as_ref().and_then(|edca| edca.truncation(start, end)) {
            self.contention.set_idle(start + airtime, Duration::ZERO);
        }
        false
    }

    /// Of the access functions of a station that would send at `at`, that of the highest category remains. The others
    /// back off as after a collision, and their first frame has failed once more (10.22.2.4, 10.22.2.11.1).
    #[cold]
    #[inline(never)]
    pub(super) fn collide_internally(&mut self, at: Time, winners: &mut Vec<u32>) {
        let station = |index: u32| index as usize / self.stations.categories;
        let lost = |pair: &&[u32]| station(pair[0]) == station(pair[1]);
        let losers: Vec<u32> = winners.windows(2).filter(lost).map(|pair| pair[0]).collect();
        winners.retain(|index| !losers.contains(index));
        for index in losers {
            let exchange = Exchange { frames: 1, ..self.exchange(index as usize) };
            let counts = self.complete(at, index as usize, exchange, true, at);
            self.back_off_failed(index as usize, counts);
        }
    }
}
