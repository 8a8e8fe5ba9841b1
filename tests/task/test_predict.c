/* test_predict.c — mirrors src/task/predict.c: ids of examples appear with their predictions, in every format.
 *
 * The predictions themselves do not matter: the models are trained for one step. */
#define _GNU_SOURCE
#include <jansson.h>

#include "random_weights.h"
#include "roformer/train.h"
#include "task/answerer.h"

typedef struct setup { rf_ctx *ctx; char *data, *out; rf_answerer *a; rf_error why; } setup;

/* A model for `task`, trained on `text` for one step. */
static setup begin(const char *task, const char *name, const char *text)
{
    setup s = {.ctx = t_ctx(1, NULL), .data = tiny_model(), .out = strdup(t_folder())};
    rf_finetune_options o;
    char *train = tiny_path(s.data, name);
    random_weights(s.ctx, s.data, 3);
    t_write(s.data, name, text, strlen(text));
    rf_finetune_defaults(&o);
    o.task = task;
    o.train = train;
    o.t.model = s.data;
    o.t.output_dir = s.out;
    o.t.max_steps = 1;
    if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why) || rf_answerer_open(s.ctx, s.out, &s.a, &s.why))
        fail_msg("%s", s.why.text);
    assert_string_equal(rf__answerer_task(s.a), task);
    free(train);
    return s;
}

static void end(setup *s)
{
    rf_answerer_close(s->a);
    rf_ctx_free(s->ctx);
    free(s->data);
    free(s->out);
    t_free_all();
}

typedef struct lines { size_t n; char line[16][256]; char all[4096]; } lines;

static rf_status keep(void *user, const char *line, size_t size, rf_error *why)
{
    lines *l = user;
    (void)why;
    assert_true(l->n < RF_COUNT(l->line) && size < sizeof l->line[0]);
    snprintf(l->line[l->n++], sizeof l->line[0], "%.*s", (int)size, line);
    snprintf(l->all + strlen(l->all), sizeof l->all - strlen(l->all), "%.*s\n", (int)size, line);
    return RF_OK;
}

/* The defaults, and what is set in `o`. */
static rf_status predict_as(setup *s, const rf_finetune_options *o, const char *name, const char *text,
                            rf_prediction_format format, lines *l)
{
    rf_finetune_options all;
    rf_finetune_defaults(&all);
    all.text_column = o->text_column, all.pair_column = o->pair_column, all.label_column = o->label_column;
    all.id_column = o->id_column, all.header = o->header, all.separator = o->separator;
    all.t.max_length = o->t.max_length, all.t.given = o->t.given;
    char *path = tiny_path(s->data, name);
    *l = (lines){0};
    s->why = (rf_error){0};
    t_write(s->data, name, text, strlen(text));
    const rf_status status = rf_answerer_predict(s->a, &all, path, format, keep, l, &s->why);
    free(path);
    return status;
}

static rf_status predict(setup *s, const char *id_column, const char *name, const char *text,
                         rf_prediction_format format, lines *l)
{
    return predict_as(s, &(rf_finetune_options){.id_column = id_column}, name, text, format, l);
}

static void must(setup *s, const char *id_column, const char *name, const char *text, rf_prediction_format format,
                 lines *l)
{
    if (predict(s, id_column, name, text, format, l)) fail_msg("%s: %s", name, s->why.text);
}

static bool starts(const char *line, const char *with) { return !strncmp(line, with, strlen(with)); }

static void lines_start(const lines *l, const char *const expected[], size_t n)
{
    if (l->n != n) fail_msg("%zu lines, not %zu:\n%s", l->n, n, l->all);
    for (size_t i = 0; i < n; i++)
        if (!starts(l->line[i], expected[i]))
            fail_msg("line %zu does not start with %s: %s", i + 1, expected[i], l->line[i]);
}

/* ---- questions ---- */

#define QUESTION(id, q, c) \
    "{" id "\"question\": \"" q "\", \"context\": \"" c "\", \"answers\": {\"text\": [], \"answer_start\": []}}\n"
static const char asked[] = "{\"question\": \"the king\", \"context\": \"the cat is walking\", \"answers\": {\"text\": "
                            "[\"cat\"], \"answer_start\": [4]}}\n";
static const char squad[] =
    "{\"version\": \"v2.0\", \"data\": [{\"title\": \"t\", \"paragraphs\": [{\"context\": \"the old cat\", \"qas\": ["
    "{\"id\": \"56be\\u00e9\", \"question\": \"the\", \"answers\": [{\"text\": \"cat\", \"answer_start\": 8}]},"
    "{\"id\": \"a \\\"b\\\"\", \"question\": \"dog\", \"is_impossible\": true, \"answers\": []}]},"
    "{\"context\": \"a \\\"red\\\" dog\", \"qas\": [{\"id\": \"77\", \"question\": \"who\", \"answers\": []}]}]}]}";

/* As SQuAD's script: one JSON object, looked up by each question's id; the answers are those of the other formats. */
static void squad_reads_the_answers_by_their_ids(void **state)
{
    (void)state;
    static const char *const ids[] = {"56be\xc3\xa9", "a \"b\"", "77"};
    setup s = begin("qa", "train.jsonl", asked);
    lines l, plain;
    must(&s, NULL, "dev-v2.0.json", squad, RF_PREDICTIONS_SQUAD, &l);
    must(&s, NULL, "dev-v2.0.json", squad, RF_PREDICTIONS_JSONL, &plain);
    json_t *all = json_loads(l.all, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_object_size(all), 3);
    assert_int_equal(plain.n, 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *one = json_loads(plain.line[i], 0, NULL);
        assert_true(starts(plain.line[i], "{\"id\": \""));
        assert_string_equal(json_string_value(json_object_get(one, "id")), ids[i]);
        const char *answer = json_string_value(json_object_get(all, ids[i]));
        assert_non_null(answer);
        assert_string_equal(answer, json_string_value(json_object_get(one, "answer")));
        assert_true(strstr("the old cat", answer) || strstr("a \"red\" dog", answer));
        json_decref(one);
    }
    json_decref(all);
    must(&s, NULL, "dev-v2.0.json", squad, RF_PREDICTIONS_TSV, &l);
    lines_start(&l, (const char *const[]){"id\tanswer\tscore", "56be\xc3\xa9\t", "a \"b\"\t", "77\t"}, 4);

    assert_int_equal(predict(&s, NULL, "a.jsonl",
                             QUESTION("\"id\": \"x\", ", "the", "the cat") QUESTION("", "the", "the dog"),
                             RF_PREDICTIONS_SQUAD, &l),
                     RF_EDATA);
    t_failed(&s.why, RF_EDATA, "question 2: expected an id");
    must(&s, NULL, "a.jsonl", QUESTION("", "the", "the cat"), RF_PREDICTIONS_JSONL, &l);
    lines_start(&l, (const char *const[]){"{\"answer\": "}, 1);
    end(&s);
}

/* ---- choices ---- */

static const char choices[] =
    "{\"id\": 7, \"text\": \"the red\", \"choices\": [\"cat\", \"dog\"], \"label\": 1}\n"
    "{\"id\": -12, \"text\": \"the old\", \"choices\": [\"ship\", \"wolf\", \"tree\"], \"label\": 0.0}\n";

static void choices_say_which_example_they_are_of(void **state)
{
    (void)state;
    setup s = begin("mc", "train.jsonl", choices);
    lines l;
    must(&s, NULL, "a.jsonl", choices, RF_PREDICTIONS_JSONL, &l);
    lines_start(&l, (const char *const[]){"{\"id\": 7, \"label\": ", "{\"id\": -12, \"label\": "}, 2);
    must(&s, NULL, "a.jsonl", choices, RF_PREDICTIONS_TSV, &l);
    lines_start(&l, (const char *const[]){"id\tlabel", "7\t", "-12\t"}, 3);
    must(&s, NULL, "a.jsonl",                                          /* whole numbers as a data frame writes them */
         "{\"id\": 7.0, \"text\": \"the red\", \"choices\": [\"cat\", \"dog\"]}\n", RF_PREDICTIONS_JSONL, &l);
    lines_start(&l, (const char *const[]){"{\"id\": 7, \"label\": "}, 1);
    must(&s, "question_id", "a.jsonl",
         "{\"id\": 3, \"question_id\": \"q-1\", \"text\": \"the red\", \"choices\": [\"cat\", \"dog\"]}\n",
         RF_PREDICTIONS_JSONL, &l);
    lines_start(&l, (const char *const[]){"{\"id\": \"q-1\", \"label\": "}, 1);
    assert_int_equal(predict(&s, "uuid", "a.jsonl", choices, RF_PREDICTIONS_JSONL, &l), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "a.jsonl:1: id: expected a string or an integer, got nothing (and 1 more such");
    assert_int_equal(predict(&s, NULL, "a.jsonl", choices, RF_PREDICTIONS_SQUAD, &l), RF_EARG);
    t_failed(&s.why, RF_EARG, "format squad: expected a model for extractive question answering");
    end(&s);
}

/* ---- texts: columns ---- */

static const char texts[] = "text\tlabel\nthe red cat\tyes\nthe old dog\tno\n";

static void texts_of_tables(void **state)
{
    (void)state;
    setup s = begin("cls", "train.tsv", texts);
    lines l;
    must(&s, NULL, "a.tsv", texts, RF_PREDICTIONS_TSV, &l);                   /* no id: as before */
    assert_string_equal(l.line[0], "label\tscore");
    must(&s, NULL, "a.tsv", "idx\ttext\n0010\tthe red cat\n\tthe old dog\n3\tthe ship\n", RF_PREDICTIONS_TSV, &l);
    lines_start(&l, (const char *const[]){"id\tlabel\tscore", "0010\t", "\t", "3\t"}, 4);
    must(&s, NULL, "a.tsv", "idx\ttext\n0010\tthe red cat\n\tthe old dog\n3\tthe ship\n", RF_PREDICTIONS_JSONL, &l);
    lines_start(
        &l, (const char *const[]){"{\"id\": \"0010\", \"label\": ", "{\"label\": ", "{\"id\": \"3\", \"label\": "}, 3);
    must(&s, NULL, "a.tsv", "index\ttext\n7\tthe red cat\n9\tthe old dog\n", RF_PREDICTIONS_GLUE, &l);
    lines_start(&l, (const char *const[]){"index\tprediction", "7\t", "9\t"}, 3);
    must(&s, NULL, "a.tsv", texts, RF_PREDICTIONS_GLUE, &l);
    lines_start(&l, (const char *const[]){"index\tprediction", "0\t", "1\t"}, 3);
    must(&s, NULL, "a.csv", "id,text,id\n1,the red cat,2\n", RF_PREDICTIONS_TSV, &l);       /* which of them? neither */
    assert_string_equal(l.line[0], "label\tscore");
    must(&s, "key", "a.csv", "key,text,id\n\"a,b\",the red cat,2\n", RF_PREDICTIONS_TSV, &l);
    lines_start(&l, (const char *const[]){"id\tlabel\tscore", "a,b\t"}, 2);
    assert_int_equal(predict(&s, "kee", "a.csv", "key,text,id\n1,the red cat,2\n", RF_PREDICTIONS_TSV, &l), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "expected a column 'kee' for the id, got");
    must(&s, NULL, "a.jsonl",
         "{\"id\": 1, \"text\": \"the cat\"}\n{\"id\": \"b\", \"text\": \"the dog\"}\n{\"id\": null, \"text\": \"the "
         "ship\"}\n",
         RF_PREDICTIONS_JSONL, &l);
    /* not all of them integers */
    lines_start(&l, (const char *const[]){"{\"id\": \"1\", \"label\": ", "{\"id\": \"b\", \"label\": ", "{\"label\": "},
                3);
    end(&s);
}

/* ---- tags ---- */

static const char tagged[] = "the\tO\nred\tB-A\ncat\tI-A\n\nold\tO\ndog\tB-P\n";

static int is_length(void *user, const char *option)
{
    (void)user;
    return !strcmp(option, "max_length");
}

/* Eight words of tag I-A, of which the model sees those that fit max_length, and not U+200B: the others are errors of
 * the kind "O", so that recall and accuracy are those of the whole file. */
static void words_that_are_not_seen_are_outside(void **state)
{
    (void)state;
    static const char conll[] = "cat\tI-A\n\xe2\x80\x8b\tI-A\ncat\tI-A\ncat\tI-A\ncat\tI-A\ncat\tI-A\ncat\tI-A\n"
                                "cat\tO\n";
    const rf_finetune_options few = {.t = {.max_length = 8, .given = is_length}};
    setup s = begin("tag", "train.conll", tagged);
    lines l;
    rf_metric_values m;
    rf_finetune_options short_ones;
    rf_finetune_defaults(&short_ones);
    short_ones.t.max_length = few.t.max_length, short_ones.t.given = is_length;
    static const char bare[] = "cat\n\xe2\x80\x8b\ncat\ncat\ncat\ncat\ncat\ncat\n";
    assert_int_equal(predict_as(&s, &few, "a.conll", bare, RF_PREDICTIONS_JSONL, &l), RF_OK);
    json_t *all = json_loads(l.line[0], 0, NULL), *tags = json_object_get(all, "tags");
    double right = 0;
    size_t seen = 0;
    for (size_t w = 0; w < 8; w++) {
        const char *tag = json_string_value(json_array_get(tags, w));
        seen += tag != NULL;
        right += !strcmp(tag ? tag : "O", w < 7 ? "I-A" : "O");
    }
    json_decref(all);
    assert_in_range(seen, 1, 6);
    t_write(s.data, "gold.conll", conll, sizeof conll - 1);
    char *path = tiny_path(s.data, "gold.conll");
    if (rf_answerer_evaluate(s.a, &short_ones, path, &m, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(m.metric[1].name, "accuracy");
    t_near(m.metric[1].value, right / 8, 1e-12);
    free(path);
    end(&s);
}

/* The tokenizer removes U+200B and U+0001: there is a prediction for every word nevertheless, so that the others are at
 * the right words; the same holds for truncated words. */
static void every_word_has_its_tag(void **state)
{
    (void)state;
    static const char conll[] = "the\n\xe2\x80\x8b\n\x01\ncat\n\nold\n\n\xe2\x80\x8b\n";
    setup s = begin("tag", "train.conll", tagged);
    lines l;
    must(&s, NULL, "a.conll", conll, RF_PREDICTIONS_JSONL, &l);
    assert_int_equal(l.n, 3);
    static const char *const shape[] = {"tnnt", "t", "n"};
    for (size_t i = 0; i < 3; i++) {
        json_t *all = json_loads(l.line[i], 0, NULL), *tags = json_object_get(all, "tags");
        assert_int_equal(json_array_size(tags), strlen(shape[i]));
        for (size_t w = 0; w < strlen(shape[i]); w++)
            assert_int_equal(json_is_null(json_array_get(tags, w)), shape[i][w] == 'n');
        json_decref(all);
    }
    for (int glue = 0; glue < 2; glue++) {
        must(&s, NULL, "a.conll", conll, glue ? RF_PREDICTIONS_GLUE : RF_PREDICTIONS_TSV, &l);
        char first[16], last[16], text[80];
        const char *line = l.line[1] + (glue ? 2 : 0);
        if (sscanf(line, "%15s - - %15s", first, last) != 2) fail_msg("%s", l.line[1]);
        snprintf(text, sizeof text, "%s - - %s", first, last);
        assert_string_equal(line, text);
        assert_string_equal(l.line[3] + (glue ? 2 : 0), "-");
    }
    const rf_finetune_options few = {.t = {.max_length = 8, .given = is_length}};
    static const char eight[] = "cat\ncat\ncat\ncat\ncat\ncat\ncat\ncat\n";
    assert_int_equal(predict_as(&s, &few, "a.conll", eight, RF_PREDICTIONS_TSV, &l),
                     RF_OK);
    const size_t n = strlen(l.line[1]);
    assert_string_equal(l.line[1] + n - 4, " - -");
    assert_true(l.line[1][n - 5] != '-');                                    /* six words are seen, two are not */
    end(&s);
}

/* ---- columns ---- */

static rf_status predict_with(setup *s, const rf_finetune_options *o, const char *name, const char *text)
{
    lines l;
    return predict_as(s, o, name, text, RF_PREDICTIONS_TSV, &l);
}

/* Options of tables have no effect for JSON and files of words, and are reported. */
static void options_of_columns_that_are_not_there(void **state)
{
    (void)state;
    const rf_finetune_options header = {.header = "yes"}, separator = {.separator = ";"};
    const rf_finetune_options text = {.text_column = "words"};
    const rf_finetune_options id = {.id_column = "id"}, label = {.label_column = "tag"};
    setup s = begin("cls", "train.tsv", texts);
    assert_int_equal(predict_with(&s, &separator, "a.jsonl", "{\"text\": \"the cat\"}\n"), RF_EARG);
    t_failed(&s.why, RF_EARG, "separator: applies only to tables of fields; ");
    assert_int_equal(predict_with(&s, &header, "a.json", "[{\"text\": \"the cat\"}]\n"), RF_EARG);
    t_failed(&s.why, RF_EARG, "header: applies only to tables of fields; ");
    assert_int_equal(predict_with(&s, &separator, "a.tsv", "text;label\nthe cat;yes\n"), RF_OK);
    end(&s);
    s = begin("tag", "train.conll", tagged);
    assert_int_equal(predict_with(&s, &header, "a.conll", tagged), RF_EARG);
    assert_int_equal(predict_with(&s, &text, "a.conll", tagged), RF_EARG);
    t_failed(&s.why, RF_EARG, "text_column: applies only to examples with a text in a column or member of its own");
    assert_int_equal(predict_with(&s, &label, "a.conll", tagged), RF_EARG);
    assert_int_equal(predict_with(&s, &id, "a.conll", tagged), RF_EARG);
    end(&s);
}

/* A model of pairs stores that it is one, also if their columns had the usual names. */
static void a_model_of_pairs_reads_pairs(void **state)
{
    (void)state;
    const rf_finetune_options one = {.text_column = "words"}, both = {.text_column = "words", .pair_column = "more"},
                              none = {0};
    setup s =
        begin("cls", "train.tsv", "sentence1\tsentence2\tlabel\nthe red cat\tthe dog\tyes\nthe old dog\tthe cat\tno\n");
    assert_int_equal(predict_with(&s, &one, "a.tsv", "words\tmore\nthe cat\tthe dog\n"), RF_EARG);
    t_failed(&s.why, RF_EARG, "pair_column: expected");
    assert_int_equal(predict_with(&s, &both, "a.tsv", "words\tmore\nthe cat\tthe dog\n"), RF_OK);
    assert_int_equal(predict_with(&s, &none, "a.tsv", "text_a\ttext_b\nthe cat\tthe dog\n"), RF_OK);
    assert_int_equal(predict_with(&s, &none, "a.tsv", "text\nthe cat\n"), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "expected a column 'pair' for the pair");
    assert_int_equal(predict_with(&s, &none, "a.jsonl", "{\"text\": \"the cat\"}\n"), RF_EDATA);
    end(&s);
    s = begin("cls", "train.tsv", texts);                                    /* single texts: as before */
    assert_int_equal(predict_with(&s, &one, "a.tsv", "words\nthe cat\n"), RF_OK);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squad_reads_the_answers_by_their_ids),
        cmocka_unit_test(choices_say_which_example_they_are_of),
        cmocka_unit_test(texts_of_tables),
        cmocka_unit_test(words_that_are_not_seen_are_outside),
        cmocka_unit_test(every_word_has_its_tag),
        cmocka_unit_test(options_of_columns_that_are_not_there),
        cmocka_unit_test(a_model_of_pairs_reads_pairs),
    };
    return cmocka_run_group_tests_name("train/predict", tests, NULL, NULL);
}
