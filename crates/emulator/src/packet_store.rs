//! The bytes of the packets on the path, by number: the links carry the number alone.

/// Packets with the number of their copies on the path. Freed buffers are used again.
#[derive(Debug, Default)]
pub struct PacketStore {
    packets: Vec<(Vec<u8>, u32)>,
    free: Vec<u32>,
}

impl PacketStore {
    /// Stores a packet with one copy and returns its number.
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
    pub fn bytes_mut(&mut self, number: u32) -> &mut Vec<u8> {
        &mut self.packets[number as usize].0
    }

    /// Counts one more copy of a packet.
    pub fn add_copy(&mut self, number: u32) {
        self.packets[number as usize].1 += 1;
    }

    /// Removes one copy; the last one frees the packet.
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

    /// By the definition: a number is free when all of its copies are gone.
    #[test]
    fn a_number_is_used_again_when_its_last_copy_is_gone() {
        let mut store = PacketStore::default();
        let first = store.insert(b"one");
        store.add_copy(first);
        store.remove_copy(first);
        assert_ne!(store.insert(b"two"), first, "a copy is on the path");
        store.remove_copy(first);
        assert_eq!(store.insert(b"three"), first);
        assert_eq!(store.bytes_mut(first), b"three");
    }
}
