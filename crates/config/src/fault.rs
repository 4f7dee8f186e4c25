//! The list of a document's faults.

use cwndlab_units::Fault;

/// A list of faults.
#[derive(Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Adds a fault, once where it concerns the two directions of a link.
    pub fn add(&mut self, path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) {
        let fault = Fault::new(path, what, hint);
        if self.0.last() != Some(&fault) {
            self.0.push(fault);
        }
    }
}
