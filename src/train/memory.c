/* memory.c — an estimate of what a run needs, made before anything big is allocated. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "model/encoder.h"
#include "dist/exchange.h"
#include "train/memory.h"
#include "optim/optimizer.h"

/* ---- what a step holds (src/model/encoder.c, src/graph/ops) ------------------------------------------------------ */

typedef struct shape { double N, C, E, F, H, V, L, labels; bool bf16, drops; } shape;     /* labels: predicted tokens */

static shape shape_of(const rf_params *p, const rf_train_options *o, int64_t tokens)
{
    const rf_config *c = &p->config;
    return (shape){(double)tokens,
                   (double)c->hidden_size,
                   (double)c->embedding_size,
                   (double)c->intermediate_size,
                   (double)c->num_attention_heads,
                   (double)c->vocab_size,
                   (double)c->num_hidden_layers,
                   p->head != RF_HEAD_MLM ? 0
                   : c->is_decoder        ? (double)tokens
                                          : ceil(o->mlm_probability * (double)tokens),
                   o->bf16 != 0,
                   c->hidden_dropout_prob > 0};
}

/* Kept of each token by a layer: query, key, value; attention and its log-sum-exp; the sums that the norms saw, their
 * means and deviations, and their results; the feed-forward before its activation. */
static double layer(const shape *s) { return 4 * (8 * s->C + s->H + 4) + (s->bf16 ? 2 : 4) * s->F; }

/* Of the last layer, when the head looks at one token of each sequence: query, key, value and attention. */
static double last_layer(const shape *s, const rf_params *p)
{
    return rf__task_rows(p) ? 4 * (4 * s->C + s->H) : layer(s);
}

/* What comes and goes within a layer: the feed-forward after its activation; adjoints of a norm's sum and of what was
 * dropped of it; those of query, key and value. */
static double passing(const shape *s) { return 4 * (s->F + (s->drops ? 2 : 1) * s->C + 3 * s->C); }

/* Sum, result and dropout of the embeddings, of which the last is what the first layer sees; their projection. */
static double embeddings(const shape *s)
{
    const bool projected = s->E < s->C || s->E > s->C;
    return 4 * ((s->drops || projected ? 3 : 2) * s->E + (projected ? s->C : 0));
}

/* The head's rows, transform (twice), norm and adjoint, of each label. */
static double head(const shape *s) { return 4 * (s->C + 4 * s->E); }

/* A head on every token: what was dropped, logits and their adjoints.  One on texts has so few rows that they do not
 * count. */
static double task_head(const rf_params *p, const shape *s)
{
    const bool each = p->head == RF_HEAD_TOKEN || p->head == RF_HEAD_SPAN;
    return each ? 4 * s->N * ((s->drops ? s->C : 0) + 2 * (double)p->config.num_labels) : 0;
}

static double attention_scratch(const rf_params *p, const rf_train_options *o)
{
    const rf_config *c = &p->config;
    const int64_t T = rf__min64(o->max_length, o->tokens_per_batch), D = c->hidden_size / c->num_attention_heads;
    const rfk_attention a = {.queries = T, .keys = T, .width = D, .rotary = D};
    return (double)rf_ctx_threads(p->ctx) * (double)rfk_attention_back_scratch(&a);
}

double rf__memory_batch(const rf_params *p, const rf_train_options *o, int64_t tokens)
{
    const shape s = shape_of(p, o, tokens);
    const double logits =
        4 * s.V * fmin(s.labels, (double)rf__vocab_loss_rows((int64_t)s.labels, p->config.vocab_size));
    const double kept = s.N * embeddings(&s) + s.labels * head(&s) + task_head(p, &s),
                 scratch = attention_scratch(p, o);
    if (!o->gradient_checkpointing)
        return kept + s.N * ((s.L - 1) * layer(&s) + last_layer(&s, p)) +
               fmax(logits + s.N * 4 * s.F, s.N * (passing(&s) + 4 * s.C) + scratch);
    const double again = s.N * (layer(&s) + passing(&s)) + scratch;
    return kept + s.N * 4 * s.L * s.C + s.N * 8 * s.C + fmax(logits, again);
}

/* Ids, rows, labels and starts of each micro-batch of a step (batch.c), which are packed before the first of them is
 * computed; of a task ids, types and at most a label for each token. */
double rf__memory_buffers(const rf_params *p, const rf_train_options *o, int64_t tokens)
{
    const double each = 4 * (p->head == RF_HEAD_MLM ? 3 + 1.0 / 3 : 3);
    return (double)o->gradient_accumulation_steps * each * (double)tokens;
}

double rf__memory_slabs(const rf_params *p, const rf_train_options *o)
{
    const rf__rule rule = rf__rule_of(o);
    const int64_t share = o->gradient_accumulation_steps;
    const double leaves = rf__tree_slabs(rf__rank(o->comm) * share, share) - 1.0;
    const double each = leaves * sizeof(float) + (o->bf16_stochastic_rounding ? sizeof(uint16_t) : 0);
    const int ranks = rf__ranks(o->comm);
    return rf__optimizer_bytes(p, &rule, ranks) + each * (double)p->total + rf__exchange_bytes(p, ranks);
}

/* The first layer beside the embeddings that it reads: query, key, value; attention and its projection; the
 * feed-forward inside and out; both norms. */
double rf__memory_forward(const rf_params *p, int64_t tokens)
{
    const rf_config *c = &p->config;
    const double E = (double)c->embedding_size, C = (double)c->hidden_size, F = (double)c->intermediate_size;
    const bool projected = c->embedding_size != c->hidden_size, rows = c->num_hidden_layers == 1 && rf__task_rows(p);
    return 4 * (double)tokens * (3 * E + (projected ? C : 0) + (rows ? 4 * C : 8 * C + F));
}

static const char *bytes_text(double bytes, char text[16])
{
    snprintf(text, 16, bytes < 1e9 ? "%.1f MB" : "%.2f GB", bytes * (bytes < 1e9 ? 1e-6 : 1e-9));
    return text;
}

rf_status rf__memory_check(const rf_params *p, const rf_train_options *o, const rf__memory_job *job, double left,
                           char *note, size_t size, rf_error *why)
{
    const int64_t example = job ? job->example : 0;
    const double slabs = rf__memory_slabs(p, o) + (job ? job->copies : 0),
                 least = rf__memory_forward(p, job ? job->evaluated : 0);
    const double batch = fmax(rf__memory_batch(p, o, o->tokens_per_batch), least),
                 buffers = rf__memory_buffers(p, o, o->tokens_per_batch);
    char all[16], weights[16], one[16], tokens[16], step[64] = "";
    if (o->gradient_accumulation_steps > 1)
        snprintf(step, sizeof step, ", %s the tokens of a step", bytes_text(buffers, tokens));
    snprintf(note, size,
             "%.2f million parameters: needs %s (%s weights, gradients and moments, %s a batch%s), %.1f %s available",
             (double)rf_config_parameters(&p->config) * 1e-6, bytes_text(slabs + batch + buffers, all),
             bytes_text(slabs, weights), bytes_text(batch, one), step, left * (left < 1e9 ? 1e-6 : 1e-9),
             left < 1e9 ? "MB" : "GB");
    if (left <= 0 || slabs + batch + buffers <= left) return RF_OK;
    int64_t fits = o->tokens_per_batch;
    while (fits >= 8 && slabs + fmax(rf__memory_batch(p, o, fits), least) + rf__memory_buffers(p, o, fits) > left)
        fits /= 2;
    if (fits < rf__max64(example, 8)) return rf_fail(why, RF_ENOMEM, "out of memory: %s; no batch fits", note);
    return rf_fail(why, RF_ENOMEM, "out of memory: %s; %s %lld would fit", note,
                   example ? "per_device_train_batch_size" : "tokens_per_batch",
                   (long long)(example ? fits / example : fits));
}
