//! Comparison of a packet that was sent with the one that the script expects.

use super::connection::since_start;
use super::handshake::Negotiated;
use super::wire::Sent;
use crate::script::{Packet, TcpOption};

/// Compares a packet with what the script expects; returns what differs.
pub(super) fn difference(sent: &Sent, packet: &Packet, negotiated: Option<&Negotiated>) -> Option<String> {
    let shown = || Some(format!("{sent} at {:.6} s", since_start(sent.at).as_secs()));
    let same = sent.has_flags_of(packet)
        && (sent.seq, sent.len) == (packet.seq, packet.len)
        && sent.ack == packet.ack
        && sent.has_ecn(packet.ecn);
    if !same {
        return shown();
    }
    packet.options.as_ref()?;
    if !sent.has_accecn_of(packet) {
        return Some(format!("{sent} {}", sent.accecn_text()));
    }
    let what = match &sent.offer {
        Some(offer) => offer_difference(offer, packet),
        None => timestamp_difference(sent, packet, negotiated),
    };
    what.map(|what| format!("{sent} {what}"))
}

/// The options of our SYN or SYN-ACK.
fn offer_difference(offer: &Negotiated, packet: &Packet) -> Option<String> {
    let has = |option: fn(&TcpOption) -> bool| packet.options().any(option);
    let options = [
        (offer.sack, has(|option| matches!(option, TcpOption::SackPermitted)), "sackOK"),
        (offer.timestamps, has(|option| matches!(option, TcpOption::Timestamps(..))), "timestamps"),
        (offer.window_scale.is_some(), has(|option| matches!(option, TcpOption::WindowScale(_))), "wscale"),
    ];
    let mss = packet.options().find_map(|option| if let TcpOption::Mss(mss) = option { Some(*mss) } else { None });
    if mss.is_some_and(|mss| mss != offer.announced_mss) {
        return Some(format!("with mss {}", offer.announced_mss));
    }
    let differing = options.iter().find(|(ours, theirs, _)| ours != theirs);
    differing.map(|(ours, _, name)| format!("{} {name}", if *ours { "with" } else { "without" }))
}

/// The timestamps of any other packet.
fn timestamp_difference(sent: &Sent, packet: &Packet, negotiated: Option<&Negotiated>) -> Option<String> {
    let expected =
        packet
            .options()
            .find_map(|option| if let TcpOption::Timestamps(_, echo) = option { Some(*echo) } else { None });
    let ours = sent.echo.filter(|_| negotiated.is_some_and(|one| one.timestamps));
    match (ours, expected) {
        (None, None) => None,
        (Some(_), None) => Some("with timestamps".to_owned()),
        (None, Some(_)) => Some("without timestamps".to_owned()),
        (Some(ours), Some(expected)) => (ours != expected).then(|| format!("with TS ecr {ours}")),
    }
}
