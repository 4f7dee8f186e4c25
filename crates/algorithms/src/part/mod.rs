//! What several algorithms share.

pub mod hybrid;
pub mod leave;
pub mod likelihood;
pub mod pace;
pub mod rounds;
pub mod told;
pub mod train;
