//! noq-proto, which began as quinn-proto and has its interface, as a hosted stack: docs/host.md. Controllers: cubic
//! (default), newreno, bbr3.

#[path = "../../quinn/src/adapter.rs"]
mod adapter;
mod api;
mod controls;
mod observed;

fn main() -> std::io::Result<()> {
    cwndlab_stack::serve::<adapter::Adapter>()
}
