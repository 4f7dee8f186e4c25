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

/// Accepted packets of a link: those of two sizes apart, all others together.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct SizeClasses {
    /// The size of the last packet.
    current: SizeClass,
    /// Another size that came before.
    other: SizeClass,
    others: Option<Box<Sums>>,
    /// The other one is the size that appeared later.
    other_is_newer: bool,
}

/// Sums over packets of all sizes.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: u64,
    bytes: u64,
    /// Integrals over time of packets and bytes that wait, each counted in full when it joins. In 128 bits: 125 MB that wait
    /// for 74 s are 2⁶³ byte-nanoseconds, and behind an outage a wait lasts 2⁶⁰ ns.
    packet_ns: u128,
    byte_ns: u128,
}

impl SizeClasses {
    /// Counts a packet of `size` bytes that waits so long, and returns how long it takes on the line. `None`, and nothing is
    /// counted, if the size is none of the two.
    #[inline]
    pub(crate) fn count(&mut self, size: u32, wait: Duration) -> Option<Duration> {
        if self.current.size != size && !self.exchange(size) {
            return None;
        }
        let class = &mut self.current;
        class.packets += 1;
        let (sum, beyond) = class.wait_ns.overflowing_add(wait.0);
        class.wait_ns = sum;
        if beyond {
            self.carry();
        }
        Some(self.current.time)
    }

    /// Makes the other size the current one, if it is this.
    #[cold]
    fn exchange(&mut self, size: u32) -> bool {
        if self.other.size != size {
            return false;
        }
        std::mem::swap(&mut self.current, &mut self.other);
        self.other_is_newer = !self.other_is_newer;
        true
    }

    /// The same of a packet of a new size, which takes the place of the older one; such packets take `time` on the line.
    pub(crate) fn count_new(&mut self, size: u32, wait: Duration, time: Duration) {
        if !self.other_is_newer {
            std::mem::swap(&mut self.current, &mut self.other);
        }
        let oldest = std::mem::replace(&mut self.current, SizeClass { wait_ns: wait.0, time, packets: 1, size });
        self.other_is_newer = false;
        if oldest.packets > 0 {
            let others = self.others.get_or_insert_default();
            others.packets += oldest.packets;
            others.bytes += oldest.packets * u64::from(oldest.size);
            others.packet_ns += u128::from(oldest.wait_ns);
            others.byte_ns += u128::from(oldest.wait_ns) * u128::from(oldest.size);
        }
    }

    /// The sum of the waits of the current size no longer fits into 64 bits: 2⁶⁴ of it are counted apart.
    #[cold]
    fn carry(&mut self) {
        let others = self.others.get_or_insert_default();
        others.packet_ns += 1 << 64;
        others.byte_ns += u128::from(self.current.size) << 64;
    }

    /// Counts packets of any size that do not wait.
    pub(crate) fn add(&mut self, packets: u64, bytes: u64) {
        if packets > 0 {
            let others = self.others.get_or_insert_default();
            others.packets += packets;
            others.bytes += bytes;
        }
    }

    /// Packets, and their bytes.
    pub(crate) fn accepted(&self) -> (u64, u64) {
        let sums = self.sums();
        (sums.packets, sums.bytes)
    }

    /// The sums of all waits: packet-nanoseconds and byte-nanoseconds.
    pub(crate) fn integrals(&self) -> (u128, u128) {
        let sums = self.sums();
        (sums.packet_ns, sums.byte_ns)
    }

    fn sums(&self) -> Sums {
        let mut sums = self.others.as_deref().copied().unwrap_or_default();
        for class in [&self.current, &self.other] {
            sums.packets += class.packets;
            sums.bytes += class.packets * u64::from(class.size);
            sums.packet_ns += u128::from(class.wait_ns);
            sums.byte_ns += u128::from(class.wait_ns) * u128::from(class.size);
        }
        sums
    }

    /// The size that appeared last, and how long such a packet takes on the line.
    pub(crate) fn newest(&self) -> (u32, Duration) {
        let newest = if self.other_is_newer { &self.other } else { &self.current };
        (newest.size, newest.time)
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
            let mut newest = 0;
            let mut sums = (0u128, 0u128);
            let mut bytes = 0;
            for &(kind, shift) in &packets {
                let (size, wait) = ([40, 52, 576, 1500][kind as usize], 3u64 << shift);
                let time = Duration(u64::from(size) * 8);
                if let Some(remembered) = classes.count(size, Duration(wait)) {
                    prop_assert_eq!(remembered, time);
                } else {
                    newest = size;
                    classes.count_new(size, Duration(wait), time);
                }
                prop_assert_eq!(classes.newest().0, newest);
                sums = (sums.0 + u128::from(wait), sums.1 + u128::from(wait) * u128::from(size));
                bytes += u64::from(size);
            }
            prop_assert_eq!(classes.integrals(), sums);
            prop_assert_eq!(classes.accepted(), (packets.len() as u64, bytes));
        }
    }
}
