//! Scenarios: reading and checking of documents, and the plan that engines execute.
//!
//! - [`document`]: TOML or JSON documents; `--set`; canonical form and hash;
//! - [`schema`]: the declared fields and the typed scenario;
//! - [`class`]: user-defined algorithms;
//! - [`profile`]: stack profiles;
//! - [`network`]: nodes, links and routes of each kind of topology;
//! - [`trace`]: traces of delivery opportunities, from files or synthetic;
//! - [`plan`]: the input of an engine;
//! - [`perturbation`]: the plan of a seed, where the scenario is perturbed;
//! - [`name`]: names of nodes and flows.

pub mod class;
pub mod document;
pub mod name;
pub mod network;
pub mod perturbation;
pub mod plan;
pub mod profile;
pub mod schema;
pub mod trace;

pub use class::Class;
pub use document::Scenario;
