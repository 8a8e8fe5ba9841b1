/* tokenizer_json.c — a tokenizer.json, as in Hugging Face's tokenizers.
 *
 *     added tokens | normalizer (normalizer.c) | pre_tokenizer.c | Unigram, BPE (piece_model.c) | template
 *                  | added tokens (normalized) |
 *     ids | decoder (piece_decoder.c)
 *
 * Unsupported parts that would change ids are rejected by name.  SentencePiece is not needed.  Saving writes the file
 * as it was read.                                                                                                    */
#include <stdio.h>
#include <stdlib.h>

#include "merges.h"
#include "tokenizer_json.h"

const rf_tokenizer_row rf__tokenizer_fast_unigram, rf__tokenizer_fast_bpe, rf__tokenizer_fast_wordpiece,
    rf__tokenizer_fast_wordlevel;

/* ---- text to ids ------------------------------------------------------------------------------------------------- */

/* tokenizers does not encode such a text, either. */
static bool encode(const rf_tokenizer *t, rf_encoding *e, const rf_passage *p, void *own)
{
    rf__hf_work *w = own;
    w->cut.lost = false;
    if (rf__hf_encode(t, e, p, own)) return true;
    if (w->cut.lost)
        rf_fail(p->why, RF_EUNSUPPORTED, "encode: the text has characters that the tokenizer has no piece for: "
                "expected a token for unknown text (model.unk_token, unk_id) in its vocabulary, got none");
    return false;
}

/* ---- ids to text ------------------------------------------------------------------------------------------------- */

static bool is_text(const rf_tokenizer *t, int32_t id)
{
    return id >= 0 && id < as_hf(t)->pieces.n && as_hf(t)->pieces.token[id] && !rf_tokenizer_is_special(t, id);
}

static char *decode(const rf_tokenizer *any, const int32_t id[], size_t n, bool skip, size_t *size)
{
    char *text = rf__piece_decoder_run(&as_hf(any)->decoder, any, id, n, skip, size);
    if (text && as_hf(any)->pieces.nul) text[*size = rf__json_show_nul(text, *size)] = 0;
    return text;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static const char *token_of(const rf_tokenizer *t, int32_t id)
{
    return id < as_hf(t)->pieces.n ? as_hf(t)->pieces.token[id] : NULL;
}

static int32_t id_of(const rf_tokenizer *t, const char *token)
{
    return rf__piece_model_find(&as_hf(t)->pieces, token, strlen(token));
}

static bool continues(const rf_tokenizer *t, int32_t id)
{
    const rf__piece_model *m = &as_hf(t)->pieces;
    const char *piece = is_text(t, id) ? m->token[id] : NULL;
    if (m->prefix_size || m->kind == RF_PIECES_WORDPIECE || m->kind == RF_PIECES_WORDLEVEL)
        return piece && m->prefix_size && !strncmp(piece, m->prefix, m->prefix_size);
    return piece && !(as_hf(t)->level ? !strncmp(piece, SPACE, 2) : rf__subwords_begin_word(piece));
}

static uint64_t fingerprint(const rf_tokenizer *t, uint64_t seed)
{
    size_t size;
    char *own;
    const char *text = rf__saved_text(t->ctx, &as_hf(t)->file, &own, &size);
    const uint64_t hash = rf__hash64(text, size, seed);
    rf__free(t->ctx, own);
    return hash;
}

static void describe(const rf_tokenizer *t, json_t **about)
{
    rf__json_set(about, "pieces", json_integer(as_hf(t)->pieces.n));
    if (as_hf(t)->pieces.dropout > 0)
        rf__json_set(about, "note", json_sprintf("dropout %g of tokenizer.json is taken as 0; it makes ids random",
                                                 as_hf(t)->pieces.dropout));
}

/* ---- special and added tokens ------------------------------------------------------------------------------------ */

/* Those of the file, then others of the settings, in the order of transformers.  Their ids are not read: as in
 * tokenizers, a token is the piece of the same text or gets the next id. */
static rf_status read_added(rf_tokenizer_folder *f)
{
    size_t i, n = f->parts.added_n;
    json_t *x;
    rf_added *settings = n ? rf__alloc(f->ctx, n * sizeof *settings) : NULL;
    rf_status status = RF_OK;
    if (n && !settings) return rf_fail(f->why, RF_ENOMEM, "%s: out of memory", f->fast_path);
    if (n) memcpy(settings, f->parts.added, n * sizeof *settings);
    rf__added_sort(settings, n);
    rf__folder_forget_added(f);
    json_array_foreach(json_object_get(f->fast, "added_tokens"), i, x) {
        if (!status) status = rf__folder_added(f, f->fast_path, x, rf__whole_number(json_object_get(x, "id")));
    }
    if (!status) status = rf__folder_decoder(f);
    for (i = 0; i < n && !status; i++) status = rf__folder_add_new(f, f->fast_path, settings[i]);
    for (i = 0; i < f->parts.added_n; i++) f->parts.added[i].id = RF_ADDED_OPEN;
    rf__free(f->ctx, settings);
    return status;
}

static int32_t find_piece(const void *t, const char *text) { return id_of(t, text); }

/* A token of the settings whose name differs from BERT's. */
static void name_ends(rf_tokenizer_folder *f, const hf_tokenizer *t)
{
    static const struct { int special; const char *key; } row[] = {{RF_CLS, "bos_token"}, {RF_SEP, "eos_token"}};
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        const json_t *x = json_object_get(f->map, row[i].key);
        if (!x) x = json_object_get(f->config, row[i].key);
        if (!f->parts.special[row[i].special])
            f->parts.special[row[i].special] = json_string_value(json_is_object(x) ? json_object_get(x, "content") : x);
    }
    /* without a first token, a text follows the token that ends texts, as for GPT-2 */
    if (!f->parts.special[RF_CLS] && f->parts.bare && t->level) f->parts.special[RF_CLS] = f->parts.special[RF_SEP];
}

/* ---- a folder ---------------------------------------------------------------------------------------------------- */

static void clear(rf_tokenizer *any)
{
    hf_tokenizer *t = (hf_tokenizer *)(void *)any;
    rf__normal_clear(&t->normal);
    rf__pre_clear(&t->pre);
    rf__piece_model_clear(&t->pieces);
    rf__piece_decoder_clear(&t->decoder);
    rf__trie_clear(&t->normalized, any->ctx);
    rf__saved_clear(any->ctx, &t->file);
}

/* The piece of each byte; -1: none. */
static void find_bytes(hf_tokenizer *t)
{
    for (unsigned i = 0; i < 256; i++) {
        uint32_t node = 0;
        t->byte_id[i] = rf__trie_step(&t->pieces.names_trie, &node, t->scalar[i]);
    }
}

/* Added tokens that are matched in normalized text, in normalized form. */
static rf_status index_normalized(hf_tokenizer *t, rf_error *why)
{
    rf__mapped text = {.ctx = t->base.ctx}, spare = text;
    bool good = rf__trie_begin(&t->normalized, t->base.ctx);
    for (size_t i = 0; i < t->base.added_n && good; i++) {
        const rf_added *a = &t->base.added[i];
        if (!a->normalized) continue;
        t->base.normalized = true;
        text.n = 0;
        good = rf__mapped_append(&text, a->text, a->size, 0, 0) && rf__normal_run(&t->normal, &text, &spare, why);
        if (!good || !text.n) continue;
        if (text.n != a->size || memcmp(text.at, a->text, a->size) != 0) {
            rf_added *own = &t->base.added[i];
            if ((good = (own->key = rf__calloc(t->base.ctx, text.n + 1, 1)))) memcpy(own->key, text.at, text.n);
        }
        good = good && rf__trie_add(&t->normalized, t->base.ctx, text.at, text.n, (int32_t)i);
        t->opens[(unsigned char)text.at[0]] = true;
    }
    rf__mapped_clear(&text);
    rf__mapped_clear(&spare);
    return good ? RF_OK : why && why->code ? why->code : rf_fail(why, RF_ENOMEM, "tokenizer: out of memory");
}

/* Classes of transformers for single models ignore the decoder of tokenizer.json; theirs are these. */
static json_t *class_decoder(const hf_tokenizer *t)
{
    if (t->level) return json_pack("{s:s}", "type", "ByteLevel");
    const double start = rf__pre_prepends(&t->pre) || t->normal.prepends;
    return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s}, {s:s}, {s:s}, {s:s, s:s, s:f, s:f}]}", "type", "Sequence",
                     "decoders", "type", "Replace", "pattern", "String", BLANK, "content", " ", "type", "ByteFallback",
                     "type", "Fuse", "type", "Strip", "content", " ", "start", start, "stop", 0.0);
}

static rf_status read_decoder(const rf_tokenizer_folder *f, hf_tokenizer *t)
{
    const json_t *part = json_object_get(f->fast, "decoder");
    const bool open = !part || json_is_null(part);
    json_t *own = open && rf__folder_class_rules(f) ? class_decoder(t) : NULL;
    const rf_status status = rf__piece_decoder_read(&t->decoder, f->ctx, own ? own : part, f->fast_path, f->why);
    json_decref(own);
    return status;
}

static rf_status read_parts(rf_tokenizer_folder *f, hf_tokenizer *t)
{
    const rf_ctx *ctx = f->ctx;
    rf_status status = rf__keep_file(f, &t->file);
    if (!status)
        status = rf__normal_read(&t->normal, ctx, json_object_get(f->fast, "normalizer"), f->fast_path, f->why);
    if (!status) status = rf__hf_read_splitter(f, t, json_object_get(f->fast, "pre_tokenizer"));
    if (!status)
        status = rf__piece_model_read(&t->pieces, ctx, json_object_get(f->fast, "model"), &f->pieces, f->nul,
                                      f->fast_path, f->why);
    if (!status && f->nul && (t->pieces.bytes || t->level))     /* bytes may become RF__JSON_NUL as well             */
        status = rf_fail(f->why, RF_EUNSUPPORTED, "%s: model.vocab: expected pieces without U+0000 in a vocabulary of "
                         "bytes, got \\u0000; remove it", f->fast_path);
    if (!status && t->level) find_bytes(t);
    if (!status) status = rf__hf_read_frame(f, t, json_object_get(f->fast, "post_processor"));
    if (!status) status = read_decoder(f, t);
    if (!status) status = read_added(f);
    if (status) return status;
    rf__added_resolve(f->parts.added, f->parts.added_n, t->pieces.pieces, find_piece, t);
    name_ends(f, t);
    t->base.n = t->pieces.n;
    if (!f->parts.special[RF_UNK] && t->pieces.unk >= 0) f->parts.special[RF_UNK] = t->pieces.token[t->pieces.unk];
    return RF_OK;
}

/* `file`: the text of f->fast, which is freed; NULL: read it from f->fast_path. */
static rf_status open_as(rf_tokenizer_folder *f, const rf_tokenizer_row *row, char *file, size_t bytes,
                         rf_tokenizer **out)
{
    hf_tokenizer *t = (hf_tokenizer *)(void *)rf__tokenizer_alloc(f->ctx, row, f->why);
    if (!t) return rf__free(f->ctx, file), RF_ENOMEM;
    t->file = (rf__saved_file){.text = file, .bytes = bytes};
    t->normal.ctx = t->pre.ctx = t->pieces.ctx = f->ctx;
    rf_status status = read_parts(f, t);
    f->parts.name = f->fast_path;
    f->parts.lacks = true;
    t->base.normalizes = true;
    if (status) return rf_tokenizer_free(&t->base), status;
    status = rf__subwords_begin(&t->base, t->pieces.n, &f->parts, NULL, out, f->why);
    if (status) return status;
    status = index_normalized(t, f->why);
    if (status) rf_tokenizer_free(&t->base), *out = NULL;
    return status;
}

/* The row of the model. */
static rf_status open_any(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    static const rf_tokenizer_row *const row[] = {&rf__tokenizer_fast_bpe, &rf__tokenizer_fast_wordpiece,
                                                  &rf__tokenizer_fast_wordlevel, &rf__tokenizer_fast_unigram};
    char *file = NULL;
    size_t bytes = 0;
    rf_status status = f->fast ? RF_OK : rf__spm_folder_read(f, &file, &bytes);
    if (!status && file) status = rf__folder_rebuild(f);
    if (status) return rf__free(f->ctx, file), status;
    const char *kind = rf__model_kind(json_object_get(f->fast, "model"));
    size_t i = 0;
    while (kind && strcmp(kind, row[i]->model) != 0) i++;
    return open_as(f, row[i], file, bytes, out);
}

rf_status rf__fast_bpe_of(const rf_ctx *ctx, const json_t *json, const char *name, rf_tokenizer **out, rf_error *why)
{
    rf_error own = {0};
    rf_tokenizer_folder f = {.ctx = ctx, .path = name, .all = true, .why = why ? why : &own};
    char *dump = rf__json_dump(json, JSON_COMPACT), *text = dump ? rf__strdup(ctx, dump) : NULL;
    free(dump);
    if (!text) return rf_fail(why, RF_ENOMEM, "%s: out of memory for the tokenizer", name);
    snprintf(f.fast_path, sizeof f.fast_path, "%s", name);
    const size_t size = strlen(text);
    if (!rf__folder_parse_fast(&f, text, size)) return rf__free(ctx, text), f.why->code;
    const rf_status status = open_as(&f, &rf__tokenizer_fast_bpe, text, size, out);
    rf__folder_forget_added(&f);
    rf__folder_forget_fast(&f);
    return status;
}

/* Classes of byte-level BPE: tokenizer.json if it exists, otherwise vocab.json and merges.txt. */
static rf_status open_merges(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    char *file = NULL, path[RF_PATH];
    size_t bytes = 0;
    f->all = true;
    rf_status status = rf__path(path, sizeof path, f->path, RF_FILE_TOKENIZER, f->why);
    if (!status && rf__is_there(f->ctx, path)) {
        status = rf__folder_fast(f);
        if (!status && rf__wordpiece_fits(f)) return rf__tokenizer_rows[0]->open(f, out);
        return status ? status : open_any(f, out);
    }
    if (!status) status = rf__merges_read(f, &file, &bytes);
    if (!status) status = rf__folder_rebuild(f);
    if (status) rf__free(f->ctx, file);
    return status ? status : open_as(f, &rf__tokenizer_fast_bpe, file, bytes, out);
}

static rf_status save(const rf_tokenizer *t, rf_ready_files *to, rf_error *why)
{
    if (rf__ready_saved(t, to, &as_hf(t)->file)) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "%s: out of memory for its pieces", to->folder);
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

static const char *const files[] = {RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER, RF_FILE_TOKENIZER_CONFIG, NULL};
static const char *const classes[] = {"PreTrainedTokenizerFast", NULL};
static const char *const roberta_classes[] = {"RobertaTokenizer", "RobertaTokenizerFast", "GPT2Tokenizer",
                                              "GPT2TokenizerFast", "Qwen2Tokenizer", "Qwen2TokenizerFast",
                                              "BartTokenizer", "BartTokenizerFast", "DebertaTokenizer",
                                              "DebertaTokenizerFast", NULL};
static const char *const roberta_holds[] = {RF_FILE_MERGES, NULL};

#define SHARED                                                                                                        \
    .files = files, .transformers = "PreTrainedTokenizerFast", .size = sizeof(hf_tokenizer),                          \
    .save = save, .describe = describe, .fingerprint = fingerprint, .clear = clear, .encode = encode,                 \
    .scratch = rf__hf_scratch, .scratch_free = rf__hf_scratch_free, .decode = decode, .token = token_of,              \
    .id = id_of, .continues = continues

const rf_tokenizer_row rf__tokenizer_fast_unigram = {
    .name = "fast_unigram", .title = "sub-words, unigram (tokenizer.json)", .classes = classes, .model = "Unigram",
    .open = open_any, SHARED};
const rf_tokenizer_row rf__tokenizer_fast_bpe = {
    .name = "fast_bpe", .title = "sub-words, BPE (tokenizer.json)", .classes = classes, .model = "BPE",
    .open = open_any, SHARED};
const rf_tokenizer_row rf__tokenizer_fast_wordpiece = {
    .name = "fast_wordpiece", .title = "WordPiece (tokenizer.json)",
    .classes = classes, .model = "WordPiece",
    .open = open_any, SHARED};
const rf_tokenizer_row rf__tokenizer_fast_wordlevel = {
    .name = "fast_wordlevel", .title = "words (tokenizer.json)",
    .classes = classes, .model = "WordLevel",
    .open = open_any, SHARED};
/* The result of these is a fast_bpe. */
const rf_tokenizer_row rf__tokenizer_bytelevel = {
    .name = "bytelevel", .title = "sub-words, BPE of bytes (tokenizer.json)", .classes = classes,
    .open = open_any, .training = &rf__byte_level_training, SHARED};
const rf_tokenizer_row rf__tokenizer_roberta = {
    .name = "roberta", .title = "sub-words, BPE (vocab.json, merges.txt)", .classes = roberta_classes,
    .holds = roberta_holds, .open = open_merges, SHARED};
