/* esm.c — the tokenizer of proteins: tokens of vocab.txt, usually single letters.     transformers' EsmTokenizer
 *
 *     <cls> A <eos>        <cls> A <eos> B <eos>           <cls> A, and no pairs, if eos_token is null
 *
 * Each position takes the longest token that begins there.  White space separates tokens and is dropped.  Other text
 * between tokens and white space is one <unk>, independent of its length.  Case is kept: lower-case letters are not
 * residues. */
#include "roformer/inspect/files.h"
#include "text/wordpiece/wordpiece.h"

/* ---- text to ids and back ---------------------------------------------------------------------------------------- */

/* The longest token at [at, to), or -1.  In a plain passage special tokens are text. */
static int32_t token_at(const rf_wordpiece *t, const rf_passage *p, size_t at, size_t *end)
{
    const rf_vocab *v = &t->vocab;
    const size_t most = v->whole.longest < p->to - at ? v->whole.longest : p->to - at;
    for (size_t size = most; size; size--) {
        const int32_t id = rf__vocab_find(v, p->text + at, size);
        if (id < 0 || (p->plain && rf_tokenizer_is_special(&t->base, id))) continue;
        *end = at + size;
        return id;
    }
    return -1;
}

static bool encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *scratch)
{
    (void)scratch;
    const rf_wordpiece *t = rf__as_wordpiece(any);
    const int32_t unknown = any->special[RF_UNK];
    if (!rf__reserve_tokens(e, p->to - p->from)) return false;
    for (size_t at = p->from, end, from = p->to; at < p->to; at = end) {        /* from: beginning of unknown text */
        end = at;
        const bool white = rf__python_white(rf__utf8_get((const unsigned char *)p->text, &end));
        const int32_t id = white ? -1 : token_at(t, p, at, &end);
        if (id < 0 && !white && from == p->to) from = at;
        if ((id >= 0 || white) && from < at) rf__put_token(e, unknown, (uint32_t)from, (uint32_t)at, false);
        if (id >= 0 || white) from = p->to;
        if (id >= 0) rf__put_token(e, id, (uint32_t)at, (uint32_t)end, false);
        if (end == p->to && from < end) rf__put_token(e, unknown, (uint32_t)from, (uint32_t)end, false);
    }
    return true;
}

static char *decode(const rf_tokenizer *t, const int32_t id[], size_t n, bool skip, size_t *size)
{
    size_t all = 1, used = 0;
    for (size_t i = 0; i < n; i++) {
        const char *token = rf_tokenizer_token(t, id[i]);
        all += token ? strlen(token) + 1 : 0;
    }
    char *text = rf__alloc(t->ctx, all);
    for (size_t i = 0; text && i < n; i++) {
        const char *token = rf_tokenizer_token(t, id[i]);
        if (!token || (skip && rf_tokenizer_is_special(t, id[i]))) continue;
        if (used) text[used++] = ' ';
        memcpy(text + used, token, strlen(token));
        used += strlen(token);
    }
    if (text) text[used] = 0;
    *size = used;
    return text;
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

/* ---- a folder ---------------------------------------------------------------------------------------------------- */

static rf_status open_folder(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    static const char *const name[RF_SPECIALS] = {
        [RF_UNK] = "<unk>", [RF_CLS] = "<cls>", [RF_SEP] = "<eos>", [RF_PAD] = "<pad>", [RF_MASK] = "<mask>"};
    const json_t *end = json_object_get(f->map, "eos_token");
    if (!end) end = json_object_get(f->config, "eos_token");
    f->parts.open_end = f->parts.no_pairs = json_is_null(end);
    const char *last = json_string_value(json_is_object(end) ? json_object_get(end, "content") : end);
    if (!f->parts.special[RF_SEP]) f->parts.special[RF_SEP] = last;
    for (int i = 0; i < RF_SPECIALS; i++)
        if (!f->parts.special[i]) f->parts.special[i] = name[i];
    return rf__wordpiece_open_lines(f, &rf__tokenizer_esm, out);
}

static void settings(const rf_tokenizer *t, json_t **all)
{
    if (t->open_end) rf__json_set(all, "eos_token", json_null());
}

static const char *const classes[] = {"EsmTokenizer", NULL};
static const char *const files[] = {RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER_CONFIG, RF_FILE_VOCAB, NULL};

const rf_tokenizer_row rf__tokenizer_esm = {
    .name = "esm",
    .title = "residues (ESM)",
    .classes = classes,
    .files = files,
    .transformers = "EsmTokenizer",
    .size = sizeof(rf_wordpiece),
    .open = open_folder,
    .save = rf__wordpiece_save,
    .settings = settings,
    .fingerprint = fingerprint,
    .clear = rf__wordpiece_clear,
    .encode = encode,
    .decode = decode,
    .token = rf__wordpiece_token,
    .id = rf__wordpiece_id,
    .continues = continues,
};
