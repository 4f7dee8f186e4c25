//! What several algorithms share.

pub mod hybrid;
