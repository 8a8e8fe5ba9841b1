/* test_predict_formats.c — mirrors src/task/predict.c: every format is read back, with ids, labels and answers of every
 * kind.  Exactly the contents that a format cannot represent are rejected. */
#define _GNU_SOURCE
#include <jansson.h>

#include "random_weights.h"
#include "roformer/train.h"

/* As JSON has them between quotes. */
static const char *const kinds[] = {
    "plain", " before", "after ", "one,two", "one two", "-", "\\\"quoted\\\"", "'single'", "a\\tb", "a\\nb", "a\\rb",
    "a\\r\\nb", "a\\u2028b", "a\\u0085b", "a\\u000bb", "a\\\\nb", "a\\\\u0041", "a\\u0001b", "\\ufeffa",
    "\\ud83d\\ude00", "#one", "=1+1", "\\\"", "a\\\"\\tb", ",", "0010", "null", "\\u00e9"};

typedef struct setup { rf_ctx *ctx; char *data, *out; rf_answerer *a; rf_error why; } setup;

static setup begin(void) { return (setup){.ctx = t_ctx(1, NULL), .data = tiny_model(), .out = NULL}; }

/* A separate model for each file; false: the contents of the file are rejected, for an acceptable reason. */
static void learn(setup *s, const char *task, const char *text)
{
    rf_finetune_options o;
    char *train = tiny_path(s->data, "train.jsonl");
    free(s->out);
    s->out = strdup(t_folder());
    t_write(s->data, "train.jsonl", text, strlen(text));
    rf_finetune_defaults(&o);
    o.task = task;
    o.train = train;
    o.t.model = s->data;
    o.t.output_dir = s->out;
    o.t.max_steps = 30;
    o.t.learning_rate = 1e-2;
    o.t.save_steps = 0;
    o.save_strategy = RF_STRATEGY_NO;
    if (rf_finetune(s->ctx, &o, NULL, NULL, NULL, &s->why) || rf_answerer_open(s->ctx, s->out, &s->a, &s->why))
        fail_msg("%s: %s", text, s->why.text);
    free(train);
}

static void forget(setup *s)
{
    rf_answerer_close(s->a);
    s->a = NULL;
}

static void end(setup *s)
{
    rf_ctx_free(s->ctx);
    free(s->data);
    free(s->out);
    t_free_all();
}

/* ---- lines as a program reads them ---- */

typedef struct lines { size_t size; char all[1 << 14]; } lines;

static rf_status keep(void *user, const char *line, size_t size, rf_error *why)
{
    lines *l = user;
    (void)why;
    assert_true(l->size + size + 2 < sizeof l->all);
    memcpy(l->all + l->size, line, size);
    l->all[l->size + size] = '\n';
    l->size += size + 1;
    return RF_OK;
}

static rf_status predict(setup *s, rf_prediction_format format, lines *l)
{
    rf_finetune_options o;
    rf_finetune_defaults(&o);
    o.task = NULL;
    char *path = tiny_path(s->data, "asked.jsonl");
    l->size = 0;
    s->why = (rf_error){0};
    const rf_status status = rf_answerer_predict(s->a, &o, path, format, keep, l, &s->why);
    l->all[l->size] = 0;
    free(path);
    return status;
}

/* An object a line. */
static json_t *objects_of(const lines *l)
{
    json_t *list = json_array();
    for (const char *at = l->all, *stop; at < l->all + l->size; at = stop + 1) {
        stop = memchr(at, '\n', l->size);
        json_t *one = json_loadb(at, (size_t)(stop - at), JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        if (!json_is_object(one)) fail_msg("not a line of JSON: %s", at);
        json_array_append_new(list, one);
    }
    return list;
}

/* As Python's csv with QUOTE_NONE, or line.rstrip("\n").split("\t"): fields between tabs, lines at line ends; and the
 * elements of a list. */
static json_t *field_of(const char *at, size_t size, const json_t *like, char between)
{
    if (json_is_integer(like)) return json_integer(strtoll(at, NULL, 10));
    if (json_is_real(like)) return json_real(strtod(at, NULL));
    if (!json_is_array(like)) return json_stringn_nocheck(at, size);
    json_t *list = json_array();
    for (const char *stop = at, *last = at + size; size && at <= last; at = stop + 1) {
        for (stop = at; stop < last && *stop != between; stop++) {}
        const bool null = between == ' ' && stop - at == 1 && *at == '-';
        json_array_append_new(list, null ? json_null() : json_stringn_nocheck(at, (size_t)(stop - at)));
    }
    return list;
}

static void same_table(const lines *l, const json_t *expected, char between)
{
    const char *at = strchr(l->all, '\n') + 1;
    size_t i;
    json_t *one, *like;
    json_array_foreach(expected, i, one) {
        const char *end = at + strcspn(at, "\r\n"), *key;
        json_object_foreach(one, key, like) {
            const size_t size = strcspn(at, "\t\r\n");
            json_t *got = field_of(at, size, like, between);
            if (!json_equal(got, like) && !(json_is_real(like)))
                fail_msg("%s reads back as %.*s, not %s", key, (int)size, at, json_dumps(like, JSON_ENCODE_ANY));
            json_decref(got);
            at += size + (at + size < end);
        }
        assert_ptr_equal(at, end);
        assert_true(*end == '\n');
        at = end + 1;
    }
    assert_int_equal(*at, 0);
}

static bool has(const json_t *text, const char *any)
{
    return json_is_string(text) && strpbrk(json_string_value(text), any) != NULL;
}

static bool blank_around(const char *text)
{
    const size_t n = strlen(text);
    return !n || text[0] == ' ' || text[n - 1] == ' ';
}

/* Whether a table cannot represent something in these lines. */
static bool is_strange(const json_t *list, char between)
{
    const char separator[] = {between, 0};
    size_t i, k;
    json_t *one, *v, *element;
    const char *key;
    json_array_foreach(list, i, one) json_object_foreach(one, key, v) {
        if (has(v, "\t\n\r")) return true;
        json_array_foreach(v, k, element)
            if (has(element, "\t\n\r") || has(element, separator) || blank_around(json_string_value(element)))
                return true;
    }
    return false;
}

/* In GLUE's format an id, or the number of the line, and the answer. */
static json_t *two_columns(const json_t *list)
{
    json_t *two = json_array(), *one, *v;
    size_t i;
    const char *key;
    json_array_foreach(list, i, one) {
        json_t *id = json_object_get(one, "id"), *to = json_object();
        json_object_set_new(to, "id", id ? json_incref(id) : json_integer((json_int_t)i));
        json_object_foreach(one, key, v) if (strcmp(key, "id") && json_object_size(to) < 2) json_object_set(to, key, v);
        json_array_append_new(two, to);
    }
    return two;
}

/* All formats of the answers to `asked`; counts of tables written and rejected. */
static void read_back(setup *s, const char *asked, char between, int *written, int *refused)
{
    static const rf_prediction_format tables[] = {RF_PREDICTIONS_TSV, RF_PREDICTIONS_GLUE};
    lines l;
    t_write(s->data, "asked.jsonl", asked, strlen(asked));
    if (predict(s, RF_PREDICTIONS_JSONL, &l)) fail_msg("%s: %s", asked, s->why.text);
    json_t *all = objects_of(&l);
    for (size_t f = 0; f < RF_COUNT(tables); f++) {
        json_t *expected = f ? two_columns(all) : json_incref(all);
        const rf_status status = predict(s, tables[f], &l);
        if (is_strange(expected, between) != (status != RF_OK))
            fail_msg("%s in table %zu: %s", json_dumps(expected, 0), f, status ? s->why.text : l.all);
        if (!status) same_table(&l, expected, between);
        else t_failed(&s->why, RF_EDATA, "can represent, got");
        *(status ? refused : written) += 1;
        json_decref(expected);
    }
    json_decref(all);
}

static bool answered(const lines *l, const char *text) { return strstr(l->all, text) != NULL; }

/* ---- labels ---- */

static void labels_are_read_back(void **state)
{
    (void)state;
    static const struct { const char *task, *train, *asked; char between; } all[] = {
        {"cls", "{\"text\": \"the red cat\", \"label\": \"%s\"}\n{\"text\": \"an old dog\", \"label\": \"zz\"}\n",
         "{\"text\": \"the red cat\"}\n{\"text\": \"an old dog\"}\n", ','},
        {"multilabel",
         "{\"text\": \"the red cat\", \"labels\": [\"%s\", \"yy\"]}\n"
         "{\"text\": \"an old dog\", \"labels\": [\"zz\"]}\n",
         "{\"text\": \"the red cat\"}\n{\"text\": \"an old dog\"}\n", ','},
        {"tag",
         "{\"tokens\": [\"cat\", \"cat\"], \"tags\": [\"%s\", \"%s\"]}\n{\"tokens\": [\"dog\"], \"tags\": [\"zz\"]}\n",
         "{\"tokens\": [\"cat\", \"dog\"]}\n{\"tokens\": [\"cat\"]}\n", ' '}};
    setup s = begin();
    random_weights(s.ctx, s.data, 3);
    for (size_t t = 0; t < RF_COUNT(all); t++) {
        int written = 0, refused = 0, said = 0;
        for (size_t k = 0; k < RF_COUNT(kinds); k++) {
            char train[512];
            lines l;
            if (!strcmp(kinds[k], "-") && all[t].between == ' ') continue;          /* see below */
            snprintf(train, sizeof train, all[t].train, kinds[k], kinds[k]);
            learn(&s, all[t].task, train);
            read_back(&s, all[t].asked, all[t].between, &written, &refused);
            assert_int_equal(predict(&s, RF_PREDICTIONS_JSONL, &l), RF_OK);
            said += answered(&l, "\"zz\"");
            forget(&s);
        }
        if (written < 10 || refused < 8 || said < 20)
            fail_msg("%s: %d tables, %d refused, %d answers", all[t].task, written, refused, said);
    }
    end(&s);
}

/* Among tags "-" is a word without one: if that is a label, too, it is rejected only together with such a word. */
static void no_tag_is_told_from_a_dash(void **state)
{
    (void)state;
    setup s = begin();
    lines l;
    random_weights(s.ctx, s.data, 3);
    learn(&s, "tag", "{\"tokens\": [\"cat\"], \"tags\": [\"-\"]}\n{\"tokens\": [\"dog\"], \"tags\": [\"zz\"]}\n");
    t_write(s.data, "asked.jsonl", "{\"tokens\": [\"cat\"]}\n", 20);
    assert_int_equal(predict(&s, RF_PREDICTIONS_TSV, &l), RF_OK);
    assert_true(answered(&l, "-"));
    static const char unseen[] = "{\"tokens\": [\"cat\", \"\\u200b\"]}\n";
    t_write(s.data, "asked.jsonl", unseen, sizeof unseen - 1);
    assert_int_equal(predict(&s, RF_PREDICTIONS_TSV, &l), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "no label, which is written as \"-\", and that is a label of this model");
    forget(&s);
    end(&s);
}

/* ---- ids and answers ---- */

static void ids_are_read_back(void **state)
{
    (void)state;
    setup s = begin();
    int written = 0, refused = 0;
    random_weights(s.ctx, s.data, 3);
    learn(&s, "cls", "{\"text\": \"the red cat\", \"label\": \"yes\"}\n"
                     "{\"text\": \"an old dog\", \"label\": \"no\"}\n");
    for (size_t k = 0; k < RF_COUNT(kinds); k++) {
        char asked[256];
        snprintf(asked, sizeof asked,
                 "{\"id\": \"%s\", \"text\": \"the red cat\"}\n{\"id\": \"x\", \"text\": \"cat\"}\n", kinds[k]);
        read_back(&s, asked, ',', &written, &refused);
    }
    assert_true(written > 30 && refused > 8);
    forget(&s);
    end(&s);
}

/* SQuAD's object has every id and answer, but not two answers for one id. */
static void answers_are_read_back(void **state)
{
    (void)state;
    setup s = begin();
    int written = 0, refused = 0;
    lines l;
    random_weights(s.ctx, s.data, 3);
    learn(&s, "qa", "{\"question\": \"the king\", \"context\": \"the cat is walking\", \"answers\": {"
                    "\"text\": [\"the cat is walking\"], \"answer_start\": [0]}}\n");
    for (size_t k = 0; k < RF_COUNT(kinds); k++) {
        char asked[512];
        snprintf(asked, sizeof asked,
                 "{\"id\": \"%s\", \"question\": \"the king\", \"context\": \"the cat%swalking\"}\n", kinds[k],
                 kinds[k]);
        read_back(&s, asked, ',', &written, &refused);
        assert_int_equal(predict(&s, RF_PREDICTIONS_JSONL, &l), RF_OK);
        json_t *plain = objects_of(&l), *one = json_array_get(plain, 0);
        assert_int_equal(predict(&s, RF_PREDICTIONS_SQUAD, &l), RF_OK);
        json_t *all = json_loadb(l.all, l.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        assert_true(json_object_size(all) == 1 &&
                    json_equal(json_object_get(all, json_string_value(json_object_get(one, "id"))),
                               json_object_get(one, "answer")));
        json_decref(all);
        json_decref(plain);
    }
    assert_true(written > 30 && refused > 8);
    static const char twice[] = "{\"id\": \"q\", \"question\": \"the king\", \"context\": \"the cat\"}\n"
                                "{\"id\": \"r\", \"question\": \"the king\", \"context\": \"the cat\"}\n"
                                "{\"id\": \"q\", \"question\": \"the dog\", \"context\": \"the dog\"}\n";
    t_write(s.data, "asked.jsonl", twice, sizeof twice - 1);
    assert_int_equal(predict(&s, RF_PREDICTIONS_SQUAD, &l), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "expected different ids, got 'q' for both");
    forget(&s);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_read_back),
        cmocka_unit_test(no_tag_is_told_from_a_dash),
        cmocka_unit_test(ids_are_read_back),
        cmocka_unit_test(answers_are_read_back),
    };
    return cmocka_run_group_tests_name("task/predict_formats", tests, NULL, NULL);
}
