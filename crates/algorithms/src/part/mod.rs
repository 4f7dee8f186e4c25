//! What several algorithms share.

pub mod hybrid;
pub mod leave;
pub mod pace;
pub mod train;
