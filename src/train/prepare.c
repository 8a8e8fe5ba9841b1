/* prepare.c — a separate token cache, for many runs. */
#include <inttypes.h>
#include <stdio.h>
#include <math.h>

#include "data/corpus/batch.h"
#include "train/options.h"

typedef struct preparing {
    const rf_ctx *ctx;
    const rf_train_options *o;
    rf_train_report *report;
    void *user;
    double said;
    rf_tokenizer *tokenizer;
    rf__token_kinds vocab;
    rf__tokens tokens;
    rf__pieces pieces;
} preparing;

static int report_share(void *user, double share, size_t tokens, size_t documents)
{
    preparing *p = user;
    char note[160];
    const double now = rf__seconds();
    if (!p->report || now - p->said < 0.2) return 0;
    p->said = now;
    const int n = share < 0 ? 0 : snprintf(note, sizeof note, "%.0f %% of the text: ", 100 * share);
    snprintf(note + n, sizeof note - (size_t)n, "%zu documents, %.1f million tokens", documents, (double)tokens * 1e-6);
    const rf_train_progress progress = {.event = "data", .note = note, .eval_loss = NAN, .eval_accuracy = NAN,
                                        .eval_bleu = NAN};
    return p->report(p->user, &progress);
}

static rf_status make(preparing *p, const char *path, rf_error *why)
{
    const rf_train_options *o = p->o;
    const rf__texts texts = {o->text,   o->validation_text, o->texts, o->validation_texts, o->validation_split,
                             &o->reader};
    rf_status status = rf_tokenizer_open(p->ctx, o->model, &p->tokenizer, why);
    if (!status) status = rf__vocab_new(p->ctx, p->tokenizer, &p->vocab, why);
    if (!status) status = rf__tokens_make(p->ctx, p->tokenizer, &texts, path, report_share, p, &p->tokens, why);
    if (!status) status = rf__pieces_new(p->ctx, &p->tokens, 1, &p->vocab, o->max_length, false, 0, &p->pieces, why);
    return status;
}

rf_status rf_prepare(const rf_ctx *ctx, const rf_train_options *given, const char *path, rf_train_report *report,
                     void *user, rf_prepared *out, rf_error *why)
{
    if (!(ctx && given && path && out)) return rf__missing("rf_prepare", "ctx, options, path, out", why);
    enum { BATCHES = 1000 };
    rf_train_options o;
    preparing p = {.ctx = ctx, .o = &o, .report = report, .user = user};
    rf_train_defaults(&o);
    rf_status status = rf__train_options_read(&o, given, why);
    if (!status) status = rf__options_check(&o, why);
    if (!status && !o.texts) status = rf_fail(why, RF_EARG, "text: expected a file, got none");
    if (!status && !o.model) status = rf_fail(why, RF_EARG, "model: expected a folder with a tokenizer, got none");
    if (!status) status = make(&p, path, why);
    if (!status)
        *out = (rf_prepared){(int64_t)p.tokens.tokens,
                             (int64_t)p.tokens.documents,
                             (int64_t)p.tokens.held,
                             (int64_t)p.tokens.map.size,
                             (int64_t)p.pieces.n,
                             p.pieces.tokens,
                             rf__packing(&p.pieces, rf__order_key(o.seed), o.tokens_per_batch, BATCHES)};
    rf__pieces_free(ctx, &p.pieces);
    rf__tokens_close(ctx, &p.tokens);
    rf__vocab_free(ctx, &p.vocab);
    rf_tokenizer_free(p.tokenizer);
    return status;
}
