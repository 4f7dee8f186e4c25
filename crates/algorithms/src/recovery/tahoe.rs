//! Fast retransmit without fast recovery
//!
//! Source: V. Jacobson, SIGCOMM 1988.
//!
//! The transport performs it; this is its entry.

use cwndlab_control::{Build, Confidence, Kind, RecoveryKind, Spec};

/// The entry.
pub static SPEC: Spec = Spec {
    name: "tahoe",
    title: "Fast retransmit without fast recovery",
    kind: Kind::Recovery,
    source: "V. Jacobson, SIGCOMM 1988",
    year: 1988,
    confidence: Confidence::High,
    summary: "The third duplicate ACK sends the window back to one segment and slow start over everything that is not acknowledged.",
    parameters: &[],
    choices: &[],
    pitfalls: &["sends again what the receiver may hold already"],
    companion: "",
    needs: &[],
    refuses: &[],
    model_based: false,
    build: Build::Recovery(RecoveryKind::Tahoe),
};
