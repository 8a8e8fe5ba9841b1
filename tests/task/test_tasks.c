/* test_tasks.c — mirrors src/task/tasks.c and the tasks cls.c, reg.c, multilabel.c, tag.c, qa.c and mc.c: every row is
 * complete and has its row in docs/training.md, names select presets, and folders select their task. */
#include "t.h"
#include "task/task.h"

static const struct { const char *name, *what, *metrics; } rows[] = {
#define RFT(name, what, metrics) {#name, what, metrics},
#include "roformer/inspect/tasks.def"
#undef RFT
};

static char *page(const char *path)
{
    static char text[1 << 18];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_true(n < sizeof text - 1);
    text[n] = 0;
    return text;
}

/* The metric is one of the row's, and the row's metrics are known: whether smaller or larger is better. */
static void check_metrics(const char *metrics, const char *usual, const char *line)
{
    static const char *const known[] = {
#define RFM(name, error) #name,
#include "roformer/inspect/metrics.def"
#undef RFM
    };
    bool there = false;
    char all[256];
    snprintf(all, sizeof all, "%s", metrics);
    for (char *m = strtok(all, ", "); m; m = strtok(NULL, ", ")) {
        bool is = false;
        for (size_t i = 0; i < RF_COUNT(known); i++) is = is || !strcmp(known[i], m);
        if (!is) fail_msg("metric %s is no row of metrics.def", m);
        if (!strstr(line, m)) fail_msg("docs/training.md does not name the metric %s: %s", m, line);
        there = there || !strcmp(m, usual);
    }
    if (!there) fail_msg("%s is none of %s", usual, metrics);
}

static void every_row_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        const rf__task *t = rf__task_at(i);
        const rf__example_format *f = &t->examples;
        char *text = page("docs/training.md"), start[64];
        assert_string_equal(f->name, rows[i].name);
        assert_string_equal(rf__task_metrics(t), rows[i].metrics);
        if (!f->example || !t->loss || !t->evaluate || !t->predict || !t->metric || !t->columns || !t->between ||
            !t->problem_type)
            fail_msg("%s: a hook or name that every task has is not there", f->name);
        if (f->labels && !f->least_labels) fail_msg("%s: labels without a least number", f->name);
        if ((f->outputs && f->labels) != (t->name_output != NULL))
            fail_msg("%s: outputs that are not labels have names", f->name);
        if (!t->recognize && !f->labels) fail_msg("%s: no folder is known as of this task", f->name);
        snprintf(start, sizeof start, "\n| `%s` |", f->name);
        char *line = strstr(text, start);
        if (!line) fail_msg("docs/training.md has no row of %s", f->name);
        line[1 + strcspn(line + 1, "\n")] = 0;
        check_metrics(rows[i].metrics, t->metric, line);
    }
    assert_null(rf__task_at(RF_COUNT(rows)));
}

static void names_find_presets(void **state)
{
    (void)state;
    const rf__task *t;
    rf__preset p;
    rf_error why = {0};
    char list[64];
    assert_int_equal(rf__preset_find(NULL, &p, &t, NULL), RF_OK);
    assert_ptr_equal(t, rf__task_at(0));
    assert_int_equal(p.max_length, 128);
    assert_int_equal(rf__preset_find("glue/stsb", &p, &t, NULL), RF_OK);
    assert_ptr_equal(t, &rf__task_reg);
    assert_string_equal(p.metric, "spearmanr");
    assert_int_equal(p.bare[2], 5);
    assert_int_equal(p.max_length, 512);
    assert_int_equal(rf__preset_find("glue", &p, &t, &why), RF_EARG);
    assert_non_null(strstr(why.text, "expected one of cls, reg, "));
    assert_non_null(strstr(why.text, ", glue/cola, sst2, "));
    rf__task_list("class_weights", list, sizeof list);
    assert_string_equal(list, "cls and tag");
    rf__task_list("doc_stride", list, sizeof list);
    assert_string_equal(list, "qa");
}

/* By the name of the task if head and problem_type agree with it, otherwise by these alone, as transformers' classes
 * do. */
static void folders_find_their_task(void **state)
{
    (void)state;
    static const struct { rf_head head; const char *problem, *own, *task; int64_t outputs; } cases[] = {
        {RF_HEAD_SEQUENCE, "single_label_classification", "cls", "cls", 3},
        {RF_HEAD_SEQUENCE, "", "", "cls", 2},
        {RF_HEAD_SEQUENCE, "", "", "reg", 1},
        {RF_HEAD_SEQUENCE, "", "mrpc", "cls", 2},                        /* another program's name */
        {RF_HEAD_SEQUENCE, "regression", "glue/stsb", "reg", 1},
        {RF_HEAD_SEQUENCE, "regression", "glue/mrpc", "reg", 1},
        {RF_HEAD_POOLED, "multi_label_classification", "", "multilabel", 4},
        {RF_HEAD_SEQUENCE, "single_label_classification", "tag", "cls", 4},
        {RF_HEAD_TOKEN, "", "tag", "tag", 5},
        {RF_HEAD_TOKEN, "", "", "tag", 5},
        {RF_HEAD_SPAN, "", "squad", "qa", 2},
        {RF_HEAD_CHOICE, "", "mc", "mc", 1},
    };
    rf_config c;
    const rf__task *t;
    rf_error why = {0};
    rf_config_defaults(&c);
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_config_set_head(&c, cases[i].head);
        snprintf(c.problem_type, sizeof c.problem_type, "%s", cases[i].problem);
        snprintf(c.finetuning_task, sizeof c.finetuning_task, "%s", cases[i].own);
        c.num_labels = cases[i].outputs;
        assert_int_equal(rf__task_of_model(&c, &t, &why), RF_OK);
        if (strcmp(t->examples.name, cases[i].task))
            fail_msg("case %zu is %s, not %s", i, t->examples.name, cases[i].task);
    }
    rf_config_set_head(&c, RF_HEAD_MLM);
    assert_int_equal(rf__task_of_model(&c, &t, &why), RF_EUNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(names_find_presets),
        cmocka_unit_test(folders_find_their_task),
    };
    return cmocka_run_group_tests_name("task/tasks", tests, NULL, NULL);
}
