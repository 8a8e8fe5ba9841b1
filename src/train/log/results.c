/* results.c — all_results.json, with the keys of transformers' Trainer.save_metrics:
 *
 *     epoch, train_loss (the mean of the steps' losses), train_runtime, train_samples, train_samples_per_second,
 *     train_steps_per_second, num_input_tokens_seen; eval_<metric>, eval_runtime, eval_samples,
 *     eval_samples_per_second; perplexity of pre-training; stages, a list, of a run that has them */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "roformer/inspect/files.h"
#include "train/log/results.h"

static void set_number(json_t **all, const char *name, double x)
{
    if (isfinite(x)) rf__json_set(all, name, json_real(x));
}

static void put_training(const rf__results *r, json_t **all)
{
    const rf__state *t = r->state;
    set_number(all, "epoch", r->epoch);
    rf__json_set(all, "train_samples", json_integer(r->train_samples));
    if (r->stages) rf__json_set(all, "stages", rf__stages_metrics(r->stages, t));
    rf__json_set(all, "num_input_tokens_seen", json_integer(t->tokens));
    if (t->total.steps) set_number(all, "train_loss", t->total.loss / (double)t->total.steps);
    if (!(t->seconds > 0)) return;
    set_number(all, "train_runtime", t->seconds);
    set_number(all, "train_samples_per_second", r->epoch * (double)r->train_samples / t->seconds);
    set_number(all, "train_steps_per_second", (double)t->step / t->seconds);
}

static void put_evaluation(const rf__results *r, json_t **all)
{
    for (int i = 0; i < r->metrics.n; i++) {
        const rf_metric_value *s = &r->metrics.metric[i];
        char name[64];
        snprintf(name, sizeof name, "eval_%s", s->name);
        if (strcmp(s->name, "perplexity") != 0) set_number(all, name, s->value);
        if (r->tokens && !strcmp(s->name, "loss")) set_number(all, "perplexity", exp(s->value));
    }
    if (!r->metrics.n) return;
    rf__json_set(all, "eval_samples", json_integer(r->eval_samples));
    if (!(r->eval_seconds > 0)) return;
    set_number(all, "eval_runtime", r->eval_seconds);
    set_number(all, "eval_samples_per_second", (double)r->eval_samples / r->eval_seconds);
}

rf_status rf__results_write(const rf__results *r, rf_error *why)
{
    char path[4096];
    rf_status status = rf__path(path, sizeof path, r->folder, RF_FILE_RESULTS, why);
    if (status) return status;
    json_t *all = json_object();
    put_training(r, &all);
    put_evaluation(r, &all);
    char *text = all ? rf__json_dump(all, JSON_INDENT(4) | JSON_SORT_KEYS | JSON_REAL_PRECISION(12)) : NULL;
    json_decref(all);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: %s", path);
    status = rf__replace_file(r->ctx, path, text, strlen(text), why);
    free(text);
    return status;
}
