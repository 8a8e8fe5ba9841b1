/* translation_run.h — runs of rf_train_translation on sentences and their words backwards: files, options, a report
 * that listens, and the run that others are compared with. */
#ifndef T_TRANSLATION_RUN_H
#define T_TRANSLATION_RUN_H

#include "result.h"

enum { PAIRS = 120, HELD = 16 };

typedef struct setup {
    rf_ctx *ctx;
    char *model, *out;
    const char *file[4][2];             /* source, target, held-out source, held-out target; two of the first         */
    rf_train_options o;
    rf_comm *comm;
    int64_t stop_at, batches;           /* the report asks to stop at this step; or between two batches               */
    char notes[4096];
    int steps, evals;
    double loss;
    rf_error why;
} setup;

static const char config_text[] =
    "{\"model_type\": \"transformer\", \"d_model\": 32, \"encoder_layers\": 1, \"decoder_layers\": 2, "
    "\"encoder_attention_heads\": 2, \"decoder_attention_heads\": 2, \"encoder_ffn_dim\": 48, \"decoder_ffn_dim\": 64, "
    "\"dropout\": 0.1, \"attention_dropout\": 0.1, \"layer_norm_eps\": 1e-5}";

static inline size_t sentence(char *to, unsigned i) { return (size_t)tiny_sentence(to, 128, i / 3, i % 3 * 7 + i); }

/* The same words, the last one first. */
static inline size_t backwards(char *to, const char *line, size_t size)
{
    size_t n = 0;
    for (size_t end = size - 1; end > 0;) {
        size_t at = end;
        while (at > 0 && line[at - 1] != ' ') at--;
        memcpy(to + n, line + at, end - at);
        n += end - at;
        to[n++] = at ? ' ' : '\n';
        end = at ? at - 1 : 0;
    }
    return n;
}

static inline void write_sides(const char *folder, const char *source, const char *target, unsigned from, unsigned n)
{
    char *text[2] = {malloc(n * 128), malloc(n * 128)};
    size_t size[2] = {0, 0};
    for (unsigned i = from; i < from + n; i++) {
        const size_t m = sentence(text[0] + size[0], i);
        size[1] += backwards(text[1] + size[1], text[0] + size[0], m);
        size[0] += m;
    }
    t_write(folder, source, text[0], size[0]);
    t_write(folder, target, text[1], size[1]);
    free(text[0]);
    free(text[1]);
}

static inline setup begin(int threads)
{
    setup s = {.ctx = t_ctx(threads, NULL), .model = tiny_model(), .out = strdup(t_folder())};
    static const char *const name[4][2] = {{"a.src", "b.src"}, {"a.tgt", "b.tgt"}, {"held.src"}, {"held.tgt"}};
    t_write(s.model, "config.json", config_text, sizeof config_text - 1);
    write_sides(s.model, "a.src", "a.tgt", 0, PAIRS / 2);
    write_sides(s.model, "b.src", "b.tgt", PAIRS / 2, PAIRS / 2);
    write_sides(s.model, "held.src", "held.tgt", PAIRS, HELD);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2 && name[i][k]; k++) s.file[i][k] = tiny_path(s.model, name[i][k]);
    return s;
}

/* 20 steps of two small batches, as tiny_options. */
static inline void options_of(setup *s)
{
    rf_train_options *o = &s->o;
    rf_translation_defaults(o);
    o->source = s->file[0], o->target = s->file[1];
    o->validation_source = s->file[2], o->validation_target = s->file[3];
    o->sources = o->targets = 2, o->validation_sources = o->validation_targets = 1;
    o->model = s->model, o->output_dir = s->out;
    o->max_steps = 20, o->tokens_per_batch = 160, o->max_length = 32, o->gradient_accumulation_steps = 2;
    o->learning_rate = 5e-3, o->warmup_steps = 4, o->logging_steps = 3, o->eval_steps = 10, o->save_steps = 4;
    o->save_total_limit = 0, o->seed = 7, o->eval_bleu = 1;
}

static inline int listen(void *user, const rf_train_progress *p)
{
    setup *s = user;
    const size_t n = strlen(s->notes);
    if (!strcmp(p->event, "step")) s->steps++, s->loss = p->loss;
    s->evals += !strcmp(p->event, "eval");
    s->batches += !strcmp(p->event, "batch");
    if (!strcmp(p->event, "note")) snprintf(s->notes + n, sizeof s->notes - n, "%s\n", p->note);
    return s->stop_at && p->step >= s->stop_at;
}

static inline rf_status go(setup *s)
{
    s->why = (rf_error){0};
    s->notes[0] = 0;
    s->steps = s->evals = 0;
    return rf_train_translation(s->ctx, &s->o, listen, s, &s->why);
}

static inline void must(setup *s, rf_status expected)
{
    const rf_status got = go(s);
    if (got != expected) fail_msg("%s: %s", rf_status_text(got), s->why.text);
}

static inline void noted(const setup *s, const char *part)
{
    if (!strstr(s->notes, part)) fail_msg("no note says \"%s\" in:\n%s", part, s->notes);
}

static inline void end(setup *s)
{
    rf_ctx_free(s->ctx);
    free(s->model);
    free(s->out);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) free((char *)(uintptr_t)s->file[i][k]);
}

/* The run that all others are compared with. */
static inline result straight(void)
{
    static result kept;
    static bool made;
    if (made) return kept;
    setup s = begin(1);
    options_of(&s);
    must(&s, RF_OK);
    kept = result_of(s.out, 20);
    made = true;
    assert_int_equal(s.steps, 20);
    assert_int_equal(s.evals, 2);
    noted(&s, "120 pairs of 10.0 + 10.0 tokens to train on, 16 held out");
    assert_false(tiny_has(s.out, "dropped.tsv"));
    end(&s);
    return kept;
}

static inline double result_number(const char *folder, const char *key)
{
    char *path = tiny_path(folder, "all_results.json");
    json_t *all = json_load_file(path, 0, NULL);
    const double x = json_number_value(json_object_get(all, key));
    json_decref(all);
    free(path);
    return x;
}

#endif
