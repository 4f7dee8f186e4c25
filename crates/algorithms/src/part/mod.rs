//! What several algorithms share.

pub mod hybrid;
pub mod told;
pub mod leave;
pub mod pace;
pub mod train;
