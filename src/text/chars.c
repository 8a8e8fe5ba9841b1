/* chars.c — character tokenizer: the Unicode code points of a vocabulary.
 *
 *     id = 0 .. 4    [PAD] [UNK] [CLS] [SEP] [MASK], with the names from the settings
 *     id = 5 .. n-1  the characters of vocab.json; in the order of code points if it was trained here
 *     id >= n        added tokens
 *
 * The text is not normalized, so a text without unknown characters decodes to itself.  Each character that is not in
 * the vocabulary becomes one [UNK].                                                                                  */
#include <stdio.h>
#include <stdlib.h>

#include "text/unicode/letters.h"
#include "tokenizer.h"

enum { FIRST = 5, MOST = FIRST + RF_SCALARS, BLOCK = 256, BLOCKS = RF_SCALARS / BLOCK };

typedef struct entry { uint32_t c; char name[16]; } entry;    /* "A", or "<U+000A>" if it is not printable            */

typedef struct chars {
    rf_tokenizer base;
    entry *of;                                            /* [own]: of[0 .. FIRST) are not used                       */
    int32_t own;                                          /* ids of special tokens and characters                     */
    int32_t *block[BLOCKS];                               /* ids by code point, 0: none                               */
} chars;

const rf_tokenizer_row rf__tokenizer_chars;               /* defined below                                            */

static const chars *as_chars(const rf_tokenizer *t) { return (const chars *)(const void *)t; }

static int32_t id_of_scalar(const chars *t, uint32_t c)
{
    const int32_t *block = t->block[c / BLOCK];
    return block ? block[c % BLOCK] : 0;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool shows(uint32_t c) { return c > ' ' && !(c >= 0x7F && c < 0xA0) && !rf__unicode_white(c); }

static void put_name(uint32_t c, char name[16])
{
    if (shows(c)) name[rf__utf8_encode(c, name)] = 0;
    else snprintf(name, 16, "<U+%04X>", (unsigned)c);
}

/* The code point of a name, which is the character itself or "<U+...>"; -1 if it is neither. */
static int64_t scalar_of(const char *name)
{
    const size_t size = strlen(name);
    size_t at = 0;
    if (!size) return -1;
    const uint32_t c = rf__utf8_get((const unsigned char *)name, &at);
    if (at == size) return c;
    if (size < 8 || size > 10 || strncmp(name, "<U+", 3) != 0) return -1;
    char *end;
    const long hex = strtol(name + 3, &end, 16);
    const size_t digits = (size_t)(end - name) - 3;
    const bool scalar = hex >= 0 && hex < RF_SCALARS && (hex < 0xD800 || hex > 0xDFFF);
    return scalar && digits == size - 4 && *end == '>' ? hex : -1;
}

/* ---- text to ids and back ---------------------------------------------------------------------------------------- */

static bool encode(const rf_tokenizer *t, rf_encoding *e, const rf_passage *p, void *scratch)
{
    (void)scratch;
    const unsigned char *text = (const unsigned char *)p->text;
    if (!rf__reserve_tokens(e, p->to - p->from)) return false;
    for (size_t at = p->from, end; at < p->to; at = end) {
        end = at;
        const int32_t id = id_of_scalar(as_chars(t), rf__utf8_get(text, &end));
        rf__put_token(e, id ? id : t->special[RF_UNK], (uint32_t)at, (uint32_t)end, false);
    }
    return true;
}

static bool is_char(const rf_tokenizer *t, int32_t id) { return id >= FIRST && id < as_chars(t)->own; }

static char *decode(const rf_tokenizer *t, const int32_t id[], size_t n, bool skip, size_t *size)
{
    size_t all = 1, used = 0;
    for (size_t i = 0; i < n; i++) {
        const char *token = is_char(t, id[i]) ? "1234" : rf_tokenizer_token(t, id[i]);
        all += token ? strlen(token) : 0;
    }
    char *text = rf__alloc(t->ctx, all);
    for (size_t i = 0; text && i < n; i++) {
        if (is_char(t, id[i])) {
            used += rf__utf8_encode(as_chars(t)->of[id[i]].c, text + used);
            continue;
        }
        const char *token = rf_tokenizer_token(t, id[i]);
        if (!token || (skip && rf_tokenizer_is_special(t, id[i]))) continue;
        memcpy(text + used, token, strlen(token));
        used += strlen(token);
    }
    if (text) text[used] = 0;
    *size = used;
    return text;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static const int special_at[FIRST] = {RF_PAD, RF_UNK, RF_CLS, RF_SEP, RF_MASK};

static const char *token_of(const rf_tokenizer *t, int32_t id)
{
    if (id < FIRST) return t->name[special_at[id]];
    return is_char(t, id) ? as_chars(t)->of[id].name : NULL;
}

static int32_t id_of(const rf_tokenizer *t, const char *token)
{
    for (int32_t id = 0; id < FIRST; id++)
        if (t->name[special_at[id]] && !strcmp(t->name[special_at[id]], token)) return id;
    const int64_t c = scalar_of(token);
    const int32_t id = c < 0 ? 0 : id_of_scalar(as_chars(t), (uint32_t)c);
    return id ? id : -1;
}

static bool continues(const rf_tokenizer *t, int32_t id)
{
    (void)t, (void)id;
    return false;
}

static uint64_t fingerprint(const rf_tokenizer *t, uint64_t seed)
{
    return rf__hash64(t->row->name, strlen(t->row->name), seed);
}

static void describe(const rf_tokenizer *t, json_t **about)
{
    rf__json_set(about, "characters", json_integer(as_chars(t)->own - FIRST));
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static void clear(rf_tokenizer *any)
{
    chars *t = (chars *)(void *)any;
    rf__free(any->ctx, t->of);
    for (size_t i = 0; i < BLOCKS; i++) rf__free(any->ctx, t->block[i]);
}

/* False: no memory. */
static bool put_char(chars *t, int32_t id, uint32_t c)
{
    int32_t **block = &t->block[c / BLOCK];
    if (!*block) *block = rf__calloc(t->base.ctx, BLOCK, sizeof **block);
    if (!*block) return false;
    (*block)[c % BLOCK] = id;
    t->of[id].c = c;
    put_name(c, t->of[id].name);
    return true;
}

/* A tokenizer of `own` ids.  NULL with a reason if there is no memory. */
static chars *make(const rf_ctx *ctx, const rf_tokenizer_row *row, int32_t own, rf_error *why)
{
    rf_tokenizer *any = rf__tokenizer_alloc(ctx, row, why);
    chars *t = (chars *)(void *)any;
    if (!t) return NULL;
    any->n = t->own = own;
    t->of = rf__calloc(ctx, (size_t)own, sizeof *t->of);
    if (t->of) return t;
    rf_tokenizer_free(any);
    return rf_fail(why, RF_ENOMEM, "tokenizer: out of memory for %d characters", (int)own), NULL;
}

static rf_status finish_making(chars *t, const rf_tokenizer_parts *parts, rf_tokenizer **out, rf_error *why)
{
    rf_status status = rf__tokenizer_begin(&t->base, parts, why);
    if (!status) status = rf__tokenizer_follow(&t->base, t->own, parts->name, why);
    if (status) rf_tokenizer_free(&t->base);
    else *out = &t->base;
    return status;
}

/* ---- vocab.json -------------------------------------------------------------------------------------------------- */

static rf_status bad_entry(const rf_tokenizer_folder *f, const char *path, const char *key, const char *what)
{
    return rf_fail(f->why, RF_EDATA, "%s: \"%.60s\": %s", path, rf__printable(key).text, what);
}

/* Checks that every id below FIRST is the special token of that position, every other id a character, and none is
 * missing. */
static rf_status read_entries(rf_tokenizer_folder *f, const char *path, const json_t *map, chars *t)
{
    static const char *const usual[FIRST] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)map, key, value) {
        const int64_t id = rf__whole_number(value);
        if (id < 0 || id >= t->own) return bad_entry(f, path, key,
                                                     "expected an id from 0 to the number of entries, got another "
                                                     "value");
        if (id < FIRST) {
            const char *name = f->parts.special[special_at[id]];
            if (strcmp(key, name ? name : usual[id]) != 0)
                return bad_entry(f, path, key,
                                 "ids 0 to 4 are those of the special tokens for padding, unknown, first, last, mask");
            continue;
        }
        const int64_t c = scalar_of(key);
        if (c < 0) return bad_entry(f, path, key, "expected one character or <U+...>, got another text");
        if (t->of[id].name[0]) return bad_entry(f, path, key, "its id is another character's");
        if (id_of_scalar(t, (uint32_t)c)) return bad_entry(f, path, key, "expected each character once, got it twice");
        if (!put_char(t, (int32_t)id, (uint32_t)c)) return rf_fail(f->why, RF_ENOMEM, "%s: out of memory", path);
    }
    for (int32_t id = FIRST; id < t->own; id++)
        if (!t->of[id].name[0])
            return rf_fail(f->why, RF_EDATA, "%s: expected a character for each id, got none for id %d", path, (int)id);
    return RF_OK;
}

static rf_status open_folder(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    char path[RF_PATH];
    json_t *map = NULL;
    rf_status status = rf__folder_json(f, RF_FILE_VOCAB_JSON, path, &map);
    if (status) return status;
    if (!map)
        return rf_fail(f->why, RF_EDATA, "%s: expected this file for tokenizer_class %.60s, got none", path, f->class);
    const size_t n = json_object_size(map);
    chars *t = NULL;
    if (n <= FIRST || n > MOST)
        status = rf_fail(f->why, RF_EDATA,
                         "%s: expected the five special tokens and 1 to %d characters, got %zu entries", path,
                         RF_SCALARS, n);
    else if (!(t = make(f->ctx, &rf__tokenizer_chars, (int32_t)n, f->why))) status = RF_ENOMEM;
    else status = read_entries(f, path, map, t);
    json_decref(map);
    if (!status) return finish_making(t, &f->parts, out, f->why);
    if (t) rf_tokenizer_free(&t->base);
    return status;
}

static rf_status save(const rf_tokenizer *t, rf_ready_files *to, rf_error *why)
{
    json_t *map = json_object();
    for (int32_t id = 0; id < as_chars(t)->own; id++) rf__json_set(&map, token_of(t, id), json_integer(id));
    if (rf__ready_json(t, to, RF_FILE_VOCAB_JSON, map)) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "%s: out of memory for its characters", to->folder);
}

/* ---- learning: counting ------------------------------------------------------------------------------------------ */

static rf_status begin(rf_tokenizer_trainer *t, rf_error *why)
{
    t->own = rf__calloc(t->ctx, RF_SCALARS, sizeof(uint64_t));
    return t->own ? RF_OK : rf_fail(why, RF_ENOMEM, "vocabulary: out of memory: counts of characters");
}

static rf_status feed(rf_tokenizer_trainer *t, const char *text, size_t size, rf_error *why)
{
    (void)why;
    uint64_t *count = t->own;
    for (size_t at = 0; at < size;) count[rf__utf8_get((const unsigned char *)text, &at)]++;
    return RF_OK;
}

static rf_status finish(rf_tokenizer_trainer *trainer, rf_tokenizer **out, rf_error *why)
{
    const rf_tokenizer_train_options *o = &trainer->options;
    size_t n = 0;
    rf_letter *x = rf__letters(trainer->ctx, trainer->own, (size_t)o->tokens - FIRST, o->least ? o->least : 1, &n);
    if (!x) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory for its characters");
    chars *t = NULL;
    rf_status status = RF_OK;
    if (!n)
        status = rf_fail(why, RF_EDATA,
                         "vocabulary: expected characters that occur at least %llu times in the text, got none",
                         (unsigned long long)(o->least ? o->least : 1));
    else if (!(t = make(trainer->ctx, &rf__tokenizer_chars, FIRST + (int32_t)n, why))) status = RF_ENOMEM;
    for (size_t i = 0; i < n && !status; i++)
        if (!put_char(t, FIRST + (int32_t)i, x[i].c)) status = rf_fail(why, RF_ENOMEM, "vocabulary: out of memory");
    rf__free(trainer->ctx, x);
    if (!status) return finish_making(t, &(rf_tokenizer_parts){.name = "vocabulary"}, out, why);
    if (t) rf_tokenizer_free(&t->base);
    return status;
}

static void clear_training(rf_tokenizer_trainer *t) { rf__free(t->ctx, t->own); }

static const rf_tokenizer_training training = {
    .uses = RF_TRAIN_LEAST,
    .begin = begin,
    .feed = feed,
    .finish = finish,
    .clear = clear_training,
};

/* ---- the row ----------------------------------------------------------------------------------------------------- */

static const char *const classes[] = {"RoFormerCharacterTokenizer", NULL};
static const char *const files[] = {RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER_CONFIG, RF_FILE_VOCAB_JSON, NULL};

const rf_tokenizer_row rf__tokenizer_chars = {
    .name = "chars",
    .title = "characters",
    .classes = classes,
    .files = files,
    .size = sizeof(chars),
    .open = open_folder,
    .training = &training,
    .save = save,
    .describe = describe,
    .fingerprint = fingerprint,
    .clear = clear,
    .encode = encode,
    .decode = decode,
    .token = token_of,
    .id = id_of,
    .continues = continues,
};
