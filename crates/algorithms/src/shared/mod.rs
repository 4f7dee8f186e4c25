//! Measurements and rules shared by several algorithms.

pub mod bbr;
pub mod deliveries;
pub mod departures;
pub mod exit;
pub mod hybrid;
pub mod linux_counter;
pub mod margin;
pub mod pace;
pub mod rate_feedback;
pub mod round_rtt;
pub mod rounds;
pub mod train;
pub mod virtual_flows;
