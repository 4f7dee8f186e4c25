//! What several algorithms share.

pub mod fit;
pub mod hybrid;
pub mod round_rtt;
