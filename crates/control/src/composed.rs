//! A slow start and a growth joined into a congestion control.

use crate::parts::{Growth, SlowStart};

/// A slow start and a growth as one [`CongestionControl`](crate::CongestionControl).
#[derive(Debug)]
pub struct Composed {
    _slow_start: Box<dyn SlowStart>,
    _growth: Box<dyn Growth>,
}
