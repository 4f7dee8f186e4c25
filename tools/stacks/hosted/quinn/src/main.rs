//! quinn-proto as a hosted stack: docs/host.md. Controllers: cubic (default), newreno, bbr.

mod adapter;
mod api;
mod controls;
#[path = "../../../quinn/src/logged.rs"]
mod logged;
mod observed;

fn main() -> std::io::Result<()> {
    cwndlab_stack::serve::<adapter::Adapter>()
}
