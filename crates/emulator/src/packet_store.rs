//! Storage of the bytes of packets on the path. The links carry only the number of a packet.

/// Packets by number, with a count of their copies on the path. Freed buffers are reused.
#[derive(Debug, Default)]
pub struct PacketStore {
    packets: Vec<(Vec<u8>, u32)>,
    free: Vec<u32>,
    /// The bytes of the last changed copy.
    change: Vec<u8>,
}

impl PacketStore {
    /// Stores a packet, with a copy count of one, and returns its number.
    pub fn insert(&mut self, bytes: &[u8]) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.packets.push((Vec::with_capacity(2048), 0));
            self.packets.len() as u32 - 1
        });
        let (buffer, copies) = &mut self.packets[number as usize];
        buffer.clear();
        buffer.extend_from_slice(bytes);
        *copies = 1;
        number
    }

    /// The bytes of a packet.
    #[must_use]
    pub fn bytes(&self, number: u32) -> &[u8] {
        &self.packets[number as usize].0
    }

    /// The bytes of one copy of a packet with a change, which the other copies do not have.
    pub fn changed(&mut self, number: u32, change: impl FnOnce(&mut [u8])) -> &[u8] {
        self.change.clear();
        self.change.extend_from_slice(&self.packets[number as usize].0);
        change(&mut self.change);
        &self.change
    }

    /// Increments the copy count of a packet.
    pub fn add_copy(&mut self, number: u32) {
        self.packets[number as usize].1 += 1;
    }

    /// Decrements the copy count of a packet, and frees the packet at zero.
    pub fn remove_copy(&mut self, number: u32) {
        let copies = &mut self.packets[number as usize].1;
        *copies -= 1;
        if *copies == 0 {
            self.free.push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition: a number is free when its last copy has been removed.
    #[test]
    fn a_number_is_reused_after_its_last_copy_is_removed() {
        let mut store = PacketStore::default();
        let first = store.insert(b"one");
        store.add_copy(first);
        store.remove_copy(first);
        assert_ne!(store.insert(b"two"), first, "a copy is on the path");
        store.remove_copy(first);
        assert_eq!(store.insert(b"three"), first);
        assert_eq!(store.bytes(first), b"three");
    }

    /// A queue marks one copy of a duplicated packet (RFC 3168): the other copy is not marked.
    #[test]
    fn a_change_belongs_to_one_copy() {
        let mut store = PacketStore::default();
        let number = store.insert(b"one");
        store.add_copy(number);
        assert_eq!(store.changed(number, |bytes| bytes[0] = b'O'), b"One");
        assert_eq!(store.bytes(number), b"one");
    }
}
