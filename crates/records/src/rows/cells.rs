//! Rows of the users of cells of LTE and NR.

table! {
    /// A user of a cell of LTE or NR in one direction, at a sampling instant and at the end of the run. Counters are
    /// cumulative.
    #[table(cell_users, optional)]
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct CellUserRow {
        /// Time of the sample.
        #[hash(if_rows)]
        pub time_ns: u64,
        /// Name of the cell.
        #[hash(if_rows)]
        pub cell: String,
        /// Name of the user's node.
        #[hash(if_rows)]
        pub user: String,
        /// Index of the link.
        #[hash(if_rows)]
        pub link: u32,
        /// `downlink` or `uplink`.
        #[hash(if_rows)]
        pub direction: &'static str,
        /// Resource blocks used, retransmissions included.
        #[hash(if_rows)]
        pub resource_blocks: u64,
        /// Transport blocks with new data; on an uplink each has a grant.
        #[hash(if_rows)]
        pub transport_blocks: u64,
        /// Transport blocks whose first attempt failed; divided by `transport_blocks` the BLER.
        #[hash(if_rows)]
        pub failed_blocks: u64,
        /// Retransmissions of HARQ.
        #[hash(if_rows)]
        pub harq_retransmissions: u64,
        /// Retransmissions of RLC, after HARQ gave up and after hand-overs.
        #[hash(if_rows)]
        pub rlc_retransmissions: u64,
        /// Packets lost by RLC in unacknowledged mode, or by a hand-over without forwarding.
        #[hash(if_rows)]
        pub lost_packets: u64,
        /// Scheduling requests.
        #[hash(if_rows)]
        pub scheduling_requests: u64,
        /// Connections of the idle user that a packet in this direction caused.
        #[hash(if_rows)]
        pub promotions: u64,
        /// Hand-overs.
        #[hash(if_rows)]
        pub handovers: u64,
        /// CQI of the last transport block with new data; null before the first.
        #[hash(if_rows)]
        pub cqi: Option<u64>,
    }
}

table! {
    /// An event of a link on a cell.
    #[table(link_events, optional)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LinkEventRow {
        /// Its start.
        #[hash(if_rows)]
        pub time_ns: u64,
        /// Index of the link.
        #[hash(if_rows)]
        pub link: u32,
        /// `handover`, or `promotion`: a packet connects an idle user.
        #[hash(if_rows)]
        pub kind: &'static str,
        /// Time from its start until the link can transmit again.
        #[hash(if_rows)]
        pub duration_ns: u64,
    }
}
