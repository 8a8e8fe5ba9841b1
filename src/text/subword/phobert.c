/* phobert.c — PhoBERT's sub-words: words at white space, BPE with counts, @@ after pieces that a piece of the same word
 * follows.                                                    transformers' PhobertTokenizer; subword-nmt, fairseq
 *
 *     vocab.txt     "piece count" lines: ids from 4 on; 0 <s>, 1 <pad>, 2 </s>, 3 <unk>
 *     bpe.codes     "a b count" lines: merges by rank, where the last character of a word ends with </w>
 *     <s> A </s>, or <s> A </s></s> B </s>
 *
 * A merge may give a piece that vocab.txt does not have; it is <unk> unless a later merge takes it. */
#include <string.h>

#include "base/bytes.h"
#include "piece_model.h"
#include "subwords.h"

#define CODES "bpe.codes"

extern const rf_tokenizer_row rf__tokenizer_phobert;

enum { UNKNOWN = 3 };                                      /* its id                                                  */
static const char mark[] = "@@", ends[] = "</w>", nothing[] = "<unk> ";     /* nothing: no word has a blank           */

typedef struct phobert {
    rf_tokenizer base;
    rf__piece_model pieces;             /* all pieces of merges, those that end a word with </w>                      */
    int32_t *id;                        /* of each of them                                                            */
    int32_t n;                          /* tokens: ids are below it                                                   */
    char *names;
    const char **token;                 /* [n]                                                                        */
    rf__piece_trie tokens;              /* ids by name                                                                */
    char *file[2];                      /* vocab.txt, bpe.codes                                                       */
    size_t bytes[2];
} phobert;

static const phobert *as_phobert(const rf_tokenizer *t) { return (const phobert *)(const void *)t; }

/* The next run of other characters in text[*at .. end): [*from, *at).  False: none. */
static bool next_word(const char *text, size_t end, size_t *at, size_t *from)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t next = *at;
    for (*from = *at; next < end && rf__python_white(rf__utf8_get(p, &next)); *from = next) {}
    if (*from >= end) return false;
    for (*at = next = *from; next < end && !rf__python_white(rf__utf8_get(p, &next)); *at = next) {}
    return true;
}

/* ---- text to ids ------------------------------------------------------------------------------------------------- */

typedef struct putting { const phobert *t; rf_encoding *e; size_t from; } putting;

static bool put_piece(void *user, int32_t id, size_t from, size_t to)
{
    const putting *x = user;
    if (!rf__reserve_tokens(x->e, 1)) return false;
    rf__put_token(x->e, x->t->id[id], (uint32_t)(x->from + from), (uint32_t)(x->from + to), false);
    return true;
}

/* A line end after a word belongs to it, as in re.findall(r"\S+\n?"). */
static bool encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *scratch)
{
    const phobert *t = as_phobert(any);
    for (size_t at = p->from, from; next_word(p->text, p->to, &at, &from);) {
        if (at < p->to && p->text[at] == '\n') at++;
        putting to = {t, e, from};
        if (!rf__piece_model_cut(&t->pieces, scratch, p->text + from, at - from, put_piece, &to)) return false;
    }
    return true;
}

static void *make_scratch(const rf_ctx *ctx, void *own, bool others)
{
    (void)others;
    rf__piece_scratch *s = own ? own : rf__calloc(ctx, 1, sizeof *s);
    if (s) s->ctx = ctx;
    return s;
}

static void free_scratch(const rf_ctx *ctx, void *own)
{
    rf__piece_scratch_clear(own);
    rf__free(ctx, own);
}

/* ---- ids to text ------------------------------------------------------------------------------------------------- */

static const char *token_of(const rf_tokenizer *t, int32_t id)
{
    return id >= 0 && id < as_phobert(t)->n ? as_phobert(t)->token[id] : NULL;
}

static int32_t id_of(const rf_tokenizer *t, const char *token)
{
    return *token ? rf__trie_find(&as_phobert(t)->tokens, token, strlen(token)) : -1;
}

/* Tokens with blanks between them, without "@@ " and blanks at the ends. */
static char *decode(const rf_tokenizer *t, const int32_t id[], size_t n, bool skip, size_t *size)
{
    static const rf_change joins[] = {{"@@ ", ""}};
    rf__growing out = {.ctx = t->ctx};
    bool good = rf__subwords_append(&out, "", 0);
    for (size_t i = 0; i < n && good; i++) {
        const char *token = rf_tokenizer_token(t, id[i]);
        if (!token || (skip && rf_tokenizer_is_special(t, id[i]))) continue;
        good = (!out.n || rf__subwords_append(&out, " ", 1)) && rf__subwords_append(&out, token, strlen(token));
    }
    if (!good) rf__free(t->ctx, out.at), out.at = NULL;
    *size = good ? rf__replace_all(out.at, out.n, joins, RF_COUNT(joins)) : 0;
    if (good) out.at[*size] = 0;
    return out.at;
}

static bool continues(const rf_tokenizer *t, int32_t id)
{
    (void)t, (void)id;
    return false;
}

static bool joined(const rf_tokenizer *t, const int32_t id[], size_t n, uint8_t out[], void *scratch)
{
    (void)scratch;
    for (size_t i = 0; i < n; i++) {
        const char *before = i ? token_of(t, id[i - 1]) : NULL;
        out[i] = before && !rf_tokenizer_is_special(t, id[i - 1]) && rf__ends_with(before, mark);
    }
    return true;
}

static uint64_t fingerprint(const rf_tokenizer *t, uint64_t seed)
{
    const phobert *p = as_phobert(t);
    return rf__hash64(p->file[1], p->bytes[1], rf__hash64(p->file[0], p->bytes[0], seed));
}

/* ---- a folder ---------------------------------------------------------------------------------------------------- */

static void clear(rf_tokenizer *any)
{
    phobert *t = (phobert *)(void *)any;
    rf__piece_model_clear(&t->pieces);
    rf__trie_clear(&t->tokens, any->ctx);
    rf__free(any->ctx, t->id);
    rf__free(any->ctx, t->names);
    rf__free(any->ctx, (void *)t->token);
    for (int i = 0; i < 2; i++) rf__free(any->ctx, t->file[i]);
}

/* What is read of the two files. */
typedef struct reading {
    rf_tokenizer_folder *f;
    char path[2][RF_PATH];
    json_t *words;                      /* {token: id}                                                                */
    json_t *vocab, *ids, *merges;       /* {piece: number}, its id in `words`, [[a, b], ...]                          */
} reading;

static rf_status no_memory(const reading *r) { return rf_fail(r->f->why, RF_ENOMEM, "%s: out of memory", r->path[0]); }

/* A copy of a, then b. */
static char *join(const reading *r, const char *a, size_t a_size, const char *b, size_t b_size)
{
    char *name = rf__alloc(r->f->ctx, a_size + b_size + 1);
    if (!name) return NULL;
    memcpy(name, a, a_size);
    memcpy(name + a_size, b, b_size);
    name[a_size + b_size] = 0;
    return name;
}

static rf_status put_word(const reading *r, const char *text, size_t size, size_t id)
{
    char *name = join(r, text, size, "", 0);
    const bool good = name && !json_object_set_new_nocheck(r->words, name, json_integer((json_int_t)id));
    rf__free(r->f->ctx, name);
    return good ? RF_OK : no_memory(r);
}

/* A repeated token gets the number of tokens so far, as in transformers. */
static rf_status read_words(const reading *r, const char *text, size_t size)
{
    size_t line = 1;
    rf_status status = RF_OK;
    for (size_t at = 0, end; at < size && !status; at = end + 1, line++) {
        const char *stop = memchr(text + at, '\n', size - at), *blank = NULL;
        size_t first = at, to = at, next = at, from;
        end = stop ? (size_t)(stop - text) : size;
        while (next_word(text, end, &next, &from)) {
            if (to == at) first = from;
            to = next;
        }
        if (to > first) blank = rf__find_last(text + first, ' ', to - first);
        status = blank ? put_word(r, text + first, (size_t)(blank - text) - first, json_object_size(r->words))
                       : rf_fail(r->f->why, RF_EDATA, "%s:%zu: expected a piece, a blank and a count, got another line",
                                 r->path[0], line);
    }
    return status;
}

/* Adds the piece a b, unless it is there. */
static rf_status put_piece_of(const reading *r, const char *a, size_t a_size, const char *b, size_t b_size, int64_t id)
{
    char *name = join(r, a, a_size, b, b_size);
    bool good = name != NULL;
    if (name && !json_object_get(r->vocab, name))
        good = !json_object_set_new_nocheck(r->vocab, name, json_integer((json_int_t)json_object_size(r->vocab))) &&
               !json_array_append_new(r->ids, json_integer(id));
    rf__free(r->f->ctx, name);
    return good ? RF_OK : no_memory(r);
}

/* Each token as a piece that ends a word, and those with @@ as one that does not. */
static rf_status put_pieces(const reading *r)
{
    const char *name;
    json_t *id;
    rf_status status = put_piece_of(r, nothing, strlen(nothing), "", 0, UNKNOWN);
    json_object_foreach(r->words, name, id) {
        const size_t n = strlen(name), m = strlen(mark);
        if (!status) status = put_piece_of(r, name, n, ends, strlen(ends), json_integer_value(id));
        if (!status && n > m && rf__ends_with(name, mark))
            status = put_piece_of(r, name, n - m, "", 0, json_integer_value(id));
    }
    return status;
}

/* Lines that end; of other than three words have no effect in transformers. */
static rf_status read_merges(const reading *r, const char *text, size_t size)
{
    rf_status status = RF_OK;
    const char *stop;
    for (size_t at = 0; !status && (stop = memchr(text + at, '\n', size - at)); at = (size_t)(stop - text) + 1) {
        size_t from[4], to[4], n = 0, next = at;
        const size_t end = (size_t)(stop - text);
        while (n < 4 && next_word(text, end, &next, &from[n])) to[n++] = next;
        if (n != 3) continue;
        const char *a = text + from[0], *b = text + from[1];
        const size_t a_size = to[0] - from[0], b_size = to[1] - from[1];
        status = put_piece_of(r, a, a_size, "", 0, UNKNOWN);
        if (!status) status = put_piece_of(r, b, b_size, "", 0, UNKNOWN);
        if (!status) status = put_piece_of(r, a, a_size, b, b_size, UNKNOWN);
        if (!status && json_array_append_new(r->merges, json_pack("[s%, s%]", a, a_size, b, b_size)))
            status = no_memory(r);
    }
    return status;
}

static rf_status read_file(reading *r, phobert *t, int i, const char *name)
{
    const rf_tokenizer_folder *f = r->f;
    rf_status status = rf__path(r->path[i], RF_PATH, f->path, name, f->why);
    if (!status) status = rf__read_file(f->ctx, r->path[i], RF_TOKENIZER_FILE, &t->file[i], &t->bytes[i], f->why);
    if (status || rf_utf8_check(t->file[i], t->bytes[i]) == t->bytes[i]) return status;
    return rf_fail(f->why, RF_EDATA, "%s: expected UTF-8, got other bytes", r->path[i]);
}

/* Ids 0 to 3, whose names the settings may change. */
static rf_status put_specials(const reading *r)
{
    static const struct { const char *key, *usual; } row[] = {
        {"bos_token", "<s>"}, {"pad_token", "<pad>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}};
    rf_status status = RF_OK;
    for (size_t i = 0; i < RF_COUNT(row) && !status; i++) {
        const char *name = rf__folder_named(r->f, row[i].key, row[i].usual);
        status = put_word(r, name, strlen(name), i);
    }
    return status;
}

/* The tokens by id and by name. */
static rf_status list_tokens(const reading *r, phobert *t)
{
    const rf_ctx *ctx = r->f->ctx;
    const char *name;
    json_t *id;
    size_t bytes = 0;
    json_object_foreach(r->words, name, id) {
        bytes += strlen(name) + 1;
        if (json_integer_value(id) >= t->n) t->n = (int32_t)json_integer_value(id) + 1;
    }
    t->names = rf__alloc(ctx, bytes + 1);
    t->token = rf__calloc(ctx, (size_t)t->n + 1, sizeof *t->token);
    if (!t->names || !t->token || !rf__trie_begin(&t->tokens, ctx)) return no_memory(r);
    char *to = t->names;
    json_object_foreach(r->words, name, id) {
        const size_t size = strlen(name);
        t->token[json_integer_value(id)] = memcpy(to, name, size + 1);
        to += size + 1;
        if (size && !rf__trie_add(&t->tokens, ctx, name, size, (int32_t)json_integer_value(id))) return no_memory(r);
    }
    return RF_OK;
}

static rf_status read_model(const reading *r, phobert *t)
{
    json_t *all = json_pack("{s:{s:s, s:s, s:s, s:b, s:O, s:O}}", "model", "type", "BPE", "unk_token", nothing,
                            "end_of_word_suffix", ends, "fuse_unk", 0, "vocab", r->vocab, "merges", r->merges);
    char *text = rf__json_dump(all, JSON_COMPACT), *rest = NULL;
    const size_t n = json_array_size(r->ids);
    size_t rest_size;
    rf__vocabulary pieces = {.ctx = r->f->ctx};
    t->id = rf__calloc(r->f->ctx, n + 1, sizeof *t->id);
    rf_status status = !text || !t->id || rf__vocabulary_read(&pieces, r->f->ctx, text, strlen(text), &rest, &rest_size)
                           ? no_memory(r) : RF_OK;
    if (!status)
        status = rf__piece_model_read(&t->pieces, r->f->ctx, json_object_get(all, "model"), &pieces, false, r->path[1],
                                      r->f->why);
    for (size_t i = 0; i < n && !status; i++) t->id[i] = (int32_t)json_integer_value(json_array_get(r->ids, i));
    rf__vocabulary_clear(&pieces);
    rf__free(r->f->ctx, rest);
    free(text);
    json_decref(all);
    return status;
}

static rf_status read_all(reading *r, phobert *t)
{
    rf_status status = r->words && r->vocab && r->ids && r->merges ? RF_OK : no_memory(r);
    if (!status) status = read_file(r, t, 0, RF_FILE_VOCAB);
    if (!status) status = read_file(r, t, 1, CODES);
    if (!status) status = put_specials(r);
    if (!status) status = read_words(r, t->file[0], t->bytes[0]);
    if (!status) status = put_pieces(r);
    if (!status) status = read_merges(r, t->file[1], t->bytes[1]);
    if (!status) status = list_tokens(r, t);
    return status ? status : read_model(r, t);
}

static int32_t find_token(const void *t, const char *text) { return id_of(t, text); }

static rf_status open_folder(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    static const char *const name[RF_SPECIALS] = {
        [RF_UNK] = "<unk>", [RF_CLS] = "<s>", [RF_SEP] = "</s>", [RF_PAD] = "<pad>", [RF_MASK] = "<mask>"};
    phobert *t = (phobert *)(void *)rf__tokenizer_alloc(f->ctx, &rf__tokenizer_phobert, f->why);
    if (!t) return RF_ENOMEM;
    t->pieces.ctx = f->ctx;
    reading r = {f, {"", ""}, json_object(), json_object(), json_array(), json_array()};
    rf_status status = read_all(&r, t);
    const json_t *all[] = {r.words, r.vocab, r.ids, r.merges};
    const int32_t own = (int32_t)json_object_size(r.words);
    t->base.n = own > t->n ? own : t->n;
    for (size_t i = 0; i < RF_COUNT(all); i++) json_decref((json_t *)(uintptr_t)all[i]);
    for (int i = 0; i < RF_SPECIALS && !status; i++) {
        if (!f->parts.special[i]) f->parts.special[i] = name[i];
        status = rf__folder_add_new(f, f->config_path, (rf_added){.text = f->parts.special[i],
                                                                  .size = strlen(f->parts.special[i]),
                                                                  .id = RF_ADDED_OPEN, .special = true});
    }
    if (status) return rf_tokenizer_free(&t->base), status;
    rf__added_resolve(f->parts.added, f->parts.added_n, t->base.n, find_token, t);
    f->parts.more_middle = 1;
    f->parts.one_type = true;
    return rf__subwords_begin(&t->base, t->base.n, &f->parts, NULL, out, f->why);
}

static rf_status save(const rf_tokenizer *t, rf_ready_files *to, rf_error *why)
{
    const phobert *p = as_phobert(t);
    if (rf__ready_copy(t, to, RF_FILE_VOCAB, p->file[0], p->bytes[0]) &&
        rf__ready_copy(t, to, CODES, p->file[1], p->bytes[1]))
        return RF_OK;
    return rf_fail(why, RF_ENOMEM, "%s: out of memory for its pieces", to->folder);
}

/* ---- the row ----------------------------------------------------------------------------------------------------- */

static const char *const classes[] = {"PhobertTokenizer", NULL};
static const char *const holds[] = {CODES, NULL};
static const char *const files[] = {CODES, RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER_CONFIG, RF_FILE_VOCAB, NULL};

const rf_tokenizer_row rf__tokenizer_phobert = {
    .name = "phobert",
    .title = "sub-words, BPE (PhoBERT)",
    .classes = classes,
    .files = files,
    .holds = holds,
    .transformers = "PhobertTokenizer",
    .size = sizeof(phobert),
    .open = open_folder,
    .save = save,
    .fingerprint = fingerprint,
    .clear = clear,
    .encode = encode,
    .scratch = make_scratch,
    .scratch_free = free_scratch,
    .decode = decode,
    .token = token_of,
    .id = id_of,
    .continues = continues,
    .joined = joined,
};
