/* whole_run.h — a pre-training run in this process: its messages and its files. */
#ifndef TESTS_TRAIN_WHOLE_RUN_H
#define TESTS_TRAIN_WHOLE_RUN_H

#include "result.h"

typedef struct run {
    rf_ctx *ctx;
    char *model, *out, *corpus;
    const char *text[1];
    rf_train_options o;
    int64_t stop_at;                    /* the report requests a stop at this step, or with -1 at the first event     */
    int64_t save_at;                    /* and for a checkpoint at this one                                           */
    char notes[4096];
    int steps, evals, saves;
    double loss;                        /* of the last step                                                           */
    rf_error why;
} run;

static inline int listen(void *user, const rf_train_progress *p)
{
    run *r = user;
    const size_t n = strlen(r->notes);
    if (!strcmp(p->event, "step")) r->steps++, r->loss = p->loss;
    r->evals += !strcmp(p->event, "eval");
    r->saves += !strcmp(p->event, "save");
    if (!strcmp(p->event, "note")) snprintf(r->notes + n, sizeof r->notes - n, "%s\n", p->note);
    if (r->save_at && p->step == r->save_at && !strcmp(p->event, "step")) return RF_TRAIN_SAVE;
    return r->stop_at == -1 || (r->stop_at && p->step >= r->stop_at);
}

static inline run begin(int threads, const char *isa)
{
    run r = {.ctx = t_ctx(threads, isa), .model = tiny_model(), .out = strdup(t_folder())};
    r.corpus = tiny_path(r.model, "corpus.txt");
    return r;
}

static inline rf_status go(run *r)
{
    r->text[0] = r->corpus;
    r->o.text = r->text;
    r->why = (rf_error){0};
    r->notes[0] = 0;
    r->steps = r->evals = r->saves = 0;
    return rf_pretrain(r->ctx, &r->o, listen, r, &r->why);
}

static inline run with_options(int threads)
{
    run r = begin(threads, NULL);
    r.o = tiny_options(r.model, r.text, r.out);
    return r;
}

static inline void end(run *r)
{
    rf_ctx_free(r->ctx);
    free(r->model);
    free(r->out);
    free(r->corpus);
}

static inline void must(run *r, rf_status expected)
{
    const rf_status got = go(r);
    if (got != expected) fail_msg("%s: %s", rf_status_text(got), r->why.text);
}

static inline void noted(const run *r, const char *part)
{
    if (!strstr(r->notes, part)) fail_msg("no note says \"%s\" in:\n%s", part, r->notes);
}

/* The run that all others are compared with: 20 steps, one thread, uninterrupted. */
static inline result straight(void)
{
    static result kept;
    static bool made;
    if (!made) {
        run r = with_options(1);
        must(&r, RF_OK);
        kept = result_of(r.out, 20);
        made = true;
        assert_int_equal(r.steps, 20);
        assert_int_equal(r.evals, 2);
        assert_int_equal(r.saves, 6);                                /* 4, 8, ... 20, and the folder itself */
        assert_int_equal(kept.lines, 20 / 3 + 1 + 2);                /* the last step is logged too */
        end(&r);
    }
    return kept;
}

#endif
