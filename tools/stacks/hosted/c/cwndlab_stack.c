/* The protocol of hosted stacks (docs/host.md): frames of calls and answers, the clock and random numbers. */

#include "cwndlab_stack.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define VERSION 1
/* What the clocks show at the start of the run, ns: long after their zero, since stacks subtract from times. */
#define ORIGIN 1000000000000000000u

static uint64_t now;
static uint64_t random_state;
static struct {
    uint8_t *bytes;
    size_t length, capacity;
} answer;
static uint64_t known[VALUES];
static bool is_known[VALUES];
/* The application writes no more. */
static bool is_finished;

static void put(const void *bytes, size_t length) {
    if (answer.length + length > answer.capacity) {
        answer.capacity = 2 * (answer.length + length);
        answer.bytes = realloc(answer.bytes, answer.capacity);
        if (answer.bytes == NULL) {
            abort();
        }
    }
    memcpy(answer.bytes + answer.length, bytes, length);
    answer.length += length;
}

/* Integers of the protocol are little-endian. */
static void put_number(uint64_t number, size_t bytes) {
    uint8_t parts[8];
    for (size_t at = 0; at < bytes; at++) {
        parts[at] = (uint8_t)(number >> (8 * at));
    }
    put(parts, bytes);
}

static uint64_t get_number(const uint8_t *from, size_t bytes) {
    uint64_t number = 0;
    for (size_t at = 0; at < bytes; at++) {
        number |= (uint64_t)from[at] << (8 * at);
    }
    return number;
}

static void put_text(const char *text) {
    put_number(strlen(text), 2);
    put(text, strlen(text));
}

void answer_ready(const char *name, const char *controller) {
    put_number(0x11, 1);
    put_text(name);
    put_text(controller);
}

void answer_failure(const char *format, ...) {
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put_number(0x17, 1);
    put_text(text);
}

void answer_send(uint8_t ecn, const uint8_t *payload, size_t length) {
    put_number(0x12, 1);
    put_number(ecn, 1);
    put_number(length, 2);
    put(payload, length);
}

void answer_next(uint64_t time) {
    put_number(0x13, 1);
    put_number(time, 8);
}

void answer_delivered(uint64_t bytes) {
    put_number(0x14, 1);
    put_number(bytes, 8);
}

void answer_value(enum stack_value value, uint64_t number) {
    if (is_known[value] && known[value] == number && value != VALUE_RTT) {
        return;
    }
    is_known[value] = true;
    known[value] = number;
    put_number(0x15, 1);
    put_number(value, 1);
    put_number(number, 8);
}

void answer_done(void) { put_number(0x16, 1); }

uint64_t stack_option(const char *options, const char *name, uint64_t otherwise) {
    size_t length = strlen(name);
    for (const char *at = options; at != NULL && *at != 0; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            return strtoull(at + length + 1, NULL, 10);
        }
    }
    return otherwise;
}

bool stack_knows_options(const char *options, const char *const *names) {
    for (const char *at = options; at != NULL && *at != 0; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, "=,");
        const char *const *name = names;
        while (*name != NULL && (strlen(*name) != length || strncmp(*name, at, length) != 0)) {
            name++;
        }
        size_t digits = at[length] == '=' ? strspn(at + length + 1, "0123456789") : 0;
        if (*name == NULL || digits == 0 || (at[length + 1 + digits] != ',' && at[length + 1 + digits] != 0)) {
            answer_failure("'%s' is not an option NAME=NUMBER that this stack has", at);
            return false;
        }
    }
    return true;
}

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
void stack_random(void *memory, size_t length) {
    for (size_t at = 0; at < length; at++) {
        uint64_t z = random_state += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        ((uint8_t *)memory)[at] = (uint8_t)((z ^ (z >> 31)) >> 56);
    }
}

uint64_t stack_now(void) { return now; }

FILE *stack_log(const struct stack_start *start, const char *stack, const char *extension) {
    const char *folder = getenv("CWNDLAB_STACK_LOGS");
    if (folder == NULL || !start->is_sender) {
        return NULL;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%016llx.%s", folder, stack, (unsigned long long)start->seed, extension);
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
    }
    return file;
}

/* draft-ietf-opsawg-pcap, section 4: times in nanoseconds, link type 101, packets of IP. */
void stack_capture(FILE *capture, const uint8_t *packet, size_t length) {
    static bool has_header;
    const uint32_t header[] = {0xa1b23c4d, 4u << 16 | 2, 0, 0, 65535, 101};
    const uint32_t record[] = {(uint32_t)(now / 1000000000), (uint32_t)(now % 1000000000), (uint32_t)length, (uint32_t)length};
    if (capture != NULL) {
        if (!has_header) {
            fwrite(header, sizeof header, 1, capture);
            has_header = true;
        }
        fwrite(record, sizeof record, 1, capture);
        fwrite(packet, length, 1, capture);
    }
}

/* Functions of libc that the program itself defines come before those of libc, in libraries too. */

int clock_gettime(clockid_t clock, struct timespec *time) {
    (void)clock;
    time->tv_sec = (time_t)((ORIGIN + now) / 1000000000);
    time->tv_nsec = (long)((ORIGIN + now) % 1000000000);
    return 0;
}

ssize_t getrandom(void *memory, size_t length, unsigned flags) {
    (void)flags;
    stack_random(memory, length);
    return (ssize_t)length;
}

int rand(void) {
    unsigned number;
    stack_random(&number, sizeof number);
    return (int)(number >> 1);
}

/* Reads through a buffer, so that a frame with its length is one call of the system. */
static bool read_all(uint8_t *to, size_t length) {
    static uint8_t buffer[1 << 16];
    static size_t at, end;
    while (length > 0) {
        if (at == end) {
            ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
            if (got <= 0) {
                return false;
            }
            at = 0;
            end = (size_t)got;
        }
        size_t part = length < end - at ? length : end - at;
        memcpy(to, buffer + at, part);
        at += part;
        to += part;
        length -= part;
    }
    return true;
}

static bool write_all(const uint8_t *from, size_t length) {
    while (length > 0) {
        ssize_t put_bytes = write(STDOUT_FILENO, from, length);
        if (put_bytes <= 0) {
            return false;
        }
        from += put_bytes;
        length -= (size_t)put_bytes;
    }
    return true;
}

/* A text of the first call, with a byte 0 at its end. */
static char *get_text(const uint8_t **at) {
    size_t length = get_number(*at, 2);
    char *text = calloc(1, length + 1);
    if (text == NULL) {
        abort();
    }
    memcpy(text, *at + 2, length);
    *at += 2 + length;
    return text;
}

static void start(const uint8_t *frame) {
    if (frame[0] != 0x01 || frame[1] != VERSION) {
        answer_failure("this stack has version %d of the protocol", VERSION);
        return;
    }
    const uint8_t *at = frame + 13;
    struct stack_start given = {frame[2] == 0, get_number(frame + 3, 8), (uint16_t)get_number(frame + 11, 2), NULL, NULL};
    given.controller = get_text(&at);
    given.options = get_text(&at);
    random_state = given.seed;
    stack_start(&given);
}

static void call(const uint8_t *frame, size_t length) {
    const uint8_t *at = frame, *end = frame + length;
    while (at < end) {
        switch (*at++) {
        case 0x02:
            now = get_number(at, 8);
            at += 8;
            break;
        case 0x03:
            stack_timer(now);
            break;
        case 0x04: {
            size_t payload = get_number(at + 1, 2);
            stack_datagram(now, at[0], at + 3, payload);
            at += 3 + payload;
            break;
        }
        case 0x05:
            if (is_finished) {
                answer_failure("this stack opens one connection");
                return;
            }
            stack_write(get_number(at, 8));
            at += 8;
            break;
        case 0x06:
            is_finished = true;
            stack_finish();
            break;
        case 0x07:
            stack_pause();
            break;
        default:
            answer_failure("no item of a call has the kind %d", at[-1]);
            return;
        }
    }
    stack_answer(now);
}

int main(void) {
    uint8_t header[4], *frame = NULL;
    bool is_started = false;
    while (read_all(header, sizeof header)) {
        size_t length = get_number(header, 4);
        frame = realloc(frame, length);
        if (frame == NULL || !read_all(frame, length)) {
            return 1;
        }
        answer.length = 0;
        put_number(0, 4);
        if (is_started) {
            call(frame, length);
        } else {
            start(frame);
            is_started = true;
        }
        size_t answered = answer.length - 4;
        answer.length = 0;
        put_number(answered, 4);
        if (!write_all(answer.bytes, 4 + answered)) {
            return 1;
        }
    }
    return 0;
}
