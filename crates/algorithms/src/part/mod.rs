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
pub mod hybrid;
pub mod policer;
pub mod windowed;
