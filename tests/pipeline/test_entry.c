/* test_entry.c — mirrors include/roformer: every public function with options that are not initialized, with options of
 * a program with an older header, and with NULL. */
#define _GNU_SOURCE
#include "graph/tensor.h"
#include "random_weights.h"
#include "roformer/roformer.h"
#include "store/task.h"
#include "store/store.h"

static rf_status ctx_door(const rf_ctx *ctx, const void *o, rf_error *why)
{
    rf_ctx *made;
    (void)ctx;
    const rf_status status = rf_ctx_new(o, &made, why);
    if (!status) rf_ctx_free(made);
    return status;
}

static rf_status reader_door(const rf_ctx *ctx, const void *o, rf_error *why)
{
    rf_reader *r;
    const rf_status status = rf_reader_open(ctx, (const char *const[]){"README.md"}, 1, o, &r, why);
    if (!status) rf_reader_close(r);
    return status;
}

static rf_status tokenizer_door(const rf_ctx *ctx, const void *o, rf_error *why)
{
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n";
    rf_tokenizer *t;
    const rf_status status = rf_tokenizer_new(ctx, vocab, sizeof vocab - 1, "vocab.txt", o, &t, why);
    if (!status) rf_tokenizer_free(t);
    return status;
}

static rf_status pretrain_door(const rf_ctx *ctx, const void *o, rf_error *why)
{
    return rf_pretrain(ctx, o, NULL, NULL, why);
}

static rf_status prepare_door(const rf_ctx *ctx, const void *o, rf_error *why)
{
    rf_prepared out;
    return rf_prepare(ctx, o, "nowhere", NULL, NULL, &out, why);
}

static rf_status evaluate_door(const rf_ctx *ctx, const void *o, rf_error *why)
{
    rf_mlm_metrics out;
    return rf_evaluate_mlm(ctx, o, &out, why);
}

static rf_status finetune_door(const rf_ctx *ctx, const void *o, rf_error *why)
{
    return rf_finetune(ctx, o, NULL, NULL, NULL, why);
}

#define INIT(type) static void type##_begin(void *o, size_t size) { type##_init(o, size); }
INIT(rf_ctx_options)
INIT(rf_reader_options)
INIT(rf_tokenizer_options)
INIT(rf_train_options)
INIT(rf_finetune_options)

/* Initial contents of a struct, and a function that takes it; returns the first error in the defaults, or NULL. */
#define STRUCT(type) #type, sizeof(type), type##_begin
static const struct door {
    const char *type;
    size_t size;
    void (*begin)(void *o, size_t size);
    rf_status (*open)(const rf_ctx *ctx, const void *o, rf_error *why);
    const char *lacks;
} doors[] = {
    {STRUCT(rf_ctx_options), ctx_door, NULL},
    {STRUCT(rf_reader_options), reader_door, NULL},
    {STRUCT(rf_tokenizer_options), tokenizer_door, NULL},
    {STRUCT(rf_train_options), pretrain_door, "model"},
    {STRUCT(rf_train_options), prepare_door, "text"},
    {STRUCT(rf_train_options), evaluate_door, "model folder"},
    {STRUCT(rf_finetune_options), finetune_door, "model"},
};

static void every_door_asks_for_the_defaults(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (const struct door *d = doors; d < doors + RF_COUNT(doors); d++) {
        unsigned char *o = calloc(1, d->size + 64);
        const size_t sizes[] = {0, d->size + 8};
        for (size_t i = 0; i < RF_COUNT(sizes); i++) {
            rf_error why = {0};
            char part[80];
            d->begin(o, d->size);
            memcpy(o, &sizes[i], sizeof sizes[i]);
            snprintf(part, sizeof part, "%s: size: expected %zu, got %zu", d->type, d->size, sizes[i]);
            assert_int_equal(d->open(ctx, o, &why), RF_EARG);
            t_failed(&why, RF_EARG, part);
        }
        rf_error why = {0};
        d->begin(o, d->size);
        const rf_status status = d->open(ctx, o, &why);
        if (d->lacks) t_failed(&why, RF_EARG, d->lacks);
        else if (status) fail_msg("%s: %s", d->type, why.text);
        free(o);
    }
    rf_ctx_free(ctx);
}

/* A program with an older header has a smaller struct: its members are at the same offsets, and the rest does not
 * exist. */
static void every_struct_begins_within_its_size(void **state)
{
    (void)state;
    for (const struct door *d = doors; d < doors + RF_COUNT(doors); d++) {
        unsigned char *whole = calloc(1, d->size), *part = malloc(d->size);
        const size_t older = d->size - 8;
        d->begin(whole, d->size);
        memset(part, 0xA5, d->size);
        d->begin(part, older);
        assert_memory_equal(part, &older, sizeof older);
        assert_memory_equal(part + sizeof older, whole + sizeof older, older - sizeof older);
        for (size_t i = older; i < d->size; i++) assert_int_equal(part[i], 0xA5);
        free(whole);
        free(part);
    }
}

/* Structs embedded in others: the members after them keep their offsets when they grow. */
static void options_within_options_may_grow(void **state)
{
    (void)state;
    assert_true(offsetof(rf_train_options, text) >= offsetof(rf_train_options, reader) + RF_READER_OPTIONS_MOST);
    assert_true(offsetof(rf_finetune_options, task) >= offsetof(rf_finetune_options, t) + RF_TRAIN_OPTIONS_MOST);
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_train_options o;
    rf_finetune_options f;
    rf_mlm_metrics score;
    rf_error why = {0};
    rf_train_defaults(&o);
    rf_finetune_defaults(&f);
    o.reader.size = f.t.size = 0;
    assert_int_equal(rf_evaluate_mlm(ctx, &o, &score, &why), RF_EARG);
    t_failed(&why, RF_EARG, "rf_reader_options: size: expected 48, got 0");
    why = (rf_error){0};
    assert_int_equal(rf_finetune(ctx, &f, NULL, NULL, NULL, &why), RF_EARG);
    t_failed(&why, RF_EARG, "rf_train_options: size: expected 824, got 0");
    rf_ctx_free(ctx);
}

/* The public functions: missing arguments are named, and nothing is read through NULL. */
static void nothing_is_read_behind_null(void **state)
{
    (void)state;
    rf_ctx *c = t_ctx(2, NULL);
    char *folder = tiny_model();
    rf_pipeline *p;
    random_weights(c, folder, 5);
    assert_int_equal(rf_pipeline_open(c, folder, RF_F32, &p, NULL), RF_OK);
    const rf_model *m = rf_pipeline_model(p);
    const rf_tokenizer *t = rf_model_tokenizer(m);
    const rf_rope_spec spec = {2, 10000, RF_ROPE_PAIRS};
    rf_train_options o;
    rf_finetune_options f;
    rf_train_defaults(&o);
    rf_finetune_defaults(&f);
    rf_model *model;
    rf_session *session;
    rf_config config;
    rf_weights *w;
    rf_tokenizer *tokenizer;
    rf_encoding e;
    rf_reader *reader;
    rf_rope *rope;
    rf_graph *g;
    rf_labels labels;
    rf_answerer *a;
    rf_mlm_metrics score;
    rf_encoding_init(&e, c);
    const rf_status refused[] = {
        rf_ctx_new(NULL, NULL, NULL),
        rf_model_open(NULL, folder, &model, NULL),
        rf_model_open(c, NULL, &model, NULL),
        rf_model_open(c, folder, NULL, NULL),
        rf_model_random(c, NULL, 1, &model, NULL),
        rf_session_open(NULL, &session, NULL),
        rf_session_open(m, NULL, NULL),
        rf_config_read(c, NULL, &config, NULL),
        rf_config_read(c, folder, (rf_config *)NULL, NULL),
        rf_config_parse(c, NULL, 0, "x", &config, NULL),
        rf_config_write(c, folder, NULL, NULL),
        rf__config_check(NULL, "x", NULL),
        rf_weights_open(c, NULL, &w, NULL),
        rf_weights_open(c, folder, NULL, NULL),
        rf__weights_read(NULL, NULL, NULL, 1, NULL),
        rf__weights_write(c, NULL, NULL, 0, NULL, NULL),
        rf__weights_write(c, "x", NULL, 1, NULL, NULL),
        rf_tokenizer_open(c, NULL, &tokenizer, NULL),
        rf_tokenizer_open(c, folder, NULL, NULL),
        rf_tokenizer_new(c, NULL, 0, "x", NULL, &tokenizer, NULL),
        rf_tokenizer_save(NULL, folder, NULL),
        rf_encode(NULL, "a", 1, NULL, 0, 0, 0, &e, NULL, NULL),
        rf_encode(t, NULL, 1, NULL, 0, 0, 0, &e, NULL, NULL),
        rf_encode(t, "a", 1, NULL, 0, 0, 0, NULL, NULL, NULL),
        rf_reader_open(c, NULL, 1, NULL, &reader, NULL),
        rf_rope_new(c, NULL, 4, &rope, NULL),
        rf_rope_new(c, &spec, 4, NULL, NULL),
        rf_rope_at(c, &spec, NULL, 4, &rope, NULL),
        rf_rope_make(c, 2, RF_ROPE_PAIRS, 4, NULL, NULL, &rope, NULL),
        rf_rope_rotate(c, NULL, NULL, NULL, NULL, 1, 1, 2, 1, NULL),
        rf__graph_new(NULL, &g, NULL),
        rf__graph_new(c, NULL, NULL),
        rf__labels_read(c, NULL, &labels, NULL),
        rf_answerer_open(c, NULL, &a, NULL),
        rf_pretrain(c, NULL, NULL, NULL, NULL),
        rf_pretrain(NULL, &o, NULL, NULL, NULL),
        rf_train_translation(c, NULL, NULL, NULL, NULL),
        rf_train_translation(NULL, &o, NULL, NULL, NULL),
        rf_evaluate_pairs(c, NULL, &score, NULL),
        rf_finetune(c, NULL, NULL, NULL, NULL, NULL),
        rf_finetune(NULL, &f, NULL, NULL, NULL, NULL),
        rf_prepare(c, &o, NULL, NULL, NULL, NULL, NULL),
        rf_evaluate_mlm(c, NULL, &score, NULL),
    };
    for (size_t i = 0; i < RF_COUNT(refused); i++)
        if (refused[i] != RF_EARG) fail_msg("call %zu: %s", i, rf_status_text(refused[i]));
    rf_pipeline_close(p);
    rf_ctx_free(c);
    free(folder);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_door_asks_for_the_defaults),
        cmocka_unit_test(every_struct_begins_within_its_size),
        cmocka_unit_test(options_within_options_may_grow),
        cmocka_unit_test(nothing_is_read_behind_null),
    };
    return cmocka_run_group_tests_name("pipeline/entry", tests, NULL, NULL);
}
