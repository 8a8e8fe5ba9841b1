/* test_translation.c — mirrors src/train/pairs/translation_job.c, translation_step.c and translation_bleu.c, and of
 * evaluate.c what has to do with pairs: whole runs on sentences and their words backwards. */
#define _GNU_SOURCE
#include "folder_bleu.h"
#include "ranks.h"
#include "translation_run.h"

#include "train/pairs/translation_job.h"

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
        cmocka_unit_test(sub_words_are_learned),
    };
    return cmocka_run_group_tests_name("train/translation", tests, NULL, NULL);
}
