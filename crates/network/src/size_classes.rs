//! Counters of a link by packet size: packets of the two current sizes are summed without a product per packet.

use cwndlab_units::Duration;

use crate::line::ServiceTime;

/// The packets of one size.
#[derive(Clone, Copy, Debug, Default)]
struct SizeClass {
    /// Sum of their waiting times, ns.
    wait_ns: u64,
    /// Serialisation time on a line of constant rate, rounded up.
    time: Duration,
    /// Number of accepted packets.
    packets: u64,
    /// Size on the wire, bytes.
    size: u32,
    /// The part of `time` that rounding added, as in [`ServiceTime`].
    excess: u32,
}

/// Counters of a link's accepted packets: separate for two sizes, combined for all others.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct SizeClasses {
    /// Packets of the latest size.
    current: SizeClass,
    /// Packets of the previous size.
    other: SizeClass,
    /// Packets of all other sizes.
    others: Option<Box<Sums>>,
    /// The size of `other` appeared later than the size of `current`.
    other_is_newer: bool,
}

/// Sums over packets of any size.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: u64,
    bytes: u64,
    /// Integrals of the queue length over time; a packet is counted in full on arrival. 64 bits are insufficient: a queue
    /// of 125 MB for 74 s has 2⁶³ byte-nanoseconds, and an outage causes waiting times of 2⁶⁰ ns.
    packet_ns: u128,
    byte_ns: u128,
}

impl SizeClasses {
    /// Counts a packet of `size` bytes with the waiting time `wait`, and returns its serialisation time. Returns `None`
    /// without counting if `size` is neither of the two sizes.
    #[inline]
    pub(crate) fn count(&mut self, size: u32, wait: Duration) -> Option<ServiceTime> {
        let service = self.count_unqueued(size)?;
        let (sum, overflow) = self.current.wait_ns.overflowing_add(wait.as_nanos());
        self.current.wait_ns = sum;
        if overflow {
            self.carry();
        }
        Some(service)
    }

    /// As [`count`](Self::count), for a packet that does not wait.
    #[inline]
    pub(crate) fn count_unqueued(&mut self, size: u32) -> Option<ServiceTime> {
        if self.current.size != size && !self.swap_to(size) {
            return None;
        }
        self.current.packets += 1;
        Some(ServiceTime { time: self.current.time, excess: self.current.excess })
    }

    /// Swaps the two sizes if the other one is `size`.
    #[cold]
    fn swap_to(&mut self, size: u32) -> bool {
        if self.other.size != size {
            return false;
        }
        std::mem::swap(&mut self.current, &mut self.other);
        self.other_is_newer = !self.other_is_newer;
        true
    }

    /// Counts a packet of a new size, with its serialisation time. The new size replaces the older of the two.
    pub(crate) fn count_new(&mut self, size: u32, wait: Duration, service: ServiceTime) {
        if !self.other_is_newer {
            std::mem::swap(&mut self.current, &mut self.other);
        }
        let ServiceTime { time, excess } = service;
        let new = SizeClass { wait_ns: wait.as_nanos(), time, packets: 1, size, excess };
        let oldest = std::mem::replace(&mut self.current, new);
        self.other_is_newer = false;
        if oldest.packets > 0 {
            let others = self.others.get_or_insert_default();
            others.packets += oldest.packets;
            others.bytes += oldest.packets * u64::from(oldest.size);
            others.packet_ns += u128::from(oldest.wait_ns);
            others.byte_ns += u128::from(oldest.wait_ns) * u128::from(oldest.size);
        }
    }

    /// Carries 2⁶⁴ ns from the overflowing sum of the current size to the combined sums.
    #[cold]
    fn carry(&mut self) {
        let others = self.others.get_or_insert_default();
        others.packet_ns += 1 << 64;
        others.byte_ns += u128::from(self.current.size) << 64;
    }

    /// Counts packets of any size without waiting time.
    pub(crate) fn add(&mut self, packets: u64, bytes: u64) {
        if packets > 0 {
            let others = self.others.get_or_insert_default();
            others.packets += packets;
            others.bytes += bytes;
        }
    }

    /// Accepted packets and bytes.
    pub(crate) fn accepted(&self) -> (u64, u64) {
        let sums = self.sums();
        (sums.packets, sums.bytes)
    }

    /// Sums of all waiting times, in packet-nanoseconds and byte-nanoseconds.
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

    /// The size of the packet that was counted last.
    pub(crate) fn latest_size(&self) -> u32 {
        self.current.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compared with sums over individual packets, for alternating sizes and overflowing waiting times.
        #[test]
        fn sums_equal_those_over_individual_packets(packets in prop::collection::vec((0u32..4, 0u32..62), 0..200)) {
            let mut classes = SizeClasses::default();
            let mut sums = (0u128, 0u128);
            let mut bytes = 0;
            for &(kind, shift) in &packets {
                let size = [40, 52, 576, 1500][kind as usize];
                let wait = 3u64 << shift;
                let service = ServiceTime { time: Duration::from_nanos(u64::from(size) * 8), excess: size };
                if let Some(cached) = classes.count(size, Duration::from_nanos(wait)) {
                    prop_assert_eq!(cached, service);
                } else {
                    classes.count_new(size, Duration::from_nanos(wait), service);
                }
                prop_assert_eq!(classes.latest_size(), size);
                sums = (sums.0 + u128::from(wait), sums.1 + u128::from(wait) * u128::from(size));
                bytes += u64::from(size);
            }
            prop_assert_eq!(classes.integrals(), sums);
            prop_assert_eq!(classes.accepted(), (packets.len() as u64, bytes));
        }
    }
}
