//! The records of a run: its output tables.
//!
//! - [`rows`]: the declarations of all tables: rows, columns, types and meanings;
//! - [`header`]: identifies a run;
//! - [`plain_tables`]: the rows as vectors, column by column ([`plain`]);
//! - [`table`]: the rows as Arrow tables;
//! - [`parquet`]: a folder of Parquet files, written atomically and read back;
//! - [`hash`]: a hash that is equal exactly for runs with equal records;
//! - [`findings`], [`stall`]: what a run reports about itself, and the detection of connections that stop;
//! - [`declaration`]: the macro that declares tables, and the items that it derives.
//!
//! `table`, `parquet` and `hash` require the features of these names (`arrow` for `table`).

#[macro_use]
pub mod declaration;
pub mod findings;
#[cfg(feature = "hash")]
pub mod hash;
pub mod header;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod plain;
pub mod plain_tables;
pub mod rows;
pub mod stall;
#[cfg(feature = "arrow")]
pub mod table;
