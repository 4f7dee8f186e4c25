//! Runs packetdrill scripts against cwndlab's transport, in virtual time, without a kernel.
//!
//! A script names system calls, packets that arrive, packets that must be sent, and their times (N. Cardwell et al.,
//! "packetdrill: Scriptable Network Stack Testing, from Sockets to Packets", USENIX ATC 2013). Of its language the part
//! for data senders is implemented:
//!
//! 1. [`script`] is the syntax tree, `parse/` makes it.
//! 2. `settings.rs` and `commands.rs`: options, sysctls and commands of the shell set parameters of the stack.
//! 3. `applicability.rs` decides from the text alone whether a script is about a data sender.
//! 4. `run/`: the handshake and the end of a connection are simulated; between them the events drive
//!    `cwndlab_transport::sender::Sender` with the profile `linux`.
//! 5. [`report`] has the verdict, and the script's Python with the values of its variables, which the caller evaluates.

mod applicability;
mod commands;
mod parse;
pub mod report;
mod run;
pub mod script;
mod settings;

use crate::report::{Outcome, Report};
use cwndlab_units::Fault;

/// Runs the script `text`.
///
/// # Errors
/// A [`Fault`] where the text is not a script.
pub fn run_script(text: &str) -> Result<Report, Fault> {
    let script = parse::parse(text)?;
    let (settings, reasons) = applicability::examine(&script);
    if reasons.is_empty() {
        Ok(run::run(&script, settings))
    } else {
        Ok(Report { outcome: Outcome::NotApplicable { reasons }, code: Vec::new() })
    }
}
