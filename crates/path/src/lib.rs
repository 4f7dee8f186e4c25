//! The path of packets: links, routes and the packets on them, built from a plan.
//!
//! It has no clock: the simulator runs it in virtual time, the emulator on the wall clock.
//!
//! | module | purpose |
//! |---|---|
//! | [`network`] | carries packets along their routes |
//! | [`agenda`], `ties` | the events of timers and servers, and the order of events at the same time |
//! | `routes`, `link_fusion`, `look_ahead` | the links of each route, and which of them need no event |
//! | `wires`, `arrivals` | packets on wires, and which of them arrives next |
//! | `aqm_links`, `wifi` | links with a queue discipline, and 802.11 media |
//! | `build_links` | links from the plan |
//! | [`packet`], [`packet_options`] | packets, and what they carry |
//! | [`taps`] | packet records |
//! | [`losses`], [`link_snapshot`], `link_report` | counters of flows and links |
//! | [`event_log`] | rows of the table `events` |
//! | [`start_times`] | the starts of flows |
//! | [`timers`] | the timers of a connection |

pub mod agenda;
mod aqm_links;
mod arrivals;
mod build_links;
pub mod event_log;
mod link_fusion;
mod link_report;
pub mod link_snapshot;
mod look_ahead;
pub mod losses;
pub mod network;
pub mod packet;
pub mod packet_options;
mod routes;
pub mod start_times;
pub mod taps;
mod ties;
pub mod timers;
mod wifi;
mod wires;
