//! The actions of an application.

use cwndlab_units::Bytes;

/// The action of an application at its timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open the connection and write a number of bytes; `None`: unlimited data.
    Open(Option<Bytes>),
    /// Replace the connection by a new one and write.
    Reopen(Option<Bytes>),
    /// Write a transfer on the open connection.
    Write(Option<Bytes>),
    /// Write a number of bytes that are no transfer.
    Supply(Bytes),
    /// Stop writing until the next timer.
    Pause,
    /// Stop writing permanently.
    Stop,
    /// No action.
    Nothing,
}
