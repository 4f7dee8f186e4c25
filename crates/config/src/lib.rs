//! Declarations of configuration tables, from which the following derive: reading with faults, the canonical form, JSON
//! Schema, and a description for the documentation and for other languages.
//!
//! A table is declared once, as a list of [`Field`]s with kind, unit, default, range and meaning:
//!
//! ```
//! use cwndlab_config::{Faults, Field, Reader, Table};
//! use cwndlab_units::Duration;
//!
//! static CODEL: Table = Table::new("codel", "Controlled delay (RFC 8289).", &[&[
//!     Field::duration("target", "5 ms", "sojourn time below which no packet is dropped").above_zero(),
//!     Field::flag("ecn", false, "marks ECN-capable packets and drops only the others"),
//! ]]);
//!
//! let document = serde_json::json!({ "target": "7 ms" });
//! let mut faults = Faults::default();
//! let table = Reader::new(&document, "queue", &CODEL, &mut faults).unwrap();
//! assert_eq!(table.duration("target", &mut faults), Some(Duration::from_millis(7)));
//! assert_eq!(table.flag("ecn", &mut faults), Some(false));
//! assert_eq!(cwndlab_config::canonical::table(&CODEL, &document).to_string(), r#"{"ecn":false,"target_ns":7000000}"#);
//! ```
//!
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
pub mod reader;
mod registry;
pub mod schema;

pub use fault::Faults;
pub use field::{Choice, Custom, Field, Kind, Literal, Table, WhenAbsent, Word};
pub use reader::Reader;
