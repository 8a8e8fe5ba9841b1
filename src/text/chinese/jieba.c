/* jieba.c — RoFormer's tokenizer for Chinese: jieba's words, and pieces of words that are not in the vocabulary.
 *
 *     text -> cleaned, decomposed, lowered -> words of a dictionary (segment.c)
 *          -> a word of the vocabulary as one token; otherwise each Han character, and pieces of the text between them
 *
 * With Rust rules, this is the RoFormerTokenizer of transformers 5, constructed from a vocabulary; the published models
 * were trained with its behavior.  Its from_pretrained passes the path of vocab.txt to the word filter instead of the
 * vocabulary, and thereby loses every word; this bug is not reproduced.  Python rules are in jieba_slow.c, those of
 * bert4keras in jieba_bert4keras.c.
 *
 * Ids depend on the dictionary: tokenizer_config.json names it, and another one is rejected.                         */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "jieba.h"

#define KEY "word_dictionary"
#define SEGMENTER "word_segmenter"

static const jieba *as_jieba(const rf_tokenizer *t) { return (const jieba *)(const void *)t; }

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

typedef struct scratch {
    rf_piecer piecer;
    rf_jieba_runs runs;
    rf_jieba_slow slow;
    rf_jieba_joined joined;
    rf_jieba_cutter cut;
} scratch;

static void free_scratch(const rf_ctx *ctx, void *own)
{
    scratch *s = own;
    rf__piecer_clear(&s->piecer, ctx);
    rf__jieba_runs_clear(&s->runs);
    rf__jieba_slow_clear(&s->slow);
    rf__jieba_joined_clear(&s->joined, ctx);
    rf__jieba_cut_clear(&s->cut);
    rf__free(ctx, s);
}

static void *get_scratch(const rf_ctx *ctx, void *own, bool others)
{
    scratch *s = own;
    if (s && others) rf__piecer_forget(&s->piecer);
    if (s || !(s = rf__calloc(ctx, 1, sizeof *s))) return s;
    rf__jieba_runs_init(&s->runs, ctx);
    rf__jieba_slow_init(&s->slow, ctx);
    s->cut.ctx = ctx;
    if (rf__piecer_init(&s->piecer, ctx)) return s;
    rf__free(ctx, s);
    return NULL;
}

/* ---- words to tokens --------------------------------------------------------------------------------------------- */

/* A part of a word from byte `from` to `to` with `chars` characters: its pieces, or one [UNK]. */
static size_t add_stretch(const rf_wordpiece *t, rf_piecer *s, const rf_word *w, size_t n, size_t from, size_t to,
                          size_t chars)
{
    if (from == to) return n;
    const size_t more = chars <= (size_t)t->options.max_word
                            ? rf__vocab_pieces(&t->vocab, w->text + from, to - from, s->hash, s->id + n, s->end + n)
                            : 0;
    for (size_t i = 0; i < more; i++) s->end[n + i] += (uint32_t)from;
    if (more) return n + more;
    s->id[n] = t->base.special[RF_UNK];
    s->end[n] = (uint32_t)to;
    return n + 1;
}

/* The word itself if it is in the vocabulary; otherwise each Han character, and the text between them. */
static size_t pieces(const rf_wordpiece *t, rf_piecer *s, const rf_word *w)
{
    const unsigned char *text = (const unsigned char *)w->text;
    size_t n = 0, from = 0, chars = 0;
    if (rf__vocab_find(&t->vocab, w->text, w->size) >= 0) return add_stretch(t, s, w, 0, 0, w->size, w->chars);
    for (size_t at = 0; at < w->size;) {
        const size_t before = at;
        const bool han = rf__unicode_flags(&t->normal.unicode, rf__utf8_get(text, &at)) & RF_HAN;
        chars++;
        if (!han) continue;
        n = add_stretch(t, s, w, n, from, before, chars - 1);
        n = add_stretch(t, s, w, n, before, at, 1);
        from = at;
        chars = 0;
    }
    return add_stretch(t, s, w, n, from, w->size, chars);
}

/* Word i of a run; it begins at character c->end[i - 1]. */
static rf_word word_of(const rf_jieba_cutter *c, const rf_word *run, size_t i)
{
    const size_t from = i ? c->end[i - 1] : 0, begin = c->at[from];
    rf_word w = {.text = run->text + begin, .size = c->at[c->end[i]] - begin, .chars = c->end[i] - from};
    w.at = run->at + begin;
    if (run->from) w.from = run->from + begin, w.to = run->to + begin;
    if (w.size <= RF_KEY) memcpy(w.key, w.text, w.size);
    return w;
}

static inline void put_characters(rf_encoding *e, const rf_jieba_cutter *c, const rf_word *run, int32_t id, size_t from,
                                  size_t to)
{
    const size_t begin = c->at[from], end = c->at[to];
    if (run->from) rf__put_token(e, id, run->from[begin], run->to[end - 1], false);
    else rf__put_token(e, id, (uint32_t)(run->at + begin), (uint32_t)(run->at + end), false);
}

/* A word of the dictionary without a look-up in the vocabulary: its token, or those of its Han characters.  False if it
 * has other characters or is too long. */
static inline bool put_known(const jieba *t, rf_encoding *e, const rf_jieba_cutter *c, const rf_word *run, size_t from,
                             size_t to, uint32_t unit)
{
    const int32_t id = t->known[unit];
    if (to - from > (size_t)t->pieces.options.max_word) return false;
    if (id) return put_characters(e, c, run, id - 1, from, to), true;
    for (size_t i = from; i < to; i++)
        if (!(rf__unicode_flags(&t->pieces.normal.unicode, c->scalar[i]) & RF_HAN)) return false;
    for (size_t i = from; i < to; i++) {
        const int32_t own = t->known[c->code[i]];     /* every character of a word has a unit                         */
        put_characters(e, c, run, own ? own - 1 : t->pieces.base.special[RF_UNK], i, i + 1);
    }
    return true;
}

/* One run of normalized text, without white space. */
static bool put_run(const jieba *t, rf_encoding *e, scratch *s, const rf_word *run)
{
    enum { AHEAD = 4 };
    rf_jieba_cutter *c = &s->cut;
    if (!rf__jieba_cut(c, &t->dictionary, t->kind, run->text, run->size)) return false;
    if (!rf__reserve_tokens(e, c->characters)) return false;
    for (size_t i = 0, from = 0; i < c->n; from = c->end[i++]) {
        if (i + AHEAD < c->n) __builtin_prefetch(&t->known[c->unit[i + AHEAD]]);
        if (c->unit[i] && put_known(t, e, c, run, from, c->end[i], c->unit[i])) continue;
        if (c->end[i] == from + 1 && c->scalar[from] < RF_DICTIONARY_PLANE && t->alone[c->scalar[from]]) {
            put_characters(e, c, run, t->alone[c->scalar[from]] - 1, from, from + 1);
            continue;
        }
        const rf_word w = word_of(c, run, i);
        if (!rf__put_word(&t->pieces, e, &s->piecer, &w, pieces)) return false;
        if (!rf__reserve_tokens(e, c->characters - c->end[i])) return false;
    }
    return true;
}

static bool encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *own)
{
    const jieba *t = as_jieba(any);
    scratch *s = own;
    rf_word run;
    if (t->pieces.options.rules == RF_RULES_BERT4KERAS)
        return rf__jieba_bert4keras_encode(t, e, p, &s->slow, &s->piecer, &s->cut);
    if (t->pieces.options.rules == RF_RULES_WOBERT)
        return rf__jieba_wobert_encode(t, e, p, &s->slow, &s->piecer, &s->cut);
    if (t->pieces.normal.python) return rf__jieba_slow_encode(t, e, p, &s->slow, &s->piecer, &s->cut);
    rf__jieba_runs_start(&s->runs, &t->run, p);
    while (rf__jieba_runs_next(&s->runs, &run))
        if (!put_run(t, e, s, &run)) return false;
    return !s->runs.failed;
}

static bool joined(const rf_tokenizer *any, const int32_t id[], size_t n, uint8_t out[], void *own)
{
    scratch *s = own;
    return rf__jieba_find_joined(as_jieba(any), id, n, out, &s->joined, &s->cut);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* The folder's own dictionary, the one named in the context, or the installed one. */
static rf_status find_dictionary(rf_tokenizer_folder *f, jieba *t)
{
    char path[RF_PATH];
    rf_status status = rf__path(path, sizeof path, f->path, RF_FILE_DICTIONARY, f->why);
    if (status) return status;
    t->own = rf__is_there(f->ctx, path);
    if (t->own) return rf__dictionary_open(f->ctx, path, &t->dictionary, f->why);
    if (f->ctx->dictionary) return rf__dictionary_open(f->ctx, f->ctx->dictionary, &t->dictionary, f->why);
    return rf_fail(f->why, RF_EUNSUPPORTED,
                   "%s: expected a dictionary of words, got none; compile jieba's dict.txt with `roformer dictionary "
                   "dict.txt -o %s`, or in Python `python3 -m roformer_c.dictionary %s`", f->path, path, f->path);
}

/* Marks the words of the dictionary and the characters that are tokens. */
static rf_status mark_words(jieba *t, const char *name, rf_error *why)
{
    const rf_vocab *v = &t->pieces.vocab;
    t->known = rf__calloc(t->pieces.base.ctx, t->dictionary.header->units, sizeof *t->known);
    t->alone = rf__calloc(t->pieces.base.ctx, RF_DICTIONARY_PLANE, sizeof *t->alone);
    if (!t->known || !t->alone)
        return rf_fail(why, RF_ENOMEM, "%s: out of memory for the words of its dictionary", name);
    for (int32_t i = 0; i < v->n; i++) {
        const char *token = rf__vocab_token(v, i);
        const size_t size = rf__vocab_token_size(v, i);
        if (!size || v->hidden[i]) continue;
        size_t next = 0;
        const uint32_t c = rf__utf8_get((const unsigned char *)token, &next);
        const uint32_t unit = rf__dictionary_find(&t->dictionary, token, size);
        if (unit) t->known[unit] = i + 1;
        if (next == size && c < RF_DICTIONARY_PLANE) t->alone[c] = i + 1;
    }
    return RF_OK;
}

static json_t *about_dictionary(const jieba *t)
{
    const rf_dictionary_header *h = t->dictionary.header;
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, h->hash);
    return json_pack("{s:s, s:I, s:I, s:s}", "name", h->name, "words", (json_int_t)h->words, "total",
                     (json_int_t)h->total, "hash", hash);
}

/* Checks that the dictionary agrees with the settings. */
static rf_status check_dictionary(rf_tokenizer_folder *f, const jieba *t)
{
    const json_t *x = json_object_get(f->config, KEY);
    const char *hash = json_string_value(json_object_get(x, "hash")),
               *name = json_string_value(json_object_get(x, "name"));
    if (!x || json_is_null(x)) return RF_OK;
    if (!hash)
        return rf_fail(f->why, RF_EDATA, "%s: " KEY ": expected an object with \"hash\", got %s", f->config_path,
                       rf__json_shown(x).text);
    const rf_dictionary_header *h = t->dictionary.header;
    char own[17];
    snprintf(own, sizeof own, "%016" PRIx64, h->hash);
    if (!strcmp(hash, own)) return RF_OK;
    const rf__label label = rf__printable(name ? name : "(no name)"), theirs = rf__printable(hash);
    return rf_fail(f->why, RF_EDATA,
                   "%s: " KEY ": expected the dictionary \"%.40s\" (%.16s), on which the ids depend, got \"%.40s\" "
                   "(%s); put the expected one into the folder, or remove this key",
                   f->config_path, label.text, theirs.text, h->name, own);
}

/* Whose character classes determine the runs of Han characters. */
static rf_status read_kind(rf_tokenizer_folder *f, jieba *t)
{
    const json_t *x = json_object_get(f->config, SEGMENTER);
    const char *word = json_string_value(x);
    const rf_rules rules = t->pieces.options.rules;
    const bool python = rules == RF_RULES_BERT4KERAS || rules == RF_RULES_WOBERT;           /* they call python's */
    t->kind = word ? (strcmp(word, "jieba") ? RF_JIEBA_RUST : RF_JIEBA_PYTHON)
                   : (python ? RF_JIEBA_PYTHON : RF_JIEBA_RUST);
    if (!x || json_is_null(x) || (word && (!strcmp(word, "jieba") || !strcmp(word, "jieba-rs")))) return RF_OK;
    return rf_fail(f->why, RF_EDATA, "%s: " SEGMENTER ": expected \"jieba-rs\" or \"jieba\", got %s", f->config_path,
                   rf__json_shown(x).text);
}

/* bert4keras has one option, and different ids if a vocabulary contains a line twice. */
static rf_status check_rules(rf_tokenizer_folder *f, const jieba *t)
{
    const rf_tokenizer_options *o = &t->pieces.options;
    if (o->rules == RF_RULES_WOBERT && !o->han_split)
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: tokenize_chinese_chars: expected true for WoBertTokenizer, whose "
                       "words come with it, got false", f->config_path);
    if (o->rules != RF_RULES_BERT4KERAS) return RF_OK;
    if (!o->han_split || (o->strip_accents >= 0 && o->strip_accents != o->lowercase))
        return rf_fail(f->why, RF_EUNSUPPORTED,
                       "%s: tokenize_chinese_chars, strip_accents: expected true and the value of do_lower_case with "
                       "roformer_rules \"bert4keras\", got other values; remove them", f->config_path);
    for (int32_t i = 0; i < t->pieces.vocab.n; i++)
        if (t->pieces.vocab.hidden[i] == RF_HIDDEN)
            return rf_fail(f->why, RF_EUNSUPPORTED,
                           "%s/" RF_FILE_VOCAB ":%d: expected each token once, got it again; bert4keras gives "
                           "both one id: use roformer_rules \"rust\" or \"python\"", f->path, (int)i + 1);
    return RF_OK;
}

static rf_status open_it(rf_tokenizer_folder *f, rf_tokenizer **out)
{
    rf_tokenizer *any = NULL;
    rf_status status = rf__wordpiece_open_as(f, &rf__tokenizer_jieba, &any);
    if (status) return status;
    jieba *t = (jieba *)(void *)any;
    status = check_rules(f, t);
    if (!status) status = read_kind(f, t);
    rf__jieba_normal(&t->run, &t->pieces.options);
    rf__jieba_wobert_normal(&t->told, &t->pieces.normal);
    if (!status) status = find_dictionary(f, t);
    if (!status) status = check_dictionary(f, t);
    if (!status) status = mark_words(t, f->path, f->why);
    if (status) rf_tokenizer_free(any);
    else *out = any;
    return status;
}

rf_status rf__jieba_learned(const rf_tokenizer_trainer *from, const char *vocab, size_t size,
                            const rf_tokenizer_options *options, rf_tokenizer **out, rf_error *why)
{
    const rf_ctx *ctx = from->ctx;
    rf_vocab v = {0};
    rf_tokenizer *any = NULL;
    const rf_tokenizer_parts parts = {.name = "vocabulary"};
    rf_status status = rf__vocab_lines(&v, ctx, vocab, size, "vocabulary", options->rules, NULL, 0, why);
    if (!status) status = rf__wordpiece_make(ctx, &rf__tokenizer_jieba, &v, options, &parts, &any, why);
    if (status) return status;
    jieba *t = (jieba *)(void *)any;
    rf__jieba_normal(&t->run, &t->pieces.options);
    t->own = from->options.dictionary != NULL;
    status = rf__dictionary_open(ctx, rf__jieba_dictionary(&from->options, ctx), &t->dictionary, why);
    if (!status) status = mark_words(t, "vocabulary", why);
    if (status) rf_tokenizer_free(any);
    else *out = any;
    return status;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static void settings(const rf_tokenizer *any, json_t **config)
{
    rf__wordpiece_settings(any, config);
    rf__json_set(config, KEY, about_dictionary(as_jieba(any)));
    const rf_rules rules = as_jieba(any)->pieces.options.rules;
    if (rules == RF_RULES_BERT4KERAS || rules == RF_RULES_WOBERT || as_jieba(any)->kind == RF_JIEBA_PYTHON)
        rf__json_set(config, SEGMENTER, json_string(as_jieba(any)->kind == RF_JIEBA_PYTHON ? "jieba" : "jieba-rs"));
}

static void describe(const rf_tokenizer *any, json_t **about)
{
    rf__wordpiece_describe(any, about);
    rf__json_set(about, "dictionary", about_dictionary(as_jieba(any)));
}

static size_t normalize(const rf_tokenizer *any, uint32_t c, uint32_t out[RF_NORMAL_MOST])
{
    return rf__normal_scalar(&as_jieba(any)->pieces.normal, false, c, out);
}

static uint64_t fingerprint(const rf_tokenizer *any, uint64_t seed)
{
    const uint64_t hash = as_jieba(any)->dictionary.header->hash + (uint64_t)as_jieba(any)->kind;
    return rf__wordpiece_fingerprint(any, rf__hash64(&hash, sizeof hash, seed));
}

/* Saving copies a dictionary that came with the folder. */
static rf_status save(const rf_tokenizer *any, rf_ready_files *to, rf_error *why)
{
    const jieba *t = as_jieba(any);
    const rf_status status = rf__wordpiece_save(any, to, why);
    if (status || !t->own) return status;
    if (rf__ready_copy(any, to, RF_FILE_DICTIONARY, t->dictionary.map.data, t->dictionary.map.size)) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "%s: out of memory for the dictionary", to->folder);
}

static void clear(rf_tokenizer *any)
{
    rf__dictionary_close(any->ctx, &((jieba *)(void *)any)->dictionary);
    rf__free(any->ctx, ((jieba *)(void *)any)->known);
    rf__free(any->ctx, ((jieba *)(void *)any)->alone);
    rf__wordpiece_clear(any);
}

static const char *const classes[] = {"RoFormerTokenizer", "RoFormerTokenizerFast", RF_WOBERT_CLASS, NULL};
static const char *const files[] = {RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER_CONFIG, RF_FILE_VOCAB, NULL};
static const char *const files_with_own[] = {RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER_CONFIG, RF_FILE_VOCAB,
                                             RF_FILE_DICTIONARY, NULL};
static const char *const *files_of(const rf_tokenizer *t) { return as_jieba(t)->own ? files_with_own : files; }
static const char *const holds[] = {RF_FILE_VOCAB, RF_FILE_TOKENIZER, NULL};

const rf_tokenizer_row rf__tokenizer_jieba = {
    .name = "jieba",
    .title = "Chinese words by jieba, WordPiece",
    .classes = classes,
    .files = files,
    .files_of = files_of,
    .holds = holds,
    .transformers = "RoFormerTokenizer",
    .size = sizeof(jieba),
    .open = open_it,
    .training = &rf__jieba_training,
    .save = save,
    .settings = settings,
    .describe = describe,
    .fingerprint = fingerprint,
    .normalize = normalize,
    .clear = clear,
    .encode = encode,
    .scratch = get_scratch,
    .scratch_free = free_scratch,
    .decode = rf__wordpiece_decode,
    .token = rf__wordpiece_token,
    .id = rf__wordpiece_id,
    .continues = rf__wordpiece_continues,
    .joined = joined,
};
