//! The question: a scenario as people write it, checked, and the plan that engines run.
//!
//! - [`document`]: TOML or JSON as written; `--set`; canonical form and hash;
//! - [`schema`]: the declared fields, the typed scenario;
//! - [`class`]: algorithms that whoever runs the scenario hands over;
//! - [`profile`]: stack profiles;
//! - [`network`]: nodes, links and routes of each kind of topology;
//! - [`trace`]: delivery opportunities, from files and made;
//! - [`plan`]: what an engine runs;
//! - [`name`]: names of nodes and flows.

pub mod class;
pub mod document;
pub mod name;
pub mod network;
pub mod plan;
pub mod profile;
pub mod schema;
pub mod trace;

pub use class::Class;
pub use cwndlab_config::Fault;
pub use document::Scenario;
