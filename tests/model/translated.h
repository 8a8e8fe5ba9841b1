/* translated.h — stores the results of rf_session_translate for the tests of translation. */
#ifndef TESTS_MODEL_TRANSLATED_H
#define TESTS_MODEL_TRANSLATED_H

#include "model/model.h"
#include "roformer/generate.h"
#include "t.h"

enum { LONGEST = 64 };

typedef struct text {
    int64_t n;
    int32_t id[LONGEST];
    double logprob[LONGEST], total, score;
    rf_generate_end end;
} text;
typedef struct texts { int64_t each, got; text *of; rf_error why; } texts;

static inline int take(void *user, int64_t source, const rf_translation *t, const rf_error *why)
{
    texts *x = user;
    if (!t) {
        x->why = *why;
        return 0;
    }
    assert_int_equal(t->source, source);
    assert_true(t->rank >= 0 && t->rank < x->each && t->n < LONGEST);
    text *to = &x->of[source * x->each + t->rank];
    assert_true(t->logprobs == t->n + 1 || (t->logprobs == t->n && t->end == RF_GENERATE_LENGTH));
    *to = (text){.n = t->n, .total = t->total, .score = t->score, .end = t->end};
    memcpy(to->id, t->id, (size_t)t->n * sizeof *t->id);
    memcpy(to->logprob, t->logprob, (size_t)t->logprobs * sizeof *t->logprob);
    x->got++;
    return 0;
}

static inline texts translate(rf_session *s, const rf_translate_source source[], int64_t n,
                              const rf_generate_options *o)
{
    rf_error why = {0};
    texts x = {.each = o->num_return_sequences};
    x.of = t_bytes((size_t)(n * x.each) * sizeof *x.of);
    memset(x.of, 0, (size_t)(n * x.each) * sizeof *x.of);
    if (rf_session_translate(s, source, n, o, take, &x, &why)) fail_msg("%s", why.text);
    if (x.why.code) fail_msg("%s", x.why.text);
    assert_int_equal(x.got, n * x.each);
    return x;
}

#endif
