//! The rows of the table `messages`.

use cwndlab_path::application_rows;
use cwndlab_records::rows::{MessageRow, TransferRow};
use cwndlab_traffic::message_log::{LoggedMessage, MessageLog};
use cwndlab_units::{Bytes, FlowId, Time};

use crate::connection::Connection;

/// The messages of a flow at the end of the run.
pub(crate) fn rows(flow: FlowId, connection: &mut Connection) -> impl Iterator<Item = MessageRow> {
    let messages = match &mut connection.udp {
        Some(udp) => udp.take_messages(),
        None => transfers(connection),
    };
    application_rows::messages(flow, messages)
}

/// The messages of a dialogue or of arrivals, which keep a log, or else the transfers of an application that only writes.
fn transfers(connection: &mut Connection) -> Vec<LoggedMessage> {
    let times = |row: &TransferRow| (Time::from_nanos(row.start_ns), Time::from_nanos(row.end_ns));
    let mut log = connection.messages.take().map_or_else(MessageLog::default, |log| *log);
    if log.is_empty() {
        for row in &connection.transfers {
            log.offer(times(row).0, Bytes(row.size_bytes));
        }
        if let Some(open) = connection.open_transfer() {
            log.offer(open.start, open.bytes);
        }
    }
    for (start, end) in connection.transfers.iter().map(times) {
        log.deliver(start, end);
    }
    log.take()
}
