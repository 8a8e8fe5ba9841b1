/* items.c — converts labeled examples to ids.
 *
 * Pairs are truncated to max_length as by transformers' longest_first. A question is truncated to half of the length;
 * the other half is for the context. */
#include <stdlib.h>

#include "data/examples/items.h"
#include "text/tokenizer.h"

void rf__items_init(rf__items *t, const rf_ctx *ctx, const rf_tokenizer *tokenizer, const rf__example_format *format,
                    int64_t K, int64_t max_length)
{
    *t = (rf__items){.ctx = ctx, .tokenizer = tokenizer, .format = format, .K = K, .max_length = max_length};
    rf_encoding_init(&t->scratch, ctx);
}

void rf__items_free(rf__items *t)
{
    void *const all[] = {t->first,   t->start,      t->id,     t->type, t->label,   t->target, t->from,    t->to,
                         t->context, t->context_at, t->window, t->gold, t->gold_at, t->name,   t->name_at, t->words,
                         t->tag,
                         t->joined};
    if (!t->ctx) return;
    for (size_t i = 0; i < RF_COUNT(all); i++) rf__free(t->ctx, all[i]);
    rf_encoding_clear(&t->scratch);
    *t = (rf__items){0};
}

/* ---- adding ---- */

enum { FIRST, START, ID, TYPE, LABEL, TARGET, FROM, TO, CONTEXT, CONTEXT_AT, WINDOW, GOLD, GOLD_AT, WORDS, TAG,
       JOINED };

static rf_status no_memory(const rf__items *t, rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "out of memory: %zu examples of %zu tokens", t->n, t->tokens);
}

/* Reserves space for `more` tokens and another sequence. */
static bool reserve(rf__items *t, size_t more)
{
    const size_t tokens = t->tokens + more;
    bool fine = rf__grow(t->ctx, &t->start, &t->capacity[START], t->sequences + 2, sizeof *t->start) &&
                rf__grow(t->ctx, &t->id, &t->capacity[ID], tokens, sizeof *t->id) &&
                rf__grow(t->ctx, &t->type, &t->capacity[TYPE], tokens, sizeof *t->type);
    const rf__label_kind kind = t->format->kind;
    if (fine && kind == RF__LABEL_TOKENS)
        fine = rf__grow(t->ctx, &t->label, &t->capacity[LABEL], tokens, sizeof *t->label);
    if (fine && (kind == RF__LABEL_TOKENS || kind == RF__LABEL_SPAN))
        fine = rf__grow(t->ctx, &t->from, &t->capacity[FROM], tokens, sizeof *t->from) &&
               rf__grow(t->ctx, &t->to, &t->capacity[TO], tokens, sizeof *t->to);
    if (fine && !t->sequences) t->start[0] = 0;
    return fine;
}

static void append_token(rf__items *t, int32_t id, int32_t type)
{
    t->id[t->tokens] = id;
    t->type[t->tokens++] = type;
}

static void end_sequence(rf__items *t) { t->start[++t->sequences] = t->tokens; }

/* Puts the prompt before the text. */
static rf_status put_prompt(rf__items *t, rf__text *text, rf_error *why)
{
    size_t all;
    if (!t->prompt || !*t->prompt) return RF_OK;
    if (!rf__join(t->ctx, &t->joined, &t->capacity[JOINED], t->prompt, text->at, text->size, &all))
        return rf_fail(why, RF_ENOMEM, "out of memory: a text of %zu bytes", text->size);
    *text = (rf__text){t->joined, all};
    return RF_OK;
}

rf_status rf__items_text(rf__items *t, rf__text text, rf__text pair, rf_error *why)
{
    rf_encoding *e = &t->scratch;
    size_t dropped = 0;
    rf_status status = put_prompt(t, &text, why);
    if (!status)
        status = rf_encode(t->tokenizer, text.at, text.size, pair.at, pair.size, (size_t)t->max_length, 0, e, &dropped,
                           why);
    if (status) return status;
    if (!reserve(t, e->n)) return no_memory(t, why);
    for (size_t i = 0; i < e->n; i++) append_token(t, e->id[i], e->type[i]);
    t->cut += dropped > 0;
    t->unread += rf__all_unknown(t->tokenizer, e);
    end_sequence(t);
    return RF_OK;
}

static void put_from(rf__items *t, int32_t id, int32_t type, uint32_t from, uint32_t to)
{
    t->from[t->tokens] = from;
    t->to[t->tokens] = to;
    append_token(t, id, type);
}

/* A special token of a sentence of words. */
static void put_unlabeled(rf__items *t, int32_t id)
{
    t->label[t->tokens] = -1;
    put_from(t, id, 0, UINT32_MAX, UINT32_MAX);
}

rf_status rf__items_add_tagged_words(rf__items *t, const rf__text word[], const int32_t tag[], size_t n, rf_error *why)
{
    rf_encoding *e = &t->scratch;
    const size_t most = (size_t)t->max_length, begin = t->tokens;
    if (n > UINT32_MAX)
        return rf_fail(why, RF_ERANGE, "sentence: expected at most %lu words, got %zu", (unsigned long)UINT32_MAX, n);
    if (!reserve(t, most) || !rf__grow(t->ctx, &t->words, &t->capacity[WORDS], t->n + 1, sizeof *t->words))
        return no_memory(t, why);
    if (!rf__grow(t->ctx, &t->tag, &t->capacity[TAG], t->all_words + n, sizeof *t->tag)) return no_memory(t, why);
    memcpy(t->tag + t->all_words, tag, n * sizeof *tag);
    t->all_words += n;
    t->words[t->n] = (uint32_t)n;
    const bool ends = rf__tokenizer_ends(t->tokenizer);
    if (rf__tokenizer_opens(t->tokenizer)) put_unlabeled(t, rf_tokenizer_cls(t->tokenizer));
    bool full = false;
    for (size_t w = 0; w < n && !full; w++) {
        const rf_status status =
            rf_encode(t->tokenizer, word[w].at, word[w].size, NULL, 0, 0, RF_ENCODE_PLAIN, e, NULL, why);
        if (status) return status;
        full = t->tokens - begin + e->n + ends > most;
        for (size_t i = 0; i < e->n && !full; i++) {
            t->label[t->tokens] = i ? -1 : tag[w];
            put_from(t, e->id[i], 0, i ? UINT32_MAX : (uint32_t)w, (uint32_t)w);
        }
    }
    t->cut += full;
    if (t->tokens == begin && !ends) return rf_fail(why, RF_EDATA, "expected tokens, got none from %zu words", n);
    if (ends) put_unlabeled(t, rf_tokenizer_sep(t->tokenizer));
    end_sequence(t);
    return RF_OK;
}

static bool keep_context(rf__items *t, rf__text context, const rf__byte_range answer[], size_t n)
{
    const size_t q = t->questions, at = q ? t->context_at[q] : 0, golds = q ? t->gold_at[q] : 0;
    if (!rf__grow(t->ctx, &t->context, &t->capacity[CONTEXT], at + context.size + 1, 1) ||
        !rf__grow(t->ctx, &t->context_at, &t->capacity[CONTEXT_AT], q + 2, sizeof *t->context_at) ||
        !rf__grow(t->ctx, &t->window, &t->capacity[WINDOW], q + 2, sizeof *t->window) ||
        !rf__grow(t->ctx, &t->gold_at, &t->capacity[GOLD_AT], q + 2, sizeof *t->gold_at) ||
        !rf__grow(t->ctx, &t->gold, &t->capacity[GOLD], 2 * (golds + n), sizeof *t->gold)) return false;
    memcpy(t->context + at, context.at, context.size);
    t->context_at[q] = at;
    t->context_at[q + 1] = at + context.size;
    for (size_t i = 0; i < n; i++) {
        t->gold[2 * (golds + i)] = (uint32_t)answer[i].begin;
        t->gold[2 * (golds + i) + 1] = (uint32_t)answer[i].end;
    }
    t->gold_at[q] = golds;
    t->gold_at[q + 1] = golds + n;
    if (!q) t->window[0] = t->n;
    return true;
}

/* Appends pieces begin .. end-1 of the context after the question, and the positions of the answer if the window
 * contains all of it. */
static rf_status put_window(rf__items *t, const int32_t question[], size_t m, size_t begin, size_t end,
                            rf__byte_range answer, rf_error *why)
{
    const rf_encoding *e = &t->scratch;
    const int32_t type = !t->tokenizer->one_type;
    int32_t first = -1, last = -1;
    if (!reserve(t, m + end - begin + rf__tokenizer_ends(t->tokenizer)) ||
        !rf__grow(t->ctx, &t->label, &t->capacity[LABEL], 2 * (t->n + 1), sizeof *t->label))
        return no_memory(t, why);
    for (size_t i = 0; i < m; i++) put_from(t, question[i], 0, UINT32_MAX, UINT32_MAX);
    for (size_t i = begin; i < end; i++) {
        const int32_t here = (int32_t)(m + i - begin);
        if (first < 0 && e->end[i] > answer.begin) first = here;
        if (e->start[i] < answer.end) last = here;
        put_from(t, e->id[i], type, e->start[i], e->end[i]);
    }
    if (rf__tokenizer_ends(t->tokenizer)) put_from(t, rf_tokenizer_sep(t->tokenizer), type, UINT32_MAX, UINT32_MAX);
    const bool whole = answer.begin < answer.end && first >= 0 && last >= first && e->start[begin] <= answer.begin &&
                       e->end[end - 1] >= answer.end;
    t->label[2 * t->n] = whole ? first : 0;
    t->label[2 * t->n + 1] = whole ? last : 0;
    end_sequence(t);
    return rf__items_end(t, -1, NULL, why);
}

static rf_status put_windows(rf__items *t, const int32_t question[], size_t m, rf__byte_range answer, rf_error *why)
{
    const size_t n = t->scratch.n, capacity = (size_t)t->max_length - m - rf__tokenizer_ends(t->tokenizer),
                 stride = (size_t)rf__min64(t->doc_stride, (int64_t)capacity / 2);
    size_t begin = 0, windows = 0;
    rf_status status = RF_OK;
    for (bool more = true; more && !status; begin += capacity - stride, windows++) {
        const size_t end = n - begin < capacity ? n : begin + capacity;
        status = put_window(t, question, m, begin, end, answer, why);
        more = end < n;
    }
    t->cut += windows > 1;
    return status;
}

rf_status rf__items_question(rf__items *t, rf__text question, rf__text context, const rf__byte_range answer[], size_t n,
                             rf_error *why)
{
    rf_encoding *e = &t->scratch;
    if (context.size > UINT32_MAX)
        return rf_fail(why, RF_ERANGE, "context: expected at most %lu bytes, got %zu", (unsigned long)UINT32_MAX,
                       context.size);
    /* as a pair with an empty second text */
    const size_t most = (size_t)t->max_length / 2 + rf__tokenizer_ends(t->tokenizer);
    rf_status status = rf_encode(t->tokenizer, question.at, question.size, "", 0, most, 0, e, NULL, why);
    const size_t m = status ? 0 : e->n - rf__tokenizer_ends(t->tokenizer);
    int32_t *asked = status ? NULL : rf__alloc(t->ctx, (m ? m : 1) * sizeof *asked);
    if (!status && !asked) return no_memory(t, why);
    if (!status) memcpy(asked, e->id, m * sizeof *asked);
    if (!status) status = rf_encode(t->tokenizer, context.at, context.size, NULL, 0, 0, RF_ENCODE_PLAIN, e, NULL, why);
    if (!status && !keep_context(t, context, answer, n)) status = no_memory(t, why);
    if (!status) status = put_windows(t, asked, m, n ? answer[0] : (rf__byte_range){0, 0}, why);
    rf__free(t->ctx, asked);
    if (status) return status;
    t->unanswered += !n;
    t->window[++t->questions] = t->n;
    return RF_OK;
}

/* One number for each sequence of the example. */
static bool put_list(rf__items *t, size_t begin, const float *target)
{
    if (!rf__grow(t->ctx, &t->target, &t->capacity[TARGET], t->sequences, sizeof *t->target)) return false;
    for (size_t s = begin; s < t->sequences; s++) t->target[s] = target ? target[s - begin] : 0;
    t->hash = rf__hash64(t->target + begin, (t->sequences - begin) * sizeof *t->target, t->hash);
    return true;
}

rf_status rf__items_end(rf__items *t, int32_t label, const float *target, rf_error *why)
{
    const size_t K = (size_t)t->K, begin = t->n ? t->first[t->n] : 0, at = t->start[begin];
    const rf__label_kind kind = t->format->kind;
    bool fine = rf__grow(t->ctx, &t->first, &t->capacity[FIRST], t->n + 2, sizeof *t->first);
    if (kind == RF__LABEL_CLASS) {
        fine = fine && rf__grow(t->ctx, &t->label, &t->capacity[LABEL], t->n + 1, sizeof *t->label);
        if (fine) t->label[t->n] = label;
    } else if (kind == RF__LABEL_VECTOR) {
        fine = fine && rf__grow(t->ctx, &t->target, &t->capacity[TARGET], (t->n + 1) * K, sizeof *t->target);
        for (size_t k = 0; fine && k < K; k++) t->target[t->n * K + k] = target ? target[k] : 0;
        if (fine) t->hash = rf__hash64(t->target + t->n * K, K * sizeof *t->target, t->hash);
        if (t->teacher) fine = fine && rf__grow(t->ctx, &t->label, &t->capacity[LABEL], t->n + 1, sizeof *t->label);
        if (t->teacher && fine) t->label[t->n] = label;
    } else if (kind == RF__LABEL_LIST) {
        fine = fine && put_list(t, begin, target);
    }
    if (!fine) return no_memory(t, why);
    if (!t->n) t->first[0] = 0;
    t->first[++t->n] = t->sequences;
    t->hash = rf__hash64(t->id + at, (t->tokens - at) * sizeof *t->id, t->hash + (uint64_t)(uint32_t)label);
    if (kind == RF__LABEL_TOKENS) t->hash = rf__hash64(t->label + at, (t->tokens - at) * sizeof *t->label, t->hash);
    if (kind == RF__LABEL_SPAN) t->hash = rf__hash64(t->label + 2 * (t->n - 1), 2 * sizeof *t->label, t->hash);
    return RF_OK;
}

static int descending(const void *a, const void *b)
{
    size_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x < y) - (x > y);
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

rf_status rf__items_fit_types(const rf__items *t, int64_t types, rf_error *why)
{
    for (size_t i = 0; i < t->tokens && types; i++)
        if (t->type[i] >= types)
            return rf_fail(why, RF_EDATA, "config.json: type_vocab_size: expected 2 for pairs of texts, got %lld; use "
                           "a model with two token types, or examples of one text", (long long)types);
    return RF_OK;
}

rf_status rf__items_repeated(const rf__items *t, size_t *again, rf_error *why)
{
    uint64_t *hash = rf__alloc(t->ctx, (t->n ? t->n : 1) * sizeof *hash);
    *again = 0;
    if (!hash) return no_memory(t, why);
    for (size_t i = 0; i < t->n; i++)
        hash[i] = rf__hash64(t->id + t->start[t->first[i]], rf__item_size(t, i) * sizeof *t->id, 0);
    if (t->n) qsort(hash, t->n, sizeof *hash, by_hash);
    for (size_t i = 1; i < t->n; i++) *again += hash[i] == hash[i - 1];
    rf__free(t->ctx, hash);
    return RF_OK;
}

rf_status rf__items_longest(const rf__items *t, const size_t count[], size_t n, int64_t tokens[], rf_error *why)
{
    size_t *size = rf__alloc(t->ctx, (t->n ? t->n : 1) * sizeof *size);
    if (!size) return no_memory(t, why);
    for (size_t i = 0; i < t->n; i++) size[i] = rf__item_size(t, i);
    if (t->n) qsort(size, t->n, sizeof *size, descending);
    for (size_t k = 0; k < n; k++) {
        tokens[k] = 0;
        for (size_t i = 0; i < t->n && i < count[k]; i++) tokens[k] += (int64_t)size[i];
    }
    rf__free(t->ctx, size);
    return RF_OK;
}

/* ---- batches ---- */

static bool reserve_batch(rf__item_batch *b, const rf__items *t, size_t tokens, size_t sequences, size_t n)
{
    const size_t labels = t->format->kind == RF__LABEL_TOKENS ? tokens : 2 * n,
                 targets = t->format->kind == RF__LABEL_LIST ? sequences : n * (size_t)t->K;
    return rf__grow(t->ctx, &b->id, &b->capacity[0], tokens, sizeof *b->id) &&
           rf__grow(t->ctx, &b->type, &b->capacity[1], tokens, sizeof *b->type) &&
           rf__grow(t->ctx, &b->start, &b->capacity[2], sequences + 1, sizeof *b->start) &&
           rf__grow(t->ctx, &b->label, &b->capacity[3], labels, sizeof *b->label) &&
           rf__grow(t->ctx, &b->group, &b->capacity[4], n + 1, sizeof *b->group) &&
           rf__grow(t->ctx, &b->target, &b->capacity[5], targets, sizeof *b->target);
}

static void add_labels(rf__item_batch *b, const rf__items *t, size_t i, int64_t N)
{
    const size_t at = t->start[t->first[i]], size = rf__item_size(t, i), K = (size_t)t->K;
    switch (t->format->kind) {
    case RF__LABEL_CLASS:
        b->label[b->n] = t->label[i];
        b->labels += t->label[i] >= 0;
        break;
    case RF__LABEL_TOKENS:
        memcpy(b->label + N, t->label + at, size * sizeof *b->label);
        for (size_t k = 0; k < size; k++) b->labels += t->label[at + k] >= 0;
        break;
    case RF__LABEL_SPAN:
        memcpy(b->label + 2 * b->n, t->label + 2 * i, 2 * sizeof *b->label);
        b->labels += (t->label[2 * i] >= 0) + (t->label[2 * i + 1] >= 0);
        break;
    case RF__LABEL_VECTOR:
        memcpy(b->target + b->n * K, t->target + i * K, K * sizeof *b->target);
        if (t->teacher) b->label[b->n] = t->label[i];
        b->labels += t->K;
        break;
    case RF__LABEL_LIST:
        memcpy(b->target + b->B, t->target + t->first[i], (t->first[i + 1] - t->first[i]) * sizeof *b->target);
        b->labels++;
        break;
    }
}

rf_status rf__item_batch_fill(rf__item_batch *b, const rf__items *t, const size_t which[], size_t n, bool twice,
                              rf_error *why)
{
    size_t tokens = 0, sequences = 0;
    const size_t laps = twice ? 2 : 1;
    for (size_t j = 0; j < n; j++) {
        tokens += rf__item_size(t, which[j]);
        sequences += t->first[which[j] + 1] - t->first[which[j]];
    }
    if (tokens * laps > INT32_MAX)
        return rf_fail(why, RF_ERANGE, "batch: expected at most %d tokens, got %zu", INT32_MAX, tokens * laps);
    if (!reserve_batch(b, t, tokens * laps, sequences * laps, n * laps))
        return rf_fail(why, RF_ENOMEM, "out of memory: a batch of %zu tokens", tokens * laps);
    b->n = 0;
    b->N = b->B = b->labels = 0;
    b->K = t->K;
    b->teacher = t->teacher;
    b->start[0] = b->group[0] = 0;
    for (size_t j = 0; j < n * laps; j++) {
        const size_t i = which[j % n], at = t->start[t->first[i]], size = rf__item_size(t, i);
        memcpy(b->id + b->N, t->id + at, size * sizeof *b->id);
        memcpy(b->type + b->N, t->type + at, size * sizeof *b->type);
        add_labels(b, t, i, b->N);
        for (size_t s = t->first[i]; s < t->first[i + 1]; s++)
            b->start[++b->B] = (int32_t)(b->N + (int64_t)(t->start[s + 1] - at));
        b->N += (int64_t)size;
        b->group[++b->n] = (int32_t)b->B;
    }
    return RF_OK;
}

void rf__item_batch_free(const rf_ctx *ctx, rf__item_batch *b)
{
    void *const all[] = {b->id, b->type, b->start, b->label, b->group, b->target};
    for (size_t i = 0; i < RF_COUNT(all); i++) rf__free(ctx, all[i]);
    *b = (rf__item_batch){0};
}
