//! Rows of the table `events`, in the order of the events that caused them.

use cwndlab_records::rows::EventRow;

/// The rows so far.
#[derive(Debug, Default)]
pub struct EventLog {
    rows: Vec<EventRow>,
    /// Of each row: rank and source of the event that caused it, which order the rows of one time.
    causes: Vec<(u32, u32)>,
    /// The source of the event that is handled, on the agenda or ahead of it.
    pub source: u32,
}

impl EventLog {
    /// Adds a row, caused by the event that is handled; `rank` is that of its source.
    pub(crate) fn push(&mut self, row: EventRow, rank: u32) {
        self.rows.push(row);
        self.causes.push((rank, self.source));
    }

    /// Takes the rows as they were added.
    pub fn take(&mut self) -> Vec<EventRow> {
        self.causes.clear();
        std::mem::take(&mut self.rows)
    }

    /// Takes the rows in the order of the agenda: endpoints that run ahead of the clock add theirs early.
    pub fn take_ordered(&mut self) -> Vec<EventRow> {
        let causes = std::mem::take(&mut self.causes);
        let mut rows: Vec<_> = self.take().into_iter().zip(causes).collect();
        rows.sort_by_key(|(row, cause)| (row.time_ns, *cause));
        rows.into_iter().map(|(row, _)| row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a row added early stands behind what happens before it, and at one time rank and source decide; rows of one
    /// event stay in their order.
    #[test]
    fn rows_are_in_the_order_of_their_events() {
        let row = |time_ns, kind| EventRow {
            time_ns,
            flow: 0,
            kind,
            cause: "",
            cwnd_before_bytes: 0,
            cwnd_after_bytes: 0,
            pipe_segments: None,
        };
        let mut log = EventLog::default();
        for (time, rank, source, kind) in
            [(9, 0, 0, "early"), (5, 2, 1, "second"), (5, 2, 1, "third"), (5, 1, 7, "first"), (9, 0, 3, "last")]
        {
            log.source = source;
            log.push(row(time, kind), rank);
        }
        let kinds: Vec<_> = log.take_ordered().iter().map(|one| one.kind).collect();
        assert_eq!(kinds, ["first", "second", "third", "early", "last"]);
        assert!(log.take().is_empty());
    }
}
