/* test_translation_files.c — mirrors src/train/pairs/translation_job.c: pairs that are left out, refused files and
 * options, and checkpoints that belong to other pairs or subwords. */
#define _GNU_SOURCE
#include "translation_run.h"

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
        {no_held, RF_EARG, "early_stopping_patience: expected"},
        {not_utf8, RF_EDATA, "b.tgt:2: "},
        {other_lines, RF_EDATA, "parallel text: expected the same number of lines, got 60 in"},
        {one_sided, RF_EUNSUPPORTED,
         "model_type: expected ... got roformer"},
        {one_segmentation, RF_EUNSUPPORTED, "subword_sampling: encode: sampling: expected a tokenizer with several"},
        {bleu_of_none, RF_EARG, "metric_for_best_model: expected ... got"},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_is_listed),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(held_out_pairs_stay),
        cmocka_unit_test(what_belongs_together),
        cmocka_unit_test(early_stopping_and_the_best),
    };
    return cmocka_run_group_tests_name("train/translation_files", tests, NULL, NULL);
}
