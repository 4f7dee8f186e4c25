//! Declarations of configuration tables, from which the following derive: reading with faults, the canonical form, JSON
//! Schema, and a description for the documentation and for other languages.
//!
//! A configuration is declared once, by [`fields!`], with type, default, range and meaning of its fields:
//!
//! ```
//! use cwndlab_config::{fields, Positive, Table};
//! use cwndlab_units::Duration;
//!
//! fields! {
//!     /// CoDel's configuration.
//!     pub struct Config {
//!         /// sojourn time below which no packet is dropped
//!         target: Positive<Duration> = "5 ms",
//!         /// marks ECN-capable packets and drops only the others
//!         ecn: bool = false,
//!     }
//! }
//!
//! static CODEL: Table = Table::new("codel", "Controlled delay (RFC 8289).", &[Config::FIELDS]);
//!
//! let document = serde_json::json!({ "target": "7 ms" });
//! assert_eq!(cwndlab_config::canonical::table(&CODEL, &document).to_string(), r#"{"ecn":false,"target_ns":7000000}"#);
//! ```
//!
//! - [`fields!`]: configurations, and [`fields`](mod@fields) their types;
//! - [`field`]: fields, tables, and choices between tables;
//! - [`fault`]: faults of a document;
//! - [`reader`]: reading of declared fields;
//! - [`canonical`]: the canonical form, which is hashed;
//! - [`schema`]: JSON Schema;
//! - [`describe`]: all declarations as data;
//! - [`registry!`]: a list of plug-ins, each one file with its declaration.

pub mod canonical;
pub mod describe;
pub mod fault;
pub mod field;
pub mod fields;
pub mod reader;
mod registry;
pub mod schema;

pub use fault::Faults;
pub use field::{Choice, Custom, Field, Kind, Literal, Table, WhenAbsent, Word};
pub use fields::{FieldType, Lines, Positive, Probability, RateOrOutage, TablePath, TableType, Tables};
pub use reader::Reader;
