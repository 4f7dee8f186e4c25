//! The names of all fields, by table.

use crate::profile;

pub(super) const TOP: &[&str] = &[
    "schema_version",
    "title",
    "algorithms",
    "duration",
    "sample_interval",
    "packets",
    "measure_from",
    "start_jitter",
    "dumbbell",
    "parking_lot",
    "wlan",
    "node",
    "medium",
    "link",
    "flow",
];
pub(super) const DUMBBELL: &[&str] = &["bottleneck", "reverse", "access"];
pub(super) const PARKING_LOT: &[&str] = &["hops", "access"];
pub(super) const ACCESS: &[&str] = &["rate", "queue", "agents"];
pub(super) const LINK: &[&str] = &[
    "rate",
    "trace",
    "token_bucket",
    "schedule",
    "repeat",
    "harq",
    "delay",
    "queue",
    "loss",
    "jitter",
    "duplicate",
    "agents",
];
pub(super) const TRACE: &[&str] = &["file", "text", "bytes", "offset"];
pub(super) const TOKEN_BUCKET: &[&str] = &["rate", "burst", "peak"];
pub(super) const STEP: &[&str] = &["at", "rate", "delay", "loss"];
pub(super) const HARQ: &[&str] = &["probability", "round", "most"];
pub(super) const AGENT: &[&str] = &["scheme", "theta", "interval", "alpha", "beta", "eta", "delta", "threshold"];
pub(super) const NAMED_LINK: &[&str] = &[
    "name",
    "from",
    "to",
    "duplex",
    "rate",
    "trace",
    "token_bucket",
    "schedule",
    "repeat",
    "harq",
    "delay",
    "queue",
    "loss",
    "jitter",
    "duplicate",
    "agents",
    "medium",
    "mcs",
    "streams",
    "short_guard",
    "frame_error",
];
/// What `[[medium]]` and `[wlan]` share.
macro_rules! medium_fields {
    ($($more:literal),*) => {
        &[
            $($more,)* "standard", "rate", "mcs", "streams", "short_guard", "frame_error", "slot", "cw_min", "cw_max",
            "short_attempts", "long_attempts", "rts_above", "eifs", "aggregation", "keeps_turn", "beacon",
        ]
    };
}
pub(super) const MEDIUM: &[&str] = medium_fields!("name", "access_point");
pub(super) const WLAN: &[&str] = medium_fields!("queue", "station_queue", "wire", "stations");
pub(super) const WLAN_STATION: &[&str] = &["rate", "mcs", "streams", "short_guard", "frame_error"];
pub(super) const BEACON: &[&str] = &["interval", "size"];
pub(super) const NODE: &[&str] = &["name"];
pub(super) const JITTER: &[&str] = &["spread", "reorder"];
pub(super) const LOSS: &[&str] =
    &["kind", "p", "r", "loss_bad", "loss_good", "indices", "counts", "file", "column", "where"];
pub(super) const FLOW: &[&str] = &[
    "transport",
    "algorithm",
    "name",
    "rtt",
    "direction",
    "start",
    "stop",
    "start_jitter",
    "count",
    "start_step",
    "workload",
    "profile",
    "stack",
    "control",
    "from",
    "to",
    "route",
    "reverse_route",
    "enter",
    "leave",
];
pub(super) const WORKLOAD: &[&str] = &[
    "kind",
    "bytes",
    "on",
    "off",
    "count",
    "gap",
    "new_connection",
    "rate",
    "packet",
    "frame_rate",
    "cv",
    "sizes",
    "per_second",
    "load",
    "size",
    "connections",
    "request",
    "response",
    "think",
    "qos",
    "payload",
    "period",
    "jitter",
    "topic",
    "client",
    "keep_alive",
    "nagle",
];
pub(super) const DISTRIBUTION: &[&str] = &["kind", "min", "max", "mean", "cv", "median", "sigma", "shape", "points"];
pub(super) const CONTROL: &[&str] = &["delay", "interval"];

/// Every field of the schema.
pub fn all_fields() -> impl Iterator<Item = &'static str> {
    [
        TOP,
        DUMBBELL,
        PARKING_LOT,
        WLAN,
        MEDIUM,
        BEACON,
        ACCESS,
        NAMED_LINK,
        TRACE,
        TOKEN_BUCKET,
        STEP,
        HARQ,
        AGENT,
        JITTER,
        LOSS,
        FLOW,
        WORKLOAD,
        DISTRIBUTION,
        CONTROL,
        profile::FIELDS,
    ]
    .into_iter()
    .chain(super::queue::ALL)
    .flatten()
    .copied()
}

/// The schema has a field of this name somewhere.
#[must_use]
pub fn knows(name: &str) -> bool {
    all_fields().any(|field| field == name)
}
