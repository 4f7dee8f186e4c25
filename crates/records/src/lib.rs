//! The answer: what an engine writes down.
//!
//! - [`rows`]: plain rows, as an engine fills them;
//! - [`table`]: the same as Arrow tables, with the header that says of which run they are;
//! - [`parquet`]: a folder of Parquet files, written whole or not at all, and read back;
//! - [`hash`]: one number that two runs share exactly when they recorded the same.
//!
//! All but the rows need the feature `arrow`.

#[cfg(feature = "arrow")]
pub mod hash;
#[cfg(feature = "arrow")]
pub mod parquet;
pub mod rows;
#[cfg(feature = "arrow")]
pub mod table;
