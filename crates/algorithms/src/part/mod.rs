//! What several algorithms share.

pub mod hybrid;
pub mod rounds;
