/* counters.h — counters and histograms of the server; metrics.c writes them. */
#ifndef SRV_COUNTERS_H
#define SRV_COUNTERS_H

#include <pthread.h>
#include <stdint.h>

/* Durations: the upper ends of the buckets are 1.5e-5 * 1.5^k seconds. Lengths: 1, 2, 4, ... tokens. */
enum { SRV_BUCKETS = 35, SRV_FAILURES = 9 };
typedef struct srv_histogram {
    uint64_t bucket[SRV_BUCKETS + 1];
    double sum;
    uint64_t n;
} srv_histogram;

/* What TEI counts by the input: vectors of all kinds; labels and scores. */
typedef enum srv_counted { SRV_OTHER, SRV_EMBED, SRV_PREDICT, SRV_COUNTED } srv_counted;
typedef struct srv_inputs {
    uint64_t count, success;
    srv_histogram total, tokenization, queue, inference;
} srv_inputs;

typedef struct srv_metrics {
    pthread_mutex_t lock;
    uint64_t count[2], success[2]; /* requests with one input, with several                          */
    uint64_t failure[SRV_FAILURES];
    uint64_t answers[6]; /* by the first digit of the status                               */
    uint64_t tokens;
    srv_inputs inputs[SRV_COUNTED];
    srv_histogram total, tokenization, queue, inference, length, batch_size, batch_tokens;
} srv_metrics;

#endif
