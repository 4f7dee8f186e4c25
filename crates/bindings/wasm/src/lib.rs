//! The engine as a WebAssembly module: requests and answers are JSON, the columns of records are read in place.
//!
//! The host writes a request to the memory of [`cwndlab_request`] and calls [`cwndlab_call`], whose result is the length
//! of the answer at [`cwndlab_answer`]. [`service`] lists requests and answers, [`columns`] describes columns in memory.
//! One call is carried out at a time; the columns of a run are valid until the next call. After a panic the module
//! traps. The answer is then its message, and the module has to be instantiated anew.

pub mod catalogue;
pub mod columns;
pub mod service;

use std::cell::RefCell;

use service::Service;

#[derive(Default)]
struct Module {
    request: Vec<u8>,
    answer: Vec<u8>,
    service: Service,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
    /// The message of a panic, which may occur while the module is borrowed.
    static PANIC: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Prepares the module; called once, before all others.
#[no_mangle]
pub extern "C" fn cwndlab_start() {
    std::panic::set_hook(Box::new(|info| {
        let what = format!("{info}");
        PANIC.with(|panic| *panic.borrow_mut() = service::failure("engine", &what, "please report with this line"));
    }));
}

/// Memory for a request of `length` bytes.
#[no_mangle]
pub extern "C" fn cwndlab_request(length: usize) -> *mut u8 {
    MODULE.with(|module| {
        let mut module = module.borrow_mut();
        module.request.clear();
        module.request.resize(length, 0);
        module.request.as_mut_ptr()
    })
}

/// Carries out the request; returns the length of the answer.
#[no_mangle]
pub extern "C" fn cwndlab_call() -> usize {
    MODULE.with(|module| {
        let module = &mut *module.borrow_mut();
        module.answer = module.service.call(&module.request);
        module.answer.len()
    })
}

/// The answer of the last call.
#[no_mangle]
pub extern "C" fn cwndlab_answer() -> *const u8 {
    MODULE.with(|module| module.borrow().answer.as_ptr())
}

/// The message of the panic that made the module trap.
#[no_mangle]
pub extern "C" fn cwndlab_panic() -> *const u8 {
    PANIC.with(|panic| panic.borrow().as_ptr())
}

/// Length of the message of a panic; zero if there was none.
#[no_mangle]
pub extern "C" fn cwndlab_panic_length() -> usize {
    PANIC.with(|panic| panic.borrow().len())
}
