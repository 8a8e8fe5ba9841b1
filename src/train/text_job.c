/* text_job.c — pre-training on texts, as a job of the training loop (run.h).
 *
 *     config of the folder, or a new one -> weights of the folder, or new ones -> tokens of the texts, in pieces ->
 *     steps, each of which packs pieces into batches and predicts their masked tokens, or the next ones
 *
 * Other objectives are jobs that share the functions rf__pretrain_*. */
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
rf_status rf__pretrain_create_config(rf__run *r, rf_config *c, rf_error *why)
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
rf_status rf__pretrain_admit(rf__run *r, rf_config *c, bool trained, rf_error *why)
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

static rf_status configure(rf__run *r, rf_config *c, rf_head *head, rf_error *why)
{
    (void)r, (void)why;
    *head = RF_HEAD_MLM;
    if (!of_masked(c)) rf_config_set_head(c, RF_HEAD_MLM);
    return RF_OK;
}

/* Pieces of text are as long as max_length, in each stage. */
rf_status rf__pretrain_check_lengths(const rf__run *r, rf_error *why)
{
    rf_status status = r->stages.n ? RF_OK : rf__position_reaches(&r->params.config, r->o.max_length, why);
    for (int i = 0; i < r->stages.n && !status; i++)
        status = rf__position_reaches(&r->params.config, r->stages.at[i].length, why);
    return status;
}

static rf_status settle(rf__run *r, rf_error *why)
{
    r->progress.objective = rf__pretrain_next(r) ? RF_OBJECTIVE_CLM : RF_OBJECTIVE_MLM;
    return rf__pretrain_check_lengths(r, why);
}

static rf_status begin(rf__run *r, bool trained, rf_error *why)
{
    (trained ? rf__params_init_head : rf__params_init)(&r->params, r->optimizer.value, r->o.seed);
    if (!trained) return RF_OK;
    rf__run_notify(r, "note", "starting from the weights in %s", r->o.model);
    return rf__run_load_weights(r, r->o.model, why);
}

/* ---- a step ---- */

/* Batches of other ranks are counted, not created. */
void rf__pretrain_gather(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens)
{
    rf__pretraining *t = r->task;
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
}

static rf_status gradient(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum, rf_error *why)
{
    const rf__pretraining *t = r->task;
    const rf__mlm_batch *b = &t->batch[micro];
    rf_graph *g = r->graph;
    if (!b->n) return RF_OK;                                         /* only special tokens */
    rf__graph_reset(g);
    rf__graph_record(g, 1, r->o.seed, stream);
    const rf_batch view = rf__mlm_batch_view(b);
    rf_tensor *h = rf__encoder_forward(g, r->encoder, &view);
    rf_tensor *loss = rf__mlm_loss(g, r->encoder, h, b->row, b->label, b->n, weight, loss_sum, NULL);
    const rf_error *failed = rf__graph_error(g);
    if (failed->code) return rf_fail(why, failed->code, "%s", failed->text);
    return rf__backward(g, loss, why);
}

static void log_step(const rf__run *r, json_t **line)
{
    if (rf__pretrain_next(r)) rf__json_set(line, "perplexity", rf__json_number(exp(r->progress.loss)));
}

double rf__pretrain_epoch(const rf__run *r)
{
    const rf__pretraining *t = r->task;
    return rf__data_position_epoch(&r->state.position, &t->pieces);
}

/* ---- evaluating ---- */

static rf_status score_held(rf__run *r, rf__evaluator *s, rf_error *why)
{
    const rf__pretraining *t = r->task;
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

rf_status rf__pretrain_score(rf__run *r, rf__evaluator *s, rf_error *why)
{
    rf__pretraining *t = r->task;
    s->graph = r->graph;
    s->encoder = r->encoder;
    s->batch = &t->batch[0];
    s->masking = &t->eval_masking;
    s->ctx = r->ctx;
    s->comm = r->o.comm;
    const rf_status status = score_held(r, s, why);
    if (status || !s->labels) return status;
    r->state.eval_loss = s->loss / (double)s->labels;
    r->state.eval_accuracy = (double)s->hits / (double)s->labels;
    r->state.eval_step = r->state.step;
    return RF_OK;
}

json_t *rf__pretrain_line(rf__run *r, const rf__evaluator *s, double begin)
{
    const rf__state *t = &r->state;
    r->eval_seconds = rf__seconds() - begin;
    return json_pack("{s:I, s:f, s:o, s:f, s:I, s:I, s:f}", "step", (json_int_t)t->step, "epoch", rf__run_epoch(r),
                     "eval_loss", rf__json_number(t->eval_loss), "eval_accuracy", t->eval_accuracy, "eval_labels",
                     (json_int_t)s->labels, "eval_tokens", (json_int_t)s->tokens, "eval_seconds", r->eval_seconds);
}

static rf_status evaluate(rf__run *r, rf_error *why)
{
    const double begin = rf__seconds();
    rf__evaluator s = {0};
    const rf_status status = rf__pretrain_score(r, &s, why);
    if (status || !s.labels) return status;
    json_t *line = rf__pretrain_line(r, &s, begin);
    if (rf__pretrain_next(r)) rf__json_set(&line, "eval_perplexity", rf__json_number(exp(r->state.eval_loss)));
    rf__run_line(r, line);
    return RF_OK;
}

/* ---- the job ---- */

const char *rf__pretrain_metric(const rf__run *r)
{
    (void)r;
    return "eval_accuracy";
}

void rf__pretrain_usual(rf_train_options *o) { rf_train_defaults(o); }

json_t *rf__pretrain_defaults(void)
{
    rf_train_options o;
    rf__pretrain_usual(&o);
    return rf__options_json(&o);
}

void rf__pretrain_card(const rf__run *r, rf__card *c) { rf__run_card_losses(r, rf__pretrain_next(r), c); }

const rf__job rf__text_job = {RF__ON_TEXT,
                              .configure = configure,
                              .settle = settle,
                              .begin = begin,
                              .open = rf__pretrain_open,
                              .gather = rf__pretrain_gather,
                              .gradient = gradient,
                              .log = log_step,
                              .evaluate = evaluate,
                              .end = rf__pretrain_end};

/* ---- which job ---- */

#define JOB_OF(value, word) [RF_##value] = &rf__##word##_job,
static const rf__job *const job_of[] = {RF_OBJECTIVES(JOB_OF)};

/* A number that is no objective is refused with the other options. */
static const rf__job *find_job(rf_objective objective)
{
    return (size_t)objective < RF_COUNT(job_of) ? job_of[objective] : &rf__text_job;
}

rf_status rf__pretrain_restore(rf__run *r, const json_t *saved, rf_error *why)
{
    (void)saved, (void)why;
    r->job = find_job(r->o.objective);
    return RF_OK;
}

rf_status rf_pretrain(const rf_ctx *ctx, const rf_train_options *options, rf_train_report *report, void *user,
                      rf_error *why)
{
    if (!(ctx && options)) return rf__missing("rf_pretrain", "ctx, options", why);
    rf__pretraining t = {.ctx = ctx};
    rf_train_options own;
    rf__pretrain_usual(&own);
    const rf_status status = rf__train_options_read(&own, options, why);
    if (status) return status;
    if (own.metric_for_best_model == RF_METRIC_BLEU)
        return rf_fail(why, RF_EARG,
                       "metric_for_best_model: expected eval_loss or eval_accuracy, got eval_bleu, which only "
                       "translation models have");
    return rf__run_all(ctx, &own, find_job(own.objective), &t, report, user, why);
}
