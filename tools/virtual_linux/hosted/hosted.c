// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/*
 * A host whose clock and network are a simulator: docs/host.md has the protocol, docs/linux.md the design.
 *
 * User-mode Linux with time-travel=inf-cpu lets time jump to the next event when it is idle. With hosted=... it first
 * asks the simulator, over two pipes: the answer to the last call goes out, with all packets that were sent and the
 * time of the next event, and the next call says what time it is and what arrived. One process opens /dev/hosted, which
 * starts the application, a kernel thread with one TCP connection after another.
 */
#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/fs.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mount.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/utsname.h>
#include <linux/wait.h>
#include <net/ip.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <init.h>
#include <os.h>
#include <linux/time-internal.h>
/* Its place from Linux 6.12 on, and before. */
#if __has_include(<linux/unaligned.h>)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

enum { CALL_NOW = 2, CALL_TIMER, CALL_DATAGRAM, CALL_WRITE, CALL_FINISH, CALL_PAUSE };
enum { ANSWER_READY = 17, ANSWER_SEND, ANSWER_NEXT, ANSWER_DELIVERED, ANSWER_VALUE, ANSWER_DONE, ANSWER_FAILURE };
enum {
	VALUE_CWND = 1, VALUE_SSTHRESH, VALUE_IN_FLIGHT, VALUE_SRTT, VALUE_RTT, VALUE_PACING, VALUE_LOST, VALUE_EVENTS,
	VALUE_LOST_BYTES, VALUE_TIMEOUTS, VALUE_MIN_RTT, VALUE_LOSS_PROBES, VALUES
};

/* What the answer to a call may grow to, and a call, bytes. */
#define MAX_ANSWER (16 << 20)
#define MAX_CALL (1 << 20)
/* What the application writes at once, bytes. */
#define CHUNK (1 << 14)
#define ENDLESS U64_MAX
/* Before the name of a setting on the command line. */
#define SETTING "hosted.sysctl."

/* The header of TCP without its ports, checksum and urgent pointer; these eight bytes and the 20 of IP are the 28 that
 * the simulator adds to each datagram. The number of the connection, of which its port follows, is in the six bits beside
 * ECN, modulo 64. */
#define PORTS 4
#define KEPT 12
#define HEADERS 28
#define ADDRESS(receiver) (0x0a000001 + (receiver))
#define LISTENER 5001
#define CLIENT(connection) (5000 + (connection))
#define SLOTS 64
#define MOST_CONNECTIONS 50000

static int in = -1, out;
static bool is_receiver;
static unsigned int mtu;
static char controller[TCP_CA_NAME_MAX];
static u64 random_state;

static u8 answer[MAX_ANSWER], call[MAX_CALL];
static size_t answer_length = 4, call_length;
/* The call is answered once the application is ready, and no more once the simulator has closed the pipe. */
static bool is_ready, is_closed;
/* Our time at the simulator's zero, and the time until which ours may go without a question. */
static u64 zero, granted;
static bool has_zero;

static struct net_device *device;
static struct sk_buff_head arrived;
static struct time_travel_event arrival;
static DECLARE_WAIT_QUEUE_HEAD(orders);
static DECLARE_WAIT_QUEUE_HEAD(ends);
static DECLARE_COMPLETION(closed);

/* What the application is to write, and has written, over all connections. A WRITE after FINISH opens another one. */
static u64 ordered, written;
static bool is_finished, is_done;
static unsigned int wanted_connections;
/* The number of the newest connection, and its socket. */
static unsigned int newest;
static struct sock *connection;
/* Of the closed connections. */
static u64 closed_lost, closed_lost_bytes;
static u64 reported[VALUES], received, delivered;
static u64 last_rtt_mstamp, min_rtt = U64_MAX;

/* Everything random in the kernel comes from here: the same seed gives the same run. Without the option, from the
 * machine. The kernel's program finds this function before that of the C library. */
extern long syscall(long number, ...);
ssize_t getrandom(void *buffer, size_t length, unsigned int flags);
ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	u8 *bytes = buffer;
	size_t at;

	if (in < 0)
		return syscall(318, buffer, length, flags);
	for (at = 0; at < length; at++) {
		/* SplitMix64 (Steele, Lea, Flood 2014). */
		u64 z = random_state += 0x9e3779b97f4a7c15ULL;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		bytes[at] = z ^ (z >> 31);
	}
	return length;
}

static void put_bytes(const void *bytes, size_t length)
{
	if (answer_length + length > MAX_ANSWER)
		panic("hosted: an answer of more than %d bytes\n", MAX_ANSWER);
	memcpy(answer + answer_length, bytes, length);
	answer_length += length;
}

static void put_number(u8 kind, u64 number)
{
	u8 item[9] = { kind };

	put_unaligned_le64(number, item + 1);
	put_bytes(item, sizeof(item));
}

static void put_text(const char *text)
{
	u8 length[2];

	put_unaligned_le16(strlen(text), length);
	put_bytes(length, sizeof(length));
	put_bytes(text, strlen(text));
}

static void put_value(u8 code, u64 number)
{
	u8 item[10] = { ANSWER_VALUE, code };

	if (reported[code] == number)
		return;
	reported[code] = number;
	put_unaligned_le64(number, item + 2);
	put_bytes(item, sizeof(item));
}

static void fail(const char *what, int error)
{
	char text[128];
	u8 kind = ANSWER_FAILURE;

	snprintf(text, sizeof(text), "%s (error %d)", what, -error);
	put_bytes(&kind, 1);
	put_text(text);
	is_ready = true;
}

static u64 counter(int field)
{
	return snmp_fold_field(init_net.mib.net_statistics, field);
}

/* What the connection says about itself. */
static void report_connection(void)
{
	const struct tcp_sock *tp;
	u64 mss;

	if (is_receiver) {
		if (received != delivered) {
			delivered = received;
			put_number(ANSWER_DELIVERED, delivered);
		}
		return;
	}
	if (!connection)
		return;
	tp = tcp_sk(connection);
	mss = tp->mss_cache;
	put_value(VALUE_CWND, tcp_snd_cwnd(tp) * mss);
	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		put_value(VALUE_SSTHRESH, tp->snd_ssthresh * mss);
	put_value(VALUE_IN_FLIGHT, tcp_packets_in_flight(tp) * mss);
	if (tp->srtt_us)
		put_value(VALUE_SRTT, (u64)(tp->srtt_us >> 3) * 1000);
	if (tp->rack.mstamp != last_rtt_mstamp) {
		last_rtt_mstamp = tp->rack.mstamp;
		reported[VALUE_RTT] = 0;
		put_value(VALUE_RTT, (u64)tp->rack.rtt_us * 1000);
	}
	if (tcp_min_rtt(tp) != ~0U)
		min_rtt = min_t(u64, min_rtt, tcp_min_rtt(tp));
	if (min_rtt != U64_MAX)
		put_value(VALUE_MIN_RTT, min_rtt * 1000);
	if (connection->sk_pacing_rate != ~0UL)
		put_value(VALUE_PACING, connection->sk_pacing_rate * 8);
	put_value(VALUE_LOST, closed_lost + tp->total_retrans);
	put_value(VALUE_LOST_BYTES, closed_lost_bytes + tp->bytes_retrans);
	put_value(VALUE_EVENTS, counter(LINUX_MIB_TCPRENORECOVERY) + counter(LINUX_MIB_TCPSACKRECOVERY));
	/* Those of data. */
	put_value(VALUE_TIMEOUTS, counter(LINUX_MIB_TCPTIMEOUTS) - counter(LINUX_MIB_TCPSYNRETRANS));
	put_value(VALUE_LOSS_PROBES, counter(LINUX_MIB_TCPLOSSPROBES));
	if (is_finished && !is_done && written >= ordered && newest + 1 == wanted_connections &&
	    tp->snd_una == tp->write_seq) {
		u8 kind = ANSWER_DONE;

		is_done = true;
		put_bytes(&kind, 1);
	}
}

static void write_answer(void)
{
	size_t at = 0;

	put_unaligned_le32(answer_length - 4, answer);
	while (at < answer_length) {
		int count = os_write_file(out, answer + at, answer_length - at);

		if (count == -EINTR)
			continue;
		if (count <= 0) {
			is_closed = true;
			break;
		}
		at += count;
	}
	answer_length = 4;
}

/* Reads until `count` bytes of the call are there; false at the end of the pipe. */
static bool read_until(size_t count)
{
	if (count > MAX_CALL)
		panic("hosted: a call of %zu bytes\n", count);
	while (call_length < count) {
		int more = os_read_file(in, call + call_length, MAX_CALL - call_length);

		if (more == -EINTR)
			continue;
		if (more <= 0)
			return false;
		call_length += more;
	}
	return true;
}

/* The connection of a packet: the sender knows the newest one, the receiver may see its successor. */
static unsigned int connection_of(u8 slot)
{
	unsigned int latest = newest + is_receiver;

	return latest - ((latest - slot) & (SLOTS - 1));
}

static void packet_arrives(u8 tos, const u8 *payload, size_t length)
{
	unsigned int number = connection_of(tos >> 2);
	size_t total = length + HEADERS;
	struct sk_buff *skb = netdev_alloc_skb(device, total);
	struct iphdr *ip;
	u8 *tcp;

	if (length < KEPT + 0UL)
		panic("hosted: a datagram of %zu bytes is no segment\n", length);
	if (!skb)
		return;
	ip = skb_put_zero(skb, total);
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = tos & 3;
	ip->tot_len = htons(total);
	ip->ttl = 64;
	ip->protocol = IPPROTO_TCP;
	ip->saddr = htonl(ADDRESS(!is_receiver));
	ip->daddr = htonl(ADDRESS(is_receiver));
	ip->check = ip_fast_csum(ip, ip->ihl);
	tcp = (u8 *)(ip + 1);
	if (is_receiver)
		newest = max(newest, number);
	put_unaligned_be16(is_receiver ? CLIENT(number) : LISTENER, tcp);
	put_unaligned_be16(is_receiver ? LISTENER : CLIENT(number), tcp + 2);
	memcpy(tcp + PORTS, payload, KEPT);
	memcpy(tcp + PORTS + KEPT + 4, payload + KEPT, length - KEPT);
	skb->protocol = htons(ETH_P_IP);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	__skb_queue_tail(&arrived, skb);
}

/* Reads a call; returns its time. */
static u64 read_call(void)
{
	u64 now = 0, more;
	u8 *at, *end;

	if (!read_until(4) || !read_until(4 + get_unaligned_le32(call))) {
		is_closed = true;
		return 0;
	}
	end = call + 4 + get_unaligned_le32(call);
	for (at = call + 4; at < end;) {
		size_t length;

		switch (*at++) {
		case CALL_NOW:
			now = get_unaligned_le64(at);
			at += 8;
			break;
		case CALL_TIMER:
			break;
		case CALL_DATAGRAM:
			length = get_unaligned_le16(at + 1);
			packet_arrives(*at, at + 3, length);
			at += 3 + length;
			break;
		case CALL_WRITE:
			more = get_unaligned_le64(at);
			if (is_finished || !wanted_connections)
				wanted_connections++;
			is_finished = is_done = false;
			ordered = more > ENDLESS - ordered ? ENDLESS : ordered + more;
			at += 8;
			break;
		case CALL_PAUSE:
		case CALL_FINISH:
			if (ordered == ENDLESS)
				ordered = written;
			is_finished = at[-1] == CALL_FINISH;
			break;
		default:
			panic("hosted: no item of a call has the kind %d\n", at[-1]);
		}
	}
	call_length -= end - call;
	memmove(call, end, call_length);
	return now;
}

/* What the last call brought, at its time. */
static void deliver(struct time_travel_event *event)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(&arrived))) {
		skb->dev = device;
		netif_rx(skb);
	}
	wake_up(&orders);
	if (is_closed)
		complete_all(&closed);
}

/*
 * The clock is to go from `present` to `until`. Asks the simulator, where the kernel is idle and the simulator has not
 * said that it is later already. Returns whether something comes first, which is an event then.
 */
bool hosted_wait(u64 present, u64 until, bool is_idle)
{
	u64 now;

	if (in < 0 || !is_idle || !is_ready || is_closed || until <= granted)
		return false;
	if (has_zero) {
		report_connection();
		if (until < S64_MAX)
			put_number(ANSWER_NEXT, until - zero);
	} else {
		/* The phase of the kernel's tick, 1 ms, is by seed. */
		u64 phase;

		getrandom(&phase, sizeof(phase), 0);
		zero = present + phase % NSEC_PER_MSEC;
		has_zero = true;
	}
	write_answer();
	now = read_call();
	granted = max(zero + now, present);
	arrival.fn = deliver;
	time_travel_add_event_rel(&arrival, granted - present);
	return granted < until;
}

static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *dev)
{
	const struct iphdr *ip = ip_hdr(skb);

	if (skb->protocol == htons(ETH_P_IP) && ip->protocol == IPPROTO_TCP && ip->ihl == 5) {
		const u8 *tcp = (const u8 *)ip + 20;
		u16 client = get_unaligned_be16(is_receiver ? tcp + 2 : tcp);
		size_t length = skb->len - HEADERS;
		u8 tos = (client - CLIENT(0)) << 2 | (ip->tos & 3);
		u8 item[4] = { ANSWER_SEND, tos, length & 255, length >> 8 };

		put_bytes(item, sizeof(item));
		if (answer_length + length > MAX_ANSWER)
			panic("hosted: an answer of more than %d bytes\n", MAX_ANSWER);
		skb_copy_bits(skb, 20 + PORTS, answer + answer_length, KEPT);
		skb_copy_bits(skb, 20 + PORTS + KEPT + 4, answer + answer_length + KEPT, length - KEPT);
		answer_length += length;
	}
	dev->stats.tx_packets++;
	consume_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops operations = { .ndo_start_xmit = transmit };

static void prepare_device(struct net_device *dev)
{
	dev->netdev_ops = &operations;
	dev->type = ARPHRD_NONE;
	dev->mtu = mtu;
	dev->max_mtu = 65535;
	dev->flags = IFF_NOARP | IFF_POINTOPOINT;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->features = dev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM;
}

static int start_device(void)
{
	struct ifreq request = { .ifr_name = "host0" };
	struct sockaddr_in *address = (struct sockaddr_in *)&request.ifr_addr;
	int error;

	device = alloc_netdev(0, "host0", NET_NAME_UNKNOWN, prepare_device);
	if (!device)
		return -ENOMEM;
	error = register_netdev(device);
	if (error)
		return error;
	rtnl_lock();
	error = dev_change_flags(device, device->flags | IFF_UP, NULL);
	rtnl_unlock();
	if (error)
		return error;
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(ADDRESS(is_receiver));
	error = devinet_ioctl(&init_net, SIOCSIFADDR, &request);
	if (error)
		return error;
	address->sin_addr.s_addr = htonl(0xffffff00);
	return devinet_ioctl(&init_net, SIOCSIFNETMASK, &request);
}

/* A socket with its port, and the congestion control. */
static int open_socket(u16 port, struct socket **sock)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(ADDRESS(is_receiver)),
	};
	/* As a program's: the timers of a kernel's own socket end when it is closed (tcp_close), so that a lost FIN would not
	 * be sent again. */
	int error = sock_create(AF_INET, SOCK_STREAM, IPPROTO_TCP, sock);

	if (!error)
		error = kernel_bind(*sock, (struct sockaddr *)&address, sizeof(address));
	if (error) {
		fail("no socket can be opened", error);
		return error;
	}
	if (*controller) {
		error = (*sock)->ops->setsockopt(*sock, SOL_TCP, TCP_CONGESTION, KERNEL_SOCKPTR(controller),
						 strlen(controller));
		if (error)
			fail("this kernel does not have the congestion control", error);
	}
	return error;
}

/* Writes over a connection until another one is wanted; a negative number is an error. */
static int write_data(struct socket *sock)
{
	static u8 zeros[CHUNK];
	struct sockaddr_in peer = {
		.sin_family = AF_INET,
		.sin_port = htons(LISTENER),
		.sin_addr.s_addr = htonl(ADDRESS(1)),
	};
	int count = kernel_connect(sock, (struct sockaddr *)&peer, sizeof(peer), 0);

	while (count >= 0) {
		struct msghdr message = {};
		struct kvec data = { .iov_base = zeros };

		wait_event_idle(orders, written < ordered);
		if (wanted_connections > newest + 1)
			return 0;
		data.iov_len = min_t(u64, CHUNK, ordered - written);
		count = kernel_sendmsg(sock, &message, &data, 1, data.iov_len);
		if (count > 0)
			written += count;
	}
	return count;
}

static void send_data(struct socket *sock)
{
	int error;

	wait_event_idle(orders, ordered);
	for (;;) {
		connection = sock->sk;
		error = write_data(sock);
		if (error < 0) {
			fail("the connection failed", error);
			return;
		}
		closed_lost += tcp_sk(connection)->total_retrans;
		closed_lost_bytes += tcp_sk(connection)->bytes_retrans;
		connection = NULL;
		last_rtt_mstamp = 0;
		sock_release(sock);
		if (++newest == MOST_CONNECTIONS) {
			fail("these are too many connections", -EADDRINUSE);
			return;
		}
		if (open_socket(CLIENT(newest), &sock))
			return;
	}
}

static int discard(read_descriptor_t *reader, struct sk_buff *skb, unsigned int offset, size_t length)
{
	received += length;
	return length;
}

/* Reads at once what has arrived, as an application does that has nothing else to do, but without a process: a switch
 * for each packet would take as much time as TCP does. */
static void read_data(struct sock *sk)
{
	read_descriptor_t reader = { .count = 1 };

	tcp_read_sock(sk, &reader, discard);
}

static void notice_end(struct sock *sk)
{
	wake_up(&ends);
}

/* Reads one connection after another, each until its sender closes it. */
static void receive_data(struct socket *listener)
{
	struct socket *sock;
	int error;

	while (!(error = kernel_accept(listener, &sock, 0))) {
		lock_sock(sock->sk);
		sock->sk->sk_data_ready = read_data;
		sock->sk->sk_state_change = notice_end;
		read_data(sock->sk);
		release_sock(sock->sk);
		wait_event_idle(ends, sock->sk->sk_shutdown & RCV_SHUTDOWN);
		sock_release(sock);
	}
	fail("accept failed", error);
}

/* A word of the command line. Those with the prefix are settings, which the kernel's own option `sysctl.` would set as
 * well, but where it cannot, it says so to a console only. */
static int apply_setting(char *name, char *value, const char *unused, void *proc)
{
	char path[96], what[96];
	struct file *file;
	ssize_t error;
	loff_t at = 0;

	if (!value || !str_has_prefix(name, SETTING))
		return 0;
	name += strlen(SETTING);
	snprintf(path, sizeof(path), "sys/%s", name);
	strreplace(path, '.', '/');
	file = file_open_root_mnt(proc, path, O_WRONLY, 0);
	error = PTR_ERR_OR_ZERO(file);
	if (!error) {
		error = kernel_write(file, value, strlen(value), &at);
		filp_close(file, NULL);
	}
	if (error >= 0)
		return 0;
	snprintf(what, sizeof(what), "this kernel does not take %s=%s", name, value);
	fail(what, error);
	return error;
}

/* Whether a setting could not be applied, which is reported then. */
static bool apply_settings(void)
{
	struct vfsmount *proc = kern_mount(get_fs_type("proc"));
	char *words = kstrdup(saved_command_line, GFP_KERNEL);

	if (IS_ERR(proc) || !words) {
		fail("the settings cannot be applied", -ENOMEM);
		return true;
	}
	parse_args("hosted", words, NULL, 0, -1, -1, proc, apply_setting);
	kfree(words);
	kern_unmount(proc);
	return is_ready;
}

/* The application. It says that it is ready before the first call, and then does as the calls say. */
static int application(void *unused)
{
	struct socket *sock;
	char release[sizeof(utsname()->release) + 6];
	u8 kind = ANSWER_READY;
	int error;

	if (apply_settings())
		return 0;
	error = start_device();
	if (error) {
		fail("the network does not start", error);
		return 0;
	}
	if (open_socket(is_receiver ? LISTENER : CLIENT(0), &sock))
		return 0;
	if (is_receiver) {
		error = kernel_listen(sock, 128);
		if (error) {
			fail("listen failed", error);
			return 0;
		}
	}
	snprintf(release, sizeof(release), "Linux %s", utsname()->release);
	put_bytes(&kind, 1);
	put_text(release);
	put_text(inet_csk(sock->sk)->icsk_ca_ops->name);
	is_ready = true;
	if (is_receiver)
		receive_data(sock);
	else
		send_data(sock);
	return 0;
}

/* Opened by the first process: starts the application, and returns when the simulator has closed the pipe. */
static int open_hosted(struct inode *inode, struct file *file)
{
	struct task_struct *thread;

	if (in < 0)
		return -ENODEV;
	thread = kthread_run(application, NULL, "application");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	wait_for_completion(&closed);
	return -ESHUTDOWN;
}

static const struct file_operations file_operations = { .owner = THIS_MODULE, .open = open_hosted };
static struct miscdevice misc = { .minor = 240, .name = "hosted", .fops = &file_operations };

static int __init start_hosted(void)
{
	if (in < 0)
		return 0;
	__skb_queue_head_init(&arrived);
	return misc_register(&misc);
}
late_initcall(start_hosted);

static int __init hosted_setup(char *text, int *add)
{
	unsigned int role;

	*add = 0;
	if (sscanf(text, "%d,%d,%u,%llu,%u,%15s", &in, &out, &role, &random_state, &mtu, controller) < 5)
		return 1;
	is_receiver = role;
	mtu += HEADERS;
	return 0;
}
__uml_setup("hosted=", hosted_setup,
"hosted=IN,OUT,ROLE,SEED,PAYLOAD[,CONTROLLER]\n"
"    The host is at the end of two pipes with a simulator: docs/host.md of cwndlab. Its settings are\n"
"    hosted.sysctl.NAME=VALUE.\n\n"
);
