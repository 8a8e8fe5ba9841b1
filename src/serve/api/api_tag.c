/* api_tag.c — labels of tokens, in the form of transformers' token-classification pipeline. */
#include <math.h>
#include <stdlib.h>

#include "serve/api/api.h"
#include "serve/shared_call.h"

/* aggregation_strategy: tokens; groups of tokens with one label; groups of words, each with the label of its first
 * token, of the token with the highest probability, or with the highest mean probability. */
typedef enum strategy { TOKENS, SIMPLE, FIRST, MAX, AVERAGE } strategy;

typedef struct tagging {
    srv_call call; /* first, because a call is cast to this type                                 */
    srv_texts texts;
    strategy strategy;
    const json_t *ignored; /* labels that are left out, or NULL: O                                       */
} tagging;

/* Tokens [from, to) of a text, `words` words (or tokens), that have one label, without its B- or I-. */
typedef struct entity {
    size_t from, to, words;
    const char *tag, *name; /* by which labels are compared; that transformers prints                    */
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

/* The probability of label k of token i. */
static double probability_of(const tagged *t, size_t i, int64_t k)
{
    const float *z = t->z + (int64_t)i * t->outputs;
    double sum = 0;
    for (int64_t j = 0; j < t->outputs; j++) sum += exp((double)z[j] - (double)z[k]);
    return 1 / sum;
}

/* The label of a word, tokens [from, to), and its probability. */
static const char *word_label(const tagged *t, size_t from, size_t to, strategy how, double *probability)
{
    const char *label = best_label(t, from, probability);
    for (size_t i = from + 1; how == MAX && i < to; i++) {
        double own;
        const char *other = best_label(t, i, &own);
        if (own > *probability) label = other, *probability = own;
    }
    if (how != AVERAGE || to == from + 1) return label;
    *probability = -1;
    for (int64_t k = 0; k < t->outputs; k++) {
        double mean = 0;
        for (size_t i = from; i < to; i++) mean += probability_of(t, i, k) / (double)(to - from);
        if (mean <= *probability) continue;
        *probability = mean;
        label = k < t->label->n ? t->label->name[k] : "";
    }
    return label;
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

static bool is_ignored(const tagging *x, const char *label)
{
    if (!x->ignored) return !strcmp(label, "O");
    for (size_t i = 0; i < json_array_size(x->ignored); i++)
        if (!strcmp(label, json_string_value(json_array_get(x->ignored, i)))) return true;
    return false;
}

/* Whether token i continues the word of the one before, as transformers decides it: with a prefix of such tokens (##),
 * by the lengths of the token and its text; otherwise by a space in the text. */
static bool is_in_word(const srv_request *r, const tagged *t, size_t i)
{
    const rf_tokenizer *tokenizer = r->model->tokenizer;
    const size_t from = t->e->start[i], to = t->e->end[i];
    const char *token = rf_tokenizer_token(tokenizer, t->e->id[i]);
    if (t->e->id[i] == rf_tokenizer_unk(tokenizer)) return false;
    if (rf_tokenizer_options_of(tokenizer))
        return token && srv_length(token, strlen(token)) != srv_length(t->text + from, to - from);
    return from > 0 && t->text[from - 1] != ' ' && t->text[from] != ' ';
}

static void put_entity(srv_text *out, const tagging *x, const tagged *t, size_t i, bool *first)
{
    const srv_request *r = x->call.r;
    double score;
    const char *label = best_label(t, i, &score), *token = rf_tokenizer_token(r->model->tokenizer, t->e->id[i]);
    if (is_ignored(x, label)) return;
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

static void put_group(srv_text *out, const tagging *x, const tagged *t, const entity *g, bool *first)
{
    if (g->from == g->to || is_ignored(x, g->name)) return;
    srv_puts(out, *first ? "{\"entity_group\":" : ",{\"entity_group\":");
    *first = false;
    srv_put_string(out, g->name, strlen(g->name));
    srv_printf(out, ",\"score\":%.9g,\"word\":", g->score / (double)g->words);
    put_words(out, x->call.r, t, g);
    put_place(out, t, g->from, g->to - 1);
}

static void put_text(srv_text *out, const tagging *x, const tagged *t)
{
    bool first = true;
    entity g = {.from = 0};
    srv_puts(out, "[");
    for (size_t i = 0, to; i < t->e->n; i = to) {
        to = i + 1;
        if (t->e->added[i]) continue;
        if (x->strategy == TOKENS) {
            put_entity(out, x, t, i, &first);
            continue;
        }
        while (x->strategy != SIMPLE && to < t->e->n && !t->e->added[to] && is_in_word(x->call.r, t, to)) to++;
        bool begins;
        double score;
        const char *label = word_label(t, i, to, x->strategy, &score), *tag = tag_of(label, &begins);
        const char *dash = strchr(label, '-');
        if (g.from == g.to || begins || strcmp(tag, g.tag)) {
            put_group(out, x, t, &g, &first);
            g = (entity){.from = i, .tag = tag, .name = dash ? dash + 1 : label};
        }
        g.to = to;
        g.words++;
        g.score += score;
    }
    put_group(out, x, t, &g, &first);
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
    if (!status) put_text(&x->call.out, x, &t);
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
    static const char *const names[] = {
        [TOKENS] = "none", [SIMPLE] = "simple", [FIRST] = "first", [MAX] = "max", [AVERAGE] = "average"};
    const json_t *options = srv_member(r->in, "parameters");
    const char *name = srv_string(options, "aggregation_strategy");
    tagging *x = srv_own(r, sizeof *x, free_tagging);
    if (!x) return;
    x->call = (srv_call){.r = r, .compute = compute};
    x->strategy = SIMPLE;
    for (size_t i = 0; name && i < RF_COUNT(names); i++)
        if (!strcmp(names[i], name)) x->strategy = (strategy)i;
    x->ignored = srv_member(options, "ignore_labels");
    if (srv_read_texts(r, json_object_get(r->in, "inputs"), "inputs", &x->texts) &&
        srv_texts_fit(r, "inputs", &x->texts, srv_fit_of(r, r->in)) && srv_hold(r, x->texts.n))
        srv_call_submit(&x->call, srv_call_answer);
}
