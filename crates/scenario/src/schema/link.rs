//! Reads a link.

use cwndlab_config::{Faults, FieldType, Kind, Reader, Table, TableType};

use super::tables::LINK;
use super::typed::Link;

impl TableType for Link {
    const TABLE: &'static Table = &LINK;

    fn read_table(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let mut link = table.read_valid(Self::read, faults)?;
        link.line.complete(table, faults);
        Some(link)
    }
}

/// The reverse direction of a dumbbell: what it does not state is that of the `bottleneck` without its losses.
#[derive(Debug)]
pub enum ReverseLink {}

impl FieldType for ReverseLink {
    type Value = Link;

    const KIND: Kind = Link::KIND;

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Link> {
        let bottleneck = <Link as FieldType>::read(table, "bottleneck", &mut Faults::default());
        let Some(base) = bottleneck.map(|link| link.without_losses()) else {
            return <Link as FieldType>::read(table, name, faults);
        };
        let inner = table.table(name, faults)?;
        let mut link = inner.read_valid(Link::read, faults)?;
        link.line.inherit(&base.line, &inner);
        link.line.complete(&inner, faults);
        Some(Link {
            harq: link.harq.or(base.harq),
            delay: if inner.gives("delay") { link.delay } else { base.delay },
            queue: link.queue.or(base.queue),
            jitter: link.jitter.or(base.jitter),
            duplicate: if inner.gives("duplicate") { link.duplicate } else { base.duplicate },
            agents: if inner.gives("agents") { link.agents } else { base.agents },
            ..link
        })
    }
}
