/* spm_deberta.c — the tokenizer of DeBERTa's versions 2 and 3 from spm.model alone: makes the tokenizer.json that
 * transformers' DebertaV2Tokenizer would write, which tokenizer_json.c reads.
 *
 *     0 ... n-1   the model's pieces, with the special tokens among them     n ...   those it lacks: [MASK]
 *
 * [CLS] A [SEP], or [CLS] A [SEP] B [SEP].  do_lower_case lowercases first; split_by_punct cuts before and after each
 * punctuation character.  The class of transformers 4 normalizes with the model's charsmap, as the models were trained;
 * that of transformers 5 leaves it out.  The version that wrote the folder is followed; the authors' folders name none
 * and are older. */
#include "merges.h"
#include "spm_model.h"

enum { UNKNOWN = 2, SEP = 3, CLS = 5, NAMES = 7 };

/* In the order of transformers, which determines the ids of those that the model lacks. */
static const struct { const char *key, *usual; } role[NAMES] = {
    {"bos_token", "[CLS]"}, {"eos_token", "[SEP]"}, {"unk_token", "[UNK]"},  {"sep_token", "[SEP]"},
    {"pad_token", "[PAD]"}, {"cls_token", "[CLS]"}, {"mask_token", "[MASK]"},
};

typedef struct made { rf_tokenizer_folder *f; const rf__spm *m; json_t *list; int32_t next; bool new; } made;

static const char *name_of(const made *o, int i)
{
    return rf__folder_named(o->f, role[i].key, role[i].usual);
}

/* The id of a token in the list, or -1. */
static json_int_t id_of(const made *o, const char *name)
{
    size_t i;
    const json_t *x;
    json_array_foreach(o->list, i, x)
        if (!strcmp(json_string_value(json_object_get(x, "content")), name))
            return json_integer_value(json_object_get(x, "id"));
    return -1;
}

static void add(made *o, const char *name, int32_t id, bool special, bool normalized)
{
    rf__json_add(&o->list, json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)(id < 0 ? o->next++ : id),
                                     "content", name, "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized",
                                     normalized, "special", special));
}

/* The first of the special tokens with this name, or NAMES. */
static int role_of(const made *o, const char *name)
{
    int i = 0;
    while (i < NAMES && strcmp(name_of(o, i), name) != 0) i++;
    return i;
}

static bool is_apart(const rf__spm_piece_row *p)
{
    return p->type == RF_PIECE_CONTROL || p->type == RF_PIECE_USER_DEFINED;
}

/* Control pieces and special tokens are special, user-defined pieces are not; all are matched before the rest. */
static void add_tokens(made *o)
{
    for (int32_t id = 0; id < o->m->n; id++) {
        const rf__spm_piece_row *p = &o->m->piece[id];
        if (is_apart(p)) add(o, p->name, id, p->type == RF_PIECE_CONTROL || role_of(o, p->name) < NAMES, false);
    }
    for (int i = 0; i < NAMES; i++) {
        const char *name = name_of(o, i);
        const int32_t id = rf__spm_find(o->m, name, strlen(name));
        if (role_of(o, name) == i && (id < 0 || !is_apart(&o->m->piece[id])))
            add(o, name, id, true, i == UNKNOWN && !o->new);
    }
}

static json_t *replace(const char *regex)
{
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "Regex", regex, "content", " ");
}

static json_t *strip(int left)
{
    return json_pack("{s:s, s:b, s:b}", "type", "Strip", "strip_left", left, "strip_right", 1);
}

static json_t *normalizer(const made *o, int lower)
{
    json_t *steps = json_array();
    if (lower) rf__json_add(&steps, json_pack("{s:s}", "type", "Lowercase"));
    if (o->new) {
        rf__json_add(&steps, replace("\\s{2,}|[\n\r\t]"));
        rf__json_add(&steps, json_pack("{s:s}", "type", "NFC"));
        rf__json_add(&steps, strip(0));
    } else {
        rf__json_add(&steps, strip(1));
        if (o->m->normal.raw_size) rf__json_add(&steps, rf__spm_precompiled(o->f, o->m));
        rf__json_add(&steps, replace(" {2,}"));
    }
    return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps);
}

static json_t *pre_tokenizer(int prefix, int split)
{
    json_t *steps = json_array();
    if (split) rf__json_add(&steps, json_pack("{s:s, s:s}", "type", "Punctuation", "behavior", "Isolated"));
    rf__json_add(&steps, rf__spm_metaspace(prefix));
    return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", steps);
}

static json_t *frame(const made *o)
{
    const char *sep = name_of(o, SEP), *cls = name_of(o, CLS);
    return json_pack("{s:s, s:[s, I], s:[s, I]}", "type", "BertProcessing", "sep", sep, id_of(o, sep), "cls", cls,
                     id_of(o, cls));
}

static json_t *model(const rf__spm *m)
{
    json_t *list = json_array();
    for (int32_t id = 0; id < m->n; id++)
        rf__json_add(&list, json_pack("[s, f]", m->piece[id].name, (double)m->piece[id].score));
    return json_pack("{s:s, s:i, s:o, s:b}", "type", "Unigram", "unk_id", (int)m->unk, "vocab", list, "byte_fallback",
                     0);
}

rf_status rf__spm_deberta(rf_tokenizer_folder *f, const rf__spm *m, int prefix, json_t **out)
{
    made o = {.f = f, .m = m, .list = json_array(), .next = m->n};
    int lower = 0, split = 0;
    rf_status status = rf__folder_is_new(f, &o.new);
    if (!status) status = rf__folder_flag(f, f->config_path, f->config, "do_lower_case", 0, &lower);
    if (!status) status = rf__folder_flag(f, f->config_path, f->config, "split_by_punct", 0, &split);
    if (status) return json_decref(o.list), status;
    if (!o.new) prefix = 1;
    add_tokens(&o);
    json_t *all = json_pack("{s:s, s:n, s:n}", "version", "1.0", "truncation", "padding");
    rf__json_set(&all, "post_processor", frame(&o));
    rf__json_set(&all, "added_tokens", o.list);
    rf__json_set(&all, "normalizer", normalizer(&o, lower));
    rf__json_set(&all, "pre_tokenizer", pre_tokenizer(prefix, split));
    rf__json_set(&all, "decoder", rf__spm_metaspace(prefix));
    rf__json_set(&all, "model", model(m));
    *out = all;
    return RF_OK;
}
