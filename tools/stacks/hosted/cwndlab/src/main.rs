//! quinn-proto with the algorithms of this library (docs/quic.md) as a hosted stack: docs/host.md. Controllers: every
//! algorithm that needs no router assistance, as a flow names it; cubic is the default.

#[path = "../../quinn/src/adapter.rs"]
mod adapter;
#[path = "../../quinn/src/api.rs"]
mod api;
mod controls;
#[path = "../../../quinn/src/logged.rs"]
mod logged;
#[path = "../../quinn/src/observed.rs"]
mod observed;

fn main() -> std::io::Result<()> {
    cwndlab_stack::serve::<adapter::Adapter>()
}
