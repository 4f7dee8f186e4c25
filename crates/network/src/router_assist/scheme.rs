//! The identity of a router-assisted scheme.

/// A router-assisted scheme: its position in the list of schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme(pub(super) u8);
