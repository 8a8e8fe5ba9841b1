/* tokenizer.c — a vocabulary and its rules become a tokenizer. */
#include <stdatomic.h>

#include "text.h"

static const char *const standard[RF_SPECIALS] = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};

static void names_of(rf_tokenizer_options *o, const char **to[RF_SPECIALS])
{
    to[RF_UNK] = &o->unk;
    to[RF_CLS] = &o->cls;
    to[RF_SEP] = &o->sep;
    to[RF_PAD] = &o->pad;
    to[RF_MASK] = &o->mask;
}

static rf_status no_memory(rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "tokenizer: out of memory");
}

static int32_t id_among(const rf_added *added, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (added[i].size == strlen(text) && !memcmp(added[i].text, text, added[i].size)) return added[i].id;
    return -1;
}

/* The five special tokens by name and id. */
static rf_status name_specials(rf_tokenizer *t, const char *name, const rf_added *added, size_t added_n, rf_error *why)
{
    const char **option[RF_SPECIALS];
    names_of(&t->options, option);
    for (int i = 0; i < RF_SPECIALS; i++) {
        t->name[i] = rf__strdup(t->ctx, *option[i] ? *option[i] : standard[i]);
        *option[i] = t->name[i];
        if (!t->name[i]) return no_memory(why);
        if (!t->name[i][0]) return rf_fail(why, RF_EDATA, "%s: a special token is empty", name);
    }
    for (int i = 0; i < RF_SPECIALS; i++) {
        t->special[i] = rf__vocab_find(&t->vocab, t->name[i], strlen(t->name[i]));
        if (t->special[i] < 0) t->special[i] = id_among(added, added_n, t->name[i]);
        if (t->special[i] < 0)
            return rf_fail(why, RF_EDATA, "%s: the special token %.40s is not in the vocabulary of %d tokens%s", name,
                           t->name[i], (int)t->vocab.n,
                           !strncmp(t->vocab.text, "\xEF\xBB\xBF", 3) ? " (it starts with a byte order mark)" : "");
    }
    return RF_OK;
}

/* Adds a token to those that are cut out of raw text, or changes the one of that text. */
static rf_status add(rf_tokenizer *t, const rf_added *a, rf_error *why)
{
    for (size_t i = 0; i < t->added_n; i++)
        if (t->added[i].size == a->size && !memcmp(t->added[i].text, a->text, a->size)) {
            t->added[i].lstrip |= a->lstrip;
            t->added[i].rstrip |= a->rstrip;
            t->added[i].special |= a->special;
            return RF_OK;
        }
    char *text = rf__alloc(t->ctx, a->size + 1);
    if (!text) return no_memory(why);
    memcpy(text, a->text, a->size);
    text[a->size] = 0;
    t->added[t->added_n] = *a;
    t->added[t->added_n++].text = text;
    return RF_OK;
}

/* Python rules look for added tokens in lowered text: a token of small letters is then found in capitals too. */
static bool may_fold(const rf_tokenizer *t, const rf_added *a)
{
    if (!t->normal.python || !t->normal.lowercase) return false;
    for (size_t i = 0; i < a->size; i++)
        if (a->text[i] >= 'A' && a->text[i] <= 'Z') return false;
    return true;
}

static void list_openers(rf_tokenizer *t)
{
    int openers = 0;
    for (size_t i = 0; i < t->added_n; i++) {
        const unsigned char first = (unsigned char)t->added[i].text[0];
        t->opens[first] = 1;
        if (!may_fold(t, &t->added[i])) continue;
        t->fold = true;
        if (first >= 'a' && first <= 'z') t->opens[first - 'a' + 'A'] = 1;
        for (int b = 0x80; b < 256; b++) t->opens[b] = 1;
    }
    for (int b = 0; b < 256; b++)
        if (t->opens[b]) {
            t->opener = b;
            openers++;
        }
    if (openers != 1) t->opener = -1;
}

static rf_status fill(rf_tokenizer *t, const char *name, const rf_added *added, size_t added_n, rf_frame frame,
                      rf_error *why)
{
    rf_status status = name_specials(t, name, added, added_n, why);
    if (status) return status;
    t->added = rf__calloc(t->ctx, added_n + RF_SPECIALS, sizeof *t->added);
    if (!t->added) return no_memory(why);
    for (int i = 0; i < RF_SPECIALS && frame.found && !status; i++)
        status = add(t, &(rf_added){t->name[i], strlen(t->name[i]), t->special[i], true, false, false}, why);
    for (size_t i = 0; i < added_n && !status; i++) status = add(t, &added[i], why);
    if (status) return status;
    rf__normal_init(&t->normal, &t->options);
    if (t->normal.python) {
        t->normal.whole = t->added;
        t->normal.wholes = t->added_n;
    }
    list_openers(t);
    static atomic_uint_least64_t made;
    t->mark = (uint64_t)atomic_fetch_add(&made, 1) + 1;
    return RF_OK;
}

rf_status rf__tokenizer_make(const rf_ctx *ctx, rf_vocab *vocab, const char *name, const rf_tokenizer_options *options,
                             const rf_added *added, size_t added_n, rf_frame frame, rf_tokenizer **out, rf_error *why)
{
    rf_tokenizer *t = rf__calloc(ctx, 1, sizeof *t);
    if (!t) {
        rf__vocab_clear(vocab);
        return no_memory(why);
    }
    t->ctx = ctx;
    t->vocab = *vocab;
    t->options = *options;
    t->bare = frame.none;
    const rf_status status = fill(t, name, added, added_n, frame, why);
    if (status) rf_tokenizer_free(t);
    else *out = t;
    return status;
}

rf_status rf_tokenizer_new(const rf_ctx *ctx, const char *vocab, size_t size, const char *name,
                           const rf_tokenizer_options *options, rf_tokenizer **out, rf_error *why)
{
    if (!(ctx && vocab && name && out)) return rf__missing("rf_tokenizer_new", "ctx, vocab, name, out", why);
    const rf_tokenizer_options defaults = RF_TOKENIZER_DEFAULTS, *o = options ? options : &defaults;
    if (!name) name = "vocabulary";
    if (o->max_word < 1 || o->max_word > RF_MAX_WORD)
        return rf_fail(why, RF_EARG, "%s: longest word of %d characters, 1 to %d are possible", name, o->max_word,
                       RF_MAX_WORD);
    if (o->rules != RF_RULES_RUST && o->rules != RF_RULES_PYTHON)
        return rf_fail(why, RF_EARG, "%s: rules %d, there are 0 (rust) and 1 (python)", name, (int)o->rules);
    rf_vocab v;
    const rf_status status = rf__vocab_lines(&v, ctx, vocab, size, name, o->rules, NULL, 0, why);
    return status ? status : rf__tokenizer_make(ctx, &v, name, o, NULL, 0, RF_FRAME_USUAL, out, why);
}

void rf_tokenizer_free(rf_tokenizer *t)
{
    if (!t) return;
    const rf_ctx *ctx = t->ctx;
    for (size_t i = 0; i < t->added_n; i++) rf__free(ctx, (char *)(uintptr_t)t->added[i].text);
    rf__free(ctx, t->added);
    for (int i = 0; i < RF_SPECIALS; i++) rf__free(ctx, t->name[i]);
    rf__vocab_clear(&t->vocab);
    rf__free(ctx, t);
}

int32_t rf_tokenizer_size(const rf_tokenizer *t) { return t->vocab.n; }
const rf_tokenizer_options *rf_tokenizer_options_of(const rf_tokenizer *t) { return &t->options; }

const char *rf_tokenizer_token(const rf_tokenizer *t, int32_t id)
{
    return id < 0 || id >= t->vocab.n || t->vocab.hidden[id] == RF_HIDDEN ? NULL : rf__vocab_token(&t->vocab, id);
}

int32_t rf_tokenizer_id(const rf_tokenizer *t, const char *token)
{
    const int32_t id = rf__vocab_find(&t->vocab, token, strlen(token));
    return id < 0 ? id_among(t->added, t->added_n, token) : id;
}

int32_t rf_tokenizer_unk(const rf_tokenizer *t) { return t->special[RF_UNK]; }
int32_t rf_tokenizer_cls(const rf_tokenizer *t) { return t->special[RF_CLS]; }
int32_t rf_tokenizer_sep(const rf_tokenizer *t) { return t->special[RF_SEP]; }
int32_t rf_tokenizer_pad(const rf_tokenizer *t) { return t->special[RF_PAD]; }
int32_t rf_tokenizer_mask(const rf_tokenizer *t) { return t->special[RF_MASK]; }

int rf_tokenizer_is_special(const rf_tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < t->added_n; i++)
        if (t->added[i].id == id && t->added[i].special) return 1;
    return 0;
}

int rf_tokenizer_continues(const rf_tokenizer *t, int32_t id)
{
    const char *token = rf_tokenizer_token(t, id);
    return token && token[0] == '#' && token[1] == '#';
}
