/* translating.h — random translation models, and sources for them, one of them longer than a page. */
#ifndef TESTS_MODEL_TRANSLATING_H
#define TESTS_MODEL_TRANSLATING_H

#include "model/encoder.h"
#include "model/family.h"
#include "model/positions.h"
#include "roformer/model.h"
#include "translated.h"

enum { V = 23, C = 16, HEADS = 2, EOS = 0, PAD = 22 };

static inline rf_config config_of(const char *encoder, const char *decoder, int rotates)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_defaults_of("transformer", &c, &why)) fail_msg("%s", why.text);
    c.vocab_size = V, c.hidden_size = c.embedding_size = C;
    c.num_hidden_layers = 1, c.decoder_layers = 2;
    c.num_attention_heads = c.decoder_attention_heads = HEADS;
    c.intermediate_size = c.decoder_ffn_dim = 24;
    c.pad_token_id = c.decoder_start_token_id = PAD;
    c.max_position_embeddings = 96;
    c.rotary_cross_attention = rotates;
    c.initializer_range = 0.4;
    snprintf(c.position_embedding_type, sizeof c.position_embedding_type, "%s", encoder);
    snprintf(c.decoder_position_embedding_type, sizeof c.decoder_position_embedding_type, "%s", decoder);
    return c;
}

typedef struct work { rf_ctx *ctx; rf_model *m; rf_session *s; } work;

static inline work open_work(const rf_config *c, int threads, rf_type type)
{
    work w = {.ctx = t_ctx(threads, NULL)};
    rf_error why = {0};
    if (rf_model_random_as(w.ctx, c, 7, type, &w.m, &why) || rf_session_open(w.m, &w.s, &why)) fail_msg("%s", why.text);
    return w;
}

static inline void close_work(work *w)
{
    assert_int_equal(rf_sequence_memory(w->s), 0);
    rf_session_close(w->s);
    rf_model_close(w->m);
    rf_ctx_free(w->ctx);
}

/* Sources of 1, 7, 70 and 3 tokens. */
enum { SOURCES = 4, SOURCE_TOKENS = 81, TARGET = 67 };
static const int32_t source_start[] = {0, 1, 8, 78, 81};
static int32_t source_id[SOURCE_TOKENS], target_id[SOURCES][TARGET];

static inline void fill_ids(void)
{
    rf_rng r;
    rf_rng_init(&r, 5, 0);
    for (int i = 0; i < SOURCE_TOKENS; i++) source_id[i] = (int32_t)rf_rng_below(&r, V);
    for (int b = 0; b < SOURCES; b++)
        for (int i = 0; i < TARGET; i++) target_id[b][i] = i ? (int32_t)rf_rng_below(&r, V) : PAD;
}

static inline rf_batch sources(void)
{
    return (rf_batch){.N = SOURCE_TOKENS, .B = SOURCES, .id = source_id, .start = source_start};
}

static inline rf_translate_source source_of(int b)
{
    return (rf_translate_source){.id = source_id + source_start[b], .n = source_start[b + 1] - source_start[b]};
}

static inline rf_generate_options options_of(const rf_model *m, int beams, int each)
{
    rf_generate_options o;
    rf_translate_defaults(m, &o);
    o.num_beams = beams;
    o.num_return_sequences = each;
    o.max_new_tokens = 12;
    return o;
}

#endif
