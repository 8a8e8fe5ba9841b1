/* vocab.c — which ids are special, and which continue a word. */
#include "data/corpus/vocab.h"

#include "text/tokenizer.h"

static rf_status need(int32_t id, const char *token, rf_error *why)
{
    return id >= 0 ? RF_OK
                   : rf_fail(why, RF_EDATA, "tokenizer: expected %s, which training needs, got none", token);
}

static rf_status make_finder(const rf_ctx *ctx, const rf_tokenizer *t, rf__word_finder **out, rf_error *why)
{
    if (!t->row->joined) return RF_OK;
    *out = rf__calloc(ctx, 1, sizeof **out);
    if (*out) **out = (rf__word_finder){ctx, t, t->row, t->row->scratch(ctx, NULL, false), NULL, 0, false};
    return *out && (*out)->scratch ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: words");
}

const uint8_t *rf__vocab_joined(const rf__token_kinds *v, const int32_t id[], size_t n)
{
    rf__word_finder *f = v->finder;
    if (!f || f->failed) return NULL;
    f->failed = !rf__grow(f->ctx, &f->joined, &f->capacity, n + 1, 1) ||
                !f->row->joined(f->tokenizer, id, n, f->joined, f->scratch);
    return f->failed ? NULL : f->joined;
}

rf_status rf__vocab_words_found(const rf__token_kinds *v, rf_error *why)
{
    if (!v->finder || !v->finder->failed) return RF_OK;
    return rf_fail(why, RF_ENOMEM, "out of memory: words of a piece of text");
}

rf_status rf__vocab_new(const rf_ctx *ctx, const rf_tokenizer *t, rf__token_kinds *out, rf_error *why)
{
    rf__token_kinds v = {.size = rf_tokenizer_size(t), .cls = rf_tokenizer_cls(t), .sep = rf_tokenizer_sep(t),
                   .mask = rf_tokenizer_mask(t)};
    if (need(v.cls, "first token", why) || need(v.sep, "last token", why)) return RF_EDATA;
    v.kind = rf__calloc(ctx, (size_t)v.size, sizeof *v.kind);
    v.plain = rf__calloc(ctx, (size_t)v.size, sizeof *v.plain);
    rf_status status =
        v.kind && v.plain ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: tables of %d tokens", v.size);
    for (int32_t id = 0; !status && id < v.size; id++) {
        if (rf_tokenizer_is_special(t, id)) v.kind[id] = RF__SPECIAL;
        else v.plain[v.plains++] = id;
        if (rf_tokenizer_continues(t, id)) v.kind[id] |= RF__CONTINUES;
    }
    if (!status) status = make_finder(ctx, t, &v.finder, why);
    if (!status && !v.plains)
        status = rf_fail(why, RF_EDATA, "tokenizer: expected tokens that are not special, got none");
    if (status) rf__vocab_free(ctx, &v);
    else *out = v;
    return status;
}

rf_status rf__vocab_needs_mask(const rf__token_kinds *v, rf_error *why) { return need(v->mask, "mask token", why); }

void rf__vocab_sentences(rf__token_kinds *v, const rf_tokenizer *t)
{
    static const char *const mark[] = {"。", "！", "？", "；", "…", ".", "!", "?"};
    for (size_t i = 0; i < RF_COUNT(mark); i++) {
        const int32_t id = rf_tokenizer_id(t, mark[i]);
        if (id >= 0 && id < v->size) v->kind[id] |= RF__ENDS;
    }
}

void rf__vocab_free(const rf_ctx *ctx, rf__token_kinds *v)
{
    rf__free(ctx, v->kind);
    rf__free(ctx, v->plain);
    if (v->finder) {
        if (v->finder->scratch) v->finder->row->scratch_free(ctx, v->finder->scratch);
        rf__free(ctx, v->finder->joined);
        rf__free(ctx, v->finder);
    }
    *v = (rf__token_kinds){0};
}
