/* tokenizer.c — the list of rows, and what all tokenizers share: special tokens, added tokens, properties of ids. */
#include <stdatomic.h>
#include <stdlib.h>

#include "chat.h"
#include "conversation.h"
#include "tokenizer.h"

#define RFT(name) extern const rf_tokenizer_row rf__tokenizer_##name;
#include "roformer/inspect/tokenizers.def"
#undef RFT
const rf_tokenizer_row *const rf__tokenizer_rows[] = {
#define RFT(name) &rf__tokenizer_##name,
#include "roformer/inspect/tokenizers.def"
#undef RFT
    NULL,
};

static const char *const standard[RF_SPECIALS] = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};

static rf_status no_memory(rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "tokenizer: out of memory");
}

/* ---- making one ------------------------------------------------------------------------------------------------ */

static int32_t id_among(const rf_added *added, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (added[i].size == strlen(text) && !memcmp(added[i].text, text, added[i].size)) return added[i].id;
    return -1;
}

/* The five special tokens by name and id. */
static rf_status name_specials(rf_tokenizer *t, const rf_tokenizer_parts *parts, rf_error *why)
{
    for (int i = 0; i < RF_SPECIALS; i++) {
        t->special[i] = -1;
        if (parts->lacks && !parts->special[i]) continue;
        t->name[i] = rf__strdup(t->ctx, parts->special[i] ? parts->special[i] : standard[i]);
        if (!t->name[i]) return no_memory(why);
        if (!t->name[i][0])
            return rf_fail(why, RF_EDATA, "%s: special tokens: expected names, got an empty one", parts->name);
    }
    for (int i = 0; i < RF_SPECIALS; i++) {
        if (!t->name[i]) continue;
        t->special[i] = t->row->id(t, t->name[i]);
        if (t->special[i] < 0) t->special[i] = id_among(parts->added, parts->added_n, t->name[i]);
        if (t->special[i] < 0)
            return rf_fail(why, RF_EDATA,
                           "%s: special tokens: expected %.40s in the vocabulary of %d tokens, got none%s", parts->name,
                           t->name[i], (int)t->n, parts->remark ? parts->remark : "");
    }
    return RF_OK;
}

static int32_t find_in_row(const void *t, const char *text)
{
    return ((const rf_tokenizer *)t)->row->id(t, text);
}

/* The token's text after normalization. */
static rf_status put_key(rf_tokenizer *t, rf_added *a, rf_error *why)
{
    if (!a->normalized || a->key) return RF_OK;
    if (t->normalizes) return t->normalized = true, RF_OK;
    if (!t->row->normalize)
        return rf_fail(why, RF_EUNSUPPORTED, "added token %.40s: normalized is not supported by a tokenizer of %s",
                       a->text, t->row->title);
    t->normalized |= !t->lower;
    a->key = rf__alloc(t->ctx, a->size * RF_NORMAL_MOST * 4 + 1);
    if (!a->key) return no_memory(why);
    for (size_t at = 0; at < a->size;) {
        uint32_t to[RF_NORMAL_MOST];
        const size_t n = t->row->normalize(t, rf__utf8_get((const unsigned char *)a->text, &at), to);
        for (size_t i = 0; i < n; i++) a->key_size += rf__utf8_encode(to[i], a->key + a->key_size);
    }
    return RF_OK;
}

/* Adds a token that is cut out of raw text, or changes the one with the same text. */
static rf_status add(rf_tokenizer *t, rf__text_index *index, const rf_added *a, rf_error *why)
{
    const size_t old = rf__text_index_find(index, t->added, sizeof *t->added, a->text, a->size);
    if (old < t->added_n) {
        t->added[old].lstrip |= a->lstrip;
        t->added[old].rstrip |= a->rstrip;
        t->added[old].special |= a->special;
        t->added[old].normalized |= a->normalized;
        return put_key(t, &t->added[old], why);
    }
    char *text = rf__alloc(t->ctx, a->size + 1);
    if (!text) return no_memory(why);
    memcpy(text, a->text, a->size);
    text[a->size] = 0;
    t->added[t->added_n] = *a;
    t->added[t->added_n++].text = text;
    if (!rf__text_index_all(index, t->ctx, t->added, sizeof *t->added, t->added_n)) return no_memory(why);
    return put_key(t, &t->added[t->added_n - 1], why);
}

/* The five, then those of the parts. */
static rf_status add_all(rf_tokenizer *t, const rf_tokenizer_parts *parts, rf_error *why)
{
    rf__text_index index = {.n = 0};
    rf_status status = RF_OK;
    for (int i = 0; i < RF_SPECIALS && !parts->hidden && !status; i++)
        if (t->name[i])
            status = add(t, &index, &(rf_added){t->name[i], strlen(t->name[i]), t->special[i], .special = true}, why);
    for (size_t i = 0; i < parts->added_n && !status; i++) status = add(t, &index, &parts->added[i], why);
    rf__free(t->ctx, index.slot);
    return status;
}

/* A token in lower case that is matched in upper case, too. */
static bool may_fold(const rf_tokenizer *t, const rf_added *a)
{
    if (!t->lower) return false;
    for (size_t i = 0; i < a->size; i++)
        if (a->text[i] >= 'A' && a->text[i] <= 'Z') return false;
    return true;
}

static void list_openers(rf_tokenizer *t)
{
    int openers = 0;
    for (size_t i = 0; i < t->added_n; i++) {
        const unsigned char first = (unsigned char)t->added[i].text[0];
        if (t->added[i].hidden || (t->normalized && t->added[i].normalized)) continue;
        t->opens[first] = 1;
        if (!may_fold(t, &t->added[i])) continue;
        t->fold = true;
        if (first >= 'a' && first <= 'z') t->opens[first - 'a' + 'A'] = 1;
        for (int b = 0x80; b < 256; b++) t->opens[b] = 1;
    }
    for (int b = 0; b < 256; b++)
        if (t->opens[b]) {
            t->opener = b;
            openers++;
        }
    if (openers != 1) t->opener = -1;
}

rf_tokenizer *rf__tokenizer_alloc(const rf_ctx *ctx, const rf_tokenizer_row *row, rf_error *why)
{
    rf_tokenizer *t = rf__calloc(ctx, 1, row->size);
    if (!t) return no_memory(why), NULL;
    t->ctx = ctx;
    t->row = row;
    return t;
}

static void put_part(rf_frame *f, int32_t token, int32_t type)
{
    f->part[f->n++] = (rf_frame_part){token, type};
}

/* The templates of BERT and its relatives: [CLS] A [SEP] and [CLS] A [SEP] B [SEP]. */
static void make_frames(rf_tokenizer *t, size_t middle)
{
    for (int pair = 0; pair < 2; pair++) {
        rf_frame *f = &t->frame[pair];
        if (rf__tokenizer_opens(t)) put_part(f, t->special[RF_CLS], 0);
        put_part(f, RF_FRAME_A, 0);
        for (size_t i = 0; i < middle && pair && !t->bare; i++) put_part(f, t->special[RF_SEP], 0);
        if (pair) put_part(f, RF_FRAME_B, 1);
        if (rf__tokenizer_ends(t)) put_part(f, t->special[RF_SEP], pair);
    }
}

void rf__surroundings_of(const rf_tokenizer *t, rf__surroundings *out)
{
    const rf_frame *f = &t->frame[0];
    bool seen = false;
    *out = (rf__surroundings){.opens = 0};
    for (size_t i = 0; i < f->n; i++) {
        const rf_frame_part part = {f->part[i].token, t->one_type ? 0 : f->part[i].type};
        if (part.token == RF_FRAME_A) seen = true, out->type = part.type;
        else if (seen) out->after[out->ends++] = part;
        else out->before[out->opens++] = part;
    }
}

rf_status rf__tokenizer_begin(rf_tokenizer *t, const rf_tokenizer_parts *parts, rf_error *why)
{
    rf__added_resolve(parts->added, parts->added_n, t->n, find_in_row, t);
    rf_status status = name_specials(t, parts, why);
    if (status) return status;
    t->bare = parts->bare;
    t->ends_alone = parts->ends_alone;
    t->open_end = parts->open_end;
    t->one_type = parts->one_type;
    t->trims = parts->trims;
    t->trims_first = parts->trims_first;
    t->no_pairs = parts->no_pairs;
    memcpy(t->frame, parts->frame, sizeof t->frame);
    if (!t->frame[0].n) make_frames(t, (parts->ends_alone ? 0 : 1) + parts->more_middle);
    t->added = rf__calloc(t->ctx, parts->added_n + RF_SPECIALS, sizeof *t->added);
    if (!t->added) return no_memory(why);
    status = add_all(t, parts, why);
    if (status) return status;
    list_openers(t);
    static atomic_uint_least64_t made;
    t->mark = (uint64_t)atomic_fetch_add(&made, 1) + 1;
    return RF_OK;
}

static rf_status two_of_one_id(const char *name, int32_t id, const char *one, const char *other, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s: id %d belongs to %.40s and %.40s", name, (int)id, one, other);
}

rf_status rf__tokenizer_follow(rf_tokenizer *t, int32_t own, const char *name, rf_error *why)
{
    size_t n = 0;
    rf_status status = RF_OK;
    rf_added *apart = rf__alloc(t->ctx, (t->added_n + 1) * sizeof *apart);
    if (!apart) return no_memory(why);
    t->n = own;
    for (size_t i = 0; i < t->added_n && !status; i++) {
        const rf_added *a = &t->added[i];
        const char *other = a->id < own ? t->row->token(t, a->id) : NULL;
        if (!other) apart[n++] = *a;
        else if (strcmp(other, a->text) != 0) status = two_of_one_id(name, a->id, other, a->text, why);
        if (a->id >= t->n) t->n = a->id + 1;
    }
    rf__added_sort(apart, n);
    for (size_t i = 1; i < n && !status; i++)
        if (apart[i - 1].id == apart[i].id)
            status = two_of_one_id(name, apart[i].id, apart[i - 1].text, apart[i].text, why);
    rf__free(t->ctx, apart);
    return status;
}

void rf_tokenizer_free(rf_tokenizer *t)
{
    if (!t) return;
    const rf_ctx *ctx = t->ctx;
    rf_tokenizer_free(t->target);
    for (size_t i = 0; i < t->added_n; i++) {
        rf__free(ctx, (char *)(uintptr_t)t->added[i].text);
        rf__free(ctx, t->added[i].key);
    }
    rf__free(ctx, t->added);
    for (int i = 0; i < RF_SPECIALS; i++) rf__free(ctx, t->name[i]);
    if (t->row->clear) t->row->clear(t);
    json_decref(t->kept);
    rf__chat_free(ctx, t->chat);
    rf__conversation_free(ctx, t->conversation);
    rf__free(ctx, t);
}

/* ---- types ----------------------------------------------------------------------------------------------------- */

const char *rf_tokenizer_type(int i, int *learns)
{
    int n = 0;
    while (rf__tokenizer_rows[n]) n++;
    if (i < 0 || i >= n) return NULL;
    const rf_tokenizer_row *row = rf__tokenizer_rows[i];
    if (learns) *learns = row->make ? 0 : row->training ? 1 : -1;
    return row->name;
}

const rf_tokenizer_row *rf__tokenizer_row_of(const char *type, rf_error *why)
{
    for (const rf_tokenizer_row *const *r = rf__tokenizer_rows; *r; r++)
        if (!strcmp((*r)->name, type)) return *r;
    rf_fail(why, RF_EARG, "tokenizer type: expected a known type such as %s, got \"%.40s\"",
            rf__tokenizer_rows[0]->name, type);
    return NULL;
}

rf_status rf_tokenizer_make(const rf_ctx *ctx, const char *type, rf_tokenizer **out, rf_error *why)
{
    if (!(ctx && type && out)) return rf__missing("rf_tokenizer_make", "ctx, type, out", why);
    const rf_tokenizer_row *row = rf__tokenizer_row_of(type, why);
    if (!row) return RF_EARG;
    if (row->make) return row->make(ctx, out, why);
    return rf_fail(why, RF_EUNSUPPORTED, row->training ? "a tokenizer of type %s is learned from text"
                                                       : RF__TOKENIZER_READ, type);
}

const char *const *rf_tokenizer_files(const rf_tokenizer *t)
{
    return t->row->files_of ? t->row->files_of(t) : t->row->files;
}
const char *rf__tokenizer_transformers(const rf_tokenizer *t) { return t->row->transformers; }

/* ---- questions ------------------------------------------------------------------------------------------------- */

int32_t rf_tokenizer_size(const rf_tokenizer *t) { return t->n; }
const rf_tokenizer *rf__tokenizer_target(const rf_tokenizer *t) { return t->target ? t->target : t; }

const char *rf_tokenizer_token(const rf_tokenizer *t, int32_t id)
{
    const char *token = id < 0 || id >= t->n ? NULL : t->row->token(t, id);
    for (size_t i = 0; !token && i < t->added_n; i++)
        if (t->added[i].id == id) token = t->added[i].text;
    return token;
}

int32_t rf_tokenizer_id(const rf_tokenizer *t, const char *token)
{
    const int32_t id = t->row->id(t, token);
    return id < 0 ? id_among(t->added, t->added_n, token) : id;
}

int32_t rf_tokenizer_unk(const rf_tokenizer *t) { return t->special[RF_UNK]; }
int32_t rf_tokenizer_cls(const rf_tokenizer *t) { return t->special[RF_CLS]; }
int32_t rf_tokenizer_sep(const rf_tokenizer *t) { return t->special[RF_SEP]; }
int32_t rf_tokenizer_pad(const rf_tokenizer *t) { return t->special[RF_PAD]; }
int32_t rf_tokenizer_mask(const rf_tokenizer *t) { return t->special[RF_MASK]; }

const struct rf_chat *rf__tokenizer_chat(const rf_tokenizer *t) { return t->chat; }
int rf_tokenizer_places_pairs(const rf_tokenizer *t) { return t->conversation != NULL; }

int rf_tokenizer_is_special(const rf_tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < t->added_n; i++)
        if (t->added[i].id == id && t->added[i].special) return 1;
    return 0;
}

bool rf__all_unknown(const rf_tokenizer *t, const rf_encoding *e)
{
    bool some = false;
    for (size_t i = 0; i < e->n; i++) {
        if (e->added[i]) continue;
        if (e->id[i] != t->special[RF_UNK]) return false;
        some = true;
    }
    return some && t->special[RF_UNK] >= 0;
}

int rf_tokenizer_continues(const rf_tokenizer *t, int32_t id)
{
    return id >= 0 && id < t->n && t->row->continues(t, id);
}

uint64_t rf__tokenizer_fingerprint(const rf_tokenizer *t, uint64_t seed)
{
    uint64_t hash = t->row->fingerprint(t, seed);
    for (int32_t id = 0; id < t->n; id++) {
        const char *token = rf_tokenizer_token(t, id);
        hash = token ? rf__hash64(token, strlen(token), hash) : rf__hash64("", 0, hash);
    }
    for (size_t i = 0; i < t->added_n; i++)
        if (t->added[i].normalized) hash = rf__hash64(t->added[i].text, t->added[i].size, hash);
    return hash;
}

/* The names of the special tokens that there are, with blanks between them. */
static json_t *names_of_specials(const rf_tokenizer *t)
{
    json_t *all = json_string("");
    for (int i = 0; i < RF_SPECIALS && all; i++) {
        if (!t->name[i]) continue;
        const char *before = json_string_value(all);
        json_t *more = json_sprintf("%s%s%s", before, *before ? " " : "", t->name[i]);
        json_decref(all);
        all = more;
    }
    return all;
}

char *rf_tokenizer_describe(const rf_tokenizer *t)
{
    json_t *about = json_object();
    rf__json_set(&about, "kind", json_string(t->row->title));
    rf__json_set(&about, "tokens", json_integer(t->n));
    if (t->row->describe) t->row->describe(t, &about);
    rf__json_set(&about, "special", names_of_specials(t));
    char *text = about ? rf__json_dump(about, JSON_COMPACT) : NULL, *out = text ? rf__strdup(t->ctx, text) : NULL;
    free(text);
    json_decref(about);
    return out;
}
