//! Transmission opportunities and internal collisions of EDCA.

use cwndlab_units::Time;

use super::{Exchange, Medium, Path, Txop};
use crate::wifi::phy::SIFS;

impl<P: Copy> Medium<P> {
    /// After an exchange from `at` to `end`, the access function holds its TXOP, or begins one.
    #[cold]
    pub(super) fn hold_txop(&mut self, at: Time, index: usize, end: Time) {
        let limit = self.txop.map_or(at + self.stations.functions[index].access.txop_limit, |txop| txop.end);
        self.txop = Some(Txop { function: index as u32, start: end + SIFS, end: limit });
    }

    /// Schedules another exchange of the TXOP. Without a frame, or if its exchange exceeds the limit, the TXOP ends.
    #[cold]
    #[inline(never)]
    pub(super) fn continue_txop(&mut self) -> bool {
        let Some(Txop { function, start, end }) = self.txop else { return false };
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
        false
    }

    /// Maximum size of an aggregate in the rest of a TXOP, bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn max_bytes_in(&self, txop: Txop, path: &Path<P>) -> u32 {
        if path.max_bytes == 0 {
            return 0;
        }
        let rest = txop.end.saturating_since(txop.start);
        self.rules.max_bytes(path.mode, rest.saturating_sub(SIFS + path.airtimes.block_ack))
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
