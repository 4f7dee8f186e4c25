//! The tables whose contents are parts of the plan.

use super::table::tables;
use crate::plan::{ControlDelay, HarqPlan, JitterPlan, NamedValuesPlan, ServiceLevel, StepPlan, TokenBucketPlan};

tables! {
    /// The recorded variables of algorithms and transport.
    NAMED_VALUES: NamedValuesPlan = "named_values",
        "Variables of the algorithms and of the transport in the table `named_values`: a row for each value that changed since the last snapshot of its flow. Snapshots follow events of the sender: ACKs, timers, writes.";
    /// A token bucket.
    TOKEN_BUCKET: (TokenBucketPlan) = "token_bucket",
        "A token bucket: tokens accumulate at `rate`, up to `burst`, and a packet waits for its tokens.";
    /// A step of a schedule.
    STEP: StepPlan = "step", "A step of a schedule, which changes only the stated values.";
    /// Retransmissions of a radio link.
    HARQ: (HarqPlan) = "harq", "Retransmissions of a radio link, as in LTE (3GPP TS 36.213, section 7).";
    /// Delay variation.
    JITTER: (JitterPlan) = "jitter", "Delay variation: a uniform random delay from [0, `spread`) of each packet.";
    /// A service level.
    SERVICE: (ServiceLevel) = "service",
        "What a class of traffic asks of the network. The messages of its flows are recorded in the table `messages`: transfers, pages, messages, frames, packets over UDP.";
    /// A delay between transport and algorithm.
    CONTROL: (ControlDelay) = "control", "Delay between transport and algorithm, as in the kernel datapath.";
}
