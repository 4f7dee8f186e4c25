//! Puts what the two ends of a flow send on its way, as packets.

use cwndlab_control::Feedback;
use cwndlab_network::agent::{Header, Scheme};
use cwndlab_records::rows::EventRow;
use cwndlab_scenario::plan::FlowPlan;
use cwndlab_transport::wire::{AckPacket, Data, Output};
use cwndlab_units::{Bytes, Rate};

use crate::packet::{Packet, ACK, AGAIN, CWR, DATA, ECE, ECT, EXTRA, FLOW, SYN, SYN_ACK};
use crate::world::{Asked, Extra, World};

/// Puts what a flow sends on its way.
pub struct Port<'a> {
    /// The network.
    pub world: &'a mut World,
    /// The flow's index with the connection's number above it.
    pub flow: u32,
    /// Now.
    pub now: u64,
    /// Full segment.
    pub mss: u32,
    pub(crate) header: u32,
    pub(crate) ack_size: u32,
    pub(crate) block_size: u32,
    pub(crate) ecn: bool,
    /// How far the window of an ACK is shifted.
    pub(crate) window_shift: u32,
    /// What its packets ask routers: the scheme, the rate, the sender's smoothed RTT.
    pub(crate) asks: Option<(Scheme, f64, u64)>,
}

impl Port<'_> {
    /// The header of a packet that asks routers.
    #[cold]
    fn ask(&mut self, scheme: Scheme, rate: f64, rtt: u64, len: u32) -> u32 {
        let mut header = Header::new(scheme, rate, rtt);
        if scheme == Scheme::Perc {
            if let Some(last) = self.world.circulating.get(&(self.flow & FLOW)) {
                header.shares = last.shares;
            }
        }
        self.world.ask(Asked { header, len })
    }

    /// PERC: the receiver sends the header back as it came.
    #[cold]
    fn echo(&mut self) -> Option<u32> {
        let header = self.world.circulating.get(&(self.flow & FLOW))?.echo?;
        Some(self.world.ask(Asked { header, len: 0 }))
    }

    pub(crate) fn answer(&mut self, header: Option<u32>) {
        let flags = SYN_ACK | header.map_or(0, |_| EXTRA);
        let (size, aux) = (self.ack_size as u16, header.unwrap_or(0));
        self.world
            .forward(self.now, Packet { stamp: self.now, flow: self.flow, size, aux, flags, ..Packet::default() });
    }
}

/// The agents' word for a scheme.
pub(crate) fn spoken(scheme: cwndlab_control::Scheme) -> Scheme {
    match scheme {
        cwndlab_control::Scheme::QuickStart => Scheme::QuickStart,
        cwndlab_control::Scheme::Sirens => Scheme::Sirens,
        cwndlab_control::Scheme::BandwidthStamp => Scheme::Stamp,
        cwndlab_control::Scheme::Rcp => Scheme::Rcp,
        cwndlab_control::Scheme::Perc => Scheme::Perc,
        cwndlab_control::Scheme::Abc => Scheme::Abc,
    }
}

/// What all routers of the path answered; nothing where one of them has no agent. Routers share out their line, headers
/// included; who sends at the rate that he is told paces payload.
pub(crate) fn feedback(asked: &Asked, plan: &FlowPlan) -> Option<Feedback> {
    let header = &asked.header;
    let (mss, above) = (plan.stack.mss.0 as f64, plan.stack.header.0 as f64);
    let payload = if matches!(header.scheme, Scheme::Rcp | Scheme::Perc) { mss / (mss + above) } else { 1.0 };
    (header.routers >= plan.routers).then(|| Feedback {
        rate: Rate((header.rate * payload).clamp(0.0, MOST_BPS) as u64),
        accelerated: Bytes(if header.accelerate { u64::from(asked.len) } else { 0 }),
    })
}

/// "Any rate" as a number.
const MOST_BPS: f64 = 1e15;

impl Output for Port<'_> {
    #[inline]
    fn data(&mut self, segment: &Data) {
        let mut flags = DATA;
        if segment.retransmission {
            flags |= AGAIN;
        }
        if segment.ect {
            flags |= ECT;
        }
        if segment.cwr {
            flags |= CWR;
        }
        let mut aux = segment.len;
        if let Some((scheme, rate, rtt)) = self.asks {
            flags |= EXTRA;
            aux = self.ask(scheme, rate, rtt, segment.len);
        }
        self.world.forward(
            self.now,
            Packet {
                at: 0,
                stamp: segment.stamp.0,
                seq: segment.seq as u32,
                flow: self.flow,
                aux,
                size: (segment.len + self.header) as u16,
                hop: 0,
                flags,
            },
        );
    }

    #[inline]
    fn ack(&mut self, ack: &AckPacket) {
        let mut flags = ACK;
        if ack.ece {
            flags |= ECE;
        }
        let mut aux = (ack.window.0 >> self.window_shift) as u32;
        if ack.blocks.len > 0 || self.ecn || self.asks.is_some() {
            flags |= EXTRA;
            let header = self.asks.and_then(|(scheme, ..)| (scheme == Scheme::Perc).then(|| self.echo()).flatten());
            aux = self.world.store(Extra {
                header,
                blocks: ack.blocks,
                window: ack.window.0,
                ce_count: ack.ce_count,
                feedback: ack.feedback,
            });
        }
        self.world.forward(
            self.now,
            Packet {
                at: 0,
                stamp: ack.echo.0,
                seq: ack.ack as u32,
                flow: self.flow,
                aux,
                size: (self.ack_size + u32::from(ack.blocks.len) * self.block_size) as u16,
                hop: 0,
                flags,
            },
        );
    }

    fn syn(&mut self) {
        let (size, mut flags, mut aux) = (self.ack_size as u16, SYN, 0);
        if let Some((scheme, rate, rtt)) = self.asks {
            flags |= EXTRA;
            aux = self.ask(scheme, rate, rtt, 0);
        }
        self.world
            .forward(self.now, Packet { stamp: self.now, flow: self.flow, size, aux, flags, ..Packet::default() });
    }

    fn event(&mut self, kind: &'static str, cause: &'static str, before: u32, after: u32, pipe: f64) {
        let flow = self.flow & FLOW;
        let owner = self.world.owner[flow as usize];
        // Connections of arrivals, and the other half of a conversation: that they open is seen in the transfers.
        if owner != flow && matches!(kind, "open" | "established") {
            return;
        }
        self.world.events.push(EventRow {
            time_ns: self.now,
            flow: owner,
            kind,
            cause,
            cwnd_before_bytes: u64::from(before) * u64::from(self.mss),
            cwnd_after_bytes: u64::from(after) * u64::from(self.mss),
            pipe_segments: (!pipe.is_nan()).then_some(pipe),
        });
    }
}
