//! ACKs that a sender discards since their timestamps are old (RFC 7323, section 5, PAWS): where a path reorders ACKs, the
//! sender processes only a part of those that the capture has.

use super::packet::Packet;

/// Ticks by which a timestamp may be older than the last one (Linux, TCP_PAWS_WINDOW).
const TOLERATED: i32 = 1;

/// The last ACK that a sender processed which is not below SND.UNA.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// TS.Recent.
    stamp: u32,
    /// SND.UNA.
    ack: u32,
    /// The window field of the last ACK that set the window (Linux, `snd_wnd`).
    window: u16,
}

/// The rule, with what a sender keeps for it.
#[derive(Debug, Default)]
pub(crate) struct Paws(Option<Last>);

impl Paws {
    /// Whether the sender processes a received packet: RFC 7323, section 5.3, rule R1, as Linux has it (tcp_paws_discard).
    /// A duplicate ACK that does not change the window passes.
    pub(crate) fn accepts(&mut self, packet: &Packet) -> bool {
        let (Some(ack), Some((stamp, _))) = (packet.ack, packet.timestamps) else { return true };
        let Some(last) = self.0.as_mut().filter(|_| !packet.syn) else {
            self.0 = Some(Last { stamp, ack, window: packet.window });
            return true;
        };
        let age = last.stamp.wrapping_sub(stamp).cast_signed();
        let advance = ack.wrapping_sub(last.ack).cast_signed();
        let opens = packet.window > last.window || packet.window == 0;
        let duplicate = advance == 0 && packet.payload == 0 && !opens;
        if age > TOLERATED && !duplicate {
            return false;
        }
        // Linux, tcp_ack: an ACK below SND.UNA changes neither TS.Recent nor the window.
        if advance >= 0 {
            last.stamp = if age < 0 { stamp } else { last.stamp };
            last.window = if advance > 0 || opens { packet.window } else { last.window };
            last.ack = ack;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::packet::Endpoints;
    use cwndlab_units::Time;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    fn packet(stamp: u32, ack: u32, window: u16) -> Packet {
        let at = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
        Packet::bare(Time::ZERO, Endpoints { from: at, to: at }, ack, window, (stamp, 0))
    }

    /// By hand after Linux, tcp_paws_discard and tcp_disordered_ack: TS.Recent is 100 and SND.UNA 5000.
    #[test]
    fn an_ack_with_an_old_timestamp_is_discarded_unless_it_is_a_plain_duplicate() {
        let accepted = |stamp, ack, window| {
            let mut paws = Paws::default();
            assert!(paws.accepts(&packet(90, 4000, 50)));
            assert!(paws.accepts(&packet(100, 5000, 60)));
            paws.accepts(&packet(stamp, ack, window))
        };
        assert!(accepted(100, 4500, 60) && accepted(99, 4500, 60), "one tick is tolerated");
        assert!(!accepted(98, 4500, 60) && !accepted(98, 5500, 60));
        assert!(accepted(98, 5000, 60) && accepted(98, 5000, 50), "a duplicate");
        assert!(!accepted(98, 5000, 70) && !accepted(98, 5000, 0), "a duplicate that changes the window");
    }

    /// RFC 7323, section 4.3: TS.Recent never decreases; timestamps wrap.
    #[test]
    fn the_last_timestamp_wraps_and_never_decreases() {
        let mut paws = Paws::default();
        assert!(paws.accepts(&packet(u32::MAX, 1000, 50)));
        assert!(paws.accepts(&packet(3, 2000, 50)));
        assert!(paws.accepts(&packet(2, 3000, 50)));
        assert!(!paws.accepts(&packet(1, 4000, 50)) && !paws.accepts(&packet(u32::MAX, 4000, 50)));
    }
}
