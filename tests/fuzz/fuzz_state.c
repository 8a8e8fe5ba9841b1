/* fuzz_state.c — arbitrary bytes as a trainer_state.json: rejected with a message, or a state whose counters a run can
 * continue, with options that pass or fail their check.
 *
 * If a state is within a text of a few pieces, the run continues: batches consist of pieces of the text and are full as
 * in any run.                                                                                                        */
#include <math.h>
#include <stdlib.h>

#include "train/options.h"
#include "train/checkpoint/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DOCUMENTS = 40, CAPACITY = 64, MAX_LENGTH = 16, STEPS = 8 };

static rf_ctx *ctx;

static void check_options(const json_t *saved)
{
    rf_train_options o, usual;
    rf_arena strings;
    rf_error why = {0};
    char changed[64];
    rf_train_defaults(&o);
    rf_train_defaults(&usual);
    rf__arena_init(&strings, ctx);
    rf_status s = rf__options_restore(&o, &usual, saved, &strings, "input", changed, sizeof changed, &why);
    if (!s) s = rf__options_check(&o, &why);
    if (s != why.code || (s && !*why.text) || memchr(changed, 0, sizeof changed) == NULL) abort();
    if (!s) {
        json_t *again = rf__options_json(&o);
        if (!again) abort();
        json_decref(again);
    }
    rf__arena_clear(&strings);
}

/* Documents of 1 to 40 tokens, in one source or two. */
static void cut(int sources, rf__pieces *p)
{
    static uint16_t id[2][DOCUMENTS * DOCUMENTS];
    static uint32_t length[2][DOCUMENTS];
    static uint8_t kind[8];
    static rf__tokens from[2];
    const rf__token_kinds v = {.size = 8, .kind = kind};
    for (int s = 0; s < 2; s++) {
        from[s] = (rf__tokens){.ids = {(const unsigned char *)id[s], 2}, .documents = DOCUMENTS, .length = length[s]};
        for (uint32_t d = 0; d < DOCUMENTS; d++) from[s].tokens += length[s][d] = d + 1;
    }
    if (rf__pieces_new(ctx, from, sources, &v, MAX_LENGTH, false, 0, p, NULL)) abort();
    if (sources > 1 && rf__pieces_mix(p, (const double[]){1, 3}, NULL)) abort();
}

static void go_on(rf__state s, int sources)
{
    rf__pieces p;
    rf__mlm_batch b;
    cut(sources, &p);
    if (rf__mlm_batch_new(ctx, CAPACITY, &b, NULL)) abort();
    for (int i = 0; i < STEPS && rf__data_position_inside(&s.position, &p); i++) {
        rf__pack_next(&p, rf__order_key(1), NULL, &s.position, &b);
        if (b.N < 3 || b.N > CAPACITY || !(rf__data_position_epoch(&s.position, &p) >= 0)) abort();
        s.step++, s.updates++, s.skipped++, s.skipped_in_a_row++, s.patience.stale++, s.patience.seen++, s.loss.seen++;
        s.tokens += b.N;
        s.interval.labels += b.N, s.interval.tokens += b.N, s.interval.capacity += CAPACITY;
    }
    rf__mlm_batch_free(ctx, &b);
    rf__pieces_free(ctx, &p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    rf__state s;
    json_t *options = NULL;
    rf_error why = {0};
    const rf_status status = rf__state_parse((const char *)data, size, "input", &s, &options, &why);
    if (status != why.code || (status && !*why.text) || !status != (options != NULL)) abort();
    if (status) return 0;
    check_options(options);
    json_decref(options);
    go_on(s, 1);
    go_on(s, 2);
    return 0;
}
