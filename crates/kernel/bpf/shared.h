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
	FLAG_ACCURATE_ECN = 64,    // Accurate ECN is negotiated
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
	__u64 rate_Bps; // for monitoring; 32 bits would end at 34 Gbit/s
	__u64 acked_first; // bytes that the connection had acknowledged before, with its SYN
	__u64 acked_bytes; // acknowledged since, for monitoring
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
	// For monitoring:
	__u32 cwnd;
	__u32 srtt_us;
	__u32 min_rtt_us;
	__u32 fallbacks;
	__u32 state;
	__u32 address[4]; // remote, of IPv6; network order
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

// The layout, which `src/datapath/shared.rs` states too; a test compares the two lists.
#define OFFSET(name, field, at) _Static_assert(__builtin_offsetof(struct name, field) == (at), #name "." #field)
#define SIZE(name, bytes) _Static_assert(sizeof(struct name) == (bytes), #name)

OFFSET(settings, when, 0);
OFFSET(settings, model_based, 4);
OFFSET(settings, every_ns, 8);
SIZE(settings, 16);

OFFSET(report, now_ns, 0);
OFFSET(report, first_ns, 8);
OFFSET(report, idle_ns, 16);
OFFSET(report, slot, 24);
OFFSET(report, generation, 28);
OFFSET(report, number, 32);
OFFSET(report, kind, 36);
OFFSET(report, state, 37);
OFFSET(report, flags, 38);
OFFSET(report, padding, 39);
OFFSET(report, acked, 40);
OFFSET(report, acks, 44);
OFFSET(report, lost, 48);
OFFSET(report, ce, 52);
OFFSET(report, sent, 56);
OFFSET(report, prior_in_flight, 60);
OFFSET(report, in_flight, 64);
OFFSET(report, flight, 68);
OFFSET(report, lost_out, 72);
OFFSET(report, rtt_us, 76);
OFFSET(report, srtt_us, 80);
OFFSET(report, min_rtt_us, 84);
OFFSET(report, rate_delivered, 88);
OFFSET(report, rate_interval_us, 92);
OFFSET(report, rate_prior_delivered, 96);
OFFSET(report, delivered, 100);
OFFSET(report, una, 104);
OFFSET(report, nxt, 108);
OFFSET(report, cwnd, 112);
OFFSET(report, mss, 116);
SIZE(report, 120);

OFFSET(decision, begun, 0);
OFFSET(decision, generation, 4);
OFFSET(decision, report_ns, 8);
OFFSET(decision, pacing_Bps, 16);
OFFSET(decision, cwnd, 24);
OFFSET(decision, ssthresh, 28);
OFFSET(decision, number, 32);
OFFSET(decision, unused, 36);
SIZE(decision, 56);

OFFSET(flow, used, 0);
OFFSET(flow, generation, 4);
OFFSET(flow, number, 8);
OFFSET(flow, decided, 12);
OFFSET(flow, hold, 16);
OFFSET(flow, fallback, 20);
OFFSET(flow, waiting_since_ns, 24);
OFFSET(flow, report_ns, 32);
OFFSET(flow, first_ns, 40);
OFFSET(flow, idle_ns, 48);
OFFSET(flow, pacing_Bps, 56);
OFFSET(flow, rate_Bps, 64);
OFFSET(flow, acked_first, 72);
OFFSET(flow, acked_bytes, 80);
OFFSET(flow, window, 88);
OFFSET(flow, ssthresh, 92);
OFFSET(flow, prr_delivered, 96);
OFFSET(flow, prior_cwnd, 100);
OFFSET(flow, round_end, 104);
OFFSET(flow, flags, 108);
OFFSET(flow, acked, 112);
OFFSET(flow, acks, 116);
OFFSET(flow, ce_seen, 120);
OFFSET(flow, lost_seen, 124);
OFFSET(flow, sent_seen, 128);
OFFSET(flow, prior_in_flight, 132);
OFFSET(flow, rtt_us, 136);
OFFSET(flow, rate_delivered, 140);
OFFSET(flow, rate_interval_us, 144);
OFFSET(flow, rate_prior_delivered, 148);
OFFSET(flow, ece, 152);
OFFSET(flow, delivered_first, 156);
OFFSET(flow, missed, 160);
OFFSET(flow, cwnd, 164);
OFFSET(flow, srtt_us, 168);
OFFSET(flow, min_rtt_us, 172);
OFFSET(flow, fallbacks, 176);
OFFSET(flow, state, 180);
OFFSET(flow, address, 184);
OFFSET(flow, local_port, 200);
OFFSET(flow, remote_port, 202);
SIZE(flow, 208);

OFFSET(totals, reports, 0);
OFFSET(totals, lost, 8);
OFFSET(totals, refused, 16);
OFFSET(totals, fallbacks, 24);
OFFSET(totals, applied_at_next, 32);
OFFSET(totals, applied_max_ns, 40);
OFFSET(totals, connections, 48);
OFFSET(totals, latency, 56);
SIZE(totals, 3768);
