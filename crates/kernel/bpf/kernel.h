// The kernel's types and constants that the program uses. Fields are located by their names in the running kernel's
// BTF (CO-RE).
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

#define KERNEL __attribute__((preserve_access_index))

enum bpf_map_type { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_QUEUE = 22, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };

// enum tcp_ca_state, include/uapi/linux/tcp.h
enum { OPEN = 0, DISORDER = 1, CWR = 2, RECOVERY = 3, LOSS = 4 };
// enum tcp_ca_event and tcp_ca_ack_event_flags, include/net/tcp.h
enum { CA_EVENT_TX_START = 0 };
enum { CA_ACK_ECE = 1 << 2 };
// net/ipv4/tcp_input.c: properties of an ACK
enum { FLAG_DATA_ACKED = 0x04, FLAG_SND_UNA_ADVANCED = 0x400 };
// include/linux/tcp.h, from 6.18 on: Accurate ECN (RFC 9768) is negotiated. Earlier kernels do not use this bit.
enum { TCP_ECN_MODE_ACCECN = 1 << 4 };
// address families, include/linux/socket.h
enum { AF_INET6 = 10 };
// enum sk_pacing, include/net/sock.h
enum { SK_PACING_NONE = 0, SK_PACING_NEEDED = 1 };
// flags of struct tcp_congestion_ops: unprivileged users and child namespaces may select the algorithm
enum { TCP_CONG_NON_RESTRICTED = 1 };
#define TCP_INFINITE_SSTHRESH 0x7fffffff

struct netns_ipv4 {
	__u8 sysctl_tcp_min_tso_segs;
	__u8 sysctl_tcp_slow_start_after_idle;
} KERNEL;

struct net {
	struct netns_ipv4 ipv4;
} KERNEL;

typedef struct {
	struct net *net;
} KERNEL possible_net_t;

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
} KERNEL;

struct sock_common {
	__be32 skc_daddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
	possible_net_t skc_net;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
	__u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
} KERNEL;

struct inet_sock {
	struct sock sk;
} KERNEL;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u32 icsk_rto;
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13];
} KERNEL;

struct minmax_sample {
	__u32 t;
	__u32 v;
} KERNEL;

struct minmax {
	struct minmax_sample s[3];
} KERNEL;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 mss_cache;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 prr_out;
	__u32 data_segs_out;
	__u64 bytes_acked;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 max_packets_out;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 srtt_us;
	struct minmax rtt_min;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 lost;
	__u32 app_limited;
	__u32 lsndtime;
	__u64 first_tx_mstamp; // us
	__u32 undo_marker;
	__u8 is_cwnd_limited : 1;
	__u8 ecn_flags;
} KERNEL;

struct rate_sample {
	__u32 prior_delivered;
	__s32 delivered;
	long interval_us;
	long rtt_us;
	__s32 losses;
	__u32 acked_sacked;
	__u32 prior_in_flight;
	bool is_app_limited;
} KERNEL;

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*cwnd_event)(struct sock *sk, __u32 event);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 (*min_tso_segs)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
	__u32 flags;
} KERNEL;
