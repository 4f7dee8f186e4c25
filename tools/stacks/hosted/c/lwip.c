/* lwIP of Debian (liblwip-dev) as a hosted stack: docs/host.md. Its datagrams are IPv4 packets with TCP segments. It asks
 * `sys_now` and `rand` for time and random numbers, which the program answers; its time has milliseconds. Its windows are
 * Debian's: 64 kB, without scaling of more.
 *
 * Controller: reno. Without options. */

#include "cwndlab_stack.h"

#include <lwip/init.h>
#include <lwip/ip.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/tcp.h>
#include <lwip/timeouts.h>
#include <string.h>

#define PORT 1
#define MILLISECOND 1000000u
/* Bytes that are written at once. */
#define CHUNK 8192

static bool is_sender, is_open, is_connected, is_finishing, is_closed, is_done;
static uint16_t max_datagram;
static uint64_t to_write, delivered, retransmitted, retransmitted_bytes;
static uint32_t highest;
static bool has_sent;
static FILE *capture;
static struct netif interface;
/* The segment whose round trip is measured: its end and its time of sending. */
static bool is_timed;
static uint32_t timed_end;
static uint64_t timed_at;
static struct tcp_pcb *connection;

u32_t sys_now(void) { return (u32_t)(stack_now() / MILLISECOND); }

static uint32_t sequence_at(const uint8_t *field) {
    return (uint32_t)field[0] << 24 | (uint32_t)field[1] << 16 | (uint32_t)field[2] << 8 | field[3];
}

/* Counts what is sent again, which lwIP does not, and times a segment at a time, none that is sent again (RFC 6298,
 * section 3): lwIP measures in ticks of half a second. */
static void observe(const uint8_t *packet, size_t length) {
    size_t header = (packet[0] & 15u) * 4, data = length - header - (packet[header + 12] >> 4) * 4u;
    uint32_t first = sequence_at(packet + header + 4);
    if (data == 0) {
        return;
    }
    if (has_sent && (int32_t)(highest - first) > 0) {
        retransmitted++;
        retransmitted_bytes += data;
        is_timed = false;
    } else {
        highest = first + (uint32_t)data;
        has_sent = true;
        if (!is_timed) {
            is_timed = true;
            timed_end = highest;
            timed_at = stack_now();
        }
    }
}

static err_t output(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to) {
    static uint8_t bytes[UINT16_MAX];
    (void)netif, (void)to;
    u16_t length = pbuf_copy_partial(packet, bytes, sizeof bytes, 0);
    observe(bytes, length);
    stack_capture(capture, bytes, length);
    answer_send(0, bytes, length);
    return ERR_OK;
}

static err_t prepare(struct netif *netif) {
    netif->name[0] = 'c';
    netif->name[1] = 'w';
    netif->mtu = max_datagram;
    netif->output = output;
    return ERR_OK;
}

static err_t receive(void *context, struct tcp_pcb *pcb, struct pbuf *data, err_t error) {
    (void)context, (void)error;
    if (data == NULL) {
        return tcp_close(pcb); /* the sender has finished */
    }
    delivered += data->tot_len;
    tcp_recved(pcb, data->tot_len);
    pbuf_free(data);
    return ERR_OK;
}

static void fail(void *context, err_t error) {
    (void)context;
    connection = NULL;
    if (is_sender && !is_done) {
        answer_failure("the connection ended with lwIP's error %d", error);
    }
}

static err_t accept(void *context, struct tcp_pcb *pcb, err_t error) {
    (void)context;
    if (error == ERR_OK) {
        connection = pcb;
        tcp_recv(pcb, receive);
        tcp_err(pcb, fail);
    }
    return error;
}

static err_t connected(void *context, struct tcp_pcb *pcb, err_t error) {
    (void)context, (void)pcb;
    is_connected = true;
    return error;
}

void stack_start(const struct stack_start *start) {
    static const char *const options[] = {NULL};
    ip4_addr_t own, mask, none;
    is_sender = start->is_sender;
    max_datagram = start->max_datagram;
    if (start->controller[0] != 0 && strcmp(start->controller, "reno") != 0) {
        answer_failure("no congestion control is called '%s': reno", start->controller);
        return;
    }
    if (!stack_knows_options(start->options, options)) {
        return;
    }
    lwip_init();
    IP4_ADDR(&own, 192, 0, 2, is_sender ? 1 : 2);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    ip4_addr_set_zero(&none);
    netif_add(&interface, &own, &mask, &none, NULL, prepare, ip_input);
    netif_set_default(&interface);
    netif_set_up(&interface);
    netif_set_link_up(&interface);
    connection = tcp_new();
    if (!is_sender) {
        tcp_bind(connection, IP_ADDR_ANY, PORT);
        connection = tcp_listen(connection);
        tcp_accept(connection, accept);
        connection = NULL;
    }
    capture = stack_log(start, "lwip", "pcap");
    answer_ready("lwip " LWIP_VERSION_STRING, "reno");
}

/* Everything that is due happens in the answer. */
void stack_timer(uint64_t now) { (void)now; }

/* lwIP does not use ECN. */
void stack_datagram(uint64_t now, uint8_t ecn, const uint8_t *payload, size_t length) {
    (void)ecn;
    struct pbuf *packet = pbuf_alloc(PBUF_LINK, (u16_t)length, PBUF_RAM);
    stack_capture(capture, payload, length);
    pbuf_take(packet, payload, (u16_t)length);
    if (interface.input(packet, &interface) != ERR_OK) {
        pbuf_free(packet);
    }
    if (is_timed && connection != NULL && (int32_t)(connection->lastack - timed_end) >= 0) {
        is_timed = false;
        answer_value(VALUE_RTT, now - timed_at);
    }
}

void stack_write(uint64_t bytes) { to_write = bytes == ENDLESS || to_write + bytes < to_write ? ENDLESS : to_write + bytes; }

void stack_pause(void) {
    if (to_write == ENDLESS) {
        to_write = 0;
    }
}

void stack_finish(void) {
    is_finishing = true;
    stack_pause();
}

static void report(void) {
    if (!is_connected || connection == NULL) {
        return;
    }
    answer_value(VALUE_CWND, connection->cwnd);
    answer_value(VALUE_SSTHRESH, connection->ssthresh);
    answer_value(VALUE_IN_FLIGHT, (u32_t)(connection->snd_nxt - connection->lastack));
    answer_value(VALUE_LOST_PACKETS, retransmitted);
    answer_value(VALUE_LOST_BYTES, retransmitted_bytes);
}

static void open_and_write(void) {
    static const uint8_t data[CHUNK];
    if (!is_open && (to_write > 0 || is_finishing)) {
        ip_addr_t peer;
        IP_ADDR4(&peer, 192, 0, 2, 2);
        is_open = true;
        tcp_err(connection, fail);
        tcp_recv(connection, receive);
        tcp_connect(connection, &peer, PORT, connected);
    }
    while (is_connected && to_write > 0 && tcp_sndbuf(connection) > 0) {
        uint64_t size = to_write < CHUNK ? to_write : CHUNK;
        size = size < tcp_sndbuf(connection) ? size : tcp_sndbuf(connection);
        if (tcp_write(connection, data, (u16_t)size, 0) != ERR_OK) {
            break;
        }
        to_write -= to_write == ENDLESS ? 0 : size;
    }
    if (is_connected && is_finishing && to_write == 0 && !is_closed) {
        is_closed = tcp_shutdown(connection, 0, 1) == ERR_OK;
    }
    if (is_connected) {
        tcp_output(connection);
    }
    if (is_closed && connection->unacked == NULL && connection->unsent == NULL) {
        report();
        is_done = true;
        connection = NULL; /* lwIP frees it at the end of TIME-WAIT, and tells nobody */
    }
}

void stack_answer(uint64_t now) {
    sys_check_timeouts();
    if (is_sender && connection != NULL) {
        open_and_write();
    }
    u32_t sleep = sys_timeouts_sleeptime();
    if (sleep != SYS_TIMEOUTS_SLEEPTIME_INFINITE) {
        /* The clock shows whole milliseconds. */
        uint64_t due = (now / MILLISECOND + sleep) * MILLISECOND;
        answer_next(due > now ? due : (now / MILLISECOND + 1) * MILLISECOND);
    }
    answer_delivered(delivered);
    report();
    if (is_done) {
        answer_done();
    }
}
