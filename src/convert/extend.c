/* extend.c — extends a vocabulary by words, as WoBERT extended BERT's.
 *
 *     row(w) = the row of w, if the old vocabulary has w
 *            = (1/n) sum_i row(t_i),    t_1 .. t_n: the tokens of w by the old tokenizer
 *
 * for every parameter with a row for each token: word embeddings, an untied decoder, biases of the decoder. */
#include "convert/extend.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/bytes.h"
#include "base/files/path.h"
#include "base/json.h"
#include "roformer/inspect/files.h"
#include "store/family.h"

typedef struct source { int32_t *id; size_t *first; } source;  /* tokens [first[w], first[w + 1]) are those of word w */

static rf_status add(const rf_ctx *ctx, source *s, size_t *capacity, size_t n, int32_t id, rf_error *why)
{
    if (!rf__grow(ctx, &s->id, capacity, n + 1, sizeof *s->id)) return rf_fail(why, RF_ENOMEM, "out of memory: tokens");
    s->id[n] = id;
    return RF_OK;
}

static rf_status find_sources(const rf_ctx *ctx, const rf_tokenizer *from, const rf_tokenizer *to, source *s,
                              rf__extension *out, rf_error *why)
{
    const int32_t V = rf_tokenizer_size(to);
    size_t n = 0, capacity = 0;
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    s->first = rf__alloc(ctx, ((size_t)V + 1) * sizeof *s->first);
    rf_status status = s->first ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: %d tokens", (int)V);
    for (int32_t w = 0; w < V && !status; w++) {
        const char *token = rf_tokenizer_token(to, w);
        const int32_t same = token ? rf_tokenizer_id(from, token) : -1;
        s->first[w] = n;
        if (same >= 0) {
            out->kept++;
            status = add(ctx, s, &capacity, n++, same, why);
            continue;
        }
        if (token && !strncmp(token, "##", 2) && token[2]) token += 2;
        if (token) status = rf_encode(from, token, strlen(token), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, why);
        const bool unknown = !token || !e.n || (e.n == 1 && e.id[0] == rf_tokenizer_unk(from));
        *(unknown ? &out->unknown : &out->means) += 1;
        if (!status && unknown) status = add(ctx, s, &capacity, n++, rf_tokenizer_unk(from), why);
        for (size_t i = 0; i < e.n && !unknown && !status; i++) status = add(ctx, s, &capacity, n++, e.id[i], why);
    }
    if (!status) s->first[V] = n;
    for (int32_t w = 0; w < rf_tokenizer_size(from) && !status; w++) {
        const char *token = rf_tokenizer_token(from, w);
        out->lost += token && rf_tokenizer_id(to, token) < 0;
    }
    rf_encoding_clear(&e);
    return status;
}

static void mean_rows(const source *s, int64_t V, int64_t width, const float *from, float *to)
{
    for (int64_t w = 0; w < V; w++) {
        const double share = 1 / (double)(s->first[w + 1] - s->first[w]);
        for (int64_t k = 0; k < width; k++) {
            double sum = 0;
            for (size_t i = s->first[w]; i < s->first[w + 1]; i++) sum += (double)from[s->id[i] * width + k];
            to[w * width + k] = (float)(sum * share);
        }
    }
}

/* `probe` has a vocabulary of one more token: parameters whose shape differs have a row for each token. */
static void fill(const rf_params *old, const rf_params *probe, const rf_params *fresh, const source *s,
                 const float *from, float *to)
{
    for (size_t i = 0; i < fresh->n; i++) {
        const rf_param *p = &old->p[i], *q = &fresh->p[i];
        const int64_t width = p->rank > 1 ? p->dim[1] : 1;
        if (probe->p[i].dim[0] == p->dim[0]) memcpy(to + q->offset, from + p->offset, p->count * sizeof *to);
        else mean_rows(s, q->dim[0], width, from + p->offset, to + q->offset);
    }
}

rf_status rf__extend_vocabulary(const rf_tokenizer *from, const rf_tokenizer *to, rf_params *params, float **slab,
                                rf__extension *out, rf_error *why)
{
    const rf_ctx *ctx = params->ctx;
    rf_config c = params->config;
    rf_params probe = {0}, fresh = {0};
    source s = {0};
    float *rows = NULL;
    *out = (rf__extension){0};
    if (rf_tokenizer_size(from) > c.vocab_size)
        return rf_fail(why, RF_EDATA,
                       "config.json: vocab_size: expected the number of the tokenizer's tokens, %d, got %lld",
                       (int)rf_tokenizer_size(from), (long long)c.vocab_size);
    c.vocab_size++;
    rf_status status = rf__params_new_head(ctx, &c, params->head, &probe, why);
    c.vocab_size = rf_tokenizer_size(to);
    if (rf_tokenizer_pad(to) >= 0) c.pad_token_id = rf_tokenizer_pad(to);
    if (!status && rf__config_first_position(&c) != rf__config_first_position(&params->config))
        status = rf_fail(why, RF_EUNSUPPORTED,
                         "new vocabulary: the padding token: expected id %lld, which says where the model's positions "
                         "begin, got %lld", (long long)params->config.pad_token_id, (long long)c.pad_token_id);
    if (!status) status = rf__params_new_head(ctx, &c, params->head, &fresh, why);
    if (!status) status = find_sources(ctx, from, to, &s, out, why);
    fresh.n = fresh.n < params->n ? fresh.n : params->n;                    /* an encoder without a head */
    if (!status && !(rows = rf__calloc(ctx, fresh.total, sizeof *rows)))
        status = rf_fail(why, RF_ENOMEM, "out of memory: %.0f MB of weights", (double)fresh.total * 4e-6);
    if (!status) {
        fill(params, &probe, &fresh, &s, *slab, rows);
        rf__free(ctx, *slab);
        rf__params_free(params);
        *slab = rows;
        *params = fresh;
    } else {
        rf__params_free(&fresh);
    }
    rf__params_free(&probe);
    rf__free(ctx, s.id);
    rf__free(ctx, s.first);
    return status;
}

/* ---- ids in generation_config.json ------------------------------------------------------------------------------- */

typedef struct renaming { const rf_tokenizer *from, *to; bool lost, memory; } renaming;

static json_t *kept_json(renaming *r, json_t *v)
{
    r->memory = r->memory && v;
    return v;
}

/* An id, a list of ids, or of words, which are lists. NULL: `to` does not have it; a word is lost with one of its
 * tokens. Ids below 0 are no tokens. */
static json_t *renamed(renaming *r, json_t *v, bool word)
{
    if (json_is_integer(v)) {
        const json_int_t id = json_integer_value(v);
        const bool there = id >= 0 && id < rf_tokenizer_size(r->from);
        const char *token = there ? rf_tokenizer_token(r->from, (int32_t)id) : NULL;
        const int32_t own = token ? rf_tokenizer_id(r->to, token) : -1;
        if (id < 0) return json_incref(v);
        r->lost = r->lost || own < 0;
        return own < 0 ? NULL : kept_json(r, json_integer(own));
    }
    if (!json_is_array(v)) return json_incref(v);
    json_t *out = kept_json(r, json_array());
    for (size_t i = 0; i < json_array_size(v) && out; i++) {
        json_t *one = renamed(r, json_array_get(v, i), true);
        if (one) rf__json_add(&out, one), r->memory = r->memory && out;
        else if (word || !r->memory) json_decref(out), out = NULL;
    }
    if (!out || json_array_size(out) || !json_array_size(v)) return out;
    json_decref(out);
    return NULL;
}

/* decoder_start_token_id must be that of config.json. */
static bool has_ids(const char *key)
{
    static const char *const lists[] = {"suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "force_words_ids",
                                        NULL};
    return rf__is_among(lists, key) || (rf__ends_with(key, "_token_id") && strcmp(key, "decoder_start_token_id") != 0);
}

rf_status rf__extend_generation(const rf_ctx *ctx, const rf_tokenizer *from, const rf_tokenizer *to, rf__kept_file *f,
                                void (*report)(void *user, const char *name, const char *left_out), void *user,
                                rf_error *why)
{
    const char *key;
    json_t *value, *out = json_object();
    renaming r = {.from = from, .to = to, .memory = out != NULL};
    if (!f->text) return json_decref(out), RF_OK;
    json_t *root = rf__json_parse(f->text, f->size, 0, RF_FILE_GENERATION, why);
    if (!root) return json_decref(out), why->code;
    json_object_foreach(root, key, value) {
        char name[200];
        r.lost = false;
        json_t *own = has_ids(key) ? renamed(&r, value, false) : json_incref(value);
        if (own) rf__json_set(&out, key, own);
        snprintf(name, sizeof name, RF_FILE_GENERATION ": %s", key);
        if (r.lost && report) report(user, name, "a token that the new vocabulary lacks");
    }
    json_decref(root);
    char *text = r.memory && out ? rf__json_dump(out, JSON_INDENT(2)) : NULL;
    char *own = text ? rf__strdup(ctx, text) : NULL;
    json_decref(out);
    free(text);
    if (!own) return rf_fail(why, RF_ENOMEM, "out of memory: %s", RF_FILE_GENERATION);
    rf__free(ctx, f->text);
    *f = (rf__kept_file){own, strlen(own)};
    return RF_OK;
}
