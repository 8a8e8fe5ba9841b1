/* tokenizer_json.c — the sub-word models of a tokenizer.json, as in Hugging Face's tokenizers: Unigram and BPE with
 * U+2581 for blanks (from transformers' conversion of SentencePiece models, or trained by that library), and byte-level
 * BPE.
 *
 *     added tokens | normalizer (normalizer.c) | WhitespaceSplit, Metaspace | Unigram, BPE (pieces.c) | template
 *                  | added tokens (normalized) | ByteLevel (byte_level.c)   |
 *
 * Unsupported parts that would change ids are rejected by name.  SentencePiece is not needed.  Saving writes the file
 * as it was read.                                                                                                    */
#include <stdlib.h>

#include "byte_level.h"
#include "merges.h"
#include "normalizer.h"
#include "pieces.h"
#include "subwords.h"

#define BLANK "\xE2\x96\x81"
#define SPACE "\xC4\xA0"               /* a blank in byte-level BPE                                                  */

typedef enum scheme { ALWAYS, FIRST, NEVER } scheme;

typedef struct fast {
    rf_tokenizer base;
    rf__normalizer normal;
    rf__pieces pieces;
    bool white;                         /* words end at white space, which is dropped                                 */
    bool metaspace, split;              /* blanks become U+2581, before which words end                               */
    scheme before;                      /* which words get a leading one                                              */
    const rf__split *level;             /* byte-level: where words end; NULL: not byte-level                          */
    bool blank_first;                   /* byte-level: a passage without a leading blank gets one                     */
    struct { char at[2]; uint8_t n; } visible[256];
    rf__piece_trie normalized;          /* added tokens matched in normalized text, by their index among all          */
    char *file;                         /* as read                                                                    */
    size_t bytes;
} fast;

const rf_tokenizer_row rf__tokenizer_fast_unigram, rf__tokenizer_fast_bpe;

static const fast *as_fast(const rf_tokenizer *t) { return (const fast *)(const void *)t; }

/* ---- text to ids ------------------------------------------------------------------------------------------------- */

/* A word of byte-level BPE that was split before, and the ends of its tokens. */
enum { KNOWN_BYTES = 22, KNOWN_TOKENS = 8, KNOWN_WORDS = 1 << 14 };
typedef struct known {
    uint8_t size, n;                    /* n == 0: there is none                                                      */
    char key[KNOWN_BYTES];
    uint8_t end[KNOWN_TOKENS];
    int32_t id[KNOWN_TOKENS];
} known;

typedef struct work {
    rf__mapped text, spare, word;
    rf__cut cut;
    const char *raw;
    known *known;                       /* [KNOWN_WORDS] by their hash; allocated at the first encoding               */
} work;
typedef struct target { rf_encoding *e; const rf__mapped *word; size_t from; } target;

static void *scratch(const rf_ctx *ctx, void *own, bool others)
{
    work *w = own ? own : rf__calloc(ctx, 1, sizeof *w);
    if (w && w->known && others) memset(w->known, 0, KNOWN_WORDS * sizeof *w->known);
    if (w) w->text.ctx = w->spare.ctx = w->word.ctx = w->cut.ctx = ctx;
    return w;
}

static void scratch_free(const rf_ctx *ctx, void *own)
{
    work *w = own;
    rf__mapped_clear(&w->text);
    rf__mapped_clear(&w->spare);
    rf__mapped_clear(&w->word);
    rf__cut_clear(&w->cut);
    rf__free(ctx, w->known);
    rf__free(ctx, w);
}

/* Applies trim_offsets as tokenizers does: removes as many characters of the raw text as the piece has leading blanks,
 * and as it has trailing blanks.  The blank inserted before a text counts as its first character. */
static void trim(const fast *t, const char *raw, int32_t id, uint32_t *from, uint32_t *to)
{
    const char *name = t->pieces.token[id], *end = name + strlen(name);
    uint32_t before = 0, behind = 0;
    for (; !strncmp(name + 2 * before, SPACE, 2); before++);
    for (; end - name >= 2 * (behind + 1) && !memcmp(end - 2 * (behind + 1), SPACE, 2); behind++);
    if (before == 1 && !*from && t->base.trims_first) before = 0;   /* two blanks were in the text                    */
    for (; before && *from < *to; before--)
        for (++*from; *from < *to && (raw[*from] & 0xC0) == 0x80; ++*from);
    for (; behind && *to > *from; behind--)
        for (--*to; *to > *from && (raw[*to] & 0xC0) == 0x80; --*to);
}

static bool put(void *user, int32_t id, size_t from, size_t to)
{
    const target *t = user;
    if (!rf__reserve_tokens(t->e, 1)) return false;
    rf__put_token(t->e, id, t->word->from[t->from + from], t->word->to[t->from + to - 1], false);
    return true;
}

static bool put_words(const fast *t, rf_encoding *e, work *w, const rf__mapped *in, size_t from, size_t to)
{
    for (size_t at = from, end; at < to; at = end) {
        end = to;
        for (size_t i = at + 1; t->split && i + 3 <= to && end == to; i++)
            if (!memcmp(in->at + i, BLANK, 3)) end = i;
        target each = {e, in, at};
        if (!rf__pieces_cut(&t->pieces, &w->cut, in->at + at, end - at, put, &each)) return false;
    }
    return true;
}

/* A word [from, to) of the normalized text; `first`: the beginning of the raw text. */
static bool put_word(const fast *t, rf_encoding *e, work *w, size_t from, size_t to, bool first)
{
    const rf__mapped *in = &w->text;
    if (from == to) return true;
    if (!t->metaspace) return put_words(t, e, w, in, from, to);
    const bool begun = in->at[from] == ' ' || (to - from >= 3 && !memcmp(in->at + from, BLANK, 3));
    w->word.n = 0;
    bool good = true;
    if (!begun && (t->before == ALWAYS || (t->before == FIRST && first)))
        good = rf__mapped_put(&w->word, BLANK, 3, in->from[from], in->from[from]);
    for (size_t at = from, next = from; at < to && good; at = next) {
        const bool blank = rf__mapped_next(in, &next) == ' ';
        good = rf__mapped_put(&w->word, blank ? BLANK : in->at + at, blank ? 3 : next - at, in->from[at],
                              in->to[next - 1]);
    }
    return good && put_words(t, e, w, &w->word, 0, w->word.n);
}

/* ---- byte-level text to ids -------------------------------------------------------------------------------------- */

/* A word of the text `in`, which begins at `base`. */
typedef struct level_word {
    const fast *t;
    rf_encoding *e;
    const work *w;
    const rf__mapped *in;
    size_t base;
    known *slot;                        /* the cache, or NULL                                                         */
    size_t n;                           /* tokens so far                                                              */
} level_word;

static bool put_token(const level_word *x, int32_t id, size_t from, size_t to)
{
    uint32_t start = x->in->from[x->base + from], end = x->in->to[x->base + to - 1];
    if (!rf__reserve_tokens(x->e, 1)) return false;
    if (x->t->base.trims) trim(x->t, x->w->raw, id, &start, &end);
    rf__put_token(x->e, id, start, end, false);
    return true;
}

static bool put_new(void *user, int32_t id, size_t from, size_t to)
{
    level_word *x = user;
    const rf__mapped *word = &x->w->word;
    if (x->slot && x->n < KNOWN_TOKENS) x->slot->id[x->n] = id, x->slot->end[x->n] = (uint8_t)word->to[to - 1];
    x->n++;
    return put_token(x, id, word->from[from], word->to[to - 1]);
}

/* A word: from the cache, or split as the visible characters of its bytes, of which `word` has the positions. */
static bool put_level_word(const fast *t, rf_encoding *e, work *w, const rf__mapped *in, size_t from, size_t to)
{
    const size_t size = to - from;
    known *slot = size <= KNOWN_BYTES ? &w->known[rf__hash64(in->at + from, size, 0) % KNOWN_WORDS] : NULL;
    level_word x = {t, e, w, in, from, slot, 0};
    bool good = true;
    if (slot && slot->n && slot->size == size && !memcmp(slot->key, in->at + from, size)) {
        for (size_t i = 0; i < slot->n && good; i++)
            good = put_token(&x, slot->id[i], i ? slot->end[i - 1] : 0, slot->end[i]);
        return good;
    }
    w->word.n = 0;
    for (size_t i = 0; i < size && good; i++) {
        const unsigned char byte = (unsigned char)in->at[from + i];
        good = rf__mapped_put(&w->word, t->visible[byte].at, t->visible[byte].n, (uint32_t)i, (uint32_t)i + 1);
    }
    if (slot) slot->n = 0;
    if (!good || !rf__pieces_cut(&t->pieces, &w->cut, w->word.at, w->word.n, put_new, &x)) return false;
    if (!slot || x.n > KNOWN_TOKENS) return true;
    memcpy(slot->key, in->at + from, size);
    slot->size = (uint8_t)size;
    slot->n = (uint8_t)x.n;
    return true;
}

/* Bytes [from, to) of the normalized text, which contain no added token. */
static bool put_level(const fast *t, rf_encoding *e, work *w, size_t from, size_t to)
{
    const rf__mapped *in = &w->text;
    bool good = true;
    if (t->blank_first && in->at[from] != ' ') {
        w->spare.n = 0;
        good = rf__mapped_put(&w->spare, " ", 1, in->from[from], in->to[from]);
        for (; from < to && good; from++)
            good = rf__mapped_put(&w->spare, in->at + from, 1, in->from[from], in->to[from]);
        in = &w->spare;
        from = 0;
        to = in->n;
    }
    for (size_t end; from < to && good; from = end) {
        end = rf__split_end(t->level, in->at, from, to);
        good = put_level_word(t, e, w, in, from, end);
    }
    return good;
}

/* The longest added token of the normalized text at *at, which advances past it; NULL: none. */
static const rf_added *normalized_at(const fast *t, const rf__mapped *in, size_t *at)
{
    const rf_added *best = NULL;
    uint32_t node = 0;
    for (size_t next = *at; next < in->n;) {
        const int32_t i = rf__trie_step(&t->normalized, &node, rf__mapped_next(in, &next));
        if (!node) break;
        if (i >= 0) best = &t->base.added[i], *at = next;
    }
    return best;
}

/* The first added token of the normalized text from `at` on, with the white space that it absorbs. */
static const rf_added *next_normalized(const fast *t, const rf__mapped *in, size_t at, size_t *from, size_t *to)
{
    const rf_added *a = NULL;
    for (size_t i = at; i < in->n && !a; rf__mapped_next(in, &i)) {
        *from = *to = i;
        if ((a = normalized_at(t, in, to))) break;
    }
    if (!a) return *from = *to = in->n, a;
    while (a->lstrip && *from > at) {
        size_t start = *from - 1;
        while (start > at && (in->at[start] & 0xC0) == 0x80) start--;
        size_t next = start;
        if (!rf__unicode_white(rf__mapped_next(in, &next))) break;
        *from = start;
    }
    for (size_t next = *to; a->rstrip && *to < in->n; *to = next)
        if (!rf__unicode_white(rf__mapped_next(in, &next))) break;
    return a;
}

static bool encode_level(const fast *t, rf_encoding *e, work *w, bool plain)
{
    const rf__mapped *in = &w->text;
    if (!w->known) w->known = rf__calloc(e->ctx, KNOWN_WORDS, sizeof *w->known);
    bool good = w->known != NULL;
    for (size_t at = 0, from, to; at < in->n && good; at = to) {
        from = to = in->n;
        const rf_added *a = plain || !t->base.normalized ? NULL : next_normalized(t, in, at, &from, &to);
        if (from > at) good = put_level(t, e, w, at, from);
        if (!a || !good) continue;
        good = rf__put_added(&t->base, e, a, w->raw, in->from[from], in->to[to - 1]);
    }
    return good;
}

static bool encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *own)
{
    const fast *t = as_fast(any);
    work *w = own;
    bool good = true;
    w->raw = p->text;
    w->text.n = 0;
    for (size_t at = p->from, next = p->from; at < p->to && good; at = next) {
        rf__utf8_get((const unsigned char *)p->text, &next);
        good = rf__mapped_put(&w->text, p->text + at, next - at, (uint32_t)at, (uint32_t)next);
    }
    good = good && rf__normal_run(&t->normal, &w->text, &w->spare) && w->text.n < UINT32_MAX / 4;
    if (good && t->level) return encode_level(t, e, w, p->plain);
    if (!good || !t->white) return good && put_word(t, e, w, 0, w->text.n, !p->from);
    for (size_t at = 0, next = 0, from = 0; at <= w->text.n && good; at = next) {
        const bool end = at == w->text.n, white = end || rf__unicode_white(rf__mapped_next(&w->text, &next));
        if (end) next = at + 1;
        if (!white) continue;
        good = from == at || put_word(t, e, w, from, at, !w->text.from[from]);
        from = next;
    }
    return good;
}

/* ---- ids to text ------------------------------------------------------------------------------------------------- */

static bool is_text(const rf_tokenizer *t, int32_t id)
{
    return id >= 0 && id < as_fast(t)->pieces.n && as_fast(t)->pieces.token[id] && !rf_tokenizer_is_special(t, id);
}

/* The byte of a piece <0x41>, or -1. */
static int byte_of(const fast *t, int32_t id)
{
    const char *name = t->pieces.bytes ? t->pieces.token[id] : "";
    if (strlen(name) != 6 || memcmp(name, "<0x", 3) != 0) return -1;
    const long byte = strtol(name + 3, NULL, 16);
    return byte >= 0 && byte < 256 && t->pieces.byte[byte] == id ? (int)byte : -1;
}

/* Invalid UTF-8 becomes U+FFFD: one per byte, or in byte-level BPE one per part of a character. */
static bool put_bytes(const fast *t, rf__growing *out, const char *bytes, size_t n)
{
    for (size_t good; t->level && n; bytes += good, n -= good) {
        good = rf_utf8_check(bytes, n);
        if (!rf__subwords_append(out, bytes, good)) return false;
        if (good == n) return true;
        if (!rf__subwords_append(out, "\xEF\xBF\xBD", 3)) return false;
        good += rf__utf8_ill(bytes, good, n);
    }
    if (rf_utf8_check(bytes, n) == n) return rf__subwords_append(out, bytes, n);
    for (size_t i = 0; i < n; i++)
        if (!rf__subwords_append(out, "\xEF\xBF\xBD", 3)) return false;
    return true;
}

/* The bytes of a piece of byte-level BPE if all its characters are in the alphabet. */
static bool level_bytes(const fast *t, int32_t id, rf__growing *bytes, bool *good)
{
    const char *name = t->level ? t->pieces.token[id] : "";
    const size_t before = bytes->n, size = strlen(name);
    for (size_t at = 0; at < size;) {
        const int byte = rf__scalar_byte(rf__utf8_get((const unsigned char *)name, &at));
        if (byte < 0) return bytes->n = before, false;
        *good = *good && rf__subwords_append(bytes, &(char){(char)byte}, 1);
    }
    return size > 0;
}

static bool put_piece(rf__growing *out, const char *piece)
{
    for (const char *blank; (blank = strstr(piece, BLANK)) != NULL; piece = blank + 3)
        if (!rf__subwords_append(out, piece, (size_t)(blank - piece)) || !rf__subwords_append(out, " ", 1))
            return false;
    return rf__subwords_append(out, piece, strlen(piece));
}

static char *decode(const rf_tokenizer *any, const int32_t id[], size_t n, bool skip, size_t *size)
{
    const fast *t = as_fast(any);
    rf__growing out = {.ctx = any->ctx}, bytes = {.ctx = any->ctx};
    bool good = rf__subwords_append(&out, "", 0), begun = false;
    for (size_t i = 0; i < n && good; i++) {
        const bool text = is_text(any, id[i]);
        const int byte = text ? byte_of(t, id[i]) : -1;
        const char *token = rf_tokenizer_token(any, id[i]);
        if (text && level_bytes(t, id[i], &bytes, &good)) continue;
        if (byte >= 0) {
            good = rf__subwords_append(&bytes, &(char){(char)byte}, 1);
            continue;
        }
        good = put_bytes(t, &out, bytes.at, bytes.n);
        bytes.n = 0;
        if (!token || (!text && skip && rf_tokenizer_is_special(any, id[i]))) continue;
        if (!begun && text && (t->before != NEVER || t->normal.prepends) && rf__subwords_begin_word(token)) token += 3;
        begun = true;
        good = good && (text ? put_piece(&out, token) : rf__subwords_append(&out, token, strlen(token)));
    }
    good = good && put_bytes(t, &out, bytes.at, bytes.n);
    rf__free(any->ctx, bytes.at);
    if (!good) rf__free(any->ctx, out.at), out.at = NULL;
    *size = out.n;
    return out.at;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static const char *token_of(const rf_tokenizer *t, int32_t id)
{
    return id < as_fast(t)->pieces.n ? as_fast(t)->pieces.token[id] : NULL;
}

static int32_t id_of(const rf_tokenizer *t, const char *token)
{
    return rf__pieces_find(&as_fast(t)->pieces, token, strlen(token));
}

static bool continues(const rf_tokenizer *t, int32_t id)
{
    const char *piece = is_text(t, id) ? as_fast(t)->pieces.token[id] : NULL;
    return piece && !(as_fast(t)->level ? !strncmp(piece, SPACE, 2) : rf__subwords_begin_word(piece));
}

static uint64_t fingerprint(const rf_tokenizer *t, uint64_t seed)
{
    return rf__hash64(as_fast(t)->file, as_fast(t)->bytes, seed);
}

static void describe(const rf_tokenizer *t, json_t **about)
{
    rf__json_set(about, "pieces", json_integer(as_fast(t)->pieces.n));
}

/* ---- the parts of the file --------------------------------------------------------------------------------------- */

static rf_status unsupported(const rf_tokenizer_folder *f, const char *part, const char *what, const char *expected)
{
    return rf_fail(f->why, RF_EUNSUPPORTED, "%s: %s: expected %s for subwords, got %.60s", f->fast_path, part, expected,
                   what ? rf__printable(what).text : "none");
}

static rf_status read_metaspace(const rf_tokenizer_folder *f, fast *t, const json_t *x)
{
    static const char *const name[] = {[ALWAYS] = "always", [FIRST] = "first", [NEVER] = "never"};
    const char *stands = json_string_value(json_object_get(x, "replacement"));
    const char *before = json_string_value(json_object_get(x, "prepend_scheme"));
    const json_t *split = json_object_get(x, "split");
    if (stands && strcmp(stands, BLANK) != 0)
        return unsupported(f, "pre_tokenizer: replacement", stands, "U+2581");
    t->metaspace = true;
    t->split = !split || json_is_true(split);
    t->before = json_is_false(json_object_get(x, "add_prefix_space")) ? NEVER : ALWAYS;
    for (int i = 0; i < 3 && before; i++)
        if (!strcmp(before, name[i])) return t->before = (scheme)i, RF_OK;
    return before ? unsupported(f, "pre_tokenizer: prepend_scheme", before, "always, first or never") : RF_OK;
}

/* ByteLevel, with its own regex or after a Split. */
static rf_status read_level(const rf_tokenizer_folder *f, fast *t, const json_t *x)
{
    const bool regex = !json_is_false(json_object_get(x, "use_regex"));
    t->blank_first = json_is_true(json_object_get(x, "add_prefix_space"));
    if (t->level && (regex || t->blank_first))
        return unsupported(f, "pre_tokenizer: ByteLevel after Split",
                           regex ? "use_regex true" : "add_prefix_space true", "use_regex and add_prefix_space false");
    if (!t->level) t->level = regex ? &rf__split_gpt2 : &rf__split_whole;
    for (unsigned i = 0; i < 256; i++) {
        char utf8[4];
        t->visible[i].n = (uint8_t)rf__utf8_put(rf__byte_scalar(i), utf8);
        memcpy(t->visible[i].at, utf8, t->visible[i].n);
    }
    return RF_OK;
}

static bool is_type(const json_t *x, const char *type)
{
    const char *own = json_string_value(json_object_get(x, "type"));
    return own && !strcmp(own, type);
}

/* [Split by one of the regexes, ByteLevel]. */
static rf_status read_split(const rf_tokenizer_folder *f, fast *t, const json_t *list)
{
    const json_t *split = json_array_get(list, 0);
    const char *regex = json_string_value(json_object_get(json_object_get(split, "pattern"), "Regex"));
    const char *behavior = json_string_value(json_object_get(split, "behavior"));
    t->level = regex ? rf__split_of(regex) : NULL;
    if (!t->level)
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: pre_tokenizer: Split: expected the Regex of GPT-2, Qwen 2 or "
                       "Llama 3, got \"%.300s\"; its words are not known here", f->fast_path,
                       regex ? rf__printable(regex).text : "no Regex");
    if (!behavior || strcmp(behavior, "Isolated") != 0 || json_is_true(json_object_get(split, "invert")))
        return unsupported(f, "pre_tokenizer: Split: behavior", behavior, "Isolated without invert");
    return read_level(f, t, json_array_get(list, 1));
}

/* Whether the normalizer, or its last step, replaces each blank, so that Split by blanks finds none. */
static bool leaves_no_blank(const rf_tokenizer_folder *f)
{
    const json_t *x = json_object_get(f->fast, "normalizer"), *list = json_object_get(x, "normalizers");
    if (json_array_size(list)) x = json_array_get(list, json_array_size(list) - 1);
    const char *from = json_string_value(json_object_get(json_object_get(x, "pattern"), "String"));
    const char *to = json_string_value(json_object_get(x, "content"));
    return is_type(x, "Replace") && from && !strcmp(from, " ") && to && !strchr(to, ' ');
}

static bool splits_by_blank(const json_t *x)
{
    const char *pattern = json_string_value(json_object_get(json_object_get(x, "pattern"), "String"));
    return is_type(x, "Split") && pattern && !strcmp(pattern, " ") && !json_is_true(json_object_get(x, "invert"));
}

static rf_status read_splitter(const rf_tokenizer_folder *f, fast *t, const json_t *x)
{
    static const char expected[] = "null, WhitespaceSplit, Metaspace, a Sequence of these two, ByteLevel, or a "
                                   "Sequence of Split and ByteLevel";
    const char *type = json_string_value(json_object_get(x, "type"));
    size_t i;
    json_t *one;
    rf_status status = RF_OK;
    if (!x || json_is_null(x)) return RF_OK;
    if (splits_by_blank(x) && leaves_no_blank(f)) return RF_OK;                        /* as in Gemma 2 and mmBERT */
    if (type && !strcmp(type, "Metaspace") && !t->metaspace) return read_metaspace(f, t, x);
    if (type && !strcmp(type, "WhitespaceSplit") && !t->metaspace) return t->white = true, RF_OK;
    const json_t *list = json_object_get(x, "pretokenizers");
    const bool bpe = is_type(json_object_get(f->fast, "model"), "BPE") && !t->white && !t->metaspace && !t->level;
    if (bpe && is_type(x, "ByteLevel")) return read_level(f, t, x);
    if (bpe && json_array_size(list) == 2 && is_type(json_array_get(list, 0), "Split") &&
        is_type(json_array_get(list, 1), "ByteLevel"))
        return read_split(f, t, list);
    if (!type || strcmp(type, "Sequence") != 0 || t->white || t->metaspace || json_array_size(list) > 2)
        return unsupported(f, "pre_tokenizer", type, expected);
    json_array_foreach(list, i, one) {
        const char *kind = json_string_value(json_object_get(one, "type"));
        if (kind && !strcmp(kind, "Sequence"))
            return unsupported(f, "pre_tokenizer", "Sequence in a Sequence", expected);
        if (!status) status = read_splitter(f, t, one);
    }
    return status;
}

/* A template as letters: A, B the texts, c the first token, s the last; '?' anything else. */
static void letters_of(const json_t *list, const rf_tokenizer_parts *parts, char out[16], bool *one_type)
{
    size_t i, n = 0;
    json_t *x;
    json_array_foreach(list, i, x) {
        const json_t *text = json_object_get(x, "Sequence");
        const char *name = json_string_value(json_object_get(text ? text : json_object_get(x, "SpecialToken"), "id"));
        char c = '?';
        if (text && name && (!strcmp(name, "A") || !strcmp(name, "B"))) c = name[0];
        else if (name && parts->special[RF_SEP] && !strcmp(name, parts->special[RF_SEP])) c = 's';
        else if (name && parts->special[RF_CLS] && !strcmp(name, parts->special[RF_CLS])) c = 'c';
        if (c == 'B') *one_type = json_number_value(json_object_get(text, "type_id")) == 0;
        if (n + 1 < 16) out[n++] = c;
    }
    out[n] = 0;
}

static const char *special_at(const json_t *list, size_t i)
{
    return json_string_value(json_object_get(json_object_get(json_array_get(list, i), "SpecialToken"), "id"));
}

/* Tokens around one text, and between two.  Unsupported forms make pairs impossible. */
static rf_status read_template(rf_tokenizer_folder *f, const json_t *x)
{
    static const struct { const char *single, *pair; size_t middle; bool bare, alone, open; } form[] = {
        {"A", "AB", 0, true, true, false},    {"cAs", "cAsBs", 0, false, false, false},
        {"cAs", "cAssBs", 1, false, false, false}, {"As", "ABs", 0, false, true, false},
        {"As", "AsBs", 1, false, true, false},
    };
    rf_tokenizer_parts *p = &f->parts;
    const json_t *single = json_object_get(x, "single"), *pair = json_object_get(x, "pair");
    const size_t n = json_array_size(single);
    char one[16], two[16];
    bool unused = false;
    const char *first = n ? special_at(single, 0) : NULL, *last = n > 1 ? special_at(single, n - 1) : NULL;
    if (first) p->special[RF_CLS] = first;
    if (last) p->special[RF_SEP] = last;
    letters_of(single, p, one, &unused);
    letters_of(pair, p, two, &p->one_type);
    for (size_t i = 0; i < RF_COUNT(form); i++) {
        if (strcmp(one, form[i].single) != 0) continue;
        p->bare = form[i].bare;
        p->ends_alone = form[i].alone;
        p->more_middle = form[i].middle;
        p->no_pairs = strcmp(two, form[i].pair) != 0;
        if (!p->no_pairs) break;
    }
    if (strcmp(one, "A") && strcmp(one, "As") && strcmp(one, "cAs") && strcmp(one, "cA"))
        return unsupported(f, "post_processor: template of a single text", "another one",
                           "at most one token before it and one after it");
    if (!strcmp(one, "cA")) p->bare = false, p->open_end = p->no_pairs = true;
    if (p->ends_alone && !p->bare) p->special[RF_CLS] = p->special[RF_SEP];
    return RF_OK;
}

/* Whether offsets exclude blanks; RobertaProcessing and ByteLevel specify it. */
static void read_trim(rf_tokenizer_folder *f, const json_t *x)
{
    f->parts.trims = json_is_true(json_object_get(x, "trim_offsets"));
    f->parts.trims_first = json_is_true(json_object_get(x, "add_prefix_space"));
}

static rf_status read_frame(rf_tokenizer_folder *f, fast *t, const json_t *x)
{
    const json_t *list = json_object_get(x, "processors");
    const char *type = json_string_value(json_object_get(x, "type"));
    f->parts.bare = f->parts.hidden = true;
    if (!x || json_is_null(x)) return RF_OK;
    if (t->level && is_type(x, "Sequence") && json_array_size(list) == 2 &&
        is_type(json_array_get(list, 0), "ByteLevel") && is_type(json_array_get(list, 1), "TemplateProcessing")) {
        read_trim(f, json_array_get(list, 0));
        return read_template(f, json_array_get(list, 1));
    }
    if (t->level && is_type(x, "ByteLevel")) return read_trim(f, x), RF_OK;
    if (type && !strcmp(type, "TemplateProcessing")) return read_template(f, x);
    const bool roberta = type && !strcmp(type, "RobertaProcessing");
    if (!roberta && !(type && !strcmp(type, "BertProcessing")))
        return unsupported(f, "post_processor", type, "TemplateProcessing, BertProcessing or RobertaProcessing");
    f->parts.bare = false;
    f->parts.special[RF_CLS] = json_string_value(json_array_get(json_object_get(x, "cls"), 0));
    f->parts.special[RF_SEP] = json_string_value(json_array_get(json_object_get(x, "sep"), 0));
    f->parts.one_type = roberta;
    f->parts.more_middle = roberta;
    if (roberta) read_trim(f, x);
    return RF_OK;
}

/* ---- special and added tokens ------------------------------------------------------------------------------------ */

/* Without a normalizer it makes no difference whether a token is matched before or after it. */
static rf_status read_added(rf_tokenizer_folder *f, const fast *t)
{
    size_t i;
    json_t *x;
    rf_status status = RF_OK;
    json_array_foreach(json_object_get(f->fast, "added_tokens"), i, x) {
        if (!t->normal.steps && json_is_object(x) && json_object_set_new(x, "normalized", json_false()))
            return rf_fail(f->why, RF_ENOMEM, "%s: out of memory", f->fast_path);
        if (!status) status = rf__folder_added(f, f->fast_path, x, rf__whole_number(json_object_get(x, "id")));
    }
    return status ? status : rf__folder_decoder(f);
}

static int32_t find_piece(const void *t, const char *text) { return id_of(t, text); }

/* A token of the settings whose name differs from BERT's. */
static void name_ends(rf_tokenizer_folder *f)
{
    static const struct { int special; const char *key; } row[] = {{RF_CLS, "bos_token"}, {RF_SEP, "eos_token"}};
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        const json_t *x = json_object_get(f->map, row[i].key);
        if (!x) x = json_object_get(f->config, row[i].key);
        if (!f->parts.special[row[i].special])
            f->parts.special[row[i].special] = json_string_value(json_is_object(x) ? json_object_get(x, "content") : x);
    }
}

/* ---- a folder ---------------------------------------------------------------------------------------------------- */

static void clear(rf_tokenizer *any)
{
    fast *t = (fast *)(void *)any;
    rf__normal_clear(&t->normal);
    rf__pieces_clear(&t->pieces);
    rf__trie_clear(&t->normalized, any->ctx);
    rf__free(any->ctx, t->file);
}

/* Whether each byte that UTF-8 can contain is a piece. */
static rf_status check_bytes(const rf_tokenizer_folder *f, const fast *t)
{
    for (unsigned i = 0; i < 256; i++) {
        if (i == 0xC0 || i == 0xC1 || i > 0xF4) continue;
        if (rf__pieces_find(&t->pieces, t->visible[i].at, t->visible[i].n) >= 0) continue;
        return rf_fail(f->why, RF_EDATA, "%s: model.vocab: expected a piece for each byte, got none for 0x%02X "
                       "(\"%.*s\"); learn with the initial alphabet of ByteLevel", f->fast_path, i,
                       (int)t->visible[i].n, t->visible[i].at);
    }
    return RF_OK;
}

/* Added tokens that are matched in normalized text, in normalized form. */
static rf_status index_normalized(fast *t, rf_error *why)
{
    rf__mapped text = {.ctx = t->base.ctx}, spare = text;
    bool good = rf__trie_begin(&t->normalized, t->base.ctx);
    for (size_t i = 0; i < t->base.added_n && good; i++) {
        const rf_added *a = &t->base.added[i];
        if (!a->normalized) continue;
        t->base.normalized = true;
        text.n = 0;
        good = rf__mapped_put(&text, a->text, a->size, 0, 0) && rf__normal_run(&t->normal, &text, &spare);
        if (good && text.n) good = rf__trie_add(&t->normalized, t->base.ctx, text.at, text.n, (int32_t)i);
    }
    rf__mapped_clear(&text);
    rf__mapped_clear(&spare);
    return good ? RF_OK : rf_fail(why, RF_ENOMEM, "tokenizer: out of memory");
}

static rf_status read_parts(rf_tokenizer_folder *f, fast *t)
{
    const rf_ctx *ctx = f->ctx;
    rf_status status = RF_OK;
    if (!t->file) status = rf__read_file(ctx, f->fast_path, RF_TOKENIZER_FILE, &t->file, &t->bytes, f->why);
    if (!status)
        status = rf__normal_read(&t->normal, ctx, json_object_get(f->fast, "normalizer"), f->fast_path, f->why);
    if (!status) status = read_splitter(f, t, json_object_get(f->fast, "pre_tokenizer"));
    if (!status) status = rf__pieces_read(&t->pieces, ctx, json_object_get(f->fast, "model"), f->fast_path, f->why);
    if (!status && t->level) status = check_bytes(f, t);
    if (!status) status = rf__pieces_known(&t->pieces, t->level != NULL, f->fast_path, f->why);
    if (!status) status = read_frame(f, t, json_object_get(f->fast, "post_processor"));
    if (!status) status = read_added(f, t);
    if (status) return status;
    rf__added_resolve(f->parts.added, f->parts.added_n, t->pieces.n, find_piece, t);
    name_ends(f);
    t->base.n = t->pieces.n;
    if (!f->parts.special[RF_UNK] && t->pieces.unk >= 0) f->parts.special[RF_UNK] = t->pieces.token[t->pieces.unk];
    return RF_OK;
}

/* `file`: the text of f->fast, which is freed; NULL: read it from f->fast_path. */
static rf_status open_as(rf_tokenizer_folder *f, const rf_tokenizer_row *row, char *file, size_t bytes,
                         rf_tokenizer **out)
{
    fast *t = (fast *)(void *)rf__tokenizer_alloc(f->ctx, row, f->why);
    if (!t) return rf__free(f->ctx, file), RF_ENOMEM;
    t->file = file;
    t->bytes = bytes;
    t->normal.ctx = t->pieces.ctx = f->ctx;
    t->before = NEVER;
    rf_status status = read_parts(f, t);
    f->parts.name = f->fast_path;
    t->base.normalizes = t->level != NULL;
    if (status) return rf_tokenizer_free(&t->base), status;
    status = rf__subwords_begin(&t->base, t->pieces.n, &f->parts, NULL, out, f->why);
    if (!status && t->level) status = index_normalized(t, f->why);
    else return status;
    if (status) rf_tokenizer_free(&t->base), *out = NULL;
    return status;
}

static rf_status open_unigram(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    return open_as(f, &rf__tokenizer_fast_unigram, NULL, 0, out);
}

static rf_status open_bpe(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    return open_as(f, &rf__tokenizer_fast_bpe, NULL, 0, out);
}

/* The class takes add_prefix_space (false) from its settings and ignores tokenizer.json's: both must agree. */
static rf_status check_prefix(rf_tokenizer_folder *f)
{
    const bool json = json_is_true(json_object_get(json_object_get(f->fast, "pre_tokenizer"), "add_prefix_space"));
    const bool own = json_is_true(json_object_get(f->config, "add_prefix_space"));
    if (own == json) return RF_OK;
    return rf_fail(f->why, RF_EUNSUPPORTED, "%s: add_prefix_space: expected %s as in tokenizer_config.json%s, got %s",
                   f->fast_path, own ? "true" : "false",
                   json_object_get(f->config, "add_prefix_space") ? "" : " (which has no such key)",
                   json ? "true" : "false");
}

/* RoBERTa's class: tokenizer.json if it exists, otherwise vocab.json and merges.txt. */
static rf_status open_roberta(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    char *file = NULL, path[RF_PATH];
    size_t bytes = 0;
    const char *type = json_string_value(json_object_get(f->model, "model_type"));
    f->all = true;
    if (!f->class && !(type && !strcmp(type, "roberta")))
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: expected tokenizer_class in tokenizer_config.json, got none; "
                       RF_FILE_MERGES " does not say which special tokens a text has", f->path);
    rf_status status = rf__path(path, sizeof path, f->path, RF_FILE_TOKENIZER, f->why);
    if (status) return status;
    if (rf__is_there(f->ctx, path)) {
        status = rf__folder_json(f, RF_FILE_TOKENIZER, f->fast_path, &f->fast);
        if (!status) status = check_prefix(f);
    } else {
        status = rf__merges_read(f, &file, &bytes);
    }
    return status ? status : open_as(f, &rf__tokenizer_fast_bpe, file, bytes, out);
}

static rf_status save(const rf_tokenizer *t, rf_ready_files *to, rf_error *why)
{
    if (rf__ready_copy(t, to, RF_FILE_TOKENIZER, as_fast(t)->file, as_fast(t)->bytes)) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "%s: out of memory for its pieces", to->folder);
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

static const char *const files[] = {RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER, RF_FILE_TOKENIZER_CONFIG, NULL};
static const char *const classes[] = {"PreTrainedTokenizerFast", NULL};
static const char *const roberta_classes[] = {"RobertaTokenizer", "RobertaTokenizerFast", NULL};
static const char *const roberta_holds[] = {RF_FILE_MERGES, NULL};

#define SHARED                                                                                                        \
    .files = files, .transformers = "PreTrainedTokenizerFast", .size = sizeof(fast),                                  \
    .save = save, .describe = describe, .fingerprint = fingerprint, .clear = clear, .encode = encode,                 \
    .scratch = scratch, .scratch_free = scratch_free, .decode = decode, .token = token_of, .id = id_of,               \
    .continues = continues

const rf_tokenizer_row rf__tokenizer_fast_unigram = {
    .name = "fast_unigram", .title = "sub-words, unigram (tokenizer.json)", .classes = classes, .model = "Unigram",
    .open = open_unigram, SHARED};
const rf_tokenizer_row rf__tokenizer_fast_bpe = {
    .name = "fast_bpe", .title = "sub-words, BPE (tokenizer.json)", .classes = classes, .model = "BPE",
    .open = open_bpe, SHARED};
/* The result is a fast_bpe. */
const rf_tokenizer_row rf__tokenizer_roberta = {
    .name = "roberta", .title = "sub-words, BPE (vocab.json, merges.txt)", .classes = roberta_classes,
    .holds = roberta_holds, .open = open_roberta, SHARED};
