//! The network path: links, routes and the packets on them, built from a plan.
//!
//! It has no clock. The simulator runs it in virtual time, the emulator in real time.
//!
//! | module | purpose |
//! |---|---|
//! | [`network`] | forwards packets along their routes |
//! | [`agenda`], [`event_sources`], `ties` | the event queue of timers and servers, and the order of simultaneous events |
//! | `routes`, `link_fusion`, `look_ahead` | the links of each route, and the links that need no event |
//! | [`division`] | parts of a network on several threads |
//! | `wires`, `arrivals` | packets on wires, and the event queue of their arrivals |
//! | `calendar`, `year` | packets of many endpoints on the way to shared links; values by day |
//! | `aqm_links`, `wifi` | links with a queue discipline, and 802.11 media |
//! | `build_links` | construction of links from the plan |
//! | [`packet`], [`packet_options`] | packets, their options and router headers |
//! | [`taps`], `connection_numbers` | packet records |
//! | [`losses`], [`link_snapshot`], `link_report` | counters of flows and links |
//! | [`findings`], `conservation` | what a run reports about itself |
//! | [`event_log`], [`application_rows`] | the tables `events`, `messages` and `transfers` |
//! | [`stack_rows`] | columns that the stacks of hosted flows report |
//! | [`lifetimes`] | when flows start and stop, and which are admitted |
//! | [`timers`] | the timers of a connection |

pub mod agenda;
pub mod application_rows;
mod aqm_links;
mod arrivals;
mod build_links;
mod calendar;
mod cell;
mod connection_numbers;
mod conservation;
pub mod division;
pub mod event_log;
pub mod event_sources;
pub mod findings;
pub mod lifetimes;
mod link_fusion;
mod link_report;
pub mod link_snapshot;
mod look_ahead;
pub mod losses;
pub mod medium_time;
pub mod network;
mod owner;
pub mod packet;
pub mod packet_options;
mod router_agents;
mod routes;
pub mod stack_rows;
pub mod taps;
mod ties;
pub mod timers;
mod wifi;
mod wires;
mod year;
