/* test_translation.c — mirrors src/train/pairs/translation_job.c, translation_step.c and translation_bleu.c, and of
 * evaluate.c what has to do with pairs: whole runs on sentences and their words backwards. */
#define _GNU_SOURCE
#include "folder_bleu.h"
#include "ranks.h"
#include "result.h"

#include "train/pairs/translation_job.h"

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

static size_t sentence(char *to, unsigned i) { return (size_t)tiny_sentence(to, 128, i / 3, i % 3 * 7 + i); }

/* The same words, the last one first. */
static size_t backwards(char *to, const char *line, size_t size)
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

static void write_sides(const char *folder, const char *source, const char *target, unsigned from, unsigned n)
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

static setup begin(int threads)
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
static void options_of(setup *s)
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

static int listen(void *user, const rf_train_progress *p)
{
    setup *s = user;
    const size_t n = strlen(s->notes);
    if (!strcmp(p->event, "step")) s->steps++, s->loss = p->loss;
    s->evals += !strcmp(p->event, "eval");
    s->batches += !strcmp(p->event, "batch");
    if (!strcmp(p->event, "note")) snprintf(s->notes + n, sizeof s->notes - n, "%s\n", p->note);
    return s->stop_at && p->step >= s->stop_at;
}

static rf_status go(setup *s)
{
    s->why = (rf_error){0};
    s->notes[0] = 0;
    s->steps = s->evals = 0;
    return rf_train_translation(s->ctx, &s->o, listen, s, &s->why);
}

static void must(setup *s, rf_status expected)
{
    const rf_status got = go(s);
    if (got != expected) fail_msg("%s: %s", rf_status_text(got), s->why.text);
}

static void noted(const setup *s, const char *part)
{
    if (!strstr(s->notes, part)) fail_msg("no note says \"%s\" in:\n%s", part, s->notes);
}

static void end(setup *s)
{
    rf_ctx_free(s->ctx);
    free(s->model);
    free(s->out);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) free((char *)(uintptr_t)s->file[i][k]);
}

static void same(result a, result b)
{
    assert_int_equal(a.model, b.model);
    assert_int_equal(a.optimizer, b.optimizer);
    assert_int_equal(a.lines, b.lines);
    assert_int_equal(a.metrics, b.metrics);
}

/* The run that all others are compared with. */
static result straight(void)
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

static double result_number(const char *folder, const char *key)
{
    char *path = tiny_path(folder, "all_results.json");
    json_t *all = json_load_file(path, 0, NULL);
    const double x = json_number_value(json_object_get(all, key));
    json_decref(all);
    free(path);
    return x;
}

/* ---- learning ---- */

/* Of eight pairs every word is known at the end: the loss without smoothing goes to nothing, every label is right. */
static void it_learns_a_few_by_heart(void **state)
{
    (void)state;
    setup s = begin(2);
    options_of(&s);
    rf_mlm_metrics score;
    write_sides(s.model, "a.src", "a.tgt", 0, 8);
    s.o.sources = s.o.targets = 1;
    s.o.validation_source = s.o.source, s.o.validation_target = s.o.target;
    s.o.max_steps = 250, s.o.eval_steps = s.o.save_steps = 250, s.o.gradient_accumulation_steps = 1;
    s.o.label_smoothing_factor = 0, s.o.warmup_steps = 20, s.o.eval_num_beams = 3;
    static const char without[] =
        "{\"model_type\": \"transformer\", \"d_model\": 32, \"encoder_layers\": 1, \"decoder_layers\": 1, "
        "\"encoder_attention_heads\": 2, \"decoder_attention_heads\": 2, \"encoder_ffn_dim\": 64, \"decoder_ffn_dim\": "
        "64, \"dropout\": 0}";
    t_write(s.model, "config.json", without, sizeof without - 1);
    must(&s, RF_OK);
    s.o.model = s.out;
    if (rf_evaluate_pairs(s.ctx, &s.o, &score, &s.why)) fail_msg("%s", s.why.text);
    print_message("           loss %.5f, accuracy %.1f %%\n", score.loss, 100 * score.accuracy);
    assert_true(score.loss < 0.01);
    assert_true(score.accuracy > 0.999);
    assert_int_equal(score.documents, 8);
    const double bleu = folder_bleu(s.ctx, s.out, s.file[0][0], s.file[1][0], 3, s.o.max_length);
    t_near(result_number(s.out, "eval_bleu"), bleu, 1e-9);
    assert_true(result_number(s.out, "eval_bleu") > 99);
    end(&s);
}

/* An evaluation is a sum over pairs, however they are packed; that of the run is that of the folder. */
static void an_evaluation_is_the_folders(void **state)
{
    (void)state;
    setup s = begin(1);
    options_of(&s);
    rf_mlm_metrics a, b;
    s.o.average_last = 2;
    must(&s, RF_OK);
    noted(&s, "the model is the mean of checkpoints 20, 16");
    s.o.model = s.out, s.o.source = s.file[2], s.o.target = s.file[3], s.o.sources = s.o.targets = 1;
    if (rf_evaluate_pairs(s.ctx, &s.o, &a, &s.why)) fail_msg("%s", s.why.text);
    s.o.tokens_per_batch = 64;
    if (rf_evaluate_pairs(s.ctx, &s.o, &b, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(a.labels, b.labels);
    assert_int_equal(a.tokens, b.tokens);
    t_near(a.loss, b.loss, 1e-5 * a.loss);
    t_near(result_number(s.out, "eval_loss"), a.loss, 1e-5 * a.loss);
    t_near(result_number(s.out, "perplexity"), exp(a.loss), 1e-4 * exp(a.loss));
    assert_true(result_number(s.out, "train_samples") == PAIRS);
    const double bleu = folder_bleu(s.ctx, s.out, s.file[2][0], s.file[3][0], 1, s.o.max_length);
    t_near(result_number(s.out, "eval_bleu"), bleu, 1e-9);
    end(&s);
}

/* ---- the same bits ---- */

static void stopped_and_resumed(void **state)
{
    (void)state;
    const result expected = straight();
    setup s = begin(1);
    options_of(&s);
    s.o.stop_after = 7;
    must(&s, RF_ESTOPPED);
    assert_false(tiny_has(s.out, "model.safetensors"));
    rf_train_options again;                              /* the checkpoint alone: no file, no folder of sub-words     */
    rf_translation_defaults(&again);
    again.output_dir = s.out;
    again.resume_from_checkpoint = "latest";
    again.stop_after = 4;                                         /* 11: between two saves, two logs, two evaluations */
    s.o = again;
    must(&s, RF_ESTOPPED);
    assert_int_equal(s.steps, 4);
    s.o.stop_after = 0;
    s.stop_at = 17;
    must(&s, RF_ESTOPPED);
    s.stop_at = 0;
    must(&s, RF_OK);
    same(result_of(s.out, 20), expected);
    end(&s);
}

static void threads_and_recomputation_change_nothing(void **state)
{
    (void)state;
    const result expected = straight();
    for (int again = 0; again < 2; again++) {
        setup s = begin(3);
        options_of(&s);
        s.o.gradient_checkpointing = again;
        must(&s, RF_OK);
        same(result_of(s.out, 20), expected);
        end(&s);
    }
}

static rf_status member(rf_comm *c, void *arg, rf_error *why)
{
    setup *s = (setup *)arg;
    s->o.comm = c;
    return rf_train_translation(s->ctx, &s->o, listen, s, why);
}

/* Two ranks of one micro-batch each, evaluations included. */
static void two_ranks_are_one(void **state)
{
    (void)state;
    const result expected = straight();
    setup s[2] = {begin(1), begin(1)};
    ranks_one out[RANKS_MOST];
    for (int i = 0; i < 2; i++) {
        options_of(&s[i]);
        s[i].o.gradient_accumulation_steps = 1;
        s[i].o.output_dir = s[0].out;
        s[i].o.model = s[0].model;
        for (int k = 0; k < 2; k++) {
            s[i].o.source = s[0].file[0], s[i].o.target = s[0].file[1];
            s[i].o.validation_source = s[0].file[2], s[i].o.validation_target = s[0].file[3];
        }
    }
    if (ranks_run(2, member, s, sizeof *s, out)) fail_msg("%s / %s", out[0].why.text, out[1].why.text);
    const result got = result_of(s[0].out, 20);
    assert_int_equal(got.model, expected.model);
    assert_int_equal(got.metrics, expected.metrics);
    write_sides(s[1].model, "a.src", "a.tgt", 5, PAIRS / 2);
    s[1].o.source = s[1].file[0], s[1].o.target = s[1].file[1];
    for (int i = 0; i < 2; i++) s[i].o.output_dir = t_folder();
    assert_int_equal(ranks_run(2, member, s, sizeof *s, out), RF_EARG);
    t_failed(&out[0].why, RF_EARG, "another text");
    for (int i = 0; i < 2; i++) end(&s[i]);
}

/* Two batches of half the size make the step of one: what differs is the packing, which here is the same. */
static void accumulated_batches_are_one(void **state)
{
    (void)state;
    setup s = begin(1);
    options_of(&s);
    static const char line[] = "the red cat is walking the dog .\n";
    char text[4 * sizeof line] = "";
    double loss[2];
    for (int i = 0; i < 4; i++) strcat(text, line);
    t_write(s.model, "a.src", text, strlen(text));
    t_write(s.model, "a.tgt", text, strlen(text));
    static const char without[] =
        "{\"model_type\": \"transformer\", \"d_model\": 32, \"encoder_layers\": 1, \"decoder_layers\": 1, "
        "\"encoder_attention_heads\": 2, \"decoder_attention_heads\": 2, \"encoder_ffn_dim\": 64, \"decoder_ffn_dim\": "
        "64, \"dropout\": 0}";
    t_write(s.model, "config.json", without, sizeof without - 1);
    s.o.sources = s.o.targets = 1;
    s.o.validation_sources = s.o.validation_targets = s.o.eval_bleu = 0;
    s.o.max_length = 16, s.o.max_steps = s.o.save_steps = 10, s.o.eval_steps = 0, s.o.logging_steps = 1;
    for (int i = 0; i < 2; i++) {
        s.o.output_dir = t_folder();
        s.o.gradient_accumulation_steps = i ? 2 : 1;
        s.o.tokens_per_batch = i ? 40 : 80;                                  /* two pairs of 10 + 10 tokens, or four */
        must(&s, RF_OK);
        loss[i] = s.loss;
    }
    t_near(loss[0], loss[1], 1e-5 * loss[0]);
    end(&s);
}

static void bf16_is_near(void **state)
{
    (void)state;
    setup s = begin(1);
    options_of(&s);
    must(&s, RF_OK);
    const double exact = s.loss;
    s.o.output_dir = t_folder();
    s.o.bf16 = 1;
    must(&s, RF_OK);
    t_near(s.loss, exact, 0.02 * exact);
    end(&s);
}

/* ---- files ---- */

/* What is left out is counted, and listed line by line. */
static void what_is_left_out_is_listed(void **state)
{
    (void)state;
    setup s = begin(1);
    options_of(&s);
    char *source = t_bytes(4096), *target = t_bytes(4096), line[256];
    sprintf(source, "the red cat .\n\nthe\nthe old dog .\n");
    sprintf(target, "cat red the .\nthe\nthe the the the the the the the the the the the\n");
    for (int i = 0; i < 40; i++) strcat(target, "the ");
    strcat(target, "\n");
    t_write(s.model, "a.src", source, strlen(source));
    t_write(s.model, "a.tgt", target, strlen(target));
    must(&s, RF_OK);
    noted(&s, "3 of 64 pairs to train on are dropped: 1 have an empty side (lines a.src:2); 1 are longer than the "
              "limit (lines a.src:4); 1 have sides of too different lengths (lines a.src:3); "
              "dropped.tsv lists them");
    char *path = tiny_path(s.out, "dropped.tsv");
    FILE *f = fopen(path, "r");
    static const char *const expected[] = {"reason\tsource_tokens", "\t2\tempty\t0\t1\n", "\t3\tratio\t1\t12\n",
                                           "\t4\tlength\t4\t40\n"};
    assert_non_null(f);
    for (size_t i = 0; i < RF_COUNT(expected); i++) {
        assert_non_null(fgets(line, sizeof line, f));
        if (!strstr(line, expected[i])) fail_msg("%s", line);
        if (i) assert_non_null(strstr(line, "a.src"));
    }
    assert_null(fgets(line, sizeof line, f));
    fclose(f);
    free(path);
    end(&s);
}

typedef void spoil(setup *s);
static void no_target(setup *s) { s->o.targets = 0; }
static void fewer_targets(setup *s) { s->o.targets = 1; }
static void one_side_held(setup *s) { s->o.validation_targets = 0; }
static void large_lengths(setup *s) { s->o.max_length = 100; }
static void no_held(setup *s)
{
    s->o.validation_sources = s->o.validation_targets = 0;
    s->o.early_stopping_patience = 2;
}
static void bleu_of_none(setup *s)
{
    s->o.validation_sources = s->o.validation_targets = s->o.eval_bleu = 0;
    s->o.metric_for_best_model = RF_METRIC_BLEU;
}
static void not_utf8(setup *s) { t_write(s->model, "b.tgt", "ok\nbad \xff\n", 10); }
static void one_segmentation(setup *s) { s->o.subword_sampling = 0.1; }
static void other_lines(setup *s) { t_write(s->model, "b.tgt", "one\n", 4); }
static void one_sided(setup *s)
{
    static const char config[] = "{\"model_type\": \"roformer\", \"hidden_size\": 32, \"num_hidden_layers\": 1, "
                                 "\"num_attention_heads\": 2, \"intermediate_size\": 64}";
    t_write(s->model, "config.json", config, sizeof config - 1);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct { spoil *how; rf_status code; const char *part; } cases[] = {
        {no_target, RF_EARG, "target: expected a file, got none"},
        {fewer_targets, RF_EARG, "source, target: expected the same number of files, got 2 and 1"},
        {one_side_held, RF_EARG, "validation_source, validation_target: expected the same number of files, got"},
        {large_lengths, RF_EARG, "max_length: expected at most 80, half of tokens_per_batch (--max_tokens)"},
        {no_held, RF_EARG, "early_stopping_patience: expected held-out pairs to select the best model"},
        {not_utf8, RF_EDATA, "b.tgt:2: "},
        {other_lines, RF_EDATA, "parallel text: expected the same number of lines, got 60 in"},
        {one_sided, RF_EUNSUPPORTED,
         "model_type: expected \"transformer\" or \"marian\" for translation, got roformer"},
        {one_segmentation, RF_EUNSUPPORTED, "subword_sampling: encode: sampling: expected a tokenizer with several"},
        {bleu_of_none, RF_EARG, "metric_for_best_model: expected held-out pairs to select the best model, got"},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        setup s = begin(1);
        options_of(&s);
        char *fresh = tiny_path(s.model, "new");
        s.o.output_dir = fresh;
        cases[i].how(&s);
        must(&s, cases[i].code);
        t_failed(&s.why, cases[i].code, cases[i].part);
        assert_int_equal(s.steps, 0);
        assert_int_not_equal(access(fresh, F_OK), 0);                /* nothing remains */
        free(fresh);
        end(&s);
    }
}

/* A checkpoint goes on with the pairs that were held out from it; one that knows none takes any, and says so. */
static void held_out_pairs_stay(void **state)
{
    (void)state;
    setup s = begin(1);
    options_of(&s);
    s.o.stop_after = 2, s.o.save_steps = 2, s.o.eval_bleu = 0;
    must(&s, RF_ESTOPPED);
    s.o.resume_from_checkpoint = "latest";
    must(&s, RF_ESTOPPED);
    write_sides(s.model, "held.src", "held.tgt", 0, HELD);
    must(&s, RF_EDATA);
    t_failed(&s.why, RF_EDATA, "expected the pairs (also held-out ones), subwords and max_length of");
    s.o.allow_data_change = 1;
    must(&s, RF_ESTOPPED);
    noted(&s, "a new epoch begins");
    s.o.allow_data_change = 0;
    must(&s, RF_ESTOPPED);
    end(&s);
    s = begin(1);
    options_of(&s);
    s.o.stop_after = 2, s.o.save_steps = 2, s.o.eval_bleu = 0, s.o.validation_sources = s.o.validation_targets = 0;
    must(&s, RF_ESTOPPED);
    s.o.resume_from_checkpoint = "latest", s.o.validation_sources = s.o.validation_targets = 1;
    must(&s, RF_ESTOPPED);
    noted(&s, "does not record which pairs were held out");
    must(&s, RF_ESTOPPED);
    if (strstr(s.notes, "does not record")) fail_msg("what was taken is not known: %s", s.notes);
    end(&s);
}

/* A checkpoint goes on with its own pairs and sub-words; a translator's folder with those that it was trained with. */
static void what_belongs_together(void **state)
{
    (void)state;
    setup s = begin(1);
    options_of(&s);
    s.o.stop_after = 4;
    must(&s, RF_ESTOPPED);
    s.o.resume_from_checkpoint = "latest";
    write_sides(s.model, "b.src", "b.tgt", 3, PAIRS / 2);
    must(&s, RF_EDATA);
    t_failed(&s.why, RF_EDATA, "expected the pairs (also held-out ones), subwords and max_length of");
    s.o.allow_data_change = 1;
    must(&s, RF_ESTOPPED);
    noted(&s, "a new epoch begins");
    s.o.stop_after = 0;
    must(&s, RF_OK);
    char *from = s.out;                                              /* on from its weights */
    s.o.resume_from_checkpoint = NULL;
    s.o.allow_data_change = 0;
    s.o.model = from;
    s.o.output_dir = t_folder();
    must(&s, RF_OK);
    noted(&s, "starting from the weights in");
    char *path = tiny_path(from, "config.json");                     /* sub-words that the model was not trained with */
    json_t *all = json_load_file(path, 0, NULL);
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n";
    json_object_set_new(all, "eos_token_id", json_integer(33));
    assert_int_equal(json_dump_file(all, path, 0), 0);
    json_decref(all);
    free(path);
    t_write(from, "vocab.txt", vocab, sizeof vocab - 1);
    s.o.output_dir = t_folder();
    must(&s, RF_EDATA);
    t_failed(&s.why, RF_EDATA, "decoder_start_token_id 2, eos_token_id 33: expected the subwords that the");
    end(&s);
}

static void early_stopping_and_the_best(void **state)
{
    (void)state;
    setup s = begin(1);
    options_of(&s);
    s.o.learning_rate = 0;                                           /* no evaluation is better than the first */
    s.o.eval_steps = s.o.save_steps = 2;
    s.o.early_stopping_patience = 3;
    s.o.load_best_model_at_end = 1;
    must(&s, RF_OK);
    assert_int_equal(s.steps, 8);
    noted(&s, "3 evaluations in a row without improvement");
    noted(&s, "the model is that of checkpoint-2: eval_loss");
    s.o.metric_for_best_model = RF_METRIC_BLEU;
    s.o.output_dir = t_folder();
    must(&s, RF_OK);
    assert_int_equal(s.steps, 8);
    noted(&s, "BLEU in evaluations: 16 pairs, 1 beam, tok:13a");
    noted(&s, "the model is that of checkpoint-2: eval_bleu");
    s.o.metric_for_best_model = RF_METRIC_LOSS;
    s.o.output_dir = s.out;
    s.o.resume_from_checkpoint = "latest";
    must(&s, RF_OK);                                                 /* ended is ended */
    assert_int_equal(s.steps, 0);
    end(&s);
}

/* ---- new models ---- */

/* Without a folder sub-words are learned, and are there when the run is begun again. */
static void sampling_options(setup *s, const char *model, const char *config)
{
    options_of(s);
    s->o.model = model, s->o.config = config;
    s->o.max_length = 64, s->o.tokens_per_batch = 512, s->o.max_steps = 12, s->o.subword_sampling = 0.3;
}

/* Sub-words that are drawn in each epoch: the same for a run that was stopped and for two ranks, others than kept. */
static void sampled_runs_are_one(const char *sub_words)
{
    setup whole = begin(1), parts = begin(1), plain = begin(1), rank[2] = {begin(1), begin(1)};
    ranks_one out[RANKS_MOST];
    char *config = tiny_path(whole.model, "config.json");
    sampling_options(&whole, sub_words, config);
    must(&whole, RF_OK);
    noted(&whole, "subwords are sampled again in each epoch: 1.");
    const result expected = result_of(whole.out, 12);
    sampling_options(&parts, sub_words, config);
    parts.o.stop_after = 5;
    must(&parts, RF_ESTOPPED);
    rf_translation_defaults(&parts.o);
    parts.o.output_dir = parts.out, parts.o.resume_from_checkpoint = "latest";
    must(&parts, RF_OK);
    same(result_of(parts.out, 12), expected);
    sampling_options(&plain, sub_words, config);
    plain.o.subword_sampling = 0;
    must(&plain, RF_OK);
    assert_int_not_equal(result_of(plain.out, 12).model, expected.model);
    for (int i = 0; i < 2; i++) {
        sampling_options(&rank[i], sub_words, config);
        rank[i].o.source = whole.file[0], rank[i].o.target = whole.file[1];
        rank[i].o.validation_source = whole.file[2], rank[i].o.validation_target = whole.file[3];
        rank[i].o.gradient_accumulation_steps = 1, rank[i].o.output_dir = rank[0].out;
    }
    if (ranks_run(2, member, rank, sizeof *rank, out)) fail_msg("%s / %s", out[0].why.text, out[1].why.text);
    assert_int_equal(result_of(rank[0].out, 12).model, expected.model);
    free(config);
    end(&whole), end(&parts), end(&plain), end(&rank[0]), end(&rank[1]);
}

/* What is wrong with them, and with options, is said before sub-words are learned. */
static void held_texts_first(setup *s)
{
    static const char *const missing[] = {"no-such-file"};
    const char *const *held = s->o.validation_target;
    s->o.validation_target = missing;
    must(s, RF_EIO);
    t_failed(&s->why, RF_EIO, "no-such-file: cannot open");
    s->o.validation_target = held;
    t_write(s->model, "held.tgt", "a\n\xff\n", 4);
    must(s, RF_EDATA);
    t_failed(&s->why, RF_EDATA, "held.tgt:2: the text is not UTF-8 at byte 0 (0xFF)");
    write_sides(s->model, "held.src", "held.tgt", PAIRS, HELD);
    s->o.tokens_per_batch = 100;
    must(s, RF_EARG);
    t_failed(&s->why, RF_EARG, "max_length: expected at most 50, half of tokens_per_batch (--max_tokens)");
    s->o.tokens_per_batch = 1024;
    assert_false(rf_tokenizer_found(s->ctx, s->out));
    assert_null(strstr(s->notes, "sub-words learned"));
}

static void sub_words_are_learned(void **state)
{
    (void)state;
    setup s = begin(1);
    options_of(&s);
    s.o.model = NULL;
    s.o.vocab_size = 60;
    s.o.max_steps = 1, s.o.eval_steps = 0;
    s.o.max_length = 64, s.o.tokens_per_batch = 1024;
    held_texts_first(&s);
    const rf_status status = go(&s);
    if (status == RF_EUNSUPPORTED && strstr(s.why.text, "SentencePiece")) {
        end(&s);
        skip();
    }
    if (status) fail_msg("%s", s.why.text);
    noted(&s, "60 subwords learned from both sides (BPE)");
    noted(&s, "has no config.json: a new model of 3 + 3 layers, width 256");
    rf_config c;
    assert_int_equal(rf_config_read(s.ctx, s.out, &c, &s.why), RF_OK);
    assert_int_equal(c.vocab_size, 60);
    assert_int_equal(c.decoder_start_token_id, 2);
    assert_int_equal(c.eos_token_id, 3);
    assert_int_equal(c.pad_token_id, 0);
    assert_string_equal(c.position_embedding_type, "rotary");
    sampled_runs_are_one(s.out);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns_a_few_by_heart),
        cmocka_unit_test(an_evaluation_is_the_folders),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(threads_and_recomputation_change_nothing),
        cmocka_unit_test(two_ranks_are_one),
        cmocka_unit_test(accumulated_batches_are_one),
        cmocka_unit_test(bf16_is_near),
        cmocka_unit_test(what_is_left_out_is_listed),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(held_out_pairs_stay),
        cmocka_unit_test(what_belongs_together),
        cmocka_unit_test(early_stopping_and_the_best),
        cmocka_unit_test(sub_words_are_learned),
    };
    return cmocka_run_group_tests_name("train/translation", tests, NULL, NULL);
}
