/* generate.c — generates several texts at a time, one token of each in every batch; see
 * include/roformer/generate.h.
 *
 *     enter     add prompts in their order while there is space; a prompt that shares its beginning with a text in
 *               progress is forked from it; the encoder reads the sources of all new texts in one batch
 *     step      one batch: the last token of each text, or a piece of its prompt
 *     choose    the next token of each text whose tokens are all computed (choose.c)
 *     leave     remove finished texts
 *
 * The bits of a text depend neither on the rest of the batch nor on how its prompt is split, so its tokens do not. */
#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/positions.h"
#include "decode/writer.h"

/* Tokens of prompts in a step (of whole texts, if no keys are cached); number of common tokens for which a prompt
 * waits. */
enum { PIECE = RF__STEP_TOKENS, WORTH = 32 };

/* ---- entering: what a text is made from ---- */

static rf_status check_ids(const rf__writer *w, const char *what, const int32_t id[], int64_t n, int64_t least,
                           rf_error *why)
{
    if ((!id && n) || n < least || n > INT32_MAX - w->o->max_new_tokens - 1)
        return rf_fail(why, RF_EARG, "%s: expected at least %lld tokens, got %lld", what, (long long)least,
                       (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (id[i] < 0 || id[i] >= w->V)
            return rf_fail(why, RF_ERANGE, "%s: token %lld: expected an id below vocab_size %lld, got %d", what,
                           (long long)i, (long long)w->V, (int)id[i]);
    return RF_OK;
}

/* The first text of unit i; the prompt of a text. */
static int64_t number_of(const rf__writer *w, int64_t unit)
{
    return w->o->num_beams > 1 ? unit * w->o->num_return_sequences : unit;
}

/* The prompt, or what a translation begins with after the decoder's first token. */
static rf_prompt prompt_of(const rf__writer *w, int64_t number)
{
    const rf_translate_source *s = rf__source_of(w, number);
    if (!s) return w->next ? w->asked : w->prompt[number / w->o->num_return_sequences];
    return (rf_prompt){.id = s->prefix, .n = s->prefixes, .occurrence = s->occurrence};
}

static rf_status check_prompt(const rf__writer *w, int64_t number, rf_error *why)
{
    const rf_translate_source *s = rf__source_of(w, number);
    const rf_prompt p = prompt_of(w, number);
    const rf_status status = s ? check_ids(w, "source", s->id, s->n, 1, why) : RF_OK;
    if (!s && w->o->max_length && p.n >= w->o->max_length)
        return rf_fail(why, RF_ERANGE, "prompt: expected fewer tokens than max_length, %lld, got %lld; shorten it, or "
                       "use max_new_tokens", (long long)w->o->max_length, (long long)p.n);
    return status ? status : check_ids(w, s ? "prefix" : "prompt", p.id, p.n, s ? 0 : 1, why);
}

/* Maximum number of new tokens of a text. */
static int64_t most_of(const rf__writer *w, const rf_translate_source *s, int64_t prompt)
{
    const int64_t whole = w->o->max_length;
    const double most = s ? ceil(w->o->max_length_factor * (double)s->n) : 0;
    if (!s && whole) return rf__min64(w->o->max_new_tokens, whole - prompt);
    return most > 0 && most < (double)w->o->max_new_tokens ? (int64_t)most : w->o->max_new_tokens;
}

static rf__writing *make(rf__writer *w, int64_t number)
{
    const rf_generate_options *o = w->o;
    const rf_translate_source *s = rf__source_of(w, number);
    const rf_prompt p = prompt_of(w, number);
    const int64_t first = s ? 1 : 0;
    rf__writing *t = rf__calloc(w->ctx, 1, sizeof *t);
    if (!t) return NULL;
    *t = (rf__writing){.number = number, .n = first + p.n, .prompt = first + p.n, .source = s};
    t->most = most_of(w, s, p.n);
    if (!rf__writing_space(w, t)) {
        rf__writing_free(w, t);
        return NULL;
    }
    if (s) t->id[0] = o->decoder_start >= 0 ? o->decoder_start : (int32_t)w->model->config.decoder_start_token_id;
    if (p.n) memcpy(t->id + first, p.id, (size_t)p.n * sizeof *t->id);
    const uint64_t hash = s ? rf__hash64(s->id, (size_t)s->n * sizeof *s->id, 0x6d616368) : 0x67656e65;
    t->key = rf__make_key(o->seed, rf__hash64(p.id, (size_t)p.n * sizeof *p.id, hash));
    t->occurrence = (o->occurrence + p.occurrence) * (uint64_t)o->num_return_sequences +
                    (uint64_t)(number % o->num_return_sequences);
    for (int64_t i = 0; i < o->suppressed; i++)
        if (o->suppress[i] >= 0 && o->suppress[i] < w->V) t->flag[o->suppress[i]] |= RF__SUPPRESSED;
    for (int64_t i = 0; i < t->n; i++) t->flag[t->id[i]] |= RF__SEEN;
    return t;
}

/* ---- entering ---- */

static int64_t in_common(const int32_t *a, const int32_t *b, int64_t n)
{
    int64_t i = 0;
    while (i < n && a[i] == b[i]) i++;
    return i;
}

/* The text that has computed the largest part of the beginning of t; NULL: none has any. *soon: the largest part that
 * some text will have computed. */
static const rf__writing *nearest(const rf__writer *w, const rf__writing *t, int64_t *tokens, int64_t *soon)
{
    const rf__writing *best = NULL;
    for (int64_t i = 0; i < w->lives; i++) {
        const rf__writing *x = w->live[i];
        if (!x->sequence) continue;
        const int64_t most = rf__min64(t->prompt - 1, x->over ? x->known : rf__max64(x->prompt, x->known));
        const int64_t shared = in_common(t->id, x->id, most), now = rf__min64(shared, x->known);
        *soon = rf__max64(*soon, shared);
        if (now <= *tokens) continue;
        *tokens = now;
        best = x;
    }
    return best;
}

/* Assigns a sequence to a text that enters. *waits: until another text has computed their common beginning. */
static rf_status take_sequence(rf__writer *w, rf__writing *t, bool *waits, rf_error *why)
{
    int64_t tokens = 0, soon = 0;
    const bool cuts = rf__cache_cuts(w->cache) && !w->model->config.linear_pooler;  /* it attends to the whole prompt */
    const rf__writing *from = cuts ? nearest(w, t, &tokens, &soon) : NULL;
    *waits = soon >= tokens + WORTH;
    if (*waits) return RF_OK;
    if (!from)
        return rf__cache_add(w->cache, rf__sequence_type(w->model, w->o->cache_type), &t->sequence, why);
    t->known = tokens;
    return rf__cache_fork(w->cache, from->sequence, tokens, &t->sequence, why);
}

/* Number of beams that the text represents. */
static int64_t beams_of(const rf__writer *w, const rf__writing *t)
{
    return rf__beam_search_beams(t) < 0 ? w->o->num_beams : 1;
}

/* Bytes that are reserved for the texts in progress. */
static size_t promised(const rf__writer *w)
{
    size_t sum = w->others;
    for (int64_t i = 0; i < w->lives; i++) {
        const rf__writing *t = w->live[i];
        if (!t->over) sum += (size_t)beams_of(w, t) * t->bytes + (rf__beam_search_leads(t) ? t->source_bytes : 0);
    }
    return sum;
}

static rf_status too_long(const rf__writer *w, const rf__writing *t, size_t limit, rf_error *why)
{
    const rf_type type = rf__sequence_type(w->model, w->o->cache_type);
    const size_t most = rf__cache_most(w->cache), bytes = t->bytes * (size_t)w->o->num_beams + t->source_bytes;
    const char *what = t->source ? "source" : "prompt";
    return rf_fail(why, RF_ERANGE,
                   "%s: expected at most %zu bytes of keys and values (%s), got %zu%s for %lld tokens%s; use a shorter "
                   "%s, %s%smore memory%s",
                   what, limit, most ? "the limit" : "what the machine has", bytes,
                   w->o->num_beams > 1 ? " of all beams" : "", (long long)(t->source ? t->source->n : t->prompt),
                   most ? " and max_new_tokens" : "", what, most ? "fewer max_new_tokens, " : "",
                   type == RF_F32 ? "keys in bf16 (half), " : "",
                   t->source ? ""
                             : ", or a model with linear attention (attention_type), which needs the same for any "
                               "length");
}

/* Whether its keys at maximum length fit next to those of the others; without a limit, whether those of its prompt do.
 * RF_ERANGE: they do not fit even alone. */
static rf_status fits(const rf__writer *w, rf__writing *t, bool *yes, rf_error *why)
{
    rf_sequence_options o;
    rf_sequence_defaults(&o);
    o.type = w->o->cache_type;
    const size_t most = w->cache ? rf__cache_most(w->cache) : 0, limit = most ? most : w->left, used = promised(w);
    *yes = true;
    if (!limit || !w->cache) return RF_OK;
    t->bytes = rf_sequence_bytes(w->model, &o, t->prompt + (most ? t->most : 1));
    if (t->source) t->source_bytes = rf_sequence_source_bytes(w->model, &o, t->source->n);
    const size_t left = limit > used ? limit - used : 0;
    *yes = t->source_bytes <= left && t->bytes <= (left - t->source_bytes) / (size_t)w->o->num_beams;
    return *yes || used > w->others ? RF_OK : too_long(w, t, limit - w->others, why);
}

static int64_t writing_now(const rf__writer *w)
{
    int64_t n = 0;
    for (int64_t i = 0; i < w->lives; i++) n += w->live[i]->over ? 0 : beams_of(w, w->live[i]);
    return n;
}

/* Ends what has not begun: a text, or all texts of a search. */
static void refuse(rf__writer *w, int64_t number, rf_generate_end end, const rf_error *why)
{
    const int64_t texts = w->o->num_beams > 1 ? w->o->num_return_sequences : 1;
    if (why && !w->first.code) w->first = *why;
    for (int64_t i = 0; i < texts && w->done && !w->stopped; i++)
        w->stopped = w->done(w->user, number + i, end, why) != 0;
}

/* Whether there is another text besides the `now` texts in progress; the source is called when all known texts have
 * entered. */
static rf_status has_next(rf__writer *w, int64_t now, bool *yes, rf_error *why)
{
    rf_status status = RF_OK;
    *yes = w->entered < w->units;
    if (*yes || !rf__asks(w) || w->ended) return RF_OK;
    if (w->next) *yes = w->next(w->user, !now, &w->asked) != 0;
    else status = rf__sources_ask(w, !now, yes, why);
    if (*yes) w->units += w->o->num_beams > 1 ? 1 : w->o->num_return_sequences;
    else w->ended = !now;
    return status;
}

/* Starts the next text; *entered is false if there is none, or no space. */
static rf_status enter_one(rf__writer *w, bool *entered, rf_error *why)
{
    bool yes = true, waits = false;
    rf_error own = {0};
    *entered = false;
    const int64_t now = writing_now(w);
    if (now && now + w->o->num_beams > w->o->batch_size) return RF_OK;
    rf_status status = has_next(w, now, &yes, why);
    if (status || !yes) return status;
    const int64_t number = number_of(w, w->entered);
    status = check_prompt(w, number, &own);
    rf__writing *t = status ? NULL : make(w, number);
    if (!status && !t) return rf_fail(why, RF_ENOMEM, "out of memory: a text beside %lld others", (long long)w->lives);
    if (!status) status = fits(w, t, &yes, &own);
    if (!status && yes && w->cache && !rf__translates(w)) {
        status = take_sequence(w, t, &waits, why);
        if (status) return rf__writing_free(w, t), status;
    }
    if (status || !yes || waits) {
        if (t) rf__writing_free(w, t);
        if (!status) return RF_OK;
        w->entered++;
        *entered = true;
        refuse(w, number, RF_GENERATE_FAILED, &own);
        return RF_OK;
    }
    w->live[w->lives++] = t;
    w->entered++;
    *entered = true;
    if (!t->most) t->over = true, refuse(w, number, RF_GENERATE_LENGTH, NULL);
    else if (w->o->num_beams > 1) return rf__beam_search_begin(w, t, why);
    return RF_OK;
}

static void leave(rf__writer *w)
{
    int64_t n = 0;
    for (int64_t i = 0; i < w->lives; i++)
        if (w->live[i]->over) rf__writing_free(w, w->live[i]);
        else w->live[n++] = w->live[i];
    w->lives = n;
}

/* Finished texts are removed last, since others may begin in the same way; with a memory limit, they are removed
 * first. */
static rf_status enter(rf__writer *w, rf_error *why)
{
    bool entered = true;
    if (w->cache && rf__cache_most(w->cache)) leave(w);
    while (entered && !w->stopped && w->lives < w->capacity / 2) {
        const rf_status status = enter_one(w, &entered, why);
        if (status) return status;
    }
    const rf_status status = rf__translates(w) && w->cache && !w->stopped ? rf__sources_take(w, false, why) : RF_OK;
    leave(w);
    return status;
}

/* ---- a step ---- */

/* A number in [0, 1) with 53 bits: a function of seed, prompt, occurrence and index. */
static double chance(const rf__writing *t, int64_t index)
{
    uint32_t word[4];
    rf__philox(t->key, (uint64_t)index, t->occurrence, word);
    return (double)((uint64_t)word[0] << 21 | word[1] >> 11) * 0x1p-53;
}

static void choose(void *arg, int64_t i, int worker)
{
    const rf__writer *w = arg;
    rf__writing *t = w->member[i];
    rf__candidate *c = w->candidate + worker * w->V;
    if (!t->logits) return;
    const int64_t index = t->n - t->prompt;
    const rf__scores s = {.logits = t->logits, .flag = t->flag, .less = t->less, .V = w->V};
    t->next = (rf_generated){.id = -1, .index = index, .text = t->number};
    rf__mark_excluded(w->o, t->id, t->n, index, w->V, t->flag, true);
    if (t->search) rf__beam_search_candidates(w, t, c);
    if (!t->search && rf__forced(w, t) >= 0) t->next.id = rf__forced(w, t);
    else if (!t->search) t->next.id = rf__draw(w->o, &s, chance(t, index), c);
    rf__mark_excluded(w->o, t->id, t->n, index, w->V, t->flag, false);
    if (t->next.id < 0) return;
    const double log_sum = rf__log_sum(w->ctx->k, t->logits, w->V);
    t->next.logprob = (double)t->logits[t->next.id] - log_sum;
    t->next.top = t->top;
    t->next.tops = rf__top_logprobs(t->logits, w->V, log_sum, w->o->top_logprobs, t->top);
    t->next.stops = rf__stops(w->o, t->next.id);
}

/* Passes the chosen token to the sink. */
static void hand_out(rf__writer *w, rf__writing *t)
{
    rf_error why = {0};
    if (t->search && t->bests) return;                              /* the search decides */
    if (t->next.id < 0) {
        rf_fail(&why, RF_EARG, "suppress, no_repeat_ngram_size, min_new_tokens: expected a token that is allowed, got "
                "all %lld tokens of the vocabulary excluded", (long long)w->V);
        rf__writing_end(w, t, RF_GENERATE_FAILED, &why);
        return;
    }
    rf__writing_note(w, t, t->next.id);
    t->logprob[t->next.index] = t->next.logprob;
    t->id[t->n++] = t->next.id;
    const int enough = w->sink ? w->sink(w->user, &t->next) : 0;
    if (t->next.stops) rf__writing_end(w, t, RF_GENERATE_STOP, NULL);
    else if (enough) rf__writing_end(w, t, RF_GENERATE_SINK, NULL);
    else if (t->n - t->prompt == t->most) rf__writing_end(w, t, RF_GENERATE_LENGTH, NULL);
}

/* Computes the batch of members [from, to). */
static rf_status compute(rf__writer *w, int64_t from, int64_t to, rf_error *why)
{
    const int64_t B = to - from;
    int64_t N = 0, n = 0;
    const float *logits;
    for (int64_t i = from; i < to; i++) N += w->member[i]->taken;
    if (!rf__grow(w->ctx, &w->id, &w->ids, (size_t)N, sizeof *w->id) ||
        !rf__grow(w->ctx, &w->start, &w->starts, (size_t)B + 1, sizeof *w->start) ||
        !rf__grow(w->ctx, &w->row, &w->rows, (size_t)B, sizeof *w->row) ||
        !rf__grow(w->ctx, &w->which, &w->whiches, (size_t)B, sizeof *w->which))
        return rf_fail(why, RF_ENOMEM, "out of memory: a batch of %lld tokens", (long long)N);
    w->start[0] = 0;
    for (int64_t i = 0; i < B; i++) {
        const rf__writing *t = w->member[from + i];
        memcpy(w->id + w->start[i], t->id + t->known, (size_t)t->taken * sizeof *t->id);
        w->start[i + 1] = w->start[i] + (int32_t)t->taken;
        w->which[i] = t->sequence;
        if (t->known + t->taken == t->n) w->row[n++] = w->start[i + 1] - 1;
    }
    const rf_batch b = {.N = N, .B = B, .id = w->id, .start = w->start};
    const rf_status status = w->cache    ? rf_session_continue(w->session, w->which, &b, w->row, n, &logits, why)
                             : rf__translates(w) ? rf__sources_compute(w, from, &b, n, &logits, why)
                                         : rf_session_mlm_logits(w->session, &b, w->row, n, &logits, why);
    if (status) return status;
    n = 0;
    for (int64_t i = from; i < to; i++) {
        rf__writing *t = w->member[i];
        t->logits = t->known + t->taken == t->n ? logits + n++ * w->V : NULL;
        if (w->cache) t->known += t->taken;
    }
    return RF_OK;
}

/* Advances members [from, to) by a token, or by a piece of the prompt. An error of one member stops only that
 * member. */
static rf_status step(rf__writer *w, int64_t from, int64_t to, rf_error *why)
{
    rf_error own = {0};
    rf_status status = compute(w, from, to, &own);
    if (status == RF_ENOMEM || status == RF_ECANCELED) return rf_fail(why, status, "%s", own.text);
    if (status && to - from == 1) {
        rf__writing_end(w, w->member[from], RF_GENERATE_FAILED, &own);
        return RF_OK;
    }
    if (status) {
        for (int64_t i = from; i < to && !w->stopped; i++)
            if (!w->member[i]->over && (status = step(w, i, i + 1, why))) return status;
        return RF_OK;
    }
    rf__writer part = *w;
    part.member += from;
    rf__parallel(w->ctx, to - from, choose, &part);
    for (int64_t i = from; i < to && !w->stopped; i++)
        if (w->member[i]->logits) hand_out(w, w->member[i]);
    return RF_OK;
}

/* For models that attend to a whole prompt: complete prompts, in steps of their own. */
static void gather_whole(rf__writer *w)
{
    int64_t left = PIECE;
    bool begins = false;
    w->members = 0;
    for (int64_t i = 0; i < w->lives; i++) begins |= !w->live[i]->known;
    for (int64_t i = 0; i < w->lives; i++) {
        rf__writing *t = w->live[i];
        t->taken = (t->search && t->bests) || !t->known != begins ? 0 : t->n - t->known;
        if (!t->taken || (begins && w->members && t->taken > left)) continue;
        if (begins) left -= t->taken;
        w->member[w->members++] = t;
    }
}

/* Gathers every text in progress; prompts share PIECE tokens, in their order. */
static void gather(rf__writer *w)
{
    int64_t left = PIECE;
    w->members = 0;
    for (int64_t i = 0; i < w->lives; i++) {
        rf__writing *t = w->live[i];
        const int64_t needed = t->search && t->bests ? 0 : t->n - t->known;
        t->taken = needed == 1 ? 1 : rf__min64(needed, left);
        if (!w->cache) t->taken = needed <= left || !w->members ? needed : 0;
        if (!t->taken) continue;
        if (needed > 1) left = rf__max64(0, left - t->taken);
        w->member[w->members++] = t;
    }
}

/* ---- all texts ---- */

static rf_status begin(rf__writer *w, rf_error *why)
{
    const rf_stack *stack = rf__model_writer(w->model);
    const rf_config *c = &stack->config;
    const size_t most = 4 * (size_t)(w->o->batch_size + w->o->num_beams);
    w->capacity = (int64_t)most;
    if (!c->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED, "generate: expected a causal model (is_decoder true), got one with "
                       "bidirectional attention (is_decoder false)");
    w->ctx = w->model->ctx;
    w->V = c->vocab_size;
    if (c->is_encoder_decoder != rf__translates(w))
        return rf_fail(why, RF_EUNSUPPORTED,
                       rf__translates(w) ? "translate: expected an encoder-decoder model, got one without a decoder"
                                 : "generate: expected a decoder-only model, got an encoder-decoder model");
    if (w->o->forced_bos >= w->V || w->o->forced_eos >= w->V || w->o->decoder_start >= w->V)
        return rf_fail(why, RF_ERANGE, "forced_bos, forced_eos, decoder_start: expected ids below vocab_size %lld, got "
                       "%d, %d and %d", (long long)w->V, (int)w->o->forced_bos, (int)w->o->forced_eos,
                       (int)w->o->decoder_start);
    if (w->o->num_beams > 1 && rf__beam_search_width(w->o) > w->V)
        return rf_fail(why, RF_EARG, "num_beams: expected at most %lld candidates in a step, the vocabulary, got %lld "
                       "for %lld beams; use fewer beams", (long long)w->V, (long long)rf__beam_search_width(w->o),
                       (long long)w->o->num_beams);
    if (!rf__position_caches(stack->position, c, NULL)) {
        const rf_status status = rf__session_cache(w->session, &w->cache, why);
        if (status) return status;
        w->others = rf__cache_bytes(w->cache);
        const double left = rf__memory_left();
        w->left = left > 0 && left < (double)(SIZE_MAX / 2) ? (size_t)left + w->others : 0;
    }
    w->live = rf__calloc(w->ctx, most, sizeof *w->live);
    w->member = rf__calloc(w->ctx, most, sizeof *w->member);
    w->candidate = rf__calloc(w->ctx, (size_t)w->V, (size_t)w->ctx->threads * sizeof *w->candidate);
    if (w->live && w->member && w->candidate) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "out of memory: a choice among %lld tokens", (long long)w->V);
}

static void end(rf__writer *w)
{
    for (int64_t i = 0; i < w->lives; i++) rf__writing_free(w, w->live[i]);
    if (!w->ctx) return;
    rf__sources_free(w);
    rf__free(w->ctx, w->live);
    rf__free(w->ctx, w->member);
    rf__free(w->ctx, w->candidate);
    rf__free(w->ctx, w->id);
    rf__free(w->ctx, w->start);
    rf__free(w->ctx, w->row);
    rf__free(w->ctx, w->which);
}

rf_status rf__write_texts(rf__writer *w, int64_t texts, const rf_generate_options *options, rf_error *why)
{
    rf_generate_options o;
    rf_status status = rf__generate_options_read(&o, options, why);
    if (!status) status = rf__generate_check(&o, why);
    if (!status && (texts < 0 || texts > INT64_MAX / o.num_return_sequences))
        status = rf_fail(why, RF_EARG, "%s: expected 0 or more, got %lld",
                         rf__translates(w) ? "sources" : "prompts", (long long)texts);
    w->o = &o;
    w->model = rf__session_model(w->session);
    if (!status) status = begin(w, why);
    w->units = o.num_beams > 1 ? texts : texts * o.num_return_sequences;
    while (!status && !w->stopped && (w->lives || w->entered < w->units || (rf__asks(w) && !w->ended))) {
        status = enter(w, why);
        if (status || w->stopped) break;
        (w->model->config.linear_pooler ? gather_whole : gather)(w);
        if (w->members) status = step(w, 0, w->members, why);
        if (!status) status = rf__beam_search_advance(w, why);
    }
    end(w);
    w->o = NULL;
    if (status || w->done || !w->first.code) return status;
    return rf_fail(why, w->first.code, "%s", w->first.text);
}

/* Uses the given options, or the defaults of the model's files. */
static rf_status write_prompts(rf__writer *w, int64_t prompts, const rf_generate_options *options, rf_error *why)
{
    rf_generate_options own;
    const rf_model *m = rf__session_model(w->session);
    if (options) return rf__write_texts(w, prompts, options, why);
    const rf_status status = rf_generate_model_check(m, why);
    rf_generate_model_defaults(m, &own);
    return status ? status : rf__write_texts(w, prompts, &own, why);
}

rf_status rf_session_generate_all(rf_session *session, const rf_prompt prompt[], int64_t prompts,
                                  const rf_generate_options *options, rf_generate_sink *sink, rf_generate_done *done,
                                  void *user, rf_error *why)
{
    if (!(session && (prompt || !prompts)))
        return rf__missing("rf_session_generate_all", "session, prompts", why);
    rf__writer w = {.session = session, .prompt = prompt, .sink = sink, .done = done, .user = user};
    return write_prompts(&w, prompts, options, why);
}

rf_status rf__session_generate_from(rf_session *session, rf_prompt_source *source, const rf_generate_options *options,
                                    rf_generate_sink *sink, rf_generate_done *done, void *user, rf_error *why)
{
    if (!(session && source)) return rf__missing("rf__session_generate_from", "session, source", why);
    rf__writer w = {.session = session, .next = source, .sink = sink, .done = done, .user = user};
    return write_prompts(&w, 0, options, why);
}

/* ---- one text ---- */

struct one { rf_generate_sink *sink; void *user; rf_generate_end end; rf_error why; };

static int pass_on(void *user, const rf_generated *token)
{
    const struct one *x = user;
    return x->sink ? x->sink(x->user, token) : 0;
}

static int note_end(void *user, int64_t text, rf_generate_end end, const rf_error *why)
{
    struct one *x = user;
    (void)text;
    x->end = end;
    if (why && !x->why.code) x->why = *why;
    return 0;
}

rf_status rf_session_generate(rf_session *session, const int32_t id[], int64_t n, const rf_generate_options *options,
                              rf_generate_sink *sink, void *user, rf_generate_end *end, rf_error *why)
{
    struct one x = {.sink = sink, .user = user};
    const rf_prompt p = {.id = id, .n = n};
    if (!session || (!id && n > 0))
        return rf_fail(why, RF_EARG, "generate: expected a %s, got NULL", !session ? "session" : "prompt");
    const rf_status status = rf_session_generate_all(session, &p, 1, options, pass_on, note_end, &x, why);
    if (status) return status;
    if (x.why.code) return rf_fail(why, x.why.code, "%s", x.why.text);
    if (end) *end = x.end;
    return RF_OK;
}
