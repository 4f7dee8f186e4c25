//! The table `events`, in the order of the events that caused its rows.

use cwndlab_records::rows::EventRow;
use cwndlab_units::EventSource;

/// Rows of the table `events`.
#[derive(Debug)]
pub struct EventLog {
    pub(crate) rows: Vec<EventRow>,
    /// By row: rank and source of the event that caused it, which order simultaneous rows.
    pub(crate) causes: Vec<(u32, EventSource)>,
    /// The source of the event being handled, on the agenda or ahead of it.
    pub source: EventSource,
}

impl Default for EventLog {
    fn default() -> Self {
        Self { rows: Vec::new(), causes: Vec::new(), source: EventSource::from(0) }
    }
}

impl EventLog {
    /// Adds a row caused by the event being handled; `rank` is the rank of its source.
    pub(crate) fn push(&mut self, row: EventRow, rank: u32) {
        self.rows.push(row);
        self.causes.push((rank, self.source));
    }

    /// Removes and returns the rows in the order of insertion.
    pub fn take(&mut self) -> Vec<EventRow> {
        self.causes.clear();
        std::mem::take(&mut self.rows)
    }

    /// Removes and returns the rows in the order of their events. Endpoints that run ahead of the clock insert rows
    /// early.
    pub fn take_ordered(&mut self) -> Vec<EventRow> {
        let causes = std::mem::take(&mut self.causes);
        let rows = self.take();
        // The places are sorted, not the rows, which are ten times as large; the last item keeps equal ones in order.
        let keys = rows.iter().zip(causes).enumerate().map(|(at, (row, cause))| (row.time_ns, cause, at));
        let mut order: Vec<_> = keys.collect();
        order.sort_unstable();
        order.into_iter().map(|(_, _, at)| rows[at]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a row inserted early is sorted after rows of earlier times; rank and source order simultaneous rows;
    /// rows of one event keep their order.
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
            log.source = EventSource::from(source);
            log.push(row(time, kind), rank);
        }
        let kinds: Vec<_> = log.take_ordered().iter().map(|one| one.kind).collect();
        assert_eq!(kinds, ["first", "second", "third", "early", "last"]);
        assert!(log.take().is_empty());
    }
}
