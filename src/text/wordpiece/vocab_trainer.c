/* vocab_trainer.c — trains a WordPiece vocabulary by merging pairs (text/pair_learner.h).  Symbols are characters;
 * those inside a word are marked "##". */

#include "counter.h"
#include "text/pair_learner.h"
#include "text/unicode/letters.h"

struct rf_vocab_trainer {
    const rf_ctx *ctx;
    rf_tokenizer_options options;
    rf_normal normal;
    rf_words words;
    rf_counter counter;
};

typedef rf__learner learner;

/* ---- the start: special tokens, characters ----------------------------------------------------------------------- */

static uint32_t scalar_at(const char *text)
{
    size_t at = 0;
    return rf__utf8_get((const unsigned char *)text, &at);
}

/* Creates the characters' symbols: the `limit` most frequent, ordered by scalar; first those that begin a word. */
static bool make_alphabet(learner *l, const char *text, size_t limit)
{
    uint64_t *count = rf__calloc(l->ctx, RF_SCALARS, sizeof *count);
    uint8_t *inside = rf__calloc(l->ctx, RF_SCALARS, 1);
    rf_letter *x = NULL;
    bool good = false;
    size_t n = 0;
    if (!count || !inside) goto done;
    for (size_t i = 0; i < l->words; i++)
        for (const char *p = text + l->word[i].at, *end = p + l->word[i].size; p < end; p += rf__scalar_size(p))
            count[scalar_at(p)] += l->word[i].count;
    x = rf__letters(l->ctx, count, limit, 1, &n);
    if (!x) goto done;
    for (size_t i = 0; i < l->words; i++) {
        const char *p = text + l->word[i].at, *end = p + l->word[i].size;
        for (p += rf__scalar_size(p); p < end; p += rf__scalar_size(p)) inside[scalar_at(p)] = 1;
    }
    good = true;
    for (int tail = 0; tail < 2; tail++)
        for (size_t i = 0; i < n && good; i++) {
            char utf8[4];
            if (!tail || inside[x[i].c]) good = rf__learner_symbol(l, utf8, rf__utf8_encode(x[i].c, utf8), tail) >= 0;
        }
done:
    rf__free(l->ctx, count);
    rf__free(l->ctx, inside);
    rf__free(l->ctx, x);
    return good;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static char *write_vocab(const learner *l, size_t *bytes)
{
    size_t size = 1;
    for (size_t i = 0; i < l->symbols; i++) size += l->symbol[i].size + 3u;
    char *text = rf__alloc(l->ctx, size), *to = text;
    if (!text) return NULL;
    for (size_t i = 0; i < l->symbols; i++) {
        const rf__symbol *s = &l->symbol[i];
        if (s->tail) *to++ = '#', *to++ = '#';
        memcpy(to, l->text + s->at, s->size);
        to += s->size;
        *to++ = '\n';
    }
    *to = 0;
    *bytes = (size_t)(to - text);
    return text;
}

static bool learn(learner *l, const rf_vocab_trainer *v, size_t size, size_t alphabet, uint64_t least,
                  void (*progress)(void *user, int32_t done, int32_t size), void *user)
{
    const rf_tokenizer_options *o = &v->options;
    const char *const special[] = {o->pad ? o->pad : "[PAD]", o->unk ? o->unk : "[UNK]", o->cls ? o->cls : "[CLS]",
                                   o->sep ? o->sep : "[SEP]", o->mask ? o->mask : "[MASK]"};
    if (!rf__learner_begin(l, &v->counter, size + 2 * alphabet + 8)) return false;
    for (size_t i = 0; i < RF_COUNT(special); i++)
        if (rf__learner_symbol(l, special[i], strlen(special[i]), false) < 0) return false;
    return make_alphabet(l, v->counter.text, alphabet) &&
           rf__learner_run(l, &v->counter, size, least, progress, user);
}

rf_status rf__vocab_trainer_new(const rf_ctx *ctx, const rf_tokenizer_options *options, size_t max_words,
                                rf_vocab_trainer **out, rf_error *why)
{
    if (!(ctx && out)) return rf__missing("rf__vocab_trainer_new", "ctx, out", why);
    if (max_words < 16 || max_words > UINT32_MAX / 2)
        return rf_fail(why, RF_EARG, "vocabulary: max_words: expected 16 to %u, got %zu", UINT32_MAX / 2, max_words);
    rf_tokenizer_options o;
    if (rf__tokenizer_options_read(&o, options, why)) return RF_EARG;
    rf_vocab_trainer *v = rf__calloc(ctx, 1, sizeof *v);
    if (!v) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory");
    v->ctx = ctx;
    v->options = o;
    rf__normal_init(&v->normal, &v->options);
    rf__words_init(&v->words, ctx);
    rf__counter_init(&v->counter, ctx, max_words);
    *out = v;
    return RF_OK;
}

void rf__vocab_trainer_free(rf_vocab_trainer *v)
{
    if (!v) return;
    rf__words_clear(&v->words);
    rf__counter_clear(&v->counter);
    rf__free(v->ctx, v);
}

static rf_status count_words(rf_vocab_trainer *v, const char *text, size_t size, rf_error *why)
{
    rf_word w;
    rf__words_start(&v->words, &v->normal, text, 0, size, size);
    while (rf__words_next(&v->words, &w)) {
        if (w.chars > (size_t)v->options.max_word) continue;
        if (!rf__counter_add(&v->counter, w.text, w.size))
            return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory after %zu different words", v->counter.used);
    }
    if (v->words.failed) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory for a word of the text");
    return RF_OK;
}

rf_status rf__vocab_trainer_feed(rf_vocab_trainer *v, const char *text, size_t bytes, rf_error *why)
{
    if (!(v && (text || !bytes))) return rf__missing("rf__vocab_trainer_feed", "trainer, text", why);
    const rf_status status = rf__training_text(text, bytes, why);
    return status ? status : count_words(v, text, bytes, why);
}

rf_status rf__vocab_trainer_learn(rf_vocab_trainer *v, int32_t size, int32_t alphabet, uint64_t least,
                                  void (*progress)(void *user, int32_t done, int32_t size), void *user,
                                  char **vocab, size_t *bytes, rf_error *why)
{
    if (!(v && vocab && bytes)) return rf__missing("rf__vocab_trainer_learn", "trainer, vocab, bytes", why);
    if (size < 6 || alphabet < 1 || alphabet > 0x110000)
        return rf_fail(why, RF_EARG, "vocabulary: tokens, alphabet: expected at least 6 and 1, got %d and %d",
                       (int)size, (int)alphabet);
    if (!v->counter.used) return rf_fail(why, RF_EDATA, "vocabulary: there is no word in the text to learn from");
    learner l = {.ctx = v->ctx, .marks = true};
    char *text = NULL;
    if (learn(&l, v, (size_t)size, (size_t)alphabet, least, progress, user)) text = write_vocab(&l, bytes);
    rf__learner_clear(&l);
    if (!text) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory for %zu words", v->counter.used);
    *vocab = text;
    return RF_OK;
}

void rf__vocab_trainer_release(rf_vocab_trainer *v, char *vocab)
{
    if (v) rf__free(v->ctx, vocab);
}

/* ---- as a tokenizer's training ----------------------------------------------------------------------------------- */

static rf_status begin(rf_tokenizer_trainer *t, rf_error *why)
{
    rf_vocab_trainer *v = NULL;
    const rf_status status = rf__vocab_trainer_new(t->ctx, t->options.words, t->options.max_words, &v, why);
    t->own = v;
    return status;
}

static rf_status feed(rf_tokenizer_trainer *t, const char *text, size_t size, rf_error *why)
{
    return count_words(t->own, text, size, why);
}

static rf_status finish(rf_tokenizer_trainer *t, rf_tokenizer **out, rf_error *why)
{
    const rf_tokenizer_train_options *o = &t->options;
    rf_vocab_trainer *v = t->own;
    char *vocab = NULL;
    size_t bytes = 0;
    rf_status status = rf__vocab_trainer_learn(v, o->tokens, o->alphabet, o->least ? o->least : 2, o->progress, o->user,
                                               &vocab, &bytes, why);
    if (!status) status = rf_tokenizer_new(t->ctx, vocab, bytes, "vocabulary", &v->options, out, why);
    rf__vocab_trainer_release(v, vocab);
    return status;
}

static void clear(rf_tokenizer_trainer *t) { rf__vocab_trainer_free(t->own); }

const rf_tokenizer_training rf__wordpiece_training = {
    .uses = RF_TRAIN_ALPHABET | RF_TRAIN_LEAST | RF_TRAIN_MAX_WORDS | RF_TRAIN_WORDS,
    .begin = begin,
    .feed = feed,
    .finish = finish,
    .clear = clear,
};
