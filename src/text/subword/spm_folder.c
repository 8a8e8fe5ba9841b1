/* spm_folder.c — XLM-RoBERTa's tokenizer from sentencepiece.bpe.model alone: makes the tokenizer.json that
 * transformers' XLMRobertaTokenizer would write, which tokenizer_json.c reads.
 *
 *     0 <s>   1 <pad>   2 </s>   3 <unk>   4 ... the model's pieces from its third on   n <mask>
 *
 * The ids are those of fairseq, one above SentencePiece's.  <s> A </s>, or <s> A </s></s> B </s>. */
#include "base/base64.h"
#include "merges.h"
#include "spm_model.h"
#include "text/tokenizer.h"

#define MODEL "sentencepiece.bpe.model"

enum { BOS, PAD, END, UNKNOWN, FIRST, OWN = 3 };          /* OWN: pieces of the model that these replace              */

static const struct { const char *key, *usual; } role[] = {
    [BOS] = {"bos_token", "<s>"},      [PAD] = {"pad_token", "<pad>"},   [END] = {"eos_token", "</s>"},
    [UNKNOWN] = {"unk_token", "<unk>"}, [FIRST] = {"mask_token", "<mask>"},
};

static const char *name_of(const rf_tokenizer_folder *f, int i)
{
    const char *name = rf__folder_name(f, role[i].key);
    return name ? name : role[i].usual;
}

bool rf__spm_folder_has(const rf_tokenizer_folder *f)
{
    char path[RF_PATH];
    return rf__folder_is(f, "XLMRobertaTokenizer", "xlm-roberta") &&
           !rf__path(path, sizeof path, f->path, MODEL, NULL) && rf__is_there(f->ctx, path);
}

static json_t *vocabulary(const rf_tokenizer_folder *f, const rf__spm *m)
{
    json_t *list = json_array();
    for (int i = 0; i < FIRST; i++) rf__json_add(&list, json_pack("[s, f]", name_of(f, i), 0.0));
    for (int32_t id = OWN; id < m->n; id++)
        rf__json_add(&list, json_pack("[s, f]", m->piece[id].name, (double)m->piece[id].score));
    rf__json_add(&list, json_pack("[s, f]", name_of(f, FIRST), 0.0));
    return list;
}

static json_t *special_tokens(const rf_tokenizer_folder *f, const rf__spm *m)
{
    json_t *list = json_array();
    for (int i = 0; i <= FIRST; i++)
        rf__json_add(&list, json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
                                      (json_int_t)(i < FIRST ? i : FIRST + m->n - OWN), "content", name_of(f, i),
                                      "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1));
    return list;
}

static json_t *frame(const rf_tokenizer_folder *f)
{
    return json_pack("{s:s, s:[s, i], s:[s, i], s:b, s:b}", "type", "RobertaProcessing", "sep", name_of(f, END), END,
                     "cls", name_of(f, BOS), BOS, "trim_offsets", 0, "add_prefix_space", 0);
}

static json_t *metaspace(int prefix)
{
    return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", RF__BLANK, "prepend_scheme",
                     prefix ? "always" : "never", "split", 1);
}

static json_t *as_tokenizer(const rf_tokenizer_folder *f, const rf__spm *m, int prefix)
{
    json_t *all = json_pack("{s:s, s:n, s:n, s:n}", "version", "1.0", "truncation", "padding", "normalizer");
    if (m->normal.raw_size) {
        char *map = rf__calloc(f->ctx, rf__base64_size(m->normal.raw_size) + 1, 1);
        if (map) rf__base64(m->normal.raw, m->normal.raw_size, map);
        rf__json_set(&all, "normalizer",
                     map ? json_pack("{s:s, s:s}", "type", "Precompiled", "precompiled_charsmap", map) : NULL);
        rf__free(f->ctx, map);
    }
    rf__json_set(&all, "added_tokens", special_tokens(f, m));
    rf__json_set(&all, "pre_tokenizer", json_pack("{s:s, s:[{s:s}, o]}", "type", "Sequence", "pretokenizers", "type",
                                                  "WhitespaceSplit", metaspace(prefix)));
    rf__json_set(&all, "post_processor", frame(f));
    rf__json_set(&all, "decoder", metaspace(prefix));
    rf__json_set(&all, "model", json_pack("{s:s, s:i, s:o, s:b}", "type", "Unigram", "unk_id", UNKNOWN, "vocab",
                                          vocabulary(f, m), "byte_fallback", 0));
    return all;
}

rf_status rf__spm_folder_read(rf_tokenizer_folder *f, char **text, size_t *size)
{
    char *data = NULL;
    size_t bytes = 0;
    rf__spm *m = NULL;
    int prefix = 1;
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "add_prefix_space", 1, &prefix);
    if (!status) status = rf__path(f->fast_path, RF_PATH, f->path, MODEL, f->why);
    if (!status) status = rf__read_file(f->ctx, f->fast_path, RF_TOKENIZER_FILE, &data, &bytes, f->why);
    if (!status) status = rf__spm_load(f->ctx, data, bytes, f->fast_path, &m, f->why);
    if (!status && (rf__spm_kind_of(m) != RF_SPM_UNIGRAM || m->n <= OWN))
        status = rf_fail(f->why, RF_EUNSUPPORTED, "%s: expected a unigram model of more than %d pieces, got another "
                         "one", f->fast_path, OWN);
    if (!status) status = rf__folder_made(f, as_tokenizer(f, m, prefix), text, size);
    rf__spm_free(m);
    rf__free(f->ctx, data);
    return status;
}
