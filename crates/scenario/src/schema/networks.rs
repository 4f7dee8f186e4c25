//! The tables of each kind of network.

use cwndlab_config::{fields, Faults, Reader, TablePath};
use cwndlab_network::aqm::CapacitySpec;
use cwndlab_units::Rate;
use serde_json::Value;

use super::cell::LinkCell;
use super::field_types::{Agents, Queue};
use super::link::{Link, ReverseLink};
use super::medium::{LinkRadio, Medium, Stations};
use super::radio_fields::{Decibels, Position};
use super::table::tables;

tables! {
    /// A link of a graph.
    NAMED_LINK: NamedLink = "named_link", "A link between nodes of a graph.";
    /// A node of a graph.
    NODE: (Node) = "node", "A node of a graph.";
    /// Access links.
    ACCESS: (Access) = "access", "Access links.";
    /// A dumbbell.
    DUMBBELL: (Dumbbell) = "dumbbell", "Sources, r1, the bottleneck, r2, destinations.";
    /// A parking lot.
    PARKING_LOT: (ParkingLot) = "parking_lot", "Bottlenecks in series.";
    /// A wireless LAN.
    WLAN: (Wlan) = "wlan",
        "Servers, wires, an access point and stations: one server, one wire and one station per flow.";
}

fields! {
    /// A link between named nodes.
    #[derive(Clone, Debug)]
    pub struct NamedLink {
        /// unique name
        name: Option<String> = absent("`FROM-TO`"),
        /// source node
        from: String = required("'from = \"r1\"'"),
        /// destination node
        to: String = required("'to = \"r1\"'"),
        /// a link in the reverse direction with the same parameters is added, unless it is given
        duplex: bool = true,
        /// properties of every link
        link: Link,
        /// medium and radio parameters, in place of a line
        radio: LinkRadio,
        /// cell and channel, in place of a line
        cell: LinkCell,
    }
}

fields! {
    /// A node of a graph.
    #[derive(Clone, Debug)]
    pub struct Node {
        /// path in the document
        path: TablePath,
        /// unique name
        name: String = required("'name = \"r1\"'"),
        /// number of equal nodes, with the suffixes `-1`, `-2`, …: a link of the name is one for each of them, and flows with
        /// a `count` are distributed over them in turn
        count: Option<u64> = absent("one node, without a suffix") in 1..=1_000_000,
        /// coordinates in metres, of a station on a medium with a channel
        position: Option<Position> = absent("all powers are `received`"),
        /// transmit power on media with a channel, dBm
        transmit_power: Option<Decibels> = absent("16"),
    }
}

fields! {
    /// Access links.
    #[derive(Clone, Debug)]
    pub struct Access {
        /// rate of each link
        rate: Option<Rate> = absent("zero serialisation time"),
        /// queue of each link
        queue: Queue = absent("unlimited", Queue::drop_tail(CapacitySpec::Unlimited)),
        /// router agents of the links
        agents: Option<Agents> = absent("those of the first hop"),
    }
}

impl Access {
    /// Zero serialisation time and no limit.
    fn unlimited() -> Self {
        Self { rate: None, queue: Queue::drop_tail(CapacitySpec::Unlimited), agents: None }
    }
}

fields! {
    /// A bottleneck in both directions, and access links.
    #[derive(Clone, Debug)]
    pub struct Dumbbell {
        /// the link from r1 to r2, named `bottleneck`
        bottleneck: Link = required("'bottleneck = { rate = \"100 Mbps\", delay = \"10 ms\" }'"),
        /// the link from r2 to r1, named `bottleneck-reverse`; other fields are those of the bottleneck
        reverse: ReverseLink = absent("the bottleneck without its losses", bottleneck.without_losses()),
        /// access links; the flow's delay minus that of the bottleneck is divided equally among them
        access: Access = absent("zero serialisation time", Access::unlimited()),
    }
}

fields! {
    /// Bottlenecks in series, and access links.
    #[derive(Clone, Debug)]
    pub struct ParkingLot {
        /// links between the routers r1, r2, …, named `hop1`, `hop2`, …
        hops: Vec<Link> = required("'hops = [{ rate = \"10 Mbps\", delay = \"5 ms\" }, …]'"),
        /// access links
        access: Access = absent("zero serialisation time", Access::unlimited()),
    }
    check
}

impl ParkingLot {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        let given = table.get("hops").and_then(Value::as_array);
        if self.hops.is_empty() && given.is_some_and(Vec::is_empty) {
            let hint = "write 'hops = [{ rate = \"10 Mbps\", delay = \"5 ms\" }, …]'";
            faults.add(table.at("hops"), "is empty", hint);
        }
    }
}

fields! {
    /// The configuration of a wireless LAN.
    #[derive(Clone, Debug)]
    pub struct Wlan {
        /// queue of the access point, shared by all stations
        queue: Queue = absent("drop-tail of 100 packets", Queue::drop_tail(CapacitySpec::Packets(100))),
        /// queue of each station
        station_queue: Queue = absent("as `queue`", queue),
        /// wires; their delay is the RTT of the flow
        wire: Access = absent("zero serialisation time", Access::unlimited()),
        /// parameters of individual stations, in the order of the flows
        stations: Stations = absent("", Vec::new()),
        /// the medium
        medium: Medium,
    }
    check
}

impl Wlan {
    fn check(&self, table: &Reader<'_>, faults: &mut Faults) {
        if self.wire.agents.is_some() {
            let what = "agents are not supported on the wires of a wireless LAN";
            faults.add(table.at("wire.agents"), what, "remove them");
        }
    }
}
