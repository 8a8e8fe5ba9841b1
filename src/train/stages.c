/* stages.c — reads stages from a file or a checkpoint, and sets the options of a run for each of them. */
#include <math.h>

#include "base/files/json_file.h"
#include "train/stages.h"

static const char *const keys[] = {"length",       "batch",     "steps",           "learning_rate",
                                   "warmup_steps", "precision", "tokens_per_batch", "micro_batches"};

static rf_status refuse(const char *name, size_t i, const char *key, const char *expected, const json_t *got,
                        rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s: stage %zu: %s: expected %s, got %s", name, i + 1, rf__printable(key).text,
                   expected, rf__json_shown(got).text);
}

static rf_status check_keys(const json_t *stage, const char *name, size_t i, rf_error *why)
{
    const char *key;
    json_t *value;
    if (!json_is_object(stage))
        return rf_fail(why, RF_EDATA, "%s: stage %zu: expected an object with length, batch and steps, got %s", name,
                       i + 1, rf__json_shown(stage).text);
    json_object_foreach((json_t *)(uintptr_t)stage, key, value) {
        bool known = false;
        for (size_t k = 0; k < RF_COUNT(keys); k++) known = known || !strcmp(key, keys[k]);
        if (!known)
            return rf_fail(why, RF_EDATA, "%s: stage %zu: expected length, batch, steps, learning_rate, warmup_steps, "
                           "precision, tokens_per_batch or micro_batches, got \"%.60s\"", name, i + 1,
                           rf__printable(key).text);
    }
    return RF_OK;
}

/* A whole number of the stage; *to is unchanged if it is missing and optional. */
static rf_status read_integer(const json_t *stage, const char *name, size_t i, const char *key, int64_t least,
                              int64_t most, bool needed, int64_t *to, rf_error *why)
{
    const json_t *x = json_object_get(stage, key);
    char expected[80];
    if (!x && !needed) return RF_OK;
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)least, (long long)most);
    if (!json_is_integer(x) || json_integer_value(x) < least || json_integer_value(x) > most)
        return refuse(name, i, key, expected, x, why);
    *to = json_integer_value(x);
    return RF_OK;
}

static rf_status read_rate(const json_t *stage, const char *name, size_t i, rf__stage *s, rf_error *why)
{
    const json_t *rate = json_object_get(stage, "learning_rate"), *precision = json_object_get(stage, "precision");
    if (rate) {
        s->learning_rate = json_number_value(rate);
        if (!json_is_number(rate) || !(s->learning_rate >= 0 && s->learning_rate <= 10))
            return refuse(name, i, "learning_rate", "a number from 0 to 10", rate, why);
    }
    if (!precision) return RF_OK;
    const char *word = json_string_value(precision);
    if (!word || (strcmp(word, "f32") && strcmp(word, "bf16")))
        return refuse(name, i, "precision", "\"f32\" or \"bf16\"", precision, why);
    s->bf16 = !strcmp(word, "bf16");
    return RF_OK;
}

/* Divides length x batch tokens into micro-batches of at most tokens_per_batch, each with space for a whole piece, the
 * same number on every rank. */
static rf_status divide(const char *name, size_t i, const rf_train_options *o, int ranks, rf__stage *s, rf_error *why)
{
    const int64_t tokens = s->length * s->batch, most = o->tokens_per_batch;
    if (s->length > most)
        return rf_fail(why, RF_EDATA, "%s: stage %zu: length: expected at most tokens_per_batch, %lld, got %lld", name,
                       i + 1, (long long)most, (long long)s->length);
    int64_t n = (tokens + most - 1) / most;
    n = (n + ranks - 1) / ranks * ranks;
    s->micro_batches = n;
    s->tokens_per_batch = rf__max64((tokens + n - 1) / n, s->length);
    return RF_OK;
}

static rf_status read_stage(const json_t *stage, const char *name, size_t i, const rf_train_options *o, int ranks,
                            rf__stage *s, rf_error *why)
{
    *s = (rf__stage){.learning_rate = o->learning_rate, .bf16 = o->bf16 != 0, .warmup_steps = i ? 0 : o->warmup_steps};
    rf_status status = check_keys(stage, name, i, why);
    if (!status) status = read_integer(stage, name, i, "length", 8, 1 << 20, true, &s->length, why);
    if (!status) status = read_integer(stage, name, i, "batch", 1, 1 << 20, true, &s->batch, why);
    if (!status) status = read_integer(stage, name, i, "steps", 1, 1000000000000, true, &s->steps, why);
    if (!status) status = read_integer(stage, name, i, "warmup_steps", -1, 1000000000000, false, &s->warmup_steps, why);
    if (!status)
        status = read_integer(stage, name, i, "tokens_per_batch", 8, 1 << 24, false, &s->tokens_per_batch, why);
    if (!status) status = read_integer(stage, name, i, "micro_batches", 1, 1 << 20, false, &s->micro_batches, why);
    if (!status) status = read_rate(stage, name, i, s, why);
    if (!status && o->bf16_stochastic_rounding && !s->bf16)
        status = rf_fail(why, RF_EARG, "%s: stage %zu: precision: expected bf16 with bf16_stochastic_rounding, got f32",
                         name, i + 1);
    if (status || (s->micro_batches && s->tokens_per_batch)) return status;
    return divide(name, i, o, ranks, s, why);
}

rf_status rf__stages_parse(const json_t *all, const char *name, const rf_train_options *o, int ranks, rf__stages *out,
                           rf_error *why)
{
    const json_t *list = json_object_get(all, "stages");
    const size_t n = json_array_size(list);
    *out = (rf__stages){.n = (int)n};
    if (!json_is_array(list) || !n || n > RF__STAGES)
        return rf_fail(why, RF_EDATA, "%s: \"stages\": expected a list of 1 to %d stages, got %s", name,
                       (int)RF__STAGES, rf__json_shown(list).text);
    int64_t end = 0;
    for (size_t i = 0; i < n; i++) {
        rf__stage *s = &out->at[i];
        const rf_status status = read_stage(json_array_get(list, i), name, i, o, ranks, s, why);
        if (status) return status;
        if (s->micro_batches % ranks)
            return rf_fail(why, RF_EARG,
                           "%s: stage %zu: expected a multiple of %d micro-batches, one per process, got %lld", name,
                           i + 1, ranks, (long long)s->micro_batches);
        s->end = end += s->steps;
    }
    return RF_OK;
}

rf_status rf__stages_read(const rf_ctx *ctx, const char *path, const rf_train_options *o, int ranks, rf__stages *out,
                          rf_error *why)
{
    enum { LIMIT = 1 << 20 };
    json_t *all;
    rf_error own = {0};
    if (!why) why = &own;
    rf_status status = rf__json_file(ctx, path, LIMIT, 0, &all, why);
    if (status) return status;
    status = rf__stages_parse(all, path, o, ranks, out, why);
    json_decref(all);
    return status;
}

json_t *rf__stages_json(const rf__stages *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n; i++) {
        const rf__stage *t = &s->at[i];
        rf__json_add(&list, json_pack("{s:I, s:I, s:I, s:f, s:I, s:s, s:I, s:I}", "length", (json_int_t)t->length,
                                      "batch", (json_int_t)t->batch, "steps", (json_int_t)t->steps, "learning_rate",
                                      t->learning_rate, "warmup_steps", (json_int_t)t->warmup_steps, "precision",
                                      t->bf16 ? "bf16" : "f32", "tokens_per_batch", (json_int_t)t->tokens_per_batch,
                                      "micro_batches", (json_int_t)t->micro_batches));
    }
    return list;
}

json_t *rf__stages_metrics(const rf__stages *s, const rf__state *state)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n && i < state->stages; i++) {
        const rf__stage *t = &s->at[i];
        const double loss = state->stage[i].loss, accuracy = state->stage[i].accuracy;
        json_t *row = json_pack("{s:I, s:I, s:I}", "length", (json_int_t)t->length, "batch", (json_int_t)t->batch,
                                "steps", (json_int_t)t->steps);
        if (isfinite(loss)) rf__json_set(&row, "loss", json_real(loss));
        if (isfinite(accuracy)) rf__json_set(&row, "accuracy", json_real(accuracy));
        rf__json_add(&list, row);
    }
    return list;
}

int rf__stage_of(const rf__stages *s, int64_t step)
{
    int i = 0;
    while (i + 1 < s->n && step > s->at[i].end) i++;
    return i;
}

void rf__stage_apply(const rf__stages *s, int i, int ranks, rf_train_options *o)
{
    const rf__stage *t = &s->at[i];
    o->max_length = t->length;
    o->tokens_per_batch = t->tokens_per_batch;
    o->gradient_accumulation_steps = t->micro_batches / ranks;
    o->learning_rate = t->learning_rate;
    o->warmup_steps = t->warmup_steps;
    o->bf16 = t->bf16;
    o->max_steps = s->at[s->n - 1].end;
}
