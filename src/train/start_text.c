/* start_text.c — the data of pre-training: tokens of texts or caches, divided into pieces, and the position at which
 * the run continues. */
#include <math.h>

#include "train/text_job.h"

static int report_reading(void *user, double share, size_t tokens, size_t documents)
{
    rf__run *r = user;
    const double now = rf__seconds();
    if (now - r->last_said < 0.2) return r->stop;
    r->last_said = now;
    if (share < 0) rf__run_notify(r, "data", "%zu documents, %.1f million tokens", documents, (double)tokens * 1e-6);
    else rf__run_notify(r, "data", "%.0f %% of the text: %zu documents, %.1f million tokens", 100 * share, documents,
                      (double)tokens * 1e-6);
    return r->stop;
}

/* A single cache has its own hash; with several, their order counts. */
static uint64_t data_hash(const rf__pretraining *t)
{
    uint64_t hash = t->tokens[0].hash;
    for (int s = 1; s < t->sources; s++) hash = rf__hash64(&t->tokens[s].hash, sizeof hash, hash);
    return hash;
}

static void begin_epoch(rf__data_position *at)
{
    rf__data_position next = {.epoch = at->epoch + 1};
    for (int s = 1; s < RF__SOURCES; s++) next.cursor[s].epoch = at->cursor[s].epoch + 1;
    *at = next;
}

static rf_status restore_position(rf__run *r, const rf__pretraining *t, rf_error *why)
{
    rf__data_position *at = &r->state.position;
    const uint64_t data = data_hash(t);
    const bool inside = rf__data_position_inside(at, &t->pieces);
    if (*r->from && (data != r->state.data || r->o.max_length != r->state.data_length || !inside)) {
        if (!r->o.allow_data_change)
            return rf_fail(why, RF_EDATA,
                           "expected the text, vocabulary and max_length of %s, got others; allow_data_change "
                           "continues anyway", r->from);
        rf__run_notify(r, "note", "the text is not what the checkpoint was trained with: a new epoch begins");
        r->resized = false;
        begin_epoch(at);
    }
    r->state.data = data;
    r->state.data_length = r->o.max_length;
    return RF_OK;
}

static void count_steps(rf__run *r, const rf__pretraining *t)
{
    const rf_train_options *o = &r->o;
    const double each = (double)o->tokens_per_batch * (double)r->state.micro_batches;
    const double epochs_left = o->num_train_epochs - rf__run_epoch(r), tokens = (double)t->pieces.tokens;
    rf__run_resolve_steps(r, o->num_train_epochs * tokens / each, epochs_left * tokens / each);
    const double between = each * (double)o->eval_steps;
    if (o->eval_steps && (double)t->held.tokens > 0.6 * between)           /* a forward is a third of a step */
        rf__run_notify(r, "note",
                       "an evaluation reads %.1f million tokens, the %lld steps between two of them %.1f million: "
                       "a smaller eval_documents makes it shorter",
                       (double)t->held.tokens * 1e-6, (long long)o->eval_steps, between * 1e-6);
}

/* Opens the named caches, or the run's own one, made from its texts. */
static rf_status open_own(rf__run *r, uint64_t expect, rf_error *why)
{
    rf__pretraining *t = r->task;
    const rf_train_options *o = &r->o;
    const rf__texts texts = {o->text,   o->validation_text, o->texts, o->validation_texts, o->validation_split,
                             &o->reader};
    rf_status status = RF_OK;
    for (int s = 0; s < o->datas && !status; s++) {
        status = rf__tokens_read(r->ctx, r->tokenizer, o->data[s], &t->tokens[s], why);
        if (!status) t->sources++;
    }
    if (o->datas) return status;
    if (!o->texts) return rf_fail(why, RF_EARG, "text: expected a file, got none");
    status = rf__tokens_open(r->ctx, r->tokenizer, &texts, r->folder, expect, report_reading, r, &t->tokens[0], why);
    if (!status) t->sources = 1;
    return status;
}

/* Rank 0 creates tokens.cache if it does not exist; the others open it. */
static rf_status open_tokens(rf__run *r, rf_error *why)
{
    const rf__pretraining *t = r->task;
    rf_comm *c = r->o.comm;
    if (!c) return open_own(r, r->state.data, why);
    rf_status status = rf__agree(c, c->rank ? RF_OK : open_own(r, r->state.data, why), why);
    uint64_t hash = t->sources ? t->tokens[0].hash : 0;
    if (!status) status = rf__broadcast(c, &hash, sizeof hash, why);
    if (!status) status = rf__agree(c, c->rank ? open_own(r, hash, why) : RF_OK, why);
    return status ? status : rf__same(c, data_hash(t), "another text", why);
}

/* Only tokens that are not special can be masked: a text that consists of [UNK] has nothing to predict. Checking the
 * first few tokens is enough. */
static bool can_be_predicted(const rf__pieces *p, const rf__token_kinds *v)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < rf__piece_size(p, i); k++)
            if (!(v->kind[rf__id(rf__piece_of(p, i)->ids, rf__piece_at(p, i) + k)] & RF__SPECIAL)) return true;
    return false;
}

static rf_status cut_and_mix(rf__run *r, rf__pretraining *t, rf_error *why)
{
    const rf_train_options *o = &r->o;
    rf_status status =
        rf__pieces_new(r->ctx, t->tokens, t->sources, &r->vocab, o->max_length, false, 0, &t->pieces, why);
    if (!status)
        status = rf__pieces_new(r->ctx, t->tokens, t->sources, &r->vocab, o->max_length, true, o->eval_documents,
                                &t->held, why);
    if (!status && !t->pieces.n) status = rf_fail(why, RF_EDATA, "expected a text with tokens, got none");
    if (!status && !rf__pretrain_next(r) && !can_be_predicted(&t->pieces, &r->vocab))
        status = rf_fail(why, RF_EDATA,
                         "%s: expected text with words of the vocabulary, got only special and unknown tokens",
                         o->datas ? o->data[0] : o->text[0]);
    if (!status && o->datas && o->data_weight) status = rf__pieces_mix(&t->pieces, o->data_weight, why);
    return status;
}

/* Without held-out text nothing can be evaluated. Options that select by evaluations are refused before the first
 * step. */
static rf_status need_held_out(rf__run *r, const rf__pretraining *t, rf_error *why)
{
    const rf_train_options *o = &r->o;
    const char *what = o->load_best_model_at_end    ? "load_best_model_at_end"
                       : o->early_stopping_patience ? "early_stopping_patience"
                       : o->average_best            ? "average_best"
                                                    : NULL;
    if (t->held.n) return RF_OK;
    if (o->validation_texts)
        return rf_fail(why, RF_EDATA, "%s: expected text to evaluate on, got none; leave validation_text out to hold "
                       "out a part of the text (validation_split)", o->validation_text[0]);
    if (what)
        return rf_fail(why, RF_EARG,
                       "%s: expected held-out text to select the best model, got none; give validation_text, or a "
                       "larger validation_split", what);
    if (t->sources && rf__options_chosen(o, &r->usual, "eval_steps") && o->eval_steps)
        rf__run_notify(r, "note", "eval_steps: there is no held-out text, so nothing is evaluated");
    return RF_OK;
}

static rf_status make_batches(rf__run *r, rf__pretraining *t, rf_error *why)
{
    const int64_t n = r->o.gradient_accumulation_steps;
    t->batch = rf__calloc(r->ctx, (size_t)n, sizeof *t->batch);
    rf_status status =
        t->batch ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a list of %lld batches", (long long)n);
    for (; t->batches < n && !status; t->batches++)
        status = rf__mlm_batch_new(r->ctx, r->o.tokens_per_batch, &t->batch[t->batches], why);
    return status;
}

static void free_batches(rf__pretraining *t)
{
    for (int64_t i = 0; i < t->batches; i++) rf__mlm_batch_free(t->ctx, &t->batch[i]);
    rf__free(t->ctx, t->batch);
    t->batch = NULL;
    t->batches = 0;
}

void rf__pretrain_end(rf__run *r)
{
    rf__pretraining *t = r->task;
    free_batches(t);
    rf__pieces_free(t->ctx, &t->pieces);
    rf__pieces_free(t->ctx, &t->held);
    for (int s = 0; s < t->sources; s++) rf__tokens_close(t->ctx, &t->tokens[s]);
}

/* ---- stages ---- */

static void report_stage(rf__run *r, double seconds)
{
    const rf__stage *s = &r->stages.at[r->stage];
    char took[40] = "";
    if (seconds > 0) snprintf(took, sizeof took, "; begun in %.3f s", seconds);
    rf__run_notify(r, "note",
                   "stage %d of %d: length %lld, %lld updates of %lld x %lld tokens in %lld batch%s, peak rate "
                   "%.3g, %s%s",
                   r->stage + 1, r->stages.n, (long long)s->length, (long long)s->steps, (long long)s->batch,
                   (long long)s->length, (long long)s->micro_batches, s->micro_batches == 1 ? "" : "es",
                   s->learning_rate, s->bf16 ? "bf16" : "f32", took);
}

rf_status rf__pretrain_advance(rf__run *r, rf_error *why)
{
    rf__pretraining *t = r->task;
    const double begin = rf__seconds();
    free_batches(t);
    rf__pieces_free(r->ctx, &t->pieces);
    rf__pieces_free(r->ctx, &t->held);
    rf__stage_apply(&r->stages, ++r->stage, rf__ranks(r->o.comm), &r->o);
    rf_status status = cut_and_mix(r, t, why);
    if (!status) status = make_batches(r, t, why);
    if (!status) status = rf__run_open_exchange(r, why);
    if (status) return status;
    begin_epoch(&r->state.position);
    r->state.data_length = r->o.max_length;
    r->train_samples = (int64_t)t->pieces.n;
    r->eval_samples = (int64_t)t->held.n;
    rf__graph_products(r->graph, r->o.bf16 ? RF_BF16 : RF_F32);
    report_stage(r, rf__seconds() - begin);
    return RF_OK;
}

rf_status rf__pretrain_open(rf__run *r, rf_error *why)
{
    rf__pretraining *t = r->task;
    const rf_train_options *o = &r->o;
    rf__run_notify(r, "data", NULL);
    const bool none = !o->datas && !o->validation_texts && !(o->validation_split > 0);
    rf_status status = none ? need_held_out(r, t, why) : RF_OK;
    if (!status) status = open_tokens(r, why);
    if (!status) status = cut_and_mix(r, t, why);
    if (!status) status = need_held_out(r, t, why);
    if (!status) status = restore_position(r, t, why);
    if (status) return status;
    count_steps(r, t);
    r->train_samples = (int64_t)t->pieces.n;
    r->eval_samples = (int64_t)t->held.n;
    rf__run_notify(r, "note", "%.2f million tokens in %zu documents to train on, %.2f million in %zu held out",
                   (double)t->pieces.tokens * 1e-6, t->pieces.documents, (double)t->held.tokens * 1e-6,
                   t->held.documents);
    if (r->stages.n) report_stage(r, 0);
    r->order = rf__order_key(o->seed);
    rf__run_notify(r, "note", "packing: %.1f %% of a batch are tokens",
                   100 * rf__packing(&t->pieces, r->order, o->tokens_per_batch, 200));
    t->masking = (rf__masking){rf__make_key(o->seed, 0x6d61736b), o->mlm_probability, rf__whole_word_share(o),
                               &r->vocab, rf__pretrain_next(r)};
    t->eval_masking = t->masking;
    t->eval_masking.key = rf__evaluation_key(o->seed);
    status = t->masking.next ? RF_OK : rf__vocab_needs_mask(&r->vocab, why);
    return status ? status : make_batches(r, t, why);
}
