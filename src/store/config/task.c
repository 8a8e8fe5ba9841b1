/* task.c — names of the heads' classes in transformers, and the keys of config.json that belong to heads. */
#include <stdio.h>
#include <stdlib.h>

#include "graph/tensor.h"
#include "roformer/inspect/files.h"
#include "store/family.h"
#include "store/store.h"
#include "store/task.h"

enum { MOST_LABELS = 65536 };

const rf_class_row *rf__config_class(const rf_config *c)
{
    const rf_family_config *f = rf__config_family(c);
    for (const rf_class_row *is = f ? f->class : NULL; is && is->name; is++)
        if (!strcmp(c->architecture, is->name)) return is;
    return NULL;
}

rf_head rf_config_head(const rf_config *c)
{
    const rf_family_config *f = rf__config_family(c);
    const rf_class_row *is = rf__config_class(c);
    return is ? is->head : f ? f->class->head : RF_HEAD_MLM;
}

void rf_config_set_head(rf_config *c, rf_head head)
{
    const rf_family_config *f = rf__config_family(c);
    for (const rf_class_row *is = f ? f->class : NULL; is && is->name; is++)
        if (is->head == head && is->causal == (head == RF_HEAD_MLM && c->is_decoder)) {
            if (f->pairs) c->is_encoder_decoder = head != RF_HEAD_EMBED && head != RF_HEAD_TOKEN;
            snprintf(c->architecture, sizeof c->architecture, "%s", is->name);
            return;
        }
}

rf_head rf__config_nearest_head(const rf_config *c, rf_head head)
{
    const rf_family_config *f = rf__config_family(c);
    const rf_head other = head == RF_HEAD_SEQUENCE ? RF_HEAD_POOLED : head == RF_HEAD_POOLED ? RF_HEAD_SEQUENCE : head;
    for (const rf_class_row *is = f ? f->class : NULL; is && is->name; is++)
        if (is->head == head) return head;
    return other;
}

/* ---- reading ---- */

/* The name of id `i`: keys are decimal numbers. */
static const json_t *label_at(const json_t *id2label, size_t i)
{
    char key[32];
    snprintf(key, sizeof key, "%zu", i);
    return json_object_get(id2label, key);
}

static rf_status read_labels(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *names = json_object_get(root, "id2label"), *number = json_object_get(root, "num_labels");
    if (json_is_object(names)) {
        const size_t n = json_object_size(names);
        if (!n || n > MOST_LABELS)
            return rf_fail(why, RF_EDATA, "%s: id2label: expected 1 to %d labels, got %zu", file, (int)MOST_LABELS, n);
        for (size_t i = 0; i < n; i++)
            if (!json_is_string(label_at(names, i)))
                return rf_fail(why, RF_EDATA,
                               "%s: id2label: expected a string for each of the %zu labels, got none for \"%zu\"", file,
                               n, i);
        c->num_labels = (int64_t)n;
    } else if (names && !json_is_null(names)) {
        return rf_fail(why, RF_EDATA, "%s: id2label: expected an object, got %s", file, rf__json_shown(names).text);
    } else if (number && !json_is_null(number)) {
        const json_int_t n = json_integer_value(number);
        if (!json_is_integer(number) || n < 1 || n > MOST_LABELS)
            return rf_fail(why, RF_EDATA, "%s: num_labels: expected an integer from 1 to %d, got %s", file,
                           (int)MOST_LABELS, rf__json_shown(number).text);
        c->num_labels = n;
    }
    return RF_OK;
}

static rf_status read_string(const char *file, const json_t *root, const char *key, char *to, size_t size,
                             rf_error *why)
{
    const json_t *v = json_object_get(root, key);
    if (!v || json_is_null(v)) return RF_OK;
    if (!json_is_string(v)) return rf_fail(why, RF_EDATA, "%s: %s: expected a string, got %s", file, key,
                                           rf__json_shown(v).text);
    if (json_string_length(v) >= size)
        return rf_fail(why, RF_EDATA, "%s: %s: expected at most %zu bytes, got %zu", file, key, size - 1,
                       json_string_length(v));
    memcpy(to, json_string_value(v), json_string_length(v) + 1);
    return RF_OK;
}

static const char *const summaries[] = {
    [RF_SUMMARY_LAST] = "last", [RF_SUMMARY_FIRST] = "first", [RF_SUMMARY_MEAN] = "mean"};

const char *rf__summary_name(rf_summary summary)
{
    return (size_t)summary < RF_COUNT(summaries) ? summaries[summary] : NULL;
}

bool rf__summary_named(const char *name, rf_summary *out)
{
    for (size_t i = 0; i < RF_COUNT(summaries); i++)
        if (!strcmp(name, summaries[i])) return *out = (rf_summary)i, true;
    return false;
}

/* The kinds of a SequenceSummary; without an index, cls_index also is the last token. */
static bool summary_of(const char *type, rf_summary *out)
{
    return rf__summary_named(strcmp(type, "cls_index") ? type : "last", out);
}

static rf_status read_activation(const char *file, const json_t *act, rf_config *c, rf_error *why)
{
    const char *name = json_string_value(act);
    if (!act || (name && rf__act_named(name, &c->summary_activation))) return RF_OK;
    if (json_is_null(act) || (name && !*name)) return c->summary_activation = RF_ACT_NONE, RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: summary_activation: expected null or a name that hidden_act may have, "
                   "got %s", file, rf__json_shown(act).text);
}

rf_status rf__sequence_summary_read(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *type = json_object_get(root, "summary_type");
    const char *name = json_string_value(type);
    if (!type || (name && summary_of(name, &c->summary)))
        return read_activation(file, json_object_get(root, "summary_activation"), c, why);
    return rf_fail(why, RF_EUNSUPPORTED, "%s: summary_type: expected last, first or mean, got %s", file,
                   rf__json_shown(type).text);
}

void rf__sequence_summary_write(const rf_config *c, json_t **more)
{
    const char *act = rf__config_act_name(c->summary_activation);
    rf__json_set(more, "summary_type", json_string(rf__summary_name(c->summary)));
    rf__json_set(more, "summary_activation", act ? json_string(act) : json_null());
}

/* The kinds of a SequenceSummary that have no weights. */
static rf_status read_summary(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    char type[32] = "last";
    const json_t *act = json_object_get(root, "summary_activation");
    const rf_status status = read_string(file, root, "summary_type", type, sizeof type, why);
    if (status) return status;
    const bool plain = !json_is_true(json_object_get(root, "summary_use_proj")) && (!act || json_is_null(act));
    if (plain && summary_of(type, &c->summary)) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED,
                   "%s: summary_type: expected last, first or mean without projection and activation, got \"%s\"%s",
                   file, rf__printable(type).text, plain ? "" : " with a projection or an activation");
}

const char *const rf__poolings[] = {
    "cls", "mean", "max", "last", "sqrtlen", "wmean", NULL,
};

int rf__pooling_of(const char *name)
{
    for (int i = 0; rf__poolings[i]; i++)
        if (!strcmp(name, rf__poolings[i])) return i;
    return -1;
}

/* Part i is one less than bits 4 i to 4 i + 3 of RF_POOL_SEVERAL | bits. */
enum { BITS = 4, MOST = 7 };

int rf__pooling_count(rf_pooling p)
{
    int n = 0;
    if (p < RF_POOL_SEVERAL) return 1;
    while (n < MOST && ((int)p >> (BITS * n) & 15)) n++;
    return n;
}

rf_pooling rf__pooling_part(rf_pooling p, int i)
{
    return p < RF_POOL_SEVERAL ? p : (rf_pooling)(((int)p >> (BITS * i) & 15) - 1);
}

rf_pooling rf_pooling_join(rf_pooling a, rf_pooling b)
{
    const int n = rf__pooling_count(a), m = rf__pooling_count(b);
    int bits = 0;
    if (n + m > MOST) return RF_POOL_AUTO;
    for (int i = 0; i < n + m; i++) {
        const rf_pooling one = i < n ? rf__pooling_part(a, i) : rf__pooling_part(b, i - n);
        bits |= ((int)one + 1) << BITS * i;
    }
    return (rf_pooling)((int)RF_POOL_SEVERAL | bits);
}

bool rf__poolings_are(rf_pooling p)
{
    for (int i = 0; i < rf__pooling_count(p); i++)
        if (rf__pooling_part(p, i) < RF_POOL_CLS || rf__pooling_part(p, i) > RF_POOL_WEIGHTED) return false;
    return p != RF_POOL_SEVERAL;
}

rf__pooling_text rf__poolings_text(rf_pooling p)
{
    rf__pooling_text out = {""};
    size_t n = 0;
    for (int i = 0; i < rf__pooling_count(p); i++)
        n += (size_t)snprintf(out.text + n, sizeof out.text - n, "%s%s", i ? "+" : "",
                              rf__poolings[rf__pooling_part(p, i)]);
    return out;
}

rf_pooling rf__poolings_of(const char *text)
{
    rf_pooling all = RF_POOL_AUTO;
    for (bool first = true; *text; first = false) {
        char name[16];
        const size_t n = strcspn(text, "+");
        snprintf(name, sizeof name, "%.*s", (int)rf__min64((int64_t)n, 15), text);
        const int one = rf__pooling_of(name);
        if (one >= 0) all = first ? (rf_pooling)one : rf_pooling_join(all, (rf_pooling)one);
        if (one < 0 || all == RF_POOL_AUTO) return RF_POOL_AUTO;
        text += n + (text[n] == '+');
    }
    return all;
}

static rf_status read_pooling(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *unit = json_object_get(root, "sentence_normalize");
    const rf_status status =
        read_string(file, root, "sentence_pooling", c->sentence_pooling, sizeof c->sentence_pooling, why);
    if (status) return status;
    if (unit && !json_is_boolean(unit))
        return rf_fail(why, RF_EDATA, "%s: sentence_normalize: expected true or false, got %s", file,
                       rf__json_shown(unit).text);
    c->sentence_normalize = json_is_true(unit);
    if (!*c->sentence_pooling || rf__pooling_of(c->sentence_pooling) >= 0) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s: sentence_pooling: expected cls, mean, max or last, got \"%s\"", file,
                   rf__printable(c->sentence_pooling).text);
}

/* Keys that define how labeled files are read. */
#define COLUMN(field) {#field, offsetof(rf_config, field), sizeof ((rf_config *)0)->field}
static const struct { const char *key; size_t at, size;
} reading[] = {
    COLUMN(task_text_column), COLUMN(task_pair_column), COLUMN(task_label_column),
    COLUMN(task_header),      COLUMN(task_separator),
};
#undef COLUMN

/* Reads the labels, for models whose id2label names other outputs. */
static rf_status check_task_labels(const char *file, const json_t *labels, rf_error *why)
{
    const size_t n = json_array_size(labels);
    if (!labels) return RF_OK;
    if (!n || n > MOST_LABELS)
        return rf_fail(why, RF_EDATA, "%s: task_labels: expected a list of 1 to %d labels, got %s", file,
                       (int)MOST_LABELS, rf__json_shown(labels).text);
    for (size_t i = 0; i < n; i++)
        if (!json_is_string(json_array_get(labels, i)))
            return rf_fail(why, RF_EDATA, "%s: task_labels[%zu]: expected a string, got %s", file, i,
                           rf__json_shown(json_array_get(labels, i)).text);
    return RF_OK;
}

/* As in transformers. */
static rf_status check_problem(const char *file, const rf_config *c, rf_error *why)
{
    static const char *const known[] = {"", "regression", "single_label_classification", "multi_label_classification"};
    size_t i = 0;
    while (i < RF_COUNT(known) && strcmp(c->problem_type, known[i])) i++;
    if (i == RF_COUNT(known))
        return rf_fail(why, RF_EDATA,
                       "%s: problem_type: expected regression, single_label_classification or "
                       "multi_label_classification, got \"%s\"", file, rf__printable(c->problem_type).text);
    const rf_head head = rf_config_head(c);
    if (i != 2 || c->num_labels > 1 || (head != RF_HEAD_SEQUENCE && head != RF_HEAD_POOLED)) return RF_OK;
    return rf_fail(why, RF_EDATA,
                   "%s: problem_type: expected regression or multi_label_classification for 1 output, got "
                   "single_label_classification: of one label alone the probability is always 1", file);
}

const json_t *rf__cross_encoder_key(const json_t *config)
{
    const json_t *newer = json_object_get(json_object_get(config, "sentence_transformers"), "activation_fn");
    return newer ? newer : json_object_get(config, "sbert_ce_default_activation_function");
}

rf_status rf__task_read(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *length = json_object_get(root, "task_max_length");
    rf_status status = read_labels(file, root, c, why);
    if (!status) status = read_string(file, root, "problem_type", c->problem_type, sizeof c->problem_type, why);
    if (!status) status = check_problem(file, c, why);
    if (!status)
        status = read_string(file, root, "finetuning_task", c->finetuning_task, sizeof c->finetuning_task, why);
    if (!status && length) {
        c->task_max_length = json_integer_value(length);
        if (!json_is_integer(length) || c->task_max_length < 0 || c->task_max_length > 1 << 20)
            status = rf_fail(why, RF_EDATA, "%s: task_max_length: expected an integer from 0 to %d, got %s", file,
                             1 << 20, rf__json_shown(length).text);
    }
    for (size_t i = 0; i < RF_COUNT(reading) && !status; i++)
        status = read_string(file, root, reading[i].key, (char *)c + reading[i].at, reading[i].size, why);
    if (!status) status = check_task_labels(file, json_object_get(root, "task_labels"), why);
    const json_t *pairs = json_object_get(root, "task_pairs"),
                 *negative = json_object_get(root, "version_2_with_negative");
    if (!status && pairs && !json_is_boolean(pairs))
        status = rf_fail(why, RF_EDATA, "%s: task_pairs: expected true or false, got %s", file,
                         rf__json_shown(pairs).text);
    c->task_pairs = pairs ? json_is_true(pairs) : rf__cross_encoder_key(root) != NULL;
    if (!status && negative && !json_is_boolean(negative))
        status = rf_fail(why, RF_EDATA, "%s: version_2_with_negative: expected true or false, got %s", file,
                         rf__json_shown(negative).text);
    c->version_2_with_negative = json_is_true(negative);
    if (!status && rf_config_head(c) == RF_HEAD_CHOICE && !rf__config_family(c)->summarizes)
        status = read_summary(file, root, c, why);
    if (!status && rf_config_head(c) == RF_HEAD_EMBED) status = read_pooling(file, root, c, why);
    return status;
}

/* The names of the labels, or of the model's outputs; for most tasks they are the same. */
static rf_status read_names(const rf_ctx *ctx, const char *folder, bool outputs, rf_labels *out, rf_error *why)
{
    char path[RF_CONFIG_PATH];
    json_t *root;
    rf_config c;
    rf_error own = {0};
    if (!why) why = &own;
    *out = (rf_labels){.ctx = ctx};
    rf_status status = rf__config_root(ctx, folder, path, &root, why);
    if (status) return status;
    status = rf__config_of_root(ctx, path, root, &c, sizeof c, why);
    if (status) {
        json_decref(root);
        return status;
    }
    const json_t *names = json_object_get(root, "id2label");
    const json_t *task = outputs ? NULL : json_object_get(root, "task_labels");
    const int64_t n = task ? (int64_t)json_array_size(task) : c.num_labels;
    out->name = rf__calloc(ctx, (size_t)n, sizeof *out->name);
    bool fine = out->name != NULL;
    for (; fine && out->n < n; out->n++) {
        char plain[32];
        const char *name =
            json_string_value(task ? json_array_get(task, (size_t)out->n) : label_at(names, (size_t)out->n));
        snprintf(plain, sizeof plain, "LABEL_%lld", (long long)out->n);
        out->name[out->n] = rf__strdup(ctx, name ? name : plain);
        fine = out->name[out->n] != NULL;
    }
    json_decref(root);
    if (fine) return RF_OK;
    rf__labels_free(out);
    return rf_fail(why, RF_ENOMEM, "out of memory: %lld labels", (long long)n);
}

bool rf__labels_unnamed(const rf_labels *l)
{
    char plain[32];
    bool same = true;
    for (int64_t i = 0; i < l->n && same; i++) {
        snprintf(plain, sizeof plain, "LABEL_%lld", (long long)i);
        same = !strcmp(l->name[i], plain);
    }
    return same;
}

rf_status rf__labels_read(const rf_ctx *ctx, const char *folder, rf_labels *out, rf_error *why)
{
    if (!(ctx && folder && out)) return rf__missing("rf__labels_read", "ctx, folder, out", why);
    return read_names(ctx, folder, false, out, why);
}

rf_status rf__output_names_read(const rf_ctx *ctx, const char *folder, rf_labels *out, rf_error *why)
{
    return read_names(ctx, folder, true, out, why);
}

void rf__labels_free(rf_labels *l)
{
    if (!l) return;
    for (int64_t i = 0; l->name && i < l->n; i++) rf__free(l->ctx, l->name[i]);
    if (l->name) rf__free(l->ctx, l->name);
    l->name = NULL;
    l->n = 0;
}

/* ---- writing ---- */

static bool add_labels(json_t *to, const rf_config *c)
{
    json_t *names = json_object(), *ids = json_object();
    bool fine = names && ids;
    for (int64_t i = 0; i < c->num_labels && fine; i++) {
        char key[32], plain[32];
        snprintf(key, sizeof key, "%lld", (long long)i);
        snprintf(plain, sizeof plain, "LABEL_%lld", (long long)i);
        const char *name = c->label ? c->label[i] : plain;
        fine = !json_object_set_new(names, key, json_string(name)) && !json_object_set_new(ids, name, json_integer(i));
    }
    fine = fine && !json_object_set(to, "id2label", names) && !json_object_set(to, "label2id", ids);
    json_decref(names);
    json_decref(ids);
    return fine;
}

static bool add_task_labels(json_t *to, const rf_config *c)
{
    json_t *names = json_array();
    for (int64_t i = 0; i < c->num_task_labels; i++) rf__json_add(&names, json_string(c->task_label[i]));
    return names && !json_object_set_new(to, "task_labels", names);
}

/* In the form that CrossEncoder of sentence-transformers reads. */
static bool add_function(json_t *to, const char *name)
{
    char whole[64];
    snprintf(whole, sizeof whole, "torch.nn.modules.%s.%s", !strcmp(name, "Identity") ? "linear" : "activation", name);
    json_t *own = json_pack("{s:s}", "activation_fn", whole);
    return own && !json_object_set_new(to, "sentence_transformers", own);
}

json_t *rf__task_json(const rf_config *c)
{
    json_t *all = json_object();
    const rf_head head = rf_config_head(c);
    const bool sim = head == RF_HEAD_MLM && c->linear_pooler;               /* has a task, but no labels */
    if (!all || (head == RF_HEAD_MLM && !sim) || head == RF_HEAD_SEQ2SEQ || head == RF_HEAD_DETECT) return all;
    bool fine = sim || (add_labels(all, c) && (!c->task_label || add_task_labels(all, c)));
    if (fine && *c->problem_type) fine = !json_object_set_new(all, "problem_type", json_string(c->problem_type));
    if (fine && *c->finetuning_task)
        fine = !json_object_set_new(all, "finetuning_task", json_string(c->finetuning_task));
    if (fine && c->task_max_length)
        fine = !json_object_set_new(all, "task_max_length", json_integer(c->task_max_length));
    for (size_t i = 0; i < RF_COUNT(reading) && fine; i++) {
        const char *text = (const char *)c + reading[i].at;
        if (*text) fine = !json_object_set_new(all, reading[i].key, json_string(text));
    }
    if (fine && *c->score_function) fine = add_function(all, c->score_function);
    if (fine && c->task_pairs) fine = !json_object_set_new(all, "task_pairs", json_true());
    if (fine && head == RF_HEAD_SPAN)
        fine = !json_object_set_new(all, "version_2_with_negative", json_boolean(c->version_2_with_negative));
    if (fine && head == RF_HEAD_CHOICE && !rf__config_family(c)->summarizes)
        fine = !json_object_set_new(all, "summary_type", json_string(rf__summary_name(c->summary)));
    if (fine && head == RF_HEAD_EMBED)
        fine = !json_object_set_new(all, "sentence_pooling", json_string(c->sentence_pooling)) &&
               !json_object_set_new(all, "sentence_normalize", json_boolean(c->sentence_normalize));
    if (fine) return all;
    json_decref(all);
    return NULL;
}
