/* The protocol of hosted stacks (docs/host.md) for stacks in C. An adapter defines the functions `stack_...`, which are
 * called for the items of a call, and writes its answer with the functions `answer_...`. Times are nanoseconds since the
 * start of the run. cwndlab_stack.c has `main`, and answers the system's clock and random numbers. */

#ifndef CWNDLAB_STACK_H
#define CWNDLAB_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ENDLESS UINT64_MAX

struct stack_start {
    bool is_sender;        /* it opens the connection and sends; else it accepts and receives */
    uint64_t seed;         /* of all random numbers */
    uint16_t max_datagram; /* the largest payload of a datagram */
    const char *controller; /* the congestion control; empty: the default */
    const char *options;    /* KEY=VALUE, separated by commas */
};

enum stack_value {
    VALUE_CWND = 1,
    VALUE_SSTHRESH,
    VALUE_IN_FLIGHT,
    VALUE_SMOOTHED_RTT,
    VALUE_RTT,
    VALUE_PACING_RATE,
    VALUE_LOST_PACKETS,
    VALUE_CONGESTION_EVENTS,
    VALUE_LOST_BYTES,
    VALUE_TIMEOUTS,
    VALUE_MIN_RTT,
    VALUE_LOSS_PROBES,
    VALUES
};

/* Prepares the stack; answers with `answer_ready` or `answer_failure`. The texts are valid until the end. */
void stack_start(const struct stack_start *start);
/* The timer expired. */
void stack_timer(uint64_t now);
/* A datagram arrived. */
void stack_datagram(uint64_t now, uint8_t ecn, const uint8_t *payload, size_t length);
/* The application of the sender writes this number of bytes; ENDLESS: as many as can be sent. */
void stack_write(uint64_t bytes);
/* The application of the sender writes nothing until the next `stack_write`: an endless supply ends. */
void stack_pause(void);
/* The application of the sender writes no more. */
void stack_finish(void);
/* Answers with datagrams, the next timer and what else there is, after all events of a call. */
void stack_answer(uint64_t now);

void answer_ready(const char *name, const char *controller);
void answer_failure(const char *format, ...);
void answer_send(uint8_t ecn, const uint8_t *payload, size_t length);
void answer_next(uint64_t time);
void answer_delivered(uint64_t bytes);
/* A value is written if it has changed, and each sample of VALUE_RTT. */
void answer_value(enum stack_value value, uint64_t number);
void answer_done(void);

/* The option of this name; `otherwise` if it is not there. */
uint64_t stack_option(const char *options, const char *name, uint64_t otherwise);
/* Fails unless the options are among these names, which NULL ends. */
bool stack_knows_options(const char *options, const char *const *names);
/* Fills memory with numbers of the seed. */
void stack_random(void *memory, size_t length);
/* The file of a sender's log, if CWNDLAB_STACK_LOGS names a folder for it, else NULL. */
FILE *stack_log(const struct stack_start *start, const char *stack, const char *extension);
/* Writes an IPv4 packet to a capture (pcap), with the file's header before the first one; nothing if it is NULL. */
void stack_capture(FILE *capture, const uint8_t *packet, size_t length);
/* The time of the present call. */
uint64_t stack_now(void);

#endif
