// The datapath: measures, reports, and applies the decisions of the decider. All algorithms use the same program.
//
// Reports pass to the process through a ring buffer. Decisions pass to the program through an array, which the process
// writes with plain stores. With a `cong_control` the kernel leaves some computations to the program: the window during
// recovery (proportional rate reduction as in tcp_cwnd_reduction, unless the algorithm is model-based), the window
// after an idle period (tcp_cwnd_restart), and the rate that determines burst sizes (tcp_update_pacing_rate). If
// decisions are overdue, a watchdog activates Reno.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct settings settings = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} reports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct decision);
} decisions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct totals);
} totals SEC(".maps");

// Slots without a connection; the process fills the queue before it registers the program.
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, SLOTS);
	__type(value, __u32);
} free_slots SEC(".maps");

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

#define WATCHDOG_NS 50000000ull
#define NO_SLOT 0xffffffffu

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline __u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static __always_inline __u32 state_of(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

static __always_inline bool is_reducing(__u32 state)
{
	return state == CWR || state == RECOVERY;
}

static __always_inline struct totals *get_totals(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&totals, &zero);
}

// The state of the connection. `init` stores slot and generation in the connection's private area. Before the end of the
// handshake the area is zero, and the kernel already reports ACKs and timeouts: there is no generation 0.
static __always_inline struct flow *find_flow(const struct tcp_sock *tp, __u32 *slot)
{
	__u64 stored = tp->inet_conn.icsk_ca_priv[0];
	__u32 generation = stored >> 32;
	*slot = (__u32)stored;
	struct flow *f = generation ? bpf_map_lookup_elem(&flows, slot) : (void *)0;
	return f && f->generation == generation ? f : (void *)0;
}

static __always_inline void set_window(struct tcp_sock *tp, __u32 cwnd)
{
	__u32 clamp = tp->snd_cwnd_clamp;
	cwnd = cwnd > clamp ? clamp : cwnd;
	tp->snd_cwnd = cwnd ? cwnd : 1;
}

// tcp_is_cwnd_limited
static __always_inline bool is_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

// The flags of a report on the state of the connection now.
static __always_inline __u8 report_flags(const struct tcp_sock *tp, const struct flow *f)
{
	__u8 flags = f->flags;

	if (is_cwnd_limited(tp))
		flags |= FLAG_CWND_LIMITED;
	if (tp->app_limited)
		flags |= FLAG_APP_LIMITED;
	if (f->ece)
		flags |= FLAG_ECE;
	if (tp->ecn_flags & TCP_ECN_MODE_ACCECN)
		flags |= FLAG_ACCURATE_ECN;
	return flags;
}

// Writes the sums since the last report and the state of the connection.
static __always_inline void fill_report(struct report *r, const struct tcp_sock *tp, const struct flow *f, __u64 now)
{
	__u32 rtt_min = tp->rtt_min.s[0].v;

	r->now_ns = now;
	r->first_ns = f->acks ? f->first_ns : now;
	r->generation = f->generation;
	r->number = f->number + 1;
	r->flags = report_flags(tp, f);
	r->padding = 0;
	r->acked = f->acked;
	r->acks = f->acks;
	r->lost = tp->lost - f->lost_seen;
	r->ce = tp->delivered_ce - f->ce_seen;
	r->sent = tp->data_segs_out - f->sent_seen;
	r->prior_in_flight = f->acks ? f->prior_in_flight : in_flight(tp);
	r->in_flight = in_flight(tp);
	r->flight = tp->packets_out - tp->sacked_out;
	r->lost_out = tp->lost_out;
	r->rtt_us = f->rtt_us;
	r->srtt_us = tp->srtt_us >> 3;
	r->min_rtt_us = rtt_min == ~0u ? 0 : rtt_min;
	r->rate_delivered = f->rate_delivered;
	r->rate_interval_us = f->rate_interval_us;
	r->rate_prior_delivered = f->rate_prior_delivered;
	r->delivered = tp->delivered;
	r->una = tp->snd_una;
	r->nxt = tp->snd_nxt;
	r->cwnd = tp->snd_cwnd;
	r->mss = tp->mss_cache;
}

// Begins the sums of the next report, and stores what monitors read.
static __always_inline void begin_sums(const struct tcp_sock *tp, struct flow *f, __u64 now, __u8 state)
{
	__u32 rtt_min = tp->rtt_min.s[0].v;

	if (f->rate_interval_us)
		f->rate_Bps = (__u64)f->rate_delivered * tp->mss_cache * 1000000 / f->rate_interval_us;
	f->flags = 0;
	f->acked = 0;
	f->acks = 0;
	f->lost_seen = tp->lost;
	f->ce_seen = tp->delivered_ce;
	f->sent_seen = tp->data_segs_out;
	f->rtt_us = 0;
	f->rate_delivered = 0;
	f->rate_interval_us = 0;
	f->number++;
	f->report_ns = now;
	if (!f->waiting_since_ns)
		f->waiting_since_ns = now;
	f->cwnd = tp->snd_cwnd;
	f->srtt_us = tp->srtt_us >> 3;
	f->min_rtt_us = rtt_min == ~0U ? 0 : rtt_min; // no sample yet
	f->acked_bytes = tp->bytes_acked - f->acked_first;
	f->state = state;
}

// Sends one report; returns whether the ring had room for it. Only ACKs do not wake the decider.
static __noinline int send_one(struct tcp_sock *tp, struct flow *f, __u64 now, __u32 kind, __u32 state)
{
	struct totals *t = get_totals();
	struct report *r = bpf_ringbuf_reserve(&reports, sizeof(*r), 0);

	if (!r) {
		if (t)
			__sync_fetch_and_add(&t->lost, 1);
		return 0;
	}
	if (t)
		__sync_fetch_and_add(&t->reports, 1);
	fill_report(r, tp, f, now);
	r->slot = (__u32)tp->inet_conn.icsk_ca_priv[0];
	r->kind = kind;
	r->state = state;
	r->idle_ns = kind == KIND_IDLE ? f->idle_ns : 0;
	bpf_ringbuf_submit(r, kind == KIND_ACKS ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	begin_sums(tp, f, now, state);
	return 1;
}

// Reports an event for which the ring had no room, if there was one; returns whether none is left.
static __noinline int send_missed(struct tcp_sock *tp, struct flow *f, __u64 now, __u32 kind)
{
	if (!(f->missed & 1u << kind))
		return 1;
	if (!send_one(tp, f, now, kind, state_of(tp)))
		return 0;
	f->missed &= ~(1u << kind);
	f->hold = f->number;
	return 1;
}

// Sends a report, after those of events for which the ring had no room: the decider must know of each event, whereas
// the sums of ACKs are part of the next report. Decisions on earlier reports do not set the window after an event.
static __always_inline void send_report(struct tcp_sock *tp, struct flow *f, __u64 now, __u32 kind, __u32 state)
{
	bool event = kind == KIND_STATE || kind == KIND_UNDO || kind == KIND_IDLE;

	if (f->missed && (!send_missed(tp, f, now, KIND_UNDO) || !send_missed(tp, f, now, KIND_STATE) ||
			  !send_missed(tp, f, now, KIND_IDLE))) {
		if (event)
			f->missed |= 1u << kind;
		return;
	}
	if (!send_one(tp, f, now, kind, state) && event) {
		f->missed |= 1u << kind;
		f->hold = f->number + 1;
	}
}

// The bucket of a latency. Buckets are sixteenths of an octave in units of 256 ns: 0-15 linear, then (octave, part).
static __always_inline __u32 bucket(__u64 ns)
{
	__u64 x = ns >> 8;
	__u32 top = 0;

	if (x < 16)
		return x;
	if (x >> 16) {
		x = x >> 32 ? 0xffffffff : x;
		top += 16;
	}
	if ((x >> top) >> 8)
		top += 8;
	if ((x >> top) >> 4)
		top += 4;
	if ((x >> top) >> 2)
		top += 2;
	if ((x >> top) >> 1)
		top += 1;
	__u32 b = (top - 3) * 16 + ((x >> (top - 4)) & 15);
	return b < BUCKETS ? b : BUCKETS - 1;
}

#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))

// Orders preceding loads before following loads, also on arm64. Atomic operations that return a value are fully ordered
// (the kernel's Documentation/atomic_t.txt; the JIT of arm64 compiles an exchange to SWPAL). BPF_LOAD_ACQ (Linux 6.15)
// would suffice and needs clang 21.
static __always_inline void full_barrier(void)
{
	__u64 scratch = 0;

	asm volatile("" : : "r"(__sync_lock_test_and_set(&scratch, 1)) : "memory");
}

// Reads and stores a new decision; returns whether there was one. The process writes `begun`, the decision and `number`
// in this order: a sequence lock whose reader does not wait.
static __always_inline bool read_decision(struct flow *f, __u32 slot, __u64 now)
{
	struct decision *d = bpf_map_lookup_elem(&decisions, &slot);

	if (!d)
		return 0;
	__u32 number = READ_ONCE(d->number);
	if (number == f->decided)
		return 0;
	full_barrier(); // the fields read next are at least as new as `number`
	__u32 generation = READ_ONCE(d->generation);
	__u32 cwnd = READ_ONCE(d->cwnd);
	__u32 ssthresh = READ_ONCE(d->ssthresh);
	__u64 pacing = READ_ONCE(d->pacing_Bps);
	__u64 report_ns = READ_ONCE(d->report_ns);
	full_barrier(); // orders the fields before `begun`, which shows whether the next decision is being written
	if (generation != f->generation)
		return 0;
	if (READ_ONCE(d->begun) != number || (__s32)(number - f->number) > 0)
		return 0; // partly written: read again at the next ACK
	f->window = cwnd;
	f->ssthresh = ssthresh;
	f->pacing_Bps = pacing;
	f->decided = number;
	// Reports without a decision are younger than the report of this decision. Of their times, only that of the
	// last report is known.
	f->waiting_since_ns = number == f->number ? 0 : number + 1 == f->number ? f->report_ns : report_ns;
	f->fallback = 0;
	struct totals *t = get_totals();
	if (t && now > report_ns) {
		if (number == f->number && !f->acks)
			__sync_fetch_and_add(&t->applied_at_next, 1);
		__u32 b = bucket(now - report_ns);
		if (b < BUCKETS)
			__sync_fetch_and_add(&t->latency[b], 1);
		if (now - report_ns > t->applied_max_ns)
			t->applied_max_ns = now - report_ns;
	}
	return 1;
}

// Activates Reno until a decision arrives, if the oldest report without a decision has timed out.
static __always_inline void check_watchdog(const struct tcp_sock *tp, struct flow *f, __u64 now)
{
	__u64 timeout = (__u64)(tp->srtt_us >> 1) * 1000; // 4 srtt: the unit of srtt_us is 1/8 us
	timeout = timeout > WATCHDOG_NS ? timeout : WATCHDOG_NS;
	if (!f->fallback && f->waiting_since_ns && now > f->waiting_since_ns + timeout) {
		struct totals *t = get_totals();
		f->fallback = 1;
		f->fallbacks++;
		if (t)
			__sync_fetch_and_add(&t->fallbacks, 1);
	}
}

// Whether the last decision controls the window: it is not older than the last event that changed the window.
static __always_inline bool decision_applies(const struct flow *f)
{
	return !f->fallback && f->decided && (__s32)(f->decided - f->hold) >= 0;
}

// tcp_cwnd_reduction: proportional rate reduction of RFC 6937, with the slow-start reduction bound for a safe ACK.
static __always_inline void reduce_cwnd(struct tcp_sock *tp, struct flow *f, __u32 delivered, __u32 lost, int flag)
{
	__u32 pipe = in_flight(tp), ssthresh = tp->snd_ssthresh, out = tp->prr_out;
	__s32 allowed;

	if (!delivered || !f->prior_cwnd)
		return;
	f->prr_delivered += delivered;
	if (pipe > ssthresh) {
		__u64 share = (__u64)ssthresh * f->prr_delivered + f->prior_cwnd - 1;
		allowed = (__s32)(share / f->prior_cwnd) - (__s32)out;
	} else {
		__s32 room = ssthresh - pipe;
		allowed = (__s32)(f->prr_delivered - out);
		if (allowed < (__s32)delivered)
			allowed = delivered;
		if ((flag & FLAG_SND_UNA_ADVANCED) && !lost)
			allowed++;
		if (allowed > room)
			allowed = room;
	}
	if (allowed < (out ? 0 : 1))
		allowed = out ? 0 : 1;
	set_window(tp, pipe + allowed);
}

// Sets the algorithm's rate, or that of tcp_update_pacing_rate: the window per RTT, times 2 in slow start and 1.2 else.
static __always_inline void set_pacing_rate(struct sock *sk, struct tcp_sock *tp, __u64 rate)
{
	__u64 max_rate = sk->sk_max_pacing_rate;

	if (rate) {
		if (sk->sk_pacing_status == SK_PACING_NONE)
			sk->sk_pacing_status = SK_PACING_NEEDED;
	} else {
		__u32 window = tp->snd_cwnd > tp->packets_out ? tp->snd_cwnd : tp->packets_out;
		rate = (__u64)tp->mss_cache * 80000 * (tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120) * window;
		if (tp->srtt_us)
			rate /= tp->srtt_us;
	}
	sk->sk_pacing_rate = rate > max_rate ? max_rate : rate;
}

// Applies the last decision. While the kernel reduces the window (PRR), only the threshold and the pacing rate apply.
static __always_inline void apply_decision(struct sock *sk, struct tcp_sock *tp, struct flow *f, __u32 state)
{
	if (decision_applies(f)) {
		bool prr = is_reducing(state) && !settings.model_based;
		if (f->ssthresh)
			tp->snd_ssthresh = f->ssthresh;
		if (!prr)
			set_window(tp, f->window);
		set_pacing_rate(sk, tp, f->pacing_Bps);
	} else {
		set_pacing_rate(sk, tp, f->fallback ? 0 : f->pacing_Bps);
	}
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct totals *t = get_totals();
	__u32 slot = NO_SLOT;
	struct flow *f = (void *)0;

	tp->inet_conn.icsk_ca_priv[0] = NO_SLOT;
	// A socket that switches to this algorithm has the pacing rate and pacing status of the previous algorithm.
	if (sk->sk_pacing_status == SK_PACING_NEEDED && sk->sk_max_pacing_rate == ~0ul)
		sk->sk_pacing_status = SK_PACING_NONE;
	set_pacing_rate(sk, tp, 0);
	if (!bpf_map_pop_elem(&free_slots, &slot))
		f = bpf_map_lookup_elem(&flows, &slot);
	if (!f) {
		if (t)
			__sync_fetch_and_add(&t->refused, 1);
		return;
	}
	__u32 generation = f->generation == ~0u ? 1 : f->generation + 1;
	__builtin_memset(f, 0, sizeof(*f));
	f->used = 1;
	f->generation = generation;
	f->window = tp->snd_cwnd;
	f->prior_cwnd = tp->snd_cwnd;
	f->lost_seen = tp->lost;
	f->ce_seen = tp->delivered_ce;
	f->sent_seen = tp->data_segs_out;
	f->delivered_first = tp->delivered;
	f->round_end = tp->snd_nxt;
	f->acked_first = tp->bytes_acked;
	if (sk->__sk_common.skc_family == AF_INET6) {
		for (int word = 0; word < 4; word++)
			f->address[word] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[word];
	} else { // an IPv4-mapped address (RFC 4291, section 2.5.5.2)
		f->address[2] = __builtin_bswap32(0xffff);
		f->address[3] = sk->__sk_common.skc_daddr;
	}
	f->local_port = sk->__sk_common.skc_num;
	f->remote_port = sk->__sk_common.skc_dport;
	tp->inet_conn.icsk_ca_priv[0] = slot | (__u64)generation << 32;
	if (t)
		__sync_fetch_and_add(&t->connections, 1);
	send_report(tp, f, bpf_ktime_get_ns(), KIND_OPEN, state_of(tp));
}

SEC("struct_ops")
void BPF_PROG(release, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 slot;
	struct flow *f = find_flow(tp, &slot);

	if (!f)
		return;
	send_report(tp, f, bpf_ktime_get_ns(), KIND_CLOSE, state_of(tp));
	tp->inet_conn.icsk_ca_priv[0] = NO_SLOT;
	f->used = 0;
	bpf_map_push_elem(&free_slots, &slot, 0);
}

SEC("struct_ops")
void BPF_PROG(in_ack_event, struct sock *sk, __u32 flags)
{
	__u32 slot;
	struct flow *f = find_flow(tcp_sk(sk), &slot);

	if (f)
		f->ece = flags & CA_ACK_ECE;
}

// A congestion event, at most one per window. The kernel needs a value immediately: half of the window until the
// decision arrives, which is well before PRR depends on it. The report is sent with the following change of state.
SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 slot, half = tp->snd_cwnd / 2;
	struct flow *f = find_flow(tp, &slot);

	if (f) {
		f->flags |= FLAG_CONGESTION;
		f->prior_cwnd = tp->snd_cwnd;
		f->prr_delivered = 0;
	}
	// Without a slot the connection has Reno. A timeout of the handshake, before `init`, is no event for a model.
	if (settings.model_based && (f ? !f->fallback : !tp->inet_conn.icsk_ca_priv[0]))
		return tp->snd_ssthresh;
	return half < 2 ? 2 : half;
}

// Called before the state changes: `state` is the new state.
SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 slot, old = state_of(tp);
	struct flow *f = find_flow(tp, &slot);
	bool ends = is_reducing(old) && state < CWR;

	if (!f) {
		if (ends && tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
			set_window(tp, tp->snd_ssthresh);
		return;
	}
	if (old == state && !(f->flags & FLAG_CONGESTION) && state != LOSS)
		return;
	// tcp_end_cwnd_reduction
	if (ends && (!settings.model_based || f->fallback) && tp->snd_ssthresh < TCP_INFINITE_SSTHRESH &&
	    (old == CWR || tp->undo_marker))
		set_window(tp, tp->snd_ssthresh);
	__u64 now = bpf_ktime_get_ns();
	send_report(tp, f, now, KIND_STATE, state);
	if (state >= CWR && !f->missed)
		f->hold = f->number;
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 slot, cwnd = tp->snd_cwnd;
	struct flow *f = find_flow(tp, &slot);

	if (!f)
		return cwnd;
	if ((f->missed & 1u << KIND_STATE) && (f->flags & FLAG_CONGESTION)) {
		f->flags &= ~FLAG_CONGESTION; // the decider does not know of the reduction
	} else {
		send_report(tp, f, bpf_ktime_get_ns(), KIND_UNDO, state_of(tp));
		if (!f->missed)
			f->hold = f->number;
	}
	if (settings.model_based && !f->fallback)
		return cwnd;
	return cwnd > f->prior_cwnd ? cwnd : f->prior_cwnd;
}

// tcp_slow_start_after_idle_check and tcp_cwnd_restart, which the kernel does not call for a `cong_control`.
SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, __u32 event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 slot, rto = tp->inet_conn.icsk_rto, cwnd = tp->snd_cwnd;

	if (event != CA_EVENT_TX_START || tp->packets_out)
		return;
	struct flow *f = find_flow(tp, &slot);
	if (!f || tp->delivered == f->delivered_first)
		return;
	__u64 now = bpf_ktime_get_ns();
	// With nothing in flight, the kernel's rate sample begins at the transmission of the last segment
	// (tcp_rate_skb_delivered). `lsndtime` has the resolution of jiffies.
	f->idle_ns = now - tp->first_tx_mstamp * 1000;
	if (settings.model_based && !f->fallback) {
		send_report(tp, f, now, KIND_IDLE, state_of(tp));
		return;
	}
	struct net *net = sk->__sk_common.skc_net.net;
	if (!net || !net->ipv4.sysctl_tcp_slow_start_after_idle)
		return;
	__s32 idle = (__u32)bpf_jiffies64() - tp->lsndtime;
	if (idle <= (__s32)rto)
		return;
	__u32 restart = cwnd < 10 ? cwnd : 10, three_quarters = (cwnd >> 1) + (cwnd >> 2);
	if (!is_reducing(state_of(tp)) && tp->snd_ssthresh < three_quarters)
		tp->snd_ssthresh = three_quarters; // tcp_current_ssthresh
	__s32 left = idle;
	for (int i = 0; i < 32; i++) {
		left -= rto;
		if (left <= 0 || cwnd <= restart)
			break;
		cwnd >>= 1;
	}
	set_window(tp, cwnd > restart ? cwnd : restart);
	send_report(tp, f, now, KIND_IDLE, state_of(tp));
	if (!f->missed)
		f->hold = f->number;
}

// Adds an ACK to the sums of the next report.
static __always_inline void accumulate(struct tcp_sock *tp, struct flow *f, const struct rate_sample *rs, int flag,
				       __u64 now)
{
	if (!f->acks) {
		f->first_ns = now;
		f->prior_in_flight = rs->prior_in_flight;
	}
	f->acks++;
	f->acked += rs->acked_sacked;
	if (rs->rtt_us > 0)
		f->rtt_us = rs->rtt_us;
	if (rs->interval_us > 0 && rs->delivered > 0) {
		f->rate_delivered = rs->delivered;
		f->rate_interval_us = rs->interval_us;
		f->rate_prior_delivered = rs->prior_delivered;
		f->flags = rs->is_app_limited ? f->flags | FLAG_RATE_APP_LIMITED : f->flags & ~FLAG_RATE_APP_LIMITED;
	}
	if (flag & FLAG_SND_UNA_ADVANCED)
		f->flags |= FLAG_ADVANCED;
	if (is_cwnd_limited(tp))
		f->flags |= FLAG_CWND_LIMITED;
}

// In slow start each ACK is reported: with one decision per round, the growth of a round would be sent in one burst.
static __always_inline bool is_due(const struct tcp_sock *tp, struct flow *f, __u64 now)
{
	bool round = (__s32)(tp->snd_una - f->round_end) > 0;

	if (round)
		f->round_end = tp->snd_nxt;
	if (settings.when == PER_RTT)
		return round || tp->snd_cwnd < tp->snd_ssthresh;
	if (settings.when == PER_TIME)
		return now - f->report_ns >= settings.every_ns;
	return 1;
}

SEC("struct_ops")
void BPF_PROG(cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 slot, state = state_of(tp);
	struct flow *f = find_flow(tp, &slot);

	if (!f) { // the connection has no slot
		if (!is_reducing(state) && (flag & FLAG_DATA_ACKED))
			tcp_reno_cong_avoid(sk, ack, rs->acked_sacked);
		set_pacing_rate(sk, tp, 0);
		return;
	}
	__u64 now = bpf_ktime_get_ns();
	read_decision(f, slot, now);
	if (rs->acked_sacked)
		accumulate(tp, f, rs, flag, now);
	check_watchdog(tp, f, now);
	apply_decision(sk, tp, f, state);
	if (is_reducing(state) && (!settings.model_based || f->fallback))
		reduce_cwnd(tp, f, rs->acked_sacked, rs->losses, flag);
	else if (f->fallback && (flag & FLAG_DATA_ACKED))
		tcp_reno_cong_avoid(sk, ack, rs->acked_sacked);
	f->cwnd = tp->snd_cwnd;
	if (f->acks && is_due(tp, f, now))
		send_report(tp, f, now, KIND_ACKS, state);
}

// Called before each transmission (tcp_tso_autosize): a decision that arrived after the last ACK applies to it. Returns
// the kernel's default.
SEC("struct_ops")
__u32 BPF_PROG(min_tso_segs, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct net *net = sk->__sk_common.skc_net.net;
	__u32 slot;
	struct flow *f = find_flow(tp, &slot);

	if (f && read_decision(f, slot, bpf_ktime_get_ns())) {
		apply_decision(sk, tp, f, state_of(tp));
		f->cwnd = tp->snd_cwnd;
	}
	return net ? net->ipv4.sysctl_tcp_min_tso_segs : 2;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ops = {
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.in_ack_event = (void *)in_ack_event,
	.cong_control = (void *)cong_control,
	.undo_cwnd = (void *)undo_cwnd,
	.min_tso_segs = (void *)min_tso_segs,
	.init = (void *)init,
	.release = (void *)release,
	.name = "cwndlab_unnamed",
	.flags = TCP_CONG_NON_RESTRICTED,
};
