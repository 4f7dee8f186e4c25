//! The records of a run: its output tables.
//!
//! - [`rows`]: the declarations of all tables: rows, columns, types and meanings;
//! - [`table`]: the rows as Arrow tables, with a header that identifies the run;
//! - [`parquet`]: a folder of Parquet files, written atomically and read back;
//! - [`hash`]: a hash that is equal exactly for runs with equal records;
//! - [`declaration`]: the macro that declares tables, and the items that it derives.
//!
//! All modules except `rows` and `declaration` require the feature `arrow`, `parquet` that of its name.

#[macro_use]
pub mod declaration;
#[cfg(feature = "arrow")]
pub mod hash;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod rows;
#[cfg(feature = "arrow")]
pub mod table;
