//! Algorithms that are Python classes, for the extension modules of the engine and of the kernel datapath.
#![cfg(feature = "python")]

pub mod class_entry;
pub mod construction;
pub mod controller;
pub mod events;
pub mod intern;
pub mod rust_file;
