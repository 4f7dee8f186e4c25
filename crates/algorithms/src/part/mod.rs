//! What several algorithms share.

pub mod fit;
pub mod hybrid;
pub mod leave;
pub mod likelihood;
pub mod pace;
pub mod round_rtt;
pub mod rounds;
pub mod told;
pub mod train;
