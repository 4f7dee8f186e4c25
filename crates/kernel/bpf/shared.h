// The memory that the program and the decider's process share. `src/datapath/shared.rs` declares it in Rust.
#pragma once

enum { SLOTS = 4096, BUCKETS = 464 };

enum report_when { PER_ACK = 0, PER_RTT = 1, PER_TIME = 2 };

// Set before the program is loaded.
struct settings {
	__u32 when;        // enum report_when
	__u32 model_based; // the algorithm sets the window during recovery and after idle periods
	__u64 every_ns;    // for PER_TIME
};

enum kind { KIND_OPEN = 0, KIND_ACKS = 1, KIND_STATE = 2, KIND_UNDO = 3, KIND_IDLE = 4, KIND_CLOSE = 5 };

enum {
	FLAG_ADVANCED = 1,         // SND.UNA advanced
	FLAG_CWND_LIMITED = 2,     // limited by the window (tcp_is_cwnd_limited)
	FLAG_APP_LIMITED = 4,      // application-limited
	FLAG_RATE_APP_LIMITED = 8, // application-limited when the sample's segment was sent
	FLAG_CONGESTION = 16,      // the kernel requests a new ssthresh
	FLAG_ECE = 32,             // the current ACK echoes an ECN mark
};

// A report, 120 bytes.
struct report {
	__u64 now_ns;
	__u64 first_ns; // time of the first ACK in the report
	__u64 idle_ns;  // for KIND_IDLE
	__u32 slot;
	__u32 generation;
	__u32 number;
	__u8 kind;
	__u8 state; // KIND_STATE: the new state; otherwise the current state
	__u8 flags;
	__u8 padding;
	__u32 acked; // segments
	__u32 acks;
	__u32 lost;
	__u32 ce;
	__u32 sent;
	__u32 prior_in_flight;
	__u32 in_flight;
	__u32 flight; // FlightSize without SACKed segments
	__u32 lost_out;
	__u32 rtt_us; // 0: none
	__u32 srtt_us;
	__u32 min_rtt_us;
	__u32 rate_delivered;
	__u32 rate_interval_us; // 0: no sample
	__u32 rate_prior_delivered;
	__u32 delivered;
	__u32 una;
	__u32 nxt;
	__u32 cwnd;
	__u32 mss;
};

// A decision, written by the process: `begun` first, `number` last. They are equal in a complete decision.
struct decision {
	__u32 begun;
	__u32 generation;
	__u64 report_ns;  // `now_ns` of its report
	__u64 pacing_Bps; // byte/s; 0: none
	__u32 cwnd;
	__u32 ssthresh; // 0: unchanged
	__u32 number;   // of its report
	__u32 unused[5];
};

// The state of a connection.
struct flow {
	__u32 used;
	__u32 generation;
	__u32 number;   // of the last report
	__u32 decided;  // number of the last report whose decision was read
	__u32 hold;     // number of the first report whose decision may set the window
	__u32 fallback; // the watchdog controls the connection
	__u64 waiting_since_ns; // time of the oldest report without a decision; 0: none
	__u64 report_ns; // of the last report
	__u64 first_ns;
	__u64 idle_ns; // last idle period
	__u64 pacing_Bps;
	__u32 window;   // of the last decision
	__u32 ssthresh; // of the last decision; 0: none
	__u32 prr_delivered;
	__u32 prior_cwnd;
	__u32 round_end;
	__u32 flags;
	__u32 acked;
	__u32 acks;
	__u32 ce_seen;
	__u32 lost_seen;
	__u32 sent_seen;
	__u32 prior_in_flight;
	__u32 rtt_us;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u32 rate_prior_delivered;
	__u32 ece;
	__u32 delivered_first;
	__u32 missed; // events for which the ring had no room: 1 << enum kind
	__u32 padding;
	// For monitoring:
	__u32 cwnd;
	__u32 srtt_us;
	__u32 min_rtt_us;
	__u32 delivered;
	__u32 mss;
	__u32 rate_Bps;
	__u32 fallbacks;
	__u32 state;
	__u32 address; // remote, network order
	__u16 local_port;
	__u16 remote_port; // network order
};

struct totals {
	__u64 reports;
	__u64 lost;      // reports that found the ring full
	__u64 refused;   // connections without a slot
	__u64 fallbacks; // activations of the watchdog
	__u64 applied_at_next; // decisions applied at the first ACK or transmission after their report
	__u64 applied_max_ns;
	__u64 connections;
	__u64 latency[BUCKETS]; // from report to applied decision
};
