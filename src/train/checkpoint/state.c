/* state.c — trainer_state.json. Numbers are written so that reading gives the same bits. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "roformer/kernel/kernels.h"
#include "store/store.h"
#include "train/checkpoint/state.h"

static const char format[] = "roformer-trainer-1";

typedef struct row { const char *name; size_t at; bool real, late; } row;      /* late: 0 in older files */
#define AT(field) offsetof(rf__state, field)
static const row rows[] = {
    {"global_step", AT(step), false, false},
    {"max_steps", AT(max_steps), false, false},
    {"updates", AT(updates), false, false},
    {"skipped", AT(skipped), false, false},
    {"skipped_in_a_row", AT(skipped_in_a_row), false, false},
    {"tokens", AT(tokens), false, false},
    {"metrics_bytes", AT(metrics_bytes), false, false},
    {"seconds", AT(seconds), true, false},
    {"eval_loss", AT(eval_loss), true, false},
    {"eval_accuracy", AT(eval_accuracy), true, false},
    {"eval_step", AT(eval_step), false, false},
    {"eval_owed", AT(eval_owed), false, true},
    {"best_metric", AT(best_metric), true, false},
    {"best_step", AT(best_step), false, false},
    {"data_length", AT(data_length), false, false},
    {"data_epoch", AT(position.epoch), false, false},
    {"data_index", AT(position.index), false, false},
    {"data_tokens", AT(position.tokens), false, true},
    {"interval_loss", AT(interval.loss), true, false},
    {"interval_seconds", AT(interval.seconds), true, false},
    {"interval_labels", AT(interval.labels), false, false},
    {"interval_tokens", AT(interval.tokens), false, false},
    {"events_bytes", AT(events_bytes), false, true},
    {"metrics_crc", AT(metrics_crc), false, true},
    {"events_crc", AT(events_crc), false, true},
    {"interval_wait", AT(interval.wait), true, true},
    {"interval_room", AT(interval.capacity), false, true},
    {"patience_best", AT(patience.best), true, true},
    {"patience_seen", AT(patience.seen), false, true},
    {"patience_stale", AT(patience.stale), false, true},
    {"loss_mean", AT(loss.mean), true, true},
    {"loss_variance", AT(loss.variance), true, true},
    {"loss_seen", AT(loss.seen), false, true},
    {"total_loss", AT(total.loss), true, true},
    {"total_steps", AT(total.steps), false, true},
    {"micro_batches", AT(micro_batches), false, true},
    {"eval_bleu", AT(eval_bleu), true, true},
    {"good_step", AT(good_step), false, true},
    {"steps_moved", AT(steps_moved), true, true},
    {"epoch_ends", AT(epoch_ends), false, true},
};

void rf__state_init(rf__state *s)
{
    *s = (rf__state){.eval_loss = NAN, .eval_accuracy = NAN, .eval_bleu = NAN, .best_metric = NAN};
}

double rf__state_metric(const rf__state *s, rf_metric metric)
{
    return metric == RF_METRIC_BLEU ? s->eval_bleu : metric == RF_METRIC_ACCURACY ? s->eval_accuracy : s->eval_loss;
}

/* ---- writing ---- */

static json_t *value_of(const rf__state *s, const row *r)
{
    const char *p = (const char *)s + r->at;
    double real;
    int64_t whole;
    if (r->real) {
        memcpy(&real, p, sizeof real);
        return isfinite(real) ? json_real(real) : json_null();
    }
    memcpy(&whole, p, sizeof whole);
    return json_integer(whole);
}

/* Every stream has been used after the first few pieces; before that, its position can be omitted. */
static bool cursor_moved(const rf__stream_position *t) { return t->tokens > 0; }

/* What determines the bits of a sum: the rung, and how it divides k within the depth of its shape. */
void rf__state_kernels(const rf_ctx *ctx, char out[RF__KERNELS])
{
    const int64_t piece = ctx->k->gemm_panel_shape()->piece;
    const int n = snprintf(out, RF__KERNELS, "%s, built-in", rf_ctx_isa(ctx));
    if (piece) snprintf(out + n, RF__KERNELS - (size_t)n, ", k in pieces of %lld", (long long)piece);
}

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *stage_metrics(const rf__state *s)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < s->stages; i++) {
        json_t *pair = json_array();
        rf__json_add(&pair, number(s->stage[i].loss));
        rf__json_add(&pair, number(s->stage[i].accuracy));
        rf__json_add(&list, pair);
    }
    return list;
}

rf_status rf__state_save(const rf_ctx *ctx, const rf__state *s, json_t *options, double epoch, const char *path,
                         rf_error *why)
{
    char hash[24], held[24], kernels[RF__KERNELS];
    snprintf(hash, sizeof hash, "%016" PRIx64, s->data);
    snprintf(held, sizeof held, "%016" PRIx64, s->held);
    rf__state_kernels(ctx, kernels);
    json_t *all = json_pack("{s:s, s:s, s:s, s:s, s:f}", "format", format, "version", rf_version(), "kernels", kernels,
                            "data", hash, "epoch", epoch);
    if (s->held) rf__json_set(&all, "data_held", json_string(held));
    for (size_t i = 0; i < RF_COUNT(rows); i++) rf__json_set(&all, rows[i].name, value_of(s, &rows[i]));
    json_t *waiting = json_array();
    for (int i = 0; i < s->position.waits; i++)
        rf__json_add(&waiting, json_pack("[I, I]", (json_int_t)s->position.waiting[i].epoch,
                                                 (json_int_t)s->position.waiting[i].piece));
    rf__json_set(&all, "data_waiting", waiting);
    json_t *cursors = json_array();
    for (int i = 1; i < RF__SOURCES && cursor_moved(&s->position.cursor[i]); i++)
        rf__json_add(&cursors,
                     json_pack("[I, I, I]", (json_int_t)s->position.cursor[i].epoch,
                               (json_int_t)s->position.cursor[i].index, (json_int_t)s->position.cursor[i].tokens));
    rf__json_set(&all, "data_streams", cursors);
    if (s->stages) rf__json_set(&all, "stages", stage_metrics(s));
    rf__json_set(&all, "options", json_incref(options));
    char *text = all ? rf__json_dump(all, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(all);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: %s", path);
    const rf_status status = rf__replace_file(ctx, path, text, strlen(text), why);
    free(text);
    return status;
}

/* ---- reading ---- */

/* Larger than the count of any run; smaller numbers can be used in arithmetic. */
static bool is_count(const json_t *j)
{
    return json_is_integer(j) && json_integer_value(j) >= 0 && json_integer_value(j) <= (json_int_t)1 << 53;
}

static bool set(rf__state *s, const row *r, const json_t *j)
{
    char *p = (char *)s + r->at;
    if (!j && r->late) return true;
    const double real = json_is_null(j) ? NAN : json_number_value(j);
    const int64_t whole = json_integer_value(j);
    if (r->real) memcpy(p, &real, sizeof real);
    else memcpy(p, &whole, sizeof whole);
    return r->real ? json_is_number(j) || json_is_null(j) : is_count(j);
}

static bool set_waiting(rf__data_position *at, const json_t *list)
{
    const size_t n = json_array_size(list);
    if (!json_is_array(list) || n > RF__WAITING) return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *epoch = json_array_get(json_array_get(list, i), 0),
                     *piece = json_array_get(json_array_get(list, i), 1);
        if (!is_count(epoch) || !is_count(piece)) return false;
        at->waiting[i] = (rf__piece_position){json_integer_value(epoch), json_integer_value(piece)};
    }
    at->waits = (int)n;
    return true;
}

/* The streams after the first one; older files have none. */
static bool set_cursors(rf__data_position *at, const json_t *list)
{
    const size_t n = json_array_size(list);
    if (!list) return true;
    if (!json_is_array(list) || n >= RF__SOURCES) return false;
    for (size_t i = 0; i < n; i++) {
        int64_t number[3];
        for (size_t k = 0; k < 3; k++) {
            const json_t *x = json_array_get(json_array_get(list, i), k);
            number[k] = json_integer_value(x);
            if (!is_count(x)) return false;
        }
        at->cursor[i + 1] = (rf__stream_position){number[0], number[1], number[2]};
    }
    return true;
}

/* Loss and accuracy of the finished stages; a run without stages has none. */
static bool set_stages(rf__state *s, const json_t *list)
{
    const size_t n = json_array_size(list);
    if (!list) return true;
    if (!json_is_array(list) || n > RF__STAGES) return false;
    for (size_t i = 0; i < n; i++) {
        double number[2];
        for (size_t k = 0; k < 2; k++) {
            const json_t *x = json_array_get(json_array_get(list, i), k);
            if (!json_is_number(x) && !json_is_null(x)) return false;
            number[k] = json_is_null(x) ? NAN : json_number_value(x);
        }
        s->stage[i].loss = number[0];
        s->stage[i].accuracy = number[1];
    }
    s->stages = (int64_t)n;
    return true;
}

static bool set_hash(uint64_t *to, const char *hash)
{
    char *end = NULL;
    if (hash) *to = strtoull(hash, &end, 16);
    return hash && end != hash && !*end;
}

static rf_status read_all(const json_t *all, const char *path, rf__state *s, rf_error *why)
{
    const char *kind = json_string_value(json_object_get(all, "format"));
    const char *hash = json_string_value(json_object_get(all, "data")),
               *version = json_string_value(json_object_get(all, "version"));
    const char *kernels = json_string_value(json_object_get(all, "kernels"));
    const json_t *held = json_object_get(all, "data_held");
    if (!kind || strcmp(kind, format))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: format: expected \"%s\", got %s", path, format,
                       rf__json_shown(json_object_get(all, "format")).text);
    for (size_t i = 0; i < RF_COUNT(rows); i++)
        if (!set(s, &rows[i], json_object_get(all, rows[i].name)))
            return rf_fail(why, RF_EDATA, "%s: %s: expected a value of this key, got another one", path, rows[i].name);
    if (!set_waiting(&s->position, json_object_get(all, "data_waiting")))
        return rf_fail(why, RF_EDATA, "%s: data_waiting: expected a list of at most %d pieces, got %s", path,
                       (int)RF__WAITING, rf__json_shown(json_object_get(all, "data_waiting")).text);
    if (!set_cursors(&s->position, json_object_get(all, "data_streams")))
        return rf_fail(why, RF_EDATA, "%s: data_streams: expected a list of fewer than %d places, got %s", path,
                       (int)RF__SOURCES, rf__json_shown(json_object_get(all, "data_streams")).text);
    if (!set_stages(s, json_object_get(all, "stages")))
        return rf_fail(why, RF_EDATA, "%s: stages: expected a list of at most %d losses with accuracies, got %s", path,
                       (int)RF__STAGES, rf__json_shown(json_object_get(all, "stages")).text);
    snprintf(s->version, sizeof s->version, "%.23s", version ? rf__printable(version).text : "");
    snprintf(s->kernels, sizeof s->kernels, "%.31s", kernels ? rf__printable(kernels).text : "");
    if (!set_hash(&s->data, hash)) return rf_fail(why, RF_EDATA, "%s: data: expected a hash, got %s", path,
                                                  rf__json_shown(json_object_get(all, "data")).text);
    if (held && !set_hash(&s->held, json_string_value(held)))
        return rf_fail(why, RF_EDATA, "%s: data_held: expected a hash, got %s", path, rf__json_shown(held).text);
    return RF_OK;
}

rf_status rf__state_parse(const char *text, size_t size, const char *name, rf__state *out, json_t **options,
                          rf_error *why)
{
    rf__state s;
    rf__state_init(&s);
    rf_error own = {0};
    if (!why) why = &own;
    json_t *all = rf__json_parse(text, size, 0, name, why);
    if (!all) return why->code;
    rf_status status = read_all(all, name, &s, why);
    json_t *saved = json_object_get(all, "options");
    if (!status && !json_is_object(saved)) status = rf_fail(why, RF_EDATA, "%s: options: expected an object, got %s",
                                                            name, rf__json_shown(saved).text);
    if (!status) {
        *out = s;
        *options = json_incref(saved);
    }
    json_decref(all);
    return status;
}

rf_status rf__state_load(const rf_ctx *ctx, const char *path, rf__state *out, json_t **options, rf_error *why)
{
    enum { LIMIT = 1 << 24 };
    char *text;
    size_t size;
    rf_status status = rf__read_file(ctx, path, LIMIT, &text, &size, why);
    if (status) return status;
    status = rf__state_parse(text, size, path, out, options, why);
    rf__free(ctx, text);
    return status;
}
