//! Algorithms in shared libraries: the contract of [`cwndlab_control`] behind an interface of C, so that the engine loads
//! an algorithm that another version of the compiler has made (decision 20).
//!
//! | module | purpose |
//! |---|---|
//! | `abi` | the values that cross the boundary |
//! | `table` | the exported function, and the table that it returns |
//! | `guest` | the side of the library: `export!` |
//! | `host` | the side of the engine, with the feature `host` |
//!
//! A library exports one function, [`table::Entry`]. It receives version and sizes of the caller's values and returns a
//! table of functions only where they are its own. A panic is caught on the library's side, and its text is returned.
//!
//! ```ignore
//! mod algorithm; // with `pub static SPEC: Spec`, as a file of the tree
//! cwndlab_plugin::export!(algorithm::SPEC);
//! ```

pub mod abi;
pub mod guest;
#[cfg(feature = "host")]
pub mod host;
pub mod table;
