/* ngtcp2 of Debian (libngtcp2-dev, libngtcp2-crypto-gnutls-dev) as a hosted stack: docs/host.md. Its time is an argument,
 * and random numbers come from a function of the adapter.
 *
 * Controllers: cubic (default), reno, bbr, bbr2. Options: `window=BYTES`, the flow control's; `datagram=BYTES`;
 * `acks=PACKETS`, after which the receiver acknowledges. */

#include "cwndlab_stack.h"

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PRIORITY "NORMAL:-VERS-ALL:+VERS-TLS1.3:+SIGN-EDDSA-ED25519:%DISABLE_TLS13_COMPAT_MODE"
/* Stacks take a time of zero for none. */
#define ORIGIN NGTCP2_SECONDS
/* The flow control's window by default, larger than any path of ours needs. */
#define WINDOW (1 << 24)
#define CHUNK 65536

static bool is_sender, is_finishing, is_finished, is_done, is_over;
static uint16_t max_datagram;
static uint64_t to_write, delivered, lost, last_rtt;
static int64_t stream = -1;
static const char *controller;
static ngtcp2_settings settings;
static ngtcp2_transport_params parameters;
static ngtcp2_callbacks callbacks;
static ngtcp2_conn *connection;
static ngtcp2_path_storage path;
static gnutls_session_t session;
static gnutls_certificate_credentials_t credentials;
static ngtcp2_crypto_conn_ref reference;
static const char *failure;
static FILE *qlog;

static void fill(uint8_t *to, size_t length, const ngtcp2_rand_ctx *context) {
    (void)context;
    stack_random(to, length);
}

static int new_identifier(ngtcp2_conn *conn, ngtcp2_cid *id, uint8_t *token, size_t length, void *data) {
    (void)conn, (void)data;
    id->datalen = length;
    stack_random(id->data, length);
    stack_random(token, NGTCP2_STATELESS_RESET_TOKENLEN);
    return 0;
}

static int received(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t offset, const uint8_t *bytes, size_t length,
                    void *data, void *stream_data) {
    (void)flags, (void)offset, (void)bytes, (void)data, (void)stream_data;
    delivered += length;
    ngtcp2_conn_extend_max_stream_offset(conn, id, length);
    ngtcp2_conn_extend_max_offset(conn, length);
    return 0;
}

/* All of a stream that has ended is acknowledged. */
static int stream_closed(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t error, void *data, void *stream_data) {
    (void)conn, (void)flags, (void)error, (void)data, (void)stream_data;
    is_done |= is_sender && is_finished && id == stream;
    return 0;
}

/* ngtcp2's qlog has whole milliseconds, too coarse for the rate samples of an audit: times and RTTs of an event are those of
 * the call and of the connection, in ms with six digits after the point. */
static void write_event(const char *text, size_t length) {
    ngtcp2_conn_stat stat = {0};
    if (connection != NULL) {
        ngtcp2_conn_get_conn_stat(connection, &stat);
    }
    const struct {
        const char *key;
        uint64_t nanoseconds;
    } values[] = {{"\"time\":", ORIGIN + stack_now() - settings.initial_ts},
                  {"\"min_rtt\":", stat.min_rtt},
                  {"\"smoothed_rtt\":", stat.smoothed_rtt},
                  {"\"latest_rtt\":", stat.latest_rtt}};
    for (size_t at = 0; at < length;) {
        size_t which = 0, size = 0;
        for (; which < sizeof values / sizeof *values; which++) {
            size = strlen(values[which].key);
            if (length - at > size && memcmp(text + at, values[which].key, size) == 0) {
                break;
            }
        }
        if (connection == NULL || which == sizeof values / sizeof *values) {
            fputc(text[at++], qlog);
            continue;
        }
        fprintf(qlog, "%s%.6f", values[which].key, (double)values[which].nanoseconds / 1e6);
        for (at += size; at < length && strchr("0123456789.", text[at]) != NULL; at++) {
        }
    }
}

/* ngtcp2 counts losses in its qlog alone, and each event is a text of its own. */
static void observe(void *data, uint32_t flags, const void *text, size_t length) {
    static const char name[] = "packet_lost";
    (void)data, (void)flags;
    if (qlog != NULL) {
        write_event(text, length);
    }
    lost += memmem(text, length, name, sizeof name - 1) != NULL;
}

static ngtcp2_conn *connection_of(ngtcp2_crypto_conn_ref *one) {
    (void)one;
    return connection;
}

static bool knows_controller(const char *name) {
    static const struct {
        const char *name;
        ngtcp2_cc_algo algorithm;
    } known[] = {
        {"cubic", NGTCP2_CC_ALGO_CUBIC}, {"reno", NGTCP2_CC_ALGO_RENO}, {"bbr", NGTCP2_CC_ALGO_BBR}, {"bbr2", NGTCP2_CC_ALGO_BBR2}};
    for (size_t at = 0; at < sizeof known / sizeof *known; at++) {
        if (name[0] == 0 || strcmp(name, known[at].name) == 0) {
            controller = known[at].name;
            settings.cc_algo = known[at].algorithm;
            return true;
        }
    }
    answer_failure("no congestion control is called '%s': cubic, reno, bbr, bbr2", name);
    return false;
}

static int prepare_certificate(void) {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    gnutls_x509_privkey_init(&key);
    gnutls_x509_crt_init(&certificate);
    gnutls_x509_privkey_generate(key, GNUTLS_PK_EDDSA_ED25519, 0, 0);
    gnutls_x509_crt_set_version(certificate, 3);
    gnutls_x509_crt_set_serial(certificate, "\1", 1);
    gnutls_x509_crt_set_dn(certificate, "CN=localhost", NULL);
    gnutls_x509_crt_set_activation_time(certificate, 946684800);
    gnutls_x509_crt_set_expiration_time(certificate, 3786912000);
    gnutls_x509_crt_set_key(certificate, key);
    gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA512, 0);
    return gnutls_certificate_set_x509_key(credentials, &certificate, 1, key);
}

/* TLS of an end. Clients do not verify the certificate, since both ends are processes of one run. */
static bool prepare_tls(void) {
    static const gnutls_datum_t protocol = {(unsigned char *)"cwndlab", 7};
    gnutls_certificate_allocate_credentials(&credentials);
    int error = is_sender ? 0 : prepare_certificate();
    if (error == 0) {
        error = gnutls_init(&session, (is_sender ? GNUTLS_CLIENT : GNUTLS_SERVER | GNUTLS_NO_TICKETS) | GNUTLS_NO_END_OF_EARLY_DATA);
    }
    error = error ? error : gnutls_priority_set_direct(session, PRIORITY, NULL);
    error = error ? error : gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    error = error ? error : gnutls_alpn_set_protocols(session, &protocol, 1, 0);
    if (error == 0 && is_sender) {
        error = gnutls_server_name_set(session, GNUTLS_NAME_DNS, "localhost", 9);
    }
    error = error ? error
                  : (is_sender ? ngtcp2_crypto_gnutls_configure_client_session : ngtcp2_crypto_gnutls_configure_server_session)(session);
    reference = (ngtcp2_crypto_conn_ref){connection_of, NULL};
    if (error == 0) {
        gnutls_session_set_ptr(session, &reference);
    } else {
        answer_failure("GnuTLS: %s", gnutls_strerror(error));
    }
    return error == 0;
}

static void prepare_path(void) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(1)}, peer = own;
    inet_pton(AF_INET, is_sender ? "192.0.2.1" : "192.0.2.2", &own.sin_addr);
    inet_pton(AF_INET, is_sender ? "192.0.2.2" : "192.0.2.1", &peer.sin_addr);
    ngtcp2_path_storage_init(&path, (struct sockaddr *)&own, sizeof own, (struct sockaddr *)&peer, sizeof peer, NULL);
}

void stack_start(const struct stack_start *start) {
    static const char *const options[] = {"window", "datagram", "acks", NULL};
    is_sender = start->is_sender;
    max_datagram = start->max_datagram;
    ngtcp2_settings_default(&settings);
    ngtcp2_transport_params_default(&parameters);
    if (!knows_controller(start->controller) || !stack_knows_options(start->options, options) || !prepare_tls()) {
        return;
    }
    uint64_t window = stack_option(start->options, "window", WINDOW);
    uint64_t datagram = stack_option(start->options, "datagram", max_datagram);
    settings.max_tx_udp_payload_size = datagram < max_datagram ? datagram : max_datagram;
    settings.ack_thresh = stack_option(start->options, "acks", settings.ack_thresh);
    settings.qlog.write = is_sender ? observe : NULL;
    parameters.initial_max_data = parameters.initial_max_stream_data_uni = window;
    parameters.initial_max_streams_uni = 1;
    callbacks = (ngtcp2_callbacks){
        .client_initial = ngtcp2_crypto_client_initial_cb,
        .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
        .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
        .encrypt = ngtcp2_crypto_encrypt_cb,
        .decrypt = ngtcp2_crypto_decrypt_cb,
        .hp_mask = ngtcp2_crypto_hp_mask_cb,
        .recv_retry = ngtcp2_crypto_recv_retry_cb,
        .update_key = ngtcp2_crypto_update_key_cb,
        .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
        .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
        .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
        .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
        .rand = fill,
        .get_new_connection_id = new_identifier,
        .recv_stream_data = received,
        .stream_close = stream_closed,
    };
    prepare_path();
    qlog = stack_log(start, "ngtcp2", "sqlog");
    char name[64];
    snprintf(name, sizeof name, "ngtcp2 %s", ngtcp2_version(0)->version_str);
    answer_ready(name, controller);
}

/* A connection from its first call on. */
static void open(const ngtcp2_pkt_hd *first) {
    ngtcp2_cid own = {.datalen = 8}, peer = {.datalen = 18};
    stack_random(own.data, own.datalen);
    stack_random(peer.data, peer.datalen);
    settings.initial_ts = ORIGIN + stack_now();
    int error;
    if (first == NULL) {
        error = ngtcp2_conn_client_new(&connection, &peer, &own, &path.path, NGTCP2_PROTO_VER_V1, &callbacks, &settings,
                                       &parameters, NULL, NULL);
    } else {
        parameters.original_dcid = first->dcid;
        error = ngtcp2_conn_server_new(&connection, &first->scid, &own, &path.path, first->version, &callbacks, &settings,
                                       &parameters, NULL, NULL);
    }
    if (error == 0) {
        ngtcp2_conn_set_tls_native_handle(connection, session);
    } else {
        failure = ngtcp2_strerror(error);
    }
}

/* Errors of a connection that is closing are none. */
static void settle(int error) {
    if (error == NGTCP2_ERR_DRAINING || error == NGTCP2_ERR_CLOSING || error == NGTCP2_ERR_IDLE_CLOSE) {
        is_over = true;
    } else if (error != 0) {
        failure = ngtcp2_strerror(error);
    }
}

void stack_timer(uint64_t now) {
    if (connection != NULL && !is_over) {
        settle(ngtcp2_conn_handle_expiry(connection, ORIGIN + now));
    }
}

void stack_datagram(uint64_t now, uint8_t ecn, const uint8_t *payload, size_t length) {
    ngtcp2_pkt_info info = {.ecn = ecn};
    ngtcp2_pkt_hd header;
    if (connection == NULL && !is_sender && ngtcp2_accept(&header, payload, length) == 0) {
        open(&header);
    }
    if (connection == NULL || is_over) {
        return;
    }
    settle(ngtcp2_conn_read_pkt(connection, &path.path, &info, payload, length, ORIGIN + now));
    ngtcp2_conn_stat now_stat;
    ngtcp2_conn_get_conn_stat(connection, &now_stat);
    if (now_stat.first_rtt_sample_ts != UINT64_MAX && now_stat.latest_rtt != last_rtt) {
        last_rtt = now_stat.latest_rtt;
        answer_value(VALUE_RTT, last_rtt);
    }
}

void stack_write(uint64_t bytes) { to_write = to_write + bytes < to_write ? ENDLESS : to_write + bytes; }

void stack_pause(void) {
    if (to_write == ENDLESS) {
        to_write = 0;
    }
}

void stack_finish(void) {
    is_finishing = true;
    stack_pause();
}

/* Sends a datagram with as much of the stream as fits; its size, 0 if none may leave. */
static size_t send_one(uint64_t now) {
    static uint8_t data[CHUNK], datagram[UINT16_MAX];
    size_t size = to_write < CHUNK ? to_write : CHUNK;
    ngtcp2_vec chunk = {data, size};
    bool ends = is_finishing && size == to_write, has_data = stream >= 0 && !is_finished && (size > 0 || ends);
    ngtcp2_pkt_info info = {0};
    ngtcp2_ssize taken = -1;
    ngtcp2_ssize length = ngtcp2_conn_writev_stream(connection, NULL, &info, datagram, settings.max_tx_udp_payload_size, &taken,
                                                    has_data && ends ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0, has_data ? stream : -1,
                                                    has_data ? &chunk : NULL, has_data ? 1 : 0, ORIGIN + now);
    if (length == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
        length = ngtcp2_conn_write_pkt(connection, NULL, &info, datagram, settings.max_tx_udp_payload_size, ORIGIN + now);
    }
    if (has_data && taken >= 0) {
        to_write -= to_write == ENDLESS ? 0 : (uint64_t)taken;
        is_finished = ends && (size_t)taken == size;
    }
    if (length < 0) {
        settle((int)length);
        return 0;
    }
    if (length > 0) {
        answer_send(info.ecn, datagram, (size_t)length);
    }
    return (size_t)length;
}

/* Sends what may leave; after each quantum the pacer decides. */
static void send_all(uint64_t now) {
    size_t sent, quantum;
    do {
        quantum = ngtcp2_conn_get_send_quantum(connection);
        size_t total = 0;
        do {
            sent = send_one(now);
            total += sent;
        } while (sent > 0 && total < quantum);
        ngtcp2_conn_update_pkt_tx_time(connection, ORIGIN + now);
    } while (sent > 0 && !is_over && failure == NULL);
}

static void close_connection(uint64_t now) {
    uint8_t datagram[1500];
    ngtcp2_pkt_info info = {0};
    ngtcp2_connection_close_error reason;
    ngtcp2_connection_close_error_default(&reason);
    ngtcp2_connection_close_error_set_application_error(&reason, 0, NULL, 0);
    ngtcp2_ssize length = ngtcp2_conn_write_connection_close(connection, NULL, &info, datagram, 1200, &reason, ORIGIN + now);
    if (length > 0) {
        answer_send(info.ecn, datagram, (size_t)length);
    }
    is_over = true;
}

static void report(void) {
    ngtcp2_conn_stat stat;
    ngtcp2_conn_get_conn_stat(connection, &stat);
    answer_value(VALUE_CWND, stat.cwnd);
    answer_value(VALUE_IN_FLIGHT, stat.bytes_in_flight);
    answer_value(VALUE_LOST_PACKETS, lost);
    if (stat.ssthresh != UINT64_MAX) {
        answer_value(VALUE_SSTHRESH, stat.ssthresh);
    }
    if (stat.first_rtt_sample_ts != UINT64_MAX) {
        answer_value(VALUE_SMOOTHED_RTT, stat.smoothed_rtt);
        answer_value(VALUE_MIN_RTT, stat.min_rtt);
    }
    if (stat.pacing_rate > 0) {
        answer_value(VALUE_PACING_RATE, (uint64_t)(stat.pacing_rate * 8e9)); /* from bytes per nanosecond */
    }
}

void stack_answer(uint64_t now) {
    if (is_sender && connection == NULL && (to_write > 0 || is_finishing)) {
        open(NULL);
    }
    if (connection != NULL && !is_over && failure == NULL) {
        if (is_sender && stream < 0 && ngtcp2_conn_get_handshake_completed(connection)) {
            ngtcp2_conn_open_uni_stream(connection, &stream, NULL);
        }
        if (is_done) {
            close_connection(now);
        } else {
            send_all(now);
        }
        uint64_t expiry = ngtcp2_conn_get_expiry(connection);
        if (!is_over && expiry != UINT64_MAX) {
            answer_next(expiry > ORIGIN + now ? expiry - ORIGIN : now);
        }
        report();
    }
    if (failure != NULL && (is_sender || !is_over)) {
        answer_failure("%s", failure);
    }
    answer_delivered(delivered);
    if (is_done) {
        answer_done();
    }
}
