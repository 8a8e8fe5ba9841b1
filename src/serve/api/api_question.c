/* api_question.c — the part of a context that answers a question, in the form of transformers' question-answering
 * pipeline.
 *
 *     score(i, j) = p(start = i) p(end = j),    i <= j < i + max_answer_len
 *
 * p is the softmax over [CLS] and the tokens of the context. A long context is read in windows that share tokens. */
#include <math.h>
#include <stdlib.h>

#include "serve/api/api.h"
#include "serve/shared_call.h"

enum { WINDOW = 384, SHARED = 128, LONGEST = 15 };

typedef struct question {
    srv_call call; /* first, because a call is cast to this type                                 */
    const char *text, *context;
    int64_t longest;
    bool impossible; /* "" may be the answer                                                       */
} question;

typedef struct answer {
    double score;
    size_t first, last;
    bool found;
} answer;

/* [CLS] question [SEP] part [SEP]: the tokens before the part, and those after it. */
typedef struct frame {
    rf_encoding e; /* of the question and an empty context                                       */
    size_t head, tail;
    int32_t type; /* of the context                                                             */
} frame;

static void free_question(void *own)
{
    question *x = own;
    srv_text_clear(&x->call.out);
    free(x);
}

/* ---- one window -------------------------------------------------------------------------------------------------- */

/* Column `column` of the logits [n,2] as probabilities of [CLS] (out[0]) and of tokens [from, to) (out[1] on). */
static void softmax(const float *z, int column, size_t from, size_t to, double *out)
{
    double most = (double)z[column], sum = 0;
    for (size_t i = from; i < to; i++) most = fmax(most, (double)z[2 * i + (size_t)column]);
    out[0] = exp((double)z[column] - most);
    for (size_t i = from; i < to; i++) out[1 + i - from] = exp((double)z[2 * i + (size_t)column] - most);
    for (size_t i = 0; i <= to - from; i++) sum += out[i];
    for (size_t i = 0; i <= to - from; i++) out[i] /= sum;
}

/* The best span of `n` tokens of the context that begin with token `first`. */
static void take_best(const question *x, const double *start, const double *end, size_t n, size_t first, answer *best)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n && (int64_t)(j - i) < x->longest; j++) {
            const double score = start[1 + i] * end[1 + j];
            if (best->found && score <= best->score) continue;
            *best = (answer){.score = score, .first = first + i, .last = first + j, .found = true};
        }
}

static rf_status read_window(const question *x, rf_pipeline *p, const frame *f, const rf_encoding *context,
                             size_t first, size_t n, answer *best, double *null, rf_error *why)
{
    const size_t all = f->e.n + n, most = n + 1;
    int32_t *id = calloc(2 * all, sizeof *id), *type = id ? id + all : NULL;
    double *start = calloc(2 * most, sizeof *start), *end = start ? start + most : NULL;
    rf_status status = id && start ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a context");
    const float *z;
    int64_t rows;
    if (!status) {
        memcpy(id, f->e.id, f->head * sizeof *id);
        memcpy(type, f->e.type, f->head * sizeof *type);
        if (n) memcpy(id + f->head, context->id + first, n * sizeof *id);
        memcpy(id + f->head + n, f->e.id + f->head, f->tail * sizeof *id);
        for (size_t i = f->head; i < all; i++) type[i] = f->type;
        const int32_t bounds[] = {0, (int32_t)all};
        const rf_batch b = {.N = (int64_t)all, .B = 1, .id = id, .type = type, .start = bounds};
        status = rf_session_logits(rf_pipeline_session(p), &b, &z, &rows, why);
        x->call.r->tokens += (int64_t)all;
    }
    if (!status) {
        softmax(z, 0, f->head, f->head + n, start);
        softmax(z, 1, f->head, f->head + n, end);
        *null = fmin(*null, start[0] * end[0]);
        take_best(x, start, end, n, first, best);
    }
    free(id);
    free(start);
    return status;
}

/* ---- all windows ------------------------------------------------------------------------------------------------- */

static rf_status make_frame(const question *x, frame *f, rf_error *why)
{
    const rf_tokenizer *t = x->call.r->model->tokenizer;
    const rf_status status = rf_encode(t, x->text, strlen(x->text), "", 0, 0, 0, &f->e, NULL, why);
    if (status) return status;
    f->tail = f->e.n && f->e.added[f->e.n - 1] ? 1 : 0;
    f->head = f->e.n - f->tail;
    f->type = f->e.n ? f->e.type[f->e.n - 1] : 0;
    return RF_OK;
}

static rf_status read_windows(const question *x, rf_pipeline *p, const rf_encoding *context, answer *best, double *null,
                              rf_error *why)
{
    const int64_t own = x->call.r->model->max_length, limit = own > 0 && own < WINDOW ? own : WINDOW;
    const size_t shared = (size_t)rf__min64(limit / 2, SHARED);
    frame f = {.head = 0};
    rf_encoding_init(&f.e, x->call.r->s->o.ctx);
    rf_status status = make_frame(x, &f, why);
    if (!status && f.e.n + shared >= (size_t)limit)
        status = rf_fail(why, RF_ERANGE, "question: expected at most %lld tokens, got %zu",
                         (long long)limit - (long long)shared, f.e.n);
    const size_t rest = status ? 1 : (size_t)limit - f.e.n;
    for (size_t first = 0; !status; first += rest - shared) {
        const size_t n = context->n - first < rest ? context->n - first : rest;
        if (srv_is_over(x->call.r)) {
            *why = srv_over(x->call.r);
            status = why->code;
        } else status = read_window(x, p, &f, context, first, n, best, null, why);
        if (first + n == context->n) break;
    }
    rf_encoding_clear(&f.e);
    return status;
}

/* Does token i continue the word of the one before? */
static bool continues(const question *x, const rf_encoding *e, size_t i)
{
    if (rf_tokenizer_options_of(x->call.r->model->tokenizer))
        return rf_tokenizer_continues(x->call.r->model->tokenizer, e->id[i]);
    return e->start[i] == e->end[i - 1] && !rf__white(x->context[e->start[i]]);
}

static void put_answer(question *x, const rf_encoding *e, answer a, double null)
{
    srv_text *t = &x->call.out;
    const bool none = !a.found || (x->impossible && null > a.score);
    while (!none && a.first && continues(x, e, a.first)) a.first--;
    while (!none && a.last + 1 < e->n && continues(x, e, a.last + 1)) a.last++;
    const uint32_t from = none ? 0 : e->start[a.first], to = none ? 0 : e->end[a.last];
    uint32_t *character = srv_characters(x->context, strlen(x->context));
    if (!character) {
        t->failed = true;
        return;
    }
    srv_printf(t, "{\"score\":%.9g,\"start\":%u,\"end\":%u,\"answer\":", none ? null : a.score, character[from],
               character[to]);
    srv_put_string(t, x->context + from, to - from);
    srv_puts(t, "}");
    free(character);
}

static void compute(srv_call *c, rf_pipeline *p)
{
    question *x = (question *)c;
    rf_error why = {0};
    rf_encoding context;
    answer best = {.found = false};
    double null = 1;
    rf_encoding_init(&context, c->r->s->o.ctx);
    rf_status status = rf_encode(c->r->model->tokenizer, x->context, strlen(x->context), NULL, 0, 0, RF_ENCODE_PLAIN,
                                 &context, NULL, &why);
    if (!status) status = read_windows(x, p, &context, &best, &null, &why);
    if (!status) put_answer(x, &context, best, null);
    rf_encoding_clear(&context);
    srv_call_end(c, status ? &why : NULL);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

void srv_answer_question(srv_request *r)
{
    const json_t *in = json_object_get(r->in, "inputs"), *options = srv_member(r->in, "parameters");
    question *x = srv_own(r, sizeof *x, free_question);
    if (!x) return;
    x->call = (srv_call){.r = r, .compute = compute};
    x->text = srv_string(in, "question");
    x->context = srv_string(in, "context");
    x->longest = srv_int(options, "max_answer_len", LONGEST);
    x->impossible = srv_bool(options, "handle_impossible_answer", false);
    r->characters = srv_length(x->text, strlen(x->text)) + srv_length(x->context, strlen(x->context));
    if (!*x->text || !*x->context) srv_error(r, 400, "Empty", "`question` and `context` cannot be empty");
    else if (srv_hold(r, 1)) srv_call_submit(&x->call, srv_call_answer);
}
