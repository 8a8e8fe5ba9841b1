/* variants.c — scores of mutations; see include/roformer/pipeline.h. */
#include "roformer/pipeline.h"

#include <math.h>
#include <stdlib.h>

#include "pipeline/masked.h"

/* One residue that one variant replaces. */
typedef struct site { int64_t variant, at; int32_t wild, mutant; } site;

typedef struct variants {
    rf_pipeline *p;
    const rf_variant_options *o;
    const char *sequence;
    int64_t length;
    int32_t *id;                        /* [tokens] of the wild type; residue i is token first + i                    */
    int64_t tokens, first;
    site *site;                         /* [sites], after parsing in order of their variants                          */
    size_t sites, capacity;
    int64_t *at;                        /* [positions] the required positions, in ascending order                     */
    int64_t positions;
    double *score;                      /* [n]                                                                        */
    size_t next;                        /* the first site, in order of `at`, of the next position                     */
} variants;

void rf_variant_options_init(rf_variant_options *o, size_t size)
{
    const rf_variant_options own = {.strategy = RF_MASKED_MARGINALS, .offset = 1, .batch_tokens = 2048};
    rf__options_init(o, size, &own, sizeof own);
}

/* ---- the protein ---- */

/* RF_EDATA: a known token of several letters, as of DNA in six: the model does not read letters one by one. */
static rf_status check_words(rf_pipeline *p, const char *text, int64_t n, rf_encoding *e, rf_error *why)
{
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    const int flags = RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS;
    const rf_status status = rf_encode(t, text, (size_t)n, NULL, 0, 0, flags, e, NULL, why);
    for (size_t i = 0; i < e->n && !status; i++)
        if (e->id[i] != rf_tokenizer_unk(t) && e->end[i] - e->start[i] > 1)
            return rf_fail(why, RF_EDATA, "sequence: expected a token for each residue, got the token '%.*s'; the "
                           "model is not one of proteins", (int)(e->end[i] - e->start[i]), text + e->start[i]);
    return status;
}

/* Blanks between residues (step 2) make each a token where a vocabulary of words needs them. */
static rf_status encode_residues(rf_pipeline *p, const char *text, int64_t n, int step, rf_encoding *e, rf_error *why)
{
    size_t size;
    if (!rf__checked_mul((size_t)n, (size_t)step, &size)) return rf_fail(why, RF_ERANGE, "sequence: too long");
    char *spaced = rf__alloc(p->ctx, size);
    if (!spaced) return rf_fail(why, RF_ENOMEM, "out of memory: a protein of %lld residues", (long long)n);
    memset(spaced, ' ', size);
    for (int64_t i = 0; i < n; i++) spaced[step * i] = text[i];
    const rf_status status = rf_encode(rf_model_tokenizer(p->model), spaced, size, NULL, 0, 0, RF_ENCODE_NO_SPECIALS, e,
                                       NULL, why);
    rf__free(p->ctx, spaced);
    return status;
}

/* A residue without a token of its own would be read as [UNK], and change the scores of the others. */
static rf_status check_known(const variants *v, rf_error *why)
{
    const int32_t unknown = rf_tokenizer_unk(rf_model_tokenizer(v->p->model));
    for (int64_t i = 0; i < v->length; i++)
        if (v->id[v->first + i] == unknown)
            return rf_fail(why, RF_EDATA, "sequence: residue %lld: expected a residue that the model knows, got '%c'",
                           (long long)(i + v->o->offset), v->sequence[i]);
    return RF_OK;
}

static rf_status read_protein(variants *v, rf_error *why)
{
    rf_encoding *e = &v->p->parts.window.e;
    v->p->parts.window.n = 0;
    for (int64_t i = 0; i < v->length; i++)
        if ((unsigned char)v->sequence[i] <= ' ' || (unsigned char)v->sequence[i] > '~')
            return rf_fail(why, RF_EDATA, "sequence: residue %lld: expected a letter, got byte 0x%02X",
                           (long long)(i + v->o->offset), (unsigned char)v->sequence[i]);
    if (!v->length) return rf_fail(why, RF_EDATA, "sequence: expected residues, got none");
    rf_status status = check_words(v->p, v->sequence, v->length, e, why);
    const int step = (int64_t)e->n == v->length ? 1 : 2;
    if (!status) status = encode_residues(v->p, v->sequence, v->length, step, e, why);
    if (status) return status;
    while ((size_t)v->first < e->n && e->added[v->first]) v->first++;
    int64_t own = 0;
    while ((size_t)(v->first + own) < e->n && !e->added[v->first + own] && own <= v->length &&
           e->start[v->first + own] == (uint64_t)(step * own))
        own++;
    if (own != v->length)
        return rf_fail(why, RF_EDATA,
                       "sequence: expected a token for each of its %lld residues, got another "
                       "tokenization from residue %lld; the model is not one of proteins, or residues are unknown to "
                       "it",
                       (long long)v->length, (long long)(own + v->o->offset));
    v->tokens = (int64_t)e->n;
    v->id = rf__calloc(v->p->ctx, e->n, sizeof *v->id);
    if (!v->id) return rf_fail(why, RF_ENOMEM, "out of memory: a protein of %zu tokens", e->n);
    memcpy(v->id, e->id, e->n * sizeof *v->id);
    return check_known(v, why);
}

/* ---- mutations ---- */

/* The token of a residue; RF_EDATA: it is unknown. */
static rf_status token_of(variants *v, char residue, int32_t *out, rf_error *why)
{
    rf_encoding *e = &v->p->parts.window.e;
    const rf_tokenizer *t = rf_model_tokenizer(v->p->model);
    v->p->parts.window.n = 0;
    const int flags = RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS;
    const rf_status status = rf_encode(t, &residue, 1, NULL, 0, 0, flags, e, NULL, why);
    if (status) return status;
    if (e->n != 1 || e->id[0] == rf_tokenizer_unk(t))
        return rf_fail(why, RF_EDATA, "expected a residue that the model knows, got '%c'", residue);
    *out = e->id[0];
    return rf__token_in_model(v->p, *out, why);
}

static bool is_residue(char c) { return c > ' ' && c <= '~' && c != ':' && !(c >= '0' && c <= '9'); }

/* Parses A24G, the n bytes of text. */
static rf_status parse_one(variants *v, const char *text, size_t n, int64_t variant, rf_error *why)
{
    int64_t number = 0;
    size_t i = 1;
    for (; i + 1 < n && text[i] >= '0' && text[i] <= '9' && number < INT64_MAX / 20; i++)
        number = 10 * number + text[i] - '0';
    if (n < 3 || i == 1 || i + 1 != n || !is_residue(text[0]) || !is_residue(text[n - 1]))
        return rf_fail(why, RF_EDATA, "'%.*s': expected a residue, a position and a residue, as A24G", (int)rf__min64(
                       (int64_t)n, 60), text);
    const int64_t at = number - v->o->offset;
    if (at < 0 || at >= v->length)
        return rf_fail(why, RF_EDATA, "'%.*s': position: expected %lld to %lld, the residues of the sequence, got %lld",
                       (int)n, text, (long long)v->o->offset, (long long)(v->o->offset + v->length - 1),
                       (long long)number);
    if (v->sequence[at] != text[0])
        return rf_fail(why, RF_EDATA, "'%.*s': residue %lld: expected '%c', as the sequence has, got '%c'; check the "
                       "sequence and the number of its first residue", (int)n, text, (long long)number,
                       v->sequence[at], text[0]);
    for (size_t s = v->sites; s-- && v->site[s].variant == variant;)
        if (v->site[s].at == at)
            return rf_fail(why, RF_EDATA, "'%.*s': position %lld: expected one mutation of a variant there, got two",
                           (int)n, text, (long long)number);
    if (!rf__grow(v->p->ctx, &v->site, &v->capacity, v->sites + 1, sizeof *v->site))
        return rf_fail(why, RF_ENOMEM, "out of memory: %zu mutations", v->sites + 1);
    site *s = &v->site[v->sites++];
    *s = (site){.variant = variant, .at = at, .wild = v->id[v->first + at]};
    rf_error inner = {0};
    const rf_status status = token_of(v, text[n - 1], &s->mutant, &inner);
    return status ? rf_fail(why, status, "'%.*s': %s", (int)n, text, inner.text) : RF_OK;
}

static rf_status parse(variants *v, const char *text, int64_t variant, rf_error *why)
{
    if (!text) return rf__missing("rf_score_variants", "each mutation", why);
    for (;;) {
        const size_t n = strcspn(text, ":");
        const rf_status status = parse_one(v, text, n, variant, why);
        if (status || !text[n]) return status;
        text += n + 1;
    }
}

/* ---- scores ---- */

static int by_position(const void *a, const void *b)
{
    const site *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->variant < y->variant ? -1 : x->variant > y->variant;
}

/* Adds position i's part of the score to all its sites. */
static void take(void *user, int64_t i, const float *logits)
{
    variants *v = user;
    const int64_t V = rf_model_config(v->p->model)->vocab_size;
    for (; v->next < v->sites && v->first + v->site[v->next].at == v->at[i]; v->next++) {
        const site *s = &v->site[v->next];
        v->score[s->variant] += rf__log_softmax(logits, V, s->mutant) - rf__log_softmax(logits, V, s->wild);
    }
}

static rf_status score_marginals(variants *v, rf_error *why)
{
    if (v->sites) qsort(v->site, v->sites, sizeof *v->site, by_position);
    v->at = rf__calloc(v->p->ctx, v->sites, sizeof *v->at);
    if (!v->at) return rf_fail(why, RF_ENOMEM, "out of memory: %zu mutations", v->sites);
    for (size_t s = 0; s < v->sites; s++)
        if (!s || v->site[s].at != v->site[s - 1].at) v->at[v->positions++] = v->first + v->site[s].at;
    return rf__each_masked(v->p, v->id, NULL, v->tokens, v->at, v->positions, v->o->strategy == RF_MASKED_MARGINALS,
                           v->o->batch_tokens, take, v, why);
}

static rf_status score_proteins(variants *v, int64_t n, rf_error *why)
{
    double *logprob = rf__calloc(v->p->ctx, (size_t)v->length, sizeof *logprob);
    rf_status status = logprob ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: %lld residues", (long long)v->length);
    for (int64_t i = 0, from = 0, to; i < n && !status; i++, from = to) {
        for (to = from; to < (int64_t)v->sites && v->site[to].variant == i; to++)
            v->id[v->first + v->site[to].at] = v->site[to].mutant;
        status = rf__pseudo_logprobs(v->p, v->id, NULL, v->tokens, v->first, v->length, v->o->batch_tokens, logprob,
                                     why);
        for (int64_t r = 0; r < v->length; r++) v->score[i] += logprob[r];
        for (int64_t s = from; s < to; s++) v->id[v->first + v->site[s].at] = v->site[s].wild;
    }
    rf__free(v->p->ctx, logprob);
    return status;
}

static rf_status check(const rf_pipeline *p, const rf_variant_options *o, rf_error *why)
{
    if (o->strategy < RF_MASKED_MARGINALS || o->strategy > RF_PSEUDO_PPL)
        return rf_fail(why, RF_EARG, "strategy: expected a value of rf_scoring_strategy, got %d", (int)o->strategy);
    if (o->offset < 0 || o->offset > INT32_MAX)
        return rf_fail(why, RF_EARG, "offset: expected 0 to %d, got %lld", INT32_MAX, (long long)o->offset);
    if (o->batch_tokens < 1 || o->batch_tokens > 1 << 24)
        return rf_fail(why, RF_EARG, "batch_tokens: expected 1 to %d, got %lld", 1 << 24, (long long)o->batch_tokens);
    return rf__can_fill(p, why);
}

rf_status rf_score_variants(rf_pipeline *p, const char *sequence, size_t bytes, const char *const mutation[],
                            int64_t n, const rf_variant_options *options, const double **score,
                            const rf_texts_report **report, rf_error *why)
{
    rf_variant_options o;
    rf_texts_report local, *r = rf__report_begin(p, report, &local);
    rf_error inner = {0};
    if (!(p && sequence && score)) return rf__missing("rf_score_variants", "pipeline, sequence, score", why);
    rf_status status = rf__pipeline_check(p, mutation, n, why);
    rf_variant_defaults(&o);
    if (!status)
        status = rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_variant_options, batch_tokens), options,
                                  "rf_variant_options", why);
    if (!status) status = check(p, &o, why);
    if (status) return status;
    variants v = {.p = p, .o = &o, .sequence = sequence,
                  .length = (int64_t)(bytes == RF_STRING ? strlen(sequence) : bytes)};
    status = read_protein(&v, why);
    for (int64_t i = 0; i < n && !status; i++) {
        status = parse(&v, mutation[i], i, &inner);
        if (!status) continue;
        r->bad = i;
        rf__text_fail(report, i, n, &inner, why);
    }
    if (!status) {
        v.score = rf__realloc(p->ctx, p->logprob, (size_t)rf__max64(n, 1) * sizeof *v.score);
        if (!v.score) status = rf_fail(why, RF_ENOMEM, "out of memory: %lld variants", (long long)n);
        else p->logprob = v.score, memset(v.score, 0, (size_t)n * sizeof *v.score);
    }
    if (!status && n) status = o.strategy == RF_PSEUDO_PPL ? score_proteins(&v, n, why) : score_marginals(&v, why);
    if (!status) r->done = n, *score = v.score;
    void *const own[] = {v.id, v.site, v.at};
    for (size_t i = 0; i < RF_COUNT(own); i++) rf__free(p->ctx, own[i]);
    return status;
}
