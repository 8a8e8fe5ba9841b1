/* byte_level_trainer.c — learns byte-level BPE from text (Radford et al. 2019), as a tokenizer.json.
 *
 *     words     those of GPT-2's regex (byte_level.h), each byte a visible character
 *     symbols   [PAD] [UNK] [CLS] [SEP] [MASK], the 256 bytes in the order of their characters, what is merged
 *
 * Symbols and merges are those of Hugging Face's BpeTrainer with the initial alphabet of ByteLevel.  A text is between
 * [CLS] and [SEP]; [MASK] takes the blanks before it, so that the token in its place is a word with its blank. */
#include <stdlib.h>

#include "byte_level.h"
#include "subwords.h"
#include "text/pair_learner.h"
#include "tokenizer_json.h"

enum { FIRST_BYTE = RF_SPECIALS, SYMBOLS = RF_SPECIALS + 256 };
static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

typedef struct learning { rf_counter counter; rf__growing word; } learning;

static rf_status begin(rf_tokenizer_trainer *t, rf_error *why)
{
    const rf_tokenizer_train_options *o = &t->options;
    if (o->tokens < SYMBOLS)
        return rf_fail(why, RF_EARG, "tokens: expected %d or more, for the special tokens and 256 bytes, got %d",
                       SYMBOLS, (int)o->tokens);
    if (o->max_words < 16 || o->max_words > UINT32_MAX / 2)
        return rf_fail(why, RF_EARG, "max_words: expected 16 to %u, got %llu", UINT32_MAX / 2,
                       (unsigned long long)o->max_words);
    learning *l = rf__calloc(t->ctx, 1, sizeof *l);
    if (!l) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory");
    rf__counter_init(&l->counter, t->ctx, (size_t)o->max_words);
    l->word.ctx = t->ctx;
    t->own = l;
    return RF_OK;
}

static void clear(rf_tokenizer_trainer *t)
{
    learning *l = t->own;
    rf__counter_clear(&l->counter);
    rf__free(t->ctx, l->word.at);
    rf__free(t->ctx, l);
}

static bool add_word(learning *l, const char *text, size_t size)
{
    l->word.n = 0;
    for (size_t i = 0; i < size; i++) {
        char utf8[4];
        if (!rf__subwords_append(&l->word, utf8, rf__utf8_encode(rf__byte_scalar((unsigned char)text[i]), utf8)))
            return false;
    }
    return rf__counter_add(&l->counter, l->word.at, l->word.n);
}

static rf_status feed(rf_tokenizer_trainer *t, const char *text, size_t size, rf_error *why)
{
    learning *l = t->own;
    for (size_t at = 0, end; at < size; at = end) {
        end = rf__split_end(&rf__split_gpt2, text, at, size);
        if (!add_word(l, text + at, end - at))
            return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory after %zu different words", l->counter.used);
    }
    return RF_OK;
}

/* ---- as tokenizer.json ------------------------------------------------------------------------------------------- */

static json_t *name_of(const rf__learner *l, int32_t id)
{
    const rf__symbol *s = &l->symbol[id];
    return json_stringn(l->text + s->at, s->size);
}

static json_t *model_of(const rf__learner *l)
{
    json_t *model = json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b}", "type", "BPE", "dropout", "unk_token",
                              "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                              "ignore_merges", 0);
    json_t *vocab = json_object(), *merges = json_array();
    for (size_t i = 0; i < l->symbols && vocab; i++) {
        json_t *name = name_of(l, (int32_t)i);
        if (name) rf__json_set(&vocab, json_string_value(name), json_integer((json_int_t)i));
        else json_decref(vocab), vocab = NULL;
        json_decref(name);
    }
    for (size_t i = 0; i < l->merges && merges; i++)
        rf__json_add(&merges, json_pack("[o, o]", name_of(l, (int32_t)(l->merge[i] >> 32)),
                                        name_of(l, (int32_t)(l->merge[i] & UINT32_MAX))));
    rf__json_set(&model, "vocab", vocab);
    rf__json_set(&model, "merges", merges);
    return model;
}

static json_t *part(const char *kind, const char *id, int type)
{
    return json_pack("{s:{s:s, s:i}}", kind, "id", id, "type_id", type);
}

static json_t *template_of(void)
{
    json_t *x = json_pack("{s:s}", "type", "TemplateProcessing"), *ids = json_object();
#define TOKEN(name) part("SpecialToken", name, 0)
#define TEXT(name, type) part("Sequence", name, type)
    rf__json_set(&x, "single", json_pack("[o, o, o]", TOKEN("[CLS]"), TEXT("A", 0), TOKEN("[SEP]")));
    rf__json_set(&x, "pair", json_pack("[o, o, o, o, o]", TOKEN("[CLS]"), TEXT("A", 0), TOKEN("[SEP]"), TEXT("B", 1),
                                       part("SpecialToken", "[SEP]", 1)));
#undef TOKEN
#undef TEXT
    for (int i = 2; i < 4; i++)
        rf__json_set(&ids, special[i], json_pack("{s:s, s:[i], s:[s]}", "id", special[i], "ids", i, "tokens",
                                                 special[i]));
    rf__json_set(&x, "special_tokens", ids);
    return x;
}

static json_t *level(int prefix)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", prefix, "trim_offsets", 1,
                     "use_regex", 1);
}

static json_t *tokenizer_of(const rf__learner *l)
{
    json_t *all = json_pack("{s:s, s:n, s:n}", "version", "1.0", "truncation", "padding"), *added = json_array();
    for (int i = 0; i < RF_SPECIALS; i++)
        rf__json_add(&added, json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", i, "content", special[i],
                                       "single_word", 0, "lstrip", !strcmp(special[i], "[MASK]"), "rstrip", 0,
                                       "normalized", 0, "special", 1));
    rf__json_set(&all, "added_tokens", added);
    rf__json_set(&all, "normalizer", json_null());
    rf__json_set(&all, "pre_tokenizer", level(0));
    rf__json_set(&all, "post_processor", template_of());
    rf__json_set(&all, "decoder", level(1));
    rf__json_set(&all, "model", model_of(l));
    return all;
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool make_symbols(rf__learner *l)
{
    uint32_t byte[256];
    for (unsigned i = 0; i < 256; i++) byte[i] = rf__byte_scalar(i);
    qsort(byte, 256, sizeof *byte, by_number);
    for (int i = 0; i < RF_SPECIALS; i++)
        if (rf__learner_symbol(l, special[i], strlen(special[i]), false) < 0) return false;
    for (unsigned i = 0; i < 256; i++) {
        char utf8[4];
        if (rf__learner_symbol(l, utf8, rf__utf8_encode(byte[i], utf8), false) < 0) return false;
    }
    return true;
}

static rf_status finish(rf_tokenizer_trainer *t, rf_tokenizer **out, rf_error *why)
{
    const rf_tokenizer_train_options *o = &t->options;
    const learning *own = t->own;
    rf__learner l = {.ctx = t->ctx};
    if (!own->counter.used) return rf_fail(why, RF_EDATA, "vocabulary: there is no word in the text to learn from");
    const bool good = rf__learner_begin(&l, &own->counter, (size_t)o->tokens) && make_symbols(&l) &&
                      rf__learner_run(&l, &own->counter, (size_t)o->tokens, o->least ? o->least : 2, o->progress,
                                      o->user);
    json_t *json = good ? tokenizer_of(&l) : NULL;
    rf__learner_clear(&l);
    if (!json) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory for %zu words", own->counter.used);
    const rf_status status = rf__fast_bpe_of(t->ctx, json, "vocabulary", out, why);
    json_decref(json);
    return status;
}

const rf_tokenizer_training rf__byte_level_training = {
    .uses = RF_TRAIN_LEAST | RF_TRAIN_MAX_WORDS,
    .begin = begin,
    .feed = feed,
    .finish = finish,
    .clear = clear,
};
