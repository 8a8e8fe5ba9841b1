/* evaluate.c — loss and accuracy on held-out text: of masked tokens, next tokens and translations. */
#include <stdio.h>

#include "model/model.h"
#include "model/translation_frame.h"
#include "roformer/inspect/files.h"
#include "train/checkpoint/checksums.h"
#include "train/evaluate.h"
#include "train/options.h"

rf_key rf__evaluation_key(uint64_t seed) { return rf__make_key(seed, 0x6576616c); }

/* ---- one batch after the other ---- */

/* What is predicted at which rows of the last h. */
typedef struct asked { const int32_t *row, *label; int64_t n, tokens; } asked;

static asked predicted_of(const rf__evaluator *s)
{
    const rf__pair_batch *p = s->pairs;
    if (p) return (asked){p->row, p->label, p->N[RF__TARGET_SIDE], p->N[RF__SOURCE_SIDE] + p->N[RF__TARGET_SIDE]};
    return (asked){s->batch->row, s->batch->label, s->batch->n, s->batch->N};
}

static rf_tensor *forward(rf__evaluator *s)
{
    if (!s->pairs) {
        const rf_batch view = rf__mlm_batch_view(s->batch);
        return rf__encoder_forward(s->graph, s->encoder, &view);
    }
    const rf_batch source = rf__pair_batch_side(s->pairs, RF__SOURCE_SIDE),
                   target = rf__pair_batch_side(s->pairs, RF__TARGET_SIDE);
    return rf__pair_forward(s->graph, s->encoder, &source, &target);
}

static rf_status evaluate_batch(rf__evaluator *s, rf__batch_loss *out, rf_error *why)
{
    const asked q = predicted_of(s);
    rf_graph *g = s->graph;
    *out = (rf__batch_loss){0, 0};
    if (!q.n) return RF_OK;
    rf__graph_reset(g);
    rf__graph_record(g, 0, 0, 0);
    if (s->score_batch) s->score_batch(s, out);
    else rf__mlm_loss(g, s->encoder, forward(s), q.row, q.label, q.n, 1, &out->loss, &out->hits);
    const rf_error *failed = rf__graph_error(g);
    return failed->code ? rf_fail(why, failed->code, "%s", failed->text) : RF_OK;
}

static void add_batch(rf__evaluator *s, const rf__batch_loss *b)
{
    s->loss += b->loss;
    s->hits += b->hits;
}

rf_status rf__evaluator_flush(rf__evaluator *s, rf_error *why)
{
    const size_t cursor = s->batches++, ranks = (size_t)rf__ranks(s->comm), at = cursor / ranks;
    rf__batch_loss batch;
    rf_status status = RF_OK;
    if (ranks == 1) {
        status = evaluate_batch(s, &batch, why);
        if (!status) add_batch(s, &batch);
    } else if (!rf__grow(s->ctx, &s->own, &s->capacity, at + 1, sizeof *s->own)) {
        status = rf_fail(why, RF_ENOMEM, "out of memory: scores of %zu batches", at + 1);
    } else if (cursor % ranks == (size_t)rf__rank(s->comm)) {
        status = evaluate_batch(s, &s->own[at], why);
    }
    const asked q = predicted_of(s);
    s->labels += q.n;
    s->tokens += q.tokens;
    if (!s->pairs) rf__mlm_batch_clear(s->batch);
    return status;
}

rf_status rf__evaluator_end(rf__evaluator *s, rf_error *why)
{
    const rf_ctx *ctx = s->ctx;
    const size_t ranks = (size_t)rf__ranks(s->comm), each = (s->batches + ranks - 1) / ranks;
    if (ranks == 1 || !each) return RF_OK;
    rf__batch_loss *all = rf__calloc(ctx, each * ranks, sizeof *all);
    rf_status status = all ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: scores of %zu batches", s->batches);
    if (!status) status = rf__gather_all(s->comm, s->own, all, each * sizeof *all, why);
    for (size_t i = 0; i < s->batches && !status; i++) add_batch(s, &all[i % ranks * each + i / ranks]);
    rf__free(ctx, all);
    rf__free(ctx, s->own);
    s->own = NULL;
    return status;
}

rf_status rf__evaluator_add(rf__evaluator *s, rf__ids ids, size_t at, size_t size, bool ends, uint64_t stream,
                            rf_error *why)
{
    if (!rf__fits(s->batch, size)) {
        const rf_status status = rf__evaluator_flush(s, why);
        if (status) return status;
    }
    rf__mlm_batch_add(s->batch, ids, at, size, ends, s->masking, stream);
    return RF_OK;
}

/* ---- a model folder on texts ---- */

typedef struct evaluation {
    const rf_ctx *ctx;
    const rf_train_options *o;
    rf_type type;
    rf_config config;
    rf_params params;
    float *value;
    rf_model *model;                    /* the model whose packed matrices are used, if they are not in f32 */
    rf_tokenizer *tokenizer;
    rf__token_kinds vocab;
    rf__masking masking;
    rf__mlm_batch batch;
    rf__pairs pairs;
    rf__pair_batch pair_batch;
    rf__evaluator scorer;
    int64_t documents;
    uint64_t pieces;
} evaluation;

/* Refuses models that cannot be evaluated on text, or on pairs. */
static rf_status check_kind(const evaluation *e, rf_error *why)
{
    const bool pairs = e->o->sources > 0, translates = e->config.is_encoder_decoder != 0;
    if (pairs && !translates)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: expected an encoder-decoder model for source and target, got a model without a decoder",
                       e->o->model);
    if (!pairs && translates)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: expected a language model, got a translation model; evaluate it with source and target",
                       e->o->model);
    return pairs ? RF_OK : rf__task_objective_check(e->o, &e->config, e->o->model, why);
}

static rf_status load_weights(evaluation *e, rf_error *why)
{
    rf_weights *w;
    bool head = false;
    rf_status status = rf_weights_open(e->ctx, e->o->model, &w, why);
    if (status) return status;
    e->value = rf__alloc(e->ctx, e->params.total * sizeof *e->value);
    if (!e->value)
        status = rf_fail(why, RF_ENOMEM, "out of memory: %.0f MB of weights", (double)e->params.total * 4e-6);
    if (!status) status = rf__params_load(&e->params, w, e->value, &head, NULL, why);
    if (!status && !head)
        status =
            rf_fail(why, RF_EUNSUPPORTED,
                    "%s: expected a language-model head (cls.predictions.*), got none", e->o->model);
    rf_weights_close(w);
    return status;
}

/* Binds the model's matrices. Other code that reads values, such as the loss over the vocabulary, uses f32. */
static rf_status bind_packed(evaluation *e, rf_error *why)
{
    const size_t n = e->params.n;
    rf_status status = rf_model_open_as(e->ctx, e->o->model, e->type, &e->model, why);
    if (status) return status;
    float **value = rf__calloc(e->ctx, n, sizeof *value);
    if (!value) return rf_fail(why, RF_ENOMEM, "out of memory: %zu weights", n);
    for (size_t i = 0; i < n; i++) value[i] = e->value + e->params.p[i].offset;
    status = rf__encoder_view(&e->params, value, (const rf_packed *const *)e->model->packed, &e->scorer.encoder, why);
    rf__free(e->ctx, (void *)value);
    return status;
}

static rf_status open_model(evaluation *e, rf_error *why)
{
    const rf_train_options *o = e->o;
    rf_status status = rf_tokenizer_open(e->ctx, o->model, &e->tokenizer, why);
    if (!status) status = rf__vocab_new(e->ctx, e->tokenizer, &e->vocab, why);
    if (!status) status = rf_config_read(e->ctx, o->model, &e->config, why);
    if (!status && e->vocab.size > e->config.vocab_size)
        status = rf_fail(why, RF_EDATA, "%s: expected a tokenizer with %lld tokens (vocab_size), got %d", o->model,
                         (long long)e->config.vocab_size, e->vocab.size);
    if (!status) status = check_kind(e, why);
    if (!status && o->sources)
        status = rf__checksums_tokenizer(e->ctx, o->model, rf_tokenizer_files(e->tokenizer), why);
    if (!status) status = rf__params_new(e->ctx, &e->config, &e->params, why);
    if (!status) status = load_weights(e, why);
    if (!status)
        status = e->type ? bind_packed(e, why)
                         : rf__encoder_new(&e->params, e->value, NULL, &e->scorer.encoder, why);
    if (!status) status = rf__graph_new(e->ctx, &e->scorer.graph, why);
    if (!status && e->type) rf__graph_products(e->scorer.graph, RF_BF16);
    if (!status && o->sources) status = rf__pair_batch_new(e->ctx, o->tokens_per_batch, &e->pair_batch, why);
    else if (!status) status = rf__mlm_batch_new(e->ctx, o->tokens_per_batch, &e->batch, why);
    e->masking = (rf__masking){rf__evaluation_key(o->seed), o->mlm_probability, rf__whole_word_share(o), &e->vocab,
                               e->config.is_decoder != 0};
    e->scorer.batch = &e->batch;
    e->scorer.masking = &e->masking;
    if (o->sources) e->scorer.pairs = &e->pair_batch;
    return status || e->masking.next || o->sources ? status : rf__vocab_needs_mask(&e->vocab, why);
}

static rf_status evaluate_part(void *user, const rf__part *part, double share, rf_error *why)
{
    evaluation *e = user;
    const size_t capacity = (size_t)(e->o->max_length - RF__TEMPLATE);
    size_t at = 0;
    (void)share;
    for (size_t d = 0; d < part->documents; d++) {
        size_t left = part->length[d] & ~RF__HELD;
        if (e->o->eval_documents && e->documents == e->o->eval_documents) return RF_ESTOPPED;
        e->documents++;
        while (left) {
            const size_t size = rf__piece_length(part->ids, at, left, capacity, e->vocab.kind);
            const rf_status status = rf__evaluator_add(&e->scorer, part->ids, at, size, size == left, e->pieces++, why);
            if (status) return status;
            at += size;
            left -= size;
        }
    }
    return RF_OK;
}

/* Whether the failure comes from the text and not from the computation; then the scores of what was read before it are
 * valid. */
static bool of_text(rf_status status) { return status == RF_EDATA || status == RF_EIO || status == RF_EUNSUPPORTED; }

static rf_status evaluate_texts(evaluation *e, rf_error *why)
{
    rf_reader *r;
    rf_error other = {0};
    rf_status status = rf_reader_open(e->ctx, e->o->text, e->o->texts, &e->o->reader, &r, why);
    if (status) return status;
    status = rf__feed(e->ctx, e->tokenizer, r, RF__HOLD_NONE, evaluate_part, e, why);
    if (status == RF_ESTOPPED) status = RF_OK;                              /* enough documents */
    if (!status) status = rf__evaluator_flush(&e->scorer, why);
    else if (of_text(status) && rf__evaluator_flush(&e->scorer, &other)) e->scorer.labels = 0;
    rf_reader_close(r);
    return status ? status : rf__vocab_words_found(&e->vocab, why);
}

/* Scores all pairs that fit into a batch, whatever their lengths. */
static rf_status evaluate_pairs(evaluation *e, rf_error *why)
{
    const rf_train_options *o = e->o;
    rf_translation_frame frame;
    rf_status status = rf__frame_translation(&e->config, e->tokenizer, o->source_lang, o->target_lang, &frame, why);
    if (status) return status;
    const rf__pair_marks marks = rf__pair_marks_of(&frame);
    const int64_t half = o->tokens_per_batch / 2;
    const rf__pair_limits limits = {{half - (int64_t)rf__around_size(&frame.source),
                                     half - (int64_t)rf__around_size(&frame.target)}, 0, {false}};
    const rf__pair_files files = {{o->source, o->target}, o->sources};
    size_t at = 0;
    status = rf__pairs_read(e->ctx, e->tokenizer, &files, &limits, NULL, NULL, &e->pairs, why);
    char dropped[256];
    if (!status && *rf__pairs_dropped(&e->pairs, &files, dropped, sizeof dropped))
        status = rf_fail(why, RF_EDATA, "%s, %s: expected pairs that all fit tokens_per_batch, %lld, got others: %s",
                         o->source[0], o->target[0], (long long)o->tokens_per_batch, dropped);
    while (!status && at < e->pairs.n) {
        rf__pairs_pack_in_order(&e->pairs, &marks, &at, &e->pair_batch);
        status = rf__evaluator_flush(&e->scorer, why);
    }
    e->documents = (int64_t)e->pairs.n;
    return status;
}

static void end(evaluation *e)
{
    const rf_ctx *ctx = e->ctx;
    rf__mlm_batch_free(ctx, &e->batch);
    rf__pair_batch_free(ctx, &e->pair_batch);
    rf__pairs_free(ctx, &e->pairs);
    rf__graph_free(e->scorer.graph);
    rf__encoder_free(e->scorer.encoder);
    rf_model_close(e->model);
    rf__free(ctx, e->value);
    if (e->params.p) rf__params_free(&e->params);
    rf__vocab_free(ctx, &e->vocab);
    rf_tokenizer_free(e->tokenizer);
}

static rf_status evaluate(evaluation *e, const rf_train_options *given, rf_train_options *o, bool pairs,
                          rf_mlm_metrics *out, rf_error *why)
{
    rf_held_folder *held = NULL;
    e->o = o;
    rf_train_defaults(o);
    rf_status status = rf__train_options_read(o, given, why);
    if (!status) status = rf__options_check(o, why);
    if (!status && pairs) {
        if (!o->model || !o->sources || o->sources != o->targets)
            status =
                rf_fail(why, RF_EARG, "evaluation: expected a model folder and as many target files as source files");
    } else if (!status) {
        o->sources = 0;
        if (!o->model || !o->texts) status = rf_fail(why, RF_EARG, "evaluation: expected a model folder and a text");
    }
    if (!status) status = rf_folder_hold(e->ctx, e->o->model, &held, why);
    if (!status) status = open_model(e, why);
    status = rf_folder_release(&held, status, why);
    if (!status) status = (pairs ? evaluate_pairs : evaluate_texts)(e, why);
    const rf__evaluator *s = &e->scorer;
    if (!status && !s->labels) status = rf_fail(why, RF_EDATA, "%s: expected text with tokens to predict, got none",
                                                pairs ? o->target[0] : o->text[0]);
    if (s->labels && (!status || of_text(status)))
        *out = (rf_mlm_metrics){s->loss / (double)s->labels, (double)s->hits / (double)s->labels, s->labels, s->tokens,
                              e->documents};
    end(e);
    return status;
}

rf_status rf_evaluate_mlm(const rf_ctx *ctx, const rf_train_options *given, rf_mlm_metrics *out, rf_error *why)
{
    return rf_evaluate_mlm_as(ctx, given, RF_F32, out, why);
}

rf_status rf_evaluate_mlm_as(const rf_ctx *ctx, const rf_train_options *given, rf_type type, rf_mlm_metrics *out,
                             rf_error *why)
{
    if (!(ctx && given && out)) return rf__missing("rf_evaluate_mlm", "ctx, options, out", why);
    rf_train_options o;
    return evaluate(&(evaluation){.ctx = ctx, .type = type}, given, &o, false, out, why);
}

rf_status rf_evaluate_pairs(const rf_ctx *ctx, const rf_train_options *given, rf_mlm_metrics *out, rf_error *why)
{
    if (!(ctx && given && out)) return rf__missing("rf_evaluate_pairs", "ctx, options, out", why);
    rf_train_options o;
    return evaluate(&(evaluation){.ctx = ctx, .type = RF_F32}, given, &o, true, out, why);
}
