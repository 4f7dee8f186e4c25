//! The interpreter: runs the events of a script in virtual time against the transport.

mod connection;
mod driver;
mod expect;
mod feedback;
mod handshake;
mod info;
mod opening;
mod segments;
mod timestamps;
mod wire;

pub(crate) use connection::algorithm_text;
pub(crate) use driver::run;
pub(crate) use info::FIELDS;
