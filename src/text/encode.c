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
        if (a->hidden || other != normalized || (best && a->size <= best->size)) continue;
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

/* The first added token of a text or passage [begin, end): its position, including the white space from byte `at` on
 * that it absorbs.  The search begins at byte *seek, which becomes the end of what matched: as in tokenizers, white
 * space that a token absorbed may belong to the next one, too.  NULL: none, then *from and *to are `end`. */
static const rf_added *next_added(const rf_tokenizer *t, const char *text, size_t begin, size_t at, size_t end,
                                  bool normalized, size_t *seek, size_t *from, size_t *to)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = *seek, next; i < end; i = next) {
        next = i + 1;
        if (normalized) {
            if ((p[i] & 0xC0) == 0x80) continue;
        } else if (t->opener >= 0) {
            const unsigned char *q = memchr(p + i, t->opener, end - i);
            if (!q) break;
            i = (size_t)(q - p);
            next = i + 1;
        } else if (!t->opens[p[i]] || (p[i] & 0xC0) == 0x80) {
            continue;
        }
        size_t bytes = 0;
        const rf_added *a = added_at(t, text, i, end, normalized, &bytes);
        if (!a) continue;
        *from = i;
        *to = next = i + bytes;                                    /* a token that does not fit is passed over       */
        if (!rf__added_fits(a, text, begin, end, *from, *to)) continue;
        *seek = *to;
        rf__added_extend(a, text, at, end, from, to);
        return a;
    }
    *from = *to = end;
    return NULL;
}

bool rf__put_added(const rf_tokenizer *t, rf_encoding *e, const rf_added *a, size_t first, const char *text,
                   size_t from, size_t to, const char *name, size_t size)
{
    uint32_t begin = (uint32_t)from, end = (uint32_t)to;
    if (!rf__reserve_tokens(e, 1)) return false;
    if (t->trims) rf__trim_offsets(t, text, name, size, e->n == first, &begin, &end);
    rf__put_token(e, a->id, begin, end, false);
    return true;
}

/* Text without other added tokens: finds those that are matched in normalized text, and encodes the text between
 * them. */
static bool encode_between(const rf_tokenizer *t, rf_encoding *e, rf_passage p, void *own)
{
    const size_t begin = p.from, end = p.to;
    if (!t->normalized || t->normalizes || p.plain) return t->row->encode(t, e, &p, own);
    for (size_t at = begin, seek = begin; at < end || seek < end;) {
        size_t from = end, to = end;
        const rf_added *a = next_added(t, p.text, begin, at, end, true, &seek, &from, &to);
        if (!a) seek = end;
        p.from = at;
        p.to = from;
        if (from > at && !t->row->encode(t, e, &p, own)) return false;
        if (a && !rf__put_added(t, e, a, p.first, p.text, from, to, p.text + from, to - from)) return false;
        at = to;
    }
    return true;
}

/* A text and how to encode it. */
typedef struct job {
    const rf_tokenizer *t;
    const rf_sample_options *sample;
    int flags;
    rf_error *why;                      /* never NULL                                                                 */
} job;

static bool encode_text(const job *j, rf_encoding *e, const char *text, size_t size)
{
    const rf_tokenizer *t = j->t;
    scratch *s = e->scratch;
    const bool plain = j->flags & RF_ENCODE_NO_SPECIALS;
    const size_t first = e->n;
    for (size_t at = 0, seek = 0; at < size || seek < size;) {
        size_t from = size, to = size;
        const rf_added *a = plain ? NULL : next_added(t, text, 0, at, size, false, &seek, &from, &to);
        if (!a) seek = size;
        const rf_passage p = {text, at, from, size, plain, j->sample, j->why, first};
        if (from > at && !encode_between(t, e, p, s->own)) return false;
        if (a && !rf__put_added(t, e, a, first, text, from, to, text + from, to - from)) return false;
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

/* only_first: how many of na tokens to keep next to nb.  Tokenizers that cannot keep one of them remove none. */
static void only_first(size_t *na, size_t nb, size_t limit)
{
    if (*na + nb > limit && nb < limit) *na = limit - nb;
}

static void move(rf_encoding *e, size_t to, size_t from, size_t n)
{
    if (!n) return;                     /* an empty encoding has no arrays                                            */
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
    const rf_frame *f = &t->frame[pair];
    size_t n = 0;
    for (size_t i = 0; i < f->n && !(flags & RF_ENCODE_PLAIN); i++) n += f->part[i].token >= 0;
    return n;
}

/* Tokens [from, from + n) of an encoding. */
typedef struct tokens { size_t from, n; } tokens;

static size_t part_size(const job *j, const rf_frame_part *p, const tokens text[2])
{
    if (p->token < 0) return text[p->token == RF_FRAME_B].n;
    return !(j->flags & RF_ENCODE_PLAIN);
}

/* Whether a template has A once and then B at most once, so that the texts lie in its order. */
static bool in_order(const rf_frame *f)
{
    int texts = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (f->part[i].token >= 0) continue;
        if (texts++ != (f->part[i].token == RF_FRAME_B)) return false;
    }
    return true;
}

/* put_frame for such a template: A moves to the beginning, and B after it; then, from the end on, each part moves to
 * its place, which is not before the one that it has. */
static bool put_in_place(const job *j, rf_encoding *e, size_t base, const tokens text[2], const rf_frame *f)
{
    size_t all = 0;
    move(e, base, text[0].from, text[0].n);
    move(e, base + text[0].n, text[1].from, text[1].n);
    for (size_t i = 0; i < f->n; i++) all += part_size(j, &f->part[i], text);
    if (base + all > e->n && !rf__reserve_tokens(e, base + all - e->n)) return false;
    size_t at = base + all;
    for (size_t i = f->n; i-- > 0;) {
        const rf_frame_part *p = &f->part[i];
        const size_t n = part_size(j, p, text);
        at -= n;
        if (p->token < 0) move(e, at, p->token == RF_FRAME_A ? base : base + text[0].n, n);
        else if (n) e->n = at, rf__put_token(e, p->token, 0, 0, true);
        for (size_t k = 0; k < n; k++) e->type[at + k] = j->t->one_type ? 0 : p->type;
    }
    e->n = base + all;
    return true;
}

/* Puts what the template makes of the texts, which are after `base`, from there on.  False: no memory. */
static bool put_frame(const job *j, rf_encoding *e, size_t base, const tokens text[2], bool pair)
{
    const rf_frame *f = &j->t->frame[pair];
    const size_t begin = e->n;
    size_t types = base;
    if (in_order(f)) return put_in_place(j, e, base, text, f);
    for (size_t i = 0; i < f->n; i++) {
        const rf_frame_part *p = &f->part[i];
        const size_t n = part_size(j, p, text);
        if (!rf__reserve_tokens(e, n)) return false;
        if (p->token < 0) move(e, e->n, text[p->token == RF_FRAME_B].from, n), e->n += n;
        else if (n) rf__put_token(e, p->token, 0, 0, true);
        for (size_t k = 0; k < n; k++) e->type[types++] = j->t->one_type ? 0 : p->type;
    }
    const size_t n = e->n - begin;
    move(e, base, begin, n);
    e->n = base + n;
    return true;
}

/* Whether truncation removes the beginning of texts. */
static bool cuts_begin(const job *j)
{
    return j->flags & (RF_ENCODE_CUT_BEGIN | RF_ENCODE_CUT_END) ? (j->flags & RF_ENCODE_CUT_BEGIN) != 0
                                                                : j->t->cuts_begin;
}

static bool encode_all(const job *j, const char *text, size_t size, const char *pair, size_t pair_size, size_t limit,
                       rf_encoding *e, size_t *dropped)
{
    const size_t base = e->n, around = around_text(j->t, pair != NULL, j->flags);
    if (!scratch_for(e, j->t) || !encode_text(j, e, text, size)) return false;
    tokens of[2] = {{base, e->n - base}, {e->n, 0}};
    if (pair && !encode_text(j, e, pair, pair_size)) return false;
    of[1].n = e->n - of[1].from;
    const size_t whole[2] = {of[0].n, of[1].n};
    if (limit) {
        if (pair && j->flags & RF_ENCODE_CUT_FIRST) only_first(&of[0].n, of[1].n, limit - around);
        else if (pair) longest_first(&of[0].n, &of[1].n, limit - around, j->t->slow);
        else if (of[0].n > limit - around) of[0].n = limit - around;
    }
    for (int i = 0; i < 2 && cuts_begin(j); i++) of[i].from += whole[i] - of[i].n;
    *dropped = whole[0] + whole[1] - of[0].n - of[1].n;
    return put_frame(j, e, base, of, pair != NULL);
}

/* A pair that a chat template places in one text.  If it is too long, its end is kept: the template's words after the
 * last text, as in sentence-transformers.  Its tokens have no place in the two texts. */
static bool encode_conversation(const job *j, const char *text, size_t size, size_t end, size_t limit, rf_encoding *e,
                                size_t *dropped)
{
    const size_t base = e->n;
    if (!scratch_for(e, j->t) || !encode_text(j, e, text, size)) return false;
    const size_t whole = e->n;
    size_t n = whole - base;
    if (limit && n > limit && cuts_begin(j)) {
        move(e, base, whole - limit, limit);
        n = limit;
    } else if (limit && n > limit) {
        if (!encode_text(j, e, text + size - end, end)) return false;
        const size_t last = e->n - whole < limit ? e->n - whole : limit;
        move(e, base + limit - last, e->n - last, last);
        n = limit;
    }
    *dropped = whole - base - n;
    e->n = base + n;
    for (size_t i = base; i < e->n; i++) e->type[i] = 0, e->start[i] = e->end[i] = 0, e->added[i] = true;
    return true;
}

/* What was not encoded, because of the reason in j->why or for lack of memory. */
static rf_status not_encoded(const job *j, size_t size)
{
    if (j->why->code) return j->why->code;
    return rf_fail(j->why, RF_ENOMEM, "encode: out of memory for %zu bytes of text", size);
}

static rf_status encode_as_conversation(const job *j, const char *query, size_t query_size, const char *pair,
                                        size_t pair_size, size_t limit, rf_encoding *e, size_t *dropped)
{
    const rf_tokenizer *t = j->t;
    const int flags = j->flags;
    rf_error *why = j->why;
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
    else if (!encode_conversation(j, text, size, end, limit, e, &cut)) status = not_encoded(j, size);
    rf__free(t->ctx, text);
    if (status) e->n = before;
    else if (dropped) *dropped = cut;
    return status;
}

static rf_status encode(const rf_tokenizer *t, const char *text, size_t size, const char *pair, size_t pair_size,
                        const rf_sample_options *sample, size_t limit, int flags, rf_encoding *e, size_t *dropped,
                        rf_error *why)
{
    rf_error own = {0};
    const job j = {t, sample, flags, why ? why : &own};
    rf_status status = check_text(text, size, "text", why);
    if (!status && pair) status = check_text(pair, pair_size, "second text", why);
    if (status) return status;
    if (pair && t->conversation)
        return encode_as_conversation(&j, text, size, pair, pair_size, limit, e, dropped);
    const size_t around = around_text(t, pair != NULL, flags);
    if (pair && t->no_pairs && !(flags & RF_ENCODE_PLAIN))
        return rf_fail(why, RF_EUNSUPPORTED, "encode: the tokenizer's template of two texts is not supported");
    if (limit && limit < around)
        return rf_fail(why, RF_EARG, "encode: max_length: expected more than the %zu special tokens, got %zu", around,
                       limit);
    if (!(flags & RF_ENCODE_APPEND)) e->n = 0;
    const size_t before = e->n;
    size_t cut = 0;
    j.why->code = RF_OK;
    if (!encode_all(&j, text, size, pair, pair_size, limit, e, &cut)) return e->n = before, not_encoded(&j, size);
    if (dropped) *dropped = cut;
    return RF_OK;
}

rf_status rf_encode(const rf_tokenizer *t, const char *text, size_t bytes, const char *pair, size_t pair_bytes,
                    size_t limit, int flags, rf_encoding *e, size_t *dropped, rf_error *why)
{
    if (!(t && (text || !bytes) && e)) return rf__missing("rf_encode", "tokenizer, text, encoding", why);
    return encode(t, text, bytes, pair, pair_bytes, NULL, limit, flags, e, dropped, why);
}

void rf__sample_options_init(rf_sample_options *o, size_t size)
{
    const rf_sample_options own = {.nbest = -1, .alpha = 0.1f};
    rf__options_init(o, size, &own, sizeof own);
}

enum { NBEST = 512 };                   /* the limit of SentencePiece */

rf_status rf__encode_sample(const rf_tokenizer *t, const char *text, size_t bytes, const rf_sample_options *options,
                            int flags, rf_encoding *e, rf_error *why)
{
    if (!(t && (text || !bytes) && e)) return rf__missing("rf__encode_sample", "tokenizer, text, encoding", why);
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
