/* jieba_trainer.c — trains a vocabulary of Chinese words from text, as WoBERT does.
 *
 *     [PAD] [UNK] [CLS] [SEP] [MASK]
 *     the initial vocabulary if one is named, without tokens of several characters with Han characters or punctuation
 *     otherwise the most frequent characters of the text, and those that may follow in a word
 *     the most frequent words of the text, until the size is reached; ties in byte order                             */
#include "jieba.h"
#include "text/wordpiece/counter.h"
#include "text/unicode/letters.h"

typedef struct learner {
    const rf_ctx *ctx;
    rf_tokenizer_options options;
    rf_normal normal;
    rf_dictionary dictionary;
    rf_jieba_runs runs;
    rf_jieba_cutter cut;
    rf_counter counter;
    uint64_t *letters;                  /* [RF_SCALARS] number of occurrences                                         */
    uint8_t *inside;                    /* [RF_SCALARS] whether it followed another in a word, both not Han           */
    char *base;                         /* the initial vocab.txt; NULL: none                                          */
    size_t base_size;
} learner;

/* The output: lines of vocab.txt, and the set of them. */
typedef struct list {
    const rf_ctx *ctx;
    char *text;
    size_t size, capacity;
    rf_counter seen;
    int32_t n, most;
} list;

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static rf_status begin(rf_tokenizer_trainer *t, rf_error *why)
{
    learner *l = rf__calloc(t->ctx, 1, sizeof *l);
    t->own = l;
    if (!l) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory: counts of words");
    l->ctx = l->cut.ctx = t->ctx;
    rf__jieba_runs_init(&l->runs, t->ctx);
    rf__counter_init(&l->counter, t->ctx, (size_t)rf__min64((int64_t)t->options.max_words, UINT32_MAX / 2));
    rf_status status = rf__tokenizer_options_read(&l->options, t->options.words, why);
    if (!status && l->options.rules != RF_RULES_RUST)
        status = rf_fail(why, RF_EUNSUPPORTED,
                         "vocabulary: rules: expected rust for words of a dictionary, got others");
    if (status) return status;
    if (!rf__jieba_dictionary(&t->options, t->ctx))
        return rf_fail(why, RF_EUNSUPPORTED,
                       "vocabulary: expected a dictionary of words, got none; compile one with `roformer dictionary "
                       "dict.txt -o FILE`, where dict.txt is that of jieba, and name it (--dictionary FILE)");
    if (t->options.base)
        status = rf__read_file(t->ctx, t->options.base, RF_TOKENIZER_FILE, &l->base, &l->base_size, why);
    if (!status && rf_utf8_check(l->base, l->base_size) != l->base_size)
        status = rf_fail(why, RF_EDATA, "%s: not UTF-8 at byte %zu", t->options.base,
                         rf_utf8_check(l->base, l->base_size));
    if (!status) status = rf__dictionary_open(t->ctx, rf__jieba_dictionary(&t->options, t->ctx), &l->dictionary, why);
    if (status) return status;
    rf__jieba_normal(&l->normal, &l->options);
    l->letters = rf__calloc(t->ctx, RF_SCALARS, sizeof *l->letters);
    l->inside = rf__calloc(t->ctx, RF_SCALARS, 1);
    return l->letters && l->inside ? RF_OK : rf_fail(why, RF_ENOMEM, "vocabulary: out of memory: counts of characters");
}

static bool is_han(const learner *l, uint32_t c) { return (rf__unicode_flags(&l->normal.unicode, c) & RF_HAN) != 0; }

static bool count_word(learner *l, const char *text, size_t from, size_t to)
{
    const rf_jieba_cutter *c = &l->cut;
    for (size_t i = from; i < to; i++) {
        l->letters[c->scalar[i]]++;
        if (i > from && !is_han(l, c->scalar[i]) && !is_han(l, c->scalar[i - 1])) l->inside[c->scalar[i]] = 1;
    }
    if (to - from > (size_t)l->options.max_word) return true;
    return rf__counter_add(&l->counter, text + c->at[from], c->at[to] - c->at[from]);
}

static rf_status feed(rf_tokenizer_trainer *t, const char *text, size_t size, rf_error *why)
{
    learner *l = t->own;
    rf_jieba_cutter *c = &l->cut;
    rf_word run;
    bool good = true;
    rf__jieba_runs_start(&l->runs, &l->normal, &(rf_passage){.text = text, .to = size, .size = size});
    while (good && rf__jieba_runs_next(&l->runs, &run)) {
        good = rf__jieba_cut(c, &l->dictionary, RF_JIEBA_RUST, run.text, run.size);
        for (size_t i = 0, from = 0; good && i < c->n; from = c->end[i++])
            good = count_word(l, run.text, from, c->end[i]);
    }
    if (good && !l->runs.failed) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory after %zu different words", l->counter.used);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* Adds a token unless it exists or the list is full. */
static bool add_token(list *v, const char *token, size_t size)
{
    const size_t before = v->seen.used;
    if (!size || v->n == v->most) return true;
    if (!rf__counter_add(&v->seen, token, size)) return false;
    if (v->seen.used == before) return true;
    if (!rf__grow(v->ctx, &v->text, &v->capacity, v->size + size + 1, 1)) return false;
    memcpy(v->text + v->size, token, size);
    v->size += size;
    v->text[v->size++] = '\n';
    v->n++;
    return true;
}

static bool put_specials(list *v, const rf_tokenizer_options *o)
{
    const char *const special[] = {o->pad ? o->pad : "[PAD]", o->unk ? o->unk : "[UNK]", o->cls ? o->cls : "[CLS]",
                                   o->sep ? o->sep : "[SEP]", o->mask ? o->mask : "[MASK]"};
    for (size_t i = 0; i < RF_COUNT(special); i++)
        if (!add_token(v, special[i], strlen(special[i]))) return false;
    return true;
}

/* bert4keras' load_vocab(simplified=True): of tokens with several characters, keeps those of letters and digits. */
static bool stays(const learner *l, const char *token, size_t size)
{
    const unsigned char *p = (const unsigned char *)token;
    size_t at = 0;
    if (size > 1 && token[0] == '[' && token[size - 1] == ']') return false;   /* [unused1]: the five are not counted */
    rf__utf8_get(p, &at);
    if (at == size) return true;
    for (at = size > 2 && !memcmp(token, "##", 2) ? 2 : 0; at < size;) {
        const unsigned f = rf__unicode_flags(&l->normal.unicode, rf__utf8_get(p, &at));
        if (f & (RF_HAN | RF_PUNCT)) return false;
    }
    return true;
}

static bool put_base(list *v, const learner *l)
{
    for (size_t at = 0, end; at < l->base_size; at = end + 1) {
        const char *stop = memchr(l->base + at, '\n', l->base_size - at);
        end = stop ? (size_t)(stop - l->base) : l->base_size;
        const size_t size = rf__vocab_trimmed(l->base, at, end) - at;
        if (size && stays(l, l->base + at, size) && !add_token(v, l->base + at, size)) return false;
    }
    return true;
}

static bool put_letters(list *v, const learner *l, size_t alphabet)
{
    size_t n = 0;
    rf_letter *x = rf__letters(l->ctx, l->letters, alphabet, 1, &n);
    bool good = x != NULL;
    for (int tail = 0; tail < 2; tail++)
        for (size_t i = 0; i < n && good; i++) {
            char token[8] = "##";
            const size_t size = 2 + rf__utf8_encode(x[i].c, token + 2);
            if (!tail) good = add_token(v, token + 2, size - 2);
            else if (l->inside[x[i].c]) good = add_token(v, token, size);
        }
    rf__free(l->ctx, x);
    return good;
}

static bool put_words(list *v, const learner *l, uint64_t least)
{
    rf_counted *w = rf__counter_sorted(&l->counter);
    bool good = w != NULL;
    for (size_t i = 0; good && i < l->counter.used && v->n < v->most && w[i].count >= least; i++)
        good = add_token(v, l->counter.text + w[i].at, w[i].size);
    rf__free(l->ctx, w);
    return good;
}

static rf_status finish(rf_tokenizer_trainer *t, rf_tokenizer **out, rf_error *why)
{
    const rf_tokenizer_train_options *o = &t->options;
    const learner *l = t->own;
    list v = {.ctx = t->ctx, .most = o->tokens};
    if (!l->counter.used) return rf_fail(why, RF_EDATA, "vocabulary: there is no word in the text to learn from");
    rf__counter_init(&v.seen, t->ctx, UINT32_MAX / 2);
    bool good = put_specials(&v, &l->options);
    if (good) good = l->base ? put_base(&v, l) : put_letters(&v, l, (size_t)o->alphabet);
    const int32_t before = v.n;
    if (good) good = put_words(&v, l, o->least ? o->least : 2);
    rf_status status = RF_OK;
    if (!good) status = rf_fail(why, RF_ENOMEM, "vocabulary: out of memory for %zu words", l->counter.used);
    else if (before == v.most)
        status = rf_fail(why, RF_EARG, "tokens: expected more than the %d that %s take, so that words can be added%s",
                         (int)before, l->base ? o->base : "characters",
                         l->base ? "" : "; or allow fewer characters (alphabet)");
    if (!status) status = rf__jieba_learned(t, v.text, v.size, &l->options, out, why);
    rf__counter_clear(&v.seen);
    rf__free(t->ctx, v.text);
    return status;
}

static void clear(rf_tokenizer_trainer *t)
{
    learner *l = t->own;
    rf__jieba_runs_clear(&l->runs);
    rf__jieba_cut_clear(&l->cut);
    rf__counter_clear(&l->counter);
    rf__dictionary_close(t->ctx, &l->dictionary);
    rf__free(t->ctx, l->letters);
    rf__free(t->ctx, l->inside);
    rf__free(t->ctx, l->base);
    rf__free(t->ctx, l);
}

const rf_tokenizer_training rf__jieba_training = {
    .uses = RF_TRAIN_ALPHABET | RF_TRAIN_LEAST | RF_TRAIN_MAX_WORDS | RF_TRAIN_WORDS | RF_TRAIN_BASE,
    .begin = begin,
    .feed = feed,
    .finish = finish,
    .clear = clear,
};
