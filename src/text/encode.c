/* encode.c — encodes text to ids: added tokens, the tokenizer's row for the text between them, template, truncation. */
#include "conversation.h"
#include "tokenizer.h"

/* Scratch that an encoding keeps between calls: that of the row, and which tokenizer it belongs to. */
typedef struct scratch {
    const rf_tokenizer_row *row;
    uint64_t mark;                                        /* the tokenizer that used it last                          */
    void *own;
} scratch;

void rf_encoding_init(rf_encoding *e, const rf_ctx *ctx)
{
    *e = (rf_encoding){.ctx = ctx};
}

static void drop_own(const rf_encoding *e, scratch *s)
{
    if (s->own) s->row->scratch_free(e->ctx, s->own);
    s->own = NULL;
}

void rf_encoding_clear(rf_encoding *e)
{
    if (!e) return;
    if (e->scratch) drop_own(e, e->scratch);
    rf__free(e->ctx, e->scratch);
    rf__free(e->ctx, e->id);
    rf__free(e->ctx, e->type);
    rf__free(e->ctx, e->start);
    rf__free(e->ctx, e->end);
    rf__free(e->ctx, e->added);
    rf_encoding_init(e, e->ctx);
}

static scratch *scratch_for(rf_encoding *e, const rf_tokenizer *t)
{
    scratch *s = e->scratch;
    if (!s && !(s = e->scratch = rf__calloc(e->ctx, 1, sizeof *s))) return NULL;
    if (s->row != t->row) drop_own(e, s);
    s->row = t->row;
    if (t->row->scratch && !(s->own = t->row->scratch(e->ctx, s->own, s->mark != t->mark))) return NULL;
    s->mark = t->mark;
    return s;
}

bool rf__grow_tokens(rf_encoding *e, size_t more)
{
    const size_t need = e->n + more;
    size_t c[5];
    for (int i = 0; i < 5; i++) c[i] = e->capacity;
    if (!rf__grow(e->ctx, &e->id, &c[0], need, sizeof *e->id) ||
        !rf__grow(e->ctx, &e->type, &c[1], need, sizeof *e->type) ||
        !rf__grow(e->ctx, &e->start, &c[2], need, sizeof *e->start) ||
        !rf__grow(e->ctx, &e->end, &c[3], need, sizeof *e->end) ||
        !rf__grow(e->ctx, &e->added, &c[4], need, sizeof *e->added))
        return false;
    e->capacity = c[0];
    return true;
}

/* ---- added tokens ---------------------------------------------------------------------------------------------- */

/* Length of token a at text[at, size) if it occurs there in lower case; otherwise 0. */
static size_t folds_to(const rf_tokenizer *t, const char *text, size_t at, size_t size, const rf_added *a)
{
    size_t i = at, k = 0;
    while (k < a->size && i < size) {
        const uint32_t c = rf__utf8_get((const unsigned char *)text, &i);
        uint32_t low[2];
        const int n = rf__unicode_lower(t->lower, c, rf__unicode_flags(t->lower, c), low);
        for (int j = 0; j < n; j++) {
            char utf8[4];
            const size_t bytes = rf__utf8_encode(low[j], utf8);
            if (bytes > a->size - k || memcmp(a->text + k, utf8, bytes) != 0) return 0;
            k += bytes;
        }
    }
    return k == a->size ? i - at : 0;
}

/* The same for a token whose key is compared with normalized text. */
static size_t normalizes_to(const rf_tokenizer *t, const char *text, size_t at, size_t size, const rf_added *a)
{
    size_t i = at, k = 0;
    while (k < a->key_size && i < size) {
        uint32_t to[RF_NORMAL_MOST];
        const size_t n = t->row->normalize(t, rf__utf8_get((const unsigned char *)text, &i), to);
        if (!n && !k) return 0;
        for (size_t j = 0; j < n; j++) {
            char utf8[4];
            const size_t bytes = rf__utf8_encode(to[j], utf8);
            if (bytes > a->key_size - k || memcmp(a->key + k, utf8, bytes) != 0) return 0;
            k += bytes;
        }
    }
    return k && k == a->key_size ? i - at : 0;
}

/* The longest added token at `at`, among those that are matched in normalized text or among the others. */
static const rf_added *added_at(const rf_tokenizer *t, const char *text, size_t at, size_t size, bool normalized,
                                size_t *bytes)
{
    const rf_added *best = NULL;
    for (size_t i = 0; i < t->added_n; i++) {
        const rf_added *a = &t->added[i];
        const bool other = t->normalized && a->normalized;
        if (other != normalized || (best && a->size <= best->size)) continue;
        size_t n = 0;
        if (other) n = normalizes_to(t, text, at, size, a);
        else if (a->size <= size - at && !memcmp(text + at, a->text, a->size)) n = a->size;
        if (!n && !other && t->fold) n = folds_to(t, text, at, size, a);
        if (!n) continue;
        best = a;
        *bytes = n;
    }
    return best;
}

/* The first added token in [at, size): its position, including the white space that it absorbs. */
static const rf_added *next_added(const rf_tokenizer *t, const char *text, size_t at, size_t size,
                                  bool normalized, size_t *from, size_t *to)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = at; i < size; i++) {
        if (normalized) {
            if ((p[i] & 0xC0) == 0x80) continue;
        } else if (t->opener >= 0) {
            const unsigned char *q = memchr(p + i, t->opener, size - i);
            if (!q) break;
            i = (size_t)(q - p);
        } else if (!t->opens[p[i]] || (p[i] & 0xC0) == 0x80) {
            continue;
        }
        size_t bytes = 0;
        const rf_added *a = added_at(t, text, i, size, normalized, &bytes);
        if (!a) continue;
        *from = i;
        *to = i + bytes;
        while (a->lstrip && *from > at) {
            size_t start = *from - 1;
            while (start > at && (p[start] & 0xC0) == 0x80) start--;
            size_t next = start;
            if (!rf__unicode_white(rf__utf8_get(p, &next))) break;
            *from = start;
        }
        while (a->rstrip && *to < size) {
            size_t next = *to;
            if (!rf__unicode_white(rf__utf8_get(p, &next))) break;
            *to = next;
        }
        return a;
    }
    return NULL;
}

/* As in Hugging Face's tokenizers: a single leading blank, which trims_first covers, is kept. */
bool rf__put_added(const rf_tokenizer *t, rf_encoding *e, const rf_added *a, const char *text, size_t from, size_t to)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t begin = from, end = to, blanks = 0;
    for (size_t next = from; t->trims && begin < to && rf__unicode_white(rf__utf8_get(p, &next)); begin = next)
        blanks++;
    if (blanks == 1 && !from && t->trims_first) begin = from;
    while (t->trims && end > begin) {
        size_t start = end - 1, next;
        while (start > begin && (p[start] & 0xC0) == 0x80) start--;
        next = start;
        if (!rf__unicode_white(rf__utf8_get(p, &next))) break;
        end = start;
    }
    if (!rf__reserve_tokens(e, 1)) return false;
    rf__put_token(e, a->id, (uint32_t)begin, (uint32_t)end, false);
    return true;
}

/* Text without other added tokens: finds those that are matched in normalized text, and encodes the text between
 * them. */
static bool encode_between(const rf_tokenizer *t, rf_encoding *e, rf_passage p, void *own)
{
    const size_t end = p.to;
    if (!t->normalized || t->normalizes || p.plain) return t->row->encode(t, e, &p, own);
    for (size_t at = p.from; at < end;) {
        size_t from = end, to = end;
        const rf_added *a = next_added(t, p.text, at, end, true, &from, &to);
        p.from = at;
        p.to = from;
        if (from > at && !t->row->encode(t, e, &p, own)) return false;
        if (a && !rf__put_added(t, e, a, p.text, from, to)) return false;
        at = to;
    }
    return true;
}

static bool encode_text(const rf_tokenizer *t, rf_encoding *e, const char *text, size_t size,
                        const rf_sample_options *sample, int flags)
{
    scratch *s = e->scratch;
    const bool plain = flags & RF_ENCODE_NO_SPECIALS;
    for (size_t at = 0; at < size;) {
        size_t from = size, to = size;
        const rf_added *a = plain ? NULL : next_added(t, text, at, size, false, &from, &to);
        if (from > at && !encode_between(t, e, (rf_passage){text, at, from, size, plain, sample}, s->own))
            return false;
        if (a && !rf__put_added(t, e, a, text, from, to)) return false;
        at = to;
    }
    return true;
}

/* ---- template and truncation ------------------------------------------------------------------------------------- */

/* Hugging Face's longest_first: how many of na and nb tokens to keep, at most `limit` in total.  The shorter text is
 * kept as long as truncating the longer one suffices.  Otherwise both get half, and the odd token goes to the longer
 * one (Rust) or to the first one (Python). */
static void longest_first(size_t *na, size_t *nb, size_t limit, bool slow)
{
    const bool swap = *na > *nb;
    size_t low = swap ? *nb : *na, high = swap ? *na : *nb;
    if (low + high <= limit) return;
    high = low > limit || limit - low < low ? low : limit - low;
    bool first_more = swap;
    if (low + high > limit) {
        low = limit / 2;
        high = low + limit % 2;
        first_more |= slow;
    }
    *na = first_more ? high : low;
    *nb = first_more ? low : high;
}

static void move(rf_encoding *e, size_t to, size_t from, size_t n)
{
    memmove(e->id + to, e->id + from, n * sizeof *e->id);
    memmove(e->start + to, e->start + from, n * sizeof *e->start);
    memmove(e->end + to, e->end + from, n * sizeof *e->end);
    memmove(e->added + to, e->added + from, n);
}

static rf_status check_text(const char *text, size_t size, const char *which, rf_error *why)
{
    if (size > UINT32_MAX)
        return rf_fail(why, RF_ERANGE, "encode: the %s: expected at most %u bytes, got %zu", which, UINT32_MAX, size);
    const size_t bad = rf_utf8_check(text, size);
    if (bad == size) return RF_OK;
    return rf_fail(why, RF_EDATA, "encode: the %s is not UTF-8 at byte %zu (0x%02X)", which, bad,
                   (unsigned char)text[bad]);
}

/* Number of tokens that the template adds. */
static size_t around_text(const rf_tokenizer *t, bool pair, int flags)
{
    if (flags & RF_ENCODE_PLAIN || t->bare) return 0;
    return (size_t)rf__tokenizer_opens(t) + rf__tokenizer_ends(t) + (pair ? t->middle : 0);
}

static bool encode_all(const rf_tokenizer *t, const char *text, size_t size, const char *pair, size_t pair_size,
                       const rf_sample_options *sample, size_t limit, int flags, rf_encoding *e, size_t *dropped)
{
    const bool frame = !(flags & RF_ENCODE_PLAIN) && !t->bare;
    const size_t base = e->n, around = around_text(t, pair != NULL, flags);
    if (!scratch_for(e, t) || !rf__reserve_tokens(e, 2)) return false;
    if (frame && rf__tokenizer_opens(t)) rf__put_token(e, t->special[RF_CLS], 0, 0, true);
    const size_t a = e->n;
    if (!encode_text(t, e, text, size, sample, flags)) return false;
    size_t na = e->n - a, nb = 0;
    const size_t b = e->n;
    if (pair) {
        if (!encode_text(t, e, pair, pair_size, sample, flags)) return false;
        nb = e->n - b;
    }
    const size_t all = na + nb;
    if (limit) {
        if (pair) longest_first(&na, &nb, limit - around, t->slow);
        else if (na > limit - around) na = limit - around;
    }
    *dropped = all - na - nb;
    if (!rf__reserve_tokens(e, around)) return false;
    const size_t middle = frame && pair ? t->middle : 0;
    move(e, a + na + middle, b, nb);
    e->n = a + na;
    for (size_t i = 0; i < middle; i++) rf__put_token(e, t->special[RF_SEP], 0, 0, true);
    const size_t second = e->n;
    e->n += nb;
    if (frame && rf__tokenizer_ends(t)) rf__put_token(e, t->special[RF_SEP], 0, 0, true);
    for (size_t i = base; i < e->n; i++) e->type[i] = pair && i >= second && !t->one_type;
    return true;
}

/* A pair that a chat template places in one text.  If it is too long, its end is kept: the template's words after the
 * last text, as in sentence-transformers.  Its tokens have no place in the two texts. */
static bool encode_conversation(const rf_tokenizer *t, const char *text, size_t size, size_t end, size_t limit,
                                rf_encoding *e, size_t *dropped)
{
    const size_t base = e->n;
    if (!scratch_for(e, t) || !encode_text(t, e, text, size, NULL, 0)) return false;
    const size_t whole = e->n;
    size_t n = whole - base;
    if (limit && n > limit) {
        if (!encode_text(t, e, text + size - end, end, NULL, 0)) return false;
        const size_t last = e->n - whole < limit ? e->n - whole : limit;
        move(e, base + limit - last, e->n - last, last);
        n = limit;
    }
    *dropped = whole - base - n;
    e->n = base + n;
    for (size_t i = base; i < e->n; i++) e->type[i] = 0, e->start[i] = e->end[i] = 0, e->added[i] = true;
    return true;
}

static rf_status encode_as_conversation(const rf_tokenizer *t, const char *query, size_t query_size, const char *pair,
                                        size_t pair_size, size_t limit, int flags, rf_encoding *e, size_t *dropped,
                                        rf_error *why)
{
    char *text;
    size_t size, end, cut = 0;
    if (flags & (RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS))
        return rf_fail(why, RF_EUNSUPPORTED, "encode: a pair that a chat template places in a text: expected its "
                       "special tokens, got a call without them");
    rf_status status = rf__conversation_text(t->ctx, t->conversation, query, query_size, pair, pair_size, &text, &size,
                                             &end, why);
    if (status) return status;
    if (!(flags & RF_ENCODE_APPEND)) e->n = 0;
    const size_t before = e->n;
    if (size > UINT32_MAX) status = rf_fail(why, RF_ERANGE, "encode: the pair: expected at most %u bytes, got %zu",
                                            UINT32_MAX, size);
    else if (!encode_conversation(t, text, size, end, limit, e, &cut))
        status = rf_fail(why, RF_ENOMEM, "encode: out of memory for %zu bytes of text", size);
    rf__free(t->ctx, text);
    if (status) e->n = before;
    else if (dropped) *dropped = cut;
    return status;
}

static rf_status encode(const rf_tokenizer *t, const char *text, size_t size, const char *pair, size_t pair_size,
                        const rf_sample_options *sample, size_t limit, int flags, rf_encoding *e, size_t *dropped,
                        rf_error *why)
{
    rf_status status = check_text(text, size, "text", why);
    if (!status && pair) status = check_text(pair, pair_size, "second text", why);
    if (status) return status;
    if (pair && t->conversation)
        return encode_as_conversation(t, text, size, pair, pair_size, limit, flags, e, dropped, why);
    const size_t around = around_text(t, pair != NULL, flags);
    if (pair && t->no_pairs && !(flags & RF_ENCODE_PLAIN))
        return rf_fail(why, RF_EUNSUPPORTED, "encode: the tokenizer's template of two texts is not supported");
    if (limit && limit < around)
        return rf_fail(why, RF_EARG, "encode: max_length: expected more than the %zu special tokens, got %zu", around,
                       limit);
    if (!(flags & RF_ENCODE_APPEND)) e->n = 0;
    const size_t before = e->n;
    size_t cut = 0;
    if (!encode_all(t, text, size, pair, pair_size, sample, limit, flags, e, &cut)) {
        e->n = before;
        return rf_fail(why, RF_ENOMEM, "encode: out of memory for %zu bytes of text", size);
    }
    if (dropped) *dropped = cut;
    return RF_OK;
}

rf_status rf_encode(const rf_tokenizer *t, const char *text, size_t bytes, const char *pair, size_t pair_bytes,
                    size_t limit, int flags, rf_encoding *e, size_t *dropped, rf_error *why)
{
    if (!(t && (text || !bytes) && e)) return rf__missing("rf_encode", "tokenizer, text, encoding", why);
    return encode(t, text, bytes, pair, pair_bytes, NULL, limit, flags, e, dropped, why);
}

void rf_sample_options_init(rf_sample_options *o, size_t size)
{
    const rf_sample_options own = {.nbest = -1, .alpha = 0.1f};
    rf__options_init(o, size, &own, sizeof own);
}

enum { NBEST = 512 };                   /* the limit of SentencePiece */

rf_status rf_encode_sample(const rf_tokenizer *t, const char *text, size_t bytes, const rf_sample_options *options,
                           int flags, rf_encoding *e, rf_error *why)
{
    if (!(t && (text || !bytes) && e)) return rf__missing("rf_encode_sample", "tokenizer, text, encoding", why);
    rf_sample_options o;
    rf_sample_defaults(&o);
    const rf_status status = rf__options_read(&o, sizeof o, sizeof o, options, "rf_sample_options", why);
    if (status) return status;
    if (!t->row->samples)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "encode: sampling: expected a tokenizer with several segmentations of a text, got one of type "
                       "%s", t->row->title);
    if (o.nbest > NBEST) return rf_fail(why, RF_EARG, "encode: nbest: expected at most %d, got %d", NBEST, o.nbest);
    if (!(o.alpha >= 0 && o.alpha <= 1000) || !o.nbest)
        return rf_fail(why, RF_EARG,
                       "encode: alpha, nbest: expected 0 to 1000, and a value other than 0, got %g and %d",
                       (double)o.alpha, o.nbest);
    return encode(t, text, bytes, NULL, 0, &o, 0, flags, e, NULL, why);
}
