//! Conservation of packets at the end of a run: the counters of each link against the packets that are in the network.
//!
//! The counters of a link without events are computed from its queue; here they are compared with the packets on its
//! wire, which are counted one by one. Each accepted packet has reached the next link or its endpoint, was lost, or is on
//! the wire: its arrival is after the end of the run. Those that have not left the line yet are queued or in service.

use cwndlab_records::findings::COUNTERS;
use cwndlab_records::rows::FindingRow;
use cwndlab_scenario::plan::{LinkPlan, Plan};
use cwndlab_units::{LinkId, Time};

use crate::aqm_links::Server;
use crate::link_snapshot::LinkSnapshot;
use crate::network::Network;

impl Network {
    /// Findings on links whose counters do not add up at `end`, up to which all events are processed.
    pub fn check_counters(&mut self, plan: &Plan, end: Time) -> Vec<FindingRow> {
        let mut found = Vec::new();
        for (link, link_plan) in plan.links.enumerate() {
            let snapshot = self.link_snapshot(end, link, link_plan);
            let longest = self.max_queue_length(link);
            let wrong = self.wrong_counters(end, link, link_plan, &snapshot).or_else(|| {
                let arrived = snapshot.arrived;
                (longest > arrived).then(|| format!("a queue of {longest} packets, of {arrived} that arrived"))
            });
            if let Some(wrong) = wrong {
                let name = plan.link_name(link);
                found.push(COUNTERS.of_link(link, format!("link {name}: {wrong}")));
            }
        }
        found
    }

    fn wrong_counters(&mut self, end: Time, link: LinkId, plan: &LinkPlan, of: &LinkSnapshot) -> Option<String> {
        let LinkSnapshot { arrived, dropped, sent_packets, sent_bytes, queue_packets, lost, .. } = *of;
        match self.servers.get(self.server_of[link].index()) {
            Some(Server::Line(aqm_link)) => {
                let serving = u64::from(aqm_link.serving() > 0);
                let sum = dropped + sent_packets + queue_packets + serving;
                return (sum != arrived).then(|| {
                    format!("{arrived} packets arrived, but {dropped} dropped, {sent_packets} sent, {queue_packets} queued and {serving} in service are {sum}")
                });
            }
            Some(Server::Wifi(_) | Server::Cell(_)) => {
                let given_up = lost - self.links[link].lost(end);
                let sum = dropped + sent_packets + queue_packets + given_up;
                return (sum != arrived).then(|| {
                    format!("{arrived} packets arrived, but {dropped} dropped, {sent_packets} sent, {queue_packets} queued and {given_up} given up are {sum}")
                });
            }
            None => {}
        }
        let totals = self.links[link].totals();
        let pending = totals.lost - lost;
        let mut on_wire = 0;
        let mut not_sent = 0;
        let mut bytes_not_sent = 0;
        self.wires.for_each(link, |packet| {
            on_wire += 1;
            if packet.at.as_nanos() - plan.delay.as_nanos().min(packet.at.as_nanos()) > end.as_nanos() {
                (not_sent, bytes_not_sent) = (not_sent + 1, bytes_not_sent + u64::from(packet.size));
            }
        });
        if arrived != totals.accepted + dropped {
            return Some(format!("{arrived} packets arrived, but {} accepted, {dropped} dropped", totals.accepted));
        }
        if self.links[link].is_plain() && on_wire > totals.accepted {
            return Some(format!("{on_wire} packets are on its wire, of {} accepted", totals.accepted));
        }
        if !self.links[link].is_plain() {
            // Where the delay varies, the departure of a packet on the wire does not follow from its arrival.
            let most = totals.accepted - pending;
            let range = most.saturating_sub(on_wire)..=most;
            return (!range.contains(&sent_packets)).then(|| {
                format!("{sent_packets} packets sent; by the packets on its wire {} to {most} were", range.start())
            });
        }
        let bytes = totals.accepted_bytes.saturating_sub(bytes_not_sent);
        let packets = totals.accepted - not_sent;
        ((sent_packets, sent_bytes) != (packets, bytes)).then(|| {
            format!("{sent_packets} packets ({sent_bytes} bytes) sent; by the packets on its wire {packets} ({bytes} bytes) were")
        })
    }
}
