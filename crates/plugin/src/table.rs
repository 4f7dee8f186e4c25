//! The function that a library exports, and the table of functions that it returns.

use std::ffi::c_void;

use crate::abi::{CAck, CCongestion, CEvent, COutputs, CPath, CSent, CWindow, Text};

/// The version of the interface; a change of any meaning is another one.
pub const VERSION: u32 = 4;

/// The name of the function that a library exports.
pub const ENTRY: &[u8] = b"cwndlab_algorithm";

/// The function that a library exports: version and sizes of the caller, and the place of the table. It returns
/// [`VERSION`] where it wrote the table, otherwise 0, and writes nothing.
pub type Entry = unsafe extern "C" fn(version: u32, sizes: *const Sizes, table: *mut Table) -> u32;

/// The sizes of all values that one side writes into the memory of the other, bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes([u32; 9]);

impl Sizes {
    /// Those of this compilation.
    pub const HERE: Self = Self([
        size_of::<CPath>() as u32,
        size_of::<CAck>() as u32,
        size_of::<CCongestion>() as u32,
        size_of::<CSent>() as u32,
        size_of::<CWindow>() as u32,
        size_of::<CEvent>() as u32,
        size_of::<COutputs>() as u32,
        size_of::<CParameter>() as u32,
        size_of::<Table>() as u32,
    ]);
}

/// A parameter: a number, or a word where `word` is one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CParameter {
    /// Its name.
    pub name: Text,
    /// The default of a number.
    pub number: f64,
    /// The least number.
    pub low: f64,
    /// The largest number.
    pub high: f64,
    /// The default of a word.
    pub word: Text,
}

/// The names of the bits of [`Table::needs`], from the lowest.
pub const NEEDS: [&str; 7] = ["pacing", "spacing", "ecn", "l4s", "agent", "every-ack", "loss-in-reduction"];

/// An algorithm of a library, in its own memory.
pub type Handle = *mut c_void;

/// Receives a named number: the pointer that came with it, name and value.
pub type Put = unsafe extern "C" fn(*mut c_void, Text, f64);

/// The functions of a library. Those that return a `bool` return false after a panic or an error, whose text `failure`
/// returns in the same thread; the text exists until its next call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name of the algorithm.
    pub name: Text,
    /// Its kind, as its entry has it; only `Whole` can be loaded.
    pub kind: Text,
    /// `Spec::model_based`.
    pub model_based: u8,
    /// `Spec::needs`: a bit for each, as [`NEEDS`] names them. The scheme of an agent is not in it.
    pub needs: u32,
    /// Number of parameters.
    pub parameters: u32,
    /// A parameter by its index.
    pub parameter: unsafe extern "C" fn(u32, *mut CParameter) -> bool,
    /// Constructs by the text that a flow has, such as `mine(a=2)`.
    pub create: unsafe extern "C" fn(*const CPath, Text, *mut Handle, *mut COutputs) -> bool,
    /// A copy.
    pub copy: unsafe extern "C" fn(Handle, *mut Handle) -> bool,
    /// Frees.
    pub free: unsafe extern "C" fn(Handle),
    /// `on_ack`.
    pub on_ack: unsafe extern "C" fn(Handle, *const CAck, *mut CEvent, *mut COutputs) -> bool,
    /// `on_congestion`.
    pub on_congestion: unsafe extern "C" fn(Handle, *const CCongestion, *mut COutputs) -> bool,
    /// `on_sent`.
    pub on_sent: unsafe extern "C" fn(Handle, *const CSent, *mut COutputs) -> bool,
    /// `on_window`.
    pub on_window: unsafe extern "C" fn(Handle, *const CWindow, *mut COutputs) -> bool,
    /// The named numbers of `state`.
    pub numbers: unsafe extern "C" fn(Handle, *mut c_void, Put) -> bool,
    /// The text of the last failure of this thread.
    pub failure: unsafe extern "C" fn() -> Text,
}
