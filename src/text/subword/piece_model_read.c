/* piece_model_read.c — the member "model" of a tokenizer.json.
 *
 *     Unigram    {"unk_id": 0, "vocab": [["piece", log p], ...]}
 *     BPE        {"vocab": {"piece": id, ...}, "merges": [["a", "b"], ...] or ["a b", ...], "unk_token": "<unk>", ...}
 *     WordPiece  {"vocab": {...}, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
 *                "max_input_chars_per_word": 100}
 *     WordLevel  {"vocab": {...}, "unk_token": "<unk>"}
 *
 * Files of tokenizers before 0.9 have no "type": the first kind whose members are there is taken. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "piece_model.h"
#include "spm_model.h"
#include "subwords.h"

enum { MOST_PIECES = 1 << 24 };

static const char *const kind_name[RF_PIECE_KINDS] = {
    [RF_PIECES_BPE] = "BPE", [RF_PIECES_WORDPIECE] = "WordPiece", [RF_PIECES_WORDLEVEL] = "WordLevel",
    [RF_PIECES_UNIGRAM] = "Unigram"};

static bool has_members(const json_t *model, rf__piece_kind kind)
{
    const json_t *vocab = json_object_get(model, "vocab");
    const bool unk = json_is_string(json_object_get(model, "unk_token"));
    if (kind == RF_PIECES_UNIGRAM) return json_is_array(vocab);
    if (!json_is_object(vocab)) return false;
    if (kind == RF_PIECES_BPE) return json_is_array(json_object_get(model, "merges"));
    return unk && (kind == RF_PIECES_WORDLEVEL ||
                   (json_is_string(json_object_get(model, "continuing_subword_prefix")) &&
                    json_is_number(json_object_get(model, "max_input_chars_per_word"))));
}

const char *rf__model_kind(const json_t *model)
{
    const char *type = json_string_value(json_object_get(model, "type"));
    for (int i = 0; i < RF_PIECE_KINDS; i++)
        if (type ? !strcmp(type, kind_name[i]) : has_members(model, (rf__piece_kind)i)) return kind_name[i];
    return NULL;
}

static rf_status no_memory(const char *path, rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
}

/* `bytes` of names, terminated by zeros, and n ids. */
static bool prepare(rf__piece_model *p, size_t bytes, int32_t n)
{
    p->n = n;
    p->names = rf__alloc(p->ctx, (p->nul ? 2 : 1) * bytes + 1);
    p->token = rf__calloc(p->ctx, (size_t)n + 1, sizeof *p->token);
    return p->names && p->token && rf__trie_begin(&p->names_trie, p->ctx);
}

static rf_status put_piece(rf__piece_model *p, char **name, const rf__piece *piece, int64_t id, const char *path,
                           rf_error *why)
{
    const char *const text = piece->name;
    const size_t size = piece->size + 1;
    if (id < 0 || id >= p->n)
        return rf_fail(why, RF_EDATA, "%s: model.vocab: \"%.60s\": expected an id from 0 to %d, got %lld", path,
                       rf__printable(text).text, (int)p->n - 1, (long long)id);
    if (p->token[id])
        return rf_fail(why, RF_EDATA, "%s: model.vocab: id %lld belongs to \"%.60s\" and to \"%.60s\"", path,
                       (long long)id, rf__printable(p->token[id]).text, rf__printable(text).text);
    p->token[id] = memcpy(*name, text, size);
    *name += size;
    if (!p->nul)
        return rf__trie_add(&p->names_trie, p->ctx, text, size - 1, (int32_t)id) ? RF_OK : no_memory(path, why);
    char *own = memcpy(*name, text, size);
    *name += size;
    return rf__trie_add(&p->names_trie, p->ctx, own, rf__json_show_nul(own, size - 1), (int32_t)id)
               ? RF_OK : no_memory(path, why);
}

/* The id of a piece by its name in the file; -1: none, or out of memory. */
static int32_t find_name(const rf__piece_model *p, const char *name, size_t size)
{
    if (!p->nul) return rf__piece_model_find(p, name, size);
    char *own = rf__alloc(p->ctx, size + 1);
    if (own) memcpy(own, name, size);
    const int32_t id = own ? rf__piece_model_find(p, own, rf__json_show_nul(own, size)) : -1;
    rf__free(p->ctx, own);
    return id;
}

static void find_bytes(rf__piece_model *p)
{
    for (int i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
        p->byte[i] = rf__piece_model_find(p, name, strlen(name));
    }
}

/* [["piece", log p], ...] and unk_id. */
static rf_status read_unigram(rf__piece_model *p, const json_t *model, const rf__vocabulary *from, const char *path,
                              rf_error *why)
{
    const json_t *list = json_object_get(model, "vocab"), *unknown = json_object_get(model, "unk_id");
    const size_t n = json_is_array(list) ? from->n : 0;
    const int64_t unk = rf__whole_number(unknown);
    size_t bytes = 0;
    rf_status status = RF_OK;
    if (!n || n > MOST_PIECES)
        return rf_fail(why, RF_EDATA, "%s: model.vocab: expected a list of 1 to %d pieces, got %s", path, MOST_PIECES,
                       rf__json_shown(list).text);
    if (unknown && !json_is_null(unknown) && (unk < 0 || unk >= (int64_t)n))
        return rf_fail(why, RF_EDATA,
                       "%s: model.unk_id: expected a number from 0 to %zu, the piece for unknown text, got %s", path,
                       n - 1, rf__json_shown(unknown).text);
    for (size_t i = 0; i < n; i++) bytes += from->piece[i].size + 1;
    p->score = rf__calloc(p->ctx, n, sizeof *p->score);
    if (!p->score || !prepare(p, bytes, (int32_t)n)) return no_memory(path, why);
    char *name = p->names;
    p->pieces = (int32_t)n;
    p->must = true;
    p->unk = (int32_t)unk;
    p->lowest = INFINITY;
    for (size_t i = 0; i < n && !status; i++) {
        p->score[i] = from->piece[i].value;
        if (p->score[i] < p->lowest) p->lowest = p->score[i];
        status = put_piece(p, &name, &from->piece[i], (int64_t)i, path, why);
    }
    return status;
}

/* "a b", or ["a", "b"]: the result is a, then b without the prefix of what continues a word.  Of equal pairs the last
 * one counts. */
static rf_status read_merge(rf__piece_model *p, const rf__piece_pair *x, size_t rank, rf__growing *both_names,
                            const char *path, rf_error *why)
{
    const char *a = x->a, *blank = x->b ? NULL : strchr(a, ' '), *b = blank ? blank + 1 : x->b;
    const size_t a_size = blank ? (size_t)(blank - a) : x->a_size, b_size = b ? strlen(b) : 0;
    both_names->n = 0;
    if (!b || b_size < p->prefix_size || (blank && strchr(b, ' ')))
        return rf_fail(why, RF_EDATA, "%s: model.merges: merge %zu: expected two pieces, got \"%.60s\"", path, rank,
                       rf__printable(x->b ? x->b : a).text);
    if (!rf__subwords_append(both_names, a, a_size) ||
        !rf__subwords_append(both_names, b + p->prefix_size, b_size - p->prefix_size))
        return no_memory(path, why);
    const int32_t left = find_name(p, a, a_size), right = find_name(p, b, b_size);
    const int32_t to = rf_utf8_check(both_names->at, both_names->n) < both_names->n
                           ? -1 : find_name(p, both_names->at, both_names->n);
    if (left < 0 || right < 0 || to < 0)
        return rf_fail(why, RF_EDATA,
                       "%s: model.merges: merge %zu, of \"%.60s\": expected pieces of the vocabulary, got another one",
                       path, rank, rf__printable(a).text);
    rf__pair_slot *s = rf__pair_make(p->ctx, &p->merges, rf__pair_key((uint32_t)left, (uint32_t)right));
    if (!s) return no_memory(path, why);
    s->a = (uint32_t)rank;
    s->b = (uint32_t)to;
    return RF_OK;
}

/* In a list of texts, lines of merges.txt, "#version: 0.2" is none. */
static rf_status read_merges(rf__piece_model *p, const json_t *model, const rf__vocabulary *from, const char *path,
                             rf_error *why)
{
    const json_t *list = json_object_get(model, "merges");
    rf__growing names = {.ctx = p->ctx};
    rf_status status = RF_OK;
    if (!json_is_array(list)) return rf_fail(why, RF_EDATA, "%s: model.merges: expected a list, got %s", path,
                                             rf__json_shown(list).text);
    for (size_t i = 0; i < from->merges && !status; i++)
        if (strncmp(from->merge[i].a, "#version", strlen("#version")) != 0 || from->merge[i].b)
            status = read_merge(p, &from->merge[i], i, &names, path, why);
    rf__free(p->ctx, names.at);
    return status;
}

static rf_status read_affix(const rf__piece_model *p, const json_t *model, const char *key, char **out, size_t *size,
                            const char *path, rf_error *why)
{
    const char *text = json_string_value(json_object_get(model, key));
    *size = text ? strlen(text) : 0;
    if (*size && !(*out = rf__strdup(p->ctx, text))) return no_memory(path, why);
    return RF_OK;
}

/* {"piece": id, ...} */
static rf_status read_vocab(rf__piece_model *p, const json_t *model, const rf__vocabulary *from, const char *path,
                            rf_error *why)
{
    const json_t *map = json_object_get(model, "vocab");
    const size_t n = json_is_object(map) ? from->n : 0;
    size_t bytes = 0;
    int64_t most = -1;
    rf_status status = RF_OK;
    for (size_t i = 0; i < n; i++) {
        most = rf__max64(most, rf__whole(from->piece[i].value));
        bytes += from->piece[i].size + 1;
    }
    if (!n || most < 0 || most >= MOST_PIECES || (uint64_t)most > 4 * (uint64_t)n + 65536)
        return rf_fail(why, RF_EDATA, "%s: model.vocab: expected an object of pieces with ids below %d, got %s", path,
                       MOST_PIECES, rf__json_shown(map).text);
    if (!prepare(p, bytes, (int32_t)most + 1)) return no_memory(path, why);
    p->pieces = (int32_t)n;
    char *name = p->names;
    for (size_t i = 0; i < n && !status; i++)
        status = put_piece(p, &name, &from->piece[i], rf__whole(from->piece[i].value), path, why);
    return status;
}

/* Whether U+2581 is a piece, and occurs in pieces only at their beginning. */
static bool begins_pieces(const rf__piece_model *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const char *at = p->token[i] ? p->token[i] : "";
        while (!strncmp(at, RF__BLANK, sizeof RF__BLANK - 1)) at += sizeof RF__BLANK - 1;
        if (strstr(at, RF__BLANK)) return false;
    }
    return rf__piece_model_find(p, RF__BLANK, sizeof RF__BLANK - 1) >= 0;
}

/* The members of BPE, WordPiece and WordLevel. */
static rf_status read_words(rf__piece_model *p, const json_t *model, const rf__vocabulary *from, const char *path,
                            rf_error *why)
{
    const json_t *unk = json_object_get(model, "unk_token"),
                 *longest = json_object_get(model, "max_input_chars_per_word");
    rf_status status = read_vocab(p, model, from, path, why);
    if (!status && p->kind != RF_PIECES_WORDLEVEL)
        status = read_affix(p, model, "continuing_subword_prefix", &p->prefix, &p->prefix_size, path, why);
    if (status) return status;
    if (json_is_string(unk)) p->unk = rf__piece_model_find(p, json_string_value(unk), json_string_length(unk));
    p->must = p->kind != RF_PIECES_BPE || json_is_string(unk);
    p->longest = longest ? (size_t)json_number_value(longest) : 100;
    if (p->kind != RF_PIECES_BPE) return RF_OK;
    p->fuse = json_is_true(json_object_get(model, "fuse_unk"));
    p->whole = json_is_true(json_object_get(model, "ignore_merges"));
    p->dropout = json_number_value(json_object_get(model, "dropout"));
    status = read_affix(p, model, "end_of_word_suffix", &p->suffix, &p->suffix_size, path, why);
    if (!status) status = read_merges(p, model, from, path, why);
    p->apart = p->must && !p->whole && !p->prefix_size && !p->suffix_size && begins_pieces(p);
    return status;
}

static bool is_pair(const json_t *x)
{
    return json_array_size(x) == 2 && json_is_string(json_array_get(x, 0)) && json_is_string(json_array_get(x, 1));
}

/* Names the first piece or merge that has another shape, if one has. */
static rf_status check_shapes(const json_t *model, const char *path, rf_error *why)
{
    json_t *vocab = json_object_get(model, "vocab"), *x;
    const char *key;
    size_t i;
    json_array_foreach(vocab, i, x)
        if (json_array_size(x) != 2 || !json_is_string(json_array_get(x, 0)) || !json_is_number(json_array_get(x, 1)))
            return rf_fail(why, RF_EDATA, "%s: model.vocab: piece %zu: expected a text and a number, got %s", path, i,
                           rf__json_shown(x).text);
    json_object_foreach(vocab, key, x)
        if (!json_is_number(x))
            return rf_fail(why, RF_EDATA, "%s: model.vocab: \"%.60s\": expected an id, got %s", path,
                           rf__printable(key).text, rf__json_shown(x).text);
    json_array_foreach(json_object_get(model, "merges"), i, x)
        if (!json_is_string(x) && !is_pair(x))
            return rf_fail(why, RF_EDATA, "%s: model.merges: merge %zu: expected two pieces, got %s", path, i,
                           rf__json_shown(x).text);
    return RF_OK;
}

rf_status rf__piece_model_read(rf__piece_model *p, const rf_ctx *ctx, const json_t *model, const rf__vocabulary *from,
                               bool nul, const char *path, rf_error *why)
{
    const char *kind = rf__model_kind(model);
    *p = (rf__piece_model){.ctx = ctx, .unk = -1, .nul = nul};
    if (!kind)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: model: type: expected BPE, WordPiece, WordLevel or Unigram, got %s",
                       path, rf__json_shown(json_object_get(model, "type")).text);
    while (strcmp(kind, kind_name[p->kind]) != 0) p->kind++;
    p->bytes = p->kind != RF_PIECES_WORDPIECE && p->kind != RF_PIECES_WORDLEVEL &&
               json_is_true(json_object_get(model, "byte_fallback"));
    rf_status status = from->n ? RF_OK : check_shapes(model, path, why);
    if (!status) status = (p->kind == RF_PIECES_UNIGRAM ? read_unigram : read_words)(p, model, from, path, why);
    if (!status) find_bytes(p);
    return status;
}

void rf__piece_model_clear(rf__piece_model *p)
{
    rf__free(p->ctx, p->names);
    rf__free(p->ctx, (void *)p->token);
    rf__trie_clear(&p->names_trie, p->ctx);
    rf__free(p->ctx, p->merges.slot);
    rf__free(p->ctx, p->score);
    rf__free(p->ctx, p->prefix);
    rf__free(p->ctx, p->suffix);
}
