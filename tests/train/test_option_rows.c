/* test_option_rows.c — mirrors src/train/option_rows.c: properties of every row of the options. */
#include "t.h"

#include "train/option_rows.h"

typedef struct table { rf__option_table *rows; size_t size; const char *name; } table;
static const table tables[] = {{rf_train_option, sizeof(rf_train_options), "train_options.def"},
                               {rf_finetune_option, sizeof(rf_finetune_options), "finetune_options.def"}};

static bool is_number(const rf_option *o) { return o->kind < RF_OPTION_TEXT; }

static int words(const rf_option *o)
{
    int n = 1;
    for (const char *p = o->choices; *p; p++) n += *p == '|';
    return n;
}

/* Every row has a description and a default within its limits, and no name has two meanings in one command. */
static void rows_are_whole(void **state)
{
    (void)state;
    const rf_option *seen[256], *o;
    size_t n = 0;
    for (size_t k = 0; k < RF_COUNT(tables); k++)
        for (size_t i = 0; (o = tables[k].rows(i)); i++) {
            if (!o->name || !o->help || !o->group || o->at >= tables[k].size)
                fail_msg("%s, row %zu", tables[k].name, i);
            if ((o->kind == RF_OPTION_CHOICE) != (o->choices && o->kind != RF_OPTION_FLAG))
                fail_msg("%s: its words", o->name);
            if (o->choices && (!words(o) || o->value)) fail_msg("%s: its words", o->name);
            if (!o->value && !o->choices && o->kind != RF_OPTION_FLAG) fail_msg("%s: its value has no name", o->name);
            const double high = o->kind == RF_OPTION_CHOICE ? words(o) - 1 : o->high;
            if (is_number(o) && !(o->pretrain >= o->low && o->pretrain <= high))
                fail_msg("%s: %g", o->name, o->pretrain);
            if (is_number(o) && !(o->finetune >= o->low && o->finetune <= high) && strcmp(o->name, "max_length"))
                fail_msg("%s: %g", o->name, o->finetune);
            const rf_option *on = o->depends ? rf__rows_find(tables[k].rows, o->depends) : NULL;
            if (o->depends && (!on || !on->choices || !o->values || o->values >> words(on)))
                fail_msg("%s depends on what?", o->name);
            for (size_t j = 0; j < n; j++) {
                const bool both = seen[j]->calls & o->calls;
                if (both && (!strcmp(seen[j]->name, o->name) || (o->letter && o->letter == seen[j]->letter) ||
                             (o->alias && !strcmp(o->alias, seen[j]->name)) ||
                             (o->alias && seen[j]->alias && !strcmp(o->alias, seen[j]->alias))))
                    fail_msg("%s and %s share a name", seen[j]->name, o->name);
            }
            assert_true(n < RF_COUNT(seen));
            seen[n++] = o;
        }
    assert_true(n > 90);
}

static void put_value(void *o, const rf_option *row, const void *value, size_t size)
{
    memcpy((char *)o + row->at, value, size);
}

/* Another value than the default, within the limits. */
static void change(void *o, const rf_option *row)
{
    static const char *const files[] = {"-", "-"};
    static const double weights[] = {0.25, 0.75};
    const char *text = "-";
    const double real = row->pretrain < row->high ? (row->pretrain + row->high) / 2 : row->low;
    const int64_t integer = row->kind == RF_OPTION_SEED ? INT64_MAX : (int64_t)real;
    const size_t bytes = (size_t)integer;
    const int two = 2, last = row->kind == RF_OPTION_CHOICE ? words(row) - 1 : 1;
    const int small = row->pretrain < last ? last : 0;
    switch (row->kind) {
    case RF_OPTION_INT:
    case RF_OPTION_SEED:    put_value(o, row, &integer, sizeof integer); break;
    case RF_OPTION_REAL:    put_value(o, row, &real, sizeof real); break;
    case RF_OPTION_BYTES:   put_value(o, row, &bytes, sizeof bytes); break;
    case RF_OPTION_FLAG:
    case RF_OPTION_CHOICE:  put_value(o, row, &small, sizeof small); break;
    case RF_OPTION_TEXT:
    case RF_OPTION_FILE:
    case RF_OPTION_FOLDER:  put_value(o, row, &text, sizeof text); break;
    case RF_OPTION_WEIGHTS: put_value(o, row, (const double *[]){weights}, sizeof(const double *)); break;
    case RF_OPTION_FILES:
        put_value(o, row, (const char *const *[]){files}, sizeof(const char *const *));
        memcpy((char *)o + row->count, &two, sizeof two);
    }
}

static bool lists_are(const rf_option *row, const void *a, const void *b)
{
    const char *const *x, *const *y;
    int n, m;
    memcpy(&x, (const char *)a + row->at, sizeof x);
    memcpy(&y, (const char *)b + row->at, sizeof y);
    memcpy(&n, (const char *)a + row->count, sizeof n);
    memcpy(&m, (const char *)b + row->count, sizeof m);
    if (n != m || !x != !y) return false;
    if (row->kind == RF_OPTION_WEIGHTS) return !x || !memcmp(x, y, (size_t)n * sizeof(double));
    for (int i = 0; i < n; i++)
        if (strcmp(x[i], y[i])) return false;
    return true;
}

/* Each option alone, and all of them: options that belong to more than one run are restored from a checkpoint. */
static void every_row_comes_back(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_arena arena;
    rf__arena_init(&arena, ctx);
    for (size_t k = 0; k < RF_COUNT(tables); k++) {
        rf_finetune_options usual, o, back;
        const rf_option *row;
        char changed[256] = "";
        rf_finetune_defaults(&usual);
        o = back = usual;
        void *given = k ? (void *)&o : &o.t, *to = k ? (void *)&back : &back.t;
        const void *begun = k ? (const void *)&usual : &usual.t;
        for (size_t i = 0; (row = tables[k].rows(i)); i++) {
            change(given, row);
            if (is_number(row) && rf__row_same(row, given, begun)) fail_msg("%s was not changed", row->name);
        }
        assert_int_equal(rf__rows_check(tables[k].rows, given, NULL), RF_OK);
        json_t *saved = json_object();
        rf__rows_json(tables[k].rows, given, &saved);
        const rf__restoring from = {.usual = begun, .who = &back.t, .saved = saved, .name = "state", .arena = &arena,
                                    .changed = changed, .size = sizeof changed};
        assert_int_equal(rf__rows_restore(tables[k].rows, to, &from, NULL), RF_OK);
        for (size_t i = 0; (row = tables[k].rows(i)); i++) {
            const bool local = row->flags & RF_OPTION_LOCAL;
            if ((json_object_get(saved, row->json ? row->json : row->name) == NULL) != local)
                fail_msg("%s is kept?", row->name);
            const void *expected = local ? begun : given;
            const bool list = row->kind == RF_OPTION_FILES || row->kind == RF_OPTION_WEIGHTS;
            if (list ? !lists_are(row, to, expected) : !rf__row_same(row, to, expected))
                fail_msg("%s did not come back", row->name);
        }
        assert_string_equal(changed, "");
        json_decref(saved);
    }
    rf__arena_clear(&arena);
    rf_ctx_free(ctx);
}

/* Options of the caller are kept and reported; a given source replaces that of the checkpoint. */
static void chosen_ones_stay(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_arena arena;
    rf__arena_init(&arena, ctx);
    rf_train_options usual, o, then;
    char changed[256] = "";
    const char *const text[] = {"-"}, *const cache[] = {"-", "-"};
    const double weight[] = {1, 2};
    rf_train_defaults(&usual);
    o = then = usual;
    then.data = cache;
    then.datas = 2;
    then.data_weight = weight;
    then.lr_schedule = "5:1";
    then.reader.field = "body";
    then.optim = RF_OPTIM_SGD;
    o.text = text;
    o.texts = 1;
    o.lr_schedule = "7:1";
    o.optim = RF_OPTIM_LION;
    json_t *saved = json_object();
    rf__rows_json(rf_train_option, &then, &saved);
    const rf__restoring from = {&usual, &o, saved, "state", &arena, changed, sizeof changed};
    assert_int_equal(rf__rows_restore(rf_train_option, &o, &from, NULL), RF_OK);
    assert_true(o.text == text && o.texts == 1 && !o.data && !o.datas && !o.data_weight);
    assert_string_equal(o.lr_schedule, "7:1");
    assert_string_equal(o.reader.field, "body");
    assert_string_equal(changed, "optim, lr_schedule");
    o = usual;
    changed[0] = 0;
    const rf__restoring again = {&usual, &o, saved, "state", &arena, changed, sizeof changed};
    assert_int_equal(rf__rows_restore(rf_train_option, &o, &again, NULL), RF_OK);
    assert_true(!o.texts && o.datas == 2 && o.data_weight[1] > 1.5);
    json_decref(saved);
    rf__arena_clear(&arena);
    rf_ctx_free(ctx);
}

static void words_and_names(void **state)
{
    (void)state;
    rf_train_options o;
    char word[32];
    rf_train_defaults(&o);
    o.lr_scheduler_type = RF_SCHEDULE_ONE_CYCLE;
    const rf_option *row = rf__rows_find(rf_train_option, "lr_scheduler_type");
    rf__row_word(row, &o, word, sizeof word);
    assert_string_equal(word, "one_cycle");
    assert_int_equal(rf__row_choice(row, &o), RF_SCHEDULE_ONE_CYCLE);
    assert_true(rf__rows_find(rf_finetune_option, "head") == rf__rows_find(rf_finetune_option, "pooled"));
    assert_null(rf__rows_find(rf_train_option, "no_such"));
    o.texts = 1;
    rf_error why = {0};
    rf__rows_check(rf_train_option, &o, &why);
    t_failed(&why, RF_EARG, "text: expected a list of 1 files, got NULL");
    const char *const lacking[] = {NULL};
    o.text = lacking;
    why = (rf_error){0};
    rf__rows_check(rf_train_option, &o, &why);
    t_failed(&why, RF_EARG, "text: file 1 of 1: expected a path, got NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(every_row_comes_back),
        cmocka_unit_test(chosen_ones_stay),
        cmocka_unit_test(words_and_names),
    };
    return cmocka_run_group_tests_name("train/option_rows", tests, NULL, NULL);
}
