//! Moments as JSON, in the units of the records: times in ns, rates in bit/s, data in bytes.

use cwndlab_control::Report as Reported;
use cwndlab_control::{Ack, Algorithm, Congestion, Event, Feedback, Ssthresh, Window};
use cwndlab_records::rows::SampleRow;
use serde_json::{json, Map, Value};

use crate::debug::source::places;
use crate::debug::watch::Line;
use crate::debug::{Divergence, LostPacket, Moment, Snapshot, View};

/// A view: `earlier`, `moment` (or null), `later`.
#[must_use]
pub fn view(view: &View, algorithm: &Algorithm) -> Value {
    json!({
        "earlier": view.earlier.iter().map(line).collect::<Vec<_>>(),
        "moment": view.moment.as_ref().map(|one| moment(one, algorithm)),
        "later": view.later.iter().map(|one| moment(one, algorithm)).collect::<Vec<_>>(),
    })
}

/// A divergence: the moment, with `other`, the states of the other algorithm.
#[must_use]
pub fn divergence(found: &Divergence, algorithm: &Algorithm, other: &Algorithm) -> Value {
    let mut value = moment(&found.moment, algorithm);
    value["other"] = json!({
        "before": snapshot(&found.before),
        "after": snapshot(&found.after),
        "places": at(other, &found.moment.event, &found.before),
    });
    value
}

/// What the transport reports of a flow.
#[must_use]
pub fn transport(row: &SampleRow) -> Value {
    json!({
        "state": row.state,
        "cwnd_bytes": row.cwnd_bytes,
        "ssthresh_bytes": row.ssthresh_bytes,
        "in_flight_bytes": row.in_flight_bytes,
        "rtt_ns": row.rtt_ns,
        "srtt_ns": row.srtt_ns,
        "pacing_rate_bps": row.pacing_rate_bps,
        "delivery_rate_bps": row.delivery_rate_bps,
        "delivered_bytes": row.delivered_bytes,
        "sent_bytes": row.sent_bytes,
        "retransmitted_packets": row.retransmitted_packets,
        "congestion_events": row.congestion_events,
        "timeouts": row.timeouts,
    })
}

/// The packet behind a congestion event, with its queue.
#[must_use]
pub fn lost_packet(found: &LostPacket) -> Value {
    let LostPacket { packet, link, queue, .. } = found;
    let flows = found.flows.iter().map(|flow| {
        json!({
            "name": flow.name,
            "packets": flow.packets,
            "bytes": flow.bytes,
            "transport": flow.sample.as_ref().map(transport),
        })
    });
    json!({
        "fate": found.fate(),
        "link": link.name,
        "time_ns": packet.time_ns,
        "sent_ns": packet.sent_ns,
        "sequence_bytes": packet.sequence_bytes,
        "size_bytes": packet.size_bytes,
        "retransmission": packet.retransmission,
        "count": found.count,
        "capacity_packets": link.capacity_packets,
        "capacity_bytes": link.capacity_bytes,
        "queue_packets": queue.map(|row| row.queue_packets),
        "queue_bytes": queue.map(|row| row.queue_bytes),
        "flows": flows.collect::<Vec<_>>(),
    })
}

fn line(line: &Line) -> Value {
    json!({
        "number": line.number,
        "time_ns": line.event.now().as_nanos(),
        "event": line.event.describe(),
        "cwnd_bytes": line.cwnd.0,
        "pacing_rate_bps": line.pacing.map(|rate| rate.0),
    })
}

fn moment(one: &Moment, algorithm: &Algorithm) -> Value {
    json!({
        "number": one.number,
        "connection": one.connection,
        "time_ns": one.event.now().as_nanos(),
        "event": one.event.describe(),
        "fields": fields(&one.event),
        "before": snapshot(&one.before),
        "after": snapshot(&one.after),
        "returned": one.returned.as_ref().map(returned),
        "places": at(algorithm, &one.event, &one.before),
    })
}

fn at(algorithm: &Algorithm, event: &Reported, before: &Snapshot) -> Value {
    places(algorithm, event, &before.state)
        .iter()
        .map(|place| {
            json!({
                "entry": place.entry,
                "method": place.method,
                "file": place.file,
                "line": place.line,
                "references": place.references,
            })
        })
        .collect()
}

fn snapshot(one: &Snapshot) -> Value {
    let values: Map<String, Value> =
        one.values.iter().map(|(name, value)| ((*name).to_owned(), number(*value))).collect();
    let ssthresh = match one.state.ssthresh {
        Ssthresh::Unknown => Value::Null,
        Ssthresh::Unlimited => json!("unlimited"),
        Ssthresh::At(bytes) => json!(bytes.0),
    };
    json!({
        "cwnd_bytes": one.cwnd.0,
        "pacing_rate_bps": one.pacing.map(|rate| rate.0),
        "ssthresh_bytes": ssthresh,
        "phase": one.state.phase.name(),
        "values": values,
    })
}

/// A number; JSON has no infinity.
fn number(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else {
        json!(if value > 0.0 { "infinite" } else { "-infinite" })
    }
}

fn returned(event: &Event) -> Value {
    json!({
        "kind": event.kind.name(),
        "reason": event.reason.name(),
        "cwnd_segments": number(event.cwnd_segments),
        "pipe_segments": (!event.pipe_segments.is_nan()).then(|| number(event.pipe_segments)),
    })
}

fn fields(event: &Reported) -> Value {
    match event {
        Reported::Ack(ack) => ack_fields(ack),
        Reported::Congestion(event) => congestion_fields(event),
        Reported::Window(window) => window_fields(window),
        Reported::Sent(sent) => json!({
            "size_bytes": sent.size.0,
            "in_flight_bytes": sent.in_flight.0,
            "retransmission": sent.retransmission,
            "app_limited": sent.app_limited,
        }),
    }
}

fn ack_fields(ack: &Ack) -> Value {
    json!({
        "mss_bytes": ack.mss.0,
        "acked_bytes": ack.acked.0,
        "acks": ack.acks,
        "interval_ns": ack.interval.as_nanos(),
        "prior_in_flight_bytes": ack.prior_in_flight.0,
        "in_flight_bytes": ack.in_flight.0,
        "lost_bytes": ack.lost.0,
        "rtt_ns": ack.rtt.map(cwndlab_units::Duration::as_nanos),
        "srtt_ns": ack.srtt.as_nanos(),
        "min_rtt_ns": ack.min_rtt.as_nanos(),
        "delivery_rate_bps": ack.delivery_rate.map(|sample| sample.rate().0),
        "delivered_bytes": ack.delivered.0,
        "ce_bytes": ack.ce.0,
        "app_limited": ack.app_limited,
        "cwnd_limited": ack.cwnd_limited,
        "recovering": ack.recovering,
        "round": ack.round,
        "feedback_bps": ack.feedback.map(rate),
    })
}

fn congestion_fields(event: &Congestion) -> Value {
    json!({
        "mss_bytes": event.mss.0,
        "cause": format!("{:?}", event.cause).to_lowercase(),
        "restart": event.restart,
        "repeated": event.repeated,
        "in_flight_bytes": event.in_flight.0,
        "lost_bytes": event.lost.0,
        "srtt_ns": event.srtt.as_nanos(),
        "min_rtt_ns": event.min_rtt.as_nanos(),
        "round": event.round,
    })
}

fn window_fields(window: &Window) -> Value {
    json!({
        "change": format!("{:?}", window.change).to_lowercase(),
        "cwnd_bytes": window.cwnd.0,
        "idle_ns": window.idle.as_nanos(),
        "rtt_ns": window.rtt.map(cwndlab_units::Duration::as_nanos),
        "feedback_bps": window.feedback.map(rate),
    })
}

fn rate(feedback: Feedback) -> u64 {
    feedback.rate.0
}
