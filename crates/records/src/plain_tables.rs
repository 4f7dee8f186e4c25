//! The tables of a run as vectors, for programs without Arrow: the same columns in the same order.

use crate::declaration::Table;
use crate::header::Header;
use crate::plain::Plain;
use crate::rows::{Records, TABLES};

/// All tables of one run.
#[derive(Clone, Debug)]
pub struct PlainTables {
    /// Identifies the run.
    pub header: Header,
    /// Rows and columns of each table, in the order of [`TABLES`].
    tables: Vec<(usize, Vec<Plain>)>,
}

impl PlainTables {
    /// Converts rows to tables.
    #[must_use]
    pub fn new(header: Header, records: &Records) -> Self {
        Self { tables: records.plain(&header.row()), header }
    }

    /// The tables with rows, and those without that are not optional: declaration, rows, columns.
    pub fn present(&self) -> impl Iterator<Item = (&'static Table, usize, &[Plain])> {
        let all = TABLES.iter().zip(&self.tables).map(|(table, (rows, columns))| (table, *rows, columns.as_slice()));
        all.filter(|(table, rows, _)| !table.optional || *rows > 0)
    }
}
