/* wordpiece.c — BERT's tokenizer as a row: words (words.c), their pieces (vocab.c), and decoding.
 *
 * Word frequencies follow Zipf's law, so most words occurred before.  Each encoding keeps a direct-mapped cache from a
 * short word to its pieces, one cache line per word.  Threads share only the tokenizer.                              */
#include "wordpiece.h"

/* ---- scratch --------------------------------------------------------------------------------------------------- */

enum { CACHE_BITS = 14, CACHED = 7 };                     /* 1 MiB                                                    */

typedef struct rf_cached {
    uint64_t key[RF_KEY / 8];
    int32_t id[CACHED];
    uint8_t end[CACHED];
    uint8_t n;                                            /* 0: empty                                                 */
} line;

bool rf__piecer_init(rf_piecer *s, const rf_ctx *ctx)
{
    *s = (rf_piecer){0};
    rf__words_init(&s->words, ctx);
    s->cache = rf__calloc(ctx, (size_t)1 << CACHE_BITS, sizeof *s->cache);
    return s->cache;
}

void rf__piecer_forget(rf_piecer *s)
{
    memset(s->cache, 0, sizeof *s->cache << CACHE_BITS);
}

void rf__piecer_clear(rf_piecer *s, const rf_ctx *ctx)
{
    rf__words_clear(&s->words);
    rf__free(ctx, s->cache);
    rf__free(ctx, s->hash);
    rf__free(ctx, s->id);
    rf__free(ctx, s->end);
}

void rf__wordpiece_scratch_free(const rf_ctx *ctx, void *own)
{
    rf__piecer_clear(own, ctx);
    rf__free(ctx, own);
}

void *rf__wordpiece_scratch(const rf_ctx *ctx, void *own, bool others)
{
    rf_piecer *s = own;
    if (s && others) rf__piecer_forget(s);
    if (s || !(s = rf__alloc(ctx, sizeof *s)) || rf__piecer_init(s, ctx)) return s;
    rf__free(ctx, s);
    return NULL;
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

static inline void push_piece(rf_encoding *e, const rf_word *w, int32_t id, size_t begin, size_t end)
{
    if (w->from) rf__put_token(e, id, w->from[begin], w->to[end - 1], false);
    else rf__put_token(e, id, (uint32_t)(w->at + begin), (uint32_t)(w->at + end), false);
}

size_t rf__wordpieces(const rf_wordpiece *t, rf_piecer *s, const rf_word *w)
{
    return w->chars <= (size_t)t->options.max_word
               ? rf__vocab_pieces(&t->vocab, w->text, w->size, s->hash, s->id, s->end)
               : 0;
}

/* The pieces of a word that is not in the cache. */
static bool look_up(const rf_wordpiece *t, rf_encoding *e, rf_piecer *s, const rf_word *w, line *cached,
                    rf_pieces_of *pieces)
{
    if (!rf__grow(e->ctx, &s->hash, &s->hashes, w->size + 1, sizeof *s->hash) ||
        !rf__grow(e->ctx, &s->id, &s->ids, w->size + 1, sizeof *s->id) ||
        !rf__grow(e->ctx, &s->end, &s->ends, w->size + 1, sizeof *s->end))
        return false;
    size_t n = pieces(t, s, w);
    if (!rf__reserve_tokens(e, n + 1)) return false;
    if (!n) {
        s->id[0] = t->base.special[RF_UNK];
        s->end[0] = (uint32_t)w->size;
        n = 1;
    }
    for (size_t i = 0; i < n; i++) push_piece(e, w, s->id[i], i ? s->end[i - 1] : 0, s->end[i]);
    if (cached && n <= CACHED) {
        memcpy(cached->key, w->key, sizeof cached->key);
        cached->n = (uint8_t)n;
        for (size_t i = 0; i < n; i++) {
            cached->id[i] = s->id[i];
            cached->end[i] = (uint8_t)s->end[i];
        }
    }
    return true;
}

bool rf__put_word(const rf_wordpiece *t, rf_encoding *e, rf_piecer *s, const rf_word *w, rf_pieces_of *pieces)
{
    line *l = NULL;
    if (w->size <= RF_KEY) {
        l = &s->cache[rf__key_slot(w->key, CACHE_BITS)];
        if (l->n && rf__same_key(l->key, w->key)) {
            if (!rf__reserve_tokens(e, CACHED)) return false;
            size_t begin = 0;
            for (unsigned i = 0; i < l->n; i++) {
                push_piece(e, w, l->id[i], begin, l->end[i]);
                begin = l->end[i];
            }
            return true;
        }
    }
    return look_up(t, e, s, w, l, pieces);
}

bool rf__wordpiece_encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *own)
{
    const rf_wordpiece *t = rf__as_wordpiece(any);
    rf_piecer *s = own;
    rf_word w;
    s->words.keep_whole = t->normal.python && !p->plain;
    rf__words_start(&s->words, &t->normal, p->text, p->from, p->to, p->size);
    while (rf__words_next(&s->words, &w))
        if (!rf__put_word(t, e, s, &w, rf__wordpieces)) return false;
    return !s->words.failed;
}

/* ---- decoding -------------------------------------------------------------------------------------------------- */

static const rf_change in_tokens[] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

/* As in transformers 5: each token after the first is joined ("##" removed) or gets a space before it; then its own
 * text is cleaned up, token by token (" ." becomes "." and so on). The decoder of a tokenizer.json may differ. */
char *rf__wordpiece_decode(const rf_tokenizer *any, const int32_t id[], size_t n, bool skip, size_t *size)
{
    const rf_wordpiece *t = rf__as_wordpiece(any);
    size_t used = 0, capacity = 1;
    for (size_t i = 0; i < n; i++)
        if (rf_tokenizer_token(any, id[i])) capacity += rf__vocab_token_size(&t->vocab, id[i]) + 1;
    char *text = rf__alloc(any->ctx, capacity);
    if (!text) return NULL;
    for (size_t i = 0, tokens = 0; i < n; i++) {
        const char *token = rf_tokenizer_token(any, id[i]);
        if (!token || (skip && rf_tokenizer_is_special(any, id[i]))) continue;
        size_t bytes = rf__vocab_token_size(&t->vocab, id[i]);
        char *to = text + used;
        const bool glued = !t->apart && tokens && bytes >= 2 && token[0] == '#' && token[1] == '#';
        if (tokens++ && !glued) *to++ = ' ';
        memcpy(to, token + (glued ? 2 : 0), bytes - (glued ? 2 : 0));
        bytes = (size_t)(to - text) - used + bytes - (glued ? 2 : 0);
        used += t->uncleaned ? bytes : rf__replace_all(text + used, bytes, in_tokens, RF_COUNT(in_tokens));
    }
    text[used] = 0;
    *size = used;
    return text;
}

/* ---- questions ------------------------------------------------------------------------------------------------- */

const char *rf__wordpiece_token(const rf_tokenizer *any, int32_t id)
{
    const rf_vocab *v = &rf__as_wordpiece(any)->vocab;
    return v->hidden[id] == RF_HIDDEN ? NULL : rf__vocab_token(v, id);
}

int32_t rf__wordpiece_id(const rf_tokenizer *any, const char *token)
{
    return rf__vocab_find(&rf__as_wordpiece(any)->vocab, token, strlen(token));
}

bool rf__wordpiece_continues(const rf_tokenizer *any, int32_t id)
{
    const char *token = rf__wordpiece_token(any, id);
    return token && token[0] == '#' && token[1] == '#';
}

size_t rf__wordpiece_normalize(const rf_tokenizer *any, uint32_t c, uint32_t out[RF_NORMAL_MOST])
{
    const rf_normal *n = &rf__as_wordpiece(any)->normal;
    return rf__normal_scalar(n, n->han, c, out);
}

uint64_t rf__wordpiece_fingerprint(const rf_tokenizer *any, uint64_t seed)
{
    const rf_tokenizer_options *o = &rf__as_wordpiece(any)->options;
    const int32_t plain[5] = {o->lowercase, o->strip_accents, o->han_split, (int32_t)o->rules, o->max_word};
    return rf__hash64(plain, sizeof plain, seed);
}

const char *const rf__rules_name[RF_RULES_N + 1] = {
    [RF_RULES_RUST] = "rust", [RF_RULES_PYTHON] = "python", [RF_RULES_BERT4KERAS] = "bert4keras",
    [RF_RULES_WOBERT] = "wobert"};

void rf__wordpiece_settings(const rf_tokenizer *any, json_t **config)
{
    const rf_tokenizer_options *o = &rf__as_wordpiece(any)->options;
    rf__json_set(config, "do_lower_case", json_boolean(o->lowercase));
    rf__json_set(config, "strip_accents", o->strip_accents < 0 ? json_null() : json_boolean(o->strip_accents));
    rf__json_set(config, "tokenize_chinese_chars", json_boolean(o->han_split));
    if (o->max_word != (o->rules == RF_RULES_BERT4KERAS ? RF_MAX_WORD_BERT4KERAS : RF_MAX_WORD_USUAL))
        rf__json_set(config, "max_input_chars_per_word", json_integer(o->max_word));
    rf__json_set(config, "roformer_rules", json_string(rf__rules_name[o->rules]));
    if (rf__as_wordpiece(any)->any_class)
        rf__json_set(config, "tokenizer_class", json_string("PreTrainedTokenizerFast"));
}

void rf__wordpiece_describe(const rf_tokenizer *any, json_t **about)
{
    const rf_tokenizer_options *o = &rf__as_wordpiece(any)->options;
    rf__json_set(about, "lower_case", json_boolean(o->lowercase));
    rf__json_set(about, "strip_accents", json_boolean(o->strip_accents < 0 ? o->lowercase : o->strip_accents));
    rf__json_set(about, "rules", json_string(rf__rules_name[o->rules]));
}

/* ---- making one ------------------------------------------------------------------------------------------------ */

void rf__wordpiece_clear(rf_tokenizer *any)
{
    rf_wordpiece *t = (rf_wordpiece *)(void *)any;
    rf__vocab_clear(&t->vocab);
    rf__saved_clear(any->ctx, &t->file);
}

static const char *const classes[] = {"BertTokenizer",
                                      "BertTokenizerFast",
                                      "DistilBertTokenizer",
                                      "DistilBertTokenizerFast",
                                      "ElectraTokenizer",
                                      "ElectraTokenizerFast",
                                      NULL};
static const char *const files[] = {RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER_CONFIG, RF_FILE_VOCAB, NULL};
static const char *const files_of_json[] = {RF_FILE_SPECIAL_TOKENS, RF_FILE_TOKENIZER, RF_FILE_TOKENIZER_CONFIG, NULL};
static const char *const holds[] = {RF_FILE_VOCAB, RF_FILE_TOKENIZER, NULL};

const char *const *rf__wordpiece_files_of(const rf_tokenizer *t)
{
    return rf__as_wordpiece(t)->file.text ? files_of_json : files;
}

const rf_tokenizer_row rf__tokenizer_wordpiece = {
    .name = "wordpiece",
    .title = "WordPiece (BERT)",
    .classes = classes,
    .files = files,
    .holds = holds,
    .model = "WordPiece",
    .transformers = "BertTokenizerFast",
    .open = rf__wordpiece_open,
    .training = &rf__wordpiece_training,
    RF_WORDPIECE_ROW,
};

rf_status rf__wordpiece_make(const rf_ctx *ctx, const rf_tokenizer_row *row, rf_vocab *vocab,
                             const rf_tokenizer_options *options, const rf_tokenizer_parts *parts, rf_tokenizer **out,
                             rf_error *why)
{
    rf_tokenizer *any = rf__tokenizer_alloc(ctx, row, why);
    if (!any) {
        rf__vocab_clear(vocab);
        return RF_ENOMEM;
    }
    rf_wordpiece *t = (rf_wordpiece *)(void *)any;
    rf_tokenizer_options *o = &t->options;
    t->vocab = *vocab;
    *o = *options;
    any->n = t->vocab.n;
    t->apart = parts->apart, t->uncleaned = parts->uncleaned;
    rf__normal_init(&t->normal, o);
    any->slow = o->rules == RF_RULES_PYTHON || o->rules == RF_RULES_WOBERT;
    if (any->slow && t->normal.lowercase) any->lower = &t->normal.unicode;
    const char **const name[RF_SPECIALS] = {
        [RF_UNK] = &o->unk, [RF_CLS] = &o->cls, [RF_SEP] = &o->sep, [RF_PAD] = &o->pad, [RF_MASK] = &o->mask};
    rf_tokenizer_parts all = *parts;
    for (int i = 0; i < RF_SPECIALS; i++) all.special[i] = *name[i];
    if (!strncmp(t->vocab.text, "\xEF\xBB\xBF", 3))
        all.remark = " (it starts with a byte order mark; remove it: sed -i '1s/^\\xEF\\xBB\\xBF//' FILE)";
    const rf_status status = rf__tokenizer_begin(any, &all, why);
    if (status) {
        rf_tokenizer_free(any);
        return status;
    }
    for (int i = 0; i < RF_SPECIALS; i++) *name[i] = any->name[i];
    if (any->slow) {
        t->normal.whole = any->added;
        t->normal.wholes = any->added_n;
    }
    *out = any;
    return RF_OK;
}

void rf_tokenizer_options_init(rf_tokenizer_options *o, size_t size)
{
    const rf_tokenizer_options own = {
        .lowercase = 1, .strip_accents = -1, .han_split = 1, .rules = RF_RULES_RUST, .max_word = 100};
    rf__options_init(o, size, &own, sizeof own);
}

rf_status rf__tokenizer_options_read(rf_tokenizer_options *own, const rf_tokenizer_options *given, rf_error *why)
{
    rf_tokenizer_defaults(own);
    return rf__options_read(own, sizeof *own, RF_SIZE_TO(rf_tokenizer_options, max_word), given, "rf_tokenizer_options",
                            why);
}

rf_status rf_tokenizer_new(const rf_ctx *ctx, const char *vocab, size_t bytes, const char *name,
                           const rf_tokenizer_options *options, rf_tokenizer **out, rf_error *why)
{
    if (!(ctx && vocab && name && out)) return rf__missing("rf_tokenizer_new", "ctx, vocab, name, out", why);
    rf_tokenizer_options o;
    if (rf__tokenizer_options_read(&o, options, why)) return RF_EARG;
    if (o.max_word < 1 || o.max_word > RF_MAX_WORD)
        return rf_fail(why, RF_EARG, "%s: longest word: expected 1 to %d characters, got %d", name, RF_MAX_WORD,
                       o.max_word);
    if (o.rules != RF_RULES_RUST && o.rules != RF_RULES_PYTHON)
        return rf_fail(why, RF_EARG, "%s: rules: expected 0 (rust) or 1 (python), got %d", name, (int)o.rules);
    rf_vocab v;
    const rf_status status = rf__vocab_lines(&v, ctx, vocab, bytes, name, o.rules, NULL, 0, why);
    const rf_tokenizer_parts parts = {.name = name};
    return status ? status : rf__wordpiece_make(ctx, &rf__tokenizer_wordpiece, &v, &o, &parts, out, why);
}

const rf_tokenizer_options *rf_tokenizer_options_of(const rf_tokenizer *t)
{
    return t->row == &rf__tokenizer_wordpiece ? &rf__as_wordpiece(t)->options : NULL;
}
