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
pub mod exit;
pub mod htcp_ns3;
pub mod hybrid;
pub mod likelihood;
pub mod pace;
pub mod policer;
pub mod rate_feedback;
pub mod round_rtt;
pub mod rounds;
pub mod train;
pub mod virtual_flows;
pub mod windowed;
