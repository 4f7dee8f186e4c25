//! The next frame exchange of an access function: its frames and airtimes.

use cwndlab_units::Duration;

use super::{Airtimes, Exchange, Medium, Stations};
use crate::wifi::phy::SIFS;

impl<P: Copy> Medium<P> {
    /// The next exchange of an access function.
    pub(super) fn exchange(&mut self, function: usize) -> Exchange {
        let index = self.stations.first_path(function);
        let path = &self.stations.paths[index as usize];
        let max_bytes = self.txop.map_or(path.max_bytes, |txop| self.max_bytes_in(txop, path));
        let (frames, bytes) = Stations::aggregate(path, &self.rules, max_bytes);
        let path = &mut self.stations.paths[index as usize];
        let data = path.airtimes.data(path.mode, bytes);
        let Airtimes { rts, ack, block_ack, .. } = path.airtimes;
        let acknowledgement = SIFS + if frames > 1 { block_ack } else { ack };
        // The first exchange of a TXOP reserves the medium for the others.
        let after_rts = self.rules.rts_above.is_some_and(|above| bytes > above) && self.txop.is_none();
        let (first, lead) = if after_rts { (rts, path.airtimes.lead()) } else { (data, Duration::ZERO) };
        Exchange { path: index, frames, first, data_end: lead + data, acknowledgement, after_rts }
    }
}
