//! The next frame exchange of an access function: its frames and airtimes.

use cwndlab_units::Duration;

use super::{Airtimes, Exchange, Medium, Path, State};
use crate::wifi::phy::{self, subframe_bytes, SIFS};

impl<P: Copy> Medium<P> {
    /// The next exchange of an access function.
    pub(super) fn exchange(&mut self, function: usize) -> Exchange {
        let index = self.first_path(function);
        let (frames, bytes) = self.aggregate(&self.paths[index as usize]);
        let path = &mut self.paths[index as usize];
        let data = path.airtimes.data(path.mode, bytes);
        let Airtimes { rts, ack, block_ack, .. } = path.airtimes;
        let acknowledgement = SIFS + if frames > 1 { block_ack } else { ack };
        // The first exchange of a TXOP reserves the medium for the others.
        let after_rts = self.rules.rts_above.is_some_and(|above| bytes > above) && self.txop.is_none();
        let (first, lead) = if after_rts { (rts, path.airtimes.lead()) } else { (data, Duration::ZERO) };
        Exchange { path: index, frames, first, data_end: lead + data, acknowledgement, after_rts }
    }

    /// Number of frames in the next transmission of a path, and their bytes.
    fn aggregate(&self, path: &Path<P>) -> (u32, u32) {
        let single = path.frames[0].one.size + self.rules.overhead;
        let Some(aggregation) = self.rules.aggregation else { return (1, single) };
        let max_bytes = self.txop.map_or(path.max_bytes, |txop| self.max_bytes_in(txop, path));
        let mut count = 0;
        let mut padded = 0;
        let mut bytes = 0;
        for frame in path.frames.iter().take(aggregation.frames as usize) {
            if frame.state != State::Waiting {
                continue;
            }
            let mpdu = frame.one.size + self.rules.overhead;
            let with = padded + mpdu + phy::DELIMITER_BYTES;
            if with > max_bytes {
                break;
            }
            count += 1;
            bytes = with;
            padded += subframe_bytes(mpdu);
        }
        if count > 1 {
            (count, bytes)
        } else {
            (1, single)
        }
    }
}
