/* merges.c — byte-level BPE from vocab.json and merges.txt: makes the tokenizer.json that the class of transformers
 * would write, which tokenizer_json.c reads.
 *
 *   vocab.json     {"piece": id, ...}
 *   merges.txt     "#version: 0.2", then two pieces a line, the most frequent pair first
 *
 *   RobertaTokenizer   <s> A </s>, or <s> A </s></s> B </s>, all of type 0; trim_offsets (default: true) excludes
 *                      blanks from offsets
 *   GPT2Tokenizer      no tokens around a text, unless add_bos_token or add_eos_token says so
 *   DebertaTokenizer   [CLS] A [SEP], or [CLS] A [SEP] B [SEP], B of type 1; in folders older than transformers 5,
 *                      [MASK] takes the blanks before it
 *   Qwen2Tokenizer     the same as GPT2Tokenizer, with NFC and words of its own
 *
 * add_prefix_space (default: false) inserts a blank before each text. */
#include "merges.h"

#include "base/files/json_file.h"
#include "byte_level.h"

#include <stdlib.h>

#include "roformer/inspect/files.h"

typedef struct form form;
struct form {
    const char *class, *model_type;
    const char *name[7];                /* the usual special tokens, as `keys`; NULL: none                            */
    json_t *(*words)(int prefix);       /* pre_tokenizer                                                              */
    const char *normalizer;             /* or NULL                                                                    */
    const char *ends;                   /* the post_processor; NULL: add_bos_token and add_eos_token decide           */
    bool strips;                        /* the mask takes the blanks before it, before transformers 5                 */
};

/* The usual special tokens in the order of transformers. */
static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token",
                                   "mask_token"};

enum { SEP = 3, CLS = 5, MASK = 6 };    /* in `keys` */

static json_t *level(int prefix, int regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", prefix, "trim_offsets", 1,
                     "use_regex", regex);
}

static json_t *words_of_gpt2(int prefix) { return level(prefix, 1); }

static json_t *words_of_qwen2(int prefix)
{
    return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence", "pretokenizers", "type", "Split",
                     "pattern", "Regex", rf__split_qwen2.regex, "behavior", "Isolated", "invert", 0,
                     level(prefix, 0));
}

#define END "<|endoftext|>"
#define ROBERTA "RobertaProcessing"
static const form forms[] = {
    {"RobertaTokenizer", "roberta", {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"}, words_of_gpt2, NULL,
     ROBERTA, false},
    {"BartTokenizer", "bart", {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"}, words_of_gpt2, NULL,
     ROBERTA, false},
    {"DebertaTokenizer", "deberta", {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}, words_of_gpt2,
     NULL, "BertProcessing", true},
    {"GPT2Tokenizer", "gpt2", {END, END, END, NULL, NULL, NULL, NULL}, words_of_gpt2, NULL, NULL, false},
    {"Qwen2Tokenizer", "qwen2", {NULL, END, END, NULL, END, NULL, NULL}, words_of_qwen2, "NFC", NULL, false},
    {"Qwen2Tokenizer", "qwen3", {NULL, END, END, NULL, END, NULL, NULL}, words_of_qwen2, "NFC", NULL, false},
};

/* NULL: the settings name none of them. */
static const form *form_of(const rf_tokenizer_folder *f)
{
    for (size_t i = 0; i < RF_COUNT(forms); i++)
        if (rf__folder_is(f, forms[i].class, forms[i].model_type)) return &forms[i];
    return NULL;
}

static const char *name_of(const rf_tokenizer_folder *f, const form *as, size_t i)
{
    const char *name = rf__folder_name(f, keys[i]);
    const json_t *own = json_object_get(f->config, keys[i]), *map = json_object_get(f->map, keys[i]);
    return name ? name : (own && json_is_null(own)) || (map && json_is_null(map)) ? NULL : as->name[i];
}

/* A token and its place in the order in which transformers adds tokens: those with ids in the settings by their ids,
 * then the usual ones, then the others.  It determines the ids of those that are not in vocab.json. */
typedef struct placed { rf_added a; int64_t place; } placed;

static int by_place(const void *a, const void *b)
{
    const int64_t x = ((const placed *)a)->place, y = ((const placed *)b)->place;
    return (x > y) - (x < y);
}

/* All added tokens of the folder, in that order; freed with rf__free. */
static rf_status place_tokens(rf_tokenizer_folder *f, const form *as, bool strips, placed **out)
{
    static const int64_t usual = (int64_t)INT32_MAX + 1;                        /* above all ids                      */
    rf_status status = RF_OK;
    for (size_t i = 0; i < RF_COUNT(keys) && !status; i++) {
        const char *name = name_of(f, as, i);
        if (name)
            status = rf__folder_add_new(f, f->config_path, (rf_added){.text = name, .size = strlen(name),
                                                                      .id = RF_ADDED_OPEN, .special = true});
    }
    const size_t n = f->parts.added_n;
    placed *list = status ? NULL : rf__calloc(f->ctx, n + 1, sizeof *list);
    if (!list) return status ? status : rf_fail(f->why, RF_ENOMEM, "%s: out of memory for added tokens", f->fast_path);
    for (size_t i = RF_COUNT(keys); i-- > 0;) {
        const char *name = name_of(f, as, i);
        const size_t at = name ? rf__text_index_find(&f->parts.index, f->parts.added, sizeof *f->parts.added, name,
                                                    strlen(name)) : n;
        if (at >= n) continue;
        f->parts.added[at].special = true;
        f->parts.added[at].lstrip |= strips && i == MASK;
        list[at].place = usual + (int64_t)i;
    }
    for (size_t i = 0; i < n; i++) {
        const rf_added *a = &f->parts.added[i];
        list[i].a = *a;
        if (list[i].place) list[i].a.normalized = false;                        /* a usual one                        */
        else list[i].place = usual + (int64_t)(RF_COUNT(keys) + i);
        if (a->id >= 0) list[i].place = a->id;
    }
    qsort(list, n, sizeof *list, by_place);
    *out = list;
    return RF_OK;
}

/* {"id": ..., "content": ...} for each added token, with its settings.  As in tokenizers, one that is not in vocab.json
 * has the next id; the settings may not say another one. */
static rf_status added_tokens(rf_tokenizer_folder *f, const form *as, bool strips, const json_t *vocab, json_t **out)
{
    placed *list = NULL;
    json_int_t next = (json_int_t)json_object_size(vocab);
    rf_status status = place_tokens(f, as, strips, &list);
    *out = json_array();
    for (size_t i = 0; i < f->parts.added_n && !status; i++) {
        const rf_added *a = &list[i].a;
        const json_t *known = json_object_get(vocab, a->text);
        const json_int_t id = known ? json_integer_value(known) : next;
        if (id >= next) next = id + 1;
        if (a->id >= 0 && a->id != id)
            status = rf_fail(f->why, RF_EDATA, "%s: %s: %.60s: expected id %lld, %s, got %d; correct the id", f->path,
                             json_object_get(f->config, "added_tokens_decoder")
                                 ? RF_FILE_TOKENIZER_CONFIG ": added_tokens_decoder" : RF_FILE_ADDED_TOKENS,
                             rf__printable(a->text).text, (long long)id,
                             known ? "as in " RF_FILE_VOCAB_JSON
                                   : "the next after " RF_FILE_VOCAB_JSON " and the added tokens before it",
                             (int)a->id);
        rf__json_add(out, json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", id, "content", a->text, "single_word",
                                    a->single, "lstrip", a->lstrip, "rstrip", a->rstrip, "normalized", a->normalized,
                                    "special", a->special));
    }
    rf__free(f->ctx, list);
    return status;
}

/* [piece, id] in the form of RobertaProcessing and BertProcessing. */
static json_t *end_of(const char *name, const json_t *specials)
{
    size_t i;
    const json_t *x;
    json_array_foreach((json_t *)(uintptr_t)specials, i, x)
        if (!strcmp(json_string_value(json_object_get(x, "content")), name))
            return json_pack("[s, O]", name, json_object_get(x, "id"));
    return NULL;
}

/* ---- merges.txt -------------------------------------------------------------------------------------------------- */

/* The lines of merges.txt, each as a list of two pieces. */
static rf_status read_lines(const rf_tokenizer_folder *f, const char *path, char *text, size_t size, json_t *out)
{
    size_t number = 0;
    for (char *at = text, *end; at < text + size; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text + size - at));
        if (!end) end = text + size;
        number++;
        *end = 0;
        if (end > at && end[-1] == '\r') end[-1] = 0;
        if (!strncmp(at, "#version", 8)) continue;
        char *blank = strchr(at, ' ');
        if (strlen(at) + 1 < (size_t)(end - at) || !blank || blank == at || !blank[1] || strchr(blank + 1, ' '))
            return rf_fail(f->why, RF_EDATA,
                           "%s:%zu: expected two pieces with a blank between them, got \"%.60s\"", path, number,
                           rf__printable(at).text);
        *blank = 0;
        if (json_array_append_new(out, json_pack("[s, s]", at, blank + 1)))
            return rf_fail(f->why, RF_EDATA, "%s:%zu: expected UTF-8 (or memory ran out)", path, number);
    }
    return RF_OK;
}

static rf_status read_merges(const rf_tokenizer_folder *f, json_t *out)
{
    char path[RF_PATH], *text = NULL;
    size_t size;
    rf_status status = rf__path(path, sizeof path, f->path, RF_FILE_MERGES, f->why);
    if (!status) status = rf__read_file(f->ctx, path, RF_TOKENIZER_FILE, &text, &size, f->why);
    if (!status) status = read_lines(f, path, text, size, out);
    rf__free(f->ctx, text);
    return status;
}

/* vocab.json, with integers. */
static rf_status read_vocab(rf_tokenizer_folder *f, json_t **out)
{
    const rf_status status = rf__path(f->fast_path, RF_PATH, f->path, RF_FILE_VOCAB_JSON, f->why);
    return status ? status : rf__json_file(f->ctx, f->fast_path, RF_TOKENIZER_FILE, 0, out, f->why);
}

/* ---- as tokenizer.json ------------------------------------------------------------------------------------------- */

static rf_status no_memory(const rf_tokenizer_folder *f)
{
    return rf_fail(f->why, RF_ENOMEM, "%s: out of memory for the tokenizer", f->fast_path);
}

static rf_status frame_of(rf_tokenizer_folder *f, const form *as, int prefix, const json_t *specials, json_t **out)
{
    static const size_t ends[] = {SEP, CLS};
    int trim = 1;
    if (!as->ends) return rf__folder_ends(f, 0, 0, out);
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "trim_offsets", 1, &trim);
    *out = strcmp(as->ends, ROBERTA) != 0
               ? json_pack("{s:s}", "type", as->ends)
               : json_pack("{s:s, s:b, s:b}", "type", ROBERTA, "trim_offsets", trim, "add_prefix_space", prefix);
    for (size_t i = 0; i < RF_COUNT(ends); i++) {
        const char *name = name_of(f, as, ends[i]);
        if (!name && !status)
            status = rf_fail(f->why, RF_EDATA, "%s: %s: expected a token, which %s puts around texts, got null",
                             f->path, keys[ends[i]], as->class);
        if (name) rf__json_set(out, i ? "cls" : "sep", end_of(name, specials));
    }
    return status;
}

/* Takes ownership of the vocabulary and the merges.  *out is NULL: no memory. */
static rf_status as_tokenizer(rf_tokenizer_folder *f, const form *as, int prefix, bool strips, json_t *vocab,
                              json_t *merges, json_t **out)
{
    json_t *all = json_pack("{s:s, s:n, s:n, s:n}", "version", "1.0", "truncation", "padding", "normalizer");
    json_t *added = NULL, *frame = NULL, *model = json_pack(
        "{s:s, s:n, s:n, s:s, s:s, s:b}", "type", "BPE", "dropout", "unk_token", "continuing_subword_prefix", "",
        "end_of_word_suffix", "", "fuse_unk", 0);
    rf_status status = added_tokens(f, as, strips, vocab, &added);
    rf__json_set(&model, "vocab", vocab);
    rf__json_set(&model, "merges", merges);
    rf__json_set(&all, "added_tokens", added);
    rf__json_set(&all, "model", model);
    f->fast = all;                                         /* where the ids of the frame are                          */
    if (!status) status = frame_of(f, as, prefix, json_object_get(all, "added_tokens"), &frame);
    f->fast = NULL;
    if (as->normalizer) rf__json_set(&all, "normalizer", json_pack("{s:s}", "type", as->normalizer));
    rf__json_set(&all, "pre_tokenizer", as->words(prefix));
    rf__json_set(&all, "post_processor", frame);
    rf__json_set(&all, "decoder", level(1, 1));
    *out = all;
    return status;
}

rf_status rf__folder_made(rf_tokenizer_folder *f, json_t *all, char **text, size_t *size)
{
    char *dumped = all ? rf__json_dump(all, JSON_COMPACT) : NULL;
    json_decref(all);
    *size = dumped ? strlen(dumped) : 0;
    *text = dumped ? rf__alloc(f->ctx, *size + 1) : NULL;
    if (*text) {
        memcpy(*text, dumped, *size + 1);
        rf__folder_parse_fast(f, *text, *size);
    }
    free(dumped);
    if (*text && f->fast) return RF_OK;
    rf__free(f->ctx, *text);
    *text = NULL;
    return f->why->code ? f->why->code : no_memory(f);
}

rf_status rf__merges_read(rf_tokenizer_folder *f, char **text, size_t *size)
{
    int prefix = 0;
    bool new = false;
    const form *as = form_of(f);
    if (!as)
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: expected tokenizer_class in tokenizer_config.json, got none; "
                       RF_FILE_MERGES " does not say which special tokens a text has", f->path);
    json_t *vocab = NULL, *merges = json_array(), *all = NULL;
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "add_prefix_space", 0, &prefix);
    if (!status && as->strips) status = rf__folder_is_new(f, &new);
    if (!status) status = read_vocab(f, &vocab);
    if (!status) status = merges ? read_merges(f, merges) : no_memory(f);
    if (status) {
        json_decref(vocab);
        json_decref(merges);
        return status;
    }
    status = as_tokenizer(f, as, prefix, as->strips && !new, vocab, merges, &all);
    if (!status) return rf__folder_made(f, all, text, size);
    json_decref(all);
    return status;
}
