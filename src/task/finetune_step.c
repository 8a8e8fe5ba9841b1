/* finetune_step.c — computes the gradient of a batch of examples, and evaluates a file of examples.
 *
 *     an epoch      visits the examples in an order that is a function of (seed, epoch). Its last batch may be smaller;
 *                   but if the loss compares the examples of a batch, a single last example joins the batch before.
 *                   An update does not cross its end: the last one of an epoch may have fewer micro-batches
 *     R-Drop        every example is in the batch twice, with two dropout masks (objective.c)
 *     GradCache    (Gao et al. 2021) a batch of B examples that are all compared with each other, in the memory of M:
 *                  first the vectors, M at a time; then the loss and its gradient dz for all of them; then each part
 *                  again, with the same dropout masks, and its backward pass from its part of dz
 *                  Without GradCache the batch is computed in the same parts, one after another on one tape, so
 *                  gradients are the same sums for every M
 *     FGM          (Miyato et al. 2017, bert4keras' recipe) delta = eps g / |g|, g the gradient of the word embeddings;
 *                  the update is that of the loss at embeddings + delta */
#include <math.h>
#include <stdio.h>

#include "task/finetune.h"
#include "data/corpus/pieces.h"
#include "task/task_metrics.h"

/* ---- batches ---- */

int64_t rf__finetune_batches(const rf__finetune_run *f, int64_t at)
{
    const int64_t more = (int64_t)f->train.n - at - f->least;
    return more < 0 ? 0 : 1 + more / f->o.per_device_train_batch_size;
}

/* The largest batch from example `at` on. */
static int64_t largest_from(const rf__finetune_run *f, int64_t at)
{
    const int64_t n = (int64_t)f->train.n - at, each = f->o.per_device_train_batch_size;
    return n <= each ? n : rf__max64(each, n - (rf__finetune_batches(f, at) - 1) * each);
}

int64_t rf__finetune_largest(const rf__run *r, const rf__finetune_run *f)
{
    return rf__max64(largest_from(f, 0), largest_from(f, r->state.position.index));
}

void rf__finetune_gather(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens)
{
    rf__finetune_run *f = r->task;
    rf__data_position *at = &r->state.position;
    rf__item_batch *b = &f->batch[micro];
    size_t n = 0;
    b->n = 0;
    b->labels = b->N = b->B = 0;
    if (micro && !rf__finetune_batches(f, at->index)) return;
    if (!rf__finetune_batches(f, at->index)) *at = (rf__data_position){.epoch = at->epoch + 1};
    const bool last = rf__finetune_batches(f, at->index) == 1;
    const int64_t end = last ? (int64_t)f->train.n : at->index + f->o.per_device_train_batch_size;
    while (at->index < end)
        f->which[n++] = (size_t)rf__shuffled((uint64_t)at->index++, f->train.n, r->order, (uint64_t)at->epoch);
    rf__item_batch_fill(b, &f->train, f->which, n, f->o.r_drop > 0, &f->failed);
    *labels += b->labels;
    *tokens += f->task->train ? 2 * b->N - b->B : b->N;           /* each text twice, after another one without [CLS] */
}

/* ---- gradients ---- */

enum { FIRST = 1 << 19 };  /* FGM: the second pass has other dropout masks than the first, but the same masked tokens */

static rf__task_objective objective_of(const rf__run *r, uint64_t stream)
{
    const rf__finetune_run *f = r->task;
    return (rf__task_objective){.task = f->task, .class_weight = f->class_weight, .r_drop = f->o.r_drop, .o = &f->o,
                                .masking = &f->masking, .stream = stream & ~(uint64_t)FIRST};
}

/* The backward pass from the loss, unless the graph has failed. */
static rf_status back(rf_graph *g, rf_tensor *loss, rf_error *why)
{
    const rf_error *failed = rf__graph_error(g);
    return failed->code ? rf_fail(why, failed->code, "%s", failed->text) : rf__backward(g, loss, why);
}

/* A batch of vectors that are all compared, computed PART examples at a time. Gradients are summed in these parts. */
enum { PART = 16 };

typedef struct vectors {
    const rf__item_batch *b;
    float *z, *dz;                      /* [B,C]                                                                      */
    int32_t *start;                     /* [2 B]: the start of each part is 0                                         */
    rf_tensor **part;                   /* [n]: the parts on the tape                                                 */
    int64_t C, each;                    /* each: examples of a part                                                   */
    uint64_t stream;
} vectors;

static int32_t sequence_of(const vectors *v, int64_t example)
{
    return v->b->group[rf__min64(example, (int64_t)v->b->n)];
}

/* Computes z of examples first .. last - 1, each part recorded with its own dropout stream; a part begins at first. */
static rf_status forward(rf__run *r, const vectors *v, int64_t first, int64_t last, rf_error *why)
{
    const rf__item_batch *b = v->b;
    rf_graph *g = r->graph;
    rf__graph_reset(g);
    for (int64_t i = first; i < last; i += v->each) {
        const int32_t from = sequence_of(v, i), to = sequence_of(v, i + v->each), at = b->start[from];
        const int64_t k = i / v->each;
        int32_t *start = v->start + from + k;
        for (int32_t s = from; s <= to; s++) start[s - from] = b->start[s] - at;
        const rf_batch part = {.N = start[to - from], .B = to - from, .id = b->id + at, .type = b->type + at,
                               .start = start};
        rf__graph_record(g, 1, r->o.seed + (uint64_t)k * 0x9E3779B97F4A7C15u, v->stream);
        v->part[k] = rf__task_forward(g, r->encoder, &part);
        if (rf__graph_error(g)->code) return rf_fail(why, rf__graph_error(g)->code, "%s", rf__graph_error(g)->text);
        memcpy(v->z + from * v->C, v->part[k]->f32, (size_t)((to - from) * v->C) * sizeof *v->z);
    }
    return RF_OK;
}

/* The backward pass from dz of the examples on the tape, the last part first. */
static rf_status backward(rf__run *r, const vectors *v, int64_t first, int64_t last, rf_error *why)
{
    rf_graph *g = r->graph;
    rf_tensor *all = NULL;
    for (int64_t i = first; i < last; i += v->each) {
        rf_tensor *one = rf__inner(g, v->part[i / v->each], v->dz + sequence_of(v, i) * v->C);
        all = all ? rf__add(g, all, one) : one;
    }
    return back(g, all, why);
}

/* The loss of vectors z, and dz. */
static rf_status loss_of(rf__run *r, const vectors *v, double weight, double *loss_sum, rf_error *why)
{
    rf__finetune_run *f = r->task;
    const rf__task_objective objective = objective_of(r, v->stream);
    if (!f->compared && rf__graph_new(r->ctx, &f->compared, why)) return RF_ENOMEM;
    rf_graph *g = f->compared;
    rf__graph_products(g, r->o.bf16 ? RF_BF16 : RF_F32);
    rf__graph_reset(g);
    rf__graph_record(g, 1, r->o.seed, 0);
    rf_tensor *x = rf__parameter(g, v->z, v->dz, 2, (int64_t[]){v->b->B, v->C});
    return back(g, rf__task_objective_loss(g, x, v->b, &objective, weight, loss_sum), why);
}

/* Groups of `at_once` examples are on the tape together. If there are several groups, each is computed a second time
 * (GradCache), the last one first, so that gradients are summed in the same order as with a single group. */
static rf_status compare(rf__run *r, const vectors *v, int64_t at_once, double weight, double *loss_sum, rf_error *why)
{
    const int64_t n = (int64_t)v->b->n, groups = (n + at_once - 1) / at_once;
    rf_status status = RF_OK;
    for (int64_t k = 0; k < groups && !status; k++)
        status = forward(r, v, k * at_once, rf__min64(n, (k + 1) * at_once), why);
    if (!status) status = loss_of(r, v, weight, loss_sum, why);
    for (int64_t k = groups; k-- > 0 && !status;) {
        const int64_t first = k * at_once, last = rf__min64(n, first + at_once);
        if (groups > 1) status = forward(r, v, first, last, why);
        if (!status) status = backward(r, v, first, last, why);
    }
    return status;
}

static rf_status in_parts(rf__run *r, const rf__item_batch *b, uint64_t stream, double weight, double *loss_sum,
                          rf_error *why)
{
    const rf__finetune_run *f = r->task;
    const size_t B = (size_t)b->B, C = (size_t)r->params.config.hidden_size;
    const int64_t M = f->o.mini_batch_size ? f->o.mini_batch_size : (int64_t)b->n;
    float *z = rf__calloc(r->ctx, B, 2 * C * sizeof *z);
    int32_t *start = rf__calloc(r->ctx, 2 * B, sizeof *start);
    rf_tensor **part = rf__calloc(r->ctx, b->n, sizeof *part);
    const vectors v = {.b = b, .z = z, .dz = z ? z + B * C : NULL, .start = start, .part = part, .C = (int64_t)C,
                       .each = rf__min64(M, PART), .stream = stream};
    const int64_t at_once = M >= (int64_t)b->n ? (int64_t)b->n : M / v.each * v.each;
    const rf_status status = z && start && part ? compare(r, &v, at_once, weight, loss_sum, why)
                                                : rf_fail(why, RF_ENOMEM, "out of memory: vectors of %zu texts", B);
    rf__free(r->ctx, part);
    rf__free(r->ctx, start);
    rf__free(r->ctx, z);
    return status;
}

static rf_status one_pass(rf__run *r, const rf__item_batch *b, uint64_t stream, double weight, double *loss_sum,
                          rf_error *why)
{
    const rf__finetune_run *f = r->task;
    const rf__task_objective objective = objective_of(r, stream);
    const rf_batch view = rf__item_batch_view(b);
    const int64_t M = f->o.mini_batch_size;
    rf_graph *g = r->graph;
    if (f->task->head == RF_HEAD_EMBED && (int64_t)b->n > (M ? rf__min64(M, PART) : PART))
        return in_parts(r, b, stream, weight, loss_sum, why);
    rf__graph_reset(g);
    rf__graph_record(g, 1, r->o.seed, stream);
    if (f->task->train) return back(g, f->task->train(g, r->encoder, b, &objective, weight, loss_sum), why);
    rf_tensor *z = rf__task_forward(g, r->encoder, &view);
    return back(g, rf__task_objective_loss(g, z, b, &objective, weight, loss_sum), why);
}

/* Moves the word embeddings by eps along their gradient, which is in `leaf`; f->words keeps the originals. */
static void move_words(const rf__run *r, const rf__finetune_run *f, const float *leaf)
{
    const size_t n = r->params.p[r->params.word].count, at = r->params.p[r->params.word].offset;
    float *word = r->optimizer.value + at;
    const double norm = sqrt(r->ctx->k->sumsq(leaf + at, (int64_t)n));
    memcpy(f->words, word, n * sizeof *word);
    if (!isfinite(norm)) return;
    const float step = (float)(f->o.fgm / (norm + 1e-8));
    for (size_t i = 0; i < n; i++) word[i] += step * leaf[at + i];
}

rf_status rf__finetune_gradient(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum,
                                rf_error *why)
{
    rf__finetune_run *f = r->task;
    const rf__item_batch *b = &f->batch[micro];
    if (f->failed.code) return rf_fail(why, f->failed.code, "%s", f->failed.text);
    if (!b->labels) return RF_OK;
    if (!(f->o.fgm > 0)) return one_pass(r, b, stream, weight, loss_sum, why);

    float *leaf = r->tree.slab[r->tree.nodes + r->tree.joins - 1],
          *word = r->optimizer.value + r->params.p[r->params.word].offset;
    double before = 0;
    rf_status status = one_pass(r, b, stream | FIRST, weight, &before, why);
    if (status) return status;
    rf__saver_read(&r->saver);
    move_words(r, f, leaf);
    memset(leaf, 0, r->params.total * sizeof *leaf);
    status = one_pass(r, b, stream, weight, loss_sum, why);
    memcpy(word, f->words, r->params.p[r->params.word].count * sizeof *word);
    return status;
}

/* ---- evaluating ---- */

typedef struct evaluation { rf__run *r; double loss; int64_t labels; } evaluation;

static rf_status logits(void *user, const rf__item_batch *b, const float **out, int64_t *rows, int64_t *columns,
                        rf_error *why)
{
    evaluation *e = user;
    rf__run *r = e->r;
    const rf__finetune_run *f = r->task;
    rf__run_notify(r, "batch", NULL);
    if (r->stop) return rf_fail(why, RF_ESTOPPED, "stopped in an evaluation");
    const rf__task_objective objective = {.task = f->task, .o = &f->o};
    const rf_batch view = rf__item_batch_view(b);
    rf_graph *g = r->graph;
    rf__graph_reset(g);
    rf__graph_record(g, 0, 0, 0);
    rf_tensor *z = rf__task_forward(g, r->encoder, &view);
    rf__task_objective_loss(g, z, b, &objective, 1, &e->loss);
    const rf_error *failed = rf__graph_error(g);
    if (failed->code) return rf_fail(why, failed->code, "%s", failed->text);
    *out = z->f32;
    *rows = z->dim[0];
    *columns = z->dim[1];
    e->labels += b->labels;
    return RF_OK;
}

/* The metric of this name, whose existence rf__metric_known has checked. */
static rf_status find(const rf_metric_values *s, const char *name, double *out, rf_error *why)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->metric[i].name, name)) {
            *out = s->metric[i].value;
            return RF_OK;
        }
    return rf_fail(why, RF_EARG, "metric_for_best_model: expected a score of this task, got \"%s\"", name);
}

rf_status rf__finetune_metrics(rf__run *r, rf_error *why)
{
    rf__finetune_run *f = r->task;
    rf__state *t = &r->state;
    evaluation e = {.r = r};
    f->answers.function = r->params.config.score_function;
    rf_status status = rf__answers_fill(&f->answers, &f->dev, f->o.per_device_eval_batch_size,
                                        rf__task_least(f->task, &f->dev, &f->o), logits, &e, why);
    if (status || !e.labels) return status;
    t->eval_loss = e.loss / (double)e.labels;
    f->metrics = (rf_metric_values){.n = 1, .metric = {{"loss", t->eval_loss}}};
    status = f->task->evaluate(&f->answers, &f->dev, &f->source, &f->metrics, why);
    if (!status) status = find(&f->metrics, f->metric + 5, &t->eval_accuracy, why);
    if (!status) f->evaluated = t->step;
    return status;
}

rf_status rf__finetune_evaluate(rf__run *r, rf_error *why)
{
    rf__finetune_run *f = r->task;
    rf__state *t = &r->state;
    const double begin = rf__seconds();
    const rf_status status = rf__finetune_metrics(r, why);
    if (status || f->evaluated != t->step) return status;
    t->eval_step = t->step;
    json_t *line = json_pack("{s:I, s:f}", "step", (json_int_t)t->step, "epoch", rf__run_epoch(r));
    for (int i = 0; i < f->metrics.n; i++) {
        char name[64];
        const double x = f->metrics.metric[i].value;
        snprintf(name, sizeof name, "eval_%s", f->metrics.metric[i].name);
        rf__json_set(&line, name, isfinite(x) ? json_real(x) : json_null());
    }
    r->eval_seconds = rf__seconds() - begin;
    rf__json_set(&line, "eval_seconds", json_real(r->eval_seconds));
    rf__run_line(r, line);
    return RF_OK;
}
