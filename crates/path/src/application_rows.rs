//! Rows of the tables `messages` and `transfers`, from what applications without a connection and message logs keep.

use cwndlab_records::rows::{MessageRow, TransferRow};
use cwndlab_traffic::exchange::DatagramExchange;
use cwndlab_traffic::message_log::LoggedMessage;
use cwndlab_units::{FlowId, Time};

/// The messages of a flow, in the order of their generation.
pub fn messages(flow: FlowId, messages: Vec<LoggedMessage>) -> impl Iterator<Item = MessageRow> {
    messages.into_iter().zip(0..).map(move |(one, message)| MessageRow {
        flow: flow.into(),
        message,
        generated_ns: one.generated.as_nanos(),
        delivered_ns: one.delivered.map(Time::as_nanos),
        size_bytes: one.size.0,
    })
}

/// The completed transfers of a flow's exchange, which are removed from it.
pub fn transfers(flow: FlowId, exchange: &mut DatagramExchange) -> impl Iterator<Item = TransferRow> {
    std::mem::take(&mut exchange.transfers).into_iter().zip(0..).map(move |(one, transfer)| TransferRow {
        flow: flow.into(),
        transfer,
        start_ns: one.start.as_nanos(),
        end_ns: one.end.as_nanos(),
        size_bytes: one.size.0,
    })
}
