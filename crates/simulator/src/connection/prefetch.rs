//! What a packet reads that arrives at a connection, asked for before its turn.

use cwndlab_units::Time;
use prefetch_index::prefetch_index;

use super::Connection;

/// Bytes of a cache line.
const LINE: usize = 64;

impl Connection {
    /// Asks for the state that a packet reads which arrives at the receiver, or at the sender.
    #[inline]
    pub(crate) fn prefetch(&self, receiver: bool) {
        let bytes = if receiver { std::mem::offset_of!(Self, sender) } else { size_of::<Self>() };
        for line in 0..bytes.div_ceil(LINE) {
            prefetch_index(self.armed.as_slice(), line * LINE / size_of::<Time>());
        }
    }

    /// Asks for what it reads beyond that.
    #[inline]
    pub(crate) fn prefetch_rest(&self, receiver: bool) {
        if receiver {
            self.receiver.prefetch();
        } else {
            self.sender.prefetch();
        }
    }
}
