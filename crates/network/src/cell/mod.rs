//! A cell of LTE or 5G NR: users share the resource blocks of each transmission time interval (TTI), per direction.
//!
//! A [`Cell`] advances from TTI to TTI while it holds packets. In each, the scheduler of a direction assigns resource
//! blocks to bearers with data. A bearer has a queue, a channel and the retransmissions of HARQ and RLC; packets are
//! segmented over transport blocks and delivered in order. Uplink bearers request grants, users without data are
//! released, and hand-overs interrupt a bearer.
//!
//! The channel is flat over the bandwidth, and there is no interference from other cells. Headers of PDCP, RLC and MAC
//! and the signalling of grants, requests and hand-overs take no resource blocks.

mod bearer;
mod channel;
mod config;
mod grants;
mod radio;
mod schedule;
#[cfg(test)]
mod tests;
mod tti;
mod users;

pub use bearer::{BearerConfig, BearerCounters};
pub use config::{Configuration, Grants, Harq, Rlc, RlcMode, Rrc, SchedulerKind, Technology};
pub use radio::{cqi_at, transport_block_bytes, CQI_EFFICIENCY};
pub use tti::{Cell, CellEvent, CellEventKind, NEVER};
pub use users::RrcState;
