/* generation.c — the settings of generation that an open model has: the program's defaults, and those of its
 * generation_config.json over them. */
#include "model/model.h"
#include "model/positions.h"
#include "store/family.h"

rf__generation_config rf__generation_usual(bool translates)
{
    return (rf__generation_config){
        .num_beams = 1, .bos = -1, .forced_bos = -1, .forced_eos = -1, .length_penalty = 1, .repetition_penalty = 1,
        .temperature = 1, .top_p = 1, .typical_p = 1,
        .max_new_tokens = translates ? RF__NEW_TOKENS_TRANSLATED : RF__NEW_TOKENS};
}

static rf_status one_id(const rf_ctx *ctx, int32_t **list, int64_t *n, int64_t id, rf_error *why)
{
    if (*list) return RF_OK;
    *list = rf__calloc(ctx, 1, sizeof **list);
    if (!*list) return rf_fail(why, RF_ENOMEM, "out of memory: a list of one id");
    **list = (int32_t)id;
    *n = 1;
    return RF_OK;
}

/* Suppressed ids and end tokens must be in the vocabulary; otherwise the file belongs to another model. */
static void check_ids(const rf_model *m, const char *key, const int32_t id[], int64_t n, rf_error *why)
{
    for (int64_t i = 0; i < n && !why->code; i++)
        if (id[i] >= m->config.vocab_size)
            rf_fail(why, RF_EDATA, "generation_config.json: %s: expected ids below vocab_size %lld, got %d; is it "
                    "another model's file?", key, (long long)m->config.vocab_size, (int)id[i]);
}

/* An error in the file is reported only to callers that generate, since a model has other uses. */
rf_status rf__generation_open(rf_model *m, const char *folder, rf_error *why)
{
    rf__generation_config *x = &m->generation;
    const rf_config *c = &m->config;
    rf_error bad = {0};
    *x = rf__generation_usual(c->is_encoder_decoder);
    if (!c->is_encoder_decoder && !c->is_decoder) return RF_OK;
    rf_config decoder;
    rf__config_stack(c, c->is_encoder_decoder, &decoder);
    if (c->is_encoder_decoder) x->max_new_tokens = rf__position_limit(&decoder, x->max_new_tokens);
    const int64_t start = c->is_encoder_decoder ? c->decoder_start_token_id : -1;
    rf_status status = folder ? rf__generation_read(m->ctx, folder, start, x, &bad) : RF_OK;
    if (status == RF_ENOMEM || (status && c->is_encoder_decoder)) return rf_fail(why, status, "%s", bad.text);
    if (status) x->why = bad;
    check_ids(m, "eos_token_id", x->stop, x->stops, &x->why);
    check_ids(m, "suppress_tokens, bad_words_ids", x->suppress, x->suppressed, &x->why);
    if (!c->is_encoder_decoder) return RF_OK;
    status = one_id(m->ctx, &x->stop, &x->stops, c->eos_token_id, why);
    if (!status && rf__config_family(c)->start_once && c->decoder_start_token_id != c->eos_token_id)
        status = one_id(m->ctx, &x->suppress, &x->suppressed, c->decoder_start_token_id, why);
    return status;
}
