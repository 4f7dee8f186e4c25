//! The messages of a flow: when each was generated, and when it was delivered, if ever.

use cwndlab_units::{Bytes, Time};

/// A message of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedMessage {
    /// Time at which the application generated it.
    pub generated: Time,
    /// Time at which the application to which it is addressed had it in full; `None` if that never happened.
    pub delivered: Option<Time>,
    /// Size.
    pub size: Bytes,
}

/// The messages of a flow in the order of their generation.
#[derive(Debug, Default)]
pub struct MessageLog(Vec<LoggedMessage>);

impl MessageLog {
    /// Adds a message that was generated at `since`, behind those of that time.
    pub fn offer(&mut self, since: Time, size: Bytes) {
        let at = match self.0.last() {
            Some(last) if last.generated > since => self.0.partition_point(|one| one.generated <= since),
            _ => self.0.len(),
        };
        self.0.insert(at, LoggedMessage { generated: since, delivered: None, size });
    }

    /// Marks the oldest message that was generated at `since` and is not delivered yet as delivered at `now`; returns its
    /// size. A message that is delivered once more, as after a retransmission, keeps its first time.
    pub fn deliver(&mut self, since: Time, now: Time) -> Option<Bytes> {
        let first = self.0.partition_point(|one| one.generated < since);
        let equal = self.0[first..].iter_mut().take_while(|one| one.generated == since);
        let one = equal.into_iter().find(|one| one.delivered.is_none())?;
        one.delivered = Some(now);
        Some(one.size)
    }

    /// Adds messages, the first of which was not generated before the last one here.
    pub fn extend(&mut self, messages: Vec<LoggedMessage>) {
        self.0.extend(messages);
    }

    /// Whether it has no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes and returns all messages.
    pub fn take(&mut self) -> Vec<LoggedMessage> {
        std::mem::take(&mut self.0)
    }

    /// Allocated memory, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.0.capacity() * size_of::<LoggedMessage>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of three messages, two of the same instant, the second of them is lost.
    #[test]
    fn a_delivery_marks_the_oldest_message_of_its_time() {
        let mut log = MessageLog::default();
        let at = Time::from_nanos;
        for (time, size) in [(20, 2), (10, 1), (20, 3)] {
            log.offer(at(time), Bytes(size));
        }
        let deliveries = [(20, 25), (10, 30), (10, 40), (15, 50)].map(|(since, now)| log.deliver(at(since), at(now)));
        assert_eq!(deliveries, [Some(Bytes(2)), Some(Bytes(1)), None, None]);
        let delivered: Vec<_> = log.take().iter().map(|one| one.delivered).collect();
        assert_eq!(delivered, [Some(at(30)), Some(at(25)), None]);
    }
}
