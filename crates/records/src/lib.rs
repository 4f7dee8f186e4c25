//! The answer: what an engine writes down.

pub mod rows;
