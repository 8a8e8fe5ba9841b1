/* translate.c — translates texts; a long source is translated in parts.
 *
 *     text  ->  [s_1 ... s_m </s>] [...]  ->  [t_1 ... t_n] [...]  ->  text                brackets for each part */
#include <pthread.h>

#include "model/cache.h"
#include "decode/generation_options.h"
#include "decode/session.h"
#include "model/model.h"
#include "model/translation_frame.h"
#include "pipeline/pipeline.h"
#include "store/family.h"

/* The result of a part, stored until all parts of its text are complete. */
typedef struct translated { int32_t *id; double *logprob; rf_translation of; bool there; } translated;

typedef struct source_text { int64_t first, parts, tokens; uint64_t occurrence; bool failed; } source_text;

typedef struct translator {
    rf_pipeline *p;
    const rf_tokenizer *t, *target;
    const rf_translate_options *o;
    rf_generate_options g;
    int64_t limit;                      /* tokens of a part, including the one that ends it                           */
    rf_translation_frame frame;
    int32_t *prefix;
    int64_t prefixes;
    int32_t *id;                        /* of all parts, end to end                                                   */
    size_t ids, tokens;
    size_t *start;                      /* [parts + 1]                                                                */
    size_t starts;
    int64_t parts;
    int64_t *owner;                     /* [parts] text of a part                                                     */
    size_t owners;
    source_text *of;                    /* [texts]                                                                    */
    int64_t texts;
    size_t text_space;
    rf_translate_source *source;        /* [parts]                                                                    */
    translated *kept;                   /* [parts num_return_sequences], for texts with several parts                 */
    size_t keeps, kept_space;
    rf_text_source *more;               /* asked for the next text, or NULL                                           */
    int64_t given;                      /* parts that the session has been given                                      */
    rf_word_pair *pair;                 /* of the translation that is being reported                                  */
    size_t pairs;
    rf_translate_texts_done *done;
    void *user;
    rf_error why;
    bool enough;
} translator;

void rf_translate_options_init(rf_translate_options *o, size_t size)
{
    const rf_translate_options own = {.long_source = RF_LONG_REFUSE};
    rf__options_init(o, size, &own, sizeof own);
}

static rf_status read_options(rf_translate_options *o, const rf_translate_options *given, rf_error *why)
{
    return rf__options_read(o, sizeof *o, RF_SIZE_TO(rf_translate_options, source_lang), given,
                            "rf_translate_options", why);
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static rf_status no_memory(rf_error *why) { return rf_fail(why, RF_ENOMEM, "out of memory: a translation"); }

static void put_tokens(translator *x, const int32_t id[], size_t n)
{
    if (n) memcpy(x->id + x->tokens, id, n * sizeof *x->id);
    x->tokens += n;
}

/* Adds a part of text i: tokens [from, to) of the pipeline's encoding, and those around it. */
static rf_status add_part(translator *x, int64_t i, const rf_encoding *e, size_t from, size_t to, const rf_around *a,
                          rf_error *why)
{
    const rf_ctx *ctx = x->p->ctx;
    const size_t n = to - from + rf__around_size(a);
    if (!rf__grow(ctx, &x->id, &x->ids, x->tokens + n, sizeof *x->id) ||
        !rf__grow(ctx, &x->start, &x->starts, (size_t)x->parts + 2, sizeof *x->start) ||
        !rf__grow(ctx, &x->owner, &x->owners, (size_t)x->parts + 1, sizeof *x->owner))
        return no_memory(why);
    x->start[x->parts] = x->tokens;
    put_tokens(x, a->id[0], a->n[0]);
    put_tokens(x, e->id + from, to - from);
    put_tokens(x, a->id[1], a->n[1]);
    x->owner[x->parts++] = i;
    x->start[x->parts] = x->tokens;
    x->of[i].parts++;
    x->of[i].tokens += (int64_t)n;
    return RF_OK;
}

static rf_status read_text(translator *x, int64_t i, const char *text, size_t bytes, rf_error *own, rf_error *why)
{
    rf_encoding *e = &x->p->parts.window.e;
    const size_t around = rf__around_size(&x->frame.source), most = (size_t)x->limit - around;
    rf_status status = rf__encode_source(x->p->ctx, x->t, x->o->source_prefix, text, bytes, e, own);
    if (status == RF_ENOMEM) return rf_fail(why, status, "%s", own->text);
    if (status) return RF_OK;
    if (e->n > most && x->o->long_source == RF_LONG_REFUSE) {
        rf_fail(own, RF_ERANGE, "source: expected at most %lld tokens, got %zu; shorten it, raise max_source_length "
                "if the model has more positions, or set long_source to split", (long long)x->limit, e->n + around);
        return RF_OK;
    }
    x->of[i].first = x->parts;
    for (size_t from = 0, to; from < e->n && !status; from = to) {
        to = rf__part_end(x->t, e, text, from, most);
        status = add_part(x, i, e, from, to, &x->frame.source, why);
    }
    return status;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static void fail_text(translator *x, int64_t i, const rf_error *why)
{
    if (x->of[i].failed || x->enough) return;
    x->of[i].failed = true;
    x->enough = x->done(x->user, i, NULL, why) != 0;
}

static bool put_text(translator *x, char **text, size_t *size, const int32_t id[], int64_t n, bool first)
{
    const rf_ctx *ctx = x->p->ctx;
    const int64_t before = first ? x->prefixes : 0;
    int32_t *all = rf__calloc(ctx, (size_t)(before + n) + 1, sizeof *all);
    char *piece = NULL;
    size_t more = 0;
    if (all && before) memcpy(all, x->prefix, (size_t)before * sizeof *all);
    if (all && n) memcpy(all + before, id, (size_t)n * sizeof *all);
    if (all) piece = rf_decode(x->target, all, (size_t)(before + n), 1, 0, &more);
    rf__free(ctx, all);
    char *joined = piece ? rf__alloc(ctx, *size + more + 2) : NULL;
    if (joined) {
        const bool space = *size && more;
        if (*size) memcpy(joined, *text, *size);
        if (space) joined[*size] = ' ';
        memcpy(joined + *size + space, piece, more + 1);
        *size += space + more;
        rf__free(ctx, *text);
        *text = joined;
    }
    if (piece) rf_text_free(x->target, piece);
    return joined != NULL;
}

/* ---- alignments ---- */

/* The word of each token, from `first` on; returns the index after the last word. A language before the first word
 * belongs to it. */
static int64_t words_of(const rf_tokenizer *t, const int32_t id[], int64_t n, int64_t first, int64_t *word)
{
    int64_t at = first - 1;
    for (int64_t i = 0; i < n; i++) {
        const bool special = rf_tokenizer_is_special(t, id[i]), unknown = id[i] == rf_tokenizer_unk(t);
        if (at < first ? !special || unknown : !special && !rf_tokenizer_continues(t, id[i])) at++;
        word[i] = at < first ? first : at;
    }
    return at + 1;
}

/* p [n, S]: attention of a part's tokens after the prefix; its words are numbered after the existing ones of both
 * sides. */
static bool pair_words(translator *x, const int32_t source[], int64_t S, const int32_t target[], int64_t n,
                       const float *p, int64_t first[2], rf_text_translation *t)
{
    const rf_ctx *ctx = x->p->ctx;
    int64_t *word = rf__calloc(ctx, (size_t)(S + n) + 1, sizeof *word), *to = word + S;
    double *share = rf__calloc(ctx, (size_t)S + 1, sizeof *share);
    bool good = word && share && rf__grow(ctx, &x->pair, &x->pairs, (size_t)(t->alignments + n), sizeof *x->pair);
    const int64_t texts = S - (int64_t)x->frame.source.n[1];                        /* without what ends the source */
    const int64_t sources = good ? words_of(x->t, source, texts, first[0], word) : 0;
    const int64_t targets = good ? words_of(x->target, target, n, first[1], to) : 0;
    for (int64_t i = 0, j; i < n && good; i = j) {
        int64_t best = 0;
        memset(share, 0, (size_t)S * sizeof *share);
        for (j = i; j < n && to[j] == to[i]; j++)
            for (int64_t s = 0; s < texts; s++) share[word[s] - first[0]] += (double)p[j * S + s];
        for (int64_t s = 1; s < sources - first[0]; s++) best = share[s] > share[best] ? s : best;
        x->pair[t->alignments++] = (rf_word_pair){first[0] + best, to[i]};
    }
    first[0] = sources;
    first[1] = targets;
    rf__free(ctx, word);
    rf__free(ctx, share);
    return good;
}

/* Aligns part k of text i with its translation `of`. */
static bool align_part(translator *x, int64_t i, int64_t k, const rf_translation *of, int64_t first[2],
                       rf_text_translation *t)
{
    const rf_ctx *ctx = x->p->ctx;
    const size_t at = x->start[x->of[i].first + k], S = x->start[x->of[i].first + k + 1] - at;
    const int64_t before = k ? 0 : x->prefixes, n = before + of->n;
    const int32_t source_start[] = {0, (int32_t)S}, target_start[] = {0, (int32_t)n};
    int32_t *id = rf__calloc(ctx, (size_t)n + 1, sizeof *id);
    float *p = rf__calloc(ctx, (size_t)n * S + 1, sizeof *p);
    bool good = id && p;
    if (!good) no_memory(&x->why);
    if (good && before) memcpy(id, x->prefix, (size_t)before * sizeof *id);
    if (good && of->n) memcpy(id + before, of->id, (size_t)of->n * sizeof *id);
    const rf_batch source = {.N = (int64_t)S, .B = 1, .id = x->id + at, .start = source_start};
    const rf_batch target = {.N = n, .B = 1, .id = id, .start = target_start};
    if (good && !x->p->aligner) good = !rf__pipeline_add_session(x->p, &x->p->aligner, &x->why);
    if (good && n) good = !rf__session_translation_attention(x->p->aligner, &source, &target, x->frame.start,
                                                                -1, p, &x->why);
    if (good && !pair_words(x, x->id + at, (int64_t)S, id, n, p, first, t)) {
        no_memory(&x->why);
        good = false;
    }
    rf__free(ctx, id);
    rf__free(ctx, p);
    return good;
}

/* Reports a translation of text i when all its parts of one rank are complete; `part` lists them. */
static void report_translation(translator *x, int64_t i, const rf_translation *const part[], rf_translation all)
{
    rf_text_translation t = {.of = all, .source_tokens = x->of[i].tokens, .parts = x->of[i].parts};
    char *text = NULL;
    bool good = true;
    int64_t first[2] = {0, 0};
    for (int64_t k = 0; part && k < t.parts && good; k++) {
        good = put_text(x, &text, &t.bytes, part[k]->id, part[k]->n, !k);
        if (good && x->o->alignments && !align_part(x, i, k, part[k], first, &t)) break;
    }
    t.alignment = x->pair;
    t.text = text ? text : "";
    t.of.source = i;
    if (!good) no_memory(&x->why);
    if (!x->why.code && !x->enough) x->enough = x->done(x->user, i, &t, NULL) != 0;
    rf__free(x->p->ctx, text);
}

static bool keep(translator *x, int64_t part, const rf_translation *t)
{
    const rf_ctx *ctx = x->p->ctx;
    translated *k = &x->kept[part * x->g.num_return_sequences + t->rank];
    *k = (translated){.of = *t, .there = true};
    k->id = rf__calloc(ctx, (size_t)t->n + 1, sizeof *k->id);
    k->logprob = rf__calloc(ctx, (size_t)t->logprobs + 1, sizeof *k->logprob);
    if (!k->id || !k->logprob) return no_memory(&x->why), false;
    if (t->n) memcpy(k->id, t->id, (size_t)t->n * sizeof *k->id);
    if (t->logprobs) memcpy(k->logprob, t->logprob, (size_t)t->logprobs * sizeof *k->logprob);
    k->of.id = k->id;
    k->of.logprob = k->logprob;
    return true;
}

/* Joins the parts of text i: their tokens, the tokens' log-probabilities, then those of the end tokens, and as a single
 * score their sum divided by the norm of all tokens, including end tokens. */
static void join(translator *x, int64_t i, int64_t rank)
{
    const rf_ctx *ctx = x->p->ctx;
    const source_text *s = &x->of[i];
    const rf_translation **part = rf__calloc(ctx, (size_t)s->parts, sizeof *part);
    rf_translation all = {.rank = rank, .end = RF_GENERATE_STOP};
    bool whole = part != NULL;
    for (int64_t k = 0; k < s->parts && whole; k++) {
        const translated *one = &x->kept[(s->first + k) * x->g.num_return_sequences + rank];
        whole = one->there;
        part[k] = &one->of;
        all.n += one->of.n;
        all.total += one->of.total;
        all.logprobs += one->of.logprobs;
        if (one->of.end != RF_GENERATE_STOP) all.end = RF_GENERATE_LENGTH;
    }
    int32_t *id = whole ? rf__calloc(ctx, (size_t)all.n + 1, sizeof *id) : NULL;
    double *logprob = whole ? rf__calloc(ctx, (size_t)all.logprobs + 1, sizeof *logprob) : NULL;
    if (whole && (!id || !logprob)) no_memory(&x->why);
    int64_t n = 0, end = all.n;
    for (int64_t k = 0; k < s->parts && id && logprob; k++) {
        const rf_translation *one = part[k];
        memcpy(id + n, one->id, (size_t)one->n * sizeof *id);
        memcpy(logprob + n, one->logprob, (size_t)one->n * sizeof *logprob);
        n += one->n;
        for (int64_t e = one->n; e < one->logprobs; e++) logprob[end++] = one->logprob[e];
    }
    all.id = id;
    all.logprob = logprob;
    all.score = all.logprobs ? all.total / rf__norm_of_length(&x->g, all.logprobs) : 0;
    if (id && logprob) report_translation(x, i, part, all);
    if (!part) no_memory(&x->why);
    rf__free(ctx, id);
    rf__free(ctx, logprob);
    rf__free(ctx, (void *)part);
}

static int take(void *user, int64_t part, const rf_translation *t, const rf_error *why)
{
    translator *x = user;
    const int64_t i = x->owner[part];
    if (!t) fail_text(x, i, why);
    else if (x->of[i].parts == 1) report_translation(x, i, &t, *t);
    else if (keep(x, part, t)) join(x, i, t->rank);
    return x->enough || x->why.code;
}

/* ---- all texts --------------------------------------------------------------------------------------------------- */

/* The text that translations begin with, after the token of their language. */
static rf_status read_prefix(translator *x, const char *text, rf_error *why)
{
    rf_encoding *e = &x->p->parts.window.e;
    const rf_status status = rf_encode(x->target, text, strlen(text), NULL, 0, 0, RF_ENCODE_PLAIN, e, NULL, why);
    if (status) return status;
    x->prefix = rf__calloc(x->p->ctx, e->n + 2, sizeof *x->prefix);
    if (!x->prefix) return no_memory(why);
    if (x->frame.forced >= 0 && e->n) {
        x->prefix[x->prefixes++] = x->frame.forced;
        x->g.forced_bos = -1;
    }
    if (e->n) memcpy(x->prefix + x->prefixes, e->id, e->n * sizeof *x->prefix);
    x->prefixes += (int64_t)e->n;
    return RF_OK;
}

static rf_status begin(translator *x, const rf_translate_options *o, rf_error *why)
{
    const rf_model *m = x->p->model;
    const rf_config *c = rf_model_config(m);
    rf_status status = rf__model_translates(m) && o->generate ? RF_OK : rf_translate_check(m, why);
    rf_translate_defaults(m, &x->g);
    if (!status && o->generate) status = rf__generate_options_read(&x->g, o->generate, why);
    if (!status && (o->max_source_length < 0 || o->max_source_length == 1))
        status = rf_fail(why, RF_EARG, "max_source_length: expected 0 or at least 2, got %lld",
                         (long long)o->max_source_length);
    if (!status && o->long_source != RF_LONG_REFUSE && o->long_source != RF_LONG_SPLIT)
        status = rf_fail(why, RF_EARG, "long_source: expected RF_LONG_REFUSE or RF_LONG_SPLIT, got %d",
                         (int)o->long_source);
    if (!status && o->source_prefix && *o->source_prefix && o->long_source == RF_LONG_SPLIT)
        status = rf_fail(why, RF_EARG, "source_prefix: expected RF_LONG_REFUSE with it, as parts would have none, got "
                         "RF_LONG_SPLIT");
    if (status) return status;
    x->t = rf_model_tokenizer(m);
    x->target = rf__tokenizer_target(x->t);
    status = rf__frame_translation(c, x->t, o->source_lang, o->target_lang, &x->frame, why);
    if (status) return status;
    x->limit = o->max_source_length ? o->max_source_length : rf__config_longest(c);
    x->limit = rf__max64(x->limit, (int64_t)rf__around_size(&x->frame.source) + 1);
    x->g.decoder_start = x->frame.start;
    if (x->frame.forced >= 0) x->g.forced_bos = x->frame.forced;
    return o->prefix ? read_prefix(x, o->prefix, why) : RF_OK;
}

static void end(translator *x)
{
    const rf_ctx *ctx = x->p->ctx;
    for (size_t k = 0; k < x->keeps; k++) {
        rf__free(ctx, x->kept[k].id);
        rf__free(ctx, x->kept[k].logprob);
    }
    rf__free(ctx, x->kept);
    rf__free(ctx, x->source);
    rf__free(ctx, x->of);
    rf__free(ctx, x->owner);
    rf__free(ctx, x->start);
    rf__free(ctx, x->id);
    rf__free(ctx, x->prefix);
    rf__free(ctx, x->pair);
}

/* Adds a text. One without tokens, or that cannot be read, is reported immediately. */
static rf_status add_text(translator *x, const rf_text_prompt *text, rf_error *why)
{
    const int64_t i = x->texts;
    rf_error own = {0};
    if (!text->text) return rf_fail(why, RF_EARG, "text %lld: expected a text, got NULL", (long long)i);
    if (!rf__grow(x->p->ctx, &x->of, &x->text_space, (size_t)i + 1, sizeof *x->of)) return no_memory(why);
    x->of[x->texts++] = (source_text){.occurrence = text->occurrence};
    const size_t bytes = text->bytes == RF_STRING ? strlen(text->text) : text->bytes;
    const rf_status status = read_text(x, i, text->text, bytes, &own, why);
    if (status) return status;
    if (own.code) fail_text(x, i, &own);
    for (int64_t k = 0; !own.code && !x->of[i].parts && k < x->g.num_return_sequences; k++)
        report_translation(x, i, NULL, (rf_translation){.rank = k, .end = RF_GENERATE_STOP});
    const size_t keeps = (size_t)(x->parts * x->g.num_return_sequences);
    if (!rf__grow(x->p->ctx, &x->kept, &x->kept_space, keeps, sizeof *x->kept)) return no_memory(why);
    while (x->keeps < keeps) x->kept[x->keeps++] = (translated){.there = false};
    return RF_OK;
}

static rf_translate_source part_of(const translator *x, int64_t k)
{
    const source_text *of = &x->of[x->owner[k]];
    return (rf_translate_source){.id = x->id + x->start[k],
                                 .n = (int64_t)(x->start[k + 1] - x->start[k]),
                                 .prefix = x->prefix,
                                 .prefixes = k == of->first ? x->prefixes : 0,
                                 .occurrence = of->occurrence};
}

static rf_status read_texts(translator *x, const char *const text[], const size_t bytes[], int64_t n, rf_error *why)
{
    for (int64_t i = 0; i < n && !x->enough; i++) {
        const rf_text_prompt one = {.text = text[i], .bytes = bytes ? bytes[i] : RF_STRING};
        const rf_status status = add_text(x, &one, why);
        if (status) return status;
    }
    x->source = rf__calloc(x->p->ctx, (size_t)x->parts + 1, sizeof *x->source);
    if (!x->source) return no_memory(why);
    for (int64_t k = 0; k < x->parts; k++) x->source[k] = part_of(x, k);
    return RF_OK;
}

/* The next part, when the session requests it. */
static int next_part(void *user, int idle, rf_translate_source *out)
{
    translator *x = user;
    while (x->given == x->parts) {
        rf_text_prompt text = {.bytes = RF_STRING};
        if (x->enough || x->why.code || !x->more(x->user, idle, &text) || add_text(x, &text, &x->why)) return 0;
    }
    *out = part_of(x, x->given++);
    return 1;
}

/* ---- several writers ---------------------------------------------------------------------------------------------
 *
 * With many parts, each thread generates its own: writer k of n those of number k, k + n, ... Threads that share every
 * product of a step would wait for each other about a hundred times in it. Tokens do not depend on this. */

enum { ROWS = 32 };                     /* rows of a step that keep one thread busy                                   */

struct writers;
typedef struct share {
    struct writers *all;
    rf_session *session;
    rf_translate_source *source;
    int64_t first, n;
    rf_error why;
} share;
typedef struct writers { translator *x; share *share; int64_t n; pthread_mutex_t lock; } writers;

/* Number of writers; a limit of memory applies to the sequences of one session. */
static int64_t writers_of(const translator *x)
{
    const int64_t T = x->p->ctx->threads, each = rf__max64(x->g.num_beams, x->g.num_return_sequences);
    const rf_cache *cache = rf__session_kept(x->p->session);
    const bool enough = x->g.batch_size / T >= rf__max64(ROWS, each) && x->parts >= 2 * ROWS * T / each;
    return T > 1 && enough && !(cache && rf__cache_most(cache)) ? T : 1;
}

static int take_share(void *user, int64_t part, const rf_translation *t, const rf_error *why)
{
    share *s = user;
    pthread_mutex_lock(&s->all->lock);
    const int enough = take(s->all->x, s->first + part * s->all->n, t, why);
    pthread_mutex_unlock(&s->all->lock);
    return enough;
}

static void write_share(void *arg, int64_t i, int worker)
{
    writers *w = arg;
    share *s = &w->share[i];
    rf_generate_options g = w->x->g;
    (void)worker;
    g.batch_size /= w->n;
    if (!rf_session_translate(s->session, s->source, s->n, &g, take_share, s, &s->why)) return;
    pthread_mutex_lock(&w->lock);                                    /* a failure of one is reported for all */
    w->x->enough = true;
    pthread_mutex_unlock(&w->lock);
}

static rf_status deal(writers *w, rf_error *why)
{
    rf_pipeline *p = w->x->p;
    const rf_status status = rf__pipeline_workers(p, why);
    if (status) return status;
    for (int64_t i = 0; i < w->n; i++) {
        share *s = &w->share[i];
        *s = (share){.all = w, .first = i, .session = p->worker[i].session};
        s->source = rf__calloc(p->ctx, (size_t)(w->x->parts / w->n) + 1, sizeof *s->source);
        if (!s->source) return no_memory(why);
        for (int64_t k = i; k < w->x->parts; k += w->n) s->source[s->n++] = w->x->source[k];
    }
    return RF_OK;
}

static rf_status write_all(translator *x, rf_error *why)
{
    const rf_ctx *ctx = x->p->ctx;
    writers w = {.x = x, .n = writers_of(x), .lock = PTHREAD_MUTEX_INITIALIZER};
    if (w.n == 1) return rf_session_translate(x->p->session, x->source, x->parts, &x->g, take, x, why);
    w.share = rf__calloc(ctx, (size_t)w.n, sizeof *w.share);
    rf_status status = w.share ? deal(&w, why) : no_memory(why);
    if (!status) rf__parallel(ctx, w.n, write_share, &w);
    for (int64_t i = 0; i < w.n && w.share; i++) {
        if (!status && w.share[i].why.code) status = rf_fail(why, w.share[i].why.code, "%s", w.share[i].why.text);
        rf__free(ctx, w.share[i].source);
    }
    rf__free(ctx, w.share);
    pthread_mutex_destroy(&w.lock);
    return status;
}

/* Of n texts, or of those that `more` returns. */
static rf_status translate(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                           rf_text_source *more, const rf_translate_options *options, rf_translate_texts_done *done,
                           void *user, rf_error *why)
{
    rf_translate_options o;
    rf_translate_text_defaults(&o);
    rf_status status = read_options(&o, options, why);
    if (status) return status;
    translator x = {.p = p, .o = &o, .more = more, .done = done, .user = user};
    status = begin(&x, &o, why);
    if (!status && n) status = read_texts(&x, text, bytes, n, why);
    if (!status && more) status = rf__session_translate_from(p->session, next_part, &x.g, take, &x, why);
    else if (!status && !x.enough && !x.why.code && (x.parts || !n)) status = write_all(&x, why);
    if (!status && x.why.code) status = rf_fail(why, x.why.code, "%s", x.why.text);
    end(&x);
    return status;
}

rf_status rf_translate_texts(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                             const rf_translate_options *options, rf_translate_texts_done *done, void *user,
                             rf_error *why)
{
    rf_status status = rf__pipeline_check(p, text, n, why);
    if (!status && !done) status = rf__missing("rf_translate_texts", "done", why);
    return status ? status : translate(p, text, bytes, n, NULL, options, done, user, why);
}

rf_status rf_translate_texts_from(rf_pipeline *p, rf_text_source *source, const rf_translate_options *options,
                                  rf_translate_texts_done *done, void *user, rf_error *why)
{
    rf_status status = rf__pipeline_check(p, NULL, 0, why);
    if (!status && !(source && done)) status = rf__missing("rf_translate_texts_from", "source, done", why);
    return status ? status : translate(p, NULL, NULL, 0, source, options, done, user, why);
}

/* ---- scores of given translations -------------------------------------------------------------------------------- */

/* Appends a text's tokens and those around it. */
static rf_status put_ids(translator *x, bool source, const char *text, size_t bytes, rf_error *why)
{
    const char *what = source ? "source" : "translation", *prefix = source ? x->o->source_prefix : NULL;
    const size_t size = bytes == RF_STRING ? strlen(text) : bytes;
    rf_encoding *e = &x->p->parts.window.e;
    rf_error own = {0};
    const rf_status status = rf__encode_source(x->p->ctx, source ? x->t : x->target, prefix, text, size, e, &own);
    if (status) return rf_fail(why, status, "%s: %.290s", what, own.text);
    return add_part(x, 0, e, 0, e->n, source ? &x->frame.source : &x->frame.target, why);
}

/* Of the translation's own tokens and its end; what the template puts before them is given. */
static rf_status score_target(translator *x, const rf_text_logprob **out, rf_error *why)
{
    rf_pipeline *p = x->p;
    const rf_around *a = &x->frame.target;
    const int32_t source_start[] = {0, (int32_t)x->start[1]}, before = (int32_t)a->n[0];
    const int32_t n = (int32_t)(x->start[2] - x->start[1] - (a->n[1] - 1)), *target_id = x->id + x->start[1];
    const int32_t target_start[] = {0, n};
    const rf_batch source = {.N = source_start[1], .B = 1, .id = x->id, .start = source_start};
    const rf_batch target = {.N = n, .B = 1, .id = target_id, .start = target_start};
    rf__free(p->ctx, p->id);
    rf__free(p->ctx, p->logprob);
    p->id = rf__calloc(p->ctx, (size_t)n, sizeof *p->id);
    p->logprob = rf__calloc(p->ctx, (size_t)n, sizeof *p->logprob);
    if (!p->id || !p->logprob) return no_memory(why);
    memcpy(p->id, target_id, (size_t)n * sizeof *p->id);
    const rf_status status = rf__session_translation_logprobs(p->session, &source, &target, x->frame.start,
                                                              p->logprob, why);
    if (status) return status;
    p->text_logprob = (rf_text_logprob){.n = n - before, .id = p->id + before, .logprob = p->logprob + before};
    for (int32_t i = before; i < n; i++) p->text_logprob.total += p->logprob[i];
    *out = &p->text_logprob;
    return RF_OK;
}

rf_status rf_logprob_translation(rf_pipeline *p, const char *source, size_t source_bytes, const char *text,
                                 size_t bytes, const rf_translate_options *options, const rf_text_logprob **out,
                                 rf_error *why)
{
    rf_translate_options o;
    source_text of = {0};
    if (!(p && source && text && out)) return rf__missing("rf_logprob_translation", "pipeline, source, text, out", why);
    rf_translate_text_defaults(&o);
    rf_status status = read_options(&o, options, why);
    translator x = {.p = p, .o = &o, .of = &of};
    if (!status) status = begin(&x, &o, why);
    if (!status) status = put_ids(&x, true, source, source_bytes, why);
    if (!status) status = put_ids(&x, false, text, bytes, why);
    for (int64_t k = 0; k < 2 && !status; k++)
        if ((int64_t)(x.start[k + 1] - x.start[k]) > x.limit)
            status = rf_fail(why, RF_ERANGE, "%s: expected at most %lld tokens, got %zu", k ? "translation" : "source",
                             (long long)x.limit, x.start[k + 1] - x.start[k]);
    if (!status) status = score_target(&x, out, why);
    x.of = NULL;
    end(&x);
    return status;
}
