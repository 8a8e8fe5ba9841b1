/* api_tag.c — labels of tokens, in the form of transformers' token-classification pipeline. */
#include <math.h>
#include <stdlib.h>

#include "serve/api/api.h"
#include "serve/shared_call.h"

typedef struct tagging {
    srv_call call; /* first, because a call is cast to this type                                 */
    srv_texts texts;
    bool simple; /* aggregation_strategy                                                       */
} tagging;

/* Tokens [from, to) of a text that have one label, without its B- or I-. */
typedef struct entity {
    size_t from, to;
    const char *tag;
    double score;
} entity;

/* The tokens of a text and the logits [n,K] of their labels. */
typedef struct tagged {
    const rf_encoding *e;
    const float *z;
    const rf_labels *label;
    int64_t outputs; /* K: the labels of the model                                                 */
    const char *text;
    uint32_t *character; /* [bytes + 1] characters before each byte                                    */
} tagged;

static void free_tagging(void *own)
{
    tagging *x = own;
    srv_texts_clear(&x->texts);
    srv_text_clear(&x->call.out);
    free(x);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* The label of token i with the highest logit, and its probability. */
static const char *best_label(const tagged *t, size_t i, double *probability)
{
    const int64_t K = t->outputs;
    const float *z = t->z + (int64_t)i * K;
    int64_t best = 0;
    double sum = 0;
    for (int64_t k = 1; k < K; k++) best = z[k] > z[best] ? k : best;
    for (int64_t k = 0; k < K; k++) sum += exp((double)z[k] - (double)z[best]);
    *probability = 1 / sum;
    return best < t->label->n ? t->label->name[best] : "";
}

/* B-PER begins a group of PER, I-PER continues it; so does a label without a prefix its own group. */
static const char *tag_of(const char *label, bool *begins)
{
    const bool prefixed = (label[0] == 'B' || label[0] == 'I') && label[1] == '-';
    *begins = prefixed && label[0] == 'B';
    return prefixed ? label + 2 : label;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_place(srv_text *out, const tagged *t, size_t first, size_t last)
{
    srv_printf(out, ",\"start\":%u,\"end\":%u}", t->character[t->e->start[first]], t->character[t->e->end[last]]);
}

/* A token by its name; of the unknown token the text that it covers, as in transformers. */
static bool is_unknown(const srv_request *r, const tagged *t, size_t i)
{
    return t->e->id[i] == rf_tokenizer_unk(r->model->tokenizer) && t->e->end[i] > t->e->start[i];
}

static void put_entity(srv_text *out, const srv_request *r, const tagged *t, size_t i, bool *first)
{
    double score;
    const char *label = best_label(t, i, &score), *token = rf_tokenizer_token(r->model->tokenizer, t->e->id[i]);
    if (!strcmp(label, "O")) return;
    srv_puts(out, *first ? "{\"entity\":" : ",{\"entity\":");
    *first = false;
    srv_put_string(out, label, strlen(label));
    srv_printf(out, ",\"score\":%.9g,\"index\":%zu,\"word\":", score, i);
    if (is_unknown(r, t, i)) srv_put_string(out, t->text + t->e->start[i], t->e->end[i] - t->e->start[i]);
    else srv_put_string(out, token ? token : "", token ? strlen(token) : 0);
    put_place(out, t, i, i);
}

/* The tokens of a group as text. */
static void put_words(srv_text *out, const srv_request *r, const tagged *t, const entity *g)
{
    srv_text words = {0};
    for (size_t from = g->from, to; from < g->to; from = to) {
        for (to = from; to < g->to && !is_unknown(r, t, to); to++) {}
        if (words.n) srv_puts(&words, " ");
        if (to == from) {
            srv_put(&words, t->text + t->e->start[from], t->e->end[from] - t->e->start[from]);
            to++;
            continue;
        }
        size_t size;
        char *word = rf_decode(r->model->tokenizer, t->e->id + from, to - from, 0, 0, &size);
        if (word) srv_put(&words, word, size);
        else words.failed = true;
        rf_text_free(r->model->tokenizer, word);
    }
    if (words.failed) out->failed = true;
    else srv_put_string(out, words.at, words.n);
    srv_text_clear(&words);
}

static void put_group(srv_text *out, const srv_request *r, const tagged *t, const entity *g, bool *first)
{
    if (g->from == g->to || !strcmp(g->tag, "O")) return;
    srv_puts(out, *first ? "{\"entity_group\":" : ",{\"entity_group\":");
    *first = false;
    srv_put_string(out, g->tag, strlen(g->tag));
    srv_printf(out, ",\"score\":%.9g,\"word\":", g->score / (double)(g->to - g->from));
    put_words(out, r, t, g);
    put_place(out, t, g->from, g->to - 1);
}

static void put_text(srv_text *out, const srv_request *r, const tagged *t, bool simple)
{
    bool first = true;
    entity g = {.from = 0};
    srv_puts(out, "[");
    for (size_t i = 0; i < t->e->n; i++) {
        if (t->e->added[i]) continue;
        if (!simple) {
            put_entity(out, r, t, i, &first);
            continue;
        }
        bool begins;
        double score;
        const char *tag = tag_of(best_label(t, i, &score), &begins);
        if (g.from == g.to || begins || strcmp(tag, g.tag)) {
            put_group(out, r, t, &g, &first);
            g = (entity){.from = i, .tag = tag};
        }
        g.to = i + 1;
        g.score += score;
    }
    put_group(out, r, t, &g, &first);
    srv_puts(out, "]");
}

/* ---- computing, in the engine's thread --------------------------------------------------------------------------- */

static rf_status tag_text(tagging *x, rf_pipeline *p, rf_encoding *e, int64_t i, rf_error *why)
{
    const srv_request *r = x->call.r;
    const size_t bytes = x->texts.bytes[i];
    tagged t = {.e = e,
                .label = rf_engine_labels(r->model->engine),
                .outputs = r->model->config->num_labels,
                .text = x->texts.text[i]};
    int64_t rows;
    rf_status status =
        rf_encode(r->model->tokenizer, t.text, bytes, NULL, 0, (size_t)r->model->max_length, 0, e, NULL, why);
    if (status) return status;
    const int32_t start[] = {0, (int32_t)e->n};
    const rf_batch b = {.N = (int64_t)e->n, .B = 1, .id = e->id, .type = e->type, .start = start};
    status = rf_session_logits(rf_pipeline_session(p), &b, &t.z, &rows, why);
    if (!status && !(t.character = srv_characters(t.text, bytes)))
        status = rf_fail(why, RF_ENOMEM, "out of memory: a text");
    if (!status) put_text(&x->call.out, r, &t, x->simple);
    free(t.character);
    x->call.r->tokens += (int64_t)e->n;
    return status;
}

static void compute(srv_call *c, rf_pipeline *p)
{
    tagging *x = (tagging *)c;
    rf_error why = {0};
    rf_encoding e;
    rf_encoding_init(&e, c->r->s->o.ctx);
    if (!x->texts.one) srv_puts(&x->call.out, "[");
    for (int64_t i = 0; i < x->texts.n && !why.code; i++) {
        if (i) srv_puts(&x->call.out, ",");
        if (srv_is_over(c->r)) why = srv_over(c->r);
        else tag_text(x, p, &e, i, &why);
    }
    if (!x->texts.one) srv_puts(&x->call.out, "]");
    rf_encoding_clear(&e);
    srv_call_end(c, why.code ? &why : NULL);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

void srv_tag(srv_request *r)
{
    const char *strategy = srv_string(srv_member(r->in, "parameters"), "aggregation_strategy");
    tagging *x = srv_own(r, sizeof *x, free_tagging);
    if (!x) return;
    x->call = (srv_call){.r = r, .compute = compute};
    x->simple = !strategy || strcmp(strategy, "none");
    if (srv_read_texts(r, json_object_get(r->in, "inputs"), "inputs", &x->texts) &&
        srv_texts_fit(r, "inputs", &x->texts) && srv_hold(r, x->texts.n))
        srv_call_submit(&x->call, srv_call_answer);
}
