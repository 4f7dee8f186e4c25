//! Messages that wait to be sent on by the thread of a broker's endpoint.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex};

use cwndlab_scenario::plan::Plan;
use cwndlab_units::{Bytes, Fault, FlowId, IndexVec, Time};

use crate::locking::lock;

/// The messages of one broker's flow: time of generation and size.
#[derive(Debug)]
pub(crate) struct Inbox {
    messages: Mutex<Vec<(Time, Bytes)>>,
    /// A pipe that has a byte while there are messages, on which the thread waits beside its socket.
    wake: (PipeReader, PipeWriter),
}

impl Inbox {
    fn new() -> std::io::Result<Self> {
        Ok(Self { messages: Mutex::default(), wake: std::io::pipe()? })
    }

    fn push(&self, since: Time, size: Bytes) {
        let mut messages = lock(&self.messages);
        if messages.is_empty() {
            let _ = (&self.wake.1).write_all(b"m"); // an empty pipe has room
        }
        messages.push((since, size));
    }

    /// Removes and returns all messages.
    pub(crate) fn take(&self) -> Vec<(Time, Bytes)> {
        let mut messages = lock(&self.messages);
        if !messages.is_empty() {
            let _ = (&self.wake.0).read_exact(&mut [0]);
        }
        std::mem::take(&mut messages)
    }
}

impl AsRawFd for Inbox {
    /// A descriptor that is readable while there are messages.
    fn as_raw_fd(&self) -> RawFd {
        self.wake.0.as_raw_fd()
    }
}

/// The inboxes of all brokers of a plan.
#[derive(Debug, Default)]
pub(crate) struct Inboxes {
    of_broker: IndexVec<FlowId, Option<Inbox>>,
    subscribers: IndexVec<FlowId, Vec<FlowId>>,
}

impl Inboxes {
    /// # Errors
    /// No file descriptor is left.
    pub(crate) fn new(plan: &Plan) -> Result<Arc<Self>, Fault> {
        let inbox = |flow| plan.subscribers.values().flatten().any(|&one| one == flow).then(Inbox::new).transpose();
        let subscribers = |flow| plan.subscribers.get(&flow).cloned().unwrap_or_default();
        let of_broker = plan.flows.ids().map(inbox).collect::<std::io::Result<_>>();
        let of_broker = of_broker.map_err(|error| Fault::new("pipe", error.to_string(), ""))?;
        Ok(Arc::new(Self { of_broker, subscribers: plan.flows.ids().map(subscribers).collect() }))
    }

    /// The inbox of a flow; `None` where it sends nothing on.
    pub(crate) fn of(&self, flow: FlowId) -> Option<&Inbox> {
        self.of_broker[flow].as_ref()
    }

    /// Passes a message that a flow delivered to the flows that send it on.
    pub(crate) fn forward(&self, source: FlowId, since: Time, size: Bytes) {
        for inbox in self.subscribers.get(source.index()).into_iter().flatten().filter_map(|&one| self.of(one)) {
            inbox.push(since, size);
        }
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_linux::poll::wait_readable;
    use cwndlab_units::Duration;

    use super::*;

    /// The pipe is readable while there are messages, and only then.
    #[test]
    fn an_inbox_wakes_its_reader() {
        let inbox = Inbox::new().expect("a pipe");
        let is_readable = || wait_readable([inbox.as_raw_fd()], Duration::from_nanos(1));
        assert!(!is_readable());
        for size in [1, 2] {
            inbox.push(Time::from_nanos(7), Bytes(size));
            assert!(is_readable());
        }
        assert_eq!(inbox.take(), [1, 2].map(|size| (Time::from_nanos(7), Bytes(size))));
        assert!(!is_readable() && inbox.take().is_empty());
    }
}
