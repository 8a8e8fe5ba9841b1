/* test_held_folder.c — mirrors src/base/files/held_folder.c: a model's folder that is replaced while it is read; its
 * single files are in test_held_files.c.
 *
 * The linker redirects openat and opendir (--wrap, CMakeLists.txt): before the n-th of them, for n = 1, 2, ..., another
 * model takes the place of the first one, as a folder, file by file, or by writing into its files.  What is opened is
 * then the first model or the second one, or there is an error that names a file; and each file is opened once. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/files/held_folder.h"
#include "old_files.h"
#include "roformer/index.h"
#include "small_pipeline.h"
#include "tiny.h"

int __real_openat(int at, const char *path, int flags, ...);
DIR *__real_opendir(const char *path);
int __wrap_openat(int at, const char *path, int flags, ...);
DIR *__wrap_opendir(const char *path);

/* ---- two models -------------------------------------------------------------------------------------------------- */

enum { FILES = 9, LARGEST = 1 << 17 };

static const char *const name[FILES] = {
    "config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json", "modules.json", "1_Pooling/config.json",
    "sentence_bert_config.json", "config_sentence_transformers.json", "generation_config.json",
};

static struct { char data[LARGEST]; size_t size; } file[2][FILES];

static size_t load(const char *folder, const char *below, char *to)
{
    char path[512];
    path_of(path, folder, below);
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(to, 1, LARGEST, f) : 0;
    if (!n || n == LARGEST) fail_msg("%s", path);
    fclose(f);
    return n;
}

/* The files are of equal sizes, so that a mixture of them can be read. */
static void make_models(void)
{
    static const char *const text[2][FILES] = {
        {NULL, NULL, NULL, "{\"do_lower_case\": true }",
         "[{\"type\": \"sentence_transformers.models.Transformer\", \"path\": \"\"},"
         " {\"type\": \"sentence_transformers.models.Pooling\", \"path\": \"1_Pooling\"}]",
         "{\"word_embedding_dimension\": 32, \"pooling_mode_mean_tokens\": true }", "{\"max_seq_length\": 5}",
         "{\"prompts\": {\"a\": \"the red\"}, \"default_prompt_name\": \"a\"}", "{\"max_new_tokens\": 3}"},
        {NULL, NULL, NULL, "{\"do_lower_case\": false}",
         "[{\"type\": \"sentence_transformers.models.Transformer\", \"path\": \"\"},"
         " {\"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"}]",
         "{\"word_embedding_dimension\": 32, \"pooling_mode_cls_token\": true   }", "{\"max_seq_length\": 6}",
         "{\"prompts\": {\"a\": \"the old\"}, \"default_prompt_name\": \"a\"}", "{\"max_new_tokens\": 4}"},
    };
    for (int m = 0; m < 2; m++) {
        rf_ctx *ctx = t_ctx(1, NULL);
        char *folder = tiny_model();
        random_weights(ctx, folder, m ? 6 : 5);
        for (int i = 0; i < FILES; i++) {
            if (text[m][i]) file[m][i].size = strlen(strcpy(file[m][i].data, text[m][i]));
            else file[m][i].size = load(folder, name[i], file[m][i].data);
        }
        if (m) memcpy(strstr(file[m][0].data, "heads\": 2"), "heads\": 4", 9);
        if (m) memcpy(strstr(file[m][2].data, "cat\n"), "abc\n", 4);
        free(folder);
        rf_ctx_free(ctx);
    }
    for (int i = 0; i < FILES; i++) assert_int_equal(file[0][i].size, file[1][i].size);
}

static void put_model(const char *folder, int m)
{
    char path[512];
    path_of(path, folder, "1_Pooling");
    (void)mkdir(folder, 0777);
    (void)mkdir(path, 0777);
    for (int i = 0; i < FILES; i++) write_old(folder, name[i], file[m][i].data, file[m][i].size);
}

/* ---- replacing --------------------------------------------------------------------------------------------------- */

typedef enum way { AS_A_FOLDER, FILE_BY_FILE, IN_PLACE, WAYS } way;

static struct {
    char root[256], model[300], other[300];
    way way;
    long at, calls;                     /* replace before this call, from 1 on; 0: never                              */
    int opened[FILES];
    bool busy;
} plan;

static void replace(void)
{
    char away[512], from[512], to[512];
    if (plan.way == AS_A_FOLDER) {
        path_of(away, plan.root, "away");
        if (rename(plan.model, away) || rename(plan.other, plan.model)) fail_msg("cannot rename");
        return;
    }
    for (int i = 0; i < FILES; i++) {
        path_of(from, plan.other, name[i]);
        path_of(to, plan.model, name[i]);
        if (plan.way == IN_PLACE) t_write(plan.model, name[i], file[1][i].data, file[1][i].size);
        else if (rename(from, to)) fail_msg("cannot rename %s", name[i]);
    }
}

static void before_a_call(void)
{
    if (plan.busy || ++plan.calls != plan.at) return;
    plan.busy = true;
    replace();
    plan.busy = false;
}

int __wrap_openat(int at, const char *path, int flags, ...)
{
    before_a_call();
    const int fd = __real_openat(at, path, flags, 0666);
    const size_t n = strlen(plan.model);
    const char *in = !strncmp(path, plan.model, n) && path[n] == '/' ? path + n + 1 : path;
    for (int i = 0; i < FILES && fd >= 0; i++) plan.opened[i] += !strcmp(in, name[i]);
    return fd;
}

DIR *__wrap_opendir(const char *path)
{
    before_a_call();
    return __real_opendir(path);
}

static void begin(way how, long at)
{
    plan.busy = true;
    snprintf(plan.root, sizeof plan.root, "%s", t_folder());
    snprintf(plan.model, sizeof plan.model, "%s/model", plan.root);
    snprintf(plan.other, sizeof plan.other, "%s/other", plan.root);
    put_model(plan.model, 0);
    put_model(plan.other, 1);
    plan.way = how;
    plan.at = at;
    plan.calls = 0;
    memset(plan.opened, 0, sizeof plan.opened);
    plan.busy = false;
}

/* ---- what is opened ---------------------------------------------------------------------------------------------- */

/* Numbers that differ between the models, and between each of them and a mixture. */
typedef struct answer { int64_t heads, word, limit; uint64_t weights; float vector[32]; char prompt[32]; } answer;

typedef rf_status opener(const rf_ctx *ctx, const char *folder, answer *a, rf_error *why);

static void ask_model(const rf_model *m, answer *a)
{
    a->heads = rf_model_config(m)->num_attention_heads;
    a->word = rf_tokenizer_id(rf_model_tokenizer(m), "cat");
}

static rf_status open_a_pipeline(const rf_ctx *ctx, const char *folder, answer *a, rf_error *why)
{
    rf_pipeline *p;
    rf_embed_options o;
    const rf_sentence *s;
    const float *vector;
    const char *const text[] = {"the red cat is walking the dog"};
    const rf_status status = rf_pipeline_open(ctx, folder, RF_F32, &p, why);
    if (status) return status;
    ask_model(rf_pipeline_model(p), a);
    if (rf_pipeline_fingerprint(p, &a->weights, why) || rf_embed_defaults_of(p, &o, why) ||
        rf_pipeline_sentence(p, &s, why) || rf_embed_texts(p, text, NULL, 1, &o, &vector, NULL, why))
        fail_msg("%s", why->text);
    memcpy(a->vector, vector, sizeof a->vector);
    snprintf(a->prompt, sizeof a->prompt, "%s", s->prompt[0].text);
    a->limit = s->max_length;
    rf_pipeline_close(p);
    return RF_OK;
}

static rf_status open_a_model(const rf_ctx *ctx, const char *folder, answer *a, rf_error *why)
{
    rf_model *m;
    rf_session *s = NULL;
    static const int32_t id[] = {2, 5, 9, 13, 3}, start[] = {0, 5};
    const rf_batch b = {.N = 5, .B = 1, .id = id, .start = start};
    const float *h;
    rf_status status = rf_model_open(ctx, folder, &m, why);
    if (status) return status;
    ask_model(m, a);
    status = rf_session_open(m, &s, why);
    if (!status) status = rf_session_hidden(s, &b, &h, why);
    if (!status) memcpy(a->vector, h, sizeof a->vector);
    rf_session_close(s);
    rf_model_close(m);
    return status;
}

static rf_status open_a_tokenizer(const rf_ctx *ctx, const char *folder, answer *a, rf_error *why)
{
    rf_tokenizer *t;
    const rf_status status = rf_tokenizer_open(ctx, folder, &t, why);
    if (status) return status;
    a->word = rf_tokenizer_id(t, "cat");
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    if (rf_encode(t, "Cat", 3, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, why)) fail_msg("%s", why->text);
    a->limit = e.id[0];
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    return RF_OK;
}

/* What a program does that shows a folder. */
static rf_status hold_and_open(const rf_ctx *ctx, const char *folder, answer *a, rf_error *why)
{
    rf_held_folder *held = NULL;
    rf_config c = {0};
    rf_tokenizer *t = NULL;
    rf_sentence s = {0};
    answer model = {0};
    rf_status status = rf_folder_hold(ctx, folder, &held, why);
    if (!status) status = rf_config_read(ctx, folder, &c, why);
    if (!status) status = rf_tokenizer_open(ctx, folder, &t, why);
    if (!status) status = rf_sentence_read(ctx, folder, &s, why);
    if (!status) status = open_a_model(ctx, folder, &model, why);
    status = rf_folder_release(&held, status, why);
    if (!status) {
        *a = model;
        a->heads += 100 * c.num_attention_heads;
        a->weights = (uint64_t)rf_tokenizer_id(t, "cat");
        a->limit = s.max_length;
    }
    rf_sentence_free(&s);
    rf_tokenizer_free(t);
    return status;
}

static const struct { const char *what; opener *open; } openers[] = {
    {"pipeline", open_a_pipeline}, {"model", open_a_model}, {"tokenizer", open_a_tokenizer}, {"all", hold_and_open},
};

static void each_file_is_opened_once(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_error why = {0};
    for (size_t k = 0; k < RF_COUNT(openers); k++) {
        answer a = {0};
        begin(AS_A_FOLDER, 0);
        if (openers[k].open(ctx, plan.model, &a, &why)) fail_msg("%s", why.text);
        for (int i = 0; i < FILES; i++)
            if (plan.opened[i] > 1) fail_msg("%s: %s is opened %d times", openers[k].what, name[i], plan.opened[i]);
        assert_int_equal(plan.opened[3], 1);
    }
    rf_ctx_free(ctx);
}

static void names_a_file(const rf_error *why)
{
    t_failed(why, RF_EIO, "expected the same file while its folder is read");
    for (int i = 0; i < FILES; i++)
        if (strstr(why->text, name[i])) return;
    fail_msg("%s", why->text);
}

static void one_model_or_the_other(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    int first = 0, second = 0, refused = 0;
    for (size_t k = 0; k < RF_COUNT(openers); k++) {
        answer is[2];
        for (int m = 0; m < 2; m++) {
            rf_error why = {0};
            memset(&is[m], 0, sizeof is[m]);
            begin(AS_A_FOLDER, 0);
            if (openers[k].open(ctx, m ? plan.other : plan.model, &is[m], &why)) fail_msg("%s", why.text);
        }
        assert_true(memcmp(&is[0], &is[1], sizeof *is) != 0);
        for (way how = 0; how < WAYS; how++)
            for (long n = 1;; n++) {
                rf_error why = {0};
                answer a;
                memset(&a, 0, sizeof a);
                begin(how, n);
                const rf_status status = openers[k].open(ctx, plan.model, &a, &why);
                const bool old = !memcmp(&a, &is[0], sizeof a), new = !memcmp(&a, &is[1], sizeof a);
                if (status) names_a_file(&why);
                else if (!old && !new) fail_msg("%s: call %ld, way %d: a mixture", openers[k].what, n, (int)how);
                first += !status && old, second += !status && new, refused += !!status;
                if (how == AS_A_FOLDER && status) fail_msg("%s: call %ld: %s", openers[k].what, n, why.text);
                if (plan.calls < n) break;
            }
    }
    print_message("%d first, %d second, %d refused\n", first, second, refused);
    assert_true(first > 10 && second > 4 && refused > 10);
    rf_ctx_free(ctx);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* What a step of training from the model leaves; 0: it failed. */
static uint64_t train(const rf_ctx *ctx, const char *folder, rf_error *why)
{
    char corpus[512], output[512];
    const char *const own[] = {corpus};
    path_of(corpus, plan.root, "corpus.txt");
    path_of(output, plan.root, "output");
    rf_train_options o = tiny_options(folder, own, output);
    o.max_steps = 1;
    o.eval_steps = o.save_steps = 0;
    if (rf_pretrain(ctx, &o, NULL, NULL, why)) return 0;
    return (uint64_t)tiny_crc(output, "model.safetensors") << 32 | (tiny_crc(output, "vocab.txt") ^
                                                                    tiny_crc(output, "config.json"));
}

static void training_starts_from_one_model(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    uint64_t is[2];
    int refused = 0;
    for (long n = -2;; n += 1 + (n > 0)) {                         /* -2, -1: without replacing, from each model      */
        rf_error why = {0};
        begin(FILE_BY_FILE, n > 0 ? n : 0);
        plan.busy = true;
        tiny_write_corpus(plan.root, "corpus.txt", 20, 1);
        plan.busy = false;
        const uint64_t got = train(ctx, n == -1 ? plan.other : plan.model, &why);
        if (n < 0) is[n + 2] = got;
        if (n < 0 && !got) fail_msg("%s", why.text);
        if (!got) names_a_file(&why), refused++;
        else if (n >= 0 && got != is[0] && got != is[1]) fail_msg("call %ld: a mixture", n);
        if (plan.calls < n) break;
    }
    assert_true(is[0] != is[1] && refused > 1);
    rf_ctx_free(ctx);
}

/* ---- pipelines on an open model ---------------------------------------------------------------------------------- */

static void ask_settings(const rf_model *m, rf_status expected, const char *prompt)
{
    rf_pipeline *p = NULL;
    const rf_sentence *s;
    rf_error why = {0};
    assert_int_equal(rf_pipeline_on(m, &p, &why), expected);
    if (expected) {
        names_a_file(&why);
        return;
    }
    if (rf_pipeline_sentence(p, &s, &why)) fail_msg("%s", why.text);
    assert_string_equal(s->prompt[0].text, prompt);
    assert_int_equal(s->max_length, 5);
    rf_pipeline_close(p);
}

/* The settings are those of the model, also if its folder is replaced or removed. */
static void a_later_pipeline(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (way how = 0; how < WAYS; how++)
        for (int removed = 0; removed < 2; removed++) {
            rf_pipeline *p = NULL;
            rf_error why = {0};
            begin(how, 0);
            if (rf_pipeline_open(ctx, plan.model, RF_F32, &p, &why)) fail_msg("%s", why.text);
            replace();
            if (removed && rename(plan.model, plan.other) && errno != ENOTEMPTY) fail();
            ask_settings(rf_pipeline_model(p), RF_OK, "the red");
            rf_pipeline_close(p);
        }
    rf_ctx_free(ctx);
}

/* A model that was opened without its settings of vectors, which are now those of another one. */
static void a_later_pipeline_with_other_settings(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (way how = 0; how < WAYS; how++) {
        rf_model *m = NULL;
        begin(how, 0);
        if (rf_model_open(ctx, plan.model, &m, NULL)) fail();
        ask_settings(m, RF_OK, "the red");
        replace();
        ask_settings(m, RF_EIO, NULL);
        rf_model_close(m);
    }
    rf_ctx_free(ctx);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static rf_status hold_once(const rf_ctx *ctx, void *arg, rf_error *why)
{
    answer a;
    return hold_and_open(ctx, arg, &a, why);
}

static void memory_that_ends(void **state)
{
    (void)state;
    begin(AS_A_FOLDER, 0);
    t_fail_allocations(1, NULL, hold_once, plan.model);
}

static int at_the_end(void **state)
{
    (void)state;
    t_free_all();
    return 0;
}

int main(void)
{
    make_models();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_is_opened_once),
        cmocka_unit_test(one_model_or_the_other),
        cmocka_unit_test(training_starts_from_one_model),
        cmocka_unit_test(a_later_pipeline),
        cmocka_unit_test(a_later_pipeline_with_other_settings),
        cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("pipeline/held_folder", tests, NULL, at_the_end);
}
