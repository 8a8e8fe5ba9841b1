/* text_job.c — pre-training on texts, as a job of the training loop (run.h).
 *
 *     config of the folder, or a new one -> weights of the folder, or new ones -> tokens of the texts, in pieces ->
 *     steps, each of which packs pieces into batches and predicts their masked tokens, or the next ones */
#include <math.h>

#include "graph/graph.h"
#include "model/family.h"
#include "model/positions.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "train/save.h"
#include "train/text_job.h"

/* ---- the model ---- */

/* A small model: the full-sized defaults of RoFormerConfig are too large for a first run on a few cores. */
static rf_status create_config(rf__run *r, rf_config *c, rf_error *why)
{
    (void)why;
    rf_config_defaults(c);
    c->num_hidden_layers = c->num_attention_heads = 4;
    c->hidden_size = c->embedding_size = 256;
    c->intermediate_size = 1024;
    rf__run_notify(r, "note", "%s has no config.json: a new model of %d layers, width %d", r->o.model,
                   (int)c->num_hidden_layers, (int)c->hidden_size);
    return RF_OK;
}

/* Applies --objective to a model that starts here; a checkpoint has its objective already. */
static rf_status admit(rf__run *r, rf_config *c, bool trained, rf_error *why)
{
    if (!*r->from && r->o.objective == RF_OBJECTIVE_CLM && !c->is_decoder) {
        if (rf__config_lacks(rf__config_family(c), "is_decoder"))
            return rf_fail(why, RF_EUNSUPPORTED, "objective clm: expected a family with a causal model, got %s",
                           rf__config_family(c)->title);
        c->is_decoder = 1;
        if (trained) {
            rf_config_set_head(c, RF_HEAD_MLM);
            rf__run_notify(r, "note",
                           "%s was trained with bidirectional attention; from now on it attends to earlier tokens only",
                           r->o.model);
        }
    }
    const rf_family *f;
    if (!rf__family_find(c, &f, NULL) && f->wordless)
        return rf_fail(why, RF_EUNSUPPORTED, "pretrain: expected a family with a language-model head, got %s; finetune "
                       "trains it", f->config.title);
    return rf__task_objective_check(&r->o, c, *r->from ? r->from : RF_FILE_CONFIG, why);
}

/* A folder of another class (BertForPreTraining, or a fine-tuned one) is written as the class that is trained here. */
static bool of_masked(const rf_config *c)
{
    const rf_class_row *is = rf__config_class(c);
    return is && is->head == RF_HEAD_MLM;
}

static bool detects(const rf__run *r) { return r->o.objective == RF_OBJECTIVE_RTD; }

static rf_status configure(rf__run *r, rf_config *c, rf_head *head, rf_error *why)
{
    rf_config generator;
    *head = detects(r) ? RF_HEAD_DETECT : RF_HEAD_MLM;
    if (detects(r) || !of_masked(c)) rf_config_set_head(c, *head);
    return detects(r) ? rf__rtd_config(c, r->o.generator_size, &generator, why) : RF_OK;
}

/* Pieces of text are as long as max_length, in each stage. */
static rf_status check_lengths(const rf__run *r, rf_error *why)
{
    rf_status status = r->stages.n ? RF_OK : rf__position_reaches(&r->params.config, r->o.max_length, why);
    for (int i = 0; i < r->stages.n && !status; i++)
        status = rf__position_reaches(&r->params.config, r->stages.at[i].length, why);
    return status;
}

static rf_status settle(rf__run *r, rf_error *why)
{
    rf_config generator;
    rf_status status = RF_OK;
    r->progress.objective = rf__text_next(r) ? RF_OBJECTIVE_CLM : detects(r) ? RF_OBJECTIVE_RTD : RF_OBJECTIVE_MLM;
    if (detects(r)) status = rf__rtd_config(&r->params.config, r->o.generator_size, &generator, why);
    if (!status && detects(r)) status = rf__rtd_new(&r->params, &generator, r->o.rtd_weight, &r->rtd, why);
    return status ? status : check_lengths(r, why);
}

static void memory(const rf__run *r, rf__memory_job *own)
{
    if (r->rtd) own->copies = rf__memory_batch(&r->rtd->generator, &r->o, r->o.tokens_per_batch, 0);
}

/* The weights of the model and of its generator. */
static rf_status set_both(rf__run *r, bool trained, rf_error *why)
{
    bool generator = false;
    rf__rtd_init(r->rtd, r->optimizer.value, !trained, r->o.seed);
    if (!trained) return RF_OK;
    const rf_status status = rf__rtd_load(r->rtd, r->o.model, r->optimizer.value, &generator, why);
    if (!status)
        rf__run_notify(r, "note", "starting from the weights in %s%s", r->o.model,
                       generator ? " and its generator" : "; the generator is new");
    return status;
}

static rf_status begin(rf__run *r, bool trained, rf_error *why)
{
    if (r->rtd) return set_both(r, trained, why);
    (trained ? rf__params_init_head : rf__params_init)(&r->params, r->optimizer.value, r->o.seed);
    if (!trained) return RF_OK;
    rf__run_notify(r, "note", "starting from the weights in %s", r->o.model);
    return rf__run_load_weights(r, r->o.model, why);
}

/* ---- a step ---- */

/* Batches of other ranks are counted, not created. */
static void gather(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens)
{
    rf__text_training *t = r->task;
    const int64_t mine = micro - rf__run_first(r);
    int32_t start[1];
    rf__mlm_batch other = {.capacity = r->o.tokens_per_batch, .start = start};
    const bool own = mine >= 0 && mine < t->batches;
    rf__mlm_batch *b = own ? &t->batch[mine] : &other;
    rf__mlm_batch_clear(b);
    if (!rf__run_past_end(r, micro))
        rf__pack_next(&t->pieces, r->order, own ? &t->masking : NULL, &r->state.position, b);
    *labels += b->n;
    *tokens += b->N;
    if (r->rtd) r->rtd->tokens = *tokens;
}

static rf_status gradient(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum, rf_error *why)
{
    const rf__text_training *t = r->task;
    const rf__mlm_batch *b = &t->batch[micro];
    rf_graph *g = r->graph;
    if (!b->n) return RF_OK;                                         /* only special tokens */
    if (r->rtd) return rf__rtd_gradient(r->rtd, g, r->encoder, b, r->o.seed, stream, weight, loss_sum, why);
    rf__graph_reset(g);
    rf__graph_record(g, 1, r->o.seed, stream);
    const rf_batch view = rf__mlm_batch_view(b);
    rf_tensor *h = rf__encoder_forward(g, r->encoder, &view);
    rf_tensor *loss = rf__mlm_loss(g, r->encoder, h, b->row, b->label, b->n, weight, loss_sum, NULL);
    const rf_error *failed = rf__graph_error(g);
    if (failed->code) return rf_fail(why, failed->code, "%s", failed->text);
    return rf__backward(g, loss, why);
}

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static void log_step(const rf__run *r, json_t **line)
{
    if (rf__text_next(r)) rf__json_set(line, "perplexity", number(exp(r->progress.loss)));
}

static double epoch_of(const rf__run *r)
{
    const rf__text_training *t = r->task;
    return rf__data_position_epoch(&r->state.position, &t->pieces);
}

/* ---- evaluating ---- */

static rf_status score_held(rf__run *r, rf__evaluator *s, rf_error *why)
{
    const rf__text_training *t = r->task;
    const size_t ranks = (size_t)rf__ranks(r->o.comm);
    bool stop = false;
    rf_status status = RF_OK;
    rf__mlm_batch_clear(s->batch);
    for (size_t i = 0, asked = 0; i < t->held.n && !status; i++) {
        if (s->batches >= asked + ranks) {                              /* every rank has computed one */
            asked = s->batches;
            status = rf__run_give_up(r, &stop, why);
        }
        if (!status && stop) status = RF_ESTOPPED;
        if (!status)
            status = rf__evaluator_add(s, rf__piece_of(&t->held, i)->ids, rf__piece_at(&t->held, i),
                                       rf__piece_size(&t->held, i), rf__piece_ends(&t->held, i), i, why);
    }
    if (!status) status = rf__evaluator_flush(s, why);
    if (!status) status = rf__evaluator_end(s, why);
    rf__free(r->ctx, s->own);
    return status ? status : rf__vocab_words_found(&r->vocab, why);
}

/* Takes the loss of training, and the discriminator's accuracy. */
static void take_detection(rf__run *r, const rf__rtd_sums *both)
{
    r->state.eval_loss += r->rtd->weight * both->detection / (double)both->tokens;
    r->state.eval_accuracy = (double)both->right / (double)both->tokens;
}

static void log_detection(json_t **line, const rf__evaluator *s)
{
    const rf__rtd_sums *b = &s->both;
    rf__json_set(line, "eval_generator_loss", number(b->generator / (double)s->labels));
    rf__json_set(line, "eval_generator_accuracy", json_real((double)b->found / (double)s->labels));
    rf__json_set(line, "eval_detection_loss", number(b->detection / (double)b->tokens));
    rf__json_set(line, "eval_replaced", json_real((double)b->replaced / (double)b->tokens));
    rf__json_set(line, "eval_detected", number((double)b->detected / (double)b->replaced));
}

static rf_status evaluate(rf__run *r, rf_error *why)
{
    rf__text_training *t = r->task;
    rf__state *now = &r->state;
    const double begin = rf__seconds();
    rf__evaluator s = {.graph = r->graph,
                       .encoder = r->encoder,
                       .batch = &t->batch[0],
                       .masking = &t->eval_masking,
                       .rtd = r->rtd,
                       .ctx = r->ctx,
                       .comm = r->o.comm};
    const rf_status status = score_held(r, &s, why);
    if (status || !s.labels) return status;
    now->eval_loss = s.loss / (double)s.labels;
    now->eval_accuracy = (double)s.hits / (double)s.labels;
    if (r->rtd) take_detection(r, &s.both);
    now->eval_step = now->step;
    r->eval_seconds = rf__seconds() - begin;
    json_t *line =
        json_pack("{s:I, s:f, s:o, s:f, s:I, s:I, s:f}", "step", (json_int_t)now->step, "epoch", rf__run_epoch(r),
                  "eval_loss", number(now->eval_loss), "eval_accuracy", now->eval_accuracy, "eval_labels",
                  (json_int_t)s.labels, "eval_tokens", (json_int_t)s.tokens, "eval_seconds", r->eval_seconds);
    if (rf__text_next(r)) rf__json_set(&line, "eval_perplexity", number(exp(now->eval_loss)));
    if (r->rtd) log_detection(&line, &s);
    rf__run_line(r, line);
    return RF_OK;
}

/* ---- the job ---- */

static const char *metric(const rf__run *r)
{
    (void)r;
    return "eval_accuracy";
}

static void run_defaults(rf_train_options *o) { rf_train_defaults(o); }

static json_t *defaults(void)
{
    rf_train_options o;
    run_defaults(&o);
    return rf__options_json(&o);
}

static void card(const rf__run *r, rf__card *c) { rf__run_card_losses(r, rf__text_next(r), c); }

static const rf__job job = {.usual = run_defaults,
                            .invent = create_config,
                            .admit = admit,
                            .configure = configure,
                            .settle = settle,
                            .memory = memory,
                            .begin = begin,
                            .open = rf__text_open,
                            .gather = gather,
                            .gradient = gradient,
                            .log = log_step,
                            .evaluate = evaluate,
                            .advance = rf__text_advance,
                            .epoch = epoch_of,
                            .metric = metric,
                            .defaults = defaults,
                            .card = card,
                            .ranks = true,
                            .tokens = true};

rf_status rf_pretrain(const rf_ctx *ctx, const rf_train_options *options, rf_train_report *report, void *user,
                      rf_error *why)
{
    if (!(ctx && options)) return rf__missing("rf_pretrain", "ctx, options", why);
    rf__text_training t = {.ctx = ctx};
    rf_train_options own;
    run_defaults(&own);
    rf_status status = rf__train_options_read(&own, options, why);
    if (!status && own.metric_for_best_model == RF_METRIC_BLEU)
        status = rf_fail(why, RF_EARG,
                         "metric_for_best_model: expected eval_loss or eval_accuracy, got eval_bleu, which only "
                         "translation models have");
    if (!status) status = rf__run_all(ctx, &own, &job, &t, report, user, why);
    rf__text_clear(&t);
    return status;
}
