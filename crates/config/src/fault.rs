//! The list of a document's faults.

use cwndlab_units::Fault;

/// A list of faults.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Adds a fault.
    pub fn add(&mut self, path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Fault::new(path, what, hint));
    }
}
