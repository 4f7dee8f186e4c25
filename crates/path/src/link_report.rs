//! Table rows with the counters of links, stations and users of cells.

use cwndlab_records::rows::{CellUserRow, FlowRow, LinkEventRow, LinkRow, PacketRow, StationRow};
use cwndlab_scenario::plan::{Capacity, LinkPlan, Plan};
use cwndlab_units::{LinkId, Time};

use crate::aqm_links::Server;
use crate::link_snapshot::LinkSnapshot;
use crate::network::Network;
use crate::packet::Tag;

impl Network {
    /// The counters and the backlog of the link `id` at `now`.
    pub fn link_snapshot(&mut self, now: Time, id: LinkId, plan: &LinkPlan) -> LinkSnapshot {
        self.flush_crossed(id);
        let link = &mut self.links[id];
        let lost = link.lost(now);
        match self.servers.get_mut(self.server_of[id].index()) {
            Some(Server::Wifi(wifi)) => return wifi.snapshot(now, id, lost),
            Some(Server::Cell(cell)) => return cell.snapshot(now, id, lost),
            Some(Server::Line(aqm_link)) => {
                let (queue_packets, queue_bytes) = aqm_link.backlog();
                let (packet_ns, byte_ns) = aqm_link.integrals(now);
                return LinkSnapshot {
                    arrived: aqm_link.offered,
                    dropped: aqm_link.dropped,
                    lost,
                    marked: aqm_link.marked,
                    sent_packets: aqm_link.sent,
                    sent_bytes: aqm_link.sent_bytes,
                    queue_packets,
                    queue_bytes,
                    packet_ns,
                    byte_ns,
                    carriable_bytes: plan.varies().then(|| aqm_link.offered_bytes(now)).flatten(),
                    age: plan.varies().then(|| aqm_link.age(now)),
                };
            }
            None => {}
        }
        let (queue_packets, queue_bytes) = link.backlog(now);
        let (packet_ns, byte_ns) = link.integrals(now);
        let (sent_packets, sent_bytes) = link.sent(now);
        LinkSnapshot {
            arrived: link.totals().arrived(),
            dropped: link.totals().dropped,
            lost,
            marked: link.totals().marked,
            sent_packets,
            sent_bytes,
            queue_packets,
            queue_bytes,
            packet_ns,
            byte_ns,
            carriable_bytes: plan.varies().then(|| link.offered(now)).flatten(),
            age: plan.varies().then(|| link.age(now)),
        }
    }

    /// The maximum queue length of a link, packets.
    pub(crate) fn max_queue_length(&self, link: LinkId) -> u64 {
        match self.servers.get(self.server_of[link].index()) {
            Some(Server::Wifi(wifi)) => wifi.max_queue_length(link),
            Some(Server::Cell(cell)) => cell.max_queue_length(link),
            Some(Server::Line(aqm_link)) => aqm_link.max_queue_length,
            None => self.links[link].max_queue_length(),
        }
    }

    /// Removes and returns the rows of the table `packets`, with those of packets that queues hold at the end of the run.
    pub fn take_packets(&mut self) -> Vec<PacketRow> {
        let Some(mut tap) = self.packet_tap.take() else { return Vec::new() };
        tap.record_queued(|packet| self.owners[packet.connection()], &self.options);
        tap.rows
    }

    /// Rows of the table `links` at `end`.
    pub fn link_rows(&mut self, plan: &Plan, end: Time) -> Vec<LinkRow> {
        let span = end.as_nanos().max(1) as f64;
        let mut rows = Vec::with_capacity(plan.links.len());
        for (id, link) in plan.links.enumerate() {
            let snapshot = self.link_snapshot(end, id, link);
            let (capacity_packets, capacity_bytes) = match link.capacity {
                Capacity::Unlimited => (None, None),
                Capacity::Packets(n) => (Some(u64::from(n)), None),
                Capacity::Bytes(n) => (None, Some(n.0)),
            };
            rows.push(LinkRow {
                link: id.into(),
                name: link.name(&plan.nodes),
                rate_bps: link.rate.map(|rate| rate.0),
                delay_ns: link.delay.as_nanos(),
                capacity_packets,
                capacity_bytes,
                arrived_packets: snapshot.arrived,
                dropped_packets: snapshot.dropped,
                lost_packets: snapshot.lost,
                marked_packets: snapshot.marked,
                sent_packets: snapshot.sent_packets,
                sent_bytes: snapshot.sent_bytes,
                mean_queue_packets: snapshot.packet_ns as f64 / span,
                mean_queue_bytes: snapshot.byte_ns as f64 / span,
                max_queue_packets: self.max_queue_length(id),
                utilisation: snapshot.utilisation(link, span),
                carriable_bytes: snapshot.carriable_bytes,
            });
        }
        rows
    }

    /// Sets the airtimes of the rows of all flows at `end`, where a link of their route is on an 802.11 medium.
    pub fn set_airtimes(&mut self, plan: &Plan, end: Time, rows: &mut [FlowRow]) {
        let crosses = |route: &[LinkId]| route.iter().any(|&link| plan.links[link].radio.is_some());
        for (row, flow) in rows.iter_mut().zip(&plan.flows) {
            if crosses(&flow.forward) || crosses(&flow.reverse) {
                (row.airtime_ns, row.ack_airtime_ns) = (Some(0), Some(0));
            }
        }
        for server in &mut self.servers {
            let Server::Wifi(wifi) = server else { continue };
            for (flow, airtime) in wifi.flow_airtimes(end) {
                // The tag of the packet, and whether it travels forward (`enqueue`).
                let connection = Tag((flow >> 1) as u32).connection();
                let row = &mut rows[self.owners[connection].flow.index()];
                let column = if flow & 1 == 1 { &mut row.airtime_ns } else { &mut row.ack_airtime_ns };
                *column.get_or_insert(0) += airtime.as_nanos();
            }
        }
    }

    /// Appends the counters of all stations at `now` to `rows`.
    pub fn station_rows(&mut self, now: Time, rows: &mut Vec<StationRow>) {
        for server in &mut self.servers {
            if let Server::Wifi(wifi) = server {
                wifi.station_rows(now, rows);
            }
        }
    }

    /// Appends the counters of all users of cells at `now` to `rows`.
    pub fn cell_user_rows(&self, now: Time, rows: &mut Vec<CellUserRow>) {
        for server in &self.servers {
            if let Server::Cell(cell) = server {
                cell.users(now, rows);
            }
        }
    }

    /// Removes and returns the rows of the table `link_events`, in the order of their times.
    pub fn take_link_events(&mut self) -> Vec<LinkEventRow> {
        let mut rows = Vec::new();
        for server in &mut self.servers {
            if let Server::Cell(cell) = server {
                cell.take_events(&mut rows);
            }
        }
        rows.sort_by_key(|row| (row.time_ns, row.link));
        rows
    }
}
