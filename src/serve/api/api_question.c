/* api_question.c — the part of a context that answers a question, in the form of transformers' question-answering
 * pipeline.
 *
 *     score(i, j) = p(start = i) p(end = j),    i <= j < i + max_answer_len
 *
 * p is the softmax over [CLS] and the tokens of the context. A long context is read in windows that share tokens. An
 * answer that several spans have in common has the highest of their scores; transformers 4.57 adds them. */
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "serve/api/api.h"
#include "serve/shared_call.h"

enum { WINDOW = 384, SHARED = 128, LONGEST = 15 };

/* Bytes of the context. */
typedef struct answer {
    double score;
    uint32_t from, to;
} answer;

/* Tokens [first, last] of the context. */
typedef struct span {
    double score;
    size_t first, last;
} span;

typedef struct question {
    srv_call call; /* first, because a call is cast to this type                                 */
    const char *text, *context;
    int64_t longest, top, window, shared;
    bool impossible, align; /* "" may be the answer; answers are whole words                              */
    answer best[SRV_ANSWERS_MOST];
    span spans[2 * SRV_ANSWERS_MOST + 10];
    int64_t answers;
} question;

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

/* Does token i continue the word of the one before? */
static bool continues(const question *x, const rf_encoding *e, size_t i)
{
    if (rf_tokenizer_options_of(x->call.r->model->tokenizer))
        return rf_tokenizer_continues(x->call.r->model->tokenizer, e->id[i]);
    return e->start[i] == e->end[i - 1] && !rf__white(x->context[e->start[i]]);
}

static bool same_words(const question *x, answer a, answer b)
{
    return a.to - a.from == b.to - b.from && !strncasecmp(x->context + a.from, x->context + b.from, a.to - a.from);
}

/* Keeps the best answers, the best first, each once. */
static void keep(question *x, answer a)
{
    int64_t i = 0;
    while (i < x->answers && !same_words(x, x->best[i], a)) i++;
    if (i == x->top) i--;
    if (i < x->answers && a.score <= x->best[i].score) return;
    if (i == x->answers) x->answers++;
    for (; i && x->best[i - 1].score < a.score; i--) x->best[i] = x->best[i - 1];
    x->best[i] = a;
}

/* How many spans of a window may become answers, as in transformers 4.57. */
static int64_t most_spans(const question *x) { return x->top == 1 ? 1 : x->align ? 2 * x->top + 10 : x->top; }

static void keep_span(span *list, int64_t *n, int64_t most, span s)
{
    if (*n == most && s.score <= list[most - 1].score) return;
    int64_t at = *n < most ? (*n)++ : most - 1;
    for (; at && list[at - 1].score < s.score; at--) list[at] = list[at - 1];
    list[at] = s;
}

/* The best spans of `n` tokens of the context that begin with token `first`, as answers. */
static void take_best(question *x, const double *start, const double *end, size_t n, const rf_encoding *e, size_t first)
{
    int64_t spans = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n && (int64_t)(j - i) < x->longest; j++)
            keep_span(x->spans, &spans, most_spans(x), (span){start[1 + i] * end[1 + j], first + i, first + j});
    for (int64_t k = 0; k < spans; k++) {
        span a = x->spans[k];
        while (x->align && a.first && continues(x, e, a.first)) a.first--;
        while (x->align && a.last + 1 < e->n && continues(x, e, a.last + 1)) a.last++;
        keep(x, (answer){a.score, e->start[a.first], e->end[a.last]});
    }
}

static rf_status read_window(question *x, rf_pipeline *p, const frame *f, const rf_encoding *context, size_t first,
                             size_t n, double *null, rf_error *why)
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
        take_best(x, start, end, n, context, first);
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

static rf_status read_windows(question *x, rf_pipeline *p, const rf_encoding *context, double *null, rf_error *why)
{
    const int64_t limit = x->window;
    const size_t shared = (size_t)x->shared;
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
        } else status = read_window(x, p, &f, context, first, n, null, why);
        if (first + n == context->n) break;
    }
    rf_encoding_clear(&f.e);
    return status;
}

static void put_answer(srv_text *t, const question *x, const uint32_t *character, answer a)
{
    srv_printf(t, "{\"score\":%.9g,\"start\":%u,\"end\":%u,\"answer\":", a.score, character[a.from], character[a.to]);
    srv_put_string(t, x->context + a.from, a.to - a.from);
    srv_puts(t, "}");
}

/* A single answer is not in a list, as in transformers. */
static void put_answers(question *x)
{
    srv_text *t = &x->call.out;
    uint32_t *character = srv_characters(x->context, strlen(x->context));
    t->failed |= !character;
    if (x->answers > 1) srv_puts(t, "[");
    for (int64_t i = 0; i < x->answers && character; i++) {
        if (i) srv_puts(t, ",");
        put_answer(t, x, character, x->best[i]);
    }
    if (x->answers > 1) srv_puts(t, "]");
    free(character);
}

static void compute(srv_call *c, rf_pipeline *p)
{
    question *x = (question *)c;
    rf_error why = {0};
    rf_encoding context;
    double null = 1;
    rf_encoding_init(&context, c->r->s->o.ctx);
    rf_status status = rf_encode(c->r->model->tokenizer, x->context, strlen(x->context), NULL, 0, 0, RF_ENCODE_PLAIN,
                                 &context, NULL, &why);
    if (!status) status = read_windows(x, p, &context, &null, &why);
    if (!status && (x->impossible || !x->answers)) keep(x, (answer){.score = null});
    if (!status) put_answers(x);
    rf_encoding_clear(&context);
    srv_call_end(c, status ? &why : NULL);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* false: answered. */
static bool read_window_size(srv_request *r, question *x, const json_t *options)
{
    const int64_t most = r->model->max_length > 0 ? r->model->max_length : INT32_MAX;
    x->window = srv_int(options, "max_seq_len", rf__min64(most, WINDOW));
    x->shared = srv_int(options, "doc_stride", rf__min64(x->window / 2, SHARED));
    if (x->window <= most) return true;
    return srv_error(r, 422, "Validation", "`max_seq_len`: expected at most %lld, which the model reads, got %lld",
                     (long long)most, (long long)x->window),
           false;
}

void srv_answer_question(srv_request *r)
{
    const json_t *in = json_object_get(r->in, "inputs"), *options = srv_member(r->in, "parameters");
    question *x = srv_own(r, sizeof *x, free_question);
    if (!x) return;
    x->call = (srv_call){.r = r, .compute = compute};
    x->text = srv_string(in, "question");
    x->context = srv_string(in, "context");
    x->longest = srv_int(options, "max_answer_len", LONGEST);
    x->top = srv_int(options, "top_k", 1);
    x->align = srv_bool(options, "align_to_words", true);
    if (!read_window_size(r, x, options)) return;
    x->impossible = srv_bool(options, "handle_impossible_answer", false);
    r->characters = srv_length(x->text, strlen(x->text)) + srv_length(x->context, strlen(x->context));
    if (!*x->text || !*x->context) srv_error(r, 400, "Empty", "`question` and `context` cannot be empty");
    else if (srv_hold(r, 1)) srv_call_submit(&x->call, srv_call_answer);
}
