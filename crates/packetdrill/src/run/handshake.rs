//! The simulated handshake: what both sides negotiate (RFC 9293, section 3.7.1; RFC 7323; RFC 2018; RFC 3168).

use cwndlab_transport::accecn::client_mode;
use cwndlab_transport::stack::{Ecn, PeerEcn};

use crate::script::{Packet, TcpOption};
use crate::settings::{EcnMode, Settings};

/// The segment size of a peer that sends no option (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u64 = 536;
/// IP and TCP header.
const HEADER: u64 = 40;
/// The option of timestamps, padded.
const TIMESTAMPS: u64 = 12;

/// The largest shift of a window (RFC 7323, section 2.3).
const MAX_SCALE: u64 = 14;

/// What was negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Negotiated {
    /// Payload of a full segment.
    pub(super) mss: u64,
    /// The segment size that our side announces.
    pub(super) announced_mss: u64,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    /// Shift of the peer's window; `None` without the option.
    pub(super) window_scale: Option<u64>,
    pub(super) ecn: Ecn,
}

/// The segment size that our side announces.
pub(super) fn announced_mss(settings: &Settings) -> u64 {
    settings.max_segment.unwrap_or(u64::MAX).min(settings.mtu.saturating_sub(HEADER))
}

/// The form of ECN by the flags of a SYN-ACK. A client of classic ECN does not know the flag AE (RFC 3168, section
/// 6.1.1.1: ECE without CWR).
pub(super) fn mode_of_client(syn_ack: &Packet, mode: EcnMode) -> Ecn {
    match mode.requests {
        PeerEcn::Classic if syn_ack.has('E') && !syn_ack.has('W') => Ecn::Classic,
        PeerEcn::Classic | PeerEcn::Off => Ecn::Off,
        PeerEcn::Accurate => client_mode(syn_ack.ace()).0,
    }
}

/// The result of the peer's SYN or SYN-ACK with our settings, and with this form of ECN.
pub(super) fn negotiate(peer: &Packet, settings: &Settings, ecn: Ecn) -> Negotiated {
    let find = |pick: fn(&TcpOption) -> Option<u64>| peer.options().find_map(pick);
    let offered = |option: fn(&TcpOption) -> bool| peer.options().any(option);
    let theirs = find(|option| if let TcpOption::Mss(mss) = option { Some(*mss) } else { None });
    let scale = find(|option| if let TcpOption::WindowScale(shift) = option { Some(*shift) } else { None });
    let timestamps = settings.timestamps && offered(|option| matches!(option, TcpOption::Timestamps(..)));
    let ours = announced_mss(settings);
    let mss = theirs.unwrap_or(DEFAULT_MSS).min(ours);
    Negotiated {
        announced_mss: ours,
        mss: mss.saturating_sub(if timestamps { TIMESTAMPS } else { 0 }).max(1),
        sack: settings.sack && offered(|option| matches!(option, TcpOption::SackPermitted)),
        timestamps,
        window_scale: scale.filter(|_| settings.window_scaling).map(|shift| shift.min(MAX_SCALE)),
        ecn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syn(flags: &str, options: Vec<TcpOption>) -> Packet {
        Packet { flags: flags.to_owned(), options: Some(options), ..Packet::default() }
    }

    /// By hand: 1460 bytes fit into 1500, less 12 for timestamps; without the option 536.
    #[test]
    fn the_segment_size_is_the_smaller_one_less_the_timestamps() {
        let settings = Settings::default();
        let mss = |options| negotiate(&syn("S", options), &settings, Ecn::Off).mss;
        assert_eq!(mss(vec![]), 536);
        assert_eq!(mss(vec![TcpOption::Mss(1000)]), 1000);
        assert_eq!(mss(vec![TcpOption::Mss(8960), TcpOption::Timestamps(1, 0)]), 1448);
    }

    /// RFC 3168, section 6.1.1.1: a SYN-ACK with both flags is no ECN-setup SYN-ACK. RFC 9768, table 2: a client of
    /// Accurate ECN takes the form that the SYN-ACK tells.
    #[test]
    fn the_client_takes_the_form_of_ecn_of_the_syn_ack() {
        use Ecn::{AccEcn, Classic, Off};
        let modes = |number| {
            let mode = EcnMode::numbered(number).unwrap();
            ["SE.", "SEW.", "S.", "SAE.", "SA."].map(|flags| mode_of_client(&syn(flags, vec![]), mode))
        };
        assert_eq!(modes("1"), [Classic, Off, Off, Classic, Off]);
        assert_eq!(modes("3"), [Classic, AccEcn, Off, AccEcn, AccEcn]);
        assert_eq!(modes("4"), modes("1"));
        assert_eq!([modes("2"), modes("5")], [[Off; 5]; 2]);
    }
}
