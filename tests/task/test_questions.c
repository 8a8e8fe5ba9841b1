/* test_questions.c — mirrors src/data/examples/items.c, answers.c and task_metrics.c for question answering: windows of
 * long contexts and their labels as in transformers, the best answer of all windows, several correct answers. */
#define _GNU_SOURCE
#include "t.h"
#include "task/answers.h"
#include "data/examples/labeled.h"
#include "task/task_metrics.h"

typedef struct golden {
    rf_ctx *ctx;
    rf_tokenizer *t;
    FILE *file;
    double exact_match, f1;
    json_t *line;
} golden;

static golden open_golden(void)
{
    golden g = {.ctx = t_ctx(1, NULL), .file = fopen("tests/golden/train/questions.jsonl", "r")};
    rf_tokenizer_options options;
    rf_tokenizer_defaults(&options);
    char *line = NULL, vocab[1024] = "";
    size_t capacity = 0, i;
    json_t *token;
    assert_non_null(g.file);
    assert_true(getline(&line, &capacity, g.file) > 0);
    json_t *head = json_loads(line, 0, NULL);
    json_array_foreach(json_object_get(head, "vocab"), i, token) strcat(strcat(vocab, json_string_value(token)), "\n");
    g.exact_match = json_number_value(json_object_get(head, "exact_match"));
    g.f1 = json_number_value(json_object_get(head, "f1"));
    assert_int_equal(rf_tokenizer_new(g.ctx, vocab, strlen(vocab), "vocab", &options, &g.t, NULL), RF_OK);
    json_decref(head);
    free(line);
    return g;
}

static bool next(golden *g)
{
    char *line = NULL;
    size_t capacity = 0;
    json_decref(g->line);
    g->line = getline(&line, &capacity, g->file) > 0 ? json_loads(line, 0, NULL) : NULL;
    free(line);
    return g->line != NULL;
}

static void close_golden(golden *g)
{
    fclose(g->file);
    rf_tokenizer_free(g->t);
    rf_ctx_free(g->ctx);
}

/* The question of the line, as the program reads it. */
static void read_question(const golden *g, rf__items *t)
{
    const rf_finetune_options o = {.task = "qa",
                                   .doc_stride = json_integer_value(json_object_get(g->line, "doc_stride"))};
    rf__labeled l;
    rf__records r;
    rf_error why = {0};
    char *text = json_dumps(g->line, JSON_COMPACT);
    const rf__task *task;
    assert_int_equal(rf__examples_open(&l, g->ctx, &o, &task, NULL), RF_OK);
    l.layout.with_labels = true;
    assert_int_equal(rf__records_from_memory(&r, g->ctx, text, strlen(text), "q.jsonl", &l.layout, NULL), RF_OK);
    if (rf__labeled_items(&l, g->t, json_integer_value(json_object_get(g->line, "max_length")), &r, true, t, &why))
        fail_msg("%s", why.text);
    rf__records_free(&r);
    free(text);
}

static void windows_are_those_of_transformers(void **state)
{
    (void)state;
    golden g = open_golden();
    int questions = 0, many = 0;
    for (; next(&g); questions++) {
        const json_t *windows = json_object_get(g.line, "windows");
        rf__items t = {0};
        read_question(&g, &t);
        assert_int_equal(t.questions, 1);
        assert_int_equal(t.n, json_array_size(windows));
        assert_int_equal(t.window[1], t.n);
        many += t.n > 1;
        for (size_t i = 0; i < t.n; i++) {
            const json_t *w = json_array_get(windows, i), *ids = json_object_get(w, "ids"),
                         *types = json_object_get(w, "types");
            const size_t at = t.start[i];
            assert_int_equal(rf__item_size(&t, i), json_array_size(ids));
            for (size_t k = 0; k < json_array_size(ids); k++) {
                assert_int_equal(t.id[at + k], json_integer_value(json_array_get(ids, k)));
                assert_int_equal(t.type[at + k], json_integer_value(json_array_get(types, k)));
            }
            for (size_t k = 0; k < 2; k++)
                assert_int_equal(t.label[2 * i + k],
                                 json_integer_value(json_array_get(json_object_get(w, "label"), k)));
        }
        rf__items_free(&t);
    }
    assert_int_equal(questions, 120);
    assert_true(many > 50);
    close_golden(&g);
}

/* Bytes of so many characters. */
static uint32_t bytes(const char *text, json_int_t characters)
{
    const char *at = text;
    for (; characters > 0; characters--)
        do at++;
        while (((unsigned char)*at & 0xC0) == 0x80);
    return (uint32_t)(at - text);
}

/* Logits for the answer from .. to, in bytes of the context, in every window that contains all of it; from = to: no
 * answer. */
static void add_answer(rf__answers *a, const rf__items *t, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < t->n; i++) {
        size_t first = 0, last = 0;
        for (size_t k = t->start[i]; k < t->start[i + 1]; k++) {
            a->logit[2 * k] = a->logit[2 * k + 1] = k == t->start[i] && from == to ? 20 : 0;
            if (t->from[k] == UINT32_MAX || from == to) continue;
            if (t->from[k] == from) first = k;
            if (t->to[k] == to) last = k;
        }
        if (first && last) a->logit[2 * first] = a->logit[2 * last + 1] = 10;
    }
}

static void scores_are_those_of_squad(void **state)
{
    (void)state;
    golden g = open_golden();
    double exact = 0, f1 = 0;
    int n = 0;
    for (; next(&g); n++) {
        const char *context = json_string_value(json_object_get(g.line, "context"));
        const json_t *said = json_object_get(g.line, "said");
        rf__items t = {0};
        rf__labeled l = {0};
        rf_metric_values s = {.n = 0};
        read_question(&g, &t);
        rf__answers a = {.ctx = g.ctx, .K = 2, .rows = t.tokens, .logit = t_floats(2 * (int64_t)t.tokens)};
        t.nothing = true;
        add_answer(&a, &t, bytes(context, json_integer_value(json_array_get(said, 0))),
            bytes(context, json_integer_value(json_array_get(said, 1))));
        assert_int_equal(rf__task_qa.evaluate(&a, &t, &l, &s, NULL), RF_OK);
        assert_string_equal(s.metric[0].name, "exact_match");
        exact += s.metric[0].value;
        f1 += s.metric[1].value;
        rf__items_free(&t);
        t_free_all();
    }
    t_near(exact / n, g.exact_match, 1e-12);
    t_near(f1 / n, g.f1, 1e-12);
    close_golden(&g);
}

/* Random logits, every span of every window tried: the answer is the best of those of at most `most` tokens, by a sum
 * in double. */
static void the_best_of_all_windows(void **state)
{
    (void)state;
    golden g = open_golden();
    while (next(&g)) {
        rf__items t = {0};
        read_question(&g, &t);
        rf__answers a = {.ctx = g.ctx, .K = 2, .rows = t.tokens, .logit = t_normal(2 * (int64_t)t.tokens)};
        for (int64_t most = 1; most <= 30; most += 29) {
            double best = -INFINITY, none = INFINITY, score;
            size_t item, bi = 0, bb = 0, be = 0;
            int32_t place[2];
            for (size_t i = 0; i < t.n; i++) {
                const size_t at = t.start[i], end = t.start[i + 1];
                none = fmin(none, (double)a.logit[2 * at] + (double)a.logit[2 * at + 1]);
                for (size_t b = at; b < end; b++)
                    for (size_t e = b; e < end; e++) {
                        const double sum = (double)a.logit[2 * b] + (double)a.logit[2 * e + 1];
                        if (t.type[b] != 1 || t.type[e] != 1 || e == end - 1 || (int64_t)(e - b) >= most || sum <= best)
                            continue;
                        best = sum;
                        bi = i;
                        bb = b - at;
                        be = e - at;
                    }
            }
            rf__answer_span(&a, &t, 0, most, &item, place, &score);
            assert_int_equal(item, bi);
            assert_int_equal(place[0], bb);
            assert_int_equal(place[1], be);
            t_near(score, best - none, 1e-12);
        }
        rf__items_free(&t);
        t_free_all();
    }
    close_golden(&g);
}

/* Whether "no answer" is allowed follows from the training file. */
static void nothing_is_an_answer_where_it_was_learned(void **state)
{
    (void)state;
    golden g = open_golden();
    assert_true(next(&g));
    for (int nothing = 0; nothing < 2; nothing++) {
        rf__items t = {0};
        double score;
        read_question(&g, &t);
        t.nothing = nothing;
        rf__answers a = {.ctx = g.ctx, .K = 2, .rows = t.tokens, .logit = t_floats(2 * (int64_t)t.tokens)};
        add_answer(&a, &t, 0, 0);
        const rf__byte_range s = rf__answer_bytes(&a, &t, 0, &score);
        t_near(score, -40, 0);
        assert_int_equal(s.end > s.begin, !nothing);
        rf__items_free(&t);
        t_free_all();
    }
    json_decref(g.line);
    close_golden(&g);
}

/* ---- batches ---- */

typedef struct batches { int n; size_t largest, examples; int64_t tokens; } batches;

static rf_status count(void *user, const rf__item_batch *b, const float **logit, int64_t *rows, int64_t *columns,
                       rf_error *why)
{
    batches *c = user;
    (void)why;
    c->n++;
    c->examples += b->n;
    if (b->n > c->largest) c->largest = b->n;
    if (b->n > 1 && b->N > c->tokens) c->tokens = b->N;
    *logit = t_uniform(2 * b->N, 0, 1);
    *rows = b->N;
    *columns = 2;
    return RF_OK;
}

static void batches_are_at_most_as_large_as_asked(void **state)
{
    (void)state;
    golden g = open_golden();
    static const int64_t sizes[] = {1, 3, 0, 65536};
    const char *text = "{\"question\": \"who\", \"context\": \"the old cat walked\", \"answers\": []}\n";
    char *all = calloc(1000, strlen(text) + 1);
    for (int i = 0; i < 1000; i++) memcpy(all + (size_t)i * strlen(text), text, strlen(text));
    const rf_finetune_options o = {.task = "qa"};
    rf__labeled l;
    rf__records r;
    rf__items t = {0};
    const rf__task *task;
    assert_int_equal(rf__examples_open(&l, g.ctx, &o, &task, NULL), RF_OK);
    assert_int_equal(rf__records_from_memory(&r, g.ctx, all, strlen(all), "q.jsonl", &l.layout, NULL), RF_OK);
    assert_int_equal(rf__labeled_items(&l, g.t, 32, &r, false, &t, NULL), RF_OK);
    for (size_t i = 0; i < RF_COUNT(sizes); i++) {
        rf__answers a = {0};
        batches c = {0};
        assert_int_equal(rf__answers_fill(&a, &t, sizes[i], 1, count, &c, NULL), RF_OK);
        assert_int_equal(c.examples, 1000);
        assert_int_equal(a.rows, t.tokens);
        if (sizes[i] < 100) assert_int_equal(c.largest, sizes[i] ? sizes[i] : 32);
        else assert_true(c.n > 1 && c.tokens > RF__ANSWER_TOKENS / 2);
        assert_true(c.tokens <= RF__ANSWER_TOKENS);
        rf__answers_free(&a);
    }
    rf__items_free(&t);
    rf__records_free(&r);
    free(all);
    t_free_all();
    close_golden(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_those_of_transformers),
        cmocka_unit_test(scores_are_those_of_squad),
        cmocka_unit_test(the_best_of_all_windows),
        cmocka_unit_test(nothing_is_an_answer_where_it_was_learned),
        cmocka_unit_test(batches_are_at_most_as_large_as_asked),
    };
    return cmocka_run_group_tests_name("train/questions", tests, NULL, NULL);
}
