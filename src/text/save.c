/* save.c — writing the tokenizer's files into a model folder. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "text.h"

enum { MAX_PATH = 4096 };

static rf_status write_file(const rf_tokenizer *t, const char *folder, const char *name, const void *data, size_t size,
                            rf_error *why)
{
    char path[MAX_PATH];
    const rf_status status = rf__path(path, sizeof path, folder, name, why);
    return status ? status : rf__replace_file(t->ctx, path, data, size, why);
}

/* Added tokens that follow the vocabulary stay out of vocab.txt, where they would become pieces.  An id without a token
 * would become a token of its own: it is written as the last token instead, of which the last line counts. */
static rf_status vocab_text(const rf_tokenizer *t, const char *folder, char **out, size_t *bytes, rf_error *why)
{
    const rf_vocab *v = &t->vocab;
    if (t->bare)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: the tokenizer puts nothing around a text, which vocab.txt cannot "
                       "say: its tokenizer.json needs a post_processor", folder);
    int32_t last = v->n - 1;
    while (last > 0 && v->hidden[last]) last--;
    for (int32_t i = 0; i < v->n; i++)
        if (i < last ? v->hidden[i] == RF_ALONE : i > last && v->hidden[i] != RF_ALONE)
            return rf_fail(why, RF_EUNSUPPORTED,
                           "%s: the added tokens do not follow the vocabulary without gaps (id %d)", folder, (int)i);
    size_t size = 0;
    for (int32_t i = 0; i <= last && t->options.rules == RF_RULES_RUST; i++)
        if (rf__vocab_trimmed(rf__vocab_token(v, i), 0, rf__vocab_token_size(v, i)) != rf__vocab_token_size(v, i))
            return rf_fail(
                why, RF_EUNSUPPORTED,
                "%s: token %d ends in white space, which vocab.txt cannot hold: take it out of tokenizer.json", folder,
                (int)i);
    for (int32_t i = 0; i <= last; i++)
        size += rf__vocab_token_size(v, v->hidden[i] && !*rf__vocab_token(v, i) ? last : i) + 1;
    char *text = rf__alloc(t->ctx, size), *to = text;
    if (!text) return rf_fail(why, RF_ENOMEM, "%s: no memory for vocab.txt", folder);
    for (int32_t i = 0; i <= last; i++) {
        const int32_t id = v->hidden[i] && !*rf__vocab_token(v, i) ? last : i;
        memcpy(to, rf__vocab_token(v, id), rf__vocab_token_size(v, id));
        to += rf__vocab_token_size(v, id);
        *to++ = '\n';
    }
    *out = text;
    *bytes = size;
    return RF_OK;
}

static json_t *specials(const rf_tokenizer *t)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "unk_token", t->name[RF_UNK], "cls_token", t->name[RF_CLS],
                     "sep_token", t->name[RF_SEP], "pad_token", t->name[RF_PAD], "mask_token", t->name[RF_MASK]);
}

static json_t *added_tokens(const rf_tokenizer *t)
{
    json_t *all = json_object();
    for (size_t i = 0; i < t->added_n; i++) {
        const rf_added *a = &t->added[i];
        char id[16];
        snprintf(id, sizeof id, "%d", (int)a->id);
        rf__json_set(&all, id, json_pack("{s:s%, s:b, s:b, s:b, s:b, s:b}", "content", a->text, a->size,
                                         "lstrip", a->lstrip, "normalized", 0, "rstrip", a->rstrip, "single_word", 0,
                                         "special", a->special));
    }
    return all;
}

static json_t *settings(const rf_tokenizer *t)
{
    const rf_tokenizer_options *o = &t->options;
    json_t *all = specials(t);
    rf__json_set(&all, "added_tokens_decoder", added_tokens(t));
    rf__json_set(&all, "tokenizer_class", json_string("BertTokenizer"));
    rf__json_set(&all, "do_lower_case", json_boolean(o->lowercase));
    rf__json_set(&all, "strip_accents", o->strip_accents < 0 ? json_null() : json_boolean(o->strip_accents));
    rf__json_set(&all, "tokenize_chinese_chars", json_boolean(o->han_split));
    if (o->max_word != RF_MAX_WORD_USUAL)
        rf__json_set(&all, "max_input_chars_per_word", json_integer(o->max_word));
    rf__json_set(&all, "roformer_rules", json_string(o->rules == RF_RULES_PYTHON ? "python" : "rust"));
    return all;
}

/* `value`, which is taken, as the text of a file that ends with a line end; freed with free(). */
static char *json_text(json_t *value, size_t *size)
{
    char *text = value ? rf__json_dump(value, JSON_INDENT(2)) : NULL;
    json_decref(value);
    if (!text) return NULL;
    *size = strlen(text) + 1;
    text[*size - 1] = '\n';                                /* in the place of the terminating zero                    */
    return text;
}

rf_status rf__tokenizer_savable(const rf_tokenizer *t, const char *folder, rf_error *why)
{
    char *text = NULL;
    size_t bytes;
    const rf_status status = vocab_text(t, folder, &text, &bytes, why);
    rf__free(t->ctx, text);
    return status;
}

/* A tokenizer.json would be read before vocab.txt, and says what was true of the tokens that were there until now.
 * *aside is its new name, or "" when there was none. */
static rf_status set_aside(const char *folder, char *path, char *aside, rf_error *why)
{
    char name[64] = RF__REPLACED;
    *aside = 0;
    rf_status status = rf__path(path, MAX_PATH, folder, "tokenizer.json", why);
    if (status || access(path, F_OK)) return status;
    for (int i = 2; i < 10000; i++) {
        status = rf__path(aside, MAX_PATH, folder, name, why);
        if (status) return status;
        if (access(aside, F_OK))
            return !rename(path, aside) ? RF_OK : rf_fail(why, RF_EIO, "%s: cannot rename to %s: %s", path, aside,
                                                          strerror(errno));
        snprintf(name, sizeof name, "%s-%d", RF__REPLACED, i);
    }
    return rf_fail(why, RF_EIO, "%s: has no free name left for %s", folder, RF__REPLACED);
}

/* Everything is there before the first file is touched. */
rf_status rf_tokenizer_save(const rf_tokenizer *t, const char *folder, rf_error *why)
{
    if (!(t && folder)) return rf__missing("rf_tokenizer_save", "tokenizer, folder", why);
    rf_error own = {0};
    if (!why) why = &own;
    size_t vocab_size = 0, config_size = 0, map_size = 0;
    char old[MAX_PATH], aside[MAX_PATH] = "", *vocab = NULL;
    char *config = json_text(settings(t), &config_size), *map = json_text(specials(t), &map_size);
    rf_status status = config && map ? RF_OK : RF_ENOMEM;
    if (status) rf_fail(why, status, "%s: no memory for the tokenizer's settings", folder);
    if (!status) status = vocab_text(t, folder, &vocab, &vocab_size, why);
    if (!status) status = set_aside(folder, old, aside, why);
    if (!status) status = write_file(t, folder, "vocab.txt", vocab, vocab_size, why);
    if (status && *aside) (void)rename(aside, old);
    if (!status) status = write_file(t, folder, "tokenizer_config.json", config, config_size, why);
    if (!status) status = write_file(t, folder, "special_tokens_map.json", map, map_size, why);
    rf__free(t->ctx, vocab);
    free(config);
    free(map);
    return status;
}
