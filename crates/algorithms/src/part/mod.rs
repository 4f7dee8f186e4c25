//! What several algorithms share.

pub mod bbr;
pub mod bbr1;
pub mod bbr1_path;
pub mod delays;
pub mod hybrid;
pub mod policer;
pub mod windowed;
