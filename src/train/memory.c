/* memory.c — estimates the memory that a run needs, before anything large is allocated. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/dry.h"
#include "model/positions.h"
#include "model/layers/linear_attention.h"
#include "store/store.h"
#include "data/pairs.h"
#include "dist/exchange.h"
#include "train/memory.h"
#include "optim/optimizer.h"

/* ---- memory of a step: what its own code would hold (model/dry.h), and what the encoder keeps -------------------- */

/* Number of tokens that are predicted. */
static int64_t labels_of(const rf_params *p, const rf_train_options *o, int64_t tokens)
{
    return p->head == RF_HEAD_SEQ2SEQ ? tokens
           : p->head != RF_HEAD_MLM    ? 0
           : p->config.linear_pooler   ? tokens / 2                               /* those of the second texts */
           : p->config.is_decoder      ? tokens
                                       : (int64_t)ceil(o->mlm_probability * (double)tokens);
}

/* Tokens of the longest text; with its second text, where both are one sequence. */
static int64_t longest_of(const rf_params *p, const rf_train_options *o)
{
    const rf_config *c = &p->config;
    const int64_t longest = (c->linear_pooler ? 2 : 1) * o->max_length;
    return rf__position_reaches(c, longest, NULL) ? rf__min64(longest, c->max_position_embeddings) : longest;
}

static rf_dry batch_of(const rf_params *p, const rf_train_options *o, int64_t tokens, int64_t source)
{
    const bool pairs = p->stacks > 1;
    return (rf_dry){.tokens = tokens, .longest = longest_of(p, o), .source = pairs ? source : 0,
                    .labels = labels_of(p, o, pairs ? tokens - source : tokens), .train = true,
                    .recompute = o->gradient_checkpointing != 0, .products = o->bf16 ? RF_BF16 : RF_F32};
}

/* Infinity, which no memory holds, if the step cannot be counted; `why` has the cause. */
static double bytes_held(const rf_params *p, const rf_dry *d, rf_error *why)
{
    rf_dry_result step;
    const double kept = rf__linear_attention_kept(&p->config, rf__min64(d->longest, d->tokens));
    return rf__dry_step(p, d, &step, why) ? INFINITY : step.bytes + kept;
}

double rf__memory_batch(const rf_params *p, const rf_train_options *o, int64_t tokens, int64_t source)
{
    const rf_dry d = batch_of(p, o, tokens, source);
    return bytes_held(p, &d, NULL);
}

double rf__memory_forward(const rf_params *p, const rf_train_options *o, int64_t tokens)
{
    return bytes_held(p, &(rf_dry){.tokens = tokens, .longest = longest_of(p, o),
                                   .products = o->bf16 ? RF_BF16 : RF_F32}, NULL);
}

/* Ids, rows, labels and starts of each micro-batch of a step (batch.c), which are all packed before the first is
 * computed; for a task, ids, types and at most one label for each token. */
double rf__memory_buffers(const rf_params *p, const rf_train_options *o, int64_t tokens)
{
    const double one = 4 * (p->head == RF_HEAD_MLM ? 3 + 1.0 / 3 : 3) * (double)tokens,
                 each = p->head == RF_HEAD_SEQ2SEQ ? rf__pair_batch_bytes(tokens) : one;
    return (double)o->gradient_accumulation_steps * each;
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

static const char *bytes_text(double bytes, char text[16])
{
    snprintf(text, 16, bytes < 1e9 ? "%.1f MB" : "%.2f GB", bytes * (bytes < 1e9 ? 1e-6 : 1e-9));
    return text;
}

/* Size of a batch: the tokens that are encoded together, and its examples. */
typedef struct batch { int64_t tokens; double examples; } batch;

static double of_examples(const rf__memory_job *job, double n) { return n * (job->each + n * job->square); }

static double bytes_of(const rf_params *p, const rf_train_options *o, const rf__memory_job *job, batch b,
                       rf_error *why)
{
    const rf_dry d = batch_of(p, o, b.tokens, (int64_t)(job->source * (double)b.tokens));
    const double trained = bytes_held(p, &d, why) + of_examples(job, b.examples);
    return fmax(trained, rf__memory_forward(p, o, job->evaluated));
}

/* Half of the batch: half of its tokens or, if these are not those of all examples, half of the larger number. */
static batch half(const rf_params *p, const rf_train_options *o, const rf__memory_job *job, batch b)
{
    const bool parts = job->at_once < job->examples;
    const double encoded = bytes_of(p, o, job, (batch){b.tokens, 0}, NULL);
    if (parts && (b.tokens / 2 < job->example || of_examples(job, b.examples) > encoded))
        return (batch){b.tokens, b.examples / 2};
    if (parts) return (batch){b.tokens / 2, b.examples};
    return (batch){rf__max64(b.tokens / 2, rf__min64(job->least, b.tokens - 1)), b.examples / 2}; /* also the minimum */
}

/* Writes the options of a batch that fits. */
static void advise(const rf__memory_job *job, batch b, char *text, size_t size)
{
    const int64_t at_once = job->example ? b.tokens / job->example : 0, examples = (int64_t)b.examples;
    if (!job->example) snprintf(text, size, "tokens_per_batch %lld", (long long)b.tokens);
    else if (job->at_once == job->examples)
        snprintf(text, size, "per_device_train_batch_size %lld", 
                 (long long)rf__max64(at_once, 1 + (job->square > 0)));
    else
        snprintf(text, size, "per_device_train_batch_size %lld with mini_batch_size %lld", (long long)examples,
                 (long long)rf__min64(rf__min64(at_once, job->at_once), examples));
}

/* The smallest batch of a task that compares the examples of a batch has two examples. */
static bool possible(const rf__memory_job *job, batch b)
{
    const bool parts = job->at_once < job->examples;
    const int64_t tokens = !parts && job->least ? job->least : job->example;
    return b.tokens >= rf__max64(tokens, 8) && (!parts || b.examples >= (job->square > 0 ? 2 : 1));
}

rf_status rf__memory_check(const rf_params *p, const rf_train_options *o, const rf__memory_job *job, double left,
                           char *note, size_t size, rf_error *why)
{
    static const rf__memory_job none = {0};
    if (!job) job = &none;
    const rf_params *model = job->model ? job->model : p;
    const double slabs = rf__memory_slabs(p, o) + job->copies;
    batch fits = {o->tokens_per_batch, (double)job->examples};
    rf_error cause = {0};
    const double first = bytes_of(model, o, job, fits, &cause), buffers = rf__memory_buffers(model, o, fits.tokens);
    if (cause.code) {
        if (why) *why = cause;
        return cause.code;
    }
    char all[16], weights[16], one[16], tokens[16], step[64] = "", advice[96];
    if (o->gradient_accumulation_steps > 1)
        snprintf(step, sizeof step, ", %s the tokens of a step", bytes_text(buffers, tokens));
    snprintf(note, size,
             "%.2f million parameters: needs %s (%s weights, gradients and moments, %s a batch%s), %.1f %s available",
             (double)rf_config_parameters(&p->config) * 1e-6, bytes_text(slabs + first + buffers, all),
             bytes_text(slabs, weights), bytes_text(first, one), step, left * (left < 1e9 ? 1e-6 : 1e-9),
             left < 1e9 ? "MB" : "GB");
    if (left <= 0 || slabs + first + buffers <= left) return RF_OK;
    while (possible(job, fits) &&
           slabs + bytes_of(model, o, job, fits, NULL) + rf__memory_buffers(model, o, fits.tokens) > left)
        fits = half(model, o, job, fits);
    if (!possible(job, fits)) {
        char features[96] = "";
        if (2 * rf__linear_attention_scratch(p->ctx, &model->config, o->max_length) > first)
            snprintf(features, sizeof features, ", most of it for %" PRId64 " features of linear attention",
                     rf__linear_attention_columns(&model->config));
        return rf_fail(why, RF_ENOMEM, "out of memory: %s%s; no batch fits", note, features);
    }
    advise(job, fits, advice, sizeof advice);
    return rf_fail(why, RF_ENOMEM, "out of memory: %s; %s would fit", note, advice);
}
