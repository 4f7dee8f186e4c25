//! Printing quantities.
