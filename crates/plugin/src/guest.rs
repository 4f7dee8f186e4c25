//! The side of the library.

use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::Once;

use cwndlab_control::{Catalogue, CongestionControl, Domain, Need, Spec, Value};

use crate::abi::{CAck, CCongestion, CEvent, COutputs, CPath, CSent, CWindow, Text};
use crate::table::{CParameter, Handle, Put, Sizes, Table, VERSION};

thread_local! {
    static FAILURE: RefCell<String> = const { RefCell::new(String::new()) };
    /// File and line of the last panic.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Does the work; false, with a text for `failure`, where it panics or fails.
fn guarded(work: impl FnOnce() -> Result<(), String>) -> bool {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return true,
        Ok(Err(text)) => text,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a text");
            format!("panicked at {}: {text}", PLACE.take())
        }
    };
    FAILURE.set(failure);
    false
}

/// Keeps the place of a panic of this library, instead of printing it: the engine reports it.
fn keep_places() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        set_hook(Box::new(|panic| {
            PLACE.set(panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string));
        }));
    });
}

type Control = Box<dyn CongestionControl>;

/// # Safety
/// The handle is one of `create` or `copy` that was not freed, and no other call uses it.
unsafe fn control<'a>(handle: Handle) -> &'a mut Control {
    unsafe { &mut *handle.cast::<Control>() }
}

fn handle(control: Control) -> Handle {
    Box::into_raw(Box::new(control)).cast()
}

fn outputs(control: &dyn CongestionControl) -> COutputs {
    COutputs::new(control.cwnd(), control.pacing_rate(), control.state(None))
}

/// The bit of a need, as [`NEEDS`](crate::table::NEEDS) names it.
fn bit(need: &Need) -> u32 {
    match need {
        Need::Pacing => 1,
        Need::Spacing => 1 << 1,
        Need::Ecn => 1 << 2,
        Need::L4s => 1 << 3,
        Need::Agent(_) => 1 << 4,
        Need::EveryAck => 1 << 5,
        Need::LossInReduction => 1 << 6,
    }
}

/// The functions of one entry. [`export!`](crate::export!) implements it.
pub trait Guest {
    /// The entry.
    const SPEC: &'static Spec;
}

unsafe extern "C" fn parameter<G: Guest>(index: u32, out: *mut CParameter) -> bool {
    let Some(one) = G::SPEC.parameters.get(index as usize) else { return false };
    let (number, word) = match one.default {
        Value::Number(number) => (number, Text::NONE),
        Value::Word(word) => (0.0, Text::new(word)),
    };
    let (low, high) = match one.domain {
        Domain::Range(low, high) => (low, high),
        Domain::Words(_) => (0.0, 0.0),
    };
    unsafe { out.write(CParameter { name: Text::new(one.name), number, low, high, word }) };
    true
}

unsafe extern "C" fn create<G: Guest>(path: *const CPath, text: Text, made: *mut Handle, out: *mut COutputs) -> bool {
    guarded(|| {
        let text = unsafe { text.get() }.unwrap_or_default();
        let catalogue = Catalogue { specs: vec![G::SPEC], aliases: &[] };
        let algorithm = catalogue.parse(text).map_err(|fault| fault.to_string())?;
        let control = algorithm.build(&unsafe { &*path }.into());
        unsafe {
            out.write(outputs(&*control));
            made.write(handle(control));
        }
        Ok(())
    })
}

unsafe extern "C" fn copy(one: Handle, made: *mut Handle) -> bool {
    guarded(|| {
        unsafe { made.write(handle(control(one).clone())) };
        Ok(())
    })
}

unsafe extern "C" fn free(one: Handle) {
    guarded(|| {
        drop(unsafe { Box::from_raw(one.cast::<Control>()) });
        Ok(())
    });
}

unsafe extern "C" fn on_ack(one: Handle, ack: *const CAck, event: *mut CEvent, out: *mut COutputs) -> bool {
    guarded(|| {
        let control = unsafe { control(one) };
        let returned = control.on_ack(&unsafe { &*ack }.into());
        unsafe {
            event.write(returned.into());
            out.write(outputs(&**control));
        }
        Ok(())
    })
}

macro_rules! handlers {
    ($($name:ident($type:ty)),*) => {$(
        unsafe extern "C" fn $name(one: Handle, event: *const $type, out: *mut COutputs) -> bool {
            guarded(|| {
                let control = unsafe { control(one) };
                control.$name(&unsafe { &*event }.into());
                unsafe { out.write(outputs(&**control)) };
                Ok(())
            })
        }
    )*};
}

handlers!(on_congestion(CCongestion), on_sent(CSent), on_window(CWindow));

unsafe extern "C" fn numbers(one: Handle, receiver: *mut c_void, put: Put) -> bool {
    guarded(|| {
        let mut each = |name: &'static str, value: f64| unsafe { put(receiver, Text::new(name), value) };
        unsafe { control(one) }.state(Some(&mut each));
        Ok(())
    })
}

unsafe extern "C" fn failure() -> Text {
    FAILURE.with_borrow(|text| Text::new(text))
}

/// The exported function of an entry.
///
/// # Safety
/// The pointers are those of a caller that follows [`Entry`](crate::table::Entry).
pub unsafe fn enter<G: Guest>(version: u32, sizes: *const Sizes, table: *mut Table) -> u32 {
    if version != VERSION || unsafe { sizes.read() } != Sizes::HERE {
        return 0;
    }
    keep_places();
    let kind = match G::SPEC.kind {
        cwndlab_control::Kind::Whole => "whole",
        _ => "part",
    };
    let functions = Table {
        name: Text::new(G::SPEC.name),
        kind: Text::new(kind),
        model_based: G::SPEC.model_based.into(),
        needs: G::SPEC.needs.iter().map(bit).fold(0, std::ops::BitOr::bitor),
        parameters: G::SPEC.parameters.len() as u32,
        parameter: parameter::<G>,
        create: create::<G>,
        copy,
        free,
        on_ack,
        on_congestion,
        on_sent,
        on_window,
        numbers,
        failure,
    };
    unsafe { table.write(functions) };
    VERSION
}

/// Exports the entry of a library: `export!(module::SPEC)`.
#[macro_export]
macro_rules! export {
    ($spec:path) => {
        struct Exported;

        impl $crate::guest::Guest for Exported {
            const SPEC: &'static $crate::guest::EntryOf = &$spec;
        }

        /// The entry of the interface of C.
        ///
        /// # Safety
        /// The caller follows `cwndlab_plugin::table::Entry`.
        #[no_mangle]
        pub unsafe extern "C" fn cwndlab_algorithm(
            version: u32,
            sizes: *const $crate::table::Sizes,
            table: *mut $crate::table::Table,
        ) -> u32 {
            unsafe { $crate::guest::enter::<Exported>(version, sizes, table) }
        }
    };
}

/// The type of an entry, for [`export!`](crate::export!).
pub type EntryOf = Spec;
