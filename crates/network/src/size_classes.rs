//! What a link counts, by size of packet: sizes repeat, so that a sum over packets of one size needs no product per packet.

use cwndlab_units::Duration;

/// The packets of one size.
#[derive(Clone, Copy, Debug, Default)]
struct SizeClass {
    /// Sum of their waits, ns.
    wait_ns: u64,
    /// How long one takes on a line of constant rate.
    time: Duration,
    /// How many were accepted.
    packets: u64,
    /// Bytes on the wire of each.
    size: u32,
}

/// Accepted packets of a link: those of the last two sizes apart, all others together.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct SizeClasses {
    /// The newer size first.
    recent: [SizeClass; 2],
    packets: u64,
    bytes: u64,
    /// Integrals over time of packets and bytes that wait, each counted in full when it joins. In 128 bits: 125 MB that wait
    /// for 74 s are 2⁶³ byte-nanoseconds, and behind an outage a wait lasts 2⁶⁰ ns.
    packet_ns: u128,
    byte_ns: u128,
}

impl SizeClasses {
    /// Counts a packet of `size` bytes that waits so long. Returns how long it takes on the line, which `time` computes where
    /// it is not remembered.
    #[inline]
    pub(crate) fn count(&mut self, size: u32, wait: Duration, time: impl FnOnce() -> Duration) -> Duration {
        let at = if self.recent[0].size == size {
            0
        } else if self.recent[1].size == size {
            1
        } else {
            self.renew(size, time());
            0
        };
        let class = &mut self.recent[at];
        class.packets += 1;
        match class.wait_ns.checked_add(wait.0) {
            Some(sum) => class.wait_ns = sum,
            None => self.carry(at, wait),
        }
        self.recent[at].time
    }

    /// A size takes the place of the older one.
    #[cold]
    fn renew(&mut self, size: u32, time: Duration) {
        let oldest = self.recent[1];
        self.packets += oldest.packets;
        self.bytes += oldest.packets * u64::from(oldest.size);
        self.packet_ns += u128::from(oldest.wait_ns);
        self.byte_ns += u128::from(oldest.wait_ns) * u128::from(oldest.size);
        self.recent = [SizeClass { size, time, ..SizeClass::default() }, self.recent[0]];
    }

    /// The sum of the waits of a size no longer fits into 64 bits with this one.
    #[cold]
    fn carry(&mut self, at: usize, wait: Duration) {
        let class = &mut self.recent[at];
        let sum = std::mem::replace(&mut class.wait_ns, wait.0);
        self.packet_ns += u128::from(sum);
        self.byte_ns += u128::from(sum) * u128::from(class.size);
    }

    /// Counts packets of any size that do not wait.
    pub(crate) fn add(&mut self, packets: u64, bytes: u64) {
        self.packets += packets;
        self.bytes += bytes;
    }

    /// Packets, and their bytes.
    pub(crate) fn accepted(&self) -> (u64, u64) {
        let of = |class: &SizeClass| class.packets * u64::from(class.size);
        let [newer, older] = &self.recent;
        (self.packets + newer.packets + older.packets, self.bytes + of(newer) + of(older))
    }

    /// The sums of all waits: packet-nanoseconds and byte-nanoseconds.
    pub(crate) fn integrals(&self) -> (u128, u128) {
        let mut sums = (self.packet_ns, self.byte_ns);
        for class in &self.recent {
            sums.0 += u128::from(class.wait_ns);
            sums.1 += u128::from(class.wait_ns) * u128::from(class.size);
        }
        sums
    }

    /// The newest size, and how long such a packet takes on the line.
    pub(crate) fn newest(&self) -> (u32, Duration) {
        (self.recent[0].size, self.recent[0].time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The sums are those over the packets one by one, however the sizes alternate and however long the waits are.
        #[test]
        fn sums_are_those_over_all_packets(packets in prop::collection::vec((0u32..4, 0u32..62), 0..200)) {
            let mut classes = SizeClasses::default();
            let mut sums = (0u128, 0u128);
            let mut bytes = 0;
            for &(kind, shift) in &packets {
                let (size, wait) = ([40, 52, 576, 1500][kind as usize], 3u64 << shift);
                let time = classes.count(size, Duration(wait), || Duration(u64::from(size) * 8));
                prop_assert_eq!(time, Duration(u64::from(size) * 8));
                sums = (sums.0 + u128::from(wait), sums.1 + u128::from(wait) * u128::from(size));
                bytes += u64::from(size);
            }
            prop_assert_eq!(classes.integrals(), sums);
            prop_assert_eq!(classes.accepted(), (packets.len() as u64, bytes));
        }
    }
}
