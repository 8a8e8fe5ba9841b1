/* subwords.c — models of SentencePiece (spm.h): BPE (Sennrich et al. 2016), unigram (Kudo 2018), words, characters.
 *
 *     id < n       pieces of the model, with SentencePiece's numbers
 *     id >= n      special tokens that are not in the model, then added tokens
 *
 * The model is spiece.model in the folder, trained here or elsewhere.  Models trained here have [PAD] [UNK] [CLS] [SEP]
 * [MASK] as 0 to 4.  A piece that begins with U+2581, which represents white space, begins a word.                   */
#include <stdio.h>
#include <stdlib.h>

#include "subwords.h"

typedef struct subwords {
    rf_tokenizer base;
    rf__spm *spm;
    char *model;                        /* as in the file                                                             */
    size_t bytes;
    int32_t own;                        /* pieces of the model                                                        */
} subwords;

static const subwords *as_subwords(const rf_tokenizer *t) { return (const subwords *)(const void *)t; }

const rf_tokenizer_row rf__tokenizer_bpe, rf__tokenizer_unigram, rf__tokenizer_spm_word, rf__tokenizer_spm_char;

/* ---- text to ids ------------------------------------------------------------------------------------------------- */

typedef struct target { rf_encoding *e; size_t from; } target;

static bool append_piece(void *user, const char *piece, size_t size, int32_t id, size_t begin, size_t end)
{
    const target *t = user;
    (void)piece, (void)size;
    if (!rf__reserve_tokens(t->e, 1)) return false;
    rf__put_token(t->e, id, (uint32_t)(t->from + begin), (uint32_t)(t->from + end), false);
    return true;
}

bool rf__subwords_cut(const rf__spm *m, void *scratch, const rf_passage *p, size_t from, rf__spm_sink *each, void *user)
{
    const rf_sample_options *s = p->sample;
    const uint64_t at = from;
    rf__spm_sample sample = {0};
    if (s) {
        sample = (rf__spm_sample){s->nbest, s->alpha, (uint32_t)rf__hash64(&at, sizeof at, s->seed)};
        if (sample.seed == UINT32_MAX) sample.seed = 0;             /* the library's default seed                     */
    }
    return rf__spm_encode(m, scratch, p->text + from, p->to - from, s ? &sample : NULL, each, user);
}

void *rf__subwords_scratch(const rf_ctx *ctx, void *own, bool others)
{
    (void)others;
    return own ? own : rf__spm_work_new(ctx);
}

void rf__subwords_scratch_free(const rf_ctx *ctx, void *own)
{
    (void)ctx;
    rf__spm_work_free(own);
}

static bool encode(const rf_tokenizer *t, rf_encoding *e, const rf_passage *p, void *scratch)
{
    target to = {e, p->from};
    return rf__subwords_cut(as_subwords(t)->spm, scratch, p, p->from, append_piece, &to);
}

/* ---- ids to text ------------------------------------------------------------------------------------------------- */

bool rf__subwords_append(void *growing, const char *data, size_t size)
{
    rf__growing *t = growing;
    if (!rf__grow(t->ctx, &t->at, &t->capacity, t->n + size + 1, 1)) return false;
    if (size) memcpy(t->at + t->n, data, size);
    t->n += size;
    t->at[t->n] = 0;
    return true;
}

/* A piece of the model that is text. */
static bool is_text(const rf_tokenizer *t, int32_t id)
{
    return id >= 0 && id < as_subwords(t)->own && !rf_tokenizer_is_special(t, id) &&
           !rf__spm_control(as_subwords(t)->spm, id);
}

/* Runs of text are decoded separately, which removes the leading space of each; it is kept if text precedes the run. */
static char *decode(const rf_tokenizer *t, const int32_t id[], size_t n, bool skip, size_t *size)
{
    const rf__spm *m = as_subwords(t)->spm;
    rf__growing out = {.ctx = t->ctx};
    bool good = rf__subwords_append(&out, "", 0);
    for (size_t i = 0, to; i < n && good; i = to) {
        for (to = i; to < n && is_text(t, id[to]);) to++;
        if (to > i) {
            if (out.n && rf__subwords_begin_word(rf__spm_piece(m, id[i]))) good = rf__subwords_append(&out, " ", 1);
            good = good && rf__spm_decode(m, id + i, to - i, rf__subwords_append, &out);
            continue;
        }
        to = i + 1;
        const char *token = rf_tokenizer_token(t, id[i]);
        if (token && !(skip && (rf_tokenizer_is_special(t, id[i]) || id[i] < as_subwords(t)->own)))
            good = rf__subwords_append(&out, token, strlen(token));
    }
    if (!good) rf__free(t->ctx, out.at), out.at = NULL;
    *size = out.n;
    return out.at;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static const char *token_of(const rf_tokenizer *t, int32_t id)
{
    return id < as_subwords(t)->own ? rf__spm_piece(as_subwords(t)->spm, id) : NULL;
}

static int32_t id_of(const rf_tokenizer *t, const char *token) { return rf__spm_id(as_subwords(t)->spm, token); }

static bool continues(const rf_tokenizer *t, int32_t id)
{
    return is_text(t, id) && !rf__subwords_begin_word(rf__spm_piece(as_subwords(t)->spm, id));
}

static uint64_t fingerprint(const rf_tokenizer *t, uint64_t seed)
{
    return rf__hash64(as_subwords(t)->model, as_subwords(t)->bytes, seed);
}

static void describe(const rf_tokenizer *t, json_t **about)
{
    rf__json_set(about, "pieces", json_integer(as_subwords(t)->own));
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static void clear(rf_tokenizer *any)
{
    subwords *t = (subwords *)(void *)any;
    rf__spm_free(t->spm);
    rf__free(any->ctx, t->model);
}

static const rf_tokenizer_row *const rows[] = {
    [RF_SPM_UNIGRAM] = &rf__tokenizer_unigram, [RF_SPM_BPE] = &rf__tokenizer_bpe,
    [RF_SPM_WORD] = &rf__tokenizer_spm_word, [RF_SPM_CHAR] = &rf__tokenizer_spm_char,
};

/* Makes a tokenizer of `model` and takes ownership of it, also on failure. */
static rf_status load(const rf_ctx *ctx, char *model, size_t size, const char *name, subwords **out, rf_error *why)
{
    rf__spm *spm = NULL;
    rf_status status = rf__spm_load(ctx, model, size, name, &spm, why);
    const rf_tokenizer_row *row = status ? NULL : rows[rf__spm_kind_of(spm)];
    subwords *t = status ? NULL : (subwords *)(void *)rf__tokenizer_alloc(ctx, row, why);
    if (!status && !t) status = RF_ENOMEM;
    if (status) {
        rf__spm_free(spm);
        rf__free(ctx, model);
        return status;
    }
    t->spm = spm;
    t->model = model;
    t->bytes = size;
    t->base.n = t->own = rf__spm_size(spm);
    *out = t;
    return RF_OK;
}

static bool is_there(const rf_tokenizer *t, const rf_tokenizer_parts *parts, const char *name)
{
    if (t->row->id(t, name) >= 0) return true;
    for (size_t i = 0; i < parts->added_n; i++)
        if (!strcmp(parts->added[i].text, name)) return true;
    return false;
}

/* The usual name of a special token that the settings do not name; NULL: none. */
static const char *usual_name(const rf_tokenizer *t, const rf_tokenizer_parts *parts, int special)
{
    static const char *const name[RF_SPECIALS][2] = {
        [RF_UNK] = {"[UNK]", "<unk>"}, [RF_CLS] = {"[CLS]", "<cls>"}, [RF_SEP] = {"[SEP]", "<sep>"},
        [RF_PAD] = {"[PAD]", "<pad>"}, [RF_MASK] = {"[MASK]", "<mask>"},
    };
    for (int i = 0; i < 2; i++)
        if (is_there(t, parts, name[special][i])) return name[special][i];
    return NULL;
}

rf_status rf__subwords_begin(rf_tokenizer *t, int32_t own, const rf_tokenizer_parts *given, rf__special_name *name_in,
                             rf_tokenizer **out, rf_error *why)
{
    static const char *const usual[RF_SPECIALS] = {
        [RF_UNK] = "[UNK]", [RF_CLS] = "[CLS]", [RF_SEP] = "[SEP]", [RF_PAD] = "[PAD]", [RF_MASK] = "[MASK]"};
    rf_tokenizer_parts parts = *given;
    rf_status status = RF_OK;
    int32_t next = own;
    parts.added = rf__calloc(t->ctx, given->added_n + RF_SPECIALS, sizeof *parts.added);
    if (!parts.added) status = rf_fail(why, RF_ENOMEM, "tokenizer: out of memory");
    for (size_t i = 0; i < given->added_n && !status; i++) {
        parts.added[i] = given->added[i];
        if (given->added[i].id >= next) next = given->added[i].id + 1;
    }
    for (int i = 0; i < RF_SPECIALS && !status; i++) {
        if (!parts.special[i]) parts.special[i] = usual_name(t, &parts, i);
        if (!parts.special[i] && name_in) parts.special[i] = name_in(t, i);
        if (parts.special[i]) continue;
        t->invented = true;
        if (parts.lacks) continue;
        parts.special[i] = usual[i];
        parts.added[parts.added_n++] = (rf_added){usual[i], strlen(usual[i]), next++, .special = true,
                                                    .hidden = given->hidden};
    }
    if (!status) status = rf__tokenizer_begin(t, &parts, why);
    if (!status) status = rf__tokenizer_follow(t, own, parts.name, why);
    rf__free(t->ctx, parts.added);
    if (status) rf_tokenizer_free(t);
    else *out = t;
    return status;
}

/* The model's own name. */
static const char *reserved_name(const rf_tokenizer *t, int special)
{
    static const int role[RF_SPECIALS] = {[RF_UNK] = RF_SPM_UNK, [RF_CLS] = RF_SPM_BOS, [RF_SEP] = RF_SPM_EOS,
                                          [RF_PAD] = RF_SPM_PAD, [RF_MASK] = -1};
    const rf__spm *m = as_subwords(t)->spm;
    const int32_t id = role[special] < 0 ? -1 : rf__spm_reserved(m, (rf__spm_role)role[special]);
    return id < 0 ? NULL : rf__spm_piece(m, id);
}

static rf_status begin(subwords *t, const rf_tokenizer_parts *given, rf_tokenizer **out, rf_error *why)
{
    return rf__subwords_begin(&t->base, t->own, given, reserved_name, out, why);
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static const char *const files[] = {RF_FILE_SUBWORDS, RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER_CONFIG, NULL};
static const char *const holds[] = {RF_FILE_SUBWORDS, NULL};

static rf_status open_folder(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    char path[RF_PATH], *model;
    size_t size;
    subwords *t = NULL;
    rf_status status = rf__path(path, sizeof path, f->path, RF_FILE_SUBWORDS, f->why);
    if (!status) status = rf__read_file(f->ctx, path, RF_TOKENIZER_FILE, &model, &size, f->why);
    if (!status) status = load(f->ctx, model, size, path, &t, f->why);
    return status ? status : begin(t, &f->parts, out, f->why);
}

static rf_status save(const rf_tokenizer *t, rf_ready_files *to, rf_error *why)
{
    const subwords *own = as_subwords(t);
    if (rf__ready_copy(t, to, RF_FILE_SUBWORDS, own->model, own->bytes)) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "%s: out of memory for its pieces", to->folder);
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

enum { LONGEST_LINE = 4192 };           /* bytes, the default of SentencePiece's program (max_sentence_length)        */

static rf_status begin_training(rf_tokenizer_trainer *t, rf_error *why)
{
    rf__growing *lines = rf__calloc(t->ctx, 1, sizeof *lines);
    if (!lines) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory");
    lines->ctx = t->ctx;
    t->own = lines;
    return RF_OK;
}

/* Where to split a line of more than LONGEST_LINE bytes: after its last blank, or before a character. */
static size_t cut_line(const char *line, size_t size)
{
    size_t to = size < LONGEST_LINE ? size : LONGEST_LINE, at = to;
    if (to == size) return size;
    while (at && line[at - 1] != ' ') at--;
    if (at) return at;
    while (to && ((unsigned char)line[to] & 0xC0) == 0x80) to--;
    return to;
}

static bool feed_line(rf_tokenizer_trainer *t, const char *line, size_t size)
{
    t->split += size > LONGEST_LINE;
    for (size_t n; size; line += n, size -= n) {
        n = cut_line(line, size);
        if (!rf__subwords_append(t->own, line, n) || !rf__subwords_append(t->own, "\n", 1)) return false;
    }
    return true;
}

static rf_status feed(rf_tokenizer_trainer *t, const char *data, size_t size, rf_error *why)
{
    bool good = true;
    for (size_t at = 0, to; at < size && good; at = to + 1) {
        const char *end = memchr(data + at, '\n', size - at);
        to = end ? (size_t)(end - data) : size;
        good = feed_line(t, data + at, to - at);
    }
    if (good) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory for %zu bytes of text", ((rf__growing *)t->own)->n);
}

static void clear_training(rf_tokenizer_trainer *t)
{
    rf__free(t->ctx, ((rf__growing *)t->own)->at);
    rf__free(t->ctx, t->own);
}

static rf_status train(rf_tokenizer_trainer *t, const char *type, rf__growing *model, rf_error *why)
{
    const rf_tokenizer_train_options *o = &t->options;
    const rf__growing *lines = t->own;
    char size[16], coverage[32];
    snprintf(size, sizeof size, "%d", (int)o->tokens);
    snprintf(coverage, sizeof coverage, "%.9g", o->coverage);
    /* The number of threads does not depend on the machine, because sums are added per thread. */
    const char *const option[] = {
        "model_type", type, "vocab_size", size, "character_coverage", coverage,
        "byte_fallback", o->byte_fallback ? "true" : "false",
        "normalization_rule_name", o->normalization ? o->normalization : "nmt_nfkc",
        "pad_id", "0", "pad_piece", "[PAD]", "unk_id", "1", "unk_piece", "[UNK]", "bos_id", "2", "bos_piece", "[CLS]",
        "eos_id", "3", "eos_piece", "[SEP]", "control_symbols", "[MASK]", "hard_vocab_limit", "false",
        "max_sentence_length", "8192", "num_threads", "16", "minloglevel", "5", NULL};
    if (!lines->n) return rf_fail(why, RF_EDATA, "vocabulary: there is no text to learn from");
    return rf__spm_learn(option, lines->at, lines->n, rf__subwords_append, model, why);
}

static rf_status finish(rf_tokenizer_trainer *trainer, rf_tokenizer **out, rf_error *why)
{
    rf__growing model = {.ctx = trainer->ctx};
    subwords *t = NULL;
    rf_status status = train(trainer, trainer->row->name, &model, why);
    if (status) rf__free(trainer->ctx, model.at);
    else status = load(trainer->ctx, model.at, model.n, "vocabulary", &t, why);
    return status ? status : begin(t, &(rf_tokenizer_parts){.name = "vocabulary"}, out, why);
}

static const rf_tokenizer_training training = {
    .uses = RF_TRAIN_SUBWORDS,
    .begin = begin_training,
    .feed = feed,
    .finish = finish,
    .clear = clear_training,
};

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

static const char *const bpe_classes[] = {"RoFormerBPETokenizer", NULL};
static const char *const unigram_classes[] = {"RoFormerUnigramTokenizer", NULL};
static const char *const word_classes[] = {"RoFormerSentencePieceWordTokenizer", NULL};
static const char *const char_classes[] = {"RoFormerSentencePieceCharTokenizer", NULL};

#define SHARED                                                                                                        \
    .files = files, .holds = holds, .size = sizeof(subwords), .open = open_folder, .save = save,                      \
    .describe = describe, .fingerprint = fingerprint, .clear = clear, .encode = encode,                               \
    .scratch = rf__subwords_scratch, .scratch_free = rf__subwords_scratch_free, .decode = decode, .token = token_of,  \
    .id = id_of, .continues = continues

const rf_tokenizer_row rf__tokenizer_unigram = {
    .name = "unigram", .title = "sub-words, unigram (SentencePiece)", .classes = unigram_classes, SHARED,
    .training = &training, .samples = true};
const rf_tokenizer_row rf__tokenizer_bpe = {
    .name = "bpe", .title = "sub-words, BPE (SentencePiece)", .classes = bpe_classes, SHARED,
    .training = &training, .samples = true};
const rf_tokenizer_row rf__tokenizer_spm_word = {
    .name = "spm_word", .title = "words (SentencePiece)", .classes = word_classes, SHARED};
const rf_tokenizer_row rf__tokenizer_spm_char = {
    .name = "spm_char", .title = "characters (SentencePiece)", .classes = char_classes, SHARED};
