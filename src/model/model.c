/* model.c — opens a model folder for inference.
 *
 * Matrices are packed directly from the mapped file, whose pages are then released, so that only one copy of the
 * weights is in memory. The word embeddings stay in the file if possible, in the type that they have there, and only
 * the rows that a text needs are read. The head's copy of them is packed on first use. */
#include "base/files/held_folder.h"
#include "roformer/inspect/files.h"
#include "model/family.h"
#include "model/model.h"
#include "store/store.h"
#include "store/task.h"
#include "text/tokenizer.h"

static bool is_matrix(const rf_param *p) { return p->rank == 2 && !p->looked_up; }

static rf_status out_of_memory(rf_error *why, size_t bytes)
{
    return rf_fail(why, RF_ENOMEM, "out of memory: %zu bytes of weights", bytes);
}

/* ---- where a weight comes from: a file, a slab of values or a seed ---- */

struct source {
    const rf_weights *file;
    const rf_weight **match;
    const float *slab;
    uint64_t seed;
    struct space { void *at; size_t size; } *space;     /* for one matrix after the other */
};

/* Memory for `bytes`, until the next call; NULL: there is none. New pages for each would be cleared each time. */
static void *space_for(const rf_model *m, const struct source *from, size_t bytes)
{
    struct space *s = from->space;
    if (s->size >= bytes) return s->at;
    rf__free(m->ctx, s->at);
    s->at = rf__alloc(m->ctx, bytes);
    s->size = s->at ? bytes : 0;
    return s->at;
}

static rf_status read_one(const rf_model *m, const struct source *from, size_t i, float *to, rf_error *why)
{
    if (from->file) {
        if (!from->match[i]) return RF_OK;                                   /* the head of a file without one */
        const rf_status status =
            rf__param_read(&m->params, &m->params.p[i], from->file, from->match[i], to, why);
        if (!status) rf__weights_forget(from->file, from->match[i]);
        return status;
    }
    if (from->slab) memcpy(to, from->slab + m->params.p[i].offset, m->params.p[i].count * sizeof *to);
    else rf__param_init(&m->params, i, to, from->seed);
    return RF_OK;
}

static bool int8_weights(const rf_model *m) { return m->type == RF_I8 || m->type == RF_I8W; }

/* With weights in int8, only the layers' matrices are int8; the others are bf16. */
static rf_type type_of(const rf_model *m, const rf_param *p)
{
    return int8_weights(m) && !rf__param_in_int8(p) ? RF_BF16 : m->type;
}

/* Packs one matrix, the two of a gated feed-forward layer, or several of one shape. */
static rf_status pack_rows(rf_model *m, size_t i, int64_t rows, const float *w, rf_error *why)
{
    const rf_param *p = &m->params.p[i];
    const rf_type type = type_of(m, p);
    if (p->flags & RF_ROW_GATED)
        return rf__pack_gated(m->ctx, type, rows / 2, p->dim[1], w, m->params.family->gate, &m->packed[i], why);
    if (p->flags & RF_ROW_PARTS)
        return rf__pack_parts(m->ctx, type, p->parts, rows / p->parts, p->dim[1], w, (p->flags & RF_ROW_ACROSS) != 0,
                              &m->packed[i], why);
    return rf_pack(m->ctx, type, rows, p->dim[1], w, &m->packed[i], why);
}

static rf_status pack_int8_rows(rf_model *m, size_t i, int64_t rows, const int8_t *q, const float *scale, rf_error *why)
{
    const rf_param *p = &m->params.p[i];
    if (p->flags & RF_ROW_GATED)
        return rf__pack_gated_int8(m->ctx, m->type, rows / 2, p->dim[1], q, scale, m->params.family->gate,
                                   &m->packed[i], why);
    return rf__pack_int8(m->ctx, m->type, rows, p->dim[1], q, scale, &m->packed[i], why);
}

/* Names the tensor that cannot be packed, of those that form one matrix, and the reason. */
static rf_status name_tensor(const rf_model *m, size_t i, const float *w, const rf_error *whole, rf_error *why)
{
    const size_t span = rf__params_span(&m->params, i);
    for (size_t j = i; j < i + span; w += m->params.p[j++].count) {
        const rf_param *p = &m->params.p[j];
        rf_packed *alone = NULL;
        rf_error part = {0};
        const rf_status status = rf_pack(m->ctx, type_of(m, p), p->dim[0], p->dim[1], w, &alone, &part);
        rf_packed_free(alone);
        if (status) return rf_fail(why, status, "tensor \"%s\": %s", p->name, part.text);
    }
    return rf_fail(why, whole->code, "tensor \"%s\": %s", m->params.p[i].name, whole->text);
}

static bool is_int8(const struct source *from, size_t i) { return from->file && rf__quantized(from->match[i]); }

/* The integers and scales of one weight: those of the file, or computed as in packing. */
static rf_status codes_of(const rf_model *m, const struct source *from, size_t i, int8_t *q, float *scale,
                          rf_error *why)
{
    const rf_param *p = &m->params.p[i];
    if (is_int8(from, i)) {
        const rf_weight *t = from->match[i];
        const rf_status status = rf__param_codes(&m->params, p, from->file, t, q, scale, why);
        rf__weights_forget(from->file, t);
        return status;
    }
    float *w = rf__alloc(m->ctx, p->count * sizeof *w);
    if (!w) return out_of_memory(why, p->count * sizeof *w);
    rf_status status = read_one(m, from, i, w, why);
    if (!status) status = rf__quantize_int8(m->ctx, p->dim[0], p->dim[1], w, q, scale, why);
    rf__free(m->ctx, w);
    return status;
}

/* Weights that are stored in int8 are used unchanged. */
static rf_status pack_codes(rf_model *m, const struct source *from, size_t i, int64_t rows, rf_error *why)
{
    const rf_param *p = &m->params.p[i];
    const size_t span = rf__params_span(&m->params, i), bytes = (size_t)(rows * p->dim[1]);
    int8_t *q = space_for(m, from, bytes), *to = q;
    float *scale = rf__alloc(m->ctx, (size_t)rows * sizeof *scale), *next = scale;
    rf_error part = {0};
    rf_status status = q && scale ? RF_OK : out_of_memory(&part, bytes);
    for (size_t j = 0; j < span && !status; to += p[j].count, next += p[j++].dim[0])
        status = codes_of(m, from, i + j, to, next, &part);
    if (!status) status = pack_int8_rows(m, i, rows, q, scale, &part);
    if (status) rf_fail(why, status, "tensor \"%s\": %s", p->name, part.text);
    rf__free(m->ctx, scale);
    return status;
}

/* Several matrices in one are packed from their values, because int8 in a file has scales of the file's rows. */
static bool any_int8(const rf_model *m, const struct source *from, size_t i)
{
    const size_t span = rf__params_span(&m->params, i);
    if (m->params.p[i].flags & RF_ROW_PARTS) return false;
    for (size_t j = i; j < i + span; j++)
        if (is_int8(from, j)) return true;
    return false;
}

static rf_status pack(rf_model *m, const struct source *from, size_t i, rf_error *why)
{
    const rf_param *p = &m->params.p[i];
    const size_t span = rf__params_span(&m->params, i);
    int64_t rows = 0;
    for (size_t j = 0; j < span; j++) rows += p[j].dim[0];
    if (!rows) return RF_OK;
    if (int8_weights(m) && any_int8(m, from, i)) return pack_codes(m, from, i, rows, why);
    const size_t bytes = (size_t)(rows * p->dim[1]) * sizeof(float);
    float *w = space_for(m, from, bytes), *to = w;
    if (!w) return out_of_memory(why, bytes);
    rf_status status = RF_OK;
    for (size_t j = 0; j < span && !status; to += p[j++].count) status = read_one(m, from, i + j, to, why);
    rf_error whole = {0};
    if (!status && (status = pack_rows(m, i, rows, w, &whole))) status = name_tensor(m, i, w, &whole, why);
    return status;
}

/* Whether a mapped tensor can be used in place. */
static bool usable_as_is(const rf_weight *t)
{
    if (!t || t->stride) return false;
    if (rf__quantized(t)) return true;
    const size_t size = t->readable ? t->type == RF_F32 ? sizeof(float) : sizeof(uint16_t) : 0;
    return size && (uintptr_t)t->data % size == 0;
}

static bool stays_in_file(const rf_model *m, const struct source *from, size_t i)
{
    return i == m->params.word && from->file && usable_as_is(from->match[i]);
}

/* The embedding of one word. */
static void word(const rf_model *m, int64_t row, float *to)
{
    const int64_t width = m->params.p[m->params.word].dim[1];
    rf__read_row(m->ctx->k, &m->words, width, row, 0, to, width);
}

static bool finite_words(const rf_model *m, const rf_param *p, float *row)
{
    for (int64_t i = 0; i < p->dim[0]; i++) {
        word(m, i, row);
        if (!m->ctx->k->finite(row, p->dim[1])) return false;
    }
    return true;
}

/* The scales of rows in int8 are finite (rf__quantized_check). */
static rf_status leave_in_file(rf_model *m, const struct source *from, size_t i, rf_error *why)
{
    const rf_param *p = &m->params.p[i];
    const rf_weight *t = from->match[i], *scale = rf__quantized_scale(from->file, t);
    bool finite = true;
    rf_status status = rf__weights_check_sum(from->file, t, why);
    if (!status && !scale && t->type == RF_F32) {
        m->value[i] = (float *)(uintptr_t)t->data;
        finite = m->ctx->k->finite(m->value[i], (int64_t)p->count);
    } else if (!status) {
        const size_t n = scale ? scale->count : (size_t)p->dim[1];
        float *const space = rf__alloc(m->ctx, (n ? n : 1) * sizeof *space);
        if (!space) return out_of_memory(why, n * sizeof *space);
        m->words = (rf_file_rows){scale ? RF_I8 : t->type, t->data, scale ? space : NULL};
        if (scale) status = rf__weights_read(from->file, scale, m->word_scale = space, 1, why);
        else {
            finite = finite_words(m, p, space);
            rf__free(m->ctx, space);
        }
    }
    if (!status) rf__weights_forget(from->file, t);
    if (status || finite) return status;
    return rf_fail(why, RF_ENUMERIC, "%s: %s: expected finite values, got NaN or infinity",
                   rf__weights_name(from->file), p->name);
}

static size_t aligned(size_t floats) { return (floats + 15) & ~(size_t)15; }

static rf_status gather_into(rf_model *m, const struct source *from, rf_error *why)
{
    const rf_param *p = m->params.p;
    size_t total = 0, at = 0;
    for (size_t i = 0; i < m->params.n; i++)
        if (!is_matrix(&p[i]) && !stays_in_file(m, from, i)) total += aligned(p[i].count);
    m->vectors = rf__calloc(m->ctx, total ? total : 1, sizeof *m->vectors);
    if (!m->vectors) return out_of_memory(why, total * sizeof *m->vectors);

    rf_status status = RF_OK;
    for (size_t i = 0; i < m->params.n && !status; i++) {
        if (is_matrix(&p[i])) {
            if (!from->file || from->match[i]) status = pack(m, from, i, why);
        } else if (stays_in_file(m, from, i)) {
            status = leave_in_file(m, from, i, why);
        } else {
            if (!p[i].joined) at = aligned(at);
            m->value[i] = m->vectors + at;
            at += p[i].count;
            status = read_one(m, from, i, m->value[i], why);
        }
    }
    return status;
}

static rf_status gather(rf_model *m, const struct source *given, rf_error *why)
{
    struct space space = {NULL, 0};
    struct source from = *given;
    from.space = &space;
    const rf_status status = gather_into(m, &from, why);
    rf__free(m->ctx, space.at);
    return status;
}

/* ---- opening ---- */

static rf_status begin(const rf_ctx *ctx, const rf_config *config, rf_type type, rf_model **out, rf_error *why)
{
    rf_model *m = rf__calloc(ctx, 1, sizeof *m);
    if (!m) return rf_fail(why, RF_ENOMEM, "out of memory: a model");
    m->ctx = ctx;
    m->type = type;
    m->config = *config;
    m->config.hidden_dropout_prob = m->config.attention_probs_dropout_prob = 0;
    pthread_mutex_init(&m->lock, NULL);
    const rf_status status = rf__params_new_head(ctx, &m->config, rf_config_head(config), &m->params, why);
    if (!status) {
        m->value = rf__calloc(ctx, m->params.n, sizeof *m->value);
        m->packed = rf__calloc(ctx, m->params.n, sizeof *m->packed);
    }
    if (status || !m->value || !m->packed) {
        rf_model_close(m);
        return status ? status
                      : rf_fail(why, RF_ENOMEM, "out of memory: a model of %lld layers",
                                (long long)config->num_hidden_layers);
    }
    *out = m;
    return RF_OK;
}

static rf_status load(rf_model *m, const char *folder, rf_error *why)
{
    rf_status status = rf_weights_open(m->ctx, folder, &m->file, why);
    if (status) return status;

    struct source from = {.file = m->file, .match = rf__calloc(m->ctx, m->params.n, sizeof *from.match)};
    if (!from.match) return out_of_memory(why, m->params.n * sizeof *from.match);
    status = rf__params_match(&m->params, m->file, from.match, &m->has_head, why);
    if (!status) status = rf__position_tables(&m->params, m->file, why);
    m->config.rope_frequency = m->params.config.rope_frequency;
    m->config.rope_frequencies = m->params.config.rope_frequencies;
    m->config.position_table = m->params.config.position_table;
    m->config.position_table_size = m->params.config.position_table_size;
    if (!status && !(m->ignored = rf__params_ignored(&m->params, m->file, from.match)))
        status = out_of_memory(why, 0);
    if (!status) status = gather(m, &from, why);
    rf__free(m->ctx, (void *)from.match);
    return status;
}

rf_status rf_model_open(const rf_ctx *ctx, const char *folder, rf_model **out, rf_error *why)
{
    return rf_model_open_as(ctx, folder, RF_F32, out, why);
}

rf_status rf_model_open_as(const rf_ctx *ctx, const char *folder, rf_type type, rf_model **out, rf_error *why)
{
    if (!(ctx && folder && out)) return rf__missing("rf_model_open_as", "ctx, folder, out", why);
    rf_config config;
    rf_held_folder *held = NULL, *seen = NULL;
    rf_model *m = NULL;
    rf_status status = rf_folder_hold(ctx, folder, &held, why);
    if (status) return status;
    status = rf_config_read(ctx, folder, &config, why);
    if (!status) status = rf__logit_score_read(ctx, folder, &config, why);
    if (!status) status = rf__model_open_with(ctx, folder, type, &config, &m, why);
    status = rf__folder_release_into(&held, &seen, status, why);
    if (m && seen) m->seen = seen;
    if (!status) *out = m;
    else rf_model_close(m);
    return status;
}

/* Tokens beyond vocab_size, such as Gemma's token for images, are refused if a text contains them. */
rf_status rf__model_open_with(const rf_ctx *ctx, const char *folder, rf_type type, const rf_config *config,
                              rf_model **out, rf_error *why)
{
    rf_model *m = NULL;
    rf_status status = begin(ctx, config, type, &m, why);
    if (status) rf__config_named(ctx, folder, why);
    if (!status && !(m->folder = rf__strdup(ctx, folder))) status = rf_fail(why, RF_ENOMEM, "out of memory: a path");
    if (!status) status = load(m, folder, why);
    if (!status) status = rf__generation_open(m, folder, why);
    const char *tokenizer = NULL;
    if (!status) status = rf__tokenizer_find(ctx, folder, &tokenizer, why);
    if (!status && tokenizer) status = rf_tokenizer_open(ctx, folder, &m->tokenizer, why);
    if (status) {
        rf_model_close(m);
        return status;
    }
    *out = m;
    return RF_OK;
}

rf_status rf__model_set_requested_folder(rf_model *m, const char *folder, rf_error *why)
{
    m->requested_folder = rf__strdup(m->ctx, folder);
    return m->requested_folder ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a path");
}

/* Creates a model without a file, with the config's own head. */
static rf_status make(const rf_ctx *ctx, const rf_config *config, const struct source *from, rf_type type,
                      rf_model **out, rf_error *why)
{
    rf_model *m = NULL;
    rf_config own;
    rf_status status = rf__config_given(&own, config, why);
    if (!status) status = rf__config_check(&own, "config", why);
    if (!status) status = rf__config_keep(ctx, &own, why);
    if (!status) status = begin(ctx, &own, type, &m, why);
    if (!status) status = gather(m, from, why);
    if (!status) status = rf__generation_open(m, NULL, why);
    if (status) {
        rf_model_close(m);
        return status;
    }
    m->has_head = true;
    *out = m;
    return RF_OK;
}

rf_status rf_model_random(const rf_ctx *ctx, const rf_config *config, uint64_t seed, rf_model **out, rf_error *why)
{
    return rf_model_random_as(ctx, config, seed, RF_F32, out, why);
}

rf_status rf_model_random_as(const rf_ctx *ctx, const rf_config *config, uint64_t seed, rf_type type, rf_model **out,
                             rf_error *why)
{
    if (!(ctx && config && out)) return rf__missing("rf_model_random_as", "ctx, config, out", why);
    return make(ctx, config, &(struct source){.seed = seed}, type, out, why);
}

rf_status rf__model_of_slab(const rf_params *params, const float *slab, rf_type type, rf_model **out, rf_error *why)
{
    return make(params->ctx, &params->config, &(struct source){.slab = slab}, type, out, why);
}

void rf_model_close(rf_model *m)
{
    if (!m) return;
    for (size_t i = 0; m->packed && i < m->params.n; i++) rf_packed_free(m->packed[i]);
    rf__free(m->ctx, m->packed);
    rf__free(m->ctx, m->value);
    rf__free(m->ctx, m->vectors);
    rf__free(m->ctx, m->word_scale);
    rf__free(m->ctx, m->ignored);
    rf__free(m->ctx, m->folder);
    rf__free(m->ctx, m->requested_folder);
    rf__folder_forget(m->seen);
    rf_tokenizer_free(m->tokenizer);
    rf__generation_clear(m->ctx, &m->generation);
    rf_weights_close(m->file);
    rf__params_free(&m->params);
    pthread_mutex_destroy(&m->lock);
    rf__free(m->ctx, m);
}

const rf_config *rf_model_config(const rf_model *m) { return &m->config; }
const rf_tokenizer *rf_model_tokenizer(const rf_model *m) { return m->tokenizer; }
int rf_model_has_head(const rf_model *m) { return m->has_head && m->params.head == RF_HEAD_MLM; }
rf_head rf_model_task(const rf_model *m) { return m->has_head ? m->params.head : RF_HEAD_MLM; }
const char *rf__model_ignored(const rf_model *m) { return m->ignored ? m->ignored : ""; }

const float *rf__model_word_embeddings(const rf_model *m, float **own, rf_error *why)
{
    const rf_param *p = &m->params.p[m->params.word];
    *own = NULL;
    if (!m->words.data) return m->value[m->params.word];
    *own = rf__alloc(m->ctx, p->count * sizeof **own);
    if (!*own) out_of_memory(why, p->count * sizeof **own);
    for (int64_t i = 0; *own && i < p->dim[0]; i++) word(m, i, *own + i * p->dim[1]);
    return *own;
}

/* The word embeddings as the head's matrix, packed once for all sessions. */
rf_status rf__model_head(rf_model *m, const rf_packed **out, rf_error *why)
{
    const size_t word = m->params.word;
    const rf_param *p = &m->params.p[word];
    rf_status status = RF_OK;
    pthread_mutex_lock(&m->lock);
    if (!m->packed[word]) {
        float *own;
        const float *words = rf__model_word_embeddings(m, &own, why);
        status = words ? rf_pack(m->ctx, type_of(m, p), p->dim[0], p->dim[1], words, &m->packed[word], why) : RF_ENOMEM;
        rf__free(m->ctx, own);
    }
    *out = m->packed[word];
    pthread_mutex_unlock(&m->lock);
    return status;
}
