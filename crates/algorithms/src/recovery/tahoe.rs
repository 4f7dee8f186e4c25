//! Tahoe recovery: fast retransmit without fast recovery.
//!
//! Source: V. Jacobson, SIGCOMM 1988.
//!
//! The transport implements it; this is its entry.

use cwndlab_control::{Build, Confidence, Kind, RecoveryKind, Spec};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "tahoe",
    title: "Fast retransmit without fast recovery",
    kind: Kind::Recovery,
    source: "V. Jacobson, SIGCOMM 1988",
    year: 1988,
    confidence: Confidence::High,
    summary: "The third duplicate ACK sets the window to one segment, and slow start retransmits all unacknowledged data (go-back-N).",
    parameters: &[],
    choices: &[],
    pitfalls: &["retransmits data that the receiver may have already"],
    companion: "",
    needs: &[],
    incompatible: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::Tahoe),
};
