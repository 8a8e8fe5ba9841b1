/* spm_folder.c — tokenizers from a SentencePiece model alone: makes the tokenizer.json that the class of transformers
 * 5 would write, or MBart50- and PegasusTokenizer of version 4, which tokenizer_json.c reads.
 *
 *     XLMRobertaTokenizer and mBART's, sentencepiece.bpe.model; the ids are those of fairseq, one above SentencePiece's
 *         0 <s>   1 <pad>   2 </s>   3 <unk>   4 ... the model's pieces from its third on   [languages]   n <mask>
 *         <s> A </s>, or <s> A </s></s> B </s>; with languages, see languages.c
 *     CamembertTokenizer, sentencepiece.bpe.model
 *         0 <s>NOTUSED   1 <pad>   2 </s>NOTUSED   3 <unk>   4 <unk>NOTUSED   5 ... the pieces from the second on
 *         n <mask>;   <s> A </s>, or <s> A </s></s> B </s>
 *     AlbertTokenizer, spiece.model
 *         0 ... the model's pieces;   [CLS] A [SEP], or [CLS] A [SEP] B [SEP]
 *     XLNetTokenizer, spiece.model
 *         0 <unk>   1 ... the model's pieces;   A <sep> <cls>, or A <sep> B <sep> <cls>
 *     PegasusTokenizer, spiece.model; the ids are `offset` above SentencePiece's
 *         0 <pad>   1 </s>   2 <mask_1>   3 <mask_2>   4 <unk_2> ... <unk_102>   105 ... the pieces from the second on
 *         A </s>
 *     DebertaV2Tokenizer, spm.model: spm_deberta.c
 *     T5Tokenizer, spiece.model
 *         0 ... the model's pieces   n <extra_id_99> ... <extra_id_0>, as many as extra_ids says
 *         A </s>, or A </s> B </s> */
#include <stdio.h>

#include "base/base64.h"
#include "merges.h"
#include "spm_model.h"
#include "text/languages.h"
#include "text/tokenizer.h"

enum { BOS, PAD, END, UNKNOWN, FIRST, OWN = 3 };          /* OWN: pieces of the model that these replace              */

static const struct { const char *key, *usual; } role[] = {
    [BOS] = {"bos_token", "<s>"},      [PAD] = {"pad_token", "<pad>"},   [END] = {"eos_token", "</s>"},
    [UNKNOWN] = {"unk_token", "<unk>"}, [FIRST] = {"mask_token", "<mask>"},
};

static const char *name_of(const rf_tokenizer_folder *f, int i)
{
    return rf__folder_named(f, role[i].key, role[i].usual);
}

json_t *rf__spm_precompiled(const rf_tokenizer_folder *f, const rf__spm *m)
{
    char *map = rf__calloc(f->ctx, rf__base64_size(m->normal.raw_size) + 1, 1);
    if (map) rf__base64(m->normal.raw, m->normal.raw_size, map);
    json_t *all = map ? json_pack("{s:s, s:s}", "type", "Precompiled", "precompiled_charsmap", map) : NULL;
    rf__free(f->ctx, map);
    return all;
}

json_t *rf__spm_metaspace(int prefix)
{
    return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", RF__BLANK, "prepend_scheme",
                     prefix ? "always" : "never", "split", 1);
}

/* A Unigram model with its pipeline. frame: the tokens around a text. */
static json_t *as_tokenizer(const rf_tokenizer_folder *f, const rf__spm *m, int prefix, int unknown, json_t *vocabulary,
                            json_t *added, json_t *frame)
{
    json_t *all = json_pack("{s:s, s:n, s:n, s:n}", "version", "1.0", "truncation", "padding", "normalizer");
    if (m->normal.raw_size) rf__json_set(&all, "normalizer", rf__spm_precompiled(f, m));
    rf__json_set(&all, "added_tokens", added);
    rf__json_set(&all, "pre_tokenizer", json_pack("{s:s, s:[{s:s}, o]}", "type", "Sequence", "pretokenizers", "type",
                                                  "WhitespaceSplit", rf__spm_metaspace(prefix)));
    rf__json_set(&all, "post_processor", frame);
    rf__json_set(&all, "decoder", rf__spm_metaspace(prefix));
    rf__json_set(&all, "model", json_pack("{s:s, s:i, s:o, s:b}", "type", "Unigram", "unk_id", unknown, "vocab",
                                          vocabulary, "byte_fallback", 0));
    return all;
}

static void add_piece(json_t **list, const char *name, double score)
{
    rf__json_add(list, json_pack("[s, f]", name, score));
}

static void add_stripping(json_t **list, int64_t id, const char *name, bool special, bool lstrip)
{
    rf__json_add(list, json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)id, "content", name,
                                 "single_word", 0, "lstrip", lstrip, "rstrip", 0, "normalized", 0, "special", special));
}

static void add_token(json_t **list, int64_t id, const char *name, bool special)
{
    add_stripping(list, id, name, special, false);
}

/* ---- XLM-RoBERTa and mBART --------------------------------------------------------------------------------------- */

static json_t *xlm_roberta_frame(const rf_tokenizer_folder *f)
{
    return json_pack("{s:s, s:[s, i], s:[s, i], s:b, s:b}", "type", "RobertaProcessing", "sep", name_of(f, END), END,
                     "cls", name_of(f, BOS), BOS, "trim_offsets", 0, "add_prefix_space", 0);
}

static rf_status make_xlm_roberta(rf_tokenizer_folder *f, const rf__spm *m, json_t **out)
{
    int prefix = 1;
    const rf_status status = rf__folder_flag(f, f->config_path, f->config, "add_prefix_space", 1, &prefix);
    if (status) return status;
    size_t n;
    int64_t next = FIRST + m->n - OWN;
    const char *const *code = rf__languages_listed(f, &n);
    json_t *pieces = json_array(), *added = json_array();
    for (int i = 0; i < FIRST; i++) add_piece(&pieces, name_of(f, i), 0);
    for (int32_t id = OWN; id < m->n; id++) add_piece(&pieces, m->piece[id].name, (double)m->piece[id].score);
    for (size_t i = 0; i < n; i++) add_piece(&pieces, code[i], 0);
    add_piece(&pieces, name_of(f, FIRST), 0);
    for (int i = 0; i < FIRST; i++) add_token(&added, i, name_of(f, i), true);
    for (size_t i = 0; i < n; i++) add_token(&added, next++, code[i], true);
    add_stripping(&added, next, name_of(f, FIRST), true, code != NULL);
    *out = as_tokenizer(f, m, prefix, UNKNOWN, pieces, added, xlm_roberta_frame(f));
    return RF_OK;
}

/* ---- ALBERT ------------------------------------------------------------------------------------------------------ */

static void add_around(json_t **all, const char *name, int id)
{
    rf__json_set(all, name, json_pack("{s:s, s:[i], s:[s]}", "id", name, "ids", id, "tokens", name));
}

static void add_part(json_t **list, const char *kind, const char *id, int type)
{
    rf__json_add(list, json_pack("{s:{s:s, s:i}}", kind, "id", id, "type_id", type));
}

/* <first> A <last>, or <first> A <last> [<last>] B <last>. first NULL: without it; second: the type of B. */
static json_t *template(const char *first, int first_id, const char *last, int last_id, bool twice, int second)
{
    static const char *const single = "sAe", *const once = "sAeBe", *const again = "sAeeBe";
    json_t *list[2] = {json_array(), json_array()}, *special = json_object();
    for (int pair = 0; pair < 2; pair++) {
        const char *at = !pair ? single : twice ? again : once, *b = strchr(at, 'B');
        for (at += !first; *at; at++) {
            const char text[2] = {*at, 0}, *name = *at == 's' ? first : *at == 'e' ? last : text;
            add_part(&list[pair], name == text ? "Sequence" : "SpecialToken", name, b && at >= b ? second : 0);
        }
    }
    if (first) add_around(&special, first, first_id);
    add_around(&special, last, last_id);
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", list[0], "pair", list[1],
                     "special_tokens", special);
}

static rf_status lacks(const rf_tokenizer_folder *f, const char *key, const char *name)
{
    return rf_fail(f->why, RF_EUNSUPPORTED, "%s: %s: expected a piece of the model, got %s; transformers makes "
                   "tokenizer.json of other models: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)",
                   f->fast_path, key, rf__printable(name).text);
}

/* Control and user-defined pieces are matched in the text, those that have a name among them. */
static void add_own(json_t **added, const rf__spm *m, int32_t from, int offset)
{
    for (int32_t id = from; id < m->n; id++) {
        const bool special = rf__spm_control(m, id);
        if (special || m->piece[id].type == RF_PIECE_USER_DEFINED)
            add_token(added, id + offset, m->piece[id].name, special);
    }
}

static json_t *replace(const char *from)
{
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "String", from, "content", "\"");
}

static json_t *albert_normalizer(bool lower, bool accents, const json_t *charsmap)
{
    json_t *all = json_pack("[o, o]", replace("``"), replace("''"));
    if (!accents) rf__json_add(&all, json_pack("{s:s}", "type", "NFKD"));
    if (!accents) rf__json_add(&all, json_pack("{s:s}", "type", "StripAccents"));
    if (lower) rf__json_add(&all, json_pack("{s:s}", "type", "Lowercase"));
    if (!json_is_null(charsmap)) rf__json_add(&all, json_deep_copy(charsmap));
    return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", all);
}

static rf_status make_albert(rf_tokenizer_folder *f, const rf__spm *m, json_t **out)
{
    enum { ALBERT_UNKNOWN = 1, NAMES = 5, CLS = 2, SEP };
    static const struct { const char *key, *usual; } own[NAMES] = {
        {"pad_token", "<pad>"}, {"unk_token", "<unk>"}, {"cls_token", "[CLS]"}, {"sep_token", "[SEP]"},
        {"mask_token", "[MASK]"}};
    const char *name[NAMES];
    int32_t at[NAMES];
    int prefix = 1, lower = 1, accents = 0;
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "add_prefix_space", 1, &prefix);
    if (!status) status = rf__folder_flag(f, f->config_path, f->config, "do_lower_case", 1, &lower);
    if (!status) status = rf__folder_flag(f, f->config_path, f->config, "keep_accents", 0, &accents);
    for (int i = 0; i < NAMES && !status; i++) {
        name[i] = rf__folder_named(f, own[i].key, own[i].usual);
        at[i] = rf__spm_id(m, name[i]);
        if (at[i] < 0 || (i == ALBERT_UNKNOWN && at[i] != ALBERT_UNKNOWN)) status = lacks(f, own[i].key, name[i]);
    }
    if (status) return status;
    json_t *pieces = json_array(), *added = json_array();
    for (int32_t id = 0; id < m->n; id++) add_piece(&pieces, m->piece[id].name, (double)m->piece[id].score);
    add_own(&added, m, 0, 0);
    for (int i = 0; i < NAMES; i++) add_token(&added, at[i], name[i], true);
    *out = as_tokenizer(f, m, prefix, ALBERT_UNKNOWN, pieces, added,
                        template(name[CLS], at[CLS], name[SEP], at[SEP], false, 1));
    rf__json_set(out, "normalizer", albert_normalizer(lower, accents, json_object_get(*out, "normalizer")));
    return RF_OK;
}

/* ---- XLNet ------------------------------------------------------------------------------------------------------- */

/* Types of <cls> are 2. */
static json_t *xlnet_frame(const char *sep, int sep_id, const char *cls, int cls_id)
{
    json_t *list[2] = {json_array(), json_array()}, *special = json_object();
    for (int pair = 0; pair < 2; pair++) {
        for (int i = 0; i <= pair; i++) {
            add_part(&list[pair], "Sequence", i ? "B" : "A", i);
            add_part(&list[pair], "SpecialToken", sep, i);
        }
        add_part(&list[pair], "SpecialToken", cls, 2);
    }
    add_around(&special, sep, sep_id);
    add_around(&special, cls, cls_id);
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", list[0], "pair", list[1],
                     "special_tokens", special);
}

static rf_status make_xlnet(rf_tokenizer_folder *f, const rf__spm *m, json_t **out)
{
    enum { XLNET_UNKNOWN = 0, SEPARATOR, CLASS, MASK = 3, NAMES = 7 };
    static const struct { const char *key, *usual; } own[NAMES] = {
        {"unk_token", "<unk>"}, {"sep_token", "<sep>"}, {"cls_token", "<cls>"}, {"mask_token", "<mask>"},
        {"pad_token", "<pad>"}, {"bos_token", "<s>"},   {"eos_token", "</s>"}};
    const char *name[NAMES];
    int32_t at[NAMES];
    int lower = 0;
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "do_lower_case", 0, &lower);
    for (int i = 0; i < NAMES && !status; i++) {
        name[i] = rf__folder_named(f, own[i].key, own[i].usual);
        at[i] = rf__spm_id(m, name[i]);
        if (at[i] < 0 || (i == XLNET_UNKNOWN && at[i])) status = lacks(f, own[i].key, name[i]);
    }
    if (status) return status;
    json_t *pieces = json_array(), *added = json_array();
    for (int32_t id = 0; id < m->n; id++) add_piece(&pieces, m->piece[id].name, (double)m->piece[id].score);
    add_own(&added, m, 0, 0);
    for (int i = 0; i < NAMES; i++) add_stripping(&added, at[i], name[i], true, i == MASK);
    *out = as_tokenizer(f, m, true, XLNET_UNKNOWN, pieces, added,
                        xlnet_frame(name[SEPARATOR], at[SEPARATOR], name[CLASS], at[CLASS]));
    rf__json_set(out, "normalizer", albert_normalizer(lower, false, json_object_get(*out, "normalizer")));
    return RF_OK;
}

/* ---- CamemBERT --------------------------------------------------------------------------------------------------- */

/* Five pieces of fairseq's are before those of the model. */
static rf_status make_camembert(rf_tokenizer_folder *f, const rf__spm *m, json_t **out)
{
    enum { SHIFT = 4 };
    const char *pad = name_of(f, PAD), *unknown = name_of(f, UNKNOWN), *mask = name_of(f, FIRST),
               *bos = name_of(f, BOS), *end = name_of(f, END);
    const int32_t first = rf__spm_id(m, bos), last = rf__spm_id(m, end);
    int prefix = 1;
    rf_status status = rf__folder_flag(f, f->config_path, f->config, "add_prefix_space", 1, &prefix);
    if (!status && first < 1) status = lacks(f, "bos_token", bos);
    if (!status && last < 1) status = lacks(f, "eos_token", end);
    if (status) return status;
    json_t *pieces = json_array(), *added = json_array();
    add_piece(&pieces, "<s>NOTUSED", 0);
    add_piece(&pieces, pad, 0);
    add_piece(&pieces, "</s>NOTUSED", 0);
    add_piece(&pieces, unknown, 0);
    add_piece(&pieces, "<unk>NOTUSED", -100);
    for (int32_t id = 1; id < m->n; id++) add_piece(&pieces, m->piece[id].name, (double)m->piece[id].score);
    add_piece(&pieces, mask, 0);
    add_token(&added, 1, pad, true);
    add_token(&added, UNKNOWN, unknown, true);
    add_own(&added, m, 1, SHIFT);
    add_token(&added, first + SHIFT, bos, true);
    add_token(&added, last + SHIFT, end, true);
    add_stripping(&added, SHIFT + m->n, mask, true, true);
    *out = as_tokenizer(f, m, prefix, UNKNOWN, pieces, added,
                        template(bos, first + SHIFT, end, last + SHIFT, true, 0));
    return RF_OK;
}

/* ---- Pegasus ----------------------------------------------------------------------------------------------------- */

typedef struct head { const rf_tokenizer_folder *f; json_t *pieces, *added; int64_t n; } head;

static void add_head(head *h, const char *name, bool mask)
{
    add_piece(&h->pieces, name, 0);
    add_stripping(&h->added, h->n++, name, true, mask);
}

/* Unless the settings say that there is none; false. */
static bool put_named(head *h, const char *key, const char *usual)
{
    const json_t *own = json_object_get(h->f->map, key);
    if (!own) own = json_object_get(h->f->config, key);
    if (own && json_is_null(own)) return false;
    add_head(h, rf__folder_named(h->f, key, usual), !strcmp(key, "mask_token"));
    return true;
}

/* The model's first two pieces are left out. */
static rf_status make_pegasus(rf_tokenizer_folder *f, const rf__spm *m, json_t **out)
{
    enum { OFFSET = 103, MOST = 4096, LEFT_OUT = 2 };
    int prefix = 1, unknown = UNKNOWN;
    const rf_status status = rf__folder_flag(f, f->config_path, f->config, "add_prefix_space", 1, &prefix);
    if (status) return status;
    const json_t *offset = json_object_get(f->config, "offset");
    const int64_t n = offset ? rf__whole_number(offset) : OFFSET;
    head h = {f, json_array(), json_array(), 0};
    put_named(&h, "pad_token", "<pad>");
    put_named(&h, "eos_token", "</s>");
    if (put_named(&h, "mask_token_sent", "<mask_1>")) put_named(&h, "mask_token", "<mask_2>");
    for (int64_t i = 2; i < n && i < MOST; i++) {
        char name[24];
        snprintf(name, sizeof name, "<unk_%d>", (int)i);
        add_head(&h, name, false);
    }
    add_token(&h.added, h.n, "<unk>", true);
    for (int32_t id = LEFT_OUT; id < m->n; id++) {
        if (!strcmp(m->piece[id].name, "<unk>")) unknown = (int)h.n + id - LEFT_OUT;
        add_piece(&h.pieces, m->piece[id].name, (double)m->piece[id].score);
    }
    *out = as_tokenizer(f, m, prefix, unknown, h.pieces, h.added, xlm_roberta_frame(f));
    return RF_OK;
}

/* ---- DeBERTa ----------------------------------------------------------------------------------------------------- */

static rf_status make_deberta(rf_tokenizer_folder *f, const rf__spm *m, json_t **out)
{
    int prefix = 1;
    const rf_status status = rf__folder_flag(f, f->config_path, f->config, "add_prefix_space", 1, &prefix);
    return status ? status : rf__spm_deberta(f, m, prefix, out);
}

/* ---- T5 ---------------------------------------------------------------------------------------------------------- */

enum { T5_UNKNOWN = 2, T5_EXTRA = 100, T5_MOST = 4000 };

static json_t *additional(const rf_tokenizer_folder *f)
{
    json_t *list = json_object_get(f->map, "additional_special_tokens");
    return list ? list : json_object_get(f->config, "additional_special_tokens");
}

/* extra_ids; additional_special_tokens must name as many, or none. */
static rf_status extra_ids(const rf_tokenizer_folder *f, int64_t *out)
{
    const json_t *x = json_object_get(f->config, "extra_ids"), *one;
    size_t i;
    int64_t named = 0;
    *out = x && !json_is_null(x) ? rf__whole_number(x) : T5_EXTRA;
    if (*out < 0 || *out > T5_MOST)
        return rf_fail(f->why, RF_EDATA, "%s: extra_ids: expected an integer from 0 to %d, got %s", f->config_path,
                       T5_MOST, rf__json_shown(x).text);
    json_array_foreach(additional(f), i, one) {
        const char *text = json_string_value(json_is_object(one) ? json_object_get(one, "content") : one);
        named += text && strstr(text, "<extra_id_");
    }
    if (!named || !*out || named == *out) return RF_OK;
    return rf_fail(f->why, RF_EDATA, "%s: additional_special_tokens: expected all of the %lld tokens <extra_id_...> "
                   "that extra_ids asks for, got %lld", f->config_path, (long long)*out, (long long)named);
}

/* Control and user-defined pieces are added tokens, unless the settings list others; the named ones always are. */
static void add_pieces(const rf_tokenizer_folder *f, const rf__spm *m, json_t **pieces, json_t **added)
{
    const bool all = !json_is_array(additional(f));
    for (int32_t id = 0; id < m->n; id++) {
        const char *name = m->piece[id].name;
        const bool named = !strcmp(name, name_of(f, UNKNOWN)) || !strcmp(name, name_of(f, END)) ||
                           !strcmp(name, name_of(f, PAD));
        const bool special = named || (all && rf__spm_control(m, id));
        add_piece(pieces, name, (double)m->piece[id].score);
        if (special || (all && m->piece[id].type == RF_PIECE_USER_DEFINED)) add_token(added, id, name, special);
    }
}

static rf_status make_t5(rf_tokenizer_folder *f, const rf__spm *m, json_t **out)
{
    int64_t extra;
    const char *end = name_of(f, END);
    const int32_t ends = rf__spm_id(m, end);
    rf_status status = extra_ids(f, &extra);
    if (!status && (m->unk != T5_UNKNOWN || ends < 0))
        status = rf_fail(f->why, RF_EUNSUPPORTED, "%s: expected <unk> as piece %d and a piece %s (eos_token), got "
                         "others; transformers makes tokenizer.json of it: "
                         "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)", f->fast_path, T5_UNKNOWN,
                         rf__printable(end).text);
    if (status) return status;
    json_t *pieces = json_array(), *added = json_array();
    add_pieces(f, m, &pieces, &added);
    for (int64_t i = extra; i-- > 0;) {
        char name[32];
        snprintf(name, sizeof name, "<extra_id_%lld>", (long long)i);
        add_piece(&pieces, name, 0);
        add_token(&added, m->n + extra - 1 - i, name, true);
    }
    *out = as_tokenizer(f, m, true, T5_UNKNOWN, pieces, added, template(NULL, 0, end, ends, false, 0));
    return RF_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

typedef struct kind {
    const char *class, *model_type, *file;
    rf_status (*make)(rf_tokenizer_folder *f, const rf__spm *m, json_t **out);
} kind;
static const kind kinds[] = {
    {"XLMRobertaTokenizer", "xlm-roberta", RF__FILE_PIECES, make_xlm_roberta},
    {"MBartTokenizer", "mbart", RF__FILE_PIECES, make_xlm_roberta},
    {"MBart50Tokenizer", NULL, RF__FILE_PIECES, make_xlm_roberta},
    {"CamembertTokenizer", "camembert", RF__FILE_PIECES, make_camembert},
    {"AlbertTokenizer", "albert", RF_FILE_SUBWORDS, make_albert},
    {"XLNetTokenizer", "xlnet", RF_FILE_SUBWORDS, make_xlnet},
    {"PegasusTokenizer", "pegasus", RF_FILE_SUBWORDS, make_pegasus},
    {"DebertaV2Tokenizer", "deberta-v2", "spm.model", make_deberta},
    {"T5Tokenizer", "t5", RF_FILE_SUBWORDS, make_t5},
    {"T5Tokenizer", "umt5", RF_FILE_SUBWORDS, make_t5},
    {"MT5Tokenizer", "mt5", RF_FILE_SUBWORDS, make_t5},
};

static const kind *kind_of(const rf_tokenizer_folder *f, char path[RF_PATH])
{
    for (size_t i = 0; i < RF_COUNT(kinds); i++)
        if (rf__folder_is(f, kinds[i].class, kinds[i].model_type) &&
            !rf__path(path, RF_PATH, f->path, kinds[i].file, NULL) && rf__is_there(f->ctx, path))
            return &kinds[i];
    return NULL;
}

bool rf__spm_folder_has(const rf_tokenizer_folder *f)
{
    char path[RF_PATH];
    return kind_of(f, path) != NULL;
}

rf_status rf__spm_folder_read(rf_tokenizer_folder *f, char **text, size_t *size)
{
    const kind *is = kind_of(f, f->fast_path);
    char *data = NULL;
    size_t bytes = 0;
    rf__spm *m = NULL;
    json_t *all = NULL;
    rf_status status = rf__read_file(f->ctx, f->fast_path, RF_TOKENIZER_FILE, &data, &bytes, f->why);
    if (!status) status = rf__spm_load(f->ctx, data, bytes, f->fast_path, &m, f->why);
    if (!status && (rf__spm_kind_of(m) != RF_SPM_UNIGRAM || m->n <= OWN))
        status = rf_fail(f->why, RF_EUNSUPPORTED, "%s: expected a unigram model of more than %d pieces, got another "
                         "one", f->fast_path, OWN);
    if (!status) status = is->make(f, m, &all);
    if (!status) status = rf__folder_made(f, all, text, size);
    rf__spm_free(m);
    rf__free(f->ctx, data);
    return status;
}
