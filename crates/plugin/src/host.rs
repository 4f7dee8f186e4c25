//! The side of the engine.

use std::ffi::c_void;
use std::fmt;
use std::path::Path as File;

use cwndlab_control::{Ack, Congestion, Event, Extra, Path, Sent, State, Window};
use cwndlab_units::{Bytes, Rate};
use libloading::Library;

use crate::abi::{CAck, CCongestion, CEvent, COutputs, CPath, CSent, CWindow, Text};
use crate::table::{CParameter, Entry, Handle, Sizes, Table, ENTRY, NEEDS, VERSION};

/// A library whose version and sizes are those of the engine. It is never unloaded: its texts are used as `'static`.
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    table: &'static Table,
}

// SAFETY: a table has functions, which any thread may call, and texts that nobody changes.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}

/// The default of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Default {
    /// A number, the least and the largest one.
    Number(f64, f64, f64),
    /// A word.
    Word(&'static str),
}

impl Plugin {
    /// Loads a library.
    ///
    /// # Errors
    /// It cannot be loaded, exports no algorithm, or was compiled for another version or layout of the interface.
    pub fn load(file: &File) -> Result<Self, String> {
        // SAFETY: the code of the library runs in this process, as the user demands by naming its source.
        let library = unsafe { Library::new(file) }.map_err(|error| error.to_string())?;
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: the function has the type of `Entry` in all versions of the interface.
        let entry = unsafe { library.get::<Entry>(ENTRY) }.map_err(|error| error.to_string())?;
        let mut table = std::mem::MaybeUninit::<Table>::uninit();
        // SAFETY: the library writes the table only where its size is the one here.
        let version = unsafe { entry(VERSION, std::ptr::from_ref(&Sizes::HERE), table.as_mut_ptr()) };
        if version != VERSION {
            return Err(format!("was compiled for another version or layout of the interface than {VERSION}"));
        }
        // SAFETY: the library has written it.
        Ok(Self { table: Box::leak(Box::new(unsafe { table.assume_init() })) })
    }

    /// Name of the algorithm.
    #[must_use]
    pub fn name(&self) -> &'static str {
        // SAFETY: texts of a table exist as long as the process.
        unsafe { self.table.name.get() }.unwrap_or_default()
    }

    /// It is a whole algorithm, not a part of one.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.table.kind.get() == Some("whole") }
    }

    /// It has a model of the path.
    #[must_use]
    pub fn is_model_based(&self) -> bool {
        self.table.model_based != 0
    }

    /// Names of its needs.
    pub fn needs(&self) -> impl Iterator<Item = &'static str> + '_ {
        NEEDS.into_iter().enumerate().filter(|(at, _)| self.table.needs >> at & 1 != 0).map(|(_, name)| name)
    }

    /// Names and defaults of its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static str, Default)> + '_ {
        (0..self.table.parameters).filter_map(|index| {
            let mut one = CParameter { name: Text::NONE, number: 0.0, low: 0.0, high: 0.0, word: Text::NONE };
            // SAFETY: the place is one of its type, and its texts exist as long as the process.
            unsafe {
                if !(self.table.parameter)(index, &raw mut one) {
                    return None;
                }
                let number = Default::Number(one.number, one.low, one.high);
                Some((one.name.get()?, one.word.get().map_or(number, Default::Word)))
            }
        })
    }

    /// Constructs the algorithm of a flow by its text, such as `mine(a=2)`.
    ///
    /// # Errors
    /// The constructor's panic, or a fault of the text.
    pub fn create(&self, path: &Path, text: &str) -> Result<Control, String> {
        let mut made = Control { table: self.table, handle: std::ptr::null_mut(), outputs: COutputs::NONE };
        let path = CPath::from(path);
        // SAFETY: all places are of their types, and the text exists during the call.
        let done = unsafe {
            (self.table.create)(&raw const path, Text::new(text), &raw mut made.handle, &raw mut made.outputs)
        };
        made.outcome(done)?;
        Ok(made)
    }
}

/// The algorithm of a flow, with the window, the pacing rate and the state after its last call.
pub struct Control {
    table: &'static Table,
    /// Null where its construction failed.
    handle: Handle,
    outputs: COutputs,
}

// SAFETY: the handle is a `Box<dyn CongestionControl>` of the library, which is `Send`, and only this value has it.
unsafe impl Send for Control {}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: it is a handle of this library that nobody uses afterwards.
            unsafe { (self.table.free)(self.handle) };
        }
    }
}

impl Control {
    fn outcome(&self, done: bool) -> Result<(), String> {
        if done {
            return Ok(());
        }
        // SAFETY: the text exists until the next call of a function in this thread, and is copied before.
        Err(unsafe { (self.table.failure)().get() }.unwrap_or("failed without a text").to_owned())
    }

    /// A copy of the present state.
    ///
    /// # Errors
    /// The text of a panic, as in all methods.
    pub fn copy(&self) -> Result<Self, String> {
        let mut copy = Self { table: self.table, handle: std::ptr::null_mut(), outputs: self.outputs };
        // SAFETY: the handle is one of this library, and the place is one of its type.
        let done = unsafe { (self.table.copy)(self.handle, &raw mut copy.handle) };
        self.outcome(done)?;
        Ok(copy)
    }

    /// `CongestionControl::on_ack`.
    ///
    /// # Errors
    /// The text of a panic.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) -> Result<Option<Event>, String> {
        let report = CAck::from(ack);
        let mut event = CEvent::NONE;
        // SAFETY: the handle is one of this library, and all places are of their types.
        let done =
            unsafe { (self.table.on_ack)(self.handle, &raw const report, &raw mut event, &raw mut self.outputs) };
        self.outcome(done)?;
        // SAFETY: names of events are `'static` in the library.
        Ok(unsafe { event.get() })
    }

    /// `CongestionControl::on_congestion`.
    ///
    /// # Errors
    /// The text of a panic.
    pub fn on_congestion(&mut self, event: &Congestion) -> Result<(), String> {
        let report = CCongestion::from(event);
        // SAFETY: as in `on_ack`.
        let done = unsafe { (self.table.on_congestion)(self.handle, &raw const report, &raw mut self.outputs) };
        self.outcome(done)
    }

    /// `CongestionControl::on_sent`.
    ///
    /// # Errors
    /// The text of a panic.
    #[inline]
    pub fn on_sent(&mut self, sent: &Sent) -> Result<(), String> {
        let report = CSent::from(sent);
        // SAFETY: as in `on_ack`.
        let done = unsafe { (self.table.on_sent)(self.handle, &raw const report, &raw mut self.outputs) };
        self.outcome(done)
    }

    /// `CongestionControl::on_window`.
    ///
    /// # Errors
    /// The text of a panic.
    pub fn on_window(&mut self, window: &Window) -> Result<(), String> {
        let report = CWindow::from(window);
        // SAFETY: as in `on_ack`.
        let done = unsafe { (self.table.on_window)(self.handle, &raw const report, &raw mut self.outputs) };
        self.outcome(done)
    }

    /// `CongestionControl::cwnd` after the last call.
    #[inline]
    #[must_use]
    pub fn cwnd(&self) -> Bytes {
        self.outputs.cwnd()
    }

    /// `CongestionControl::pacing_rate` after the last call.
    #[inline]
    #[must_use]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.outputs.pacing_rate()
    }

    /// `CongestionControl::state` after the last call.
    #[inline]
    #[must_use]
    pub fn state(&self) -> State {
        self.outputs.state()
    }

    /// The named numbers of the state.
    ///
    /// # Errors
    /// The text of a panic.
    pub fn numbers(&self, mut put: Extra<'_>) -> Result<(), String> {
        unsafe extern "C" fn pass(receiver: *mut c_void, name: Text, value: f64) {
            // SAFETY: the receiver is the one below, and names are `'static` in the library.
            unsafe {
                if let Some(name) = name.get() {
                    (*receiver.cast::<Extra<'_>>())(name, value);
                }
            }
        }
        let receiver = std::ptr::from_mut(&mut put).cast::<c_void>();
        // SAFETY: the handle is one of this library, and the receiver exists during the call.
        let done = unsafe { (self.table.numbers)(self.handle, receiver, pass) };
        self.outcome(done)
    }
}
