/* published.c — compares published models with the figures in their publishers' pages and tests.
 *
 *     published HUB [STEPS.json]
 *
 * HUB holds the folders: HUB/NAME, HUB/OWNER/NAME, or HUB/models--OWNER--NAME/snapshots/X, as the hub's cache has
 * them.  A step names its model as OWNER/NAME; without an owner it is junnyu's.  A step (published.json) whose folder
 * is not there says what it would need.
 *
 * Exit: 0 all that could be done hold, 1 one does not, 3 there was nothing to do.                                    */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hub.h"
#include "roformer/inspect/files.h"
#include "roformer/inspect/folder.h"
#include "roformer/pipeline.h"
#include "roformer/roformer.h"

enum { IDS = 64, VECTORS = 3 };

typedef struct check {
    rf_ctx *ctx;
    const json_t *step;
    rf_pipeline *p;
    rf_error why;
    char told[512];             /* what differs; "": nothing                                                          */
} check;

static const char *text_of(const check *c, const char *key)
{
    const char *text = json_string_value(json_object_get(c->step, key));
    return text ? text : "";
}

static void tell_words(check *c, size_t mask, const char *got, const char *expected)
{
    if (!*c->told) snprintf(c->told, sizeof c->told, "%zu: %s, expected %s", mask, got, expected);
}

static rf_status parameters(check *c)
{
    const long long got = (long long)rf_config_parameters(rf_model_config(rf_pipeline_model(c->p))),
                    expected = json_integer_value(json_object_get(c->step, "parameters"));
    if (got != expected) snprintf(c->told, sizeof c->told, "%lld, expected %lld", got, expected);
    return RF_OK;
}

static rf_status tokens(check *c)
{
    const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(c->p));
    const json_t *token = json_object_get(c->step, "tokens"), *id = json_object_get(c->step, "ids");
    const char *text = text_of(c, "text");
    rf_encoding e;
    rf_encoding_init(&e, c->ctx);
    const rf_status status =
        rf_encode(t, text, strlen(text), NULL, 0, 0, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, &e, NULL, &c->why);
    if (!status && e.n != json_array_size(token))
        snprintf(c->told, sizeof c->told, "%zu tokens, expected %zu", e.n, json_array_size(token));
    for (size_t i = 0; i < e.n && !status && !*c->told; i++) {
        const char *got = rf_tokenizer_token(t, e.id[i]), *expected = json_string_value(json_array_get(token, i));
        if (!got || !expected || strcmp(got, expected))
            tell_words(c, i, got ? got : "none", expected ? expected : "none");
        else if (id && e.id[i] != json_integer_value(json_array_get(id, i)))
            snprintf(c->told, sizeof c->told, "%s is %d, expected %d", got, (int)e.id[i],
                     (int)json_integer_value(json_array_get(id, i)));
    }
    rf_encoding_clear(&e);
    return status;
}

/* The ids of the step, or those of its text. */
static rf_status ids_of(check *c, int32_t ids[IDS], size_t *n)
{
    const json_t *id = json_object_get(c->step, "ids");
    const char *text = text_of(c, "text");
    *n = json_array_size(id);
    if (id && *n > IDS) return rf_fail(&c->why, RF_EDATA, "logits: %zu ids", *n);
    for (size_t i = 0; i < *n; i++) ids[i] = (int32_t)json_integer_value(json_array_get(id, i));
    if (id) return RF_OK;
    rf_encoding e;
    rf_encoding_init(&e, c->ctx);
    const rf_status status = rf_encode(rf_model_tokenizer(rf_pipeline_model(c->p)), text, strlen(text), NULL, 0, IDS, 0,
                                       &e, NULL, &c->why);
    *n = e.n;
    for (size_t i = 0; i < e.n && !status; i++) ids[i] = e.id[i];
    rf_encoding_clear(&e);
    return status;
}

/* Rows of the step's table, from "row" on; reports the first value that differs.  Four digits are published, and
 * transformers' own tests allow 1e-4, or what "tolerance" says.  x: [rows, width]; values begin at "column". */
static void compare_table(check *c, const json_t *table, const float *x, int64_t width)
{
    const json_t *row, *value, *own = json_object_get(c->step, "tolerance");
    const double tolerance = own ? json_number_value(own) : 1.5e-4, relative = own ? tolerance : 1e-4;
    const int64_t column = json_integer_value(json_object_get(c->step, "column"));
    size_t i, k;
    json_array_foreach(table, i, row)
        json_array_foreach(row, k, value) {
            const int64_t at = column + (int64_t)k;
            const double got = at < width ? (double)x[(int64_t)i * width + at] : NAN, want = json_number_value(value);
            if (!(fabs(got - want) < tolerance + relative * fabs(want)) && !*c->told)
                snprintf(c->told, sizeof c->told, "token %zu, column %lld: %.4f, expected %.4f", i, (long long)at, got,
                         want);
        }
}

typedef struct one_text {
    int32_t id[IDS], start[2];
    size_t n, from;                         /* number of ids; first row of the table */
} one_text;

static rf_status read_text(check *c, const json_t *table, one_text *t)
{
    const json_int_t from = json_integer_value(json_object_get(c->step, "row"));
    if (ids_of(c, t->id, &t->n)) return c->why.code;
    t->from = (size_t)from;
    if (from < 0 || json_array_size(table) + t->from > t->n)
        return rf_fail(&c->why, RF_EDATA, "%s: %zu ids", text_of(c, "what"), t->n);
    t->start[0] = 0;
    t->start[1] = (int32_t)t->n;
    return RF_OK;
}

static rf_status logits(check *c)
{
    const json_t *table = json_object_get(c->step, "logits");
    int32_t rows[IDS];
    const float *z;
    one_text t;
    if (read_text(c, table, &t)) return c->why.code;
    for (size_t i = 0; i < t.n; i++) rows[i] = (int32_t)(i + t.from);
    const rf_batch b = {.N = (int64_t)t.n, .B = 1, .id = t.id, .start = t.start};
    const rf_status status = rf_session_mlm_logits(rf_pipeline_session(c->p), &b, rows, (int64_t)json_array_size(table),
                                                   &z, &c->why);
    if (!status) compare_table(c, table, z, rf_model_config(rf_pipeline_model(c->p))->vocab_size);
    return status;
}

/* The last layer's vectors of tokens. */
static rf_status hidden(check *c)
{
    const json_t *table = json_object_get(c->step, "hidden");
    const int64_t C = rf_model_config(rf_pipeline_model(c->p))->hidden_size;
    const float *h;
    one_text t;
    if (read_text(c, table, &t)) return c->why.code;
    const rf_batch b = {.N = (int64_t)t.n, .B = 1, .id = t.id, .start = t.start};
    const rf_status status = rf_session_hidden(rf_pipeline_session(c->p), &b, &h, &c->why);
    if (!status) compare_table(c, table, h + (int64_t)t.from * C, C);
    return status;
}

static rf_status blanks(check *c)
{
    const char *text = text_of(c, "text");
    const json_t *words = json_object_get(c->step, "words"), *list, *x;
    const rf_mask *mask;
    int64_t masks;
    size_t i, k;
    const rf_status status = rf_fill_mask(c->p, &text, NULL, 1, NULL, &mask, &masks, NULL, &c->why);
    if (status) return status;
    if ((size_t)masks != json_array_size(words)) snprintf(c->told, sizeof c->told, "%d masks", (int)masks);
    json_array_foreach(words, i, list)
        json_array_foreach(list, k, x) {
            if (*c->told || (int64_t)i >= masks || (int64_t)k >= mask[i].words) break;
            if (strcmp(mask[i].word[k].token, json_string_value(x)))
                tell_words(c, i, mask[i].word[k].token, json_string_value(x));
        }
    return RF_OK;
}

/* cos(text, like) > cos(text, unlike), by the folder's own vectors: the pooler's. */
static rf_status nearest(check *c)
{
    const char *text[VECTORS] = {text_of(c, "text"), text_of(c, "like"), text_of(c, "unlike")};
    const int64_t C = rf_model_config(rf_pipeline_model(c->p))->hidden_size;
    rf_embed_options o;
    const float *v;
    double cosine[VECTORS] = {0};
    rf_embed_defaults(&o);
    o.pooling = RF_POOL_CLS;
    o.normalize = 1;
    const rf_status status = rf_embed_texts(c->p, text, NULL, VECTORS, &o, &v, NULL, &c->why);
    if (status) return status;
    for (int i = 0; i < VECTORS; i++)
        for (int64_t k = 0; k < C; k++) cosine[i] += (double)v[k] * (double)v[i * C + k];
    if (!(cosine[1] > cosine[2]))
        snprintf(c->told, sizeof c->told, "cosines %.4f and %.4f, expected the first larger", cosine[1], cosine[2]);
    return RF_OK;
}

static const struct { const char *what; rf_status (*run)(check *c); } kinds[] = {
    {"parameters", parameters}, {"tokens", tokens}, {"logits", logits}, {"hidden", hidden},
    {"blanks", blanks},         {"nearest", nearest}};

/* 1: the figures agree, 0: they do not, -1: the folder is missing. */
static int run_step(rf_ctx *ctx, const char *hub, const json_t *step)
{
    check c = {.ctx = ctx, .step = step};
    const char *model = text_of(&c, "model"), *what = text_of(&c, "what");
    char path[2048];
    size_t k = 0;
    printf("%-34s %-10s ", model, what);
    if (!hub_find(hub, model, path, sizeof path)) {
        const owned o = hub_owner_of(model);
        printf("not done: would need the files of %.*s/%s (settings, vocabulary, weights) in %s/%s\n", o.length,
               o.owner, o.name, hub, o.name);
        return -1;
    }
    while (k < sizeof kinds / sizeof *kinds && strcmp(kinds[k].what, what)) k++;
    rf_status status = k < sizeof kinds / sizeof *kinds ? RF_OK : rf_fail(&c.why, RF_EDATA, "no such kind of step");
    if (!status) status = rf_pipeline_open(ctx, path, RF_F32, &c.p, &c.why);
    if (!status) status = kinds[k].run(&c);
    if (status) printf("FAILED: %s\n", c.why.text);
    else if (*c.told) printf("DIFFERS: %s  %s\n", c.told, text_of(&c, "says"));
    else printf("holds\n");
    rf_pipeline_close(c.p);
    return !status && !*c.told;
}

int main(int argc, char **argv)
{
    static const char usual[] = "experiments/published/published.json";
    json_error_t bad;
    rf_error why = {0};
    rf_ctx *ctx;
    size_t i;
    int count[3] = {0};                                                 /* numbers of steps: not done, failed, passed */
    json_t *step;
    if (argc < 2 || argc > 3) return fprintf(stderr, "usage: published HUB [STEPS.json]\n"), 2;
    const char *steps = argc > 2 ? argv[2] : usual;
    json_t *root = json_load_file(steps, 0, &bad);
    if (!root) return fprintf(stderr, "published: %s:%d: %s\n", steps, bad.line, bad.text), 3;
    if (rf_ctx_new(NULL, &ctx, &why)) return fprintf(stderr, "published: %s\n", why.text), 4;
    json_array_foreach(json_object_get(root, "steps"), i, step) count[run_step(ctx, argv[1], step) + 1]++;
    printf("\n%d hold, %d do not, %d could not be done\n", count[2], count[1], count[0]);
    rf_ctx_free(ctx);
    json_decref(root);
    return count[1] ? 1 : count[2] ? 0 : 3;
}
