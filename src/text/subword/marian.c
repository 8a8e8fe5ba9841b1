/* marian.c — the tokenizer of Marian's translation models: SentencePiece splits each side, vocab.json numbers the
 * pieces of both.
 *
 *     source.spm  text of the source -> pieces          target.spm  pieces of the target <-> text
 *     vocab.json  {"piece": id}, including </s>, <unk> and <pad>; other pieces are <unk>
 *     >>deu<<     at the beginning of a source: the target language, a separate piece
 *
 * M2M-100's has one model for both sides, sentencepiece.bpe.model, and tokens of languages, __en__, that follow the
 * pieces of vocab.json (languages.c).  NLLB's without tokenizer.json, as NllbTokenizer of transformers 4 saved it, has
 * the same model without vocab.json, which is made here:
 *     0 <s>   1 <pad>   2 </s>   3 <unk>   4 ... the model's pieces from its third on
 * added_tokens_decoder of its settings has the ids of the languages.
 *
 * </s> ends a text, and no token begins one.  Marian has no [CLS] and no [MASK]; </s> and <unk> replace them.  This is
 * transformers' MarianTokenizer.                                                                                     */
#include <stdio.h>
#include <stdlib.h>

#include "subwords.h"
#include "text/languages.h"

enum { LANGUAGE = 16 };                  /* bytes of the name of M2M-100's token */

typedef struct word { const char *text; size_t size; int32_t id; } word;

/* For both sides: the pieces by id and by name.  A piece with U+0000 is found by its bytes; its token has RF__JSON_NUL
 * in place of it. */
typedef struct vocabulary {
    char *file;                         /* as read                                                                    */
    size_t bytes;
    char *names;                        /* all, each terminated by a zero                                             */
    const char **token;                 /* [n] */
    word *sorted;                       /* [n] */
    int32_t n;
    bool nul;                           /* some pieces have U+0000                                                    */
} vocabulary;

typedef struct marian {
    rf_tokenizer base;
    vocabulary *words;                  /* the source side's                                                          */
    bool owns;
    rf__spm *spm;
    char *model;
    size_t bytes;
    int32_t *id;                        /* [pieces of spm] their ids; -1: not in vocab.json                           */
    int32_t unk;                        /* the piece of spm for unknown text; -1: none                                */
} marian;

const rf_tokenizer_row rf__tokenizer_marian, rf__tokenizer_m2m_100;

static const marian *as_marian(const rf_tokenizer *t) { return (const marian *)(const void *)t; }

/* ---- names ------------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const word *x = a, *y = b;
    const int order = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static int32_t find(const vocabulary *v, const char *name, size_t size)
{
    const word key = {name, size, 0}, *x = bsearch(&key, v->sorted, (size_t)v->n, sizeof key, by_name);
    return x ? x->id : -1;
}

static const char *token_of(const rf_tokenizer *t, int32_t id)
{
    const vocabulary *v = as_marian(t)->words;
    return id >= 0 && id < v->n ? v->token[id] : NULL;
}

static int32_t id_of(const rf_tokenizer *t, const char *token)
{
    return find(as_marian(t)->words, token, strlen(token));
}

static bool continues(const rf_tokenizer *t, int32_t id)
{
    const char *piece = token_of(t, id);
    return piece && !rf_tokenizer_is_special(t, id) && !rf__subwords_begin_word(piece);
}

/* ---- text to ids ------------------------------------------------------------------------------------------------- */

typedef struct putting { const marian *t; rf_encoding *e; size_t from; } putting;

/* Text that the model does not know is looked up as a piece: the vocabulary has the other side's pieces, too. */
static bool append_piece(void *user, const char *piece, size_t size, int32_t id, size_t begin, size_t end)
{
    const putting *x = user;
    int32_t token = x->t->id[id];
    if (token < 0 || id == x->t->unk) token = find(x->t->words, piece, size);
    if (!rf__reserve_tokens(x->e, 1)) return false;
    rf__put_token(x->e, token < 0 ? x->t->base.special[RF_UNK] : token, (uint32_t)(x->from + begin),
                  (uint32_t)(x->from + end), false);
    return true;
}

/* Length of ">>deu<<" at the beginning of a passage; 0: none. */
static size_t language(const rf_passage *p)
{
    if (p->to - p->from < 4 || memcmp(p->text + p->from, ">>", 2)) return 0;
    for (size_t at = p->from + 2; at + 2 <= p->to; at++)
        if (!memcmp(p->text + at, "<<", 2)) return at + 2 - p->from;
    return 0;
}

static bool put_language(const marian *t, rf_encoding *e, const rf_passage *p, size_t n)
{
    char name[64] = "";
    if (n < sizeof name) memcpy(name, p->text + p->from, n);
    const int32_t id = *name ? find(t->words, name, n) : -1;
    if (!rf__reserve_tokens(e, 1)) return false;
    rf__put_token(e, id < 0 ? t->base.special[RF_UNK] : id, (uint32_t)p->from, (uint32_t)(p->from + n), false);
    return true;
}

static bool encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *scratch)
{
    const marian *t = as_marian(any);
    const size_t code = any->row == &rf__tokenizer_marian ? language(p) : 0;
    if (code && !put_language(t, e, p, code)) return false;
    putting to = {t, e, p->from + code};
    return rf__subwords_cut(t->spm, scratch, p, to.from, append_piece, &to);
}

/* ---- ids to text ------------------------------------------------------------------------------------------------- */

/* Removes blanks at both ends, as transformers does. */
static void trim(rf__growing *t)
{
    size_t from = 0;
    while (t->n && t->at[t->n - 1] == ' ') t->n--;
    while (from < t->n && t->at[from] == ' ') from++;
    memmove(t->at, t->at + from, t->n - from);
    t->n -= from;
    t->at[t->n] = 0;
}

static char *decode(const rf_tokenizer *any, const int32_t id[], size_t n, bool skip, size_t *size)
{
    static const rf_change blanks[] = {{"\xE2\x96\x81", " "}};
    const marian *t = as_marian(any);
    rf__growing out = {.ctx = any->ctx};
    const char **piece = rf__calloc(any->ctx, n + 1, sizeof *piece);
    bool good = piece && rf__subwords_append(&out, "", 0);
    for (size_t i = 0, k = 0; i <= n && good; i++) {
        const char *token = i < n ? rf_tokenizer_token(any, id[i]) : NULL;
        const bool special = i < n && rf_tokenizer_is_special(any, id[i]);
        if (token && !special) piece[k++] = token;
        if (i < n && (!special || skip)) continue;                  /* a visible token ends a run of pieces           */
        good = !k || rf__spm_join(t->spm, piece, k, rf__subwords_append, &out);
        k = 0;
        if (token) good = good && rf__subwords_append(&out, token, strlen(token));
        if (token && any->row == &rf__tokenizer_marian) good = good && rf__subwords_append(&out, " ", 1);
    }
    rf__free(any->ctx, (void *)piece);
    if (good && t->words->nul) out.n = rf__json_show_nul(out.at, out.n);
    if (good) out.n = rf__replace_all(out.at, out.n, blanks, RF_COUNT(blanks)), trim(&out);
    if (!good) rf__free(any->ctx, out.at), out.at = NULL;
    *size = out.n;
    return out.at;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static const marian *other_side(const rf_tokenizer *t) { return as_marian(t->target ? t->target : t); }

static uint64_t fingerprint(const rf_tokenizer *t, uint64_t seed)
{
    return rf__hash64(other_side(t)->model, other_side(t)->bytes,
                      rf__hash64(as_marian(t)->model, as_marian(t)->bytes, seed));
}

static void describe(const rf_tokenizer *t, json_t **about)
{
    rf__json_set(about, "source pieces", json_integer(rf__spm_size(as_marian(t)->spm)));
    rf__json_set(about, "target pieces", json_integer(rf__spm_size(other_side(t)->spm)));
}

/* Not [CLS] and [MASK], which do not exist; </s> with its name in transformers. */
static void settings(const rf_tokenizer *t, json_t **config)
{
    json_object_del(*config, "cls_token");
    json_object_del(*config, "mask_token");
    json_object_del(*config, "sep_token");
    rf__json_set(config, "eos_token", json_string(t->name[RF_SEP]));
    if (t->row == &rf__tokenizer_marian) rf__json_set(config, "separate_vocabs", json_false());
}

/* ---- a folder ---------------------------------------------------------------------------------------------------- */

static void clear(rf_tokenizer *any)
{
    marian *t = (marian *)(void *)any;
    rf__spm_free(t->spm);
    rf__free(any->ctx, t->model);
    rf__free(any->ctx, t->id);
    if (!t->owns || !t->words) return;
    rf__free(any->ctx, t->words->file);
    rf__free(any->ctx, t->words->names);
    rf__free(any->ctx, (void *)t->words->token);
    rf__free(any->ctx, t->words->sorted);
    rf__free(any->ctx, t->words);
}

static rf_status no_memory(const char *path, rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
}

/* The piece and its id; *names advances past its bytes. */
static rf_status read_entry(vocabulary *v, const char *path, const char *key, const json_t *value, char **names,
                            size_t k, rf_error *why)
{
    const int64_t id = rf__whole_number(value);
    size_t size = strlen(key);
    if (id < 0 || id >= v->n)
        return rf_fail(why, RF_EDATA,
                       "%s: \"%.60s\": expected an id from 0 to %d, the number of pieces less one, got %s", path,
                       rf__printable(key).text, (int)v->n - 1, rf__json_shown(value).text);
    if (v->token[id])
        return rf_fail(why, RF_EDATA, "%s: expected one token for each id, got \"%.60s\" and \"%.60s\" for id %lld",
                       path, rf__printable(v->token[id]).text, rf__printable(key).text, (long long)id);
    v->token[id] = memcpy(*names, key, size + 1);
    if (v->nul && strstr(key, RF__JSON_NUL)) {
        *names = memcpy(*names + size + 1, key, size + 1);
        size = rf__json_show_nul(*names, size);
    }
    v->sorted[k] = (word){*names, size, (int32_t)id};
    *names += size + 1;
    return RF_OK;
}

static bool is_nllb(const rf_tokenizer_folder *f) { return rf__folder_is(f, "NllbTokenizer", NULL); }

/* NLLB's vocab.json. */
static rf_status make_vocabulary(rf_tokenizer_folder *f, char **text, size_t *bytes)
{
    static const char *const first[][2] = {
        {"bos_token", "<s>"}, {"pad_token", "<pad>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}};
    enum { OWN = 3 };                                               /* pieces of the model that these replace         */
    char path[RF_PATH], *data = NULL, *dump = NULL;
    size_t size = 0;
    rf__spm *spm = NULL;
    rf_status status = rf__path(path, sizeof path, f->path, RF__FILE_PIECES, f->why);
    if (!status) status = rf__read_file(f->ctx, path, RF_TOKENIZER_FILE, &data, &size, f->why);
    if (!status) status = rf__spm_load(f->ctx, data, size, path, &spm, f->why);
    if (!status) {
        json_t *map = json_object();
        for (size_t i = 0; i < RF_COUNT(first); i++) {
            const char *name = rf__folder_name(f, first[i][0]);
            rf__json_set(&map, name ? name : first[i][1], json_integer((json_int_t)i));
        }
        for (int32_t i = OWN; i < rf__spm_size(spm); i++)
            rf__json_set(&map, rf__spm_piece(spm, i), json_integer((json_int_t)RF_COUNT(first) + i - OWN));
        dump = rf__json_dump(map, JSON_COMPACT);
        json_decref(map);
        *text = dump ? rf__strdup(f->ctx, dump) : NULL;
        *bytes = *text ? strlen(*text) : 0;
        if (!*text) status = no_memory(path, f->why);
    }
    free(dump);
    rf__spm_free(spm);
    rf__free(f->ctx, data);
    return status;
}

/* vocab.json, whose keys may have U+0000. */
static rf_status read_map(rf_tokenizer_folder *f, vocabulary *v, char path[RF_PATH], json_t **map)
{
    rf_status status = rf__path(path, RF_PATH, f->path, RF_FILE_VOCAB_JSON, f->why);
    const bool there = !status && rf__is_there(f->ctx, path), made = !there && is_nllb(f);
    if (!status && made) status = make_vocabulary(f, &v->file, &v->bytes);
    else if (!status && !there)
        status = rf_fail(f->why, RF_EDATA, "%s: expected this file with the ids of the pieces, got none", path);
    else if (!status) status = rf__read_file(f->ctx, path, RF_TOKENIZER_FILE, &v->file, &v->bytes, f->why);
    if (status) return status;
    char *text = rf__alloc(f->ctx, v->bytes + 1);
    if (!text) return no_memory(path, f->why);
    memcpy(text, v->file, v->bytes);
    v->nul = rf__json_hide_nul(text, v->bytes);
    *map = rf__json_parse(text, v->bytes, JSON_DECODE_INT_AS_REAL, path, f->why);
    rf__free(f->ctx, text);
    return *map ? RF_OK : f->why->code;
}

static rf_status read_vocabulary(rf_tokenizer_folder *f, vocabulary *v)
{
    char path[RF_PATH];
    const char *key;
    json_t *map = NULL, *value;
    size_t bytes = 0, k = 0;
    rf_status status = read_map(f, v, path, &map);
    if (status) return status;
    json_object_foreach(map, key, value) bytes += strlen(key) + 1;
    const size_t n = json_object_size(map);
    v->n = (int32_t)n;
    v->names = rf__alloc(f->ctx, (v->nul ? 2 : 1) * bytes + 1);
    v->token = rf__calloc(f->ctx, n + 1, sizeof *v->token);
    v->sorted = rf__calloc(f->ctx, n + 1, sizeof *v->sorted);
    if (!v->names || !v->token || !v->sorted) status = no_memory(path, f->why);
    char *names = v->names;
    json_object_foreach(map, key, value)
        if (!status) status = read_entry(v, path, key, value, &names, k++, f->why);
    json_decref(map);
    if (!status) qsort(v->sorted, n, sizeof *v->sorted, by_name);
    return status;
}

/* One side's model, and the ids of its pieces. */
static rf_status read_side(rf_tokenizer_folder *f, const char *name, marian *t)
{
    char path[RF_PATH];
    rf_status status = rf__path(path, sizeof path, f->path, name, f->why);
    if (!status) status = rf__read_file(f->ctx, path, RF_TOKENIZER_FILE, &t->model, &t->bytes, f->why);
    if (!status) status = rf__spm_load(f->ctx, t->model, t->bytes, path, &t->spm, f->why);
    if (status) return status;
    const int32_t n = rf__spm_size(t->spm);
    int32_t known = 0;
    t->unk = rf__spm_reserved(t->spm, RF_SPM_UNK);
    t->id = rf__calloc(f->ctx, (size_t)n + 1, sizeof *t->id);
    if (!t->id) return no_memory(path, f->why);
    for (int32_t i = 0; i < n; i++) known += (t->id[i] = id_of(&t->base, rf__spm_piece(t->spm, i))) >= 0;
    if (known >= n / 2) return RF_OK;
    return rf_fail(f->why, RF_EDATA,
                   "%s: expected most of its pieces in %s, got %d of %d; the two files are of different models", path,
                   RF_FILE_VOCAB_JSON, (int)known, (int)n);
}

/* Names of special tokens: from the settings, or Marian's. */
static rf_tokenizer_parts parts_of(const rf_tokenizer_folder *f)
{
    const char *end = json_string_value(json_object_get(f->config, "eos_token"));
    rf_tokenizer_parts parts = f->parts;
    if (!end) end = json_string_value(json_object_get(json_object_get(f->config, "eos_token"), "content"));
    if (!parts.special[RF_UNK]) parts.special[RF_UNK] = "<unk>";
    if (!parts.special[RF_PAD]) parts.special[RF_PAD] = "<pad>";
    parts.special[RF_SEP] = parts.special[RF_CLS] = end ? end : "</s>";
    parts.special[RF_MASK] = parts.special[RF_UNK];
    parts.ends_alone = true;
    return parts;
}

static rf_status begin_side(rf_tokenizer_folder *f, const rf_tokenizer_row *row, const char *name, vocabulary *words,
                            marian **out)
{
    marian *t = (marian *)(void *)rf__tokenizer_alloc(f->ctx, row, f->why);
    if (!t) return RF_ENOMEM;
    *out = t;
    t->words = words;
    t->base.n = words->n;
    const rf_tokenizer_parts parts = parts_of(f);
    rf_status status = read_side(f, name, t);
    if (!status) status = rf__tokenizer_begin(&t->base, &parts, f->why);
    return status ? status : rf__tokenizer_follow(&t->base, words->n, parts.name, f->why);
}

static rf_status open_sides(rf_tokenizer_folder *f, const rf_tokenizer_row *row, const char *from, const char *to,
                            rf_tokenizer **out)
{
    marian *source = NULL, *target = NULL;
    vocabulary *words = rf__calloc(f->ctx, 1, sizeof *words);
    if (!words) return no_memory(f->path, f->why);
    rf_status status = read_vocabulary(f, words);
    if (!status) status = begin_side(f, row, from, words, &source);
    if (!status && to) status = begin_side(f, row, to, words, &target);
    if (!source && !(source = (marian *)(void *)rf__tokenizer_alloc(f->ctx, row, NULL))) {
        marian gone = {.base.ctx = f->ctx, .words = words, .owns = true};       /* only clear frees it              */
        clear(&gone.base);
        return status;
    }
    source->words = words;
    source->owns = true;
    source->base.target = target ? &target->base : NULL;
    if (status) rf_tokenizer_free(&source->base);
    else *out = &source->base;
    return status;
}

static rf_status open_folder(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    int apart = 0;
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "separate_vocabs", 0, &apart);
    if (!status && apart)
        status = rf_fail(f->why, RF_EUNSUPPORTED,
                         "%s: separate_vocabs: expected false, got true; separate vocabularies are not supported",
                         f->config_path);
    if (status) return status;
    return open_sides(f, &rf__tokenizer_marian, RF_FILE_SOURCE_SUBWORDS, RF_FILE_TARGET_SUBWORDS, out);
}

/* M2M-100's class has a token that begins texts, which no text has. */
static rf_status add_beginning(rf_tokenizer_folder *f)
{
    const char *bos = rf__folder_named(f, "bos_token", "<s>");
    return rf__folder_add_new(f, f->config_path, (rf_added){.text = bos, .size = strlen(bos), .id = RF_ADDED_OPEN,
                                                            .special = true});
}

/* The languages that the settings do not list have the ids after those of vocab.json. */
static rf_status open_m2m_100(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    size_t n;
    const char *const *code = rf__languages_listed(f, &n);
    rf_status status = RF_OK;
    char *text = rf__calloc(f->ctx, n, LANGUAGE);
    if (n && !text) return no_memory(f->path, f->why);
    if (is_nllb(f) && !rf__languages_added(f))
        status = rf_fail(f->why, RF_EUNSUPPORTED, "%s: added_tokens_decoder: expected the tokens of the languages with "
                         "their ids, which %s does not say, got none; add the " RF_FILE_TOKENIZER " that the model was "
                         "published with", f->config_path, RF__FILE_PIECES);
    for (size_t i = 0; i < n && !status; i++) {
        char *name = text + i * LANGUAGE;
        snprintf(name, LANGUAGE, "__%s__", code[i]);
        status = rf__folder_add_new(f, f->config_path, (rf_added){.text = name, .size = strlen(name),
                                                                  .id = RF_ADDED_OPEN, .special = true});
    }
    if (!status) status = add_beginning(f);
    for (size_t i = 0; i < f->parts.added_n; i++) f->parts.added[i].normalized = false;  /* not read by these classes */
    if (!status) status = open_sides(f, &rf__tokenizer_m2m_100, RF__FILE_PIECES, NULL, out);
    rf__folder_forget_added(f);                            /* their names are gone                                    */
    rf__free(f->ctx, text);
    return status;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

static bool put_model(const marian *t, rf_ready_files *to, const char *name)
{
    return rf__ready_copy(&t->base, to, name, t->model, t->bytes);
}

static rf_status save(const rf_tokenizer *t, rf_ready_files *to, rf_error *why)
{
    const vocabulary *v = as_marian(t)->words;
    const bool one = t->row == &rf__tokenizer_m2m_100;
    if (rf__ready_copy(t, to, RF_FILE_VOCAB_JSON, v->file, v->bytes) &&
        put_model(as_marian(t), to, one ? RF__FILE_PIECES : RF_FILE_SOURCE_SUBWORDS) &&
        (one || put_model(other_side(t), to, RF_FILE_TARGET_SUBWORDS)))
        return RF_OK;
    return rf_fail(why, RF_ENOMEM, "%s: out of memory for its pieces", to->folder);
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

static const char *const classes[] = {"MarianTokenizer", NULL};
static const char *const holds[] = {RF_FILE_SOURCE_SUBWORDS, NULL};
static const char *const files[] = {RF_FILE_SOURCE_SUBWORDS,  RF_FILE_SPECIAL_TOKENS, RF_FILE_TARGET_SUBWORDS,
                                    RF_FILE_TOKENIZER_CONFIG, RF_FILE_VOCAB_JSON,     NULL};

static const char *const m2m_100_classes[] = {"M2M100Tokenizer", NULL};
static const char *const m2m_100_files[] = {RF__FILE_PIECES, RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER_CONFIG,
                                            RF_FILE_VOCAB_JSON, NULL};

#define SHARED                                                                                                         \
    .size = sizeof(marian), .save = save, .settings = settings, .describe = describe, .fingerprint = fingerprint,      \
    .clear = clear, .encode = encode, .scratch = rf__subwords_scratch, .scratch_free = rf__subwords_scratch_free,      \
    .samples = true, .decode = decode, .token = token_of, .id = id_of, .continues = continues

const rf_tokenizer_row rf__tokenizer_marian = {
    .name = "marian", .title = "sub-words of two sides (Marian)", .classes = classes, .files = files, .holds = holds,
    .transformers = "MarianTokenizer", .open = open_folder, SHARED};
const rf_tokenizer_row rf__tokenizer_m2m_100 = {
    .name = "m2m_100", .title = "sub-words and languages (M2M-100)", .classes = m2m_100_classes,
    .files = m2m_100_files, .transformers = "M2M100Tokenizer", .open = open_m2m_100, SHARED};
