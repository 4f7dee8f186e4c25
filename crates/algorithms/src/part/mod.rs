//! What several algorithms share.

pub mod bbr;
pub mod bbr1;
pub mod bbr1_path;
pub mod bbr3;
pub mod bbr3_bounds;
pub mod bbr3_cycle;
pub mod bbr3_modes;
pub mod bbr3_path;
pub mod delays;
pub mod fit;
pub mod htcp_ns3;
pub mod hybrid;
pub mod leave;
pub mod likelihood;
pub mod pace;
pub mod policer;
pub mod round_rtt;
pub mod rounds;
pub mod told;
pub mod train;
pub mod windowed;
